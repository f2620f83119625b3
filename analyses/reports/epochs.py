"""The section of a report on epochs: rates, shares and statistics side by side."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from analyses.intervals import LEAST_UNITS
from analyses.recordings.basics.settings import RUN
from analyses.reports.recorded import LEAST_SEQUENCES
from analyses.reports.text import in_markdown, interval, markdown, rows_of, with_interval
from analyses.tables import KINDS

COUNTED = {
    "candidates_per_minute": "candidate events per minute",
    "replay_per_minute": "replay events per minute",
    "replay_share": "share of candidate events that are replay",
    **{kind: f"share of replay events: {kind.replace('_', ' ')}" for kind in KINDS},
}
"""What is counted in epochs, beside the statistics of replay -> its name."""

_LEVEL = 0.05


def describe_epochs(tables: Mapping[str, pd.DataFrame], n_events: int) -> list[str]:
    """Write the section of one animal, in Markdown; empty without epochs."""
    if "epochs.csv" not in tables:
        return []
    table, blocks = tables["epochs.csv"], tables["epoch_blocks.csv"]
    names = list(dict.fromkeys(table["epoch"]))
    table = table[table["measure"].isin([*COUNTED]) | (table["n"] >= LEAST_SEQUENCES)]
    counted = blocks.groupby("epoch", sort=False)["candidates"].sum()
    outside = n_events - int(counted.sum())
    seconds = (blocks["end_time"] - blocks["start_time"]).median()
    rows = []
    for measure, own in table.groupby("measure", sort=False):
        written = {str(row["epoch"]): _cell(row) for _, row in own.iterrows()}
        mark = "" if measure in COUNTED else f"{measure}: "
        rows.append([f"{mark}{own['label'].iloc[0]}", *(written.get(name, "") for name in names)])
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
        markdown(["", *map(in_markdown, names)], rows),
        f"Intervals are over blocks of about {seconds:.0f} s, because events of one animal come in "
        "groups. Minutes are those of the epoch, whether the animal rests or runs.",
    ]
    differences = tables["epoch_differences.csv"]
    if not len(differences):
        return [*text, f"No two epochs other than {RUN!r} were given, so none are compared."]
    n_blocks = blocks["epoch"].value_counts()
    for (one, other), own in differences.groupby(["epoch", "other"], sort=False):
        text += [
            *_differences(one, other, own),
            _tests(own, n_blocks[str(one)], n_blocks[str(other)]),
        ]
    return text


def _cell(row: pd.Series) -> str:
    if np.isnan(row["value"]):
        return ""
    of = f" of {row['total']:.0f}" if row["measure"] == "replay_share" else ""
    chance = "" if np.isnan(row["null"]) else f"; by chance {row['null']:.2f}"
    text = with_interval(row["value"], row["ci_low"], row["ci_high"])
    return f"{text}, n = {row['n']}{of}{chance}"


def _differences(one: object, other: object, own: pd.DataFrame) -> tuple[str, str]:
    rows = [
        (
            row.label,
            "" if np.isnan(row.difference) else f"{row.difference:+.2f}",
            interval(row.ci_low, row.ci_high),
            "" if np.isnan(row.p) else f"{row.p:.2g}",
        )
        for row in rows_of(own)
    ]
    title = f"### From {in_markdown(str(one))} to {in_markdown(str(other))}"
    return title, markdown(("", "difference", "95 % interval", "p"), rows)


def _tests(own: pd.DataFrame, n_one: int, n_other: int) -> str:
    """Say what the tests are, and how many there are."""
    n_tests = own["p"].notna().sum()
    if not n_tests:
        return (
            f"Nothing was tested: a test needs four blocks in each epoch (here {n_one} and "
            f"{n_other}) and events in both."
        )
    return (
        f"p is that of a permutation of {n_one} and {n_other} blocks, which holds if what makes "
        f"events alike lasts less than a block. There are {n_tests} tests: by Bonferroni's rule, "
        f"only p <= {_LEVEL / n_tests:.2g} is below .05 for all. Other animals are needed to say "
        "more than about these epochs."
    )


def describe_epochs_of_all(tables: Mapping[str, pd.DataFrame]) -> list[str]:
    """Write the section of several animals, in Markdown; empty without epochs."""
    if "epochs_of_all.csv" not in tables:
        return []
    table = tables["epochs_of_all.csv"]
    names = list(dict.fromkeys(table["epoch"]))
    rows = []
    for _, own in table[table["measure"].isin([*COUNTED])].groupby("measure", sort=False):
        numbers = own.set_index("epoch")[["value", "ci_low", "ci_high"]].astype(float)
        written = {name: with_interval(*row) for name, *row in rows_of(numbers)}
        rows.append([own["label"].iloc[0], *(written.get(name, "") for name in names)])
    text = ["## Epochs", markdown(["", *map(in_markdown, names)], rows)]
    differences = tables["epoch_differences_of_all.csv"]
    for (one, other), own in differences.groupby(["epoch", "other"], sort=False):
        text += _differences(one, other, own)
    if len(differences):
        text.append(
            "Means and intervals are over animals, and p is that of Student's t test of the "
            f"differences of animals against zero, with at least {LEAST_UNITS} animals. There are "
            f"{int(differences['p'].notna().sum())} tests, for which p is not corrected."
        )
    return text
