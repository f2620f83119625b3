"""The reward rates that count as 0 and as 1: of the random and of the optimal policy."""

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from replay.worlds.mdp import MDP, uniform_policy

__all__ = ["Baselines", "baselines"]

Rates = TypeVar("Rates", float, NDArray[np.float64])


class Baselines(NamedTuple):
    """Exact reward rates, per step.

    Attributes
    ----------
    random : float
        Of the uniformly random policy.
    optimal : float
        Of the optimal policy, with exploration.
    """

    random: float
    optimal: float

    def normalise(self, rate: Rates) -> Rates:
        """Express reward rates between the random (0) and the optimal policy (1).

        Parameters
        ----------
        rate : float or ndarray
            Reward per step.

        Returns
        -------
        float or ndarray
            The normalised reward rates.
        """
        return (rate - self.random) / (self.optimal - self.random)


def baselines(mdp: MDP, *, discount: float, epsilon: float) -> Baselines:
    """Solve an MDP for the two policies between which reward rates are normalised.

    Parameters
    ----------
    mdp : MDP
        The world.
    discount : float
        The weight of the future, for which the optimal policy is optimal.
    epsilon : float
        The probability with which the optimal policy draws any action at random.

    Returns
    -------
    Baselines
        Both reward rates.

    Examples
    --------
    >>> from replay.worlds.mazes import from_ascii
    >>> baselines(from_ascii("S.G"), discount=0.9, epsilon=0.0).optimal
    0.5
    """
    best = mdp.solve(discount).policy
    return Baselines(mdp.reward_rate(uniform_policy(mdp)), mdp.reward_rate(best, epsilon))
