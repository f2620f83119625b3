"""The command ``replay reproduce``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from analyses.cli.options import Cluster, Jobs, Out, Pieces, Seed, read_steps, split
from analyses.cli.studies import do_study
from analyses.cli.terminal import say

__all__ = ["reproduce"]


def reproduce(
    experiment: Sequence[str] = (),
    learner: Sequence[str] = (),
    mdps: int | None = None,
    seeds: int | None = None,
    steps: str | None = None,
    full: bool = False,
    seed: Seed = 0,
    jobs: Jobs = None,
    cluster: Cluster = None,
    pieces: Pieces = None,
    log: str = "replay",
    keep_logs: int = 1,
    variant: str = "published",
    out: Out = Path("results"),
) -> None:
    """Simulate the paper's experiments, classify the replay, and draw the figures.

    Without options: all four experiments and all nine learners, at a size that takes about a
    minute. Run the same command again to resume after an interruption.

    Options
    -------
    experiment : NAMES, default all
        An experiment, or several separated by commas.
    learner : NAMES, default all nine of the paper
        A learner, or several separated by commas; or your own Python file: ./mine.py.
    mdps : int
        Number of worlds per experiment.
    seeds : int
        Number of runs of each learner in each world.
    steps : N
        Number of steps per run: 100000, or by experiment as in maze=100000.
    full
        Use the sizes of the paper.
    log : KIND
        What to log. replay: what is replayed; all: online updates too; none: nothing, so that
        nothing is classified.
    keep_logs : int
        Number of runs of each learner whose whole log is kept.
    variant : VARIANT
        What to follow where the paper's text and code disagree. published: the code; text: the
        text; fixed: the code with a corrected queue; D1 or D1+D2: the text in these discrepancies
        only.
    """
    from analyses.studies.brea_2018.reproduce import STUDY
    from analyses.studies.brea_2018.reproduction import plan_reproduction

    plan = plan_reproduction(
        split(experiment),
        split(learner),
        n_mdps=mdps,
        n_seeds=seeds,
        n_steps=read_steps(steps),
        full=full,
        seed=seed,
        log=log,
        keep_logs=keep_logs,
        variant=variant,
    )
    do_study(STUDY, plan, out, jobs, cluster, pieces)
    if not (full or pieces):
        say("For the paper at its full size: replay reproduce --full --out full")
