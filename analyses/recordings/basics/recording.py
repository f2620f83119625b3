"""A recording: an animal's positions and spikes, and what other programs decoded.

All readers return a `Recording`, which checks its data when it is created: one clock, in seconds;
one scale, in cm; positions on the track; posteriors that are distributions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.recordings.basics.binned_track import BinnedTrack, cut_track
from analyses.recordings.basics.observed import (
    LONGEST_LOST,
    Observed,
    check_intervals,
    order_in_time,
    seconds_in,
    tracked,
)
from analyses.recordings.basics.recording_checks import (
    check_bin_places,
    check_cells,
    check_decoded,
    check_events,
    check_observed,
    check_one_clock,
    check_positions,
    check_track,
    span_text,
)
from analyses.recordings.basics.settings import MOST_UNKNOWN
from analyses.recordings.basics.signals import FieldPotential, Posterior
from replay.checks import check_array, check_column, check_number, check_table, check_text, typed
from replay.checks.arrays import Bools, Floats, Ints

_MOST_SHOWN = 20


@dataclass(frozen=True, eq=False, repr=False)
class Recording:
    """A recording of one animal on one track; missing data are empty or None.

    Data may come in any order: all are sorted by time, each with its row. A note says so where this
    is no matter of course: positions, posterior, decoded places and field potential.

    What was not observed is no evidence: positions are unknown where they are NaN or missing, and
    spikes where `observed` says so.

    Attributes
    ----------
    name : str
        The name of the recording in messages and results.
    graph : networkx.Graph or None
        The track: nodes with `pos` in cm.
    time : ndarray of float64, shape (n_samples,)
        The times of the animal's positions, in s.
    position : ndarray of float64, shape (n_samples, 2)
        The positions, in cm; NaN if unknown, which is the same as no row.
    spikes : tuple of ndarray of float64
        The spike times of each cell, in s; if spikes are not sorted, of each class of marks.
    electrode : ndarray of int64, shape (n_classes,), or None
        The electrode of each class of marks (see `analyses.recordings.basics.marks`); None for
        sorted cells.
    units : tuple of str
        The id of each cell where it was recorded, or none: then it is the number of the cell.
    observed : Observed
        When spikes, or those of each cell, were observed; by default always.
    posterior : Posterior or None
        A posterior decoded by another program.
    decoded : DataFrame or None
        Places decoded by another program, event by event: `event`, `time` (s), `x` and `y` (cm).
    events : DataFrame or None
        Candidate events: `start_time` and `end_time`, in s.
    field_potential : FieldPotential or None
        The signal in which to detect events.
    on_track : ndarray of float64, shape (n_epochs, 2)
        Begin and end of each epoch in which the animal was on the track, in s; if there is none,
        it was there all the time.
    epochs : mapping of str to ndarray of float64, each of shape (n_intervals, 2)
        Begin and end of the intervals of each epoch, such as sleep before the run, in s: those
        that were chosen, or else those of each label in the file, as `LABEL` and `TABLE:LABEL`.
    origin : mapping of str to str
        The origin of the data: the file, its digest and the animal, as far as known.
    notes : tuple of str
        A sentence from each reader on what it read.
    most_unknown : float, default 0.2
        The largest share of positions on the track that may be unknown.

    Raises
    ------
    ValueError
        If times are not on one clock, of each cell, too, or in single precision and so large that
        time bins need more digits; if spikes lie outside of when they were observed; if places are
        not in cm or too many positions are unknown; or if rows of the posterior do not sum to 1, or
        its bins do not fit the track.

    Examples
    --------
    >>> from replay.worlds.tracks import make_linear_track
    >>> Recording("mine", make_linear_track(), np.array([0.0, 1.0]), np.array([[0, 0], [9, 0]]))
    Recording('mine', 2 nodes of the track, 2 positions, 0 to 1 s)
    >>> Recording("mine", spikes=(np.array([0.5, 0.2]),)).spikes[0].tolist()
    [0.2, 0.5]
    """

    name: str
    graph: nx.Graph | None = None
    time: Floats = field(default_factory=lambda: np.empty(0))
    position: Floats = field(default_factory=lambda: np.empty((0, 2)))
    spikes: tuple[Floats, ...] = ()
    electrode: Ints | None = None
    units: tuple[str, ...] = ()
    observed: Observed = field(default_factory=Observed)
    posterior: Posterior | None = None
    decoded: pd.DataFrame | None = None
    events: pd.DataFrame | None = None
    field_potential: FieldPotential | None = None
    on_track: Floats = field(default_factory=lambda: np.empty((0, 2)))
    epochs: Mapping[str, Floats] = field(default_factory=dict)
    origin: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    most_unknown: float = MOST_UNKNOWN

    def __post_init__(self) -> None:
        """Check all data."""
        check_text("The name of a recording", self.name)
        check_number("most_unknown", self.most_unknown, at_least=0, at_most=1)
        if self.position.shape != (len(self.time), 2):
            raise ValueError(
                f"{self.name} must have a pair (x, y) for each time of a position; got "
                f"{len(self.time)} times and positions of shape {self.position.shape}."
            )
        what = f"The positions of {self.name}, in cm,"
        check_array(self.position, what, kind="number", missing=True, n_dims=2)
        if self.electrode is not None and len(self.electrode) != len(self.spikes):
            raise ValueError(
                f"{self.name} must have an electrode for each class of marks: it has "
                f"{len(self.electrode)} for {len(self.spikes)} classes."
            )
        if self.units and len(self.units) != len(self.spikes):
            raise ValueError(
                f"{self.name} must have one of units for each cell, or none: it has "
                f"{len(self.units)} for {len(self.spikes)} cells. Choose both alike."
            )
        check_observed(self.name, self.spikes, self.observed)
        for what, intervals in (("on_track", self.on_track), *self.epochs.items()):
            if len(intervals):
                check_intervals(intervals, f"{what} of {self.name}")
        if self.events is not None:
            check_events(self.events, f"the events of {self.name}")
        if self.decoded is not None:
            what = f"the decoded places of {self.name}"
            check_table(self.decoded, ["event", "time", "x", "y"], what)
            for column in ("time", "x", "y"):
                check_column(self.decoded, column, what, kind="number", missing=column != "time")
        if self.posterior is not None:
            self.posterior.check(self.name)
        if self.field_potential is not None:
            self.field_potential.check(self.name)
        self._sort()
        if len(self.on_track) and len(self.time) and not self.during.any():
            begin, end = self.on_track[0]
            raise ValueError(
                f"{self.name} has no position from {begin:.12g} to {end:.12g} s, when the animal "
                f"was on the track: {span_text('positions', self.time)}. Give both in s, on one "
                "clock."
            )
        check_one_clock(self.name, self._clocks())
        check_cells(self.name, self.time, self.spikes)
        if self.graph:
            self._check_places(cut_track(self.graph, bin_size=10.0))

    def __repr__(self) -> str:
        """Show the name and what there is, in one line."""
        bins = 0 if self.posterior is None else len(self.posterior.time)
        signal = 0 if self.field_potential is None else len(self.field_potential.signal)
        counts = {
            "nodes of the track": 0 if self.graph is None else len(self.graph),
            "positions": len(self.time),
            "cells": len(self.spikes),
            "time bins of a posterior": bins,
            "decoded places": 0 if self.decoded is None else len(self.decoded),
            "events": 0 if self.events is None else len(self.events),
            "samples of the field potential": signal,
        }
        some = [f", {number:,} {what}" for what, number in counts.items() if number]
        clock = f", {self.time[0]:g} to {self.time[-1]:g} s" if len(self.time) else ""
        partly = "" if self.observed.is_always else ", observed in part"
        return f"Recording({self.name!r}{''.join(some)}{clock}{partly})"

    def _repr_html_(self) -> str:
        rows: list[tuple[str, str, object, object]] = []
        spikes = np.concatenate(self.spikes) if self.spikes else np.empty(0)
        for what, times in (
            ("positions", self.time),
            (f"spikes of {len(self.spikes)} cells", spikes),
            ("times of a posterior", () if self.posterior is None else self.posterior.time),
            ("decoded places", () if self.decoded is None else self.decoded["time"]),
            ("events", () if self.events is None else self.events["start_time"]),
        ):
            if len(times):
                rows.append((what, f"{len(times):,}", np.min(times), np.max(times)))
        if self.field_potential is not None:
            time, signal = self.field_potential.time, self.field_potential.signal
            what = f"samples of {signal.shape[1]} channels of the field potential"
            rows.append((what, f"{len(signal):,}", *time[[0, -1]]))
        for name, intervals in (("on the track", self.on_track), *self.epochs.items()):
            if len(intervals) and ":" not in name:  # TABLE:LABEL has the times of LABEL, or others
                n = len(intervals)
                rows.append(
                    (f"epoch: {name}", f"{n:,}", intervals[:, 0].min(), intervals[:, 1].max())
                )
        table = pd.DataFrame(rows, columns=["", "number", "from (s)", "to (s)"])
        shown = table.to_html(index=False, float_format="{:,.1f}".format, max_rows=_MOST_SHOWN)
        notes = "".join(f"<li>{escape(note)}</li>" for note in (*self.notes, *self.unobserved()))
        return f"<p>{escape(repr(self))}</p>{shown}<ul>{notes}</ul>"

    @property
    def known(self) -> tuple[Floats, Floats]:
        """The times and positions of the samples whose position is known."""
        known = ~np.isnan(self.position).any(axis=1)
        return self.time[known], self.position[known]

    def span(self) -> tuple[float, float]:
        """Find when what is known of the animal begins and ends, in s."""
        clocks = [self.known[0], *self.spikes]
        clocks += [] if self.posterior is None else [self.posterior.time]
        clocks += [] if self.decoded is None else [self.decoded["time"].to_numpy(dtype=float)]
        some = [each for each in clocks if len(each)]
        if not some:
            raise ValueError(
                f"{self.name} has no positions, spikes or decoded places: nothing says when it was."
            )
        return min(float(each.min()) for each in some), max(float(each.max()) for each in some)

    def unobserved(self) -> list[str]:
        """Say what was not observed, one sentence each; empty if all was."""
        told: list[str] = []
        known = self.known[0]
        if not len(known):
            return told
        begin, end = self.span()
        lost = end - begin - seconds_in(tracked(known), begin, end)
        if lost > 1 and self.spikes:
            told.append(
                f"The animal's position is unknown in {_minutes(lost)} of {_minutes(end - begin)}: "
                "so is its speed, which refuses no candidate event then, and a lap does not go on "
                f"across {LONGEST_LOST:g} s of it."
            )
        if self.observed.is_always:
            return told
        whole = seconds_in(self.observed.spikes, begin, end)
        if end - begin - whole > 1:
            told.append(
                f"Spikes were observed in {_minutes(whole)} of {_minutes(end - begin)}: the rest "
                "counts in no rate, and has no event."
            )
        each = np.array([seconds_in(own, begin, end) for own in self.observed.cells])
        if (each < whole - 1).any():
            n, own = int((each < whole - 1).sum()), each[each < whole - 1]
            told.append(
                f"{n} of {len(each)} cells {'was' if n == 1 else 'were'} observed in part of this "
                f"time ({_minutes(own.min())}"
                + (f" to {_minutes(own.max())}" if n > 1 else "")
                + "): a field is that of the time in which its cell was observed, and an event is "
                "decoded without the cells that were not."
            )
        return told

    @property
    def during(self) -> Bools:
        """Whether the animal was on the track at each sample, shape (n_samples,)."""
        if not len(self.on_track):
            return np.ones(len(self.time), dtype=bool)
        found = np.zeros(len(self.time), dtype=bool)
        for begin, end in self.on_track:
            found |= (self.time >= begin) & (self.time <= end)
        return found

    def digest(self) -> str:
        """Compute the SHA-256 of all numbers that results may depend on."""
        found = hashlib.sha256()
        parts: list[object] = [*self.known, self.on_track, *self.spikes]
        if not self.observed.is_always:
            parts += [self.observed.spikes, *self.observed.cells]
        parts += [] if self.electrode is None else [self.electrode]
        if self.graph is not None:
            nodes = {node: number for number, node in enumerate(self.graph)}
            parts += [[data["pos"] for _, data in self.graph.nodes(data=True)]]
            parts += [[(nodes[one], nodes[other]) for one, other in self.graph.edges]]
        if self.posterior is not None:
            time, probability, position, movement, outward = self.posterior
            parts += [time, probability, position, *movement.values()]
            parts += [] if outward is None else [outward]
        if self.field_potential is not None:
            parts += [part for part in self.field_potential if part is not None]
        for table in (self.decoded, self.events):
            columns = [] if table is None else [table[name] for name in sorted(table, key=str)]
            # Texts are labels, and change no result; numbers count, whatever holds them.
            parts += [own for own in columns if not any(isinstance(each, str) for each in own)]
        # Shapes too: the same numbers, cut into other arrays, are other data.
        for part in parts:
            array = np.ascontiguousarray(part, dtype=float)
            found.update(repr(array.shape).encode() + array.tobytes())
        return found.hexdigest()

    def _sort(self) -> None:
        """Check all times, and sort what has them."""
        told: list[str] = []

        def order(what: str, time: Floats) -> NDArray[np.intp] | None:
            found = order_in_time(time, f"The times of {what} of {self.name}", is_sampled=True)
            told.extend([] if found is None else [what])
            return found

        if (rows := order("positions", self.time)) is not None:
            self._become(time=self.time[rows], position=self.position[rows])
        if self.decoded is not None:
            time = self.decoded["time"].to_numpy(dtype=float)
            if (rows := order("decoded places", time)) is not None:
                self._become(decoded=self.decoded.iloc[rows].reset_index(drop=True))
        found = self.posterior
        if found is not None and (rows := order("the posterior", found.time)) is not None:
            columns = {key: values[rows] for key, values in found.movement.items()}
            outward = None if found.outward is None else found.outward[rows]
            time, probability = found.time[rows], found.probability[rows]
            self._become(posterior=Posterior(time, probability, found.position, columns, outward))
        potential = self.field_potential
        if potential is not None and potential.timestamps is not None:
            time = potential.timestamps
            if (rows := order("the field potential", time)) is not None:
                signal, begin = potential.signal[rows], float(time.min())
                whole = FieldPotential(begin, potential.rate, signal, time[rows])
                self._become(field_potential=whole)
        if told:
            note = f"Sorted by time, as they were not in order: {', '.join(told)}."
            self._become(notes=(*self.notes, note))
        spikes = list(self.spikes)
        for number, each in enumerate(self.spikes):
            rows = order_in_time(each, f"The spike times of cell {number} of {self.name}")
            spikes[number] = each if rows is None else each[rows]
        self._become(spikes=tuple(spikes))
        if self.events is not None:
            start = self.events["start_time"].to_numpy(dtype=float)
            rows = order_in_time(start, f"The start times of events of {self.name}")
            if rows is not None:
                self._become(events=self.events.iloc[rows].reset_index(drop=True))

    def _become(self, **parts: object) -> None:
        for name, part in parts.items():
            object.__setattr__(self, name, part)

    def _clocks(self) -> dict[str, Floats]:
        """List all times by what has them."""
        clocks = {"positions": self.time}
        if self.spikes:
            clocks["spikes"] = np.concatenate(self.spikes)
        if self.events is not None:
            clocks["events"] = self.events["start_time"].to_numpy(dtype=float)
        if self.posterior is not None:
            clocks["the posterior"] = self.posterior.time
        if self.decoded is not None:
            clocks["decoded places"] = self.decoded["time"].to_numpy(dtype=float)
        if self.field_potential is not None:
            # Some of its many times tell as well on which clock they are.
            clocks["the field potential"] = self.field_potential.time[::100]
        return clocks

    def _check_places(self, track: BinnedTrack) -> None:
        """Check that positions, bins and decoded places are in cm, and on the track."""
        check_track(self.name, track)
        time, xy = self.time[self.during], self.position[self.during]
        if len(xy):
            note = self.notes[0] if self.notes else ""
            check_positions(self.name, track, time, xy, self.most_unknown, note)
        if (found := self.posterior) is not None:
            check_bin_places(self.name, track, found.position, found.probability)
        if self.decoded is not None:
            decoded = self.decoded[["x", "y"]].to_numpy(dtype=float)
            check_decoded(self.name, track, decoded, self.most_unknown)


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.1f} min"


Recording.__init__ = typed(Recording.__init__)  # type: ignore[method-assign]
