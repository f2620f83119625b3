"""Laps on a figure of eight, and known replay of them: forward, reverse and novel paths.

An animal runs 30 laps on rails of 90 and 50 cm, left and right in turn. Then it replays, 15 times
each, a stretch of a lap over four corners, forward; such a stretch in reverse (190 or 230 cm); and
a path across the top from one side to the other that was never run, its first half backwards and
its second half forward (220 cm), like the shortcuts that Gupta et al. (2010) [1]_ saw.

References
----------
.. [1] Gupta, van der Meer, Touretzky & Redish (2010), Hippocampal replay is not a simple function
   of experience. https://doi.org/10.1016/j.neuron.2010.01.034
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import networkx as nx
import numpy as np
import pandas as pd

from analyses.sequences.track import graph_of_log
from replay.checks import typed
from replay.log.event_log import EventLog
from replay.worlds.mdp import MDP
from replay.worlds.tracks import make_linear_track, make_track_graph

__all__ = ["N_EACH", "KnownReplay", "draw_session", "draw_two_way_session"]

_CORNERS = ((60, 5), (60, 95), (10, 95), (10, 5), (110, 95), (110, 5))
_RAILS = ((0, 1), (1, 2), (2, 3), (3, 0), (1, 4), (4, 5), (5, 0))
_LAPS = ((0, 1, 2, 3, 0), (0, 1, 4, 5, 0))
_ACROSS, _LEFT_OUT = (3, 2, 1, 4, 5), 2
_STATE_SIZE = 15.0  # cm
_N_LAPS = 30

N_EACH = 15
"""Number of paths of each kind that are replayed."""


class KnownReplay(NamedTuple):
    """A session of laps, and the paths that are replayed after them.

    Attributes
    ----------
    log : EventLog
        The laps.
    graph : networkx.Graph
        The track.
    paths : pandas.DataFrame
        The paths that are replayed after the last lap: `step, states`, and `along`, the headings
        that they represent, if the track was run both ways.
    """

    log: EventLog
    graph: nx.Graph
    paths: pd.DataFrame


@typed
def draw_session(rng: np.random.Generator) -> KnownReplay:
    """Draw a session on the figure of eight.

    Parameters
    ----------
    rng : numpy.random.Generator
        Generator of the replayed paths.

    Returns
    -------
    KnownReplay
        Laps, which are always the same, and replayed paths.

    Examples
    --------
    >>> from analyses import place_sequences
    >>> session = draw_session(np.random.default_rng(0))
    >>> found = place_sequences(session.log, session.paths)
    >>> found["novelty"].value_counts().loc[["experienced", "composed_mixed"]].tolist()
    [30, 15]
    """
    graph = make_track_graph(_CORNERS, _RAILS)
    world = MDP.from_networkx(graph, bin_size=_STATE_SIZE, name="figure_of_eight")
    joined = graph_of_log(EventLog({}, mdp=world))

    def way(*corners: int) -> list[int]:
        rails = [nx.shortest_path(joined, *pair)[1:] for pair in pairwise(corners)]
        return [corners[0], *(state for rail in rails for state in rail)]

    laps = [way(*_LAPS[number % 2]) for number in range(_N_LAPS)]
    moves = [move for lap in laps for move in pairwise(lap)]
    ends = [place == len(lap) - 2 for lap in laps for place in range(len(lap) - 1)]
    log = EventLog(
        {
            "steps": {
                "state": [state for state, _ in moves],
                "next_state": [state for _, state in moves],
                "terminated": ends,
            }
        },
        mdp=world,
    )
    stretches = [way(*lap[begin : begin + 4]) for lap in _LAPS for begin in range(2)]
    drawn = [stretches[number] for number in rng.integers(len(stretches), size=2 * N_EACH)]
    across = way(*_ACROSS)[_LEFT_OUT:-_LEFT_OUT]
    paths = drawn[:N_EACH] + [path[::-1] for path in drawn[N_EACH:]]
    paths += [across[::turn] for turn in rng.choice((-1, 1), N_EACH).tolist()]
    return KnownReplay(log, graph, pd.DataFrame({"step": len(moves) - 1, "states": paths}))


def draw_two_way_session(rng: np.random.Generator) -> KnownReplay:
    """Draw a session of 24 laps there and back on a linear track of 160 cm.

    Afterwards, runs are replayed in either direction, half of them in the heading that the cells
    represent and half against it.

    Examples
    --------
    >>> from analyses import place_sequences
    >>> session = draw_two_way_session(np.random.default_rng(0))
    >>> place_sequences(session.log, session.paths)["direction"].value_counts().tolist()[:2]
    [15, 15]
    """
    graph = make_linear_track(160.0)
    world = MDP.from_networkx(graph, bin_size=_STATE_SIZE, name="linear_track")
    way = nx.shortest_path(graph_of_log(EventLog({}, mdp=world)), 0, 1)
    moves = [*pairwise(way), *pairwise(way[::-1])] * 12
    steps = {
        "state": [state for state, _ in moves],
        "next_state": [state for _, state in moves],
        "terminated": np.arange(1, len(moves) + 1) % (len(way) - 1) == 0,
    }
    states = [way[::turn] for turn in rng.choice((-1, 1), 2 * N_EACH).tolist()]
    along = [[1 if number < N_EACH else -1] * len(way) for number in range(2 * N_EACH)]
    paths = pd.DataFrame({"step": len(moves) - 1, "states": states, "along": along})
    return KnownReplay(EventLog({"steps": steps}, mdp=world), graph, paths)
