"""The side of a maze, and the arm, in which sequences and laps run."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.measures.landmarks import covered, landmark
from analyses.measures.laps import laps_around
from analyses.measures.replays import Replays, is_one_of, paths
from analyses.sequences.sequences import Lists

__all__ = ["arms", "lap_side", "main_arm", "own_sides", "runs_on", "side_run", "sides"]

_LEFT, _RIGHT = ("left_loop", "left_arm"), ("right_loop", "right_arm")
_ARM = re.compile(r"arm(\d+|_\w)")

_LEAST_OF_ONE, _LEAST_OF_OTHER = 0.10, 0.05


def sides(replays: Replays, sequences: pd.DataFrame) -> NDArray[np.str_]:
    """Return which sequences run on the animal's side of the maze, and which on the other.

    The animal's side is where it is or, where the sides meet, that of the lap it has just run. A
    sequence is on a side if it covers more than 10 % of it and less than 5 % of the other [1]_.

    The task must have the landmarks `left_loop` and `right_loop`; each sequence is ``same``,
    ``opposite``, or empty.

    References
    ----------
    .. [1] Gupta, van der Meer, Touretzky & Redish (2010), Hippocampal replay is not a simple
       function of experience. https://doi.org/10.1016/j.neuron.2010.01.034
    """
    left, right = own_sides(replays)
    own = _side_at(replays)[sequences["place"].to_numpy()]
    before, _ = laps_around(replays, sequences)
    own = np.where(own == 0, np.append(lap_side(replays), 0)[before], own)
    runs = runs_on(left, right, paths(replays, sequences))
    return np.select([runs * own > 0, runs * own < 0], ["same", "opposite"], "")


def runs_on(left: NDArray[np.bool_], right: NDArray[np.bool_], walked: Lists) -> NDArray[np.int64]:
    """Return on which side sequences run, by the rule of `sides`.

    -1 for left, 1 for right, 0 for neither; `left` and `right` are flags of places, as `own_sides`
    returns them.

    Examples
    --------
    >>> from analyses.sequences.sequences import Lists
    >>> walked = Lists.of([[0, 1], [1, 2], [3, 2]])
    >>> place = np.arange(4)
    >>> runs_on(place < 2, place >= 2, walked).tolist()
    [-1, 0, 1]
    """
    on_left, on_right = (covered(walked, side) / max(side.sum(), 1) for side in (left, right))
    runs = np.zeros(len(walked.begin) - 1, dtype=int)
    runs[(on_right > _LEAST_OF_ONE) & (on_left < _LEAST_OF_OTHER)] = 1
    runs[(on_left > _LEAST_OF_ONE) & (on_right < _LEAST_OF_OTHER)] = -1
    return runs


def own_sides(replays: Replays) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which analysed states lie only on the left, and which only on the right.

    The landmarks are `left_loop, right_loop` or `left_arm, right_arm`.
    """
    left, right = (landmark(replays.task, *names) for names in (_LEFT, _RIGHT))
    return left & ~right, right & ~left


def lap_side(replays: Replays) -> NDArray[np.int64]:
    """Return the side of each lap, by its name.

    -1 for laps named ``left``, 1 for laps named ``right``, 0 for all others.
    """
    name = replays.laps["lap"]
    return is_one_of(name, ["right"]).astype(int) - is_one_of(name, ["left"])


def _side_at(replays: Replays) -> NDArray[np.int64]:
    left, right = own_sides(replays)
    return right.astype(int) - left


def side_run(replays: Replays) -> NDArray[np.int64]:
    """Return the side on which each lap began or, if it began on neither, on which it ended.

    -1 for left, 1 for right, 0 for neither.
    """
    side = _side_at(replays)
    start, end = (side[replays.laps[name].to_numpy(int)] for name in ("start", "end"))
    came: NDArray[np.int64] = np.where(start != 0, start, end)
    return came


def arms(replays: Replays) -> NDArray[np.int64]:
    """Return the arm of each analysed state; -1 for no arm.

    Arms are landmarks such as ``arm1`` or ``arm_a``, numbered from 0 in their order.
    """
    number = np.full(len(replays.task.node), -1)
    names = [name for name in replays.task.landmarks if _ARM.fullmatch(name)]
    for i, name in enumerate(names):
        number[landmark(replays.task, name)] = i
    return number


def main_arm(arm: NDArray[np.int64], walked: Lists) -> NDArray[np.int64]:
    """Return the arm, a number of `arms`, where each sequence visits most states; -1 for none."""
    n_arms = int(arm.max()) + 1
    n_sequences = len(walked.begin) - 1
    if not n_arms or not n_sequences:
        return np.full(n_sequences, -1)
    visits = np.stack([covered(walked, arm == i) for i in range(n_arms)], axis=1)
    return np.where(visits.any(axis=1), visits.argmax(axis=1), -1)
