"""The comparison: how probable each published finding is if an account of replay were true.

:func:`compare` is its public function.
"""

from typing import Any

__all__ = ["compare"]


def __getattr__(name: str) -> Any:
    if name == "compare":
        from analyses.studies.comparison.compare_accounts import compare

        return compare
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
