"""What work costs before it begins."""

from collections.abc import Mapping
from time import perf_counter, process_time
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
    """

    counts: Mapping[str, int]
    seconds: float
    n_bytes: float
    memory: float = BYTES_OF_PROCESS


_SECONDS_TO_BEGIN = 3.0
_SECONDS_OF_FIGURES = 3.0
_PROBE_SECONDS = 0.2


def seconds_of_figures(n_drawings: int, n_processes: int) -> float:
    """Estimate the time for tables and figures on a machine as busy as this one is now.

    Parameters
    ----------
    n_drawings : int
        How many functions draw; each makes a figure or a few.
    n_processes : int
        How many processes share them.

    Returns
    -------
    float
        Seconds.
    """
    if not n_drawings:
        return 0.0
    begin, used = perf_counter(), process_time()
    while process_time() - used < _PROBE_SECONDS:
        pass
    busy = (perf_counter() - begin) / _PROBE_SECONDS
    turns = -(-n_drawings // min(n_processes, n_drawings))
    return busy * (_SECONDS_TO_BEGIN + _SECONDS_OF_FIGURES * turns)
