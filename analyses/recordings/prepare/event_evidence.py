"""The evidence for single events, decoded again from the tables that ``replay recording`` keeps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from analyses.recordings.basics.binned_track import BinnedTrack, project
from analyses.recordings.prepare.likelihood import count_spikes, log_likelihood
from analyses.recordings.prepare.state_space_decoder import state_posterior, walk_of_states
from replay.checks import check_array
from replay.checks.arrays import Floats, Int32s, Ints

EVIDENCE = (
    "events.csv", "paths.parquet", "spikes.parquet", "traces.parquet", "place_fields.parquet",
)  # fmt: skip
"""The tables of a result folder that `Evidence` needs."""

_IMPROBABLE = 0.1  # of the probability of the most probable place


class EventEvidence(NamedTuple):
    """What is known of an event."""

    start: float  # when it begins and ends, in s
    end: float
    spikes: list[Floats]  # the spike times of each cell, in s; empty without spikes
    # (n_time, n_movements, n_bins): the probability of each movement and place; None without spikes
    posterior: Floats | None
    # (n_time,): the bin of the course of each stretch of travel; -1 elsewhere
    path: Int32s | None
    # what was measured: `time`, `multiunit_rate`, `speed`, `field_potential`, `x, y`
    traces: pd.DataFrame


def likely_path(path: ArrayLike, places: Floats) -> Ints:
    """Leave out (-1) of a path where another place is more than ten times as probable.

    The course of a stretch is that of travel alone, and may lie between places that are likely.
    """
    bins = check_array(path, "path", kind="whole", at_least=-1, at_most=places.shape[1] - 1)
    if len(bins) != len(places):
        raise ValueError(
            f"path must have one bin for each of the {len(places)} time bins, got {len(bins)}."
        )
    own = np.take_along_axis(places, bins[:, None], axis=1)
    return np.where(own[:, 0] < _IMPROBABLE * places.max(axis=1), -1, bins)


class Evidence:
    """The evidence for the events of an animal, from the tables of `EVIDENCE` by name."""

    def __init__(
        self, track: BinnedTrack, settings: Mapping[str, Any], tables: Mapping[str, pd.DataFrame]
    ) -> None:
        self.track, self.time_bin = track, float(settings["time_bin"])
        events = tables["events.csv"]
        self._number = {int(event): row for row, event in enumerate(events["event"])}
        self._start, self._end = (
            events[name].to_numpy(float) for name in ("start_time", "end_time")
        )
        self._spikes = dict(iter(tables["spikes.parquet"].groupby("event")))
        self._paths = dict(iter(tables["paths.parquet"].groupby("event")))
        self._traces = dict(iter(tables["traces.parquet"].groupby("event")))
        self._no_traces = tables["traces.parquet"].iloc[:0]
        fields = tables["place_fields.parquet"]
        names = ["rate_ahead", "rate_back"] if "rate_ahead" in fields else ["rate"]
        by_heading = [fields[name].to_numpy(float).reshape(-1, track.n_bins) for name in names]
        self._state_rates = np.hstack(by_heading)
        self.rates = np.mean(by_heading, axis=0)
        """Place fields in Hz, shape (n_cells, n_bins)."""
        self._cells = fields["cell"].unique()
        diffusion = settings["diffusion"] * self.time_bin
        n_states = self._state_rates.shape[1]
        self._walk = walk_of_states(track, diffusion, n_states)

    def of(self, event: int) -> EventEvidence:
        """Decode one event."""
        row = self._number[event]
        start, end = float(self._start[row]), float(self._end[row])
        traces = self._traces.get(event, self._no_traces)
        if not len(self._cells):
            return EventEvidence(start, end, [], None, None, traces)
        cell, time = np.empty(0), np.empty(0)
        if event in self._spikes:
            own = self._spikes[event]
            cell, time = own["cell"].to_numpy(), own["time"].to_numpy(float)
        seen = ~np.isin(self._cells, cell[np.isnan(time)])  # a row without a time says so
        spikes = [time[(cell == each) & ~np.isnan(time)] for each in self._cells]
        counts = count_spikes(spikes, [start], [end], self.time_bin)[0]
        likelihoods = log_likelihood(counts[:, seen], self._state_rates[seen], self.time_bin)
        posterior, _ = state_posterior(likelihoods, self._walk)
        shape = (*posterior.shape[:2], -1, self.track.n_bins)
        path = np.full(len(counts), -1, dtype=np.int32)
        if event in self._paths:
            course = self._paths[event]
            moment = ((course["time"].to_numpy(float) - start) / self.time_bin).astype(np.int64)
            path[moment] = project(self.track, course[["x", "y"]].to_numpy(float)).bin
        return EventEvidence(start, end, spikes, posterior.reshape(shape).sum(axis=2), path, traces)
