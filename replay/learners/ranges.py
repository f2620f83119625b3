"""Parameters of learners: their ranges, how given ones are checked, and what some must know.

A learner's ``Params`` uses ranges as annotations, ``discount: ranges.Share = 0.99``.
"""

import contextlib
import difflib
import math
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, NamedTuple, get_type_hints

import numpy as np

from replay.checks import LARGEST_NUMBER, shown
from replay.checks.arrays import Int32s
from replay.parts.pauses import MOMENTS
from replay.parts.policies import POLICIES
from replay.worlds.mdp import MDP

_NOUNS = {float: "a number", int: "a whole number", bool: "True or False"}


class Between(NamedTuple):
    """The range of a parameter; NaN is never in it.

    Examples
    --------
    >>> limits = Between(0.0, math.inf)
    >>> limits.refusal(math.inf), limits.refusal(-1.0)
    ('', 'at least 0')
    """

    # The limits, both included. If one is infinite, the parameter may be infinite, but finite
    # numbers beyond ``LARGEST_NUMBER`` are still refused.
    low: float
    high: float
    why_below: str = ""  # the reason why the upper limit is not included; empty: it is included

    def refusal(self, number: float) -> str:
        """Return what the number should have been; empty if it is in the range."""
        if self.why_below and not self.low <= number < self.high:
            return f"at least {self.low:.7g} and below {self.high:.7g} ({self.why_below})"
        if not self.low <= number <= self.high:
            if self.high < math.inf:
                return f"between {self.low:.7g} and {self.high:.7g}"
            return f"at least {self.low:.7g}"
        too_large = LARGEST_NUMBER < abs(number) < math.inf
        return f"infinite, or no larger than {LARGEST_NUMBER:g}" if too_large else ""


class Choice(NamedTuple):
    """The names of a parameter that is a choice; the parameter is the index of one of them."""

    names: tuple[str, ...]  # the choices


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


@cache
def ranges_of(kind: type) -> dict[str, Between | Choice]:
    """Read the ranges of parameters from their annotations."""
    hints = get_type_hints(kind, include_extras=True)
    extras = ((key, getattr(hint, "__metadata__", ())) for key, hint in hints.items())
    return {key: each for key, has in extras for each in has if isinstance(each, Between | Choice)}


def checked_params(
    name: str, defaults: Any, params: Any, ranges: Mapping[str, Between | Choice]
) -> Any:
    known = defaults._asdict()
    if params is None:
        given: Mapping[str, Any] = {}
    elif isinstance(params, Mapping):
        given = params
    elif isinstance(params, type(defaults)):
        given = params._asdict()
    else:
        raise TypeError(
            f"params of {name!r} must be a dict or its own Params, got {type(params).__name__}."
        )
    unknown = [key for key in given if key not in known]
    if unknown:
        close = difflib.get_close_matches(str(unknown[0]), known, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ValueError(
            f"{name!r} has no parameter {unknown[0]!r}.{hint} Its parameters: {', '.join(known)}."
        )
    values = {}
    for key, default in known.items():
        value, kind = given.get(key, default), ranges.get(key)
        if isinstance(kind, Choice):  # given as a name or as an index
            index = value
            if isinstance(value, str) and value in kind.names:
                index = kind.names.index(value)
            is_index = isinstance(index, int) and not isinstance(index, bool)
            if not (is_index and 0 <= index < len(kind.names)):
                raise ValueError(
                    f"{key} of {name!r} must be one of {', '.join(kind.names)}; got {shown(value)}."
                )
            values[key] = index
            continue
        number = None
        if type(value) is type(default):
            number = value
        elif isinstance(value, int | float | np.integer | np.floating | np.bool_):
            with contextlib.suppress(ValueError, OverflowError):
                number = type(default)(value)
        is_flag = isinstance(value, bool | np.bool_)
        if number is None or number != value or is_flag != isinstance(default, bool):
            noun = _NOUNS.get(type(default), type(default).__name__)
            raise TypeError(
                f"{key} of {name!r} must be {noun}, such as {default}, got {shown(value)}."
            )
        refusal = "" if kind is None else kind.refusal(number)
        if refusal:
            raise ValueError(f"{key} of {name!r} must be {refusal}, got {number}.")
        values[key] = number
    return type(defaults)(**values)


def known_world(parameter: str, mdp: MDP | None, n_actions: int) -> MDP:
    """Check that the world is known before the first step, and return it."""
    if mdp is None:
        raise ValueError(f"{parameter} needs to know the world: give feed its mdp.")
    if mdp.n_actions != n_actions:
        raise ValueError(
            f"{parameter} needs to know the world: the learner has {n_actions} actions, but the "
            f"mdp has {mdp.n_actions}."
        )
    return mdp


def known_moves(parameter: str, mdp: MDP | None, n_actions: int) -> Int32s:
    """Check that the world is known before the first step; return its `likeliest_outcomes`."""
    return likeliest_outcomes(known_world(parameter, mdp, n_actions))


def likeliest_outcomes(mdp: MDP) -> Int32s:
    """Return the most probable next state of each pair of state and action.

    Shape (n_states, n_actions); -1 in terminal states.

    Examples
    --------
    >>> from replay.worlds.mazes import from_ascii
    >>> likeliest_outcomes(from_ascii("S.G")).tolist()
    [[0, 1, 0, 0], [1, 2, 1, 0], [-1, -1, -1, -1]]
    """
    likeliest = np.asarray(mdp.transition_matrix().argmax(axis=1), dtype=np.int32)
    next_state = likeliest.reshape(mdp.n_states, mdp.n_actions)
    next_state[mdp.terminal] = -1
    return next_state
