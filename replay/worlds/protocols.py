"""Protocols: worlds that change, as a list of phases, with rest between them.

An animal that has learned one world finds itself in another one with the same states and actions: a
path is blocked, a shortcut opens, the reward is elsewhere. The animal keeps its memory from phase
to phase. An episode that has not ended when its phase ends is cut off (`truncated`), and the animal
is put at a start state of the next phase, so that it is never inside a wall that was just built.
After a phase it may rest where it is, and replay without moving.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from replay.checks import check_array, check_list, check_text, check_whole, shown
from replay.checks.arrays import Int32s, Ints
from replay.worlds.mdp import MDP

_MOST_PHASES = 1000
_MOST_SHOWN = 20  # phases, in a notebook
_MOST_STEPS = 2**53  # of a phase; the steps of a run are counted by int64


@dataclass(frozen=True)
class Phase:
    """A world for a number of steps.

    Attributes
    ----------
    mdp : MDP
        The world.
    n_steps : int
        Number of steps spent in it.
    n_rest : int, default 0
        Pauses of rest after it, in which the learner may replay.

    Examples
    --------
    >>> corridor = MDP.from_tables([[1], [0]], reward=[0, 1], terminal=[1])
    >>> Phase(corridor, n_steps=100).n_rest
    0
    """

    mdp: MDP
    n_steps: int
    n_rest: int = 0

    def __post_init__(self) -> None:
        """Check the numbers."""
        if not isinstance(self.mdp, MDP):
            raise TypeError(f"The mdp of a phase must be an MDP, got {type(self.mdp).__name__}.")
        for name, least in (("n_steps", 1), ("n_rest", 0)):
            what = f"{name} of a phase"
            number = check_whole(what, getattr(self, name), at_least=least, at_most=_MOST_STEPS)
            object.__setattr__(self, name, number)


@dataclass(frozen=True, repr=False)
class Protocol:
    """A sequence of phases; `simulate` accepts it wherever it accepts an MDP.

    Parameters
    ----------
    phases : iterable of Phase
        At least one. All worlds must have the same number of states and of actions, and the same
        terminal states; names of actions, and labels and positions of states, must agree where
        worlds have them.
    name : str, default "protocol"
        Name of the protocol in logs.

    Examples
    --------
    A corridor whose reward moves from its right to its left end:

    >>> moves = [[0, 0], [0, 2], [2, 2]]
    >>> right, left = (
    ...     MDP.from_tables(moves, reward, start=1, terminal=[0, 2])
    ...     for reward in ([0, 0, 1], [1, 0, 0])
    ... )
    >>> protocol = Protocol([Phase(right, 100), Phase(left, 50, n_rest=10)])
    >>> protocol.n_steps, protocol.changes.tolist()
    (150, [100])
    >>> protocol.phase_of([99, 100]).tolist()
    [0, 1]
    """

    phases: tuple[Phase, ...]
    name: str = field(default="protocol", kw_only=True)

    def __init__(self, phases: Iterable[Phase], *, name: str = "protocol") -> None:
        """Check that the phases fit together."""
        object.__setattr__(self, "phases", check_list("phases", phases))
        object.__setattr__(self, "name", check_text("The name of a protocol", name))
        for number, phase in enumerate(self.phases):
            if not isinstance(phase, Phase):
                raise TypeError(f"Each phase must be a Phase, got {shown(phase)} for {number}.")
        if not self.phases:
            raise ValueError("A protocol needs at least one phase, got none.")
        if len(self.phases) > _MOST_PHASES:
            raise ValueError(
                f"A protocol has at most {_MOST_PHASES} phases, got {len(self.phases)}."
            )
        first = self.phases[0].mdp
        for number, phase in enumerate(self.phases):
            if phase.mdp is first:
                continue
            for what in ("n_states", "n_actions"):
                expected, got = getattr(first, what), getattr(phase.mdp, what)
                if got != expected:
                    raise ValueError(
                        f"All worlds of a protocol must have the same {what}: phase 0 has "
                        f"{expected}, phase {number} has {got}. Include states that cannot be "
                        "entered in some of the phases."
                    )
            _check_same_names(first, phase.mdp, number)
            differ = np.flatnonzero(first.terminal != phase.mdp.terminal)
            if differ.size:
                raise ValueError(
                    "All worlds of a protocol must have the same terminal states; state "
                    f"{differ[0]} is terminal in only one of the phases 0 and {number}. To move a "
                    "goal, let episodes end at both places, and reward one of them."
                )

    @property
    def n_actions(self) -> int:
        """Number of actions, the same in all phases."""
        return self.phases[0].mdp.n_actions

    @property
    def n_steps(self) -> int:
        """Steps of all phases together."""
        return int(self.ends[-1])

    @cached_property
    def ends(self) -> Ints:
        """The step of the run at which each phase ends (exclusive), shape (n_phases,)."""
        return np.cumsum([phase.n_steps for phase in self.phases])

    @property
    def changes(self) -> Ints:
        """The first step of each phase after the first one, shape (n_phases - 1,)."""
        return self.ends[:-1]

    def phase_of(self, step: ArrayLike) -> NDArray[np.intp]:
        """Return the phase of each of several steps; rest belongs to the phase before it.

        Parameters
        ----------
        step : array_like of int
            Steps of the run, as in the columns `step` of an event log.

        Examples
        --------
        >>> corridor = MDP.from_tables([[1], [0]], reward=[0, 1], terminal=[1])
        >>> Protocol([Phase(corridor, 10), Phase(corridor, 10)]).phase_of([9, 10])
        array([0, 1])
        """
        steps = check_array(step, "step", kind="whole", n_dims=None)
        outside = (steps < 0) | (steps >= self.n_steps)
        if outside.any():
            raise ValueError(
                f"Steps of this protocol go from 0 to {self.n_steps - 1}; got {steps[outside][0]}."
            )
        return np.searchsorted(self.ends, steps, side="right")

    @cached_property
    def n_transitions(self) -> int:
        """Number of different transitions (s, a, s') in all phases together."""
        mdps = [phase.mdp for phase in self.phases]
        rows = [mdp.transition_rows() * np.int64(mdp.n_states) + mdp.successor for mdp in mdps]
        return len(np.unique(np.concatenate(rows)))

    @cached_property
    def n_links(self) -> int:
        """Number of pairs of a terminal state and a start state of any phase."""
        starts = np.any([phase.mdp.start_probability > 0 for phase in self.phases], axis=0)
        return int(np.count_nonzero(self.phases[0].mdp.terminal) * np.count_nonzero(starts))

    @cached_property
    def way_back(self) -> Int32s:
        """Action that undoes each pair (s, a) in all phases; -1 if none does.

        See :attr:`replay.worlds.mdp.MDP.way_back`. A move that is blocked in some
        phase, or whose return is, has none.
        """
        tables = np.stack([phase.mdp.way_back for phase in self.phases])
        return np.where((tables == tables[0]).all(axis=0), tables[0], np.int32(-1))

    def __repr__(self) -> str:
        """Show the name and the size."""
        n_phases = len(self.phases)
        return (
            f"Protocol({self.name!r}, {n_phases} phase{'s' * (n_phases != 1)}, "
            f"{self.n_steps:,} steps)"
        )

    def _repr_html_(self) -> str:
        rows = [(repr(phase.mdp), phase.n_steps, phase.n_rest) for phase in self.phases]
        table = pd.DataFrame(rows, columns=["world", "steps", "pauses of rest after it"])
        return f"<p>{self!r}</p>{table.rename_axis('phase').to_html(max_rows=_MOST_SHOWN)}"


def _check_same_names(first: MDP, other: MDP, number: int) -> None:
    """Refuse a phase in which some number of an action or a state means another than in phase 0."""
    one, two = (mdp.action_names for mdp in (first, other))
    unnamed = tuple(map(str, range(len(one))))
    if one != two and unnamed not in (one, two):
        raise ValueError(
            f"The actions are {shown(list(one))} in phase 0, but {shown(list(two))} in phase "
            f"{number}: the worlds of a protocol must number the same actions alike."
        )
    for what in ("labels", "position"):
        ours, theirs = getattr(first, what), getattr(other, what)
        if ours is None or theirs is None:
            continue
        for state, (one, two) in enumerate(zip(list(ours), list(theirs), strict=True)):
            if np.any(np.not_equal(one, two)) if what == "position" else one != two:
                noun = {"labels": "is", "position": "lies at"}[what]
                raise ValueError(
                    f"State {state} {noun} {_place(one)} in phase 0, but {_place(two)} in phase "
                    f"{number}: the worlds of a protocol must number the same places alike. In "
                    "drawn mazes a wall that moves renumbers the cells: change the moves of one "
                    "maze instead, for instance with maze.with_barrier(a, b)."
                )


def _place(label: object) -> str:
    return shown(label.tolist() if isinstance(label, np.ndarray) else label)
