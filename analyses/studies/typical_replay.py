"""What is typically replayed in the tasks of experiments: examples chosen by a rule, not by hand.

Of the sequences that are long enough the three most frequent kinds are taken, and of each kind the
path that was replayed most often with the animal at one place and in one phase; of several, the
longest, then the first.
"""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from analyses.jobs.measurements import Measurement
from analyses.measures.animals import replays
from analyses.tables import require_columns
from replay.tasks.published import TASKS, find_task

__all__ = ["LEARNERS", "measure", "overview", "plan", "typical_replays"]

LEARNERS = ("prioritized_memory_access", "prioritized_sweeping")
"""The learners that `measure` shows if it is not told others."""

_N_KINDS = 3


def typical_replays(
    chains: pd.DataFrame, laps: pd.DataFrame, *, min_length: int = 5, order: str = "causal"
) -> pd.DataFrame:
    """Choose typical sequences.

    Parameters
    ----------
    chains : pandas.DataFrame
        One row a sequence: `animal, episode, order, phase, place, block, states, length,
        orientation, kind`.
    laps : pandas.DataFrame
        One row a lap: `animal, episode, goal`.
    min_length : int, default 5
        Sequences of fewer states don't count.
    order : {"causal", "temporal"}, default "causal"
        Which sequences.

    Returns
    -------
    pandas.DataFrame
        One row a kind, the most frequent first: `kind, orientation, phase, block, place, goal` (-1
        where there was none), `states` (as replayed, with blanks between), `length`, `n_path` (how
        often this path was replayed so), `n_kind` (sequences of this kind) and `n_all`.

    Raises
    ------
    ValueError
        If columns are missing.

    Examples
    --------
    >>> chains = pd.DataFrame({"animal": 0, "episode": [0, 1, 2], "order": "causal",
    ...                        "phase": "rest", "place": 2, "block": "run", "length": 3,
    ...                        "orientation": "reverse", "kind": "reverse_episode",
    ...                        "states": [(2, 1, 0), (2, 1, 0), (2, 1, 3)]})
    >>> laps = pd.DataFrame({"animal": 0, "episode": [0, 1, 2], "goal": 2})
    >>> found = typical_replays(chains, laps, min_length=3)
    >>> found[["states", "n_path", "n_kind"]].to_numpy().tolist()
    [['2 1 0', 2, 3]]
    """
    wanted = ["animal", "episode", "order", "phase", "place", "block", "states", "length"]
    require_columns(chains, [*wanted, "orientation", "kind"], "chains")
    require_columns(laps, ["animal", "episode", "goal"], "laps")
    long = chains[(chains["order"] == order) & (chains["length"] >= min_length)]
    long = long.assign(
        states=[" ".join(map(str, path)) for path in long["states"]],
        kind=long["kind"].astype(str),
        phase=long["phase"].astype(str),
    )
    long["n_kind"] = long.groupby("kind")["kind"].transform("size")
    alike = long.groupby(["kind", "states", "place", "phase"])["kind"]
    long = long.assign(n_path=alike.transform("size"), n_all=len(long))
    ranked = long.sort_values(
        ["n_kind", "kind", "n_path", "length"], ascending=[False, True, False, False], kind="stable"
    )
    chosen = ranked.drop_duplicates("kind").head(_N_KINDS)
    chosen = chosen.merge(laps[["animal", "episode", "goal"]], on=["animal", "episode"], how="left")
    chosen["goal"] = chosen["goal"].fillna(-1).astype(int)
    columns = ["kind", "orientation", "phase", "block", "place", "goal", "states", "length"]
    return chosen[[*columns, "n_path", "n_kind", "n_all"]]


def measure(
    tasks: Iterable[str] = tuple(TASKS),
    learners: Iterable[str] = LEARNERS,
    *,
    n_animals: int = 4,
    seed: int = 0,
) -> pd.DataFrame:
    """Let animals go through tasks, and choose what they typically replay.

    Parameters
    ----------
    tasks : iterable of str
        Names in ``TASKS``; by default all.
    learners : iterable of str
        Names in ``replay.learners.LEARNERS``; by default the module's ``LEARNERS``.
    n_animals : int, default 4
        Animals of each learner in each task.
    seed : int, default 0
        Seed of everything.

    Returns
    -------
    pandas.DataFrame
        `task, learner, min_length`, and what `typical_replays` gives. All replay in pauses counts,
        over the whole protocol, along the laps that the task gives.

    Raises
    ------
    ValueError
        If a task or a learner is unknown.

    Examples
    --------
    >>> table = measure(["linear_track"], ["episodic_control"], n_animals=1)
    >>> table[["kind", "length", "n_kind", "n_all"]].to_numpy().tolist()
    [['reverse_episode', 10, 60, 60]]
    """
    tables = []
    for name in tasks:
        entry = find_task(name)
        task = entry.build()
        for learner in learners:
            made = replays(task, learner, animals=range(n_animals), seed=seed)
            found = typical_replays(made.chains, made.laps, min_length=entry.min_length)
            found.insert(0, "task", name)
            found.insert(1, "learner", learner)
            found.insert(2, "min_length", entry.min_length)
            tables.append(found)
    return pd.concat(tables, ignore_index=True)


def overview(table: pd.DataFrame) -> pd.DataFrame:
    """Take from a table what fits a screen.

    Parameters
    ----------
    table : pandas.DataFrame
        Result of `measure`.

    Returns
    -------
    pandas.DataFrame
        `task, learner, kind, length, n_kind, n_all`.
    """
    return table[["task", "learner", "kind", "length", "n_kind", "n_all"]]


def plan(n_animals: int = 4, seed: int = 0) -> Measurement:
    """Plan the study: a piece for each task.

    Parameters
    ----------
    n_animals : int, default 4
        Animals of each learner in each task.
    seed : int, default 0
        Seed of everything.

    Returns
    -------
    Measurement
        It makes ``tasks``, as `measure` gives it.
    """
    return Measurement(["tasks"], _piece, [(name, n_animals, seed) for name in TASKS], dict)


def _piece(task: str, n_animals: int, seed: int) -> dict[str, pd.DataFrame]:
    return {"tasks": measure([task], n_animals=n_animals, seed=seed)}
