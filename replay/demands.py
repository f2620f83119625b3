"""What a learner demands: words of memory, and elementary operations at each step.

The learner's own source runs as plain Python with instrumented numbers that count comparisons, and
a queue that counts its operations. Neither changes what is learned, and runs without counting are
not slowed down. These are the definitions:

* a *word* is one number that the learner has to keep in order to continue, in the filled parts of
  its arrays, after it has learned from the step and before it replays anything. A flag is a word.
  Not counted are parameters, single counters, copies, causes for the log, what is recomputed at
  each pause, and unused parts of arrays. Each learner's ``n_words`` computes the sum;
* a *backup* is one row of the complete log, including online updates and traces;
* a *queue operation* inserts an entry, changes its priority, or removes it;
* a *comparison* is one of two numbers that are remembered, or computed from remembered ones: in the
  heap, in maxima over actions, in the search for the best item. A maximum of n numbers takes n - 1;
  the greedy choice also looks for ties, and then for the chosen action. Comparisons with a constant
  (a threshold, the mark of an untried action) are not counted.
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
from replay.learners.adaptive_attractor import Attractor
from replay.learners.contract import Known, Learner, LearnerModule, Sizes, Transition, resolve
from replay.learners.spectral_generator import Propagator
from replay.log.backups import BackupBuffer
from replay.log.event_log import EventLog
from replay.parts import priority_queue
from replay.parts.priority_queue import PriorityQueue
from replay.simulation import Run, simulate
from replay.worlds.mdp import MDP

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
        As `simulate` returns it with ``log="all"``. The steps of its log also have the columns of
        `steps`, which are saved with it.
    """

    run: Run

    @property
    def steps(self) -> pd.DataFrame:
        """What each step demanded, in one row per step.

        The columns are the `words` held, and the `backups`, `queue_operations` and `comparisons`
        made, including those for the choice of the next action.
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
    """Simulate a learner, and count what it demands; at most about 10,000 steps per second.

    Parameters
    ----------
    mdp : MDP
        The world.
    learner : str or module
        A name in ``LEARNERS``, or your own module. Words are nan if it has no ``n_words``.
    params : NamedTuple or dict, optional
        The parameters that differ from the learner's defaults.
    n_steps, max_episode_steps, seed : int
        As in :func:`replay.simulation.simulate.simulate`.

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
    # The counts are noted at the beginning of each step; the last step ends with the run.
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
    """Copy a learner such that the copy does the same, and counts what it does."""
    number = _number_type(tally)
    functions = _copied(found.module, lambda queue: _count_queue(queue, tally, number))
    module = SimpleNamespace(**functions | {"COMPILED": False})
    copied = resolve(module, found.params, name=found.name)

    def init(params: Any, sizes: Sizes) -> Any:
        memory = found.init(params, sizes)
        found.explore(params, memory, mdp)  # not counted: it runs on the arrays that kernels take
        return _converted(memory, lambda array: _numbers(array, number))

    def explore(params: Any, memory: Any, known: MDP | None) -> None:
        pass

    def learn(params: Any, memory: Any, transition: Transition, log: BackupBuffer) -> None:
        counts = (tally.queue_operations, tally.comparisons)
        copied.learn(params, memory, transition._replace(reward=number(transition.reward)), log)
        tally.states.add(int(transition.state))
        tally.pairs.add((int(transition.state), int(transition.action)))
        known = Known(len(tally.pairs), len(tally.states))
        tally.rows.append((float(found.n_words(params, memory, known)), *counts))

    return replace(copied, init=init, explore=explore, learn=learn)


def _number_type(tally: _Tally) -> type[float]:
    """Make a subclass of float that counts comparisons between its instances."""

    def compared(name: str) -> Callable[..., bool]:
        compare: Callable[..., bool] = getattr(float, name)

        def method(self: float, other: object) -> bool:
            tally.comparisons += isinstance(other, number)
            return compare(self, other)

        return method

    def computed(name: str) -> Callable[..., float]:
        compute = getattr(float, name)

        def method(self: float, *other: float) -> float:
            return number(compute(self, *map(float, other)))

        return method

    methods: dict[str, Any] = {name: compared(name) for name in _COMPARISONS}
    methods |= {name: computed(name) for name in (*_ALONE, *_WITH_ANOTHER, *_FROM_ANOTHER)}
    # numpy's scalars leave an operation to the other operand if its __array_ufunc__ is None.
    methods |= {"__hash__": float.__hash__, "__array_ufunc__": None}
    number: type[float] = type("Number", (float,), methods)
    return number


def _numbers(array: np.ndarray, number: type[float]) -> np.ndarray:
    """Copy an array so that its floats, and all floats written to it, are counting numbers."""

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


def _with_kind(dtype: np.dtype, kind: str, new: type) -> np.dtype:
    fields = [(name, dtype[name]) for name in dtype.names or ()]
    return np.dtype([(name, new if old.kind == kind else old) for name, old in fields])


def _converted(memory: Any, change: Callable[[np.ndarray], np.ndarray]) -> Any:
    """Change all arrays of a memory and its parts, except those that only kernels compute."""
    if isinstance(memory, Propagator | Attractor):
        return memory
    if isinstance(memory, np.ndarray):
        return change(memory)
    if isinstance(memory, tuple):
        parts = [_converted(part, change) for part in memory]
        return type(memory)(*parts)
    return memory


def _count_queue(functions: dict[str, Any], tally: _Tally, number: type[float]) -> None:
    """Make the functions of :mod:`replay.parts.priority_queue` count what they do."""
    set_priority, remove, clear = (functions[name] for name in ("set_priority", "remove", "clear"))

    def counting_set_priority(
        queue: PriorityQueue, state: int, priority: float, cause: int
    ) -> None:
        place, wanted = queue.position[state], float(priority)
        tally.queue_operations += bool(
            place < 0 or wanted < queue.priority[place] or wanted > queue.priority[place]
        )
        set_priority(queue, state, number(priority), cause)

    def counting_remove(queue: PriorityQueue, state: int) -> None:
        tally.queue_operations += int(queue.position[state] >= 0)
        remove(queue, state)

    def counting_clear(queue: PriorityQueue | None) -> None:
        tally.queue_operations += 0 if queue is None else int(queue.size[0])
        clear(queue)

    functions["set_priority"] = counting_set_priority
    functions["remove"] = counting_remove
    functions["clear"] = counting_clear


def _copied(module: LearnerModule, count_queue: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Copy the functions of a module, and those of ``replay`` that they call; the queue counts."""
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
