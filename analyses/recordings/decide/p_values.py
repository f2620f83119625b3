"""P values of events: tests of whether an event is replay or could arise by chance.

Each event is compared with shuffled data by its score, or by what `SCORES` names instead. Its p
value is (k + 1) / (n + 1), where k of n shuffles reach at least as much [1]_.

References
----------
.. [1] Phipson & Smyth (2010), Permutation p-values should never be zero.
   https://doi.org/10.2202/1544-6115.1585
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from analyses.recordings.basics.binned_track import BinnedTrack
from analyses.recordings.basics.judgement import Judgement
from analyses.recordings.basics.settings import Settings
from analyses.recordings.decide.scores import (
    SCORES,
    TestedEvent,
    routes_for,
)
from analyses.recordings.decide.shuffles import shuffled_likelihoods
from analyses.recordings.prepare.checks import check_shuffles
from analyses.recordings.prepare.likelihood import log_likelihood
from analyses.recordings.prepare.state_space_decoder import walk_of_states
from replay.checks import check_choice, check_whole

__all__ = ["significance"]

_USUAL = Judgement()


def significance(
    events: Sequence[ArrayLike],
    rates: ArrayLike,
    track: BinnedTrack,
    *,
    dt: float,
    score: str = _USUAL.score,
    shuffles: Sequence[str] = _USUAL.shuffles,
    n_shuffles: int = _USUAL.n_shuffles,
    variance: float = Settings().diffusion * Settings().time_bin,
    least_active: int = _USUAL.least_active,
    electrode: ArrayLike | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Test whether events are replay.

    Each event is (n_time, n_cells) spikes in time bins of `dt` s; `variance` is that of a step of
    the walk in such a bin, in cm^2; `electrode`, shape (n_cells,), is that of each class of marks,
    if cells are such classes. Returns `event, n_active, score`, a column ``p_SHUFFLE`` for each
    shuffle, and `p`, the largest; all NaN with fewer than `least_active` cells.

    Examples
    --------
    >>> from analyses.recordings.basics.binned_track import cut_track
    >>> from replay.worlds.tracks import make_linear_track
    >>> track = cut_track(make_linear_track(100.0), bin_size=5.0)
    >>> rates = 30.0 * np.exp(-0.5 * ((np.arange(20) - np.arange(20)[:, None]) / 1.5) ** 2) + 0.1
    >>> sweep = np.random.default_rng(0).poisson(rates.T * 0.1)
    >>> tested = significance([sweep], rates, track, dt=0.1, n_shuffles=39)
    >>> bool(tested.loc[0, "p"] < 0.05)
    True
    """
    chosen = check_shuffles(shuffles)
    rule = SCORES[check_choice("score", score, SCORES)]
    n = check_whole("n_shuffles", n_shuffles, at_least=1)
    least = check_whole("least_active", least_active)
    hertz = np.asarray(rates, dtype=float)
    if hertz.ndim != 2 or hertz.shape[1] not in (track.n_bins, 2 * track.n_bins):
        raise ValueError(
            f"rates must have the shape (n_cells, {track.n_bins}) on this track, or twice as many "
            f"columns, one for each heading; got {hertz.shape}."
        )
    groups = np.arange(len(hertz)) if electrode is None else np.asarray(electrode)
    walk = walk_of_states(track, variance, hertz.shape[1])
    routes = routes_for(score, track)
    children = np.random.SeedSequence(check_whole("seed", seed)).spawn(len(events))
    rows = []
    for number, (given, child) in enumerate(zip(events, children, strict=True)):
        counts = np.asarray(given, dtype=float)
        if counts.ndim != 2 or counts.shape[1] != len(hertz):
            raise ValueError(
                f"Event {number} must have the shape (n_time, {len(hertz)}); got {counts.shape}."
            )
        event = TestedEvent(counts, hertz, dt, walk, routes, track.component, groups)
        n_active = int(np.count_nonzero(counts.sum(axis=0)))
        row: dict[str, float] = {"event": number, "n_active": n_active, "score": np.nan}
        row |= dict.fromkeys([f"p_{name}" for name in chosen], np.nan)
        if n_active >= least and len(counts) > 1:
            likelihoods = log_likelihood(counts, hertz, dt)
            row["score"], own_value = rule.of(event, likelihoods), rule.compared(event, likelihoods)
            for name, own in zip(chosen, child.spawn(len(chosen)), strict=True):
                rng = np.random.default_rng(own)
                by_chance = [
                    rule.compared(event, shuffled_likelihoods(name, event, rng)) for _ in range(n)
                ]
                n_above = np.count_nonzero(np.array(by_chance) >= own_value - 1e-12)
                row[f"p_{name}"] = (n_above + 1) / (n + 1)
        row["p"] = max(row[f"p_{name}"] for name in chosen)
        rows.append(row)
    columns = ["event", "n_active", "score", *(f"p_{name}" for name in chosen), "p"]
    return pd.DataFrame(rows, columns=columns).astype({"event": int, "n_active": int})
