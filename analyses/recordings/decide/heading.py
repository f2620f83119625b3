"""The heading that an event represents: whether the spikes of its cells tell it.

Two questions are asked of the cells that fire, given the number of spikes in each time bin, so that
the gain of an event does not matter:

- *Does the event have a heading?* One event has too few spikes to be sure; all replay events of an
  animal together say how many have none. Two tests must agree. On the decoded path, the likelihood
  in the better of the two headings, divided by that with the mean rates of both, is compared with
  that of events that are simulated without a heading, in which each burst of a cell is one of a
  randomly drawn cell; the threshold of p is chosen so that of the events that it tells, one in 20
  is expected to have none [1]_. Over all paths, because a decoded path follows the noise of its
  event, a heading must be 19 times as probable as none, by the evidence of the decoder with and
  without headings, and by the share of events with a heading that makes the evidence of all most
  probable.
- *Which one is it?* The likelihood in the heading of the path must be at least 19 times that in the
  opposite heading.

References
----------
.. [1] Storey (2002), A direct approach to false discovery rates.
   https://doi.org/10.1111/1467-9868.00346
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit

from analyses.recordings.basics.binned_track import BinnedTrack
from analyses.recordings.prepare.headings import travel
from analyses.recordings.prepare.session import Session
from analyses.recordings.prepare.state_space_decoder import state_posterior, walk_of_states

__all__ = ["UNTESTED", "HeadingLevels", "HeadingTold", "expected_without", "heading_levels"]
__all__ += [
    "heading_of_path",
    "heading_of_ways",
    "heading_told",
    "is_told",
    "largest_p",
    "outward_along",
]

_MOST_WITHOUT = 0.05  # of the events that p tells: the share that may have no heading
_UNLIKELY = 0.5  # p values above it are those of events without a heading
_LEAST_ODDS = np.log(19.0)  # of a heading against none, and against the opposite one
_N_STEPS = 200
_N_SIMULATED = 1000
_BURST = 0.006  # s between spikes of a burst
_LEAST_CERTAIN = 0.95  # the probability of a heading by another program


class HeadingTold(NamedTuple):
    """Whether an event tells its heading.

    Attributes
    ----------
    heading_p : float
        The p value of the better heading of the path, against events without a heading.
    heading_evidence : float
        The logarithm of the evidence with headings, divided by that without.
    heading_odds : float
        The logarithm of the likelihood in the heading of the path, divided by that in the opposite
        heading.
    """

    heading_p: float
    heading_evidence: float
    heading_odds: float


UNTESTED = HeadingTold(np.nan, np.nan, np.nan)


class HeadingLevels(NamedTuple):
    """What an event needs for its heading to be told: the largest p, and the least evidence."""

    p: float
    evidence: float


def heading_levels(events: pd.DataFrame) -> HeadingLevels:
    """Choose the levels from all replay of an animal, with the columns of `HeadingTold`."""
    known = events.dropna(subset=[*HeadingTold._fields])
    evidence = known["heading_evidence"].to_numpy(dtype=float)
    share = 0.5  # of events with a heading, by expectation-maximisation; never 0 or 1
    for _ in range(_N_STEPS):
        share = (expit(evidence + logit(share)).sum() + 0.5) / (len(evidence) + 1)
    return HeadingLevels(largest_p(known["heading_p"]), float(_LEAST_ODDS - logit(share)))


def largest_p(p: ArrayLike) -> float:
    """Choose the largest p of events that are told to have a heading, from those of all replay.

    Where most events have a heading, so have most of those with a large p; where none has, only
    the smallest p would count.

    Examples
    --------
    >>> largest_p([0.001] * 18 + [0.2, 0.4]), largest_p([0.1, 0.3, 0.5, 0.7, 0.9])
    (0.4, 0.0)
    """
    known = np.sort(np.asarray(p, dtype=float))
    known = known[~np.isnan(known)]
    n_without = min((1 + (known > _UNLIKELY).sum()) / (1 - _UNLIKELY), len(known))
    is_rare = n_without * known <= _MOST_WITHOUT * np.arange(1, len(known) + 1)
    return float(known[is_rare].max(initial=0.0))


def is_told(events: pd.DataFrame, levels: HeadingLevels) -> NDArray[np.bool_]:
    """Find the events whose heading is told."""
    found: NDArray[np.bool_] = (
        (events["heading_p"] <= levels.p)
        & (events["heading_evidence"] >= levels.evidence)
        & (events["heading_odds"] >= _LEAST_ODDS)
    ).to_numpy()
    return found


def expected_without(told: pd.DataFrame, least_evidence: float) -> float:
    """Estimate how many events whose heading is told have none, by the evidence of each.

    `least_evidence` is that with which a heading is 19 times as probable as none.

    Examples
    --------
    >>> told = pd.DataFrame({"heading_evidence": [2.0, 12.0]})
    >>> round(expected_without(told, 2.0), 3)
    0.05
    """
    evidence = told["heading_evidence"].to_numpy(dtype=float)
    return float(expit(least_evidence - evidence - _LEAST_ODDS).sum())


def heading_of_path(track: BinnedTrack, states: NDArray[np.integer]) -> NDArray[np.int8]:
    """Compare the headings of a decoded path, shape (n_time,), with its direction of travel.

    A state is a bin, plus the number of bins in the second heading. The result is 1 where they
    agree, -1 where they are opposite, and 0 where the path stays.
    """
    heading = np.where(states < track.n_bins, 1, -1)
    return (travel(track, states % track.n_bins) * heading).astype(np.int8)


def heading_of_ways(along: NDArray[np.int8], visits: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the heading of the way to each visit of a path: that of most time bins on it.

    `along`, shape (n_time,), is that of each time bin; `visits` are the time bins of the visits.
    """
    total = np.append(0, np.cumsum(along.astype(np.int64)))
    end = visits + 1
    begin = np.append(0, end[:-1])[: len(end)]
    found: NDArray[np.int64] = np.sign(total[end] - total[begin])
    return found


