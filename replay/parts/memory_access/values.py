"""The values of states, and the gains that become stale when an action value changes."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from replay.jit import inlined
from replay.log.backups import ONLINE, TRACE, BackupBuffer, record
from replay.parts.memory_access.priority_table import PriorityTable
from replay.parts.memory_access.whereabouts import Whereabouts, mean_reward
from replay.parts.numbering import meet
from replay.parts.policies import Policy, best_value, mean_value
from replay.parts.traces import Traces, trace_at
from replay.parts.world_model import WorldModel

__all__ = ["ValueMemory", "ValueParams", "change_traced_values", "change_value", "forget_values"]
__all__ += ["state_value"]


class ValueParams(Protocol):
    """The parameters of :mod:`replay.learners.prioritized_memory_access` that are read here."""

    @property
    def on_policy(self) -> bool: ...
    @property
    def plan_policy(self) -> int: ...
    @property
    def inverse_temperature(self) -> float: ...
    @property
    def epsilon(self) -> float: ...
    @property
    def forgetting(self) -> float: ...
    @property
    def forgotten_value(self) -> float: ...
    @property
    def forgets_to_mean(self) -> bool: ...


class ValueMemory(Protocol):
    """The memory of :mod:`replay.learners.prioritized_memory_access`, as far as it is used here."""

    @property
    def action_values(self) -> NDArray[np.float64]: ...
    @property
    def values(self) -> NDArray[np.float64]: ...
    @property
    def next_state(self) -> NDArray[np.int32]: ...
    @property
    def reward(self) -> NDArray[np.float64]: ...
    @property
    def traces(self) -> Traces: ...
    @property
    def table(self) -> PriorityTable: ...
    @property
    def model(self) -> WorldModel: ...
    @property
    def whereabouts(self) -> Whereabouts: ...


@inlined
def state_value(params: ValueParams, memory: ValueMemory, s: int, kind: int) -> float:
    """Return the value of a state: of its best action, or with ``on_policy`` the mean of a policy.

    Parameters
    ----------
    params : ValueParams
    memory : ValueMemory
    s : int
        The state.
    kind : int
        The policy: index in :data:`replay.parts.policies.POLICIES`.

    Returns
    -------
    float
    """
    if params.on_policy:
        policy = Policy(kind, params.inverse_temperature, params.epsilon)
        return mean_value(policy, memory.action_values, s)
    return best_value(memory.action_values, s)


@inlined
def change_value(params: ValueParams, memory: ValueMemory, s: int, a: int, change: float) -> None:
    """Change Q(s, a), and mark the states whose gains this changes.

    Parameters
    ----------
    params : ValueParams
    memory : ValueMemory
        Changed in place.
    s, a : int
        The pair.
    change : float
        The change of its action value.
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
def change_traced_values(
    params: ValueParams, memory: ValueMemory, change: float, log: BackupBuffer
) -> None:
    """Add a change to the value of every traced pair, in proportion to its trace.

    Parameters
    ----------
    params : ValueParams
        The learner's.
    memory : ValueMemory
        The learner's, changed in place.
    change : float
        The change for a trace of 1.
    log : BackupBuffer
        Records the backups, the latest pair first.
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
def forget_values(params: ValueParams, memory: ValueMemory) -> None:
    """Let the values of all tried pairs decay by one step.

    Parameters
    ----------
    params : ValueParams
        ``forgetting`` is the share of the way to ``forgotten_value``, or with ``forgets_to_mean``
        to the mean reward so far.
    memory : ValueMemory
        Changed in place.
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
