"""What is read of the files of an experiment."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from analyses.recordings.basics.settings import MOST_UNKNOWN, Settings

__all__ = ["Files"]


class Files(NamedTuple):
    """The files of an experiment: a recording of each animal, and what they share.

    Attributes
    ----------
    recordings : tuple of path or address
        The recording of each animal.
    track : FILE
        The track graph (JSON), unless the file holds it. Without one, the animal is taken to move
        in an arena.
    complements : FILE
        A file with what the recording lacks: spikes, positions or events. For several recordings:
        one file for each, in the same order.
    bins : FILE
        The positions of the bins of a posterior (.csv).
    position : NAMES, default the first with x and y
        The series of positions in an NWB file; several that follow one another are joined by
        commas. The structure of positions of CellExplorer, if there are several.
    units : EXPRESSION, default all
        The units that are read from an NWB file, by the columns of their table, such as "location
        == 'CA1' and cell_type == 'pyramidal'"; or 'marks': spikes that were not sorted.
        'TABLE:EXPRESSION' chooses one of several tables of units.
    most_unknown : SHARE
        The largest share of positions that may be missing.
    events : EVENTS
        Candidate events: a file (.csv, .parquet, .npz, .mat); the name of a table in the NWB file;
        'find' to detect them from the firing rate of all cells; 'find_ripples', in the field
        potential; or 'find_decoded' to detect them in the decoded posterior.
    channel : [SERIES:]N, default all for ripples, else none
        The channel of the field potential, from 0, in which ripples are detected, or which is shown
        beside events that are given; SERIES is one of several in the file.
    epochs : NAME=BEGIN:END,..., default none
        Epochs in which replay is compared, such as before=0:600,run=600:1500,after=1500:2400, in s;
        instead of times, a label of the file (TABLE:LABEL if several tables have it), or a table of
        intervals. Place fields are estimated in the epoch named run.
    tracks : NAMES, default the two parts of a graph that are not connected
        Two landmarks, one on each of the two tracks that the log odds of each event compare.
    bin_size : float in cm
        The side of the bins of an arena; see `analyses.recordings.readers.read_recording`.
    """

    recordings: tuple[str | Path, ...] = ()
    track: Path | None = None
    complements: tuple[str, ...] = ()
    bins: Path | None = None
    position: str | None = None
    units: str | None = None
    most_unknown: float = MOST_UNKNOWN
    events: str | None = None
    channel: str | None = None
    epochs: str | None = None
    tracks: tuple[str, ...] = ()
    bin_size: float = Settings().bin_size
