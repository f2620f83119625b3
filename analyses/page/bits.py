"""How well accounts of replay predict each event of a page."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

import numpy as np
import pandas as pd

from analyses.page.runs import ShownRun
from analyses.plots.style import label
from replay.checks import check_table

__all__ = ["Explained", "with_bits"]

Explained: TypeAlias = pd.DataFrame
"""A row for each animal, account and sequence, as ``replay explain`` writes them."""

_N_ACCOUNTS = 5
_Pair = tuple[ShownRun, ShownRun | None]


def with_bits(pairs: list[_Pair], explained: Explained) -> list[_Pair]:
    """Add the bits of an explanation of the same runs, in the same order."""
    check_table(explained, ["animal", "account", "event", "bits"], "explained", empty=False)
    animals = list(dict.fromkeys(explained["animal"]))
    if len(animals) != len(pairs):
        raise ValueError(
            f"The explanation is of {len(animals)} animals, but the page shows {len(pairs)}: name "
            "all results that were explained, in the same order."
        )
    found: list[_Pair] = []
    for name, (run, other) in zip(animals, pairs, strict=True):
        own = explained[explained["animal"] == name]
        if not np.isin(own["event"], run.events["number"]).any():
            raise ValueError(
                f"The explanation of {name} is of other replay than the page shows: none of its "
                "events is here."
            )
        # The bits of each event above those of a walk, of the best accounts.
        summed = own.pivot_table("bits", "event", "account", aggfunc="sum")
        above = summed.sub(summed["walk"], axis=0).drop(columns="walk")
        best = above.drop(columns="ceiling").mean().nlargest(_N_ACCOUNTS).index
        shown = above[[*best, "ceiling"]].round(1)
        values = shown.to_numpy().tolist()
        bits = {
            "accounts": [*map(label, best), "the ceiling"],
            "of_event": dict(zip(map(str, shown.index.tolist()), values, strict=True)),
        }
        both = None if other is None else replace(other, bits=bits)
        found.append((replace(run, bits=bits), both))
    return found
