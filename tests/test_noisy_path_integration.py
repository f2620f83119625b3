"""Noisy path integration: its jumps are those of a process that samples the visits."""

import networkx as nx
import numpy as np
import pytest
from fed_paths import fed, replayed_places

from replay.learners import find_learner
from replay.learners.contract import Sizes
from replay.log.backups import EPISODE_END, REST, START

NAME = "noisy_path_integration"
# A line of four places with a branch at place 1; the visits of the walk differ from place to place.
PATHS = [[0, 1, 2, 3], [0, 1, 4], [2, 3, 2, 3, 2, 3]]


def replayed(*arguments):
    """Return the places of each pause, the first one included; all pauses are equally long."""
    return np.array(replayed_places(*arguments))


def test_visits_count_each_stay_once():
    *_, memory = fed(NAME, PATHS)
    number = memory.known.number
    visits = [sum(path.count(place) for path in PATHS) for place in range(5)]
    assert memory.visits[number].tolist() == visits


@pytest.mark.parametrize("sharpness", [0.0, 1.0, 2.0])
def test_its_jumps_are_those_of_a_process_that_samples_a_power_of_the_visits(sharpness):
    """With the mean durations of that process, the places of the walk are p^sharpness."""
    _, found, memory = fed(NAME, PATHS, sharpness=sharpness, n_replays=5_000)
    graph = nx.Graph([(0, 1), (1, 2), (2, 3), (1, 4)])
    p = memory.visits[memory.known.number]
    rates = np.zeros((5, 5))
    for x, y in [*graph.edges, *[(y, x) for x, y in graph.edges]]:
        rates[x, y] = (p[y] / p[x]) ** (sharpness / 2)
    places = replayed(found, memory, EPISODE_END, 3, 20)
    counts = np.zeros((5, 5))
    np.add.at(counts, (places[:, :-1].ravel(), places[:, 1:].ravel()), 1)
    shares = counts / counts.sum(axis=1, keepdims=True)
    jumps = rates / rates.sum(axis=1, keepdims=True)
    # The rarest place is left some 6,000 times: a standard error of at most .007.
    np.testing.assert_allclose(shares, jumps, atol=0.025)
    times = counts.sum(axis=1) / rates.sum(axis=1)
    expected = p**sharpness / (p**sharpness).sum()
    np.testing.assert_allclose(times / times.sum(), expected, atol=0.02)


def test_with_momentum_it_turns_back_only_at_ends():
    _, found, memory = fed(NAME, [list(range(8))], momentum=1.0, n_replays=50)
    places = replayed(found, memory, EPISODE_END, 3, 30)
    turns = places[:, 2:] == places[:, :-2]
    assert np.isin(places[:, 1:-1][turns], [0, 7]).all()
    assert turns.any()
    _, found, memory = fed(NAME, [list(range(8))], momentum=0.0, n_replays=50)
    places = replayed(found, memory, EPISODE_END, 3, 30)
    inner = np.isin(places[:, 1:-1], range(1, 7))
    assert (places[:, 2:] == places[:, :-2])[inner].mean() == pytest.approx(0.5, abs=0.06)


def test_adaptation_drives_it_on_until_the_trace_has_decayed():
    # On a ring of ten places adaptation as strong as this never lets it turn back.
    ring = [[*range(10), 0]]
    _, found, memory = fed(NAME, ring, adaptation=100.0, adaptation_decay=1.0, n_replays=9)
    places = replayed(found, memory, EPISODE_END, 0, 20)
    assert all(len(set(path)) == 10 for path in places.tolist())
    # A trace that is gone after one jump keeps the walk from staying, not from turning back.
    _, found, memory = fed(NAME, ring, adaptation=100.0, adaptation_decay=0.0, n_replays=3)
    places = replayed(found, memory, EPISODE_END, 0, 400)
    assert (places[:, 2:] == places[:, :-2]).mean() == pytest.approx(0.5, abs=0.06)


def test_replay_begins_where_the_agent_is_if_it_is_known():
    _, found, memory = fed(NAME, PATHS, n_replays=2)
    assert (replayed(found, memory, START, 3, 20)[:, 0] == 3).all()
    _, found, memory = fed(NAME, [[0, 1, 5]], n_replays=2)
    assert replayed(found, memory, START, 3, 1).size == 0
    ends_only = find_learner(NAME, {"replay_at": "episode_end"})
    assert replayed(ends_only, memory, START, 0, 1).size == 0


def test_rest_begins_where_visits_are():
    _, found, memory = fed(NAME, PATHS, n_replays=1)
    first = replayed(found, memory, REST, 0, 3_000)[:, 0]
    expected = memory.visits[memory.known.number] / memory.visits.sum()
    shares = np.bincount(first, minlength=5) / len(first)
    np.testing.assert_allclose(shares, expected, atol=0.03)  # three standard errors


def test_nothing_is_replayed_before_anything_was_experienced():
    found = find_learner(NAME)
    memory = found.init(found.params, Sizes(3, 1, 3, 10))
    assert replayed(found, memory, REST, 0).size == 0
