"""The columns of the tables of a recording."""

from __future__ import annotations

from analyses.jobs.columns import STEP_COLUMNS, Column, Table
from analyses.tables import KINDS

__all__ = ["ANIMAL_COLUMNS", "EPOCH_COLUMNS", "STATE_SIZE", "STATISTIC_COLUMNS"]

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
_EVIDENCE = Column("log of the probability of its spikes with travel, divided by that without")
_STRETCH = Column("the number of its stretch in the event, from 0")
_CONTROL = Column("the kind: `analyses.recordings.decide.controls.CONTROLS` describes each")
_SCORES = {
    "weighted_correlation": Column("of time and place, without its sign; for comparison only"),
    "line_fit": Column("the mean probability near the best straight line; for comparison only"),
}

ANIMAL_COLUMNS = {
    "events.csv": Table.of(
        "candidate event",
        "animal? event start_time end_time peak? n_active? n_spikes? evidence content? p_content? "
        "continuous? weighted_correlation? line_fit? log_odds? log_odds_z? track? "
        "tail_exchanged? tail_worst? p is_replay kind",
        {
            "event": Column("its number, from 0"),
            "peak": Column("its largest rate or ripple power", "standard deviations"),
            "n_active": Column("number of cells that fire in it"),
            "n_spikes": Column("number of spikes in it"),
            "evidence": _EVIDENCE._replace(empty="if too few cells are active, or without spikes"),
            "content": Column("log of the evidence that places are held or travelled through"),
            "p_content": Column("the share of its own exchanges of cells with as much content"),
            "continuous": Column("mean probability of continuous movement, by another program"),
            **_SCORES,
            "p": Column(
                "the share of all events with exchanged cells with as much evidence",
                "",
                "without spikes",
            ),
            "tail_exchanged": Column(
                "the share of events with as much evidence that would be false if all had "
                "exchanged cells"
            ),
            "tail_worst": Column("the same if all events were of the worst control"),
            "log_odds": Column("log odds of one track against the other"),
            "log_odds_z": Column("that, in standard deviations of shuffles"),
            "track": Column("the track of its longest stretch, from 1", "", "without a stretch"),
            "is_replay": Column("whether it counts as replay"),
            "kind": Column("that of its longest sequence", "", "unless it is replay"),
        },
    ),
    "stretches.csv": Table.of(
        "stretch of travel in an event, whether or not this is replay",
        "animal? event stretch start_time end_time share length speed probability forward reverse "
        "sense weighted_correlation line_fit",
        {
            "stretch": Column("its number in the event, from 0"),
            "share": Column("the share of the event's duration"),
            "length": Column("of its course", "cm"),
            "speed": Column("the mean speed of travel", "cm/s"),
            "probability": Column("the mean probability of travel"),
            "forward": Column("the probability that cells head with the travel"),
            "reverse": Column("the probability that they head against it"),
            "sense": Column("`forward`, `reverse` or `undecided`"),
            **_SCORES,
        },
    ),
    "sequences.parquet": Table.of(
        "place sequence of replay in a recording",
        "animal? run episode step time event phase location index first last states length "
        "n_distinct moves along? distance direction novelty composition_order n_episodes "
        "splice_states episode_matched episode_lag from_current_episode shortcut? impossible? "
        "start_time end_time kind stretch",
        {
            "stretch": _STRETCH,
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
    "states.csv": Table.of(
        "state of the track", "animal? state x y", {"state": Column("its number, from 0")}
    ),
    "paths.parquet": Table.of(
        "time bin of a stretch",
        "animal? event stretch time x y along?",
        {"stretch": _STRETCH, "along": _ALONG},
    ),
    "experience.parquet": Table.of("move of the animal between states", f"animal? {STEP_COLUMNS}"),
    "spikes.parquet": Table.of(
        "spike in an event, or cell that was not observed in it",
        "animal? event cell unit time",
        {"time": Column("when it fired", "s", "where the cell was not observed in the event")},
    ),
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
        "animal? cell unit bin x y rate rate_ahead? rate_back?",
        {
            "bin": Column("its number, from 0, without those far from where the animal ran"),
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
    "controls.csv": Table.of(
        "control: a kind of event without replay",
        "animal? control n least_evidence rate ci_low ci_high",
        {
            "control": _CONTROL,
            "n": Column("number of tested events of this kind"),
            "least_evidence": Column("the evidence that at most the level of them reaches"),
            "rate": Column("the share of them that has as much evidence as replay"),
        },
    ),
    "chance.csv": Table.of(
        "control of an event",
        "animal? event control evidence",
        {"control": _CONTROL, "evidence": _EVIDENCE},
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
        "animal? epoch start_time end_time observed candidates replay reverse_episode "
        "forward_episode novel_path ambiguous unexperienced",
        {
            "epoch": EPOCH_COLUMNS["epoch"],
            "observed": Column("how much of it any cell was observed", "s"),
            "candidates": Column("number of candidate events that begin in it"),
            "replay": Column("number of them that are replay"),
            **{kind: Column("number of these of this kind") for kind in KINDS},
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
        "animal? least_evidence false_positive_rate ci_low ci_high n_events worst worst_rate "
        "n_exchanged",
        {
            "least_evidence": Column("events with at least this evidence may be replay"),
            "false_positive_rate": Column(
                "the share of events with exchanged cells that reach it; if events are found in "
                "the posterior: the number that is found and reaches it after an exchange of "
                "cells, per candidate event"
            ),
            "ci_low": Column("lower end of the 95 % interval of this rate"),
            "ci_high": Column("its upper end"),
            "n_events": Column("number of tested events with exchanged cells"),
            "worst": Column("the control of which most reach it"),
            "worst_rate": Column("the share of that control that does"),
            "n_exchanged": Column(
                "number of candidate events that are found in the same time after an exchange of "
                "cells",
                "",
                "unless events are found in the posterior",
            ),
        },
    ),
}
"""File -> description of its rows and columns."""