def heading_told(
    session: Session,
    counts: NDArray[np.integer],
    states: NDArray[np.integer],
    rng: np.random.Generator,
) -> HeadingTold:
    """Test whether the spikes of an event, shape (n_time, n_cells), tell the heading of its path.

    `states`, shape (n_time,), are bins, plus the number of bins in the second heading.
    """
    if session.headings is None or not counts.any():
        return UNTESTED
    rates, n_bins = session.headings.rates, session.track.n_bins
    mean = (rates[:, :n_bins] + rates[:, n_bins:]) / 2
    shares, mean_shares = rates / rates.sum(axis=0), mean / mean.sum(axis=0)
    with_heading, without = (
        state_posterior(
            counts @ np.log(each), walk_of_states(session.track, session.variance, each.shape[1])
        )[1]
        for each in (shares, mean_shares)
    )
    own, other = (shares[:, (states + shift) % (2 * n_bins)].T for shift in (0, n_bins))
    p = _p_on_path(counts, own, other, max(round(_BURST / session.time_bin), 1), rng)
    odds = float((counts * np.log(own / other)).sum())
    return HeadingTold(p, with_heading - without, odds)


def _p_on_path(
    counts: NDArray[np.integer],
    own: NDArray[np.float64],
    other: NDArray[np.float64],
    longest: int,
    rng: np.random.Generator,
) -> float:
    """Compute the p value of the better heading of a path, against simulated events without one.

    `own` and `other`, shape (n_time, n_cells), are the cells' shares of spikes in both headings.
    """
    mean = (own + other) / 2
    evidence = [np.log(share / mean) for share in (own, other)]
    found = max(float((counts * each).sum()) for each in evidence)
    time, number = _bursts(counts, longest)
    up_to, drawn = np.cumsum(mean, axis=1)[time], rng.random((_N_SIMULATED, len(time)))
    simulated = np.zeros((2, _N_SIMULATED))
    for burst, n_spikes in enumerate(number.tolist()):
        cell = np.searchsorted(up_to[burst], drawn[:, burst] * up_to[burst, -1], side="right")
        for total, each in zip(simulated, evidence, strict=True):
            total += n_spikes * each[time[burst], np.minimum(cell, mean.shape[1] - 1)]
    n_above = np.count_nonzero(simulated.max(axis=0) >= found - 1e-12)
    return float((n_above + 1) / (_N_SIMULATED + 1))


def _bursts(
    counts: NDArray[np.integer], longest: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first time bin and the number of spikes of each burst of a cell.

    Its spikes are at most `longest` time bins apart.
    """
    cell, time = np.nonzero(counts.T)
    begins = np.flatnonzero((np.diff(cell, prepend=-1) != 0) | (np.diff(time, prepend=0) > longest))
    return time[begins], np.add.reduceat(counts.T[cell, time], begins)


def outward_along(
    track: BinnedTrack, bins: NDArray[np.integer], outward: NDArray[np.float64]
) -> NDArray[np.int8]:
    """Compare the headings that another program decoded with the direction of travel.

    `outward`, shape (n_time,), is the probability of running along the track as its `edge_order`
    lays it out; a heading that is not certain is 0.
    """
    laid_out = {tuple(edge) for edge in track.edge_order.tolist()}
    sign = np.array([1 if tuple(edge) in laid_out else -1 for edge in track.edges.tolist()])
    certain = (outward >= _LEAST_CERTAIN).astype(int) - (outward <= 1 - _LEAST_CERTAIN)
    found: NDArray[np.int8] = travel(track, bins) * sign[track.edge[bins]] * certain
    return found.astype(np.int8)
