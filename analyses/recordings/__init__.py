"""Recordings: from spikes or decoded posteriors to the same sequences as those of models."""

from typing import TYPE_CHECKING

from replay.lazy import offered

if TYPE_CHECKING:
    from analyses.recordings.basics.parts import join_parts as join_parts
    from analyses.recordings.basics.recording import Recording as Recording
    from analyses.recordings.basics.settings import ARENA as ARENA
    from analyses.recordings.basics.settings import Judgement as Judgement
    from analyses.recordings.basics.settings import Settings as Settings
    from analyses.recordings.prepare.proposed_track import proposed_track as proposed_track
    from analyses.recordings.prepare.session import settings_for as settings_for
    from analyses.recordings.readers import read_recording as read_recording
    from analyses.recordings.recover.observe import observe as observe
    from analyses.recordings.recover.recover import recover as recover
    from analyses.recordings.recover.simulated_recording import simulated_arena as simulated_arena
    from analyses.recordings.recover.simulated_recording import (
        simulated_recording as simulated_recording,
    )
    from analyses.recordings.recover.simulated_recording import (
        simulated_two_tracks as simulated_two_tracks,
    )
    from analyses.studies.recorded_replay.recorded import find_replay as find_replay

__getattr__, __dir__, __all__ = offered(__name__)
