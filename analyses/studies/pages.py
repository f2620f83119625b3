"""HTML pages of event logs, and of folders that ``replay reproduce`` or ``replay recording`` wrote.

Nothing is simulated; :func:`analyses.page.write_page` describes what a page shows.
Another page draws the track graph of a recording.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy as np
import pandas as pd

from analyses.jobs.results import Results
from analyses.page import write_page, write_track_page
from analyses.page.decoded import check_decoded
from analyses.recordings.basics.arena import world_of
from analyses.recordings.basics.observed import joined, within
from analyses.recordings.basics.recording_checks import (
    describe_still,
    moving_epochs,
    still_stretches,
)
from analyses.recordings.prepare.event_evidence import EVIDENCE, Evidence
from analyses.recordings.prepare.proposed_track import proposed_track
from analyses.recordings.readers import read_positions
from analyses.recordings.readers.track_graphs import read_track
from analyses.reports.text import plural
from analyses.studies.brea_2018 import log_folder, world_of_log
from analyses.studies.recorded_replay.animal_figures import read_evidence, reader_of
from replay.checks import check_list, check_number, unknown_name
from replay.files import check_path, inside, replacing
from replay.log.event_log import EventLog

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_DEFAULT_EXPERIMENT = "maze"
_RECORDINGS = ("recording", "recordings")
_DECODED = ("events.csv", "sequences.parquet", "paths.parquet", "experience.parquet")
_KNOWN = "known_replay.parquet"


class DecodedResults(NamedTuple):
    """The tables of ``replay recording`` that a page shows."""

    # The tables of these names.
    events: pd.DataFrame
    sequences: pd.DataFrame
    paths: pd.DataFrame
    experience: EventLog  # the animal's moves on its track
    name: str = ""  # name of the animal, if there are several
    evidence: Evidence | None = None  # spikes, posteriors and what was measured in each event
    known_replay: pd.DataFrame | None = None  # what was found of it, if there is such a table


def page_of_folders(
    folders: Sequence[str | Path],
    out: str | Path = "page.html",
    *,
    experiment: str | None = None,
    learners: Sequence[str] = (),
    across_events: bool = False,
) -> Path:
    """Write the page of one or several folders.

    Folders are event logs, or were written by ``replay reproduce`` or ``replay recording``. By
    default the maze of a reproduction is shown, or else its first experiment, with all learners
    whose logs were kept. A folder of ``replay explain`` adds how well accounts predict each event
    of the others, which are those that were explained, in the same order.
    """
    shown: list[EventLog | DecodedResults] = []
    has_choice, explained = False, None
    for given in check_list("folders", folders):
        folder = check_path("folder", given)
        if (folder / "runs.parquet").is_file():
            shown.append(read_log(folder))
            continue
        if not (folder / "manifest.json").is_file():
            what = (
                "contains neither an event log (runs.parquet and others) nor results "
                "(manifest.json)" if folder.is_dir() else "is not a folder"
            )  # fmt: skip
            raise FileNotFoundError(
                f"{folder} {what}. Name a folder that EventLog.save, replay reproduce, replay "
                "recording or replay explain wrote."
            )
        manifest = Results(folder).manifest()
        if manifest.get("study") == "explain":
            Results(folder).check_tables()
            explained = Results(folder).read("explained.parquet")
            continue
        with _told_if_not_read(folder):
            if manifest.get("study") in _RECORDINGS:
                shown += read_decoded(folder)
            elif "experiments" in manifest and "learners" in manifest:
                shown += _kept_logs(folder, experiment, learners)
            else:
                raise ValueError(
                    f"{folder} was written by {manifest.get('command', 'another command')}, and "
                    "contains no replay to show: a page shows event logs, and the results of "
                    "replay reproduce and replay recording."
                )
        has_choice = has_choice or "experiments" in manifest
    chosen = [name for name, has in {"experiment": experiment, "learner": learners}.items() if has]
    if chosen and not has_choice:
        raise ValueError(
            f"--{chosen[0]} chooses among the results of replay reproduce, but none of the folders "
            "holds any: name only the logs that the page should show."
        )
    with _told_if_not_read(", ".join(map(str, folders))):
        return write_page(shown, out, across_events=across_events, explained=explained)


@contextmanager
def _told_if_not_read(folder: str | Path, *more: type[Exception]) -> Iterator[None]:
    """Say in a sentence that tables are not as this version writes them."""
    refused: tuple[type[Exception], ...] = (*more, AttributeError, LookupError, TypeError)
    try:
        yield
    except refused as error:
        why = str(error) if isinstance(error, ValueError) else repr(error)
        raise ValueError(
            f"{folder} holds results that this version cannot read ({why.rstrip('.')}). Run its "
            "command again in another folder."
        ) from error


def read_log(folder: str | Path) -> EventLog:
    """Read a log with its world, also if ``replay reproduce`` saved it without one."""
    log = EventLog.load(folder)
    return EventLog.load(folder, world_of_log(folder)) if log.mdp is None else log


def read_decoded(folder: str | Path) -> list[DecodedResults]:
    """Read the results of ``replay recording``.

    One result per animal: its tables, and its moves on its track.
    """
    results = Results(folder)
    manifest = results.manifest()
    if manifest.get("study") not in _RECORDINGS:
        raise ValueError(
            f"{folder} was written by {manifest.get('command', 'another command')}: name a folder "
            "that replay recording wrote, or the log of a run (runs.parquet and others)."
        )
    results.check_tables()
    with _told_if_not_read(folder, ValueError):
        state_size = manifest["judgement"]["state_size"]
        world = world_of(read_track(inside(folder, "track.json")), state_size)
        first = results.read("events.csv")
        names = first["animal"].astype(str).unique() if "animal" in first else [""]
        has_evidence = all(inside(results.folder, name).is_file() for name in EVIDENCE)
        animals = []
        for name in names:
            read = reader_of(results, name)
            events, sequences, paths, steps = map(read, _DECODED)
            check_decoded(events, sequences)  # here, where the folder is known
            log = EventLog({"steps": steps}, mdp=world)
            evidence = read_evidence(results, read) if has_evidence else None
            known = read(_KNOWN) if inside(results.folder, _KNOWN).is_file() else None
            animals.append(DecodedResults(events, sequences, paths, log, name, evidence, known))
        return animals


def _kept_logs(folder: Path, experiment: str | None, learners: Sequence[str]) -> list[EventLog]:
    """Read the first log of each learner in one experiment of a reproduction."""
    manifest = Results(folder).manifest()
    experiments, made = manifest["experiments"], manifest["learners"]
    name = experiment or next(
        (each for each in experiments if each == _DEFAULT_EXPERIMENT), experiments[0]
    )
    if name not in experiments:
        raise unknown_name(f"experiment of {folder}:", name, experiments)
    for learner in learners:
        if learner not in made:
            raise unknown_name(f"learner of {folder}:", learner, made)
    places = [inside(folder, log_folder(name, learner, 0, 0)) for learner in learners or made]
    kept = [place for place in places if place.is_dir()]
    if not kept:
        raise FileNotFoundError(
            f"{folder} contains no event log of {name}: it is not finished, or was written with "
            "--log none or without logs to keep. Run replay reproduce again to get one."
        )
    return [read_log(place) for place in kept]


def draw_track_of(
    source: str, out: Path, *, position: str | None = None, pixels_per_cm: float | None = None
) -> list[str]:
    """Write a track graph as JSON, unless it exists, with a page and a picture; say what to do."""
    from analyses.plots import plot_track

    found, unit = read_positions(source, position)
    xy, is_drawn = found.position, out.exists()
    graph = read_track(out) if is_drawn else found.graph or None
    is_in_file = graph is not None and not is_drawn
    scale = pixels_per_cm or (graph.graph.get("pixels_per_cm") if graph is not None else None)
    if unit == "cm" and pixels_per_cm is not None:
        raise ValueError("pixels_per_cm is for positions in pixels, and these are in cm.")
    if scale is not None and unit != "cm":
        xy, unit = xy / check_number("pixels_per_cm", scale, at_least=1e-9), "cm"
    still = still_stretches(found.time, xy)
    if graph is None:
        # What never changes is no way of an animal, and where a file does not say when it ran, it
        # ran in between.
        graph = proposed_track(xy[found.during & ~within(joined(still), found.time)])
        if len(still) and not len(found.on_track):
            graph.graph["run_epochs"] = np.array(moving_epochs(found.time, still))
        if scale is not None:
            graph.graph["pixels_per_cm"] = scale
    page = write_track_page(
        xy, graph, out.with_suffix(".html"), unit=unit, title=f"Track of {Path(source).name}"
    )
    ax = plot_track(xy, graph, unit=unit)
    picture = out.with_suffix(".png")
    cast("Figure", ax.figure).savefig(picture, dpi=200)
    length = sum(
        float(np.hypot(*np.subtract(graph.nodes[one]["pos"], graph.nodes[other]["pos"])))
        for one, other in graph.edges
    )
    size = f"{plural(len(graph), 'node')}, {plural(graph.number_of_edges(), 'edge')}, "
    what = "The track graph of the file" if is_in_file else "A proposal"
    told = [f"{'The track' if is_drawn else what} on the positions: {picture}."]
    told[0] += f" {size}{length:.0f} {unit}."
    told.append(f"Open {page} in a browser to move, add, join and measure nodes, and to save it.")
    if unit != "cm":
        told.append(
            f"Positions are in {unit}: measure on the page how many are a cm, or run this again "
            f"with --pixels-per-cm. {out} is not written before."
        )
        return told
    if is_in_file:
        told.append(f"Then: replay recording {source}, which reads this graph.")
        return told
    if not is_drawn:
        drawn = {
            "node_positions": [list(pos) for _, pos in graph.nodes(data="pos")],
            "edges": [list(edge) for edge in graph.edges],
            **({} if scale is None else {"pixels_per_cm": scale}),
        }
        if "run_epochs" in graph.graph:
            drawn["run_epochs"] = graph.graph["run_epochs"].tolist()
            told.append(
                f"{describe_still(found.time, xy)} {out} has these times already (run_epochs)."
            )
        with replacing(out) as beside:
            beside.write_text(json.dumps(drawn, indent=1) + "\n", "utf-8")
    told.append(f"Then: replay recording {source} --track {out}")
    return told
