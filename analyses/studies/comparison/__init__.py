"""Learners in the tasks of the experiments, and each published finding held against what they do.

:func:`compare` does all of it.
"""

from typing import Any

__all__ = ["compare"]


def __getattr__(name: str) -> Any:
    if name == "compare":
        from analyses.studies.comparison.compare_learners import compare

        return compare
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
