"""Tables of NWB files: candidate events, and epochs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.recordings.basics.binned_track import BinnedTrack, cut_track, project
from analyses.recordings.basics.settings import FARTHEST, RUN
from analyses.recordings.readers.table_files import bounds_of
from analyses.recordings.readers.track_graphs import epochs_of
from replay.checks import unknown_name

if TYPE_CHECKING:
    from pynwb import NWBFile

__all__ = ["by_name", "choose_events", "intervals_of", "labelled_epochs", "labels_of", "not_read"]
__all__ += ["plain", "running_epochs", "split_choice", "tables_of"]

_EVENT_NAMES = ("ripple", "swr", "sharp_wave", "mua", "hse", "candidate", "replay_events")
_LABELS = ("label", "tags", "epoch_name", "epoch_type", "task", "environment", "state")
_RUNNING = {"run", "running", "track", "maze", "task", "behavior", "behaviour"}
_RESTING = {"rest", "sleep", "box", "home", "pre", "post", "off", "cage"}
_LEAST_ON_TRACK, _LEAST_EXTENT = 0.8, 0.5  # shares of samples, and of the extent of the track


def by_name(objects: Iterable[Any]) -> dict[str, Any]:
    """Name objects of a file, each with as much of its path as tells it from the others."""
    found = list(objects)
    ends = []
    for each in found:
        name, own = "", []
        while each is not None:
            name = f"{each.name}/{name}".rstrip("/")
            own.append(name)
            each = each.parent
        ends.append(own)
    count = Counter(name for own in ends for name in own)
    names = [next(name for name in own if count[name] == 1) for own in ends]
    return dict(zip(names, found, strict=True))


def split_choice(text: str, known: Mapping[str, Any]) -> tuple[str, str]:
    """Divide ``NAME:REST``, or ``NAME``, if it is known; else take the first, and all as the rest.

    Examples
    --------
    >>> split_choice("probe2:3", {"probe1": 0, "probe2": 1})
    ('probe2', '3')
    >>> split_choice("3", {"probe1": 0, "probe2": 1})
    ('probe1', '3')
    """
    name, _, rest = text.partition(":")
    return (name.strip(), rest.strip()) if name.strip() in known else (next(iter(known)), text)


def not_read(names: Sequence[str], option: str) -> str:
    """Say what was left out where there are several of a kind, and the option that takes it.

    Examples
    --------
    >>> not_read(["probe2"], "channel, such as {}:0")
    " (not read: 'probe2'; choose by channel, such as probe2:0)"
    """
    if not names:
        return ""
    listed = ", ".join(map(repr, names))
    return f" (not read: {listed}; choose by {option.format(names[0])})"


def tables_of(file: NWBFile) -> dict[str, Any]:
    """Return the tables with begins and ends, by name: those of epochs first, of trials last."""
    from hdmf.common import DynamicTable

    found = by_name(
        each
        for each in file.objects.values()
        if isinstance(each, DynamicTable)
        and (bounds := bounds_of(each.colnames))
        and all(np.asarray(each[name].data[:1]).dtype.kind in "iuf" for name in bounds)
    )

    def rank(name: str) -> tuple[bool, bool, bool, str]:
        own = name.rpartition("/")[2].lower()
        return "trial" in own, "epoch" not in own, own != "epochs", name

    return {name: found[name] for name in sorted(found, key=rank)}


def choose_events(tables: Mapping[str, Any], name: str, events: str | None) -> tuple[str, ...]:
    """Return the table of events that is named; or else all with suitable names, best first."""
    if events is not None:
        if events not in tables:
            raise unknown_name(f"table of events of {name}", events, tables)
        return (events,)
    suitable = [table for part in _EVENT_NAMES for table in tables if part in table.lower()]
    return tuple(dict.fromkeys(suitable))


def intervals_of(table: Any) -> pd.DataFrame:
    """Read begin and end of each row that has both; the index has the numbers of these rows."""
    columns = zip(("start_time", "end_time"), bounds_of(table.colnames) or (), strict=True)
    return pd.DataFrame(
        {name: np.asarray(table[column].data[:], dtype=float) for name, column in columns}
    ).dropna()


def plain(value: Any) -> Any:
    """Convert a cell of a table to a text, number or truth value of Python."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return value.item() if isinstance(value, np.generic) else value


