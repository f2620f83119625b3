"""The decoder compared with sums over all paths of hidden states, and with known properties."""

from itertools import product
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from scipy import integrate, stats

from analyses.plots.decoded_panels import MOVEMENT_LOOKS
from analyses.recordings.basics.binned_track import cut_track
from analyses.recordings.prepare.likelihood import (
    bayesian_posterior,
    log_likelihood,
    placeless_log_likelihood,
)
from analyses.recordings.prepare.place_fields import place_fields
from analyses.recordings.prepare.state_space_decoder import (
    CONTINUOUS,
    FRAGMENTED,
    STATIONARY,
    state_posterior,
    walk_transitions,
)


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


def test_without_places_each_cell_has_a_rate_of_its_own(rng):
    """Beside the integral over that rate, and in any order of its spikes."""
    rates, counts, dt = rng.gamma(2, 5, (3, 6)), rng.poisson(0.3, (2, 30, 3)), 0.005
    ours = placeless_log_likelihood(counts, rates, dt)
    for event, found in zip(counts, ours, strict=True):
        expected = 0.0
        for cell, mean in enumerate(rates.mean(axis=1)):

            def at(rate, spikes=event[:, cell], mean=mean):
                fires = (rate * dt) ** spikes.sum() * np.exp(-rate * dt * len(spikes))
                return fires * stats.gamma.pdf(rate, 2.0, scale=mean / 2.0)

            expected += np.log(integrate.quad(at, 0, np.inf, epsabs=0)[0])
        assert found == pytest.approx(expected, abs=1e-6)
    shuffled = rng.permuted(counts, axis=1)
    np.testing.assert_allclose(placeless_log_likelihood(shuffled, rates, dt), ours, atol=1e-9)
    # Where rates are the same everywhere and certain, no place and any place are alike.
    flat, few = np.full((3, 6), 0.01), counts[:, :, :] * 0
    assert placeless_log_likelihood(few, flat, dt) == pytest.approx(
        log_likelihood(few[0], flat, dt).sum(axis=0)[0], abs=1e-5
    )


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
        (
            lambda: place_fields(w_track(), np.array([0]), np.array([[1]]), 0.1, smoothing=0),
            "never near bin 1",
        ),
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
    order = [names.index(name) for name in MOVEMENT_LOOKS]
    assert order == [STATIONARY, CONTINUOUS, FRAGMENTED]
