"""Shares of kinds corrected for missed replay, and when they can't be corrected."""

import re
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from analyses.recordings import find_replay
from analyses.recordings.basics.binned_track import cut_track
from analyses.recordings.basics.settings import Judgement
from analyses.recordings.prepare.recorded_experience import check_state_size
from analyses.recordings.prepare.session import prepare
from analyses.recordings.recover.observe import observe
from analyses.recordings.recover.shares import recorded_shares
from analyses.recordings.recover.similar_paths import inject_similar
from analyses.recordings.recover.simulated_recording import simulated_recording
from replay import MDP
from replay.log.event_log import EventLog
from replay.worlds.tracks import make_linear_track, make_wtrack

JUDGEMENT = Judgement(n_shuffles=4, n_controls=2, other_sizes=())
THREE = ["reverse_episode", "forward_episode", "novel_path"]


def shares_of(recording, **given):
    found = find_replay(recording, judgement=JUDGEMENT)
    return recorded_shares(prepare(recording, judgement=JUDGEMENT), found, **given)


@pytest.fixture(scope="module")
def recording():
    return simulated_recording(12)


@pytest.fixture(scope="module")
def found(recording):
    return find_replay(recording, judgement=JUDGEMENT)


@pytest.fixture(scope="module")
def own(recording):
    return prepare(recording, judgement=JUDGEMENT)


@pytest.fixture(scope="module")
def shares(found, own):
    return recorded_shares(own, found, n_sessions=1)


def test_where_all_is_found_shares_stay(shares):
    table = shares.table.set_index("kind")
    assert table.index.tolist() == THREE
    assert table["found"].tolist() == pytest.approx([1 / 3] * 3)
    assert (table["recall"] > 0.9).all()
    assert (table["corrected"] - table["found"]).abs().max() < 0.03
    assert table["corrected"].sum() == pytest.approx(1)
    assert ((table["ci_low"] < 0.3) & (table["ci_high"] > 0.4)).all()  # of 12 events


def test_the_sentence_tells_what_replay_was_like(shares):
    """Made 400 cm/s and 2.9 times as fast as in running; the ways are 120 and 320 cm long."""
    said = re.search(
        r"median ([\d.]+) cm\), speeds \(([\d.]+) m/s\) and gain \(([\d.]+)", shares.note
    )
    length, speed, gain = map(float, said.groups())
    assert 100 < length < 250
    assert speed == pytest.approx(4, abs=0.8)
    assert gain == pytest.approx(2.9, abs=0.4)
    assert "at known times" in shares.note


def test_replay_is_shorter_than_what_is_found(found, own, monkeypatch):
    """What is found lasts twice as long as what was put in: so what is put in is made shorter."""
    asked = []

    def injected(session, found, replay, *others):
        asked.append(replay)
        lasts = replay.length / replay.speed
        return pd.DataFrame(
            {
                "true_kind": replay.kind, "kind": replay.kind, "distance": replay.length,
                "true_length": replay.length, "true_speed": replay.speed, "true_lasts": lasts,
                "lasts": 2 * lasts, "n_spikes": 30, "expected": 10.0, "gain": replay.gain,
            }
        )  # fmt: skip

    monkeypatch.setattr("analyses.recordings.recover.similar_paths._injected", injected)
    inject_similar(own, found, 3, np.random.default_rng(0))
    lasts = [np.median(each.length / each.speed) for each in asked]
    assert lasts[1] == pytest.approx(lasts[0] / 2)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_shares(found, own, shares):
    again = recorded_shares(own, found, n_sessions=1)
    pd.testing.assert_frame_equal(again.table, shares.table, check_exact=True)
    one, other = (inject_similar(own, found, 1, np.random.default_rng(seed))[0] for seed in (0, 1))
    assert not other.equals(one)


