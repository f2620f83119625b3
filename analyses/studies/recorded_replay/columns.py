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
    "states.csv": Table.of(
        "state of the track", "animal? state x y", {"state": Column("its number, from 0")}
    ),
    "paths.parquet": Table.of(
        "time bin of an event",
        "animal? event time x y along?",
        {"along": _ALONG},
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
        "animal? epoch start_time end_time observed candidates replay reverse_episode "
        "forward_episode novel_path ambiguous unexperienced by_chance?",
        {
            "epoch": EPOCH_COLUMNS["epoch"],
            "observed": Column("how much of it any cell was observed", "s"),
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
