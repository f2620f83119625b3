"""Ranges of parameters, by the kind of quantity that a parameter is, and what shared ones mean.

A learner's ``Params`` uses them as annotations, ``discount: ranges.Share = 0.99``. They are made of
:class:`replay.learners.contract.Between` and :class:`replay.learners.contract.Choice`.
"""

import math
from typing import Annotated

from replay.checks import LARGEST_NUMBER
from replay.learners.contract import Between, Choice
from replay.parts.pauses import MOMENTS
from replay.parts.policies import POLICIES

Share = Annotated[float, Between(0.0, 1.0)]
"""A number from 0 to 1: a probability, a rate or a discount."""
DiscountBelowOne = Annotated[
    float,
    Between(
        0.0,
        1.0,
        "need counts all visits to come, whose number is infinite without discount; 0.999 looks a "
        "thousand steps ahead",
    ),
]
"""A discount below 1, without which need is infinite."""
Count = Annotated[int, Between(0, 1_000_000)]
"""A count, which may be 0."""
PositiveCount = Annotated[int, Between(1, 1_000_000)]
"""A count of at least 1."""
Threshold = Annotated[float, Between(0.0, math.inf)]
"""A threshold; nothing exceeds an infinite one."""
Mean = Annotated[float, Between(0.0, math.inf)]
"""The mean of a random number; if it is infinite, none is drawn."""
NotNegative = Annotated[float, Between(0.0, LARGEST_NUMBER)]
"""A finite number of at least 0: a cost, a strength."""
InitialValue = Annotated[float, Between(-LARGEST_NUMBER, math.inf)]
"""The value of an untried action; infinite: untried actions are preferred."""
InverseTemperature = Annotated[float, Between(1e-6, 700.0)]
"""The inverse temperature of a softmax."""
PolicyKind = Annotated[int, Choice(POLICIES)]
"""The name of a policy, of :data:`replay.parts.policies.POLICIES`."""
Moment = Annotated[int, Choice(MOMENTS)]
"""The pauses in which there is replay, of :data:`replay.parts.pauses.MOMENTS`."""

SHARED = {
    "discount": "Discount factor per step.",
    "epsilon": "Probability of a uniformly random action.",
    "learning_rate": "Fraction of the distance to its target by which an action value moves. The "
    "first backup of a pair whose initial value is infinite goes all the way.",
    "initial_value": "Action value of an untried pair. Infinite: untried actions are preferred, "
    "and left out of maxima.",
    "act_before_update": "Whether the next action is drawn before the update of a step, as in the "
    "code published with Brea (2018).",
    "backup_cost": "Duration of a backup, in steps: a pause ends when the next backup is expected "
    "to gain no more than that many steps earn on average; see replay.parts.pauses. 0: no time.",
    "mean_backups": "Mean number of backups, or of pops or retrievals, after which a pause ends at "
    "random; infinite: it does not.",
    "replay_at": "The pauses in which there is replay: after each step; at ends of episodes; at "
    "ends and the next starts; in rest; at ends, at starts and in rest ('pauses'); at ends, or "
    "after each step, and in rest; or in all of these ('always').",
    "reversible": "Whether each move, once made, is known in both directions. The reverse move is "
    "assumed to earn nothing until it is tried.",
}
"""Name -> meaning of the parameters that mean the same in many learners."""
