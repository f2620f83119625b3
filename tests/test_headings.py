"""Headings: fields, decoding and sequences on tracks that are run both ways."""

import re
from dataclasses import replace
from itertools import pairwise, product

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from analyses.recordings.basics.binned_track import bins_on_way, cut_track, project
from analyses.recordings.basics.judgement import Judgement
from analyses.recordings.basics.observed import Seen
from analyses.recordings.basics.settings import Settings
from analyses.recordings.decide import heading
from analyses.recordings.decide.find_replay import find_replay
from analyses.recordings.decide.heading import (
    HeadingTold,
    heading_levels,
    heading_of_ways,
    is_told,
    largest_p,
)
from analyses.recordings.prepare.headings import (
    headed_fields,
    is_run_both_ways,
    travel,
    with_headings,
)
from analyses.recordings.prepare.session import prepare
from analyses.recordings.prepare.state_space_decoder import (
    continuous_path,
    walk_of_states,
    walks_of_states,
)
from analyses.recordings.readers.posteriors import read_posterior
from analyses.recordings.recover.cells import draw_cells
from analyses.recordings.recover.known_paths import known_paths
from analyses.recordings.recover.observe import observe
from analyses.recordings.recover.recover import recover
from analyses.sequences.track import graph_of_log
from analyses.studies.recorded_replay.report import headings_told
from replay.log.event_log import EventLog
from replay.worlds.mdp import MDP
from replay.worlds.tracks import make_linear_track, make_wtrack

TRACK = make_linear_track(160.0)
QUICK = Judgement(n_shuffles=19, other_sizes=())


