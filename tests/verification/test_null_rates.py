"""How often nulls are rejected when they are true, and how often effects are found.

Each rate is over 1,000 data sets. It must be what the test claims: within binomial error of its
level, or of its power if the effect is known. For a number with few values, the null may be
rejected less often than at the nominal rate, but never more often.
"""

from dataclasses import replace
from functools import partial
from itertools import pairwise

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from replay_tables import (
    LEFT,
    RIGHT,
    W,
    block,
    eight,
    make_task,
    null_test,
    permutation_test,
    random_pairs,
    shortcut_share,
    track,
    w_track,
)
from scipy import stats

from analyses.measures import STATISTICS, Replays
from analyses.measures.animals import chance_above, over_animals
from analyses.measures.chance import padded, random_edges, random_walks, shuffled_order
from analyses.sequences.place_sequences import Detection, runs_along
from analyses.sequences.segments import find_segments
from analyses.sequences.sequences import Lists
from analyses.sequences.track import Track, graph_of_task

pytestmark = pytest.mark.slow

N_DATA_SETS = 1000
N_DRAWS = 19
"""So few do: the null is rejected if the data are beyond all of them, once in twenty."""
LEVEL = 0.05
UNLIKELY = 0.01
"""A rate is wrong if one as far from what is claimed is less likely than that."""

GRID = nx.convert_node_labels_to_integers(nx.grid_2d_graph(5, 6))
EDGES = np.array([*GRID.edges, *(edge[::-1] for edge in GRID.edges)])
EVENT = np.repeat(np.arange(30), 8)


def is_rate(n_rejected, rate, n=N_DATA_SETS):
    return stats.binomtest(int(n_rejected), n, rate).pvalue > UNLIKELY


def is_at_most(n_rejected, rate, n=N_DATA_SETS):
    return stats.binomtest(int(n_rejected), n, rate, alternative="greater").pvalue > UNLIKELY


# Nulls of one data set


def rejected(number, data_set, draw, n_data_sets=N_DATA_SETS):
    """Count the data sets in which a null is rejected at the level."""
    rng = np.random.default_rng(0)
    return sum(
        null_test(number, data_set(rng), draw, n_draws=N_DRAWS, seed=seed).p <= LEVEL
        for seed in range(n_data_sets)
    )


def edges_at_random(rng):
    return random_edges({"event": EVENT}, rng, edges=EDGES)


def sweeps(rng, n_swept):
    """Edges at random, but for some events that sweep along a path."""
    data = edges_at_random(rng)
    starts = padded(Lists.of([[int(first)] * 9 for first in rng.integers(30, size=n_swept)]))
    walks = random_walks(starts, rng, edges=EDGES, min_length=6)
    for event, path in enumerate(walks):
        data["place"][event == EVENT] = path[:-1]
    return data


NEAR = nx.to_numpy_array(GRID, nodelist=range(30), dtype=bool)


def n_joined(data, n=1):
    """Count the places that n moves between neighbours in a row lead to, within an event."""
    moves = NEAR[data["place"][:-1], data["place"][1:]] & (np.diff(data["event"]) == 0)
    return int(np.all([moves[i : len(moves) - n + 1 + i] for i in range(n)], axis=0).sum())


NULLS = {"shuffled_order": shuffled_order, "random_edges": partial(random_edges, edges=EDGES)}


def weighed(data):
    """Sum up the moves between neighbours, each with a weight of its own: hardly ever a tie."""
    here, there = data["place"][:-1], data["place"][1:]
    joins = NEAR[here, there] & (np.diff(data["event"]) == 0)
    return float(np.sqrt(1.0 + here + 31 * there)[joins].sum())


def places_at_random(rng):
    return {"event": EVENT, "place": rng.integers(30, size=len(EVENT))}


NONE = {"shuffled_order": places_at_random, "random_edges": edges_at_random}
"""Null -> data of which it is true."""


