"""Assemble a page: choose the events that it shows, pack them, and write the file."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from importlib import resources
from os import PathLike
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.colors import to_hex
from numpy.typing import NDArray

from analyses.page.decoded import (
    DecodedReplay,
    Explained,
    ShownPair,
    decoded_run,
    describe_places,
    pack_evidence,
    with_bits,
)
from analyses.page.runs import ShownRun, model_run
from analyses.page.worlds import describe_world, pack
from analyses.plots.style import END_COLOUR, kind_colour, label
from analyses.sequences.logs import Logged, runs_of
from analyses.tables import KINDS
from replay.checks import check_flag, check_list, check_text, check_whole, shown
from replay.checks.arrays import Bools, Ints
from replay.files import check_path, replacing
from replay.log.backups import PHASES
from replay.log.event_log import EventLog
from replay.version import __version__

_MOST_BYTES = 1_000_000
_LEFT_FOR_EVENTS = 250_000
"""Bytes for events, however many the steps need."""
_MOST_EVIDENCE = 18_000_000
"""Bytes for spikes, posteriors and traces of events, beyond these."""
_MOST_SEQUENCES = 30_000
_FEWEST_OF_A_KIND = 20
_WINDOWS = (10, 50)
_IN_A_WINDOW = 4
_N_COLOURS = 24
_TRIALS = 8  # to make the chosen events fit
_SCRIPTS = ("data.js", "drawing.js", "evidence.js", "timeline.js", "words.js", "page.js")


def write_page(
    replay: EventLog | Logged | DecodedReplay | Sequence[EventLog | Logged | DecodedReplay],
    out: str | Path = "page.html",
    *,
    title: str | None = None,
    min_length: int = 3,
    across_events: bool = False,
    explained: Explained | None = None,
) -> Path:
    """Write an interactive page of replay: one HTML file that opens offline in any browser.

    It shows the world, the animal's path with a time slider, and the replay of each pause move by
    move; the kinds of sequences, the episodes of which a novel path is composed, the graph and the
    values as learned by then; and how kinds change with learning. Two runs can be shown side by
    side.

    Parameters
    ----------
    replay : EventLog, Run, Conclusions, or a sequence of these
        Logs of models, or runs that have one, of which all runs are shown; or decoded replay from
        :func:`analyses.recordings.find_replay`.
    out : path, default "page.html"
        The file to write.
    title : str, optional
        The heading; by default it names the learners and the world.
    min_length : int, default 3
        Sequences of a model with fewer states are not counted. Those of a recording are counted as
        they were detected.
    across_events : bool, default False
        Whether the page opens with causal chains that continue from one replay event to the next.
        Where some do, its reader can choose either way of counting.
    explained : DataFrame, optional
        How well accounts predict each sequence, ``explained.parquet`` of ``replay explain`` or
        ``explain(...).sequences``, of the same runs in the same order: the page says of each event
        how many bits each account gains above a walk.

    Returns
    -------
    pathlib.Path
        `out`. If the page would exceed 1 MB, it shows a sample of the events, evenly over time and
        for each kind, and says so; counts always include all events. What the events of a recording
        were decoded from, in the results of ``replay recording``, may take 18 MB more.

    Raises
    ------
    TypeError
        If `replay` is something else.
    ValueError
        If there is nothing to show, or an option is out of range.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from replay import simulate
    >>> from replay.worlds.mazes import from_ascii
    >>> run = simulate(from_ascii("S..G"), "episodic_control", n_steps=40, log="all")
    >>> with TemporaryDirectory() as folder:
    ...     write_page(run.log, Path(folder) / "page.html").stat().st_size < 200_000
    True
    """
    path = check_path("out", out)
    min_length = check_whole("min_length", min_length, at_least=2)
    across_events = check_flag("across_events", across_events)
    heading = None if title is None else check_text("title", title)
    pairs = _runs(replay, min_length, across_events)
    if explained is not None:
        pairs = with_bits(pairs, explained)
    data = _data(pairs, heading, min_length, across_events)
    with replacing(path) as beside:
        beside.write_text(filled("page.html", data, **_parts()), encoding="utf-8")
    return path


def _runs(replay: object, min_length: int, across_events: bool) -> list[ShownPair]:
    """List all runs, each with the same run counted the other way, if that makes a difference."""
    is_one = isinstance(getattr(replay, "log", replay), EventLog) or _is_decoded(replay)
    if isinstance(replay, str | PathLike):
        raise TypeError(
            f"A page shows event logs, got {shown(replay)}: EventLog.load(folder) reads one."
        )
    given = [replay] if is_one else replay
    found: list[ShownPair] = []
    for one in check_list("replay", given):
        each = one if _is_decoded(one) else getattr(one, "log", one)
        if isinstance(each, EventLog):
            for run in runs_of(each):
                first, second = (
                    model_run(each, run, min_length=min_length, across_events=across)
                    for across in (across_events, not across_events)
                )
                is_same = np.array_equal(first.sequences["length"], second.sequences["length"])
                found.append((first, None if is_same else replace(second, values={})))
        elif _is_decoded(each):
            found.append((decoded_run(each), None))
        else:
            raise TypeError(f"A page shows event logs or decoded replay, got {shown(each)}.")
    if not found:
        raise ValueError("There is nothing to show: give at least one EventLog.")
    return found


def _is_decoded(given: object) -> bool:
    names = ("events", "sequences", "experience", "paths")
    return all(hasattr(given, name) for name in names)


# -- the contents of the page ---------------------------------------------------------------


def _data(
    pairs: list[ShownPair], title: str | None, min_length: int, across_events: bool
) -> dict[str, Any]:
    """Collect everything that the page shows, with as many events as there is space for."""
    first = [run for run, _ in pairs]
    runs = first + [other for _, other in pairs if other is not None]
    worlds = _distinct(
        runs, lambda one, other: one.world == other.world and one.closed == other.closed
    )
    moved = ("step", "episode", "state", "next_state")
    ways = _distinct(
        runs, lambda one, other: all(np.array_equal(one.steps[k], other.steps[k]) for k in moved)
    )
    names = _names(first)
    if not title and all(run.decoded for run in first):
        title = f"Replay of {'a recorded animal' if len(first) == 1 else 'recorded animals'}"
    elif not title:
        title = "Replay: " + (" and ".join(names) if len(names) < 3 else f"{len(names)} learners")
    fixed: dict[str, Any] = {
        "format": 1,
        "version": __version__,
        "title": title,
        "across_events": across_events,
        "counted": [_counted(first, min_length, across) for across in (False, True)],
        "kinds": [{"name": kind, "label": label(kind), "colour": kind_colour(kind)}
                  for kind in KINDS],
        "phases": list(PHASES),
        "palette": [*map(to_hex, mpl.colormaps["viridis_r"](np.linspace(0, 1, _N_COLOURS)))],
        "end_colour": END_COLOUR,
        "worlds": [describe_world(run.world, run.closed, run.shared) | {"known": run.world_is_known}
                   for run in _firsts(runs, worlds)],
        "experiences": [_experience(run) for run in _firsts(runs, ways)],
    }  # fmt: skip
    names += [name for name, (_, other) in zip(names, pairs, strict=True) if other is not None]
    most_sequences = max(len(run.sequences["event"]) for run in runs)
    n_windows = int(np.clip(most_sequences // _IN_A_WINDOW, *_WINDOWS))
    # When moves and events begin and end, in s after the first move; learners have no seconds.
    spans: list[list[float] | None] = [None] * len(runs)
    if all("time" in run.events for run in runs):
        times = [np.append(run.steps["time"], run.events["time"]) for run in runs]
        spans = [
            [float(end - run.steps["time"][0]) for end in (time.min(), time.max())]
            for run, time in zip(runs, times, strict=True)
        ]
    about = [
        _about(*each, n_windows) for each in zip(runs, names, worlds, ways, spans, strict=True)
    ]
    taken = len(json.dumps([fixed, about])) + sum(map(len, _parts().values()))
    room = max(_MOST_BYTES - taken, _LEFT_FOR_EVENTS)
    chosen, packed = _events_that_fit(runs, ways, room)
    most = _MOST_EVIDENCE // max(sum(run.evidence is not None for run in runs), 1)
    every = [
        one | {"n_shown": int(mask.sum()), "events": events, "evidence": _evidence(run, mask, most)}
        for run, one, mask, events in zip(runs, about, chosen, packed, strict=True)
    ]
    others = iter(every[len(first) :])
    return fixed | {
        "runs": every[: len(first)],
        "others": [None if other is None else next(others) for _, other in pairs],
    }


def _about(
    run: ShownRun, name: str, world: int, way: int, span: list[float] | None, n_windows: int
) -> dict[str, Any]:
    """Say what is known of a run besides its events; `world` and `way` are numbers of both."""
    # Values are packed as 0 to 254 between the lowest and the highest; 255 is unknown.
    values = None
    if run.values:
        value = run.values["value"]
        low, high = float(np.nanmin(value)), float(np.nanmax(value))
        scaled = np.round(254 * (value - low) / (high - low or 1.0))
        coded = np.where(np.isnan(value), 255, scaled).astype(np.int64).ravel()
        values = {"low": low, "high": high, **pack({"made": run.values["made"], "value": coded})}
    # All sequences are counted by window of steps, or of time, kind, phase and length.
    n_steps, of_event = len(run.steps["step"]), run.sequences["event"]
    if span is None or span[0] == span[1]:
        n_windows = min(n_windows, n_steps)
        step = np.maximum(run.events["made"][of_event] - 1, 0)
        window = step * n_windows // n_steps
    else:
        since = run.events["time"][of_event] - run.steps["time"][0] - span[0]
        share = since / (span[1] - span[0])
        window = np.minimum((share * n_windows).astype(np.int64), n_windows - 1)
    first_move = float(run.steps["time"][0])
    counted = {
        "window": window,
        "kind": run.sequences["kind"],
        "phase": run.events["phase"][of_event],
        "length": run.sequences["length"],
    }
    found, n = np.unique(np.column_stack([*counted.values()]), axis=0, return_counts=True)
    counts = dict(zip(counted, found.T, strict=True))
    return {
        "name": name,
        "decoded": run.decoded,
        "about": run.about,
        "forgets": run.forgets,
        "world": world,
        "experience": way,
        "n_events": len(run.events["number"]),
        "n_sequences": len(run.sequences["event"]),
        "span": span,
        "first_move": first_move if np.isfinite(first_move) else None,
        "bits": run.bits,
        "why": run.why,
        "counts": pack({"n_windows": np.array([n_windows]), **counts, "n": n}),
        "values": values,
    }


def _distinct(runs: list[ShownRun], same: Callable[[ShownRun, ShownRun], bool]) -> list[int]:
    """Assign a number to each run, the same number to equal ones."""
    firsts: list[ShownRun] = []
    numbers = []
    for run in runs:
        number = next((k for k, first in enumerate(firsts) if same(first, run)), len(firsts))
        if number == len(firsts):
            firsts.append(run)
        numbers.append(number)
    return numbers


def _firsts(runs: list[ShownRun], numbers: list[int]) -> list[ShownRun]:
    return [runs[numbers.index(number)] for number in range(max(numbers) + 1)]


def _names(runs: list[ShownRun]) -> list[str]:
    """Name runs by their learners, and by seeds or numbers if these are the same."""
    names = [
        run.learner or "Recorded animal" if run.decoded else label(run.learner or "no name")
        for run in runs
    ]
    for by in ("seed", "run"):
        twice = {name for name in names if names.count(name) > 1}
        for k, name in enumerate(names):
            which = runs[k].about.get("seed", "-1") if by == "seed" else str(k + 1)
            if name in twice and which != "-1":
                names[k] = f"{name}, {by} {which}"
    return names


def _counted(runs: list[ShownRun], min_length: int, across_events: bool) -> str:
    texts = []
    if any(not run.decoded for run in runs):
        within = "across replay events" if across_events else "within replay events"
        texts.append(
            f"Causal chains of {min_length} or more states, {within}, as analyses.classify counts "
            "them."
        )
    if any(run.decoded for run in runs):
        texts.append("Place sequences of significant events, as replay recording counts them.")
    return " ".join(texts)


def _experience(run: ShownRun) -> dict[str, Any]:
    """Pack steps, with moves as ranks among those from the same state, most frequent first."""
    state, next_state = (run.steps[name].astype(np.int64) for name in ("state", "next_state"))
    n_states = max(run.world.n_states, int(max(state.max(), next_state.max())) + 1)
    pairs, pair, count = np.unique(state * n_states + next_state, return_inverse=True,
                                   return_counts=True)  # fmt: skip
    order = np.lexsort((-count, pairs // n_states))
    here = pairs[order] // n_states
    rank = np.empty(len(pairs), dtype=np.int64)
    rank[order] = np.arange(len(pairs)) - np.searchsorted(here, here)
    episode = run.steps["episode"]
    begins = np.ones(len(state), dtype=bool)
    begins[1:] = (episode[1:] != episode[:-1]) | (state[1:] != next_state[:-1])
    made = np.flatnonzero(run.steps["reward"] > 0)
    place = run.steps["next_state"][made]
    changes = np.flatnonzero(np.diff(place, prepend=-1))
    columns: dict[str, NDArray[Any]] = {
        "pair_from": here,
        "pair_to": pairs[order] % n_states,
        "rank": rank[pair],
        "step": run.steps["step"],
        "begin": np.flatnonzero(begins),
        "begin_state": state[begins],
        "begin_episode": episode[begins],
        # The steps at which the place of the last reward changed.
        "paid_made": made[changes] + 1,
        "paid_state": place[changes],
    }
    if np.isfinite(run.steps["time"]).all():
        columns["seconds"] = run.steps["time"] - run.steps["time"][0]
    return {"n_steps": len(state), **pack(columns)}


def _sample(runs: list[ShownRun], ways: Iterable[int], share: float) -> list[Bools]:
    """Choose events evenly over time for each kind; at the same moments if experience is shared."""
    moments: dict[int, set[tuple[int, int]]] = {}
    for run, way in zip(runs, ways, strict=True):
        kept = moments.setdefault(way, set())
        # Events are of the kind of their longest sequence.
        event, kind = run.sequences["event"], run.sequences["kind"]
        order = np.lexsort((-run.sequences["length"], event))
        firsts = order[np.diff(event[order], prepend=-1) > 0]
        for events in (event[firsts][kind[firsts] == k] for k in range(len(KINDS))):
            n = min(max(round(share * len(events)), _FEWEST_OF_A_KIND), len(events))
            if share >= 1:
                n = len(events)
            kept |= {_moment(run, event) for event in events[_evenly(len(events), n)].tolist()}
    return [
        np.array(
            [_moment(run, event) in moments[way] for event in range(len(run.events["number"]))],
            dtype=bool,
        )
        for run, way in zip(runs, ways, strict=True)
    ]


def _events_that_fit(
    runs: list[ShownRun], ways: list[int], room: int
) -> tuple[list[Bools], list[dict[str, Any]]]:
    """Choose as many events as there is room for, in bytes; return them, and as they are packed."""
    share = min(1.0, _MOST_SEQUENCES / max(sum(len(run.sequences["event"]) for run in runs), 1))
    for _ in range(_TRIALS):
        chosen, packed = _sample(runs, ways, share), []
        for run, mask in zip(runs, chosen, strict=True):
            columns = run.detail(mask)
            shown = columns.pop("sequence")
            events = {f"event_{name}": values[mask] for name, values in run.events.items()}
            if "time" in run.events:  # in s after the first move
                events["event_time"] = events["event_time"] - run.steps["time"][0]
            sequences = {
                f"sequence_{name}": run.sequences[name][shown]
                for name in ("kind", "length", "orientation")
            }
            packed.append(pack(events | sequences | columns))
        size = len(json.dumps(packed))
        if size <= room:
            break
        # Rare kinds are kept, so that bytes decrease by less than the share: aim a little lower.
        share *= min(0.9 * room / size, 0.8)
    return chosen, packed


def _moment(run: ShownRun, event: int) -> tuple[int, int]:
    return int(run.events["made"][event]), int(run.events["phase"][event])


def _evidence(run: ShownRun, chosen: Bools, most: int) -> dict[str, Any] | None:
    """Pack the evidence for the chosen events, or for as many as `most` bytes hold, over time.

    Each event is packed by itself, so that a browser unpacks it when it is opened.
    """
    evidence = run.evidence
    if evidence is None:
        return None
    events: list[dict[str, Any] | None] = [
        pack_evidence(evidence, number) for number in run.events["number"][chosen].tolist()
    ]
    sizes = np.array([len(json.dumps(event)) for event in events])
    n_kept = len(events)
    # A tenth less each time: events differ in size, so that their number cannot be computed.
    while n_kept and sizes[(kept := _evenly(len(events), n_kept))].sum() > most:
        n_kept = int(0.9 * n_kept)
    held = set(kept.tolist()) if n_kept else set()
    return {
        "places": describe_places(evidence.track),
        "n_held": n_kept,
        "events": [event if k in held else None for k, event in enumerate(events)],
    }


def _evenly(n: int, n_kept: int) -> Ints:
    return np.linspace(0, n - 1, n_kept).round().astype(np.int64)


# -- the file -------------------------------------------------------------------------------


def _template(name: str) -> str:
    return resources.files("analyses.page").joinpath(name).read_text(encoding="utf-8")


def filled(template: str, data: dict[str, Any], **parts: str) -> str:
    """Fill in the parts and the data of a page, from which nothing can be run."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Nothing in the data can end its element.
    text = text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    page = _template(template)
    head = _template("head.html").rstrip()
    for name, content in (parts | {"head": head, "data": text}).items():
        before, _, after = page.partition(f"{{{{{name}}}}}")
        page = before + content + after
    return page


def _parts() -> dict[str, str]:
    """Read the style sheet and the scripts that ``page.html`` includes."""
    return {"style": _template("page.css"), "program": "\n".join(map(_template, _SCRIPTS))}
