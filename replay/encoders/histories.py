"""Codes of what was observed so far: windows of history, and beliefs about the state."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from replay.checks import MOST_STATES, check_number, check_whole, shown
from replay.checks.arrays import Floats
from replay.encoders.contract import Coder, Encoder, Walk, check_encoder, prepared
from replay.encoders.vectors import Bins, Refitted
from replay.worlds.mdp import MDP
from replay.worlds.observations import check_looks


@dataclass(frozen=True)
class LastObservations:
    """A window of history [1]_: the code is what was observed, and done, in the last few steps.

    Where one observation does not tell the state, several in a row may.

    Parameters
    ----------
    n_last : int, default 2
        Number of observations in the window; the actions between them belong to it.
    of : Encoder, optional
        Encodes the single observations; by default, `Bins`.
    most_codes : int, default 10000
        Number of different windows for which there is room.

    References
    ----------
    .. [1] McCallum (1996), Learning to use selective attention and short-term memory in sequential
       tasks. From Animals to Animats 4, 315-324.

    Examples
    --------
    >>> LastObservations(3).n_before
    1000
    """

    n_last: int = 2
    of: Encoder = field(default_factory=Bins)
    most_codes: int = 10_000

    def __post_init__(self) -> None:
        """Check the numbers, and the encoder of single observations."""
        check_encoder("of", self.of)
        check_whole("n_last", self.n_last, at_least=1, at_most=1000)
        check_whole("most_codes", self.most_codes, at_least=1, at_most=MOST_STATES)

    @property
    def n_before(self) -> int:
        """As many as the encoder of single observations needs."""
        return self.of.n_before

    @property
    def refit_at(self) -> Sequence[int]:
        """The steps at which the encoder of single observations is fitted again."""
        return self.of.refit_at

    def prepare(
        self, walk: Walk, rng: np.random.Generator, previous: _Windows | None = None
    ) -> _Windows:
        """Begin with no window."""
        single = prepared(self.of, walk, rng, None if previous is None else previous.single)
        return _Windows(single, self.n_last, self.most_codes)


class _Windows:
    def __init__(self, single: Coder, n_last: int, most_codes: int) -> None:
        self.n_codes, self.single = most_codes, single
        self._number: dict[tuple[int, ...], int] = {}
        self._window: deque[int] = deque(maxlen=2 * n_last - 1)

    def begin(self, observation: Floats) -> int:
        self._window.clear()
        self._window.append(self.single.begin(observation))
        return self._code()

    def encode(self, observation: Floats, action: int) -> int:
        self._window.extend((action, self.single.encode(observation, action)))
        return self._code()

    def _code(self) -> int:
        what, cure = "windows of observations", "most_codes larger, or n_last smaller"
        return _numbered(self._number, tuple(self._window), self.n_codes, what, cure)


def _numbered(number: dict[Any, int], thing: object, most: int, what: str, cure: str) -> int:
    """Return the number of what was met before, or number it if there is room."""
    code = number.setdefault(thing, len(number))
    if code >= most:
        raise ValueError(f"More than {most} different {what} were met: make {cure}.")
    return code


@dataclass(frozen=True, eq=False)
class BeliefStates(Refitted):
    """Beliefs of an observer who knows the world but not its state [1]_.

    After each action and observation the probability of each state follows by Bayes' rule from
    those before. Beliefs that are equal, within a resolution, have one code. It says what could be
    learned at most where states are hidden, also where actions have uncertain outcomes.

    Parameters
    ----------
    mdp : MDP
        The world.
    looks : array_like of float, shape (n_states,)
        What is seen in each state, as for `replay.worlds.observations.aliased`.
    resolution : float, default 0.1
        Probabilities are rounded to multiples of it.
    most_codes : int, default 10000
        Number of different beliefs for which there is room.

    References
    ----------
    .. [1] Kaelbling, Littman & Cassandra (1998), Planning and acting in partially observable
       stochastic domains. https://doi.org/10.1016/S0004-3702(98)00023-X

    Examples
    --------
    >>> from replay.worlds.observations import cued_t_maze
    >>> maze = cued_t_maze(5)
    >>> BeliefStates(maze, maze.labels).n_before
    0
    """

    mdp: MDP
    looks: ArrayLike
    resolution: float = 0.1
    most_codes: int = 10_000
    n_before = 0  # no walk is needed

    def __post_init__(self) -> None:
        """Check the world and the numbers."""
        check_looks(self.mdp, self.looks)
        check_number("resolution", self.resolution, at_least=1e-6, at_most=1.0)
        check_whole("most_codes", self.most_codes, at_least=1, at_most=MOST_STATES)

    def prepare(self, walk: Walk, rng: np.random.Generator, previous: object = None) -> _Beliefs:
        """Begin with no belief."""
        if walk.n_actions != self.mdp.n_actions:
            raise ValueError(
                f"The environment has {walk.n_actions} actions, and {self.mdp.name!r}, in which it "
                f"is believed to be, has {self.mdp.n_actions}."
            )
        return _Beliefs(self)


class _Beliefs:
    def __init__(self, known: BeliefStates) -> None:
        mdp = known.mdp
        self.n_codes, self._name = known.most_codes, mdp.name
        self._looks = check_looks(mdp, known.looks)
        matrix = mdp.transition_matrix()
        self._after = [matrix[action :: mdp.n_actions].T.tocsr() for action in range(mdp.n_actions)]
        self._start, self._resolution = mdp.start_probability, known.resolution
        self._belief = self._start
        self._number: dict[bytes, int] = {}

    def begin(self, observation: Floats) -> int:
        return self._update(self._start, observation)

    def encode(self, observation: Floats, action: int) -> int:
        return self._update(self._after[action] @ self._belief, observation)

    def _update(self, expected: Floats, observation: Floats) -> int:
        belief = expected * (self._looks == observation[0])
        if belief.sum() <= 0:
            raise ValueError(
                f"{shown(float(observation[0]))} was observed, which cannot be in {self._name!r} "
                "as known: give the world, and the looks, of the environment."
            )
        self._belief = belief / belief.sum()
        rounded = np.rint(self._belief / self._resolution).astype(np.int32).tobytes()
        cure = "most_codes or resolution larger"
        return _numbered(self._number, rounded, self.n_codes, "beliefs", cure)
