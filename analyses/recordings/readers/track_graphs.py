"""Track graphs from networkx, from JSON in the form used with track_linearization, or from a file.

In JSON a track has the fields of a row of Spyglass' table ``TrackGraph``: `node_positions` (cm) and
`edges`, and optionally `linear_edge_order` and `linear_edge_spacing`, which define its
linearisation. Each connected component is a separate track, so that one graph has both tracks of an
animal that ran on two. A graph may also have `pixels_per_cm`; `run_epochs`, when the animal was on
it (s); and `landmarks`, lists of nodes by name, which statistics use (:mod:`analyses.measures`).
The node-link form of networkx is read too. An arena has `node_positions`, the centres of its square
bins, and `arena`, their side (cm).

Positions in files become places in cm in the plane by the same graph: from metres, mm or pixels,
from 2 x n or n x 2, or from places along the track.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike, NDArray

from analyses.recordings.basics.arena import arena_graph
from analyses.recordings.basics.binned_track import cut_track
from replay.checks import check_array, check_choice, check_list, check_number, shown
from replay.checks.arrays import Floats
from replay.files import read_file
from replay.worlds.tracks import make_track_graph

_CM = {
    "cm": 1.0, "centimeter": 1.0, "centimetre": 1.0,
    "m": 100.0, "meter": 100.0, "metre": 100.0,
    "mm": 0.1, "millimeter": 0.1, "millimetre": 0.1,
}  # fmt: skip
_PIXELS = ("px", "pixel")


class IncompleteError(ValueError):
    """A file must be added: `missing` has an example of it, by the name of the option."""

    def __init__(self, message: str, **missing: str) -> None:
        super().__init__(message)
        self.missing = missing or {"track": "track.json"}


def read_track(source: object) -> nx.Graph:
    """Read a track graph.

    Parameters
    ----------
    source : networkx.Graph, mapping or path
        The graph itself, the content of its JSON file, or that file.

    Returns
    -------
    networkx.Graph
        Nodes with `pos` in cm; the graph's own attributes may be `edge_order`, `edge_spacing`,
        `pixels_per_cm`, `run_epochs` and `landmarks`.

    Raises
    ------
    TypeError, ValueError
        If it is not a track graph.
    FileNotFoundError
        If there is no such file.

    Examples
    --------
    >>> drawn = {"node_positions": [[0, 0], [30, 40]], "edges": [[0, 1]]}
    >>> read_track(drawn).edges[0, 1]["distance"]
    50.0
    """
    if isinstance(source, nx.Graph):
        cut_track(source, bin_size=10.0)  # refuses what is no track
        return source
    name = "The track graph"
    if isinstance(source, str | Path):
        name = str(source)
        try:
            source = json.loads(read_file(source))
        except FileNotFoundError:
            raise FileNotFoundError(
                f"There is no file {name}: give the JSON file of the track graph."
            ) from None
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{name} cannot be read as a track graph in JSON ({error}).") from None
    if not isinstance(source, Mapping):
        raise TypeError(
            f"{name} must be a networkx.Graph, or JSON with node_positions and edges; got "
            f"{shown(source)}."
        )
    graph = _from_mapping(source, name)
    cut_track(graph, bin_size=10.0)
    return graph


def _from_mapping(drawn: Mapping[str, Any], name: str) -> nx.Graph:
    if "nodes" in drawn and ("links" in drawn or "edges" in drawn):
        try:
            key = "links" if "links" in drawn else "edges"
            return nx.Graph(nx.node_link_graph(dict(drawn), edges=key))
        except (nx.NetworkXException, LookupError, TypeError, ValueError, AttributeError) as error:
            raise ValueError(
                f"{name} is not a graph in the node-link form of networkx ({error})."
            ) from None
    if "arena" in drawn and "node_positions" in drawn:
        return arena_graph(drawn["node_positions"], drawn["arena"])
    missing = [key for key in ("node_positions", "edges") if key not in drawn]
    if missing:
        raise ValueError(
            f"{name} lacks {' and '.join(missing)}: a track graph needs node_positions (cm) and "
            f"edges (pairs of nodes), but this one has {shown(list(drawn))}."
        )
    unit = drawn.get("units", "cm")
    if unit != "cm":
        raise ValueError(f"{name} must be in cm; got units {shown(unit)}.")
    graph = make_track_graph(drawn["node_positions"], drawn["edges"])
    order = drawn.get("linear_edge_order", drawn.get("edge_order"))
    if order is not None:
        graph.graph["edge_order"] = _pairs(order, f"linear_edge_order of {name}")
        spacing = drawn.get("linear_edge_spacing", drawn.get("edge_spacing", 0))
        graph.graph["edge_spacing"] = spacing
    if drawn.get("pixels_per_cm") is not None:
        scale = check_number(f"pixels_per_cm of {name}", drawn["pixels_per_cm"], at_least=1e-9)
        graph.graph["pixels_per_cm"] = scale
    for one, other in _pairs(drawn.get("bridges", ()), f"bridges of {name}"):
        if not graph.has_edge(one, other):
            raise ValueError(f"bridges of {name} must be edges of it; ({one}, {other}) is none.")
        graph.edges[one, other]["bridge"] = True
    landmarks = drawn.get("landmarks")
    if landmarks is not None:
        if not isinstance(landmarks, Mapping):
            raise ValueError(
                f"landmarks of {name} must be lists of nodes by name, such as "
                f"{{'reward': [0, 5]}}; got {shown(landmarks)}."
            )
        graph.graph["landmarks"] = {
            str(key): [str(node) for node in check_list(f"The landmark {key!r} of {name}", nodes)]
            for key, nodes in landmarks.items()
        }
    if drawn.get("run_epochs") is not None:
        epochs = check_array(drawn["run_epochs"], f"run_epochs of {name}", kind="number", n_dims=2)
        graph.graph["run_epochs"] = epochs
    return graph


def _pairs(given: object, what: str) -> list[tuple[int, int]]:
    if isinstance(given, list | tuple) and not given:
        return []
    pairs = check_array(given, what, kind="whole", n_dims=2)
    if pairs.shape[1] != 2:
        raise ValueError(f"{what} must list pairs of nodes; got {shown(given)}.")
    return [(int(one), int(other)) for one, other in pairs]


def draw_track(graph: nx.Graph) -> dict[str, Any]:
    """Convert a track graph to JSON that `read_track` reads, in cm, with any linearisation."""
    number = {node: place for place, node in enumerate(read_track(graph))}
    positions = [list(map(float, data["pos"])) for _, data in graph.nodes(data=True)]
    if "arena" in graph.graph:
        return {"node_positions": positions, "arena": graph.graph["arena"], "units": "cm"}
    track = cut_track(graph, bin_size=10.0)
    laid_out = {
        "linear_edge_order": track.edge_order.tolist(),
        "linear_edge_spacing": track.edge_spacing.tolist(),
    }
    edges = [[number[one], number[other]] for one, other in graph.edges]
    bridges = [
        edge for edge, (*_, data) in zip(edges, graph.edges(data=True), strict=True)
        if data.get("bridge")
    ]  # fmt: skip
    return {
        "node_names": [str(node) for node in graph],
        "node_positions": positions,
        "edges": edges,
        **({"bridges": bridges} if bridges else {}),
        "units": "cm",
        **(laid_out if len(track.edge_order) else {}),
    }


def epochs_of(graph: nx.Graph | None) -> Floats:
    """Return begin and end, in s, of the epochs on the track (`run_epochs`); empty without."""
    epochs = None if graph is None else graph.graph.get("run_epochs")
    return np.empty((0, 2)) if epochs is None else np.asarray(epochs, dtype=float)


def linear_to_plane(graph: nx.Graph, linear: ArrayLike, name: str) -> Floats:
    """Map positions along a linearised track, in cm, to (x, y).

    They count from the beginning of the first edge; in the gaps between edges, and beyond the ends,
    they become NaN. A graph of several edges needs the attributes `edge_order` and `edge_spacing`;
    `name` is that of the positions in messages.
    """
    order = read_track(graph).graph.get("edge_order")
    # A single corridor has one order, from the node that was drawn first.
    if order is None and graph.number_of_edges() == 1:
        order = list(graph.edges)
    if order is None:
        raise ValueError(
            f"{name} are linearised, but the track graph has {graph.number_of_edges()} edges "
            "without an order: add the linear_edge_order and linear_edge_spacing that were used "
            "for decoding."
        )
    order = [check_list("edge_order", edge) for edge in check_list("edge_order", order)]
    spacing = np.broadcast_to(
        check_array(graph.graph.get("edge_spacing", 0), "edge_spacing", kind="number", n_dims=None),
        (len(order) - 1,),
    )
    place = check_array(linear, name, kind="number", missing=True)
    found = np.full((len(place), 2), np.nan)
    begin = 0.0
    for number, edge in enumerate(order):
        one, other = edge
        first, last = (np.asarray(graph.nodes[node]["pos"], dtype=float) for node in (one, other))
        length = float(np.hypot(*(last - first)))
        # Where two edges touch without a gap, the first one has the place.
        here = (place >= begin - 1e-6) & (place <= begin + length + 1e-6) & np.isnan(found[:, 0])
        found[here] = first + np.outer((place[here] - begin) / length, last - first)
        begin += length + (float(spacing[number]) if number < len(spacing) else 0.0)
    return found


def find_tracks(graph: nx.Graph | None, names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Look up the nodes of two tracks that are named as landmarks."""
    if len(names) not in (0, 2):
        raise ValueError(
            f"Track log odds compare two tracks; got {len(names)}. Name two landmarks."
        )
    known = {} if graph is None else graph.graph.get("landmarks", {})
    if names and not known:
        raise ValueError(
            "The track has no landmarks to compare: add them to its JSON, such as "
            '"landmarks": {"left": ["1", "2"], "right": ["1", "3"]}.'
        )
    return tuple(
        tuple(str(node) for node in known[check_choice("landmark", name, known)]) for name in names
    )


