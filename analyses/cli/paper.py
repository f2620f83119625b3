"""The commands ``replay reproduce`` and ``replay discrepancies``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from analyses.cli.options import Cluster, Jobs, Seed, read_steps, split
from analyses.cli.studies import do_study
from analyses.cli.terminal import say

__all__ = ["discrepancies", "reproduce"]


def reproduce(
    experiment: Annotated[
        list[str],
        typer.Option(help="An experiment, or several of them with commas."),
    ] = [],  # noqa: B006
    learner: Annotated[
        list[str],
        typer.Option(
            help="A learner, or several with commas; or a Python file of your own: ./mine.py."
        ),
    ] = [],  # noqa: B006
    mdps: Annotated[int | None, typer.Option(help="Worlds of each experiment.")] = None,
    seeds: Annotated[int | None, typer.Option(help="Runs of each learner in a world.")] = None,
    steps: Annotated[
        str | None,
        typer.Option(help="Steps of a run: 100000, or by experiment, as in maze=100000."),
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="The sizes of the paper.")] = False,
    seed: Seed = 0,
    jobs: Jobs = None,
    cluster: Cluster = None,
    log: Annotated[
        str,
        typer.Option(
            help="What is logged. replay: what is replayed; all: online updates too; none: "
            "nothing, and nothing is classified."
        ),
    ] = "replay",
    keep_logs: Annotated[
        int, typer.Option(help="How many runs of each learner keep their whole log.")
    ] = 1,
    variant: Annotated[
        str,
        typer.Option(
            help="Which to follow where the paper's text and code disagree. published: the code; "
            "text: the text; fixed: the code with a corrected queue; or the text in some "
            "discrepancies only, such as D1 or D1+D2."
        ),
    ] = "published",
    out: Annotated[Path, typer.Option(help="The folder for the results.")] = Path("results"),
) -> None:
    """Simulate the paper's experiments, classify what is replayed, and draw the figures.

    Without options: all four experiments and all nine learners, in about a minute. Run the same
    command again to resume after an interruption.
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
    do_study(STUDY, plan, out, jobs, cluster)
    if not full:
        say("The whole paper: replay reproduce --full --out full")


def discrepancies(
    folder: Annotated[
        Path, typer.Argument(help="What replay reproduce made; sizes and seed are those of it.")
    ] = Path("results"),
    out: Annotated[
        Path | None,
        typer.Option(help="The folder for the results; by default FOLDER/discrepancies."),
    ] = None,
    jobs: Jobs = None,
    cluster: Cluster = None,
) -> None:
    """Show what each disagreement between the paper's text and code does to learning curves.

    The learners that the text describes act in the same worlds, one discrepancy at a time and all
    together. Run the same command again to resume after an interruption.
    """
    from analyses.studies.discrepancies import STUDY, plan_variants

    do_study(STUDY, plan_variants(folder), out or folder / "discrepancies", jobs, cluster)
