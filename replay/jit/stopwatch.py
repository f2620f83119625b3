"""What goes with compiling: its time does not count as work, and no search for garbage then."""

import gc
import time
from typing import Any

import numba.core.event

__all__ = ["working_seconds"]

_event: Any = numba.core.event


class _Stopwatch(_event.Listener):  # type: ignore[misc]
    """Sums the time in which this process compiles, or loads compiled code.

    Compiling makes many objects and little garbage: to search them for some takes an eighth of it.
    """

    def __init__(self) -> None:
        self.seconds, self._begun, self._depth, self._collects = 0.0, 0.0, 0, False

    def on_start(self, event: Any) -> None:
        if not self._depth:
            self._begun, self._collects = time.process_time(), gc.isenabled()
            gc.disable()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if not self._depth:
            self.seconds += time.process_time() - self._begun
            if self._collects:
                gc.enable()


_stopwatch = _Stopwatch()
_event.register("numba:compiler_lock", _stopwatch)


def working_seconds() -> float:
    """Return the processor seconds of this process, without compiling or loading compiled code."""
    return time.process_time() - _stopwatch.seconds
