"""The command ``replay recording``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from analyses.cli.options import Jobs, Seed, split
from analyses.cli.studies import do_study
from analyses.cli.terminal import say, screen

__all__ = ["recording"]


def recording(
    file: Annotated[
        Path,
        typer.Argument(
            help="NWB (.nwb), a decoded posterior (.nc), arrays (.npz), or a table of decoded "
            "places (.csv, .parquet)."
        ),
    ],
    track: Annotated[
        Path | None, typer.Option(help="The track graph, JSON; unless the file holds it.")
    ] = None,
    session: Annotated[
        Path | None,
        typer.Option(help="A file with what the first lacks: spikes, positions, events."),
    ] = None,
    events: Annotated[
        str | None,
        typer.Option(
            help="Candidate events: a table (.csv, .parquet), or the name of a table in the NWB "
            "file; 'find' to find them by the rate of all cells, 'find_ripples' in the field "
            "potential."
        ),
    ] = None,
    bins: Annotated[
        Path | None, typer.Option(help="Where the bins of a posterior are, .csv.")
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(help="Of events to be found, in standard deviations; 3, of ripples 2."),
    ] = None,
    speed: Annotated[
        float | None, typer.Option(help="The largest speed in such events, in cm/s; 5, or 4.")
    ] = None,
    shuffles: Annotated[int, typer.Option(help="How often cells are shuffled.")] = 200,
    state_size: Annotated[float, typer.Option(help="The distance of states, in cm.")] = 15.0,
    lap_end: Annotated[
        list[str], typer.Option(help="A node where laps end; by default the dead ends.")
    ] = [],  # noqa: B006
    time_bin: Annotated[float, typer.Option(help="Length of a time bin in events, in s.")] = 0.005,
    unknown: Annotated[
        float, typer.Option(help="The largest share of positions that may be unknown.")
    ] = 0.2,
    recovery: Annotated[
        int,
        typer.Option(
            help="How many sessions are simulated to correct shares of kinds by what would be "
            "found; a second each or less with a hundred laps. 0: none."
        ),
    ] = 20,
    seed: Seed = 0,
    jobs: Jobs = None,
    out: Annotated[Path, typer.Option(help="The folder for the results.")] = Path("recording"),
) -> None:
    """Find replay in a recording, and tell what of the animal's experience is replayed.

    Events are decoded on the track, tested against shuffles of cells, and judged against what the
    animal had run until then. The same command goes on where it was interrupted.
    """
    from analyses.recordings.events import RIPPLES, Criteria
    from analyses.recordings.judgement import Judgement
    from analyses.recordings.readers import read_recording
    from analyses.recordings.settings import Settings
    from analyses.studies.recorded_replay import STUDY, plan_recording

    criteria = RIPPLES if events == "find_ripples" else Criteria()
    if threshold is not None:
        criteria = criteria._replace(threshold=threshold)
    if speed is not None:
        criteria = criteria._replace(largest_speed=speed)
    with screen.status(f"reading {file}"):
        found = read_recording(
            file, track, session=session, events=events, bins=bins, most_unknown=unknown
        )
        plan = plan_recording(
            found,
            Settings(time_bin=time_bin, criteria=criteria),
            Judgement(n_shuffles=shuffles, state_size=state_size, lap_ends=tuple(split(lap_end))),
            seed,
            n_sessions=recovery,
        )
    for sentence in (*found.told, *plan.session.told):
        say(sentence)
    do_study(STUDY, plan, out, jobs)
