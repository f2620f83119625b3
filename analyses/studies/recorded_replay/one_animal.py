"""Replay in a recording: its events are tested in blocks; then tables, report and NWB file.

=======================  =========================================================================
``events.csv``           candidate events: evidence, and the kind of those that are replay
``stretches.csv``        the stretches of travel in each event: length, speed, sense
``sequences.parquet``    the place sequences of replay, classified by the experience until then
``kinds.csv``            counts and shares of kinds, by the size of states
``choices.csv``          the same under other sizes of states, ends of laps and criteria
``shares.csv``           shares of kinds, corrected for replay that this recording would miss
``paths.parquet``        the course of each stretch
``experience.parquet``   the animal's moves between states, which can be fed to learners
``spikes.parquet``       the spikes of each event, in cells with place fields
``traces.parquet``       in each event: rate of all cells, speed, position, field potential
``place_fields.parquet``  the rates of these cells along the track
``states.csv``           the positions of states
``track.json``           the track graph
``statistics.csv``       the statistics of replay in this recording, beside published values
``accounts.csv``         the same beside the predictions of accounts of replay
``controls.csv``         kinds of events without replay, and how much evidence they have
``chance.csv``           the evidence of each of these events
``epochs.csv``           rates, shares and statistics in each epoch, if epochs are given
``epoch_differences.csv``  tests of their differences
``epoch_blocks.csv``     the blocks of time over which intervals and tests are
``calibration.csv``      the least evidence of replay, and what reaches it by chance
``notes.csv``            what was read and done, what explains the replay found, and about shares
``report.md``            all results as text, with the criteria, and their limits
``replay.nwb``           events, sequences and paths for other programs, if pynwb is installed
=======================  =========================================================================
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import pandas as pd

from analyses.jobs.cost import WorkCost
from analyses.jobs.results import Results
from analyses.jobs.study import Piece, Runner, Shown, Study
from analyses.recordings.basics.judgement import Judgement
from analyses.recordings.decide.calibration import Calibration
from analyses.recordings.decide.scoring import score_block
from analyses.recordings.recover.simulated_recording import simulated_recording
from analyses.reports.recorded import count_replay, describe_dependence, funnel, replay_by_chance
from analyses.studies.recorded_replay.animal_figures import DRAWINGS, of_one_animal
from analyses.studies.recorded_replay.animal_tables import analyse, write_track
from analyses.studies.recorded_replay.plan import (
    EVENTS,
    AnimalsPlan,
    RecordingPlan,
    cost_of,
    plan_recording,
)

__all__ = ["STUDY", "estimate", "make"]


def _usual_plan(size: float, seed: int) -> RecordingPlan:
    recording = simulated_recording(max(round(60 * size), 6), seed)
    return plan_recording(recording, judgement=Judgement(n_shuffles=max(round(20 * size), 19)))


def make(plan: RecordingPlan | AnimalsPlan, piece: Piece) -> dict[str, pd.DataFrame]:
    """Test a block of the events of an animal."""
    own = plan.animals[piece.group]
    return score_block(own.session, piece.number, own.seed)._asdict()


def estimate(plan: RecordingPlan | AnimalsPlan, left: Sequence[Piece], call: Runner) -> WorkCost:
    """Estimate the cost of what is left."""
    groups = [piece.group for piece in left]
    plans = [(own, groups.count(name)) for name, own in plan.animals.items()]
    [cost] = call(cost_of, [(plans,)])
    return cost


def _summarise(plan: RecordingPlan, results: Results) -> dict[str, pd.DataFrame]:
    write_track(plan, results.folder)
    return analyse(plan, results, EVENTS).tables


def _show(plan: RecordingPlan, tables: Mapping[str, pd.DataFrame]) -> list[Shown]:
    kinds = tables["kinds.csv"]
    own = kinds[kinds["state_size"] == plan.session.judgement.state_size]
    columns = ["kind", "n", "share", "ci_low", "ci_high"]
    chance, events = tables["calibration.csv"], tables["events.csv"]
    calibration = Calibration(*chance.iloc[0]) if len(chance) else None
    shares, notes = tables["shares.csv"], tables["notes.csv"]
    known = [
        "Simulated sessions with the same cells show how much replay is missed."
        if shares["corrected"].notna().any()
        else " ".join(notes.loc[notes["about"] == "shares", "note"]),
        describe_dependence(tables["choices.csv"]),
        "See report.md for details.",
    ]
    told = [
        replay_by_chance(events, calibration),
        *notes.loc[notes["about"] == "replay", "note"],
    ]
    passing = funnel(events, tables["controls.csv"]).round(3)
    return [
        Shown(count_replay(events, calibration), own[columns], " ".join(filter(None, told))),
        *([Shown("Events that pass each control alone:", passing)] if len(passing) else []),
        Shown(
            "Shares of kinds, corrected for replay that this recording would miss:",
            shares.round(3),
            " ".join(filter(None, known)),
        ),
    ]


STUDY = Study(
    "recording",
    "What is replayed in a recording, and how much of it is chance?",
    plan=_usual_plan,
    make=make,
    summarise=_summarise,
    figures={name: partial(of_one_animal, draw) for name, draw in DRAWINGS.items()},
    show=_show,
    estimate=estimate,
    command="replay recording",
)
"""The study of one recording."""
