"""The evidence for a decoded event, on one axis of time: spikes, posterior, what was measured."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from analyses.page.packing import pack
from analyses.recordings.basics.binned_track import BinnedTrack
from analyses.recordings.basics.linearised_track import linearise
from analyses.recordings.prepare.evidence import Evidence

_TRACES = ("multiunit_rate", "field_potential", "speed")
_LEVELS = 254  # of a trace; 255 is unknown
_LEAST_PROBABILITY = 1e-3


def describe_places(track: BinnedTrack) -> list[dict[str, Any]]:
    """Describe the axes of places on which a posterior is drawn.

    A track has one, laid out on a line; an arena has two coordinates. Each has the limits `low,
    high` of its rows in cm, the places and names of `nodes`, and the `gaps` between tracks.
    """
    if track.is_arena:
        axes: list[tuple[str, NDArray[np.float64], NDArray[np.float64], list[Any], list[Any]]] = []
        for name, place in zip("xy", track.position.T, strict=True):
            low = place.min() + track.square * (np.arange(_coordinate(track, name).max() + 1) - 0.5)
            axes.append((f"{name} in cm", low, low + track.square, [], []))
    else:
        line = linearise(track)
        nodes, gaps = [list(node) for node in line.nodes], [list(gap) for gap in line.gaps]
        axes = [("nodes of the track", line.low, line.high, nodes, gaps)]
    return [
        {"name": name, "low": low.round(2).tolist(), "high": high.round(2).tolist(),
         "nodes": nodes, "gaps": gaps}
        for name, low, high, nodes, gaps in axes
    ]  # fmt: skip


def pack_evidence(evidence: Evidence, number: int) -> dict[str, Any]:
    """Pack the evidence for an event.

    `spike_row` (cells by the place of their fields, from 0) and `spike_time` (.1 ms after the
    beginning); for axis K of places `place_K`, the probability of each row in each time bin, where
    255 is `highest` or more, and `path_K`, the row of the path (-1 where nothing travels); and each
    trace, where 0 to 254 lie between its limits in `traces`.
    """
    event, track = evidence.of(number), evidence.track
    packed: dict[str, Any] = {
        "seconds": event.end - event.start,
        "time_bin": evidence.time_bin,
        "n_cells": 0,
        "traces": {},
    }
    columns: dict[str, NDArray[Any]] = {}
    if event.posterior is not None and event.path is not None:
        # Active cells have a row each, in the order of their fields; spikes are in that of time.
        centre = track.position[:, 0] if track.is_arena else linearise(track).centre
        order = np.argsort(centre[evidence.rates.argmax(axis=1)], kind="stable")
        every = [event.spikes[cell] for cell in order]
        within = [each[(each >= event.start) & (each < event.end)] for each in every]
        active = [each for each in within if len(each)]
        cell = np.repeat(np.arange(len(active)), [len(each) for each in active])
        since = np.concatenate([*active, np.empty(0)]) - event.start
        time = np.rint(1e4 * since).astype(np.int64)
        by_time = np.argsort(time, kind="stable")
        packed["n_cells"] = len(active)
        columns["spike_row"], columns["spike_time"] = cell[by_time], time[by_time]
        places = event.posterior.sum(axis=1)
        packed["highest"] = max(float(np.quantile(places.max(axis=1), 0.9)), _LEAST_PROBABILITY)
        axes = (
            [_coordinate(track, name) for name in "xy"]
            if track.is_arena
            else [np.arange(track.n_bins)]
        )
        for k, row in enumerate(axes):  # the row of each bin on each axis of places
            shown = np.zeros((len(places), row.max() + 1))
            np.add.at(shown.T, row, places.T)
            columns[f"place_{k}"] = np.rint(
                255 * np.minimum(shown / packed["highest"], 1.0)
            ).ravel()
            columns[f"path_{k}"] = np.where(event.path >= 0, row[event.path], -1)
    for name in _TRACES:
        if len(event.traces) and event.traces[name].notna().any():
            values = event.traces[name].to_numpy(dtype=float)
            low, high = float(np.nanmin(values)), float(np.nanmax(values))
            scaled = np.rint(_LEVELS * (values - low) / (high - low or 1.0))
            packed["traces"][name] = [low, high]
            columns[name] = np.where(np.isnan(values), _LEVELS + 1, scaled)
    whole = {name: values.astype(np.int64) for name, values in columns.items()}
    return packed | pack(whole)


def _coordinate(track: BinnedTrack, name: str) -> NDArray[np.int64]:
    place = track.position[:, "xy".index(name)]
    return np.asarray(np.rint((place - place.min()) / track.square).astype(np.int64))
