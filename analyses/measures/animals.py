"""From the logs of animals, simulated or recorded, to the tables that statistics read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.measures.replays import COUNTS, Replays
from analyses.sequences.chains import chains, link_backups
from analyses.sequences.classification import classified
from analyses.sequences.experience import Experience
from analyses.sequences.place_sequences import (
    NOVELTIES,
    Detection,
    classified_places,
    crossed_shortcuts,
    runs_along,
)
from analyses.sequences.reactivations import reactivated_by, reactivations_by_run
from analyses.sequences.runs import Columns, runs_of
from analyses.sequences.sequences import Lists, Sequences
from analyses.sequences.track import Track, closed_edges, graph_of_task
from replay.checks import check_choice, check_column, check_table, check_whole, shown
from replay.jit import kernel
from replay.log.backups import PHASES
from replay.log.event_log import EventLog

if TYPE_CHECKING:
    from replay.tasks import Task

__all__ = ["PAUSES", "replays_of"]

PAUSES = ("start", "episode_end", "rest")
"""The phases in which an animal pauses; what is replayed on the way counts nowhere."""

_START, _REST = 0, 2
_IS_PAUSE = np.isin(PHASES, PAUSES)
_MOST_PAUSES = 1_000_000
_LAP = ("episode", "block", "lap", "start", "end", "n_rest")
_WHOLE_LAP = ("episode", "start", "end", "n_rest")
_CAUSED = ("event", "pop", "state", "next_state", "cause", "phase")


def replays_of(
    task: Task,
    runs: Iterable[tuple[Any, ...]],
    counts: str = "place sequences",
    largest_jump: int = 1,
) -> Replays:
    """Make the tables of some animals of one task.

    What is replayed on the way counts nowhere. An n-step backup that grows by a step at a time is
    one sequence, not one for each of its lengths: so count Mattar & Daw (2018) [1]_, too.

    Parameters
    ----------
    task : Task
        What was run.
    runs : iterable of tuple
        Of each animal: its number; the log of its one run, in analysed states; its laps, a table
        with one row a lap, in order: `episode, block, lap, start, end, n_rest` and what else
        statistics read of them (`reward, goal`); and, of decoded or generated replay, which then
        counts instead of the log's backups, the table of paths as in
        :func:`analyses.place_sequences` (or None).
    counts : {"place sequences", "causal chains"}, default "place sequences"
        What an electrode would see, or the mechanism of a model.
    largest_jump : int, default 1
        How many edges apart two places in a row of a place sequence may be; see
        :class:`analyses.sequences.place_sequences.Detection`.

    Returns
    -------
    Replays
        Place sequences of three different places or more; all causal chains.

    Raises
    ------
    TypeError
        If a log is no log, laps are no DataFrame, or an animal has something else.
    ValueError
        If there is no animal or the same twice, a log has several runs, columns of the laps are
        missing or hold what they must not, causal chains of paths are asked for, or `counts` is
        unknown.

    References
    ----------
    .. [1] Mattar & Daw (2018), Prioritized memory access explains planning and hippocampal replay.
       https://doi.org/10.1038/s41593-018-0232-z

    Examples
    --------
    >>> from replay.tasks import run_task
    >>> from replay.tasks.published import TASKS
    >>> task = TASKS["gupta_2t"].build()
    >>> runs = [(animal, *run_task(task, "sfma", seed=animal)) for animal in range(2)]
    >>> made = replays_of(task, runs)
    >>> made.counts, sorted(made.pauses["phase"].unique())
    ('place sequences', ['episode_end', 'rest', 'start'])
    """
    of_chains = check_choice("counts", counts, COUNTS) == COUNTS[1]
    least = Detection(2 if of_chains else 3, largest_jump=largest_jump)
    least.check()
    track = Track.of(graph_of_task(task))
    known: dict[int, _Laps] = {}
    animals: list[int] = []
    laps, second, found, reactivated = [], [], [], []
    for run in _checked(runs):
        animal, log, table, paths = run
        animals.append(animal)
        if id(table) not in known:  # the same laps of many animals
            known[id(table)] = _Laps.of(table, len(task.places))
        laps.append(known[id(table)])
        steps = log.columns("steps")
        experience = Experience(steps)
        second.append(_second_places(steps, laps[-1].whole["episode"]))
        if of_chains:
            if paths is not None:
                raise ValueError("Paths have no causes: count 'place sequences' of them.")
            backups = _in_pauses(log.columns("backups"))
            own = chains(link_backups(backups))
            found.append(classified(experience, backups, own, "causal"))
            continue
        places = _reactivated(log, paths)
        found.append(
            classified_places(experience, places, *runs_along(places, track, least), track)
        )
        reactivated.append(places)
    if not animals:
        raise ValueError("runs must have at least one animal.")
    return _tables(task, track, animals, _Laps.concat(laps, second), found, reactivated, least)


class _Run(NamedTuple):
    """One animal: its number, its log, its laps, and the paths that count instead of backups."""

    animal: int
    log: EventLog
    laps: pd.DataFrame
    paths: pd.DataFrame | None = None


def _checked(runs: object) -> Iterable[_Run]:
    if not isinstance(runs, Iterable):
        raise TypeError(f"runs must be an iterable of animals, got {shown(runs)}.")
    seen = set()
    for each in runs:
        if not isinstance(each, tuple) or len(each) not in (3, 4):
            raise TypeError(
                "Each of runs must be a tuple of the animal's number, log, laps and, of decoded "
                f"replay, paths; got {shown(each)}."
            )
        run = _Run(*each)
        check_whole("The number of an animal", run.animal)
        if run.animal in seen:
            raise ValueError(f"The animal {run.animal} has several runs: give each its own number.")
        seen.add(run.animal)
        if len(numbers := runs_of(run.log)) != 1:
            raise ValueError(
                f"The log of animal {run.animal} must be that of one run, but has the runs "
                f"{shown(numbers)}."
            )
        yield run


class _Laps(NamedTuple):
    """The laps of one animal, or of several one after the other, in arrays.

    Attributes
    ----------
    whole : dict of ndarray of int64, each of shape (n_laps,)
        `episode, start, end, n_rest`.
    names : dict of ndarray of object, each of shape (n_laps,)
        `block, lap`.
    others : dict of ndarray, each of shape (n_laps,)
        The other columns.
    second : ndarray of int64, shape (n_laps,)
        The place entered first.
    begin : ndarray of int64, shape (n_animals + 1,)
        Where the laps of each animal begin.
    table : DataFrame or None
        What they were made of.
    """

    whole: dict[str, NDArray[np.int64]]
    names: dict[str, NDArray[np.object_]]
    others: dict[str, NDArray[Any]]
    second: NDArray[np.int64]
    begin: NDArray[np.int64]
    table: pd.DataFrame | None = None

    @classmethod
    def of(cls, laps: pd.DataFrame, n_places: int) -> _Laps:
        """Check the laps of one animal."""
        check_table(laps, list(_LAP), "laps")
        whole = {
            place: check_column(laps, place, "laps", kind="whole", at_least=0, at_most=n_places - 1)
            for place in ("start", "end")
        }
        whole["n_rest"] = check_column(
            laps, "n_rest", "laps", kind="whole", at_least=0, at_most=_MOST_PAUSES
        )
        episode = check_column(laps, "episode", "laps", kind="whole", at_least=0)
        descends = np.flatnonzero(np.diff(episode) <= 0)
        if len(descends):
            row = int(descends[0]) + 1
            raise ValueError(
                f"The column 'episode' of laps must ascend, one row a lap; row {row} has "
                f"{episode[row]} after {episode[row - 1]}."
            )
        whole["episode"] = episode
        return cls(
            {name: values.astype(np.int64) for name, values in whole.items()},
            {name: laps[name].astype(str).to_numpy(object) for name in ("block", "lap")},
            {str(name): laps[name].to_numpy() for name in laps if name not in _LAP},
            np.full(len(laps), -1),
            np.array([0, len(laps)]),
            laps,
        )

    @classmethod
    def concat(cls, parts: list[_Laps], second: list[NDArray[np.int64]]) -> _Laps:
        """Put the laps of animals one after the other."""
        for part in parts[1:]:
            if part.others.keys() != parts[0].others.keys():
                columns = [list(each.others) for each in (parts[0], part)]
                raise ValueError(
                    f"The laps of all animals must have the same columns; got {columns[0]} and "
                    f"{columns[1]}."
                )
        n = [len(part.second) for part in parts]
        return cls(
            _concatenated([part.whole for part in parts]),
            _concatenated([part.names for part in parts]),
            _concatenated([part.others for part in parts]),
            np.concatenate(second),
            np.append(0, np.cumsum(n)),
        )


def _concatenated(parts: list[dict[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _second_places(steps: Columns, episode: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give the place entered first in each lap; -1 if the log has no step of it."""
    begins = np.flatnonzero(np.diff(steps["episode"], prepend=-1))
    if not len(begins):
        return np.full(len(episode), -1)
    known = steps["episode"][begins]
    found = np.minimum(np.searchsorted(known, episode), len(known) - 1)
    return np.where(known[found] == episode, steps["next_state"][begins[found]], -1)


