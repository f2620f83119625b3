// The evidence for a decoded event, on one axis of time.

const TRACES = { multiunit_rate: "Rate of all cells (Hz)", field_potential: "Field potential", speed: "Speed (cm/s)" };
const SLOW = 5; // cm/s: the axis of speeds reaches so far at least, so that rest looks like rest
const UNKNOWN = 255;

/** When each move of a decoded event is made, in ms: as soon as the path is nearer to the next state. */
function momentsOf(run, e) {
  if (run.moments.has(e)) return run.moments.get(e);
  const { events } = run, world = worldOf(run), moments = [];
  let at = run.sampleBegin[e];
  for (let k = run.moveBegin[e]; k < run.moveBegin[e + 1]; k++) {
    const away = (state, q) => Math.hypot(world.x[state] - events.path_x[q], world.y[state] - events.path_y[q]);
    let q = at;
    while (q < run.sampleBegin[e + 1] && !(away(events.move_to[k], q) < away(events.move_from[k], q))) q++;
    if (q < run.sampleBegin[e + 1]) at = q;
    moments.push(at < run.sampleBegin[e + 1] ? events.path_ms[at] : 0);
  }
  run.moments.set(e, moments);
  return moments;
}

/** The moment that is shown of a decoded event, in ms: the one pointed at, or that of the move. */
function momentNow(run, e) {
  if (page.moment !== null) return page.moment;
  const moments = momentsOf(run, e), k = Math.floor(page.progress);
  if (k >= moments.length) return Infinity;
  const before = k ? moments[k - 1] : 0;
  return before + (page.progress - k) * (moments[k] - before);
}

/** How many moves were made until a moment. */
function movesUntil(run, e, moment) {
  const moments = momentsOf(run, e), k = countUntil(moments, moment);
  if (k === moments.length) return k;
  const before = k ? moments[k - 1] : 0;
  return k + (moment - before) / (moments[k] - before);
}

/** The event that is open and was decoded from what this page holds. */
function evidentEvent() {
  for (const { run } of page.views) {
    const e = eventOf(run, page.key);
    if (e >= 0 && run.evidence && run.evidence.events[e]) return { run, e };
  }
  return null;
}

/** Unpack the evidence for the event that is open, and show it. */
async function showEvidence() {
  const found = evidentEvent();
  byId("evidence").hidden = !found;
  if (!found) {
    page.evidence = null;
    return;
  }
  const { run, e } = found;
  if (page.evidence && page.evidence.run === run && page.evidence.e === e) return;
  const packed = run.evidence.events[e], columns = await unpack(packed), now = evidentEvent();
  if (!now || now.run !== run || now.e !== e) return; // another was opened meanwhile
  page.evidence = { ...packed, ...columns, run, e };
  layOutEvidence();
  drawEvidence();
}

/** List the panels: how high each is, its name, the ends of its axis, and how it is drawn. */
function panelsOf(shown) {
  const panels = [], { places } = shown.run.evidence;
  if (shown.spike_row) panels.push({ name: `Spikes of ${plural(shown.n_cells, "cell")}, by field`, high: clamp(4 * shown.n_cells, 40, 110),
    ends: [], paint: paintSpikes });
  places.forEach((axis, k) => {
    if (!shown[`place_${k}`]) return;
    const ends = [Math.min(...axis.low), Math.max(...axis.high)];
    panels.push({ name: `Decoded place (${axis.name}) and likely path`, high: places.length > 1 ? 90 : 140, ends, paint: paintPlaces, axis, k });
  });
  for (const name of Object.keys(TRACES)) {
    if (!shown.traces[name]) continue;
    let [low, high] = shown.traces[name];
    if (name !== "field_potential") [low, high] = [0, Math.max(high, name === "speed" ? SLOW : 1)];
    panels.push({ name: TRACES[name], high: 40, ends: [low, high > low ? high : low + 1], paint: paintTrace, trace: name });
  }
  return panels;
}

