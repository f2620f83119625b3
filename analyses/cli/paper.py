"""The commands ``replay reproduce`` and ``replay discrepancies``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from analyses.cli.options import Cluster, Jobs, Out, Pieces, Seed, read_steps, split
from analyses.cli.studies import do_study
from analyses.cli.terminal import say

__all__ = ["discrepancies", "reproduce"]


def reproduce(
    experiment: Annotated[
        list[str],
        typer.Option(
            metavar="NAMES",
            help="An experiment, or several separated by commas.",
            show_default="all",
        ),
    ] = [],  # noqa: B006
    learner: Annotated[
        list[str],
        typer.Option(
            metavar="NAMES",
            help="A learner, or several separated by commas; or your own Python file: ./mine.py.",
            show_default="all nine of the paper",
        ),
    ] = [],  # noqa: B006
    mdps: Annotated[
        int | None, typer.Option(metavar="N", help="Number of worlds per experiment.")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(metavar="N", help="Number of runs of each learner in each world.")
    ] = None,
    steps: Annotated[
        str | None,
        typer.Option(
            metavar="N", help="Number of steps per run: 100000, or by experiment as in maze=100000."
        ),
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="Use the sizes of the paper.")] = False,
    seed: Seed = 0,
    jobs: Jobs = None,
    cluster: Cluster = None,
    pieces: Pieces = None,
    log: Annotated[
        str,
        typer.Option(
            metavar="KIND",
            help="What to log. replay: what is replayed; all: online updates too; none: nothing, "
            "so that nothing is classified.",
        ),
    ] = "replay",
    keep_logs: Annotated[
        int,
        typer.Option(metavar="N", help="Number of runs of each learner whose whole log is kept."),
    ] = 1,
    variant: Annotated[
        str,
        typer.Option(
            metavar="VARIANT",
            help="What to follow where the paper's text and code disagree. published: the code; "
            "text: the text; fixed: the code with a corrected queue; D1 or D1+D2: the text in "
            "these discrepancies only.",
        ),
    ] = "published",
    out: Out = Path("results"),
) -> None:
    """Simulate the paper's experiments, classify the replay, and draw the figures.

    Without options: all four experiments and all nine learners, at a size that takes about a
    minute. Run the same command again to resume after an interruption.
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


def discrepancies(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER",
            help="A folder that replay reproduce wrote; its sizes and seed are used.",
        ),
    ] = Path("results"),
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Result folder.", show_default="FOLDER/discrepancies"),
    ] = None,
    jobs: Jobs = None,
    cluster: Cluster = None,
    pieces: Pieces = None,
) -> None:
    """Show how each disagreement between the paper's text and code changes the learning curves.

    Learners that follow the text, in one discrepancy at a time and in all together, run in the
    same worlds. Run the same command again to resume after an interruption.
    """
    from analyses.studies.discrepancies import STUDY, plan_variants
    from replay.files import inside

    plan = plan_variants(folder)
    do_study(STUDY, plan, out or inside(folder, "discrepancies"), jobs, cluster, pieces)
