"""The contract of a learner: all that a module must have, and may have, to be one.

A learner is a Python module (or anything with these attributes and a ``__name__``) of plain
functions, which also compile with numba. It must have what `LearnerModule` lists: two NamedTuples,
``Params`` and ``Memory``, and the functions ``init``, ``learn`` and ``most_backups``. It may have
any of the hooks, the functions of this file listed in ``HOOKS``. A module that lacks one gets the
one that stands here: its text says what a hook may assume, its body is the default.

``Params``
    A NamedTuple of scalars (float, int, bool), each with a default, so that ``Params()`` is the
    learner as it is without further word. ``discount`` must be among them if values are computed,
    and ``epsilon`` if the module has no `act` of its own. The annotation of a parameter says what
    it may be:

    >>> from typing import Annotated
    >>> class Params(NamedTuple):
    ...     discount: Annotated[float, Between(0.0, 1.0)] = 0.99
    ...     n_replays: Annotated[int, Between(0, 1_000)] = 10
    ...     order: Annotated[int, Choice(("random", "recency"))] = 0

    Without a range any number will do, but ``discount`` and ``epsilon`` go from 0 to 1. A choice is
    a whole number for the learner, the place of a name; users give the name. Whatever else stands
    in ``Annotated`` is left alone.

``Memory``
    A NamedTuple of arrays, or of NamedTuples of arrays, that the functions change in place.
    ``action_values``, of float64 and shape (n_states, n_actions), must be among them; infinite
    values mark untried actions, which `act` prefers. A field may be None for an option that is off;
    what is None is not compiled.

What happens in a run, in this order:

1. ``init`` makes the memory, and `explore` may write to it.
2. At each step the world moves, and ``learn`` is given the `Transition`.
3. `replay` is given a `Pause`: ``STEP``; or, if the episode has ended with this step,
   ``EPISODE_END``, then ``REST`` as often as there is rest between the episodes, then ``START`` in
   the first state of the next episode. In recorded experience that stops there is no ``START``.
4. `act` draws the next action. With `acts_before_learning` it does so before ``learn``, after the
   first state of the next episode was drawn.

No step is spent in a terminal state, but a state that ended one episode may be left in another: in
worlds that change, and in the experience of animals. A transition may lead from a state to itself.

``learn`` and `replay` call :func:`replay.log.backups.record` for every backup that they make, in
the order in which they make them, whether these are kept or not. Of the phases of
:mod:`replay.log.backups`, backups of the transition itself are ``ONLINE``, those of earlier
transitions that its error reaches at once are ``TRACE``, and those in a pause have its phase.

A *generator* is a learner that computes no values: an account of what is reactivated next, and no
more. It says so in its `Description`, its action values stay 0, and it acts at random; in `replay`
it calls :func:`replay.log.backups.reactivate`, which logs moves from place to place without an
action, as they would be decoded. Rewards per step tell nothing of it.

Randomness comes from ``rng`` alone, a :class:`numpy.random.Generator`. `replay` has a generator of
its own, so that what it draws changes neither outcomes nor exploration.

``learn``, `replay`, `act` and ``most_backups`` are compiled with all that they call in their own
module, in those of this package and in :mod:`replay.parts`, so they keep to what numba compiles:
numbers, arrays, NamedTuples, loops. Fields of ``params`` and ``memory`` are read by name;
parameters never change. ``COMPILED = False`` in the module runs them as the Python that they are,
slowly.

A whole learner, with no more than must be:

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
>>> learner.parameters, learner.evaluates
({'discount': 0.99, 'epsilon': 0.2}, False)
"""

from __future__ import annotations

import contextlib
import difflib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, get_type_hints

import numpy as np
from numpy.typing import NDArray

from replay.checks import LARGEST_NUMBER, shown
from replay.log.backups import EPISODE_END, REST, START, STEP, BackupBuffer
from replay.parts.policies import epsilon_greedy

if TYPE_CHECKING:
    from replay.worlds.mdp import MDP

__all__ = ["HOOKS", "Between", "Choice", "Description", "Known", "Learner", "LearnerModule"]
__all__ += ["Pause", "Sizes", "Transition", "act", "acts_before_learning", "causes"]
__all__ += ["description", "evaluates", "explore", "forgets_at_end", "learns_on_policy"]
__all__ += ["n_words", "needs_episodes", "needs_way_back", "replay", "resolve"]


