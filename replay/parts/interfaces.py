"""The records that the simulation's loop passes to learners, as far as the parts read them.

Their classes are in :mod:`replay.learners.contract`. Parts cannot import these, as learners use
parts, and not the other way round.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["PauseLike", "SizesLike", "TransitionLike"]


class TransitionLike(Protocol):
    """One step of experience, a :class:`replay.learners.contract.Transition`."""

    @property
    def state(self) -> int: ...
    @property
    def action(self) -> int: ...
    @property
    def reward(self) -> float: ...
    @property
    def next_state(self) -> int: ...
    @property
    def terminated(self) -> bool: ...
    @property
    def truncated(self) -> bool: ...


class PauseLike(Protocol):
    """A moment at which a learner may replay, a :class:`replay.learners.contract.Pause`."""

    @property
    def phase(self) -> int: ...
    @property
    def state(self) -> int: ...
    @property
    def terminated(self) -> bool: ...


class SizesLike(Protocol):
    """The size of the world, a :class:`replay.learners.contract.Sizes`."""

    @property
    def n_states(self) -> int: ...
    @property
    def n_actions(self) -> int: ...
    @property
    def n_transitions(self) -> int: ...
    @property
    def way_back(self) -> NDArray[np.int32] | None: ...
