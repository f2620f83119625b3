"""The commands ``replay figures``, ``replay gallery`` and ``replay status``."""

from __future__ import annotations

from pathlib import Path

import typer

from analyses.cli.options import check_out
from analyses.cli.terminal import print_table, print_text

__all__ = ["figures", "gallery", "status"]


def figures(folder: Path, /) -> None:
    """Redraw the figures of a result folder, as PDF and PNG.

    Options
    -------
    folder : FOLDER
        A folder that a command wrote with --out.
    """
    from analyses.studies import draw_all

    for path in draw_all(folder):
        print(path)


def gallery(out: Path = Path("gallery.png")) -> None:
    """Draw what each learner would replay next, at one moment in one maze.

    The first run compiles all learners, which takes half a minute to a minute.

    Options
    -------
    out : FILE
        The picture to write; a PDF is written beside it.
    """
    from analyses.plots import save
    from analyses.plots.gallery import gallery_figure
    from analyses.studies.gallery import laps, next_replay

    check_out(out, ".png")
    mdp, transitions = laps()
    figure = gallery_figure(next_replay(mdp, transitions), transitions, mdp)
    for path in save(figure, out.with_suffix("")):
        print(path)


def status(folder: Path, /) -> None:
    """Show what a result folder holds, what is missing, and what is damaged.

    The exit code is 0 if nothing is missing or damaged, else 1.

    Options
    -------
    folder : FOLDER
        A folder that a command wrote, or is writing, with --out.
    """
    from analyses.jobs.results import Results

    found = Results(folder).status()
    rows = [
        (name, f"{n_done} of {n_pieces}", str(n_damaged))
        for name, n_pieces, n_done, n_damaged in found.groups.itertuples(index=False)
    ]
    print_table(("group", "pieces done", "damaged files"), rows)
    products = [name for name in found.missing if "/" not in name]
    for what, names in (("Not made yet:", products), ("Damaged or missing:", found.damaged)):
        for name in names:
            print_text(f"{what} {name}")
    if found.missing or found.damaged:
        print("To resume, run the command that made it again with the same options.")
        raise typer.Exit(1)
    print("Complete and undamaged.")
