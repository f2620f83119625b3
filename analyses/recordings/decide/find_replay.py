"""From a recording to classified replay: events, decoded paths, significance and kinds.

Each candidate event is decoded on the track, and so are controls with as many spikes: those with
exchanged cells and those that hold places. What they reach is the least evidence of replay. The
course of each stretch of travel in an event that has as much is converted to place sequences
(:func:`analyses.place_sequences`), which are classified against what the animal had run before.
"""

from __future__ import annotations

import pandas as pd

from analyses.recordings.basics.judgement import Judgement
from analyses.recordings.basics.recording import Recording
from analyses.recordings.basics.settings import Settings
from analyses.recordings.decide.conclusions import Conclusions, conclude
from analyses.recordings.decide.held_out import held_out
from analyses.recordings.decide.scoring import Scored, n_blocks, score_block
from analyses.recordings.prepare.session import Session, prepare
from replay.checks import known_arguments

__all__ = ["conclude_session", "find_replay"]


@known_arguments
def find_replay(
    recording: Recording,
    settings: Settings | None = None,
    judgement: Judgement | None = None,
    *,
    seed: int = 0,
) -> Conclusions:
    """Find and classify the replay in a recording.

    Parameters
    ----------
    recording : Recording
        As `analyses.recordings.readers.read_recording` returns it.
    settings : Settings, optional
        The settings of decoding; by default those for how its events are found, as
        `analyses.recordings.prepare.session.settings_for` chooses them.
    judgement : Judgement, optional
        The criteria for replay; by default those on a track or in an arena.
    seed : int, default 0
        Seed of the controls.

    Returns
    -------
    Conclusions
        Events, sequences and kinds, and how they were found.

    Raises
    ------
    ValueError
        If required data are missing.

    Examples
    --------
    A simulated animal runs along a linear track, and replays its runs backwards:

    >>> from analyses.recordings.recover.observe import observe
    >>> from replay import MDP, simulate
    >>> from replay.worlds.tracks import make_linear_track
    >>> track = make_linear_track(120.0)
    >>> world = MDP.from_networkx(track, rewards={1: 1.0}, terminal=1, start=0, bin_size=15.0)
    >>> log = simulate(world, "episodic_control", n_steps=400, max_episode_steps=40, seed=1).log
    >>> recording = observe(log, track, cells=60, speed=400.0).recording
    >>> found = find_replay(recording, judgement=Judgement(other_sizes=()))
    >>> found.events["kind"].value_counts().index[0]
    'reverse_episode'
    """
    session = prepare(recording, settings, judgement)
    blocks = [score_block(session, block, seed) for block in range(n_blocks(session))]
    scored = Scored(*(pd.concat(parts, ignore_index=True) for parts in zip(*blocks, strict=True)))
    return conclude_session(session, scored)


def conclude_session(session: Session, scored: Scored) -> Conclusions:
    """Conclude what was replayed, and ask whether fields hold in events."""
    return conclude(session, scored)._replace(held=held_out(session))