def count_text(number: int, thing: str) -> str:
    """Write a count with its noun, in the plural unless the count is 1."""
    return f"{number:,} {thing}{'s' * (number != 1)}"


def in_pairs(values: ArrayLike, what: str) -> NDArray[np.generic]:
    """Return places as one pair (x, y) in each row: n x 2, or 2 x n as is usual in MATLAB.

    Two places are two rows.

    Examples
    --------
    >>> in_pairs([[1, 2, 3], [7, 8, 9]], "mine").tolist()
    [[1, 7], [2, 8], [3, 9]]
    """
    given = np.atleast_2d(np.asarray(values))
    if not given.size:
        return np.empty((0, 2))
    if given.ndim == 2 and given.shape[1] == 2:
        return given
    if given.ndim == 2 and given.shape[0] == 2:
        return given.T
    raise ValueError(
        f"{what} must have two columns, n x 2, or two rows, 2 x n; got the shape "
        f"{np.shape(values)}."
    )


class ScaleError(ValueError):
    """Positions are in `unit`, whose size is unknown."""

    def __init__(self, message: str, unit: str) -> None:
        super().__init__(message)
        self.unit = unit


def to_cm(values: ArrayLike, unit: str, graph: nx.Graph | None, name: str) -> tuple[Floats, str]:
    """Convert positions to cm; also return the conversion that was made, for a note, empty if none.

    `unit` is as written in the file. For pixels and unknown units, the graph of the track must have
    `pixels_per_cm`; `name` is that of the recording in messages.
    """
    given = np.asarray(values, dtype=float)
    plain = unit.strip().lower()
    plain = plain.removesuffix("s") if len(plain) > 1 else plain  # "metres", but not "s"
    scale = None if graph is None else graph.graph.get("pixels_per_cm")
    if plain in _PIXELS:
        if scale is None:
            raise ScaleError(
                f"Positions of {name} are in pixels, but cm are needed: add pixels_per_cm to the "
                "JSON file of the track graph; replay track measures it.",
                "pixels",
            )
        return given / scale, f"{scale:.4g} pixels per cm"
    if plain not in _CM and scale is not None:
        return given / scale, f"{scale:.4g} {unit!r} per cm"
    if plain not in _CM:
        raise ScaleError(
            f"Positions of {name} must be in one of {', '.join([*_CM, 'pixels'])}; got the unit "
            f"{shown(unit)}. Add pixels_per_cm, how many of these are a cm, to the JSON file of "
            "the track graph.",
            plain,
        )
    told = [] if _CM[plain] == 1.0 else [f"{unit} to cm"]
    if scale is not None:
        told.append(f"in {unit}: pixels_per_cm of the track graph is not used")
    return given * _CM[plain], "; ".join(told)


def to_plane(
    values: Floats, unit: str, graph: nx.Graph | None, name: str, what: str
) -> tuple[Floats, str]:
    """Convert positions along a linearised track to (x, y) in cm, like `to_cm`.

    `what` is the subject of messages.
    """
    if graph is None:
        is_scaled = unit.strip().lower().removesuffix("s") in _PIXELS
        scale = f", and with pixels_per_cm, as they are in {unit}" if is_scaled else ""
        raise IncompleteError(
            f"{what} are linearised: give the track graph with its linear_edge_order and "
            f"linear_edge_spacing (track){scale}; or positions (x, y)."
        )
    along, scaled = to_cm(values, unit, graph, name)
    return linear_to_plane(graph, along, what), scaled
