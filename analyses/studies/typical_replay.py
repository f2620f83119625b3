"""Typical replay in the tasks of experiments: examples chosen by a rule, not by hand.

Among the sequences that are long enough, the rule takes the three most frequent kinds, and for each
kind the path that was replayed most often with the animal at one place and in one phase; among
equally frequent paths, the longest, then the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from analyses.jobs.results import Results
from analyses.jobs.study import Shown, Study
from analyses.measures import Replays
from analyses.measures.animals import replays_of
from replay.checks import check_table, check_whole, shown
from replay.learners import find_learner
from replay.tasks import Task, run_task
from replay.tasks.published import TASKS, find_task

if TYPE_CHECKING:
    from matplotlib.figure import Figure


SAME_PARAMETERS = {
    "learning_rate": 1.0,
    "discount": 0.9,
    "max_pops": 20,
    "n_replays": 20,
    "max_backups": 20,
    "replay_at": "pauses",
}
"""Parameters that are equal for all learners that have them: 20 backups per pause, none online."""
SHOWN_LEARNERS = ("prioritized_memory_access", "prioritized_sweeping")
"""The default learners of `measure_typical_replay`."""
_N_KINDS = 3  # as many panels as fit beside the maze
_SHOWN = ["task", "learner", "kind", "length", "n_kind", "n_all"]


def animal_seed(seed: int, animal: int) -> int:
    """Return the seed of one animal: an animal runs the same laps with every learner."""
    check_whole("seed", seed)
    check_whole("The number of an animal", animal)
    return int(np.random.SeedSequence([seed, animal]).generate_state(1)[0])


def parameters(learner: str | ModuleType, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the parameters of a learner that differ from its defaults.

    These are the ones of `SAME_PARAMETERS` that it has, then the given ones.

    Examples
    --------
    >>> parameters("dyna_q", {"n_replays": 5})
    {'learning_rate': 1.0, 'discount': 0.9, 'n_replays': 5, 'replay_at': 'pauses'}
    """
    known = find_learner(learner, given).parameters
    return {key: value for key, value in SAME_PARAMETERS.items() if key in known} | dict(
        given or {}
    )


def simulated_replays(
    task: Task,
    learner: str | ModuleType,
    given: Mapping[str, Any] | None = None,
    *,
    animals: Iterable[int] = range(20),
    seed: int = 0,
    counts: str = "place sequences",
) -> Replays:
    """Simulate animals in a task, and classify all their replay in pauses.

    Parameters are `given` in addition to ``SAME_PARAMETERS``; the tables are those of
    `analyses.measures.animals.replays_of`.
    """
    params = parameters(learner, given)
    if not isinstance(animals, Iterable):
        raise ValueError(f"animals must be numbers of animals, got {shown(animals)}.")
    numbers = list(animals)
    if not numbers:
        raise ValueError("animals must name at least one animal.")
    runs = (
        (animal, run.log, run.laps)
        for animal in numbers
        for run in [run_task(task, learner, params, seed=animal_seed(seed, animal))]
    )
    return replays_of(task, runs, counts)


def typical_replays(
    chains: pd.DataFrame, laps: pd.DataFrame, *, min_length: int = 5
) -> pd.DataFrame:
    """Choose typical sequences.

    One row per kind, the most frequent first. `n_path` is how often this path was replayed in this
    way, `n_kind` the number of sequences of this kind, `n_all` of all; the goal is -1 if there was
    none.
    """
    wanted = ["animal", "episode", "phase", "place", "block", "states", "length"]
    check_table(chains, [*wanted, "orientation", "kind"], "chains")
    check_table(laps, ["animal", "episode", "goal"], "laps")
    long = chains[chains["length"] >= min_length]
    long = long.assign(
        states=long["states"].map(lambda path: tuple(map(int, path))),
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


def measure_typical_replay(
    tasks: Iterable[str] = tuple(TASKS),
    learners: Iterable[str] = SHOWN_LEARNERS,
    *,
    n_animals: int = 4,
    seed: int = 0,
) -> pd.DataFrame:
    """Simulate animals in tasks, and choose typical examples of their replay.

    All replay in pauses of the whole protocol is counted; the task gives the laps.
    """
    tables = []
    for name in tasks:
        entry = find_task(name)
        task = entry.build()
        for learner in learners:
            made = simulated_replays(
                task, learner, animals=range(n_animals), seed=seed, counts="causal chains"
            )
            found = typical_replays(made.sequences, made.laps, min_length=entry.min_length)
            found.insert(0, "task", name)
            found.insert(1, "learner", learner)
            found.insert(2, "min_length", entry.min_length)
            tables.append(found)
    return pd.concat(tables, ignore_index=True)


class TypicalReplayPlan(NamedTuple):
    """The plan of the study."""

    tasks: tuple[str, ...]  # names in `TASKS`
    n_animals: int  # animals of each learner in each task
    seed: int  # seed of everything

    def describe(self) -> dict[str, Any]:
        """Return the entries of the manifest."""
        return self._asdict()

    def n_pieces(self) -> dict[str, int]:
        """Return the number of pieces: one per task."""
        return {"tasks": len(self.tasks)}


def _draw(results: Results) -> Iterator[tuple[str, Figure]]:
    from analyses.plots.tasks import task_figure

    for name, rows in results.read("tasks.parquet").groupby("task", sort=False):
        yield f"task_{name}", task_figure(rows, find_task(str(name)).build())


STUDY = Study(
    "tasks",
    "What is typically replayed in the tasks of experiments?",
    plan=lambda size, seed: TypicalReplayPlan(tuple(TASKS), max(round(4 * size), 1), seed),
    make=lambda plan, piece: {
        "typical": measure_typical_replay(
            [plan.tasks[piece.number]], n_animals=plan.n_animals, seed=plan.seed
        )
    },
    summarise=lambda plan, results: {"tasks.parquet": results.read_pieces("typical")},
    figures={"tasks": _draw},
    show=lambda plan, tables: [Shown(table=tables["tasks.parquet"][_SHOWN])],
)
