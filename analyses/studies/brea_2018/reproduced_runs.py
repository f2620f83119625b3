"""The work of a piece: all runs of all learners in one world of one experiment; and what it costs.

Workers load only this module and its imports, and neither statistics nor figures. The cost is
estimated by short runs of each learner, scaled to the plan.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from analyses.jobs import BYTES_OF_FIGURES, BYTES_OF_PROCESS, WorkCost
from analyses.jobs.results import write_parts
from analyses.jobs.study import Piece, Runner
from analyses.jobs.workers import scratch_folder
from analyses.measures.reward_rate import baselines_of
from analyses.sequences.classification import classify_parts
from analyses.sequences.counts import CHAINS, ReplayCounts
from analyses.studies.brea_2018 import N_WINDOWS, Reproduction, log_folder
from analyses.tables import KINDS
from replay.checks.arrays import Floats, Ints
from replay.learners import find_learner
from replay.learners.contract import LearnerModule
from replay.log.blocks import STEPS_PER_BLOCK, LogBlock, window_ends
from replay.log.event_log import EventLog
from replay.log.parquet import parts
from replay.simulation import Run, simulate
from replay.worlds.mazes import random_maze

_WHOLE = 20_000  # steps of a run that is timed as a whole
_LONGEST = 1_000_000  # steps of the shorter of two runs that are timed instead
_SECONDS_OF_TABLES = 0.25  # of a learner in an experiment, and to draw what they show
_BYTES_PER_STEP = 4  # of a log, as compressed
_BYTES_PER_BACKUP = 10  # likewise
_BYTES_PER_RUN = 3_000  # of its windows and counts
_BYTES_HELD = 240  # per backup of the block that is being counted or written
_WARM_UP = 100 * N_WINDOWS  # steps, with episodes of some length


def make_runs(plan: Reproduction, piece: Piece) -> dict[str, pd.DataFrame | Path]:
    """Make all runs in one world.

    Returns ``windows``, with the reward rate of each run in each window and those of the random and
    the optimal policy; ``counts``, the number of chains of each kind that began in each window; and
    the files of the logs that are kept.
    """
    name, index = piece
    experiment = plan.experiment(name)
    mdp = experiment.mdp(index, plan.seed)
    between = baselines_of(mdp, discount=experiment.discount, epsilon=experiment.epsilon)
    # One table for all runs: making one per run takes longer than the run.
    made_by: list[str] = []
    seeds: list[int] = []
    rates: list[Floats] = []
    ends = window_ends(plan.n_steps[name], N_WINDOWS)
    files: dict[str, Path] = {}
    replayed: dict[str, Ints] = {}
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
        # The chains of each kind that began in each window, summed over the runs of a learner.
        names = ["learner", "time_step", "chains", "kind"]
        each = pd.MultiIndex.from_product([[*replayed], ends.tolist(), CHAINS, KINDS], names=names)
        counted = pd.Series(np.ravel(list(replayed.values())), each, name="count")
        made["counts"] = counted.reset_index().assign(mdp=index)
    return made


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
    labelled = (part.assign(**labels)[[*labels, *part.columns]] for part in sequences)
    write_parts(labelled, folder / "sequences.parquet")
    return result


class Sample(NamedTuple):
    """The cost of one run of a learner in an experiment."""

    experiment: str
    learner: str
    seconds: float  # time to simulate it and to count its replay
    n_backups: float  # that are logged
    seconds_to_keep: float = 0.0  # time to write its log and to classify it


class Measured(NamedTuple):
    """The cost of a run, or of a part of it: seconds, backups, and seconds to keep its log."""

    seconds: float
    n_backups: float
    seconds_to_keep: float = 0.0


def extrapolate(n_steps: int, run: Callable[[int], Measured]) -> Measured:
    """Estimate the cost of a run from shorter ones.

    A run of up to 20,000 steps is measured as a whole. A longer one is extrapolated from its first
    tenth and fifth, or from its first one and two million steps if these are shorter: from both,
    because learners replay most while they know little.
    """
    if n_steps <= _WHOLE:
        return run(n_steps)
    length = min(n_steps // 10, _LONGEST)
    early, later = run(length), run(2 * length)
    lengths = n_steps / length - 2
    return Measured(
        *(last + max(last - first, 0) * lengths for first, last in zip(early, later, strict=True))
    )


def sample_runs(plan: Reproduction, name: str, learner: str) -> Sample:
    """Time short runs of a learner in an experiment."""
    experiment = plan.experiment(name)
    mdp = experiment.mdp(0, plan.seed)
    parameters, seed = experiment.parameters[learner], experiment.run_seed(0, 0, plan.seed)

    def run(n_steps: int) -> Measured:
        learn = partial(
            simulate,
            mdp,
            plan.file_or_name(learner),
            parameters,
            n_steps=n_steps,
            seed=seed,
            log=plan.log,
        )
        start = process_time()
        if plan.log == "none":
            learn()
            return Measured(process_time() - start, 0)
        counts = ReplayCounts(n_steps, N_WINDOWS)
        learn(on_block=counts.add)
        seconds, n_backups = process_time() - start, counts.n_backups
        if not plan.keep_logs:
            return Measured(seconds, n_backups)
        start = process_time()
        _keep_for_a_moment(n_steps, learn)
        return Measured(seconds, n_backups, max(process_time() - start - seconds, 0.0))

    run(N_WINDOWS)  # loads compiled code
    return Sample(name, learner, *extrapolate(plan.n_steps[name], run))


def estimate_cost(plan: Reproduction, left: Sequence[Piece], call: Runner) -> WorkCost:
    """Estimate the cost of pieces, by short runs of each learner in each experiment."""
    # Compiling each loop in one process is faster than compiling all loops in each process.
    modules: dict[LearnerModule, str] = {}
    for name in map(plan.file_or_name, plan.learners):
        modules.setdefault(find_learner(name).module, name)
    deque(call(_warm_up, [(plan, name) for name in modules.values()]), maxlen=0)
    names = dict.fromkeys(piece.group for piece in left)
    sizes = [(plan, *each) for each in product(names, plan.learners)]
    return add_up(plan, left, call(sample_runs, sizes))


def _warm_up(plan: Reproduction, learner: str) -> None:
    """Compile all code for runs of a learner, so that no run is timed with it."""
    learn = partial(simulate, random_maze(8), learner, n_steps=_WARM_UP, log=plan.log)
    if plan.log == "none":
        learn()
    else:
        learn(on_block=ReplayCounts(_WARM_UP, N_WINDOWS).add)
        if plan.keep_logs:
            _keep_for_a_moment(_WARM_UP, learn)


def _keep_for_a_moment(n_steps: int, learn: Callable[..., Run]) -> None:
    """Do all that it takes to keep the log of a run."""
    counts = ReplayCounts(n_steps, N_WINDOWS)
    with TemporaryDirectory(prefix="hippocampal-replay-", dir=scratch_folder()) as folder:
        keep_log(Path(folder) / "log", {"experiment": ""}, counts, learn)


def add_up(plan: Reproduction, pieces: Iterable[Piece], samples: Iterable[Sample]) -> WorkCost:
    """Sum the cost of pieces, from one sample per learner and experiment.

    Memory does not grow with the steps of a run, only with the backups in a block: a large index of
    experience is kept in a temporary file, and logs are written and read part by part.
    """
    samples = list(samples)
    n_steps, n_backups, seconds, n_bytes = 0, 0.0, 0.0, float(BYTES_OF_FIGURES)
    for piece in pieces:
        name, n_seeds, n_kept = piece.group, plan.n_seeds[piece.group], plan.n_kept(piece)
        ours = [each for each in samples if each.experiment == name]
        n_steps += plan.world_steps(name)
        n_backups += n_seeds * sum(each.n_backups for each in ours)
        seconds += n_seeds * sum(each.seconds for each in ours)
        seconds += n_kept * sum(each.seconds_to_keep for each in ours)
        kept = n_kept * sum(
            _BYTES_PER_STEP * plan.n_steps[name] + _BYTES_PER_BACKUP * each.n_backups
            for each in ours
        )
        n_bytes += _BYTES_PER_RUN * n_seeds * len(ours) + kept
    counts = {"steps": n_steps}
    if plan.log != "none":
        counts["backups"] = round(n_backups)
    of_block = (
        each.n_backups * min(STEPS_PER_BLOCK / plan.n_steps[each.experiment], 1.0)
        for each in samples
    )
    after = _SECONDS_OF_TABLES * len(plan.experiments) * len(plan.learners)
    memory = BYTES_OF_PROCESS + _BYTES_HELD * max(of_block, default=0.0)
    return WorkCost(counts, seconds, n_bytes, memory, after)
