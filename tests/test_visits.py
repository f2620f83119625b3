"""From positions to moves between states: noise adds no moves, and none is lost."""

import difflib
import json
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from analyses import classify_paths
from analyses.recordings.prepare.visits import experience, find_visits
from replay import MDP
from replay.worlds.tracks import make_track_graph, make_wtrack

RECORDINGS = Path(__file__).parents[2] / "shared" / "recordings"
TRACK = make_wtrack()
WORLD = MDP.from_networkx(TRACK, bin_size=10.0)


def walk(states, speed=30.0, rate=50.0, noise=0.0, seed=0):
    """Sample the positions of an animal that goes from state to state at a steady speed."""
    rng = np.random.default_rng(seed)
    places = WORLD.position[states]
    lengths = np.hypot(*np.diff(places, axis=0).T)
    ends = np.concatenate(([0.0], np.cumsum(lengths))) / speed
    time = np.arange(0.0, ends[-1], 1 / rate)
    xy = np.stack([np.interp(time, ends, places[:, k]) for k in range(2)], axis=1)
    return time, xy + rng.normal(0, noise, xy.shape)


def path_between(one, other):
    graph = nx.DiGraph(
        (row // WORLD.n_actions, successor)
        for row, successor in zip(WORLD.transition_rows(), WORLD.successor, strict=True)
    )
    return nx.shortest_path(graph, one, other)


OUT = path_between(3, 4)  # from the end of one arm to that of another
LAPS = [*OUT, *OUT[::-1][1:], *path_between(3, 5)[1:]]


@pytest.mark.parametrize("noise", [0.0, 0.8])
def test_the_states_are_those_that_were_walked(noise):
    visits = find_visits(*walk(LAPS, noise=noise), TRACK, WORLD)
    # The walk ends before it has come near its last place.
    assert visits["state"].tolist() in (LAPS, LAPS[:-1])
    assert (visits["start_time"] <= visits["end_time"]).all()


def test_flicker_is_no_experience():
    """What was replayed of a noisy run is what it would be of a clean one."""
    paths = pd.DataFrame({"time": [1e3], "states": [OUT[3:8]]})
    for noise in (0.0, 0.8):
        log = experience(find_visits(*walk(OUT, noise=noise), TRACK, WORLD), WORLD)
        assert classify_paths(paths, log)["kind"].tolist() == ["forward_episode"]
        assert len(set(zip(log.steps["state"], log.steps["next_state"], strict=True))) <= len(OUT)


def test_laps_end_at_the_ends_of_the_track():
    log = experience(find_visits(*walk(LAPS), TRACK, WORLD), WORLD)
    steps = log.steps
    ends = steps.loc[steps["terminated"], "next_state"].tolist()
    assert ends[:2] == [4, 3]
    assert set(ends) <= {3, 4, 5}
    for state, action, next_state in steps[["state", "action", "next_state"]].to_numpy():
        assert next_state in WORLD.successors(state, action)


def test_gaps_are_bridged_or_cut():
    time, xy = walk(OUT)
    short, long = xy.copy(), xy.copy()
    short[(time > 1.0) & (time < 1.5)] = np.nan
    long[(time > 1.0) & (time < 4.0)] = np.nan
    whole = experience(find_visits(time, xy, TRACK, WORLD), WORLD).steps
    bridged = experience(find_visits(time, short, TRACK, WORLD), WORLD).steps
    columns = ["state", "action", "next_state", "terminated", "truncated"]
    pd.testing.assert_frame_equal(bridged[columns], whole[columns])
    visits = find_visits(time, long, TRACK, WORLD, most_unknown=0.5)
    cut = experience(visits, WORLD).steps
    assert cut["truncated"].sum() == 1
    assert len(cut) < len(whole)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda time, xy: (time[::-1], xy), "time must ascend; row 1"),
        (lambda time, xy: (time, xy * 5), "positions are unknown or more than 30 cm"),
        (lambda time, xy: (time[:-1], xy), "must have the same length"),
        (
            lambda time, xy: (np.full(len(time), "a"), xy),
            r"time\[0\] of find_visits must be a number, got 'a'",
        ),
    ],
)
def test_positions_that_make_no_sense(change, message):
    with pytest.raises((TypeError, ValueError), match=message):
        find_visits(*change(*walk(OUT)), TRACK, WORLD)


def test_a_path_that_comes_near_no_centre_visits_nothing():
    visits = find_visits([0.0, 1.0], [(5.0, 0.0), (5.2, 0.0)], TRACK, WORLD, radius=1.0)
    assert visits.columns.tolist() == ["state", "start_time", "end_time"]
    assert visits.empty


def test_worlds_and_radii_that_make_no_sense():
    other = MDP.from_networkx(make_track_graph([(0, 500), (50, 500)], [(0, 1)]), bin_size=10.0)
    with pytest.raises(ValueError, match=r"State \d of the world is .* from the track"):
        find_visits(*walk(OUT), TRACK, other)
    with pytest.raises(ValueError, match="less than half the distance"):
        find_visits(*walk(OUT), TRACK, WORLD, radius=5.0)
    for reach in ({-1: 5.0}, {99: 5.0}, {0: np.nan}, {0: -5.0}):
        with pytest.raises(ValueError, match=r"reach of state 0|Each state of reach"):
            find_visits(*walk(OUT), TRACK, WORLD, reach=reach)
    visits = pd.DataFrame({"state": [0, 99], "start_time": [0.0, 1.0], "end_time": [1.0, 2.0]})
    with pytest.raises(ValueError, match="'state' of visits must hold whole numbers from 0 to"):
        experience(visits, WORLD)
    with pytest.raises(ValueError, match="must ascend"):
        experience(visits.assign(state=0, start_time=[1.0, 0.0]), WORLD)


@pytest.mark.skipif(not RECORDINGS.exists(), reason="the recordings are not here")
def test_a_recorded_rat_moves_along_the_track():
    """205 node visits were derived by other code, with a radius of 14 cm around six nodes."""
    drawn = json.loads((RECORDINGS / "wmaze_track_graph.json").read_text())
    graph = make_track_graph(drawn["node_positions"], drawn["edges"])
    world = MDP.from_networkx(graph, bin_size=15.0)
    expected = pd.read_csv(RECORDINGS / "wmaze_node_visits.csv")
    with np.load(RECORDINGS / "wmaze.npz", allow_pickle=False) as stored:
        time = stored["position_t_ticks"] / float(stored["clock_hz"])
        xy = stored["position_xy_px"] / drawn["pixels_per_cm"]
    n_same, n_expected = 0, 0
    for run, own in expected.groupby("run"):
        begin, end = own["start_time"].iloc[0], own["end_time"].iloc[-1]
        during = (time >= begin) & (time <= end)
        visits = find_visits(time[during], xy[during], graph, world, most_unknown=0.5)
        nodes = visits.loc[visits["state"] < 6, "state"].to_numpy()
        nodes = nodes[np.diff(nodes, prepend=-1) != 0]
        wanted = own["node"].to_numpy()
        same = difflib.SequenceMatcher(None, nodes.tolist(), wanted.tolist(), autojunk=False)
        n_same += sum(block.size for block in same.get_matching_blocks())
        n_expected += len(wanted)
        assert run in (1, 2)
    assert n_same >= 0.9 * n_expected
