"""Unfolding: true shares of kinds, estimated from those that a recording found.

Recordings with few cells miss more events, most of all those with paths that are harder to follow,
so that the shares of kinds among the events that are found are biased. Given the confusion matrix,
the true shares follow from those found, as in the unfolding of spectra [1]_: they are the numbers
x >= 0 for which x times the matrix is nearest to what was found, with a small penalty on their
differences as regularisation.

Recordings differ by their cells: one has fields where another has none. The variability between
simulated sessions beyond chance is measured and included in the intervals, which therefore allow
for other cells. If all sessions have the cells of the recording itself, they hardly differ beyond
chance, and nothing is added.

A confusion matrix has a row for each true kind and a column for each kind that is found; an event
is ``missed`` if it is not accepted or has no sequence.

References
----------
.. [1] Hoecker & Kartvelishvili (1996). https://doi.org/10.1016/0168-9002(95)01478-0
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.optimize import nnls

from analyses.sequences.place_sequences import DIRECTIONS
from analyses.tables import KINDS
from replay.checks import (
    check_array,
    check_choice,
    check_column,
    check_table,
    check_whole,
    typed,
    unknown_name,
)
from replay.checks.arrays import Floats

NOISE, MISSED = "noise", "missed"

FOUND_KINDS = (*KINDS, MISSED)
"""The possible results of classification."""

REPLAYED = ("forward_episode", "reverse_episode", "novel_path")
"""The kinds that are truly replayed, by default."""

NOVEL = REPLAYED[-1]

CONDITIONS = ("n_cells", "gain", "speed")
"""The columns of a table of `recovery` that say how replay was observed."""
LEAST_RECALL = 0.2
"""The least recall of each kind with which shares are corrected."""
REGULARISATION = 1e-4
"""The weight of the squared differences between kinds, relative to the squared error."""


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


def correct_shares(
    found: pd.Series, matrix: pd.DataFrame, *, regularisation: float = REGULARISATION
) -> pd.Series:
    """Estimate the true shares from those that were found."""
    truths = [kind for kind in matrix.index if kind not in (NOISE, MISSED)]
    if not truths:
        raise ValueError("matrix has no kind that was truly replayed: give at least one row.")
    seen = [kind for kind in matrix.columns if kind != MISSED]
    recall = pd.Series({kind: matrix.loc[kind, kind] for kind in truths})
    poor = recall[recall < LEAST_RECALL]
    if len(poor):
        raise ValueError(
            "Recall is too low to correct shares: that of "
            + ", of ".join(f"{kind} is {value:.2f}" for kind, value in poor.items())
            + f", and at least {LEAST_RECALL:g} is needed. Record more cells, or report the shares "
            "as found, with this recall."
        )
    counts = found.reindex(seen, fill_value=0).to_numpy(dtype=float)
    if not counts.sum() > 0:
        raise ValueError("Nothing was found, so there is no share to correct.")
    given = matrix.loc[truths, seen].to_numpy(dtype=float)
    return pd.Series(unfold(counts, given, regularisation), index=truths)


def unfold(found: ArrayLike, matrix: ArrayLike, regularisation: float = REGULARISATION) -> Floats:
    """Solve for the non-negative shares that, through a confusion matrix, best give those found."""
    counts, given = np.asarray(found, dtype=float), np.asarray(matrix, dtype=float)
    if not counts.sum() > 0:
        return np.full(len(given), np.nan)
    # Rows of the penalty: by how much each share differs from the mean of all.
    apart = np.sqrt(regularisation) * (np.eye(len(given)) - 1.0 / len(given))
    right = np.append(counts / counts.sum(), np.zeros(len(given)))
    solution, _ = nnls(np.vstack((given.T, apart)), right)
    return np.asarray(solution / solution.sum())


@typed
def estimate_shares(
    found: pd.Series,
    recovered: pd.DataFrame,
    what: str = "kind",
    *,
    n_recordings: int = 1,
    n_bootstrap: int = 1000,
    seed: int = 0,
) -> pd.DataFrame:
    """Estimate the true shares from the numbers of events found, with intervals.

    Both the numbers that were found and the matrix are uncertain: each bootstrap sample of
    `bootstrap_shares` has other events, other cells, and other simulated sessions.

    Parameters
    ----------
    found : Series
        The number of events that were classified as each kind, by kind.
    recovered : DataFrame
        As `recovery` returns it, for a single number of cells, gain and speed.
    what : {"kind", "direction"}, default "kind"
        The property of events whose shares are estimated.
    n_recordings : int, default 1
        Number of recordings, with different cells, that are pooled in `found`.
    n_bootstrap : int, default 1000
        Number of bootstrap samples.
    seed : int, default 0
        Seed of the bootstrap.

    Returns
    -------
    pandas.DataFrame
        One row per kind: `kind` (or `direction`), `recall` (the share of its events that is found
        and classified correctly), `found` (its share of the events found), `share` (estimated),
        `ci_low, ci_high` (95 %).

    Raises
    ------
    ValueError
        If recall is too low (see `correct_shares`), several settings are mixed, or numbers are not
        counts.

    Examples
    --------
    >>> kinds = ["forward_episode", "novel_path"]
    >>> recovered = pd.DataFrame({"true_kind": np.repeat(kinds, 200), "seed": np.tile([0, 1], 200),
    ...                           "kind": ["forward_episode"] * 200 + [*kinds] * 100})
    >>> estimate_shares(pd.Series([150, 50], index=kinds), recovered)["share"].round(2).tolist()
    [0.5, 0.5]
    """
    _, named = truths_and_found(recovered, what)
    if not found.index.is_unique:
        raise ValueError("found must have one number for each kind, and has several for one.")
    for each in found.index:
        if each not in (*named, MISSED):
            raise unknown_name("kind in found", each, map(str, named))
    check_array(found, "found", kind="whole", at_least=0, at_most=10**9)
    check_column(check_table(recovered, ["seed"], "recovered"), "seed", "recovered", kind="whole")
    mixed = [name for name in CONDITIONS if name in recovered and len(recovered[name].unique()) > 1]
    if mixed:
        raise ValueError(
            f"recovered mixes several settings of {' and '.join(mixed)}: choose one of them."
        )
    n_samples = check_whole("n_bootstrap", n_bootstrap, at_least=1)
    matrix = confusion_matrix(recovered, what)
    shares = correct_shares(found, matrix)
    truths, seen = list(shares.index), [kind for kind in named if kind != MISSED]
    counts = found.reindex(seen, fill_value=0).to_numpy(dtype=float)
    number = check_whole("n_recordings", n_recordings, at_least=1)
    # True and found kinds in each session, (n_seeds, n_truths, n_found).
    codes = [
        pd.Categorical(recovered[column], categories=names).codes
        for column, names in ((f"true_{what}", truths), (what, named))
    ]
    seeds, of = np.unique(recovered["seed"].to_numpy(), return_inverse=True)
    sessions = np.zeros((len(seeds), len(truths), len(named)))
    known = (codes[0] >= 0) & (codes[1] >= 0)
    np.add.at(sessions, (of[known], codes[0][known], codes[1][known]), 1)
    rng = np.random.default_rng(check_whole("seed", seed))
    drawn = bootstrap_shares(counts, sessions, rng, n_recordings=number, n_bootstrap=n_samples)
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    return pd.DataFrame(
        {
            what: truths,
            "recall": [matrix.loc[kind, kind] for kind in truths],
            "found": [found.get(kind, 0) / counts.sum() for kind in truths],
            "share": shares.to_numpy(),
            "ci_low": low,
            "ci_high": high,
        }
    )


def bootstrap_shares(
    found: Floats,
    sessions: Floats,
    rng: np.random.Generator,
    *,
    n_recordings: int = 1,
    n_bootstrap: int = 1000,
) -> Floats:
    """Draw bootstrap samples of the estimated shares.

    In each sample, recordings have the confusion matrices of randomly drawn sessions, as far as
    sessions differ beyond chance; as many events as were found are drawn from them, and unfolded
    with the confusion matrix of another random sample of sessions.
    """
    mean, each = _rates(sessions.sum(axis=0)), _rates(sessions)
    shares = unfold(found, mean[:, :-1])
    n_sessions, n_events = len(sessions), round(found.sum())
    beyond = 0.0  # the part of the standard deviation between sessions that is not due to chance
    if n_sessions > 1:
        number = np.maximum(sessions.sum(axis=2, keepdims=True), 1)
        by_chance = (mean * (1 - mean) / number).mean(axis=0).sum()
        observed = each.var(axis=0, ddof=1).sum()
        beyond = np.sqrt(max(1.0 - by_chance / observed, 0.0)) if observed > 0 else 0.0
    drawn = np.empty((n_bootstrap, len(mean)))
    for sample in range(n_bootstrap):
        others = each[rng.integers(n_sessions, size=n_recordings)].mean(axis=0)
        expected = shares @ np.maximum(mean + beyond * (others - mean), 0.0)[:, :-1]
        if not expected.sum() > 0:  # the drawn recordings would have missed everything
            expected = shares @ mean[:, :-1]
        events = rng.multinomial(n_events, expected / expected.sum())
        again = sessions[rng.integers(n_sessions, size=n_sessions)].sum(axis=0)
        drawn[sample] = unfold(events, _rates(again)[:, :-1])
    return drawn


def _rates(counts: Floats) -> Floats:
    return np.asarray(counts / np.maximum(counts.sum(axis=-1, keepdims=True), 1))
