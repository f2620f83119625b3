"""Ranges of parameters, by the kind of quantity that a parameter is.

A learner's ``Params`` uses them as annotations, ``discount: ranges.Share = 0.99``. They are made of
:class:`replay.learners.contract.Between` and :class:`replay.learners.contract.Choice`.
"""

import math
from typing import Annotated

from replay.checks import LARGEST_NUMBER
from replay.learners.contract import Between, Choice
from replay.parts.policies import POLICIES
from replay.parts.priorities import MOMENTS, PRIORITIES
from replay.parts.retention import RETENTION

__all__ = ["Capacity", "Count", "DiscountBelowOne", "Finite", "InitialValue"]
__all__ += ["InverseTemperature", "Mean", "Moment", "NotNegative", "PolicyKind"]
__all__ += ["PositiveCount", "Priority", "Retention", "Share", "Threshold"]

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
Finite = Annotated[float, Between(-LARGEST_NUMBER, LARGEST_NUMBER)]
"""Any finite number."""
InitialValue = Annotated[float, Between(-LARGEST_NUMBER, math.inf)]
"""The value of an untried action; infinite: untried actions are preferred."""
Capacity = Annotated[float, Between(1.0, math.inf)]
"""The bound of a memory; infinite: there is none."""
InverseTemperature = Annotated[float, Between(1e-6, 700.0)]
"""The inverse temperature of a softmax."""
PolicyKind = Annotated[int, Choice(POLICIES)]
"""The name of a policy, of :data:`replay.parts.policies.POLICIES`."""
Priority = Annotated[int, Choice(PRIORITIES)]
"""What is backed up next, of :data:`replay.parts.priorities.PRIORITIES`."""
Moment = Annotated[int, Choice(MOMENTS)]
"""The pauses in which there is replay, of :data:`replay.parts.priorities.MOMENTS`."""
Retention = Annotated[int, Choice(RETENTION)]
"""What a bounded memory keeps, of :data:`replay.parts.retention.RETENTION`."""
