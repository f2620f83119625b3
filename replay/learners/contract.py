"""The contract of a learner: what a module must have, and what it may have.

A learner is a Python module (or any object with these attributes and a ``__name__``) of plain
functions, which numba can compile. It must have what `LearnerModule` lists: two NamedTuples,
``Params`` and ``Memory``, and the functions ``init``, ``learn`` and ``most_backups``. It may have
any of the hooks, the functions of this file listed in ``HOOKS``. For a hook that a module lacks,
the function of this file is used: its docstring says what a hook may assume, and its body is the
default.

``Params``
    A NamedTuple of scalars (float, int, bool), each with a default, so that ``Params()`` gives the
    learner its defaults. It must have ``discount`` if values are computed, and then also
    ``epsilon`` if the module has no `act`. The annotation of a parameter gives its range:

    >>> class Params(NamedTuple):
    ...     discount: Annotated[float, Between(0.0, 1.0)] = 0.99
    ...     n_replays: Annotated[int, Between(0, 1_000)] = 10
    ...     order: Annotated[int, Choice(("random", "recency"))] = 0

    Common ranges have names in :mod:`replay.learners.ranges`. Without a range any number is
    allowed, except that ``discount`` and ``epsilon`` are from 0 to 1. For the learner a choice is
    an integer, the index of a name; users give the name. Other annotations are ignored.

``Memory``
    A NamedTuple of arrays, or of NamedTuples of arrays, which the functions change in place. It
    must have ``action_values``, of float64 and shape (n_states, n_actions); infinite values mark
    untried actions, which `act` prefers. A field may be None for an option that is off; code for it
    is then not compiled.

A run proceeds in this order:

1. ``init`` makes the memory, and `explore` may write to it.
2. At each step the world moves, and ``learn`` is given the `Transition`.
3. `replay` is given a `Pause`: ``STEP``; or, if the episode has ended with this step,
   ``EPISODE_END``, then ``REST`` as often as there is rest between the episodes, then ``START`` in
   the first state of the next episode. At the end of recorded experience there is no ``START``.
4. `act` draws the next action. A learner that ``acts_before_learning`` does so before ``learn``,
   after the first state of the next episode was drawn.

No step begins in a terminal state, but a state that ended one episode may be left in another: in
worlds that change, and in the experience of animals. A transition may lead from a state to itself.

``learn`` and `replay` call :func:`replay.log.backups.record` for every backup, in the order in
which they make them, whether or not these are kept. A backup's ``cause`` must join it: it begins
where this backup's transition leads, or, in a learner that ``goes_forward``, ends where this one
begins. The phases are those of
:mod:`replay.log.backups`: backups of the transition itself are ``ONLINE``, backups of earlier
transitions that its error reaches at once are ``TRACE``, and those in a pause have its phase.

A *learner without values* computes no action values: it is an account only of what is reactivated
next. It says so in its `Description`, its action values stay 0, and it acts at random; in `replay`
it calls :func:`replay.log.backups.reactivate`, which logs moves from place to place without an
action, as if they were decoded. Its reward rate is therefore meaningless.

All random numbers come from ``rng``, a :class:`numpy.random.Generator`. `replay` has a generator of
its own, so that its draws change neither outcomes nor exploration.

``learn``, `replay`, `act` and ``most_backups`` are compiled with all functions that they call in
their own module, in those of this package and in :mod:`replay.parts`, so they are limited to what
numba compiles: numbers, arrays, NamedTuples, loops. Fields of ``params`` and ``memory`` are read by
name; parameters never change. With ``COMPILED = False`` a module runs as plain Python, slowly.

A minimal learner:

>>> from types import SimpleNamespace
>>> from replay.log.backups import ONLINE, record
>>> class Memory(NamedTuple):
...     action_values: np.ndarray
>>> def init(params, sizes):
...     return Memory(np.zeros((sizes.n_states, sizes.n_actions)))
>>> def most_backups(params, memory):
...     return 1
>>> def learn(params, memory, transition, log):
...     Q, s, a = memory.action_values, transition.state, transition.action
...     before = Q[s, a]
...     future = 0.0 if transition.terminated else Q[transition.next_state].max()
...     Q[s, a] += 0.5 * (transition.reward + params.discount * future - before)
...     record(log, ONLINE, s, a, transition.next_state, before, Q[s, a], transition.reward)
>>> class Params(NamedTuple):
...     discount: Annotated[float, Between(0.0, 1.0)] = 0.99
...     epsilon: Annotated[float, Between(0.0, 1.0)] = 0.1
>>> mine = SimpleNamespace(
...     __name__="mine", Params=Params, Memory=Memory, init=init, learn=learn,
...     most_backups=most_backups,
... )
>>> learner = resolve(mine, {"epsilon": 0.2})
>>> learner.parameters, learner.description.evaluates
({'discount': 0.99, 'epsilon': 0.2}, False)
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import (
    TYPE_CHECKING,
    Annotated,  # noqa: F401 (of the examples above)
    Any,
    NamedTuple,
    Protocol,
)

import numpy as np

from replay.checks import check_text, shown
from replay.checks.arrays import Ints
from replay.learners.ranges import Between, Choice, checked_params, ranges_of
from replay.log.backups import EPISODE_END, REST, START, STEP, BackupBuffer
from replay.parts.pauses import Pause, Sizes, Transition
from replay.parts.policies import epsilon_greedy

if TYPE_CHECKING:
    from replay.worlds.mdp import MDP

__all__ = ["HOOKS", "Between", "Choice", "Description", "Known", "Learner", "LearnerModule"]
__all__ += ["Pause", "Sizes", "Transition", "act", "causes", "description", "explore", "n_words"]
__all__ += ["replay", "resolve"]


class Known(NamedTuple):
    """How much of the world is known."""

    pairs: int  # pairs of state and action that were tried
    states: int  # states in which the agent acted


class Description(NamedTuple):
    """What a learner is with its parameters; it states only what differs from the defaults.

    Examples
    --------
    >>> from replay.learners import find_learner
    >>> found = find_learner("prioritized_sweeping_reset").description
    >>> found.stores, found.pauses, found.priority
    ('a model of the episode', 'ends', 'largest change of V')
    """

    stores: str  # what it remembers
    # Phases of the pauses in which it may replay, of :mod:`replay.log.backups`; empty: never.
    phases: tuple[int, ...]
    priority: str  # what determines the next backup; empty if it never replays
    source: str  # authors and year of the papers that it follows, separated by commas
    computes_values: bool = True  # whether it learns action values
    label: str = ""  # its name in figures, if it is in ``LEARNERS``; without one, the plain name
    evaluates: bool = False  # whether `record` is given ``gain`` and ``need``
    # Whether a backup's ``cause`` may be one that leads to its state, and not only one of its
    # next state.
    goes_forward: bool = False
    # Whether ``learn`` reads ``transition.next_action``. Recorded experience must then contain
    # the next action, and `acts_before_learning` is True.
    learns_on_policy: bool = False
    # Whether the next action is drawn before the step is learned from.
    acts_before_learning: bool = False
    # Whether nothing is learned before an episode ends in a terminal state. Such a learner is
    # not run in worlds, nor fed with recorded experience, that have no ends.
    needs_episodes: bool = False
    # Whether ``sizes.way_back`` is read: the model knows each move in both directions.
    needs_way_back: bool = False
    # Whether the learned model is emptied at the end of each episode, so that the graph of a
    # log has the transitions of one episode.
    forgets_at_end: bool = False

    @property
    def pauses(self) -> str:
        """When it replays: after steps, at ends or starts of episodes, at rest."""
        names = {STEP: "steps", EPISODE_END: "ends", START: "starts", REST: "rest"}
        return ", ".join(names[phase] for phase in sorted(self.phases)) or "never"


class LearnerModule(Protocol):
    """What a module must have to be a learner.

    ``Params`` and ``Memory`` are NamedTuples that each module defines; their types are left open.
    """

    __name__: str

    @property
    def Params(self) -> Callable[..., Any]:  # noqa: N802
        """The parameters: a NamedTuple of scalars with defaults."""

    @property
    def Memory(self) -> Callable[..., Any]:  # noqa: N802
        """The memory: a NamedTuple of arrays, with ``action_values``."""

    @property
    def init(self) -> Callable[[Any, Sizes], Any]:
        """``init(params, sizes)`` returns the memory of a learner without experience.

        It may raise ValueError if parameters are incompatible. It is not compiled.
        """

    @property
    def learn(self) -> Callable[[Any, Any, Transition, BackupBuffer], None]:
        """``learn(params, memory, transition, log)`` learns from one step."""

    @property
    def most_backups(self) -> Callable[[Any, Any], int]:
        """``most_backups(params, memory)`` returns an upper bound of the rows of the next step.

        These are the rows that ``learn`` records, and `replay` in the pauses ``STEP`` or
        ``EPISODE_END`` and ``START``. Each pause at rest may record as many again. The bound must
        hold whatever the next transition is. It is computed before every step, so it should be
        cheap, and as tight as possible: the log reserves room for it.
        """


def replay(
    params: Any, memory: Any, pause: Pause, rng: np.random.Generator, log: BackupBuffer
) -> None:
    """Replay in a pause. Without this hook nothing is replayed.

    It is called at every pause and must return if there is nothing to do. At rest before the first
    step it is called only if the module has `explore`.

    Parameters
    ----------
    params, memory : NamedTuple
        The learner's.
    pause : Pause
        Phase of the pause, and state of the agent.
    rng : numpy.random.Generator
        Source of randomness, for replay alone.
    log : BackupBuffer
        The first argument of `record`; None if nothing is logged.
    """


def act(params: Any, memory: Any, state: int, rng: np.random.Generator) -> int:
    """Draw an action. Without this hook the learner acts epsilon-greedily on its action values.

    A learner without values then acts at random.

    Parameters
    ----------
    params, memory : NamedTuple
        The learner's; by default ``params.epsilon`` and ``memory.action_values`` are read.
    state : int
        The state of the agent; never a terminal state, except where recorded laps stop.
    rng : numpy.random.Generator
        Source of randomness, shared with the outcomes of actions.

    Returns
    -------
    int
        The action, from 0 to n_actions - 1.
    """
    return epsilon_greedy(memory.action_values, state, params.epsilon, rng)


def act_at_random(params: Any, memory: Any, state: int, rng: np.random.Generator) -> int:
    """Draw any action with the same probability, as learners without values do."""
    n_actions: int = memory.action_values.shape[1]
    return min(int(rng.random() * n_actions), n_actions - 1)


def explore(params: Any, memory: Any, mdp: MDP | None) -> None:
    """Note what is known of the world before the first step. Without this hook, nothing is.

    It is not compiled. A module that has it may be asked to `replay` at rest before the first step.

    Parameters
    ----------
    params, memory : NamedTuple
        The learner's; the memory is as ``init`` returned it.
    mdp : MDP or None
        The world, or the first of several; None if `feed` was not given one.
    """


def causes(memory: Any) -> Ints:
    """List the rows of earlier backups that later ones may name as their ``cause``.

    Logs that are written in blocks need it. Without this hook backups name only backups of the same
    step. It is not compiled.

    Parameters
    ----------
    memory : NamedTuple
        The learner's.

    Returns
    -------
    ndarray of int64, shape (n_causes,)
        Their rows, as `record` returned them, in any order; -1 is ignored.
    """
    return np.empty(0, dtype=np.int64)


def n_words(params: Any, memory: Any, known: Known) -> float:
    """Count the numbers that the learner must keep, as defined in :mod:`replay.demands`.

    It is called after ``learn``, before `replay`. It is not compiled. Without this hook the number
    is unknown, NaN.

    Parameters
    ----------
    params, memory : NamedTuple
        The learner's.
    known : Known
        How much of the world is known.

    Returns
    -------
    float
        The count.
    """
    return math.nan


def description(params: Any) -> Description:
    """Describe what is stored, what is replayed, when and why, and what the learner needs.

    Without this hook the texts are "not told", and all else is the default.
    """
    return Description("not told", (), "not told", "not told")


HOOKS: tuple[Callable[..., Any], ...] = (replay, act, explore, causes, n_words, description)
"""The optional functions of a learner's module, with their defaults."""


