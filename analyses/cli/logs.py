"""The commands ``replay classify`` and ``replay animate``, which read an event log."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from analyses.cli.options import check_out
from analyses.cli.terminal import print_table, say, screen

if TYPE_CHECKING:
    from replay.log.event_log import EventLog

__all__ = ["animate", "classify"]


def _read_log(folder: Path) -> EventLog:
    """Read a log; of a folder that holds logs, name the first."""
    from replay.log.event_log import EventLog

    if folder.is_dir() and not (folder / "runs.parquet").exists():
        for inner in sorted(folder.rglob("runs.parquet"))[:1]:
            raise ValueError(f"{folder} holds several logs. Name one of them: {inner.parent}")
    return EventLog.read(folder)


def classify(
    log: Annotated[Path, typer.Argument(help="The folder of an event log.")],
    out: Annotated[Path, typer.Option(help="The table to write.")] = Path("sequences.parquet"),
    across_events: Annotated[
        bool, typer.Option("--across-events", help="Follow causes through later events.")
    ] = False,
) -> None:
    """Chain the backups of an event log into sequences, and classify each of them."""
    from analyses.jobs.results import write_table
    from analyses.sequences.classification import classify as classify_log
    from replay.files import replacing

    check_out(out, ".parquet")
    sequences = classify_log(_read_log(log), min_length=2, across_events=across_events)
    with replacing(out) as beside:
        write_table(sequences, beside)
    long = sequences[sequences["length"] >= 3]
    kinds = long.groupby(["run", "kind"], observed=True).size().reset_index(name="n")
    rows = [(str(row.run), str(row.kind), f"{row.n:,}") for row in kinds.itertuples()]
    print_table(("run", "kind (3 states or more)", "sequences"), rows)
    say(f"{len(sequences):,} sequence{'s' * (len(sequences) != 1)} in {out}")


def animate(
    log: Annotated[Path, typer.Argument(help="The folder of an event log.")],
    event: Annotated[
        int | None,
        typer.Option(help="Which replay event; default: of the longest sequence."),
    ] = None,
    run: Annotated[int, typer.Option(help="Which run of the log.")] = 0,
    mdp: Annotated[
        Path | None,
        typer.Option(help="The world, JSON as in mdps/; logs of replay reproduce need none."),
    ] = None,
    out: Annotated[Path, typer.Option(help="The film to write, .gif or .mp4.")] = Path("pause.gif"),
) -> None:
    """Show a pause: the agent at rest, and the replay that runs over the world."""
    from analyses.jobs.mdp_files import read_mdp, world_of_log
    from analyses.plots.film import check_film
    from analyses.plots.pause import animate_pause

    check_film(out)
    check_out(out, out.suffix)
    world = world_of_log(log) if mdp is None else read_mdp(mdp)
    with screen.status(f"{out}: some seconds"):
        animate_pause(_read_log(log), event, out, run=run, mdp=world)
    print(out)
