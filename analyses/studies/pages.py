"""HTML pages of event logs, and of folders that ``replay reproduce`` or ``replay recording`` wrote.

Nothing is simulated; :func:`analyses.plots.page.writing.write_page` describes what a page shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from analyses.jobs.results import Results
from analyses.plots.page.writing import write_page
from analyses.recordings.readers.track_graphs import read_track
from analyses.studies.brea_2018.reproduction import log_folder, world_of_log
from replay.checks import check_list, unknown_name
from replay.files import check_path
from replay.log.event_log import EventLog
from replay.worlds.mdp import MDP

__all__ = ["DecodedResults", "page_of_folders", "read_decoded", "read_log"]

_DEFAULT_EXPERIMENT = "maze"
_DECODED = ("events.csv", "sequences.parquet", "paths.parquet", "experience.parquet")


class DecodedResults(NamedTuple):
    """The tables of ``replay recording`` that a page shows.

    Attributes
    ----------
    events, sequences, paths : pandas.DataFrame
        The tables of these names.
    experience : EventLog
        The animal's moves on its track.
    name : str
        Name of the animal, if there are several.
    """

    events: pd.DataFrame
    sequences: pd.DataFrame
    paths: pd.DataFrame
    experience: EventLog
    name: str = ""


def page_of_folders(
    folders: Sequence[str | Path],
    out: str | Path = "page.html",
    *,
    experiment: str | None = None,
    learners: Sequence[str] = (),
    across_events: bool = False,
) -> Path:
    """Write the page of one or several folders.

    Parameters
    ----------
    folders : sequence of path
        Event logs, or folders that ``replay reproduce`` or ``replay recording`` wrote.
    out : path, default "page.html"
        The file to write.
    experiment : str, optional
        The experiment of a reproduction; by default the maze, or else the first.
    learners : sequence of str
        The learners of a reproduction; by default all whose logs were kept.
    across_events : bool, default False
        Whether causal chains continue from one replay event to the next.

    Returns
    -------
    pathlib.Path
        `out`.

    Raises
    ------
    FileNotFoundError
        If a folder contains neither a log nor results.
    ValueError
        If a folder is damaged or contains results of another command, or has no such experiment or
        learner.
    """
    shown: list[EventLog | DecodedResults] = []
    for given in check_list("folders", folders):
        folder = check_path("folder", given)
        if (folder / "runs.parquet").is_file():
            shown.append(read_log(folder))
            continue
        if not (folder / "manifest.json").is_file():
            raise FileNotFoundError(
                f"{folder} contains neither an event log (runs.parquet and others) nor results "
                "(manifest.json). Name a folder that EventLog.save, replay reproduce or replay "
                "recording wrote."
            )
        manifest = Results(folder).manifest()
        if manifest.get("study") in ("recording", "recordings"):
            shown += read_decoded(folder)
        elif "experiments" in manifest and "learners" in manifest:
            shown += _kept_logs(folder, experiment, learners)
        else:
            raise ValueError(
                f"{folder} was written by {manifest.get('command', 'another command')}, and "
                "contains no replay to show: a page shows event logs, and the results of replay "
                "reproduce and replay recording."
            )
    return write_page(shown, out, across_events=across_events)


def read_log(folder: str | Path) -> EventLog:
    """Read a log with its world, also if ``replay reproduce`` saved it without one.

    Parameters
    ----------
    folder : path
        A folder that `EventLog.save` wrote.

    Returns
    -------
    EventLog
        The log; its world is None if it is unknown.

    Raises
    ------
    replay.LogError
        If it cannot be read.
    """
    log = EventLog.load(folder)
    return EventLog.load(folder, world_of_log(folder)) if log.mdp is None else log


def read_decoded(folder: str | Path) -> list[DecodedResults]:
    """Read the results of ``replay recording``.

    Parameters
    ----------
    folder : path
        The result folder.

    Returns
    -------
    list of DecodedResults
        The tables of each animal, and its moves on its track.

    Raises
    ------
    FileNotFoundError
        If a table is missing.
    ValueError
        If a table is damaged.
    """
    results = Results(folder)
    state_size = results.manifest()["judgement"]["state_size"]
    world = MDP.from_networkx(read_track(results.folder / "track.json"), bin_size=state_size)
    tables = [results.read(name) for name in _DECODED]
    if "animal" not in tables[0]:
        events, sequences, paths, steps = tables
        return [DecodedResults(events, sequences, paths, EventLog({"steps": steps}, mdp=world))]
    found = []
    for animal in tables[0]["animal"].astype(str).unique():
        events, sequences, paths, steps = (
            table[table["animal"].astype(str) == animal].drop(columns="animal") for table in tables
        )
        log = EventLog({"steps": steps}, mdp=world)
        found.append(DecodedResults(events, sequences, paths, log, animal))
    return found


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
    places = [folder / log_folder(name, learner, 0, 0) for learner in learners or made]
    kept = [place for place in places if place.is_dir()]
    if not kept:
        raise FileNotFoundError(
            f"{folder} contains no event log of {name}: it is not finished, or was written with "
            "--log none or without logs to keep. Run replay reproduce again to get one."
        )
    return [read_log(place) for place in kept]
