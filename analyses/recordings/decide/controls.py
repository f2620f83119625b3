"""Controls: events with as many spikes and time bins as a candidate event, but without replay.

What passes of each tells how much of what is found may be something else than replay [1]_: cells
without fields, places that are held, or movement that leads nowhere.

The threshold is the evidence for travel that at most a share of .05 of each control reaches. Where
few events pass, this alone is little comfort: if 5 % of all events passed, all of them could be
such controls. So each event also has its *tail rate*: how many of the events with as much evidence
would be false, if all events were of that control.

References
----------
.. [1] Takigawa et al. (2024). https://doi.org/10.7554/eLife.85635
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from analyses.intervals import wilson_interval
from analyses.recordings.basics.binned_track import BinnedTrack, bins_on_way
from analyses.recordings.basics.marks import exchanged
from analyses.recordings.basics.settings import Judgement
from analyses.recordings.prepare.state_space_decoder import walk_transitions
from replay.checks import check_number
from replay.checks.arrays import Bools, Floats, Ints

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
    rates: Floats,
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
    bins, is_new = control_places(control, n_time, track, time_bin, rng)
    n_headings = rates.shape[1] // track.n_bins
    heading = rng.integers(n_headings, size=n_time)[np.cumsum(is_new) - 1]
    expected = rates[:, bins + track.n_bins * heading].T
    return np.asarray(rng.poisson(expected * counts.sum() / max(expected.sum(), 1e-9)))


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


def control_places(
    control: str, n_time: int, track: BinnedTrack, time_bin: float, rng: np.random.Generator
) -> tuple[NDArray[np.integer], Bools]:
    """Draw the bin that is represented in each time bin, and where a place or sweep begins."""

    def somewhere(n: int = 1) -> Ints:
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
        far = np.abs(track.distance[begin] - _SWEEP)  # on a short track, as far as it can
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


class Calibration(NamedTuple):
    """The least evidence of replay, and how many events without replay have as much."""

    least_evidence: float  # events with at least this evidence for travel may be replay, in nats
    # the share of events with exchanged cells that reach a threshold that was chosen from others.
    # Where events are found in the posterior: how many are found and reach it in the same time
    # after an exchange of cells, divided by the number of candidate events
    false_positive_rate: float
    # its 95 % interval
    ci_low: float
    ci_high: float
    n_events: int  # number of tested events with exchanged cells
    worst: str  # the control with the largest share; see ``CONTROLS``
    worst_rate: float  # that share
    # number of candidate events that are found in the same time after an exchange of cells; NaN
    # unless events are found in the posterior
    n_exchanged: float = np.nan


def calibrate(
    chance: pd.DataFrame, level: float = Judgement().level, n_found: float | None = None
) -> tuple[Calibration, pd.DataFrame]:
    """Choose the least evidence that at most the share `level` of each control reaches.

    `chance` has a row per control of an event: `event, control, evidence` (NaN if untested). Where
    events are found in the posterior, `n_found` candidates are found after an exchange of cells in
    the same time, and those in `chance` are a sample of them. Also returns a table with a row per
    control: `control, n, least_evidence` (that at most `level` of them reach), `rate` (of those
    that reach a threshold chosen from the other half of all controls), `ci_low, ci_high` (95 %).
    Blocks count as a share of all events, also of those whose blocks are left out.
    """
    nominal = check_number("level", level, at_least=0.0, at_most=1.0)
    known = chance[chance["evidence"].notna()]
    if not len(known):
        raise ValueError(
            "No event has enough active cells to be tested, so no threshold can be chosen."
        )
    half = known["event"] % 2 == 0
    more = _in_place_of_events(chance, n_found)
    least = {
        is_even: {
            str(control): least_reached(own["evidence"], nominal / more[str(control)])
            for control, own in part.groupby("control")
        }
        for is_even, part in ((None, known), (True, known[half]), (False, known[~half]))
    }
    # The rate of a control is measured with the threshold of the other half: with its own, it would
    # be what was asked for.
    threshold = {part: max(each.values(), default=0.0) for part, each in least.items()}
    reaches = known["evidence"] >= half.map({True: threshold[False], False: threshold[True]})
    grouped = reaches.groupby(known["control"])
    order = [name for name in CONTROLS if name in least[None]]
    controls = pd.DataFrame({"control": order, "n": grouped.size()[order].to_numpy()})
    controls["least_evidence"] = [least[None][name] for name in order]
    rate = grouped.mean()[order].to_numpy(dtype=float)
    low, high = wilson_interval(rate, controls["n"])
    factor = more[order].to_numpy()
    controls = controls.assign(rate=rate * factor, ci_low=low * factor, ci_high=high * factor)
    own = controls.set_index("control").reindex([EXCHANGED]).fillna(0.0).iloc[0]
    worst = controls.iloc[controls["rate"].to_numpy().argmax()]
    return (
        Calibration(
            threshold[None], float(own["rate"]), float(own["ci_low"]), float(own["ci_high"]),
            int(own["n"]), str(worst["control"]), float(worst["rate"]),
            np.nan if n_found is None else float(n_found),
        ),
        controls,
    )  # fmt: skip


def _in_place_of_events(chance: pd.DataFrame, n_found: float | None) -> pd.Series:
    """Return how many events of each control there would be for each candidate event.

    Of what is found by chance, `chance` has a sample. Blocks are those of the events that are no
    replay by other controls: where nearly all are, the few that are left would decide for all.
    """
    n_events = max(chance["event"].nunique(), 1)
    more = pd.Series(1.0, index=[*CONTROLS])
    more[BLOCKS] = chance.loc[chance["control"] == BLOCKS, "event"].nunique() / n_events
    if n_found is not None:
        more[EXCHANGED] = n_found / n_events
    return more


def without_replay(
    chance: pd.DataFrame,
    evidence: pd.Series,
    level: float = Judgement().level,
    n_found: float | None = None,
) -> pd.DataFrame:
    """Leave out the blocks of events that are replay by all other controls.

    Within 40 ms replay travels on, so that blocks of it are no control; where all events were
    replay, these would decide what is. `evidence` is that of the events, by their number; the
    others are as for `calibrate`.
    """
    is_block = chance["control"] == BLOCKS
    others = chance[~is_block]
    if not others["evidence"].notna().any():
        return chance
    least = calibrate(others, level, n_found)[0].least_evidence
    return chance[~is_block | ~(chance["event"].map(evidence) >= least)]


def least_reached(evidence: ArrayLike, level: float) -> float:
    """Return the least evidence above 0 that at most a share of controls reaches.

    One may always do: of fewer than 20, one is no evidence for a share of more than .05.
    """
    known = np.sort(np.asarray(evidence, dtype=float))
    most = int(max(level * len(known), 1) + 1e-9)
    if len(known) <= most or known[-most - 1] < 0:
        return 0.0
    return float(np.nextafter(known[-most - 1], np.inf))  # which the next of them does not reach


def tail_rates(
    evidence: ArrayLike, chance: pd.DataFrame, n_found: float | None = None
) -> tuple[Floats, Floats]:
    """Estimate how many of the events with at least as much evidence would be false.

    Returns two arrays of shape (n_events,): if all events had exchanged cells, and if all were of
    the control for which most would be false. At most 1; NaN for events that were not tested.
    `chance` and `n_found` are as for `calibrate`.
    """
    own = np.asarray(evidence, dtype=float)
    known = ~np.isnan(own)
    ascending = np.sort(own[known])
    n_reach = len(ascending) - np.searchsorted(ascending, own[known])
    found: dict[str, Floats] = {}
    tested = chance.dropna(subset="evidence")
    number = len(ascending) * _in_place_of_events(tested, n_found)
    for control, part in tested.groupby("control"):
        values = np.sort(part["evidence"].to_numpy(dtype=float))
        share = 1.0 - np.searchsorted(values, own[known]) / len(values)
        rate = np.minimum(share * number[str(control)] / n_reach, 1.0)
        # More evidence is never worse.
        order = np.argsort(own[known], kind="stable")
        rate[order] = np.minimum.accumulate(rate[order])
        found[str(control)] = np.full(len(own), np.nan)
        found[str(control)][known] = rate
    if n_found == 0:  # what is never found by chance makes none false
        found[EXCHANGED] = np.where(known, 0.0, np.nan)
    nothing = np.full(len(own), np.nan)
    worst = np.max([*found.values()], axis=0) if found else nothing
    return found.get(EXCHANGED, nothing), worst
