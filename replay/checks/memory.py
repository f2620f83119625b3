"""The memory of this machine, checked before it is taken."""

import os

__all__ = ["check_fits"]


def check_fits(n_bytes: float, what: str) -> None:
    """Refuse what does not fit into the memory of this machine.

    Readers of files call it with the size that a file claims for its contents (the shape of an
    array, the number of rows of a table) before they read these.

    Examples
    --------
    >>> check_fits(8 * 1e3, "spike_time of session.npz")
    """
    held = _memory_bytes()
    if n_bytes > held:
        raise ValueError(
            f"There is no room for {what}: it needs {n_bytes / 1e9:,.1f} GB of memory, and this "
            f"machine has {held / 1e9:,.1f} GB."
        )


def _memory_bytes() -> float:
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):  # unknown on this system
        return float("inf")
