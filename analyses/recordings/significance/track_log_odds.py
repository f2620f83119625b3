"""Track log odds: on which of two tracks an event is."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["log_odds"]


def log_odds(posterior: ArrayLike, first: ArrayLike, second: ArrayLike) -> float:
    """Compare how much of the posterior of an event lies on each of two tracks.

    Parameters
    ----------
    posterior : array_like of float, shape (n_time, n_bins)
        Over the bins of both tracks, decoded with cells that have a field on both.
    first, second : array_like of bool, shape (n_bins,)
        Which bins belong to which track.

    Returns
    -------
    float
        The natural logarithm of the ratio of the sums. The posterior is normalised over both tracks
        together, in each time bin, for both sums alike.

    Raises
    ------
    ValueError
        If the tracks share a bin, or shapes disagree.

    References
    ----------
    Takigawa et al. (2024), https://doi.org/10.7554/eLife.85635

    Examples
    --------
    >>> round(log_odds([[0.6, 0.2, 0.2]], [True, False, False], [False, True, True]), 3)
    0.405
    """
    weights = np.asarray(posterior, dtype=float)
    one, other = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
    if weights.ndim != 2 or {one.shape, other.shape} != {weights.shape[1:]}:
        raise ValueError(
            f"Each track must say for each of the posterior's bins whether it is its own; got "
            f"shapes {weights.shape}, {one.shape} and {other.shape}."
        )
    if (one & other).any():
        raise ValueError(f"Bin {int(np.flatnonzero(one & other)[0])} belongs to both tracks.")
    both = weights[:, one | other]
    normalised = both / both.sum(axis=1, keepdims=True)
    on_first = normalised[:, one[one | other]].sum()
    return float(np.log(on_first) - np.log(len(weights) - on_first))
