"""The tables, the report and the NWB file of one animal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from analyses.jobs.columns import STEP_COLUMNS, Column, Table
from analyses.jobs.results import Results
from analyses.recordings.events.detection import multiunit_rate
from analyses.recordings.fields.running import running
from analyses.recordings.find_replay import conclude_session
from analyses.recordings.kinds.choices import shares_by_choice
from analyses.recordings.kinds.conclusions import Conclusions
from analyses.recordings.readers.track_graphs import draw_track
from analyses.recordings.recovery.shares import recorded_shares
from analyses.recordings.session import Session
from analyses.recordings.significance.calibration import Calibration
from analyses.recordings.significance.scoring import Scored
from analyses.studies.recorded_replay.epochs import describe_epochs, epoch_tables
from analyses.studies.recorded_replay.plan import RecordingPlan
from analyses.studies.recorded_replay.predictions import beside_predictions
from analyses.studies.recorded_replay.report import enough_sequences, write_report
from analyses.studies.recorded_replay.results_nwb import write_nwb
from analyses.studies.recorded_replay.statistics import recorded_statistics
from analyses.tables import KINDS
from replay.files import replacing

__all__ = [
    "ANIMAL_COLUMNS",
    "EPOCH_COLUMNS",
    "STATE_SIZE",
    "STATISTIC_COLUMNS",
    "Analysed",
    "analyse",
]
__all__ += ["landmarks_of", "write_track"]

_SCORED = Scored._fields
_TRACES = ("multiunit_rate", "speed", "x", "y", "field_potential")
_MOST_MOMENTS = 1000
_AROUND = 0.1  # s, around an event, so that rates are smoothed to its ends

STATE_SIZE = Column("the distance between neighbouring states", "cm")

STATISTIC_COLUMNS = {
    "null": Column("the value expected by chance", "", "if the statistic has no null"),
    "p": Column("that of a test over animals", "", "with fewer than two animals"),
    "n_above": Column("number of animals above their null"),
    "n_below": Column("number of animals below their null"),
    "chance_above": Column(
        "the probability that an animal lies above by chance", "", "if that is 0.5"
    ),
    "n_chains": Column("number of sequences that were counted"),
    "sources": Column("the studies that published these numbers", "", "if there are none"),
}
"""Columns of tables of statistics that mean something else elsewhere."""

EPOCH_COLUMNS = {
    "epoch": Column("its name"),
    "n_blocks": Column("number of blocks of time, over which intervals are"),
    "measure": Column("the name of a rate, a kind or a statistic"),
    "label": Column("the same in words"),
    "other": Column("the epoch that is compared with it"),
}
"""Columns of tables of epochs."""

_ALONG = Column(
    "whether the heading that cells represent is the direction of travel (1), the opposite (-1), "
    "or not told (0)"
)

ANIMAL_COLUMNS = {
    "events.csv": Table.of(
        "candidate event",
        "animal? event start_time end_time peak? n_active n_spikes score p_cell_identity? "
        "p_circular_fields? p order largest_jump log_odds? log_odds_z? track? heading_p? "
        "heading_evidence? heading_odds? passes_by_chance? is_replay is_heading_told? kind",
        {
            "event": Column("its number, from 0"),
            "peak": Column("its largest rate or ripple power", "standard deviations"),
            "n_active": Column("number of cells that fire in it"),
            "n_spikes": Column("number of spikes in it"),
            "p_cell_identity": Column(
                "p against shuffled identities of cells", "", "without spikes"
            ),
            "p_circular_fields": Column(
                "p against circularly shifted place fields", "", "without spikes"
            ),
            "p": Column("the largest of these", "", "without spikes"),
            "order": Column(
                "log of the evidence for movement along the track, divided by that for places in "
                "no order",
                "",
                "without spikes",
            ),
            "passes_by_chance": Column("whether it would pass with randomised cells"),
            "log_odds": Column("log odds of one track against the other"),
            "log_odds_z": Column("that, in standard deviations of shuffles"),
            "largest_jump": Column("between the most probable places of time bins", "cm"),
            "track": Column("the track of its path, from 1", "", "without a path"),
            "heading_p": Column(
                "p of the better heading of its path, against events without a heading",
                "",
                "without spikes",
            ),
            "heading_evidence": Column(
                "log of the evidence with headings, divided by that without", "", "without spikes"
            ),
            "heading_odds": Column(
                "log of the likelihood in the heading of its path, divided by that in the other",
                "",
                "without spikes",
            ),
            "is_replay": Column("whether it counts as replay"),
            "is_heading_told": Column("whether its cells tell the heading that they represent"),
            "kind": Column("that of its longest sequence", "", "unless it is replay"),
        },
    ),
    "sequences.parquet": Table.of(
        "place sequence of replay in a recording",
        "animal? run episode step time event phase location index first last states length "
        "n_distinct moves along? distance direction novelty composition_order n_episodes "
        "splice_states episode_matched episode_lag from_current_episode shortcut? impossible? "
        "start_time end_time kind",
        {
            "index": Column("the number of its first reactivation in the event, from 0"),
            "along": Column(f"for each state, {_ALONG.meaning}"),
        },
    ),
    "kinds.csv": Table.of(
        "kind of replay at a size of states",
        "animal? state_size states_per_metre kind n n_events share ci_low ci_high",
        {
            "state_size": STATE_SIZE,
            "states_per_metre": Column("states along a metre of track", "1/m"),
            "n": Column("number of events of this kind"),
            "n_events": Column("number of events that are replay and have a sequence"),
        },
    ),
    "choices.csv": Table.of(
        "kind of replay under a choice",
        "animal? choice value kind n n_events share ci_low ci_high",
        {
            "choice": Column("what is changed: states, laps or criteria, one at a time"),
            "value": Column("to what", "", "as chosen"),
            "n": Column("number of events of this kind"),
            "n_events": Column("number of events that are replay"),
        },
    ),
    "shares.csv": Table.of(
        "kind of replay",
        "animal? kind found corrected ci_low ci_high recall",
        {"recall": Column("the share of it that is found", "", "without simulated sessions")},
    ),
    "states.csv": Table.of("state of the track", "animal? state x y"),
    "paths.parquet": Table.of(
        "time bin of an event",
        "animal? event time x y along?",
        {"along": _ALONG},
    ),
    "experience.parquet": Table.of("move of the animal between states", f"animal? {STEP_COLUMNS}"),
    "spikes.parquet": Table.of("spike in an event", "animal? event cell time"),
    "traces.parquet": Table.of(
        "moment of an event",
        "animal? event time multiunit_rate speed x y field_potential",
        {
            "multiunit_rate": Column("the smoothed rate of all cells together", "Hz", "no spikes"),
            "speed": Column("the speed of the animal", "cm/s", "if unknown"),
            "x": Column("the position of the animal", "cm", "if unknown"),
            "y": Column("the same", "cm", "if unknown"),
            "field_potential": Column("its first channel", "", "unless ripples were detected"),
        },
    ),
    "place_fields.parquet": Table.of(
        "cell and bin of the track",
        "animal? cell bin x y rate rate_ahead? rate_back?",
        {
            "bin": Column("the number of the bin, from 0"),
            "rate": Column("the rate in running", "Hz"),
            "rate_ahead": Column("that towards the second node of its edge", "Hz"),
            "rate_back": Column("that towards the first node of its edge", "Hz"),
        },
    ),
    "statistics.csv": Table.of(
        "statistic",
        "animal? statistic label value ci_low ci_high null p n_animals n_above n_below "
        "chance_above n_chains published_low published_high sources",
        STATISTIC_COLUMNS,
    ),
    "accounts.csv": Table.of(
        "statistic of a recording, published finding and account",
        "animal? statistic label value ci_low ci_high null finding source task likelihood "
        "published published_low published_high account is_control predicted_low predicted "
        "predicted_high",
        {
            "null": STATISTIC_COLUMNS["null"],
            "source": Column("first author and year of the finding"),
            "likelihood": Column("what is known of the finding"),
            "published": Column("the published value", "", "if only a direction is known"),
            "published_low": Column("lower end of its interval", "", "if no error is known"),
            "published_high": Column("upper end of its interval", "", "if no error is known"),
            "predicted_low": Column("5 % of simulated studies lie below", "", "without replay"),
            "predicted": Column("the median of simulated studies", "", "without replay"),
            "predicted_high": Column("95 % of them lie below", "", "without replay"),
        },
    ),
    "chance.csv": Table.of("event with randomised cells", "animal? event score order p"),
    "unordered.csv": Table.of(
        "kind of event that represents places in no order",
        "animal? null n rate ci_low ci_high",
        {
            "null": Column("the kind"),
            "n": Column("number of simulated events"),
            "rate": Column("the share of them that pass as replay"),
        },
    ),
    "epochs.csv": Table.of(
        "epoch and measure",
        "animal? epoch n_blocks measure label n total value ci_low ci_high null",
        {
            **EPOCH_COLUMNS,
            "n": Column("number of events that are counted"),
            "total": Column("what it is divided by: minutes for rates, else events"),
            "value": Column("the rate or share, or the statistic"),
            "null": Column("the value expected by chance", "", "if it is not known"),
        },
    ),
    "epoch_differences.csv": Table.of(
        "pair of epochs other than the run, and measure",
        "animal? epoch other measure label value other_value difference ci_low ci_high p",
        {
            **EPOCH_COLUMNS,
            "value": Column("that in the epoch", "", "without events"),
            "other_value": Column("that in the other one", "", "without events"),
            "difference": Column("the other less the epoch", "", "without events"),
            "p": Column(
                "that of a permutation of blocks", "", "with fewer than four blocks, or no events"
            ),
        },
    ),
    "epoch_blocks.csv": Table.of(
        "block of time of an epoch",
        "animal? epoch start_time end_time candidates replay reverse_episode forward_episode "
        "novel_path ambiguous unexperienced by_chance?",
        {
            "epoch": EPOCH_COLUMNS["epoch"],
            "candidates": Column("number of candidate events that begin in it"),
            "replay": Column("number of them that are replay"),
            **{kind: Column("number of these of this kind") for kind in KINDS},
            "by_chance": Column("number of candidate events that pass with randomised cells"),
        },
    ),
    "notes.csv": Table.of(
        "sentence of the report",
        "animal? about note",
        {
            "about": Column(
                "`data`: what was read and done; `replay`: what explains how much was found; "
                "`shares`: how they were corrected, or why not"
            ),
            "note": Column("the sentence"),
        },
    ),
    "calibration.csv": Table.of(
        "recording",
        "animal? threshold false_positive_rate at_nominal n_events least_order heading_p "
        "heading_evidence ci_low ci_high n_exchanged",
        {
            "threshold": Column("events with a p of at most this are replay"),
            "false_positive_rate": Column(
                "the share of randomised events that pass it; if events are found in the "
                "posterior: the number that is found and passes after an exchange of cells, per "
                "candidate event"
            ),
            "ci_low": Column("lower end of the 95 % interval of this rate"),
            "ci_high": Column("its upper end"),
            "n_exchanged": Column(
                "number of candidate events that are found in the same time after an exchange of "
                "cells",
                "",
                "unless events are found in the posterior",
            ),
            "at_nominal": Column("the share of them that would pass the nominal level"),
            "n_events": Column("number of events with randomised cells"),
            "least_order": Column("events with an order of at least this are replay"),
            "heading_p": Column(
                "headings of replay with a heading_p of at most this may be told",
                "",
                "without headings",
            ),
            "heading_evidence": Column(
                "headings of replay with a heading_evidence of at least this may be told",
                "",
                "without headings",
            ),
        },
    ),
}
"""File -> description of its rows and columns."""


class Analysed(NamedTuple):
    """The results of one animal.

    Attributes
    ----------
    found : Conclusions
        Its replay.
    tables : dict of str to DataFrame
        Tables by the name of their file.
    """

    found: Conclusions
    tables: dict[str, pd.DataFrame]


def analyse(plan: RecordingPlan, results: Results, group: str, ending: str = "") -> Analysed:
    """Make the tables of an animal, and write its report and NWB file."""
    scored = Scored(*(results.read_pieces(name, group) for name in _SCORED))
    found = conclude_session(plan.session, scored)
    choices = shares_by_choice(plan.session, scored, found)
    shares = recorded_shares(plan.session, found, n_sessions=plan.n_sessions, seed=plan.seed)
    nwb_note = _write_nwb(plan, results.folder / f"replay{ending}.nwb", found)
    statistics = recorded_statistics([found], landmarks_of(plan))
    accounts = beside_predictions(enough_sequences(statistics), plan.predictions)
    epochs = epoch_tables(found, plan.epochs, landmarks_of(plan), plan.seed)
    with replacing(results.folder / f"report{ending}.md") as beside:
        write_report(
            beside, plan.session, found, choices, shares, statistics, accounts,
            describe_epochs(epochs, len(found.events)), nwb_note,
        )  # fmt: skip
    calibration = [] if found.calibration is None else [found.calibration]
    tables = {
        "events.csv": found.events,
        "sequences.parquet": found.sequences,
        "kinds.csv": found.kinds,
        "choices.csv": choices,
        "shares.csv": shares.table,
        "states.csv": found.states,
        "paths.parquet": found.paths,
        "experience.parquet": found.experience.steps,
        "spikes.parquet": _spikes(plan),
        "traces.parquet": _traces(plan.session),
        "place_fields.parquet": _place_fields(plan.session),
        "statistics.csv": statistics,
        "accounts.csv": accounts,
        "chance.csv": scored.by_chance,
        "unordered.csv": found.unordered,
        "notes.csv": _notes(found, shares.note),
        "calibration.csv": pd.DataFrame(calibration, columns=Calibration._fields),
        **epochs,
    }
    return Analysed(found, tables)


def _notes(found: Conclusions, about_shares: str) -> pd.DataFrame:
    rows = [("data", note) for note in found.notes if note not in found.explanations]
    rows += [("replay", note) for note in found.explanations]
    return pd.DataFrame([*rows, ("shares", about_shares)], columns=["about", "note"])


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


def _spikes(plan: RecordingPlan) -> pd.DataFrame:
    """List the spikes of each event in the cells that have place fields."""
    events = plan.session.events[["start_time", "end_time"]].to_numpy(dtype=float)
    parts = [pd.DataFrame({"event": [], "cell": [], "time": []})]
    for cell in plan.session.cells.tolist():
        spikes = plan.session.recording.spikes[cell]
        first, last = np.searchsorted(spikes, events).T
        event = np.repeat(np.arange(len(events)), last - first)
        own = [spikes[one:other] for one, other in zip(first, last, strict=True)]
        time = np.concatenate(own) if own else np.empty(0)
        parts.append(pd.DataFrame({"event": event, "cell": cell, "time": time}))
    listed = pd.concat(parts, ignore_index=True).astype({"event": int, "cell": int, "time": float})
    return listed.sort_values(["event", "time", "cell"], ignore_index=True)


def _traces(session: Session) -> pd.DataFrame:
    """List what was measured in each event: each ms with a field potential, else each 2 ms."""
    recording, moved = session.recording, running(session.recording)
    seconds = 0.002 if recording.field_potential is None else 0.001
    parts = [pd.DataFrame({name: [] for name in ("event", "time", *_TRACES)})]
    for event, (begin, end) in enumerate(
        session.events[["start_time", "end_time"]].to_numpy(dtype=float)
    ):
        n_moments = min(round((end - begin) / seconds), _MOST_MOMENTS) + 1
        time = np.linspace(begin, end, n_moments)
        values = dict.fromkeys(_TRACES, np.full(len(time), np.nan))
        if recording.spikes:
            own = [
                each[slice(*np.searchsorted(each, [begin - _AROUND, end + _AROUND]))]
                for each in recording.spikes
            ]
            moments, rate = multiunit_rate(own, begin - _AROUND, end + _AROUND)
            values["multiunit_rate"] = np.interp(time, moments, rate)
        for name, each in zip(("speed", "x", "y"), (moved.speed, *moved.position.T), strict=True):
            values[name] = np.interp(time, moved.time, each, left=np.nan, right=np.nan)
        if recording.field_potential is not None:
            start, hertz, signal = recording.field_potential
            first, last = (np.array([begin, end]) - start) * hertz
            rows = np.arange(max(int(first) - 1, 0), min(int(last) + 2, len(signal)))
            values["field_potential"] = np.interp(
                time, start + rows / hertz, signal[rows, 0], left=np.nan, right=np.nan
            )
        parts.append(pd.DataFrame({"event": event, "time": time, **values}))
    table = pd.concat(parts, ignore_index=True).astype({"event": int, "time": float})
    return table.astype(dict.fromkeys(_TRACES, np.float32))


def _place_fields(session: Session) -> pd.DataFrame:
    n_cells, n_bins = session.rates.shape
    bins = np.tile(np.arange(n_bins), n_cells)
    table = pd.DataFrame(
        {
            "cell": np.repeat(session.cells, n_bins),
            "bin": bins,
            "x": session.track.position[bins, 0],
            "y": session.track.position[bins, 1],
            "rate": session.rates.ravel(),
        }
    )
    if session.headings is None:
        return table
    rates = session.headings.rates
    return table.assign(rate_ahead=rates[:, :n_bins].ravel(), rate_back=rates[:, n_bins:].ravel())


def _write_nwb(plan: RecordingPlan, path: Path, found: Conclusions) -> str:
    """Write the NWB file; return a text that names it, or says why there is none."""
    try:
        write_nwb(path, found, plan.session.recording.origin, plan.session.recording.digest())
    except ImportError as error:
        return f"There is no {path.name}: {error}"
    return f"{path.name} contains events, sequences and decoded paths for other programs."
