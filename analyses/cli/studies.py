"""The function by which commands run a study, and the command ``replay study``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from analyses.cli.options import Cluster, Jobs, Pieces, Seed, read_part
from analyses.cli.terminal import (
    print_frame,
    print_table,
    print_text,
    progress_bars,
    say,
    screen,
    wrapped,
)

if TYPE_CHECKING:
    from analyses.jobs import WorkCost
    from analyses.jobs.study import Piece, PlanT, Study


def study(
    name: str | None = None,
    /,
    out: Path | None = None,
    size: float = 1.0,
    seed: Seed = 0,
    jobs: Jobs = None,
    cluster: Cluster = None,
    pieces: Pieces = None,
) -> None:
    """Run a study: simulate what its question needs, write its tables and draw its figures.

    Most studies take a few minutes at their usual size. Run the same command again to resume after
    an interruption.

    Example: replay study bounded_memory --size 0.5

    Options
    -------
    name : NAME
        The study, or your own Python file: ./mine.py. Without it, all studies are listed.
    out : FOLDER, default NAME
        Result folder.
    size : FACTOR
        Number of animals or worlds, as a multiple of the usual number.
    """
    from analyses.studies import STUDIES, find_study

    if name is None:
        studies = [find_study(key) for key in STUDIES]
        rows = [
            (
                each.name,
                f"{each.question} Run {each.command}." if _has_command(each) else each.question,
            )
            for each in studies
        ]
        print_table(("study", "question"), rows)
        return
    found = find_study(name)
    if _has_command(found):
        raise ValueError(f"The study {name} has a command of its own: {found.command}.")
    do_study(found, found.usual_plan(size, seed), out or Path(found.name), jobs, cluster, pieces)


_SIMULATED = ("recording", "recordings")
"""Studies of simulated animals here; the command that they name reads files."""


def _has_command(study: Study[PlanT]) -> bool:
    from analyses.studies import STUDIES

    # The command of a study in a file of its own runs this one.
    return bool(study.command) and study.name in STUDIES and study.name not in _SIMULATED


def run_file(file: str) -> None:
    """Run the study of a Python file as a command: ``python FILE [options]``."""
    from analyses.cli import main

    # As if it had been typed: replay study FILE, with the options that follow.
    sys.argv[1:1] = ["study", file]
    main()


def do_study(
    study: Study[PlanT],
    plan: PlanT,
    out: Path,
    jobs: int | None = None,
    cluster: str | None = None,
    pieces: str | None = None,
) -> None:
    """Run what remains of a study, show its progress, and print its results."""
    from analyses.jobs import workers
    from analyses.jobs.run import pieces_of, run

    if jobs is not None and cluster is not None:
        raise ValueError(
            "--jobs and --cluster exclude each other: a cluster uses all of its workers."
        )
    n_jobs = workers.n_processes(jobs)
    part = read_part(pieces)
    to_make = pieces_of(study, plan, part)
    totals: dict[str, float] = {}
    for piece in to_make:
        totals[piece.group] = totals.get(piece.group, 0.0) + study.size(plan, piece)
    with progress_bars() as progress:
        bars = {group: progress.add_task(group, total=total) for group, total in totals.items()}
        of_all = progress.add_task("all", total=sum(totals.values())) if len(bars) > 1 else None

        def tell(text: str) -> None:
            progress.console.print(wrapped(text, screen.width), markup=False, soft_wrap=True)

        def on_cost(cost: WorkCost) -> None:
            # How many workers a cluster has, nobody knows beforehand.
            at_work = None if cluster else min(n_jobs, len(to_make))
            tell(_estimate(cost, at_work))

        def on_piece(piece: Piece) -> None:
            for bar in (bars[piece.group], of_all):
                if bar is not None:
                    progress.advance(bar, study.size(plan, piece))

        tables = run(
            study,
            plan,
            out,
            jobs=n_jobs,
            cluster=cluster,
            part=part,
            on_cost=on_cost,
            on_piece=on_piece,
            tell=tell,
        )
    if part is not None:
        say(
            f"Part {part.number} of {part.n_parts} is in {out}. When all are made, the same "
            "command without --pieces makes tables and figures."
        )
        return
    for shown in study.show(plan, tables):
        if shown.title:
            print_text(f"\n{shown.title}")
        if len(shown.table.columns):
            print_frame(shown.table)
        if shown.note:
            print_text(f"\n{shown.note}")
    say(f"\nThe report (report.md), tables and figures are in {out}")


_BUSY = 1.5  # slowdown from which the user is warned


def _estimate(cost: WorkCost, n_jobs: int | None) -> str:
    """Describe an estimated cost; the number of workers of a cluster is not known."""
    left = " and ".join(
        (f"{count / 1e6:,.1f} million " if count >= 1_000_000 else f"{count:,} ")
        + (name.removesuffix("s") if count == 1 else name)
        for name, count in cost.counts.items()
    )
    verb = "is" if list(cost.counts.values()) == [1] else "are"
    where = "of one processor's time"
    if n_jobs:
        where = "in this process" if n_jobs == 1 else f"with {n_jobs} processes"
    after = (
        f", and {_time(cost.seconds_after)} for tables and figures" if cost.seconds_after else ""
    )
    seconds = cost.seconds / (n_jobs or 1)
    expected, why = f"about {_time(seconds)}", ""
    if cost.slowdown >= _BUSY:
        expected = f"{_time(seconds)} to {_time(seconds * cost.slowdown)}"
        why = " (the longer if other work keeps the machine as busy as now)"
    return (
        f"{left} {verb} left: {expected} {where}{after}{why}; "
        f"about {cost.n_bytes / 1e6:,.0f} MB on disk, and {cost.memory / 1e9:,.1f} GB of memory in "
        "each process."
    )


def _time(seconds: float) -> str:
    if seconds >= 120 * 60:
        return f"{seconds / 3600:.0f} hours"
    if seconds >= 120:
        return f"{seconds / 60:.0f} minutes"
    n = max(round(seconds), 1)
    return f"{n} second{'s' * (n != 1)}"
