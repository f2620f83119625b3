"""What work costs before it begins."""

from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["BYTES_OF_FIGURES", "BYTES_OF_PROCESS", "Cost", "seconds_of_figures"]

BYTES_OF_FIGURES = 10_000_000
"""Room on disk for tables and figures."""

BYTES_OF_PROCESS = 450_000_000
"""Memory of a process, of which half are libraries and compiled loops."""


class Cost(NamedTuple):
    """What is left of a study costs.

    Attributes
    ----------
    counts : mapping of str to int
        What is left to do: for instance how many ``steps`` and ``backups``, or ``animals``.
    seconds : float
        Time for it, if one process did it.
    n_bytes : float
        Room on disk, in bytes.
    memory : float
        Memory of each process, in bytes.
    seconds_after : float
        Time for tables and figures.
    """

    counts: Mapping[str, int]
    seconds: float
    n_bytes: float
    memory: float = BYTES_OF_PROCESS
    seconds_after: float = 0.0


_SECONDS_TO_BEGIN = 2.5
_SECONDS_OF_FIGURE = 1.1


def seconds_of_figures(n_figures: int, n_processes: int) -> float:
    """Estimate the time for tables and figures on an idle machine.

    Parameters
    ----------
    n_figures : int
        How many there are.
    n_processes : int
        How many processes share them.

    Returns
    -------
    float
        Seconds.

    Examples
    --------
    >>> seconds_of_figures(5, 1)
    8.0
    """
    if not n_figures:
        return 0.0
    return _SECONDS_TO_BEGIN + _SECONDS_OF_FIGURE * -(-n_figures // n_processes)
