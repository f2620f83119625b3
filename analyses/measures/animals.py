"""From the logs of animals, simulated or recorded, to tables, and to a summary over animals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import binom

from analyses.intervals import mean_interval
from analyses.measures import STATISTICS
from analyses.measures.laps import Laps, category, checked_laps, second_places
from analyses.measures.replays import COUNTS, PAUSES, Replays
from analyses.sequences import Detection
from analyses.sequences.chains import chains, link_backups
from analyses.sequences.classification import classified
from analyses.sequences.experience import Experience
from analyses.sequences.logs import Columns, runs_of
from analyses.sequences.place_sequences import NOVELTIES, classified_places, runs_along
from analyses.sequences.reactivations import reactivated_by, reactivations_by_run
from analyses.sequences.sequences import Lists, Sequences
from analyses.sequences.track import Track, closed_edges, graph_of_task
from replay.checks import (
    check_cells,
    check_choice,
    check_column,
    check_list,
    check_table,
    check_whole,
    shown,
    typed,
)
from replay.checks.arrays import Bools, Floats, Int32s, Ints
from replay.jit import kernel
from replay.log.backups import PHASES
from replay.log.event_log import EventLog

if TYPE_CHECKING:
    from replay.tasks import Task


AnimalRun = (
    tuple[int, EventLog, pd.DataFrame] | tuple[int, EventLog, pd.DataFrame, pd.DataFrame | None]
)
"""One animal: its number, its log, its laps and, for decoded replay, its paths."""

_MOVED = ("episode", "step", "state", "next_state")
_IS_PAUSE = np.isin(PHASES, PAUSES)
_EQUAL = 1e-12  # a value that differs by less from its null differs by rounding


def replays_of(
    task: Task, runs: Iterable[AnimalRun], counts: str = "place sequences", largest_jump: int = 1
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
    .. [1] Mattar & Daw (2018). https://doi.org/10.1038/s41593-018-0232-z

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
    """
    of_chains = check_choice("counts", counts, COUNTS) == COUNTS[1]
    criteria = [Detection(2 if of_chains else 3, largest_jump=jump) for jump in largest_jumps]
    for detection in criteria:
        detection.check()
    if not hasattr(task, "world"):
        raise TypeError(f"task must be a Task, got {shown(task)}.")
    track = Track.of(graph_of_task(task))
    # The same laps of many animals are checked once; the tables are kept, so that ids stay theirs.
    checked: dict[int, tuple[pd.DataFrame, Columns]] = {}
    animals: list[int] = []
    laps, second, chained = [], [], []
    alike: list[_Alike] = []
    for animal, log, table, paths in _checked(runs):
        animals.append(animal)
        if id(table) not in checked:
            checked[id(table)] = table, checked_laps(table, len(task.places))
        laps.append(checked[id(table)][1])
        steps = log.columns("steps")
        # Animals with the same laps share one index of experience, which takes long to make.
        if not alike or not all(np.array_equal(alike[-1].steps[k], steps[k]) for k in _MOVED):
            alike.append(_Alike(steps, Experience(steps), []))
        second.append(second_places(steps, laps[-1]["episode"]))
        if of_chains:
            if paths is not None:
                raise ValueError("Paths have no causes: count their 'place sequences'.")
            backups = _backups_in_pauses(log.columns("backups"))
            of_animal = chains(link_backups(backups))
            chained.append(classified(alike[-1].experience, backups, of_animal, "causal"))
        elif paths is None:
            backups = _backups_in_pauses(log.columns("backups"))
            alike[-1].reactivated.append(read(animal, reactivated_by(backups)))
        else:
            [(_, places)] = reactivations_by_run(log, paths)
            in_pause = _IS_PAUSE[places["phase"]]
            places = {name: values[in_pause] for name, values in places.items()}
            alike[-1].reactivated.append(read(animal, places))
    if not animals:
        raise ValueError("runs must have at least one animal.")
    all_laps = Laps.of(task, animals, laps, second)
    reactivated = [places for group in alike for places in group.reactivated]
    tables = all_laps.pauses(), all_laps.table, _reactivations(all_laps.animals, reactivated)
    made = {}
    for detection in criteria:
        if of_chains:
            found = Sequences.concat(chained)
            owner = np.repeat(np.arange(len(chained)), [len(each["event"]) for each in chained])
        else:
            found, owner = _all_place_sequences(alike, track, detection)
        table = _sequences_table(task, track, all_laps, found, owner)
        made[detection.largest_jump] = Replays(
            table, found["states"], *tables, task, counts, detection
        )
    return made


