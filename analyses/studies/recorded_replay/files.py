"""The analysis of the recordings in some files, of one animal or of several."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from analyses.jobs.results import Results
from analyses.jobs.study import Study
from analyses.recordings.basics.judgement import Judgement
from analyses.recordings.basics.recording import Recording
from analyses.recordings.basics.settings import FIND, FIND_DECODED, MOST_UNKNOWN, Settings
from analyses.recordings.prepare.checks import check_judgement
from analyses.recordings.readers import read_recording
from analyses.recordings.readers.remote_files import is_address, name_of
from analyses.recordings.readers.track_graphs import find_tracks
from analyses.studies.recorded_replay import one_animal, several_animals
from analyses.studies.recorded_replay.plan import RecordingPlan, plan_recording
from analyses.studies.recorded_replay.predictions import read_predictions
from analyses.studies.recorded_replay.several_animals import AnimalsPlan, plan_animals
from replay.checks import check_all
from replay.files import safe_name

__all__ = ["Files", "plan_files"]


class Files(NamedTuple):
    """The files of an experiment: a recording of each animal, and what they share.

    Attributes
    ----------
    recordings, complements : sequence of path or address
        Each recording, and a file with what it lacks; none, or one for each.
    track, bins : Path or None
        The track graph, and the bins of a posterior, unless the recordings have them.
    events : str or None
        Candidate events; see `analyses.recordings.readers.read_recording`, or ``"find_decoded"``.
    tracks : sequence of str
        Two landmarks whose tracks are compared by log odds; or none.
    most_unknown : float
        The largest share of positions that may be missing.
    position, units, channel : str, int (a channel) or None
        What is read of NWB files; see `analyses.recordings.readers.read_recording`.
    epochs : str or None
        The epochs that are compared, if any; see the same.
    bin_size : float
        The side of the bins of an arena, in cm; see the same.
    """

    recordings: Sequence[str | Path]
    complements: Sequence[str | Path] = ()
    track: Path | None = None
    bins: Path | None = None
    events: str | None = None
    tracks: Sequence[str] = ()
    most_unknown: float = MOST_UNKNOWN
    position: str | None = None
    units: str | None = None
    channel: int | str | None = None
    epochs: str | None = None
    bin_size: float = Settings().bin_size

    def check(self) -> None:
        """Check that files match, before any of them is read."""
        n_files = len(self.recordings)
        if self.complements and len(self.complements) != n_files:
            raise ValueError(
                f"--session must be given once for each of the {n_files} recordings, in the same "
                f"order, got {len(self.complements)}."
            )
        if n_files > 1 and self.events is not None and Path(self.events).suffix:
            raise ValueError(
                "One table of events cannot serve several recordings. Store the events in each "
                "file or its --session file, or detect them with --events find."
            )
        names = self.names
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise ValueError(
                f"Two files are named {twice[0]}, and results are named after the files. Rename "
                "one of them."
            )

    @property
    def names(self) -> list[str]:
        """The names of the recordings: those of their files."""
        files = [name_of(str(each)) if is_address(each) else each for each in self.recordings]
        return [PurePath(each).stem for each in files]

    def read(self, number: int) -> tuple[Recording, tuple[tuple[str, ...], ...]]:
        """Read a recording; also return the nodes of the two tracks that are compared."""
        found = read_recording(
            self.recordings[number], self.track, bins=self.bins,
            events=FIND if self.events == FIND_DECODED else self.events,
            session=self.complements[number] if self.complements else None,
            position=self.position, units=self.units, channel=self.channel,
            epochs=self.epochs, most_unknown=self.most_unknown, bin_size=self.bin_size,
        )  # fmt: skip
        return found, find_tracks(found.graph, self.tracks)


def plan_files(
    files: Files,
    out: Path,
    choose: Callable[[Recording], Settings],
    judge: Callable[..., Judgement],
    seed: int,
    *,
    n_sessions: int,
    comparison: Path | None,
) -> tuple[Study[Any], RecordingPlan | AnimalsPlan]:
    """Choose the study of one animal or of several, and plan it.

    What can be refused without reading a recording is refused first. `choose` gives the settings
    for a recording, as `settings_for` does, `judge` the criteria on a track, as `judgement_for`
    does, and `comparison` is a folder of predictions.
    """
    study: Study[Any] = (one_animal if len(files.recordings) == 1 else several_animals).STUDY
    Results(out).check_place(study.name, study.command)
    check_judgement(judge(None))
    files.check()
    predictions = read_predictions(comparison)

    def plan(number: int) -> RecordingPlan:
        found, compared = files.read(number)
        return plan_recording(
            found, choose(found), judge(found.graph, tracks=compared), seed,
            n_sessions=n_sessions, predictions=predictions,
            epochs=found.epochs if files.epochs is not None else None,
        )  # fmt: skip

    each = check_all(partial(plan, number) for number in range(len(files.recordings)))
    plans = dict(zip(map(safe_name, files.names), each, strict=True))
    [only, *others] = plans.values()
    return study, plan_animals(plans) if others else only
