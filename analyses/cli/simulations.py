"""The commands ``replay compare``, ``replay change`` and ``replay demands``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from analyses.cli.options import Cluster, Jobs, Seed, is_all, read_learners, split
from analyses.cli.studies import do_study

__all__ = ["change", "compare", "demands"]


def compare(
    task: Annotated[
        list[str],
        typer.Option(
            help="A task, or several of them with commas; replay tasks lists all. Or your own "
            "Python file that defines TASK."
        ),
    ] = ["all"],  # noqa: B006
    account: Annotated[
        list[str],
        typer.Option(
            help="Which account of replay or control; several times, or with commas; an unknown "
            "name lists them."
        ),
    ] = ["all"],  # noqa: B006
    draws: Annotated[
        int, typer.Option(help="Draws of the parameters of each account from their priors.")
    ] = 128,
    findings: Annotated[
        Path | None, typer.Option(help="Your own CSV file of published numbers.")
    ] = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    cluster: Cluster = None,
    out: Annotated[Path, typer.Option(help="The folder for the results.")] = Path("comparison"),
) -> None:
    """Ask how probable each published finding is if an account of replay were true.

    Each draw of an account's parameters is a simulated study, by the protocol, the number of
    animals and the criteria of the real one. Controls, which know nothing of learning, are scored
    in the same way. --draws 16 gives a first look in a few minutes. The same command goes on where
    it was interrupted.
    """
    from analyses.studies.comparison.compare_accounts import STUDY
    from analyses.studies.comparison.plan import plan_comparison
    from replay.tasks.published import TASKS

    plan = plan_comparison(
        [*(TASKS if is_all(task) else ()), *split(task)],
        None if is_all(account) else split(account),
        n_draws=draws,
        seed=seed,
        findings=findings,
    )
    do_study(STUDY, plan, out, jobs, cluster)


def change(
    world: Annotated[str, typer.Option(help="Which world; replay worlds lists them.")],
    learner: Annotated[
        list[str],
        typer.Option(
            help="A learner, or several of them with commas; or a Python file of your own. "
            "Parameters follow the name: 'prioritized_sweeping forgetting=0.5'."
        ),
    ] = ["prioritized_sweeping", "dyna_q"],  # noqa: B006
    mdps: Annotated[int, typer.Option(help="How many worlds are drawn.")] = 10,
    seeds: Annotated[int, typer.Option(help="Runs of each learner in a world.")] = 4,
    steps: Annotated[
        int | None, typer.Option(help="Steps of each phase; by default what suits the world.")
    ] = None,
    rest: Annotated[int, typer.Option(help="Pauses of rest after each phase.")] = 0,
    seed: Seed = 0,
    jobs: Jobs = None,
    cluster: Cluster = None,
    out: Annotated[Path, typer.Option(help="The folder for the results.")] = Path("changes"),
) -> None:
    """Let learners act in a world that changes: reward rate, time to recover, and replay.

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
    do_study(STUDY, plan, out, jobs, cluster)


def demands(
    learner: Annotated[
        list[str],
        typer.Option(
            help="A learner, or several with commas; or a Python file of your own: ./mine.py."
        ),
    ] = ["all"],  # noqa: B006
    mdps: Annotated[int, typer.Option(help="Worlds of each size.")] = 3,
    visits: Annotated[
        int, typer.Option(help="Steps of a run, for each pair of state and action.")
    ] = 5,
    seed: Seed = 0,
    jobs: Jobs = None,
    cluster: Cluster = None,
    out: Annotated[Path, typer.Option(help="The folder for the results.")] = Path("demands"),
) -> None:
    """Count the words of memory and the operations per step that learners need as worlds grow.

    Without options: all learners, in a minute or two; most of them need seconds. Run the same
    command again to resume after an interruption.
    """
    from analyses.studies.demands import STUDY, plan_demands
    from replay.learners import LEARNERS

    names = [*(LEARNERS if is_all(learner) else ()), *split(learner)]
    plan = plan_demands(names, n_mdps=mdps, visits=visits, seed=seed)
    do_study(STUDY, plan, out, jobs, cluster)
