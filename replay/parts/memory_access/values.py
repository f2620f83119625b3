"""The values of states, and what becomes stale where an action value changes.

The functions take the parameters and the memory of
:mod:`replay.learners.prioritized_memory_access`.
"""

from typing import Any

from replay.jit import inlined
from replay.parts.memory_access.whereabouts import mean_reward
from replay.parts.numbering import meet
from replay.parts.policies import Policy, best_value, mean_value

__all__ = ["change_value", "forget_values", "state_value"]


@inlined
def state_value(params: Any, memory: Any, s: int, kind: int) -> float:
    """Return the value of a state: its best action's, or with ``on_policy`` the mean of a policy.

    Parameters
    ----------
    params, memory : NamedTuple
        Of the learner.
    s : int
        The state.
    kind : int
        The place of a name in :data:`replay.parts.policies.POLICIES`.

    Returns
    -------
    float
        Its value.
    """
    if params.on_policy:
        policy = Policy(kind, params.inverse_temperature, params.epsilon)
        return mean_value(policy, memory.action_values, s)
    return best_value(memory.action_values, s)


@inlined
def change_value(params: Any, memory: Any, s: int, a: int, change: float) -> None:
    """Change Q(s, a), and mark the states whose gains this changes.

    Parameters
    ----------
    params, memory : NamedTuple
        Of the learner.
    s, a : int
        The pair.
    change : float
        What is added to its action value.
    """
    values, model = memory.values, memory.model
    memory.action_values[s, a] += change
    meet(memory.table.stale, s)
    value = state_value(params, memory, s, params.plan_policy)
    if value != values[s]:
        values[s] = value
        edge = model.first_in[s]
        while edge >= 0:
            meet(memory.table.stale, model.edges[edge]["state"])
            edge = model.edges[edge]["next_in"]


@inlined
def forget_values(params: Any, memory: Any) -> None:
    """Let the values of all tried pairs decay by a step.

    Parameters
    ----------
    params, memory : NamedTuple
        Of the learner; ``forgetting`` is the share of the way to ``forgotten_value``, or with
        ``forgets_to_mean`` to the mean reward so far.
    """
    if params.forgetting == 0.0:
        return
    aim = params.forgotten_value
    if params.forgets_to_mean:
        aim = mean_reward(memory.whereabouts)
    for s in range(len(memory.values)):
        for a in range(memory.action_values.shape[1]):
            distance = aim - memory.action_values[s, a]
            if memory.next_state[s, a] >= 0 and distance != 0.0:
                change_value(params, memory, s, a, params.forgetting * distance)
