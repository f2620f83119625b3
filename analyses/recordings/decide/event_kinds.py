"""Kinds of sequences and of events, and the share of each kind."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
from scipy import stats

from analyses.tables import KINDS

__all__ = ["count_kinds", "event_kinds"]

_NO_SEQUENCE = "no_sequence"


def event_kinds(events: pd.DataFrame, sequences: pd.DataFrame) -> pd.Series:
    """Return the kind of each event: that of its longest sequence.

    Examples
    --------
    >>> events = pd.DataFrame({"event": [0, 1, 2], "is_replay": [True, True, False]})
    >>> sequences = pd.DataFrame({"event": [0, 0], "distance": [30.0, 60.0],
    ...                           "kind": ["reverse_episode", "novel_path"]})
    >>> event_kinds(events, sequences).tolist()
    ['novel_path', 'no_sequence', None]
    """
    ordered = sequences.sort_values("distance", ascending=False, kind="stable")
    longest = ordered.drop_duplicates("event").set_index("event")["kind"].astype(object)
    named = events["event"].map(longest).where(lambda kind: kind.notna(), _NO_SEQUENCE)
    return named.astype(object).where(events["is_replay"], None)


def count_kinds(kinds: Iterable[str], size: float) -> pd.DataFrame:
    """Count the events of each kind.

    Examples
    --------
    >>> count_kinds(["novel_path", "no_sequence"], 15.0).set_index("kind")["share"]["novel_path"]
    np.float64(0.5)
    """
    named = list(kinds)
    rows = []
    for kind in (*KINDS, _NO_SEQUENCE):
        n = named.count(kind)
        row: dict[str, object] = {
            "state_size": size, "states_per_metre": 100.0 / size, "kind": kind, "n": n,
            "n_events": len(named), "share": np.nan, "ci_low": np.nan, "ci_high": np.nan,
        }  # fmt: skip
        if named:
            interval = stats.binomtest(n, len(named)).proportion_ci(0.95, method="wilson")
            row |= {"share": n / len(named), "ci_low": interval.low, "ci_high": interval.high}
        rows.append(row)
    return pd.DataFrame(rows)
