"""Changes of action values, and the states whose gains they make stale."""

from replay.jit import inlined
from replay.learners.prioritized_memory_access.memory import Memory, Params
from replay.learners.prioritized_memory_access.whereabouts import mean_reward
from replay.parts.numbering import meet
from replay.parts.policies import best_value

__all__ = ["change_value", "forget_values"]


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
def forget_values(params: Params, memory: Memory) -> None:
    """Let the values of all tried pairs decay by one step, to 0 or to the mean reward."""
    if params.forgetting == 0.0:
        return
    Q, aim = memory.action_values, 0.0
    if params.forgets_to_mean:
        aim = mean_reward(memory.whereabouts)
    for s in range(Q.shape[0]):
        for a in range(Q.shape[1]):
            distance = aim - Q[s, a]
            if memory.next_state[s, a] >= 0 and distance != 0.0:
                change_value(memory, s, a, params.forgetting * distance)
