"""Analyses of replay: tables in, tables and figures out.

:func:`classify` chains the backups of an event log into sequences and classifies each against what
had been experienced until then; :mod:`analyses.reward_rate` compares learners;
:mod:`analyses.plots` draws; :mod:`analyses.studies.brea_2018` does all of it for the paper, and
:mod:`analyses.studies.comparison` holds learners against what was published of animals.
"""

from typing import Any

__all__ = ["classify"]


def __getattr__(name: str) -> Any:
    if name == "classify":
        from analyses.sequences.classification import classify

        return classify
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
