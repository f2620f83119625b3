"""How a bounded memory chooses what to forget from the learned model."""

import math

import numpy as np

from replay.jit import inlined
from replay.parts.priority_queue import PriorityQueue, pop, remove, set_priority
from replay.parts.world_model import WorldModel, fade

__all__ = ["EPISODES", "FADING", "RETENTION", "TRANSITIONS", "VALUABLE", "describe_model"]
__all__ += ["end_episode", "retain", "revalue"]

RETENTION = ("recent_episodes", "recent_transitions", "valuable_transitions", "fading")
"""What is kept; see `retain`."""
EPISODES, TRANSITIONS, VALUABLE, FADING = range(4)

_TIE = 1e-12  # breaks ties of value: added once for each transition retained so far


def describe_model(retention: int, capacity: float) -> str:
    """Describe the model that a learner keeps.

    Examples
    --------
    >>> describe_model(EPISODES, np.inf), describe_model(FADING, 5.0)
    ('a model of all transitions', 'a model of fading transitions')
    """
    unbounded = capacity == np.inf
    kept = "all transitions" if unbounded else RETENTION[retention].replace("_", " ")
    return f"a model of {kept}".replace("fading", "fading transitions")


@inlined
def retain(
    model: WorldModel, retention: int, capacity: float, state: int, action: int, value: float
) -> None:
    """Note that a pair was tried, and forget what no longer fits.

    A pair is forgotten with all its outcomes, so that the probabilities of the remembered ones
    stay true. By the rules of ``RETENTION`` these pairs are forgotten:

    * ``recent_episodes``: those not tried in the last `capacity` episodes;
    * ``recent_transitions``: the least recently tried one, so that at most `capacity` edges are
      left;
    * ``valuable_transitions``: the least valuable one (of several, the least recently tried or
      replayed), so that at most `capacity` edges are left;
    * ``fading``: those whose trace is below 1 / e. The trace begins at the pair's weight N when it
      was last tried, and decays by a factor e in `capacity` episodes, so that it lasts for
      capacity (1 + log N) episodes.
    """
    _retain(model.expendable, model, retention, capacity, state, action, value)


@inlined
def _retain(
    queue: PriorityQueue | None,
    model: WorldModel,
    retention: int,
    capacity: float,
    state: int,
    action: int,
    value: float,
) -> None:
    if queue is None:
        return
    pair = state * model.visits.shape[1] + action
    if retention in (EPISODES, FADING):
        lifetime = capacity
        if retention == FADING:
            lifetime *= 1.0 + math.log(model.visits[state, action])
        set_priority(queue, pair, -(model.clock[1] + lifetime), -1)
        return
    remove(queue, pair)
    while model.n_edges[0] > capacity and queue.size[0] > 0:
        _forget_pair(model, pop(queue))
    model.clock[0] += 1
    used = float(model.clock[0])
    if retention == VALUABLE:
        used = value + _TIE * used
    set_priority(queue, pair, -used, -1)


@inlined
def revalue(model: WorldModel, retention: int, state: int, action: int, value: float) -> None:
    """Give a remembered pair its new value, if memories are kept by value."""
    _revalue(model.expendable, model, retention, state, action, value)


@inlined
def _revalue(
    queue: PriorityQueue | None,
    model: WorldModel,
    retention: int,
    state: int,
    action: int,
    value: float,
) -> None:
    if queue is None:
        return
    if retention == VALUABLE:
        pair = state * model.visits.shape[1] + action
        set_priority(queue, pair, -(value + _TIE * model.clock[0]), -1)


@inlined
def end_episode(model: WorldModel, retention: int) -> None:
    """Forget the pairs whose time is over, at the end of an episode."""
    model.clock[1] += 1
    _end_episode(model.expendable, model, retention)


@inlined
def _end_episode(queue: PriorityQueue | None, model: WorldModel, retention: int) -> None:
    if queue is None:
        return
    if retention in (EPISODES, FADING):
        while queue.size[0] > 0 and -queue.priority[0] <= model.clock[1]:
            _forget_pair(model, pop(queue))


@inlined
def _forget_pair(model: WorldModel, pair: int) -> None:
    n_actions = model.visits.shape[1]
    fade(model, pair // n_actions, pair % n_actions, 1.0)
