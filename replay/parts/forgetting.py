"""How the learned model follows a world that changes, and what it assumes without having seen it.

`remember` reduces the weight of the earlier outcomes of a pair by a share kappa before it adds the
new one, which has weight 1:

* kappa = 0 (``forgetting=0``): counts, for a stationary world;
* 0 < kappa < 1: leaky integration, for a world that drifts. For a pair that is known well this is
  the rule of [1]_, p <- (1 - kappa) p + kappa 1[s']: the rate is 1 / N, and N grows from 1 towards
  1 / kappa. Until then the outcomes are averaged, so that the first has no more weight than the
  others;
* kappa = 1: the last outcome only, for a world that changes but is deterministic;
* with ``surprise_rate``, the kappa of each pair follows the surprise of its outcomes, as
  associability does [2]_ [3]_: kappa <- kappa + surprise_rate (surprise - kappa). Surprise is by
  how much the outcome was less probable than the outcomes of this pair are on average: expected
  randomness is no sign of change [4]_.

The same rule keeps an average over the outcomes of a pair, such as its action value, consistent
with the model: average <- (average (N - 1) + new) / N, where N includes the new outcome.

A model that has ``way_back`` knows both directions of a move at once: a way back that was not tried
is assumed until it is.

References
----------
.. [1] Brea (2018), Is prioritized sweeping the better episodic control?
   https://arxiv.org/abs/1711.06677
.. [2] Pearce & Hall (1980), A model for Pavlovian learning.
   https://doi.org/10.1037/0033-295X.87.6.532
.. [3] Behrens et al. (2007), Learning the value of information in an uncertain world.
   https://doi.org/10.1038/nn1954
.. [4] Yu & Dayan (2005), Uncertainty, neuromodulation, and attention.
   https://doi.org/10.1016/j.neuron.2005.04.026
"""

import numpy as np
from numpy.typing import NDArray

from replay.jit import inlined
from replay.parts.world_model import WorldModel, count_transition, fade

__all__ = ["assume", "remember", "surprise", "unknown_way_back"]


@inlined
def remember(
    model: WorldModel,
    surprise_rate: float,
    state: int,
    action: int,
    next_state: int,
    terminated: bool,
) -> float:
    """Count one transition, after reducing the weight of earlier outcomes of its pair.

    Parameters
    ----------
    model : WorldModel
        Changed in place.
    surprise_rate : float
        How fast the kappa of the pair follows its surprise; 0: kappa is constant.
    state, action, next_state : int
        The transition.
    terminated : bool
        Whether it ended the episode.

    Returns
    -------
    float
        The weight that is left of earlier outcomes of the pair, N - 1.
    """
    _replace_assumption(model.is_assumed, model, state, action)
    _lose_weight(model.forgetting, model, surprise_rate, state, action, next_state)
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
    forgetting: NDArray[np.float64] | None,
    model: WorldModel,
    surprise_rate: float,
    state: int,
    action: int,
    next_state: int,
) -> None:
    if forgetting is None:
        return
    kappa = forgetting[state, action]
    if surprise_rate > 0.0:
        unexpected = surprise(model, state, action, next_state)
        forgetting[state, action] = kappa + surprise_rate * (unexpected - kappa)
    fade(model, state, action, kappa)


@inlined
def surprise(model: WorldModel, state: int, action: int, next_state: int) -> float:
    """Return by how much an outcome is less probable than outcomes of its pair are on average.

    Parameters
    ----------
    model : WorldModel
        Before the outcome.
    state, action, next_state : int
        The transition.

    Returns
    -------
    float
        1 if another outcome was certain, 0 if the pair was never tried; at least 0.
    """
    total = model.visits[state, action]
    average, this = 0.0, 0.0
    edge = model.first_out[state, action]
    while edge >= 0:
        probability = model.edges[edge]["count"] / total
        average += probability * probability
        if model.edges[edge]["next_state"] == next_state:
            this = probability
        edge = model.edges[edge]["next_out"]
    return max(average - this, 0.0)


@inlined
def unknown_way_back(
    model: WorldModel, state: int, action: int, next_state: int, terminated: bool
) -> int:
    """Return the action that undoes a transition, if its outcome is not known yet.

    Parameters
    ----------
    model : WorldModel
    state, action, next_state : int
        A transition that was just observed.
    terminated : bool
        Whether it ended the episode: nothing leads back from there.

    Returns
    -------
    int
        An action of `next_state`; -1 if there is none, or the model has no ``way_back``.
    """
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
    """Note that a pair is known only as the way back of another one.

    Parameters
    ----------
    model : WorldModel
        Changed in place.
    state, action : int
        The pair.
    """
    _assume(model.is_assumed, state, action)


@inlined
def _assume(is_assumed: NDArray[np.bool_] | None, state: int, action: int) -> None:
    if is_assumed is None:
        return
    is_assumed[state, action] = True
