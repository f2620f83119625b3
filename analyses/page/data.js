"use strict";

// Data: columns of numbers, deflated and in base64, become typed arrays.

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
  if (world.closed_from) {
    world.closedStates = begins(world.closed_states);
    world.closedLines = begins(world.closed_lines);
  }
  world.low = [Infinity, Infinity];
  world.high = [-Infinity, -Infinity];
  const pad = world.style === "maze" ? 1.5 * world.unit : world.style === "track" ? Math.max(world.unit, 0.6 * world.floor) : 0;
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
  run.pieces = new Map();
  run.moveBegin = begins(events.event_moves);
  run.sequenceBegin = begins(events.event_sequences);
  run.placeBegin = begins(events.sequence_length.map((length) => length - 1));
  run.pieceBegin = begins(events.sequence_pieces);
  run.sampleBegin = events.event_samples ? begins(events.event_samples) : null;
  run.moments = new Map();
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

// What is shown now.

const page = {
  data: null, worlds: [], experiences: [], ways: [], runs: [], views: [], entries: [],
  time: 0, key: null, near: "", progress: 0, moment: null, evidence: null, running: false, playing: false, held: 0, sequence: 0,
  across: false, kinds: null, phases: null, shortest: 0, longest: Infinity, theme: {}, drawMs: 0,
};
const byId = (id) => document.getElementById(id);
const numbers = new Intl.NumberFormat("en-US");
const say = (value) => numbers.format(value);
const plural = (n, noun) => `${say(n)} ${noun}${n === 1 ? "" : "s"}`;
const LETTERS = { reverse_episode: "R", forward_episode: "F", novel_path: "N", ambiguous: "A", unexperienced: "U" };
const PHASES = { online: "online", trace: "trace", step: "on the way", episode_end: "at the end of an episode",
  start: "before an episode", rest: "at rest" };
const PIECE_COLOURS = ["#8ecae6", "#f7c873", "#9fd8b5", "#e6b0cf", "#b7b2e0", "#d9a78b"];
const SPLICE = "#009e73", START = "#aa3377";
const MOST_CELLS = 30; // along a side of a maze that is shown as a whole
const LONGEST_WAY = 1000, MANY_MOVES = 300;
const MOVES_PER_SECOND = 5, LONGEST_RUN = 10, HOLD = 1.0;
const still = window.matchMedia("(prefers-reduced-motion: reduce)");

const wayOf = (run) => page.experiences[run.experience];
const worldOf = (run) => page.worlds[run.world];

/** Both ways of counting chains: within an event, and across events. */
const counted = (across) => page.ways[Number(across)];

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

/** What can't be entered or passed now; what a session closes is closed in the pauses before it. */
function closedNow(run, made) {
  const world = worldOf(run), way = wayOf(run), e = eventOf(run, page.key);
  if (!world.closed_from || !way.n) return null;
  const isBefore = e >= 0 && page.data.phases[run.events.event_phase[e]] === "start";
  const step = way.step[Math.min(Math.max(made - (isBefore ? 0 : 1), 0), way.n - 1)];
  const k = countUntil(world.closed_from, step) - 1;
  return k < 0 ? null : {
    states: world.closed_state.subarray(world.closedStates[k], world.closedStates[k + 1]),
    lines: world.closed_line.subarray(world.closedLines[k], world.closedLines[k + 1]),
  };
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
  if (!run.pieces.has(s)) run.pieces.set(s, findPieces(run, e, s));
  return run.pieces.get(s);
}

function findPieces(run, e, s) {
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
  if (world.shared.includes(state)) return `state ${state} (met in several places)`;
  const label = world.labels ? world.labels[state] : null;
  return label === null || label === undefined || label === String(state) ? `state ${state}` :
    world.style === "maze" ? `(${label})` : label;
}

const kindOf = (run, s) => page.data.kinds[run.events.sequence_kind[s]];
