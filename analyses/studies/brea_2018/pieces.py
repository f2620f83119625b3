"""What a worker does: all runs of all learners in one world of one experiment.

Workers load this module and what it needs, and neither statistics nor figures.
"""

from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from analyses.jobs.results import Results, write_parts, write_table
from analyses.sequences.classification import classify_parts
from analyses.sequences.counts import CHAINS, ReplayCounts
from analyses.studies.brea_2018.cost import Sample, sample
from analyses.studies.brea_2018.plan import N_WINDOWS, Plan
from analyses.tables import KINDS
from replay.experiments import Experiment
from replay.files import replacing
from replay.log.event_log import EventLog
from replay.log.parquet import parts
from replay.simulation.driver import Block, Run, simulate, window_ends
from replay.worlds.mazes import random_maze
from replay.worlds.mdp import MDP, uniform_policy

__all__ = ["Outcome", "make_piece", "sample_runs", "warm_up"]


class Outcome(NamedTuple):
    """What came of a piece: the files that it adds to the folder, wherever it was made."""

    experiment: str
    files: dict[str, bytes]

    def keep(self, folder: Path) -> None:
        """Write the files, the checksums that make the piece done last."""
        for name, content in self.files.items():
            with replacing(folder / name) as beside:
                beside.write_bytes(content)


def make_piece(plan: Plan, name: str, index: int) -> Outcome:
    """Make all runs in one world, and collect what came of them."""
    with TemporaryDirectory(prefix="hippocampal-replay-") as folder:
        results = Results(folder)
        _make_runs(plan, results, name, index)
        files = [path for path in sorted(results.folder.rglob("*")) if path.is_file()]
        # The checksums that make the piece done, "pieces/EXPERIMENT/N.sha256", come last.
        return Outcome(
            name, {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
        )


def _make_runs(plan: Plan, results: Results, name: str, index: int) -> None:
    experiment = plan.experiment(name)
    mdp = experiment.mdp(index, plan.seed)
    random, optimal = _baselines(experiment, mdp)
    # One table for all runs: making one for each takes longer than the run.
    columns: dict[str, list[np.ndarray]] = {}
    replayed: dict[str, np.ndarray] = {}
    for run, learner in product(range(plan.n_seeds[name]), plan.learners):
        options: dict[str, Any] = {
            "n_steps": plan.n_steps[name],
            "seed": experiment.run_seed(index, run, plan.seed),
            "log": plan.log,
            "n_windows": N_WINDOWS,
        }
        learn = partial(simulate, mdp, learner, experiment.parameters[learner], **options)
        counts = ReplayCounts(plan.n_steps[name], N_WINDOWS) if plan.log != "none" else None
        if counts is None:
            result = learn()
        elif index * plan.n_seeds[name] + run < plan.keep_logs:
            labels = {"experiment": name, "learner": learner, "mdp": index, "seed": run}
            result = _keep_log(results.log(name, learner, index, run), labels, counts, learn)
        else:
            result = learn(on_block=counts.add)
        described: dict[str, Any] = {
            "learner": learner,
            "mdp": index,
            "seed": run,
            "random": random,
            "optimal": optimal,
        }
        measured = {
            "time_step": result.window_ends,
            "reward_rate": result.window_rewards / np.diff(result.window_ends, prepend=0),
            **{column: np.repeat(value, N_WINDOWS) for column, value in described.items()},
        }
        if counts is not None:
            replayed[learner] = replayed.get(learner, 0) + counts.counts
        for column, values in measured.items():
            columns.setdefault(column, []).append(values)
    table = pd.DataFrame({column: np.concatenate(values) for column, values in columns.items()})
    with replacing(results.piece(name, index)) as beside:
        write_table(table, beside)
    if replayed:
        ends = window_ends(plan.n_steps[name], N_WINDOWS)
        with replacing(results.counts(name, index)) as beside:
            write_table(_counts_table(replayed, ends).assign(mdp=index), beside)
    results.finish_piece(name, index)


def _counts_table(counts: dict[str, np.ndarray], ends: np.ndarray) -> pd.DataFrame:
    """List how many chains of each kind began in each window, summed over the runs of a learner."""
    levels = {"learner": list(counts), "time_step": ends, "chains": CHAINS, "kind": KINDS}
    rows = pd.MultiIndex.from_product(levels.values(), names=levels)
    return pd.Series(np.ravel(list(counts.values())), rows, name="count").reset_index()


def _baselines(experiment: Experiment, mdp: MDP) -> tuple[float, float]:
    """Give the exact reward rates of the random and of the optimal policy, with exploration."""
    best = mdp.solve(experiment.discount).policy
    return mdp.reward_rate(uniform_policy(mdp)), mdp.reward_rate(best, experiment.epsilon)


def _keep_log(
    folder: Path, labels: dict[str, Any], counts: ReplayCounts, learn: Callable[..., Run]
) -> Run:
    """Make a run that is counted as any other, and write its log and its sequences besides."""
    with EventLog.saving(folder) as add:

        def on_block(block: Block) -> None:
            counts.add(block)
            add(block.log.label(experiment=labels["experiment"]))

        result = learn(on_block=on_block)
    sequences = classify_parts(counts.experience, parts(folder, "backups"))
    with replacing(folder / "sequences.parquet") as beside:
        write_parts((_labelled(part, labels) for part in sequences), beside)
    return result


def _labelled(sequences: pd.DataFrame, labels: dict[str, Any]) -> pd.DataFrame:
    return sequences.assign(**labels)[[*labels, *sequences.columns]]


def warm_up(learner: str, log: str) -> None:
    """Compile all that runs of a learner need."""
    counts = ReplayCounts(N_WINDOWS, N_WINDOWS) if log != "none" else None
    on_block = counts.add if counts else None
    simulate(random_maze(8), learner, n_steps=N_WINDOWS, log=log, on_block=on_block)


def sample_runs(plan: Plan, name: str, learner: str) -> Sample:
    """Time runs of a learner in an experiment that are as short as may be."""
    experiment = plan.experiment(name)
    mdp = experiment.mdp(0, plan.seed)

    def run(n_steps: int) -> tuple[float, int]:
        start = perf_counter()
        parameters, seed = experiment.parameters[learner], experiment.run_seed(0, 0, plan.seed)
        counts = ReplayCounts(n_steps, N_WINDOWS) if plan.log != "none" else None
        simulate(
            mdp,
            learner,
            parameters,
            n_steps=n_steps,
            seed=seed,
            log=plan.log,
            on_block=counts.add if counts else None,
        )
        return perf_counter() - start, counts.n_backups if counts else 0

    run(N_WINDOWS)  # to load what is compiled
    return sample(name, learner, plan.n_steps[name], run)
