"""The learners: one short file each, and the one list of them.

A learner is a module with plain Python functions that also compile:

``Params``
    NamedTuple of scalars with defaults; ``discount`` and ``epsilon`` are expected.
``Memory``
    NamedTuple of arrays that change in place; ``action_values`` has shape (n_states, n_actions).
``init(params, sizes)``
    Makes the memory; ``sizes`` is a :class:`replay.simulation.loop.Sizes`.
``learn(params, memory, transition, log)``
    Learns from one :class:`replay.simulation.loop.Transition`.
``replay(params, memory, pause, rng, log)``
    Optional: replays at a :class:`replay.simulation.loop.Pause`: after each step, once more at the
    start of the next episode, and at rest in a :class:`replay.worlds.protocols.Protocol`. ``rng``
    is a stream of its own: what it draws changes no outcome.
``act(params, memory, state, rng)``
    Optional: draws an action; epsilon-greedy on the action values without it.
``explore(params, memory, mdp)``
    Optional: notes what is known of the world before the first step; `mdp` is None if `feed` was
    not given any.
``most_backups(params, memory)``
    Bounds the backups that the next step, with its pauses, can log.
``causes(memory)``
    Optional: the rows of earlier backups that later ones may name as their ``cause``, for logs that
    are taken block by block. A learner without it names backups of the same step only.
``account(params)``
    Optional: says what is stored, and what is replayed when and why, as a
    :class:`replay.learners.account.Account`; ``replay learners`` lists them.
``n_words(params, memory, known)``
    Optional: counts the numbers held, for :func:`replay.demands.count_demands`, which says what
    counts; ``known`` has the numbers of ``pairs`` tried and of ``states`` acted in.
``COMPILED = False``
    Optional: runs the functions as the plain Python that they are, slowly.
``CHOICES``
    Optional: for each parameter that is a choice, the tuple of the names to choose from. The
    parameter itself is a whole number, the place of the name.

``ON_POLICY = True`` asks for the next action before the update, ``NEEDS_EPISODES = True`` says that
the learner learns nothing in a world without an end, ``EVALUATES = True`` that it logs the gain and
the need of each backup (or, a function of the parameters, whether it does). The functions call
:func:`replay.log.backups.record` for every backup they make.
"""

import math
from collections.abc import Mapping
from types import ModuleType
from typing import Any, NamedTuple

from replay.learners import (
    dyna_q,
    episodic_control,
    episodic_sequences,
    full_backups,
    monte_carlo,
    n_step_td,
    prioritized_memory_access,
    prioritized_sweeping,
    q_lambda,
    q_learning,
    retrieved_episodes,
    sfma,
)
from replay.names import unknown_name

__all__ = ["LEARNERS", "Learner", "find_learner"]

LEARNERS: dict[str, tuple[ModuleType, Any]] = {
    "monte_carlo": (monte_carlo, monte_carlo.Params()),
    "n_step_td": (n_step_td, n_step_td.Params()),
    "q_lambda": (q_lambda, q_lambda.Params()),
    "q_learning": (q_learning, q_learning.Params()),
    "q_learning_optimistic": (q_learning, q_learning.Params(initial_value=5.0)),
    "prioritized_sweeping": (prioritized_sweeping, prioritized_sweeping.Params()),
    "prioritized_sweeping_optimistic": (
        prioritized_sweeping,
        prioritized_sweeping.Params(initial_value=5.0),
    ),
    "prioritized_sweeping_reset": (
        prioritized_sweeping,
        prioritized_sweeping.Params(reset_model=True),
    ),
    "episodic_control": (episodic_control, episodic_control.Params()),
    "dyna_q": (dyna_q, dyna_q.Params()),
    "trajectory_sampling": (dyna_q, dyna_q.Params(sample_trajectories=True)),
    "sfma": (sfma, sfma.Params()),
    "sfma_reverse": (sfma, sfma.Params(replay_mode=sfma.REVERSE)),
    "sfma_dynamic": (sfma, sfma.Params(replay_mode=sfma.DYNAMIC)),
    "episodic_sequences": (episodic_sequences, episodic_sequences.Params()),
    "retrieved_episodes": (retrieved_episodes, retrieved_episodes.Params()),
    "prioritized_memory_access": (prioritized_memory_access, prioritized_memory_access.Params()),
    "full_backups": (full_backups, full_backups.Params()),
}
"""Name -> (module, its parameters as the textbook has them); the paper's nine come first."""

