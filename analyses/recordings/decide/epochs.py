"""Replay in epochs, such as sleep before and after the run: counts, shares and their differences.

Events of one animal are not independent: they come and go with its state. So each epoch is cut into
blocks of time, and what varies is the block. Intervals are those of independent events with as many
times fewer events as blocks vary more than such events would; the test of a difference permutes
blocks between two epochs, with a studentised statistic [1]_.

The test holds if dependence lasts less than a block. Of 400 simulated pairs of epochs of 10 or 30
minutes without a difference, whose rate fluctuated (an SD of .7 of its logarithm) over 5, 20 and 60
s, .05 to .06, .05 to .07 and .10 to .12 had p <= .05; of tests that count events as independent,
.12 to .15, .3 to .4 and .5. Intervals of the rate held the true one in .98 to .99, .92 to .94 and
.85 to .92.

The same file says how shares of kinds depend on choices that a recording does not make: states,
laps and criteria.

References
----------
.. [1] Chung and Romano (2013). https://doi.org/10.1214/13-AOS1090
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from analyses.intervals import wilson_interval
from analyses.recordings.basics.observed import Observed, seconds_in
from analyses.recordings.basics.settings import RUN, Judgement
from analyses.recordings.decide.conclusions import Conclusions, conclude
from analyses.recordings.decide.scoring import Scored
from analyses.recordings.prepare.lap_ends import suggested_ends
from analyses.recordings.prepare.session import Session
from analyses.tables import KINDS
from replay.checks.arrays import Floats

_N_BLOCKS, _SHORTEST, _LONGEST = 8, 30.0, 300.0
_LEAST_BLOCKS = 4
_N_PERMUTATIONS = 9999
_LEVEL = 0.95
_CANDIDATES, _REPLAY, _SHARE = "candidates_per_minute", "replay_per_minute", "replay_share"
_RATES = {_CANDIDATES, _REPLAY}


class _Measured(NamedTuple):
    """A measure in an epoch: what is counted in each block, and out of how many.

    Both have the shape (n_blocks,).
    """

    counted: Floats
    total: Floats


def block_length(epochs: Mapping[str, Floats]) -> float:
    """Compute the length of blocks in s: an eighth of the shortest epoch, but 30 s to 5 min.

    Examples
    --------
    >>> block_length({"before": np.array([[0.0, 600.0]]), "after": np.array([[900.0, 2700.0]])})
    75.0
    """
    shortest = min(float(np.diff(each, axis=1).sum()) for each in epochs.values())
    return float(np.clip(shortest / _N_BLOCKS, _SHORTEST, _LONGEST))


def count_blocks(
    events: pd.DataFrame,
    epochs: Mapping[str, Floats],
    observed: Observed = Observed(),  # noqa: B008 (immutable)
    n_cells: int = 0,
) -> pd.DataFrame:
    """Count candidate events, replay events and kinds in each block of each epoch.

    Events are those of `Conclusions`, and belong to the block in which they begin. Returns `epoch,
    start_time, end_time, observed` (s; in how much of it any of the cells was), `candidates`,
    `replay`, and a column for each kind. There is no block in which nothing was observed.
    """
    length = block_length(epochs)
    time = events["start_time"].to_numpy(dtype=float)
    is_replay = events["is_replay"].to_numpy(dtype=bool)
    counted = {"candidates": np.ones(len(events), dtype=bool), "replay": is_replay}
    counted |= {kind: (events["kind"] == kind).to_numpy() & is_replay for kind in KINDS}
    rows, seen = [], observed.any_cell(n_cells)
    for name, intervals in epochs.items():
        for begin, end in intervals:
            edges = np.linspace(begin, end, max(round((end - begin) / length), 1) + 1)
            for first, last in pairwise(edges):
                within = (time >= first) & (time < last)
                counts = {key: int(within[each].sum()) for key, each in counted.items()}
                seconds = seconds_in(seen, first, last)
                if seconds:
                    ends = {"start_time": first, "end_time": last, "observed": seconds}
                    rows.append({"epoch": name, **ends, **counts})
    return pd.DataFrame(rows)


def count_in_epochs(blocks: pd.DataFrame) -> pd.DataFrame:
    """Compute rates and shares in each epoch, with 95 % intervals over blocks.

    Blocks are those of `count_blocks`. Returns `epoch, n_blocks, measure, n, total` (minutes for
    rates, events for shares), `value, ci_low, ci_high` and `null`, the value expected by chance,
    which is not known here.
    """
    rows = []
    for name, own in blocks.groupby("epoch", sort=False):
        for measure, measured in _measures(own):
            value, low, high = _interval(measured, is_rate=measure in _RATES)
            rows.append(
                (name, len(own), measure, int(measured.counted.sum()), measured.total.sum(),
                 value, low, high, np.nan)
            )  # fmt: skip
    columns = ["epoch", "n_blocks", "measure", "n", "total", "value", "ci_low", "ci_high", "null"]
    return pd.DataFrame(rows, columns=columns)


def compare_epochs(blocks: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """Compare each pair of epochs, other than the run, measure by measure.

    Intervals of differences are by the method of Newcombe, from those of both epochs. Returns
    `epoch, other, measure, value, other_value, difference` (other minus epoch), `ci_low, ci_high`,
    and `p` of the test; NaN where an epoch has fewer than four blocks, or nothing differs.
    """
    rng = np.random.default_rng(seed)
    groups = {str(name): own for name, own in blocks.groupby("epoch", sort=False)}
    rows = []
    for one, other in combinations([name for name in groups if name != RUN], 2):
        both = zip(_measures(groups[one]), _measures(groups[other]), strict=True)
        for (measure, first), (_, second) in both:
            is_rate = measure in _RATES
            (a, a_low, a_high), (b, b_low, b_high) = (
                _interval(each, is_rate=is_rate) for each in (first, second)
            )
            low = b - a - np.hypot(b - b_low, a_high - a)
            high = b - a + np.hypot(b_high - b, a - a_low)
            rows.append((one, other, measure, a, b, b - a, low, high, _p(first, second, rng)))
    columns = ["epoch", "other", "measure", "value", "other_value", "difference", "ci_low"]
    return pd.DataFrame(rows, columns=[*columns, "ci_high", "p"])


def _measures(blocks: pd.DataFrame) -> Iterator[tuple[str, _Measured]]:
    """List the measures of the blocks of an epoch."""
    minutes = blocks["observed"].to_numpy(dtype=float) / 60.0
    counts = {key: blocks[key].to_numpy(dtype=float) for key in ("candidates", "replay", *KINDS)}
    yield _CANDIDATES, _Measured(counts["candidates"], minutes)
    yield _REPLAY, _Measured(counts["replay"], minutes)
    yield _SHARE, _Measured(counts["replay"], counts["candidates"])
    for kind in KINDS:
        yield kind, _Measured(counts[kind], counts["replay"])


def _interval(measured: _Measured, *, is_rate: bool) -> tuple[float, float, float]:
    """Compute a rate or share with its interval, exact Poisson or Wilson with fewer events."""
    n, total, n_blocks = measured.counted.sum(), measured.total.sum(), len(measured.counted)
    if total == 0:
        return np.nan, np.nan, np.nan
    value = float(n / total)
    if n_blocks < 2:
        return value, np.nan, np.nan
    independent = n if is_rate else n * (1 - value)
    # The variance of the count of an epoch, given its total, from its blocks.
    left = measured.counted - n / total * measured.total
    variance = float(n_blocks / (n_blocks - 1) * (left**2).sum())
    excess = variance / independent if independent > 0 else 1.0
    z = stats.norm.ppf(0.5 + _LEVEL / 2)
    fewer = (z / stats.t.ppf(0.5 + _LEVEL / 2, n_blocks - 1)) ** 2 / max(excess, 1.0)
    if is_rate:
        count, exposure = n * fewer, total * fewer
        low = stats.chi2.ppf(0.5 - _LEVEL / 2, 2 * count) / 2 / exposure if n else 0.0
        return (
            value,
            float(low),
            float(stats.chi2.ppf(0.5 + _LEVEL / 2, 2 * count + 2) / 2 / exposure),
        )
    ends = wilson_interval(value, total * fewer)
    return value, float(ends[0]), float(ends[1])


def _p(one: _Measured, other: _Measured, rng: np.random.Generator) -> float:
    """Test whether two epochs differ, by permuting their blocks; two-sided."""
    n_one = len(one.counted)
    if min(n_one, len(other.counted)) < _LEAST_BLOCKS:
        return np.nan
    count, total = (np.append(*each) for each in zip(one, other, strict=True))
    if not (one.total.sum() and other.total.sum()) or not count.sum() > 0:
        return np.nan
    order = rng.permuted(np.tile(np.arange(len(count)), (_N_PERMUTATIONS, 1)), axis=1)
    order = np.vstack([np.arange(len(count)), order])
    ratios, variances = [], []
    with np.errstate(divide="ignore", invalid="ignore"):  # an epoch may have no event
        for rows in (order[:, :n_one], order[:, n_one:]):
            n_blocks, whole = rows.shape[1], total[rows].sum(axis=1)
            ratios.append(count[rows].sum(axis=1) / whole)
            left = count[rows] - ratios[-1][:, None] * total[rows]
            variances.append(n_blocks / (n_blocks - 1) * (left**2).sum(axis=1) / whole**2)
        # Studentised: blocks of two epochs may vary unequally.
        t = np.abs(ratios[1] - ratios[0]) / np.sqrt(variances[0] + variances[1])
        t = np.where(ratios[0] == ratios[1], 0.0, t)
    known = ~np.isnan(t)
    if not known[0] or not np.any(t[known] != t[0]):
        return np.nan
    # The same blocks in another order give the same t but for its last digits.
    return float(np.mean(t[known] >= t[0] * (1 - 1e-12)))


AS_CHOSEN = "as chosen"
"""The name of the choice that was made, beside which others are shown."""
_LEAST_LENGTHS, _LARGEST_JUMPS, _LEVELS = (3, 5), (1, 3), (0.05, 0.01)
_COLUMNS = ["choice", "value", "kind", "n", "n_events", "share", "ci_low", "ci_high"]


def shares_by_choice(session: Session, scored: Scored, found: Conclusions) -> pd.DataFrame:
    """Count kinds as chosen, and under other sizes of states, ends of laps and criteria.

    One choice at a time is changed. Returns `choice, value, kind, n, n_events, share, ci_low,
    ci_high`, with the choice ``as chosen`` first.
    """
    own = session.judgement.state_size
    kinds = found.kinds
    tables = [kinds[kinds["state_size"] == own].assign(choice=AS_CHOSEN, value="")]
    tables += [
        table.assign(choice="state size", value=f"{size:g} cm")
        for size, table in kinds[kinds["state_size"] != own].groupby("state_size")
    ]
    for choice, value, judgement in other_choices(session):
        changed = session._replace(judgement=judgement._replace(other_sizes=()))
        tables.append(conclude(changed, scored).kinds.assign(choice=choice, value=value))
    return pd.concat(tables, ignore_index=True)[_COLUMNS]


def other_choices(session: Session) -> Iterator[tuple[str, str, Judgement]]:
    """List the other ends of laps and criteria."""
    judgement, detection = session.judgement, session.judgement.detection
    graph = session.recording.graph
    degrees = () if graph is None or session.track.is_arena else graph.degree
    dead = tuple(str(node) for node, degree in degrees if degree == 1)
    pauses = [*session.pauses] if dead else suggested_ends(session.pauses)
    others = tuple(name for name in session.pauses if name not in pauses)
    for names in dict.fromkeys([(), tuple(dict.fromkeys((*dead, *pauses))), others]):
        if set(names or dead) != set(judgement.lap_ends or dead):
            where = f"at {', '.join(names or dead)}" if names or dead else "nowhere"
            yield "lap ends", where, judgement._replace(lap_ends=names)
    for least in _LEAST_LENGTHS:
        if least != detection.min_length:
            changed = detection._replace(min_length=least)
            yield "sequences", f"{least} states", judgement._replace(detection=changed)
    for jump in _LARGEST_JUMPS:
        if jump != detection.largest_jump:
            changed = detection._replace(largest_jump=jump)
            text = f"{jump} state{'s' * (jump != 1)}"
            yield "jumps", text, judgement._replace(detection=changed)
    for level in _LEVELS:
        # With fewer controls, no event could pass them at this level.
        n_least = min(judgement.n_shuffles, judgement.n_controls) * len(session.events)
        if level != judgement.level and n_least * level >= 1:
            yield "level", f"{level:g}", judgement._replace(level=level)
