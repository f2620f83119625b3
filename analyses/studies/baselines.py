"""The reward rates of the random and the optimal policy, which normalisation maps to 0 and 1."""

from typing import NamedTuple, TypeVar

from replay.checks import typed
from replay.checks.arrays import Floats
from replay.worlds.mdp import MDP, uniform_policy

Rates = TypeVar("Rates", float, Floats)


class Baselines(NamedTuple):
    """Exact reward rates, per step."""

    random: float  # reward rate of the uniformly random policy
    optimal: float  # reward rate of the optimal policy, with exploration

    def normalise(self, rate: Rates) -> Rates:
        """Scale reward rates so that the random policy has 0 and the optimal policy 1."""
        return (rate - self.random) / (self.optimal - self.random)


@typed
def baselines(mdp: MDP, *, discount: float, epsilon: float) -> Baselines:
    """Compute the reward rates of an MDP by which others are normalised.

    Examples
    --------
    >>> from replay.worlds.mazes import from_ascii
    >>> baselines(from_ascii("S.G"), discount=0.9, epsilon=0.0).optimal
    0.5
    """
    best = mdp.solve(discount).policy
    return Baselines(mdp.reward_rate(uniform_policy(mdp)), mdp.reward_rate(best, epsilon))
