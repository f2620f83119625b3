"""Sequenceness: how strongly states follow one another at each lag, as studies of people report it.

Temporally delayed linear modelling [1]_ regresses the activity of each state on that of all states
some lag earlier, and these coefficients on the transitions of interest, their reverse, each state's
own persistence and a constant. Activity is what decoders give in people, or what a model replays.

References
----------
.. [1] Liu et al. (2021). https://doi.org/10.7554/eLife.66917
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import factorial

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from analyses.sequences.sequences import Lists
from replay.checks import check_array, check_seed, check_whole, typed
from replay.checks.arrays import Floats, Ints

_LEAST_STATES = 3
_LEVEL = 0.95
_EQUAL = 1e-12


@typed
def sequenceness(
    activity: Sequence[ArrayLike],
    transitions: ArrayLike,
    *,
    max_lag: int,
    n_permutations: int = 99,
    period: int | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Measure how strongly states follow one another along given transitions, at each lag.

    Parameters
    ----------
    activity : sequence of array_like, each of shape (n_times, n_states)
        The activity of all states over time, of each person, animal or simulation.
    transitions : array_like, shape (n_states, n_states)
        How strongly each state (row) should be followed by each other one (column): 0 or 1 for a
        sequence.
    max_lag : int
        The largest lag, in time bins.
    n_permutations : int, default 99
        Random orders of the states, all different and none the given one, for the threshold.
    period : int, optional
        The period of a rhythm, in time bins, such as the 10 bins of 10 ms of alpha. States are then
        regressed on all lags together that differ by whole periods, so that the rhythm counts less.
    seed : int, default 0
        Seed of the permutations.

    Returns
    -------
    pandas.DataFrame
        One row per lag: `lag`, and the means over people of `forward` and `backward` sequenceness
        and of their `difference`. For each, `..._threshold` is the 95th percentile over
        permutations of the largest absolute mean at any lag, and `..._p` the share of permutations,
        the given order included, whose largest one reaches that of this lag: both hold for all lags
        together.

    Raises
    ------
    ValueError
        If shapes do not fit, recordings are shorter than the lags, or there are fewer orders of the
        states than permutations are asked for.

    Examples
    --------
    Four states are active one after the other, again and again, with breaks:

    >>> sweep = np.vstack([np.eye(4), np.zeros((2, 4))])
    >>> table = sequenceness([np.tile(sweep, (50, 1))], np.eye(4, k=1), max_lag=3,
    ...                      n_permutations=20)
    >>> table[["forward", "backward"]].round(2).to_numpy().tolist()[0]
    [1.17, 0.0]
    """
    lags = check_whole("max_lag", max_lag, at_least=1)
    check_whole("n_permutations", n_permutations, at_least=1)
    if period is not None:
        check_whole("period", period, at_least=1)
    wanted = check_array(transitions, "transitions", kind="number", n_dims=2)
    n = len(wanted)
    if wanted.shape != (n, n) or n < _LEAST_STATES:
        raise ValueError(
            "transitions must have a row and a column for each of three or more states, got the "
            f"shape {wanted.shape}."
        )
    rng = np.random.default_rng(check_seed(seed))
    if n_permutations > factorial(n) - 1:
        raise ValueError(
            f"{n} states have {factorial(n) - 1:,} other orders: n_permutations must not be larger."
        )
    drawn = {tuple(range(n)): None}  # the given order first, and all others once
    while len(drawn) <= n_permutations:
        drawn[tuple(rng.permutation(n).tolist())] = None
    orders = np.array(list(drawn))
    total = np.zeros((len(orders), lags, 2))
    for number, each in enumerate(activity):
        known = check_array(each, f"activity {number}", kind="number", n_dims=2)
        if known.shape[1] != n or len(known) <= lags:
            raise ValueError(
                f"activity {number} must have {n} columns, one per state, and more than {lags} "
                f"rows, got the shape {known.shape}."
            )
        total += _strengths(_coefficients(known, lags, period), wanted, orders)
    if not len(activity):
        raise ValueError("activity must have at least one recording.")
    mean = total / len(activity)
    measures = {
        "forward": mean[..., 0],
        "backward": mean[..., 1],
        "difference": mean[..., 0] - mean[..., 1],
    }
    table: dict[str, NDArray[np.generic]] = {"lag": np.arange(1, lags + 1)}
    for name, values in measures.items():
        largest = np.abs(values).max(axis=1)
        table[name] = values[0]
        table[f"{name}_threshold"] = np.full(lags, np.quantile(largest[1:], _LEVEL))
        reached = largest[1:, None] >= np.abs(values[0]) - _EQUAL
        table[f"{name}_p"] = (1 + reached.sum(axis=0)) / len(orders)
    return pd.DataFrame(table)


def backward_minus_forward(
    replayed: Lists, names: Sequence[str], chains: Iterable[Sequence[str]]
) -> float:
    """Measure backward minus forward sequenceness of replayed places, one place later.

    `names` are those of the places, and each of `chains` lists the places of a sequence in order.
    NaN without replay.

    Examples
    --------
    >>> backwards = Lists.of([[2, 1, 0], [2, 1]])
    >>> round(backward_minus_forward(backwards, ["a", "b", "c"], [["a", "b", "c"]]), 2)
    1.5
    """
    if not len(replayed.flat):
        return float("nan")
    n, number = len(names), {name: place for place, name in enumerate(names)}
    transitions = np.zeros((n, n))
    for chain in chains:
        for here, there in pairwise(chain):
            transitions[number[here], number[there]] = 1.0
    # A break after each sequence, so that its last place does not precede the next one's first.
    times = np.arange(len(replayed.flat)) + replayed.owner
    activity = np.zeros((times[-1] + 1, n))
    activity[times, replayed.flat] = 1.0
    [[[forward, backward]]] = _strengths(
        _coefficients(activity, 1, None), transitions, np.arange(n)[None]
    )
    return float(backward - forward)


def _coefficients(activity: Floats, max_lag: int, period: int | None) -> Floats:
    """Regress each state on all states at each lag; shape (max_lag, n_states, n_states)."""
    n_times, n = activity.shape
    lagged = np.zeros((max_lag, n_times, n))
    for lag in range(1, max_lag + 1):
        lagged[lag - 1, lag:] = activity[:-lag]
    found = np.empty((max_lag, n, n))
    step = period or max_lag  # without a rhythm each lag is fitted alone
    for first in range(min(step, max_lag)):
        together = lagged[first::step]
        design = np.column_stack([*together, np.ones(n_times)])
        fitted = np.linalg.lstsq(design, activity, rcond=None)[0]
        found[first::step] = fitted[:-1].reshape(len(together), n, n)
    return found


def _strengths(coefficients: Floats, transitions: Floats, orders: Ints) -> Floats:
    """Regress coefficients on transitions and their reverse, with states in each of some orders.

    Returns forward and backward sequenceness: shape (n_orders, max_lag, 2).
    """
    n = len(transitions)
    flat = coefficients.reshape(len(coefficients), n * n).T
    itself = np.eye(n).ravel(), np.ones(n * n)  # persistence, and a constant [1]_
    found = np.empty((len(orders), len(coefficients), 2))
    for number, order in enumerate(orders):
        forward = transitions[np.ix_(order, order)]
        design = np.column_stack([forward.ravel(), forward.T.ravel(), *itself])
        found[number] = np.linalg.lstsq(design, flat, rcond=None)[0][:2].T
    return found
