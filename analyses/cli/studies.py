"""How commands do a study, and the command ``replay study``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from analyses.cli.options import Cluster, Jobs, Seed
from analyses.cli.terminal import (
    broken,
    print_frame,
    print_table,
    print_text,
    progress_bars,
    say,
    screen,
)

if TYPE_CHECKING:
    from analyses.jobs.cost import Cost
    from analyses.jobs.study import Piece, Plan, Study

__all__ = ["do_study", "study"]


def study(
    name: Annotated[
        str | None, typer.Argument(help="The study; without a name, all are listed.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The folder for tables and figures; by default NAME.")
    ] = None,
    size: Annotated[
        float, typer.Option(help="How many animals or worlds, times the usual number.")
    ] = 1.0,
    seed: Seed = 0,
    jobs: Jobs = None,
    cluster: Cluster = None,
) -> None:
    """Do a study: a question, its tables and its figures.

    Most need a few minutes at their usual size. Run the same command again to resume after an
    interruption.
    """
    from analyses.studies import STUDIES, find_study

    if name is None:
        studies = {key: find_study(key) for key in STUDIES}
        needs = {key: f" Needs {each.needs}." for key, each in studies.items() if each.needs}
        rows = [(key, f"{each.question}{needs.get(key, '')}") for key, each in studies.items()]
        print_table(("study", "question"), rows)
        return
    found = find_study(name)
    do_study(found, found.usual_plan(size, seed), out or Path(name), jobs, cluster)


def do_study(
    study: Study[Plan], plan: Plan, out: Path, jobs: int | None, cluster: str | None = None
) -> None:
    """Do what is left of a study, tell how far it is, and print what was found.

    Parameters
    ----------
    study : Study
        What is asked.
    plan : object
        A plan of this study.
    out : Path
        The result folder.
    jobs : int, optional
        How many processes to use; by default one for each core.
    cluster : str, optional
        Address of a Dask scheduler whose workers make the pieces.

    Raises
    ------
    ValueError
        If both processes and a cluster are asked for, or what `analyses.jobs.run.run` raises.
    """
    from analyses.jobs import workers
    from analyses.jobs.run import run

    if jobs is not None and cluster is not None:
        raise ValueError("--jobs and --cluster exclude each other: all workers of a cluster work.")
    n_jobs = workers.n_processes(jobs)
    pieces = study.all_pieces(plan)
    totals: dict[str, float] = {}
    for piece in pieces:
        totals[piece.group] = totals.get(piece.group, 0.0) + study.size(plan, piece)
    with progress_bars() as progress:
        bars = {group: progress.add_task(group, total=total) for group, total in totals.items()}

        def tell(text: str) -> None:
            progress.console.print(broken(text, screen.width), markup=False, soft_wrap=True)

        def on_cost(cost: Cost) -> None:
            at_work = None if cluster else min(n_jobs, len(pieces))
            tell(_told(cost, at_work))

        def on_piece(piece: Piece) -> None:
            progress.advance(bars[piece.group], study.size(plan, piece))

        tables = run(
            study,
            plan,
            out,
            jobs=n_jobs,
            cluster=cluster,
            on_cost=on_cost,
            on_piece=on_piece,
            tell=tell,
        )
    for shown in study.show(plan, tables):
        if shown.title:
            say(f"\n{shown.title}")
        if len(shown.table.columns):
            print_frame(shown.table)
        if shown.note:
            print_text(f"\n{shown.note}")
    say(f"\nTables and figures are in {out}")


def _told(cost: Cost, n_jobs: int | None) -> str:
    """State a cost in a sentence; the number of workers of a cluster is not known."""
    left = " and ".join(
        f"{_rounded(count)} {name.removesuffix('s') if count == 1 else name}"
        for name, count in cost.counts.items()
    )
    verb = "is" if list(cost.counts.values()) == [1] else "are"
    where = "of one processor's time"
    if n_jobs:
        where = "in this process" if n_jobs == 1 else f"with {n_jobs} processes"
    after = (
        f", and {_time(cost.seconds_after)} for tables and figures" if cost.seconds_after else ""
    )
    return (
        f"{left} {verb} left: about {_time(cost.seconds / (n_jobs or 1))} {where}{after}; about "
        f"{cost.n_bytes / 1e6:,.0f} MB on disk, and {cost.memory / 1e9:,.1f} GB of memory in each "
        "process."
    )


def _time(seconds: float) -> str:
    if seconds >= 120 * 60:
        return f"{seconds / 3600:.0f} hours"
    if seconds >= 120:
        return f"{seconds / 60:.0f} minutes"
    n = max(round(seconds), 1)
    return f"{n} second{'s' * (n != 1)}"


def _rounded(count: int) -> str:
    return f"{count / 1e6:,.1f} million" if count >= 1_000_000 else f"{count:,}"
