"""The comparison: how probable each published finding is if an account of replay were true.

:func:`compare` is its public function.
"""

from typing import TYPE_CHECKING

from replay.lazy import offered

if TYPE_CHECKING:
    from analyses.studies.comparison.compare_accounts import compare as compare

__getattr__, __dir__, __all__ = offered(__name__)