def _reactivated(log: EventLog, paths: pd.DataFrame | None) -> Columns:
    """List what one animal reactivated in pauses."""
    if paths is None:
        return reactivated_by(_in_pauses(log.columns("backups")))
    [(_, places)] = reactivations_by_run(log, paths)
    kept = _IS_PAUSE[places["phase"]]
    return {name: values[kept] for name, values in places.items()}


def _in_pauses(backups: Columns) -> dict[str, NDArray[Any]]:
    """Leave out what was replayed on the way, and what an n-step backup repeats.

    Chains don't go on from one pause to the next.
    """
    n = len(backups["event"])
    rows, cause = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    event, pop, state, next_state, own_cause, phase = (backups[name] for name in _CAUSED)
    n_kept = _keep(event, pop, state, next_state, own_cause, phase, _IS_PAUSE, rows, cause)
    rows = rows[:n_kept]
    kept = {name: values[rows] for name, values in backups.items() if name != "cause"}
    return {**kept, "cause": cause[:n_kept]}


@kernel
def _keep(
    event: NDArray[np.int64],
    pop: NDArray[np.int32],
    state: NDArray[np.int32],
    next_state: NDArray[np.int32],
    cause: NDArray[np.int64],
    phase: NDArray[np.int8],
    is_pause: NDArray[np.bool_],
    rows: NDArray[np.int64],
    causes: NDArray[np.int64],
) -> int:
    """Write the rows that count and their causes among these; returns how many there are.

    A pop that repeats the one before and adds a step counts by its last row, which goes on from the
    row before it.
    """
    n_kept, begin, before = 0, 0, -1
    number = np.full(len(event), -1)
    while begin < len(event):
        end = begin + 1
        while end < len(event) and event[end] == event[begin] and pop[end] == pop[begin]:
            end += 1
        grows = before >= 0 and end - begin == begin - before + 1
        for row in range(begin, end):
            if grows and row < end - 1:
                other = before + row - begin
                grows = (
                    event[row] == event[other]
                    and state[row] == state[other]
                    and next_state[row] == next_state[other]
                )
            grows &= row == begin or cause[row] == row - 1
        for row in range(begin, end):
            if not is_pause[phase[row]] or (grows and row < end - 1):
                continue
            causes[n_kept] = -1
            if grows:
                causes[n_kept] = n_kept - 1
            elif 0 <= cause[row] < row:
                causes[n_kept] = number[cause[row]]
            number[row] = n_kept
            rows[n_kept] = row
            n_kept += 1
        before, begin = begin, end
    return n_kept


