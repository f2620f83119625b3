"""Hand-made tables of replay, and substitutes for tasks, for tests of statistics."""

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from typing import NamedTuple

import networkx as nx
import numpy as np
import pandas as pd

from analyses.measures import STATISTICS, Replays
from analyses.measures.novelty import shortcuts
from analyses.sequences.place_sequences import Detection
from analyses.sequences.sequences import Lists
from replay import MDP


def make_task(graph, landmarks=None, blocks=(), headings=False, local_radius=1):
    """Stand in for a task: each node is a place, or one in each of two directions of travel."""
    for i, node in enumerate(graph):
        graph.nodes[node].setdefault("pos", (10.0 * i, 0.0))
    node = tuple(graph) * (2 if headings else 1)
    return SimpleNamespace(
        world=_world(graph, node),
        places=node,
        node=node,
        graph=graph,
        position=np.array([graph.nodes[name]["pos"] for name in node]),
        landmarks=landmarks or {},
        blocks=blocks,
        local_radius=local_radius,
    )


def _world(graph, node):
    """Give the moves between neighbours, whichever way; of fewer actions some come twice."""
    number = {name: i for i, name in enumerate(node)}
    near = [[number[b] for b in nx.all_neighbors(graph, a)] or [number[a]] for a in node]
    n_actions = max(map(len, near))
    moves = [
        (state, action, there[action % len(there)])
        for state, there in enumerate(near)
        for action in range(n_actions)
    ]
    return MDP.from_transitions(
        *zip(*moves, strict=True),
        np.ones(len(moves)),
        np.zeros(len(moves)),
        start_probability=np.ones(len(node)) / len(node),
        terminal=np.zeros(len(node), dtype=bool),
        action_names=[str(action) for action in range(n_actions)],
    )


def block(name, n_laps=10, rewards=None, closed=()):
    return SimpleNamespace(
        name=name, n_laps=n_laps, contingency="", rewards=rewards or {}, closed=closed, n_rest=0
    )


SEQUENCE = {
    "animal": 0,
    "episode": 0,
    "event": 0,
    "phase": "episode_end",
    "direction": "forward",
    "novelty": "experienced",
    "shortcut": False,
    "block": "run",
    "lap": "out",
    "place": 0,
}
PAUSE = {name: SEQUENCE[name] for name in ("animal", "episode", "phase", "block", "lap", "place")}
LAP = {"animal": 0, "episode": 0, "block": "run", "lap": "out", "start": 0, "end": 0, "reward": 1.0,
       "goal": -1}  # fmt: skip


def sequence(*states, **columns):
    return {
        **SEQUENCE,
        "states": np.array(states, dtype=np.int32),
        "first": states[0],
        "last": states[-1],
        "length": len(states),
        "n_distinct": len(set(states)),
        "moves": np.array(["forward"] * (len(states) - 1), dtype=object),
        **columns,
    }


def table(rows, defaults):
    return pd.DataFrame([{**defaults, **row} for row in rows], columns=list(defaults))


def replays(task, sequences, pauses=({},), laps=({},)):
    columns = list(sequence(0, 1))
    sequences = pd.DataFrame(list(sequences), columns=columns)
    whole = ["animal", "episode", "event", "place", "first", "last", "length", "n_distinct"]
    sequences = sequences.astype(dict.fromkeys(whole, "int32"))
    sequences["shortcut"] = sequences["shortcut"].astype("boolean")
    for name in ("phase", "direction", "novelty"):
        sequences[name] = sequences[name].astype("category")
    return Replays(
        sequences,
        Lists.of(sequences["states"]),
        table(pauses, PAUSE),
        table(laps, LAP),
        pd.DataFrame({"animal": [], "event": [], "phase": [], "place": []}, dtype=np.int64),
        task,
        detection=Detection(min_length=2),
    )


def with_sequences(tables, sequences):
    """Put other sequences in the place of those of some tables."""
    return replace(tables, sequences=sequences, states=Lists.of(sequences["states"]))


def compute(name, tables, min_length=5):
    """Give value, null and n of the only animal."""
    found = tables.detected(Detection(min_length))
    [row] = STATISTICS[name].compute(found).itertuples()
    return row.value, row.null, row.n


def track(n=10, **options):
    return make_task(nx.path_graph([f"n{i}" for i in range(n)]), **options)


def w_track():
    graph = nx.Graph()
    nx.add_path(graph, ["C0", "C1", "C2", "X"])
    for side in "LR":
        nx.add_path(graph, ["X", *(f"{side}{i}" for i in (2, 1, 0))])
    arms = {f"{name}_arm": (f"{side}0", f"{side}1", f"{side}2")
            for name, side in (("left", "L"), ("right", "R"))}  # fmt: skip
    wells = {"centre_well": ("C0",), "left_well": ("L0",), "right_well": ("R0",)}
    return make_task(graph, arms | wells)


W = {name: i for i, name in enumerate(w_track().node)}
OUT_LEFT = [W[name] for name in ("C0", "C1", "C2", "X", "L2", "L1", "L0")]
OUT_RIGHT = [W[name] for name in ("C0", "C1", "C2", "X", "R2", "R1", "R0")]


