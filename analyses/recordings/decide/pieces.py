"""The experienced pieces, read forward or backward, of which a replayed path is composed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from analyses.sequences.experience import Experience

__all__ = ["ExperiencedPiece", "experienced_pieces"]


class ExperiencedPiece(NamedTuple):
    """A piece of a replayed path, and its experience."""

    # the piece is ``states[begin:end + 1]``
    begin: int
    end: int
    episode: int  # the latest episode that contains it
    backward: bool  # whether it was run in the opposite direction


def experienced_pieces(
    states: Sequence[int],
    experience: Experience,
    step: int | None = None,
    moves: Sequence[str] | None = None,
) -> list[ExperiencedPiece]:
    """Split a path into the least number of experienced pieces, each read in either direction.

    `moves`, the labels of :func:`analyses.place_sequences`, rule out one of them where a heading is
    told.
    """
    path = [int(state) for state in states]
    found: list[ExperiencedPiece] = []
    begin, last = 0, len(path) - 1
    while begin < last:
        best: ExperiencedPiece | None = None
        for end in range(begin + 1, last + 1):
            part, labels = path[begin : end + 1], set((moves or ())[begin:end])
            ahead, back = experience.pieces(part, step), experience.pieces(part[::-1], step)
            read = ((ahead, False, "backward"), (back, True, "forward"))
            whole = [
                (each, way) for each, way, other in read if len(each) == 1 and other not in labels
            ]
            if not whole:
                break
            (piece,), backward = max(whole, key=lambda each: each[0][0].episode)
            best = ExperiencedPiece(begin, end, piece.episode, backward)
        if best is None:
            return []
        found.append(best)
        begin = best.end
    return found