def run_both_ways(n_laps=24):
    """Make a log of laps to the end of a linear track, and back."""
    world = MDP.from_networkx(TRACK, bin_size=15.0)
    way = nx.shortest_path(graph_of_log(EventLog({}, mdp=world)), 0, 1)
    laps = [way, way[::-1]] * (n_laps // 2)
    moves = [move for lap in laps for move in pairwise(lap)]
    ends = np.cumsum([len(way) - 1] * len(laps)) - 1
    steps = {"state": [here for here, _ in moves], "next_state": [there for _, there in moves],
             "terminated": np.isin(np.arange(len(moves)), ends)}  # fmt: skip
    return EventLog({"steps": steps}, mdp=world), way, ends


def observed(directional, headings=(1, -1), n_cells=50, seed=0):
    """Observe laps both ways, and replay of both ways in the given headings in turn."""
    log, way, ends = run_both_ways()
    rows = [(end, way[:: (-1) ** (event // 2)], headings[event % len(headings)])
            for event, end in enumerate(ends.tolist())]  # fmt: skip
    paths = pd.DataFrame(
        [(step, path, [heading] * len(path)) for step, path, heading in rows],
        columns=["step", "states", "along"],
    )
    cells = draw_cells(cut_track(TRACK, 1.0), n_cells, directional=directional, seed=seed)
    return observe(log, TRACK, paths, cells=cells, speed=500.0, seed=seed), paths


@pytest.fixture(scope="module")
def directional():
    return observed(0.7)


def test_a_heading_is_carried_on_across_a_junction():
    """Who heads for a junction heads away from it afterwards, on whichever arm."""
    track = cut_track(make_wtrack(), 5.0)
    walk = walk_of_states(track, 15.0, 2 * track.n_bins)
    np.testing.assert_allclose(walk.sum(axis=1), 1.0)
    _, node = max((np.count_nonzero(track.edges == each), each) for each in range(6))
    towards = {}
    for edge, (one, other) in enumerate(track.edges.tolist()):
        if node in (one, other):
            own = np.flatnonzero(track.edge == edge)
            near = own[0] if one == node else own[-1]
            ahead = 0 if other == node else track.n_bins
            towards[edge] = near + ahead, near + (track.n_bins - ahead)
    assert len(towards) == 3
    for edge, (here, away) in towards.items():
        for other, (there, onwards) in towards.items():
            if other != edge:
                assert walk[here, onwards] > 0
                assert walk[here, there] == 0
                assert walk[away, there] > 0
        assert walk[here, away] == 0  # a heading does not change in place


def test_a_path_keeps_its_heading_where_its_number_changes():
    """Also where single time bins speak for the other heading."""
    track, graph = cut_track(make_wtrack(), 5.0), make_wtrack()
    n, walks = track.n_bins, walks_of_states(track, 15.0, 2 * track.n_bins, 0.025)
    foot, outer = (project(track, [graph.nodes[node]["pos"]]).bin[0] for node in (4, 3))
    way = bins_on_way(track, int(foot), int(outer))
    true = [int(way[0])]
    for there in way[1:].tolist():
        true += [state for state in (there, there + n) if walks.steps[0][true[-1], state] > 0]
    assert len({state // n for state in true}) == 2
    seen = np.array(true)
    seen[3::5] = (seen[3::5] + n) % (2 * n)
    likelihoods = np.full((len(way), 2 * n), -8.0)
    likelihoods[np.arange(len(way)), seen] = 0.0
    assert continuous_path(likelihoods, walks).tolist() == true


def test_a_step_aside_at_a_junction_does_not_turn_the_heading():
    """Through one bin of the middle arm, on the way from one outer arm to the other."""
    track, graph = cut_track(make_wtrack(), 5.0), make_wtrack()
    n, walks = track.n_bins, walks_of_states(track, 15.0, 2 * track.n_bins, 0.025)
    first, last, middle = (
        int(project(track, [graph.nodes[node]["pos"]]).bin[0]) for node in (3, 5, 4)
    )
    way = bins_on_way(track, first, last)
    aside = bins_on_way(track, first, middle)
    aside = int(aside[~np.isin(aside, way)][0])
    at = 1 + int(track.distance[aside, way].argmin())

    def headings(places):
        likelihoods = np.full((len(places), 2 * n), -8.0)
        likelihoods[np.arange(len(places)), places] = 0.0
        likelihoods[np.arange(len(places)), places + n] = 0.0
        likelihoods[:5, places[0] // n * n :] -= 0.5
        return np.array(continuous_path(likelihoods, walks)) // n

    straight = headings(way)
    turned = headings(np.insert(way, at, aside))
    assert np.delete(turned, at).tolist() == straight.tolist()
    assert [headings(way[:n_places]).tolist() for n_places in (1, 2)] == [[0], [0, 0]]


def test_headings_share_the_weights_between_bins():
    track = cut_track(make_wtrack(), 10.0)
    between = np.exp(-track.distance / 20.0)
    both = with_headings(track, between)
    n = track.n_bins
    np.testing.assert_allclose(both[:n, :n] + both[:n, n:], between)
    np.testing.assert_allclose(both[n:, n:], both[:n, :n])


def test_travel_ignores_a_step_back():
    track = cut_track(make_linear_track(100.0), 5.0)
    there = np.array([0, 2, 4, 3, 6, 8, 10, 12])
    assert travel(track, there).tolist() == [1] * 8
    assert travel(track, there[::-1]).tolist() == [-1] * 8
    assert travel(track, np.array([3, 3, 3])).tolist() == [0] * 3
    assert heading_of_ways(np.array([0, 1, 1, -1, -1]), np.array([0, 2, 4])).tolist() == [0, 1, -1]


def test_a_cell_has_two_fields_where_they_predict_held_out_runs():
    track, rng = cut_track(TRACK, 5.0), np.random.default_rng(0)
    n_bins = track.n_bins
    lap = np.repeat(np.arange(n_bins), 8)
    place = np.concatenate([lap, lap[::-1]] * 12)
    ahead = np.concatenate([np.ones_like(lap), -np.ones_like(lap)] * 12)
    field = 15 * np.exp(-0.5 * ((np.arange(n_bins) - 15) / 3) ** 2) + 0.1
    rates = np.stack([np.where(ahead > 0, field[place], 0.1 * field[place]), field[place]], axis=1)
    counts = rng.poisson(0.02 * rates)
    assert is_run_both_ways(place, ahead, n_bins)
    assert not is_run_both_ways(place[ahead > 0], ahead[ahead > 0], n_bins)
    seen = Seen.all(*counts.shape)
    found = headed_fields(track, place, ahead, counts, 0.02, Settings(), seen)
    assert found.differs.tolist() == [True, False]
    one, other = found.rates[:, :n_bins].max(axis=1), found.rates[:, n_bins:].max(axis=1)
    assert one[0] > 4 * other[0]
    assert one[1] == other[1]


def test_forward_and_reverse_are_told_where_cells_have_a_heading(directional):
    seen, paths = directional
    found = find_replay(seen.recording, judgement=QUICK)
    true = np.where([along[0] > 0 for along in paths["along"]], "forward", "reverse")
    events = found.events[found.events["is_replay"]]
    kinds = events["kind"].str.removesuffix("_episode")
    assert len(events) >= 0.8 * len(paths)
    assert (kinds == true[events["event"]]).mean() >= 0.9
    assert not ((kinds != true[events["event"]]) & kinds.isin(["forward", "reverse"])).any()
    assert events["is_heading_told"].mean() >= 0.9
    told = headings_told(found.events, found.calibration)
    assert f"told in {events['is_heading_told'].sum()} of {len(events)}" in told
    odds = events.loc[events["is_heading_told"], "heading_evidence"]
    odds = odds - found.calibration.heading_evidence + np.log(19)
    assert f"{(1 / (1 + np.exp(odds))).sum():.2g} of these represent no heading" in told
    assert set(found.paths["along"]) <= {-1, 0, 1}


@pytest.mark.parametrize("without", [0.0, 0.3, 0.9, 1.0])
def test_hardly_any_told_event_has_no_heading(without):
    """On average over animals: the theorem of Storey (2002), for p values that are uniform."""
    rng, wrong, right = np.random.default_rng(1), [], []
    for _ in range(400):
        has_none = rng.random(60) < without
        p = np.where(has_none, rng.random(60), 0.3 * rng.random(60) ** 4)
        told = p <= largest_p(p)
        wrong.append((told & has_none).sum() / max(told.sum(), 1))
        right.append((told & ~has_none).sum() / max((~has_none).sum(), 1))
    assert np.mean(wrong) <= 0.05 + 0.015  # three standard errors
    assert without or np.mean(right) == 1.0
    assert without != 0.3 or np.mean(right) >= 0.7  # more than the .64 that have p <= .05


@pytest.mark.parametrize(
    ("p", "level"), [([], 0), ([0.04], 0.04), ([0.06], 0), ([np.nan, 0.01], 0.01)]
)
def test_few_events_need_a_small_p(p, level):
    assert largest_p(p) == level


def test_a_heading_is_told_if_it_is_likely_by_all_events():
    """Evidence of e^2 is enough where nearly all other events have a heading, and not where few do;
    the odds against the opposite heading must be clear, whatever the others are."""
    other = pd.DataFrame([HeadingTold(0.001, evidence, 9.0) for evidence in (8.0, 9.0) * 20])
    none = pd.DataFrame([HeadingTold(0.1 * k, -6.0, 9.0) for k in range(1, 10)] * 4)
    own = pd.DataFrame([HeadingTold(0.04, 2.0, 9.0), HeadingTold(0.04, 2.0, 2.0)])
    likely = heading_levels(pd.concat([own, other]))
    assert is_told(own, likely).tolist() == [True, False]
    assert not is_told(own, heading_levels(pd.concat([own, none]))).any()
    assert not is_told(own, heading_levels(own[:0])).any()


@pytest.mark.parametrize(("second", "n_spikes"), [(1, (2, 1)), (2, (1, 1, 1))])
def test_the_p_of_a_path_is_that_of_drawn_bursts(second, n_spikes):
    """By enumeration: each burst is of one of three cells, by their mean shares.

    Cell 0 fires in the first bin and in bin `second`, cell 1 in the last; in the next bin it would
    be one burst.
    """
    own, mean = np.array([0.7, 0.2, 0.1]), np.array([0.4, 0.2, 0.4])
    both = np.log([own / mean, own[::-1] / mean])
    counts = np.zeros((4, 3), dtype=int)
    counts[[0, second, 3], [0, 0, 1]] = 1
    expected = sum(
        mean[list(cells)].prod()
        for cells in product(range(3), repeat=len(n_spikes))
        if (both[:, cells] @ n_spikes).max() >= 2 * np.log(7 / 4) - 1e-9
    )
    shares = [np.tile(each, (4, 1)) for each in (own, own[::-1])]
    found = heading._p_on_path(counts, *shares, 1, np.random.default_rng(1))
    assert found == pytest.approx(expected, abs=0.05)


def test_spikes_within_six_milliseconds_are_one_burst(directional):
    """Whatever the length of time bins: three bins of 2 ms, and one of 5 ms."""
    seen, _ = directional
    session = prepare(seen.recording)
    states = np.full(20, session.headings.rates[:, : session.track.n_bins].argmax(axis=1)[0])

    def p(time_bin, *spikes):
        counts = np.zeros((len(states), len(session.rates)), dtype=int)
        np.add.at(counts, (list(spikes), 0), 1)
        counts[10, 1:4] = 1
        rng = np.random.default_rng(1)
        own = session._replace(time_bin=time_bin)
        return heading.heading_told(own, counts, states, rng).heading_p

    assert p(0.002, 0, 3) == p(0.005, 0, 1) == p(0.005, 0, 0)
    assert p(0.002, 0, 4) == p(0.005, 0, 2) != p(0.005, 0, 0)


@pytest.mark.parametrize(("cell", "p"), [(0, 1.0), (2, 1 / 1001)])
def test_the_least_and_the_largest_p_of_a_path(cell, p):
    """Of a cell that is the same in both headings, and of one that hardly ever fires."""
    own, other = (np.array([[0.5, 0.5 - rare, rare]]) for rare in (2e-9, 1e-9))
    counts = np.eye(3, dtype=int)[[cell]]
    assert heading._p_on_path(counts, own, other, 1, np.random.default_rng(1)) == p


@pytest.mark.parametrize(("share", "headings"), [(0.0, (1, -1)), (0.7, (0,))])
def test_a_heading_that_is_not_there_is_not_guessed(share, headings):
    """Neither where no cell has a heading, nor where replay represents none."""
    seen, _ = observed(share, headings)
    found = find_replay(seen.recording, judgement=QUICK)
    kinds = found.events.loc[found.events["is_replay"], "kind"]
    assert len(kinds) >= 10
    assert (kinds == "ambiguous").mean() >= 0.9
    if not share:
        assert any("too few to tell which heading" in note for note in found.notes)


def test_notes_count_replay_that_has_a_sequence(directional):
    """Of events that pass the tests, those without a sequence of nine states are not replay."""
    seen, _ = directional
    detection = QUICK.detection._replace(min_length=9)
    found = find_replay(seen.recording, judgement=QUICK._replace(detection=detection))
    events = found.events[found.events["is_replay"]]
    [lost] = found.explanations
    assert re.fullmatch(r"\d+ more events? passed the tests, but visits? no sequence .*", lost)
    told = f"told in {events['is_heading_told'].sum()} of {len(events)}"
    assert told in headings_told(found.events)


def test_a_track_that_is_run_one_way_has_no_headings():
    seen, _ = observed(0.7)
    log, way, _ = run_both_ways()
    steps = log.columns("steps")
    kept = np.isin(steps["episode"], range(0, 24, 2))
    one_way = EventLog(
        {"steps": {name: steps[name][kept] for name in ("state", "next_state", "terminated")}},
        mdp=log.mdp,
    )
    paths = pd.DataFrame({"step": [12], "states": [way]})
    seen = observe(one_way, TRACK, paths, cells=seen.cells, speed=500.0)
    assert prepare(seen.recording).headings is None


def test_recovery_tells_headings_too(directional):
    seen, _ = directional
    found = recover(seen)
    assert set(found["true_kind"]) == {"forward_episode", "reverse_episode"}
    assert (found["kind"] == found["true_kind"]).mean() >= 0.85
    log, *_ = run_both_ways()
    kinds = ("forward_episode", "reverse_episode")
    with pytest.raises(ValueError, match="kind forward_episode"):
        known_paths(log, n_each=2, length=100.0, kinds=kinds)
    drawn = known_paths(log, n_each=2, length=100.0, kinds=kinds, headings=True)
    assert [along[0] for along in drawn["along"]] == [1, 1, -1, -1]


def test_a_posterior_with_inbound_and_outbound_states_has_a_heading():
    """Two sweeps to the end of the track, the first outbound and the second inbound."""
    xarray = pytest.importorskip("xarray")
    graph = make_linear_track(160.0)
    graph.graph["edge_order"] = list(graph.edges)
    graph.graph["edge_spacing"] = 0.0
    states = ["Inbound-Continuous", "Outbound-Continuous"]
    position, n = np.arange(2.5, 160.0, 5.0), 32
    posterior = np.full((2 * n, 2, n), 1e-4)
    posterior[np.arange(n), 1, np.arange(n)] = 1.0
    posterior[n + np.arange(n), 0, np.arange(n)] = 1.0
    posterior /= posterior.sum(axis=(1, 2), keepdims=True)
    time = 60.0 + np.arange(2 * n) * 0.01 + np.repeat([0.0, 5.0], n)
    data = xarray.Dataset(
        {"acausal_posterior": (("time", "state", "position"), posterior)},
        {"time": time, "state": states, "position": position},
    )
    read = read_posterior(data, graph)
    assert read.posterior.outward[[0, -1]].round().tolist() == [1.0, 0.0]
    seen, _ = observed(0.0, n_cells=5)
    events = pd.DataFrame({"start_time": time[[0, n]], "end_time": time[[n - 1, -1]] + 0.01})
    own = replace(read, time=seen.recording.time, position=seen.recording.position, events=events)
    found = find_replay(own, judgement=QUICK)
    assert found.events["kind"].tolist() == ["forward_episode", "reverse_episode"]
    del graph.graph["edge_order"]
    without = read_posterior(data, graph, bins=pd.DataFrame(
        {"linear_position": position, "x_position": position, "y_position": 0.0}))  # fmt: skip
    assert without.posterior.outward is None
    assert "only a graph with linear_edge_order" in without.notes[0]
