"""What a reproduction costs before it starts: short runs of each learner, scaled to the plan."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from analyses.studies.brea_2018.plan import Plan

__all__ = ["Cost", "Sample", "estimate", "sample"]

_WHOLE = 20_000
_BYTES_PER_STEP = 4
_BYTES_PER_BACKUP = 10
_BYTES_PER_RUN = 3_000
_BYTES_OF_TABLES_AND_FIGURES = 10_000_000
_BYTES_OF_PROCESS = 450_000_000  # of which half are libraries and compiled loops
_COPIES_SENT = 2  # of the files of a log: as they are read, and as they are sent
_TIMES_IN_MEMORY = 24  # what a log and its tables take there, by what it takes on disk


class Sample(NamedTuple):
    """What one run of a learner in an experiment costs.

    Attributes
    ----------
    experiment, learner : str
        Which.
    seconds : float
        Time to simulate and classify it.
    log_bytes : float
        Size of its whole log on disk.
    """

    experiment: str
    learner: str
    seconds: float
    log_bytes: float


class Cost(NamedTuple):
    """What is left of a plan costs.

    Attributes
    ----------
    n_steps : int
        Steps to simulate.
    seconds : float
        Time to simulate and classify them, if one process did it.
    n_bytes : float
        Room on disk.
    memory : float
        Bytes of memory of each process. It does not grow with the steps of a run: what does, the
        index of experience, is in a temporary file when it is large, of a hundred bytes a step at
        most. But the files of logs that are kept pass through it, and for the figures one such log
        is read as a whole.
    """

    n_steps: int
    seconds: float
    n_bytes: float
    memory: float


def sample(
    experiment: str, learner: str, n_steps: int, run: Callable[[int], tuple[float, int]]
) -> Sample:
    """Guess the cost of a run from shorter ones.

    A run of up to 20,000 steps is made as it is. A longer one is extrapolated from its first tenth
    and fifth, because learners replay most while they know little.

    Parameters
    ----------
    experiment, learner : str
        Which.
    n_steps : int
        Steps of the run.
    run : callable
        ``run(n_steps) -> (seconds, n_backups)`` makes one.

    Returns
    -------
    Sample
        The guess.

    Examples
    --------
    >>> sample("maze", "q_learning", 1_000_000, lambda n_steps: (n_steps / 1e6, 0)).seconds
    1.0
    """
    if n_steps <= _WHOLE:
        seconds, n_backups = run(n_steps)
    else:
        length = n_steps // 10
        early, n_early = run(length)
        later, n_later = run(2 * length)
        lengths = n_steps / length - 2
        seconds = later + max(later - early, 0) * lengths
        n_backups = round(n_later + max(n_later - n_early, 0) * lengths)
    log_bytes = _BYTES_PER_STEP * n_steps + _BYTES_PER_BACKUP * n_backups
    return Sample(experiment, learner, seconds, log_bytes)


def estimate(plan: "Plan", pieces: Iterable[tuple[str, int]], samples: Iterable[Sample]) -> Cost:
    """Add up what pieces cost.

    Parameters
    ----------
    plan : Plan
        The plan.
    pieces : iterable of (str, int)
        Which of its pieces: experiment and number of the world.
    samples : iterable of Sample
        One for each learner and experiment.

    Returns
    -------
    Cost
        The sum, with room for tables and figures.
    """
    samples = list(samples)
    n_steps, seconds, n_bytes = 0, 0.0, float(_BYTES_OF_TABLES_AND_FIGURES)
    most_kept = 0.0  # in memory
    for name, index in pieces:
        n_seeds = plan.n_seeds[name]
        n_kept = 0 if plan.log == "none" else plan.keep_logs - index * n_seeds
        ours = [each for each in samples if each.experiment == name]
        n_steps += plan.piece_steps(name)
        seconds += n_seeds * sum(each.seconds for each in ours)
        n_bytes += _BYTES_PER_RUN * n_seeds * len(ours)
        kept = min(max(n_kept, 0), n_seeds) * sum(each.log_bytes for each in ours)
        n_bytes += kept
        if kept:
            longest = max(each.log_bytes for each in ours)
            most_kept = max(most_kept, _COPIES_SENT * kept, _TIMES_IN_MEMORY * longest)
    return Cost(n_steps, seconds, n_bytes, _BYTES_OF_PROCESS + most_kept)
