"""The commands that simulate: ``replay reproduce``, ``compare``, ``change`` and ``demands``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from analyses.cli.options import (
    Cluster,
    Jobs,
    Out,
    Pieces,
    Seed,
    is_all,
    read_learners,
    read_steps,
    split,
)
from analyses.cli.studies import do_study
from analyses.cli.terminal import say
from analyses.jobs import (
    DEMAND_VISITS,
    N_CHANGING_RUNS,
    N_CHANGING_WORLDS,
    N_DEMAND_WORLDS,
    N_DRAWS_COMPARED,
)


def compare(
    task: Sequence[str] = ("all",),
    accounts: Sequence[str] = ("all",),
    draws: int = N_DRAWS_COMPARED,
    findings: Path | None = None,
    simulated: Path | None = None,
    wrong_places: float = 0.0,
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

    Example: replay compare --task w_track --draws 16

    Options
    -------
    task : NAMES
        A task, or several separated by commas (replay tasks lists them); or your own Python file
        that defines TASK; its name in tables is that of the file.
    accounts : NAMES
        An account of replay or a control, or several separated by commas; an unknown name lists
        them all.
    draws : int
        Number of draws of each account's parameters from their priors.
    findings : FILE, default none of your own
        Your own CSV file of findings, which are scored beside those that ship.
    simulated : FOLDER
        A finished comparison, whose simulated studies are scored again; its tasks, accounts, draws,
        wrong places and seed are used.
    wrong_places : SHARE
        The share of replayed places that are read wrongly, as if they were decoded.
    """
    from analyses.studies.comparison import plan_comparison, plan_rescoring
    from analyses.studies.comparison.compare_accounts import STUDY
    from replay.tasks.published import TASKS

    given: dict[str, Any] = {
        "tasks": [*(TASKS if is_all(task) else ()), *split(task)],
        "accounts": None if is_all(accounts) else split(accounts),
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
    world: str,
    learner: Sequence[str] = ("prioritized_sweeping", "dyna_q"),
    n_worlds: int = N_CHANGING_WORLDS,
    repeats: int = N_CHANGING_RUNS,
    steps: int | None = None,
    rest: int = 0,
    seed: Seed = 0,
    jobs: Jobs = None,
    cluster: Cluster = None,
    pieces: Pieces = None,
    out: Out = Path("changes"),
) -> None:
    """Run learners in a changing world: reward rate, time to recover, and replay.

    Run the same command again to resume after an interruption.

    Example: replay change --world moving_reward --learner dyna_q --steps 2000

    Options
    -------
    world : NAME
        A changing world; replay worlds lists them.
    learner : NAMES
        A learner, or several separated by commas; or your own Python file. Parameters follow the
        name: 'prioritized_sweeping forgetting=0.5'.
    n_worlds : int
        Number of worlds drawn.
    repeats : int
        Number of runs of each learner in each world.
    steps : int, default depends on the world
        Number of steps of each phase.
    rest : int
        Number of pauses of rest after each phase.
    """
    from analyses.studies.changes import STUDY, plan_change

    plan = plan_change(
        world,
        read_learners(split(learner)),
        n_mdps=n_worlds,
        n_seeds=repeats,
        n_steps=steps,
        n_rest=rest,
        seed=seed,
    )
    do_study(STUDY, plan, out, jobs, cluster, pieces)


def demands(
    learner: Sequence[str] = ("all",),
    n_worlds: int = N_DEMAND_WORLDS,
    visits: int = DEMAND_VISITS,
    seed: Seed = 0,
    jobs: Jobs = None,
    cluster: Cluster = None,
    pieces: Pieces = None,
    out: Out = Path("demands"),
) -> None:
    """Count the words of memory and the operations per step that learners need as worlds grow.

    Without options: all learners, in a minute or two; most single learners need only seconds. Run
    the same command again to resume after an interruption.

    Example: replay demands --learner dyna_q,sfma

    Options
    -------
    learner : NAMES
        A learner, or several separated by commas; or your own Python file: ./mine.py.
    n_worlds : int
        Number of worlds of each size.
    visits : int
        Number of steps per run, for each pair of state and action.
    """
    from analyses.studies.demands import STUDY, plan_demands
    from replay.learners import LEARNERS

    names = [*(LEARNERS if is_all(learner) else ()), *split(learner)]
    plan = plan_demands(names, n_mdps=n_worlds, visits=visits, seed=seed)
    do_study(STUDY, plan, out, jobs, cluster, pieces)


def reproduce(
    experiment: Sequence[str] = (),
    learner: Sequence[str] = (),
    n_worlds: int | None = None,
    repeats: int | None = None,
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

    Example: replay reproduce --experiment maze --learner prioritized_sweeping,episodic_control

    Options
    -------
    experiment : NAMES, default all
        An experiment, or several separated by commas.
    learner : NAMES, default all nine of the paper
        A learner, or several separated by commas; or your own Python file: ./mine.py.
    n_worlds : int
        Number of worlds per experiment.
    repeats : int
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
    from analyses.studies.brea_2018 import plan_reproduction
    from analyses.studies.brea_2018.reproduce import STUDY

    plan = plan_reproduction(
        split(experiment),
        split(learner),
        n_mdps=n_worlds,
        n_seeds=repeats,
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
