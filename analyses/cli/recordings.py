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
            help="NWB (.nwb), a decoded posterior (.nc), arrays (.npz), or a table of decoded "
            "places (.csv, .parquet). Several files are several animals of one experiment."
        ),
    ],
    track: Annotated[
        Path | None, typer.Option(help="The track graph, JSON; unless the file holds it.")
    ] = None,
    session: Annotated[
        list[Path],
        typer.Option(
            help="A file with what the first lacks: spikes, positions, events. For several files, "
            "one for each, in order."
        ),
    ] = [],  # noqa: B006
    events: Annotated[
        str | None,
        typer.Option(
            help="Candidate events: a table (.csv, .parquet), or the name of a table in the NWB "
            "file; 'find' to find them by the rate of all cells, 'find_ripples' in the field "
            "potential."
        ),
    ] = None,
    bins: Annotated[
        Path | None, typer.Option(help="Where the bins of a posterior are, .csv.")
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(help="Of events to be found, in standard deviations; 3, of ripples 2."),
    ] = None,
    speed: Annotated[
        float | None, typer.Option(help="The largest speed in such events, in cm/s; 5, or 4.")
    ] = None,
    score: Annotated[
        str,
        typer.Option(
            help="What is tested: continuous (the mean probability of continuous movement), "
            "weighted_correlation or line_fit."
        ),
    ] = "continuous",
    least_score: Annotated[
        float | None,
        typer.Option(help="The least score of replay; .5 if it is continuous, else 0."),
    ] = None,
    shuffle: Annotated[
        str,
        typer.Option(
            help="What is shuffled, each on its own: cell_identity, circular_fields, time_bins, "
            "circular_posterior; at least one of the first two."
        ),
    ] = "cell_identity,circular_fields",
    shuffles: Annotated[int, typer.Option(help="How often each is shuffled.")] = 200,
    tracks: Annotated[
        list[str],
        typer.Option(
            help="Two landmarks of the track, between which track log odds compare each event; by "
            "default the two parts of a track that do not join."
        ),
    ] = [],  # noqa: B006
    state_size: Annotated[float, typer.Option(help="The distance of states, in cm.")] = 15.0,
    lap_end: Annotated[
        list[str], typer.Option(help="A node where laps end; by default the dead ends.")
    ] = [],  # noqa: B006
    time_bin: Annotated[float, typer.Option(help="Length of a time bin in events, in s.")] = 0.005,
    unknown: Annotated[
        float, typer.Option(help="The largest share of positions that may be unknown.")
    ] = 0.2,
    recovery: Annotated[
        int,
        typer.Option(
            help="How many sessions are simulated to correct shares of kinds by what would be "
            "found; a second each or less with a hundred laps. 0: none."
        ),
    ] = 20,
    comparison: Annotated[
        Path | None,
        typer.Option(
            help="What replay compare wrote: the predictions that stand beside the statistics; by "
            "default those that ship with the toolkit."
        ),
    ] = None,
    seed: Seed = 0,
    jobs: Jobs = None,
    out: Annotated[Path, typer.Option(help="The folder for the results.")] = Path("recording"),
) -> None:
    """Find replay in recordings, and tell what of an animal's experience is replayed.

    Events are decoded on the track, tested against shuffles of cells, and judged against what the
    animal had run until then. Several files are several animals: each gets its tables and a report,
    and statistics have intervals over animals. The same command goes on where it was interrupted.
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
            "One table of events can't serve several recordings: keep the events in each file or "
            "its session, or find them (--events find)."
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
        with screen.status(f"reading {path}"):
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
                f"Two files are called {path.stem}, and results are called by the name of the "
                "file: rename one of them."
            )
        plans[path.stem] = plan
    if len(file) == 1:
        do_study(one_animal.STUDY, plans[file[0].stem], out, jobs)
    else:
        do_study(several_animals.STUDY, several_animals.plan_animals(plans), out, jobs)


def _one_each(sessions: Sequence[Path], files: Sequence[Path]) -> list[Path | None]:
    """Give each file the one that completes it."""
    if sessions and len(sessions) != len(files):
        raise ValueError(
            f"There must be one session for each of {len(files)} recordings, in order, got "
            f"{len(sessions)}."
        )
    return list(sessions) or [None] * len(files)
