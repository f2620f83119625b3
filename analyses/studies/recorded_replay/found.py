"""The replay that was found in a recording, with all that ``replay recording`` tells of it.

:func:`find_replay` tests and classifies the events. The methods of its result run the study of the
command on what was tested, so that Python and the command give the same tables and files.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from pathlib import Path

import pandas as pd

from analyses.jobs.kept import Kept
from analyses.recordings.basics.recording import Recording
from analyses.recordings.basics.settings import N_SESSIONS, Judgement, Settings
from analyses.recordings.decide.conclusions import Conclusions, conclude_session
from analyses.recordings.decide.scoring import Scored, n_blocks, score_block
from analyses.recordings.readers.epochs import check_apart
from analyses.reports.recorded import count_replay, replay_by_chance
from analyses.studies.recorded_replay.plan import RecordingPlan, plan_recording
from analyses.studies.recorded_replay.recorded import STUDY
from analyses.studies.recorded_replay.statistics import read_predictions
from replay.checks import check_choice, check_list, known_arguments
from replay.files import check_path


class Found(Kept, Conclusions):
    """The replay that was found in a recording; its attributes are those of `Conclusions`.

    Its methods give what ``replay recording`` writes. The first of them simulates the sessions by
    which shares are corrected, which takes up to a minute; the others reuse its tables.
    """

    study = STUDY
    plan: RecordingPlan

    def shares(self) -> pd.DataFrame:
        """Return the shares of kinds, as found, and as corrected for what would be missed."""
        return self.tables()["shares"]

    def statistics(self) -> pd.DataFrame:
        """Return the statistics of replay, beside published values."""
        return self.tables()["statistics"]

    def _repr_html_(self) -> str:
        told = [
            count_replay(self.events, self.calibration),
            replay_by_chance(self.events, self.calibration),
        ]
        own = self.kinds[self.kinds["state_size"] == self.session.judgement.state_size]
        kinds = own[["kind", "n", "share", "ci_low", "ci_high"]]
        return (
            f"<p><b>{escape(self.session.recording.name)}</b></p>"
            + "".join(f"<p>{escape(text)}</p>" for text in told if text)
            + kinds.round(3).to_html(index=False)
            + "<p>More: <code>report()</code>, <code>figures()</code>, <code>shares()</code>, "
            "<code>statistics()</code>, <code>tables()</code>, <code>save(folder)</code>.</p>"
        )


@known_arguments
def find_replay(
    recording: Recording,
    settings: Settings | None = None,
    judgement: Judgement | None = None,
    *,
    seed: int = 0,
    n_sessions: int = N_SESSIONS,
    epochs: Iterable[str] = (),
    comparison: str | Path | None = None,
) -> Found:
    """Find and classify the replay in a recording.

    Parameters
    ----------
    recording : Recording
        As `analyses.recordings.read_recording` returns it.
    settings : Settings, optional
        The settings of decoding; by default those for how its events are found, as
        `analyses.recordings.settings_for` chooses them.
    judgement : Judgement, optional
        The criteria for replay; by default those on a track or in an arena.
    seed : int, default 0
        Seed of the controls.
    n_sessions : int, default 10
        Number of simulated sessions from which `shares` are corrected; 0: no correction.
    epochs : iterable of str, optional
        Names of epochs of the recording, `recording.epochs`, to compare; by default none are.
    comparison : path, optional
        A folder that ``replay compare`` wrote, whose predictions are shown beside the statistics.

    Returns
    -------
    Found
        Events, sequences and kinds, and how they were found; with a report, figures and tables.

    Raises
    ------
    ValueError
        If required data are missing.

    Examples
    --------
    A simulated animal runs along a linear track, and replays its runs backwards:

    >>> from analyses.recordings import observe
    >>> from replay import MDP, simulate
    >>> from replay.worlds.tracks import make_linear_track
    >>> track = make_linear_track(120.0)
    >>> world = MDP.from_networkx(track, rewards={1: 1.0}, terminal=1, start=0, bin_size=15.0)
    >>> log = simulate(world, "episodic_control", n_steps=400, max_episode_steps=40, seed=1).log
    >>> recording = observe(log, track, cells=60, speed=400.0).recording
    >>> found = find_replay(recording, judgement=Judgement(other_sizes=()), n_sessions=0)
    >>> found.events["kind"].value_counts().index[0]
    'reverse_episode'
    >>> print(found.report()[:36])
    # Replay in the observation of track
    """
    predictions = None
    if comparison is not None:
        predictions = read_predictions(check_path("comparison", comparison))
    names = [str(name) for name in check_list("epochs", epochs)]
    plan = plan_recording(
        recording, settings, judgement, seed, n_sessions=n_sessions, predictions=predictions
    )
    chosen = {check_choice("epoch", name, recording.epochs): name for name in names}
    compared = {name: recording.epochs[name] for name in chosen}
    check_apart(compared)
    blocks = [score_block(plan.session, number, seed) for number in range(n_blocks(plan.session))]
    scored = Scored(*(pd.concat(parts, ignore_index=True) for parts in zip(*blocks, strict=True)))
    found = Found(*conclude_session(plan.session, scored))
    found.plan = plan._replace(epochs=compared, scored=blocks)
    return found
