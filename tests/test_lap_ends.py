"""Laps end where the animal turns, and are counted as a person would count traversals."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from figure_of_eight import EIGHT, run_eight

from analyses.recordings.basics.recording import Recording
from analyses.recordings.basics.settings import Judgement
from analyses.recordings.prepare.lap_ends import find_lap_ends, find_pauses, proposed_ends
from analyses.recordings.prepare.place_fields import running
from analyses.recordings.prepare.recorded_experience import count_experience, experience_of
from analyses.recordings.prepare.session import prepare
from analyses.recordings.readers import read_recording
from analyses.recordings.recover.observe import observe
from analyses.reports.preparation import describe_experience, session_notes
from replay.log.event_log import EventLog
from replay.worlds.tracks import make_linear_track, make_wtrack

RECORDINGS = Path(__file__).parents[2] / "shared" / "recordings"
LENGTH, RATE = 200.0, 30.0


def shuttle(seed, *, n_laps=20, noise=3.0, wander=15.0):
    """An animal that turns 5 to 25 cm before the ends of a track, and wanders there."""
    rng = np.random.default_rng(seed)
    turns = np.where(np.arange(n_laps + 1) % 2, LENGTH, 0.0)
    turns += np.where(turns > 0, -1, 1) * rng.uniform(5, 25, n_laps + 1)
    parts = []
    for one, other in pairwise(turns):
        parts.append(np.arange(one, other, np.copysign(1.0, other - one)))
        away = wander * np.sin(np.pi * np.arange(0, 2, 1 / RATE)) ** 2
        parts.append(other - np.copysign(away, other - one))
    x = np.concatenate(parts)
    xy = np.column_stack([x, np.zeros(len(x))]) + noise * rng.standard_normal((len(x), 2))
    return Recording("rat", make_linear_track(LENGTH), np.arange(len(x)) / RATE, xy)


@pytest.mark.parametrize("size", [10.0, 15.0, 30.0])
def test_laps_are_the_traversals(size):
    """Of 20; one visit in 20 to an end may stay farther from it than 95 % do."""
    counts = []
    for seed in range(4):
        world, log = experience_of(shuttle(seed), size)
        counts.append(log.steps["episode"].nunique())
        moves = log.steps[["state", "next_state"]].value_counts()
        assert moves.min() >= 9  # every move in all laps in its direction, to the very ends
        x = world.position[:, 0]
        middle = [move for move in moves.index if all(60 < x[state] < 140 for state in move)]
        assert moves.loc[middle].max() <= 11  # and no to and fro on the way
    assert min(counts) >= 18
    assert max(counts) <= 20


def test_an_end_is_reached_where_the_animal_turns():
    reached = [end.reach for end in find_lap_ends(shuttle(1, noise=0.0))]
    assert all(20 <= reach <= 30 for reach in reached)
    exact = [*range(201), *range(200, -1, -1)] * 3
    xy = np.column_stack([exact, np.zeros(len(exact))])
    whole = Recording("rat", make_linear_track(LENGTH), np.arange(len(exact)) / RATE, xy)
    assert all(end.reach <= 5 for end in find_lap_ends(whole))
    never = replace(whole, position=np.clip(xy, 0, 100))
    assert find_lap_ends(never)[1].reach == 0.0
    with pytest.raises(ValueError, match="lap_ends must be a list"):
        find_lap_ends(whole, 5)


def told_of(recording):
    return describe_experience(recording, count_experience(recording, 15.0), 15.0)


def test_turns_before_a_quarter_of_the_arm_are_told():
    """The track ends at 160 cm, but is drawn 260 cm, and then 400 cm long."""
    x = [*range(10, 160), *range(160, 10, -1)] * 6
    xy = np.column_stack([x, np.zeros(len(x))])
    time = np.arange(len(x)) / RATE
    drawn = Recording("rat", make_linear_track(260.0), time, xy)
    _, end = find_lap_ends(drawn)
    assert (round(end.reach), round(end.turns)) == (65, 101)
    told = told_of(drawn)
    assert "in 6 laps" in told
    assert "turns up to 101 cm before the node 1, and has reached it only within 65 cm" in told
    assert "this counts as reaching" not in told
    far = told_of(replace(drawn, graph=make_linear_track(400.0)))
    assert "never comes near the node 1, so that laps may be missing" in far
    fits = told_of(replace(drawn, graph=make_linear_track(160.0)))
    assert "in 12 laps" in fits
    assert "missing" not in fits


def test_short_excursions_are_no_laps():
    """From the foot of a W up its middle arm: 20 cm and back, then to the end of an outer arm."""
    up = np.column_stack([np.full(81, 40.0), np.arange(80, -1, -1.0)])
    out = [up[:20], up[:20][::-1], up, np.column_stack([np.arange(40, -1, -1.0), np.zeros(41)])]
    way = np.concatenate([*out, np.column_stack([np.zeros(81), np.arange(81.0)])])
    graph = make_wtrack()
    for xy, n_laps in ((way, 1), (np.concatenate([up, up[::-1], way]), 2)):
        log = experience_of(Recording("rat", graph, np.arange(len(xy)) / RATE, xy), 15.0)[1]
        assert log.steps["episode"].nunique() == n_laps


def test_an_animal_that_is_lost_after_an_excursion_begins_a_lap_where_it_is_found():
    """20 cm and back on a line of 120 cm, and then it is 80 cm farther, as a rat once was."""
    x = np.concatenate([np.arange(21.0), np.arange(20.0, -1, -1), np.arange(80.0, 121.0)])
    track = make_linear_track(120.0)
    recording = Recording("rat", track, np.arange(len(x)) / RATE, np.column_stack([x, 0 * x]))
    steps = experience_of(recording, 15.0)[1].columns("steps")
    [row] = np.flatnonzero(steps["truncated"] & (steps["next_state"] == 0))
    assert steps["state"][row + 1] != 0
    goes_on = ~(steps["terminated"] | steps["truncated"])[:-1]
    np.testing.assert_array_equal(steps["next_state"][:-1][goes_on], steps["state"][1:][goes_on])


def test_ends_are_suggested_where_the_animal_pauses():
    ring = nx.cycle_graph(4)
    corners = [(0.0, 0.0), (100.0, 0.0), (100.0, 100.0), (0.0, 100.0)]
    nx.set_node_attributes(ring, dict(enumerate(corners)), "pos")
    side = np.linspace(0, 1, 100, endpoint=False)[:, None]
    sides = [a + side * (np.subtract(b, a)) for a, b in pairwise([*corners, corners[0]])]
    lap = np.concatenate([np.tile(corners[0], (60, 1)), *sides])
    xy = np.tile(lap, (5, 1))
    recording = Recording("rat", ring, np.arange(len(xy)) / RATE, xy)
    moved = running(recording)
    pauses = find_pauses(ring, moved.time, moved.position, moved.speed < 5.0)
    assert pauses == {"0": 5}
    assert proposed_ends(ring, xy, pauses) == ("0",)
    to_and_fro = np.concatenate([sides[2], sides[3], sides[3][::-1], sides[2][::-1]] * 3)
    assert proposed_ends(ring, to_and_fro, {}) == ("3",)
    assert proposed_ends(make_wtrack(), xy, pauses) == ()
    assert experience_of(recording, 15.0, ["0"])[1].steps["episode"].nunique() == 5


def test_laps_of_a_figure_of_eight_end_where_the_animal_pauses():
    once = run_eight()[0]
    moves = once.steps[["state", "next_state", "terminated"]]
    log = EventLog({"steps": pd.concat([moves] * 6, ignore_index=True)}, mdp=once.mdp)
    replayed = pd.DataFrame({"step": [6 * len(moves) - 1], "states": [[0, 6, 7, 8]]})
    session = prepare(observe(log, EIGHT, replayed, cells=40, speed=400.0, seed=1).recording)
    assert session.judgement.lap_ends == ("0",)
    assert session.prepared.experience.n_laps in (12, 13)
    assert session_notes(session)[0].startswith("The track has no dead ends: laps are taken to end")
    named = prepare(session.recording, judgement=Judgement(lap_ends=("1",)))
    assert named.judgement.lap_ends == ("1",)
    assert not named.prepared.are_ends_proposed


@pytest.mark.skipif(not RECORDINGS.is_dir(), reason="the recordings are not here")
def test_a_real_rat_made_46_traversals():
    """Counted as changes between the outer quarters; a lap that is not finished is one more."""
    scale = 225 / 70
    drawn = {
        "node_positions": [[138 / scale, 140 / scale], [472 / scale, 400 / scale]],
        "edges": [[0, 1]], "pixels_per_cm": scale, "run_epochs": [[4410.0, 5295.0]],
    }  # fmt: skip
    recording = read_recording(RECORDINGS / "lineartrack.npz", drawn)
    for size in (10.0, 15.0, 30.0):
        assert experience_of(recording, size)[1].steps["episode"].nunique() in (46, 47)
