"""Controls: events without replay that are like a candidate event in all else."""

from collections import Counter

import networkx as nx
import numpy as np
import pytest

from analyses.recordings.basics.binned_track import cut_track
from analyses.recordings.decide import controls
from analyses.recordings.decide.controls import CONTROLS, EXCHANGED, control_counts, least_reached
from analyses.recordings.prepare.likelihood import log_likelihood
from analyses.recordings.prepare.travel import travel_evidence
from analyses.recordings.prepare.travel_model import travel_model
from analyses.recordings.recover.cells import draw_cells
from replay.worlds.tracks import make_linear_track, make_wtrack

TRACK = cut_track(make_linear_track(200.0), 5.0)
CELLS = draw_cells(TRACK, 50, directional=0.7, weaker=0.1, seed=1)
RATES = np.hstack([CELLS.rates, CELLS.rates.reshape(-1, 2, TRACK.n_bins).mean(axis=1)])
ALONE = np.arange(len(RATES))
DT = 0.005
SIMULATED = [name for name in CONTROLS if name not in (EXCHANGED, "blocks")]


def an_event(rng, n_time=40):
    """Draw the spikes of a path along the track."""
    states = np.linspace(0, TRACK.n_bins - 1, n_time).astype(int)
    return rng.poisson(2.9 * RATES[:, states].T * DT)


def drawn(name, counts, rng, rates=RATES, track=TRACK, electrode=ALONE):
    return control_counts(name, counts, rates, electrode, track, DT, rng)


@pytest.mark.parametrize("name", CONTROLS)
def test_a_control_is_as_long_and_has_as_many_spikes(name):
    rng = np.random.default_rng(0)
    counts = an_event(rng)
    number = []
    for _ in range(40):
        found = drawn(name, counts, rng)
        assert found.shape == counts.shape
        assert found.dtype.kind == "i"
        number.append(found.sum())
    error = np.sqrt(counts.sum() / 40) if name in SIMULATED else 0.0
    assert np.mean(number) == pytest.approx(counts.sum(), abs=3.5 * error)
    for n_time in (1, 2, 3, 5):
        assert drawn(name, counts[:n_time], rng).shape == (n_time, len(RATES))
    assert not drawn(name, 0 * counts, rng).any()


def test_exchanged_cells_have_the_spikes_of_others():
    rng = np.random.default_rng(0)
    counts = an_event(rng)
    found = drawn(EXCHANGED, counts, rng)
    columns = Counter(map(tuple, counts.T))
    assert Counter(map(tuple, found.T)) == columns
    assert (found != counts).any()
    electrode = np.repeat([0, 1, 2, 3, 4], 10)
    found = drawn(EXCHANGED, counts, rng, electrode=electrode)
    np.testing.assert_array_equal(found.sum(axis=1), counts.sum(axis=1))
    by_electrode = counts.reshape(len(counts), 5, 10).sum(axis=2)
    moved = found.reshape(len(counts), 5, 10).sum(axis=2)
    assert Counter(map(tuple, moved.T)) == Counter(map(tuple, by_electrode.T))


def test_blocks_are_those_of_the_event_in_another_order():
    rng = np.random.default_rng(0)
    counts = an_event(rng, 43)
    found = drawn("blocks", counts, rng)
    blocks = [counts[first : first + 8] for first in range(0, 43, 8)]
    rest = found
    order = []
    while len(rest):
        [k] = [k for k, each in enumerate(blocks) if k not in order
               and np.array_equal(rest[: len(each)], each)]  # fmt: skip
        order.append(k)
        rest = rest[len(blocks[k]) :]
    assert sorted(order) == list(range(6))
    assert order != list(range(6))


def places_of(name, n_time, seed, track=TRACK, dt=DT):
    return controls.control_places(name, n_time, track, dt, np.random.default_rng(seed))


