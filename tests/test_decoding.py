"""The decoder compared with sums over all paths of hidden states, and with known properties."""

from itertools import pairwise, product
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import csr_array

from analyses.plots.decoded_event import _MOVEMENT_LOOKS
from analyses.recordings.basics.binned_track import cut_track
from analyses.recordings.prepare.bayesian_decoder import bayesian_posterior
from analyses.recordings.prepare.likelihood import log_likelihood
from analyses.recordings.prepare.place_fields import place_fields
from analyses.recordings.prepare.state_space_decoder import (
    CONTINUOUS,
    FRAGMENTED,
    STATIONARY,
    Walks,
    continuous_path,
    state_posterior,
    walk_evidence,
    walk_transitions,
    walks_of_states,
)
from replay.worlds.tracks import make_linear_track


def w_track():
    graph = nx.Graph([(0, 1), (1, 2), (1, 3)])
    places = {0: (0, 0), 1: (0, 10), 2: (-15, 10), 3: (10, 10)}
    nx.set_node_attributes(graph, places, "pos")
    return cut_track(graph, 5.0)


def all_paths(log_likelihoods, walk):
    """Add up all paths of hidden states, one by one."""
    n_time, n_bins = log_likelihoods.shape
    movements = np.full((3, 3), 0.01)
    np.fill_diagonal(movements, 0.98)

    def step(z, b, z_next, b_next):
        if FRAGMENTED in (z, z_next):
            return movements[z, z_next] / n_bins
        if z_next == STATIONARY:
            return movements[z, z_next] * (b == b_next)
        return movements[z, z_next] * walk[b, b_next]

    states = list(product(range(3), range(n_bins)))
    posterior, evidence = np.zeros((n_time, 3, n_bins)), 0.0
    for path in product(states, repeat=n_time):
        weight = np.exp(log_likelihoods[0, path[0][1]]) / (3 * n_bins)
        for t in range(1, n_time):
            weight *= step(*path[t - 1], *path[t]) * np.exp(log_likelihoods[t, path[t][1]])
        evidence += weight
        for t, (z, b) in enumerate(path):
            posterior[t, z, b] += weight
    return posterior / evidence, np.log(evidence)


@pytest.mark.parametrize("n_time", [2, 3, 4])
def test_it_is_the_sum_over_all_paths(n_time):
    rng = np.random.default_rng(n_time)
    walk = rng.random((3, 3)) ** 3
    walk /= walk.sum(axis=1, keepdims=True)
    likelihoods = rng.normal(0, 3, (n_time, 3))
    found, found_evidence = state_posterior(likelihoods, walk)
    posterior, log_evidence = all_paths(likelihoods, walk)
    # Sums of some thousand terms in another order.
    np.testing.assert_allclose(found, posterior, rtol=0, atol=1e-13)
    assert found_evidence == pytest.approx(log_evidence, abs=1e-12)