@pytest.mark.slow
def test_what_was_run_both_ways_is_ambiguous():
    """If everything was run in both directions, paths are ambiguous or novel."""
    graph = make_wtrack()
    world = MDP.from_networkx(graph, bin_size=15.0)
    outward, other = (_way(graph, world, end) for end in (3, 5))
    laps = [outward, outward[::-1], other, other[::-1]] * 6
    steps = _steps(laps)
    novel = [*outward[::-1][:-1], *other[other.index(1) :]]
    replayed = [outward, novel] * 10
    paths = pd.DataFrame({"step": len(steps["state"]) - 1, "states": replayed})
    log = EventLog({"steps": steps}, mdp=world)
    seen = observe(log, graph, paths, cells=60, speed=400.0).recording
    found = shares_of(seen, n_sessions=1)
    assert set(found.table["kind"]) == {"ambiguous", "novel_path"}, found.note


def _way(graph, world, end):
    import networkx as nx

    from analyses.sequences.track import graph_of_log

    return nx.shortest_path(graph_of_log(EventLog({}, mdp=world)), 4, end)


def _steps(laps):
    moves = [move for lap in laps for move in pairwise(lap)]
    ends = np.cumsum([len(lap) - 1 for lap in laps]) - 1
    return {
        "state": [here for here, _ in moves],
        "next_state": [there for _, there in moves],
        "terminated": np.isin(np.arange(len(moves)), ends),
    }


@pytest.mark.slow
def test_a_low_gain_is_refused_in_a_sentence(found, own):
    """Where cells hardly fire in events, too little would be found."""
    rng = np.random.default_rng(0)
    quiet = own._replace(counts=[rng.binomial(each, 0.05) for each in own.counts])
    refused = recorded_shares(quiet, found, n_sessions=1)
    assert refused.note.startswith("Shares are not corrected. Recall is too low")
    assert refused.table["corrected"].isna().all()
    assert refused.table["found"].notna().all()
    assert (refused.table["recall"] < 0.2).any()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda found, own: (found, own), "No session was simulated"),
        (lambda found, own: (found, own._replace(counts=[])), "from spikes"),
        (lambda found, own: (found._replace(events=found.events.assign(kind=None)), own),
         "No replay event has a sequence"),
        (lambda found, own: (found, own._replace(counts=[1000 * each for each in own.counts])),
         "times as many spikes as the fields of running predict"),
    ],
)  # fmt: skip
def test_what_cannot_be_corrected_says_why(change, reason, found, own):
    found, own = change(found, own)
    n_sessions = 0 if reason.startswith("No session") else 2
    refused = recorded_shares(own, found, n_sessions=n_sessions)
    assert refused.note.startswith("Shares are not corrected. ")
    assert reason in refused.note
    assert refused.table["kind"].tolist() == THREE
    assert refused.table[["corrected", "recall"]].isna().all(axis=None)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (lambda number: 0, "a number of its own in 'event'"),
        (lambda number: number + 0.5, "'event' of events of found must hold whole numbers"),
        (pd.to_datetime, "'event' of events of found must hold whole numbers"),
    ],
)
def test_numbers_of_events_are_checked(number, text, found, own):
    events = found.events.assign(event=number(found.events["event"]))
    with pytest.raises(ValueError, match=text):
        recorded_shares(own, found._replace(events=events), n_sessions=1)
    events = found.events.assign(start_time="now")
    with pytest.raises(ValueError, match="'start_time' of events of found must hold finite"):
        recorded_shares(own, found._replace(events=events), n_sessions=1)


def test_numbers_are_checked(found, own):
    with pytest.raises(ValueError, match="n_sessions must be a whole number"):
        recorded_shares(own, found, n_sessions=-1)


@pytest.mark.parametrize(
    ("graph", "longest"),
    [(make_linear_track(150.0), 150), (make_wtrack(80.0, 80.0), 120), (make_wtrack(80, 30), 70)],
)
def test_states_are_no_larger_than_the_longest_arm(graph, longest):
    track = cut_track(graph)
    check_state_size(longest, track)
    with pytest.raises(ValueError, match=f"state_size must be at most {longest} cm"):
        check_state_size(longest + 1, track)
