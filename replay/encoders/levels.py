"""Levels of features, such as pixels in which one of two animals is seen, or the floor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from replay.checks.arrays import Floats, Int32s, Ints
from replay.encoders.vectors import Codebook, OfOne

_GAP = 0.05  # of the range of a feature, in which none of its values lies
_CLEAR, _APART = 3.0, 8.0  # standard deviations within levels: between values, between means
_MOST = 8  # levels
_FEWEST = 5  # observations at a level


@dataclass(frozen=True)
class Levels:
    """How features become levels: some stay as they are, others are at a level or not."""

    kept: Ints  # (n_kept,): features that stay as they are
    owner: Ints  # (n_levels,): the feature of each level, with its bounds
    low: Floats
    high: Floats

    def of(self, observations: Floats) -> Floats:
        """Return what is kept and whether each level is seen, shape (..., n_kept + n_levels)."""
        if not len(self.owner):  # all are kept: observations are encoded one by one
            return observations
        seen = observations[..., self.owner]
        at_level = (seen > self.low) & (seen <= self.high)
        return np.concatenate([observations[..., self.kept], at_level], axis=-1)


def find_levels(observations: Floats, most: int, known: Levels | None) -> Levels:
    """Find features of three levels and more, with gaps between them; known levels stay.

    The commonest is left out, as what the others leave over; and all if there were above `most`.
    """
    rows = [] if known is None else list(zip(known.owner, known.low, known.high, strict=True))
    kept, divided = [], {feature for feature, *_ in rows}
    for feature, values in enumerate(np.sort(observations, axis=0).T):
        if feature in divided:
            continue
        gap, least = np.diff(values), _GAP * (values[-1] - values[0])
        for _ in range(2):  # the second time, what varies within levels is known
            wide = np.flatnonzero(gap > least)
            number = np.diff(wide + 1, prepend=0, append=len(values))
            level = np.repeat(np.arange(len(number)), number)
            mean = np.bincount(level, values) / number
            within = float((values - mean[level]).std())
            least = max(least, _CLEAR * within)
        is_divided = 3 <= len(number) <= _MOST and number.min() >= _FEWEST
        if is_divided and np.diff(mean).min() > _APART * within:
            cuts = (values[wide] + values[wide + 1]) / 2
            bounds = np.concatenate([[-np.inf], cuts, [np.inf]])
            others = np.flatnonzero(np.arange(len(number)) != number.argmax())
            rows += [(feature, bounds[each], bounds[each + 1]) for each in others]
        else:
            kept.append(feature)
    if len(kept) + len(rows) > most:
        kept, rows = list(range(observations.shape[1])), []
    owner, low, high = np.array(rows, dtype=np.float64).reshape(-1, 3).T
    return Levels(np.array(kept, dtype=np.int64), owner.astype(np.int64), low, high)


@dataclass(frozen=True)
class LevelCodebook(OfOne):
    """A codebook of levels; its `typical` is the mean observation of each centre."""

    levels: Levels
    of: Codebook

    @property
    def n_codes(self) -> int:
        """Number of centres."""
        return self.of.n_codes

    def begin(self, observation: Floats) -> int:
        """Return the code of an observation."""
        return self.of.begin(self.levels.of(observation))

    def points(self, observations: Floats) -> Floats:
        """Return where observations are among the centres, shape (n, n_used)."""
        return (self.levels.of(observations) - self.of.offset) @ self.of.weight.T

    def neighbours(self) -> Int32s:
        """List all codes from the nearest to the farthest, for each; shape (n_codes, n_codes)."""
        return self.of.neighbours()
