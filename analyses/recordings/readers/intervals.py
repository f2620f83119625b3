"""Intervals: candidate events, and the epochs in which replay is compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd

from analyses.recordings.basics.observed import seconds_in
from analyses.recordings.basics.recording import Recording
from analyses.recordings.basics.recording_checks import check_events
from analyses.recordings.basics.settings import RUN
from analyses.recordings.readers.array_files import read_arrays
from analyses.recordings.readers.decoded import open_table
from analyses.recordings.readers.nwb_data import ENDS, STARTS, bounds_of
from analyses.recordings.readers.track_graphs import count_text, in_pairs
from replay.checks import check_array, check_text, shown, typed
from replay.checks.arrays import Floats

_EXAMPLE = "before=0:600,run=600:1500,after=1500:2400"


@typed
def read_intervals(source: object) -> pd.DataFrame:
    """Read candidate events or an epoch from a table, an IntervalSet, arrays, or a file of these.

    A table has `start_time` and `end_time` in s, also under the names that other programs use, such
    as `start`, `end` and `stop_time`. The intervals are returned in order.
    """
    whose = "the events"
    if isinstance(source, str | Path):
        whose = Path(source).name
        if Path(source).suffix.lower() in (".npz", ".mat"):
            events = read_arrays(source).events
            if events is None:
                raise ValueError(f"{whose} has no intervals: event_start and event_end (s).")
            return events
        table = open_table(source)
    elif isinstance(source, pd.DataFrame):
        table = source
    elif hasattr(source, "as_dataframe"):  # an IntervalSet of pynapple
        table = source.as_dataframe()
    else:
        what = "Events or an epoch (begin and end in s)"
        pairs = in_pairs(check_array(source, what, kind="number", n_dims=None), what)
        table = pd.DataFrame(pairs, columns=["start_time", "end_time"])
    for names in (STARTS, ENDS):
        same = [name for name in names if name in table]
        if any(not table[name].equals(table[same[0]]) for name in same[1:]):
            raise ValueError(
                f"The columns {' and '.join(same)} of {whose} differ, perhaps in their unit: keep "
                "one of them, in s."
            )
    bounds = bounds_of(table)
    if bounds is None:
        raise ValueError(
            "Events need the columns start_time and end_time (s); got "
            f"{shown(list(table.columns))}."
        )
    start, end = check_events(table, whose, bounds)
    found = pd.DataFrame({"start_time": start, "end_time": end})
    return found.sort_values(["start_time", "end_time"], ignore_index=True)


def with_epochs(
    found: Recording, given: str | Mapping[str, object], most_unknown: float
) -> Recording:
    """Choose epochs by a text such as ``before=0:600,run=maze,after=900:1500,after=1600:1900``.

    Or by a mapping of their names to such a text or to a table of intervals.

    The animal was on the track in the epoch `run`, if there is one. Epochs end where the recording
    ends.
    """
    chosen: dict[str, list[Floats]] = {}
    if isinstance(given, Mapping):
        parts = [(check_text("The name of an epoch", key), where) for key, where in given.items()]
    else:
        pairs = (part.partition("=") for part in check_text("epochs", given).split(","))
        parts = [(key.strip(), where.strip() or key.strip()) for key, _, where in pairs]
    if not all(name for name, _ in parts) or not parts:
        raise ValueError(f"epochs must be such as {_EXAMPLE}; got {shown(given)}.")
    for name, where in parts:
        chosen.setdefault(name, []).append(_intervals(where, name, found))
    epochs, notes = {}, []
    first, last = found.span()
    seen = found.observed.any_cell(len(found.spikes))
    for name, each in chosen.items():
        whole = np.concatenate(each)
        whole = whole[np.argsort(whole[:, 0], kind="stable")]
        kept = np.clip(whole, first, last)
        kept = kept[kept[:, 1] > kept[:, 0]]
        if not len(kept):
            raise ValueError(
                f"The epoch {name!r} from {whole[0, 0]:.12g} to {whole[-1, 1]:.12g} s lies outside "
                f"of {found.name}, which goes from {first:.12g} to {last:.12g} s. Give epochs in s "
                "on its clock."
            )
        # A label of the file may go on a little after its last spike, of which nothing is said.
        lost = float(np.diff(whole, axis=1).sum() - np.diff(kept, axis=1).sum())
        if lost > 0.01 * np.diff(whole, axis=1).sum():
            notes.append(
                f"{lost:,.0f} s of the epoch {name!r} lie outside of the recording, and do not "
                "count."
            )
        unseen = np.diff(kept, axis=1).sum() - sum(seconds_in(seen, *ends) for ends in kept)
        if unseen > 1:
            notes.append(
                f"In {unseen:,.0f} s of the epoch {name!r} no cell was observed: they do not count."
            )
        epochs[name] = kept
    check_apart(epochs)
    run = epochs.get(RUN)
    listed = ", ".join(
        f"{name} ({np.diff(each, axis=1).sum():,.0f} s"
        + (f" in {count_text(len(each), 'part')})" if len(each) > 1 else ")")
        for name, each in epochs.items()
    )
    ran = (
        f"The animal ran on the track in the epoch {RUN!r}."
        if run is not None
        else f"None is named {RUN!r}, so the times on the track are those of the file."
    )
    return replace(
        found,
        epochs=epochs,
        on_track=found.on_track if run is None else run,
        most_unknown=most_unknown,
        notes=(*found.notes, f"Epochs: {listed}. {ran}", *notes),
    )


def _intervals(where: object, name: str, found: Recording) -> Floats:
    """Read ``begin:end`` in s or intervals, or look up a label of the file, or ``TABLE:LABEL``."""
    if not isinstance(where, str):
        return read_intervals(where).to_numpy(dtype=float)
    if where in found.epochs:
        return np.asarray(found.epochs[where], dtype=float)
    if Path(where).suffix.lower() in (".csv", ".parquet", ".npz", ".mat"):
        return read_intervals(where).to_numpy(dtype=float)
    begin, colon, end = where.partition(":")
    if not colon:
        known = ", ".join(repr(each) for each in found.epochs if ":" not in each) or "none"
        raise ValueError(
            f"The epoch {name!r} must be begin:end in s, or a label of {found.name} (it has "
            f"{known}); got {where!r}. For instance: {_EXAMPLE}."
        )
    try:
        times = np.array([[float(begin), float(end)]])
    except ValueError:
        times = np.full((1, 2), np.nan)
    if not np.isfinite(times).all() or times[0, 1] <= times[0, 0]:
        raise ValueError(
            f"The epoch {name!r} must begin before it ends, both in s, such as 0:600; got "
            f"{where!r}, which is no LABEL or TABLE:LABEL of {found.name}."
        )
    return times


def check_apart(epochs: Mapping[str, Floats]) -> None:
    """Check that no two intervals overlap, so that each event is counted once."""
    rows = sorted((begin, end, name) for name, each in epochs.items() for begin, end in each)
    for (_, end, one), (begin, _, other) in pairwise(rows):
        if begin < end - 1e-9:
            raise ValueError(
                f"Epochs must not overlap, so that an event is in one: {one!r} lasts until "
                f"{end:.12g} s, and {other!r} begins at {begin:.12g} s."
            )
