"""Packing of numeric columns as compact text, which a browser unpacks without a library.

All columns of a table are concatenated, little-endian, deflated and encoded in base64; a listing
says where each begins. Whole numbers have the narrowest type that holds them. A column that never
decreases is stored as differences, marked by ``+``.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

_WHOLE = ("u1", "u2", "u4", "i4")
_FEWEST_DIFFERENCES = 8


def pack(columns: Mapping[str, ArrayLike]) -> dict[str, Any]:
    """Pack columns.

    Whole numbers and flags from -2**31 to below 2**32, or floats, stored in single precision.
    ``columns`` has name -> [type, first byte, length]; ``data`` the deflated bytes in base64.
    """
    listing: dict[str, list[Any]] = {}
    parts: list[bytes] = []
    begin = 0
    for name, given in columns.items():
        values = np.asarray(given)
        if values.dtype.kind == "f" and len(values):
            kind = "f4"
        else:
            values = values.astype(np.int64)
            differences = np.diff(values, prepend=0)
            if len(values) >= _FEWEST_DIFFERENCES and (differences >= 0).all():
                kind, values = f"+{_type_of(differences)}", differences
            else:
                kind = _type_of(values)
        content = values.astype(f"<{kind.lstrip('+')}").tobytes()
        listing[name] = [kind, begin, len(values)]
        parts.append(content)
        begin += len(content)
    data = base64.b64encode(zlib.compress(b"".join(parts), 9)).decode("ascii")
    return {"columns": listing, "data": data}


def _type_of(whole: NDArray[np.int64]) -> str:
    low, high = (int(whole.min()), int(whole.max())) if len(whole) else (0, 0)
    fits = (
        kind for kind in _WHOLE if np.iinfo(kind).min <= low and high <= int(np.iinfo(kind).max)
    )
    return next(fits)
