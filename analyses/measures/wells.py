"""Replay at the wells of a W-track, along paths that were or may be run.

Possible past and future paths follow from the well alone: at the centre well, all inward paths are
possible past paths and all outward paths are possible future paths; at a side well it is the other
way round. Names that end in ``_centre`` or ``_side`` count sequences at wells of one kind. All
these statistics come from one study [1]_.

``reverse_of_past_paths, reverse_of_past_paths_centre, reverse_of_past_paths_side``
    Reverse among directional sequences along possible past paths (share). Null: 0.5.
``forward_of_future_paths, forward_of_future_paths_centre, forward_of_future_paths_side``
    Forward among directional sequences along possible future paths (share). Null: 0.5.
``past_minus_other_path_centre, past_minus_other_path_side``
    Reverse sequences along possible past paths: the share on the side that was run, minus that on
    the other (difference). Null: 0.
``future_minus_other_path_centre, future_minus_other_path_side``
    Forward sequences along possible future paths: the share on the side that will be run, minus
    that on the other (difference). Null: 0.

References
----------
.. [1] Shin, Tang & Jadhav (2019), Dynamics of awake hippocampal-prefrontal replay for spatial
   learning and memory-guided decision making. https://doi.org/10.1016/j.neuron.2019.09.012
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.measures.animal_values import share
from analyses.measures.landmarks import between_nodes, landmark
from analyses.measures.laps import laps_around
from analyses.measures.replays import Replays, Statistic, chosen, directional, is_one_of, paths
from analyses.measures.sides import own_sides, runs_on, side_run

__all__ = ["WELL_STATISTICS"]


def _at_well(
    replays: Replays, sequences: pd.DataFrame, path: str, well: str | None = None
) -> NDArray[np.bool_]:
    """Return which sequences at a well run along possible past (or future) paths.

    A path is read in the direction in which it was run. It is outward if it leads away from the
    centre well, and inward if it leads towards it. At the centre well all inward paths are possible
    past paths; at a side well, all outward paths are.
    """
    centre = landmark(replays.task, "centre_well")
    wells = centre | landmark(replays.task, "left_well", "right_well")
    if not centre.any():
        return np.zeros(len(sequences), dtype=bool)
    from_centre = between_nodes(replays.task)[centre].min(axis=0)
    place = sequences["place"].to_numpy()
    outward = np.sign(from_centre[sequences["last"]] - from_centre[sequences["first"]])
    outward[is_one_of(sequences["direction"], ["reverse"])] *= -1
    possible = outward == np.where(centre[place] ^ (path == "past"), 1, -1)
    there = wells[place] if well is None else (wells & (centre == (well == "centre")))[place]
    along: NDArray[np.bool_] = possible & there
    return along


def _congruence(
    replays: Replays,
    *,
    direction: str,
    path: str,
    well: str | None = None,
) -> pd.DataFrame:
    """Share of one direction among sequences along possible past (or future) paths at wells."""
    table = directional(chosen(replays, ["direction", "first", "last", "place"]))
    table = table[_at_well(replays, table, path, well)]
    return share(replays, table, table["direction"] == direction, 0.5)


def _taken(
    replays: Replays,
    *,
    direction: str,
    path: str,
    well: str,
) -> pd.DataFrame:
    """Share of sequences on the side that was (or will be) run, minus that on the other side.

    Sequences on neither side or on both sides count in the total.
    """
    columns = ["direction", "first", "last", "place", "episode", "phase"]
    sequences = directional(chosen(replays, columns))
    sequences = sequences[sequences["direction"] == direction]
    sequences = sequences[_at_well(replays, sequences, path, well)]
    side = runs_on(*own_sides(replays), paths(replays, sequences))
    before, after = laps_around(replays, sequences)
    run = np.append(side_run(replays), 0)[before if path == "past" else after]
    return share(replays, sequences[run != 0], (side * run)[run != 0], 0.0)


def _congruent(direction: str, path: str, well: str | None = None) -> Statistic:
    where = "a well" if well is None else f"a {well} well"
    compute = partial(_congruence, direction=direction, path=path, well=well)
    return Statistic(f"{direction}, of {path} paths at {where}", compute, is_share=True)


def _sided(direction: str, path: str, well: str) -> Statistic:
    was = "just run" if path == "past" else "run next"
    return Statistic(
        f"{direction} sequences on the side {was} minus the other, at a {well} well",
        partial(_taken, direction=direction, path=path, well=well),
    )


WELL_STATISTICS: dict[str, Statistic] = {
    "reverse_of_past_paths": _congruent("reverse", "past"),
    "reverse_of_past_paths_centre": _congruent("reverse", "past", "centre"),
    "reverse_of_past_paths_side": _congruent("reverse", "past", "side"),
    "forward_of_future_paths": _congruent("forward", "future"),
    "forward_of_future_paths_centre": _congruent("forward", "future", "centre"),
    "forward_of_future_paths_side": _congruent("forward", "future", "side"),
    "past_minus_other_path_centre": _sided("reverse", "past", "centre"),
    "past_minus_other_path_side": _sided("reverse", "past", "side"),
    "future_minus_other_path_centre": _sided("forward", "future", "centre"),
    "future_minus_other_path_side": _sided("forward", "future", "side"),
}
