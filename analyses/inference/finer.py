"""Finer states: an animal's moves on a track that is cut more finely than it was described.

Animals have no states, and a replay of so many backups is shorter in smaller ones. An account may
therefore learn and replay in finer states, and is read in those in which the animal's replay is
described, as a recording would be: a place between two of these is none of them.
"""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import numpy as np

from analyses.findings.priors import Parameter
from analyses.sequences.runs import Columns
from replay.log.backups import PHASES
from replay.log.event_log import EventLog
from replay.worlds.mdp import MDP

_OF_LENGTH = (
    "n_replays", "max_backups", "max_pops", "mean_backups", "length", "most_places", "n",
    "n_remembered",
)  # fmt: skip


def finer_log(log: EventLog, world: MDP, n: int) -> EventLog:
    """Cut each move in `n`, by way of new states between two neighbours.

    States keep their numbers; the new ones follow. The reward, and the end of a lap, come with the
    last part of a move.

    Examples
    --------
    >>> world = MDP.from_networkx(nx.path_graph(3))
    >>> log = EventLog({"steps": {"state": [0, 1], "next_state": [1, 2], "reward": [0.0, 1.0],
    ...                           "terminated": [False, True]}}, mdp=world)
    >>> steps = finer_log(log, world, 2).steps
    >>> steps["state"].tolist(), steps["reward"].tolist()
    ([0, 3, 1, 4], [0.0, 0.0, 0.0, 1.0])
    """
    here, there = world.transition_rows() // world.n_actions, world.successor
    moves = {pair for pair in zip(here.tolist(), there.tolist(), strict=True) if len({*pair}) == 2}
    number = {pair: k for k, pair in enumerate(sorted({(min(pair), max(pair)) for pair in moves}))}
    n_states = world.n_states

    def way(begin: int, end: int) -> list[int]:
        """List the states of a move, from its begin to its end."""
        if begin == end:
            return [begin] * (n + 1)
        first = n_states + number[min(begin, end), max(begin, end)] * (n - 1)
        between = list(range(first, first + n - 1))
        return [begin, *(between if begin < end else between[::-1]), end]

    is_two_way = all((end, begin) in moves for begin, end in moves)
    graph = nx.Graph() if is_two_way else nx.DiGraph()
    graph.add_nodes_from(range(n_states + len(number) * (n - 1)))
    for begin, end in sorted(moves):
        nx.add_path(graph, way(begin, end))
    fine = MDP.from_networkx(graph, name=world.name)
    if world.position is not None:
        where = np.empty((fine.n_states, 2))
        where[:n_states] = world.position
        shares = np.linspace(0, 1, n + 1)[:, None]
        for begin, end in number:
            own = (1 - shares) * world.position[begin] + shares * world.position[end]
            where[way(begin, end)] = own
        fine = replace(fine, position=where)
    steps = log.columns("steps")
    ways = np.array(
        [
            way(*pair)
            for pair in zip(steps["state"].tolist(), steps["next_state"].tolist(), strict=True)
        ]
    )
    is_last = np.arange(n) == n - 1
    last = {name: np.where(is_last, steps[name][:, None], 0).ravel()
            for name in ("reward", "terminated", "truncated")}  # fmt: skip
    last = {name: each.astype(steps[name].dtype) for name, each in last.items()}
    parts = {"state": ways[:, :-1].ravel(), "next_state": ways[:, 1:].ravel(), **last}
    return EventLog({"steps": parts}, mdp=fine)


def in_described_states(reactivated: Columns, n: int, n_places: int) -> Columns:
    """Read what was replayed in finer states; equal neighbours become one place."""
    step, event = reactivated["step"], reactivated["event"]
    is_within = (reactivated["phase"] == PHASES.index("step")) & ((step + 1) % n > 0)
    rows = np.flatnonzero((reactivated["place"] < n_places) & ~is_within)
    place = reactivated["place"][rows]
    is_new = np.ones(len(rows), dtype=bool)
    is_new[1:] = (place[1:] != place[:-1]) | (event[rows][1:] != event[rows][:-1])
    found = {name: values[rows[is_new]] for name, values in reactivated.items()}
    return {**found, "step": found["step"] // n}


def scaled(params: dict[str, Parameter], n: int) -> dict[str, Parameter]:
    """Let a pause cover the same distance in finer states.

    Examples
    --------
    >>> scaled({"max_pops": 3, "discount": 0.9}, 2)
    {'max_pops': 6, 'discount': 0.9}
    """
    return {key: value * n if key in _OF_LENGTH else value
            for key, value in params.items()}  # fmt: skip