@pytest.mark.parametrize("null", NULLS)
def test_places_without_order(null):
    assert is_rate(rejected(weighed, NONE[null], NULLS[null]), LEVEL)


@pytest.mark.parametrize("number", [n_joined, partial(n_joined, n=2)])
@pytest.mark.parametrize("null", NULLS)
def test_counts_tie_with_their_null_and_are_conservative(null, number):
    assert is_at_most(rejected(number, NONE[null], NULLS[null]), LEVEL)


@pytest.mark.parametrize("null", NULLS)
def test_sweeps_are_found(null):
    """One event in ten sweeps."""
    number, data = partial(n_joined, n=5), partial(sweeps, n_swept=3)
    assert rejected(number, data, NULLS[null]) > 0.95 * N_DATA_SETS


STARTS = padded(Lists.of([[first] * 7 for first in range(30)]))
WALK = partial(random_walks, edges=EDGES, min_length=4)
PLACE = np.array([divmod(node, 6) for node in range(30)], dtype=float)


def displacement(walks):
    return float(np.linalg.norm(PLACE[walks[:, -1]] - PLACE[walks[:, 0]], axis=1).mean())


def test_walks_without_aim():
    assert is_rate(rejected(displacement, lambda rng: WALK(STARTS, rng), WALK), LEVEL)


def test_straight_walks_are_found():
    def straighter(rng):
        return random_walks(STARTS, rng, edges=EDGES, min_length=6)

    assert rejected(displacement, straighter, WALK, n_data_sets=200) > 0.8 * 200


def pairs_at_random(rng, n=40):
    ways = np.array([2, 3, 4, 5, 8, 9, 16, 17])
    return {"forward": rng.choice(ways, n), "reverse": rng.choice(ways, n),
            "forward_first": rng.random(n) < 0.5}  # fmt: skip


def weighted_share(pairs):
    """Take many values: each pair weighs as much as its two sequences say."""
    weight = np.sqrt(pairs["forward"]) * np.sqrt(pairs["reverse"] + 1.0)
    return float((weight * (pairs["forward"] % 7 > pairs["reverse"] % 5)).sum())


def test_sequences_paired_at_random():
    assert is_rate(rejected(weighted_share, pairs_at_random, random_pairs), LEVEL)
    assert is_at_most(rejected(shortcut_share, pairs_at_random, random_pairs), LEVEL)


def test_sequences_that_meet_are_found():
    def meeting(rng):
        pairs = pairs_at_random(rng)
        met = rng.random(40) < 0.3
        pairs["forward"][met], pairs["reverse"][met], pairs["forward_first"][met] = 4, 3, False
        return pairs

    assert rejected(shortcut_share, meeting, random_pairs) > 0.8 * N_DATA_SETS


def test_the_test_of_mattar_and_daw_cannot_fail():
    """Of walks at random, all segments are significant; of 1,000 true nulls it rejects all."""
    rng = np.random.default_rng(0)
    walks = random_walks(padded(Lists.of([[12] * 9] * 4000)), rng, edges=EDGES, min_length=7)
    number = np.full((30, 30), -1)
    number[tuple(EDGES.T)] = np.arange(len(EDGES))
    here, there = walks[:, :-1].ravel(), walks[:, 1:].ravel()
    backups = pd.DataFrame(
        {"run": 0, "episode": 0, "step": 0, "phase": "rest", "event": np.repeat(range(4000), 8),
         "pop": np.tile(range(8), 4000), "state": here, "next_state": there,
         "action": number[here, there], "priority": 0.0}
    )  # fmt: skip
    segments = find_segments(backups, min_length=7).head(N_DATA_SETS)
    assert len(segments) == N_DATA_SETS
    tested = permutation_test(segments, backups, n_shuffles=200)
    assert (tested["p"] < LEVEL).mean() > 0.99


# Statistics over twenty animals


N_ANIMALS = 20
ALL = N_DATA_SETS * N_ANIMALS


