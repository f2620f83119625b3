"""The command ``replay recording``."""

from __future__ import annotations

from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Annotated

import typer

from analyses.cli.options import Jobs, Out, Seed, as_typed, split
from analyses.cli.studies import do_study
from analyses.cli.terminal import plain, print_text, say, screen
from analyses.recordings.basics.judgement import ARENA, Judgement, judgement_for
from analyses.recordings.basics.settings import (
    DETECTED_IN,
    FIND_DECODED,
    MOST_UNKNOWN,
    N_SESSIONS,
    RIPPLES,
    Criteria,
    Settings,
)

__all__ = ["recording"]

_JUDGEMENT = Judgement()
_OF_FILES = ("--track", "--session", "--bins", "--position", "--units", "--channel", "--epochs")
_DATA, _EVENTS, _TESTS = "What is read", "Candidate events", "Decoding and significance"
_KINDS, _COMPARED = "States, laps and shares", "Comparisons"


def recording(
    file: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="NWB (.nwb), a decoded posterior (.nc), arrays (.npz, .mat), a folder of "
            "CellExplorer, or a table of decoded places (.csv, .parquet); NWB also at an address, "
            "https://... or dandi:SET/PATH. Several files are several animals of one experiment.",
        ),
    ],
    track: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The track graph (JSON), unless the file holds it. Without one, the animal is "
            "taken to move in an arena.",
            rich_help_panel=_DATA,
        ),
    ] = None,
    session: Annotated[
        list[str],
        typer.Option(
            metavar="FILE",
            help="A file with what the recording lacks: spikes, positions or events. For several "
            "recordings: one file for each, in the same order.",
            rich_help_panel=_DATA,
        ),
    ] = [],  # noqa: B006
    bins: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The positions of the bins of a posterior (.csv).",
            rich_help_panel=_DATA,
        ),
    ] = None,
    position: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="The series of positions in an NWB file; several that follow one another are "
            "joined by commas. The structure of positions of CellExplorer, if there are several.",
            show_default="the first with x and y",
            rich_help_panel=_DATA,
        ),
    ] = None,
    units: Annotated[
        str | None,
        typer.Option(
            metavar="EXPRESSION",
            help="The units that are read from an NWB file, by the columns of their table, such as "
            "\"location == 'CA1' and cell_type == 'pyramidal'\"; or 'marks': spikes that were not "
            "sorted. 'TABLE:EXPRESSION' chooses one of several tables of units.",
            show_default="all",
            rich_help_panel=_DATA,
        ),
    ] = None,
    unknown: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            help="The largest share of positions that may be missing.",
            rich_help_panel=_DATA,
        ),
    ] = MOST_UNKNOWN,
    inspect: Annotated[
        bool,
        typer.Option(
            "--inspect",
            help="Only say what the files hold, what could be chosen, and a command that was "
            "tried on them.",
            rich_help_panel=_DATA,
        ),
    ] = False,
    events: Annotated[
        str | None,
        typer.Option(
            metavar="EVENTS",
            help="Candidate events: a file (.csv, .parquet, .npz, .mat); the name of a table in "
            "the NWB file; 'find' to detect them from the firing rate of all cells; "
            "'find_ripples', in the field potential; or 'find_decoded' to detect them in the "
            "decoded posterior.",
            rich_help_panel=_EVENTS,
        ),
    ] = None,
    channel: Annotated[
        str | None,
        typer.Option(
            metavar="[SERIES:]N",
            help="The channel of the field potential, from 0, in which ripples are detected, or "
            "which is shown beside events that are given; SERIES is one of several in the file.",
            show_default="all for ripples, else none",
            rich_help_panel=_EVENTS,
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            metavar="SD",
            help="Detection threshold for candidate events, in standard deviations.",
            show_default=f"{Criteria().threshold:g}; for ripples {RIPPLES.threshold:g}",
            rich_help_panel=_EVENTS,
        ),
    ] = None,
    shortest: Annotated[
        float | None,
        typer.Option(
            metavar="S",
            help="Least duration of a detected event, in s.",
            show_default=f"{Criteria().shortest:g}; for ripples {RIPPLES.shortest:g}",
            rich_help_panel=_EVENTS,
        ),
    ] = None,
    longest: Annotated[
        float | None,
        typer.Option(
            metavar="S",
            help="Largest duration of a detected event, in s.",
            show_default=f"{Criteria().longest:g}; for ripples {RIPPLES.longest:g}",
            rich_help_panel=_EVENTS,
        ),
    ] = None,
    speed: Annotated[
        float | None,
        typer.Option(
            metavar="CM/S",
            help="Largest running speed during a detected event, in cm/s.",
            show_default=f"{Criteria().largest_speed:g}; for ripples {RIPPLES.largest_speed:g}",
            rich_help_panel=_EVENTS,
        ),
    ] = None,
    time_bin: Annotated[
        float,
        typer.Option(
            metavar="S",
            help="Length of the time bins for decoding events, in s.",
            rich_help_panel=_TESTS,
        ),
    ] = Settings().time_bin,
    bin_size: Annotated[
        float,
        typer.Option(
            metavar="CM",
            help="Length of the bins of the track or the arena, in cm.",
            rich_help_panel=_TESTS,
        ),
    ] = Settings().bin_size,
    shuffles: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Number of times that the cells of each event are exchanged.",
            rich_help_panel=_TESTS,
        ),
    ] = _JUDGEMENT.n_shuffles,
    controls: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Number of events of each other control, such as places that are held, for each "
            "event.",
            rich_help_panel=_TESTS,
        ),
    ] = _JUDGEMENT.n_controls,
    state_size: Annotated[
        float | None,
        typer.Option(
            metavar="CM",
            help="Distance between neighbouring states, in cm.",
            show_default=f"{_JUDGEMENT.state_size:g}; in an arena {ARENA.state_size:g}",
            rich_help_panel=_KINDS,
        ),
    ] = None,
    lap_end: Annotated[
        list[str],
        typer.Option(
            metavar="NODES",
            help="A node where laps end; several separated by commas.",
            show_default="the dead ends",
            rich_help_panel=_KINDS,
        ),
    ] = [],  # noqa: B006
    recovery: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Number of simulated sessions from which the shares of kinds are corrected for "
            "missed and misclassified replay; each takes a second or less for 100 laps. 0: no "
            "correction.",
            rich_help_panel=_KINDS,
        ),
    ] = N_SESSIONS,
    epochs: Annotated[
        str | None,
        typer.Option(
            metavar="NAME=BEGIN:END,...",
            help="Epochs in which replay is compared, such as "
            "before=0:600,run=600:1500,after=1500:2400, in s; instead of times, a label of the "
            "file (TABLE:LABEL if several tables have it), or a table of intervals. Place fields "
            "are estimated in the epoch named run.",
            show_default="none",
            rich_help_panel=_COMPARED,
        ),
    ] = None,
    tracks: Annotated[
        list[str],
        typer.Option(
            metavar="NAMES",
            help="Two landmarks, one on each of the two tracks that the log odds of each event "
            "compare.",
            show_default="the two parts of a graph that are not connected",
            rich_help_panel=_COMPARED,
        ),
    ] = [],  # noqa: B006
    comparison: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="A folder that replay compare wrote, whose predictions are shown beside the "
            "statistics.",
            show_default="the predictions that ship with the toolkit",
            rich_help_panel=_COMPARED,
        ),
    ] = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    out: Out = Path("recording"),
) -> None:
    """Find replay in recordings, and say which parts of the animal's experience it replays.

    Each event is decoded, and compared with controls that hold no replay. Its stretches of travel
    along the track are classified by what the animal had run until then. Several files are several
    animals: each gets its tables and a report, and statistics get intervals over animals. Run the
    same command again to resume after an interruption.
    """
    from analyses.recordings.prepare.session import settings_for
    from analyses.recordings.readers.contents import describe_file
    from analyses.studies.recorded_replay.files import Files, plan_files

    if inspect:
        options = {
            "track": track, "bins": bins, "events": events, "position": position, "units": units,
            "channel": channel, "epochs": epochs,
        }  # fmt: skip
        for path, other in zip_longest(file, session[: len(file)]):
            described = describe_file(path, options | {"session": other})
            *lines, command = [as_typed(each, _OF_FILES) for each in described]
            print_text("\n".join([f"{path}:", *lines]))
            print(plain(command))  # in one line, so that it can be copied
        return
    with screen.status("Reading"):
        study, plan = plan_files(
            Files(
                file, session, track, bins, events, split(tracks), unknown, position, units,
                channel, epochs, bin_size,
            ),
            out,
            partial(
                settings_for, threshold=threshold, shortest=shortest, longest=longest,
                largest_speed=speed, bin_size=bin_size, time_bin=time_bin,
                detected_in=DETECTED_IN[events == FIND_DECODED],
            ),
            partial(
                judgement_for, n_shuffles=shuffles, n_controls=controls, state_size=state_size,
                lap_ends=tuple(split(lap_end)),
            ),
            seed, n_sessions=recovery, comparison=comparison,
        )  # fmt: skip
    for sentence in plan.notes:
        say(as_typed(sentence, _OF_FILES))
    do_study(study, plan, out, jobs)
