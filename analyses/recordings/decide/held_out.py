"""Whether the fields of running hold in events: held-out spikes against those of other cells.

Each event is decoded without a fifth of the cells, in turn. If the field of a cell that was left
out holds, it fires where its field is high: the mean log of its rate at the decoded places is
larger at its own spikes than at those of the other cells. The share of what is observed of what is
expected, if the other cells' spikes are weighted by that rate, is 1 if its field holds, and 0 if it
has another. For each cell, events count in which the cells of the other fifths reach half of what
is expected, so that candidate events that are no replay do not count against its field.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analyses.recordings.prepare.likelihood import log_likelihood
from analyses.recordings.prepare.session import Session
from analyses.recordings.prepare.state_space_decoder import state_posterior
from replay.checks.arrays import Bools, Floats

_FOLDS = 5
_MOST_EVENTS, _LEAST_SPIKES, _LEAST_CELLS = 200, 10, 8
_HALF = 0.5  # of what is expected: a field that reaches less does not hold
# Simulated rats: with half of 50 cells remapped, 19 of 20 are told (of 25 cells, 18). Without
# remapping 1 of 120; if only a fifth of the candidate events is replay, 2 of 20 (25 cells: 12).
_MOST_LOST, _LEAST_OBSERVED, _HARDLY = 0.25, 0.75, 0.4


class HeldOut(NamedTuple):
    """How well fields predict which cells fire in events."""

    n_often: int  # number of cells that fire often enough to be tested
    # (n_tested,): whether the field of each holds; without those that hardly fire in events in
    # which the fields of other cells hold
    holds: Bools
    observed: float  # what is observed of all that is expected if all fields hold

    @property
    def is_tested(self) -> bool:
        """Whether enough cells fire often enough to say."""
        return self.n_often >= _LEAST_CELLS

    @property
    def are_unrelated(self) -> bool:
        """Whether fields hardly predict which cells fire."""
        n = len(self.holds)
        return self.is_tested and (n < self.n_often / 2 or self.observed < _HARDLY)

    @property
    def hold(self) -> bool:
        """Whether fields hold, as far as can be said."""
        few_lost = (~self.holds).sum() < _MOST_LOST * len(self.holds)
        return not self.is_tested or (
            not self.are_unrelated and bool(few_lost or self.observed > _LEAST_OBSERVED)
        )


def held_out(session: Session) -> HeldOut:
    """Predict the spikes of each fifth of the cells in events from those of the others."""
    rates, walk, known = session.decoded_rates, session.walk(), session.seen
    fold = session.electrode % _FOLDS
    least = session.judgement.least_active
    counted = [each * known[row] for row, each in enumerate(session.counts)]
    rows = [row for row, each in enumerate(counted) if np.count_nonzero(each.sum(axis=0)) >= least]
    if not rows:
        return HeldOut(0, np.empty(0, dtype=bool), 0.0)
    rows = rows[:: -(-len(rows) // _MOST_EVENTS)]  # evenly over the recording
    tested, expected_rates = [counted[row] for row in rows], []
    for row, counts in zip(rows, tested, strict=True):
        found = np.full(counts.shape, np.nan)  # where a cell was not observed
        for left in range(_FOLDS):
            used, held = (known[row] & each for each in (fold != left, fold == left))
            likelihoods = log_likelihood(counts[:, used], rates[used], session.time_bin)
            posterior, _ = state_posterior(likelihoods, walk)
            found[:, held] = posterior.sum(axis=1) @ rates[held].T
        expected_rates.append(found)
    by_event = np.array([_gains(*pair) for pair in zip(tested, expected_rates, strict=True)])
    observed, expected, holds = 0.0, 0.0, []
    for left in range(_FOLDS):
        own, others = np.flatnonzero(fold == left), np.flatnonzero(fold != left)
        used = [
            event
            for event, (seen, hoped) in enumerate(by_event[:, :, others].sum(axis=2))
            if seen > _HALF * hoped
        ]
        if not used:
            continue
        counts = np.concatenate([tested[event] for event in used])
        found = np.concatenate([expected_rates[event] for event in used])
        seen, hoped = _gains(counts, found)
        often = own[counts[:, own].sum(axis=0) >= _LEAST_SPIKES]
        observed, expected = observed + seen[often].sum(), expected + hoped[often].sum()
        holds += (seen[often] >= _HALF * hoped[often]).tolist()
    total = np.sum([counts.sum(axis=0) for counts in tested], axis=0)
    share = observed / expected if expected > 0 else 0.0
    return HeldOut(int((total >= _LEAST_SPIKES).sum()), np.array(holds, dtype=bool), share)


def _gains(counts: NDArray[np.integer], rates: Floats) -> tuple[Floats, Floats]:
    """Sum the log rate at the spikes of each cell, above that at others; and what is expected.

    Rates are NaN where a cell was not observed: there, it has neither spikes nor others.
    """
    others = np.where(np.isnan(rates), 0, counts.sum(axis=1, keepdims=True) - counts)
    rates = np.nan_to_num(rates)
    height = np.log(np.maximum(rates, 1e-10))
    weighted = others * rates
    mean = (others * height).sum(axis=0) / np.maximum(others.sum(axis=0), 1)
    at_own = (weighted * height).sum(axis=0) / np.maximum(weighted.sum(axis=0), 1e-10)
    number = counts.sum(axis=0)
    return (counts * height).sum(axis=0) - number * mean, number * (at_own - mean)
