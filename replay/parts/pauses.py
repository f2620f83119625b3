"""When a pause ends before a learner has made as many backups as it may.

Time has an opportunity cost, the reward that is earned on average in a unit of it [1]_; replay that
takes time should end where it gains less than that [2]_. Here a backup takes as long as
``backup_cost`` steps: a pause goes on while the next backup is expected to gain more than the mean
reward of so many steps. What it is expected to gain is its priority where that is a value, else the
mean size of the latest changes of action values; the prediction error of each step is one of these,
so that surprise, by reward or by novelty, makes pauses long. Apart from that, a pause may end at
random, after ``mean_backups`` on average.

The functions read these two parameters of a learner. As they are by default, 0 and infinite, they
change nothing and draw nothing.

References
----------
.. [1] Niv, Daw, Joel & Dayan (2007), Tonic dopamine: opportunity costs and the control of response
   vigor. https://doi.org/10.1007/s00213-006-0502-4
.. [2] Agrawal, Mattar, Cohen & Daw (2022), The temporal dynamics of opportunity costs: a normative
   account of cognitive fatigue and boredom. https://doi.org/10.1037/rev0000309
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from replay.jit import inlined
from replay.parts.policies import best_tried

__all__ = ["Earnings", "earnings", "earnings_words", "goes_on", "is_over_by_chance"]
__all__ += ["is_worth_it", "latest_change", "note_change", "note_experience"]

_TOTAL, _N, _CHANGE = range(3)
_LATEST = 0.2


class Earnings(NamedTuple):
    """What the end of a pause depends on.

    Attributes
    ----------
    held : ndarray of float64, shape (3,)
        The sum of all rewards so far, the number of steps, and the mean size of the latest changes
        of action values, each of which counts a fifth at first and less with each later one.
    """

    held: NDArray[np.float64]


def earnings() -> Earnings:
    """Begin before the first step.

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


def earnings_words(params: Any) -> int:
    """Count the numbers held: none as long as time costs nothing."""
    return 3 if params.backup_cost > 0.0 else 0


@inlined
def note_experience(
    params: Any, held: Earnings, action_values: NDArray[np.float64], transition: Any
) -> None:
    """Note the reward of a step and the size of its prediction error, before it is learned from.

    Parameters
    ----------
    params : NamedTuple
        ``discount`` and ``backup_cost`` of the learner.
    held : Earnings
        Changed in place, if time costs something.
    action_values : ndarray of float64, shape (n_states, n_actions)
        Infinite where an action was never tried; that is no error.
    transition : NamedTuple
        A :class:`replay.learners.contract.Transition`.
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
def note_change(params: Any, held: Earnings, before: float, after: float) -> None:
    """Note the size of a change of an action value, unless it was infinite.

    Parameters
    ----------
    params : NamedTuple
        ``backup_cost`` of the learner.
    held : Earnings
        Changed in place, if time costs something.
    before, after : float
        The value.
    """
    if params.backup_cost > 0.0 and before < np.inf:
        held.held[_CHANGE] += _LATEST * (abs(after - before) - held.held[_CHANGE])


@inlined
def latest_change(held: Earnings) -> float:
    """Return the mean size of the latest changes of action values."""
    change: float = held.held[_CHANGE]
    return change


@inlined
def is_worth_it(params: Any, gain: float, mean_reward: float) -> bool:
    """Tell whether a backup that gains so much is worth its time.

    Parameters
    ----------
    params : NamedTuple
        ``backup_cost`` of the learner.
    gain : float
        What the backup is expected to gain.
    mean_reward : float
        What a step earned on average.

    Returns
    -------
    bool
        Always if time costs nothing. Where less than nothing is earned, whether anything is gained.
    """
    if params.backup_cost == 0.0:
        return True
    return bool(gain > params.backup_cost * max(mean_reward, 0.0))


@inlined
def is_over_by_chance(params: Any, rng: np.random.Generator) -> bool:
    """Draw whether a pause ends before its next backup.

    Parameters
    ----------
    params : NamedTuple
        ``mean_backups`` of the learner.
    rng : numpy.random.Generator
        Source of randomness; nothing is drawn if it is infinite.

    Returns
    -------
    bool
        So that the number of backups has a geometric distribution that begins at 0.
    """
    mean: float = params.mean_backups
    return mean < np.inf and rng.random() * (1.0 + mean) < 1.0


@inlined
def goes_on(params: Any, held: Earnings, gain: float, rng: np.random.Generator) -> bool:
    """Tell whether a pause goes on with a backup.

    Parameters
    ----------
    params : NamedTuple
        ``backup_cost`` and ``mean_backups`` of the learner.
    held : Earnings
        What steps earned so far.
    gain : float
        What the backup is expected to gain.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    bool
        Whether the backup is worth its time, and chance does not end the pause.
    """
    mean_reward = held.held[_TOTAL] / max(held.held[_N], 1.0)
    return is_worth_it(params, gain, mean_reward) and not is_over_by_chance(params, rng)