def _tables(
    task: Task,
    track: Track,
    animals: list[int],
    laps: _Laps,
    found: list[Sequences],
    reactivated: list[Columns],
    least: Detection,
) -> Replays:
    """Put what was found in each animal into tables, one animal after the other."""
    number = np.array(animals)
    names = {
        name: _numbered(first, laps.names[name])
        for name, first in (
            ("block", [_block_before(task), *(block.name for block in task.blocks)]),
            ("lap", [""]),
        )
    }
    sequences = Sequences.concat(found)
    owner = np.repeat(np.arange(len(found)), [len(part["event"]) for part in found])
    codes = _codes_at(laps, names, owner, sequences["episode"])
    measured = _measured(task, track, sequences, codes["block"], names["block"][0])
    table = sequences.table.assign(
        animal=number[owner],
        place=sequences["location"],
        **{name: _category(code, names[name][0]) for name, code in codes.items()},
        **measured,
    )
    replays = Replays(
        table,
        _pauses(laps, names, number, task),
        pd.DataFrame(
            {
                "animal": np.repeat(number, np.diff(laps.begin)),
                **{name: laps.whole[name] for name in _WHOLE_LAP},
                **{name: _category(codes, labels) for name, (labels, codes) in names.items()},
                **laps.others,
                "second": laps.second,
            }
        ),
        _reactivations(number, reactivated),
        task,
        COUNTS[0] if reactivated else COUNTS[1],
        least,
    )
    replays.__dict__["states"] = sequences["states"]  # cheaper than from the table
    return replays


