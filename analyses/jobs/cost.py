"""Estimates of what work costs, before it begins."""

from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["BYTES_OF_FIGURES", "BYTES_OF_PROCESS", "WorkCost", "seconds_of_figures"]

BYTES_OF_FIGURES = 10_000_000
"""Disk space for tables and figures, in bytes."""

BYTES_OF_PROCESS = 450_000_000
"""Memory of a process, in bytes; half of it is libraries and compiled loops."""


class WorkCost(NamedTuple):
    """What the remaining work of a study costs.

    Attributes
    ----------
    counts : mapping of str to int
        Unit -> number of units left, such as ``steps`` and ``backups``, or ``animals``.
    seconds : float
        Time that one process would need for them on an idle machine.
    n_bytes : float
        Disk space, in bytes.
    memory : float
        Memory of each process, in bytes.
    seconds_after : float
        Time for tables and figures on an idle machine, in seconds.
    slowdown : float
        How many times as long both take while the machine is as busy as it was when this was
        estimated; 1 on an idle machine.
    """

    counts: Mapping[str, int]
    seconds: float
    n_bytes: float
    memory: float = BYTES_OF_PROCESS
    seconds_after: float = 0.0
    slowdown: float = 1.0


_SECONDS_TO_BEGIN = 2.5
_SECONDS_OF_FIGURE = 0.6


def seconds_of_figures(n_figures: int, n_processes: int) -> float:
    """Estimate the time for tables and figures on an idle machine.

    They are divided among processes.

    Examples
    --------
    >>> seconds_of_figures(5, 1)
    5.5
    """
    if not n_figures:
        return 0.0
    return _SECONDS_TO_BEGIN + _SECONDS_OF_FIGURE * -(-n_figures // n_processes)
