"""How the learned model follows a world that changes, and what it assumes without having seen it.

A model with ``forgetting`` reduces the weight of the earlier outcomes of a pair by this share kappa
before it adds the new one, which has weight 1:

* kappa = 0 counts, for a stationary world;
* 0 < kappa < 1 is leaky integration, for a world that drifts. For a pair that is known well this is
  the rule of [1]_, p <- (1 - kappa) p + kappa 1[s']: the rate is 1 / N, and N grows from 1 towards
  1 / kappa. Until then the outcomes are averaged, so that the first has no more weight than the
  others;
* kappa = 1 keeps the last outcome only, for a world that changes but is deterministic.

The same rule keeps an average over the outcomes of a pair, such as its action value, consistent
with the model: average <- (average (N - 1) + new) / N, where N includes the new outcome.

A model with ``way_back`` knows both directions of a move at once: a way back that was not tried is
assumed until it is.

References
----------
.. [1] Brea (2018), Is prioritized sweeping the better episodic control?
   https://arxiv.org/abs/1711.06677
"""

import numpy as np
from numpy.typing import NDArray

from replay.jit import inlined
from replay.parts.world_model import WorldModel, count_transition, fade

__all__ = ["assume", "remember", "unknown_way_back"]


@inlined
def remember(
    model: WorldModel, state: int, action: int, next_state: int, terminated: bool
) -> float:
    """Count one transition; return the weight that earlier outcomes of its pair have kept."""
    _replace_assumption(model.is_assumed, model, state, action)
    _lose_weight(model.forgetting, model, state, action)
    kept: float = model.visits[state, action]
    count_transition(model, state, action, next_state, terminated)
    return kept


@inlined
def _replace_assumption(
    is_assumed: NDArray[np.bool_] | None, model: WorldModel, state: int, action: int
) -> None:
    if is_assumed is None:
        return
    if is_assumed[state, action]:
        is_assumed[state, action] = False
        fade(model, state, action, 1.0)


@inlined
def _lose_weight(
    forgetting: NDArray[np.float64] | None, model: WorldModel, state: int, action: int
) -> None:
    if forgetting is None:
        return
    fade(model, state, action, forgetting[0])


@inlined
def unknown_way_back(
    model: WorldModel, state: int, action: int, next_state: int, terminated: bool
) -> int:
    """Return the action that undoes a transition, if its outcome is not known yet, else -1."""
    if terminated:
        return -1
    return _unknown_way_back(model.way_back, model, state, action, next_state)


@inlined
def _unknown_way_back(
    way_back: NDArray[np.int32] | None, model: WorldModel, state: int, action: int, next_state: int
) -> int:
    if way_back is None:
        return -1
    back: int = way_back[state, action]
    if back >= 0 and model.visits[next_state, back] > 0.0:
        return -1
    return back


@inlined
def assume(model: WorldModel, state: int, action: int) -> None:
    """Note that a pair is known only as the way back of another one."""
    _assume(model.is_assumed, state, action)


@inlined
def _assume(is_assumed: NDArray[np.bool_] | None, state: int, action: int) -> None:
    if is_assumed is None:
        return
    is_assumed[state, action] = True
