"""Significance: true sweeps are detected, randomised cells are not; shuffles differ."""

import numpy as np
import pandas as pd
import pytest

from analyses.recordings.basics.binned_track import cut_track
from analyses.recordings.decide.calibration import choose_threshold, passes_by_chance
from analyses.recordings.decide.order import (
    LEAST_ORDER,
    UNORDERED,
    order_of,
    order_threshold,
    ordered_paths,
    unordered_places,
)
from analyses.recordings.decide.p_values import significance
from analyses.recordings.decide.routes import Route, find_routes
from analyses.recordings.decide.scores import line_fit, weighted_correlation
from analyses.recordings.decide.track_log_odds import log_odds
from analyses.recordings.prepare.likelihood import log_likelihood
from analyses.recordings.prepare.state_space_decoder import continuous_path, walks_of_states
from replay.worlds.tracks import make_circular_track, make_linear_track, make_wtrack

TRACK = cut_track(make_linear_track(150.0), 5.0)
DT = 0.01


def place_cells(n_cells=30, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.uniform(0, 150, n_cells)
    peaks = 30 * np.exp(rng.normal(0, 0.3, n_cells))
    place = TRACK.position[:, 0]
    return peaks[:, None] * np.exp(-0.5 * ((place - centres[:, None]) / 10) ** 2) + 0.1


RATES = place_cells()


def sweep(seed, n_time=20, ends=(0, TRACK.n_bins - 1)):
    rng = np.random.default_rng(seed)
    bins = np.linspace(*ends, n_time).round().astype(int)[:: rng.choice([-1, 1])]
    return rng.poisson(RATES[:, bins].T * DT * 2.9)


def randomised(seed):
    return sweep(seed)[:, np.random.default_rng(seed).permutation(len(RATES))]


@pytest.mark.parametrize("score", ["continuous", "weighted_correlation", "line_fit"])
def test_sweeps_are_found(score):
    events = [sweep(seed) for seed in range(12)]
    tested = significance(events, RATES, TRACK, dt=DT, score=score, n_shuffles=39)
    assert (tested["p"] <= 0.05).mean() >= 0.75
    assert (tested["p"] >= 1 / 40).all()


def test_randomised_cells_are_not_called_replay():
    """P values of a shuffle of cells are uniform by construction: of 30, five or more are rare."""
    events = [randomised(seed) for seed in range(30)]
    tested = significance(events, RATES, TRACK, dt=DT, n_shuffles=19)
    assert (tested["p"] <= 0.05).sum() <= 4  # the probability of more is .016


def test_a_shuffle_of_the_posterior_alone_is_refused():
    with pytest.raises(ValueError, match="alone, about half of all events"):
        significance([sweep(0)], RATES, TRACK, dt=DT, shuffles=["time_bins", "circular_posterior"])


def test_time_bins_and_posterior_call_more():
    """The reason for the refusal, on events of randomised cells that drift."""
    events = [randomised(seed) for seed in range(15)]
    both = ("cell_identity", "circular_posterior")
    tested = significance(events, RATES, TRACK, dt=DT, shuffles=both, n_shuffles=19)
    lower = tested["p_circular_posterior"].mean()
    assert lower < tested["p_cell_identity"].mean()


def test_the_threshold_is_chosen_on_randomised_cells():
    events = [randomised(seed) for seed in range(20)]
    found = choose_threshold(significance(events, RATES, TRACK, dt=DT, n_shuffles=19)["p"])
    assert found.n_events == 20
    assert found.false_positive_rate <= 0.05
    assert 0 <= found.threshold <= 0.05


def test_each_event_has_shuffles_of_its_own():
    one = significance([sweep(0), sweep(1)], RATES, TRACK, dt=DT, n_shuffles=9, seed=3)
    other = significance([sweep(0), sweep(5)], RATES, TRACK, dt=DT, n_shuffles=9, seed=3)
    assert one.iloc[0].equals(other.iloc[0])


def test_events_of_few_cells_are_not_tested():
    quiet = np.zeros((5, len(RATES)))
    tested = significance([quiet], RATES, TRACK, dt=DT, n_shuffles=9)
    assert tested["p"].isna().all()
    with pytest.raises(ValueError, match="No event has enough active cells"):
        choose_threshold(tested["p"])


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
    with pytest.raises(ValueError, match="belongs to both tracks"):
        log_odds(np.ones((1, 4)), first, first)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"score": "best"}, "Unknown score 'best'"),
        ({"shuffles": ["cells"]}, "Unknown shuffle 'cells'"),
        ({"n_shuffles": 0}, "n_shuffles must be a whole number of at least 1"),
        ({"seed": -1}, "seed must be"),
        ({"dt": 0}, "dt must be"),
    ],
)
def test_options_that_make_no_sense(options, message):
    with pytest.raises(ValueError, match=message):
        significance([sweep(0)], RATES, TRACK, **({"dt": DT} | options))


