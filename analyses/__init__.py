"""Analyses of replay: tables in, tables and figures out.

:func:`classify` chains the backups of an event log into sequences and classifies each against what
had been experienced until then, :func:`classify_paths` does so with decoded replay, and
:func:`place_sequences` finds what an electrode would see in either;
:mod:`analyses.reward_rate` compares learners; :mod:`analyses.plots` draws;
:mod:`analyses.studies.brea_2018` does all of it for the paper, and
:mod:`analyses.studies.comparison` holds learners against what was published of animals.
"""

from importlib import import_module
from typing import Any

__all__ = ["classify", "classify_paths", "decoded_backups", "place_sequences"]

_ROOMS = {
    "classify": "classification",
    "classify_paths": "classification",
    "decoded_backups": "chains",
    "place_sequences": "place_sequences",
}


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return getattr(import_module(f"analyses.sequences.{_ROOMS[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
