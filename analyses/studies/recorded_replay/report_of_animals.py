"""The report on several animals of one experiment: each animal, then all together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from analyses.intervals import LEAST_UNITS
from analyses.recordings.basics.judgement import Judgement
from analyses.recordings.decide.calibration import Calibration
from analyses.recordings.decide.choices import describe_dependence
from analyses.recordings.decide.conclusions import Conclusions
from analyses.studies.recorded_replay.report import (
    BESIDE_ACCOUNTS,
    KIND_NAMES,
    LEAST_SEQUENCES,
    accounts_table,
    cells_in_markdown,
    count_replay,
    in_markdown,
    statistics_table,
    with_interval,
)

__all__ = ["describe_dependence_of_animals", "describe_rates", "intervals_over"]
__all__ += ["write_report_of_animals"]


def write_report_of_animals(
    path: str | Path,
    animals: Mapping[str, Conclusions],
    choices: pd.DataFrame,
    kinds: pd.DataFrame,
    shares: pd.DataFrame,
    statistics: pd.DataFrame,
    accounts: pd.DataFrame,
    judgement: Judgement,
    epochs: Sequence[str] = (),
) -> None:
    """Write the report as Markdown; `epochs` is its section on them."""
    n = len(animals)
    choices, statistics, accounts = map(cells_in_markdown, (choices, statistics, accounts))
    text = [
        f"# Replay in {n} animals",
        describe_dependence_of_animals(choices),
        f"Each animal also has its own report. {intervals_over(n)}",
        "## Each animal",
        _animals_table(animals),
        describe_rates(each.calibration for each in animals.values()),
        "\n".join(
            f"- {in_markdown(f'{name}: {note}')}"
            for name, each in animals.items()
            for note in each.explanations
        ),
        "## What was found",
        _kinds_table(kinds[kinds["state_size"] == judgement.state_size]),
        "## Shares corrected for what these recordings miss",
        _shares_table(shares),
        *epochs,
        "## Statistics",
        "Statistics are of replay at rest and at the ends of laps, and are means over the animals "
        f"that have at least {LEAST_SEQUENCES} of the sequences; statistics.csv has all animals.",
        statistics_table(statistics),
        "## Predictions of accounts of replay",
        BESIDE_ACCOUNTS,
        accounts_table(accounts),
    ]
    Path(path).write_text("\n\n".join(filter(None, text)) + "\n", "utf-8")


def intervals_over(n: int) -> str:
    """Say what intervals over so many animals are, or why there are none.

    Examples
    --------
    >>> intervals_over(2)
    'There are no intervals over animals: fewer than 3 say too little of how others may differ.'
    """
    if n < LEAST_UNITS:
        return (
            f"There are no intervals over animals: fewer than {LEAST_UNITS} say too little of how "
            "others may differ."
        )
    return (
        f"Intervals (95 %) are over {n} animals, however many events each has: of shares, Wilson's "
        "for as many independent events as would vary like these animals; of other values, "
        f"Student's t. What fewer than {LEAST_UNITS} animals have gets none."
    )


def describe_dependence_of_animals(choices: pd.DataFrame) -> str:
    """Say in a sentence whose shares depend on choices by more than their intervals; or nothing."""
    names = [
        str(name) for name, own in choices.groupby("animal", sort=False) if describe_dependence(own)
    ]
    if not names:
        return ""
    return (
        f"Shares of {', '.join(names)} depend on choices by more than their intervals; the report "
        "of each says on which."
    )


def describe_rates(calibrations: Iterable[Calibration | None]) -> str:
    """Say what the false-positive rates of animals are; empty if there are none."""
    known = [each for each in calibrations if each is not None]
    if not known:
        return ""
    if np.isnan(known[0].n_exchanged):
        return (
            "The false-positive rate is the share of the same events, with exchanged cells, that "
            "have as much evidence as replay."
        )
    return (
        "The false-positive rate is the number of events that the same search finds in the same "
        "time after an exchange of cells, and that pass, divided by the number of candidate events."
    )


def _animals_table(animals: Mapping[str, Conclusions]) -> str:
    rows = ["| animal | laps | what was found | false-positive rate |", "|---|---|---|---|"]
    for name, found in animals.items():
        n_laps = found.experience.steps["episode"].nunique()
        told, rate = count_replay(found.events, found.calibration), "unknown"
        if found.calibration is not None:
            rate = found.calibration.rate_in_words
        rows.append(f"| {in_markdown(name)} | {n_laps} | {told} | {rate} |")
    return "\n".join(rows)


def _kinds_table(kinds: pd.DataFrame) -> str:
    rows = ["| kind of the longest sequence | share (95 %) | animals |", "|---|---|---|"]
    numbers = kinds.set_index("kind")[["share", "ci_low", "ci_high", "n_animals"]].astype(float)
    for kind, share, low, high, n in numbers.itertuples():
        rows.append(f"| {KIND_NAMES[str(kind)]} | {with_interval(share, low, high)} | {n:.0f} |")
    return "\n".join(rows)


def _shares_table(shares: pd.DataFrame) -> str:
    rows = [
        "| kind of the longest sequence | found | animals | corrected | animals |",
        "|---|---|---|---|---|",
    ]
    for kind, own in shares.set_index("kind").iterrows():
        cells = []
        for name in ("found", "corrected"):
            columns = [name, f"ci_low_{name}", f"ci_high_{name}"]
            share, low, high = own[columns].to_numpy(dtype=float).tolist()
            cells += [with_interval(share, low, high), str(int(own[f"n_{name}"]))]
        rows.append(f"| {KIND_NAMES[str(kind)]} | {' | '.join(cells)} |")
    return "\n".join(rows)
