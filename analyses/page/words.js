// Words.

/** Laps of an animal are counted from 1, episodes of a model from 0, as in the tables. */
const episodeText = (run, episode) => run.decoded ? `lap ${say(episode + 1)}` : `episode ${say(episode)}`;
const stepName = (run) => (run.decoded ? "move" : "step");

function phaseText(name) {
  return page.runs.every((run) => run.decoded) ? PHASES[name].replace("an episode", "a lap") : PHASES[name];
}

function whenText(run, made, e = -1) {
  const way = wayOf(run);
  if (!made) return `before the first ${stepName(run)}`;
  const k = countUntil(way.begin, made - 1) - 1;
  const seconds = secondsText(run, made, e);
  return `${episodeText(run, way.begin_episode[k])}, ${stepName(run)} ${say(way.step[made - 1])}${seconds}`;
}

/** When an event began, or a move was made. */
function secondsText(run, made, e) {
  const { seconds } = wayOf(run);
  if (e >= 0 && run.span) return `, ${clock(run, run.events.event_time[e])}`;
  return seconds && made ? `, ${clock(run, seconds[made - 1])}` : "";
}

/** The time of the recording, as in its tables, from that after the first move. */
const clock = (run, seconds) => `${(run.first_move + seconds).toFixed(1)} s`;

/** What a sequence is, in a few words. */
function sequenceText(run, s) {
  const n = say(run.events.sequence_length[s]), lap = run.decoded ? "a lap" : "an episode";
  return {
    reverse_episode: `${n} states of ${lap}, in reverse`,
    forward_episode: `${n} states of ${lap}, forward`,
    novel_path: `Novel path of ${n} states`,
    ambiguous: `Ambiguous sequence of ${n} states`,
    unexperienced: `Sequence of ${n} states that was never run`,
  }[kindOf(run, s).name];
}

function describe(run, e) {
  const s = chosenSequence(run, e), events = run.events, kind = kindOf(run, s), world = worldOf(run);
  const states = statesOf(run, e, s), pieces = piecesOf(run, e, s);
  const how = ["", ", replayed forward", ", replayed in reverse"][events.sequence_orientation[s]];
  const lines = [`${sequenceText(run, s)}${kind.name === "novel_path" ? how : ""}`];
  lines[0] += `, from ${nameOfState(world, states[0])} to ${nameOfState(world, states[states.length - 1])}.`;
  const phase = phaseText(page.data.phases[events.event_phase[e]]);
  lines.push(`${run.decoded && page.runs.length === 1 ? "The animal" : run.name} replays this ${phase}: ${whenText(run, events.event_made[e], e)}.`);
  const after = events.move_delay[run.moveBegin[e] + events.place[run.placeBegin[s + 1] - 1]];
  if (after) lines.push(`It continues in the pauses of the next ${plural(after, stepName(run))}.`);
  if (pieces.length > 1) lines.push(`It was never run as a whole; it is composed of ${pieces.length} pieces of experience.`);
  else if (pieces.length === 1) {
    const way = kind.name !== "ambiguous" && pieces[0].backward ? ", in the opposite direction" : "";
    lines.push(`It was run in ${episodeText(run, pieces[0].episode)}${way}.`);
  }
  else lines.push("Some of its moves were never made.");
  const { event_evidence: evidence, event_n_active: cells, event_p: p } = events;
  const judged = [
    evidence && evidence[e] === evidence[e] && `evidence ${evidence[e].toFixed(1)}`,
    cells && cells[e] >= 0 && plural(cells[e], "cell"),
    p && p[e] >= 0 && (p[e] < 0.001 ? "p below .001" : `p ${p[e].toFixed(3)}`),
  ].filter(Boolean);
  if (judged.length) lines.push(`Event ${events.event_number[e]}: ${judged.join(", ")}.`);
  const why = run.why[events.event_number[e]];
  if (why && kind.name === "ambiguous") lines.push(`It is ambiguous: ${why}.`);
  const bits = run.bits.of_event?.[events.event_number[e]];
  if (bits) lines.push(`Bits above a walk: ${run.bits.accounts.map((name, k) => `${name} ${bits[k].toFixed(1)}`).join(", ")}.`);
  return lines;
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
      page.views.every(({ run }) => !run.n_sequences) ? "No sequence of this length was replayed." : "No event matches: select more kinds, pauses or lengths.";
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
  mark.style.color = inkOn(colour);
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
    button.setAttribute("aria-label", sequenceText(run, s));
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
    more.textContent = `and ${say(order.length - shown.length)} shorter`;
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
  const seconds = secondsText(page.views[0].run, made, eventOf(page.views[0].run, page.key));
  const shared = page.views.every(({ run }) => run.experience === page.views[0].run.experience);
  const episode = shared ? `, ${episodeText(page.views[0].run, way.begin_episode[k])}` : "";
  byId("time-text").textContent = made ?
    `${stepName(page.views[0].run)} ${say(way.step[made - 1])} of ${say(longest)}${episode}${seconds}` :
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

function closedNames(run, { states, lines }) {
  const world = worldOf(run), name = (s) => nameOfState(world, s);
  return [...Array.from(states, name), ...Array.from(lines, (k) => `between ${name(world.one[k])} and ${name(world.other[k])}`)];
}

function writeViews() {
  for (const view of page.views) {
    const { run } = view, made = Math.min(page.time, wayOf(run).n), e = eventOf(run, page.key);
    let text = `${run.name} in ${worldOf(run).known ? worldOf(run).style : "a world of unknown shape"}, ${whenText(run, made, e)}.`;
    const closed = closedNow(run, made), names = closed ? closedNames(run, closed) : [];
    if (names.length) text += ` Closed now: ${names.slice(0, MOST_LISTED).join("; ")}${names.length > MOST_LISTED ? " and more" : ""}.`;
    if (e >= 0) text += ` ${describe(run, e).join(" ")}`;
    view.canvas.setAttribute("aria-label", text);
    view.now.textContent = e < 0 ? (page.key === null ? "" : "no sequence in this pause") :
      sequenceText(run, chosenSequence(run, e));
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
  byId("counted").textContent = page.data.counted[Number(page.across)];
  byId("foot").textContent = `Made by hippocampal-replay ${page.data.version}. ${byId("counted").textContent} The page needs no network.`;
  const told = page.views.map(({ run }, k) => {
    const n = totals[k].reduce((a, b) => a + b, 0);
    return `${run.name}: ${plural(n, "sequence")} that ${n === 1 ? "matches" : "match"}.`;
  });
  byId("timeline").setAttribute("aria-label",
    `${byId("learning-title").textContent}, as bars coloured by kind. ${told.join(" ")} The table below has the counts, the slider above chooses a time.`);
  const few = page.views.filter(({ run }) => run.n_shown < run.n_events);
  byId("matching").textContent = `${plural(page.entries.length, "event")} to go through.` +
    few.map(({ run }) => ` Of the ${say(run.n_events)} events of ${run.name}, the page holds a sample of ${say(run.n_shown)}, evenly over time and for each kind; all are counted.`).join("");
}

function writeValues() {
  const box = byId("show-values"), text = byId("values-text"), run = page.views[0].run;
  const known = page.views.some((view) => view.run.values);
  box.disabled = !known;
  text.replaceChildren();
  if (!known) {
    text.textContent = run.decoded ? "The values of an animal are unknown." :
      "Values are unknown: this log holds replay only (log=\"all\" keeps every update).";
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
