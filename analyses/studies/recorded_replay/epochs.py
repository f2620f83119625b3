"""The epochs of an animal, side by side: tables of rates, shares and statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from analyses.intervals import LEAST_UNITS, mean_interval, mean_share_interval
from analyses.measures import STATISTICS
from analyses.recordings.basics.recording import Recording
from analyses.recordings.decide.conclusions import Conclusions
from analyses.recordings.decide.epochs import compare_epochs, count_blocks, count_in_epochs
from analyses.reports.epochs import COUNTED
from analyses.reports.recorded import LEAST_SEQUENCES
from analyses.studies.recorded_replay.statistics import recorded_statistics

__all__ = ["epoch_tables", "epochs_of_all"]

_RATES = ("candidates_per_minute", "replay_per_minute")


def epoch_tables(
    found: Conclusions,
    epochs: Mapping[str, NDArray[np.float64]],
    landmarks: Mapping[str, Sequence[str]] | None,
    recording: Recording,
    seed: int,
) -> dict[str, pd.DataFrame]:
    """Make the tables of epochs, by the name of their file; none without epochs."""
    if not epochs:
        return {}
    blocks = count_blocks(found.events, epochs, recording.observed, len(recording.spikes))
    counts = count_in_epochs(blocks)
    if found.calibration is not None and np.isnan(found.calibration.n_exchanged):
        by_chance = (counts["measure"] == "replay_share") & (counts["total"] > 0)
        is_tested = found.events["evidence"].notna().mean()
        counts.loc[by_chance, "null"] = found.calibration.false_positive_rate * is_tested
    counts.insert(3, "label", counts["measure"].map(COUNTED))
    parts = [counts]
    for name, intervals in epochs.items():
        time = found.visited["time"].to_numpy(dtype=float)[:, None]
        within = ((time >= intervals[:, 0]) & (time < intervals[:, 1])).any(axis=1)
        own = found._replace(visited=found.visited.iloc[np.flatnonzero(within)])
        table = recorded_statistics([own], landmarks) if within.any() else pd.DataFrame()
        if len(table):
            n_blocks = counts.loc[counts["epoch"] == name, "n_blocks"].iloc[0]
            named = table.rename(columns={"statistic": "measure", "n_chains": "n"})
            named = named.assign(epoch=name, n_blocks=n_blocks, total=named["n"])
            named["label"] = [" ".join(str(each).split()) for each in named["label"]]
            parts.append(named[list(counts)].astype({"ci_low": float, "ci_high": float}))
    table = pd.concat(parts, ignore_index=True)
    differences = compare_epochs(blocks, seed)
    differences.insert(3, "label", differences["measure"].map(COUNTED))
    return {
        "epochs.csv": table,
        "epoch_differences.csv": differences,
        "epoch_blocks.csv": blocks,
    }


def epochs_of_all(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Average epochs, and their differences, over animals; none without epochs.

    Animals are the unit of intervals and of the test of each difference, Student's t in both;
    intervals of shares lie within 0 and 1. With fewer than three animals there are none.
    """
    if "epochs.csv" not in tables:
        return {}
    table = tables["epochs.csv"]
    is_counted = table["measure"].isin([*COUNTED])
    table = table[is_counted | (table["n"] >= LEAST_SEQUENCES)].reset_index(drop=True)
    means = _over_animals(table, "value", ["epoch"])
    is_rate = means["measure"].isin(_RATES)
    means["ci_low"] = means["ci_low"].where(~is_rate, means["ci_low"].clip(lower=0.0))
    differences = _over_animals(tables["epoch_differences.csv"], "difference", ["epoch", "other"])
    size = differences["difference"].abs()
    sem = differences["sem"].where(differences["sem"] > 1e-9 * size)  # no test without spread
    p = 2 * stats.t.sf(size / sem, differences["n_animals"] - 1)
    return {
        "epochs_of_all.csv": means.drop(columns="sem"),
        "epoch_differences_of_all.csv": differences.drop(columns="sem").assign(
            p=np.where(differences["n_animals"] < LEAST_UNITS, np.nan, p)
        ),
    }


def _over_animals(table: pd.DataFrame, value: str, epochs: Sequence[str]) -> pd.DataFrame:
    by, ends = [*epochs, "measure"], ["ci_low", "ci_high"]
    order = table[[*by, "label"]].drop_duplicates(by)
    if not len(table):
        return order.assign(**dict.fromkeys((value, "sem", *ends, "n_animals"), np.empty(0)))
    found = mean_interval(table, value, by)
    found[ends] = found[ends].where(found["n"] >= LEAST_UNITS)
    if value == "value":
        shares = table[table["measure"].map(_is_share)]
        within = mean_share_interval(shares.assign(n=shares["total"].clip(lower=1)), value, "n", by)
        found = pd.concat([found[~found["measure"].map(_is_share)], within])
    found = order.merge(found[[*by, "mean", "sem", *ends, "n"]], on=by)
    return found.rename(columns={"mean": value, "n": "n_animals"})


def _is_share(measure: str) -> bool:
    if measure in STATISTICS:
        return STATISTICS[measure].is_share
    return measure not in _RATES
