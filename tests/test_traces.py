"""Traces by hand, and compared with a table that holds the trace of every pair."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import replay.parts.traces
from replay.log.backups import ONLINE, TRACE, backup_buffer
from replay.parts.traces import add_trace, back_up_traced, clear_traces, traces

N_STATES, N_ACTIONS = 3, 2
N_PAIRS = N_STATES * N_ACTIONS
NO_LOG = None


def rows(log):
    return log.rows[: log.counter[1]]


def test_by_hand():
    """Two pairs, decay 0.5, learning rate 0.1: the older one gets half as much."""
    values = np.zeros((N_STATES, N_ACTIONS))
    kept = traces(N_STATES, N_ACTIONS, 0.5, 100)
    log = backup_buffer(10, "all")
    add_trace(kept, values, 0, reward=0.25, next_state=1, log=log)
    back_up_traced(kept, values, 1.0, 0.1, ONLINE, log)
    add_trace(kept, values, 3, reward=0.75, next_state=2, log=log)
    back_up_traced(kept, values, 2.0, 0.1, ONLINE, log)
    assert values == pytest.approx(np.array([[0.1 + 0.1, 0.0], [0.0, 0.2], [0.0, 0.0]]))
    logged = rows(log)
    assert logged["phase"].tolist() == [ONLINE, ONLINE, TRACE]
    assert logged[["state", "action", "next_state"]].tolist() == [(0, 0, 1), (1, 1, 2), (0, 0, 1)]
    assert logged["reward"].tolist() == [0.25, 0.75, 0.25]
    assert logged["q_before"] == pytest.approx(np.array([0.0, 0.0, 0.1]))
    assert logged["q_after"] == pytest.approx(np.array([0.1, 0.2, 0.2]))


def test_a_trace_is_replaced_not_added():
    values = np.zeros((N_STATES, N_ACTIONS))
    kept = traces(N_STATES, N_ACTIONS, 0.5, 100)
    for pair in (0, 1, 0):
        add_trace(kept, values, pair, 0.0, 1, NO_LOG)
    back_up_traced(kept, values, 1.0, 1.0, ONLINE, NO_LOG)
    assert values[0].tolist() == [1.0, 0.5]


def test_an_untried_pair_takes_the_whole_error():
    values = np.full((N_STATES, N_ACTIONS), np.inf)
    kept = traces(N_STATES, N_ACTIONS, 0.5, 100)
    add_trace(kept, values, 0, 0.0, 1, NO_LOG)
    back_up_traced(kept, values, 3.0, 0.1, ONLINE, NO_LOG)
    assert values[0].tolist() == [3.0, np.inf]


@pytest.mark.parametrize(
    ("decay", "n_steps", "n_kept"),
    [
        (0.0, 100, 1),
        (0.1, 100, 14),  # 1e-12 in floating point is still a little above the limit
        (0.5, 1000, 41),  # 2**-39 > 1e-12 >= 2**-40
        (0.5, 10, 10),
        (1.0, 50, 50),
    ],
)
def test_traces_are_kept_until_they_are_small_or_the_episode_is_over(decay, n_steps, n_kept):
    strength = traces(N_STATES, N_ACTIONS, decay, n_steps).strength
    assert strength[-1] == 1.0
    assert strength[:-1] == pytest.approx(decay * strength[1:])
    assert (strength[1:] > 1e-12).all()
    assert len(strength) == n_kept


def test_what_is_logged_is_what_the_table_shows(monkeypatch):
    """Also where pairs come again, and have to move to the front because room is short."""
    monkeypatch.setattr(replay.parts.traces, "_ROOM", 1)
    values = np.zeros((N_STATES, N_ACTIONS))
    kept = traces(N_STATES, N_ACTIONS, 0.25, 100)
    log = backup_buffer(10_000, "all")
    rng = np.random.default_rng(0)
    for step in range(300):
        before = values.copy()
        add_trace(kept, values, int(rng.integers(N_PAIRS)), float(step), step % N_STATES, log)
        n_logged = len(rows(log))
        back_up_traced(kept, values, rng.normal(), 0.5, ONLINE, log)
        logged = rows(log)[n_logged:]
        pairs = list(zip(logged["state"].tolist(), logged["action"].tolist(), strict=True))
        assert len(set(pairs)) == len(pairs) > 0
        assert logged["phase"].tolist() == [ONLINE] + [TRACE] * (len(pairs) - 1)
        assert (np.diff(logged["reward"]) < 0).all()
        for pair, row in zip(pairs, logged, strict=True):
            assert (row["q_before"], row["q_after"]) == (before[pair], values[pair])
        untouched = np.ones_like(values, dtype=bool)
        untouched[tuple(np.transpose(pairs))] = False
        assert (values[untouched] == before[untouched]).all()
    assert kept.end[0] <= len(kept.pair) < 300


@given(
    st.lists(st.tuples(st.integers(0, N_PAIRS - 1), st.integers(-3, 3), st.booleans())),
    st.sampled_from([0.0, 0.001, 0.5, 0.9]),
    st.sampled_from([0.0, np.inf]),
    st.sampled_from([1, replay.parts.traces._ROOM]),
)
def test_like_a_table_of_traces(steps, decay, initial_value, room):
    """The published form: e = 1, Q += rate * error * e, e *= decay, and e = 0 if e <= 1e-12."""
    with mock.patch.object(replay.parts.traces, "_ROOM", room):
        kept = traces(N_STATES, N_ACTIONS, decay, max(len(steps), 1))
    values = np.full((N_STATES, N_ACTIONS), initial_value)
    table = values.reshape(-1).copy()
    trace = np.zeros(N_PAIRS)
    for pair, error, ends in steps:
        add_trace(kept, values, pair, 0.0, 0, NO_LOG)
        back_up_traced(kept, values, float(error), 0.5, ONLINE, NO_LOG)
        trace[pair] = 1.0
        untried = np.isinf(table[pair])
        traced = (trace > 0) & np.isfinite(table)
        table[traced] += 0.5 * error * trace[traced]
        if untried:
            table[pair] = error
        trace = np.where(trace <= 1e-12, 0.0, trace * decay)
        if ends:
            clear_traces(kept)
            trace[:] = 0.0
        np.testing.assert_allclose(values.reshape(-1), table, rtol=0, atol=1e-12)
