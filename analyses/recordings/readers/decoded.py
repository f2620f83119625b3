"""What other programs decoded: posteriors, and plain tables of places or positions.

Posteriors are xarray Datasets, NetCDF files, or pynapple's tables. They are recognised by their
fields, not by their class, so that none of these programs needs to be installed:

- replay_trajectory_classification: `acausal_posterior` with the dimensions `time`, `state` (unless
  the decoder has none) and `position`, or `x_position` and `y_position`; NaN in the gaps between
  edges.
- non_local_detector and Spyglass: `acausal_posterior` with the dimensions `time` and `state_bins`,
  whose coordinates are `state` and `position`, and `acausal_state_probabilities`.
- pynapple's `decode_bayes`: a `Tsd` and a `TsdFrame`, or only the latter, whose columns are places
  along the track.

States whose names contain `inbound` and `outbound`, as with `encoding_group_labels`, have a
heading: outbound is along the track as the graph's `linear_edge_order` lays it out.

Linearised positions are mapped to the plane by the table of bins, if there is one
(replay_trajectory_classification's `place_bin_centers_nodes_df_`), or else by the graph's
`linear_edge_order` and `linear_edge_spacing`.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from analyses.recordings.basics.observed import check_digits, check_times
from analyses.recordings.basics.recording import Recording
from analyses.recordings.basics.settings import MOST_UNKNOWN
from analyses.recordings.basics.signals import Posterior, check_bins
from analyses.recordings.readers.claims import check_claim, check_hdf5, damage_told
from analyses.recordings.readers.track_graphs import IncompleteError, epochs_of, linear_to_plane
from replay import files
from replay.checks import check_all, check_array, check_column, check_table, shown, typed
from replay.checks.arrays import Floats
from replay.files import check_file

NETCDF = (".nc", ".nc4", ".netcdf")

_NAMES = ("acausal_posterior", "causal_posterior")
_LEAST = 1e-6  # less of a probability is rounding
_WHOSE = ("animal", "subject", "rat", "session")
READ = ("event", "time", "x", "y", "linear_position", *_WHOSE)
"""The columns that are read of decoded places or positions."""


def read_posterior(source: object, graph: nx.Graph | None, *, bins: object = None) -> Recording:
    """Read a decoded posterior from an xarray Dataset or a NetCDF file, and its labelled events.

    `bins`, or a CSV file of them, has `linear_position, x_position, y_position` (cm).
    """
    data: Any = source
    name = "the Dataset"
    if isinstance(source, str | Path):
        name, data = Path(source).name, open_posterior(Path(source))
    posteriors = [variable for variable in _NAMES if variable in data]
    if not posteriors:
        raise ValueError(
            f"{name} must have acausal_posterior; it has {shown(sorted(map(str, data.data_vars)))}."
        )
    array = data[posteriors[0]]
    if "time" not in array.dims:
        raise ValueError(f"{array.name} of {name} must have a dimension time; got {array.dims}.")
    time = check_times(np.asarray(data["time"].values), f"time of {name}")
    values, state, place = _by_bin(data, array, name)
    movement: dict[str, Floats] = {}
    if "acausal_state_probabilities" in data:
        states = data["acausal_state_probabilities"]
        axis = next(dimension for dimension in states.dims if dimension != "time")
        names = data[axis].to_numpy() if axis in data.coords else range(data.sizes[axis])
        columns = np.asarray(states.transpose("time", axis).values, dtype=float)
        movement = {str(kind): columns[:, number] for number, kind in enumerate(names)}
    else:
        text = state.astype(str)
        kinds = dict.fromkeys(text.tolist())
        if [*kinds] != [""]:  # which stands for a decoder without states
            movement = {kind: np.nansum(values[:, text == kind], axis=1) for kind in kinds}
    _check_sums(values, name)
    position = _in_plane(place, graph, bins, name)
    posterior, n_gaps = _posterior(time, values, place, position, movement, name)
    outward, headings = _outward(movement, graph)
    if outward is not None:
        posterior = posterior._replace(outward=outward)
    events = None
    if "interval_labels" in data:  # Spyglass decoded intervals, and labelled them
        labels = np.asarray(data["interval_labels"].values)
        intervals = [label for label in dict.fromkeys(labels.tolist()) if label >= 0]
        width = float(np.median(np.diff(np.sort(time))))
        times = [time[labels == label] for label in intervals]
        spans = [(inside.min(), inside.max() + width) for inside in times]
        events = pd.DataFrame(spans, columns=["start_time", "end_time"])
    rate = 1 / float(np.median(np.diff(np.sort(time)))) if len(time) > 1 else np.nan
    note = (
        f"{name}: {array.name}; {len(time):,} times, {rate:.4g} per second, "
        f"{len(posterior.position)} bins ({n_gaps} in gaps or off the track)"
        f"; states {', '.join(movement) or 'none'}{headings}"
        + (f"; {len(events)} events" if events is not None else "")
        + "."
    )
    return Recording(name, graph, posterior=posterior, events=events, notes=(note,))


def _outward(movement: dict[str, Floats], graph: nx.Graph | None) -> tuple[Floats | None, str]:
    """Return the probability of heading outbound, if states have headings, and a note on them."""
    outbound, inbound = (
        [probability for state, probability in movement.items() if heading in state.lower()]
        for heading in ("outbound", "inbound")
    )
    if not outbound or not inbound:
        return None, ""
    note = "; inbound and outbound"
    if graph is None or not graph.graph.get("edge_order"):
        return None, f"{note} (not used: only a graph with linear_edge_order says what is outbound)"
    # Of the states that have a heading; where none of them is likely, nothing is known.
    total = np.sum(outbound + inbound, axis=0)
    is_likely = total > _LEAST
    share = np.sum(outbound, axis=0) / np.where(is_likely, total, 1.0)
    return np.where(is_likely, share, 0.5), note


def open_posterior(path: Path) -> Any:
    """Open a NetCDF file; see `read_posterior` for errors."""
    check_file(path)
    try:
        import h5netcdf  # noqa: F401
        import xarray
    except ImportError:
        raise ImportError(
            "NetCDF files need xarray and h5netcdf: pip install 'hippocampal-replay[recordings]'."
        ) from None
    with damage_told(path, "a NetCDF file", "Write it again with Dataset.to_netcdf."):
        check_hdf5(path)
        with xarray.open_dataset(path, engine="h5netcdf") as data:
            check_claim(data.nbytes, path.stat().st_size, f"the contents of {path.name}")
            return data.load()


def _by_bin(data: Any, array: Any, name: str) -> tuple[Floats, NDArray[Any], Floats]:
    """Return the posterior, (n_time, n_bins), and state and place of each bin."""
    axes = [str(axis) for axis in array.dims if axis != "time"]
    axes.sort(key=lambda axis: axis != "state")
    values = np.asarray(array.transpose("time", *axes).values, dtype=float)
    if axes == ["state_bins"]:  # whether or not its index is a MultiIndex
        coordinates = ("state", "position", "x_position", "y_position")
        axes = [axis for axis in coordinates if axis in data.coords]
        if "state" not in axes or len(axes) not in (2, 3):
            raise ValueError(
                f"state_bins of {name} must have the coordinates state and position; got "
                f"{shown(sorted(map(str, data.coords)))}."
            )
        of_bins = [np.asarray(data[axis].values) for axis in axes]
    elif set(axes) - {"state"} in ({"position"}, {"x_position", "y_position"}):
        if any(axis not in data.coords for axis in axes if axis != "state"):
            raise ValueError(
                f"The positions of bins are missing: {name} has no coordinate position."
            )
        of_axes = [
            np.asarray(data[axis].values) if axis in data.coords else np.arange(data.sizes[axis])
            for axis in axes
        ]
        of_bins = [column.ravel() for column in np.meshgrid(*of_axes, indexing="ij")]
    else:
        raise ValueError(
            f"{array.name} of {name} must have the dimensions time and state_bins, or time, state "
            f"and position; got {tuple(array.dims)}."
        )
    has_states = axes[0] == "state"
    state = of_bins[0] if has_states else np.full(len(of_bins[0]), "")
    places = [np.asarray(column, dtype=float) for column in of_bins[has_states:]]
    return values.reshape(len(values), -1), state, np.stack(places, axis=1)


def _check_sums(values: Floats, name: str) -> None:
    sums = np.nansum(values, axis=1)
    is_decoded = ~np.isnan(values).all(axis=1)
    wrong = is_decoded & ~(np.abs(sums - 1.0) <= 1e-3)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"The posterior of {name} must sum to 1 over all states and places in each time bin; "
            f"time bin {row} sums to {sums[row]:.6g}. Give probabilities, not likelihoods or "
            "densities."
        )


def _in_plane(place: Floats, graph: nx.Graph | None, bins: object, name: str) -> Floats:
    """Return x and y of each bin; NaN in gaps and for states without a place."""
    if place.shape[1] == 2:
        return place
    linear = place[:, 0]
    if bins is not None:
        table = open_table(bins) if isinstance(bins, str | Path) else bins
        columns = ["linear_position", "x_position", "y_position"]
        checked = check_table(table, columns, "The table of bins")
        listed = checked["linear_position"].to_numpy(dtype=float)
        order = np.argsort(listed)
        # A table that was saved as text has rounded positions.
        at = order[np.clip(np.searchsorted(listed[order], linear - 1e-6), 0, len(listed) - 1)]
        is_lost = ~np.isnan(linear) & (np.abs(listed[at] - linear) > 1e-3)
        if is_lost.any():
            raise ValueError(
                f"{name} has a bin at {linear[is_lost][0]:.6g} cm that is not in the table of "
                "bins. Give the table of the decoder that computed this posterior."
            )
        xy = checked[["x_position", "y_position"]].to_numpy(dtype=float)[at]
        if "node_id" in checked:  # -1 in gaps, where x and y are meaningless
            xy[checked["node_id"].to_numpy()[at] == -1] = np.nan
        xy[np.isnan(linear)] = np.nan
        return xy
    if graph is None:
        raise IncompleteError(
            f"{name} has linearised positions. To map them to the track, give the track graph or "
            "the decoder's table of bins."
        )
    is_bin = ~np.isnan(linear)
    plane = np.full((len(linear), 2), np.nan)
    plane[is_bin] = linear_to_plane(graph, linear[is_bin], f"Bins of {name}")
    return plane


def _posterior(
    time: Floats,
    values: Floats,
    place: Floats,
    position: Floats,
    movement: dict[str, Floats],
    name: str,
) -> tuple[Posterior, int]:
    """Sum over states, leave out bins without a place, and normalise each row again."""
    is_decoded = ~np.isnan(values).all(axis=0)
    is_placed = ~np.isnan(position).any(axis=1)
    is_local = np.isnan(place).any(axis=1)
    lost = is_decoded & ~is_placed & ~is_local
    mass = float(np.nansum(values[:, lost]) / max(np.nansum(values), 1e-300))
    if mass > _LEAST:
        at = place[lost][0].tolist()
        raise ValueError(
            f"Bins of {name} do not fit the track graph: {mass:.1%} of the posterior lies in "
            f"{int(lost.sum())} bins in its gaps or beyond its ends, the first at {at} cm. Give "
            "the graph, linear_edge_order and linear_edge_spacing that the decoder used. A decoder "
            "without gaps, such as pynapple's, also decodes replay there: leave places where the "
            "animal never was out of its tuning curves."
        )
    kept = is_decoded & is_placed
    if not kept.any():
        raise ValueError(f"No bin of the posterior of {name} has a place on the track.")
    # Each place has a bin for each state, whose sum is the probability of the place.
    xy, number = np.unique(np.round(position[kept], 9), axis=0, return_inverse=True)
    probability = np.zeros((len(time), len(xy)))
    np.add.at(probability.T, number.ravel(), np.nan_to_num(values[:, kept]).T)
    total = probability.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        probability = np.where(total > _LEAST, probability / total, np.nan)
    n_gaps = len(np.unique(place[~kept & ~is_local], axis=0))
    return Posterior(time, probability, xy, movement), n_gaps


def along_track(
    time: ArrayLike, probability: ArrayLike, linear: ArrayLike, graph: nx.Graph | None, name: str
) -> Recording:
    """Make a recording from a posterior, shape (n_time, n_bins), over linearised positions in cm.

    Rows of `probability` sum to 1, or are NaN; `name` is that of the source in messages.

    Examples
    --------
    >>> from replay.worlds.tracks import make_linear_track
    >>> found = along_track([0.0, 0.1], np.eye(2), [10.0, 20.0], make_linear_track(), "mine")
    >>> found.posterior.position.tolist()
    [[10.0, 0.0], [20.0, 0.0]]
    """
    when = check_times(time, f"The times of {name}")
    values = check_array(
        probability, f"The posterior of {name}", kind="number", missing=True, n_dims=2
    )
    place = check_array(linear, f"The places of {name} in cm", kind="number")
    check_bins(values, len(when), len(place), f"The posterior of {name}")
    _check_sums(values, name)
    position = _in_plane(place[:, None], graph, None, name)
    posterior, n_gaps = _posterior(when, values, place[:, None], position, {}, name)
    note = (
        f"{name}: a posterior of {len(when):,} times and {len(place)} bins along the track "
        f"({n_gaps} in gaps); states none."
    )
    return Recording(name, graph, posterior=posterior, notes=(note,))


def open_table(path: str | Path) -> pd.DataFrame:
    """Read a CSV or parquet file.

    Rows of a CSV file have the numbers of their lines, for messages: usually the first is row 2.
    """
    try:
        table = files.read_table(path, _WHOSE)
    except ValueError as error:
        raise ValueError(
            f"{error} Write it again as CSV, with the names of columns in the first line."
        ) from None
    if Path(path).suffix == ".parquet":
        return table
    with files.opened(path) as file:
        lines = [number for number, line in enumerate(file, start=1) if line.strip()][1:]
    # A quoted cell may have several lines.
    return table.set_axis(pd.Index(lines) if len(lines) == len(table) else table.index + 2)


@typed
def read_table(
    source: str | Path | pd.DataFrame, graph: nx.Graph | None, *, most_unknown: float = MOST_UNKNOWN
) -> Recording:
    """Read decoded places, or the positions of an animal, from a table or a CSV or parquet file.

    It has `time` (s), and `x, y` or `linear_position` (cm), in any order; and `event`, unless these
    are the positions of the animal.
    """
    name = "the table" if isinstance(source, pd.DataFrame) else Path(source).name
    table = source if isinstance(source, pd.DataFrame) else open_table(source)
    has_places = {"x", "y"} <= {*table} or "linear_position" in table
    check_table(table, ["time"] if has_places else ["time", "x", "y"], name)
    for column in _WHOSE:
        if column in table and len(table[column].unique()) > 1:
            several = shown(sorted(map(str, table[column].unique())))
            raise ValueError(
                f"{name} has more than one {column}: {several}. Their experience differs, so give "
                "a separate file for each."
            )
    axes = ["x", "y"] if "x" in table and "y" in table else ["linear_position"]
    if axes[0] not in table or (len(axes) == 1 and graph is None):
        error = IncompleteError if "linear_position" in table else ValueError
        raise error(
            f"{name} must have the columns x and y, or linear_position and a track graph (track); "
            f"it has {shown(list(table.columns))}."
        )
    kinds: dict[str, dict[str, Any]] = {"time": {"kind": "number"}}
    kinds |= {key: {"kind": "number", "missing": True} for key in axes}
    kinds |= {"event": {"kind": "whole"}} if "event" in table else {}
    checks = (partial(check_column, table, column, name, **kinds[column]) for column in kinds)
    time, *places = check_all(checks)
    check_digits(table["time"], f"The times of {name}")
    if graph is not None and len(axes) == 1:
        xy = linear_to_plane(graph, places[0], f"Places of {name}")
    else:
        xy = np.stack(places[:2], axis=1)
    if "event" not in table:
        note = f"{name}: a table of {len(table):,} positions."
        on_track = epochs_of(graph)
        return Recording(
            name, graph, time, xy, on_track=on_track, notes=(note,), most_unknown=most_unknown
        )
    event = places[-1]
    decoded = pd.DataFrame({"event": event, "time": time, "x": xy[:, 0], "y": xy[:, 1]})
    spans = decoded.groupby("event", sort=False)["time"].agg(["min", "max"])
    events = pd.DataFrame({"start_time": spans["min"], "end_time": spans["max"]})
    events = events.reset_index(drop=True)
    # An event of a single decoded place has no duration, which no event may lack.
    events.loc[events["end_time"] <= events["start_time"], "end_time"] += 1e-3
    note = f"{name}: a table of {len(table):,} decoded places in {len(events)} events."
    return Recording(
        name, graph, decoded=decoded, events=events, notes=(note,), most_unknown=most_unknown
    )
