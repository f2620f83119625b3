"""The settings of decoding, the criteria for replay, and the files of an experiment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from analyses.sequences import RECORDED, Detection

if TYPE_CHECKING:
    import networkx as nx


MOST_UNKNOWN = 0.2
"""The largest share of positions on the track that may be unknown."""
FARTHEST = 30.0
"""A position farther from the track than this, in cm, is not on it."""
MEDIAN_SPAN = 0.3
"""The length of the running median that removes outliers of positions, in s."""
N_SESSIONS = 10
"""Number of sessions that are simulated to correct shares."""
DETECTED_IN = ("activity", "posterior")
"""What candidate events are detected in: the rate of all cells (or ripples, if there is a field
potential), or the decoded posterior of all times at which the animal is slow."""
FIND, FIND_RIPPLES, FIND_DECODED = "find", "find_ripples", "find_decoded"
"""The words, in the place of a table, for events that are detected: in the rate of all cells, in
the ripple band of the field potential, or in the decoded posterior."""
RUN = "run"
"""The name of the epoch of running, in which place fields are estimated."""


class Criteria(NamedTuple):
    """The criteria of candidate events.

    Attributes
    ----------
    threshold : float in SD
        Detection threshold for candidate events, in standard deviations.
    shortest : float in s
        Least duration of a detected event, in s.
    longest : float in s
        Largest duration of a detected event, in s.
    merged_within : float in s
        Events with a shorter gap between them are merged.
    largest_speed : float in cm/s
        Largest running speed during a detected event, in cm/s.
    """

    threshold: float = 3.0
    shortest: float = 0.1
    longest: float = 0.75
    merged_within: float = 0.05
    largest_speed: float = 5.0


RIPPLES = Criteria(2.0, 0.015, 1.0, 0.0, 4.0)
"""The criteria for ripples of Kay et al., except for the longest duration."""


class Settings(NamedTuple):
    """The settings of decoding.

    Attributes
    ----------
    bin_size : float in cm
        Length of the bins of the track or the arena, in cm.
    time_bin : float in s
        Length of the time bins for decoding events, in s.
    diffusion : float
        Variance of continuous movement per second, in cm^2; 3,000 as in
        replay_trajectory_classification (6 in 2 ms).
    smoothing : float
        Standard deviation of the smoothing of place fields, in cm.
    least_speed : float
        Least speed of running, in cm/s.
    least_peak, largest_mean : float
        Cells are used if their rate reaches the former somewhere on the track, and is at most the
        latter on average while the animal runs, in Hz.
    lowest_rate : float
        Lowest rate of each cell at each place, in Hz, so that a single spike at an unlikely place
        does not outweigh all others. .1 is the background rate in the simulations of Takigawa et
        al. (2024).
    criteria : Criteria
        The criteria of candidate events, if these are detected: by default those of bursts; those
        of ripples are ``RIPPLES``.
    detected_in : str
        What candidate events are detected in, if they are; see ``DETECTED_IN``.
    """

    bin_size: float = 5.0
    time_bin: float = 0.005
    diffusion: float = 3000.0
    smoothing: float = 6.0
    least_speed: float = 5.0
    least_peak: float = 0.5
    largest_mean: float = 10.0
    lowest_rate: float = 0.1
    criteria: Criteria = Criteria()
    detected_in: str = "activity"


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


class Judgement(NamedTuple):
    """The criteria for replay.

    Attributes
    ----------
    level : float
        The share of each control that may reach the evidence of replay.
    n_shuffles : int
        Number of times that the cells of each event are exchanged.
    n_controls : int
        Number of events of each other control, such as places that are held, for each event.
    least_active : int
        Least number of active cells; other events are not tested.
    state_size : float in cm
        Distance between neighbouring states, in cm.
    other_sizes : tuple of float
        Other such distances, for which kinds are computed, too: results should depend on it little.
        Edges are divided evenly, as nearly as can be.
    lap_ends : tuple of str
        The names of nodes of the track at which laps end; by default its dead ends, or without any
        the nodes where the animal pauses or passes most.
    tracks : tuple of tuple of str
        The names of the nodes of two parts of the track, such as two arms, that are compared by
        track log odds. By default the two components of a track graph with two; otherwise nothing
        is compared.
    detection : Detection
        The criteria for place sequences.
    """

    level: float = 0.05
    n_shuffles: int = 20
    n_controls: int = 5
    least_active: int = 4
    state_size: float = 15.0
    other_sizes: tuple[float, ...] = (10.0, 20.0, 30.0)
    lap_ends: tuple[str, ...] = ()
    tracks: tuple[tuple[str, ...], ...] = ()
    detection: Detection = RECORDED


ARENA = Judgement(state_size=25.0, other_sizes=(20.0, 30.0, 40.0))
"""The criteria in an arena, where larger states lie beside each other, too, and paths between few
of them are seldom run twice."""


def judgement_for(graph: nx.Graph | None, **given: Any) -> Judgement:
    """Return the default criteria on a track or in an arena, but for those that are given.

    None stands for a default.

    Examples
    --------
    >>> judgement_for(None, level=0.01, state_size=None)[:2]
    (0.01, 20)
    >>> import networkx as nx
    >>> judgement_for(nx.Graph(arena=True)).state_size
    25.0
    """
    usual = ARENA if graph is not None and "arena" in graph.graph else Judgement()
    return usual._replace(**{name: value for name, value in given.items() if value is not None})


def check_criteria(criteria: Criteria) -> None:
    """Check the criteria of candidate events."""
    from replay.checks import check_number

    if not isinstance(criteria, Criteria):
        raise TypeError(f"criteria must be Criteria, got {type(criteria).__name__}.")
    if check_number("threshold", criteria.threshold, at_least=0.0) == 0:
        raise ValueError(
            "threshold must be above 0 standard deviations, got 0: every fluctuation above the "
            "mean would be an event. Thresholds of 2 to 4 are usual."
        )
    check_number("shortest", criteria.shortest, at_least=0.0)
    check_number("longest", criteria.longest, at_least=criteria.shortest, finite=False)
    check_number("merged_within", criteria.merged_within, at_least=0.0)
    check_number("largest_speed", criteria.largest_speed, at_least=0.0, finite=False)


def check_settings(settings: Settings) -> None:
    """Check the settings of decoding; `check_criteria` checks those of candidates."""
    from replay.checks import check_choice, check_number, shown  # commands start without numpy

    if not isinstance(settings, Settings):
        raise TypeError(f"settings must be Settings(...), got {shown(settings)}.")
    check_number("time_bin", settings.time_bin, at_least=1e-4, at_most=1.0)
    check_number("diffusion", settings.diffusion, at_least=1e-3)
    for name in ("smoothing", "least_speed", "least_peak", "largest_mean", "lowest_rate"):
        check_number(name, getattr(settings, name), at_least=0.0, finite=False)
    check_choice("detected_in", settings.detected_in, DETECTED_IN)


def check_judgement(judgement: Judgement) -> None:
    """Check the criteria for replay."""
    from replay.checks import check_list, check_number, check_whole

    if not isinstance(judgement, Judgement):
        raise TypeError(f"judgement must be a Judgement, got {type(judgement).__name__}.")
    check_number("level", judgement.level, at_least=1e-4, at_most=1)
    for name in ("n_shuffles", "n_controls"):
        check_whole(name, getattr(judgement, name), at_least=1)
    check_whole("least_active", judgement.least_active)
    n_tracks = len(check_list("tracks", judgement.tracks))
    if n_tracks not in (0, 2):
        raise ValueError(f"Track log odds compare two tracks; got {n_tracks}. Name nodes of two.")
    for size in (judgement.state_size, *check_list("other_sizes", judgement.other_sizes)):
        check_number("state_size", size, at_least=1.0, hint="It is a distance in cm.")
