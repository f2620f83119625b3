"""From the logs of animals, simulated or recorded, to the tables that statistics read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.measures.lap_arrays import WHOLE_COLUMNS, LapArrays, second_places
from analyses.measures.paused_replay import PAUSES, backups_in_pauses, reactivated_in_pauses
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
from analyses.sequences.runs import Columns, runs_of
from analyses.sequences.sequences import Lists, Sequences
from analyses.sequences.track import Track, closed_edges, graph_of_task
from replay.checks import check_choice, check_whole, shown
from replay.log.backups import PHASES
from replay.log.event_log import EventLog

if TYPE_CHECKING:
    from replay.tasks import Task

__all__ = ["AnimalRun", "replays_by_jump", "replays_of"]

AnimalRun = (
    tuple[int, EventLog, pd.DataFrame] | tuple[int, EventLog, pd.DataFrame, pd.DataFrame | None]
)
"""One animal: its number, its log, its laps and, for decoded replay, its paths."""

_START, _REST = 0, 2
_MOVED = ("episode", "step", "state", "next_state")


def replays_of(
    task: Task,
    runs: Iterable[AnimalRun],
    counts: str = "place sequences",
    largest_jump: int = 1,
) -> Replays:
    """Make the tables of some animals in one task.

    Only replay in pauses counts, not replay during a lap. An n-step backup that grows by one step
    at a time is one sequence, not one for each of its lengths, as in Mattar & Daw (2018) [1]_.

    Parameters
    ----------
    task : Task
        The task in which the animals ran.
    runs : iterable of tuple
        For each animal: its number; the log of its one run, in analysed states; its laps, a table
        with one row per lap, in order: `episode, block, lap, start, end, n_rest` and other columns
        that statistics read (`reward, goal`); and optionally, for decoded or generated replay, the
        table of paths as in :func:`analyses.place_sequences`, which then counts instead of the
        log's backups.
    counts : {"place sequences", "causal chains"}, default "place sequences"
        Sequences as an electrode would see them, or the mechanism of a model.
    largest_jump : int, default 1
        The largest number of edges between two successive places of a place sequence; see
        :class:`analyses.sequences.place_sequences.Detection`.

    Returns
    -------
    Replays
        Place sequences of three different places or more, or all causal chains.

    Raises
    ------
    TypeError
        If a log is not an EventLog, laps are not a DataFrame, or a tuple has other entries.
    ValueError
        If there is no animal, an animal appears twice, a log has several runs, columns of the laps
        are missing or have invalid values, causal chains are requested for paths, or `counts` is
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
    return replays_by_jump(task, runs, [largest_jump], counts)[largest_jump]


def replays_by_jump(
    task: Task,
    runs: Iterable[AnimalRun],
    largest_jumps: Iterable[int],
    counts: str = "place sequences",
    read: Callable[[int, Columns], Columns] = lambda animal, reactivated: reactivated,
) -> dict[int, Replays]:
    """Make the tables of some animals for several largest jumps.

    As `replays_of`; the keys are the largest jumps. `read` returns what is seen of the places that
    an animal reactivated.

    Examples
    --------
    >>> from replay.tasks import run_task
    >>> from replay.tasks.published import TASKS
    >>> task = TASKS["linear_track"].build()
    >>> made = replays_by_jump(task, [(0, *run_task(task, "dyna_q", {"n_replays": 9}))], [1, 2])
    >>> len(made[1].sequences) < len(made[2].sequences)
    True
    """
    of_chains = check_choice("counts", counts, COUNTS) == COUNTS[1]
    least = [Detection(2 if of_chains else 3, largest_jump=jump) for jump in largest_jumps]
    for each in least:
        each.check()
    if not hasattr(task, "world"):
        raise TypeError(f"task must be a Task, got {shown(task)}.")
    track = Track.of(graph_of_task(task))
    known: dict[int, LapArrays] = {}
    animals: list[int] = []
    laps, second, chained = [], [], []
    alike: list[_Alike] = []
    for run in _checked(runs):
        animal, log, table, paths = run
        animals.append(animal)
        if id(table) not in known:  # the same laps of many animals
            known[id(table)] = LapArrays.of(table, len(task.places))
        laps.append(known[id(table)])
        steps = log.columns("steps")
        if not alike or not _are_same(alike[-1].steps, steps):
            alike.append(_Alike(steps, Experience(steps), []))
        second.append(second_places(steps, laps[-1].whole["episode"]))
        if not of_chains:
            alike[-1].reactivated.append(read(animal, reactivated_in_pauses(log, paths)))
            continue
        if paths is not None:
            raise ValueError("Paths have no causes: count their 'place sequences'.")
        backups = backups_in_pauses(log.columns("backups"))
        own = chains(link_backups(backups))
        chained.append(classified(alike[-1].experience, backups, own, "causal"))
    if not animals:
        raise ValueError("runs must have at least one animal.")
    known_laps = LapArrays.concat(laps, second)
    reactivated = [each for group in alike for each in group.reactivated]
    made = {}
    for each in least:
        if of_chains:
            parts, n_found = chained, [len(part["event"]) for part in chained]
        else:
            of_alike = [group.sequences(track, each) for group in alike]
            parts, n_found = [part for part, _ in of_alike], [n for _, ns in of_alike for n in ns]
        found, owner = Sequences.concat(parts), np.repeat(np.arange(len(animals)), n_found)
        made[each.largest_jump] = _tables(
            task, track, animals, known_laps, found, owner, reactivated, each
        )
    return made


