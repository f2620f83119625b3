"""The criteria by which the study of a finding detected replay."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from analyses.sequences.place_sequences import Detection
from replay.checks import LARGEST_NUMBER, check_array, check_number, shown, typed

__all__ = ["detection_of"]

_DETECTION = {
    "min_length": "min_length",
    "min_distance_cm": "min_distance",
    "largest_jump_cm": "largest_jump",
    "min_extent_cm": "min_extent",
    "min_correlation": "min_correlation",
}


@typed
def detection_of(
    finding: Mapping[Hashable, Any] | pd.Series[Any],
    spacing: float,
    otherwise: Detection = Detection(),  # noqa: B008 (immutable)
) -> Detection:
    """Return the criteria by which the study of a finding detected replay.

    Parameters
    ----------
    finding : row of a DataFrame
        `min_length, min_distance_cm, largest_jump_cm, min_extent_cm, min_correlation`; NaN where
        the study has no such criterion, or it is not known.
    spacing : float
        The distance between neighbouring places of the task, in cm; converts jumps into places.
    otherwise : Detection, optional
        The criteria that the study does not report.

    Returns
    -------
    Detection
        The criteria for a place sequence.

    Raises
    ------
    ValueError
        If `spacing` is not above 0.

    Examples
    --------
    >>> from analyses.findings.table import findings
    >>> table = findings().set_index("id")
    >>> detection_of(table.loc["mallory2025.rev_fraction"], spacing=20.0)
    Detection(min_length=3, min_distance=0.0, largest_jump=3, min_extent=36.0, min_correlation=0.6)
    """
    if not isinstance(finding, Mapping | pd.Series):
        raise TypeError(f"finding must be a row of findings, got {shown(finding)}.")
    lacking = [column for column in _DETECTION if column not in finding]
    if lacking:
        raise ValueError(f"finding must be a row of findings, but lacks {', '.join(lacking)}.")
    check_number("spacing", spacing, at_least=1e-12)
    reported = check_array(
        [finding[column] for column in _DETECTION],
        f"{', '.join(_DETECTION)} of finding",
        kind="number",
        at_least=-LARGEST_NUMBER,
        at_most=LARGEST_NUMBER,
        missing=True,
    )
    criteria: dict[str, Any] = {
        field: value
        for field, value in zip(_DETECTION.values(), reported.tolist(), strict=True)
        if not np.isnan(value)
    }
    if "largest_jump" in criteria:
        criteria["largest_jump"] = max(int(criteria["largest_jump"] / spacing), 1)
    if "min_length" in criteria:
        criteria["min_length"] = int(criteria["min_length"])
    return otherwise._replace(**criteria)