def _checked(runs: object) -> Iterator[tuple[int, EventLog, pd.DataFrame, pd.DataFrame | None]]:
    if not isinstance(runs, Iterable):
        raise TypeError(f"runs must be an iterable of animals, got {shown(runs)}.")
    seen = set()
    for run in runs:
        if not isinstance(run, tuple) or len(run) not in (3, 4):
            raise TypeError(
                "Each of runs must be a tuple of the animal's number, log, laps and, for decoded "
                f"replay, paths; got {shown(run)}."
            )
        animal, log, laps, paths = (*run, None)[:4]
        check_whole("The number of an animal", animal)
        if animal in seen:
            raise ValueError(f"The animal {animal} has several runs: give each its own number.")
        seen.add(animal)
        if len(numbers := runs_of(log)) != 1:
            raise ValueError(
                f"The log of animal {animal} must have one run, but has the runs {shown(numbers)}."
            )
        yield animal, log, laps, paths


class _Alike(NamedTuple):
    """Successive animals that made the same steps, and what each of them reactivated."""

    steps: Columns
    experience: Experience
    reactivated: list[Columns]


def _all_place_sequences(
    alike: list[_Alike], track: Track, detection: Detection
) -> tuple[Sequences, Ints]:
    """Classify the place sequences of all animals; also say which animal each is of, from 0."""
    parts, owners, n_before = [], [], 0
    for group in alike:
        # All at once, as if they were one animal's: calls for each would take most of the time.
        n_animals = len(group.reactivated)
        animal = np.repeat(np.arange(n_animals), [len(part["event"]) for part in group.reactivated])
        joined = {
            name: np.concatenate([part[name] for part in group.reactivated])
            for name in group.reactivated[0]
        }
        begins = (np.diff(joined["event"]) != 0) | (np.diff(animal) != 0)
        event = np.cumsum(np.append(False, begins)[: len(animal)])  # animals number their own
        rows, states = runs_along(joined | {"event": event}, track, detection)
        parts.append(classified_places(group.experience, joined, rows, states, track))
        owners.append(n_before + animal[rows])
        n_before += n_animals
    return Sequences.concat(parts), np.concatenate(owners)


def _sequences_table(
    task: Task, track: Track, laps: Laps, sequences: Sequences, owner: Ints
) -> pd.DataFrame:
    """Add what statistics read to the table of all sequences; `owner` is the animal of each."""
    states: Lists = sequences["states"]
    codes = laps.codes_at(owner, sequences["episode"])
    n, sequence_of_place = len(states.length), states.owner
    is_move = sequence_of_place[1:] == sequence_of_place[:-1]
    move_number = track.move(states.flat[:-1], states.flat[1:])[is_move]
    sequence_of_move = sequence_of_place[1:][is_move]
    extent, correlation = track.extent(states)
    added: dict[str, Any] = {"extent": extent, "correlation": correlation}
    # Causal chains have neither, and place sequences only what the graph of their task says.
    if "distance" not in sequences.columns:
        length = np.where(move_number < 0, np.nan, track.distance[move_number])
        added["distance"] = np.bincount(sequence_of_move, length, minlength=n).astype(np.float64)
    if "shortcut" not in sequences.columns:
        never_run = sequences["novelty"] != NOVELTIES.index("experienced")
        added["shortcut"] = _flags(
            track.crossed_shortcuts(move_number, sequence_of_move, never_run)
        )

    # Whether each edge is closed in each block; the last row is no block, the last column no edge.
    blocks, edges, walls = laps.labels["block"], list(track.graph.edges), closed_edges(task)
    closed = np.zeros((len(blocks) + 1, len(edges) + 1), dtype=np.bool_)
    for row, name in enumerate(blocks):
        walls_now = walls.get(name, frozenset())
        closed[row, :-1] = [frozenset((task.node[a], task.node[b])) in walls_now for a, b in edges]
    impossible = np.full(n, -1, dtype=np.int8)
    if closed.any():
        edge = np.where(move_number < 0, -1, track.edge[move_number])
        impossible[:] = 0
        crosses_wall = closed[codes["block"][sequence_of_move], edge]
        impossible[sequence_of_move[crosses_wall]] = 1
    return sequences.table.assign(
        animal=laps.animals[owner],
        place=sequences["location"],
        **{name: category(code, laps.labels[name]) for name, code in codes.items()},
        **added,
        impossible=_flags(impossible),
    )