def sign_test_rate(above, below=None, chance=0.5):
    """Give how often the sign test rejects, if animals lie above and below with these chances."""
    below = 1 - above if below is None else below
    rate = 0.0
    for n in range(1, N_ANIMALS + 1):
        k = np.arange(n + 1)
        p = 2 * np.minimum(stats.binom.cdf(k, n, chance), stats.binom.sf(k - 1, n, chance))
        so_many = stats.binom.pmf(n, N_ANIMALS, min(above + below, 1.0))
        rate += so_many * stats.binom.pmf(k, n, above / (above + below))[p <= LEVEL].sum()
    return float(rate)


def n_rejected(name, replays, min_length=5):
    found = STATISTICS[name].compute(replays.detected(Detection(min_length)))
    found = found.assign(statistic=name)
    assert len(found) == ALL
    sets = found.assign(set=np.arange(ALL) // N_ANIMALS)
    return int((over_animals(sets, ["statistic", "set"])["p"] <= LEVEL).sum())


def herd(task, n_sequences, paths, pauses=None, laps=None, **columns):
    """Make the tables of all animals, with so many sequences each; columns are drawn for them."""
    animal = np.repeat(np.arange(ALL), n_sequences)
    lengths = np.array([len(path) for path in paths])
    which = columns.pop("which")
    states = np.empty(len(paths), dtype=object)
    states[:] = [np.array(path) for path in paths]
    sequences = pd.DataFrame(
        {
            "animal": animal, "episode": 0,
            "event": 0, "phase": "episode_end", "direction": "forward", "place": 0, "block": "run",
            "states": states[which],
            "first": np.array([path[0] for path in paths])[which],
            "last": np.array([path[-1] for path in paths])[which],
            "n_distinct": lengths[which], "length": lengths[which], **columns,
        }
    )  # fmt: skip
    everyone = pd.DataFrame({"animal": np.arange(ALL), "episode": 0, "block": "run"})
    pauses = everyone.assign(phase="episode_end", place=0) if pauses is None else pauses
    laps = everyone.assign(lap="out", start=0, end=0, reward=1.0) if laps is None else laps
    listed = Lists.of(sequences["states"])
    return Replays(sequences, listed, pauses, laps, pd.DataFrame(), task, detection=Detection(2))


def directions(rng, n, reverse):
    return pd.Categorical.from_codes((rng.random(n) < reverse).astype(int), ["forward", "reverse"])


def test_places_of_animals_without_order(rng):
    """Sequences are rare, so that most animals have none: those above their null are as many."""
    graph = nx.relabel_nodes(GRID, {node: f"n{node}" for node in GRID})
    task, event = make_task(graph), np.repeat(np.arange(ALL * 3), 8)
    places = {
        "beyond_shuffled_places": rng.integers(30, size=len(event)),
        "beyond_random_edges": random_edges({"event": event}, rng, edges=EDGES)["place"],
    }
    for name, place in places.items():
        kept = np.append(True, (np.diff(event) != 0) | (np.diff(place) != 0))
        found = {"event": event[kept], "place": place[kept]}
        first, states = runs_along(found, Track.of(graph_of_task(task)), Detection(3))
        replays = herd(task, 1, [list(range(3))], which=np.zeros(ALL, dtype=int))
        table = pd.DataFrame({"animal": found["event"][first] // 3, "phase": "start"})
        table = table.assign(n_distinct=states.n_different)
        raw = pd.DataFrame({"event": event, "place": place}).assign(
            animal=event // 3, phase="start"
        )
        replays = replace(replays, sequences=table, states=states, reactivations=raw)
        assert is_at_most(n_rejected(name, replays, min_length=3), LEVEL), name


@pytest.mark.parametrize("reverse", [0.5, 0.6])
def test_forward_and_reverse(rng, reverse):
    """Of 21 sequences each, the exact power is known; without effect it is the test's size."""
    drawn = directions(rng, ALL * 21, reverse)
    out = [W[node] for node in ("C0", "C1", "C2", "X", "L2")]
    which = (drawn == "forward").astype(int)  # the path in, as it was run
    replays = herd(w_track(), 21, [out, out[::-1]], which=which, direction=drawn)
    power = sign_test_rate(stats.binom.sf(10, 21, reverse))
    assert is_rate(n_rejected("reverse_share", replays), power)
    assert is_rate(n_rejected("reverse_of_past_paths", replays), power)
    resting = replace(replays, sequences=replays.sequences.assign(phase="rest"))
    assert is_rate(n_rejected("forward_minus_reverse_at_rest", resting), power)


@pytest.mark.parametrize("local", [0.0, 0.05, 0.4])
def test_local_start(rng, local):
    """Davidson et al. found .40 against a chance of .17; here some more begin near the animal."""
    task, n, chance = track(29, local_radius=2), ALL * 30, 5 / 29
    which = rng.integers(29, size=n)
    which = np.where(rng.random(n) < local, rng.integers(12, 17, size=n), which)
    paths = [[(first + i) % 29 for i in range(5)] for first in range(29)]
    replays = herd(task, 30, paths, which=which, place=14)
    above = stats.binom.sf(np.floor(30 * chance), 30, local + (1 - local) * chance)
    even = chance_above(np.array([chance]), np.array([30])).item()
    assert is_rate(n_rejected("begins_at_animal", replays), sign_test_rate(above, chance=even))


EPOCHS = [
    block("equal", rewards={"n0": 1.0, "n9": 1.0}),
    block("unequal", rewards={"n0": 1.0, "n9": 4.0}),
    block("restored", rewards={"n0": 1.0, "n9": 1.0}),
]


@pytest.mark.parametrize("times", [1.0, 2.5])
def test_changed_reward(rng, times):
    """Only reverse sequences follow the reward."""
    cells = [(epoch.name, place, way) for epoch in EPOCHS for place in (0, 9)
             for way in ("forward", "reverse")]  # fmt: skip
    mean = np.array([5 * times if cell == ("unequal", 9, "reverse") else 5.0 for cell in cells])
    counts = rng.poisson(mean, size=(ALL, len(cells)))
    cell = np.repeat(np.tile(np.arange(len(cells)), ALL), counts.ravel())
    names, places, ways = (np.array(column) for column in zip(*cells, strict=True))
    stops = [{"block": epoch.name, "place": place} for epoch in EPOCHS for place in (0, 9)]
    pauses = pd.DataFrame(stops).merge(pd.DataFrame({"animal": np.arange(ALL)}), how="cross")
    replays = herd(
        track(10, blocks=EPOCHS), counts.sum(axis=1), [list(range(5))],
        pauses.assign(episode=0, phase="episode_end"), which=np.zeros(len(cell), dtype=int),
        block=names[cell], place=places[cell], direction=pd.Categorical(ways[cell]),
    )  # fmt: skip
    for name in ("changed_end_reverse", "changed_end_forward", "changed_end_reverse_to_forward"):
        found = n_rejected(name, replays)
        if times == 1 or name == "changed_end_forward":
            assert is_at_most(found, LEVEL), name
            assert found > LEVEL / 2 * N_DATA_SETS, name
        else:
            assert found > 0.8 * N_DATA_SETS, name


@pytest.mark.parametrize(("joins", "least"), [(0.0, 0.0), (0.2, 0.9)])
def test_shortcut_pairs(rng, joins, least):
    """Twenty pairs of corners, of which 12.5 % are shortcuts by chance."""
    top, bottom = (LEFT[:5], RIGHT[:5]), (LEFT[5:], RIGHT[5:])
    paths = [*(path[::-1] for path in top), *top, *bottom, *(path[::-1] for path in bottom)]
    way = np.repeat(["reverse", "forward", "forward", "reverse"], 2)
    forward, reverse = np.flatnonzero(way == "forward"), np.flatnonzero(way == "reverse")
    n_pairs = ALL * 20
    pair = np.stack([rng.choice(forward, n_pairs), rng.choice(reverse, n_pairs)], axis=1)
    pair = rng.permuted(pair, axis=1)
    met = rng.random(n_pairs) < joins
    pair[met] = np.array([[0, 3], [1, 2], [4, 7], [5, 6]])[rng.integers(4, size=met.sum())]
    which = pair.ravel()
    replays = herd(eight(), 40, paths, which=which, direction=way[which],
                   event=np.repeat(np.arange(n_pairs), 2))  # fmt: skip
    found = n_rejected("paired_shortcut_share", replays)
    assert is_at_most(found, LEVEL) if joins == 0 else found > least * N_DATA_SETS


@pytest.mark.parametrize("swaps", [0.0, 0.2])
def test_order_within_a_pause(rng, swaps):
    """Reverse before forward in some of five pauses, any order in the others."""
    way = rng.permuted(np.tile([0, 0, 1, 1], (ALL * 5, 1)), axis=1)
    way[rng.random(len(way)) < swaps] = [1, 1, 0, 0]
    way = way.ravel()
    replays = herd(track(), 20, [list(range(5))], which=np.zeros(len(way), dtype=int),
                   direction=np.array(["forward", "reverse"])[way],
                   event=np.repeat(np.arange(ALL * 5), 4))  # fmt: skip
    # Of six orders of two and two: the difference of mean ranks, in quarters, from -2 to 2.
    one = (1 - swaps) * np.array([1, 1, 2, 1, 1]) / 6 + swaps * (np.arange(5) == 4)
    total = np.array([1.0])
    for _ in range(5):
        total = np.convolve(total, one)
    power = sign_test_rate(total[11:].sum(), total[:10].sum())
    assert is_rate(n_rejected("forward_minus_reverse_rank", replays), power)


@pytest.mark.parametrize("avoids", [0.0, 0.7])
def test_walls(rng, avoids):
    """Sequences of a walker that ignores walls, or avoids most of them."""
    graph = nx.Graph()
    for row in range(5):
        for column in range(5):
            graph.add_node(f"r{row}c{column}", pos=(10.0 * column, 10.0 * row))
    for a, b in nx.grid_2d_graph(5, 5).edges:
        graph.add_edge("r{}c{}".format(*a), "r{}c{}".format(*b))
    wells = tuple(f"r{row}c{column}" for row in (1, 2, 3) for column in (1, 2, 3))
    slots = sorted(tuple(sorted(edge)) for edge in graph.edges if set(wells).issuperset(edge))
    closed = [slots[i] for i in (0, 1, 3, 6, 8, 10)]
    moves = tuple(move for wall in closed for move in (wall, wall[::-1]))
    task = make_task(graph, {"wells": wells}, [block("run", closed=moves)])
    number = {node: i for i, node in enumerate(task.node)}
    edges = np.array([[number[a], number[b]] for a, b in graph.edges])
    edges = np.concatenate((edges, edges[:, ::-1]))
    barred = {tuple(number[node] for node in move) for move in moves}
    starts = padded(Lists.of([[first] * 6 for first in range(25)] * 400))
    walks = random_walks(starts, rng, edges=edges, min_length=5)
    crosses = np.array([any((a, b) in barred for a, b in pairwise(path))
                        for path in walks.tolist()])  # fmt: skip
    which = rng.integers(len(walks), size=ALL * 40)
    other = rng.choice(np.flatnonzero(~crosses), size=len(which))
    which = np.where(crosses[which] & (rng.random(len(which)) < avoids), other, which)
    replays = herd(task, 40, walks.tolist(), which=which)
    for name in ("wall_crossing_share", "layouts_crossed_more"):
        found = n_rejected(name, replays)
        assert is_at_most(found, LEVEL) if avoids == 0 else found > 0.9 * N_DATA_SETS
