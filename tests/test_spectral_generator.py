"""The spectral generator against dense algebra, and against what its authors' code computes.

``reference/spectral_propagators.csv`` has rows of propagators from the published code
(github.com/dmcnamee/FlexModEHC, commit 88f8b52): its ``Generator`` was given the random walk T on a
line of ten places or an open box of 7 x 7, its ``Propagator`` tempo and stability, sigma 1; a goal
is ``highlight_states([goal], weight=100)``; each row is ``Simulator.evolve(1)`` from one place.
``reference/spectral_least_autocorrelated.csv`` has ``etO`` of a ``Propagator`` of tempo 20.7, with
the walk on that line or on a ring of three cliques of four at jump rate 15, after
``min_zero_cf(lags=[1, ..., 9], rho_init="uniform")``, whose bounds are open by 0.001.
"""

from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm

from replay import feed, simulate
from replay.learners import find_learner
from replay.learners.spectral_generator import (
    least_autocorrelated,
    probability_of_next,
    propagate,
    propagator_of,
)
from replay.worlds.mazes import from_ascii

REFERENCE = Path(__file__).parent / "reference" / "spectral_propagators.csv"
LEAST = REFERENCE.parent / "spectral_least_autocorrelated.csv"


def line(n):
    joined = np.zeros((n, n), dtype=bool)
    joined[np.arange(n - 1), np.arange(1, n)] = True
    return joined | joined.T


def box(n):
    one = np.eye(n, dtype=bool)
    return np.kron(one, line(n)).astype(bool) | np.kron(line(n), one).astype(bool)


def propagator(joined, tempo=1.0, stability=1.0, *, goals=(), weight=1.0, dwell=True):
    P = propagator_of(len(joined))
    is_goal = np.isin(np.arange(len(joined)), goals)
    propagate(P, joined, is_goal, weight, tempo, stability, dwell)
    return np.diff(P.cumulative, axis=1, prepend=0.0)


def generator(joined, goals=(), weight=1.0):
    rates = joined / np.maximum(joined.sum(axis=1, keepdims=True), 1) - np.diag(joined.any(axis=1))
    rates[list(goals)] /= weight
    return rates


@pytest.mark.parametrize("dwell", [True, False])
def test_the_priority_of_a_move_is_its_probability(dwell):
    """Of all moves from a place the probabilities sum to 1, also where the walk cannot stay."""
    P = propagator_of(9)
    propagate(P, box(3), np.zeros(9, dtype=bool), 1.0, 2.0, 0.8, dwell)
    found = [[probability_of_next(P, 9, here, there) for there in range(9)] for here in range(9)]
    expected = propagator(box(3), 2.0, 0.8, dwell=dwell)
    np.testing.assert_allclose(found, expected / expected.sum(axis=1, keepdims=True), atol=1e-12)


