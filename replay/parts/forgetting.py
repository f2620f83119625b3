"""How the learned model follows a world that changes, and what it assumes without having seen it.

`remember` lets the earlier outcomes of a pair lose a share kappa of their weight before it adds the
new one, which counts 1:

* kappa = 0 (``forgetting=0``): counts, for a world that stays as it is;
* 0 < kappa < 1: leaky integration, for a world that drifts. It is the rule of [1]_,
  p <- (1 - kappa) p + kappa 1[s'], once a pair is known well: the rate is 1 / N, and N grows from
  1 towards 1 / kappa. Until then the outcomes are averaged, so that the first does not weigh more
  than the others;
* kappa = 1: the last outcome only, for a world that changes but knows no chance;
* with ``surprise_rate`` each pair has a kappa of its own that follows its surprise, as
  associability does [2]_ [3]_: kappa <- kappa + surprise_rate (surprise - kappa). Surprise is what
  the outcome was less probable than outcomes of this pair are on average; chance that is known is
  no sign of change [4]_.

An average of what followed a pair, such as its action value, stays true to the model by one and
the same rule, average <- (average (N - 1) + new) / N, with the N of after the outcome.

A model that has ``way_back`` knows both directions of a move at once: what was not tried is assumed
until it is.

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
    """Count one transition, after earlier outcomes of its pair have lost weight.

    Parameters
    ----------
    model : WorldModel
        The model.
    surprise_rate : float
        How fast the kappa of the pair follows its surprise; 0: it stays.
    state, action, next_state : int
        The transition.
    terminated : bool
        Whether it ended the episode.

    Returns
    -------
    float
        What earlier outcomes of the pair still weigh, N - 1.
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
    """Return what an outcome is less probable than outcomes of its pair are on average.

    It is 1 if another outcome was certain, and 0 if the pair was never tried.
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
    """Return the action that undoes a transition, if its outcome is not known yet; else -1.

    Parameters
    ----------
    model : WorldModel
        The model; without ``way_back`` it is -1.
    state, action, next_state : int
        A transition that was just observed.
    terminated : bool
        Whether it ended the episode: nothing leads back from there.

    Returns
    -------
    int
        An action of `next_state`, or -1.
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
    """Note that a pair is known only as the way back of another one."""
    _assume(model.is_assumed, state, action)


@inlined
def _assume(is_assumed: NDArray[np.bool_] | None, state: int, action: int) -> None:
    if is_assumed is None:
        return
    is_assumed[state, action] = True