def _numbered(first: list[str], names: NDArray[np.object_]) -> tuple[list[str], NDArray[np.int64]]:
    """Give names numbers: those known first, then all others as they come."""
    labels = dict.fromkeys([*first, *names.tolist()])
    number = {name: i for i, name in enumerate(labels)}
    return list(labels), np.array([number[name] for name in names.tolist()], dtype=np.int64)


def _category(codes: NDArray[np.int64], labels: list[str]) -> pd.Categorical:
    return pd.Categorical.from_codes(codes, categories=pd.Index(labels, dtype=object))


def _codes_at(
    laps: _Laps,
    names: Mapping[str, tuple[list[str], NDArray[np.int64]]],
    owner: NDArray[np.int64],
    episode: NDArray[np.int64],
) -> dict[str, NDArray[np.int64]]:
    """Give the block and the name of the lap of some animals' episodes.

    Before all laps both have the first of the labels.
    """
    last = int(max(laps.whole["episode"].max(initial=0), episode.max(initial=0))) + 2
    of_lap = np.repeat(np.arange(len(laps.begin) - 1), np.diff(laps.begin))
    key, wanted = of_lap * last + laps.whole["episode"], owner * last + episode
    lap = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
    is_known = key[lap] == wanted if len(key) else np.zeros(len(wanted), dtype=bool)
    return {
        name: np.where(is_known, codes[lap], np.where(episode < 0, 0, -1))
        for name, (_, codes) in names.items()
    }


def _block_before(task: Task) -> str:
    """Name the block of rest before all laps, if there is one."""
    return task.blocks[0].name if task.blocks and not task.blocks[0].n_laps else ""


def _measured(
    task: Task,
    track: Track,
    sequences: Sequences,
    block: NDArray[np.int64],
    blocks: list[str],
) -> dict[str, Any]:
    """Measure all sequences along the track."""
    states: Lists = sequences["states"]
    extent, correlation = track.extent(states)
    n, owner = len(states.length), states.owner
    is_move = owner[1:] == owner[:-1]
    along = track.move(states.flat[:-1], states.flat[1:])[is_move]
    of_move = owner[1:][is_move]
    found: dict[str, Any] = {"extent": extent, "correlation": correlation}
    if "shortcut" not in sequences.columns:
        length = np.where(along < 0, np.nan, track.distance[along])
        found["distance"] = np.bincount(of_move, length, minlength=n).astype(np.float64)
        never_run = sequences["novelty"] != NOVELTIES.index("experienced")
        found["shortcut"] = _flags(crossed_shortcuts(track, along, of_move, never_run))
    impossible = np.full(n, -1, dtype=np.int8)
    walls = _closed(task, track, blocks)
    if walls.any():
        # The last row is of no block, the last column of no edge.
        edge = np.where(along < 0, -1, track.edge[along])
        impossible[:] = 0
        impossible[of_move[walls[block[of_move], edge]]] = 1
    return {**found, "impossible": _flags(impossible)}