@pytest.mark.parametrize("n_headings", [1, 2])
@pytest.mark.parametrize("n_time", [1, 2, 4])
def test_a_path_is_nearest_on_average_over_all_paths(n_time, n_headings):
    rng = np.random.default_rng(10 * n_time + n_headings)
    n_states = 3 * n_headings
    distance = np.abs(np.subtract.outer([0.0, 2.0, 5.0], [0.0, 2.0, 5.0]))  # none is uncertain
    steps = rng.random((2, n_states, n_states)) ** 2
    if n_headings == 2:  # which is kept
        steps *= np.kron(np.eye(2), np.ones((3, 3)))
    steps /= steps.sum(axis=2, keepdims=True)
    likelihoods = rng.normal(0, 2, (n_time, n_states))
    probability = np.zeros((n_time, n_states))
    for walk in steps:
        for path in product(range(n_states), repeat=n_time):
            weight = np.exp(likelihoods[np.arange(n_time), list(path)].sum())
            weight *= np.prod([walk[one, other] for one, other in pairwise(path)])
            probability[np.arange(n_time), list(path)] += weight
    by_heading = probability.reshape(n_time, n_headings, 3)
    place = (by_heading.sum(axis=1) @ distance).argmin(axis=1)
    found = continuous_path(likelihoods, Walks(tuple(steps), distance))
    assert (found % 3 == place).all()
    own = by_heading[np.arange(n_time), :, place].sum(axis=0)
    assert (found // 3 == own.argmax()).all()
    wide = continuous_path(likelihoods, Walks(tuple(steps), distance, 3))
    around = np.pad(by_heading.sum(axis=1), ((1, 1), (0, 0)), "edge")
    around = np.lib.stride_tricks.sliding_window_view(around, 3, axis=0).mean(axis=2)
    assert (wide % 3 == (around @ distance).argmin(axis=1)).all()


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize(("certain", "goes_on"), [(range(4, 12), True), (range(16, 32), False)])
def test_where_a_path_is_uncertain_it_goes_on_but_does_not_come_back(certain, goes_on, order):
    """Of 40 places without spikes, the best guess is drawn to those in the middle."""
    track = cut_track(make_linear_track(200.0), 5.0)
    walks = walks_of_states(track, 100.0, track.n_bins, 0.025)
    seen = np.repeat(certain, 6)
    likelihoods = np.zeros((len(seen) + 40, track.n_bins))
    likelihoods[np.arange(len(seen)), seen] = 20.0
    path = continuous_path(likelihoods[::order], walks)[::order]
    np.testing.assert_array_equal(path[: len(seen)], seen)
    moves = np.diff(path[len(seen) - 1 :])
    assert (moves >= 0).all()
    assert moves.any() == goes_on


@pytest.mark.parametrize("n_time", [1, 2, 4])
def test_the_evidence_for_a_walk_is_the_sum_over_its_paths(n_time):
    rng = np.random.default_rng(n_time)
    walk = rng.random((3, 3)) ** 3
    walk /= walk.sum(axis=1, keepdims=True)
    likelihoods = rng.normal(0, 3, (n_time, 3))
    moments = np.arange(n_time)
    total = sum(
        np.exp(likelihoods[moments, list(path)].sum())
        * np.prod([walk[one, other] for one, other in pairwise(path)])
        for path in product(range(3), repeat=n_time)
    )
    expected = np.log(total / 3) - np.log(np.exp(likelihoods).mean(axis=1)).sum()
    assert walk_evidence(likelihoods, walk) == pytest.approx(expected, abs=1e-12)
    sparse = walk_evidence(likelihoods, csr_array(walk))
    assert sparse == pytest.approx(expected, abs=1e-12)


def test_no_walk_leads_to_a_place_out_of_reach():
    assert walk_evidence([[0.0, -2000.0], [-2000.0, 0.0]], np.eye(2)) == -np.inf


def test_a_path_does_not_come_back_where_spikes_are_few():
    """Without likelihoods the nearest place to all others is in the middle of the track."""
    n = 41
    distance = np.abs(np.subtract.outer(np.arange(n), np.arange(n))) * 5.0
    walk = np.exp(-0.5 * (distance / 8.0) ** 2)
    walk /= walk.sum(axis=1, keepdims=True)
    likelihoods = np.zeros((n + 24, n))
    likelihoods[12:-12] = -0.5 * (distance / 5.0) ** 2
    path = continuous_path(likelihoods, Walks((walk,), distance))
    assert (np.diff(path) >= -1).all()
    assert path[[0, -1]].tolist() == [1, n - 2]  # one bin from the ends of the track


def single_path(likelihoods, walk):
    """The most probable path of a random walk."""
    with np.errstate(divide="ignore"):
        steps = np.log(walk)
    score, came_from = likelihoods[0], []
    for later in likelihoods[1:]:
        ways = score[:, None] + steps
        came_from.append(ways.argmax(axis=0))
        score = ways.max(axis=0) + later
    path = [score.argmax()]
    for before in reversed(came_from):
        path.append(before[path[-1]])
    return path[::-1]


def test_a_path_is_nearer_and_longer_than_the_single_most_probable_one():
    """Of 20 cells at 6 m/s; without stationary or fragmented movement at all."""
    track, dt = cut_track(make_linear_track(200.0), 5.0), 5.0 / 600.0
    away = track.position[:, 0] - np.linspace(0, 200, 20)[:, None]
    rates = 0.1 + 30 * np.exp(-0.5 * (away / 12) ** 2)
    true = np.arange(5, 35)
    walks = walks_of_states(track, 3000 * dt, track.n_bins, dt)
    most_probable, nearest = [], []
    for seed in range(30):
        counts = np.random.default_rng(seed).poisson(rates[:, true].T * dt)
        likelihoods = log_likelihood(counts, rates, dt)
        nearest.append(continuous_path(likelihoods, walks))
        most_probable.append(single_path(likelihoods, walks.steps[0]))
    error = [np.abs(np.array(each) - true).mean() for each in (nearest, most_probable)]
    extent = [np.ptp(each, axis=1).mean() for each in (nearest, most_probable)]
    assert error[0] < error[1]
    assert extent[1] < extent[0] <= np.ptp(true)


def test_posteriors_sum_to_one_over_long_times(rng):
    track = w_track()
    likelihoods = rng.normal(0, 5, (3000, track.n_bins))
    posterior, _ = state_posterior(likelihoods, walk_transitions(track, 15.0))
    np.testing.assert_allclose(posterior.sum(axis=(1, 2)), 1.0, atol=1e-12)


def test_each_movement_is_recognised(rng):
    """What stays, sweeps or jumps, seen through sharp likelihoods, is called so."""
    track = w_track()
    places = {
        STATIONARY: np.full(30, 2),
        CONTINUOUS: np.tile([0, 1, 2, 3, 4, 3, 2, 1], 5)[:30],
        FRAGMENTED: rng.integers(0, track.n_bins, 30),
    }
    for movement, path in places.items():
        likelihoods = np.full((30, track.n_bins), -8.0)
        likelihoods[np.arange(30), path] = 0.0
        posterior, _ = state_posterior(likelihoods, walk_transitions(track, 15.0))
        assert posterior[:, movement].sum(axis=1).mean() > 0.8
        assert np.mean(posterior.sum(axis=1).argmax(axis=1) == path) > 0.95


def test_the_likelihood_is_that_of_poisson_counts(rng):
    from scipy.stats import poisson

    rates, counts = rng.gamma(2, 5, (4, 6)), rng.poisson(1, (5, 4))
    ours = log_likelihood(counts, rates, 0.02)
    exact = poisson.logpmf(counts[:, :, None], rates[None] * 0.02).sum(axis=1)
    constant = ours - exact
    np.testing.assert_allclose(constant - constant[:, :1], 0, atol=1e-12)
    posterior = bayesian_posterior(ours)
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0)


