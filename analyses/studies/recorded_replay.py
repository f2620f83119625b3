"""What a recording replays: its events tested in blocks, then tables, a report and an NWB file.

=======================  =========================================================================
``events.csv``           candidate events: significance, and the kind of what is replay
``sequences.parquet``    the place sequences of replay, judged against what had been run until then
``kinds.csv``            counts and shares of kinds, by the size of states
``shares.csv``           shares of kinds, corrected by what this recording could find
``paths.parquet``        the decoded path of each event
``experience.parquet``   the animal's moves between states, which learners can be fed with
``spikes.parquet``       the spikes of each event, in cells with place fields
``place_fields.parquet``  the rates of these cells along the track
``states.csv``           where the states are
``track.json``           the track graph
``statistics.csv``       the statistics of replay that this recording has, beside published values
``chance.csv``           the same events with randomised cells
``calibration.csv``      the threshold, and how many of these pass it
``report.md``            all of it as text, with the criteria, and how far it can be trusted
``replay.nwb``           events, sequences and paths for other programs, if pynwb is installed
=======================  =========================================================================
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from analyses.jobs.cost import BYTES_OF_FIGURES, Cost
from analyses.jobs.results import Results
from analyses.jobs.study import Piece, Runner, Shown, Study
from analyses.recordings.binned_track import cut_track
from analyses.recordings.conclusions import Conclusions, conclude
from analyses.recordings.decoding.likelihood import log_likelihood
from analyses.recordings.decoding.spike_counts import count_spikes
from analyses.recordings.decoding.state_space_decoder import (
    continuous_path,
    state_posterior,
    walk_transitions,
)
from analyses.recordings.judgement import Judgement, check_judgement, check_state_size
from analyses.recordings.observation.simulated_recording import simulated_recording
from analyses.recordings.readers.track_graphs import draw_track, read_track
from analyses.recordings.recorded_experience import experience_of
from analyses.recordings.recording import Recording
from analyses.recordings.recovery.shares import N_SESSIONS, recorded_shares
from analyses.recordings.report import LOW_POWER, write_report
from analyses.recordings.results_nwb import write_nwb
from analyses.recordings.scoring import Scored, n_blocks, score_block
from analyses.recordings.session import Session, prepare
from analyses.recordings.settings import Settings
from analyses.recordings.significance.calibration import Calibration
from analyses.recordings.statistics import recorded_statistics
from replay import MDP
from replay.checks import check_whole
from replay.files import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["STUDY", "RecordingPlan", "plan_recording"]

_SCORED = ("events", "paths", "by_chance")
_MOST_EXAMPLES = 4


class RecordingPlan(NamedTuple):
    """What is analysed, and how.

    Attributes
    ----------
    recording : Recording
        What was read.
    session : Session
        What was made of it.
    settings : Settings
        How it is decoded.
    judgement : Judgement
        How events are judged.
    n_sessions : int
        How many sessions are simulated to correct shares.
    seed : int
        Seed of the shuffles and of these sessions.
    """

    recording: Recording
    session: Session
    settings: Settings
    judgement: Judgement
    n_sessions: int
    seed: int


def plan_recording(
    recording: Recording,
    settings: Settings = Settings(),  # noqa: B008 (immutable)
    judgement: Judgement = Judgement(),  # noqa: B008
    seed: int = 0,
    *,
    n_sessions: int = N_SESSIONS,
) -> RecordingPlan:
    """Plan the analysis of a recording: place fields are estimated, and events found.

    Parameters
    ----------
    recording : Recording
        As `analyses.recordings.readers.read_recording` gives it.
    settings : Settings, optional
        How it is decoded.
    judgement : Judgement, optional
        How events are judged.
    seed : int, default 0
        Seed of the shuffles and of these sessions.
    n_sessions : int, default 20
        How many sessions are simulated to correct shares; with 0 none are corrected.

    Returns
    -------
    RecordingPlan
        The plan.

    Raises
    ------
    ValueError
        As `analyses.recordings.session.prepare`.
    """
    check_judgement(judgement, recording)
    check_whole("seed", seed)
    check_whole("n_sessions", n_sessions)
    session = prepare(recording, settings)
    check_state_size(judgement.state_size, session.track)
    experience_of(recording, judgement.state_size, judgement.lap_ends)  # may refuse
    return RecordingPlan(recording, session, settings, judgement, n_sessions, seed)


def _usual_plan(size: float, seed: int) -> RecordingPlan:
    recording = simulated_recording(max(round(60 * size), 6), seed)
    return plan_recording(recording, judgement=Judgement(n_shuffles=max(round(200 * size), 19)))


def _describe(plan: RecordingPlan) -> dict[str, Any]:
    return {
        "recording": {"name": plan.recording.name, **plan.recording.origin},
        "data": plan.recording.digest(),
        "settings": _plain(plan.settings),
        "judgement": _plain(plan.judgement),
        "n_sessions": plan.n_sessions,
        "seed": plan.seed,
    }


def _plain(values: Settings | Judgement) -> dict[str, Any]:
    """Write named tuples within named tuples as dictionaries."""
    return {
        name: value._asdict() if hasattr(value, "_asdict") else value
        for name, value in values._asdict().items()
    }


def _pieces(plan: RecordingPlan) -> dict[str, int]:
    return {"events": n_blocks(plan.session)}


def _make(plan: RecordingPlan, piece: Piece) -> dict[str, pd.DataFrame]:
    return score_block(plan.session, plan.judgement, piece.number, plan.seed)._asdict()


def _estimate(plan: RecordingPlan, left: Sequence[Piece], call: Runner) -> Cost:
    """Time one decoding, and multiply by the numbers of time bins and shuffles."""
    session, judgement = plan.session, plan.judgement
    n_events = len(session.events) * len(left) / n_blocks(session)
    n_bins = sum(map(len, session.counts)) * len(left) / n_blocks(session)
    flat = np.zeros((200, session.track.n_bins))
    walk = walk_transitions(session.track, session.variance)
    state_posterior(flat[:2], walk)
    start = perf_counter()
    state_posterior(flat, walk)
    each = (perf_counter() - start) / len(flat)
    n_decodings = 2 * (1 + len(judgement.shuffles) * judgement.n_shuffles)
    # Likelihoods and shuffling take about as long as decoding.
    seconds = 2 * each * n_decodings * n_bins + 0.02 * n_events + 0.5 * plan.n_sessions
    return Cost({"events": round(n_events)}, seconds, BYTES_OF_FIGURES)


def _scored(results: Results) -> Scored:
    return Scored(*(results.read_pieces(name) for name in _SCORED))


def _summarise(plan: RecordingPlan, results: Results) -> dict[str, pd.DataFrame]:
    scored = _scored(results)
    found = conclude(plan.recording, plan.session, plan.judgement, scored)
    shares = recorded_shares(
        plan.recording, plan.session, found, plan.settings, plan.judgement,
        n_sessions=plan.n_sessions, seed=plan.seed,
    )  # fmt: skip
    told = _write_nwb(plan, results, found)
    graph = plan.recording.graph
    landmarks = None if graph is None else graph.graph.get("landmarks")
    statistics = recorded_statistics([found], landmarks)
    with replacing(results.folder / "report.md") as beside:
        write_report(
            beside, plan.recording, found, shares, statistics, plan.settings, plan.judgement, told
        )
    with replacing(results.folder / "track.json") as beside:
        beside.write_text(json.dumps(draw_track(plan.recording.graph), indent=1) + "\n", "utf-8")
    return {
        "events.csv": found.events,
        "sequences.parquet": found.sequences,
        "kinds.csv": found.kinds,
        "shares.csv": shares.table,
        "states.csv": found.states,
        "paths.parquet": found.paths,
        "experience.parquet": found.experience.steps,
        "spikes.parquet": _spikes(plan),
        "place_fields.parquet": _place_fields(plan.session),
        "statistics.csv": statistics,
        "chance.csv": scored.by_chance,
        "calibration.csv": pd.DataFrame(
            [] if found.calibration is None else [found.calibration], columns=Calibration._fields
        ),
    }


def _spikes(plan: RecordingPlan) -> pd.DataFrame:
    """List the spikes of each event in the cells that have place fields."""
    events = plan.session.events[["start_time", "end_time"]].to_numpy(dtype=float)
    parts = [pd.DataFrame({"event": [], "cell": [], "time": []})]
    for cell in plan.session.cells.tolist():
        spikes = plan.recording.spikes[cell]
        first, last = np.searchsorted(spikes, events).T
        event = np.repeat(np.arange(len(events)), last - first)
        own = [spikes[one:other] for one, other in zip(first, last, strict=True)]
        time = np.concatenate(own) if own else np.empty(0)
        parts.append(pd.DataFrame({"event": event, "cell": cell, "time": time}))
    listed = pd.concat(parts, ignore_index=True).astype({"event": int, "cell": int, "time": float})
    return listed.sort_values(["event", "time", "cell"], ignore_index=True)


def _place_fields(session: Session) -> pd.DataFrame:
    n_cells, n_bins = session.rates.shape
    bins = np.tile(np.arange(n_bins), n_cells)
    return pd.DataFrame(
        {
            "cell": np.repeat(session.cells, n_bins),
            "bin": bins,
            "x": session.track.position[bins, 0],
            "y": session.track.position[bins, 1],
            "rate": session.rates.ravel(),
        }
    )


def _write_nwb(plan: RecordingPlan, results: Results, found: Conclusions) -> str:
    """Write the NWB file; without pynwb, say why there is none."""
    try:
        write_nwb(
            results.folder / "replay.nwb", found, plan.recording.origin, plan.recording.digest()
        )
    except ImportError as error:
        return f"There is no replay.nwb: {error}"
    return "replay.nwb holds events, sequences and decoded paths for other programs."


def _show(plan: RecordingPlan, tables: Mapping[str, pd.DataFrame]) -> list[Shown]:
    kinds = tables["kinds.csv"]
    own = kinds[kinds["state_size"] == plan.judgement.state_size]
    columns = ["kind", "n", "share", "ci_low", "ci_high"]
    n_events, n_replay = len(tables["events.csv"]), int(own["n_events"].iloc[0])
    title = f"{n_replay} of {n_events} candidate events are replay. By their longest sequence:"
    by_chance = "Nothing could be shuffled: how many events chance would give is unknown."
    if len(tables["calibration.csv"]):
        found = tables["calibration.csv"].iloc[0]
        by_chance = (
            f"Of {found['n_events']:.0f} events with randomised cells, "
            f"{found['false_positive_rate']:.1%} pass the same test."
        )
    shares = tables["shares.csv"]
    known = (
        "Simulated sessions with the same cells tell what is found."
        if shares["corrected"].notna().any()
        else "Not corrected: report.md tells why."
    )
    return [
        Shown(title, own[columns], f"{by_chance} {LOW_POWER}"),
        Shown(
            "Shares of kinds, corrected by what this recording could find:",
            shares.round(3),
            f"{known} More is in report.md.",
        ),
    ]


def _draw_kinds(results: Results) -> Iterator[tuple[str, Figure]]:
    from analyses.plots.recorded_kinds import recorded_kinds_figure

    yield "kinds", recorded_kinds_figure(results.read("kinds.csv"))


def _examples(results: Results) -> pd.DataFrame:
    """Choose the longest sequence of each kind."""
    sequences = results.read("sequences.parquet")
    longest = sequences.sort_values("distance", ascending=False, kind="stable")
    return longest.drop_duplicates("kind").sort_values("kind").head(_MOST_EXAMPLES)


def _draw_paths(results: Results) -> Iterator[tuple[str, Figure]]:
    """Draw the longest sequence of each kind on the maze."""
    from analyses.plots.decoded_path import decoded_path_figure

    examples = _examples(results)
    if len(examples):
        graph = read_track(results.folder / "track.json")
        manifest = results.manifest()
        world = MDP.from_networkx(graph, bin_size=manifest["judgement"]["state_size"])
        track = cut_track(graph, manifest["settings"]["bin_size"])
        yield (
            "paths",
            decoded_path_figure(examples, results.read("experience.parquet"), world, track),
        )


def _draw_events(results: Results) -> Iterator[tuple[str, Figure]]:
    """Draw the spikes and the posterior of the events of these sequences."""
    from analyses.plots.decoded_event import posterior_figure

    fields, spikes = results.read("place_fields.parquet"), results.read("spikes.parquet")
    if not len(fields):
        return
    settings = results.manifest()["settings"]
    track = cut_track(read_track(results.folder / "track.json"), settings["bin_size"])
    rates = fields["rate"].to_numpy().reshape(-1, track.n_bins)
    cells = fields["cell"].unique()
    events = results.read("events.csv").set_index("event")
    seconds = settings["time_bin"]
    walk = walk_transitions(track, settings["diffusion"] * seconds)
    for _, example in _examples(results).iterrows():
        event = events.loc[example["event"]]
        own = spikes[spikes["event"] == example["event"]]
        fired = [own.loc[own["cell"] == cell, "time"].to_numpy() for cell in cells]
        counts = count_spikes(fired, [event["start_time"]], [event["end_time"]], seconds)[0]
        likelihoods = log_likelihood(counts, rates, seconds)
        posterior, _ = state_posterior(likelihoods, walk)
        yield (
            f"event_{example['kind']}",
            posterior_figure(
                posterior,
                track,
                dt=seconds,
                start=float(event["start_time"]),
                spikes=fired,
                rates=rates,
                path=continuous_path(likelihoods, walk),
                title=f"Event {example['event']}: {example['kind'].replace('_', ' ')}",
            ),
        )


STUDY = Study(
    "recording",
    "What does a recording replay, and how much of it is chance?",
    "replay recording",
    plan=_usual_plan,
    describe=_describe,
    pieces=_pieces,
    make=_make,
    summarise=_summarise,
    figures={"kinds": _draw_kinds, "paths": _draw_paths, "events": _draw_events},
    show=_show,
    estimate=_estimate,
)
