"""The contract of an encoder: how observations become the states that learners know.

Learners know numbered states. An *encoder* says how observations are turned into such numbers,
called *codes*; it holds parameters only. Before a run `prepare` is given a random walk in the
environment, of as many observations as the encoder asks for in `n_before`, and returns a *coder*,
which encodes one observation after the other. An encoder of your own is any object with these two
attributes:

>>> class Sign:
...     n_before = 0
...     n_codes = 2
...     def prepare(self, walk, rng):
...         return self
...     def begin(self, observation):
...         return int(observation[0] > 0)
...     def encode(self, observation, action):
...         return int(observation[0] > 0)
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Coder", "Encoder", "Walk"]


class Walk(NamedTuple):
    """A random walk in an environment, observed before a run.

    Attributes
    ----------
    observations : ndarray of float64, shape (n, n_features)
        At least one observation.
    is_first : ndarray of bool, shape (n,)
        Whether an episode begins with the observation.
    action : ndarray of int64, shape (n,)
        The action that led to it; -1 for the first of an episode.
    n_actions : int
        Number of actions of the environment.
    """

    observations: NDArray[np.float64]
    is_first: NDArray[np.bool_]
    action: NDArray[np.int64]
    n_actions: int


class Coder(Protocol):
    """Encodes the observations of one run, in their order.

    Attributes
    ----------
    n_codes : int
        Number of codes; they are numbered from 0.
    """

    n_codes: int

    def begin(self, observation: NDArray[np.float64]) -> int:
        """Return the code of the first observation of an episode, shape (n_features,)."""

    def encode(self, observation: NDArray[np.float64], action: int) -> int:
        """Return the code of an observation, given the action that led to it."""


class Encoder(Protocol):
    """The parameters of an encoder.

    Attributes
    ----------
    n_before : int
        Length of the random walk that `prepare` needs, in observations; 0 for one observation.
    """

    @property
    def n_before(self) -> int:
        """Length of the random walk."""

    def prepare(self, walk: Walk, rng: np.random.Generator) -> Coder:
        """Make a coder from what was observed before the run."""
