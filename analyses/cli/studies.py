"""How commands do a study, and the command ``replay study``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from analyses.cli.options import Cluster, Jobs, Seed
from analyses.cli.terminal import print_frame, print_table, progress_bars, say

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
        print_table(("study", "question"), [(key, find_study(key).question) for key in STUDIES])
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

        def on_cost(cost: Cost) -> None:
            at_work = None if cluster else min(n_jobs, len(pieces))
            progress.console.print(_told(cost, at_work), markup=False)

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
            tell=lambda text: progress.console.print(text, markup=False),
        )
    for shown in study.show(plan, tables):
        if shown.title:
            say(f"\n{shown.title}")
        if len(shown.table.columns):
            print_frame(shown.table)
        if shown.note:
            print(f"\n{shown.note}")
    say(f"\nTables and figures are in {out}")


def _told(cost: Cost, n_jobs: int | None) -> str:
    """State a cost in a sentence; the number of workers of a cluster is not known."""
    left = " and ".join(
        f"{_rounded(count)} {name.removesuffix('s') if count == 1 else name}"
        for name, count in cost.counts.items()
    )
    verb = "is" if list(cost.counts.values()) == [1] else "are"
    minutes = cost.seconds / 60 / (n_jobs or 1)
    if minutes >= 120:
        time = f"{minutes / 60:.0f} hours"
    elif minutes >= 2:
        time = f"{minutes:.0f} minutes"
    else:
        time = f"{60 * minutes:.0f} seconds"
    where = f"with {n_jobs} process{'es' * (n_jobs > 1)}" if n_jobs else "of one processor's time"
    return (
        f"{left} {verb} left: about {time} {where}, then tables and figures; about "
        f"{cost.n_bytes / 1e6:,.0f} MB on disk, and {cost.memory / 1e9:,.1f} GB of memory in each "
        "process. The first time, learners are compiled before, which needs up to a minute."
    )


def _rounded(count: int) -> str:
    return f"{count / 1e6:,.1f} million" if count >= 1_000_000 else f"{count:,}"
