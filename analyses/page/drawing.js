// Drawing.

function readTheme() {
  const style = getComputedStyle(document.documentElement);
  const theme = {};
  for (const name of ["paper", "panel", "ink", "soft", "rule", "wall", "closed", "floor", "way", "known", "halo", "accent"])
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

/** Black or white, whichever can be read on a colour: one of them has a contrast of 4.5 or more. */
const inkOn = (colour) => (contrast(colour, "#ffffff") >= 4.5 ? "#ffffff" : "#000000");

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

const SURROUNDINGS = 4, LEAST_ZOOMED = 14;

/** The part of the world that is shown: all of it, or what is around the event that is open. */
function frameOf(view) {
  const { run } = view, world = worldOf(run), e = eventOf(run, page.key);
  if (!byId("show-near").checked || e < 0) return [world.low, world.high];
  const s = chosenSequence(run, e), at = run.events.event_location[e];
  const states = [...statesOf(run, e, s), ...(at < 0 ? [] : [at])];
  const unit = world.style === "graph" ? 0 : world.unit;
  const frame = [world.x, world.y].map((at, axis) => {
    const places = states.map((state) => at[state]);
    let low = Math.min(...places) - SURROUNDINGS * unit, high = Math.max(...places) + SURROUNDINGS * unit;
    const missing = Math.max(0, LEAST_ZOOMED * unit - (high - low)) / 2;
    [low, high] = [low - missing, high + missing];
    const most = world.high[axis] - world.low[axis], wide = Math.min(high - low, most);
    low = clamp(low, world.low[axis], world.high[axis] - wide);
    return [low, low + wide];
  });
  return unit ? [[frame[0][0], frame[1][0]], [frame[0][1], frame[1][1]]] : [world.low, world.high];
}

/** Place the world on the canvas, and draw once what never changes. */
function layOut(view) {
  const world = worldOf(view.run), width = view.canvas.clientWidth;
  const [low, high] = frameOf(view);
  const size = [0, 1].map((axis) => Math.max(high[axis] - low[axis], 1e-6));
  const scaled = world.style !== "graph", margin = world.style === "graph" ? 22 : 4, below = scaled ? 26 : 4;
  const most = Math.max(280, Math.min(window.innerHeight - 365, 700)); // the sliders stay in sight
  const least = 96;
  let height = scaled ? (size[1] * (width - 2 * margin)) / size[0] + 2 * margin + below : Math.min(most, 0.62 * width);
  height = Math.round(Math.max(least, Math.min(most, height)));
  let sx = (width - 2 * margin) / size[0], sy = (height - 2 * margin - below) / size[1];
  if (scaled) sx = sy = Math.min(sx, sy);
  const left = (width - sx * size[0]) / 2, top = margin;
  view.px = new Float32Array(world.n_states);
  view.py = new Float32Array(world.n_states);
  for (let s = 0; s < world.n_states; s++) {
    view.px[s] = left + sx * (world.x[s] - low[0]);
    view.py[s] = top + sy * (high[1] - world.y[s]);
  }
  view.at = (x, y) => [left + sx * (x - low[0]), top + sy * (high[1] - y)];
  view.frame = [left, top, sx * size[0], sy * size[1]];
  view.width = width;
  view.height = height;
  view.scale = sx;
  view.unit = world.style === "graph" ? graphUnit(view, world) : world.unit * sx;
  view.context = fit(view.canvas, width, height);
  view.still = document.createElement("canvas");
  const context = fit(view.still, width, height);
  context.save();
  if (scaled) clip(context, view);
  drawWorld(context, view, world);
  context.restore();
  if (scaled) drawScaleBar(context, view, world, top + sy * size[1] + 12, left);
}

/** Draw nothing beyond the part of the world that is shown. */
function clip(context, view) {
  context.beginPath();
  context.rect(...view.frame);
  context.clip();
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
    drawBarriers(context, view, Array.from(world.barrier_one, (one, k) => [one, world.barrier_other[k]]), side, theme.wall);
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
      for (const [colour, width] of [[theme.wall, world.floor * view.scale + 3], [theme.floor, world.floor * view.scale]]) {
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
  context.fillStyle = theme.floor;
  context.strokeStyle = theme.ink;
  context.lineWidth = 1.2;
  for (const s of world.shared) {
    context.beginPath();
    for (const [x, y] of [[0, -5], [5, 0], [0, 5], [-5, 0]]) context.lineTo(view.px[s] + x, view.py[s] + y);
    context.closePath();
    context.fill();
    context.stroke();
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
  const wide = view.frame[2] / view.scale;
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

const N_WIDTHS = 8;

/** Draw each move that was made by now, the wider and darker the more often. */
function drawKnown(context, view, run, made) {
  const way = wayOf(run), since = firstKnown(run, made);
  const paths = Array.from({ length: N_WIDTHS }, () => new Path2D());
  for (let p = 0; p < way.pair_from.length; p++) {
    const from = way.pair_from[p], to = way.pair_to[p];
    const low = way.pairBegin[p], high = way.pairBegin[p + 1];
    if (from === to || way.pairSteps[low] >= made) continue;
    const n = countUntil(way.pairSteps, made - 1, low, high) - (since ? countUntil(way.pairSteps, since - 1, low, high) : low);
    if (!n) continue;
    const path = paths[Math.min(N_WIDTHS - 1, 31 - Math.clz32(n))];
    path.moveTo(view.px[from], view.py[from]);
    path.lineTo(view.px[to], view.py[to]);
  }
  context.strokeStyle = page.theme.known;
  context.lineCap = "butt";
  const thick = clamp(0.06 * view.unit, 0.8, 1.5);
  paths.forEach((path, k) => {
    context.globalAlpha = 0.25 + 0.08 * k;
    context.lineWidth = thick * (0.6 + 0.1 * k);
    context.stroke(path);
  });
  context.globalAlpha = 1;
}

function drawWay(context, view, run, made) {
  const way = wayOf(run);
  if (!made) return;
  const k = countUntil(way.begin, made - 1) - 1;
  const from = Math.max(way.begin[k], made - LONGEST_WAY);
  const states = [from === way.begin[k] ? way.begin_state[k] : way.place[from]];
  for (let step = from; step < made; step++) states.push(way.place[step + 1]);
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

/** Draw the walls of now: states that can't be entered, and bars across lines that lead nowhere. */
function drawClosed(context, view, run, made) {
  const closed = closedNow(run, made), world = worldOf(run);
  if (!closed) return;
  const side = world.style === "maze" ? view.unit : Math.max(8, view.unit);
  context.fillStyle = page.theme.closed;
  for (const s of closed.states) context.fillRect(view.px[s] - side / 2, view.py[s] - side / 2, side, side);
  drawBarriers(context, view, Array.from(closed.lines, (line) => [world.one[line], world.other[line]]), side, page.theme.closed);
}

/** Draw bars halfway between pairs of states, across the line that joins them. */
function drawBarriers(context, view, pairs, side, colour) {
  context.strokeStyle = colour;
  context.lineWidth = clamp(0.22 * side, 3, 6);
  context.lineCap = "butt";
  context.beginPath();
  for (const [a, b] of pairs) {
    const [x, y] = [(view.px[a] + view.px[b]) / 2, (view.py[a] + view.py[b]) / 2];
    const [dx, dy] = [view.px[b] - view.px[a], view.py[b] - view.py[a]], half = (0.5 * side) / (Math.hypot(dx, dy) || 1);
    context.moveTo(x - dy * half, y + dx * half);
    context.lineTo(x + dy * half, y - dx * half);
  }
  context.stroke();
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
  context.fillStyle = inkOn(colour);
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
  if (run.sampleBegin) drawDecoded(context, view, run, e);

  const ofKind = new Int8Array(n).fill(-1), longest = new Uint16Array(n);
  for (let q = run.sequenceBegin[e]; q < run.sequenceBegin[e + 1]; q++)
    for (let k = run.placeBegin[q]; k < run.placeBegin[q + 1]; k++)
      if (events.sequence_length[q] > longest[events.place[k]]) {
        longest[events.place[k]] = events.sequence_length[q];
        ofKind[events.place[k]] = events.sequence_kind[q];
      }
  const width = Math.max(2, Math.min(3.6, 0.16 * view.unit));
  const shown = Math.ceil(progress);
  if (n > MANY_MOVES) drawManyMoves(context, view, run, first, shown, ofKind, width);
  for (const front of [false, true])
    for (let k = !front && n > MANY_MOVES ? Math.max(0, shown - 12) : 0; k < shown; k++) {
      if (own.has(k) !== front || (complete && !front && n > MANY_MOVES)) continue;
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

/** Draw the moves of a long event as thin lines, each once, in the colour of the kind made last. */
function drawManyMoves(context, view, run, first, shown, ofKind, width) {
  const { move_from, move_to } = run.events, last = new Map(), n = worldOf(run).n_states;
  for (let k = 0; k < shown; k++) last.set(move_from[first + k] * n + move_to[first + k], k);
  context.globalAlpha = 0.4;
  context.lineWidth = 0.35 * width;
  for (const kind of new Set(ofKind)) {
    context.strokeStyle = kind < 0 ? page.theme.soft : page.theme.kinds[kind];
    context.beginPath();
    for (const k of last.values()) {
      if (ofKind[k] !== kind) continue;
      context.moveTo(view.px[move_from[first + k]], view.py[move_from[first + k]]);
      context.lineTo(view.px[move_to[first + k]], view.py[move_to[first + k]]);
    }
    context.stroke();
  }
  context.globalAlpha = 1;
}

const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
const MOST_LETTERS = 26;

/** Write the letter of the kind where the path begins, and of each piece beside it, clear of all else. */
function drawLabels(context, view, run, { places, pieces, letter, colour }, animal) {
  const taken = [...worldOf(run).terminal, ...places].map((state) => [view.px[state], view.py[state], 0]);
  const splices = pieces.slice(1).map((piece) => places[piece.begin]);
  if (animal >= 0) taken.push([view.px[animal], view.py[animal], 6]);
  taken.push(...splices.map((state) => [view.px[state], view.py[state], 6]));
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

/** Draw the decoded places until now, and the one that is pointed at. */
function drawDecoded(context, view, run, e) {
  const events = run.events, first = run.sampleBegin[e], until = momentNow(run, e);
  let last = null;
  context.fillStyle = page.theme.soft;
  context.globalAlpha = 0.55;
  for (let k = first; k < run.sampleBegin[e + 1] && events.path_ms[k] <= until; k++) {
    last = view.at(events.path_x[k], events.path_y[k]);
    dot(context, ...last, 2.2);
  }
  context.globalAlpha = 1;
  if (page.moment === null || !last) return;
  context.strokeStyle = page.theme.accent;
  context.lineWidth = 2.5;
  ring(context, ...last, 7);
}

function draw() {
  const begun = performance.now();
  for (const view of page.views) {
    const { context, run } = view, made = Math.min(page.time, wayOf(run).n);
    const e = eventOf(run, page.key);
    context.clearRect(0, 0, view.width, view.height);
    context.drawImage(view.still, 0, 0, view.width, view.height);
    context.save();
    if (worldOf(run).style !== "graph") clip(context, view);
    if (byId("show-values").checked && run.values) drawValues(context, view, run, made);
    drawClosed(context, view, run, made);
    if (byId("show-graph").checked) drawKnown(context, view, run, made);
    if (byId("show-way").checked) drawWay(context, view, run, made);
    drawEnds(context, view, run, made);
    const animal = e < 0 ? wayOf(run).place[made] : animalAt(run, e);
    const labels = e < 0 ? null : drawEvent(context, view, run, e);
    if (animal >= 0) drawAnimal(context, view, animal);
    context.restore();
    if (labels) drawLabels(context, view, run, labels, animal);
  }
  drawTimeline();
  drawEvidence();
  page.drawMs = performance.now() - begun;
}

/** Where the animal is at a move of an event: chains across events go on while it walks. */
function animalAt(run, e) {
  const n = run.events.event_moves[e], k = Math.min(Math.max(Math.ceil(page.progress) - 1, 0), n - 1);
  const delay = run.events.move_delay[run.moveBegin[e] + k];
  const way = wayOf(run);
  return delay ? way.place[Math.min(run.events.event_made[e] + delay, way.n)] : run.events.event_location[e];
}
