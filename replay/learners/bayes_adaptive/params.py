"""The parameters of Bayes-adaptive replay."""

from typing import Annotated, NamedTuple

import numpy as np

from replay.learners import ranges
from replay.learners.contract import Between, Choice
from replay.parts.moments import IN_PAUSES

__all__ = ["SEEN", "UNKNOWN", "UNTRIED", "WAY_BACK", "Params"]

UNTRIED = ("unknown", "way_back", "seen")
"""What is known of where untried moves lead: nothing, where the reverse of a move that was made
leads, or everything, since the maze is seen. Whether they are open is uncertain."""
UNKNOWN, WAY_BACK, SEEN = range(3)


class Params(NamedTuple):
    """Parameters of Bayes-adaptive replay.

    What is not listed is explained in :data:`replay.learners.ranges.SHARED`.

    Attributes
    ----------
    inverse_temperature : float
        beta: of the softmax policy by which the agent acts, and for which gain and need are
        computed.
    learning_rate : float
        alpha, online: fraction of the distance to its target by which Q moves.
    replay_rate : float
        alpha_r: the same in replay.
    forgetting : float
        Fraction of all action values that is lost at each step.
    prior_open, prior_shut : float
        alpha and beta of the prior, a Beta distribution of the probability that a move is open.
    one_try_tells : bool
        Whether one try shows for certain whether a move is open, as with barriers; if not, tries
        are counted, as with bandits.
    volatility : float
        Fraction of the distance to the prior by which beliefs return when an episode ends.
    untried : {"unknown", "way_back", "seen"}
        What is known of where untried moves lead: nothing, where the reverse of a move that was
        made leads, or everything, since the maze is seen.
    n_uncertain : int
        Largest number of uncertain moves.
    least_doubt : float
        A move is certain if one of its outcomes is no likelier than this.
    horizon : int
        Number of moves to look ahead.
    n_belief_states : int
        Largest number of belief states; the nearest ones are kept.
    merges : bool
        Whether histories that lead to the same place and belief share one node.
    max_backups : int
        Largest number of backups per pause.
    min_priority : float
        xi: a pause ends when no backup has a larger expected value than this.
    """

    discount: ranges.DiscountBelowOne = 0.9
    inverse_temperature: ranges.InverseTemperature = 5.0
    learning_rate: ranges.Share = 1.0
    replay_rate: ranges.Share = 1.0
    forgetting: ranges.Share = 0.0
    prior_open: Annotated[float, Between(1e-3, 1e6)] = 1.0
    prior_shut: Annotated[float, Between(1e-3, 1e6)] = 1.0
    one_try_tells: bool = True
    volatility: ranges.Share = 0.0
    untried: Annotated[int, Choice(UNTRIED)] = UNKNOWN
    n_uncertain: Annotated[int, Between(0, 10)] = 3
    least_doubt: Annotated[float, Between(0.0, 0.5)] = 0.1
    horizon: Annotated[int, Between(1, 10_000)] = 100
    n_belief_states: Annotated[int, Between(1, 100_000)] = 200
    merges: bool = True
    replay_at: ranges.Moment = IN_PAUSES
    max_backups: ranges.Count = 20
    min_priority: ranges.Threshold = 0.0
    backup_cost: ranges.NotNegative = 0.0
    mean_backups: ranges.Mean = np.inf
