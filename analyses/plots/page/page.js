"use strict";

// ---- data: columns of numbers, deflated and in base64, become typed arrays -------------------

const ARRAYS = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, i4: Int32Array, f4: Float32Array };

async function unpack(packed) {
  const bytes = Uint8Array.from(atob(packed.data), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const content = await new Response(stream).arrayBuffer();
  const columns = {};
  for (const [name, [kind, begin, n]] of Object.entries(packed.columns)) {
    const type = ARRAYS[kind.replace("+", "")];
    const values = new type(content.slice(begin, begin + n * type.BYTES_PER_ELEMENT));
    columns[name] = kind.startsWith("+") ? cumulated(values) : values;
  }
  return columns;
}

function cumulated(values) {
  const sums = new Float64Array(values.length);
  let sum = 0;
  for (let i = 0; i < values.length; i++) sums[i] = sum += values[i];
  return sums;
}

/** Where each list begins, from their lengths. */
function begins(lengths) {
  const begin = new Uint32Array(lengths.length + 1);
  for (let i = 0; i < lengths.length; i++) begin[i + 1] = begin[i] + lengths[i];
  return begin;
}

/** How many of the ascending values are at most `limit`. */
function countUntil(values, limit, low = 0, high = values.length) {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

async function readWorld(packed) {
  const world = { ...packed, ...(await unpack(packed)) };
  world.low = [Infinity, Infinity];
  world.high = [-Infinity, -Infinity];
  const pad = world.style === "maze" ? 1.5 * world.unit : world.style === "track" ? world.unit : 0;
  for (let s = 0; s < world.n_states; s++) {
    [world.x[s], world.y[s]].forEach((at, axis) => {
      world.low[axis] = Math.min(world.low[axis], at - pad);
      world.high[axis] = Math.max(world.high[axis], at + pad);
    });
  }
  return world;
}

async function readExperience(packed) {
  const way = { n: packed.n_steps, ...(await unpack(packed)) };
  const nPairs = way.pair_from.length;
  const first = new Map();
  for (let p = nPairs - 1; p >= 0; p--) first.set(way.pair_from[p], p);
  way.pair = new Uint32Array(way.n);
  way.place = new Uint32Array(way.n + 1); // where the animal is after so many steps
  way.place[0] = way.begin_state[0];
  let here = 0, next = 0;
  for (let k = 0; k < way.n; k++) {
    if (next < way.begin.length && way.begin[next] === k) here = way.begin_state[next++];
    const pair = first.get(here) + way.rank[k];
    way.pair[k] = pair;
    here = way.place[k + 1] = way.pair_to[pair];
  }
  const counts = new Uint32Array(nPairs);
  for (let k = 0; k < way.n; k++) counts[way.pair[k]]++;
  way.pairBegin = begins(counts);
  way.pairSteps = new Uint32Array(way.n); // the steps of each pair, ascending
  const filled = way.pairBegin.slice();
  for (let k = 0; k < way.n; k++) way.pairSteps[filled[way.pair[k]]++] = k;
  return way;
}

async function readRun(packed, number) {
  const run = { ...packed, number, counts: await unpack(packed.counts), events: await unpack(packed.events) };
  if (packed.values) run.values = { ...packed.values, ...(await unpack(packed.values)) };
  const events = run.events;
  run.n = events.event_number.length;
  run.moveBegin = begins(events.event_moves);
  run.sequenceBegin = begins(events.event_sequences);
  run.placeBegin = begins(events.sequence_length.map((length) => length - 1));
  run.pieceBegin = begins(events.sequence_pieces);
  run.sampleBegin = events.event_samples ? begins(events.event_samples) : null;
  run.key = new Float64Array(run.n); // orders events alike in runs of one experience
  let turn = 0;
  for (let e = 0; e < run.n; e++) {
    const same = e > 0 && events.event_made[e] === events.event_made[e - 1] &&
      events.event_phase[e] === events.event_phase[e - 1];
    turn = same ? turn + 1 : 0;
    run.key[e] = events.event_made[e] * 1e6 + events.event_phase[e] * 1e5 + turn;
  }
  return run;
}

// ---- what is shown now ----------------------------------------------------------------------

const page = {
  data: null, worlds: [], experiences: [], runs: [], views: [], entries: [],
  time: 0, key: null, progress: 0, running: false, playing: false, held: 0, sequence: 0,
  kinds: null, phases: null, shortest: 0, longest: Infinity, theme: {}, drawMs: 0,
};
const byId = (id) => document.getElementById(id);
const numbers = new Intl.NumberFormat("en-US");
const say = (value) => numbers.format(value);
const plural = (n, noun) => `${say(n)} ${noun}${n === 1 ? "" : "s"}`;
const LETTERS = { reverse_episode: "R", forward_episode: "F", novel_path: "N", ambiguous: "A", unexperienced: "U" };
const PHASES = { online: "online", trace: "trace", step: "on the way", episode_end: "at the end of an episode",
  start: "before an episode", rest: "at rest" };
const PIECE_COLOURS = ["#8ecae6", "#f7c873", "#9fd8b5", "#e6b0cf", "#b7b2e0", "#d9a78b"];
const SPLICE = "#009e73", START = "#d55e00";
const MOVES_PER_SECOND = 5, LONGEST_RUN = 10, HOLD = 1.0;
const still = window.matchMedia("(prefers-reduced-motion: reduce)");

const wayOf = (run) => page.experiences[run.experience];
const worldOf = (run) => page.worlds[run.world];

function eventOf(run, key) {
  if (key === null) return -1;
  const e = countUntil(run.key, key) - 1;
  return e >= 0 && run.key[e] === key ? e : -1;
}

function sequenceMatches(run, s) {
  const length = run.events.sequence_length[s];
  return page.kinds.has(run.events.sequence_kind[s]) && length >= page.shortest && length <= page.longest;
}

function eventMatches(run, e) {
  if (!page.phases.has(run.events.event_phase[e])) return false;
  for (let s = run.sequenceBegin[e]; s < run.sequenceBegin[e + 1]; s++) if (sequenceMatches(run, s)) return true;
  return false;
}

/** List the events that match, of all views together, in order. */
function listEntries() {
  const keys = new Set();
  for (const { run } of page.views) for (let e = 0; e < run.n; e++) if (eventMatches(run, e)) keys.add(run.key[e]);
  page.entries = Float64Array.from(keys).sort();
}

/** The sequence of an event that is looked at: the longest that matches, unless another is chosen. */
function chosenSequence(run, e) {
  const first = run.sequenceBegin[e], last = run.sequenceBegin[e + 1];
  if (page.views[0].run === run && page.sequence > 0 && first + page.sequence - 1 < last) return first + page.sequence - 1;
  let best = first;
  for (let s = first; s < last; s++) {
    const rank = (q) => run.events.sequence_length[q] + (sequenceMatches(run, q) ? 1e6 : 0);
    if (rank(s) > rank(best)) best = s;
  }
  return best;
}

/** States of a sequence, in the order of replay. */
function statesOf(run, e, s) {
  const states = [];
  for (let k = run.placeBegin[s]; k < run.placeBegin[s + 1]; k++) {
    const move = run.moveBegin[e] + run.events.place[k];
    if (!states.length) states.push(run.events.move_from[move]);
    states.push(run.events.move_to[move]);
  }
  return states;
}

/** The pieces of experience in a sequence: each with the last time that its episode ran it. */
function piecesOf(run, e, s) {
  const way = wayOf(run), states = statesOf(run, e, s), found = [];
  let begin = 0;
  for (let k = run.pieceBegin[s]; k < run.pieceBegin[s + 1]; k++) {
    const end = run.events.piece_end[k], episode = run.events.piece_episode[k];
    const backward = run.events.piece_backward[k] === 1;
    const wanted = states.slice(begin, end + 1);
    if (backward) wanted.reverse();
    found.push({ begin, end, episode, backward, ...lastRun(way, episode, wanted, run.events.event_made[e]) });
    begin = end;
  }
  return found;
}

/** Find the last time that an episode ran some states, until so many steps were made. */
function lastRun(way, episode, wanted, made) {
  let k = countUntil(way.begin_episode, episode) - 1;
  for (; k >= 0 && way.begin_episode[k] === episode; k--) {
    const first = way.begin[k];
    const end = Math.min(k + 1 < way.begin.length ? way.begin[k + 1] : way.n, made);
    const visited = [way.begin_state[k]], when = [first];
    for (let step = first; step < end; step++) {
      if (way.place[step + 1] === visited[visited.length - 1]) continue;
      visited.push(way.place[step + 1]);
      when.push(step + 1);
    }
    for (let at = visited.length - wanted.length; at >= 0; at--) {
      if (wanted.every((state, j) => visited[at + j] === state)) {
        return { from: when[at], until: when[at + wanted.length - 1],
          around: visited.slice(Math.max(0, at - 12), at + wanted.length + 12) };
      }
    }
  }
  return { from: -1, until: -1, around: [] };
}

function nameOfState(world, state) {
  const label = world.labels ? world.labels[state] : null;
  return label === null || label === undefined || label === String(state) ? `state ${state}` :
    world.style === "maze" ? `(${label})` : label;
}

const kindOf = (run, s) => page.data.kinds[run.events.sequence_kind[s]];

// ---- drawing ----------------------------------------------------------------------------------

function readTheme() {
  const style = getComputedStyle(document.documentElement);
  const theme = {};
  for (const name of ["paper", "panel", "ink", "soft", "rule", "wall", "floor", "way", "known", "halo"])
    theme[name] = style.getPropertyValue(`--${name}`).trim();
  theme.dark = brightness(theme.paper) < 0.2;
  theme.kinds = page.data.kinds.map((kind) => legible(kind.colour, theme.paper));
  theme.palette = theme.dark ? [...page.data.palette].reverse() : page.data.palette;
  theme.font = getComputedStyle(document.body).fontFamily;
  page.theme = theme;
  page.patterns = new Map();
}

function channels(colour) {
  const hex = colour.replace("#", "");
  return [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255);
}

function brightness(colour) {
  const [r, g, b] = channels(colour).map((c) => (c <= 0.04 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

const contrast = (one, other) => {
  const [low, high] = [brightness(one), brightness(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
};

/** Lighten a colour until it can be told from a dark page; on white paper it stays. */
function legible(colour, paper) {
  if (brightness(paper) > 0.5) return colour;
  let mixed = colour;
  for (let share = 0.1; contrast(mixed, paper) < 4 && share < 1; share += 0.1)
    mixed = "#" + channels(colour).map((c) => Math.round(255 * (c + share * (1 - c))).toString(16).padStart(2, "0")).join("");
  return mixed;
}

/** The fill of a kind: besides its colour each has a pattern of its own. */
function patternOf(context, k) {
  const name = page.data.kinds[k].name;
  if (page.patterns.has(k)) return page.patterns.get(k);
  const tile = document.createElement("canvas");
  tile.width = tile.height = 16;
  const draw = tile.getContext("2d");
  draw.fillStyle = page.theme.kinds[k];
  draw.fillRect(0, 0, 16, 16);
  draw.strokeStyle = draw.fillStyle = page.theme.paper;
  draw.lineWidth = 2;
  draw.beginPath();
  if (name === "forward_episode") for (const at of [-16, -8, 0, 8, 16]) { draw.moveTo(at - 2, 18); draw.lineTo(at + 18, -2); }
  if (name === "ambiguous") for (const at of [4, 12]) { draw.moveTo(0, at); draw.lineTo(16, at); }
  if (name === "unexperienced") for (const at of [4, 12]) { draw.moveTo(at, 0); draw.lineTo(at, 16); }
  draw.stroke();
  if (name === "novel_path") for (const [x, y] of [[4, 4], [12, 12]]) { draw.beginPath(); draw.arc(x, y, 2, 0, 7); draw.fill(); }
  const pattern = context.createPattern(tile, "repeat");
  pattern.setTransform(new DOMMatrix().scale(0.5));
  page.patterns.set(k, pattern);
  return pattern;
}

function fit(canvas, width, height) {
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  return context;
}

/** Place the world on the canvas, and draw once what never changes. */
function layOut(view) {
  const world = worldOf(view.run), width = view.canvas.clientWidth;
  const size = [0, 1].map((axis) => Math.max(world.high[axis] - world.low[axis], 1e-6));
  const scaled = world.style !== "graph", margin = world.style === "graph" ? 22 : 4, below = scaled ? 26 : 4;
  const most = Math.max(280, Math.min(0.7 * window.innerHeight, 700));
  const least = 96;
  let height = scaled ? (size[1] * (width - 2 * margin)) / size[0] + 2 * margin + below : Math.min(most, 0.62 * width);
  height = Math.round(Math.max(least, Math.min(most, height)));
  let sx = (width - 2 * margin) / size[0], sy = (height - 2 * margin - below) / size[1];
  if (scaled) sx = sy = Math.min(sx, sy);
  const left = (width - sx * size[0]) / 2, top = margin;
  view.px = new Float32Array(world.n_states);
  view.py = new Float32Array(world.n_states);
  for (let s = 0; s < world.n_states; s++) {
    view.px[s] = left + sx * (world.x[s] - world.low[0]);
    view.py[s] = top + sy * (world.high[1] - world.y[s]);
  }
  view.at = (x, y) => [left + sx * (x - world.low[0]), top + sy * (world.high[1] - y)];
  view.width = width;
  view.height = height;
  view.scale = sx;
  view.unit = world.style === "graph" ? graphUnit(view, world) : world.unit * sx;
  view.context = fit(view.canvas, width, height);
  view.still = document.createElement("canvas");
  const context = fit(view.still, width, height);
  drawWorld(context, view, world);
  if (scaled) drawScaleBar(context, view, world, top + sy * size[1] + 12, left);
}

/** As wide as states may be drawn without touching. */
function graphUnit(view, world) {
  const xs = Array.from(view.px).sort((a, b) => a - b);
  let least = Infinity;
  for (let k = 1; k < xs.length; k++) if (xs[k] - xs[k - 1] > 0.01) least = Math.min(least, xs[k] - xs[k - 1]);
  return Math.max(5, Math.min(22, 1.6 * least));
}

function drawWorld(context, view, world) {
  const theme = page.theme;
  context.lineCap = context.lineJoin = "round";
  if (world.style === "maze") {
    const side = view.unit;
    const [left, top] = view.at(world.low[0], world.high[1]);
    context.fillStyle = theme.floor;
    context.fillRect(left, top, view.scale * (world.high[0] - world.low[0]), view.scale * (world.high[1] - world.low[1]));
    context.fillStyle = theme.wall;
    for (let w = 0; w < world.wall_x.length; w++) {
      const [x, y] = view.at(world.wall_x[w] * world.unit, (world.wall_y[w] + 1) * world.unit);
      context.fillRect(x - 0.3, y - 0.3, side + 0.6, side + 0.6);
    }
  } else {
    const lines = () => {
      context.beginPath();
      for (let k = 0; k < world.one.length; k++) {
        context.moveTo(view.px[world.one[k]], view.py[world.one[k]]);
        context.lineTo(view.px[world.other[k]], view.py[world.other[k]]);
      }
      context.stroke();
    };
    if (world.style === "track") {
      for (const [colour, width] of [[theme.wall, view.unit + 3], [theme.floor, view.unit]]) {
        context.strokeStyle = colour;
        context.lineWidth = width;
        lines();
      }
    } else {
      context.strokeStyle = theme.wall;
      context.lineWidth = 0.8;
      lines();
    }
    context.fillStyle = theme.wall;
    const radius = world.style === "track" ? 1.6 : Math.max(1.4, view.unit / 5);
    for (let s = 0; s < world.n_states; s++) dot(context, view.px[s], view.py[s], radius);
  }
  context.strokeStyle = START;
  context.lineWidth = 2;
  for (const s of world.start) {
    context.fillStyle = theme.floor;
    dot(context, view.px[s], view.py[s], Math.max(4, Math.min(7, 0.3 * view.unit)));
    context.stroke();
  }
}

function drawScaleBar(context, view, world, y, left) {
  const wide = world.high[0] - world.low[0];
  const length = [5, 10, 20, 50, 100, 200, 500, 1000].reduce((best, each) =>
    Math.abs(each - 0.2 * wide) < Math.abs(best - 0.2 * wide) ? each : best);
  context.strokeStyle = context.fillStyle = page.theme.soft;
  context.lineWidth = 1.5;
  context.lineCap = "butt";
  const x = left + (world.style === "maze" ? 0 : 2);
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x + length * view.scale, y);
  context.stroke();
  context.font = `12px ${page.theme.font}`;
  context.textBaseline = "middle";
  context.fillText(length >= 100 ? `${length / 100} m` : `${length} cm`, x + length * view.scale + 7, y + 0.5);
}

function dot(context, x, y, radius) {
  context.beginPath();
  context.arc(x, y, radius, 0, 7);
  context.fill();
}

function starPath(radius) {
  let path = "";
  for (let k = 0; k < 10; k++) {
    const r = k % 2 ? 0.42 * radius : radius, angle = (Math.PI * k) / 5;
    path += `${k ? "L" : "M"}${(r * Math.sin(angle)).toFixed(2)} ${(-r * Math.cos(angle)).toFixed(2)}`;
  }
  return path + "Z";
}

function drawStar(context, x, y, radius) {
  context.save();
  context.translate(x, y);
  const path = new Path2D(starPath(radius));
  context.fillStyle = page.data.end_colour;
  context.strokeStyle = "#000";
  context.lineWidth = 0.8;
  context.fill(path);
  context.stroke(path);
  context.restore();
}

function polyline(context, view, states) {
  context.beginPath();
  states.forEach((s, k) => (k ? context.lineTo(view.px[s], view.py[s]) : context.moveTo(view.px[s], view.py[s])));
  context.stroke();
}

function drawValues(context, view, run, made) {
  const values = run.values, world = worldOf(run);
  const k = countUntil(values.made, made) - 1;
  if (k < 0) return;
  const palette = page.theme.palette, last = palette.length - 1;
  for (let s = 0; s < world.n_states; s++) {
    const value = values.value[k * world.n_states + s];
    if (value === 255) continue;
    context.fillStyle = palette[Math.round((value / 254) * last)];
    if (world.style === "maze") {
      const side = view.unit + 0.6;
      context.fillRect(view.px[s] - side / 2, view.py[s] - side / 2, side, side);
    } else dot(context, view.px[s], view.py[s], Math.max(2.2, world.style === "track" ? 0.36 * view.unit : view.unit / 2.4));
  }
}

function firstKnown(run, made) {
  const way = wayOf(run);
  if (!run.forgets || made === 0) return 0;
  return way.begin[countUntil(way.begin, made - 1) - 1];
}

function drawKnown(context, view, run, made) {
  const way = wayOf(run), since = firstKnown(run, made);
  context.strokeStyle = page.theme.known;
  context.lineCap = "round";
  const thick = Math.max(0.8, Math.min(1.5, 0.06 * view.unit));
  for (let p = 0; p < way.pair_from.length; p++) {
    const from = way.pair_from[p], to = way.pair_to[p];
    if (from === to) continue;
    const low = way.pairBegin[p], high = way.pairBegin[p + 1];
    if (way.pairSteps[low] >= made) continue;
    const n = countUntil(way.pairSteps, made - 1, low, high) - (since ? countUntil(way.pairSteps, since - 1, low, high) : low);
    if (!n) continue;
    context.globalAlpha = Math.min(0.8, 0.25 + 0.07 * Math.log2(n));
    context.lineWidth = thick * (0.6 + 0.1 * Math.log2(n));
    context.beginPath();
    context.moveTo(view.px[from], view.py[from]);
    context.lineTo(view.px[to], view.py[to]);
    context.stroke();
  }
  context.globalAlpha = 1;
}

function drawWay(context, view, run, made) {
  const way = wayOf(run);
  if (!made) return;
  const k = countUntil(way.begin, made - 1) - 1;
  const states = [way.begin_state[k]];
  for (let step = Math.max(way.begin[k], made - 2000); step < made; step++) states.push(way.place[step + 1]);
  context.strokeStyle = page.theme.way;
  context.lineWidth = Math.max(3, Math.min(9, 0.36 * view.unit));
  context.lineCap = context.lineJoin = "round";
  polyline(context, view, states);
}

function drawEnds(context, view, run, made) {
  const world = worldOf(run), way = wayOf(run);
  const ends = new Set(world.terminal);
  const paid = countUntil(way.paid_made, made) - 1;
  if (paid >= 0) ends.add(way.paid_state[paid]);
  const radius = Math.max(7, Math.min(11, 0.5 * view.unit));
  for (const s of ends) drawStar(context, view.px[s], view.py[s], radius);
}

function drawAnimal(context, view, state) {
  const side = Math.max(12, Math.min(19, 0.78 * view.unit));
  context.lineWidth = 5;
  context.strokeStyle = page.theme.halo;
  context.strokeRect(view.px[state] - side / 2, view.py[state] - side / 2, side, side);
  context.lineWidth = 2.2;
  context.strokeStyle = page.theme.ink;
  context.strokeRect(view.px[state] - side / 2, view.py[state] - side / 2, side, side);
}

/** Draw an arrow from one state to the next; `part` of it, if it is being made. */
function drawMove(context, view, from, to, colour, width, part = 1) {
  let [x, y] = [view.px[from], view.py[from]];
  let [dx, dy] = [view.px[to] - x, view.py[to] - y];
  const long = Math.hypot(dx, dy);
  if (!long) return;
  const aside = Math.min(2.2, 0.12 * view.unit); // to and fro keep to the right
  x -= (aside * dy) / long;
  y += (aside * dx) / long;
  const head = Math.min(0.55 * long, 3.4 * width);
  const tip = long * part;
  context.strokeStyle = context.fillStyle = colour;
  context.lineWidth = width;
  context.lineCap = "round";
  context.beginPath();
  context.moveTo(x, y);
  const shaft = Math.max(0, tip - (part === 1 ? head : 0)) / long;
  context.lineTo(x + dx * shaft, y + dy * shaft);
  context.stroke();
  if (part < 1) return;
  const [ux, uy] = [dx / long, dy / long], half = 0.42 * head;
  context.beginPath();
  context.moveTo(x + dx, y + dy);
  context.lineTo(x + dx - head * ux - half * uy, y + dy - head * uy + half * ux);
  context.lineTo(x + dx - head * ux + half * uy, y + dy - head * uy - half * ux);
  context.fill();
}

function drawBadge(context, x, y, letter, colour, round = true) {
  context.fillStyle = colour;
  context.strokeStyle = page.theme.halo;
  context.lineWidth = 2;
  context.beginPath();
  if (round) context.arc(x, y, 8.5, 0, 7);
  else context.rect(x - 7.5, y - 7.5, 15, 15);
  context.stroke();
  context.fill();
  context.fillStyle = brightness(colour) > 0.3 ? "#1d1c1a" : "#ffffff";
  context.font = `650 11px ${page.theme.font}`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText(letter, x, y + 0.5);
  context.textAlign = "left";
}

/** The colour of each piece: one for each episode. */
function pieceColours(pieces) {
  const episodes = [...new Set(pieces.map((piece) => piece.episode))];
  return pieces.map((piece) => PIECE_COLOURS[episodes.indexOf(piece.episode) % PIECE_COLOURS.length]);
}

function drawPieces(context, view, run, e, s, places) {
  const pieces = piecesOf(run, e, s);
  if (!pieces.length) return pieces;
  context.lineCap = context.lineJoin = "round";
  const episodes = [...new Set(pieces.map((piece) => piece.episode))];
  const wide = Math.max(5, Math.min(12, 0.5 * view.unit)), colours = pieceColours(pieces);
  pieces.forEach((piece, k) => {
    const aside = (episodes.indexOf(piece.episode) - (episodes.length - 1) / 2) * Math.min(2.5, 0.1 * view.unit);
    context.save();
    context.translate(aside, aside);
    context.strokeStyle = colours[k];
    context.globalAlpha = 0.4;
    context.lineWidth = 0.45 * wide;
    polyline(context, view, piece.around);
    context.globalAlpha = 1;
    context.lineWidth = wide;
    polyline(context, view, places.slice(piece.begin, piece.end + 1));
    context.restore();
  });
  return pieces;
}

/** Draw the moves of an event that were made by now, and where the replay is. */
function drawEvent(context, view, run, e) {
  const events = run.events, s = chosenSequence(run, e);
  const first = run.moveBegin[e], n = events.event_moves[e];
  const progress = Math.min(page.progress, n);
  const places = statesOf(run, e, s);
  const own = new Set();
  for (let k = run.placeBegin[s]; k < run.placeBegin[s + 1]; k++) own.add(events.place[k]);
  const complete = progress >= n;
  const pieces = complete || !page.running ? drawPieces(context, view, run, e, s, places) : [];
  if (run.sampleBegin) drawDecoded(context, view, run, e, progress / n);

  const ofKind = new Int8Array(n).fill(-1), longest = new Uint16Array(n);
  for (let q = run.sequenceBegin[e]; q < run.sequenceBegin[e + 1]; q++)
    for (let k = run.placeBegin[q]; k < run.placeBegin[q + 1]; k++)
      if (events.sequence_length[q] > longest[events.place[k]]) {
        longest[events.place[k]] = events.sequence_length[q];
        ofKind[events.place[k]] = events.sequence_kind[q];
      }
  const width = Math.max(2, Math.min(3.6, 0.16 * view.unit));
  const shown = Math.ceil(progress);
  for (const front of [false, true])
    for (let k = 0; k < shown; k++) {
      if (own.has(k) !== front) continue;
      const part = k === shown - 1 && progress < shown ? progress - k : 1;
      const colour = front ? page.theme.kinds[events.sequence_kind[s]] : ofKind[k] < 0 ? page.theme.soft : page.theme.kinds[ofKind[k]];
      context.globalAlpha = front ? 1 : page.running ? 0.6 : 0.32;
      drawMove(context, view, events.move_from[first + k], events.move_to[first + k], colour, front ? width : 0.7 * width, part);
    }
  context.globalAlpha = 1;
  const colour = page.theme.kinds[events.sequence_kind[s]];
  if (!complete && progress > 0) {
    const k = shown - 1, part = progress - k;
    const [from, to] = [events.move_from[first + k], events.move_to[first + k]];
    const x = view.px[from] + part * (view.px[to] - view.px[from]), y = view.py[from] + part * (view.py[to] - view.py[from]);
    const lit = own.has(k) ? colour : ofKind[k] < 0 ? page.theme.soft : page.theme.kinds[ofKind[k]];
    context.fillStyle = lit;
    context.globalAlpha = 0.3;
    dot(context, x, y, 11);
    context.globalAlpha = 1;
    dot(context, x, y, 5.5);
  }
  if (!complete) return null;
  const radius = clamp(0.42 * view.unit, 7, 11);
  for (const piece of pieces.slice(1)) {
    const at = places[piece.begin];
    context.strokeStyle = page.theme.halo;
    context.lineWidth = 4.6;
    ring(context, view.px[at], view.py[at], radius);
    context.strokeStyle = SPLICE;
    context.lineWidth = 2.2;
    ring(context, view.px[at], view.py[at], radius);
  }
  return { places, pieces, letter: LETTERS[kindOf(run, s).name], colour };
}

const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
const MOST_LETTERS = 26;

/** Write the letter of the kind where the path begins, and of each piece beside it, clear of all else. */
function drawLabels(context, view, run, { places, pieces, letter, colour }, animal) {
  const taken = [animal, ...worldOf(run).terminal, ...places].map((state) => [view.px[state], view.py[state], 0]);
  const splices = pieces.slice(1).map((piece) => places[piece.begin]);
  taken.push([view.px[animal], view.py[animal], 6], ...splices.map((state) => [view.px[state], view.py[state], 6]));
  const put = (x, y) => {
    let best = [x, y], most = -Infinity;
    for (let k = 0; k < 16; k++)
      for (const off of [14, 0.6 * view.unit, 0.9 * view.unit]) {
        const angle = (Math.PI * k) / 8, away = Math.max(14, off);
        const [a, b] = [clamp(x + away * Math.cos(angle), 10, view.width - 10), clamp(y + away * Math.sin(angle), 10, view.height - 10)];
        const clear = Math.min(...taken.map(([c, d, r]) => Math.hypot(a - c, b - d) - r));
        if (Math.min(clear, 17) - 0.1 * away > most) [best, most] = [[a, b], Math.min(clear, 17) - 0.1 * away];
      }
    taken.push([...best, 7]);
    return best;
  };
  for (let k = 1; k < places.length; k++) // also the middles of moves are taken
    taken.push([(view.px[places[k]] + view.px[places[k - 1]]) / 2, (view.py[places[k]] + view.py[places[k - 1]]) / 2, 0]);
  drawBadge(context, ...put(view.px[places[0]], view.py[places[0]]), letter, colour);
  if (pieces.length < 2) return;
  const colours = pieceColours(pieces);
  pieces.slice(0, MOST_LETTERS).forEach((piece, k) => {
    const middle = (piece.begin + piece.end) / 2, [a, b] = [places[Math.floor(middle)], places[Math.ceil(middle)]];
    const [x, y] = put((view.px[a] + view.px[b]) / 2, (view.py[a] + view.py[b]) / 2);
    drawBadge(context, x, y, String.fromCharCode(65 + k), colours[k], false);
  });
}

function ring(context, x, y, radius) {
  context.beginPath();
  context.arc(x, y, radius, 0, 7);
  context.stroke();
}

function drawDecoded(context, view, run, e, share) {
  const events = run.events, first = run.sampleBegin[e], n = run.sampleBegin[e + 1] - first;
  context.fillStyle = page.theme.soft;
  context.globalAlpha = 0.55;
  for (let k = first; k < first + Math.ceil(share * n); k++) {
    const [x, y] = view.at(events.path_x[k], events.path_y[k]);
    dot(context, x, y, 2.2);
  }
  context.globalAlpha = 1;
}

function draw() {
  const begun = performance.now();
  for (const view of page.views) {
    const { context, run } = view, made = Math.min(page.time, wayOf(run).n);
    const e = eventOf(run, page.key);
    context.clearRect(0, 0, view.width, view.height);
    context.drawImage(view.still, 0, 0, view.width, view.height);
    if (byId("show-values").checked && run.values) drawValues(context, view, run, made);
    if (byId("show-graph").checked) drawKnown(context, view, run, made);
    if (byId("show-way").checked) drawWay(context, view, run, made);
    drawEnds(context, view, run, made);
    const animal = e < 0 ? wayOf(run).place[made] : animalAt(run, e);
    const labels = e < 0 ? null : drawEvent(context, view, run, e);
    drawAnimal(context, view, animal);
    if (labels) drawLabels(context, view, run, labels, animal);
  }
  drawTimeline();
  page.drawMs = performance.now() - begun;
}

/** Where the animal is at a move of an event: chains across events go on while it walks. */
function animalAt(run, e) {
  const n = run.events.event_moves[e], k = Math.min(Math.max(Math.ceil(page.progress) - 1, 0), n - 1);
  const delay = run.events.move_delay[run.moveBegin[e] + k];
  const way = wayOf(run);
  return delay ? way.place[Math.min(run.events.event_made[e] + delay, way.n)] : run.events.event_location[e];
}

// ---- kinds over learning ------------------------------------------------------------------------

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

// ---- words ----------------------------------------------------------------------------------------

/** Laps of an animal are counted from 1, episodes of a model from 0, as in the tables. */
const episodeText = (run, episode) => run.decoded ? `lap ${say(episode + 1)}` : `episode ${say(episode)}`;
const stepName = (run) => (run.decoded ? "move" : "step");

function phaseText(name) {
  return page.runs.every((run) => run.decoded) ? PHASES[name].replace("an episode", "a lap") : PHASES[name];
}

function whenText(run, made) {
  const way = wayOf(run);
  if (!made) return `before the first ${stepName(run)}`;
  const k = countUntil(way.begin, made - 1) - 1;
  const seconds = way.seconds ? `, ${clock(way.seconds[made - 1])}` : "";
  return `${episodeText(run, way.begin_episode[k])}, ${stepName(run)} ${say(way.step[made - 1])}${seconds}`;
}

const clock = (seconds) => seconds < 60 ? `${seconds.toFixed(1)} s` :
  `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;

function describe(run, e) {
  const s = chosenSequence(run, e), events = run.events, kind = kindOf(run, s), world = worldOf(run);
  const states = statesOf(run, e, s), pieces = piecesOf(run, e, s);
  const how = ["", ", replayed forward", ", replayed in reverse"][events.sequence_orientation[s]];
  const told = [`${kind.label} of ${states.length} states${kind.name === "novel_path" ? how : ""}`];
  told[0] += `, from ${nameOfState(world, states[0])} to ${nameOfState(world, states[states.length - 1])}.`;
  const phase = phaseText(page.data.phases[events.event_phase[e]]);
  told.push(`${run.decoded ? "The animal" : run.name} replays this ${phase}: ${whenText(run, events.event_made[e])}.`);
  if (pieces.length > 1) told.push(`It was never run as a whole; it is stitched from ${pieces.length} pieces of experience.`);
  else if (pieces.length === 1) told.push(`It was run in ${episodeText(run, pieces[0].episode)}${pieces[0].backward ? ", the other way round" : ""}.`);
  else told.push("Some of its moves were never made.");
  return told;
}

function writeEvent() {
  const lines = [], view = page.views[0];
  let e = -1;
  for (const { run } of page.views) {
    const found = eventOf(run, page.key);
    if (found >= 0) lines.push(describe(run, found));
    else if (page.key !== null) lines.push([`${run.name} replays no sequence in this pause${run.n_shown < run.n_events ? " that is in the sample" : ""}.`]);
  }
  e = eventOf(view.run, page.key);
  const target = byId("event");
  target.replaceChildren();
  if (page.key === null) {
    target.textContent = page.entries.length ?
      `No pause is open. ${plural(page.entries.length, "event")} with matching sequences: go to the next one (N), or play.` :
      page.views.every(({ run }) => !run.n_sequences) ? "No sequence of this length was replayed." : "No event matches: choose more kinds, pauses or lengths.";
  } else {
    lines.forEach(([first, ...others]) => {
      const line = document.createElement("span"), strong = document.createElement("b");
      strong.textContent = first;
      line.append(others.length ? strong : first, others.length ? ` ${others.join(" ")}` : "");
      target.append(line, " ");
    });
    const at = countUntil(page.entries, page.key);
    if (at && page.entries[at - 1] === page.key) {
      const place = document.createElement("span");
      place.className = "fine";
      place.textContent = `Event ${say(at)} of ${say(page.entries.length)}.`;
      target.append(place);
    }
  }
  writeSequences(view.run, e);
  writePieces();
  byId("again").disabled = page.key === null;
}

function badge(letter, colour) {
  const mark = document.createElement("span");
  mark.className = "badge";
  mark.style.background = colour;
  mark.style.color = brightness(colour) > 0.3 ? "#1d1c1a" : "#fff";
  mark.textContent = letter;
  mark.setAttribute("aria-hidden", "true");
  return mark;
}

const MOST_LISTED = 8;

function writeSequences(run, e) {
  const list = byId("sequences");
  list.replaceChildren();
  if (e < 0 || run.events.event_sequences[e] < 2) return;
  const first = run.sequenceBegin[e], last = run.sequenceBegin[e + 1], chosen = chosenSequence(run, e);
  const order = [];
  for (let s = first; s < last; s++) order.push(s);
  order.sort((a, b) => run.events.sequence_length[b] - run.events.sequence_length[a] || a - b);
  const shown = order.slice(0, MOST_LISTED);
  for (const s of shown) {
    const button = document.createElement("button");
    button.type = "button";
    button.setAttribute("aria-pressed", String(s === chosen));
    button.append(badge(LETTERS[kindOf(run, s).name], page.theme.kinds[run.events.sequence_kind[s]]), `${run.events.sequence_length[s]} states`);
    button.setAttribute("aria-label", `${kindOf(run, s).label}, ${run.events.sequence_length[s]} states`);
    button.addEventListener("click", () => {
      page.sequence = s - first + 1;
      page.running = false;
      page.progress = Infinity;
      update();
    });
    list.append(button);
  }
  if (order.length > shown.length) {
    const more = document.createElement("span");
    more.className = "fine";
    more.textContent = `and ${order.length - shown.length} shorter`;
    list.append(more);
  }
}

const MOST_PIECES = 12;

function writePieces() {
  const list = byId("pieces");
  list.replaceChildren();
  for (const { run } of page.views) {
    const e = eventOf(run, page.key);
    if (e < 0) continue;
    const pieces = piecesOf(run, e, chosenSequence(run, e));
    if (pieces.length < 2) continue;
    const colours = pieceColours(pieces);
    pieces.slice(0, MOST_PIECES).forEach((piece, k) => {
      const item = document.createElement("li"), text = document.createElement("span");
      const steps = piece.from < 0 ? "" : `, ${stepName(run)}s ${say(piece.from)}–${say(piece.until)}`;
      const episode = episodeText(run, piece.episode);
      text.textContent = `${episode[0].toUpperCase()}${episode.slice(1)}${steps}${piece.backward ? ", backwards" : ""}`;
      item.append(badge(String.fromCharCode(65 + k), colours[k]), text);
      list.append(item);
    });
    if (pieces.length > MOST_PIECES) {
      const item = document.createElement("li");
      item.textContent = `and ${pieces.length - MOST_PIECES} more pieces`;
      list.append(item);
    }
  }
}

function writeTime() {
  const longest = Math.max(...page.views.map(({ run }) => wayOf(run).n));
  const slider = byId("time");
  slider.max = longest;
  slider.value = page.time;
  const way = wayOf(page.views[0].run), made = Math.min(page.time, way.n);
  const k = made ? countUntil(way.begin, made - 1) - 1 : 0;
  const seconds = way.seconds && made ? `, ${clock(way.seconds[made - 1])}` : "";
  byId("time-text").textContent = made ?
    `${stepName(page.views[0].run)} ${say(way.step[made - 1])} of ${say(longest)}, ${episodeText(page.views[0].run, way.begin_episode[k])}${seconds}` :
    `before the first of ${plural(longest, stepName(page.views[0].run))}`;
  slider.setAttribute("aria-valuetext", byId("time-text").textContent);
  const most = Math.max(0, ...page.views.map(({ run }) => {
    const e = eventOf(run, page.key);
    return e < 0 ? 0 : run.events.event_moves[e];
  }));
  const moves = byId("move"), done = Math.min(Math.ceil(page.progress), most);
  moves.disabled = !most;
  moves.max = most || 1;
  moves.value = most ? done : 0;
  byId("move-text").textContent = most ? `${say(done)} of ${plural(most, "move")}` : "no pause open";
  moves.setAttribute("aria-valuetext", byId("move-text").textContent);
}

function writeViews() {
  for (const view of page.views) {
    const { run } = view, made = Math.min(page.time, wayOf(run).n), e = eventOf(run, page.key);
    let text = `${run.name} in ${worldOf(run).known ? worldOf(run).style : "a world of unknown shape"}, ${whenText(run, made)}.`;
    if (e >= 0) text += ` ${describe(run, e).join(" ")}`;
    view.canvas.setAttribute("aria-label", text);
    view.now.textContent = e < 0 ? (page.key === null ? "" : "no sequence in this pause") :
      `${kindOf(run, chosenSequence(run, e)).label}, ${run.events.sequence_length[chosenSequence(run, e)]} states`;
  }
}

function writeCounts() {
  const table = byId("counts"), head = document.createElement("thead"), body = document.createElement("tbody");
  const row = (cells, header) => {
    const line = document.createElement("tr");
    cells.forEach((cell, k) => {
      const element = document.createElement(header || !k ? "th" : "td");
      element.scope = header ? "col" : "row";
      element.textContent = typeof cell === "number" ? say(cell) : cell;
      line.append(element);
    });
    return line;
  };
  const totals = page.views.map(({ run }) => {
    const sums = new Uint32Array(page.data.kinds.length);
    for (const counts of countByWindow(run)) counts.forEach((n, k) => (sums[k] += n));
    return sums;
  });
  head.append(row(["Kind", ...page.views.map(({ run }) => run.name)], true));
  page.data.kinds.forEach((kind, k) => body.append(row([kind.label, ...totals.map((sums) => sums[k])])));
  body.append(row(["All that match", ...totals.map((sums) => sums.reduce((a, b) => a + b, 0))]));
  table.replaceChildren(head, body);
  const few = page.views.filter(({ run }) => run.n_shown < run.n_events);
  byId("matching").textContent = `${plural(page.entries.length, "event")} to go through.` +
    few.map(({ run }) => ` Of the ${say(run.n_events)} of ${run.name} the page holds a sample of ${say(run.n_shown)}, even over time and of each kind; all are counted.`).join("");
}

function writeValues() {
  const box = byId("show-values"), text = byId("values-text"), run = page.views[0].run;
  const known = page.views.some((view) => view.run.values);
  box.disabled = !known;
  text.replaceChildren();
  if (!known) {
    text.textContent = run.decoded ? "Nothing is known of the values of an animal." :
      "Values are unknown: this log keeps replay only (log=\"all\" keeps every update).";
    return;
  }
  byId("values-swatch").style.background = `linear-gradient(90deg, ${page.theme.palette.join(",")})`;
  if (!box.checked) return;
  page.views.filter((view) => view.run.values).forEach(({ run: each }) => {
    const bar = document.createElement("span"), ends = document.createElement("span");
    bar.className = "bar";
    bar.style.background = `linear-gradient(90deg, ${page.theme.palette.join(",")})`;
    ends.className = "bar-ends";
    for (const value of [each.values.low, each.values.high]) {
      const end = document.createElement("span");
      end.textContent = Number(value.toPrecision(3)).toString();
      ends.append(end);
    }
    text.append(page.views.length > 1 ? `Largest action value, ${each.name}` : "Largest action value", bar, ends);
  });
}

// ---- moving on --------------------------------------------------------------------------------------

/** After anything that changes time or event: draw, then write. */
function update() {
  draw();
  writeTime();
  writeEvent();
  writeViews();
  keepAddress();
}

let addressTimer = 0;

function keepAddress() {
  clearTimeout(addressTimer);
  addressTimer = setTimeout(() => {
    try { history.replaceState(null, "", address()); } catch { /* where an address cannot be changed */ }
  }, 300);
}

function address() {
  const parts = [`run=${page.views[0].run.number}`];
  if (page.views[1]) parts.push(`beside=${page.views[1].run.number}`);
  const owner = page.key === null ? null : page.views.find(({ run }) => eventOf(run, page.key) >= 0);
  if (owner) {
    if (owner !== page.views[0]) parts.push(`of=${owner.run.number}`);
    parts.push(`event=${owner.run.events.event_number[eventOf(owner.run, page.key)]}`);
  } else parts.push(`step=${page.time}`);
  return `#${parts.join("&")}`;
}

function goToAddress() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const whole = (name) => (/^\d+$/.test(asked.get(name) || "") ? Number(asked.get(name)) : -1);
  const run = page.runs[whole("run")] || page.runs[0];
  const beside = asked.has("run") ? page.runs[whole("beside")] : page.runs.length === 2 ? page.runs[1] : null;
  setViews(run, beside);
  const owner = page.runs[whole("of")] || run;
  const e = whole("event") < 0 ? -1 : owner.events.event_number.indexOf(whole("event"));
  if (e >= 0) return openKey(owner.key[e], true);
  if (whole("event") >= 0) byId("copied").textContent = `Event ${whole("event")} is not on this page.`;
  if (whole("step") >= 0) return goTo(whole("step"));
  if (page.entries.length) return openKey(page.entries[firstTelling()], true);
  return goTo(0);
}

/** Begin with a novel path of few pieces, if there is one. */
function firstTelling() {
  const run = page.views[0].run;
  let best = -1, found = 0;
  for (let i = 0; i < page.entries.length; i++) {
    const e = eventOf(run, page.entries[i]);
    if (e < 0) continue;
    const s = chosenSequence(run, e), pieces = run.events.sequence_pieces[s];
    const length = Math.min(run.events.sequence_length[s], 14);
    const score = length + (kindOf(run, s).name === "novel_path" && pieces < 4 ? 100 : 0);
    if (score > best) [best, found] = [score, i];
  }
  return found;
}

function goTo(time) {
  const longest = Math.max(...page.views.map(({ run }) => wayOf(run).n));
  page.time = clamp(Math.round(time), 0, longest);
  page.key = null;
  page.sequence = 0;
  page.running = false;
  update();
}

function openKey(key, whole = false) {
  page.key = key;
  page.time = Math.floor(key / 1e6);
  page.sequence = 0;
  page.running = !whole && !still.matches;
  page.progress = page.running ? 0 : Infinity;
  update();
  if (page.running) animate();
}

function goAlong(by) {
  if (!page.entries.length) return;
  const now = page.key === null ? page.time * 1e6 - 0.5 : page.key;
  const at = by > 0 ? countUntil(page.entries, now) : countUntil(page.entries, now - 0.5) - 1;
  pause();
  openKey(page.entries[(at + page.entries.length) % page.entries.length]);
}

function runAgain() {
  if (page.key === null) return;
  page.running = true;
  page.progress = 0;
  update();
  animate();
}

function setMove(count) {
  if (page.key === null) return;
  page.running = false;
  page.progress = clamp(count, 0, Number(byId("move").max));
  update();
}

let frame = 0, before = 0;

function animate() {
  cancelAnimationFrame(frame);
  before = performance.now();
  frame = requestAnimationFrame(tick);
}

function tick(now) {
  const seconds = Math.min(0.1, Math.max(0, now - before) / 1000);
  before = now;
  if (page.key !== null && page.running) {
    const n = Number(byId("move").max);
    page.progress = Math.min(n, page.progress + seconds * Math.max(MOVES_PER_SECOND, n / LONGEST_RUN));
    if (page.progress >= n) {
      page.running = false;
      page.held = HOLD;
    }
    draw();
    writeTime();
  } else if (page.playing && page.key !== null) {
    page.held -= seconds;
    if (page.held <= 0) {
      page.passed = page.key;
      page.key = null;
      update();
    }
  } else if (page.playing) advance(seconds);
  if (page.running || page.playing) frame = requestAnimationFrame(tick);
}

/** Walk on; stop at the next pause whose replay is to be shown. */
function advance(seconds) {
  page.walked = (page.walked || 0) + seconds * Number(byId("speed").value);
  const steps = Math.floor(page.walked);
  page.walked -= steps;
  const last = Number(byId("time").max);
  const now = page.passed === undefined ? page.time * 1e6 - 0.5 : Math.max(page.passed, page.time * 1e6 - 0.5);
  const next = page.entries[countUntil(page.entries, now)];
  if (next !== undefined && Math.floor(next / 1e6) <= page.time + steps) {
    openKey(next);
    page.held = HOLD;
    return;
  }
  page.time = Math.min(last, page.time + steps);
  if (page.time === last) pause();
  draw();
  writeTime();
}

function pause() {
  page.playing = false;
  showPlaying();
}

function togglePlay() {
  page.playing = !page.playing;
  page.passed = page.key === null ? undefined : page.key;
  page.held = 0;
  if (page.playing && page.key === null && page.time >= Number(byId("time").max)) page.time = 0;
  showPlaying();
  if (page.playing) animate();
  else update();
}

function showPlaying() {
  byId("play").setAttribute("aria-pressed", String(page.playing));
  byId("play-name").textContent = page.playing ? "Pause" : "Play";
  byId("play-icon").setAttribute("d", page.playing ? "M3 2h4v12H3zM9 2h4v12H9z" : "M4 2l10 6-10 6z");
}

// ---- setting up ----------------------------------------------------------------------------------------

function setViews(run, beside) {
  const shown = [run, ...(beside ? [beside] : [])];
  const holder = byId("views");
  holder.className = shown.length > 1 ? "views two" : "views";
  holder.replaceChildren();
  page.views = shown.map((each, k) => makeView(each, k, holder));
  if (page.runs.length > 1 && shown.length === 1) {
    const caption = holder.querySelector("figcaption");
    caption.append(chooser("Beside it", null, true, (number) => setViewsAndGo(run, page.runs[number])));
  }
  const one = shown.length > 1 && shown[0].experience === shown[1].experience;
  byId("summary").textContent = summary(shown, one);
  byId("decoded-key").hidden = !shown.some((each) => each.decoded);
  byId("start-key").hidden = !shown.some((each) => worldOf(each).start.length);
  refilter();
}

function summary(shown, one) {
  const parts = shown.map((run) => {
    const way = wayOf(run), episodes = new Set(way.begin_episode).size;
    return `${run.name}: ${plural(way.n, stepName(run))} in ${plural(episodes, run.decoded ? "lap" : "episode")}, ${plural(run.n_sequences, "replayed sequence")} in ${plural(run.n_events, run.decoded ? "event" : "pause")}.`;
  });
  if (shown.length > 1) parts.push(one ? "Both have the same experience." : "Each has experience of its own.");
  if (shown.some((run) => !worldOf(run).known)) parts.push("The world is not known, so neighbouring states are drawn near one another; nothing is to scale.");
  else if (shown.some((run) => worldOf(run).style === "graph")) parts.push("The drawing is not to scale.");
  const world = worldOf(shown[0]), name = world.known ? world.name.replaceAll("_", " ") : "";
  if (name) parts.unshift(`${name[0].toUpperCase()}${name.slice(1)} with ${plural(world.n_states, "state")}.`);
  return parts.join(" ");
}

function setViewsAndGo(run, beside) {
  const key = page.key, time = page.time;
  setViews(run, beside);
  if (key !== null && page.views.some((view) => eventOf(view.run, key) >= 0)) openKey(key, true);
  else goTo(time);
}

function chooser(name, chosen, none, onChange) {
  const label = document.createElement("label"), select = document.createElement("select");
  select.setAttribute("aria-label", name);
  if (none) select.append(new Option("compare with …", "-1"));
  page.runs.forEach((run, k) => select.append(new Option(run.name, k, false, k === chosen)));
  if (none && chosen !== null) select.append(new Option("none", "-1"));
  select.addEventListener("change", () => onChange(Number(select.value)));
  label.append(select);
  return label;
}

function makeView(run, k, holder) {
  const figure = document.createElement("figure"), caption = document.createElement("figcaption");
  figure.className = "view";
  if (page.runs.length > 1) {
    const choose = (number) => {
      const others = page.views.map((view) => view.run);
      others[k] = page.runs[number];
      setViewsAndGo(others[0], others[1]);
    };
    caption.append(chooser(k ? "Beside it" : "Learner", run.number, false, choose));
    if (k) {
      const close = document.createElement("button");
      close.type = "button";
      close.textContent = "Remove";
      close.addEventListener("click", () => setViewsAndGo(page.views[0].run, null));
      caption.append(close);
    }
  } else {
    const label = document.createElement("label");
    label.textContent = run.name;
    caption.append(label);
  }
  const now = document.createElement("span"), canvas = document.createElement("canvas"), under = document.createElement("p");
  now.className = "now";
  under.className = "under fine";
  caption.append(now);
  canvas.setAttribute("role", "img");
  figure.append(caption, canvas, under);
  holder.append(figure);
  const view = { run, canvas, now, under };
  canvas.addEventListener("pointermove", (event) => tellState(view, event));
  canvas.addEventListener("pointerleave", () => (under.textContent = ""));
  return view;
}

/** Tell of the state under the pointer. */
function tellState(view, event) {
  const { run } = view, world = worldOf(run), way = wayOf(run), made = Math.min(page.time, way.n);
  const box = view.canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
  let best = -1, least = Math.max(12, view.unit) ** 2;
  for (let s = 0; s < world.n_states; s++) {
    const away = (view.px[s] - x) ** 2 + (view.py[s] - y) ** 2;
    if (away < least) [best, least] = [s, away];
  }
  if (best < 0) {
    view.under.textContent = "";
    return;
  }
  let visits = 0;
  for (let p = 0; p < way.pair_to.length; p++)
    if (way.pair_to[p] === best) visits += countUntil(way.pairSteps, made - 1, way.pairBegin[p], way.pairBegin[p + 1]) - way.pairBegin[p];
  let text = `${nameOfState(world, best)}: entered ${visits === 1 ? "once" : `${say(visits)} times`}`;
  if (run.values) {
    const k = countUntil(run.values.made, made) - 1;
    const value = k < 0 ? 255 : run.values.value[k * world.n_states + best];
    if (value !== 255) text += `, value ${(run.values.low + (value / 254) * (run.values.high - run.values.low)).toPrecision(3)}`;
  }
  view.under.textContent = text[0].toUpperCase() + text.slice(1);
}

/** After a change of views or filters. */
function refilter() {
  listEntries();
  resize();
  writeChoices();
  writeCounts();
  writeValues();
}

function resize() {
  for (const view of page.views) layOut(view);
  layOutTimeline();
}

function writeChoices() {
  const kinds = new Map(), phases = new Map();
  for (const { run } of page.views)
    for (let k = 0; k < run.counts.n.length; k++) {
      kinds.set(run.counts.kind[k], (kinds.get(run.counts.kind[k]) || 0) + run.counts.n[k]);
      phases.set(run.counts.phase[k], (phases.get(run.counts.phase[k]) || 0) + run.counts.n[k]);
    }
  const fill = (id, counted, chosen, names, mark) => {
    const kept = document.activeElement && document.activeElement.dataset.choice;
    byId(id).replaceChildren(...[...counted.keys()].sort((a, b) => a - b).map((k) => {
      const label = document.createElement("label"), box = document.createElement("input"), count = document.createElement("span");
      box.type = "checkbox";
      box.checked = chosen.has(k);
      box.dataset.choice = `${id}${k}`;
      box.addEventListener("change", () => {
        if (box.checked) chosen.add(k); else chosen.delete(k);
        refilter();
        update();
      });
      count.className = "count";
      count.textContent = say(counted.get(k));
      label.append(box, ...mark(k), names(k), count);
      return label;
    }));
    if (kept) { const again = document.querySelector(`[data-choice="${kept}"]`); if (again) again.focus(); }
    if (!counted.size) byId(id).textContent = "none";
  };
  fill("kinds", kinds, page.kinds, (k) => page.data.kinds[k].label, (k) => [badge(LETTERS[page.data.kinds[k].name], page.theme.kinds[k]), swatch(k)]);
  fill("phases", phases, page.phases, (k) => { const name = phaseText(page.data.phases[k]); return name[0].toUpperCase() + name.slice(1); }, () => []);
}

function swatch(k) {
  const canvas = document.createElement("canvas");
  canvas.className = "swatch";
  canvas.setAttribute("aria-hidden", "true");
  const scale = window.devicePixelRatio || 1;
  canvas.width = 22 * scale;
  canvas.height = 14 * scale;
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  context.fillStyle = patternOf(context, k);
  context.fillRect(0, 0, 22, 14);
  return canvas;
}

function setLengths() {
  let low = Infinity, high = 0;
  for (const run of page.runs) for (const length of run.counts.length) [low, high] = [Math.min(low, length), Math.max(high, length)];
  if (!high) [low, high] = [2, 2];
  for (const [id, value] of [["shortest", low], ["longest", high]]) {
    const box = byId(id);
    [box.min, box.max, box.value] = [low, high, value];
    box.addEventListener("change", () => {
      page.shortest = Number(byId("shortest").value) || low;
      page.longest = Number(byId("longest").value) || high;
      refilter();
      update();
    });
  }
  [page.shortest, page.longest] = [low, high];
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const on = event.target, typing = on.matches("input[type=number], select, summary");
  const key = event.key.toLowerCase();
  const stepping = !on.matches("input, select, summary");
  if (key === "n" && !typing) goAlong(1);
  else if (key === "p" && !typing) goAlong(-1);
  else if (key === "r" && !typing) runAgain();
  else if (key === "," && !typing) setMove(Math.ceil(Math.min(page.progress, Number(byId("move").max))) - 1);
  else if (key === "." && !typing) setMove(Math.floor(Math.min(page.progress, Number(byId("move").max))) + 1);
  else if (key === " " && stepping && !on.matches("button")) togglePlay();
  else if (key === "arrowleft" && stepping) goTo(page.time - (event.shiftKey ? 100 : 1));
  else if (key === "arrowright" && stepping) goTo(page.time + (event.shiftKey ? 100 : 1));
  else return;
  event.preventDefault();
}

function connect() {
  byId("time").addEventListener("input", (event) => { pause(); goTo(Number(event.target.value)); });
  byId("move").addEventListener("input", (event) => { pause(); setMove(Number(event.target.value)); });
  byId("next").addEventListener("click", () => goAlong(1));
  byId("previous").addEventListener("click", () => goAlong(-1));
  byId("play").addEventListener("click", togglePlay);
  byId("again").addEventListener("click", runAgain);
  byId("link").addEventListener("click", copyLink);
  for (const id of ["show-way", "show-graph", "show-values"])
    byId(id).addEventListener("change", () => { draw(); writeValues(); });
  const timeline = byId("timeline");
  const point = (event) => {
    const { left, right, width, longest } = page.timeline;
    const x = event.clientX - timeline.getBoundingClientRect().left;
    pause();
    goTo(((x - left) / (width - left - right)) * longest);
  };
  timeline.addEventListener("pointerdown", (event) => { timeline.setPointerCapture(event.pointerId); point(event); });
  timeline.addEventListener("pointermove", (event) => { if (event.buttons) point(event); });
  document.addEventListener("keydown", onKey);
  window.addEventListener("hashchange", goToAddress);
  let timer = 0;
  window.addEventListener("resize", () => { clearTimeout(timer); timer = setTimeout(() => { resize(); draw(); }, 60); });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readTheme(); refilter(); update(); });
}

async function copyLink() {
  const link = location.href.split("#")[0] + address();
  history.replaceState(null, "", address());
  try {
    await navigator.clipboard.writeText(link);
    byId("copied").textContent = "Copied.";
  } catch {
    byId("copied").textContent = "It is in the address bar.";
  }
  setTimeout(() => (byId("copied").textContent = ""), 3000);
}

async function start() {
  page.data = JSON.parse(byId("data").textContent);
  document.title = byId("title").textContent = page.data.title;
  byId("star").setAttribute("d", starPath(9));
  byId("counted").textContent = page.data.counted;
  byId("foot").textContent = `Made by hippocampal-replay ${page.data.version}. ${page.data.counted} The page needs no network.`;
  page.worlds = await Promise.all(page.data.worlds.map(readWorld));
  page.experiences = await Promise.all(page.data.experiences.map(readExperience));
  page.runs = await Promise.all(page.data.runs.map(readRun));
  page.kinds = new Set(page.data.kinds.keys());
  page.phases = new Set(page.data.phases.keys());
  readTheme();
  setLengths();
  connect();
  goToAddress();
  page.ready = performance.now();
  document.body.dataset.ready = "";
}

if (typeof DecompressionStream === "undefined") {
  const note = document.createElement("p");
  note.className = "alert";
  note.textContent = "This browser is too old to unpack the page. Browsers since 2023 can: Chrome 80, Firefox 113, Safari 16.4 or later.";
  document.querySelector("main").replaceWith(note);
} else start();
