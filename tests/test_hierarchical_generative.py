"""Hierarchical generative replay: Bayes' rule, and an enumeration of all its possible draws."""

import numpy as np
import pytest
from fed_paths import moves_along
from hypothesis import assume, given
from hypothesis import strategies as st

from replay import feed
from replay.learners import find_learner, hierarchical_generative
from replay.learners.contract import Pause
from replay.log.backups import EPISODE_END, REST, START, backup_buffer

N = 6
NAME = "hierarchical_generative"


def fed(laps, n_states=N, **params):
    """Feed laps without any replay, and return what is remembered then."""
    kept, moves = {}, moves_along(laps).assign(action=0)
    params = {"n_replays": 0, **params}
    sizes = {"n_states": n_states, "n_actions": 1, "params": params}
    feed(NAME, moves, **sizes, on_step=kept.__setitem__)
    return kept[len(moves) - 1]._replace(replayed=np.zeros(100, np.int32))


def theta(counts, alpha):
    return (alpha + counts) / (alpha + counts).sum(axis=1, keepdims=True)


laps = st.lists(st.lists(st.integers(0, N - 1), min_size=2, max_size=6), min_size=1, max_size=8)


@given(laps, st.integers(1, 4), st.sampled_from([0.1, 1.0]), st.sampled_from([0.5, 2.0]))
def test_maps_are_those_of_bayes_rule(laps, n_maps, alpha, c):
    counts, held = np.zeros((n_maps, N)), np.zeros(n_maps)
    for lap in laps:
        likelihood = np.prod(theta(counts, alpha)[:, lap], axis=1)
        posterior = (c + held) * likelihood
        posterior /= posterior.sum()
        best = posterior.argmax()
        held[best] += 1
        np.add.at(counts[best], lap, 1)
        gap = np.abs(posterior - posterior[best])
        assume(not ((gap > 0) & (gap < 1e-9)).any())  # which comes first would be rounding's choice
    memory = fed(laps, n_maps=n_maps, concentration=alpha, map_concentration=c)
    places = memory.known.met[: memory.known.n[0]]
    np.testing.assert_allclose(memory.belief[0], posterior, atol=1e-12)
    np.testing.assert_array_equal(memory.n_places[:, : len(places)], counts[:, places])
    np.testing.assert_array_equal(memory.n_sequences, held)
    np.testing.assert_array_equal(memory.n_entries, counts.sum(axis=1))


def drawn(memory, params, phase, here, n_pauses):
    """Let it replay again and again from the same memory; return paths and their probabilities."""
    found = find_learner(NAME, params)
    rng, paths = np.random.default_rng(1), []
    for _ in range(n_pauses):
        log = backup_buffer(100, "replay")
        hierarchical_generative.replay(found.params, memory, Pause(phase, here, True), rng, log)
        rows = log.rows[: log.counter[1]]
        path = (int(rows["state"][0]), *rows["next_state"].tolist())
        paths.append((path, float(rows["priority"].prod())))
    return paths


LAPS = [[0, 1, 2, 3], [0, 1, 4, 5], [3, 2, 1, 0], [0, 1, 4, 5], [0, 1, 4, 1, 2]]


def sequences(memory, prior, alpha, decay, phase, here, n_drawn):
    """Give every sequence that may be drawn, with its probability, from the equations."""
    n = memory.known.n[0]
    places, joined = memory.known.met[:n].tolist(), memory.is_linked
    theta_k = theta(memory.n_places, alpha)
    found = {}

    def go_on(path, z, probability):
        if len(path) == n_drawn + 1:
            found[tuple(places[i] for i in path)] = probability
            return
        y = np.zeros(n)
        for age, i in enumerate(path[::-1]):
            y[i] = max(y[i], decay**age)
        weights = joined[path[-1], :n] * (1 - y) * (z @ theta_k[:, :n])
        for i in np.flatnonzero(weights):
            follows = z * theta_k[:, i]
            share = weights[i] / weights.sum()
            go_on([*path, i], follows / follows.sum(), probability * share)

    firsts = {places.index(here): 1.0}
    if phase == REST:
        weights = prior @ theta_k[:, :n]
        firsts = dict(enumerate(weights / weights.sum()))
    for first, probability in firsts.items():
        z = memory.belief[0] if phase == EPISODE_END else prior * theta_k[:, first]
        go_on([first], z / z.sum(), probability)
    return found


