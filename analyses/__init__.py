"""Analyses of replay: tables in, tables and figures out."""

from typing import TYPE_CHECKING

from replay.lazy import offered
from replay.version import __version__

if TYPE_CHECKING:
    from analyses import plots
    from analyses.measures import STATISTICS
    from analyses.recordings.find_replay import find_replay
    from analyses.recordings.readers import read_recording
    from analyses.sequences.chains import decoded_backups
    from analyses.sequences.classification import classify, classify_paths
    from analyses.sequences.place_sequences import place_sequences
    from analyses.studies.comparison import compare

__all__ = ["STATISTICS", "__version__", "classify", "classify_paths", "compare"]
__all__ += ["decoded_backups", "find_replay", "place_sequences", "plots", "read_recording"]

_ROOMS = {"measures": "STATISTICS", "recordings.find_replay": "find_replay", "plots": "plots"}
_ROOMS |= {"recordings.readers": "read_recording", "sequences.chains": "decoded_backups"}
_ROOMS |= {"sequences.classification": "classify classify_paths", "studies.comparison": "compare"}
_ROOMS |= {"sequences.place_sequences": "place_sequences"}
__getattr__, __dir__ = offered(__name__, _ROOMS)
