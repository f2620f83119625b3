"""The analysis of the recordings in some files, of one animal or of several."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path, PurePath
from typing import Any

from analyses.jobs.results import Results
from analyses.jobs.study import Study
from analyses.recordings.basics.files import Files
from analyses.recordings.basics.judgement import Judgement
from analyses.recordings.basics.recording import Recording
from analyses.recordings.basics.settings import FIND, FIND_DECODED, Settings
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

__all__ = ["plan_files", "read_animal"]


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

    `choose` gives the settings for a recording, as `settings_for` does, `judge` the criteria on a
    track, as `judgement_for` does, and `comparison` is a folder of predictions.
    """
    # What can be refused without reading a recording is refused first.
    n_files = len(files.recordings)
    study: Study[Any] = (one_animal if n_files == 1 else several_animals).STUDY
    Results(out).check_place(study.name, study.command)
    check_judgement(judge(None))
    if files.complements and len(files.complements) != n_files:
        raise ValueError(
            f"--session must be given once for each of the {n_files} recordings, in the same "
            f"order, got {len(files.complements)}."
        )
    if n_files > 1 and files.events is not None and Path(files.events).suffix:
        raise ValueError(
            "One table of events cannot serve several recordings. Store the events in each "
            "file or its --session file, or detect them with --events find."
        )
    named = [name_of(str(each)) if is_address(each) else each for each in files.recordings]
    names = [PurePath(each).stem for each in named]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(
            f"Two files are named {twice[0]}, and results are named after the files. Rename "
            "one of them."
        )
    predictions = read_predictions(comparison)

    def plan(number: int) -> RecordingPlan:
        found = read_animal(files, number)
        compared = find_tracks(found.graph, files.tracks)
        return plan_recording(
            found, choose(found), judge(found.graph, tracks=compared), seed,
            n_sessions=n_sessions, predictions=predictions,
            epochs=found.epochs if files.epochs is not None else None,
        )  # fmt: skip

    each = check_all(partial(plan, number) for number in range(n_files))
    plans = dict(zip(map(safe_name, names), each, strict=True))
    [only, *others] = plans.values()
    return study, plan_animals(plans) if others else only


def read_animal(files: Files, number: int) -> Recording:
    """Read one of the recordings."""
    return read_recording(
        files.recordings[number], files.track, bins=files.bins,
        events=FIND if files.events == FIND_DECODED else files.events,
        session=files.complements[number] if files.complements else None,
        position=files.position, units=files.units, channel=files.channel, epochs=files.epochs,
        most_unknown=files.most_unknown, bin_size=files.bin_size,
    )  # fmt: skip
