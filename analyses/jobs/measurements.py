"""Measurements that are made piece by piece, so that they go on where they were interrupted.

A piece is what one call of a function gives, such as all runs in one world. Pieces don't depend on
one another, so any number of processes gives the same tables.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import NamedTuple

import pandas as pd

from analyses.jobs import workers
from analyses.jobs.results import Results

__all__ = ["Measurement", "measure_pieces"]

Tables = Mapping[str, pd.DataFrame]


class Measurement(NamedTuple):
    """What is to be measured.

    Attributes
    ----------
    tables : sequence of str
        The names of the tables of a piece.
    make : callable
        A function of a module; makes the tables of a piece.
    pieces : sequence of tuple
        Its arguments, a tuple for each piece.
    summarise : callable
        Makes the tables that are looked at of those of all pieces, one below the other.
    """

    tables: Sequence[str]
    make: Callable[..., Tables]
    pieces: Sequence[tuple]
    summarise: Callable[[Tables], Tables]

    @property
    def about(self) -> dict[str, object]:
        """What :class:`analyses.jobs.results.Results` must know of the pieces."""
        n_pieces = dict.fromkeys(self.tables, len(self.pieces))
        return {"experiments": list(self.tables), "n_mdps": n_pieces}


def measure_pieces(
    measurement: Measurement,
    *,
    results: Results | None = None,
    jobs: int = 1,
    on_piece: Callable[[], None] = lambda: None,
) -> Tables:
    """Make all pieces that are not done yet, and summarise.

    Parameters
    ----------
    measurement : Measurement
        What to measure.
    results : Results, optional
        Where pieces are kept, and looked for first; the folder is being written to. Without it
        nothing is kept.
    jobs : int, default 1
        How many processes to use; 1 starts none.
    on_piece : callable, optional
        Called after each piece, those found done included.

    Returns
    -------
    mapping of str to pandas.DataFrame
        The summary, the same for any number of processes and interruptions.

    Examples
    --------
    >>> def make(number):
    ...     return {"squares": pd.DataFrame({"number": [number], "square": number**2})}
    >>> squares = Measurement(["squares"], make, [(2,), (3,)], lambda tables: tables)
    >>> measure_pieces(squares)["squares"]["square"].tolist()
    [4, 9]
    """
    done: dict[int, Tables] = {}
    for index in range(len(measurement.pieces)):
        if results is not None and _is_whole(results, measurement.tables, index):
            done[index] = {name: results.read_piece(name, index) for name in measurement.tables}
            on_piece()
    left = [
        (measurement.make, index, piece)
        for index, piece in enumerate(measurement.pieces)
        if index not in done
    ]
    with workers.ended(jobs), closing(workers.run(_numbered, left, jobs=jobs)) as made:
        for index, tables in made:
            done[index] = tables
            if results is not None:
                for name, table in tables.items():
                    results.write_piece(name, index, table)
            on_piece()
    in_order = [done[index] for index in sorted(done)]
    return measurement.summarise(
        {
            name: pd.concat([tables[name] for tables in in_order], ignore_index=True)
            for name in measurement.tables
        }
    )


def _is_whole(results: Results, names: Sequence[str], index: int) -> bool:
    return all(
        results.is_finished(name, index) and not results.damaged(name, index) for name in names
    )


def _numbered(make: Callable[..., Tables], index: int, piece: tuple) -> tuple[int, Tables]:
    return index, make(*piece)
