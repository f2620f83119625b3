"""Where landmarks are, how far apart places are, and how many places of a set a sequence visits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csgraph

from analyses.sequences.sequences import Lists
from replay.jit import kernel

if TYPE_CHECKING:
    from replay.tasks import Task

__all__ = ["between_nodes", "covered", "landmark"]


def landmark(task: Task, *names: str) -> NDArray[np.bool_]:
    """Return which analysed states lie in any of some landmarks; unknown ones are empty."""
    nodes = {node for name in names for node in task.landmarks.get(name, ())}
    return np.array([node in nodes for node in task.node], dtype=bool)


def between_nodes(task: Task) -> NDArray[np.float64]:
    """Count the steps between places on the task's undirected graph, shape (n_places, n_places).

    Infinite where no path exists.
    """
    number = {node: i for i, node in enumerate(task.graph.nodes)}
    edges = nx.to_scipy_sparse_array(task.graph, nodelist=list(number), weight=None)
    steps: NDArray[np.float64] = csgraph.shortest_path(edges, directed=False, unweighted=True)
    place = [number[node] for node in task.node]
    return steps[np.ix_(place, place)]


def covered(walked: Lists, inside: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Count how many different places of a set each sequence visits.

    `inside` flags the places of the set, shape (n_places,).
    """
    n_visited: NDArray[np.int64] = np.zeros(len(walked.begin) - 1, dtype=np.int64)
    _cover(walked.flat, walked.begin, inside, n_visited)
    return n_visited


@kernel
def _cover(
    place: NDArray[np.int32],
    begin: NDArray[np.int64],
    inside: NDArray[np.bool_],
    n_visited: NDArray[np.int64],
) -> None:
    last_in = np.full(len(inside), -1)  # the last sequence that visited each place
    for sequence in range(len(n_visited)):
        for i in range(begin[sequence], begin[sequence + 1]):
            if inside[place[i]] and last_in[place[i]] != sequence:
                last_in[place[i]] = sequence
                n_visited[sequence] += 1