@st.composite
def graphs(draw):
    """Any graph, places without a link included."""
    n = draw(st.integers(1, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    joined = np.triu(rng.random((n, n)) < draw(st.floats(0.1, 0.9)), 1)
    return joined | joined.T


@given(joined=graphs(), tempo=st.floats(0.05, 20.0), weight=st.sampled_from([1.0, 100.0]))
def test_diffusion_is_the_matrix_exponential(joined, tempo, weight):
    goals = [0]
    P = propagator(joined, tempo, goals=goals, weight=weight)
    np.testing.assert_allclose(P, expm(generator(joined, goals, weight) / tempo), atol=1e-11)


@given(joined=graphs(), tempo=st.floats(0.05, 20.0))
def test_superdiffusion_is_the_exponential_of_the_root(joined, tempo):
    P = propagator(joined, tempo, 0.5)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    twice = propagator(joined, tempo / 2, 0.5)  # two steps are one of half the tempo
    np.testing.assert_allclose(P @ P, twice, atol=1e-11)
    # Of one step in little time, the part that is linear in time is the root of -O.
    root = 1e6 * (np.eye(len(joined)) - propagator(joined, 1e6, 0.5))
    np.testing.assert_allclose(root @ root, -generator(joined), atol=1e-4)


def published():
    rows = pd.read_csv(REFERENCE)
    keys = ["graph", "jump_rate", "goal", "tempo", "stability", "start"]
    return [(dict(zip(keys, key, strict=True)), own) for key, own in rows.groupby(keys)]


@pytest.mark.parametrize(("case", "rows"), published(), ids=lambda value: str(value)[:80])
def test_the_propagators_of_the_published_code(case, rows):
    joined = line(10) if case["graph"] == "line_10" else box(7)
    tempo = case["tempo"] / case["jump_rate"] ** case["stability"]
    goals, weight = ([case["goal"]], 100.0) if case["goal"] >= 0 else ([], 1.0)
    P = propagator(joined, tempo, case["stability"], goals=goals, weight=weight)[case["start"]]
    theirs = rows.sort_values("place")["probability"].to_numpy()
    np.testing.assert_allclose(P / P.sum(), theirs, atol=2e-8)


@pytest.mark.parametrize("exponent", [0.5, 0.6, 0.71])
def test_displacement_grows_as_in_figure_6(exponent):
    """Displacement grows with a power 1 / (2 alpha) of time: 0.5 asleep, 0.54 to 0.72 awake."""
    stability, middle = 1 / (2 * exponent), 100
    times = np.array([4.0, 8.0, 16.0, 32.0])
    away = np.abs(np.arange(201) - middle)
    half = []
    for time in times:
        row = propagator(line(201), 1 / time, stability)[middle]
        within = np.cumsum(np.bincount(away, row))  # half of all are so far away, at most
        half.append(np.interp(0.5, within, np.arange(len(within)) + 0.5))
    slope = np.polyfit(np.log(times), np.log(half), 1)[0]
    assert slope == pytest.approx(exponent, abs=0.03)


def test_only_superdiffusion_finds_a_remote_goal():
    """Figure 3: from a corner of a box, in the paper's own setting (r = 15, tau = 5)."""
    joined, goal, corner = box(15), 112, 0
    shares = {}
    for name, stability in (("diffusion", 1.0), ("superdiffusion", 0.5)):
        tempo = 5.0 / 15.0**stability
        options = {"goals": [goal], "weight": 100.0, "dwell": False}
        P = propagator(joined, tempo, stability, **options)[corner]
        shares[name] = P[goal] / P.sum() * len(joined)
    assert shares["diffusion"] < 0.1
    assert shares["superdiffusion"] > 1.0


def ring_of_cliques(n_cliques, size):
    """Each clique's last place is joined to the first of the next one."""
    joined = np.kron(np.eye(n_cliques), np.ones((size, size))).astype(bool)
    first = np.arange(n_cliques) * size
    joined[(first + size - 1), np.roll(first, -1)] = True
    return (joined | joined.T) & ~np.eye(len(joined), dtype=bool)


def returns(P):
    """Give the probability to be back, summed over lags of 1 to 9."""
    return sum(np.trace(np.linalg.matrix_power(P, lag)) for lag in range(1, 10)) / len(P)


@pytest.mark.parametrize(
    ("graph", "joined"), [("line_10", line(10)), ("ring_of_cliques_3x4", ring_of_cliques(3, 4))]
)
def test_the_least_autocorrelated_propagator_of_the_published_code(graph, joined):
    theirs = (
        pd.read_csv(LEAST).query("graph == @graph").pivot_table("probability", "start", "place")
    )
    P = least_autocorrelated(joined)
    np.testing.assert_allclose(P, theirs, atol=1.5e-3)
    assert returns(theirs.to_numpy()) < returns(P) < returns(theirs.to_numpy()) + 9 * 1e-3


@given(joined=graphs(), tempo=st.floats(0.05, 20.0), stability=st.sampled_from([0.5, 1.0]))
def test_no_other_spectrum_comes_back_less(joined, tempo, stability):
    P, O = least_autocorrelated(joined), generator(joined)  # noqa: E741
    assert P.min() >= 0.0
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    np.testing.assert_allclose(P @ O, O @ P, atol=1e-8)  # the same eigenvectors
    for rival in (propagator(joined, tempo, stability), O + np.eye(len(O))):
        assert returns(P) <= returns(rival) + 1e-7


def test_where_all_places_are_joined_any_other_one_comes_next():
    joined = ~np.eye(5, dtype=bool)
    np.testing.assert_allclose(least_autocorrelated(joined), joined / 4, atol=1e-9)


def test_a_least_autocorrelated_run_knows_the_graph_before_its_first_step():
    maze = from_ascii("S..\n.#G")
    params = {"least_autocorrelated": True, "dwell": True}
    run = simulate(maze, "spectral_diffusion", params, n_steps=2000)
    moves = run.log.backups
    counts = pd.crosstab(moves["state"], moves["next_state"], normalize="index")
    ways = nx.to_numpy_array(nx.Graph(maze.to_networkx()), nodelist=range(maze.n_states)) > 0
    expected = least_autocorrelated(ways & ~np.eye(len(ways), dtype=bool))
    np.testing.assert_allclose(counts, expected, atol=0.06)
    with pytest.raises(ValueError, match="least_autocorrelated needs to know the world"):
        feed("spectral_diffusion", run.log.steps, n_states=5, n_actions=4, params=params)


def test_the_graph_is_learned():
    maze = from_ascii("S..\n.#G")
    run = simulate(maze, "spectral_diffusion", {"dwell": True}, n_steps=3000)
    memory = run.memory
    n = int(memory.known.n[0])
    joined = np.zeros((maze.n_states, maze.n_states), dtype=bool)
    steps = run.log.steps
    joined[steps["state"], steps["next_state"]] = True
    joined = (joined | joined.T) & ~np.eye(len(joined), dtype=bool)
    places = memory.known.met[:n]
    assert sorted(places) == sorted({*steps["state"], *steps["next_state"]})
    assert (memory.is_linked[:n, :n] == joined[np.ix_(places, places)]).all()
    found = np.diff(memory.propagator.cumulative[:n, :n], axis=1, prepend=0.0)
    np.testing.assert_allclose(found, propagator(joined[np.ix_(places, places)]), atol=1e-12)
    # What is drawn follows it, and its probability is the priority.
    moves = run.log.backups
    counts = pd.crosstab(moves["state"], moves["next_state"], normalize="index")
    expected = moves.pivot_table("priority", "state", "next_state", "last", fill_value=0.0)
    np.testing.assert_allclose(counts, expected, atol=0.06)


def test_rewarded_places_are_goals_until_they_are_not():
    steps = {"state": [0, 1, 0, 1], "action": 0, "next_state": [1, 2, 1, 2]}
    ends = {"terminated": [False, True] * 2}
    for reward, is_goal in (([0, 1, 0, 1], True), ([0, 1, 0, 0], False)):
        table = pd.DataFrame({**steps, **ends, "reward": np.array(reward, float)})
        kept = {}
        feed("spectral_diffusion", table, n_states=3, n_actions=1, on_step=kept.__setitem__)
        assert kept[3].is_goal[kept[3].known.number[2]] == is_goal


def test_it_is_a_generator():
    found = find_learner("spectral_superdiffusion")
    assert not found.description.computes_values
    assert "discount" not in found.parameters
    assert found.description.priority == "superdiffusion on the graph"
    assert find_learner("spectral_diffusion", {"stability": 2.0}).description.priority == (
        "turbulence on the graph"
    )