class Between(NamedTuple):
    """The range of a parameter; NaN is never in it.

    Attributes
    ----------
    low, high : float
        The limits, both included. An infinite one lets the parameter be infinite; finite numbers
        beyond ``LARGEST_NUMBER`` are refused all the same.
    why_below : str
        Why the upper limit is not included after all; empty: it is.

    Examples
    --------
    >>> limits = Between(0.0, math.inf)
    >>> limits.refusal(math.inf), limits.refusal(-1.0)
    ('', 'at least 0')
    """

    low: float
    high: float
    why_below: str = ""

    def refusal(self, number: float) -> str:
        """Say what a number should have been; nothing if it is in the range."""
        if self.why_below and not self.low <= number < self.high:
            return f"at least {self.low:.7g} and below {self.high:.7g} ({self.why_below})"
        if not self.low <= number <= self.high:
            if self.high < math.inf:
                return f"between {self.low:.7g} and {self.high:.7g}"
            return f"at least {self.low:.7g}"
        too_large = LARGEST_NUMBER < abs(number) < math.inf
        return f"infinite, or no larger than {LARGEST_NUMBER:g}" if too_large else ""


class Choice(NamedTuple):
    """The names of a parameter that is a choice; the parameter is the place of one of them.

    Attributes
    ----------
    names : tuple of str
        What to choose from.
    """

    names: tuple[str, ...]


class Sizes(NamedTuple):
    """How large the memory of a learner must be.

    Attributes
    ----------
    n_states, n_actions : int
        Size of the world.
    n_transitions : int
        The most distinct transitions (state, action, next state) that can occur.
    n_steps : int
        The longest episode that can occur.
    n_links : int
        The most distinct pairs (state in which an episode ended, first state of it or of the next
        one) that can occur, of episodes that ended in a terminal state.
    way_back : ndarray of int32, shape (n_states, n_actions), optional
        The action that undoes each pair, -1 if there is none; only for learners that ask for it
        with `needs_way_back`.
    """

    n_states: int
    n_actions: int
    n_transitions: int
    n_steps: int
    n_links: int = 0
    way_back: NDArray[np.int32] | None = None


class Transition(NamedTuple):
    """One step of experience, as a learner sees it.

    Attributes
    ----------
    state, action : int
        Where the agent was, and what it did.
    reward : float
        What it got; finite.
    next_state : int
        The state it entered, the terminal one at an end.
    next_action : int
        The action drawn in `next_state`, or, after an end, in the first state of the next
        episode; -1 if it is drawn after learning.
    terminated, truncated : bool
        Whether the episode ended in a terminal state, or was cut off.
    """

    state: int
    action: int
    reward: float
    next_state: int
    next_action: int
    terminated: bool
    truncated: bool


class Pause(NamedTuple):
    """A moment at which a learner may replay.

    Attributes
    ----------
    phase : int
        ``STEP`` after a step, ``EPISODE_END`` after the last one of an episode, ``START`` in the
        first state of the next one, ``REST`` between them (of :mod:`replay.log.backups`).
    state : int
        Where the agent is; at rest, where the last episode ended.
    terminated : bool
        Whether the episode has just ended there, in a terminal state.
    """

    phase: int
    state: int
    terminated: bool


class Known(NamedTuple):
    """How much of the world was met.

    Attributes
    ----------
    pairs : int
        Pairs of state and action that were tried.
    states : int
        States in which the agent acted.
    """

    pairs: int
    states: int


class Description(NamedTuple):
    """What a learner does, in short; it may depend on its parameters.

    Attributes
    ----------
    stores : str
        What it remembers.
    phases : tuple of int
        Phases of the pauses in which it may replay, of :mod:`replay.log.backups`; empty: never.
    priority : str
        What decides which backup comes next; empty if it never replays.
    source : str
        Authors and year of the papers that it follows, with commas between them.
    computes_values : bool, default True
        Whether it learns action values; a generator does not.

    Examples
    --------
    >>> from replay.learners import find_learner
    >>> found = find_learner("prioritized_sweeping_reset").description
    >>> found.stores, found.pauses, found.priority
    ('a model of the episode', 'ends', 'largest change of V')
    """

    stores: str
    phases: tuple[int, ...]
    priority: str
    source: str
    computes_values: bool = True

    @property
    def pauses(self) -> str:
        """When it replays: after steps, at ends or starts of episodes, in rest."""
        names = {STEP: "steps", EPISODE_END: "ends", START: "starts", REST: "rest"}
        return ", ".join(names[phase] for phase in sorted(self.phases)) or "never"


