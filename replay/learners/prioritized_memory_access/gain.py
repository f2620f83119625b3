"""The gain of a backup: how much more the policy earns from a state after its values were updated.

In terms of the action values after the backup it is the sum over b of (policy after - policy
before)(b) * Q after(b) [1]_. Gain is that of one state; need weighs it by how often the agent will
be there, see :mod:`replay.parts.need`.

References
----------
.. [1] Mattar & Daw (2018), Prioritized memory access explains planning and hippocampal replay.
   https://doi.org/10.1038/s41593-018-0232-z
"""

import math

import numpy as np
from numpy.typing import NDArray

from replay.jit import inlined

__all__ = ["softmax_gain"]

_LARGEST_EXPONENT = 700.0


@inlined
def softmax_gain(
    action_values: NDArray[np.float64], state: int, action: int, after: float, beta: float
) -> float:
    """Return the gain of a softmax policy of inverse temperature beta.

    Only the probability p of the action changes: gain is the change of p times the difference
    between the action's new value and the mean of the others.

    Examples
    --------
    >>> round(float(softmax_gain(np.array([[0.0, 1.0]]), 0, 0, 3.0, beta=100.0)), 6)
    2.0
    """
    before = action_values[state, action]
    if after == before or action_values.shape[1] == 1:
        return 0.0
    best = -np.inf
    for b in range(action_values.shape[1]):
        if b != action:
            best = max(best, action_values[state, b])
    total = 0.0
    mean = 0.0
    for b in range(action_values.shape[1]):
        if b != action:
            weight = math.exp(beta * (action_values[state, b] - best))
            total += weight
            mean += weight * action_values[state, b]
    mean /= total
    p_before = 1.0 / (1.0 + total * math.exp(min(beta * (best - before), _LARGEST_EXPONENT)))
    p_after = 1.0 / (1.0 + total * math.exp(min(beta * (best - after), _LARGEST_EXPONENT)))
    return (p_after - p_before) * (after - mean)
