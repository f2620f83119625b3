"""Laps in order, the number of completed laps at a pause, and the laps before and after it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.measures.animal_values import own_code
from analyses.measures.replays import AWAKE, Replays, is_one_of

__all__ = ["laps_around", "laps_done", "laps_in_order"]


def laps_in_order(replays: Replays) -> Replays:
    """Sort laps by animal and episode."""
    laps = replays.laps
    animal, episode = laps["animal"].to_numpy(), laps["episode"].to_numpy()
    if (np.lexsort((episode, animal)) == np.arange(len(laps))).all():
        return replays
    return replace(replays, laps=laps.sort_values(["animal", "episode"], ignore_index=True))


def laps_done(pauses: pd.DataFrame) -> NDArray[np.int64]:
    """Count the laps completed by the time of each pause (or sequence); 0 before all laps."""
    return pauses["episode"].to_numpy() + ~is_one_of(pauses["phase"], AWAKE[:1])


def laps_around(
    replays: Replays, pauses: pd.DataFrame
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Find the lap before each pause (or sequence), and the lap after it.

    Returns positions of rows in ``replays.laps``; -1 if there is no such lap.
    """
    animals, laps = replays.animals, replays.laps
    n_laps = int(laps["episode"].max()) + 2 if len(laps) else 2
    row = np.full((len(animals), n_laps), -1)
    row[own_code(animals, laps), laps["episode"].to_numpy(int)] = np.arange(len(laps))
    own, done = own_code(animals, pauses), laps_done(pauses)
    before, after = (
        np.where((lap >= 0) & (lap < n_laps), row[own, np.clip(lap, 0, n_laps - 1)], -1)
        for lap in (done - 1, done)
    )
    return before, after
