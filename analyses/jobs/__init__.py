"""Long computations, done piece by piece, stored and resumable.

Here are the sizes that studies have by default, and what their work costs: commands show them
before any study is imported.
"""

from collections.abc import Mapping
from typing import NamedTuple

N_DRAWS_COMPARED = 128
"""Draws of an account's parameters from their priors, in a comparison with published findings."""
N_DRAWS_EXPLAINED = 64
"""The same where the replay of an animal is explained, or is to be."""
N_SEQUENCES = (10, 30, 100, 300)
"""Numbers of replayed sequences per animal of which it is asked what they could tell."""
N_CHANGING_WORLDS, N_CHANGING_RUNS = 10, 4
"""Changing worlds, and runs of each learner in each of them."""
N_DEMAND_WORLDS, DEMAND_VISITS = 3, 5
"""Worlds of each size in which demands are counted, and steps of a run per state and action."""

BYTES_OF_FIGURES = 10_000_000
"""Disk space for tables and figures, in bytes."""

BYTES_OF_PROCESS = 450_000_000
"""Memory of a process, in bytes; half of it is libraries and compiled loops."""

SECONDS_TO_DRAW, SECONDS_OF_FIGURE = 2.5, 1.5
"""Time until the first figure is drawn, and for the figures of one function, on an idle machine."""


class WorkCost(NamedTuple):
    """What the remaining work of a study costs."""

    counts: Mapping[str, int]  # unit, such as steps, backups or animals -> how many are left
    seconds: float  # that one process would need for them on an idle machine
    n_bytes: float  # on disk
    memory: float = BYTES_OF_PROCESS  # of each process, in bytes
    seconds_after: float = 0.0  # for tables and figures on an idle machine
    slowdown: float = 1.0  # how many times as long both take while the machine is as busy as now
