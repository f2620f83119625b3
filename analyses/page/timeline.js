// Kinds over learning.

/** Count sequences that match, in each window and of each kind; all of them, shown or not. */
function countByWindow(run) {
  const counts = run.counts, windows = counts.n_windows[0], kinds = page.data.kinds.length;
  const table = Array.from({ length: windows }, () => new Uint32Array(kinds));
  for (let k = 0; k < counts.n.length; k++)
    if (page.kinds.has(counts.kind[k]) && page.phases.has(counts.phase[k]) &&
        counts.length[k] >= page.shortest && counts.length[k] <= page.longest)
      table[counts.window[k]][counts.kind[k]] += counts.n[k];
  return table;
}

function layOutTimeline() {
  const canvas = byId("timeline"), rows = page.views.length;
  const width = canvas.clientWidth, each = rows > 1 ? 92 : 104;
  page.timeline = { width, height: each * rows + 34, each, left: 44, right: 10 };
  page.timeline.context = fit(canvas, width, page.timeline.height);
  const still = document.createElement("canvas");
  page.timeline.still = still;
  const context = fit(still, width, page.timeline.height);
  context.font = `12px ${page.theme.font}`;
  const longest = Math.max(...page.views.map(({ run }) => wayOf(run).n));
  page.timeline.longest = longest;
  const widths = new Set(page.views.map(({ run }) => Math.round(wayOf(run).n / run.counts.n_windows[0])));
  byId("learning-title").textContent = `Replayed sequences over ${page.views[0].run.decoded ? "the session" : "learning"}` +
    (widths.size === 1 ? `, per ${plural([...widths][0], stepName(page.views[0].run))}` : "");
  page.views.forEach((view, row) => drawBars(context, view, row, longest));
  const { left, right } = page.timeline, inner = width - left - right, base = each * rows + 4;
  context.fillStyle = context.strokeStyle = page.theme.soft;
  context.lineWidth = 1;
  context.textBaseline = "top";
  for (const at of ticks(longest, width < 520 ? 3 : 5)) {
    const x = left + (inner * at) / longest;
    context.textAlign = at === 0 ? "left" : x > width - 40 ? "right" : "center";
    context.fillText(say(at), at === 0 ? left : x, base + 2);
  }
  context.textAlign = "right";
  context.fillText(stepName(page.views[0].run), width - right, base + 16);
}

function ticks(most, n) {
  const rough = most / n, power = 10 ** Math.floor(Math.log10(Math.max(rough, 1)));
  const step = [1, 2, 5, 10].map((f) => f * power).find((each) => each >= rough) || 10 * power;
  const found = [];
  for (let at = 0; at <= most; at += step) found.push(at);
  return found;
}

function drawBars(context, view, row, longest) {
  const { left, right, each, width } = page.timeline, run = view.run, table = countByWindow(run);
  const top = row * each + barsTop(), base = (row + 1) * each;
  const most = Math.max(1, ...table.map((counts) => counts.reduce((a, b) => a + b, 0)));
  const inner = ((width - left - right) * wayOf(run).n) / longest, wide = inner / table.length;
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.fillStyle = page.theme.soft;
  context.fillText(say(most), left - 6, top + 4);
  context.fillText("0", left - 6, base - 4);
  if (page.views.length > 1) {
    context.textAlign = "left";
    context.fillStyle = page.theme.ink;
    context.fillText(run.name, left, top - 14);
  }
  table.forEach((counts, w) => {
    let y = base;
    counts.forEach((n, k) => {
      if (!n) return;
      const high = Math.max(1, ((base - top) * n) / most);
      context.fillStyle = patternOf(context, k);
      context.fillRect(left + w * wide + 0.5, y - high, Math.max(1, wide - 1), high);
      y -= high;
    });
  });
  context.strokeStyle = page.theme.rule;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(left, base + 0.5);
  context.lineTo(width - right, base + 0.5);
  context.stroke();
}

function drawTimeline() {
  const { context, still, width, height, left, right, each, longest } = page.timeline;
  context.clearRect(0, 0, width, height);
  context.drawImage(still, 0, 0, width, height);
  const x = left + ((width - left - right) * page.time) / longest;
  context.strokeStyle = context.fillStyle = page.theme.ink;
  context.lineWidth = 1.5;
  page.views.forEach((view, row) => {
    const top = row * each + barsTop();
    context.beginPath();
    context.moveTo(x, top - 2);
    context.lineTo(x, (row + 1) * each);
    context.stroke();
    context.beginPath();
    context.moveTo(x - 5, top - 6);
    context.lineTo(x + 5, top - 6);
    context.lineTo(x, top + 1);
    context.fill();
  });
}

/** How far below the top of its row the bars begin; above them is the name, if there are two. */
const barsTop = () => (page.views.length > 1 ? 24 : 10);
