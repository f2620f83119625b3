"""A learner of one's own: prioritized memory access whose random choices are imposed.

The greedy action that extends a backup, and the choice among backups of one value, are written to
its memory before each step. It keeps what it knew before each backup.
"""

from typing import NamedTuple

import numpy as np

from replay.learners import prioritized_memory_access
from replay.learners.prioritized_memory_access import (
    EVALUATES,
    Params,
    Path,
    act,
    learn,
    most_backups,
)
from replay.markov_chain import MarkovChain
from replay.world_model import WorldModel

__all__ = ["EVALUATES", "Memory", "Params", "act", "explore", "init", "learn", "most_backups"]
__all__ += ["replay"]

MOST_IMPOSED = 20


class Memory(NamedTuple):
    """That of prioritized memory access, and what is imposed and kept.

    Attributes
    ----------
    imposed : ndarray of int64, shape (MOST_IMPOSED, 4)
        For each backup of the next pause: the extending action (-1: none), the number of its
        steps, state and action of its last.
    kept : ndarray of float64, shape (MOST_IMPOSED, 3, n_states, n_actions)
        Action values, gains and priorities before each.
    kept_best : ndarray of float64, shape (MOST_IMPOSED, 2)
        The priority of the extended path, and the highest one of a single step.
    kept_path : ndarray of float64, shape (MOST_IMPOSED, n_states)
        The gains of the extended path.
    """

    action_values: np.ndarray
    values: np.ndarray
    next_state: np.ndarray
    reward: np.ndarray
    gain: np.ndarray
    need: np.ndarray
    priority: np.ndarray
    shares: np.ndarray
    path: Path
    model: WorldModel
    chain: MarkovChain
    stale: np.ndarray
    is_stale: np.ndarray
    n_stale: np.ndarray
    moment: np.ndarray
    imposed: np.ndarray
    kept: np.ndarray
    kept_best: np.ndarray
    kept_path: np.ndarray


def init(params, sizes):
    shape = (MOST_IMPOSED, 3, sizes.n_states, sizes.n_actions)
    return Memory(
        *prioritized_memory_access.init(params, sizes),
        np.zeros((MOST_IMPOSED, 4), dtype=np.int64),
        np.zeros(shape),
        np.zeros((MOST_IMPOSED, 2)),
        np.zeros((MOST_IMPOSED, sizes.n_states)),
    )


def explore(params, memory, mdp):
    """On a track the way back begins where this way ends."""
    prioritized_memory_access.explore(params, memory, mdp)
    row = [y for _, y in mdp.labels]
    starts = np.flatnonzero(mdp.start_probability)
    for end in np.flatnonzero(mdp.terminal) if len(starts) > 1 else []:
        edge = memory.chain.first_out[end]
        while edge >= 0:
            follows = row[memory.chain.edges["next_state"][edge]] != row[end]
            memory.chain.edges["probability"][edge] = follows
            edge = memory.chain.edges["next_out"][edge]


def replay(params, memory, pause, rng, log):
    prioritized_memory_access._link(params, memory, pause)
    origin = prioritized_memory_access._origin(params, memory, pause)
    if origin < 0:
        return
    prioritized_memory_access._look_ahead(params, memory, pause.phase, origin)
    length = 0
    for pop in range(params.max_backups):
        prioritized_memory_access._refresh(params, memory)
        extending = memory.imposed[pop, 0]
        extended = prioritized_memory_access._extend_path(params, memory, length, extending)
        s, a = prioritized_memory_access._best_pair(memory, rng)
        memory.kept_best[pop, 0] = extended
        memory.kept_best[pop, 1] = memory.priority[s, a]
        for i in range(len(memory.need)):
            memory.kept_path[pop, i] = memory.path.gain[i]
            for b in range(memory.gain.shape[1]):
                memory.kept[pop, 0, i, b] = memory.action_values[i, b]
                memory.kept[pop, 1, i, b] = memory.gain[i, b]
                memory.kept[pop, 2, i, b] = memory.priority[i, b]
        if memory.imposed[pop, 1] > 1:
            length += 1
            priority = extended
        else:
            length = 1
            s, a = memory.imposed[pop, 2], memory.imposed[pop, 3]
            priority = prioritized_memory_access._begin_path(params, memory, s, a)
        prioritized_memory_access._back_up(
            params, memory, length, priority, pause.phase, pop, -1, log
        )
