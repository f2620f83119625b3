"""A user's learner: prioritized sweeping with a given order of predecessors.

The priorities that a popped state gives its predecessors do not depend on their order, but ties in
the queue do. The published code visits predecessors in the order of a hash table; this learner
relinks the learned model into an order that is written to its memory before each step.
"""

from typing import NamedTuple

import numpy as np

from replay.learners import prioritized_sweeping
from replay.learners.prioritized_sweeping import Params, learn, most_backups
from replay.learners.prioritized_sweeping.evaluation import Evaluation
from replay.log.backups import START
from replay.parts.pauses import Earnings
from replay.parts.priority_queue import PriorityQueue
from replay.parts.world_model import WorldModel

__all__ = ["Memory", "Params", "init", "learn", "most_backups", "replay"]

MOST_IMPOSED = 1000


class Memory(NamedTuple):
    """That of prioritized sweeping, and an order of predecessors.

    Attributes
    ----------
    imposed : ndarray of int64, shape (MOST_IMPOSED, 3)
        The next step's backups: predecessor, action, popped state.
    n_imposed : ndarray of int64, shape (1,)
        How many there are.
    """

    action_values: np.ndarray
    values: np.ndarray
    known_values: np.ndarray
    n_steps: np.ndarray
    model: WorldModel
    queue: PriorityQueue
    evaluation: Evaluation | None
    earnings: Earnings
    imposed: np.ndarray
    n_imposed: np.ndarray


def init(params, sizes):
    return Memory(
        *prioritized_sweeping.init(params, sizes),
        np.zeros((MOST_IMPOSED, 3), dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )


def _move_to_end(model, edge):
    edges = model.edges
    state = edges[edge]["next_state"]
    if model.last_in[state] == edge:
        return
    if model.first_in[state] == edge:
        model.first_in[state] = edges[edge]["next_in"]
    else:
        before = model.first_in[state]
        while edges[before]["next_in"] != edge:
            before = edges[before]["next_in"]
        edges[before]["next_in"] = edges[edge]["next_in"]
    edges[edge]["next_in"] = -1
    edges[model.last_in[state]]["next_in"] = edge
    model.last_in[state] = edge


def replay(params, memory, pause, rng, log):
    model = memory.model
    for i in range(memory.n_imposed[0] if pause.phase != START else 0):
        edge = model.first_out[memory.imposed[i, 0], memory.imposed[i, 1]]
        while model.edges[edge]["next_state"] != memory.imposed[i, 2]:
            edge = model.edges[edge]["next_out"]
        _move_to_end(model, edge)
    prioritized_sweeping.replay(params, memory, pause, rng, log)
