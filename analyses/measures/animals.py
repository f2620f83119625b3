"""Simulated animals of one learner in one task, and the tables that statistics read of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from analyses.measures import Replays
from analyses.sequences.chains import ORDERS
from analyses.sequences.classification import find_sequences
from analyses.sequences.runs import runs_of
from analyses.sequences.sequences import Sequences
from replay.checks import check_column, check_table, check_whole, shown
from replay.learners import find_learner
from replay.log.backups import PHASES, REST, START
from replay.log.event_log import EventLog
from replay.tasks import Task, run_task

__all__ = ["PAUSES", "SETTINGS", "animal_seed", "parameters", "replays", "replays_of"]

SETTINGS = {
    "learning_rate": 1.0,
    "discount": 0.9,
    "max_pops": 20,
    "n_replays": 20,
    "max_backups": 20,
    "replay_at": "pauses",
}
"""The same for all learners that have the parameter: twenty backups a pause, none on the way."""

PAUSES = ("start", "episode_end", "rest")
"""The phases in which an animal pauses; what is replayed on the way counts nowhere."""

_MOST_PAUSES = 1_000_000


def animal_seed(seed: int, animal: int) -> int:
    """Give the seed of one animal: the same animal has the same laps, whatever the learner.

    Parameters
    ----------
    seed : int
        Seed of all animals, 0 or more.
    animal : int
        Its number, 0 or more.

    Returns
    -------
    int
        Seeds of different animals are independent.

    Raises
    ------
    ValueError
        If one of them is no such number.

    Examples
    --------
    >>> animal_seed(0, 3) == animal_seed(0, 3), animal_seed(0, 3) == animal_seed(3, 0)
    (True, False)
    """
    check_whole("seed", seed)
    check_whole("The number of an animal", animal)
    return int(np.random.SeedSequence([seed, animal]).generate_state(1)[0])


def parameters(learner: Any, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Give the parameters of a learner that differ from its defaults: `SETTINGS`, then one's own.

    Parameters
    ----------
    learner : str or module
        A name in ``LEARNERS``, or a module of one's own.
    given : mapping, optional
        Parameters that come before the settings.

    Returns
    -------
    dict
        Name -> value.

    Raises
    ------
    ValueError
        If the learner or a parameter is unknown.

    Examples
    --------
    >>> parameters("dyna_q", {"n_replays": 5})
    {'learning_rate': 1.0, 'discount': 0.9, 'n_replays': 5}
    """
    known = find_learner(learner, given).parameters
    return {key: value for key, value in SETTINGS.items() if key in known} | dict(given or {})


def replays(
    task: Task,
    learner: Any,
    given: Mapping[str, Any] | None = None,
    *,
    animals: Iterable[int] = range(20),
    seed: int = 0,
    behaviour: str = "given",
) -> Replays:
    """Simulate animals in a task, and classify all that they replay in pauses.

    Parameters
    ----------
    task : Task
        What is run.
    learner : str or module
        A name in ``LEARNERS``, or a module of one's own.
    given : mapping, optional
        Its parameters, beside ``SETTINGS``.
    animals : iterable of int, default range(20)
        Numbers of the animals, at least one.
    seed : int, default 0
        Seed of everything; an animal's own follows from it and its number.
    behaviour : {"given", "own"}, default "given"
        Whether laps are given by the task, or run as the learner acts.

    Returns
    -------
    Replays
        The tables; those of one animal are as `replays_of` makes them.

    Raises
    ------
    ValueError
        If a name is unknown, a number is out of range, or there is no animal.

    Examples
    --------
    >>> from replay.tasks.published import TASKS
    >>> made = replays(TASKS["gupta_2t"].build(), "sfma", {"n_replays": 5}, animals=[0])
    >>> sorted(made.pauses["phase"].unique())
    ['episode_end', 'rest', 'start']
    """
    params = parameters(learner, given)
    made = []
    if not isinstance(animals, Iterable):
        raise ValueError(f"animals must be numbers of animals, got {shown(animals)}.")
    for animal in animals:
        run = run_task(task, learner, params, seed=animal_seed(seed, animal), behaviour=behaviour)
        made.append(replays_of(run.log, run.laps, task, animal))
    if not made:
        raise ValueError("animals must name at least one animal.")
    chains, pauses, laps, backups = (
        pd.concat([getattr(each, name) for each in made], ignore_index=True)
        for name in ("chains", "pauses", "laps", "backups")
    )
    return Replays(chains, pauses, laps, backups, task)


def replays_of(log: EventLog, laps: pd.DataFrame, task: Task, animal: int = 0) -> Replays:
    """Make the tables of one animal, simulated or recorded.

    Parameters
    ----------
    log : EventLog
        Steps and backups (or decoded moves) of one run, in analysed states.
    laps : pandas.DataFrame
        One row a lap, in order: `episode, block, lap, start, end, reward, n_steps, n_rest`.
    task : Task
        What was run.
    animal : int, default 0
        Its number.

    Returns
    -------
    Replays
        Chains of both orders, pauses with the number of their backups, laps with their `second`
        state, and the backups. What is replayed in several pauses of rest is one event in the log:
        the first of them has all of its backups.

    Raises
    ------
    TypeError
        If `log` is no log, or `laps` no DataFrame.
    ValueError
        If the log has several runs, or columns of the laps are missing or hold what they must not.
    """
    if len(runs := runs_of(log)) != 1:
        raise ValueError(f"log must be that of one animal, but has the runs {shown(runs)}.")
    _check_laps(laps, len(task.places))
    paused = _in_pauses(log)
    chains = Sequences.concat([find_sequences(paused, order=order) for order in ORDERS]).table
    place = chains["location"].to_numpy()
    of_lap = laps.set_index("episode")[["block", "lap"]].astype(object)
    of_lap.loc[-1] = [_block_before(task), ""]
    names = of_lap.reindex(chains["episode"]).set_axis(chains.index)
    backups = paused.backups
    steps = log.columns("steps")
    begins = np.flatnonzero(np.diff(steps["episode"], prepend=-1))
    second = pd.Series(steps["next_state"][begins], index=steps["episode"][begins])
    return Replays(
        chains.assign(animal=animal, place=place, block=names["block"], lap=names["lap"]),
        _pauses(laps, backups, task).assign(animal=animal),
        laps.assign(animal=animal, second=laps["episode"].map(second)),
        backups.assign(animal=animal),
        task,
    )


