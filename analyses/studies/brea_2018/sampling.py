"""The estimated cost of a reproduction: short runs of each learner, scaled to the plan."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import NamedTuple

from analyses.jobs.cost import BYTES_OF_FIGURES, BYTES_OF_PROCESS, WorkCost
from analyses.jobs.study import Piece, Runner
from analyses.jobs.workers import scratch_folder
from analyses.sequences.counts import ReplayCounts
from analyses.studies.brea_2018.reproduced_runs import keep_log
from analyses.studies.brea_2018.reproduction import N_WINDOWS, Reproduction
from replay.learners import find_learner
from replay.learners.contract import LearnerModule
from replay.log.blocks import STEPS_PER_BLOCK
from replay.simulation import Run, simulate
from replay.worlds.mazes import random_maze

__all__ = ["Sample", "add_up", "estimate_cost", "extrapolate", "sample_runs"]

_WHOLE = 20_000
_LONGEST = 1_000_000
_SECONDS_OF_TABLES = 0.25  # of a learner in an experiment, and to draw what they show
_BYTES_PER_STEP = 4
_BYTES_PER_BACKUP = 10
_BYTES_PER_RUN = 3_000
_BYTES_HELD = 240  # per backup of the block that is being counted or written
_WARM_UP = 100 * N_WINDOWS  # steps, with episodes of some length


class Sample(NamedTuple):
    """The cost of one run of a learner in an experiment.

    Attributes
    ----------
    experiment, learner : str
    seconds : float
        Time to simulate it and to count its replay.
    n_backups : float
        Number of logged backups.
    seconds_to_keep : float
        Time to write its log and to classify it.
    """

    experiment: str
    learner: str
    seconds: float
    n_backups: float
    seconds_to_keep: float = 0.0


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

    Examples
    --------
    >>> extrapolate(1_000_000, lambda n_steps: Measured(n_steps / 1e6, n_steps / 100))
    Measured(seconds=1.0, n_backups=10000.0, seconds_to_keep=0.0)
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