def _flags(flag: NDArray[np.int8]) -> pd.arrays.BooleanArray:
    """Make a column of flags: 1 is true, 0 false and -1 missing."""
    return pd.arrays.BooleanArray(flag > 0, flag < 0)


def _reactivations(animals: Ints, parts: list[Columns]) -> pd.DataFrame:
    """List the places that all animals reactivated."""
    if not parts:
        return pd.DataFrame({"animal": [], "event": [], "phase": [], "place": []}, dtype=np.int64)
    event, phase, place = (
        np.concatenate([part[name] for part in parts]) for name in ("event", "phase", "place")
    )
    animal = np.repeat(animals, [len(part["event"]) for part in parts])
    phases = category(phase, PHASES)
    return pd.DataFrame(
        {"animal": animal, "event": event, "phase": phases, "place": place}, copy=False
    )


def _backups_in_pauses(backups: Columns) -> dict[str, NDArray[Any]]:
    """Leave out replay during laps, and what an n-step backup repeats.

    Chains do not continue from one pause to the next.

    In the columns that are returned, `cause` is a row among the backups that are kept.
    """
    n = len(backups["event"])
    rows, cause = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    names = "event", "pop", "state", "next_state", "cause", "phase"
    event, pop, state, next_state, own_cause, phase = (backups[name] for name in names)
    n_kept = _keep(event, pop, state, next_state, own_cause, phase, _IS_PAUSE, rows, cause)
    rows = rows[:n_kept]
    kept = {name: values[rows] for name, values in backups.items() if name != "cause"}
    return {**kept, "cause": cause[:n_kept]}


@kernel
def _keep(
    event: Ints,
    pop: Int32s,
    state: Int32s,
    next_state: Int32s,
    cause: Ints,
    phase: NDArray[np.int8],
    is_pause: Bools,
    rows: Ints,
    causes: Ints,
) -> int:
    """Write the rows that count and their causes among them; return their number.

    If a pop repeats the previous one and adds a step, only its last row counts, which continues
    from the row before it.
    """
    n_kept, begin, before = 0, 0, -1
    number = np.full(len(event), -1)
    while begin < len(event):
        end = begin + 1
        while end < len(event) and event[end] == event[begin] and pop[end] == pop[begin]:
            end += 1
        # Rows begin:end are a pop, and before:begin the previous one, whose moves it must repeat
        # one by one, before a last move that is new.
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


def chance_above(null: Floats, n: Ints) -> Floats:
    """Return the probability that a share of `n` sequences lies above its null, if the two differ.

    A half where the null is 0 or 1.

    Examples
    --------
    >>> chance_above(np.array([0.5, 0.1, 0.1, 0.0]), np.array([9, 5, 500, 9])).round(2).tolist()
    [0.5, 0.41, 0.49, 0.5]
    """
    mean = np.round(null * n, 9)  # a mean that is whole but for rounding is never exceeded
    above = binom.sf(np.floor(mean), n, null)
    below = binom.cdf(np.ceil(mean) - 1, n, null)
    differs = above + below
    return np.where(differs > 0, above / np.where(differs > 0, differs, 1), 0.5)


