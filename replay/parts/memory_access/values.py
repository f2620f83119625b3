"""The values of states, and what becomes stale where an action value changes.

The functions take the parameters and the memory of
:mod:`replay.learners.prioritized_memory_access`.
"""

from typing import Any

from replay.jit import inlined
from replay.log.backups import ONLINE, TRACE, BackupBuffer, record
from replay.parts.memory_access.whereabouts import mean_reward
from replay.parts.numbering import meet
from replay.parts.policies import Policy, best_value, mean_value
from replay.parts.traces import trace_at

__all__ = ["back_up_traced", "change_value", "forget_values", "state_value"]


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
def back_up_traced(params: Any, memory: Any, change: float, log: BackupBuffer) -> None:
    """Add its share of a change to the value of every traced pair, the latest pair first.

    Parameters
    ----------
    params, memory : NamedTuple
        Of the learner.
    change : float
        What a pair with a trace of 1 learns.
    log : BackupBuffer
        What the backups are logged to.
    """
    values, n_actions = memory.action_values, memory.action_values.shape[1]
    for age in range(memory.traces.n_traced[0]):
        pair, strength = trace_at(memory.traces, age)
        if strength > 0.0:
            s, a = pair // n_actions, pair % n_actions
            before = values[s, a]
            change_value(params, memory, s, a, strength * change)
            phase, s_next = ONLINE if age == 0 else TRACE, memory.next_state[s, a]
            record(log, phase, s, a, s_next, before, values[s, a], memory.reward[s, a])


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