@pytest.mark.parametrize(("phase", "here"), [(EPISODE_END, 2), (START, 0), (REST, 2)])
def test_sequences_are_drawn_by_their_probabilities(phase, here):
    alpha, decay, n_drawn, n_pauses = 0.5, 0.6, 3, 4000
    params = {"n_maps": 3, "concentration": alpha, "trace_decay": decay, "replay_share": 0.0}
    memory = fed(LAPS, **params)
    prior = (1 + memory.n_sequences) / (1 + memory.n_sequences).sum()
    found = sequences(memory, prior, alpha, decay, phase, here, n_drawn)
    assert sum(found.values()) == pytest.approx(1.0)
    paths = drawn(memory, params | {"n_replays": n_drawn}, phase, here, n_pauses)
    counts = dict.fromkeys(found, 0)
    firsts = {}
    for path, probability in paths:
        counts[path] += 1
        firsts.setdefault(path[0], found[path] / probability)
        assert found[path] == pytest.approx(firsts[path[0]] * probability, rel=1e-10)
    for path, probability in found.items():
        error = np.sqrt(probability * (1 - probability) * n_pauses)
        assert abs(counts[path] - probability * n_pauses) <= 4.5 * error + 1e-9, path


def maze(first):
    """Give laps over six places that no other maze has."""
    way = list(range(first, first + 6))
    return [way, way[::-1]] * 4


def test_every_maze_has_a_map_of_its_own_that_replay_keeps():
    mazes = [maze(first) for first in (0, 6, 12)]
    params = {"n_maps": 5, "replay_share": 0.0}
    memory = fed([lap for laps in [*mazes, mazes[0]] for lap in laps], n_states=18, **params)
    assert memory.n_sequences.tolist() == [16, 8, 8, 0, 0]
    number = memory.known.number
    for k in range(3):
        assert set(np.flatnonzero(memory.n_places[k])) == set(number[6 * k : 6 * k + 6])
    # At rest each map is replayed, by its share.
    paths = drawn(memory, params | {"n_replays": 5}, REST, 0, 2000)
    shares = np.bincount([path[0] // 6 for path, _ in paths], minlength=3) / len(paths)
    np.testing.assert_allclose(shares, (1 + memory.n_sequences[:3] + 2 / 3) / 37, atol=0.05)


def test_shortcuts_are_drawn_though_they_were_never_run():
    memory = fed([[0, 1, 2, 3], [0, 1, 4, 5]])
    paths = {path for path, _ in drawn(memory, {"n_replays": 4}, START, 3, 200)}
    assert (3, 2, 1, 4, 5) in paths


def test_sequences_turn_back_by_the_decay_of_their_trace():
    memory = fed(LAPS)
    never = {"trace_decay": 1.0, "n_replays": 20, "replay_share": 0.0}
    for path, _ in drawn(memory, never, START, 0, 50):
        assert len(set(path)) == len(path)
    at_once = {"trace_decay": 0.0, "n_replays": 2, "replay_share": 0.0}
    assert any(path[0] == path[2] for path, _ in drawn(memory, at_once, START, 0, 50))


def test_replay_teaches_maps_at_its_share():
    memory = fed(LAPS)
    before = memory.n_entries.sum()
    paths = drawn(memory, {"n_replays": 4, "replay_share": 0.25}, REST, 0, 10)
    assert memory.n_entries.sum() == pytest.approx(before + 0.25 * sum(len(p) for p, _ in paths))


def test_long_sequences_are_cut():
    memory = fed([[0, 1, 2, 3, 4, 5]], span=4, n_maps=1)
    assert memory.n_sequences.tolist() == [2]
    assert memory.n_entries.tolist() == [7]  # pieces share the place where they are cut


def test_it_is_a_generator():
    found = find_learner(NAME)
    assert not found.description.computes_values
    assert "discount" not in found.parameters
