"""Analyses of replay: tables in, tables and figures out.

:func:`classify` chains the backups of an event log into sequences and classifies each against what
had been experienced until then, :func:`classify_paths` does so with decoded replay, and
:func:`place_sequences` finds what an electrode would see in either; :func:`compare` holds accounts
of replay against what was published of animals, and :func:`read_recording` and :func:`find_replay`
look for replay in a recording. :mod:`analyses.plots` draws. Nothing is imported before it is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from replay.version import __version__

if TYPE_CHECKING:
    from analyses import plots
    from analyses.measures import STATISTICS
    from analyses.recordings.find_replay import find_replay
    from analyses.recordings.readers import read_recording
    from analyses.sequences.chains import decoded_backups
    from analyses.sequences.classification import classify, classify_paths
    from analyses.sequences.place_sequences import Detection, place_sequences
    from analyses.studies import STUDIES
    from analyses.studies.comparison import compare

__all__ = [
    "STATISTICS",
    "STUDIES",
    "Detection",
    "__version__",
    "classify",
    "classify_paths",
    "compare",
    "decoded_backups",
    "find_replay",
    "place_sequences",
    "plots",
    "read_recording",
]

_ROOMS = {
    "STATISTICS": "measures",
    "STUDIES": "studies",
    "Detection": "sequences.place_sequences",
    "classify": "sequences.classification",
    "classify_paths": "sequences.classification",
    "compare": "studies.comparison",
    "decoded_backups": "sequences.chains",
    "find_replay": "recordings.find_replay",
    "place_sequences": "sequences.place_sequences",
    "read_recording": "recordings.readers",
}


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        found = getattr(import_module(f"analyses.{_ROOMS[name]}"), name)
        globals()[name] = found
        return found
    if name == "plots":
        return import_module("analyses.plots")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
