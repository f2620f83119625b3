"""Confusion matrices: as which kind events of each true kind are classified.

There is a row for each true kind and a column for each kind that is found; an event is ``missed``
if it is not accepted or has no sequence.
"""

from __future__ import annotations

import pandas as pd

from analyses.sequences.place_sequences import DIRECTIONS
from analyses.tables import KINDS
from replay.checks import check_choice, check_table, typed

__all__ = [
    "FOUND_KINDS",
    "MISSED",
    "NOISE",
    "NOVEL",
    "REPLAYED",
    "confusion_matrix",
    "truths_and_found",
]

NOISE, MISSED = "noise", "missed"

FOUND_KINDS = (*KINDS, MISSED)
"""The possible results of classification."""

REPLAYED = ("forward_episode", "reverse_episode", "novel_path")
"""The kinds that are truly replayed, by default."""

NOVEL = REPLAYED[-1]


@typed
def confusion_matrix(recovered: pd.DataFrame, what: str = "kind") -> pd.DataFrame:
    """Compute the confusion matrix.

    Parameters
    ----------
    recovered : DataFrame
        As `recovery` or `recover` returns it: `true_kind` and `kind`, or `true_direction` and
        `direction`.
    what : {"kind", "direction"}, default "kind"
        The property of events to compare.

    Returns
    -------
    pandas.DataFrame
        The share of the events of each true kind (rows) that is classified as each kind (columns).
        Rows sum to 1.

    Raises
    ------
    ValueError
        If a column is missing, a kind is unknown or missing, or there is no event.

    Examples
    --------
    >>> table = pd.DataFrame({"true_kind": "novel_path", "kind": ["novel_path", "missed"]})
    >>> confusion_matrix(table).loc["novel_path", ["novel_path", "missed"]].tolist()
    [0.5, 0.5]
    """
    truths, found = truths_and_found(recovered, what)
    counts = pd.crosstab(recovered[f"true_{what}"], recovered[what])
    counts = counts.reindex(index=truths, columns=found, fill_value=0)
    return counts.div(counts.sum(axis=1), axis=0)


def truths_and_found(recovered: pd.DataFrame, what: str) -> tuple[list[str], list[str]]:
    """List the rows and the columns of a confusion matrix."""
    name = check_choice("what", what, ("kind", "direction"))
    check_table(recovered, [name, f"true_{name}"], "recovered")
    if not len(recovered):
        raise ValueError("recovered has no event, so there is nothing to compare.")
    found = FOUND_KINDS if name == "kind" else (*DIRECTIONS, MISSED)
    for column, known in {name: found, f"true_{name}": (*found, NOISE)}.items():
        for each in recovered[column]:
            check_choice(f"{column!r} of recovered:", each, known)
    present = set(recovered[f"true_{name}"])
    return [truth for truth in (*found, NOISE) if truth in present], list(found)
