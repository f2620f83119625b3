"""The epochs of an animal, side by side: tables of rates, shares and statistics, and their text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from analyses.intervals import LEAST_UNITS, mean_interval, mean_share_interval
from analyses.measures import STATISTICS
from analyses.recordings.basics.recording import Recording
from analyses.recordings.basics.settings import RUN
from analyses.recordings.decide.conclusions import Conclusions
from analyses.recordings.decide.epochs import compare_epochs, count_blocks, count_in_epochs
from analyses.studies.recorded_replay.report import LEAST_SEQUENCES, in_markdown, with_interval
from analyses.studies.recorded_replay.statistics import recorded_statistics
from analyses.tables import KINDS

__all__ = ["describe_epochs", "describe_epochs_of_all", "epoch_tables", "epochs_of_all"]

_LABELS = {
    "candidates_per_minute": "candidate events per minute",
    "replay_per_minute": "replay events per minute",
    "replay_share": "share of candidate events that are replay",
}
_RATES = ("candidates_per_minute", "replay_per_minute")
_LEVEL = 0.05


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
    counts.insert(3, "label", counts["measure"].map(_label))
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
    differences.insert(3, "label", differences["measure"].map(_label))
    return {
        "epochs.csv": table,
        "epoch_differences.csv": differences,
        "epoch_blocks.csv": blocks,
    }


def _label(measure: str) -> str:
    if measure in KINDS:
        return f"share of replay events: {measure.replace('_', ' ')}"
    return _LABELS[measure]


def describe_epochs(tables: Mapping[str, pd.DataFrame], n_events: int) -> list[str]:
    """Write the section on epochs of a report, in Markdown; empty without epochs."""
    if "epochs.csv" not in tables:
        return []
    table, blocks = tables["epochs.csv"], tables["epoch_blocks.csv"]
    names = list(dict.fromkeys(table["epoch"]))
    is_statistic = ~table["measure"].isin([*_LABELS, *KINDS])
    table = table[~is_statistic | (table["n"] >= LEAST_SEQUENCES)]
    counted = blocks.groupby("epoch", sort=False)["candidates"].sum()
    outside = n_events - int(counted.sum())
    seconds = (blocks["end_time"] - blocks["start_time"]).median()
    text = [
        "## Epochs",
        "Events count in the epoch in which they begin"
        + (f"; {outside} of {n_events} begin in none" if outside else "")
        + ". Kinds are judged by what the animal had run before the event, so that before its "
        "first lap every path is one that it never ran."
        + "".join(
            f" No candidate event begins in {in_markdown(name)}, so that it has no shares."
            for name in counted.index[counted == 0]
        ),
        _table(table, names),
        f"Intervals are over blocks of about {seconds:.0f} s, because events of one animal come in "
        "groups. Minutes are those of the epoch, whether the animal rests or runs.",
    ]
    differences = tables["epoch_differences.csv"]
    if not len(differences):
        return [*text, f"No two epochs other than {RUN!r} were given, so none are compared."]
    for (one, other), own in differences.groupby(["epoch", "other"], sort=False):
        text += [
            f"### From {in_markdown(str(one))} to {in_markdown(str(other))}",
            _difference_table(own),
            _verdict(own, blocks),
        ]
    return text


def _table(table: pd.DataFrame, names: Sequence[str]) -> str:
    rows = [f"| | {' | '.join(map(in_markdown, names))} |", f"|---|{'---|' * len(names)}"]
    for measure, own in table.groupby("measure", sort=False):
        written = {str(row["epoch"]): _cell(row) for _, row in own.iterrows()}
        cells = [written.get(name, "") for name in names]
        mark = "" if measure in _LABELS or measure in KINDS else f"{measure}: "
        rows.append(f"| {mark}{own['label'].iloc[0]} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _cell(row: pd.Series) -> str:
    if np.isnan(row["value"]):
        return ""
    text = f"{row['value']:.2f}"
    if not np.isnan(row["ci_low"]):
        text += f" ({row['ci_low']:.2f} to {row['ci_high']:.2f})"
    of = f" of {row['total']:.0f}" if row["measure"] == "replay_share" else ""
    chance = "" if np.isnan(row["null"]) else f"; by chance {row['null']:.2f}"
    return f"{text}, n = {row['n']}{of}{chance}"


def _difference_table(own: pd.DataFrame) -> str:
    rows = ["| | difference | 95 % interval | p |", "|---|---|---|---|"]
    for label, difference, low, high, p in own[
        ["label", "difference", "ci_low", "ci_high", "p"]
    ].itertuples(index=False):
        interval = "" if np.isnan(low) else f"{low:.2f} to {high:.2f}"
        number = "" if np.isnan(difference) else f"{difference:+.2f}"
        rows.append(f"| {label} | {number} | {interval} | {'' if np.isnan(p) else f'{p:.2g}'} |")
    return "\n".join(rows)


def _verdict(own: pd.DataFrame, blocks: pd.DataFrame) -> str:
    """Say what the tests are, and how many there are."""
    tested = own["p"].dropna()
    counts = blocks["epoch"].value_counts()
    sizes = [int(counts[own[name].iloc[0]]) for name in ("epoch", "other")]
    if not len(tested):
        return (
            f"Nothing was tested: a test needs four blocks in each epoch (here {sizes[0]} and "
            f"{sizes[1]}) and events in both."
        )
    least = _LEVEL / len(tested)
    return (
        f"p is that of a permutation of {sizes[0]} and {sizes[1]} blocks, which holds if what "
        "makes events alike lasts less than a block. There are "
        f"{len(tested)} tests: by Bonferroni's rule, only p <= {least:.2g} is below .05 for all. "
        "Other animals are needed to say more than about these epochs."
    )


def epochs_of_all(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Average epochs, and their differences, over animals; none without epochs.

    Animals are the unit of intervals and of the test of each difference, Student's t in both;
    intervals of shares lie within 0 and 1. With fewer than three animals there are none.
    """
    if "epochs.csv" not in tables:
        return {}
    table = tables["epochs.csv"]
    is_counted = table["measure"].isin([*_LABELS, *KINDS])
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


def describe_epochs_of_all(tables: Mapping[str, pd.DataFrame]) -> list[str]:
    """Write the section on epochs of a report on several animals; empty without epochs."""
    if "epochs_of_all.csv" not in tables:
        return []
    table = tables["epochs_of_all.csv"]
    names = list(dict.fromkeys(table["epoch"]))
    rows = [f"| | {' | '.join(map(in_markdown, names))} |", f"|---|{'---|' * len(names)}"]
    for measure, own in table.groupby("measure", sort=False):
        if measure in _LABELS or measure in KINDS:
            numbers = own.set_index("epoch")[["value", "ci_low", "ci_high"]].astype(float)
            written = {name: with_interval(*row) for name, *row in numbers.itertuples()}
            cells = [written.get(name, "") for name in names]
            rows.append(f"| {own['label'].iloc[0]} | {' | '.join(cells)} |")
    text = ["## Epochs", "\n".join(rows)]
    differences = tables["epoch_differences_of_all.csv"]
    for (one, other), own in differences.groupby(["epoch", "other"], sort=False):
        text += [
            f"### From {in_markdown(str(one))} to {in_markdown(str(other))}",
            _difference_table(own),
        ]
    if len(differences):
        text.append(
            "Means and intervals are over animals, and p is that of Student's t test of the "
            f"differences of animals against zero, with at least {LEAST_UNITS} animals. There are "
            f"{int(differences['p'].notna().sum())} tests, for which p is not corrected."
        )
    return text