@dataclass(frozen=True, repr=False)
class Learner:
    """A learner that is ready to run: a module and parameters, with every hook."""

    name: str  # its name in ``LEARNERS``, or that of a user's module
    module: LearnerModule  # the module of its functions
    params: Any  # its parameters, checked
    ranges: dict[str, Between | Choice]  # the ranges of the parameters, for those that have one
    description: Description  # what it is, with these parameters
    init: Callable[[Any, Sizes], Any]  # the functions of the module
    learn: Callable[[Any, Any, Transition, BackupBuffer], None]
    most_backups: Callable[[Any, Any], int]
    # The hooks of the module, or the defaults.
    replay: Callable[[Any, Any, Pause, np.random.Generator | None, BackupBuffer | None], None]
    act: Callable[[Any, Any, int, np.random.Generator], int]
    explore: Callable[[Any, Any, MDP | None], None]
    causes: Callable[[Any], Ints]
    n_words: Callable[[Any, Any, Known], float]
    compiled: bool  # whether its functions are compiled

    @property
    def replays(self) -> bool:
        """Whether the module has `replay`."""
        return hasattr(self.module, "replay")

    @property
    def explores(self) -> bool:
        """Whether the module has `explore`, so that replay before the first step is possible."""
        return hasattr(self.module, "explore")

    @cached_property
    def file(self) -> str | None:
        """The user's file that defines it; None for the toolkit's own learners."""
        return own_file(self.module)

    @property
    def choices(self) -> dict[str, tuple[str, ...]]:
        """The parameters that are choices, and the names to choose from."""
        return {key: kind.names for key, kind in self.ranges.items() if isinstance(kind, Choice)}

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters, with choices as names."""
        choices = self.choices
        return {
            key: choices[key][value] if key in choices else value
            for key, value in self.params._asdict().items()
        }

    def __repr__(self) -> str:
        """Show the name and the parameters."""
        parameters = "".join(f", {key}={value!r}" for key, value in self.parameters.items())
        return f"Learner({self.name!r}{parameters})"


def resolve(module: Any, params: Any = None, *, name: str = "", defaults: Any = None) -> Learner:
    """Check a learner's module and its parameters, and add the hooks that it lacks.

    Parameters
    ----------
    module : module
        A learner's module.
    params : NamedTuple or mapping, optional
        The module's ``Params``, or the parameters that differ from the defaults.
    name : str, optional
        The name of the learner; by default that of the module.
    defaults : NamedTuple, optional
        The defaults of the parameters; without them, ``module.Params()``.
    """
    own_name = getattr(module, "__name__", None)
    if not isinstance(own_name, str):
        raise TypeError(f"learner must be a name or a module, got {shown(module)}.")
    name = check_text("name", name) or own_name.rpartition(".")[2]
    functions: dict[str, Any] = {key: getattr(module, key, None) for key in _NEEDED}
    missing = [key for key, function in functions.items() if not callable(function)]
    if missing:
        raise TypeError(
            f"The learner {name!r} lacks {', '.join(missing)}; a learner is a module with "
            f"{', '.join(_NEEDED)} (see help(replay.learners.contract))."
        )
    # Beside the description, where it may be looked for, a flag would be ignored in silence.
    stray = [key for key in Description._fields[6:] if hasattr(module, key)]
    if stray:
        raise TypeError(
            f"{stray[0]} of the learner {name!r} is no function but a field of the Description "
            f"that its description(params) returns: Description(..., {stray[0]}=True)."
        )
    functions |= {hook.__name__: getattr(module, hook.__name__, hook) for hook in HOOKS}
    odd = [key for key, function in functions.items() if not callable(function)]
    if odd:
        raise TypeError(f"{odd[0]} of the learner {name!r} must be a function.")
    describe, kind = functions.pop("description"), functions.pop("Params")
    del functions["Memory"]
    checked = kind() if defaults is None else defaults
    described = describe(checked)
    if functions["act"] is act and not described.computes_values:
        functions["act"] = act_at_random
    expected = ["discount"] * described.computes_values
    expected += ["epsilon"] * (functions["act"] is act)
    if not set(expected) <= set(getattr(checked, "_fields", ())):
        raise TypeError(
            f"Params of the learner {name!r} must be a NamedTuple with {' and '.join(expected)}."
        )
    record: type = type(checked)
    ranges = dict.fromkeys(expected, Between(0.0, 1.0)) | ranges_of(record)
    # The toolkit's own defaults need no check, and are looked up often.
    if params is not None or not own_name.startswith("replay.learners."):
        checked = checked_params(name, checked, params, ranges)
        described = describe(checked)
    acts_first = described.learns_on_policy or described.acts_before_learning
    described = described._replace(acts_before_learning=acts_first)
    compiled = bool(getattr(module, "COMPILED", True))
    return Learner(name, module, checked, ranges, described, **functions, compiled=compiled)


def own_file(module: Any) -> str | None:
    """Return the file of a user's learner; None if all its functions are ours."""
    functions = [getattr(module, name, None) for name in (*_NEEDED, "replay", "act")]
    codes = [
        inspect.unwrap(each).__code__.co_filename
        for each in functions
        if inspect.isfunction(each) and not each.__module__.startswith("replay.")
    ]
    return getattr(module, "__file__", codes[0]) if codes else None


_NEEDED = ("Params", "Memory", "init", "learn", "most_backups")
