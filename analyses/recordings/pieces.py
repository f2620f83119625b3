"""The experienced pieces, read forward or backward, of which a replayed path is composed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from analyses.sequences.experience import Experience

__all__ = ["ExperiencedPiece", "experienced_pieces"]


class ExperiencedPiece(NamedTuple):
    """A piece of a replayed path, and its experience.

    Attributes
    ----------
    begin, end : int
        The piece is ``states[begin:end + 1]``.
    episode : int
        The latest episode that contains it.
    backward : bool
        Whether it was run in the opposite direction.
    """

    begin: int
    end: int
    episode: int
    backward: bool


def experienced_pieces(
    states: Sequence[int], experience: Experience, step: int | None = None
) -> list[ExperiencedPiece]:
    """Split a path into the least number of experienced pieces, each read in either direction.

    Parameters
    ----------
    states : sequence of int
        The path as it was replayed.
    experience : Experience
        The index of experience.
    step : int, optional
        The last step that counts; by default all steps count.

    Returns
    -------
    list of ExperiencedPiece
        The pieces in order; empty if a move was never made in either direction.

    Examples
    --------
    >>> import numpy as np
    >>> steps = {"state": [0, 1, 2, 1], "next_state": [1, 2, 1, 3],
    ...          "episode": [0, 0, 1, 1], "step": [0, 1, 2, 3]}
    >>> run = Experience({name: np.array(values) for name, values in steps.items()})
    >>> [(piece.begin, piece.end, piece.backward) for piece in experienced_pieces([3, 1, 2], run)]
    [(0, 2, True)]
    """
    path = [int(state) for state in states]
    found: list[ExperiencedPiece] = []
    begin, last = 0, len(path) - 1
    while begin < last:
        best: ExperiencedPiece | None = None
        for end in range(begin + 1, last + 1):
            part = path[begin : end + 1]
            ahead, back = experience.pieces(part, step), experience.pieces(part[::-1], step)
            whole = [(each, way) for each, way in ((ahead, False), (back, True)) if len(each) == 1]
            if not whole:
                break
            (piece,), backward = max(whole, key=lambda each: each[0][0].episode)
            best = ExperiencedPiece(begin, end, piece.episode, backward)
        if best is None:
            return []
        found.append(best)
        begin = best.end
    return found