class LearnerModule(Protocol):
    """What a module must have to be a learner.

    ``Params`` and ``Memory`` are NamedTuples of its own; the types below leave them open.
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
        """``init(params, sizes)`` makes the memory of a learner that has experienced nothing.

        It may raise ValueError if parameters do not go together. It is not compiled.
        """

    @property
    def learn(self) -> Callable[[Any, Any, Transition, BackupBuffer], None]:
        """``learn(params, memory, transition, log)`` learns from one step."""

    @property
    def most_backups(self) -> Callable[[Any, Any], int]:
        """``most_backups(params, memory)`` bounds the rows of the log that the next step needs.

        That is, what ``learn`` and `replay` record until the step after: in ``learn``, and in the
        pauses ``STEP`` or ``EPISODE_END`` and ``START``. Each pause at rest may record as many
        again. The bound must hold whatever the next transition is. It is asked for before every
        step, so it should be cheap, and should be no larger than it must: a log has room for it.
        """


def replay(
    params: Any, memory: Any, pause: Pause, rng: np.random.Generator, log: BackupBuffer
) -> None:
    """Replay in a pause. Without this hook nothing is replayed.

    It is called at every pause, so it must return where it has nothing to do. At rest before the
    first step it is called only if the module has `explore`.

    Parameters
    ----------
    params, memory : NamedTuple
        Of the learner.
    pause : Pause
        Which pause this is, and where the agent is.
    rng : numpy.random.Generator
        Source of randomness, for replay alone.
    log : BackupBuffer
        What `record` takes.
    """


def act(params: Any, memory: Any, state: int, rng: np.random.Generator) -> int:
    """Draw an action. Without this hook the learner acts epsilon-greedily on its action values.

    Parameters
    ----------
    params, memory : NamedTuple
        Of the learner; by default ``params.epsilon`` and ``memory.action_values`` are read.
    state : int
        Where the agent is; never a terminal state, but for that in which recorded laps stop.
    rng : numpy.random.Generator
        Source of randomness, shared with the outcomes of actions.

    Returns
    -------
    int
        From 0 to the number of actions less one.
    """
    return epsilon_greedy(memory.action_values, state, params.epsilon, rng)


def explore(params: Any, memory: Any, mdp: MDP | None) -> None:
    """Note what is known of the world before the first step. Without this hook, nothing is.

    It is not compiled. A module that has it may be asked to `replay` at rest before the first step.

    Parameters
    ----------
    params, memory : NamedTuple
        Of the learner; the memory was just made by ``init``.
    mdp : MDP or None
        The world, or the first one of those to come; None if `feed` was not given any.
    """


def causes(memory: Any) -> NDArray[np.int64]:
    """List the rows of earlier backups that later ones may name as their ``cause``.

    It serves logs that are handed over part by part. Without this hook backups name only backups of
    the same step. It is not compiled.

    Parameters
    ----------
    memory : NamedTuple
        Of the learner.

    Returns
    -------
    ndarray of int64, shape (n_causes,)
        What `record` returned for them, in any order; -1 counts for nothing.
    """
    return np.empty(0, dtype=np.int64)


def n_words(params: Any, memory: Any, known: Known) -> float:
    """Count the numbers that the learner must keep to go on, as :mod:`replay.demands` defines it.

    It is called after ``learn``, before `replay`. It is not compiled. Without this hook the number
    is not known, NaN.

    Parameters
    ----------
    params, memory : NamedTuple
        Of the learner.
    known : Known
        How much of the world was met.

    Returns
    -------
    float
        How many.
    """
    return math.nan


def description(params: Any) -> Description:
    """Describe what is stored, and what is replayed when and why. Without this hook: not told."""
    return Description("not told", (), "not told", "not told")


def evaluates(params: Any) -> bool:
    """Tell whether `record` is given ``gain`` and ``need``. Without this hook it is not."""
    return False


def learns_on_policy(params: Any) -> bool:
    """Tell whether ``learn`` reads ``transition.next_action``. Without this hook it does not.

    Recorded experience must then tell the next action.
    """
    return False


def acts_before_learning(params: Any) -> bool:
    """Tell whether the next action is drawn before the step is learned from.

    Without this hook that is so if the learner learns on-policy.
    """
    return False


def needs_episodes(params: Any) -> bool:
    """Tell whether nothing is learned before an episode ends in a terminal state.

    Without this hook something is. Worlds without an end, and recorded experience without one, are
    refused to a learner that needs ends.
    """
    return False


def needs_way_back(params: Any) -> bool:
    """Tell whether ``sizes.way_back`` is read: the model knows both directions of a move at once.

    Without this hook it is not.
    """
    return False


def forgets_at_end(params: Any) -> bool:
    """Tell whether the learned model is emptied at the end of each episode.

    Without this hook it is not. The graph of a log then has the transitions of one episode only.
    """
    return False


HOOKS: tuple[Callable[..., Any], ...] = (
    replay,
    act,
    explore,
    causes,
    n_words,
    description,
    evaluates,
    learns_on_policy,
    acts_before_learning,
    needs_episodes,
    needs_way_back,
    forgets_at_end,
)
"""The optional functions of a learner's module, as they are where it lacks them."""


