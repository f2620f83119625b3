"""What work costs before it begins."""

from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["BYTES_OF_FIGURES", "BYTES_OF_PROCESS", "Cost"]

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