_MOST = 1_000_000
_RANGES: dict[str, tuple[float, float]] = {
    "discount": (0.0, 1.0),
    "epsilon": (0.0, 1.0),
    "learning_rate": (0.0, 1.0),
    "trace_decay": (0.0, 1.0),
    "n": (1, _MOST),
    "max_pops": (0, _MOST),
    "n_replays": (0, _MOST),
    "n_retrieved": (1, _MOST),
    "n_remembered": (1, _MOST),
    "expected_return": (-math.inf, math.inf),
    "similarity_discount": (0.0, 0.999999),
    "inhibition_decay": (0.0, 1.0),
    "strength_decay": (0.0, 1.0),
    "reward_modulation": (0.0, math.inf),
    "max_backups": (0, _MOST),
    "min_priority": (0.0, math.inf),
    "transition_rate": (0.0, 1.0),
    "inverse_temperature": (1e-6, 700.0),
    "gain_floor": (0.0, math.inf),
    "initial_value": (-1e300, math.inf),
    "forgetting": (0.0, 1.0),
    "surprise_rate": (0.0, 1.0),
    "capacity": (1.0, math.inf),
}
_NOUNS = {float: "a number", int: "a whole number", bool: "True or False"}
_NEEDED = ("Params", "Memory", "init", "learn", "most_backups")


class Learner(NamedTuple):
    """A learner that is ready to run.

    Attributes
    ----------
    name : str
        Its name in ``LEARNERS``, or that of a user's module.
    module : module
        Its functions.
    params : NamedTuple
        Its parameters, checked.
    """

    name: str
    module: Any
    params: Any

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters, choices by their names."""
        choices = getattr(self.module, "CHOICES", {})
        return {
            key: choices[key][value] if key in choices else value
            for key, value in self.params._asdict().items()
        }


def find_learner(learner: str | ModuleType, params: Any = None) -> Learner:
    """Look up a learner and check its parameters.

    Parameters
    ----------
    learner : str or module
        A name in ``LEARNERS``, or a module of one's own with the functions of a learner.
    params : NamedTuple or dict, optional
        The module's ``Params``, or the parameters that differ from the learner's defaults.

    Returns
    -------
    Learner
        Name, module and parameters.

    Raises
    ------
    ValueError
        If the name, or a parameter, is unknown or out of range.
    TypeError
        If the module lacks a function, or a parameter has the wrong type.

    Examples
    --------
    >>> find_learner("q_learning", {"learning_rate": 0.5}).params.learning_rate
    0.5
    """
    if isinstance(learner, str):
        if learner not in LEARNERS:
            raise unknown_name("learner", learner, LEARNERS)
        name = learner
        module, defaults = LEARNERS[learner]
    else:
        module = learner
        if not hasattr(module, "__name__"):
            raise TypeError(f"learner must be a name or a module, got {learner!r}.")
        name = module.__name__.rpartition(".")[2]
        missing = [needed for needed in _NEEDED if not callable(getattr(module, needed, None))]
        if missing:
            raise TypeError(
                f"The learner {name!r} lacks {', '.join(missing)}; a learner is a module with "
                f"{', '.join(_NEEDED)} (see help(replay.learners))."
            )
        defaults = module.Params()
        needed = ("discount",) if hasattr(module, "act") else ("discount", "epsilon")
        if not set(needed) <= set(getattr(defaults, "_fields", ())):
            raise TypeError(
                f"Params of the learner {name!r} must be a NamedTuple with {' and '.join(needed)}."
            )
    by_name = getattr(module, "CHOICES", {})
    return Learner(name, module, _checked(name, defaults, params, by_name))


def _checked(name: str, defaults: Any, params: Any, choices: Mapping[str, tuple[str, ...]]) -> Any:
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
        raise ValueError(
            f"{name!r} has no parameter {unknown[0]!r}. Its parameters: {', '.join(known)}."
        )
    values = {
        key: _chosen(name, key, given.get(key, known[key]), choices[key])
        if key in choices
        else _scalar(name, key, given.get(key, known[key]), known[key])
        for key in known
    }
    for key, (low, high) in _RANGES.items():
        if key in values and not low <= values[key] <= high:
            limits = f"between {low:g} and {high:.7g}" if high < math.inf else f"at least {low:g}"
            raise ValueError(f"{key} of {name!r} must be {limits}, got {values[key]}.")
    return type(defaults)(**values)


def _chosen(name: str, key: str, value: Any, choices: tuple[str, ...]) -> int:
    """Give the place of a choice, which may be named or be a place itself."""
    if isinstance(value, str) and value in choices:
        return choices.index(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(choices):
        return value
    raise ValueError(f"{key} of {name!r} must be one of {', '.join(choices)}; got {value!r}.")


def _scalar(name: str, key: str, value: Any, default: Any) -> Any:
    try:
        number = type(default)(value)
    except (TypeError, ValueError, OverflowError):
        number = None
    if number is None or number != value:
        noun = _NOUNS.get(type(default), type(default).__name__)
        raise TypeError(f"{key} of {name!r} must be {noun}, such as {default}, got {value!r}.")
    return number