class _Alike(NamedTuple):
    """Successive animals that made the same steps, and what each of them reactivated."""

    steps: Columns
    experience: Experience
    reactivated: list[Columns]

    def sequences(self, track: Track, detection: Detection) -> tuple[Sequences, list[int]]:
        """Classify the place sequences of all animals, and count those of each."""
        of_animal = np.repeat(
            np.arange(len(self.reactivated)), [len(part["event"]) for part in self.reactivated]
        )
        joined = {
            name: np.concatenate([part[name] for part in self.reactivated])
            for name in self.reactivated[0]
        }
        begins = (np.diff(joined["event"]) != 0) | (np.diff(of_animal) != 0)
        event = np.cumsum(np.append(False, begins)[: len(of_animal)])  # animals number their own
        rows, states = runs_along(joined | {"event": event}, track, detection)
        found = classified_places(self.experience, joined, rows, states, track)
        return found, np.bincount(of_animal[rows], minlength=len(self.reactivated)).tolist()


def _are_same(steps: Columns, others: Columns) -> bool:
    """Return whether two animals made the same moves at the same times."""
    return all(np.array_equal(steps[name], others[name]) for name in _MOVED)


class _Run(NamedTuple):
    """One animal: its number, log and laps, and the paths that count instead of backups."""

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
                "Each of runs must be a tuple of the animal's number, log, laps and, for decoded "
                f"replay, paths; got {shown(each)}."
            )
        run = _Run(*each)
        check_whole("The number of an animal", run.animal)
        if run.animal in seen:
            raise ValueError(f"The animal {run.animal} has several runs: give each its own number.")
        seen.add(run.animal)
        if len(numbers := runs_of(run.log)) != 1:
            raise ValueError(
                f"The log of animal {run.animal} must have one run, but has the runs "
                f"{shown(numbers)}."
            )
        yield run


