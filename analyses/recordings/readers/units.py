"""Positions in cm and in the plane, from what files have; and counts in messages."""

from __future__ import annotations

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike, NDArray

from analyses.recordings.readers.track_graphs import IncompleteError, linear_to_plane
from replay.checks import shown

__all__ = ["count_text", "in_pairs", "to_cm", "to_plane"]

_CM = {
    "cm": 1.0, "centimeter": 1.0, "centimetre": 1.0,
    "m": 100.0, "meter": 100.0, "metre": 100.0,
    "mm": 0.1, "millimeter": 0.1, "millimetre": 0.1,
}  # fmt: skip
_PIXELS = ("px", "pixel")


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
    """Positions are in a unit whose size is unknown: they are `values`, in `unit`."""

    def __init__(self, message: str, values: NDArray[np.float64], unit: str) -> None:
        super().__init__(message)
        self.values, self.unit = values, unit


def to_cm(
    values: ArrayLike, unit: str, graph: nx.Graph | None, name: str
) -> tuple[NDArray[np.float64], str]:
    """Convert positions to cm; also return the conversion that was made, for a note, empty if none.

    `unit` is as written in the file. For pixels and unknown units, the graph of the track must have
    `pixels_per_cm`; `name` is that of the recording in messages.
    """
    given = np.asarray(values, dtype=float)
    plain = unit.strip().lower()
    plain = plain.removesuffix("s") if len(plain) > 1 else plain
    scale = None if graph is None else graph.graph.get("pixels_per_cm")
    if plain in _PIXELS:
        if scale is None:
            raise ScaleError(
                f"Positions of {name} are in pixels, but cm are needed: add pixels_per_cm to the "
                "JSON file of the track graph.",
                given,
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
            given,
            plain,
        )
    return given * _CM[plain], "" if _CM[plain] == 1.0 else f"{unit} to cm"


def to_plane(
    values: NDArray[np.float64], unit: str, graph: nx.Graph | None, name: str, what: str
) -> tuple[NDArray[np.float64], str]:
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
