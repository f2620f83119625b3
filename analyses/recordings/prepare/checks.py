"""Checks of the criteria for replay, before anything is decoded."""

from __future__ import annotations

import networkx as nx
import numpy as np

from analyses.recordings.basics.binned_track import BinnedTrack
from analyses.recordings.basics.recording import Recording
from analyses.recordings.basics.settings import DETECTED_IN, Judgement, Settings
from replay.checks import check_choice, check_list, check_number, check_whole, shown

_LARGEST_BIN = 2 / 3  # of a state, so that the centre of a bin is near that of each state


def check_settings(settings: Settings) -> None:
    """Check the settings of decoding; `check_criteria` checks those of candidates."""
    if not isinstance(settings, Settings):
        raise TypeError(f"settings must be Settings(...), got {shown(settings)}.")
    check_number("time_bin", settings.time_bin, at_least=1e-4, at_most=1.0)
    check_number("diffusion", settings.diffusion, at_least=1e-3)
    for name in ("smoothing", "least_speed", "least_peak", "largest_mean", "lowest_rate"):
        check_number(name, getattr(settings, name), at_least=0.0, finite=False)
    check_choice("detected_in", settings.detected_in, DETECTED_IN)


def check_judgement(judgement: Judgement) -> None:
    """Check the criteria for replay."""
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


def check_data(recording: Recording, judgement: Judgement) -> None:
    """Check that a recording has the data that the criteria need."""
    if recording.graph is None:
        raise ValueError(f"{recording.name} has no track graph: give one.")
    if not recording.spikes and recording.posterior is None and recording.decoded is None:
        raise ValueError(
            f"{recording.name} has neither spikes nor decoded positions: name another file, or one "
            "that has them (session)."
        )
    if judgement.tracks and not recording.spikes:
        raise ValueError(f"Track log odds need spikes, and {recording.name} has none.")


def check_state_size(size: float, track: BinnedTrack) -> None:
    """Check that states are not larger than the arms of a track."""
    if track.is_arena:
        extent = float(np.ptp(track.position, axis=0).max()) + track.square
        if size > extent / 2:
            raise ValueError(
                f"state_size must be at most {extent / 2:.4g} cm, half of the arena; got {size:g}. "
                "States must be much smaller than paths, such as 25 cm."
            )
        return
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


def check_bins_in_states(track: BinnedTrack, state_size: float) -> None:
    """Check that the bins of a track are smaller than its states, through which paths lead."""
    largest, width = _LARGEST_BIN * state_size, float(track.width.max())
    if not track.is_arena and width > largest + 1e-9:
        raise ValueError(
            f"The bins of the track are up to {width:.3g} cm long, and must be at most "
            f"{largest:.3g} cm, two thirds of a state (state_size {state_size:g}): otherwise "
            "decoded paths miss states. Choose smaller bins (bin_size; on the command line, "
            "--bin-size) or larger states."
        )