def _check_laps(laps: pd.DataFrame, n_places: int) -> None:
    check_table(laps, ["episode", "block", "lap", "start", "end", "n_rest"], "laps")
    for place in ("start", "end"):
        check_column(laps, place, "laps", kind="whole", at_least=0, at_most=n_places - 1)
    check_column(laps, "n_rest", "laps", kind="whole", at_least=0, at_most=_MOST_PAUSES)
    episode = check_column(laps, "episode", "laps", kind="whole", at_least=0)
    descends = np.flatnonzero(np.diff(episode) <= 0)
    if len(descends):
        row = int(descends[0]) + 1
        raise ValueError(
            f"The column 'episode' of laps must ascend, one row a lap; row {row} has "
            f"{episode[row]} after {episode[row - 1]}."
        )


def _in_pauses(log: EventLog) -> EventLog:
    """Leave out what was replayed on the way, and what an n-step backup repeats.

    Chains don't go on from one pause to the next. An n-step backup that grows by a step at a time
    is one sequence, not one for each of its lengths: so count Mattar & Daw (2018), too.
    """
    backups = log.columns("backups")
    numbers = [PHASES.index(phase) for phase in PAUSES]
    repeated, grown = _growth(backups)
    kept = np.isin(backups["phase"], numbers) & ~repeated
    row = np.cumsum(kept) - 1
    cause = backups["cause"]
    is_kept = (cause >= 0) & kept[cause] if len(cause) else kept
    found = np.where(grown, row - 1, np.where(is_kept, row[cause], -1))
    tables = {
        "runs": log.columns("runs"),
        "steps": log.columns("steps"),
        "backups": {
            name: (found if name == "cause" else values)[kept] for name, values in backups.items()
        },
    }
    return EventLog(tables, log.provenance, log.mdp)


def _growth(backups: Mapping[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Find backups that are the one before and a step more: what they repeat, and the new step."""
    n, rows = len(backups["event"]), np.arange(len(backups["event"]))
    if not n:
        return np.zeros(0, dtype=bool), np.zeros(0, dtype=bool)
    begins = np.ones(n, dtype=bool)
    begins[1:] = np.any([np.diff(backups[name]) != 0 for name in ("event", "pop")], axis=0)
    pop, begin = np.cumsum(begins) - 1, np.flatnonzero(begins)
    length = np.diff(np.append(begin, n))
    before = np.append(1, length[:-1])[pop]  # how many rows the pop before this one has
    is_last = rows == (begin + length - 1)[pop]
    other = np.where(is_last, rows, rows - before)  # where the pop before has the same step
    same = np.all(
        [backups[name] == backups[name][other] for name in ("event", "state", "next_state")],
        axis=0,
    )
    same &= begins | (backups["cause"] == rows - 1)
    grows = np.logical_and.reduceat(same, begin)[pop] & (length[pop] == before + 1) & (pop > 0)
    return grows & ~is_last, grows & is_last


def _block_before(task: Task) -> str:
    """Name the block of rest before all laps, if there is one."""
    return task.blocks[0].name if task.blocks and not task.blocks[0].n_laps else ""


def _pauses(laps: pd.DataFrame, backups: pd.DataFrame, task: Task) -> pd.DataFrame:
    """List all pauses: before each lap but the first, after each, and at rest."""
    about = ["episode", "block", "lap"]
    later = laps.iloc[1:]
    parts = [
        later[about].assign(phase="start", place=later["start"], number=0),
        laps[about].assign(phase="episode_end", place=laps["end"], number=0),
    ]
    n_rest = laps["n_rest"].to_numpy()
    resting = laps.loc[np.repeat(laps.index, n_rest)]
    number = np.arange(len(resting)) - np.repeat(np.cumsum(n_rest) - n_rest, n_rest)
    parts.append(resting[about].assign(phase="rest", place=resting["end"], number=number))
    if before := _block_before(task):
        early = pd.DataFrame({"number": range(task.blocks[0].n_rest), "episode": -1})
        place = laps["start"].iloc[0]
        parts.append(early.assign(block=before, lap="", phase="rest", place=place))
    pauses = pd.concat(parts, ignore_index=True)
    events = backups.groupby(["episode", "phase", "event"], observed=True).size()
    made = events.rename("n_backups").reset_index()
    made["number"] = made.groupby(["episode", "phase"], observed=True).cumcount()
    made = made.assign(phase=made["phase"].astype(str)).drop(columns="event")
    pauses = pauses.merge(made, on=["episode", "phase", "number"], how="left")
    order = pd.Categorical(pauses["phase"], [PHASES[START], "episode_end", PHASES[REST]])
    pauses = pauses.assign(n_backups=pauses["n_backups"].fillna(0).astype(int), rank=order.codes)
    return pauses.sort_values(["episode", "rank", "number"], ignore_index=True)[
        ["episode", "block", "lap", "phase", "place", "n_backups"]
    ]