def eight():
    """Stem m0 m1 m2 up to the choice; loops go up, across the top, down and back below."""
    graph, marks = nx.Graph(), {}
    nx.add_path(graph, ["m0", "m1", "m2"])
    for side, name in (("l", "left_loop"), ("r", "right_loop")):
        loop = [f"{side}{i}" for i in range(10)]
        nx.add_path(graph, ["m2", *loop, "m0"])
        marks[name] = tuple(loop)
    marks["shortcut_top"] = ("l1", "l0", "m2", "r0", "r1")
    marks["shortcut_bottom"] = ("l8", "l9", "m0", "r9", "r8")
    return make_task(graph, marks)


E = {name: i for i, name in enumerate(eight().node)}
LEFT, RIGHT = ([E[f"{side}{i}"] for i in range(10)] for side in "lr")
SIDES = {"left": LEFT, "right": RIGHT}


def laps_of(*names, blocks=None):
    return [
        {"episode": i, "lap": name, "block": blocks[i] if blocks else "run"}
        for i, name in enumerate(names)
    ]


def arena(closed, name="run"):
    graph = nx.Graph()
    for row in range(3):
        for column in range(3):
            graph.add_node(f"w{row}{column}", pos=(10.0 * column, 10.0 * row))
    nodes = dict(nx.get_node_attributes(graph, "pos").items())
    for a in nodes:
        for b in nodes:
            if a < b and np.hypot(*np.subtract(nodes[a], nodes[b])) == 10:
                graph.add_edge(a, b)
    moves = [move for wall in closed for move in (wall, wall[::-1])]
    blocks = [block("first"), block(name, closed=tuple(moves))]
    return make_task(graph, {"wells": tuple(graph)}, blocks)


CORNER = [("w00", "w01"), ("w00", "w10"), ("w01", "w02")]


ARENA = arena(CORNER)


WELL = {node: i for i, node in enumerate(ARENA.node)}


def walk(*nodes, **columns):
    for a, b in pairwise(nodes):
        assert ARENA.graph.has_edge(a, b)
    return sequence(*(WELL[node] for node in nodes), **columns)


def random_pairs(pairs, rng):
    """Draw for each forward corner any of the reverse ones (after Gupta et al.'s bootstrap).

    Each is drawn once, which keeps the test exact. Columns that begin with ``reverse`` belong to
    the reverse one; all others stay as they are.
    """
    columns = {name: np.asarray(values) for name, values in pairs.items()}
    order = rng.permutation(len(next(iter(columns.values()))))
    return {
        name: values[order] if name.startswith("reverse") else values
        for name, values in columns.items()
    }


def shortcut_share(pairs):
    return float(shortcuts(pairs).mean())


def permutation_test(segments, backups, *, n_shuffles=500, seed=0):
    """Test each segment's direction as Mattar & Daw (2018) did, for comparison only.

    The score is the share of a segment's pairs that go forward minus that of those in reverse, held
    against the scores of its states in random order. A segment is cut so that its score is 1 or -1:
    nearly all are significant, whatever the model.
    """
    leads = np.full(backups[["state", "action"]].max().to_numpy() + 1, -1, dtype=np.int64)
    leads[backups["state"], backups["action"]] = backups["next_state"]
    rng = np.random.default_rng(seed)
    scores, p = [], []
    for states, actions in zip(segments["states"], segments["actions"], strict=True):
        state, action = np.asarray(states), np.asarray(actions)
        score = float(_direction_score(leads, state, action))
        order = rng.permuted(np.tile(np.arange(len(state)), (n_shuffles, 1)), axis=1)
        shuffled = _direction_score(leads, state[order], action[order])
        scores.append(score)
        n_extreme = (shuffled * np.sign(score) >= abs(score)).sum()
        p.append(min(1.0, 2 * (1 + int(n_extreme)) / (1 + n_shuffles)))
    return segments.assign(score=np.array(scores, dtype=float), p=np.array(p, dtype=float))


def _direction_score(leads, state, action):
    """Give the share of pairs that go forward minus that in reverse; both ways is reverse."""
    to = leads[state, action]
    reverse = to[..., 1:] == state[..., :-1]
    forward = (to[..., :-1] == state[..., 1:]) & ~reverse
    return forward.mean(axis=-1) - reverse.mean(axis=-1)


class NullTest(NamedTuple):
    """A number of the data, its mean over draws from a null, and p.

    p counts the data as one more draw, so it is never zero, and is below any level at the nominal
    rate if the null is true: Phipson & Smyth (2010), https://doi.org/10.2202/1544-6115.1585
    """

    observed: float
    expected: float
    p: float


def null_test(number, data, draw, *, n_draws=500, alternative="greater", seed=0):
    """Compare a number computed from data with the same number of draws from a null."""
    rng = np.random.default_rng(seed)
    observed = float(number(data))
    drawn = np.array([number(draw(data, rng)) for _ in range(n_draws)], dtype=float)
    greater, less = (
        (1 + int((drawn * way >= observed * way).sum())) / (1 + n_draws) for way in (1, -1)
    )
    p = {"greater": greater, "less": less, "two-sided": min(1.0, 2 * min(greater, less))}
    return NullTest(observed, float(drawn.mean()), p[alternative])
