"""The command ``replay recording``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from analyses.cli.options import Jobs, Seed, split
from analyses.cli.studies import do_study
from analyses.cli.terminal import say, screen

if TYPE_CHECKING:
    from analyses.studies.recorded_replay.plan import RecordingPlan

__all__ = ["recording"]


def recording(
    file: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="NWB (.nwb), a decoded posterior (.nc), arrays (.npz), or a table of decoded "
            "places (.csv, .parquet). Several files are several animals of one experiment.",
        ),
    ],
    track: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The track graph (JSON), unless the file holds it."),
    ] = None,
    session: Annotated[
        list[Path],
        typer.Option(
            metavar="FILE",
            help="A file with what the recording lacks: spikes, positions or events. For several "
            "recordings: one file for each, in the same order.",
        ),
    ] = [],  # noqa: B006
    events: Annotated[
        str | None,
        typer.Option(
            metavar="EVENTS",
            help="Candidate events: a table (.csv, .parquet); the name of a table in the NWB file; "
            "'find' to detect them from the firing rate of all cells; or 'find_ripples' to detect "
            "them in the field potential.",
        ),
    ] = None,
    bins: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The positions of the bins of a posterior (.csv)."),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            metavar="SD",
            help="Detection threshold for candidate events, in standard deviations.",
            show_default="3; for ripples 2",
        ),
    ] = None,
    speed: Annotated[
        float | None,
        typer.Option(
            metavar="CM/S",
            help="Largest running speed during a detected event, in cm/s.",
            show_default="5; for ripples 4",
        ),
    ] = None,
    score: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="The score of an event that is tested: continuous (the mean probability of "
            "continuous movement), weighted_correlation or line_fit.",
        ),
    ] = "continuous",
    least_score: Annotated[
        float | None,
        typer.Option(
            metavar="SCORE",
            help="The smallest score that counts as replay.",
            show_default="0.5 if continuous, else 0",
        ),
    ] = None,
    shuffle: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="The shuffles, each of which an event must pass: cell_identity, circular_fields, "
            "time_bins, circular_posterior; at least one of the first two.",
        ),
    ] = "cell_identity,circular_fields",
    shuffles: Annotated[
        int, typer.Option(metavar="N", help="Number of repetitions of each shuffle.")
    ] = 200,
    tracks: Annotated[
        list[str],
        typer.Option(
            metavar="NAMES",
            help="Two landmarks, one on each of the two tracks that the log odds of each event "
            "compare.",
            show_default="the two parts of a graph that are not connected",
        ),
    ] = [],  # noqa: B006
    state_size: Annotated[
        float, typer.Option(metavar="CM", help="Distance between neighbouring states, in cm.")
    ] = 15.0,
    lap_end: Annotated[
        list[str],
        typer.Option(
            metavar="NODES",
            help="A node where laps end; several separated by commas.",
            show_default="the dead ends",
        ),
    ] = [],  # noqa: B006
    time_bin: Annotated[
        float, typer.Option(metavar="S", help="Length of the time bins for decoding events, in s.")
    ] = 0.005,
    unknown: Annotated[
        float,
        typer.Option(metavar="SHARE", help="The largest share of positions that may be missing."),
    ] = 0.2,
    recovery: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Number of simulated sessions from which the shares of kinds are corrected for "
            "missed and misclassified replay; each takes a second or less for 100 laps. 0: no "
            "correction.",
        ),
    ] = 20,
    comparison: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="A folder that replay compare wrote, whose predictions are shown beside the "
            "statistics.",
            show_default="the predictions that ship with the toolkit",
        ),
    ] = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Result folder.")] = Path("recording"),
) -> None:
    """Find replay in recordings, and say which parts of the animal's experience it replays.

    Events are decoded on the track, tested against shuffles of cells, and classified by what the
    animal had run until then. Several files are several animals: each gets its tables and a report,
    and statistics get intervals over animals. Run the same command again to resume after an
    interruption.
    """
    from analyses.jobs.results import Results
    from analyses.recordings.events import RIPPLES, Criteria
    from analyses.recordings.judgement import LEAST_SCORES, Judgement
    from analyses.recordings.predictions import read_predictions
    from analyses.recordings.readers import read_recording
    from analyses.recordings.settings import Settings
    from analyses.recordings.significance.shuffles import check_shuffles
    from analyses.recordings.significance.track_log_odds import find_tracks
    from analyses.studies.recorded_replay import one_animal, several_animals
    from analyses.studies.recorded_replay.plan import plan_recording
    from replay.checks import check_choice

    study = one_animal.STUDY if len(file) == 1 else several_animals.STUDY
    Results(out).check_place(study.name, study.command)
    check_choice("score", score, LEAST_SCORES)
    names = check_shuffles(split([shuffle]))
    predictions = read_predictions(comparison)
    sessions = _one_each(session, file)
    if len(file) > 1 and events is not None and Path(events).suffix:
        raise ValueError(
            "One table of events cannot serve several recordings. Store the events in each file or "
            "its --session file, or detect them with --events find."
        )
    criteria = RIPPLES if events == "find_ripples" else Criteria()
    if threshold is not None:
        criteria = criteria._replace(threshold=threshold)
    if speed is not None:
        criteria = criteria._replace(largest_speed=speed)
    settings = Settings(time_bin=time_bin, criteria=criteria)
    judgement = Judgement(
        score=score,
        least_score=LEAST_SCORES[score] if least_score is None else least_score,
        shuffles=tuple(names),
        n_shuffles=shuffles,
        state_size=state_size,
        lap_ends=tuple(split(lap_end)),
    )
    plans: dict[str, RecordingPlan] = {}
    for path, complement in zip(file, sessions, strict=True):
        with screen.status(f"Reading {path}"):
            found = read_recording(
                path, track, session=complement, events=events, bins=bins, most_unknown=unknown
            )
            own = judgement._replace(tracks=find_tracks(found.graph, split(tracks)))
            plan = plan_recording(
                found, settings, own, seed, n_sessions=recovery, predictions=predictions
            )
        for sentence in (*found.notes, *plan.session.notes):
            say(sentence)
        if path.stem in plans:
            raise ValueError(
                f"Two files are named {path.stem}, and results are named after the files. Rename "
                "one of them."
            )
        plans[path.stem] = plan
    if len(file) == 1:
        do_study(one_animal.STUDY, plans[file[0].stem], out, jobs)
    else:
        do_study(several_animals.STUDY, several_animals.plan_animals(plans), out, jobs)


def _one_each(sessions: Sequence[Path], files: Sequence[Path]) -> list[Path | None]:
    """Match each recording with the file that completes it, if there is one."""
    if sessions and len(sessions) != len(files):
        raise ValueError(
            f"--session must be given once for each of the {len(files)} recordings, in the same "
            f"order, got {len(sessions)}."
        )
    return list(sessions) or [None] * len(files)
