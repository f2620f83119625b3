"""Forward against reverse.

The direction is relative to experience: a sequence is reverse if all its moves had been made in the
opposite direction, and directional if it is forward or reverse. Sequences whose moves had all been
made in both directions (``both``), and sequences with some moves made only as replayed and others
only in the opposite direction (``mixed``), are not directional, and have shares of their own.

``reverse_share`` [1]_
    Reverse sequences among directional ones (share). Null: 0.5.
``reverse_share_after_run, reverse_share_before_run`` [2]_
    The same, in pauses after a run, and before one. Null: 0.5.
``reverse_after_minus_before_run`` [2]_
    The reverse share after a run, minus that before one (difference). Null: 0.
``reverse_share_same_side, reverse_share_other_side`` [3]_
    The reverse share on the animal's side of the maze, and on the other. Null: 0.5.
``both_ways_share, mixed_share``
    Sequences of direction ``both``, and of direction ``mixed`` (share). They have no null.
``forward_minus_reverse_rank`` [4]_
    Mean rank of forward minus reverse sequences within a pause; ranks run from 0 to 1 (difference).
    Null: 0.
``forward_minus_reverse_rank_in_stop`` [4]_
    The same within a stop, the pauses after a lap and before the next. Null: 0.
``forward_minus_reverse_at_rest`` [5]_
    The share of forward minus that of reverse sequences at rest, among directional ones
    (difference). Null: 0.

References
----------
.. [1] Davidson, Kloosterman & Wilson (2009), Hippocampal replay of extended experience.
   https://doi.org/10.1016/j.neuron.2009.07.027
.. [2] Diba & Buzsaki (2007), Forward and reverse hippocampal place-cell sequences during ripples.
   https://doi.org/10.1038/nn1961
.. [3] Gupta, van der Meer, Touretzky & Redish (2010), Hippocampal replay is not a simple function
   of experience. https://doi.org/10.1016/j.neuron.2010.01.034
.. [4] Mallory, Widloski & Foster (2025), The time course and organization of hippocampal replay.
   https://doi.org/10.1126/science.ads4760
.. [5] Lee & Wilson (2002), Memory of sequential experience in the hippocampus during slow wave
   sleep. https://doi.org/10.1016/S0896-6273(02)01096-6
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd

from analyses.measures.animal_values import own_code, rows, share
from analyses.measures.laps import laps_done
from analyses.measures.replays import (
    AT_REST,
    AWAKE,
    Replays,
    Statistic,
    chosen,
    directional,
    is_one_of,
)
from analyses.measures.sides import sides

__all__ = ["DIRECTION_STATISTICS"]


def _reverse_share(
    replays: Replays,
    *,
    phases: Sequence[str] = AWAKE,
    side: str | None = None,
) -> pd.DataFrame:
    """Share of reverse among directional sequences, in some pauses or on one side."""
    columns = ["direction"] if side is None else ["direction", "place", "lap", "episode"]
    sequences = directional(chosen(replays, [*columns, "phase"], phases))
    if side is not None:
        sequences = sequences[sides(replays, sequences) == side]
    return share(replays, sequences, sequences["direction"] == "reverse", 0.5)


def _share_of(replays: Replays, *, direction: str) -> pd.DataFrame:
    """Share of sequences of one direction."""
    sequences = chosen(replays, ["direction"])
    return share(replays, sequences, is_one_of(sequences["direction"], [direction]))


def _after_minus_before(replays: Replays) -> pd.DataFrame:
    """Reverse share in pauses after a run minus that before one."""
    after, before = (_reverse_share(replays, phases=[phase]) for phase in ("episode_end", "start"))
    value = after["value"] - before["value"]
    return rows(replays.animals, value, 0.0, after["n"] + before["n"])


def _rank_difference(replays: Replays, *, by: Sequence[str]) -> pd.DataFrame:
    """Mean rank of forward minus reverse sequences; ranks run from 0 to 1."""
    columns = ["direction", "event", "episode", "phase"]
    sequences = directional(chosen(replays, columns))
    animals = replays.animals
    sequences = sequences.assign(stop=laps_done(sequences), animal=own_code(animals, sequences))
    pauses = sequences.groupby(["animal", *by], sort=False, observed=True)
    rank = (pauses.cumcount() + 0.5) / pauses["animal"].transform("size")
    forward = is_one_of(sequences["direction"], ["forward"])
    pause = pauses.ngroup().to_numpy()
    n_pauses = pauses.ngroups
    n = [np.bincount(pause[way], minlength=n_pauses) for way in (forward, ~forward)]
    sums = [
        np.bincount(pause[way], rank.to_numpy()[way], minlength=n_pauses)
        for way in (forward, ~forward)
    ]
    has_both = (n[0] > 0) & (n[1] > 0)
    difference = sums[0][has_both] / n[0][has_both] - sums[1][has_both] / n[1][has_both]
    owner = pauses["animal"].first().to_numpy()[has_both]
    n_both = np.bincount(owner, minlength=len(animals))
    total = np.bincount(owner, difference, minlength=len(animals))
    value = total / np.where(n_both > 0, n_both, np.nan)
    counted = np.bincount(owner, (n[0] + n[1])[has_both], minlength=len(animals))
    return rows(animals, value, 0.0, counted)


def _forward_minus_reverse(replays: Replays) -> pd.DataFrame:
    """Forward minus reverse share of directional sequences at rest."""
    sequences = directional(chosen(replays, ["direction"], AT_REST))
    sign = np.where(sequences["direction"] == "forward", 1, -1)
    return share(replays, sequences, sign, 0.0)


def _reverse(label: str, *, phases: Sequence[str] = AWAKE, side: str | None = None) -> Statistic:
    return Statistic(label, partial(_reverse_share, phases=phases, side=side), is_share=True)


DIRECTION_STATISTICS: dict[str, Statistic] = {
    "reverse_share": _reverse("reverse among directional sequences"),
    "reverse_share_after_run": _reverse("reverse sequences after a run", phases=["episode_end"]),
    "reverse_share_before_run": _reverse("reverse sequences before a run", phases=["start"]),
    "reverse_after_minus_before_run": Statistic(
        "reverse sequences after minus before a run", _after_minus_before
    ),
    "reverse_share_same_side": _reverse("reverse sequences on the animal's side", side="same"),
    "reverse_share_other_side": _reverse("reverse sequences on the other side", side="opposite"),
    "both_ways_share": Statistic(
        "sequences along moves made both ways",
        partial(_share_of, direction="both"),
        is_share=True,
    ),
    "mixed_share": Statistic(
        "sequences in part forward, in part reverse",
        partial(_share_of, direction="mixed"),
        is_share=True,
    ),
    "forward_minus_reverse_rank": Statistic(
        "rank in the pause, forward minus reverse", partial(_rank_difference, by=["event"])
    ),
    "forward_minus_reverse_rank_in_stop": Statistic(
        "rank in the stop between laps, forward minus reverse",
        partial(_rank_difference, by=["stop"]),
    ),
    "forward_minus_reverse_at_rest": Statistic(
        "forward minus reverse at rest", _forward_minus_reverse
    ),
}
