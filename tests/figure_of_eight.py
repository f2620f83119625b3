"""The figure of eight: its graph, and a run of its two loops."""

from itertools import chain, pairwise

import networkx as nx

from analyses.sequences.track import graph_of_log
from replay import MDP
from replay.log.event_log import EventLog
from replay.worlds.tracks import make_track_graph

EIGHT = make_track_graph(
    [(60, 5), (60, 95), (10, 95), (10, 5), (110, 95), (110, 5)],
    [(0, 1), (1, 2), (2, 3), (3, 0), (1, 4), (4, 5), (5, 0)],
)


def run_eight():
    """Run the left loop, then the right one; also return a function that finds ways by corners."""
    world = MDP.from_networkx(EIGHT, bin_size=15.0)
    joined = graph_of_log(EventLog({}, mdp=world))

    def way(*corners):
        parts = [nx.shortest_path(joined, a, b)[1:] for a, b in pairwise(corners)]
        return [corners[0], *chain(*parts)]

    laps = [way(0, 1, 2, 3, 0), way(0, 1, 4, 5, 0)]
    steps = {
        "state": [state for lap in laps for state in lap[:-1]],
        "next_state": [state for lap in laps for state in lap[1:]],
        "terminated": [k == len(lap) - 2 for lap in laps for k in range(len(lap) - 1)],
    }
    return EventLog({"steps": steps}, mdp=world), way
