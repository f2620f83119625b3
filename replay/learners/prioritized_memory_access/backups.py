"""Backups of prioritized memory access: what they gain, which is best, and what they change.

The gain of a backup is how much more the policy earns from a state after its values were updated.
In terms of the action values after the backup it is the sum over b of (policy after - policy
before)(b) * Q after(b) [1]_. Gain is that of one state; need weighs it by how often the agent will
be there, see :mod:`replay.parts.need`. A table holds gain and priority of all pairs of state and
action; states whose gains a change of values makes stale are marked until these are recomputed.

A backup of several steps is a path of remembered transitions that grows by one at its end. The
target of each step is the return from there to the end of the path, and the value of its end.

References
----------
.. [1] Mattar & Daw (2018), Prioritized memory access explains planning and hippocampal replay.
   https://doi.org/10.1038/s41593-018-0232-z
"""

import math

import numpy as np

from replay.checks.arrays import Floats, Int32s
from replay.jit import inlined
from replay.learners.prioritized_memory_access.memory import Memory, Params, Path, PriorityTable
from replay.parts.experiences import forget_all, meet, numbering
from replay.parts.policies import best_value, epsilon_greedy

_LARGEST_EXPONENT = 700.0  # of 710, the exponential is infinite, and times 0 no number


@inlined
def softmax_gain(
    action_values: Floats, state: int, action: int, after: float, beta: float
) -> float:
    """Return the gain of a softmax policy of inverse temperature beta.

    Only the probability p of the action changes: gain is the change of p times the difference
    between the action's new value and the mean of the others.
    """
    before = action_values[state, action]
    if after == before or action_values.shape[1] == 1:
        return 0.0
    best = -np.inf
    for b in range(action_values.shape[1]):
        if b != action:
            best = max(best, action_values[state, b])
    total = 0.0
    mean = 0.0
    for b in range(action_values.shape[1]):
        if b != action:
            weight = math.exp(beta * (action_values[state, b] - best))
            total += weight
            mean += weight * action_values[state, b]
    mean /= total
    p_before = 1.0 / (1.0 + total * math.exp(min(beta * (best - before), _LARGEST_EXPONENT)))
    p_after = 1.0 / (1.0 + total * math.exp(min(beta * (best - after), _LARGEST_EXPONENT)))
    return (p_after - p_before) * (after - mean)


# -- the table of priorities ---------------------------------------------------------------


def priority_table(n_states: int, n_actions: int) -> PriorityTable:
    """Make a table in which all pairs are excluded."""
    return PriorityTable(
        gain=np.zeros((n_states, n_actions)),
        priority=np.full((n_states, n_actions), -1.0),
        highest=np.full(n_states, -1.0),
        stale=numbering(n_states),
    )


@inlined
def set_pair_priority(table: PriorityTable, state: int, action: int, priority: float) -> None:
    """Set the priority of a pair.

    If priorities in a state change, `leave_out` must be called first, and all of them set again.
    """
    table.priority[state, action] = priority
    table.highest[state] = max(table.highest[state], priority)


@inlined
def leave_out(table: PriorityTable, state: int) -> None:
    """Exclude all pairs of a state."""
    table.highest[state] = -1.0
    for a in range(table.priority.shape[1]):
        table.priority[state, a] = -1.0


@inlined
def best_pair(table: PriorityTable, rival: float, rng: np.random.Generator) -> tuple[int, int]:
    """Choose the pair of the highest priority, at random if there are several.

    It is -1, -1 if there is none, or if `rival`, the priority of a longer backup, is higher.
    """
    highest, priority = table.highest, table.priority
    best = rival
    for s in range(len(highest)):
        best = max(best, highest[s])
    if best < 0.0:
        return -1, -1
    n_best = 0
    for s in range(len(highest)):
        if highest[s] == best:
            for a in range(priority.shape[1]):
                n_best += priority[s, a] == best
    left = int(rng.random() * n_best) if n_best > 1 else 0
    for s in range(len(highest)):
        if highest[s] == best:
            for a in range(priority.shape[1]):
                if priority[s, a] == best:
                    if left == 0:
                        return s, a
                    left -= 1
    return -1, -1


@inlined
def gain_of(params: Params, memory: Memory, s: int, a: int, target: float) -> float:
    """Return the gain of learning a target."""
    if not params.use_gain:
        return 1.0
    Q = memory.action_values
    after = Q[s, a] + params.learning_rate * (target - Q[s, a])
    return softmax_gain(Q, s, a, after, params.inverse_temperature)


@inlined
def _is_replayed(memory: Memory, s: int, a: int) -> bool:
    """Return whether a pair was tried, and led to another state."""
    s_next = memory.next_state[s, a]
    return bool(s_next >= 0 and s_next != s)


