"""The command ``replay compare``: learners in the tasks of experiments, beside the findings."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from analyses.cli.terminal import print_table, progress_bars, screen, split

if TYPE_CHECKING:
    import pandas as pd

    from analyses.studies.comparison import Cost

__all__ = ["compare"]

_SYMBOLS = {"agrees": "+", "disagrees": "-", "not comparable": "."}
_NO_REPLAY = "0"


def compare(
    task: Annotated[
        list[str],
        typer.Option(
            help="Which task; several times, or with commas; an unknown name lists them. Or a "
            "Python file of yours that defines TASK."
        ),
    ] = ["all"],  # noqa: B006
    learner: Annotated[
        list[str],
        typer.Option(
            help="Which learner; several times, or with commas. Parameters follow the name: "
            "'dyna_q n_replays=5'."
        ),
    ] = ["all"],  # noqa: B006
    animals: Annotated[int, typer.Option(help="Animals of each learner in each task.")] = 20,
    behaviour: Annotated[
        str, typer.Option(help="given: all run the same laps; own: as the learner acts.")
    ] = "given",
    findings: Annotated[
        Path | None, typer.Option(help="A CSV file of published numbers of your own.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of everything.")] = 0,
    jobs: Annotated[int | None, typer.Option(help="Processes; by default one a core.")] = None,
    out: Annotated[Path, typer.Option(help="The folder for the results.")] = Path("comparison"),
) -> None:
    """Let learners go through the tasks of experiments, and hold their replay against findings.

    Without options: all learners in all tasks. The same command goes on where it was interrupted.
    """
    import joblib

    from analyses.findings.published import findings as read_findings
    from analyses.studies.changes import find_learners
    from analyses.studies.comparison import all_learners, plan_comparison
    from analyses.studies.comparison import compare as run
    from replay.tasks.published import TASKS

    n_jobs = joblib.cpu_count() if jobs is None else jobs
    named = split(learner)
    chosen = {**(all_learners() if _is_all(learner) else {})}
    chosen |= find_learners(named) if named or not chosen else {}
    tasks = [*(TASKS if _is_all(task) else ()), *split(task)]
    table = read_findings(findings)
    plan = plan_comparison(
        tasks, chosen, n_animals=animals, behaviour=behaviour, seed=seed, findings=table
    )
    screen.print(
        f"{len(chosen)} learners in {len(tasks)} tasks, {animals} animals each, with {n_jobs} "
        f"process{'es' * (n_jobs > 1)}, into {out}. The first time, learners are compiled (about a "
        "minute).",
        markup=False,
    )
    with progress_bars() as progress:
        bars = {name: progress.add_task(name, total=len(plan.pieces(name))) for name in plan.tasks}
        tell = partial(progress.console.print, markup=False)
        try:
            tables = run(
                plan.tasks,
                chosen,
                n_animals=animals,
                behaviour=behaviour,
                seed=seed,
                jobs=n_jobs,
                findings=table,
                out=out,
                on_cost=lambda cost: tell(_cost_in_words(cost, n_jobs)),
                on_piece=lambda name: progress.advance(bars[name]),
                tell=tell,
            )
        except KeyboardInterrupt:
            progress.stop()
            screen.print("Interrupted. The same command goes on from what is finished.")
            raise typer.Exit(130) from None
    _print_grid(tables["verdicts"])
    screen.print(f"\nTables and figures are in {out}", markup=False)


def _is_all(names: list[str]) -> bool:
    return any(name.strip() == "all" for each in names for name in each.split(","))


def _cost_in_words(cost: "Cost", n_jobs: int) -> str:
    minutes = cost.seconds / 60 / n_jobs
    time = f"{minutes:.0f} min" if minutes >= 2 else f"{60 * minutes:.0f} s"
    return (
        f"{cost.n_animals:,} animals are left: about {time} here, then tables and figures; about "
        f"{cost.n_bytes / 1e6:,.0f} MB on disk."
    )


def _print_grid(verdicts: "pd.DataFrame") -> None:
    """Print findings by learners, one sign each."""
    from analyses.findings.verdicts import expectation, held_against

    held = held_against(verdicts)
    learners = list(dict.fromkeys(verdicts["learner"]))
    rows = []
    for _, test in held.groupby("test"):
        cells = test.drop_duplicates("learner").set_index("learner").loc[learners]
        sources = ", ".join(dict.fromkeys(test["source"]))
        first = test.iloc[0]
        signs = "".join(_sign(cell) for _, cell in cells.iterrows())
        rows.append((signs, f"{first['statistic']} {first['task']}", sources, expectation(first)))
    numbers = "".join(str(number % 10) for number in range(1, len(learners) + 1))
    print_table((numbers, "statistic and task", "studies", "found"), rows)
    agreed = held[held["verdict"] == "agrees"].drop_duplicates(["learner", "test"])
    counts = agreed.groupby("learner").size()
    print()
    print_table(
        ("", "learner", "agrees with"),
        [
            (str(number), name, f"{counts.get(name, 0)} of {len(rows)}")
            for number, name in enumerate(learners, start=1)
        ],
    )
    n_others = verdicts["finding"].nunique() - held["finding"].nunique()
    print(
        f"\n{_SYMBOLS['agrees']} agrees   {_SYMBOLS['disagrees']} disagrees   {_NO_REPLAY} replays "
        f"nothing   {_SYMBOLS['not comparable']} not comparable\n{n_others} other published values "
        "are not comparable with any learner: verdicts.csv says why."
    )


def _sign(cell: "pd.Series") -> str:
    if cell["verdict"] == "disagrees" and cell["value"] != cell["value"]:
        return _NO_REPLAY
    return _SYMBOLS[cell["verdict"]]
