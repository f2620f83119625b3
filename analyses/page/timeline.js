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

/** The axis of a run: from when to when, in s after the first move of an animal, else in steps. */
const spanOf = (run) => run.span || [0, wayOf(run).n];
const isClocked = () => page.views.every(({ run }) => run.span);

/** Where the axis of a run is now: at the event that is open, else at the last step. */
function nowOn(run) {
  const made = Math.min(page.time, wayOf(run).n), e = eventOf(run, page.key);
  if (!run.span) return page.time;
  return e >= 0 ? run.events.event_time[e] : made ? wayOf(run).seconds[made - 1] : run.span[0];
}

/** Open what happened last until some seconds: a pause whose replay is listed, or a move. */
function goToSeconds(seconds) {
  let found = null, when = -Infinity;
  const { run } = page.views[0], made = countUntil(wayOf(run).seconds, seconds);
  for (const view of page.views) {
    const { event_time } = view.run.events;
    let e = countUntil(event_time, seconds) - 1;
    while (e >= 0 && !eventMatches(view.run, e)) e--;
    if (e >= 0 && event_time[e] > when) [found, when] = [view.run.key[e], event_time[e]];
  }
  if (found !== null && (!made || when >= wayOf(run).seconds[made - 1])) openKey(found, true);
  else goTo(made);
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
  const spans = page.views.map(({ run }) => spanOf(run));
  const low = Math.min(...spans.map((span) => span[0])), high = Math.max(...spans.map((span) => span[1]));
  Object.assign(page.timeline, { low, high: high > low ? high : low + 1 });
  const widths = new Set(page.views.map(({ run }) => Math.round((spanOf(run)[1] - spanOf(run)[0]) / run.counts.n_windows[0])));
  const window = isClocked() ? `${say([...widths][0])} s` : plural([...widths][0], stepName(page.views[0].run));
  byId("learning-title").textContent = `Replayed sequences over ${page.views[0].run.decoded ? "the session" : "learning"}` +
    (widths.size === 1 ? `, per ${window}` : "");
  const tables = page.views.map(({ run }) => countByWindow(run)); // all runs on one scale
  const most = Math.max(1, ...tables.flat().map((counts) => counts.reduce((a, b) => a + b, 0)));
  page.views.forEach(({ run }, row) => drawBars(context, run, row, tables[row], most));
  const { left, right } = page.timeline, inner = width - left - right, base = each * rows + 4;
  context.fillStyle = context.strokeStyle = page.theme.soft;
  context.lineWidth = 1;
  context.textBaseline = "top";
  const unit = isClocked() && high - low > 180 ? 60 : 1;
  // One recording has its own clock, as in its tables; several may each have another.
  const zero = isClocked() && page.views.length === 1 ? page.views[0].run.first_move : 0;
  for (const at of ticks((low + zero) / unit, (high + zero) / unit, width < 520 ? 3 : 5)) {
    const x = xOf(at * unit - zero);
    context.textAlign = x < left + 8 ? "left" : x > width - 40 ? "right" : "center";
    context.fillText(say(at), x, base + 2);
  }
  context.textAlign = "right";
  const seconds = unit === 60 ? "min" : "s", clocked = zero ? `time in ${seconds}` : `${seconds} after the first move`;
  const name = isClocked() ? clocked : stepName(page.views[0].run);
  context.fillText(name, width - right, base + 16);
}

/** Where a moment is on the timeline. */
function xOf(at) {
  const { left, right, width, low, high } = page.timeline;
  return left + ((width - left - right) * (at - low)) / (high - low);
}

function ticks(least, most, n) {
  const rough = (most - least) / n, power = 10 ** Math.floor(Math.log10(Math.max(rough, 1)));
  const step = [1, 2, 5, 10].map((f) => f * power).find((each) => each >= rough) || 10 * power;
  const found = [];
  for (let at = Math.ceil(least / step) * step; at <= most; at += step) found.push(at);
  return found;
}

function drawBars(context, run, row, table, most) {
  const { left, right, each, width } = page.timeline;
  const top = row * each + barsTop(), base = (row + 1) * each;
  const [begin, end] = spanOf(run), from = xOf(begin), wide = (xOf(end) - from) / table.length;
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
      context.fillRect(from + w * wide + 0.5, y - high, Math.max(1, wide - 1), high);
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
  const { context, still, width, height, each } = page.timeline;
  context.clearRect(0, 0, width, height);
  context.drawImage(still, 0, 0, width, height);
  context.strokeStyle = context.fillStyle = page.theme.ink;
  context.lineWidth = 1.5;
  page.views.forEach((view, row) => {
    const top = row * each + barsTop(), x = xOf(nowOn(view.run));
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