@typed
def over_animals(per_animal: pd.DataFrame, by: Sequence[str] = ("statistic",)) -> pd.DataFrame:
    """Summarise each statistic over animals, in one row per group of the columns `by`.

    `per_animal` has a row for each animal and statistic: `by`, `value`, `null` and `n`; a value of
    NaN is ignored. A row of the result has `value`, the mean over animals, with its Student-t
    interval `ci_low, ci_high`; the mean `null`; the two-sided `p` of the exact sign test on the
    numbers `n_above` and `n_below` of animals above and below their null; `chance_above`, the share
    of these expected above by chance (by :func:`chance_above` for shares, a half for other
    statistics); `n_animals`; and `n_chains`, the number of sequences. What the data do not
    determine is NaN.

    The sign test asks whether animals lie above their null as often as below it. That is what
    chance gives if values are symmetric about the null, as for equal numbers of forward and reverse
    sequences. The share of a rare event is mostly 0 and so lies below its mean more often than
    above. For shares, the test therefore expects the number of animals above the null that the
    binomial distribution gives.

    Examples
    --------
    >>> per_animal = pd.DataFrame({"statistic": "begins_at_animal", "value": [0.5, 0.6, np.nan],
    ...                            "null": [0.2, 0.2, np.nan], "n": [10, 30, 0]})
    >>> over_animals(per_animal)[["value", "null", "p", "n_animals", "n_chains"]].round(2)
       value  null     p  n_animals  n_chains
    0   0.55   0.2  0.44          2        40
    """
    by = [by] if isinstance(by, str) else list(check_list("by", by))
    if not by:
        raise ValueError("by must name at least one column, such as 'statistic'.")
    table = check_table(per_animal, [*by, "statistic", "value", "null", "n"], "per_animal")
    check_cells(table[[*dict.fromkeys([*by, "statistic"])]], "per_animal", lists=False)
    rows = table.assign(
        **{
            column: check_column(table, column, "per_animal", kind="number", missing=True)
            for column in ("value", "null", "n")
        }
    )
    difference = (rows["value"] - rows["null"]).to_numpy()
    above, below = difference > _EQUAL, difference < -_EQUAL
    shares = [name for name, statistic in STATISTICS.items() if statistic.is_share]
    # The share of a rare event is mostly 0, below its mean; other statistics are symmetric.
    binomial = rows["statistic"].isin(shares).to_numpy() & (above | below)
    chance = np.where(above | below, 0.5, np.nan)
    chance[binomial] = chance_above(*rows.loc[binomial, ["null", "n"]].to_numpy().T)
    counted = rows["n"].where(rows["value"].notna(), 0).fillna(0).astype(np.int64)
    rows = rows.assign(above=above, below=below, chance=chance, counted=counted)
    counts = rows.groupby(by, observed=True, sort=True).agg(
        null=("null", "mean"),
        n_above=("above", "sum"),
        n_below=("below", "sum"),
        chance_above=("chance", "mean"),
        n_chains=("counted", "sum"),
    )
    means = mean_interval(rows, "value", by).set_index(by)
    table = means.rename(columns={"mean": "value", "n": "n_animals"}).join(counts).reset_index()
    n, share = table["n_above"] + table["n_below"], table["chance_above"]
    # Two-sided: twice the smaller tail; both tails include what was found.
    sides = binom.cdf(table["n_above"], n, share), binom.sf(table["n_above"] - 1, n, share)
    columns = ["value", "ci_low", "ci_high", "null", "p", "n_animals", "n_above", "n_below"]
    columns += ["chance_above", "n_chains"]
    return table.assign(p=np.minimum(2 * np.minimum(*sides), 1.0))[[*by, *columns]]
