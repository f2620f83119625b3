"""Controls: events with as many spikes and time bins as a candidate event, but without replay.

What passes of each tells how much of what is found may be something else than replay [1]_: cells
without fields, places that are held, or movement that leads nowhere.

References
----------
.. [1] Takigawa et al. (2024), Evaluating hippocampal replay without a ground truth.
   https://doi.org/10.7554/eLife.85635
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from analyses.recordings.basics.binned_track import BinnedTrack, bins_on_way
from analyses.recordings.basics.marks import exchanged
from analyses.recordings.prepare.state_space_decoder import walk_transitions

__all__ = ["BLOCKS", "CONTROLS", "EXCHANGED", "control_counts", "with_exchanged_cells"]

EXCHANGED, BLOCKS = "exchanged_cells", "blocks"
CONTROLS = {
    EXCHANGED: "the event's own spikes, with the fields of other cells",
    BLOCKS: "the event's own blocks of 40 ms in random order, none after the one before it",
    "held_20_ms": "random places, each held for 20 ms",
    "held_40_ms": "random places, each held for 40 ms",
    "held_80_ms": "random places, each held for 80 ms",
    "two_places": "two random places, one after the other",
    "hovering": "one random place",
    "sweeps": "sweeps of 30 cm, ten a second",
    "local_walk": "a random walk, of 15 cm in 100 ms",
}
"""The kinds of events without replay: name -> what they are. All but the first two are simulated
from the fields, and draw a heading anew with each place or sweep."""

_BLOCK, _SWEEP, _PERIOD = 0.04, 30.0, 0.1  # s, cm, s
_WALK = 15.0**2 / 0.1  # cm^2/s


def control_counts(
    control: str,
    counts: NDArray[np.integer],
    rates: NDArray[np.float64],
    electrode: NDArray[np.integer],
    track: BinnedTrack,
    time_bin: float,
    rng: np.random.Generator,
) -> NDArray[np.integer]:
    """Draw the spike counts of a control of an event, shape (n_time, n_cells).

    `counts` are those of the event, `rates` those of the states that are decoded.
    """
    n_time = len(counts)
    if control == EXCHANGED:
        return with_exchanged_cells(counts, electrode, rng)
    if control == BLOCKS:
        length = max(round(_BLOCK / time_bin), 1)
        blocks = np.split(counts, range(length, n_time, length))
        order = rng.permutation(len(blocks))
        # Where a block follows the one before it, the event would still be replayed.
        while len(blocks) > 1 and (np.diff(order) == 1).any():
            order = rng.permutation(len(blocks))
        return np.concatenate([blocks[place] for place in order])
    bins, is_new = _places(control, n_time, track, time_bin, rng)
    n_headings = rates.shape[1] // track.n_bins
    heading = rng.integers(n_headings, size=n_time)[np.cumsum(is_new) - 1]
    expected = rates[:, bins + track.n_bins * heading].T
    drawn: NDArray[np.int64] = rng.poisson(expected * counts.sum() / max(expected.sum(), 1e-9))
    return drawn


def with_exchanged_cells(
    counts: NDArray[np.integer], electrode: NDArray[np.integer], rng: np.random.Generator
) -> NDArray[np.integer]:
    """Give the spikes of each cell to another one, and of each electrode to another one."""
    into = exchanged(electrode, rng)
    if len(np.unique(electrode)) == len(electrode):
        return counts[:, into]
    found = np.zeros_like(counts)
    np.add.at(found.T, into, counts.T)
    return found


def _places(
    control: str, n_time: int, track: BinnedTrack, time_bin: float, rng: np.random.Generator
) -> tuple[NDArray[np.integer], NDArray[np.bool_]]:
    """Draw the bin that is represented in each time bin, and where a place or sweep begins."""

    def somewhere(n: int = 1) -> NDArray[np.int64]:
        return rng.choice(track.n_bins, n, p=track.width / track.width.sum())

    moments = np.arange(n_time)
    if control == "hovering":
        return np.repeat(somewhere(), n_time), moments == 0
    if control == "two_places":
        change = int(rng.integers(n_time // 4, max(3 * n_time // 4, n_time // 4 + 1)))
        bins = np.repeat(somewhere(2), [change, n_time - change])
        return bins, (moments == 0) | (moments == change)
    if control == "sweeps":
        begin = somewhere()[0]
        far = np.abs(track.distance[begin] - _SWEEP)
        way = bins_on_way(track, begin, rng.choice(np.flatnonzero(far <= far.min() + 1e-6)))
        period = max(round(_PERIOD / time_bin), 1)
        return way[moments % period * len(way) // period], moments % period == 0
    if control == "local_walk":
        steps = walk_transitions(track, _WALK * time_bin)
        bins = np.repeat(somewhere(), n_time)
        drawn = rng.random(n_time)
        for moment in range(1, n_time):
            here = steps[[bins[moment - 1]]]
            reached = np.cumsum(here if isinstance(here, np.ndarray) else here.toarray())
            bins[moment] = np.searchsorted(reached, drawn[moment] * reached[-1], side="right")
        return bins, moments == 0
    held = max(round(float(control.split("_")[1]) / 1000 / time_bin), 1)
    return np.repeat(somewhere(-(-n_time // held)), held)[:n_time], moments % held == 0
