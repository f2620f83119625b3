"""The work of a piece: all runs of all learners in one world of one experiment.

Workers load only this module and its imports, and neither statistics nor figures.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.jobs.results import write_parts
from analyses.jobs.study import Piece
from analyses.jobs.workers import scratch_folder
from analyses.sequences.classification import classify_parts
from analyses.sequences.counts import CHAINS, ReplayCounts
from analyses.studies.baselines import baselines
from analyses.studies.brea_2018.reproduction import N_WINDOWS, Reproduction, log_folder
from analyses.tables import KINDS
from replay.learners import find_learner
from replay.log.blocks import LogBlock, window_ends
from replay.log.event_log import EventLog
from replay.log.parquet import parts
from replay.simulation import Run, simulate

__all__ = ["keep_log", "make_runs"]


def make_runs(plan: Reproduction, piece: Piece) -> dict[str, pd.DataFrame | Path]:
    """Make all runs in one world.

    Returns ``windows``, with the reward rate of each run in each window and those of the random and
    the optimal policy; ``counts``, the number of chains of each kind that began in each window; and
    the files of the logs that are kept.
    """
    name, index = piece
    experiment = plan.experiment(name)
    mdp = experiment.mdp(index, plan.seed)
    between = baselines(mdp, discount=experiment.discount, epsilon=experiment.epsilon)
    # One table for all runs: making one per run takes longer than the run.
    made_by: list[str] = []
    seeds: list[int] = []
    rates: list[NDArray[np.float64]] = []
    ends = window_ends(plan.n_steps[name], N_WINDOWS)
    files: dict[str, Path] = {}
    replayed: dict[str, NDArray[np.int64]] = {}
    found = {
        learner: find_learner(plan.file_or_name(learner), experiment.parameters[learner])
        for learner in plan.learners
    }
    run_seeds = [experiment.run_seed(index, run, plan.seed) for run in range(plan.n_seeds[name])]
    for (run, seed), learner in product(enumerate(run_seeds), plan.learners):
        learn = partial(
            simulate,
            mdp,
            found[learner],
            n_steps=plan.n_steps[name],
            seed=seed,
            log=plan.log,
            n_windows=N_WINDOWS,
        )
        counts = ReplayCounts(plan.n_steps[name], N_WINDOWS) if plan.log != "none" else None
        if counts is None:
            result = learn()
        elif run < plan.n_kept(piece):
            labels = {"experiment": name, "learner": learner, "mdp": index, "seed": run}
            log = Path(mkdtemp(prefix="hippocampal-replay-", dir=scratch_folder()))
            result = keep_log(log, labels, counts, learn)
            place = log_folder(name, learner, index, run)
            files |= {f"{place}/{file.name}": file for file in log.iterdir()}
        else:
            result = learn(on_block=counts.add)
        if counts is not None:
            replayed[learner] = replayed.get(learner, 0) + counts.counts
        made_by.append(learner)
        seeds.append(run)
        rates.append(result.window_rewards)
    columns = {
        "time_step": np.tile(ends, len(rates)),
        "reward_rate": (np.array(rates) / np.diff(ends, prepend=0)).ravel(),
        "learner": np.repeat(made_by, N_WINDOWS),
        "mdp": index,
        "seed": np.repeat(seeds, N_WINDOWS),
        **between._asdict(),
    }
    made: dict[str, pd.DataFrame | Path] = {"windows": pd.DataFrame(columns), **files}
    if replayed:
        made["counts"] = _counts_table(replayed, ends).assign(mdp=index)
    return made


def _counts_table(counts: dict[str, NDArray[np.int64]], ends: NDArray[np.int64]) -> pd.DataFrame:
    """List the chains of each kind that began in each window, summed over the runs of a learner."""
    names = ["learner", "time_step", "chains", "kind"]
    rows = pd.MultiIndex.from_product([list(counts), ends.tolist(), CHAINS, KINDS], names=names)
    return pd.Series(np.ravel(list(counts.values())), rows, name="count").reset_index()


def keep_log(
    folder: Path, labels: dict[str, Any], counts: ReplayCounts, learn: Callable[..., Run]
) -> Run:
    """Make a run, count its replay, and write its log and its sequences to a new folder.

    `learn` makes the run. Its sequences are classified afterwards, from the log, not as they are
    counted: their table names the latest episode of each piece, and to look these up takes one pass
    over the index of the whole run, or else one for each block.
    """
    with EventLog.saving(folder) as add:

        def on_block(block: LogBlock) -> None:
            counts.add(block)
            add(block.log.label(experiment=labels["experiment"]))

        result = learn(on_block=on_block)
    sequences = classify_parts(counts.experience, parts(folder, "backups"), min_length=2)
    write_parts((_labelled(part, labels) for part in sequences), folder / "sequences.parquet")
    return result


def _labelled(sequences: pd.DataFrame, labels: dict[str, Any]) -> pd.DataFrame:
    return sequences.assign(**labels)[[*labels, *sequences.columns]]
