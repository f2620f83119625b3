"""A user's learner: prioritized memory access whose random choices are imposed.

The greedy action that extends a backup, and the choice among backups of equal value, are written to
its memory before each step, for all backups of its pauses in a row. It keeps what it knew before
each backup.
"""

from typing import NamedTuple

import numpy as np

from replay.learners import prioritized_memory_access
from replay.learners.prioritized_memory_access import (
    Params,
    act,
    description,
    link_episodes,
    most_backups,
    need_origin,
)
from replay.learners.prioritized_memory_access.backups import (
    begin_path,
    best_pair,
    extend_path,
    refresh,
    set_priorities,
)
from replay.learners.prioritized_memory_access.memory import Path, PriorityTable
from replay.parts.need import Need, count_need
from replay.parts.world_model import WorldModel

__all__ = ["Memory", "Params", "act", "description", "explore", "init", "learn"]
__all__ += ["most_backups", "replay"]

MOST_IMPOSED = 50


class Memory(NamedTuple):
    """That of prioritized memory access, and what is imposed and kept.

    Attributes
    ----------
    imposed : ndarray of int64, shape (MOST_IMPOSED, 4)
        For each backup of the next step: the extending action (-1: none), the number of its
        steps (0: the pause ends without it), state and action of its last.
    n_made : ndarray of int64, shape (1,)
        How many of them are done with.
    kept : ndarray of float64, shape (MOST_IMPOSED, 3, n_states, n_actions)
        Action values, gains and priorities before each.
    kept_best : ndarray of float64, shape (MOST_IMPOSED, 2)
        The priority of the extended path, and the highest one of a single step.
    kept_need : ndarray of float64, shape (MOST_IMPOSED, n_states)
        Need.
    kept_path : ndarray of float64, shape (MOST_IMPOSED, MOST_IMPOSED + n_states)
        The gains of the extended path.
    """

    action_values: np.ndarray
    values: np.ndarray
    next_state: np.ndarray
    reward: np.ndarray
    table: PriorityTable
    path: Path
    model: WorldModel
    need: Need
    whereabouts: np.ndarray
    imposed: np.ndarray
    n_made: np.ndarray
    kept: np.ndarray
    kept_best: np.ndarray
    kept_need: np.ndarray
    kept_path: np.ndarray


def init(params, sizes):
    shape = (MOST_IMPOSED, 3, sizes.n_states, sizes.n_actions)
    return Memory(
        *prioritized_memory_access.init(params, sizes),
        np.zeros((MOST_IMPOSED, 4), dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.zeros(shape),
        np.zeros((MOST_IMPOSED, 2)),
        np.zeros((MOST_IMPOSED, sizes.n_states)),
        np.zeros((MOST_IMPOSED, MOST_IMPOSED + sizes.n_states)),
    )


def explore(params, memory, mdp):
    """Know the world; on a track the way back begins where this way ends."""
    prioritized_memory_access.explore(params, memory, mdp)
    row = [y for _, y in mdp.labels]
    starts = np.flatnonzero(mdp.start_probability)
    for end in np.flatnonzero(mdp.terminal) if len(starts) > 1 else []:
        edge = memory.need.chain.first_out[end]
        while edge >= 0:
            follows = row[memory.need.chain.edges["next_state"][edge]] != row[end]
            memory.need.chain.edges["probability"][edge] = follows
            edge = memory.need.chain.edges["next_out"][edge]


def learn(params, memory, transition, log):
    memory.n_made[0] = 0
    prioritized_memory_access.learn(params, memory, transition, log)


def replay(params, memory, pause, rng, log):
    link_episodes(params, memory.whereabouts, memory.need.chain, pause)
    origin = need_origin(params, memory.whereabouts, pause)
    if origin < 0:
        return
    count_need(memory.need, params.need, pause.phase, origin, params.discount)
    table = memory.table
    for s in range(len(memory.values)):
        set_priorities(params, memory, s)
    length = 0
    for pop in range(params.max_backups):
        refresh(params, memory)
        now = memory.n_made[0]
        memory.n_made[0] = now + 1
        extending = memory.imposed[now, 0]
        extended = extend_path(params, memory, length, extending)
        s, a = best_pair(table, -1.0, rng)
        memory.kept_best[now, 0] = extended
        memory.kept_best[now, 1] = -1.0 if s < 0 else table.priority[s, a]
        for i in range(len(memory.path.gain)):
            memory.kept_path[now, i] = memory.path.gain[i]
        for i in range(len(memory.values)):
            memory.kept_need[now, i] = memory.need.expected[i]
            for b in range(table.gain.shape[1]):
                memory.kept[now, 0, i, b] = memory.action_values[i, b]
                memory.kept[now, 1, i, b] = table.gain[i, b]
                memory.kept[now, 2, i, b] = table.priority[i, b]
        if memory.imposed[now, 1] == 0:
            break
        if memory.imposed[now, 1] > 1:
            length += 1
            priority = extended
        else:
            length = 1
            s, a = memory.imposed[now, 2], memory.imposed[now, 3]
            priority = begin_path(params, memory, s, a)
        prioritized_memory_access._back_up(
            params, memory, length, priority, pause.phase, pop, -1, log
        )
