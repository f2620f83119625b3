"""The commands ``replay compare``, ``replay change`` and ``replay demands``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from analyses.cli.options import Cluster, Jobs, Out, Pieces, Seed, is_all, read_learners, split
from analyses.cli.studies import do_study
from analyses.jobs.sizes import (
    DEMAND_VISITS,
    N_CHANGING_RUNS,
    N_CHANGING_WORLDS,
    N_DEMAND_WORLDS,
    N_DRAWS_COMPARED,
)

__all__ = ["change", "compare", "demands"]


def compare(
    task: Annotated[
        list[str],
        typer.Option(
            metavar="NAMES",
            help="A task, or several separated by commas (replay tasks lists them); or your own "
            "Python file that defines TASK; its name in tables is that of the file.",
        ),
    ] = ["all"],  # noqa: B006
    account: Annotated[
        list[str],
        typer.Option(
            metavar="NAMES",
            help="An account of replay or a control, or several separated by commas; an unknown "
            "name lists them all.",
        ),
    ] = ["all"],  # noqa: B006
    draws: Annotated[
        int,
        typer.Option(
            metavar="N", help="Number of draws of each account's parameters from their priors."
        ),
    ] = N_DRAWS_COMPARED,
    findings: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Your own CSV file of published findings.",
            show_default="the findings that ship with the toolkit",
        ),
    ] = None,
    simulated: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="A finished comparison, whose simulated studies are scored again; its tasks, "
            "accounts, draws, wrong places and seed are used.",
        ),
    ] = None,
    wrong_places: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            help="The share of replayed places that are read wrongly, as if they were decoded.",
        ),
    ] = 0.0,
    seed: Seed = 0,
    jobs: Jobs = None,
    cluster: Cluster = None,
    pieces: Pieces = None,
    out: Out = Path("comparison"),
) -> None:
    """Compute how probable each published finding would be if an account of replay were true.

    Each draw of an account's parameters is one simulated study, with the protocol, the number of
    animals and the criteria of the real one. Controls, whose replay does not depend on learning,
    are scored in the same way. --draws 16 gives a first impression in a few minutes. Run the same
    command again to resume after an interruption.
    """
    from analyses.studies.comparison.compare_accounts import STUDY
    from analyses.studies.comparison.plan import plan_comparison
    from analyses.studies.comparison.rescoring import plan_rescoring
    from replay.tasks.published import TASKS

    given: dict[str, Any] = {
        "tasks": [*(TASKS if is_all(task) else ()), *split(task)],
        "accounts": None if is_all(account) else split(account),
        "n_draws": draws,
        "seed": seed,
        "wrong_places": wrong_places,
    }
    if simulated is None:
        plan = plan_comparison(findings=findings, **given)
    else:
        plan = plan_rescoring(simulated, findings, **given)
    do_study(STUDY, plan, out, jobs, cluster, pieces)


def change(
    world: Annotated[
        str, typer.Option(metavar="NAME", help="A changing world; replay worlds lists them.")
    ],
    learner: Annotated[
        list[str],
        typer.Option(
            metavar="NAMES",
            help="A learner, or several separated by commas; or your own Python file. Parameters "
            "follow the name: 'prioritized_sweeping forgetting=0.5'.",
        ),
    ] = ["prioritized_sweeping", "dyna_q"],  # noqa: B006
    mdps: Annotated[
        int, typer.Option(metavar="N", help="Number of worlds drawn.")
    ] = N_CHANGING_WORLDS,
    seeds: Annotated[
        int, typer.Option(metavar="N", help="Number of runs of each learner in each world.")
    ] = N_CHANGING_RUNS,
    steps: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Number of steps of each phase.", show_default="depends on the world"
        ),
    ] = None,
    rest: Annotated[
        int, typer.Option(metavar="N", help="Number of pauses of rest after each phase.")
    ] = 0,
    seed: Seed = 0,
    jobs: Jobs = None,
    cluster: Cluster = None,
    pieces: Pieces = None,
    out: Out = Path("changes"),
) -> None:
    """Run learners in a changing world: reward rate, time to recover, and replay.

    Run the same command again to resume after an interruption.
    """
    from analyses.studies.changes import STUDY, plan_change

    plan = plan_change(
        world,
        read_learners(split(learner)),
        n_mdps=mdps,
        n_seeds=seeds,
        n_steps=steps,
        n_rest=rest,
        seed=seed,
    )
    do_study(STUDY, plan, out, jobs, cluster, pieces)


def demands(
    learner: Annotated[
        list[str],
        typer.Option(
            metavar="NAMES",
            help="A learner, or several separated by commas; or your own Python file: ./mine.py.",
        ),
    ] = ["all"],  # noqa: B006
    mdps: Annotated[
        int, typer.Option(metavar="N", help="Number of worlds of each size.")
    ] = N_DEMAND_WORLDS,
    visits: Annotated[
        int,
        typer.Option(
            metavar="N", help="Number of steps per run, for each pair of state and action."
        ),
    ] = DEMAND_VISITS,
    seed: Seed = 0,
    jobs: Jobs = None,
    cluster: Cluster = None,
    pieces: Pieces = None,
    out: Out = Path("demands"),
) -> None:
    """Count the words of memory and the operations per step that learners need as worlds grow.

    Without options: all learners, in a minute or two; most single learners need only seconds. Run
    the same command again to resume after an interruption.
    """
    from analyses.studies.demands import STUDY, plan_demands
    from replay.learners import LEARNERS

    names = [*(LEARNERS if is_all(learner) else ()), *split(learner)]
    plan = plan_demands(names, n_mdps=mdps, visits=visits, seed=seed)
    do_study(STUDY, plan, out, jobs, cluster, pieces)
