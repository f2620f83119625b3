"""Forward against reverse, in general and along paths that were or may be run at a well.

The direction is relative to experience: a sequence is reverse if all its moves had been made in the
opposite direction, and directional if it is forward or reverse. Sequences whose moves had all been
made in both directions (``both``), and sequences with some moves made only as replayed and others
only in the opposite direction (``mixed``), are not directional, and have shares of their own.

Paths at the wells of a W-track follow from the well alone: at the centre well, all inward paths are
possible past paths and all outward paths are possible future paths; at a side well it is the other
way round. Names that end in ``_centre`` or ``_side`` count sequences at wells of one kind.

References
----------
.. [1] Davidson, Kloosterman & Wilson (2009). https://doi.org/10.1016/j.neuron.2009.07.027
.. [2] Diba & Buzsaki (2007). https://doi.org/10.1038/nn1961
.. [3] Gupta, van der Meer, Touretzky & Redish (2010). https://doi.org/10.1016/j.neuron.2010.01.034
.. [4] Mallory, Widloski & Foster (2025). https://doi.org/10.1126/science.ads4760
.. [5] Lee & Wilson (2002). https://doi.org/10.1016/S0896-6273(02)01096-6
.. [6] Shin, Tang & Jadhav (2019). https://doi.org/10.1016/j.neuron.2019.09.012
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from analyses.measures.places import between_nodes, landmark, own_sides, runs_on, side_run, sides
from analyses.measures.replays import (
    AT_REST,
    Replays,
    Share,
    Statistic,
    at_lap,
    chosen,
    difference,
    directional,
    is_one_of,
    laps_around,
    laps_done,
    own_code,
    paths,
    rows,
    share,
)
from replay.checks.arrays import Bools

_DIRECTION = {"past": "reverse", "future": "forward"}
"""The direction of replay that the study expects along past, and along future paths."""


def _reverse_share(replays: Replays, *, side: str | None = None) -> pd.DataFrame:
    """Reverse sequences among directional ones (share; Davidson et al. 2009). Null: 0.5.

    Of all awake pauses, of those after a run or before one (Diba & Buzsaki 2007), or on the
    animal's side of the maze or the other (Gupta et al. 2010).
    """
    columns = ["direction"] if side is None else ["direction", "place", "lap", "episode"]
    sequences = directional(chosen(replays, [*columns, "phase"]))
    if side is not None:
        sequences = sequences[sides(replays, sequences) == side]
    return share(replays, sequences, sequences["direction"] == "reverse", 0.5)


def _share_of(replays: Replays, *, direction: str) -> pd.DataFrame:
    """Sequences of direction ``both``, or ``mixed`` (share). They have no null."""
    sequences = chosen(replays, ["direction"])
    return share(replays, sequences, is_one_of(sequences["direction"], [direction]))


def _after_minus_before(replays: Replays) -> pd.DataFrame:
    """Reverse share after a run minus that before one (Diba & Buzsaki 2007). Null: 0."""
    after, before = (
        _reverse_share(replace(replays, phases=(phase,))) for phase in ("episode_end", "start")
    )
    return difference(replays, after, before)


def _rank_difference(replays: Replays, *, by: str) -> pd.DataFrame:
    """Mean rank of forward minus reverse sequences within a pause, or within a stop. Null: 0.

    Ranks run from 0 to 1; a stop is the pauses after a lap and before the next (Mallory et al.
    2025).
    """
    sequences = directional(chosen(replays, ["direction", "event", "episode", "phase"]))
    animals = replays.animals
    sequences = sequences.assign(stop=laps_done(sequences), animal=own_code(animals, sequences))
    pauses = sequences.groupby(["animal", by], sort=False, observed=True)
    # The middle of a sequence's share of its pause, so that one that is alone has rank 0.5.
    rank = ((pauses.cumcount() + 0.5) / pauses["animal"].transform("size")).to_numpy()
    forward = is_one_of(sequences["direction"], ["forward"])
    pause, n_pauses = pauses.ngroup().to_numpy(), pauses.ngroups
    ways = forward, ~forward
    n = [np.bincount(pause[way], minlength=n_pauses) for way in ways]
    sums = [np.bincount(pause[way], rank[way], minlength=n_pauses) for way in ways]
    has_both = (n[0] > 0) & (n[1] > 0)
    gap = sums[0][has_both] / n[0][has_both] - sums[1][has_both] / n[1][has_both]
    owner = pauses["animal"].first().to_numpy()[has_both]
    n_both = np.bincount(owner, minlength=len(animals))
    total = np.bincount(owner, gap, minlength=len(animals))
    value = total / np.where(n_both > 0, n_both, np.nan)
    counted = np.bincount(owner, (n[0] + n[1])[has_both], minlength=len(animals))
    return rows(animals, value, 0.0, counted)


def _forward_minus_reverse(replays: Replays) -> pd.DataFrame:
    """Forward minus reverse share of directional sequences (Lee & Wilson 2002). Null: 0."""
    sequences = directional(chosen(replays, ["direction"]))
    sign = np.where(sequences["direction"] == "forward", 1, -1)
    return share(replays, sequences, sign, 0.0)


DIRECTION_STATISTICS: dict[str, Statistic] = {
    "reverse_share": Share("reverse among directional sequences", _reverse_share),
    "reverse_share_after_run": Share(
        "reverse sequences after a run", _reverse_share, phases=("episode_end",)
    ),
    "reverse_share_before_run": Share(
        "reverse sequences before a run", _reverse_share, phases=("start",)
    ),
    "reverse_after_minus_before_run": Statistic(
        "reverse sequences after minus before a run", _after_minus_before
    ),
    "reverse_share_same_side": Share(
        "reverse sequences on the animal's side", partial(_reverse_share, side="same")
    ),
    "reverse_share_other_side": Share(
        "reverse sequences on the other side", partial(_reverse_share, side="opposite")
    ),
    "both_ways_share": Share(
        "sequences along moves made both ways", partial(_share_of, direction="both")
    ),
    "mixed_share": Share(
        "sequences in part forward, in part reverse", partial(_share_of, direction="mixed")
    ),
    "forward_minus_reverse_rank": Statistic(
        "rank in the pause, forward minus reverse", partial(_rank_difference, by="event")
    ),
    "forward_minus_reverse_rank_in_stop": Statistic(
        "rank in the stop between laps, forward minus reverse", partial(_rank_difference, by="stop")
    ),
    "forward_minus_reverse_at_rest": Statistic(
        "forward minus reverse at rest", _forward_minus_reverse, phases=AT_REST
    ),
}


def _at_well(replays: Replays, sequences: pd.DataFrame, path: str, well: str | None) -> Bools:
    """Return which sequences at a well run along possible past (or future) paths.

    A path is read in the direction in which it was run. It is outward if it leads away from the
    centre well, and inward if it leads towards it.
    """
    centre = landmark(replays.task, "centre_well")
    wells = centre | landmark(replays.task, "left_well", "right_well")
    if not centre.any():
        return np.zeros(len(sequences), dtype=bool)
    from_centre = between_nodes(replays.task)[centre].min(axis=0)
    place = sequences["place"].to_numpy()
    outward = np.sign(from_centre[sequences["last"]] - from_centre[sequences["first"]])
    outward[is_one_of(sequences["direction"], ["reverse"])] *= -1  # against the way it was run
    # Past paths led to the well, future ones lead away from it.
    possible = outward == np.where(centre[place] ^ (path == "past"), 1, -1)
    there = wells[place] if well is None else (wells & (centre == (well == "centre")))[place]
    along: Bools = possible & there
    return along


def _congruence(replays: Replays, *, path: str, well: str | None = None) -> pd.DataFrame:
    """Reverse sequences among directional ones along possible past paths (share). Null: 0.5.

    Or forward ones along possible future paths (Shin et al. 2019).
    """
    sequences = directional(chosen(replays, ["direction", "first", "last", "place"]))
    sequences = sequences[_at_well(replays, sequences, path, well)]
    return share(replays, sequences, sequences["direction"] == _DIRECTION[path], 0.5)


def _taken(replays: Replays, *, path: str, well: str) -> pd.DataFrame:
    """Share of sequences on the side that was (or will be) run, minus the other side's. Null: 0.

    Of reverse sequences along possible past paths, or forward ones along possible future paths.
    Those on neither side or on both sides count in the total (Shin et al. 2019).
    """
    columns = ["direction", "first", "last", "place", "episode", "phase"]
    sequences = directional(chosen(replays, columns))
    sequences = sequences[sequences["direction"] == _DIRECTION[path]]
    sequences = sequences[_at_well(replays, sequences, path, well)]
    side = runs_on(*own_sides(replays), paths(replays, sequences))
    before, after = laps_around(replays, sequences)
    run = at_lap(side_run(replays), before if path == "past" else after, none=0)
    return share(replays, sequences[run != 0], (side * run)[run != 0], 0.0)


def _congruent(path: str, well: str | None = None) -> Statistic:
    return Share(
        f"{_DIRECTION[path]}, of {path} paths at a {'' if well is None else f'{well} '}well",
        partial(_congruence, path=path, well=well),
    )


def _sided(path: str, well: str) -> Statistic:
    was = "just run" if path == "past" else "run next"
    return Statistic(
        f"{_DIRECTION[path]} sequences on the side {was} minus the other, at a {well} well",
        partial(_taken, path=path, well=well),
    )


WELL_STATISTICS: dict[str, Statistic] = {
    "reverse_of_past_paths": _congruent("past"),
    "reverse_of_past_paths_centre": _congruent("past", "centre"),
    "reverse_of_past_paths_side": _congruent("past", "side"),
    "forward_of_future_paths": _congruent("future"),
    "forward_of_future_paths_centre": _congruent("future", "centre"),
    "forward_of_future_paths_side": _congruent("future", "side"),
    "past_minus_other_path_centre": _sided("past", "centre"),
    "past_minus_other_path_side": _sided("past", "side"),
    "future_minus_other_path_centre": _sided("future", "centre"),
    "future_minus_other_path_side": _sided("future", "side"),
}