def test_rates_are_found_again():
    track, rng = w_track(), np.random.default_rng(1)
    rates = rng.gamma(2, 5, (3, track.n_bins))
    bins = rng.integers(-1, track.n_bins, 200_000)
    counts = rng.poisson(rates[:, bins].T * 0.01)
    found = place_fields(track, bins, counts, 0.01, smoothing=0)
    # About 28,000 time bins of .01 s a bin: a standard error of sqrt(rate / 280).
    assert (np.abs(found - rates) < 5 * np.sqrt(rates / 250)).all()


def test_smoothing_follows_the_corridors():
    """A bin of the left arm lends less to the right arm than to its own, however near in space."""
    graph = nx.Graph([("a", "b"), ("c", "d"), ("b", "d")])
    places = {"a": (0, 0), "b": (0, 50), "c": (1, 0), "d": (1, 50)}
    nx.set_node_attributes(graph, places, "pos")
    track = cut_track(graph, 5.0)
    spikes = np.zeros((track.n_bins, 1))
    spikes[0] = 10
    found = place_fields(track, np.arange(track.n_bins), spikes, 1.0, smoothing=5.0)[0]
    beside = np.flatnonzero(np.hypot(*(track.position - track.position[0]).T) < 2)
    assert found[1] > 1
    assert found[beside[beside > 0]].max() < 1e-6


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: state_posterior([[0.0, np.nan]], np.eye(2)), "time bin 0 are NaN"),
        (lambda: state_posterior([[-np.inf, -np.inf]], np.eye(2)), "0 everywhere"),
        (lambda: state_posterior([[0.0, 0.0]], np.eye(3)), "shape"),
        (lambda: state_posterior([[0.0, 0.0]], 2 * np.eye(2)), "sum to 1"),
        (lambda: state_posterior([0.0], np.eye(1)), "n_time, n_bins"),
        (lambda: log_likelihood([[1]], [[-1.0]], 0.1), "rates must hold"),
        (lambda: log_likelihood([[1, 2]], [[1.0]], 0.1), "n_cells"),
        (lambda: place_fields(w_track(), [99], [[1]], 0.1), "from 0 to"),
        (lambda: place_fields(w_track(), [0], [[1]], 0.1, smoothing=0), "never near bin 1"),
        (lambda: walk_transitions(w_track(), 0), "variance"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_no_time_is_no_error():
    posterior, log_evidence = state_posterior(np.empty((0, 3)), np.eye(3))
    assert posterior.shape == (0, 3, 3)
    assert log_evidence == 0.0


def test_it_meets_the_decoder_of_the_field():
    """Numbers of replay_trajectory_classification; it adds 2e-16 to what it divides by."""
    with np.load(Path(__file__).with_name("reference") / "rtc_decoder.npz") as stored:
        posterior, log_evidence = state_posterior(stored["log_likelihoods"], stored["walk"])
        np.testing.assert_allclose(posterior, stored["posterior"], rtol=0, atol=1e-9)
        assert log_evidence == pytest.approx(float(stored["log_evidence"]), abs=1e-9)


def test_figures_know_the_order_of_the_posterior():
    names = ["stationary", "continuous", "fragmented"]
    order = [names.index(name) for name in _MOVEMENT_LOOKS]
    assert order == [STATIONARY, CONTINUOUS, FRAGMENTED]
