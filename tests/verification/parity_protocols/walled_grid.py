"""Grids of cells with walls between some of them, as Diekmann & Cheng (2023) number them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["DISPLACEMENTS", "DOWN", "LEFT", "RIGHT", "UP", "WalledGrid", "walls_between"]

LEFT, UP, RIGHT, DOWN = range(4)
DISPLACEMENTS = {LEFT: (0, -1), UP: (-1, 0), RIGHT: (0, 1), DOWN: (1, 0)}
"""Action -> how many rows down and columns to the right it moves."""


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
        """Return the cell that each action leads to, shape (n_cells, 4); itself if it cannot move.

        Examples
        --------
        >>> WalledGrid(1, 3, ((1, 2),)).next_state()[:, [LEFT, RIGHT]].tolist()
        [[0, 1], [0, 1], [2, 2]]
        """
        table = np.empty((self.height * self.width, len(DISPLACEMENTS)), dtype=np.int64)
        closed = {*self.walls, *((there, here) for here, there in self.walls)}
        for state in range(len(table)):
            row, column = divmod(state, self.width)
            for action, (down, right) in DISPLACEMENTS.items():
                there = (
                    min(max(row + down, 0), self.height - 1) * self.width
                    + min(max(column + right, 0), self.width - 1)
                )  # fmt: skip
                table[state, action] = state if (state, there) in closed else there
        return table


def walls_between(first: Iterable[int], step: int) -> tuple[tuple[int, int], ...]:
    """List walls between cells and those whose number is larger by `step`.

    Examples
    --------
    >>> walls_between((0, 1), 10)
    ((0, 10), (1, 11))
    """
    return tuple((state, state + step) for state in first)
