// Moving on.

/** After anything that changes time or event: draw, then write. */
function update() {
  byId("notice").textContent = "";
  const near = byId("show-near").checked ? `${page.key} ${page.sequence}` : "";
  if (near !== page.near) for (const view of page.views) layOut(view);
  page.near = near;
  draw();
  writeTime();
  writeEvent();
  writeViews();
  markInList();
  showEvidence();
  keepAddress();
}

// What an address may ask for.
const NUMBERS = ["step", "from", "to"];
const ASKED = [...NUMBERS, "run", "beside", "of", "event", "kinds", "pauses", "sequences"];
const isWhole = (text) => /^\d+$/.test(text);

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
  return `#${[...parts, ...filtersInAddress()].join("&")}`;
}

/** The filters that are not as at first. */
function filtersInAddress() {
  const parts = [], named = (chosen, names) => names.filter((name, k) => chosen.has(k)).join(",");
  if (page.across !== page.data.across_events) parts.push(`sequences=${page.across ? "across" : "within"}`);
  if (page.kinds.size < page.data.kinds.length) parts.push(`kinds=${named(page.kinds, page.data.kinds.map(({ name }) => name))}`);
  if (page.phases.size < page.data.phases.length) parts.push(`pauses=${named(page.phases, page.data.phases)}`);
  const [low, high] = page.lengths;
  if (page.shortest !== low) parts.push(`from=${page.shortest}`);
  if (page.longest !== high) parts.push(`to=${page.longest}`);
  return parts;
}

/** Set the filters as an address asks; return what it asks for that is not there. */
function filterAs(asked) {
  const unknown = [];
  const choose = (name, names) => {
    if (!asked.has(name)) return new Set(names.keys());
    const wanted = asked.get(name).split(",").filter(Boolean);
    unknown.push(...wanted.filter((each) => !names.includes(each)).map((each) => `${name} ${each}`));
    return new Set([...names.keys()].filter((k) => wanted.includes(names[k])));
  };
  page.kinds = choose("kinds", page.data.kinds.map(({ name }) => name));
  page.phases = choose("pauses", page.data.phases);
  const length = (name, otherwise) => (isWhole(asked.get(name)) ? Number(asked.get(name)) : otherwise);
  page.shortest = length("from", page.lengths[0]);
  page.longest = length("to", page.lengths[1]);
  byId("shortest").value = page.shortest;
  byId("longest").value = page.longest;
  const way = asked.get("sequences");
  if (asked.has("sequences") && !["across", "within"].includes(way)) unknown.push(`sequences ${way}`);
  countAs(way === "across" ? true : way === "within" ? false : page.data.across_events);
  return unknown;
}

/** Count chains within events or across them. */
function countAs(across) {
  page.across = across;
  page.runs = counted(across);
  for (const box of document.querySelectorAll("input[name=chains]")) box.checked = (box.value === "across") === across;
}

function goToAddress() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const whole = (name) => (isWhole(asked.get(name)) ? Number(asked.get(name)) : -1);
  const missing = filterAs(asked);
  for (const [name, value] of asked)
    if (!ASKED.includes(name) || (NUMBERS.includes(name) && !isWhole(value))) missing.push(`${name} ${value}`);
  for (const name of ["run", "beside", "of"]) if (asked.has(name) && !page.runs[whole(name)]) missing.push(`${name} ${asked.get(name)}`);
  const run = page.runs[whole("run")] || (page.runs.length > 2 ? page.runs.find(hasNovelPath) : null) || page.runs[0];
  const beside = asked.has("run") ? page.runs[whole("beside")] : page.runs.length === 2 ? page.runs[1] : null;
  setViews(run, beside);
  const owner = page.runs[whole("of")] || run;
  const e = whole("event") < 0 ? -1 : owner.events.event_number.indexOf(whole("event"));
  if (e < 0 && asked.has("event")) missing.push(`event ${asked.get("event")}`);
  if (e >= 0) openKey(owner.key[e], true);
  else if (whole("step") >= 0) goTo(whole("step"));
  else if (page.entries.length) openKey(page.entries[firstTelling()], true);
  else goTo(0);
  if (missing.length) byId("notice").textContent = `The address asks for what is not on this page: ${missing.join(", ")}.`;
}

/** Whether a maze is drawn so small that an event is better looked at from near. */
const isLarge = (world) => Math.max(...[0, 1].map((axis) => world.high[axis] - world.low[axis])) > MOST_CELLS * world.unit;

const hasNovelPath = (run) => run.events.sequence_kind.some((k) => page.data.kinds[k].name === "novel_path");

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
  page.key = page.moment = null;
  page.sequence = 0;
  page.running = false;
  update();
}

function openKey(key, whole = false) {
  page.key = key;
  page.time = Math.floor(key / 1e6);
  page.sequence = 0;
  page.moment = null;
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
  page.moment = null;
  page.progress = 0;
  update();
  animate();
}