def labelled_epochs(
    tables: Mapping[str, Any],
) -> tuple[dict[str, NDArray[np.float64]], list[str]]:
    """Collect begin and end of intervals by their label; also say which are in several tables.

    A label has the times of the first table that has it, and ``TABLE:LABEL`` those of each.
    """
    first: dict[str, tuple[str, NDArray[np.float64]]] = {}
    each: dict[str, NDArray[np.float64]] = {}
    others: dict[tuple[str, str], list[str]] = {}
    for table, labels, times in _labelled(tables):
        for label in dict.fromkeys(labels):
            own = times[[one == label for one in labels]]
            each[f"{table}:{label}"] = own
            taken, known = first.setdefault(label, (table, own))
            if not np.array_equal(own, known):
                others.setdefault((taken, table), []).append(label)
    told = [
        f"times of {', '.join(map(repr, labels))} are those in {taken!r}, not in {table!r}: choose "
        f"by epochs, such as '{RUN}={table}:{labels[0]}'"
        for (taken, table), labels in others.items()
    ]
    return {label: times for label, (_, times) in first.items()} | each, told


def _labelled(
    tables: Mapping[str, Any],
) -> Iterator[tuple[str, list[str], NDArray[np.float64]]]:
    """Iterate over columns of labels: table (and column, after the first), labels, times."""
    for name, table in tables.items():
        for number, (column, labels) in enumerate(labels_of(table).items()):
            times = intervals_of(table)
            kept = [row for row in times.index if labels[row]]
            yield (
                f"{name}.{column}" if number else name,
                [labels[row] for row in kept],
                times.loc[kept].to_numpy(),
            )


def labels_of(table: Any) -> dict[str, list[str]]:
    """Read the labels of the rows of a table, by the column that has them."""
    found: dict[str, list[str]] = {}
    for column in (each for each in _LABELS if each in table.colnames):
        found[column] = []
        for row in range(len(table)):
            value = table[column][row]
            words = [value] if isinstance(value, str | bytes) else np.ravel(np.asarray(value))
            found[column].append(" ".join(str(plain(word)) for word in words).strip())
    return found


def running_epochs(
    tables: Mapping[str, Any],
    time: NDArray[np.float64],
    position: NDArray[np.float64],
    graph: nx.Graph | None,
) -> tuple[NDArray[np.float64], str]:
    """Find the epochs in which the animal was on the track, and say how, and which were left out.

    These are the epochs with a label of running; or, in a table of epochs without such labels,
    those in which positions are on the track and go along much of it. The first table counts, and
    without any the epochs of the track graph.
    """
    found = []
    for name, table in tables.items():
        for source, labels, times in _labelled({name: table}):
            is_run = []
            for label in labels:  # `MazeEpoch` has the words maze and epoch
                parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", label)
                words = {part.lower() for part in parts}
                is_run.append(bool(words & _RUNNING) and not words & _RESTING)
            if any(is_run):
                how = f"of {len(table)} in {source!r}, by their labels"
                found.append((times[is_run], how, f"{source}:{labels[is_run.index(True)]}"))
        if not found and "epoch" in name.lower() and graph is not None and len(time):
            times = intervals_of(table).to_numpy()
            track = cut_track(graph, bin_size=10.0)
            kept = [_is_on_track(position[(time >= begin) & (time <= end)], track)
                    for begin, end in times]  # fmt: skip
            if any(kept):
                found.append((times[kept], f"of {len(kept)} in {name!r}, by the positions", ""))
    of_graph = epochs_of(graph)
    if not found:
        return of_graph, "of the track graph"
    (taken, how, _), *others = found
    left = [choice for times, _, choice in others if not np.array_equal(times, taken)]
    if left:
        how += f"; not {', '.join(map(repr, left))}: choose by epochs, such as '{RUN}={left[0]}'"
    if len(of_graph) and not np.array_equal(taken, of_graph):
        how += "; not those of the track graph: choose by epochs, with their times"
    return taken, how


def _is_on_track(position: NDArray[np.float64], track: BinnedTrack) -> bool:
    there = position[~np.isnan(position).any(axis=1)]
    if len(there) < 2:
        return False
    is_near = project(track, there).away <= FARTHEST
    if is_near.mean() < _LEAST_ON_TRACK:
        return False
    extent = np.ptp(there[is_near], axis=0).max()
    return bool(extent >= _LEAST_EXTENT * np.ptp(track.node_position, axis=0).max())
