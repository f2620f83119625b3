"""The tables, the report and the NWB file of one animal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from analyses.jobs.results import Results
from analyses.recordings.conclusions import Conclusions, conclude
from analyses.recordings.predictions import beside_predictions
from analyses.recordings.readers.track_graphs import draw_track
from analyses.recordings.recovery.shares import recorded_shares
from analyses.recordings.report import write_report
from analyses.recordings.results_nwb import write_nwb
from analyses.recordings.scoring import Scored
from analyses.recordings.session import Session
from analyses.recordings.significance.calibration import Calibration
from analyses.studies.recorded_replay.plan import RecordingPlan
from analyses.studies.recorded_replay.statistics import recorded_statistics
from replay.files import replacing

__all__ = ["Analysed", "analyse", "landmarks_of", "write_track"]

_SCORED = ("events", "paths", "by_chance")


class Analysed(NamedTuple):
    """What came out of one animal.

    Attributes
    ----------
    found : Conclusions
        What it replayed.
    tables : dict of str to DataFrame
        By the name of their file.
    """

    found: Conclusions
    tables: dict[str, pd.DataFrame]


def analyse(plan: RecordingPlan, results: Results, group: str, ending: str = "") -> Analysed:
    """Make the tables of an animal, and write its report and NWB file.

    Parameters
    ----------
    plan : RecordingPlan
        The plan.
    results : Results
        The folder that holds its scored events.
    group : str
        The group of these pieces.
    ending : str, optional
        What is added to the names of the report and of the NWB file.

    Returns
    -------
    Analysed
        What was replayed, and its tables.
    """
    scored = Scored(*(results.read_pieces(name, group) for name in _SCORED))
    found = conclude(plan.recording, plan.session, plan.judgement, scored)
    shares = recorded_shares(
        plan.recording, plan.session, found, plan.settings, plan.judgement,
        n_sessions=plan.n_sessions, seed=plan.seed,
    )  # fmt: skip
    told = _write_nwb(plan, results.folder / f"replay{ending}.nwb", found)
    statistics = recorded_statistics([found], landmarks_of(plan))
    accounts = beside_predictions(statistics, plan.predictions)
    with replacing(results.folder / f"report{ending}.md") as beside:
        write_report(
            beside, plan.recording, found, shares, statistics, accounts, plan.settings,
            plan.judgement, told,
        )  # fmt: skip
    calibration = [] if found.calibration is None else [found.calibration]
    tables = {
        "events.csv": found.events,
        "sequences.parquet": found.sequences,
        "kinds.csv": found.kinds,
        "shares.csv": shares.table,
        "states.csv": found.states,
        "paths.parquet": found.paths,
        "experience.parquet": found.experience.steps,
        "spikes.parquet": _spikes(plan),
        "place_fields.parquet": _place_fields(plan.session),
        "statistics.csv": statistics,
        "accounts.csv": accounts,
        "chance.csv": scored.by_chance,
        "calibration.csv": pd.DataFrame(calibration, columns=Calibration._fields),
    }
    return Analysed(found, tables)


def landmarks_of(plan: RecordingPlan) -> dict[str, list[str]] | None:
    """Give the landmarks that the track of a recording has.

    Parameters
    ----------
    plan : RecordingPlan
        The plan.

    Returns
    -------
    dict of str to list of str, or None
        Name -> nodes.
    """
    graph = plan.recording.graph
    return None if graph is None else graph.graph.get("landmarks")


def write_track(plan: RecordingPlan, folder: Path) -> None:
    """Write the track graph of a recording, which figures are drawn on.

    Parameters
    ----------
    plan : RecordingPlan
        The plan.
    folder : Path
        Where ``track.json`` is written.
    """
    with replacing(folder / "track.json") as beside:
        beside.write_text(json.dumps(draw_track(plan.recording.graph), indent=1) + "\n", "utf-8")


def _spikes(plan: RecordingPlan) -> pd.DataFrame:
    """List the spikes of each event in the cells that have place fields."""
    events = plan.session.events[["start_time", "end_time"]].to_numpy(dtype=float)
    parts = [pd.DataFrame({"event": [], "cell": [], "time": []})]
    for cell in plan.session.cells.tolist():
        spikes = plan.recording.spikes[cell]
        first, last = np.searchsorted(spikes, events).T
        event = np.repeat(np.arange(len(events)), last - first)
        own = [spikes[one:other] for one, other in zip(first, last, strict=True)]
        time = np.concatenate(own) if own else np.empty(0)
        parts.append(pd.DataFrame({"event": event, "cell": cell, "time": time}))
    listed = pd.concat(parts, ignore_index=True).astype({"event": int, "cell": int, "time": float})
    return listed.sort_values(["event", "time", "cell"], ignore_index=True)


def _place_fields(session: Session) -> pd.DataFrame:
    n_cells, n_bins = session.rates.shape
    bins = np.tile(np.arange(n_bins), n_cells)
    return pd.DataFrame(
        {
            "cell": np.repeat(session.cells, n_bins),
            "bin": bins,
            "x": session.track.position[bins, 0],
            "y": session.track.position[bins, 1],
            "rate": session.rates.ravel(),
        }
    )


def _write_nwb(plan: RecordingPlan, path: Path, found: Conclusions) -> str:
    """Write the NWB file; without pynwb, say why there is none."""
    try:
        write_nwb(path, found, plan.recording.origin, plan.recording.digest())
    except ImportError as error:
        return f"There is no {path.name}: {error}"
    return f"{path.name} holds events, sequences and decoded paths for other programs."