@dataclass(frozen=True, repr=False)
class Learner:
    """A learner that is ready to run: a module and parameters, with every hook.

    Attributes
    ----------
    name : str
        Its name in ``LEARNERS``, or that of a user's module.
    module : LearnerModule
        Where its functions come from.
    params : NamedTuple
        Its parameters, checked.
    ranges : dict of str to Between or Choice
        What the parameters may be, as far as that is told.
    init, learn, most_backups : callable
        The functions of the module.
    replay, act, explore, causes, n_words : callable
        Those of the module, or the defaults.
    explores : bool
        Whether the module has `explore`, so that there may be replay before the first step.
    compiled : bool
        Whether its functions are compiled.
    """

    name: str
    module: LearnerModule
    params: Any
    ranges: dict[str, Between | Choice]
    init: Callable[[Any, Sizes], Any]
    learn: Callable[[Any, Any, Transition, BackupBuffer], None]
    most_backups: Callable[[Any, Any], int]
    replay: Callable[[Any, Any, Pause, np.random.Generator, BackupBuffer], None]
    act: Callable[[Any, Any, int, np.random.Generator], int]
    explore: Callable[[Any, Any, MDP | None], None]
    causes: Callable[[Any], NDArray[np.int64]]
    n_words: Callable[[Any, Any, Known], float]
    description: Description
    """What it does, with these parameters."""
    evaluates: bool
    """Whether it logs the gain and the need of each backup."""
    learns_on_policy: bool
    """Whether it learns from the next action."""
    acts_before_learning: bool
    """Whether the next action is drawn before a step is learned from."""
    needs_episodes: bool
    """Whether it learns nothing in a world without an end."""
    needs_way_back: bool
    """Whether its model knows both directions of a move at once."""
    forgets_at_end: bool
    """Whether its model is emptied at the end of each episode."""
    explores: bool
    compiled: bool

    @property
    def choices(self) -> dict[str, tuple[str, ...]]:
        """The parameters that are chosen by name, and their names."""
        return {key: kind.names for key, kind in self.ranges.items() if isinstance(kind, Choice)}

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters, choices by their names."""
        choices = self.choices
        return {
            key: choices[key][value] if key in choices else value
            for key, value in self.params._asdict().items()
        }

    def __repr__(self) -> str:
        """Show the name and the parameters."""
        told = "".join(f", {key}={value!r}" for key, value in self.parameters.items())
        return f"Learner({self.name!r}{told})"


def resolve(module: Any, params: Any = None, *, name: str = "", defaults: Any = None) -> Learner:
    """Check a module and its parameters, and give it all hooks.

    Parameters
    ----------
    module : module
        A learner's module.
    params : NamedTuple or mapping, optional
        The module's ``Params``, or the parameters that differ from the defaults.
    name : str, optional
        What the learner is called; without it, as the module is.
    defaults : NamedTuple, optional
        The parameters where nothing else is given; without them, ``module.Params()``.

    Returns
    -------
    Learner
        Ready to run.

    Raises
    ------
    ValueError
        If a parameter is unknown or out of range.
    TypeError
        If the module lacks a function, or a parameter has the wrong type.
    """
    own_name = getattr(module, "__name__", None)
    if not isinstance(own_name, str):
        raise TypeError(f"learner must be a name or a module, got {shown(module)}.")
    name = name or own_name.rpartition(".")[2]
    functions: dict[str, Any] = {key: getattr(module, key, None) for key in _NEEDED}
    missing = [key for key, function in functions.items() if not callable(function)]
    if missing:
        raise TypeError(
            f"The learner {name!r} lacks {', '.join(missing)}; a learner is a module with "
            f"{', '.join(_NEEDED)} (see help(replay.learners.contract))."
        )
    hooks: dict[str, Any]
    hooks = {hook.__name__: getattr(module, hook.__name__, hook) for hook in HOOKS}
    odd = [key for key, hook in hooks.items() if not callable(hook)]
    if odd:
        raise TypeError(f"{odd[0]} of the learner {name!r} must be a function.")
    if defaults is None:
        defaults = functions["Params"]()
    needs_discount = hooks["description"](defaults).computes_values
    expected = ("discount",) * needs_discount + ("epsilon",) * (hooks["act"] is act)
    if not set(expected) <= set(getattr(defaults, "_fields", ())):
        raise TypeError(
            f"Params of the learner {name!r} must be a NamedTuple with {' and '.join(expected)}."
        )
    ranges: dict[str, Between | Choice] = dict.fromkeys(expected, Between(0.0, 1.0))
    ranges |= _ranges(type(defaults))
    checked = _checked(name, defaults, params, ranges)
    on_policy = bool(hooks["learns_on_policy"](checked))
    return Learner(
        name=name,
        module=module,
        params=checked,
        ranges=ranges,
        init=functions["init"],
        learn=functions["learn"],
        most_backups=functions["most_backups"],
        replay=hooks["replay"],
        act=hooks["act"],
        explore=hooks["explore"],
        causes=hooks["causes"],
        n_words=hooks["n_words"],
        description=hooks["description"](checked),
        evaluates=bool(hooks["evaluates"](checked)),
        learns_on_policy=on_policy,
        acts_before_learning=on_policy or bool(hooks["acts_before_learning"](checked)),
        needs_episodes=bool(hooks["needs_episodes"](checked)),
        needs_way_back=bool(hooks["needs_way_back"](checked)),
        forgets_at_end=bool(hooks["forgets_at_end"](checked)),
        explores=hooks["explore"] is not explore,
        compiled=bool(getattr(module, "COMPILED", True)),
    )


_NEEDED = ("Params", "Memory", "init", "learn", "most_backups")
_NOUNS = {float: "a number", int: "a whole number", bool: "True or False"}


def _ranges(kind: type) -> dict[str, Between | Choice]:
    """Read what the annotations of parameters say they may be."""
    hints = get_type_hints(kind, include_extras=True)
    told = ((key, getattr(hint, "__metadata__", ())) for key, hint in hints.items())
    return {key: each for key, all_ in told for each in all_ if isinstance(each, Between | Choice)}


def _checked(name: str, defaults: Any, params: Any, ranges: Mapping[str, Between | Choice]) -> Any:
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
        if isinstance(kind, Choice):
            values[key] = _chosen(name, key, value, kind.names)
            continue
        values[key] = _scalar(name, key, value, default)
        refusal = "" if kind is None else kind.refusal(values[key])
        if refusal:
            raise ValueError(f"{key} of {name!r} must be {refusal}, got {values[key]}.")
    return type(defaults)(**values)


def _chosen(name: str, key: str, value: Any, choices: tuple[str, ...]) -> int:
    """Give the place of a choice, which may be named or be a place itself."""
    if isinstance(value, str) and value in choices:
        return choices.index(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(choices):
        return value
    raise ValueError(f"{key} of {name!r} must be one of {', '.join(choices)}; got {shown(value)}.")


def _scalar(name: str, key: str, value: Any, default: Any) -> Any:
    is_flag = isinstance(value, bool | np.bool_)
    number = None
    if isinstance(value, int | float | np.integer | np.floating | np.bool_):
        with contextlib.suppress(ValueError, OverflowError):
            number = type(default)(value)
    if number is None or number != value or is_flag != isinstance(default, bool):
        noun = _NOUNS.get(type(default), type(default).__name__)
        raise TypeError(f"{key} of {name!r} must be {noun}, such as {default}, got {shown(value)}.")
    return number