def test_shapes_that_make_no_sense():
    with pytest.raises(ValueError, match="on this track"):
        significance([sweep(0)], RATES[:, 1:], TRACK, dt=DT)
    with pytest.raises(ValueError, match="Event 0 must have the shape"):
        significance([sweep(0)[:, 1:]], RATES, TRACK, dt=DT)


def test_a_threshold_lies_below_a_p_that_too_many_have():
    for p in ([0.01, 0.01, *[0.5] * 18], [0.005, *[0.5] * 9]):
        found = choose_threshold(p, 0.05)
        assert min(p) > found.threshold > 0.99 * min(p)
        assert found.at_nominal == 0.1
    assert passes_by_chance([0.01, *[0.5] * 19], 0.05).tolist() == [True, *[False] * 19]


def test_thresholds_keep_the_level():
    rng = np.random.default_rng(0)
    rates = [choose_threshold(rng.random(400) ** 2, 0.05) for _ in range(100)]
    assert np.mean([each.false_positive_rate for each in rates]) == pytest.approx(0.05, abs=0.01)
    for n_events in (10, 30, 60):  # fewer than needed for a share of .01 that is not 0
        few = [choose_threshold(rng.random(n_events), 0.01).threshold for _ in range(200)]
        assert np.mean(few) < 0.01


ORDERED = [sweep, lambda seed: sweep(seed)[::-1], lambda seed: sweep(seed, ends=(10, 20))]


def order(counts):
    likelihoods = log_likelihood(counts, RATES, DT)
    path = continuous_path(likelihoods, walks_of_states(TRACK, 3000 * DT, TRACK.n_bins, DT))
    return order_of(likelihoods, path, ordered_paths(TRACK, DT, TRACK.n_bins))


@pytest.mark.parametrize("events", ORDERED)
def test_sweeps_are_in_order(events):
    assert np.mean([order(events(seed)) >= LEAST_ORDER for seed in range(20)]) >= 0.9


def test_order_is_clearer_where_cells_have_a_heading():
    """A sweep that keeps its heading, in spikes of cells that fire a tenth as much in the other."""
    first = np.arange(len(RATES)) % 2 == 0
    rates = np.hstack([RATES * np.where(first, 1, 0.1)[:, None],
                       RATES * np.where(first, 0.1, 1)[:, None]])  # fmt: skip
    headed, plain = (
        ordered_paths(TRACK, DT, 2 * TRACK.n_bins),
        ordered_paths(TRACK, DT, TRACK.n_bins),
    )
    assert [each.walk.shape[0] // TRACK.n_bins for each in headed] == [1, 2]
    bins = np.linspace(0, TRACK.n_bins - 1, 20).round().astype(int)
    for heading in (0, 1):
        for way in (bins, bins[::-1]):
            gained = []
            for seed in range(10):
                rng = np.random.default_rng(seed)
                counts = rng.poisson(rates[:, way + heading * TRACK.n_bins].T * DT)
                likely = log_likelihood(counts, rates, DT)
                gained.append(order_of(likely, way, headed) - order_of(likely, way, plain))
            assert min(gained) >= 0
            assert np.mean(gained) >= 1


def test_a_heading_is_carried_on_along_each_route():
    track = cut_track(make_wtrack(), 5.0)
    plain, headed = ordered_paths(track, DT, 2 * track.n_bins)
    assert len(headed.routes) == 2 * len(plain.routes) == 6
    for route in headed.routes:
        assert (headed.walk[route[:-1], route[1:]] > 0).all()
    for one, other in zip(headed.routes[:3], headed.routes[3:], strict=True):
        assert (np.abs(one - other) == track.n_bins).all()


@pytest.mark.parametrize("null", UNORDERED)
def test_places_in_no_order_are_not(null):
    rng = np.random.default_rng(0)
    passed = []
    for _ in range(60):
        bins = unordered_places(null, 20, TRACK, DT, rng)
        passed.append(order(rng.poisson(RATES[:, bins].T * DT)) >= LEAST_ORDER)
    assert np.mean(passed) <= 0.1


def test_the_least_order_rises_until_no_unordered_event_passes_too_often():
    rows = [(event, "sweeps", 2.0 + event / 100, 0.01) for event in range(40)]
    table = pd.DataFrame(rows, columns=["event", "null", "order", "p"])
    least, rates = order_threshold(table, 0.05, 0.05)
    assert (table["order"] >= least).mean() <= 0.05
    assert 2.3 < least < 2.4
    assert rates["n"].tolist() == [40]
    assert order_threshold(table.assign(p=0.2), 0.05, 0.05)[0] == LEAST_ORDER
    assert order_threshold(table.assign(p=0.05), 0.05, 0.05)[0] == least  # at the level: passes
    one = table[:18].assign(order=[9.0, *17 * [0.0]])  # of few, one is no evidence
    assert order_threshold(one, 0.05, 0.05)[0] == LEAST_ORDER
    assert order_threshold(one.assign(order=[9.0, 8.0, *16 * [0.0]]), 0.05, 0.05)[0] > 8.0


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
