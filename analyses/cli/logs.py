"""The commands that read logs and result folders.

These are ``replay classify``, ``animate``, ``page``, ``figures``, ``gallery`` and ``status``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from analyses.cli.options import check_out, split
from analyses.cli.terminal import print_table, print_text, say, screen

if TYPE_CHECKING:
    from replay.log.event_log import EventLog


def _read_log(folder: Path) -> EventLog:
    """Read a log; if the folder holds several logs, name the first of them in the error."""
    from replay.log.event_log import EventLog

    if folder.is_dir() and not (folder / "runs.parquet").exists():
        for inner in sorted(folder.rglob("runs.parquet"))[:1]:
            raise ValueError(
                f"{folder} holds several logs. Name one of them, such as {inner.parent}"
            )
    return EventLog.load(folder)


def classify(
    log: Path, /, out: Path = Path("sequences.parquet"), across_events: bool = False
) -> None:
    """Join the backups of an event log into causal chains, and classify each chain.

    Example: replay classify results/logs/maze/prioritized_sweeping-0-0 --out sequences.parquet

    Options
    -------
    log : LOG
        The folder of an event log, or a file of planning rollouts (.npz).
    out : FILE
        The table to write.
    across_events
        Let causal chains continue in later replay events.
    """
    import pandas as pd

    from analyses import classify as classify_sequences
    from analyses.jobs.results import write_table
    from analyses.recordings.readers.rollouts import read_rollouts
    from replay.files import replacing

    check_out(out, ".parquet")
    found = read_rollouts(log) if log.suffix == ".npz" else _read_log(log)
    sequences = classify_sequences(found, min_length=2, across_events=across_events)
    with replacing(out) as beside:
        write_table(sequences, beside)
    long = sequences[sequences["length"] >= 3]
    kinds = [str(kind) for kind in long["kind"].cat.categories]
    counts = pd.crosstab(long["run"], long["kind"]).reindex(
        index=found.runs["run"], columns=kinds, fill_value=0
    )
    rows = [(str(run), *map("{:,}".format, row)) for run, *row in counts.itertuples()]
    print_table(("run", *kinds), rows)
    print_text("\nSequences of three states or more.")
    plural = "s" * (len(sequences) != 1)
    say(f"{out} has {len(sequences):,} sequence{plural} of two or more states.")
    if "note" in sequences.attrs:
        say(sequences.attrs["note"])


def animate(
    log: Path,
    /,
    replay_event: int | None = None,
    run: int = 0,
    world: Path | None = None,
    out: Path = Path("pause.gif"),
) -> None:
    """Make a film of one pause: the agent at rest, and the replay that runs over the world.

    Example: replay animate results/logs/maze/prioritized_sweeping-0-0 --out pause.gif

    Options
    -------
    log : LOG
        The folder of an event log.
    replay_event : int, default the one with the longest sequence
        Number of the replay event to show.
    run : int
        Number of the run in the log.
    world : FILE, default the world of the log
        The world, a JSON file as in mdps/ of a result folder.
    out : FILE
        The film to write, .gif or .mp4.
    """
    from analyses.plots.film import animate_pause, check_film
    from analyses.studies.brea_2018 import world_of_log
    from replay.log.worlds import read_mdp

    check_film(out)
    check_out(out, out.suffix)
    mdp = None if world is None else read_mdp(world)
    found = _read_log(log)
    if mdp is None and found.mdp is None:
        mdp = world_of_log(log)
    with screen.status(f"Writing {out}: this takes some seconds"):
        animate_pause(found, replay_event, out, run=run, mdp=mdp)
    print(out)


def page(
    folders: Sequence[Path],
    /,
    out: Path = Path("page.html"),
    experiment: str | None = None,
    learner: Sequence[str] = (),
    across_events: bool = False,
) -> None:
    """Write an interactive page of replay: one HTML file that opens in any browser, offline.

    It shows the world and the animal, the replay of each pause move by move, the episodes from
    which a novel path is composed, and how the kinds of replay change with learning.

    Example: replay page results --learner prioritized_sweeping

    Options
    -------
    folders : LOG_OR_RESULTS...
        Event logs, or result folders of replay reproduce or replay recording; several are shown
        side by side. A folder of replay explain adds how well accounts predict their events.
    out : FILE
        The page to write.
    experiment : NAME, default maze
        The experiment to show of a reproduction.
    learner : NAMES, default all
        The learners to show of a reproduction, separated by commas.
    across_events
        Let causal chains continue in later replay events.
    """
    from analyses.studies.pages import page_of_folders

    check_out(out, ".html")
    with screen.status(f"Writing {out}: this takes some seconds"):
        page_of_folders(
            folders, out, experiment=experiment, learners=split(learner),
            across_events=across_events,
        )  # fmt: skip
    print(out)


def figures(folder: Path, /, svg: bool = False) -> None:
    """Redraw the figures of a result folder, as PDF and PNG.

    Example: replay figures results --svg

    Options
    -------
    folder : FOLDER
        A folder that a command wrote with --out.
    svg
        Write SVG, too, in which texts stay texts.
    """
    from analyses.studies import draw_all

    for path in draw_all(folder, svg=svg):
        print(path)


def gallery(out: Path = Path("gallery.png")) -> None:
    """Draw what each learner would replay next, at one moment in one maze.

    The first run compiles all learners, which takes half a minute to a minute.

    Example: replay gallery --out gallery.png

    Options
    -------
    out : FILE
        The picture to write; a PDF is written beside it.
    """
    from analyses.plots import save
    from analyses.studies.gallery import gallery_figure, laps, next_replay

    check_out(out, ".png")
    mdp, transitions = laps()
    figure = gallery_figure(next_replay(mdp, transitions), transitions, mdp)
    for path in save(figure, out.with_suffix("")):
        print(path)


def status(folder: Path, /) -> None:
    """Show what a result folder holds, what is missing, and what is damaged.

    The exit code is 0 if nothing is missing or damaged, else 1.

    Example: replay status results

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
