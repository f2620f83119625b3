"""The commands ``replay recording`` and ``replay track``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any

from analyses.cli.options import Fields, Jobs, Out, Seed, as_typed, split
from analyses.cli.studies import do_study
from analyses.cli.terminal import plain, print_text, say, screen
from analyses.recordings.basics.settings import (
    ARENA,
    DETECTED_IN,
    FIND_DECODED,
    N_SESSIONS,
    RIPPLES,
    Criteria,
    Files,
    Judgement,
    Settings,
    judgement_for,
)

_FIELDS = Fields(
    (Judgement(), Files(), Criteria(), Settings()),  # the last counts where two have a field
    {"for ripples": RIPPLES, "in an arena": ARENA},
    {
        "What is read": "track complements bins position units most_unknown inspect",
        "Candidate events": "events channel threshold shortest longest largest_speed",
        "Decoding and significance": "time_bin bin_size n_shuffles n_controls",
        "States, laps and shares": "state_size lap_end recovery",
        "Comparisons": "epochs tracks comparison",
    },
)
_OF_FILES = ("--track", "--session", "--bins", "--position", "--units", "--channel", "--epochs")


def recording(
    file: Sequence[str],
    /,
    inspect: bool = False,
    lap_end: Sequence[str] = (),
    recovery: int = N_SESSIONS,
    comparison: Path | None = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    out: Out = Path("recording"),
    **chosen: Annotated[Any, _FIELDS],
) -> None:
    """Find replay in recordings, and say which parts of the animal's experience it replays.

    Each event is decoded, and compared with controls that hold no replay. Its stretches of travel
    along the track are classified by what the animal had run until then. Several files are several
    animals: each gets its tables and a report, and statistics get intervals over animals. Run the
    same command again to resume after an interruption.

    Example: replay recording rat.nwb --track track.json

    Options
    -------
    file : FILE...
        NWB (.nwb), a decoded posterior (.nc), arrays (.npz, .mat), a folder of CellExplorer, or a
        table of decoded places (.csv, .parquet); NWB also at an address, https://... or
        dandi:SET/PATH. Several files are several animals of one experiment.
    inspect
        Only say what the files hold, what could be chosen, and a command that was tried on them.
    lap_end : NODES, default the dead ends
        A node where laps end; several separated by commas.
    recovery : int
        Number of simulated sessions from which the shares of kinds are corrected for missed and
        misclassified replay, and replay explain learns what decoding loses; each takes five
        seconds. 0: no correction.
    comparison : FOLDER, default the predictions that ship with the toolkit
        A folder that replay compare wrote, whose predictions are shown beside the statistics.
    """
    from analyses.recordings.prepare.session import settings_for
    from analyses.recordings.readers.contents import describe_file
    from analyses.studies import find_study
    from analyses.studies.recorded_replay import plan_files

    def taken(record: Any) -> dict[str, Any]:
        return {name: chosen[name] for name in record._fields if name in chosen}

    files = Files(tuple(file), **taken(Files))
    if inspect:
        names = ("track", "bins", "events", "position", "units", "channel", "epochs")
        options = {name: chosen[name] for name in names}
        for path, other in zip_longest(file, files.complements[: len(file)]):
            described = describe_file(path, options | {"session": other})
            *lines, command = [as_typed(each, _OF_FILES) for each in described]
            print_text("\n".join([f"{path}:", *lines]))
            print(plain(command))  # in one line, so that it can be copied
        return
    settings = taken(Settings) | taken(Criteria)
    settings["detected_in"] = DETECTED_IN[files.events == FIND_DECODED]
    # Which tracks are compared is known when the recording is read.
    judgement = taken(Judgement) | {"lap_ends": tuple(split(lap_end)), "tracks": None}
    with screen.status("Reading"):
        plan = plan_files(
            files._replace(tracks=tuple(split(files.tracks))),
            out,
            partial(settings_for, **settings),
            partial(judgement_for, **judgement),
            seed,
            n_sessions=recovery,
            comparison=comparison,
        )
    for sentence in plan.notes:
        say(as_typed(sentence, _OF_FILES))
    do_study(find_study("recording" if len(file) == 1 else "recordings"), plan, out, jobs)


def track(
    file: str,
    /,
    position: str | None = None,
    pixels_per_cm: float | None = None,
    out: Path = Path("track.json"),
) -> None:
    """Draw the track graph of a recording on the positions of the animal.

    A graph is proposed from where the animal ran. It is written as the JSON that replay recording
    --track reads, with a picture, and with a page on which nodes and edges are clicked, measured
    and saved. If the JSON exists, drawing goes on with it.

    Example: replay track rat.nwb

    Options
    -------
    file : FILE
        A file with positions (x, y): NWB, arrays, a folder of CellExplorer, or a table of time, x
        and y; NWB also at an address.
    position : NAME
        The series of positions, or the structure of CellExplorer, if there are several.
    pixels_per_cm : NUMBER
        How many pixels are a cm, if positions are in pixels; it can be measured on the page.
    out : FILE
        The JSON file; the page and the picture beside it end with .html and .png.
    """
    from analyses.cli.options import check_out
    from analyses.studies.pages import draw_track_of

    check_out(out, ".json")
    with screen.status("Reading"):
        told = draw_track_of(file, out, position=position, pixels_per_cm=pixels_per_cm)
    for sentence in told:
        print_text(sentence)
