"""The attractor with adaptation against its authors' code, dense integration, and what is known.

``reference/attractor_states.csv`` has states of the published code's one-dimensional network
(github.com/ZilongJi/AdaptiveAttractorForSequences, commit 36cb292, cann.py, run with brainpy 2.5.0
in 64 bits): 128 neurons on a ring, tau = 1, tau_v = 48, a step of 0.1, adaptation `mbar`; a cue at
-3/4 pi for 50 tau with the noise of figure 2 (seed 123), then neither. Step 0 is the last one with
the cue. ``reference/attractor_speeds.csv`` has the speed of its bump as in figure 2d (tau = 3,
tau_v = 144), in rad/ms, over the last 2 s of 6, without noise after the cue.
"""

from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay import feed
from replay.learners import adaptive_attractor, find_learner
from replay.learners.adaptive_attractor import Dynamics, attractor, connect, follow_bump, place_bump
from replay.learners.contract import Pause
from replay.log.backups import EPISODE_END, REST, backup_buffer

REFERENCE = Path(__file__).parent / "reference"
NAME = "adaptive_attractor"
N = 128
SPACING = 2 * np.pi / N
WIDTH, EXCITATION, INHIBITION = 0.4 / SPACING, 4.0 / SPACING, 20.0
"""a = 0.4 rad, J0 = 4 and k = 20 of the published ring, in neurons."""


def linked(graph):
    return nx.to_numpy_array(graph, nodelist=sorted(graph)).astype(bool)


def ring(n=N, width=WIDTH, excitation=EXCITATION):
    network = attractor(n)
    connect(network, linked(nx.cycle_graph(n)), width, excitation)
    return network


def advance(network, dynamics, n_steps, rng=None):
    """Go on for a number of steps, wherever the bump goes; return each place and when it came."""
    n, rng, found = len(network.weights), rng or np.random.default_rng(0), []
    place, left = int(network.state[0].argmax()), n_steps
    while left:
        following, left = follow_bump(network, n, place, dynamics, left, rng)
        if following in (-1, place):
            break
        found.append((n_steps - left, following))
        place = following
    return found


@pytest.mark.parametrize("adaptation", [0.0, 1.5, 3.5])
def test_states_are_those_of_the_published_code(adaptation):
    table = pd.read_csv(REFERENCE / "attractor_states.csv")
    own = table[table["adaptation"] == adaptation]
    states = {step: rows[["u", "v"]].to_numpy().T for step, rows in own.groupby("step")}
    network = ring()
    apart = np.abs(np.subtract.outer(np.arange(N), np.arange(N)))
    apart = np.minimum(
        apart, N - apart
    )  # theirs has all connections, ours those within four widths
    within = apart <= 4 * WIDTH
    J = EXCITATION / (np.sqrt(2 * np.pi) * WIDTH) * np.exp(-(apart**2) / (2 * WIDTH**2))
    np.testing.assert_allclose(network.weights, J * within, atol=1e-12)
    network.weights[:] = J
    network.state[:2] = states[0]
    dynamics, before = Dynamics(INHIBITION, 48.0, adaptation / 48.0, 0.0, 0.1), 0
    for step, expected in sorted(states.items()):
        advance(network, dynamics, step - before)
        before = step
        np.testing.assert_allclose(network.state[:2], expected, rtol=0, atol=1e-9, err_msg=step)


def test_the_speed_of_a_bump_is_that_of_the_published_code():
    """At their step of time to half a percent; at the learner's, five times as long, to 3 %."""
    theirs = pd.read_csv(REFERENCE / "attractor_speeds.csv").set_index("adaptation")
    for adaptation in (1.5, 2.5):
        speed = theirs.loc[adaptation, "rad_per_ms"] * 3.0 / SPACING  # neurons per tau
        for time_step, accuracy in ((0.1 / 3, 0.005), (0.5, 0.03)):
            network = ring()
            place_bump(network, N, 64, 0.2, adaptation / 48.0)
            network.state[0] *= 1 + 0.1 * np.sin(np.arange(N) * SPACING)  # to one side
            dynamics = Dynamics(INHIBITION, 48.0, adaptation / 48.0, 0.0, time_step)
            advance(network, dynamics, int(600 / time_step))
            moves = advance(network, dynamics, int(300 / time_step))
            (first, _), (last, _) = moves[0], moves[-1]
            ours = (len(moves) - 1) / ((last - first) * time_step)
            assert ours == pytest.approx(speed, rel=accuracy), (adaptation, time_step)


@st.composite
def networks(draw):
    """Any graph, with a state."""
    n = draw(st.integers(1, 12))
    seed = draw(st.integers(0, 2**32 - 1))
    graph = nx.gnp_random_graph(n, draw(st.floats(0.1, 0.9)), seed=seed)
    width, excitation = draw(st.floats(0.5, 3.0)), draw(st.floats(1.0, 20.0))
    network, rng = attractor(n + 2), np.random.default_rng(seed)
    connect(network, linked(graph), width, excitation)
    network.state[:2, :n] = rng.normal(size=(2, n)).clip(0)
    return graph, width, excitation, network


