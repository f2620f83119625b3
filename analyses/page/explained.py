"""What a page shows of an explanation: how well accounts predict each event."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

import numpy as np
import pandas as pd

from analyses.page.runs import ShownRun
from analyses.plots.style import label
from replay.checks import check_table

Explained: TypeAlias = pd.DataFrame
"""A row for each animal, account and sequence, as ``replay explain`` writes them."""

ShownPair: TypeAlias = tuple[ShownRun, ShownRun | None]
"""A run; and the same run counted the other way, if that makes a difference."""

_N_ACCOUNTS = 5


def with_bits(pairs: list[ShownPair], explained: Explained) -> list[ShownPair]:
    """Add the bits of an explanation of the same runs, in the same order."""
    check_table(explained, ["animal", "account", "event", "bits"], "explained", empty=False)
    animals = list(dict.fromkeys(explained["animal"]))
    if len(animals) != len(pairs):
        raise ValueError(
            f"The explanation is of {len(animals)} animals, but the page shows {len(pairs)}: name "
            "all results that were explained, in the same order."
        )
    explained_pairs: list[ShownPair] = []
    for name, (run, other) in zip(animals, pairs, strict=True):
        rows = explained[explained["animal"] == name]
        if not np.isin(rows["event"], run.events["number"]).any():
            raise ValueError(
                f"The explanation of {name} is of other replay than the page shows: none of its "
                "events is here."
            )
        # The bits of each event above those of a walk, of the best accounts.
        summed = rows.pivot_table("bits", "event", "account", aggfunc="sum")
        above = summed.sub(summed["walk"], axis=0).drop(columns="walk")
        best = above.drop(columns="ceiling").mean().nlargest(_N_ACCOUNTS).index
        shown = above[[*best, "ceiling"]].round(1)
        values = shown.to_numpy().tolist()
        bits = {
            "accounts": [*map(label, best), "the ceiling"],
            "of_event": dict(zip(map(str, shown.index.tolist()), values, strict=True)),
        }
        both = None if other is None else replace(other, bits=bits)
        explained_pairs.append((replace(run, bits=bits), both))
    return explained_pairs
