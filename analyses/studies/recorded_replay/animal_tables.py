"""The tables, the report and the NWB file of one animal."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from analyses.intervals import LEAST_UNITS, mean_interval, mean_share_interval
from analyses.jobs.results import Results
from analyses.measures import STATISTICS
from analyses.recordings.basics.recording import Recording
from analyses.recordings.decide.conclusions import Conclusions, conclude_session
from analyses.recordings.decide.controls import Calibration
from analyses.recordings.decide.epochs import (
    compare_epochs,
    count_blocks,
    count_in_epochs,
    shares_by_choice,
)
from analyses.recordings.decide.scoring import Scored
from analyses.recordings.prepare.detection import multiunit_rate
from analyses.recordings.prepare.place_fields import running
from analyses.recordings.prepare.session import Session
from analyses.recordings.readers.track_graphs import draw_track
from analyses.recordings.recover.known_replay import known_replay
from analyses.recordings.recover.shares import recorded_shares
from analyses.reports.animals import COUNTED, report_of_animal
from analyses.reports.preparation import explanations_of, notes_of
from analyses.reports.recorded import LEAST_SEQUENCES, enough_sequences
from analyses.studies.recorded_replay import RecordingPlan
from analyses.studies.recorded_replay.results_nwb import write_nwb
from analyses.studies.recorded_replay.statistics import (
    LEFT_OUT,
    beside_predictions,
    recorded_statistics,
)
from replay.checks.arrays import Floats
from replay.files import replacing

_SCORED = Scored._fields
_TRACES = ("multiunit_rate", "speed", "x", "y", "field_potential")
_MOST_MOMENTS = 1000  # of a long event, so that tables stay small
_AROUND = 0.1  # s, around an event, so that rates are smoothed to its ends
_RATES = ("candidates_per_minute", "replay_per_minute")


class Analysed(NamedTuple):
    """The results of one animal."""

    found: Conclusions  # its replay
    tables: dict[str, pd.DataFrame]  # tables by the name of their file


def analyse(plan: RecordingPlan, results: Results, group: str, ending: str = "") -> Analysed:
    """Make the tables of an animal, and write its report and NWB file."""
    scored = Scored(*(results.read_pieces(name, group) for name in _SCORED))
    found = conclude_session(plan.session, scored)
    choices = shares_by_choice(plan.session, scored, found)
    shares = recorded_shares(plan.session, found, n_sessions=plan.n_sessions, seed=plan.seed)
    known = known_replay(plan.session, found, n_sessions=plan.n_sessions, seed=plan.seed)
    path, recording = results.folder / f"replay{ending}.nwb", plan.session.recording
    try:
        write_nwb(path, found, recording.origin, recording.digest())
        nwb_note = f"{path.name} contains events, sequences and decoded paths for other programs."
    except ImportError as error:
        nwb_note = f"There is no {path.name}: {error}"
    statistics = recorded_statistics([found], landmarks_of(plan))
    accounts = beside_predictions(enough_sequences(statistics), plan.predictions)
    calibration = [] if found.calibration is None else [found.calibration]
    notes = [("data", note) for note in notes_of(found)]
    notes += [("replay", note) for note in explanations_of(found)]
    notes.append(("shares", shares.note))
    tables = {
        "events.csv": found.events,
        "sequences.parquet": found.sequences,
        "kinds.csv": found.kinds,
        "choices.csv": choices,
        "shares.csv": shares.table,
        "known_replay.parquet": known,
        "states.csv": found.states,
        "stretches.csv": found.stretches,
        "paths.parquet": found.paths,
        "experience.parquet": found.experience.steps,
        "spikes.parquet": _with_units(_spikes(plan), plan),
        "traces.parquet": _traces(plan.session),
        "place_fields.parquet": _with_units(_place_fields(plan.session), plan),
        "statistics.csv": statistics,
        "accounts.csv": accounts,
        "controls.csv": found.controls,
        "chance.csv": found.chance,
        "notes.csv": pd.DataFrame(notes, columns=["about", "note"]),
        "calibration.csv": pd.DataFrame(calibration, columns=Calibration._fields),
        **epoch_tables(found, plan.epochs, landmarks_of(plan), recording, plan.seed),
    }
    report = report_of_animal(found, tables, shares.note, [*LEFT_OUT.values()], nwb_note)
    with replacing(results.folder / f"report{ending}.md") as beside:
        beside.write_text(report, "utf-8")
    return Analysed(found, tables)


def landmarks_of(plan: RecordingPlan) -> dict[str, list[str]] | None:
    """Return the landmarks of the track of a recording."""
    graph = plan.session.recording.graph
    return None if graph is None else graph.graph.get("landmarks")


def write_track(plan: RecordingPlan, folder: Path) -> None:
    """Write the track graph of a recording, on which figures are drawn."""
    with replacing(folder / "track.json") as beside:
        beside.write_text(
            json.dumps(draw_track(plan.session.recording.graph), indent=1) + "\n", "utf-8"
        )


def _with_units(table: pd.DataFrame, plan: RecordingPlan) -> pd.DataFrame:
    """Add the id of each cell where it was recorded, beside its number."""
    recording = plan.session.recording
    units = np.array(recording.units or range(len(recording.spikes)), dtype=str)
    table.insert(list(table).index("cell") + 1, "unit", units[table["cell"].to_numpy(int)])
    return table


def _spikes(plan: RecordingPlan) -> pd.DataFrame:
    """List the spikes of each event in the cells that have place fields.

    A cell that was not observed in an event has no spike there, but a row without a time.
    """
    session = plan.session
    events = session.events[["start_time", "end_time"]].to_numpy(dtype=float)
    parts = [pd.DataFrame({"event": [], "cell": [], "time": []})]
    for cell, seen in zip(session.cells.tolist(), session.seen.T, strict=True):
        spikes = session.recording.spikes[cell]
        own = [
            spikes[slice(*np.searchsorted(spikes, ends))] if is_seen else [np.nan]
            for ends, is_seen in zip(events, seen, strict=True)
        ]
        event = np.repeat(np.arange(len(events)), [len(each) for each in own])
        time = np.concatenate(own) if own else np.empty(0)
        parts.append(pd.DataFrame({"event": event, "cell": cell, "time": time}))
    listed = pd.concat(parts, ignore_index=True).astype({"event": int, "cell": int, "time": float})
    return listed.sort_values(["event", "time", "cell"], ignore_index=True)


def _traces(session: Session) -> pd.DataFrame:
    """List what was measured in each event: each ms with a field potential, else each 2 ms."""
    recording, moved = session.recording, running(session.recording)
    potential = recording.field_potential
    sampled = np.empty(0) if potential is None else potential.time
    seconds = 0.002 if potential is None else 0.001
    parts = [pd.DataFrame({name: [] for name in ("event", "time", *_TRACES)})]
    events = session.events[["start_time", "end_time"]].to_numpy(dtype=float)
    seen = recording.observed.throughout(len(recording.spikes), *events.T)
    for event, (begin, end) in enumerate(events):
        n_moments = min(round((end - begin) / seconds), _MOST_MOMENTS) + 1
        time = np.linspace(begin, end, n_moments)
        values = dict.fromkeys(_TRACES, np.full(len(time), np.nan))
        if recording.spikes:
            own = [
                each[slice(*np.searchsorted(each, [begin - _AROUND, end + _AROUND]))]
                for each, is_seen in zip(recording.spikes, seen[event], strict=True)
                if is_seen
            ]
            moments, rate = multiunit_rate(own, begin - _AROUND, end + _AROUND)
            values["multiunit_rate"] = np.interp(time, moments, rate)
        for name, each in zip(("speed", "x", "y"), (moved.speed, *moved.position.T), strict=True):
            values[name] = np.interp(time, moved.time, each, left=np.nan, right=np.nan)
        if potential is not None:
            first, last = np.searchsorted(sampled, [begin, end])
            rows = slice(max(first - 1, 0), last + 1)
            wave = np.interp(
                time, sampled[rows], potential.signal[rows, 0], left=np.nan, right=np.nan
            )
            after = np.searchsorted(sampled[rows], time).clip(1, len(sampled[rows]) - 1)
            apart = np.abs(sampled[rows][[after - 1, after]] - time).min(axis=0)
            # Where samples are missing, a line between the next ones would look like a wave.
            values["field_potential"] = np.where(apart * potential.rate < 0.75, wave, np.nan)
        parts.append(pd.DataFrame({"event": event, "time": time, **values}))
    table = pd.concat(parts, ignore_index=True).astype({"event": int, "time": float})
    return table.astype(dict.fromkeys(_TRACES, np.float32))


def _place_fields(session: Session) -> pd.DataFrame:
    n_cells, n_bins = session.rates.shape
    track, bins = session.track, np.tile(np.arange(n_bins), n_cells)
    table = pd.DataFrame(
        {
            "cell": np.repeat(session.cells, n_bins),
            "bin": bins if track.whole is None else track.kept[bins],
            "x": track.position[bins, 0],
            "y": track.position[bins, 1],
            "rate": session.rates.ravel(),
        }
    )
    if session.headings is None:
        return table
    rates = session.headings.rates
    return table.assign(rate_ahead=rates[:, :n_bins].ravel(), rate_back=rates[:, n_bins:].ravel())


def epoch_tables(
    found: Conclusions,
    epochs: Mapping[str, Floats],
    landmarks: Mapping[str, Sequence[str]] | None,
    recording: Recording,
    seed: int,
) -> dict[str, pd.DataFrame]:
    """Make the tables of epochs, by the name of their file; none without epochs."""
    if not epochs:
        return {}
    blocks = count_blocks(found.events, epochs, recording.observed, len(recording.spikes))
    counts = count_in_epochs(blocks)
    if found.calibration is not None and np.isnan(found.calibration.n_exchanged):
        # Only events whose evidence could be measured can be replay by chance.
        by_chance = (counts["measure"] == "replay_share") & (counts["total"] > 0)
        is_tested = found.events["evidence"].notna().mean()
        counts.loc[by_chance, "null"] = found.calibration.false_positive_rate * is_tested
    counts.insert(3, "label", counts["measure"].map(COUNTED))
    parts = [counts]
    for name, intervals in epochs.items():
        time = found.visited["time"].to_numpy(dtype=float)[:, None]
        within = ((time >= intervals[:, 0]) & (time < intervals[:, 1])).any(axis=1)
        own = found._replace(visited=found.visited.iloc[np.flatnonzero(within)])
        table = recorded_statistics([own], landmarks) if within.any() else pd.DataFrame()
        if len(table):
            n_blocks = counts.loc[counts["epoch"] == name, "n_blocks"].iloc[0]
            named = table.rename(columns={"statistic": "measure", "n_chains": "n"})
            named = named.assign(epoch=name, n_blocks=n_blocks, total=named["n"])
            named["label"] = [" ".join(str(each).split()) for each in named["label"]]
            parts.append(named[list(counts)].astype({"ci_low": float, "ci_high": float}))
    table = pd.concat(parts, ignore_index=True)
    differences = compare_epochs(blocks, seed)
    differences.insert(3, "label", differences["measure"].map(COUNTED))
    return {"epochs.csv": table, "epoch_differences.csv": differences, "epoch_blocks.csv": blocks}


def epochs_of_all(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Average epochs, and their differences, over animals; none without epochs.

    Animals are the unit of intervals and of the test of each difference, Student's t in both;
    intervals of shares lie within 0 and 1. With fewer than three animals there are none.
    """
    if "epochs.csv" not in tables:
        return {}
    table = tables["epochs.csv"]
    is_counted = table["measure"].isin([*COUNTED])
    table = table[is_counted | (table["n"] >= LEAST_SEQUENCES)].reset_index(drop=True)
    means = _over_animals(table, "value", ["epoch"])
    is_rate = means["measure"].isin(_RATES)
    means["ci_low"] = means["ci_low"].where(~is_rate, means["ci_low"].clip(lower=0.0))
    differences = _over_animals(tables["epoch_differences.csv"], "difference", ["epoch", "other"])
    size = differences["difference"].abs()
    sem = differences["sem"].where(differences["sem"] > 1e-9 * size)  # no test without spread
    p = 2 * stats.t.sf(size / sem, differences["n_animals"] - 1)
    return {
        "epochs_of_all.csv": means.drop(columns="sem"),
        "epoch_differences_of_all.csv": differences.drop(columns="sem").assign(
            p=np.where(differences["n_animals"] < LEAST_UNITS, np.nan, p)
        ),
    }


def _over_animals(table: pd.DataFrame, value: str, epochs: Sequence[str]) -> pd.DataFrame:
    by, ends = [*epochs, "measure"], ["ci_low", "ci_high"]
    order = table[[*by, "label"]].drop_duplicates(by)
    if not len(table):
        return order.assign(**dict.fromkeys((value, "sem", *ends, "n_animals"), np.empty(0)))
    found = mean_interval(table, value, by)
    found[ends] = found[ends].where(found["n"] >= LEAST_UNITS)
    if value == "value":
        shares = table[table["measure"].map(_is_share)]
        within = mean_share_interval(shares.assign(n=shares["total"].clip(lower=1)), value, "n", by)
        found = pd.concat([found[~found["measure"].map(_is_share)], within])
    found = order.merge(found[[*by, "mean", "sem", *ends, "n"]], on=by)
    return found.rename(columns={"mean": value, "n": "n_animals"})


def _is_share(measure: str) -> bool:
    if measure in STATISTICS:
        return STATISTICS[measure].is_share
    return measure not in _RATES
