"""Grids of cells with walls between some of them, as Diekmann & Cheng (2023) number them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["DOWN", "LEFT", "MOVES", "RIGHT", "UP", "WalledGrid", "between"]

LEFT, UP, RIGHT, DOWN = range(4)
MOVES = {LEFT: (0, -1), UP: (-1, 0), RIGHT: (0, 1), DOWN: (1, 0)}
"""Action -> rows down and columns to the right."""


class WalledGrid(NamedTuple):
    """A grid of cells, numbered row by row, with walls between some of them.

    Attributes
    ----------
    height, width : int
        Rows and columns.
    walls : tuple of (int, int)
        Neighbouring cells with a wall between them.
    """

    height: int
    width: int
    walls: tuple[tuple[int, int], ...] = ()

    def next_state(self) -> NDArray[np.int64]:
        """Tell where each action leads.

        Returns
        -------
        ndarray of int, shape (height * width, 4)
            The cell itself where an edge or a wall is in the way.

        Examples
        --------
        >>> WalledGrid(1, 3, ((1, 2),)).next_state()[:, [LEFT, RIGHT]].tolist()
        [[0, 1], [0, 1], [2, 2]]
        """
        table = np.empty((self.height * self.width, len(MOVES)), dtype=np.int64)
        closed = {*self.walls, *((there, here) for here, there in self.walls)}
        for state in range(len(table)):
            row, column = divmod(state, self.width)
            for action, (down, right) in MOVES.items():
                there = (
                    min(max(row + down, 0), self.height - 1) * self.width
                    + min(max(column + right, 0), self.width - 1)
                )  # fmt: skip
                table[state, action] = state if (state, there) in closed else there
        return table


def between(first: Iterable[int], step: int) -> tuple[tuple[int, int], ...]:
    """Give walls between cells and those that are so many numbers on.

    Examples
    --------
    >>> between((0, 1), 10)
    ((0, 10), (1, 11))
    """
    return tuple((state, state + step) for state in first)
