"""What a learner demands: words of memory, and elementary operations at each step.

The learner's own source runs as plain Python on numbers that know when they are compared, and on a
queue that counts; neither changes what is learned, and ordinary runs cost nothing more. What counts
is said here, once:

* a *word* is one number that the learner has to keep to go on, in the filled parts of its arrays,
  after the step was learned from and before anything is replayed. A flag is a word. Not counted:
  parameters, single counters, copies, causes for the log, what is made anew at each pause, and what
  of an array was never filled. Each learner's ``n_words`` sums it up;
* a *backup* is one row of the log with everything in it, online updates and traces too;
* a *queue operation* puts an entry in, changes its priority, or takes it out;
* a *comparison* is one of two numbers that are remembered, or computed from what is: in the heap,
  in maxima over actions, in the search for the best. A maximum of n numbers takes n - 1; the greedy
  choice also looks for ties, and then for the chosen one. Comparing with a constant (a threshold,
  the mark of an untried action) is not counted.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import FunctionType, SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from replay.learners import find_learner
from replay.learners.contract import Known, Learner, Sizes, Transition, resolve
from replay.log.event_log import EventLog
from replay.parts import priority_queue
from replay.parts.attractor import Attractor
from replay.parts.propagator import Propagator
from replay.simulation import Run, simulate
from replay.worlds.mdp import MDP

__all__ = ["Demands", "count_demands"]

_COLUMNS = ("words", "backups", "queue_operations", "comparisons")
_COMPARISONS = ("__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__")
_ALONE = ("__neg__", "__abs__")
_WITH_ANOTHER = ("__add__", "__sub__", "__mul__", "__truediv__")
_FROM_ANOTHER = ("__radd__", "__rsub__", "__rmul__", "__rtruediv__")


@dataclass(frozen=True)
class Demands:
    """A run, and what it demanded.

    Attributes
    ----------
    run : Run
        As `simulate` gives it with ``log="all"``; the steps of its log have the columns of `steps`
        besides, and keep them when it is saved.
    """

    run: Run

    @property
    def steps(self) -> pd.DataFrame:
        """What each step demanded.

        `words` held; `backups`, `queue_operations` and `comparisons` made, those for the choice of
        the next action included.
        """
        return self.run.log.steps[list(_COLUMNS)]


@dataclass
class _Tally:
    queue_operations: int = 0
    comparisons: int = 0
    pairs: set[tuple[int, int]] = field(default_factory=set)
    states: set[int] = field(default_factory=set)
    rows: list[tuple[float, int, int]] = field(default_factory=list)


def count_demands(
    mdp: MDP,
    learner: Any,
    params: Any = None,
    *,
    n_steps: int,
    max_episode_steps: int | None = None,
    seed: int = 0,
) -> Demands:
    """Let a learner act in a world, and count what it demands; about 10,000 steps a second or less.

    Parameters
    ----------
    mdp : MDP
        The world.
    learner : str or module
        A name in ``LEARNERS``, or a module of one's own. Without ``n_words`` its words are nan.
    params : NamedTuple or dict, optional
        The parameters that differ from the learner's defaults.
    n_steps, max_episode_steps, seed : int
        As in :func:`replay.simulation.simulate.simulate`.

    Returns
    -------
    Demands
        The run, the same as that of `simulate`, and in its log what each step demanded.

    Raises
    ------
    ValueError
        If a parameter is out of range, or the learner needs episodes that this world lacks.

    Examples
    --------
    >>> from replay.worlds.mazes import from_ascii
    >>> demands = count_demands(from_ascii("S..G"), "q_learning", n_steps=100)
    >>> int(demands.steps["comparisons"].max())  # best of four values, 3; greedy choice, 6 + 4
    13
    """
    found = find_learner(learner, params)
    tally = _Tally()
    counting = _counting_learner(found, tally, mdp)
    run = simulate(
        mdp, counting, n_steps=n_steps,
        max_episode_steps=max_episode_steps, seed=seed, log="all",
    )  # fmt: skip
    tally.rows.append((np.nan, tally.queue_operations, tally.comparisons))
    rows = np.array(tally.rows)
    operations = np.diff(rows[:, 1:], axis=0).astype(np.int64).T
    n_backups = np.bincount(run.log.columns("backups")["step"], minlength=n_steps)
    counted = dict(zip(_COLUMNS, (rows[:-1, 0], n_backups, *operations), strict=True))
    steps = {**run.log.columns("steps"), **counted}
    log = EventLog({**run.log.tables, "steps": steps}, run.log.provenance, run.log.mdp)
    memory = _converted(run.memory, _floats)
    return Demands(replace(run, learner=found, memory=memory, log=log))


def _counting_learner(found: Learner, tally: _Tally, mdp: MDP) -> Learner:
    """Copy a learner so that it does the same and counts it."""
    number = _number_type(tally)
    functions = _copied(found.module, lambda queue: _count_queue(queue, tally, number))
    module = SimpleNamespace(**functions | {"COMPILED": False})
    copied = resolve(module, found.params, name=found.name)

    def init(params: Any, sizes: Sizes) -> Any:
        memory = found.init(params, sizes)
        found.explore(params, memory, mdp)  # before anything counts, on arrays as kernels take them
        return _converted(memory, lambda array: _numbers(array, number))

    def explore(params: Any, memory: Any, known: MDP | None) -> None:
        pass

    def learn(params: Any, memory: Any, transition: Transition, log: Any) -> None:
        counts = (tally.queue_operations, tally.comparisons)
        copied.learn(params, memory, transition._replace(reward=number(transition.reward)), log)
        tally.states.add(int(transition.state))
        tally.pairs.add((int(transition.state), int(transition.action)))
        known = Known(len(tally.pairs), len(tally.states))
        tally.rows.append((float(found.n_words(params, memory, known)), *counts))

    return replace(copied, init=init, explore=explore, learn=learn)


def _number_type(tally: _Tally) -> type[float]:
    """Make a kind of float that tells when it is compared with another of its kind."""

    def compared(name: str) -> Callable[..., bool]:
        compare: Callable[..., bool] = getattr(float, name)

        def method(self: float, other: Any) -> bool:
            tally.comparisons += isinstance(other, number)
            return compare(self, other)

        return method

    def computed(name: str) -> Callable[..., float]:
        compute = getattr(float, name)

        def method(self: float, *other: Any) -> float:
            return number(compute(self, *map(float, other)))

        return method

    methods: dict[str, Any] = {name: compared(name) for name in _COMPARISONS}
    methods |= {name: computed(name) for name in (*_ALONE, *_WITH_ANOTHER, *_FROM_ANOTHER)}
    # numpy's own scalars leave the operation to the other one if that has no ufuncs.
    methods |= {"__hash__": float.__hash__, "__array_ufunc__": None}
    number: type[float] = type("Number", (float,), methods)
    return number


def _numbers(array: np.ndarray, number: type[float]) -> np.ndarray:
    """Let an array hold such numbers, whatever is written to it, where it holds floats."""

    class Numbers(np.ndarray):
        def __setitem__(self, key: Any, value: Any) -> None:
            super().__setitem__(key, number(value))

    if array.dtype.names:
        changed = np.empty(array.shape, dtype=_with_kind(array.dtype, "f", object))
        for name in array.dtype.names:
            changed[name] = _numbers(array[name], number)
        return changed
    if array.dtype.kind != "f":
        return array
    held = np.empty(array.size, dtype=object)
    held[:] = [number(value) for value in array.ravel()]
    return held.reshape(array.shape).view(Numbers)


def _floats(array: np.ndarray) -> np.ndarray:
    """Undo `_numbers`."""
    if array.dtype.names:
        return array.astype(_with_kind(array.dtype, "O", np.float64))
    return np.asarray(array, dtype=np.float64 if array.dtype.kind == "O" else array.dtype)


def _with_kind(dtype: np.dtype, kind: str, new: Any) -> np.dtype:
    fields = [(name, dtype[name]) for name in dtype.names or ()]
    return np.dtype([(name, new if old.kind == kind else old) for name, old in fields])


def _converted(memory: Any, change: Callable[[np.ndarray], np.ndarray]) -> Any:
    """Change all arrays of a memory and of its parts, but for what a kernel of its own computes."""
    if isinstance(memory, Propagator | Attractor):
        return memory
    if isinstance(memory, np.ndarray):
        return change(memory)
    if isinstance(memory, tuple):
        parts = [_converted(part, change) for part in memory]
        return type(memory)(*parts)
    return memory


def _count_queue(functions: dict[str, Any], tally: _Tally, number: type[float]) -> None:
    """Let the functions of :mod:`replay.parts.priority_queue` count what they do."""
    set_priority, remove, clear = (functions[name] for name in ("set_priority", "remove", "clear"))

    def counting_set_priority(queue: Any, state: int, priority: float, cause: int) -> None:
        place, wanted = queue.position[state], float(priority)
        tally.queue_operations += bool(
            place < 0 or wanted < queue.priority[place] or wanted > queue.priority[place]
        )
        set_priority(queue, state, number(priority), cause)

    def counting_remove(queue: Any, state: int) -> None:
        tally.queue_operations += int(queue.position[state] >= 0)
        remove(queue, state)

    def counting_clear(queue: Any) -> None:
        tally.queue_operations += int(queue.size[0])
        clear(queue)

    functions["set_priority"] = counting_set_priority
    functions["remove"] = counting_remove
    functions["clear"] = counting_clear


def _copied(module: Any, count_queue: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Copy the functions of a module, and those of ours that they call, with another queue."""
    copies: dict[str, dict[str, Any]] = {}

    def copy_of(names: dict[str, Any]) -> dict[str, Any]:
        home = names["__name__"]
        if home not in copies:
            copies[home] = dict(names)
            for name, value in names.items():
                copies[home][name] = changed(value, home)
            if home == priority_queue.__name__:
                count_queue(copies[home])
        return copies[home]

    def changed(value: Any, home: str) -> Any:
        if inspect.ismodule(value) and value.__name__.startswith("replay."):
            return SimpleNamespace(**copy_of(vars(value)))
        if not inspect.isfunction(value):
            return value
        if value.__module__ != home:
            ours = value.__module__.startswith("replay.")
            return copy_of(value.__globals__).get(value.__name__, value) if ours else value
        copied = FunctionType(
            value.__code__, copies[home], value.__name__, value.__defaults__, value.__closure__
        )
        copied.__kwdefaults__ = value.__kwdefaults__
        return copied

    return copy_of(vars(module))
