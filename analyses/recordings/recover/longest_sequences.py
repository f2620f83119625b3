"""The longest place sequence of each event, and its kind."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from analyses.recordings.decide.event_kinds import kinds_on_lines
from analyses.recordings.recover.confusion import MISSED
from analyses.sequences.place_sequences import Detection, place_sequences
from replay.log.event_log import EventLog

__all__ = ["longest_sequences"]


def longest_sequences(
    ran: EventLog,
    moments: ArrayLike,
    places: list[list[int]],
    along: list[list[int]],
    detection: Detection,
    when: str = "time",
) -> pd.DataFrame:
    """Find and classify the longest sequence of each event; `along` are the headings."""
    paths = pd.DataFrame({when: moments, "states": places, "along": along})
    found = place_sequences(ran, paths, detection=detection)
    longest = found.sort_values(["event", "distance"], ascending=[True, False], kind="stable")
    longest = longest.drop_duplicates("event")
    longest = longest.assign(kind=kinds_on_lines(longest, ran.mdp))
    nothing = (MISSED, MISSED, (), np.nan)
    rows: list[tuple[object, ...]] = [nothing] * len(places)
    columns = [longest[name] for name in ("event", "kind", "direction", "states", "distance")]
    for event, kind, direction, states, distance in zip(*columns, strict=True):
        rows[event] = (kind, direction, tuple(states.tolist()), distance)
    return pd.DataFrame(rows, columns=["kind", "direction", "states", "distance"], dtype=object)