/** Draw once what does not change while an event is open. */
function layOutEvidence() {
  const shown = page.evidence;
  if (!shown) return;
  const canvas = byId("evidence-canvas"), panels = panelsOf(shown), above = 19, gap = 5;
  const width = canvas.clientWidth, height = panels.reduce((sum, { high }) => sum + above + high + gap, 34);
  Object.assign(shown, { left: 44, right: 10, width, height, bottom: height - 36 });
  shown.x = (ms) => shown.left + ((width - shown.left - shown.right) * ms) / (1000 * shown.seconds);
  shown.context = fit(canvas, width, height);
  shown.still = document.createElement("canvas");
  const context = fit(shown.still, width, height);
  context.font = `12px ${page.theme.font}`;
  let top = 0;
  for (const panel of panels) {
    top += above;
    panel.top = top;
    panel.y = (value) => panel.top + panel.high * (1 - (value - panel.ends[0]) / (panel.ends[1] - panel.ends[0]));
    context.fillStyle = page.theme.soft;
    context.textAlign = "left";
    context.textBaseline = "alphabetic";
    context.fillText(panel.name, shown.left, top - 5);
    context.textAlign = "right";
    context.textBaseline = "middle";
    if (!panel.axis || !panel.axis.nodes.length) panel.ends.forEach((value, k) =>
      context.fillText(say(Number(value.toPrecision(2))), shown.left - 6, top + (k ? 5 : panel.high - 5)));
    context.save();
    context.beginPath();
    context.rect(shown.left, top, width - shown.left - shown.right, panel.high);
    context.clip();
    panel.paint(context, shown, panel);
    context.restore();
    context.strokeStyle = page.theme.rule;
    context.lineWidth = 1;
    context.strokeRect(shown.left - 0.5, top - 0.5, width - shown.left - shown.right + 1, panel.high + 1);
    top += panel.high + gap;
  }
  shown.first = panels.length ? panels[0].top : 0;
  context.fillStyle = page.theme.soft;
  context.textBaseline = "top";
  for (const ms of ticks(0, 1000 * shown.seconds, width < 520 ? 3 : 6)) {
    context.textAlign = shown.x(ms) > width - 40 ? "right" : "center";
    context.fillText(say(ms), shown.x(ms), top);
  }
  context.textAlign = "right";
  context.fillText(`ms after ${whenItBegan(shown)}`, width - shown.right, top + 14);
  canvas.setAttribute("aria-label", `${byId("evidence-title").textContent} of ${Math.round(1000 * shown.seconds)} ms that begins at ` +
    `${whenItBegan(shown)}: ${panels.map(({ name }) => name.toLowerCase()).join("; ")}. The slider of the replay moves along it.`);
}

const whenItBegan = ({ run, e }) => (run.span ? clock(run, run.events.event_time[e]) : "its beginning");

function paintSpikes(context, shown, panel) {
  const each = panel.high / Math.max(shown.n_cells, 1), long = Math.max(3, 0.8 * each);
  context.strokeStyle = page.theme.ink;
  context.lineWidth = 1.2;
  context.beginPath();
  for (let k = 0; k < shown.spike_row.length; k++) {
    const x = shown.x(shown.spike_time[k] / 10), y = panel.top + panel.high - (shown.spike_row[k] + 0.5) * each;
    context.moveTo(x, y - long / 2);
    context.lineTo(x, y + long / 2);
  }
  context.stroke();
}