@pytest.mark.parametrize(
    ("name", "n_bins"), [("held_20_ms", 4), ("held_40_ms", 8), ("held_80_ms", 16)]
)
def test_places_are_held_for_so_long(name, n_bins):
    for dt, n_each in ((DT, n_bins), (2 * DT, n_bins // 2)):
        bins, is_new = places_of(name, 100, 0, dt=dt)
        assert np.flatnonzero(is_new).tolist() == list(range(0, 100, n_each))
        held = np.split(bins, np.flatnonzero(is_new)[1:])
        assert all(len(set(each)) == 1 for each in held)
        assert len(set(bins)) > 4


def test_one_place_and_two():
    change = []
    for seed in range(50):
        bins, is_new = places_of("hovering", 40, seed)
        assert len(set(bins)) == 1
        assert np.flatnonzero(is_new).tolist() == [0]
        bins, is_new = places_of("two_places", 40, seed)
        first, at = np.flatnonzero(is_new)
        assert first == 0
        assert len(set(bins[:at])) == len(set(bins[at:])) == 1
        change.append(at)
    assert min(change) >= 10
    assert max(change) < 30
    assert len(set(change)) > 10


def test_places_are_anywhere_by_their_length():
    """Of a track with a bin half as long as the others."""
    track = TRACK._replace(width=np.where(np.arange(TRACK.n_bins) == 0, 2.5, 5.0))
    bins = [places_of("hovering", 1, seed, track)[0][0] for seed in range(2000)]
    number = np.bincount(bins, minlength=TRACK.n_bins)
    assert number[0] < number[1:].min()
    assert number[1:] == pytest.approx(2000 / 39.5, rel=0.5)


@pytest.mark.parametrize("track", [TRACK, cut_track(make_wtrack(), 5.0)], ids=["line", "w"])
def test_sweeps_go_30_cm_ten_times_a_second(track):
    for seed in range(20):
        bins, is_new = places_of("sweeps", 60, seed, track)
        assert np.flatnonzero(is_new).tolist() == [0, 20, 40]
        one, two, three = np.split(bins, 3)
        assert one.tolist() == two.tolist() == three.tolist()
        steps = track.distance[one[:-1], one[1:]]
        assert steps.max() <= 7.5
        assert steps.sum() == pytest.approx(track.distance[one[0], one[-1]])
        assert steps.sum() == pytest.approx(30.0, abs=5.0)


def test_a_local_walk_goes_15_cm_in_100_ms():
    """In the middle of a long track, from where no end is reached."""
    track = cut_track(make_linear_track(600.0), 5.0)
    squares = []
    for seed in range(300):
        bins, is_new = places_of("local_walk", 21, seed, track)
        assert np.flatnonzero(is_new).tolist() == [0]
        if 20 <= bins[0] < 100:
            squares.append(track.distance[bins[0], bins[-1]] ** 2)
    assert np.sqrt(np.mean(squares)) == pytest.approx(15.0, rel=0.15)


def test_a_heading_is_drawn_for_each_place_and_kept_in_it():
    """By cells of which each fires in one state only."""
    n = 3 * TRACK.n_bins
    counts = np.full((40, n), 1)
    for name, length in (("held_40_ms", 8), ("sweeps", 20), ("hovering", 40)):
        headings = []
        for seed in range(30):
            rng = np.random.default_rng(seed)
            found = drawn(name, counts, rng, 1e-6 + 1e3 * np.eye(n), electrode=np.arange(n))
            heading = found.argmax(axis=1) // TRACK.n_bins
            parts = heading.reshape(-1, length)
            assert (parts == parts[:, :1]).all()
            headings += parts[:, 0].tolist()
        assert np.bincount(headings, minlength=3).min() > len(headings) / 6


def test_hardly_more_of_each_control_pass_than_the_level():
    """With thresholds from other draws; only exchanged cells have few of the event's own spikes."""
    rng, model = np.random.default_rng(0), travel_model(TRACK, DT, RATES.shape[1])
    evidence = {}
    for name in CONTROLS:
        events = [drawn(name, an_event(rng), rng) for _ in range(160)]
        likelihoods = np.array([log_likelihood(each, RATES, DT) for each in events])
        evidence[name] = travel_evidence(likelihoods, model).travel
    threshold = max(least_reached(each[::2], 0.05) for each in evidence.values())
    rates = {name: np.mean(each[1::2] >= threshold) for name, each in evidence.items()}
    assert max(rates.values()) <= 0.05 + 2.6 * np.sqrt(0.05 * 0.95 / 80)
    assert rates[EXCHANGED] <= 0.02
    paths = np.array([log_likelihood(an_event(rng), RATES, DT) for _ in range(40)])
    assert np.mean(travel_evidence(paths, model).travel >= threshold) >= 0.9


def test_a_place_is_drawn_on_each_part_of_a_track():
    graph = nx.disjoint_union(make_linear_track(100.0), make_linear_track(100.0))
    for node in (2, 3):
        graph.nodes[node]["pos"] = (graph.nodes[node]["pos"][0], 300.0)
    track = cut_track(graph, 5.0)
    for name in SIMULATED:
        seen = set()
        for seed in range(20):
            bins, _ = places_of(name, 20, seed, track)
            own = track.component[bins]
            if name in ("sweeps", "local_walk"):
                assert len(set(own)) == 1
            seen |= set(own.tolist())
        assert seen == {0, 1}
