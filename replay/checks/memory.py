"""The memory of this machine, or what a process may take of it, checked before it is taken."""

import os
import sys
from contextlib import suppress

__all__ = ["check_fits"]

_LITTLE = 1 << 24  # the toolkit itself takes more; to ask for the limits takes as long as 200 steps


def check_fits(n_bytes: float, what: str) -> None:
    """Refuse what does not fit into the memory of this machine, or that allowed by `ulimit`.

    Readers of files call it with the size that a file claims for its contents (the shape of an
    array, the number of rows of a table) before they read these.

    Examples
    --------
    >>> check_fits(8 * 1e3, "spike_time of session.npz")
    """
    if n_bytes <= _LITTLE:
        return
    held = _memory_bytes()
    if n_bytes > held:
        raise ValueError(
            f"There is no room for {what}: it needs {n_bytes / 1e9:,.1f} GB of memory, and there "
            f"are {held / 1e9:,.1f} GB."
        )


def _memory_bytes() -> float:
    if sys.platform == "win32":
        return float("inf")
    import resource

    limits = [resource.getrlimit(each)[0] for each in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    known = [float(limit) for limit in limits if limit != resource.RLIM_INFINITY]
    with suppress(ValueError, OSError):  # unknown on this system
        known.append(float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")))
    return min(known, default=float("inf"))