function setMove(count) {
  if (page.key === null) return;
  page.running = false;
  page.moment = null;
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
      page.key = page.moment = null;
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

// Setting up.

function setViews(run, beside) {
  const shown = [run, ...(beside ? [beside] : [])];
  const holder = byId("views");
  holder.className = shown.length > 1 ? "views two" : "views";
  holder.replaceChildren();
  page.views = shown.map((each, k) => makeView(each, k, holder));
  if (page.runs.length > 1 && shown.length === 1) {
    const choose = chooser("Beside it", null, true, (number) => setViewsAndGo(run, page.runs[number]));
    holder.querySelector("figcaption").insertBefore(choose, page.views[0].now);
  }
  const one = shown.length > 1 && shown[0].experience === shown[1].experience;
  byId("summary").textContent = summary(shown, one);
  byId("decoded-key").hidden = !shown.some((each) => each.decoded);
  byId("closed-key").hidden = !shown.some((each) => worldOf(each).closed_from);
  byId("shared-key").hidden = !shown.some((each) => worldOf(each).shared.length);
  byId("start-key").hidden = !shown.some((each) => worldOf(each).start.length);
  refilter();
}

function summary(shown, one) {
  const parts = shown.map((run) => {
    const way = wayOf(run), episodes = new Set(way.begin_episode).size;
    return `${run.name}: ${plural(way.n, stepName(run))} in ${plural(episodes, run.decoded ? "lap" : "episode")}, ${plural(run.n_sequences, "replayed sequence")} in ${plural(run.n_events, run.decoded ? "event" : "pause")}.`;
  });
  if (shown.length > 1) parts.push(one ? "Both have the same experience." : "Each has its own experience.");
  if (shown.some((run) => !worldOf(run).known)) parts.push("The world is unknown, so neighbouring states are drawn near one another, not to scale.");
  else if (shown.some((run) => worldOf(run).style === "graph")) parts.push("The drawing is not to scale.");
  const world = worldOf(shown[0]), name = world.known ? world.name : "";
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
  writeList();
  if (page.key !== null && !page.entries.length) goTo(page.time); // nothing that matches is open
}

function resize() {
  for (const view of page.views) layOut(view);
  layOutTimeline();
  layOutEvidence();
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
  for (const run of page.ways.flat()) for (const length of run.counts.length) [low, high] = [Math.min(low, length), Math.max(high, length)];
  if (!high) [low, high] = [2, 2];
  for (const [id, value] of [["shortest", low], ["longest", high]]) {
    const box = byId(id);
    [box.min, box.max, box.value] = [low, high, value];
    box.addEventListener("input", () => {
      page.shortest = Number(byId("shortest").value) || low;
      page.longest = Number(byId("longest").value) || high;
      refilter();
      update();
    });
  }
  page.lengths = [page.shortest, page.longest] = [low, high];
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
  byId("show-near").addEventListener("change", update);
  for (const box of document.querySelectorAll("input[name=chains]"))
    box.addEventListener("change", () => {
      const key = page.key;
      countAs(box.value === "across");
      setViewsAndGo(...page.views.map(({ run }) => page.runs[run.number]));
      if (key !== null && page.key === null && page.entries.length) // the last event until then
        openKey(page.entries[Math.max(0, countUntil(page.entries, key) - 1)], true);
    });
  const timeline = byId("timeline");
  const point = (event) => {
    const { left, right, width, low, high } = page.timeline;
    const x = event.clientX - timeline.getBoundingClientRect().left;
    const at = low + ((x - left) / (width - left - right)) * (high - low);
    pause();
    if (isClocked()) goToSeconds(at);
    else goTo(at);
  };
  timeline.addEventListener("pointerdown", (event) => { timeline.setPointerCapture(event.pointerId); point(event); });
  timeline.addEventListener("pointermove", (event) => { if (event.buttons) point(event); });
  const evidence = byId("evidence-canvas");
  evidence.addEventListener("pointerdown", (event) => { evidence.setPointerCapture(event.pointerId); pointAt(event); });
  evidence.addEventListener("pointermove", (event) => { if (event.buttons) pointAt(event); });
  byId("list").addEventListener("change", (event) => { pause(); openKey(page.entries[event.target.selectedIndex], true); });
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
  page.worlds = await Promise.all(page.data.worlds.map(readWorld));
  page.experiences = await Promise.all(page.data.experiences.map(readExperience));
  const first = await Promise.all(page.data.runs.map(readRun));
  const others = await Promise.all(page.data.others.map((other, k) => (other ? readRun(other, k) : first[k])));
  others.forEach((other, k) => (other.values = first[k].values));
  page.ways = page.data.across_events ? [others, first] : [first, others];
  page.runs = counted(page.data.across_events);
  byId("chains").hidden = others.every((other, k) => other === first[k]);
  byId("show-near").checked = page.worlds.some((world) => world.style === "maze" && isLarge(world));
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
  note.textContent = "This browser is too old to unpack the page. Use Chrome 80, Firefox 113, Safari 16.4, or a later version.";
  document.querySelector("main").replaceWith(note);
} else start();