function paintPlaces(context, shown, { axis, k, y, ends }) {
  const n = axis.low.length, ms = 1000 * shown.time_bin, values = shown[`place_${k}`], path = shown[`path_${k}`];
  context.fillStyle = page.theme.ink;
  for (let at = 0; at < values.length; at++) {
    if (!values[at]) continue;
    const t = Math.floor(at / n), row = at % n, x = shown.x(t * ms), top = y(axis.high[row]);
    context.globalAlpha = values[at] / 255;
    context.fillRect(x, top, shown.x((t + 1) * ms) - x, y(axis.low[row]) - top);
  }
  context.globalAlpha = 1;
  context.fillStyle = page.theme.rule;
  for (const [low, high] of axis.gaps) context.fillRect(shown.left, y(high), shown.width, y(low) - y(high));
  context.strokeStyle = page.theme.rule;
  context.lineWidth = 1;
  context.beginPath();
  for (const [at] of axis.nodes) {
    context.moveTo(shown.left, y(at));
    context.lineTo(shown.width, y(at));
  }
  context.stroke();
  context.strokeStyle = context.fillStyle = START;
  context.lineWidth = 1.4;
  context.beginPath();
  let before = null;
  path.forEach((row, t) => {
    if (row < 0) return void (before = null); // nothing travels
    const place = (axis.low[row] + axis.high[row]) / 2, x = shown.x((t + 0.5) * ms);
    // corridors that meet may be drawn far apart: there the line is broken
    if (before !== null && Math.abs(place - before) < (ends[1] - ends[0]) / 4) context.lineTo(x, y(place));
    else context.moveTo(x, y(place));
    before = place;
  });
  context.stroke();
  context.restore(); // names of nodes stand beside the axis
  context.fillStyle = page.theme.soft;
  context.textAlign = "right";
  context.textBaseline = "middle";
  let last = Infinity;
  for (const [at, name] of [...axis.nodes].sort((one, other) => one[0] - other[0])) {
    if (last - y(at) < 12) continue;
    last = y(at);
    context.fillText(name.length > 6 ? `${name.slice(0, 5)}…` : name, shown.left - 6, last);
  }
  context.save();
}

function paintTrace(context, shown, { trace, y }) {
  const values = shown[trace], [low, high] = shown.traces[trace], last = Math.max(values.length - 1, 1);
  context.strokeStyle = page.theme.ink;
  context.lineWidth = 1.2;
  context.beginPath();
  let isDrawn = false;
  values.forEach((value, k) => {
    const x = shown.x((1000 * shown.seconds * k) / last);
    if (value !== UNKNOWN) context[isDrawn ? "lineTo" : "moveTo"](x, y(low + ((high - low) * value) / (UNKNOWN - 1)));
    isDrawn = value !== UNKNOWN;
  });
  context.stroke();
}

/** Draw the evidence, and where the replay is. */
function drawEvidence() {
  const shown = page.evidence;
  if (!shown || !shown.context) return;
  const { context, run, e } = shown;
  context.clearRect(0, 0, shown.width, shown.height);
  context.drawImage(shown.still, 0, 0, shown.width, shown.height);
  const moment = eventOf(run, page.key) === e ? momentNow(run, e) : Infinity;
  if (!Number.isFinite(moment)) return;
  context.strokeStyle = page.theme.accent;
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(shown.x(moment), shown.first);
  context.lineTo(shown.x(moment), shown.bottom);
  context.stroke();
}

/** Show the moment of an event that is pointed at, here and on the map. */
function pointAt(event) {
  const shown = page.evidence;
  if (!shown || page.key === null) return;
  const x = event.clientX - byId("evidence-canvas").getBoundingClientRect().left;
  const moment = (1000 * shown.seconds * (x - shown.left)) / (shown.width - shown.left - shown.right);
  pause();
  page.running = false;
  page.moment = clamp(moment, 0, 1000 * shown.seconds);
  page.progress = movesUntil(shown.run, shown.e, page.moment);
  update();
}

/** List the events of recordings by time and kind. */
function writeList() {
  const list = byId("list"), decoded = page.views.every(({ run }) => run.decoded);
  byId("listed").hidden = !decoded || !page.entries.length;
  list.replaceChildren();
  if (!decoded) return;
  for (const key of page.entries) {
    const { run } = page.views.find((view) => eventOf(view.run, key) >= 0), e = eventOf(run, key);
    const when = run.span ? clock(run, run.events.event_time[e]) : `move ${say(run.events.event_made[e])}`;
    list.append(new Option(`${when}: ${sequenceText(run, chosenSequence(run, e))}`));
  }
  const held = page.views.filter(({ run }) => run.evidence && run.evidence.n_held < run.n_shown);
  byId("held").textContent = held.map(({ run }) =>
    `The page holds spikes and posteriors of ${say(run.evidence.n_held)} of ${plural(run.n_shown, "event")}, evenly over time.`).join(" ");
}

function markInList() {
  const at = page.key === null ? -1 : countUntil(page.entries, page.key) - 1;
  byId("list").selectedIndex = at >= 0 && page.entries[at] === page.key ? at : -1;
}
