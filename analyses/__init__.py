"""Analyses of replay: tables in, tables and figures out."""

from typing import TYPE_CHECKING

from replay.lazy import offered
from replay.version import __version__ as __version__

if TYPE_CHECKING:
    from analyses import plots as plots
    from analyses.inference.backups import explain_backups as explain_backups
    from analyses.measures import STATISTICS as STATISTICS
    from analyses.recordings.readers import read_recording as read_recording
    from analyses.sequences.chains import decoded_backups as decoded_backups
    from analyses.sequences.classification import classify as classify
    from analyses.sequences.classification import classify_paths as classify_paths
    from analyses.sequences.events import kinds_in_places as kinds_in_places
    from analyses.sequences.place_sequences import place_sequences as place_sequences
    from analyses.studies.comparison.compare_accounts import compare as compare
    from analyses.studies.explanation.explain import explain as explain
    from analyses.studies.recorded_replay.recorded import find_replay as find_replay

__getattr__, __dir__, __all__ = offered(__name__)