def _tables(
    task: Task,
    track: Track,
    animals: list[int],
    laps: LapArrays,
    sequences: Sequences,
    owner: NDArray[np.int64],
    reactivated: list[Columns],
    least: Detection,
) -> Replays:
    """Write sequences, pauses and laps into tables; `owner` is the animal of each sequence."""
    number = np.array(animals)
    names = {
        name: _numbered(first, laps.names[name])
        for name, first in (
            ("block", [_block_before(task), *(block.name for block in task.blocks)]),
            ("lap", [""]),
        )
    }
    codes = _codes_at(laps, names, owner, sequences["episode"])
    measured = _measured(task, track, sequences, codes["block"], names["block"][0])
    table = sequences.table.assign(
        animal=number[owner],
        place=sequences["location"],
        **{name: _category(code, names[name][0]) for name, code in codes.items()},
        **measured,
    )
    return Replays(
        table,
        sequences["states"],
        _pauses(laps, names, number, task),
        pd.DataFrame(
            {
                "animal": np.repeat(number, np.diff(laps.begin)),
                **{name: laps.whole[name] for name in WHOLE_COLUMNS},
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


def _numbered(first: list[str], names: NDArray[np.object_]) -> tuple[list[str], NDArray[np.int64]]:
    """Assign numbers to names: to those in `first`, then to all others as they appear."""
    labels = dict.fromkeys([*first, *names.tolist()])
    number = {name: i for i, name in enumerate(labels)}
    return list(labels), np.array([number[name] for name in names.tolist()], dtype=np.int64)


def _category(codes: NDArray[np.int64], labels: list[str]) -> pd.Categorical:
    return pd.Categorical.from_codes(codes, categories=pd.Index(labels, dtype=object))


def _codes_at(
    laps: LapArrays,
    names: Mapping[str, tuple[list[str], NDArray[np.int64]]],
    owner: NDArray[np.int64],
    episode: NDArray[np.int64],
) -> dict[str, NDArray[np.int64]]:
    """Return codes of the block and of the lap's name for episodes of animals.

    Before the first lap, both have the first label.
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
    """Return the name of the block of rest before all laps, empty if there is none."""
    return task.blocks[0].name if task.blocks and not task.blocks[0].n_laps else ""


def _measured(
    task: Task,
    track: Track,
    sequences: Sequences,
    block: NDArray[np.int64],
    blocks: list[str],
) -> dict[str, NDArray[np.float64] | pd.arrays.BooleanArray]:
    """Compute lengths, shortcuts and crossed walls of all sequences along the track."""
    states: Lists = sequences["states"]
    extent, correlation = track.extent(states)
    n, owner = len(states.length), states.owner
    is_move = owner[1:] == owner[:-1]
    along = track.move(states.flat[:-1], states.flat[1:])[is_move]
    of_move = owner[1:][is_move]
    found: dict[str, NDArray[np.float64] | pd.arrays.BooleanArray] = {
        "extent": extent,
        "correlation": correlation,
    }
    if "distance" not in sequences.columns:
        length = np.where(along < 0, np.nan, track.distance[along])
        found["distance"] = np.bincount(of_move, length, minlength=n).astype(np.float64)
    if "shortcut" not in sequences.columns:
        never_run = sequences["novelty"] != NOVELTIES.index("experienced")
        found["shortcut"] = _flags(crossed_shortcuts(track, along, of_move, never_run))
    impossible = np.full(n, -1, dtype=np.int8)
    walls = _closed(task, track, blocks)
    if walls.any():
        # The last row stands for no block, the last column for no edge.
        edge = np.where(along < 0, -1, track.edge[along])
        impossible[:] = 0
        impossible[of_move[walls[block[of_move], edge]]] = 1
    return {**found, "impossible": _flags(impossible)}


def _closed(task: Task, track: Track, blocks: list[str]) -> NDArray[np.bool_]:
    """Return whether each edge is closed in each block, shape (n_blocks + 1, n_edges + 1)."""
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
    laps: LapArrays,
    names: Mapping[str, tuple[list[str], NDArray[np.int64]]],
    number: NDArray[np.int64],
    task: Task,
) -> pd.DataFrame:
    """List all pauses: before each lap except the first, after each lap, and at rest."""
    n_laps, n_animals = len(laps.second), len(number)
    is_first = np.zeros(n_laps, dtype=np.bool_)
    is_first[laps.begin[:-1][np.diff(laps.begin) > 0]] = True
    n_before = task.blocks[0].n_rest if _block_before(task) else 0
    # For each animal, one row for the rest before all laps, then one per lap.
    row = np.arange(n_laps) + np.repeat(np.arange(n_animals), np.diff(laps.begin)) + 1
    first = laps.begin[:-1] + np.arange(n_animals)
    has_laps = np.diff(laps.begin) > 0
    n_pauses = np.zeros(n_laps + n_animals, dtype=np.int64)
    n_pauses[row] = 2 - is_first + laps.whole["n_rest"]
    n_pauses[first[has_laps]] = n_before
    begin = np.cumsum(n_pauses) - n_pauses

    def spread(of_lap: NDArray[np.int64], before: int | NDArray[np.int64]) -> NDArray[np.int64]:
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
    """List the places that all animals reactivated."""
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
