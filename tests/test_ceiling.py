"""The ceiling of an animal's replay: what it knows of each choice, by hand, and what it learns."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq

from analyses.inference import likelihood
from analyses.inference.likelihood import ceiling_bits, walk_bits
from analyses.inference.replayed import Places, Replayed
from analyses.sequences.sequences import Lists

NEIGHBOURS = {0: [1], 1: [0, 2, 3], 2: [1], 3: [1], 4: []}
MOVES = [(here, there) for here in NEIGHBOURS for there in NEIGHBOURS[here]]


def by_move(times, otherwise=0):
    return [times.get(move, otherwise) for move in MOVES]


@pytest.fixture(scope="module")
def places():
    """Of a Y with the stem 0 and the arms 2 and 3, and a place on no way; three laps."""
    distance = [[0, 1, 2, 2, 3], [1, 0, 1, 1, 3], [2, 1, 0, 2, 3], [2, 1, 2, 0, 3], [3, 3, 3, 3, 0]]
    move = np.full((5, 5), -1, dtype=np.int32)
    for number, (here, there) in enumerate(MOVES):
        move[here, there] = number
    made = [{(0, 1): 1, (1, 2): 1}, {(0, 1): 2, (1, 2): 1, (1, 3): 1}]
    made += [{(0, 1): 3, (1, 2): 2, (1, 3): 1}]
    last = [{(0, 1): 0, (1, 2): 0}, {(0, 1): 1, (1, 2): 0, (1, 3): 1}]
    last += [{(0, 1): 2, (1, 2): 2, (1, 3): 1}]
    return Places(
        np.array(distance, dtype=float), move, np.array(MOVES, dtype=np.int32),
        np.array([by_move(lap, -1) for lap in last], dtype=np.int32),
        np.array([by_move(lap) for lap in made], dtype=float), np.array([-1, 2, 0], np.int32),
        (), np.empty((0, 0), np.int16),
    )  # fmt: skip


def replayed(paths, lap, location):
    n, paths = len(paths), Lists.of(paths)
    return Replayed(
        np.array(lap, np.int32), np.zeros(n, np.int64), np.zeros(n, np.int8),
        np.array(location, np.int32), paths, np.arange(n), paths,
    )  # fmt: skip


@pytest.fixture(scope="module")
def seen():
    """Replay to the animal before anything is paid; from the goal to it; and when it is nowhere."""
    return replayed([[2, 1, 0], [2, 1, 3], [0, 1], [4]], [0, 1, 2, 2], [0, 3, -1, 3])


@pytest.fixture(scope="module")
def others():
    return replayed([[2, 1, 0], [2, 1, 3], [0, 1]], [0, 0, 0], [-1, -1, -1])


def test_what_is_known_of_beginnings(seen, others, places):
    values, chosen, owner = likelihood._beginnings(seen, others, places, leaves_self_out=False)
    assert chosen.tolist() == [2, 2, 0, 4]
    assert owner.tolist() == [0, 1, 2, 3]
    begun = np.log(np.array([1, 0, 2, 0, 0]) + 1 / 5)
    assert values[:, :, 0] == pytest.approx(np.tile(begun, (4, 1)))
    by_others = [[1, 0, 1, 0, 1], [1, 0, 1, 0, 1], [0, 0, 2, 0, 1], [1, 0, 2, 0, 0]]
    alone = likelihood._beginnings(seen, seen, places, leaves_self_out=True)[0]
    assert alone[:, :, 0] == pytest.approx(np.log(np.array(by_others) + 1 / 5))

    from_animal = [[0, 1, 2, 2, 3], [2, 1, 2, 0, 3], [3, 3, 3, 3, 3], [2, 1, 2, 0, 3]]
    from_goal = [[3, 3, 3, 3, 3], [2, 1, 0, 2, 3], [0, 1, 2, 2, 3], [0, 1, 2, 2, 3]]
    visits = [[0, 1, 1, 0, 0], [0, 2, 1, 1, 0], [0, 3, 2, 1, 0], [0, 3, 2, 1, 0]]
    is_animal, is_near, is_goal = np.zeros((3, 4, 5))
    is_animal[[0, 1, 3], [0, 3, 3]] = is_near[[0, 1, 3], 1] = is_goal[[1, 2, 3], [2, 0, 0]] = 1
    expected = [is_animal, is_near, np.log1p(from_animal), is_goal, np.log1p(from_goal)]
    expected += [np.log1p(visits), np.sign(visits), np.zeros((4, 5))]
    assert np.moveaxis(values[:, :, 1:], 2, 0) == pytest.approx(np.array(expected))


# Of each move from each place: how often other sequences (of two kinds) have it, whether it leads
# back, how often it was made, and its reverse, how many laps ago, and how much nearer it leads to
# the animal and to the goal.
WAYS = [
    {(2, 1): (2, 1, 0, 0, 1, 3, 1, 0)},
    {
        (1, 0): (1, 0, 0, 0, 1, 3, 1, 0),
        (1, 2): (0, 0, 1, 1, 0, 0, -1, 0),
        (1, 3): (1, 1, 0, 0, 0, 3, -1, 0),
    },
    {(0, 1): (1, 1, 1, 1, 0, 0, -1, 0)},
    {(2, 1): (2, 1, 0, 0, 1, 3, 1, -1)},
    {
        (1, 0): (1, 1, 0, 0, 2, 3, -1, -1),
        (1, 2): (0, 0, 1, 1, 0, 1, -1, 1),
        (1, 3): (1, 0, 0, 1, 0, 0, 1, -1),
    },
    {(3, 1): (0, 0, 1, 0, 1, 3, -1, 1)},
    {(0, 1): (1, 0, 0, 3, 0, 0, 0, -1)},
    {
        (1, 0): (1, 1, 1, 0, 3, 3, 0, 1),
        (1, 2): (0, 0, 0, 2, 0, 0, 0, -1),
        (1, 3): (1, 1, 0, 1, 0, 1, 0, -1),
    },
    {},
]
# Of each stop: those there of others (of two kinds), moves before, at the animal, at the goal.
STOPS = [(0, 0, 0, 0, 0), (1, 1, 1, 0, 0), (1, 0, 2, 1, 0)]
STOPS += [(0, 0, 0, 0, 1), (1, 1, 1, 0, 0), (1, 0, 2, 1, 0)]
STOPS += [(1, 1, 0, 0, 1), (1, 0, 1, 0, 0), (0, 0, 0, 0, 0)]
CHOSEN = [0, 0, 3, 0, 2, 3, 0, 3, 3]  # 3: to stop


@pytest.mark.parametrize("kind", [0, 1], ids=["others", "itself"])
def test_what_is_known_of_continuations(seen, others, places, kind):
    base = (others, seen)[kind]
    values, chosen, owner = likelihood._continuations(seen, base, places, leaves_self_out=kind == 1)
    assert chosen.tolist() == CHOSEN
    assert owner.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 3]
    expected = np.zeros((9, 4, 14))
    expected[:, :3, -1] = -1e9
    for n, (ways, stop) in enumerate(zip(WAYS, STOPS, strict=True)):
        for slot, way in enumerate(ways.values()):
            back, ahead, reverse, age, *nearer = way[2:]
            made = [ahead > 0, reverse > 0, *np.log1p([ahead, reverse, age])]
            expected[n, slot] = [np.log(way[kind] + 0.5), back, *made, *nearer, *[0] * 5]
        expected[n, 3] = [np.log(stop[kind] + 0.5), *[0] * 8, 1, np.log1p(stop[2]), *stop[3:], 0]
        values[n, len(ways) : 3, :-1] = 0  # of moves that do not exist anything may be said
    assert values == pytest.approx(expected)


def test_weights_by_the_condition_of_the_most_likely():
    """Seven choices of ten for one of two options: 7 - 10 / (1 + exp(-w)) = w."""
    values = np.tile([[1.0, 0.0], [0.0, 0.0], [9.0, -1e9]], (10, 1, 1))
    found = likelihood._fitted(values, np.repeat([0, 1], [7, 3]))
    root = brentq(lambda w: 7 - 10 / (1 + np.exp(-w)) - w, -5, 5)
    assert found == pytest.approx([root, 1.0], abs=1e-5)


def test_probabilities_of_all_paths_under_a_ceiling_add_up_to_one(places):
    paths = [[here] for here in NEIGHBOURS]
    for path in paths:
        if len(path) < 9:
            paths += [[*path, there] for there in NEIGHBOURS[path[-1]]]
    learned = [[2, 1, 0], [2, 1, 3], [3, 1], [0], [3, 1, 0]]
    n = len(paths)
    both = replayed(paths + learned, [0] * n + [1] * 5, [2] * n + [3] * 5)
    bits = ceiling_bits(both, places)[:n]
    assert 0.99 < (2.0**bits).sum() <= 1 + 1e-9


def test_a_lap_is_predicted_by_those_of_other_folds(places):
    """Six laps have replay: the first and the last are in one fold, and each other one alone."""
    number = [0, 0, 1, 1, 2, 2, 2, 2]
    arrays = {name: getattr(places, name)[number] for name in ("last_made", "n_made", "goal")}
    longer, lap = replace(places, **arrays), [0, 2, 3, 4, 5, 7]
    paths = [[2, 1, 0], [2, 1, 3], [3, 1, 0], [0, 1], [1, 2]]
    one, other = (
        ceiling_bits(replayed([*paths, last], lap, [3] * 6), longer) for last in ([3, 1], [0])
    )
    assert (one == other).tolist() == [True, *[False] * 5]


def test_nothing_is_learned_from_one_lap(seen, places):
    """A ceiling that has no other lap to learn from is the walk."""
    alone = seen.take(np.arange(2))._replace(lap=np.array([1, 1], np.int32))
    assert ceiling_bits(alone, places) == pytest.approx(walk_bits(alone, places))
