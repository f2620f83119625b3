"""When a pause ends before a learner has made as many backups as it may.

Time has an opportunity cost, the reward earned on average per unit of time [1]_; replay that takes
time should end where it gains less than that [2]_. Here a backup takes as long as ``backup_cost``
steps: a pause continues while the next backup is expected to gain more than the mean reward of that
many steps. The expected gain is the backup's priority where that is a value, else the mean size of
the latest changes of action values. These include the prediction error of each step, so that
surprise, by reward or by novelty, makes pauses long. Independently of this, a pause may end at
random, after ``mean_backups`` on average.

With the defaults of these two parameters, 0 and infinity, pauses do not end early, and no random
numbers are drawn.

References
----------
.. [1] Niv, Daw, Joel & Dayan (2007), Tonic dopamine: opportunity costs and the control of response
   vigor. https://doi.org/10.1007/s00213-006-0502-4
.. [2] Agrawal, Mattar, Cohen & Daw (2022), The temporal dynamics of opportunity costs: a normative
   account of cognitive fatigue and boredom. https://doi.org/10.1037/rev0000309
"""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from replay.jit import inlined
from replay.parts.policies import best_tried
from replay.parts.steps_and_pauses import Transition

__all__ = ["Earnings", "PauseParams", "earnings", "earnings_words", "goes_on"]
__all__ += ["is_over_by_chance", "is_worth_it", "latest_change", "note_change", "note_experience"]

_TOTAL, _N, _CHANGE = range(3)
_LATEST = 0.2


class PauseParams(Protocol):
    """The parameters of a learner on which the end of a pause depends."""

    @property
    def discount(self) -> float: ...
    @property
    def backup_cost(self) -> float: ...
    @property
    def mean_backups(self) -> float: ...


class Earnings(NamedTuple):
    """What the end of a pause depends on.

    Attributes
    ----------
    held : ndarray of float64, shape (3,)
        The sum of all rewards so far, the number of steps, and a running mean of the sizes of
        changes of action values, in which the latest one has weight 0.2.
    """

    held: NDArray[np.float64]


def earnings() -> Earnings:
    """Make the record of a learner that has experienced nothing.

    Examples
    --------
    >>> class Params(NamedTuple):
    ...     discount: float = 0.9
    ...     backup_cost: float = 2.0
    ...     mean_backups: float = np.inf
    >>> class Step(NamedTuple):
    ...     state: int = 0
    ...     action: int = 0
    ...     reward: float = 1.0
    ...     next_state: int = 1
    ...     terminated: bool = False
    >>> held, Q, rng = earnings(), np.zeros((2, 1)), np.random.default_rng(0)
    >>> note_experience(Params(), held, Q, Step())
    >>> float(latest_change(held))
    0.2
    >>> [is_worth_it(Params(backup_cost=cost), 0.5, 1.0) for cost in (0.0, 0.4, 0.6)]
    [True, True, False]
    """
    return Earnings(np.zeros(3))


def earnings_words(params: PauseParams) -> int:
    """Count the numbers held: none if backups cost no time."""
    return 3 if params.backup_cost > 0.0 else 0


@inlined
def note_experience(
    params: PauseParams,
    held: Earnings,
    action_values: NDArray[np.float64],
    transition: Transition,
) -> None:
    """Note the reward of a step and the size of its prediction error, before it is learned from.

    A pair that was never tried has an infinite value, and no prediction error.
    """
    if params.backup_cost > 0.0:
        held.held[_TOTAL] += transition.reward
        held.held[_N] += 1.0
        expected = transition.reward
        if not transition.terminated:
            expected += params.discount * best_tried(action_values, transition.next_state)
        before = action_values[transition.state, transition.action]
        note_change(params, held, before, expected)


@inlined
def note_change(params: PauseParams, held: Earnings, before: float, after: float) -> None:
    """Note the size of a change of an action value, unless it was infinite."""
    if params.backup_cost > 0.0 and before < np.inf:
        held.held[_CHANGE] += _LATEST * (abs(after - before) - held.held[_CHANGE])


@inlined
def latest_change(held: Earnings) -> float:
    """Return the mean size of the latest changes of action values."""
    change: float = held.held[_CHANGE]
    return change


@inlined
def is_worth_it(params: PauseParams, gain: float, mean_reward: float) -> bool:
    """Return whether a backup with this gain is worth its time."""
    if params.backup_cost == 0.0:
        return True
    return bool(gain > params.backup_cost * max(mean_reward, 0.0))


@inlined
def is_over_by_chance(params: PauseParams, rng: np.random.Generator) -> bool:
    """Draw whether a pause ends before its next backup."""
    mean: float = params.mean_backups
    return mean < np.inf and rng.random() * (1.0 + mean) < 1.0


@inlined
def goes_on(params: PauseParams, held: Earnings, gain: float, rng: np.random.Generator) -> bool:
    """Return whether a pause continues with a backup."""
    mean_reward = held.held[_TOTAL] / max(held.held[_N], 1.0)
    return is_worth_it(params, gain, mean_reward) and not is_over_by_chance(params, rng)
