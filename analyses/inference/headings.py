"""Headings: states with a place and a heading, for animals whose cells tell which way they head.

Where a corridor is run both ways, place cells distinguish the directions, and replay against the
heading that is represented differs from replay along it. Accounts then learn in states that are
those of :mod:`replay.tasks`: a place, and a heading away from home or towards it. Home is where
most laps begin.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from analyses.sequences.runs import Columns
from replay.log.event_log import EventLog
from replay.tasks.places import Rule, explore
from replay.worlds.mdp import MDP


class Headings(NamedTuple):
    """The states of a track that is run both ways."""

    world: MDP  # all states and moves
    place: NDArray[np.int32]  # of each state
    away: NDArray[np.int8]  # 1 if a state heads away from home, -1 if it heads towards it
    far: NDArray[np.int32]  # number of moves from home to the place of each state
    # The animal's moves, shape (n_steps,).
    state: NDArray[np.int32]
    next_state: NDArray[np.int32]

    def in_places(self, reactivated: Columns) -> dict[str, NDArray[Any]]:
        """List the places of reactivated states, and whether these head along the travel.

        As in recordings, `along` is 1 where the move from the reactivation before could be made, -1
        where its reverse could, and 0 where both could or none; the first in an event has that of
        the second.
        """
        state, event = reactivated["place"], reactivated["event"]
        location = reactivated["location"]
        place = self.place[state]
        is_new = np.ones(len(state), dtype=bool)
        is_new[1:] = (place[1:] != place[:-1]) | (event[1:] != event[:-1])
        state, event, place = state[is_new], event[is_new], place[is_new]
        along = np.zeros(len(state), dtype=np.int8)
        travel = np.sign(self.far[state[1:]] - self.far[state[:-1]])
        could = (self.away[state[1:]] == travel).astype(np.int8)
        could_back = (self.away[state[:-1]] == -travel).astype(np.int8)
        same = event[1:] == event[:-1]
        along[1:] = np.where(same, could - could_back, 0)
        first = np.flatnonzero(np.append(True, ~same)[:-1] & same)
        along[first] = along[first + 1]
        kept = {name: values[is_new] for name, values in reactivated.items()}
        location = np.where(location < 0, -1, self.place[location])[is_new]
        return kept | {"place": place, "along": along, "location": location}


def headings_of(log: EventLog, graph: nx.Graph) -> Headings | None:
    """Find the states with headings of a track; None where headings have no meaning.

    That is where two neighbouring places are equally far from home, or home cannot be reached.

    Examples
    --------
    >>> steps = {"state": [0, 1, 2, 1], "next_state": [1, 2, 1, 0],
    ...          "terminated": [False, True, False, True]}
    >>> found = headings_of(EventLog({"steps": steps}), nx.path_graph(3))
    >>> found.place[found.state].tolist(), found.away[found.state].tolist()
    ([0, 1, 2, 1], [1, 1, -1, -1])
    """
    steps = log.columns("steps")
    ended = (steps["terminated"] | steps["truncated"])[:-1]
    begins = np.append(True, ended)
    home = int(np.argmax(np.bincount(steps["state"][begins])))
    # Places are named as `explore` asks for; those of unknown position lie on a line.
    named = nx.Graph()
    position = None if log.mdp is None else log.mdp.position
    for place in sorted(graph):
        x, y = (float(place), 0.0) if position is None else position[place].tolist()
        named.add_node(str(place), pos=(x, y))
    named.add_edges_from((str(here), str(there)) for here, there in graph.edges)
    try:
        places = explore(named, [Rule(tuple(map(str, sorted(graph))), ())], str(home))
    except ValueError:  # replay.tasks says what is wrong, but a recording cannot be mended
        return None
    # Moves from place to place become moves from state to state.
    state = np.empty(len(begins), dtype=np.int32)
    next_state = np.empty_like(state)
    now = -1
    rows = zip(begins.tolist(), steps["state"].tolist(), steps["next_state"].tolist(), strict=True)
    for row, (begin, here, there) in enumerate(rows):
        if begin:
            now = places.number[places.start(str(here))]
        state[row] = now
        if there != here:
            now = places.number[places.enter(places.states[now], str(there), False)]
        next_state[row] = now
    of_state = np.array([int(each.node) for each in places.states], dtype=np.int32)
    away = np.array([1 if each.heading == ">" else -1 for each in places.states], dtype=np.int8)
    far = np.array([places.steps_from_home[each.node] for each in places.states], dtype=np.int32)
    return Headings(places.whole, of_state, away, far, state, next_state)
