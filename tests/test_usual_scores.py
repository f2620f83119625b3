"""Usual scores of replay, which decide nothing: by hand, and by trying every line."""

import numpy as np
import pytest

from analyses.recordings.basics.arena import arena_graph
from analyses.recordings.basics.binned_track import cut_track
from analyses.recordings.decide.scores import (
    USUAL_SCORES,
    Route,
    find_routes,
    line_fit,
    log_odds,
    usual_routes,
    usual_scores,
    weighted_correlation,
)
from replay.worlds.tracks import make_circular_track, make_wtrack


def test_routes_lead_from_end_to_end():
    w_track = cut_track(make_wtrack(), 5.0)
    routes = find_routes(w_track)
    assert len(routes) == 3
    for route in routes:
        assert (np.diff(route.distance) > 0).all()
        steps = w_track.distance[route.bins[:-1], route.bins[1:]]
        np.testing.assert_allclose(steps, np.diff(route.distance))
    assert find_routes(cut_track(make_circular_track(), 10.0))


def test_scores_by_hand():
    route = Route(np.arange(4), 10.0 * np.arange(4))
    assert weighted_correlation(np.eye(4)[::-1], [route]) == pytest.approx(1.0)
    still = np.zeros((4, 4))
    still[:, 1] = 1.0
    assert weighted_correlation(still, [route]) == 0.0
    assert line_fit(still, [route], width=1.0) == pytest.approx(1.0)
    assert line_fit(np.eye(4)[[0, 3, 0, 3]], [route], width=1.0) == pytest.approx(0.5)
    # What is exactly as far away as the width still counts, on either side of a line.
    for ends in ([0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]):
        assert line_fit([ends], [route], width=10.0, n_lines=2) == 1.0
    # Two of the four columns of a correlation, weighted: time and place agree in one half.
    mixed = np.eye(4) * 0.5 + 0.125
    assert 0.3 < weighted_correlation(mixed, [route]) < 0.7
    first = np.array([True, True, False, False])
    assert log_odds(np.full((3, 4), 0.25), first, ~first) == pytest.approx(0.0)
    # Normalised over both tracks together: a bin of neither does not count.
    assert log_odds([[0.3, 0.0, 0.1, 0.6]], first, [False, False, True, False]) == pytest.approx(
        np.log(3)
    )


def test_without_routes_there_are_no_scores():
    arena = cut_track(arena_graph(np.mgrid[0:40:10, 0:40:10].reshape(2, -1).T, 10.0))
    assert usual_routes(arena) == []
    found = usual_scores(np.full((5, arena.n_bins), 1 / arena.n_bins), [])
    assert set(found) == set(USUAL_SCORES)
    assert np.isnan(list(found.values())).all()


def plain_line_fit(posterior, routes, width, n_lines):
    """Try every line, and add up what lies within reach of it, time bin by time bin."""
    found = [0.0]
    for route in routes:
        ends = np.linspace(route.distance[0], route.distance[-1], n_lines)
        for begin in ends:
            for end in ends:
                line = np.linspace(begin, end, len(posterior))
                near = np.abs(route.distance - line[:, None]) <= width + 1e-9
                found.append((posterior[:, route.bins] * near).sum() / len(posterior))
    return min(max(found), 1.0)


@pytest.mark.parametrize(("n_time", "peaked"), [(2, 1.0), (9, 0.05), (15, 1.0)])
def test_the_best_line_is_found_though_most_are_left_early(n_time, peaked):
    track = cut_track(make_wtrack(), 10.0)
    routes = find_routes(track)
    posterior = np.random.default_rng(n_time).dirichlet(np.full(track.n_bins, peaked), n_time)
    found = line_fit(posterior, routes, width=15.0, n_lines=12)
    assert found == pytest.approx(plain_line_fit(posterior, routes, 15.0, 12), abs=1e-12)
    times = np.arange(n_time)
    expected = []
    for route in routes:
        weight = posterior[:, route.bins]
        where, when = np.meshgrid(route.distance, times)
        both = np.cov([where.ravel(), when.ravel()], aweights=weight.ravel())
        correlation = abs(both[0, 1]) / np.sqrt(both[0, 0] * both[1, 1])
        expected.append(correlation * weight.sum() / n_time)
    assert weighted_correlation(posterior, routes) == pytest.approx(max(expected), abs=1e-12)