@inlined
def set_priorities(params: Params, memory: Memory, s: int) -> None:
    """Set the priorities of a state to gain x need."""
    table, need = memory.table, memory.need.expected[s]
    leave_out(table, s)
    for a in range(table.gain.shape[1]):
        if _is_replayed(memory, s, a):
            set_pair_priority(table, s, a, need * max(table.gain[s, a], params.gain_floor))


@inlined
def refresh(params: Params, memory: Memory) -> None:
    """Recompute the gains and priorities that are stale."""
    table, values = memory.table, memory.values
    for i in range(table.stale.n[0]):
        s = table.stale.met[i]
        for a in range(table.gain.shape[1]):
            if _is_replayed(memory, s, a):
                target = memory.reward[s, a] + params.discount * values[memory.next_state[s, a]]
                table.gain[s, a] = gain_of(params, memory, s, a, target)
        set_priorities(params, memory, s)
    forget_all(table.stale)


# -- paths ---------------------------------------------------------------------------------


@inlined
def end_of(path: Path, length: int, next_state: Int32s) -> int:
    """Return the state to which a path leads."""
    end: int = next_state[path.state[length - 1], path.action[length - 1]]
    return end


@inlined
def draw_extension(params: Params, memory: Memory, length: int, rng: np.random.Generator) -> int:
    """Draw the greedy action that would extend the path; -1: none."""
    if length == 0 or not params.n_step:
        return -1
    end = end_of(memory.path, length, memory.next_state)
    return epsilon_greedy(memory.action_values, end, 0.0, rng)


@inlined
def extend_path(params: Params, memory: Memory, length: int, action: int) -> float:
    """Append an action to the path, unless that makes a loop; return the priority of its backup.

    That is the need of the last step's state times the sum of all gains; -1: it leads nowhere new.
    """
    if action < 0:
        return -1.0
    path, next_state = memory.path, memory.next_state
    end = end_of(path, length, next_state)
    onward = next_state[end, action]
    is_new = onward != end
    for i in range(length):
        is_new = is_new and path.state[i] != onward
    if onward < 0 or not is_new:
        return -1.0
    path.state[length] = end
    path.action[length] = action
    set_targets(params, memory, length + 1)
    total = 0.0
    for i in range(length + 1):
        gain = gain_of(params, memory, path.state[i], path.action[i], path.target[i])
        path.gain[i] = gain
        total += max(gain, params.gain_floor)
    worth = total if params.use_gain else max(1.0, params.gain_floor)
    priority: float = memory.need.expected[end] * worth
    return priority


@inlined
def begin_path(params: Params, memory: Memory, s: int, a: int) -> float:
    """Make a path of one step, and return the priority of its backup."""
    path = memory.path
    path.state[0] = s
    path.action[0] = a
    set_targets(params, memory, 1)
    path.gain[0] = memory.table.gain[s, a]
    priority: float = memory.table.priority[s, a]
    return priority


@inlined
def set_targets(params: Params, memory: Memory, length: int) -> None:
    """Compute the return from each step of the path on, including the value of its end."""
    path = memory.path
    target = memory.values[end_of(path, length, memory.next_state)]
    for i in range(length - 1, -1, -1):
        target = memory.reward[path.state[i], path.action[i]] + params.discount * target
        path.target[i] = target


# -- values --------------------------------------------------------------------------------


@inlined
def change_value(memory: Memory, s: int, a: int, change: float) -> None:
    """Change Q(s, a), and mark the states whose gains this changes."""
    Q, V, model = memory.action_values, memory.values, memory.model
    Q[s, a] += change
    meet(memory.table.stale, s)
    value = best_value(Q, s)
    if value != V[s]:
        V[s] = value
        edge = model.first_in[s]
        while edge >= 0:
            meet(memory.table.stale, model.edges[edge]["state"])
            edge = model.edges[edge]["next_in"]


@inlined
def mean_reward(memory: Memory) -> float:
    """Return the mean reward of a try."""
    mean: float = memory.whereabouts[0]["earned"] / memory.whereabouts[0]["n_tries"]
    return mean


@inlined
def forget_values(params: Params, memory: Memory) -> None:
    """Let the values of all tried pairs decay by one step, to 0 or to the mean reward."""
    Q, aim = memory.action_values, 0.0
    if params.forgets_to_mean:
        aim = mean_reward(memory)
    for s in range(Q.shape[0]):
        for a in range(Q.shape[1]):
            distance = aim - Q[s, a]
            if memory.next_state[s, a] >= 0 and distance != 0.0:
                change_value(memory, s, a, params.forgetting * distance)
