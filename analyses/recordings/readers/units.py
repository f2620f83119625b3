"""Units of length, and counts in messages."""

from __future__ import annotations

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike, NDArray

from replay.checks import shown, typed

__all__ = ["count_text", "to_cm"]

_CM = {
    "cm": 1.0, "centimeter": 1.0, "centimetre": 1.0,
    "m": 100.0, "meter": 100.0, "metre": 100.0,
    "mm": 0.1, "millimeter": 0.1, "millimetre": 0.1,
}  # fmt: skip
_PIXELS = ("px", "pixel")


@typed
def count_text(number: int, thing: str) -> str:
    """Write a count with its noun, in the plural unless the count is 1."""
    return f"{number:,} {thing}{'s' * (number != 1)}"


@typed
def to_cm(
    values: ArrayLike, unit: str, graph: nx.Graph | None, name: str
) -> tuple[NDArray[np.float64], str]:
    """Convert positions to cm; also return the conversion that was made, for a note, empty if none.

    `unit` is as written in the file. For pixels and unknown units, the graph of the track must have
    `pixels_per_cm`; `name` is that of the recording in messages.

    Examples
    --------
    >>> to_cm([1.5], "meters", None, "mine")[0].tolist()
    [150.0]
    """
    given = np.asarray(values, dtype=float)
    name = " ".join(name.split())
    plain = unit.strip().lower()
    plain = plain.removesuffix("s") if len(plain) > 1 else plain
    scale = None if graph is None else graph.graph.get("pixels_per_cm")
    if plain in _PIXELS:
        if scale is None:
            raise ValueError(
                f"Positions of {name} are in pixels, but cm are needed: add pixels_per_cm to the "
                "JSON file of the track graph."
            )
        return given / scale, f"{scale:.4g} pixels per cm"
    if plain not in _CM and scale is not None:
        return given / scale, f"{scale:.4g} {unit!r} per cm"
    if plain not in _CM:
        raise ValueError(
            f"Positions of {name} must be in one of {', '.join([*_CM, 'pixels'])}; got the unit "
            f"{shown(unit)}. Add pixels_per_cm, how many of these are a cm, to the JSON file of "
            "the track graph."
        )
    return given * _CM[plain], "" if _CM[plain] == 1.0 else f"{unit} to cm"
