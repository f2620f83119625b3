"""Protocols: worlds that change, as a list of phases, with rest between them.

An animal that has learned one world finds itself in another one of the same states and actions: a
path is blocked, a shortcut opens, the reward is elsewhere. What it learned goes on from phase to
phase. An episode that is under way when its phase ends is cut off (`truncated`), and the animal is
put at a start state of what comes next: so it is never inside a wall that was just built. After a
phase it may rest where it is, and replay without moving.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from replay.checks import check_array, check_list, check_text, check_whole, shown
from replay.worlds.mdp import MDP

__all__ = ["Phase", "Protocol"]

_MOST_PHASES = 1000
_MOST_SHOWN = 20  # phases, in a notebook
_MOST_STEPS = 2**53  # of a phase; the steps of a run are counted by int64


@dataclass(frozen=True)
class Phase:
    """A world for some time.

    Attributes
    ----------
    mdp : MDP
        The world.
    n_steps : int
        Steps that are spent in it.
    n_rest : int, default 0
        How often the learner may replay at rest afterwards.

    Raises
    ------
    TypeError
        If the world is no MDP.
    ValueError
        If a number is no whole number, or too small.

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
    """Phases, one after the other; `simulate` takes it wherever it takes an MDP.

    Parameters
    ----------
    phases : iterable of Phase
        At least one. All worlds have the same number of states and of actions, and the same
        terminal states.
    name : str, default "protocol"
        What logs call it.

    Raises
    ------
    TypeError
        If a phase is no `Phase`.
    ValueError
        If there is no phase, or the worlds don't fit together.

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
            for what in ("n_states", "n_actions"):
                expected, got = getattr(first, what), getattr(phase.mdp, what)
                if got != expected:
                    raise ValueError(
                        f"All worlds of a protocol must have the same {what}: phase 0 has "
                        f"{expected}, phase {number} has {got}. States that cannot be entered in "
                        "one phase must be there all the same."
                    )
            differ = np.flatnonzero(first.terminal != phase.mdp.terminal)
            if differ.size:
                raise ValueError(
                    "All worlds of a protocol must have the same terminal states; state "
                    f"{differ[0]} is terminal in only one of the phases 0 and {number}. To move a "
                    "goal, let both places end the episode and pay at one of them."
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
    def ends(self) -> NDArray[np.int64]:
        """The step at which each phase is over, counted over the run, shape (n_phases,)."""
        return np.cumsum([phase.n_steps for phase in self.phases])

    @property
    def changes(self) -> NDArray[np.int64]:
        """The first step of each phase but the first, shape (n_phases - 1,)."""
        return self.ends[:-1]

    def phase_of(self, step: ArrayLike) -> NDArray[np.intp]:
        """Tell to which phase steps of a run belong; rest belongs to the phase before it.

        Parameters
        ----------
        step : array_like of int
            As in the columns `step` of an event log.

        Returns
        -------
        ndarray of int
            Numbers of phases, from 0, in the shape of `step`.

        Raises
        ------
        ValueError
            If a step is no whole number, or outside of the protocol.

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
        """Different transitions (s, a, s') that occur in any phase."""
        mdps = [phase.mdp for phase in self.phases]
        if len(mdps) == 1:  # plain runs come through here, and may be short
            return mdps[0].n_transitions
        rows = [mdp.transition_rows() * np.int64(mdp.n_states) + mdp.successor for mdp in mdps]
        return len(np.unique(np.concatenate(rows)))

    @cached_property
    def n_links(self) -> int:
        """Pairs of a terminal state and a state in which an episode starts, in any phase."""
        starts = np.any([phase.mdp.start_probability > 0 for phase in self.phases], axis=0)
        return int(np.count_nonzero(self.phases[0].mdp.terminal) * np.count_nonzero(starts))

    @cached_property
    def way_back(self) -> NDArray[np.int32]:
        """Action that undoes each pair (s, a) in all phases; -1 if there is none.

        See :attr:`replay.worlds.mdp.MDP.way_back`. Beside a wall that moves, no way back is taken
        for granted.
        """
        tables = np.stack([phase.mdp.way_back for phase in self.phases])
        return np.where((tables == tables[0]).all(axis=0), tables[0], np.int32(-1))

    def __repr__(self) -> str:
        """Show the name, and how much there is."""
        n_phases = len(self.phases)
        return (
            f"Protocol({self.name!r}, {n_phases} phase{'s' * (n_phases != 1)}, "
            f"{self.n_steps:,} steps)"
        )

    def _repr_html_(self) -> str:
        rows = [(repr(phase.mdp), phase.n_steps, phase.n_rest) for phase in self.phases]
        table = pd.DataFrame(rows, columns=["world", "steps", "pauses of rest after it"])
        return f"<p>{self!r}</p>{table.rename_axis('phase').to_html(max_rows=_MOST_SHOWN)}"
