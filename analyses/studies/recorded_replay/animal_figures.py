"""The figures of recorded replay, from the tables of one animal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pandas as pd

from analyses.jobs.results import Results
from analyses.measures import QUESTIONS
from analyses.recordings.basics.arena import world_of
from analyses.recordings.basics.binned_track import cut_track
from analyses.recordings.decide.controls import Calibration
from analyses.recordings.prepare.event_evidence import EVIDENCE, Evidence
from analyses.recordings.readers.track_graphs import read_track
from analyses.reports.recorded import count_replay
from replay.files import inside

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Reader = Callable[[str], pd.DataFrame]
"""Reads a table of an animal, given the name of its file."""

Draw = Callable[[Results, Reader], Iterator[tuple[str, "Figure"]]]

_MOST_EXAMPLES, _NEAR = 4, 10  # paths and events; events on each side of the threshold


def reader_of(results: Results, animal: str) -> Reader:
    """Read the tables of one of several animals; an empty name is the only animal."""

    def read(name: str) -> pd.DataFrame:
        table = results.read(name)
        if not animal:
            return table
        return table[table["animal"].astype(str) == animal].drop(columns="animal")

    return read


def of_all(draw: Draw, results: Results) -> Iterator[tuple[str, Figure]]:
    """Draw a figure of all animals together."""
    return draw(results, results.read)


def of_each_animal(draw: Draw, results: Results) -> Iterator[tuple[str, Figure]]:
    """Draw a figure of each animal, named after it if there are several."""
    for animal in results.manifest().get("animals", [""]):
        for name, figure in draw(results, reader_of(results, animal)):
            yield f"{animal}_{name}" if animal else name, figure


def draw_kinds(results: Results, read: Reader) -> Iterator[tuple[str, Figure]]:
    """Draw the shares of kinds."""
    from analyses.plots.recorded import recorded_kinds_figure

    chance = read("calibration.csv")
    known = "The number of such events expected by chance is unknown."
    if len(chance):
        known = count_replay(read("events.csv"), Calibration(*chance.iloc[0]))
    yield "kinds", recorded_kinds_figure(read("kinds.csv"), note=known)


def draw_evidence(results: Results, read: Reader) -> Iterator[tuple[str, Figure]]:
    """Draw the evidence of events beside that of controls, and the events near the threshold."""
    from analyses.plots.decoded_event import events_sheet_figure
    from analyses.plots.recorded import recorded_evidence_figure

    controls, events = read("controls.csv"), read("events.csv")
    if not len(controls):
        return
    yield "evidence", recorded_evidence_figure(events, read("chance.csv"), controls)
    least = controls["least_evidence"].max()
    tested = events[events["evidence"].notna()].sort_values("evidence", kind="stable")
    n_below = int((tested["evidence"] < least).sum())
    near = tested.iloc[max(n_below - _NEAR, 0) : n_below + _NEAR]
    evidence = read_evidence(results, read)
    yield (
        "events_to_check",
        events_sheet_figure(
            [evidence.of(event) for event in near["event"]],
            evidence.track,
            rates=evidence.rates,
            dt=evidence.time_bin,
            titles=[
                f"{row.event}: {row.evidence:.1f} nats"
                + (f", {str(row.kind).replace('_', ' ')}" if row.is_replay else "")
                for row in near.itertuples()
            ],
        ),
    )


def draw_epochs(results: Results, read: Reader) -> Iterator[tuple[str, Figure]]:
    """Draw rates and shares of epochs, if there are any."""
    from analyses.plots.recorded import recorded_epochs_figure

    if inside(results.folder, "epochs.csv").exists():
        yield "epochs", recorded_epochs_figure(read("epochs.csv"), read("epoch_blocks.csv"))


def draw_accounts(results: Results, read: Reader) -> Iterator[tuple[str, Figure]]:
    """Draw the statistics beside published values and the predictions of accounts."""
    from analyses.plots.predictions import recorded_statistics_figures

    table = read("accounts.csv")
    for question, names in QUESTIONS.items():
        own = table[table["statistic"].isin(names)]
        figures = recorded_statistics_figures(own) if len(own) else ()
        for number, figure in enumerate(figures, 1):
            yield f"statistics_{question}{f'_{number}' if number > 1 else ''}", figure


def draw_paths(results: Results, read: Reader) -> Iterator[tuple[str, Figure]]:
    """Draw the longest sequence of each kind on the maze."""
    from analyses.plots.decoded_path import decoded_path_figure

    examples = _examples(read)
    if len(examples):
        graph = read_track(inside(results.folder, "track.json"))
        manifest = results.manifest()
        world = world_of(graph, manifest["judgement"]["state_size"])
        track = cut_track(graph, manifest["settings"]["bin_size"])
        yield "paths", decoded_path_figure(examples, read("experience.parquet"), world, track)


def draw_events(results: Results, read: Reader) -> Iterator[tuple[str, Figure]]:
    """Draw the spikes and the posterior of the events that contain these sequences."""
    from analyses.plots.decoded_event import posterior_figure

    evidence = read_evidence(results, read)
    reasons = read("events.csv").set_index("event")["why"].fillna("")
    for _, example in _examples(read).iterrows():
        event = evidence.of(example["event"])
        if event.posterior is None:
            return
        why = reasons[example["event"]]
        yield (
            f"event_{example['kind']}",
            posterior_figure(
                event.posterior,
                evidence.track,
                dt=evidence.time_bin,
                start=event.start,
                spikes=event.spikes,
                rates=evidence.rates,
                path=event.path,
                traces=event.traces,
                title=f"Event {example['event']}: {example['kind'].replace('_', ' ')}"
                + f"\n({why})" * bool(why),
            ),
        )


def read_evidence(results: Results, read: Reader) -> Evidence:
    """Read the tables from which the events of an animal can be decoded again."""
    settings = results.manifest()["settings"]
    track = cut_track(read_track(inside(results.folder, "track.json")), settings["bin_size"])
    tables = {name: read(name) for name in EVIDENCE}
    bins = tables["place_fields.parquet"]["bin"].unique()
    if 0 < len(bins) < track.n_bins:  # where the animal ran
        track = track.only(bins)
    return Evidence(track, settings, tables)


DRAWINGS: dict[str, Draw] = {
    "evidence": draw_evidence,
    "kinds": draw_kinds,
    "epochs": draw_epochs,
    "paths": draw_paths,
    "events": draw_events,
    "statistics": draw_accounts,
}
"""Name -> the function that draws these figures of an animal."""


def _examples(read: Reader) -> pd.DataFrame:
    """Select the longest sequence of each kind, among those that give an event its kind."""
    sequences = read("sequences.parquet")
    longest = sequences.sort_values("distance", ascending=False, kind="stable")
    longest = longest.drop_duplicates("event")
    return longest.drop_duplicates("kind").sort_values("kind").head(_MOST_EXAMPLES)
