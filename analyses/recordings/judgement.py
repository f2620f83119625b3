"""The criteria for replay: significance, place sequences, and the states and laps of experience."""

from __future__ import annotations

from typing import NamedTuple

import networkx as nx

from analyses.recordings.binned_track import BinnedTrack
from analyses.recordings.recording import Recording
from analyses.recordings.significance.scores import SCORES
from analyses.recordings.significance.shuffles import check_shuffles
from analyses.sequences.place_sequences import Detection
from replay.checks import check_choice, check_number, check_whole, shown

__all__ = ["LEAST_SCORES", "Judgement", "check_judgement", "check_state_size"]

_WITHOUT_SPIKES = "continuous"

LEAST_SCORES = {"continuous": 0.5, "weighted_correlation": 0.0, "line_fit": 0.0}
"""The default minimum of each score. For posteriors of single time bins, which fit a line less well
the shorter the bins are, significance alone decides."""


class Judgement(NamedTuple):
    """The criteria for replay.

    Attributes
    ----------
    score : str
        The score of each event and of its shuffles; see
        `analyses.recordings.significance.scores.SCORES`.
    least_score : float
        Least score of replay; see ``LEAST_SCORES``.
    level : float
        The share of events with randomised cells that may pass.
    shuffles : tuple of str
        The shuffles; see `analyses.recordings.significance.shuffles.SHUFFLES`.
    n_shuffles : int
        Number of shuffles of each.
    least_active : int
        Least number of active cells; other events are not tested.
    state_size : float
        Largest distance between neighbouring states, in cm. Results should depend on it little;
        they are also computed for `other_sizes`.
    other_sizes : tuple of float
        Other such distances, in cm.
    lap_ends : tuple of str
        The names of nodes of the track at which laps end; by default its dead ends.
    tracks : tuple of tuple of str
        The names of the nodes of two parts of the track, such as two arms, that are compared by
        track log odds. By default the two components of a track graph with two; otherwise nothing
        is compared.
    detection : Detection
        The criteria for place sequences.
    """

    score: str = "continuous"
    least_score: float = LEAST_SCORES["continuous"]
    level: float = 0.05
    shuffles: tuple[str, ...] = ("cell_identity", "circular_fields")
    n_shuffles: int = 200
    least_active: int = 4
    state_size: float = 15.0
    other_sizes: tuple[float, ...] = (10.0, 20.0, 30.0)
    lap_ends: tuple[str, ...] = ()
    tracks: tuple[tuple[str, ...], ...] = ()
    detection: Detection = Detection(min_length=3, largest_jump=3)


def check_judgement(judgement: Judgement, recording: Recording) -> None:
    """Check the criteria for replay before decoding begins.

    Parameters
    ----------
    judgement : Judgement
        The user's criteria.
    recording : Recording
        The recording to which they are applied.

    Raises
    ------
    TypeError
        If `judgement` is not a Judgement, or `recording` not a Recording.
    ValueError
        If a number is out of range, a score is unknown or needs spikes that are missing, or only
        time bins or the posterior are shuffled.
    """
    if not isinstance(judgement, Judgement):
        raise TypeError(f"judgement must be a Judgement, got {type(judgement).__name__}.")
    if not isinstance(recording, Recording):
        raise TypeError(
            f"recording must be a Recording, as read_recording(path) returns it; got "
            f"{shown(recording)}."
        )
    check_choice("score", judgement.score, SCORES)
    check_number("least_score", judgement.least_score, at_least=0, at_most=1)
    check_number("level", judgement.level, at_least=0, at_most=1)
    check_whole("n_shuffles", judgement.n_shuffles, at_least=1)
    check_whole("least_active", judgement.least_active)
    check_shuffles(judgement.shuffles)
    if len(judgement.tracks) not in (0, 2):
        raise ValueError(
            f"Track log odds compare two tracks; got {len(judgement.tracks)}. Name nodes of two."
        )
    if judgement.tracks and not recording.spikes:
        raise ValueError(f"Track log odds need spikes, and {recording.name} has none.")
    if judgement.score != _WITHOUT_SPIKES and not recording.spikes:
        raise ValueError(
            f"{recording.name} has no spikes, so the score must be {_WITHOUT_SPIKES}, from the "
            f"posterior of the other program; got {judgement.score}. Keep the default, or add "
            "spikes."
        )
    for size in (judgement.state_size, *judgement.other_sizes):
        check_number("state_size", size, at_least=1.0, hint="It is a distance in cm.")


def check_state_size(size: float, track: BinnedTrack) -> None:
    """Check that states are not larger than the arms of a track.

    Parameters
    ----------
    size : float
        Largest distance between neighbouring states, in cm.
    track : BinnedTrack
        The track.

    Raises
    ------
    ValueError
        If it is longer than the longest corridor between two ends or junctions.

    Examples
    --------
    >>> from analyses.recordings.binned_track import cut_track
    >>> from replay.worlds.tracks import make_linear_track
    >>> check_state_size(15.0, cut_track(make_linear_track(150.0)))
    """
    graph = nx.Graph()
    graph.add_weighted_edges_from(
        (one, other, length)
        for (one, other), length in zip(track.edges.tolist(), track.length.tolist(), strict=True)
    )
    passed = {node for node, degree in graph.degree if degree == 2}
    joined = nx.connected_components(graph.subgraph(passed))
    arms = [[*graph.edges(part, data="weight")] for part in joined]
    arms += [[edge] for edge in graph.edges(data="weight") if not passed & {*edge[:2]}]
    longest = max(sum(length for _, _, length in arm) for arm in arms)
    if size > longest:
        raise ValueError(
            f"state_size must be at most {longest:.4g} cm, the length of the longest arm of the "
            f"track; got {size:g}. States must be much smaller than paths, such as 15 cm."
        )