def _closed(task: Task, track: Track, blocks: list[str]) -> NDArray[np.bool_]:
    """Tell which edges are closed in each block, shape (n_blocks + 1, n_edges + 1)."""
    walls, edges = closed_edges(task), list(track.graph.edges)
    closed = np.zeros((len(blocks) + 1, len(edges) + 1), dtype=np.bool_)
    for row, name in enumerate(blocks):
        there = walls.get(name, frozenset())
        for number, (a, b) in enumerate(edges):
            closed[row, number] = frozenset((task.node[a], task.node[b])) in there
    return closed


def _flags(found: NDArray[np.int8]) -> pd.arrays.BooleanArray:
    return pd.arrays.BooleanArray(found > 0, found < 0)


def _pauses(
    laps: _Laps,
    names: Mapping[str, tuple[list[str], NDArray[np.int64]]],
    number: NDArray[np.int64],
    task: Task,
) -> pd.DataFrame:
    """List all pauses: before each lap but the first, after each, and at rest."""
    n_laps, n_animals = len(laps.second), len(number)
    is_first = np.zeros(n_laps, dtype=np.bool_)
    is_first[laps.begin[:-1][np.diff(laps.begin) > 0]] = True
    n_before = task.blocks[0].n_rest if _block_before(task) else 0
    # Of each animal one row for the rest before all laps, then one for each lap.
    row = np.arange(n_laps) + np.repeat(np.arange(n_animals), np.diff(laps.begin)) + 1
    first = laps.begin[:-1] + np.arange(n_animals)
    has_laps = np.diff(laps.begin) > 0
    n_pauses = np.zeros(n_laps + n_animals, dtype=np.int64)
    n_pauses[row] = 2 - is_first + laps.whole["n_rest"]
    n_pauses[first[has_laps]] = n_before
    begin = np.cumsum(n_pauses) - n_pauses

    def spread(of_lap: NDArray[Any], before: Any) -> NDArray[Any]:
        values = np.empty(len(n_pauses), dtype=of_lap.dtype)
        values[row], values[first] = of_lap, before
        return np.repeat(values, n_pauses)

    rank = np.arange(n_pauses.sum()) - np.repeat(begin, n_pauses) + spread(is_first.astype(int), 2)
    phase = np.minimum(rank, _REST)
    start, end = (laps.whole[name] for name in ("start", "end"))
    place_before = np.zeros(n_animals, dtype=np.int64)
    place_before[has_laps] = start[is_first]
    return pd.DataFrame(
        {
            "animal": np.repeat(np.repeat(number, np.diff(laps.begin) + 1), n_pauses),
            "episode": spread(laps.whole["episode"], -1),
            **{
                name: _category(spread(codes, 0), labels) for name, (labels, codes) in names.items()
            },
            "phase": _category(phase, list(PAUSES)),
            "place": np.where(phase == _START, spread(start, 0), spread(end, place_before)),
        }
    )


def _reactivations(number: NDArray[np.int64], parts: list[Columns]) -> pd.DataFrame:
    """List what all animals reactivated."""
    if not parts:
        return pd.DataFrame({"animal": [], "event": [], "phase": [], "place": []}, dtype=np.int64)
    event, phase, place = (
        np.concatenate([part[name] for part in parts]) for name in ("event", "phase", "place")
    )
    animal = np.repeat(number, [len(part["event"]) for part in parts])
    phases = _category(phase, list(PHASES))
    return pd.DataFrame(
        {"animal": animal, "event": event, "phase": phases, "place": place}, copy=False
    )
