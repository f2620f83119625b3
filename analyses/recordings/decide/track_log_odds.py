"""Track log odds: which of two tracks an event represents, whatever the order of its places.

The published code divides a sum that is not normalised by one that is; here the posterior is
normalised over both tracks for both sums, and decoded with the cells that have fields on both [1]_.
In shuffles, the fields of each cell on the two tracks are swapped with probability 1/2.

References
----------
.. [1] Takigawa et al. (2024), Evaluating hippocampal replay without a ground truth.
   https://doi.org/10.7554/eLife.85635
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from analyses.recordings.basics.binned_track import BinnedTrack, bins_between
from analyses.recordings.basics.settings import Settings
from analyses.recordings.prepare.likelihood import bayesian_posterior, log_likelihood

_LEAST_PEAK = Settings().least_peak  # Hz, on both tracks


def log_odds(posterior: ArrayLike, first: ArrayLike, second: ArrayLike) -> float:
    """Compute the log odds of two tracks from the posterior of an event, shape (n_time, n_bins).

    `first` and `second` mark the bins of the tracks. The natural logarithm of the sum of the
    posterior over the first divided by that over the second; for both, it is normalised over both
    tracks together in each time bin.
    """
    one, other = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
    both = np.asarray(posterior, dtype=float)[:, one | other]
    normalised = both / both.sum(axis=1, keepdims=True)
    sums = (normalised[:, each[one | other]].sum() for each in (one, other))
    on_first, on_second = (max(float(each), 1e-300) for each in sums)
    return float(np.log(on_first) - np.log(on_second))


def tracks_to_compare(
    track: BinnedTrack, rates: ArrayLike, named: Sequence[Sequence[str]] = ()
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]] | None:
    """Find the bins of the two tracks to be compared by track log odds."""
    if named:
        first, second = (bins_between(track, nodes) for nodes in named)
        return first, second
    if track.n_components != 2:
        return None
    first, second = track.component == 0, track.component == 1
    return (first, second) if common_cells(rates, first, second).sum() > 1 else None


def common_cells(rates: ArrayLike, first: ArrayLike, second: ArrayLike) -> NDArray[np.bool_]:
    """Find the cells with a field on each of two tracks."""
    hertz = np.asarray(rates, dtype=float)
    peaks = [hertz[:, np.asarray(each, dtype=bool)].max(axis=1) for each in (first, second)]
    return np.asarray(np.min(peaks, axis=0) >= _LEAST_PEAK)


def track_log_odds(
    events: Sequence[ArrayLike],
    rates: ArrayLike,
    first: ArrayLike,
    second: ArrayLike,
    *,
    dt: float,
    n_shuffles: int = 200,
    seed: int = 0,
) -> pd.DataFrame:
    """Compute the track log odds of each event, and compare them with chance.

    Events are (n_time, n_cells) spikes; `first` and `second` mark the bins of the tracks. Cells
    with a field on both count. Returns `log_odds` and `log_odds_z`.
    """
    one, other = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
    hertz = np.asarray(rates, dtype=float)
    chosen = common_cells(hertz, one, other)
    if np.count_nonzero(chosen) < 2:
        raise ValueError(
            f"{np.count_nonzero(chosen)} of {len(hertz)} cells have a field on both tracks (at "
            f"least {_LEAST_PEAK:g} Hz): too few for a comparison."
        )
    own = hertz[chosen]
    swapped = own.copy()
    for here, there in ((one, other), (other, one)):
        along = np.linspace(0, np.count_nonzero(there) - 1, np.count_nonzero(here))
        swapped[:, here] = own[:, there][:, np.round(along).astype(int)]
    children = np.random.SeedSequence(seed).spawn(len(events))

    def odds(counts: NDArray[np.float64], fields: NDArray[np.float64]) -> float:
        likelihoods = log_likelihood(counts, fields, dt)[:, one | other]
        return log_odds(bayesian_posterior(likelihoods), one[one | other], other[one | other])

    rows = []
    for given, child in zip(events, children, strict=True):
        counts = np.asarray(given, dtype=float)[:, chosen]
        row = {"log_odds": np.nan, "log_odds_z": np.nan}
        if counts.any():
            rng = np.random.default_rng(child)
            by_chance = [
                odds(counts, np.where(rng.random((len(own), 1)) < 0.5, own, swapped))
                for _ in range(n_shuffles)
            ]
            row["log_odds"] = odds(counts, own)
            spread = float(np.std(by_chance))
            if spread > 0:
                row["log_odds_z"] = (row["log_odds"] - float(np.mean(by_chance))) / spread
        rows.append(row)
    return pd.DataFrame(rows, columns=["log_odds", "log_odds_z"])
