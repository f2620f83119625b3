"""How long this process has compiled."""

import time
from typing import Any

import numba.core.event

__all__ = ["compiling_seconds"]

_event: Any = numba.core.event


class _Stopwatch(_event.Listener):  # type: ignore[misc]
    """Sums the time in which this process compiles, or loads compiled code."""

    def __init__(self) -> None:
        self.seconds, self._begun, self._depth = 0.0, 0.0, 0

    def on_start(self, event: Any) -> None:
        if not self._depth:
            self._begun = time.process_time()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if not self._depth:
            self.seconds += time.process_time() - self._begun


_stopwatch = _Stopwatch()
_event.register("numba:compiler_lock", _stopwatch)


def compiling_seconds() -> float:
    """Return the time that this process has spent compiling, or loading compiled code."""
    return _stopwatch.seconds