@given(case=networks(), noise=st.sampled_from([0.0, 0.3]), n_steps=st.integers(1, 20))
def test_it_is_integrated_like_dense_equations(case, noise, n_steps):
    graph, a, excitation, network = case
    n = len(graph)
    d = np.full((n, n), np.inf)
    for here, to in nx.all_pairs_shortest_path_length(graph):
        d[here, list(to)] = list(to.values())
    J = excitation / (np.sqrt(2 * np.pi) * a) * np.exp(-(d**2) / (2 * a**2)) * (d <= 4 * a)
    np.testing.assert_allclose(network.weights[:n, :n], J, atol=1e-12)
    (u, v), rng = network.state[:2, :n].copy(), np.random.default_rng(5)
    k, tau_v, m, dt = 0.7, 8.0, 0.2, 0.3
    dynamics = Dynamics(k, tau_v, m, noise, dt)
    others = np.random.default_rng(5)
    for _ in range(n_steps):
        r = u**2 / (1 + k * (u**2).sum())
        drawn = np.zeros(n)
        if noise:
            drawn[r > 1e-6] = np.sqrt(12) * (rng.random((r > 1e-6).sum()) - 0.5)
        u, v = (
            np.maximum(u + dt * (-u + J @ r - v), 0),
            v + dt / tau_v * (-v + m * u) + noise * u * np.sqrt(dt / tau_v) * drawn,
        )
        at = int(network.state[0, :n].argmax())
        place, left = follow_bump(network, n, at, dynamics, 1, others)
        assert left == 0
        assert place == (u.argmax() if u.max() > 0 else -1)
        np.testing.assert_allclose(network.state[:2, :n], [u, v], atol=1e-10)


def replayed_on_ring(n=40, seed=0, **params):
    """Replay on a ring of places; return the learner's memory and the backups."""
    track = nx.cycle_graph(n)
    moves = pd.DataFrame([(i, (i + 1) % n) for i in range(n)], columns=["state", "next_state"])
    moves = moves.assign(action=0, reward=0.0, terminated=np.arange(n) == n - 1)
    params = {"n_replays": 1000} | params
    kept = {}
    feed(NAME, moves, n_states=n, n_actions=1, params=params, on_step=kept.__setitem__)
    memory, found = kept[n - 1], find_learner(NAME, params)
    assert (memory.is_linked == linked(track)).all()
    log = backup_buffer(1000, "replay")
    rng = np.random.default_rng(seed)
    adaptive_attractor.replay(found.params, memory, Pause(EPISODE_END, 0, True), rng, log)
    return memory, log.rows[: log.counter[1]]


def on_ring(adaptation, noise=0.0, n=40, seed=0):
    """Follow a bump on a ring of places, with the learner's default parameters otherwise."""
    _, rows = replayed_on_ring(n, seed, adaptation=adaptation, noise=noise, duration=400.0)
    step = (rows["next_state"] - rows["state"] + n // 2) % n - n // 2
    return np.append(0, np.cumsum(step))


@pytest.mark.parametrize("strength", [1.0, 1.5])
def test_a_bump_that_is_placed_is_one_that_stays(strength):
    """Its input is what it excites, but for what is cut off; weaker connections sustain none."""
    still = {"adaptation": 0.0, "noise": 0.0, "duration": 0.0, "width": 3.0, "strength": strength}
    network = replayed_on_ring(60, **still)[0].network
    u = network.state[0]

    def excited(share):
        return share * network.weights @ (u**2 / (1 + (u**2).sum()))

    np.testing.assert_allclose(excited(1.0), u, atol=0.02 * u.max())
    assert (excited(0.9 / strength) < u)[u > 0.1 * u.max()].all()


def test_without_adaptation_a_bump_stays():
    assert len(on_ring(0.0, noise=0.5)) == 1


def test_with_strong_adaptation_it_travels_on():
    for seed in range(5):
        path = on_ring(2.0, noise=0.02, seed=seed)
        assert abs(path[-1]) > 40  # more than once around
        assert (np.diff(path) == np.sign(path[-1])).mean() > 0.95


def test_with_weak_adaptation_noise_makes_it_diffuse():
    ends = {m: [abs(on_ring(m, 0.3, seed=seed)[-1]) for seed in range(30)] for m in (0.4, 0.9)}
    assert 0 < np.mean(ends[0.4]) < np.mean(ends[0.9])
    assert np.mean(ends[0.9]) < 20
    directions = np.sign([on_ring(0.9, 0.3, seed=seed)[-1] for seed in range(30)])
    assert {-1, 1} <= set(directions)


def test_at_rest_it_begins_anywhere():
    moves = pd.DataFrame({"state": [0, 1, 2], "next_state": [1, 2, 3], "action": 0})
    moves = moves.assign(reward=0.0, terminated=[False, False, True])
    kept = {}
    feed(NAME, moves, n_states=4, n_actions=1, on_step=kept.__setitem__)
    found, rng, firsts = find_learner(NAME), np.random.default_rng(0), set()
    for _ in range(50):
        log = backup_buffer(100, "replay")
        adaptive_attractor.replay(found.params, kept[2], Pause(REST, 3, True), rng, log)
        firsts |= {int(log.rows["state"][0])} if log.counter[1] else set()
    assert firsts == {0, 1, 2, 3}


def test_it_is_a_generator():
    kinds = {0.0: "a bump that stays", 0.9: "a bump that diffuses", 2.0: "a bump that travels"}
    for adaptation, priority in kinds.items():
        found = find_learner(NAME, {"adaptation": adaptation})
        assert not found.description.computes_values
        assert found.description.priority == priority
