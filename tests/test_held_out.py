"""Whether fields of running hold in events, on rats that share no code with the analysis."""

import pytest
from verification.simulated_rats import Rat, simulate_rat, with_events

from analyses.recordings.decide.held_out import held_out
from analyses.recordings.prepare.session import prepare
from analyses.reports.preparation import describe_held_out

SEEDS = (1, 2, 3)


def sessions(seeds=SEEDS, **rat):
    return [prepare(with_events(simulate_rat(Rat(**rat), seed))) for seed in seeds]


@pytest.mark.parametrize("rat", [{}, {"cells": 25, "noise": 2.0, "bursts": 0.3, "merged": 0.3}])
def test_fields_that_hold_raise_no_alarm(rat):
    for session in sessions(SEEDS[:2], **rat):
        found = held_out(session)
        assert found.holds.mean() > 0.9
        assert found.observed > 0.8
        [sentence] = describe_held_out(session, found)
        assert "remapp" not in sentence


def test_half_of_the_cells_remapped_is_told():
    """In 19 of 20 such rats; of these, 4 look like no replay."""
    told = [describe_held_out(session, held_out(session))[0] for session in sessions(remapped=0.5)]
    assert sum("may have remapped" in sentence for sentence in told) >= 2


def test_all_cells_remapped_look_like_no_replay():
    for session in sessions(SEEDS[:2], remapped=1.0):
        assert "hardly any of these is replay" in describe_held_out(session, held_out(session))[0]


def test_nothing_is_said_of_too_few_spikes_or_other_decoders():
    [session] = sessions(SEEDS[:1], n_events=2)
    assert describe_held_out(session, held_out(session)) == []
    for counts in ([], [0 * session.counts[0]]):
        other = session._replace(counts=counts)
        assert describe_held_out(other, held_out(other)) == []
