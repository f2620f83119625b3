"""The contract of an encoder: how observations become the states that learners know.

Learners know numbered states. An *encoder* says how observations are turned into such numbers,
called *codes*; it holds parameters only. Before a run `prepare` is given a random walk in the
environment, of as many observations as the encoder asks for in `n_before`, and returns a *coder*,
which encodes one observation after the other. After each of the steps in `refit_at`, `prepare` is
called again with all that was observed so far, and the learner learns the run so far again, in the
new codes, if any is not as it was. An encoder of your own is any object with these attributes:

>>> class Sign:
...     n_before = 0
...     refit_at = ()
...     n_codes = 2
...     def prepare(self, walk, rng, previous=None):
...         return self
...     def begin(self, observation):
...         return int(observation[0] > 0)
...     def encode(self, observation, action):
...         return int(observation[0] > 0)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from replay.checks import shown
from replay.checks.arrays import Bools, Floats, Ints


class Walk(NamedTuple):
    """What was observed: a random walk before the run, and the run so far.

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
    reward : ndarray of float64, shape (n,)
        The reward that came with it; 0 for the first of an episode.
    """

    observations: Floats
    is_first: Bools
    action: Ints
    n_actions: int
    reward: Floats

    def codes(self, coder: Coder) -> Ints:
        """Encode all observations, in their order."""
        rows = zip(self.observations, self.is_first, self.action, strict=True)
        codes = (
            coder.begin(row.copy()) if first else coder.encode(row.copy(), int(action))
            for row, first, action in rows
        )
        return np.fromiter(codes, np.int64, len(self.action))


class Coder(Protocol):
    """Encodes the observations of one run, in their order.

    Attributes
    ----------
    n_codes : int
        Number of codes; they are numbered from 0.
    neighbours : callable, optional
        ``neighbours()`` lists all codes from the nearest to the farthest, for each; shape (n_codes,
        n_codes). It is called if the learner has a parameter `n_nearest` above 0.
    """

    @property
    def n_codes(self) -> int:
        """Number of codes."""

    def begin(self, observation: Floats) -> int:
        """Return the code of the first observation of an episode, shape (n_features,)."""

    def encode(self, observation: Floats, action: int) -> int:
        """Return the code of an observation, given the action that led to it."""


class Encoder(Protocol):
    """The parameters of an encoder.

    Attributes
    ----------
    n_before : int
        Length of the random walk that `prepare` needs, in observations; 0 for one observation.
    refit_at : sequence of int
        Numbers of steps, ascending, after which it is prepared again; empty for never.
    """

    @property
    def n_before(self) -> int:
        """Length of the random walk."""

    @property
    def refit_at(self) -> Sequence[int]:
        """Numbers of steps after which it is prepared again."""

    def prepare(self, walk: Walk, rng: np.random.Generator, previous: Any = None) -> Coder:
        """Make a coder from what was observed.

        `previous` is the one that it replaces: a code should mean what it meant, as far as that is
        possible, and there must be as many.
        """


def prepared(encoder: Encoder, walk: Walk, rng: np.random.Generator, previous: Any = None) -> Any:
    """Prepare an encoder with a copy of what was observed, so that it may change it in place."""
    own = walk._replace(observations=walk.observations.copy())
    return encoder.prepare(own, rng, previous)


def check_encoder(name: str, encoder: Any) -> None:
    """Check that an object has what the contract asks of an encoder."""
    if not callable(getattr(encoder, "prepare", None)) or isinstance(encoder, type):
        raise TypeError(
            f"{name} must be an encoder such as replay.encoders.KMeans(300), got {shown(encoder)}."
        )
    missing = [each for each in ("n_before", "refit_at") if not hasattr(encoder, each)]
    if missing:
        raise TypeError(
            f"The encoder {shown(encoder)} has no {missing[0]!r}: see replay.encoders.contract."
        )
