"""Rows of findings: their form, reading them from a file, and checking them."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analyses.findings.evidence import RECORDS, columns_of
from analyses.measures import STATISTICS
from replay.checks import check_all, check_table, shown, unknown_name
from replay.checks.arrays import Floats
from replay.files import check_path, read_file

LIKELIHOODS: dict[str, tuple[str, ...]] = {
    kind: tuple(column for column, is_needed in columns_of(record).items() if is_needed)
    for kind, record in RECORDS.items()
} | {"none": ()}
"""How a finding is compared with a model -> the columns that this needs."""

UNITS_OF_N = ("animal", "session", "pause", "event")

SECOND_HAND = "second-hand"

UNPUBLISHED = "unpublished"

EVIDENCE = (
    "primary paper",
    "figure legend",
    "abstract",
    "arithmetic on published counts",
    "recomputed from released data",
    "released notebooks",
    SECOND_HAND,
    UNPUBLISHED,
)

_NEEDED = ("id", "citation", "year", "quantity", "likelihood")

FINDING_COLUMNS = (
    *("id", "citation", "doi", "year", "species", "task", "maze", "quantity", "definition"),
    *("value", "unit", "error", "n", "p", "direction", "evidence", "note"),
    *("study", "question", "quantity_class", "statistic", "task_name", "likelihood"),
    *("successes", "trials", "standard_error", "sign", "p_value", "excluded_low"),
    *("excluded_high", "chance", "n_animals", "n_units", "unit_of_n", "n_events"),
    *("min_length", "min_distance_cm", "largest_jump_cm", "min_extent_cm", "min_correlation"),
    *("contradicts", "why_not"),
)

_ABOVE_0 = 1e-300  # the least number that counts as above 0

_LIMITS: dict[str, tuple[float, float, bool]] = {
    "year": (1901, 2099, True),
    "value": (-np.inf, np.inf, False),
    "successes": (0, np.inf, True),
    "trials": (1, np.inf, True),
    "standard_error": (_ABOVE_0, np.inf, False),
    "sign": (-1, 1, True),
    "p_value": (_ABOVE_0, 1, False),
    "excluded_low": (-np.inf, np.inf, False),
    "excluded_high": (-np.inf, np.inf, False),
    "chance": (0, 1, False),
    "n_animals": (1, np.inf, True),
    "n_units": (1, np.inf, True),
    "n_events": (1, np.inf, True),
    "min_length": (2, np.inf, True),
    "min_distance_cm": (0, np.inf, False),
    "largest_jump_cm": (_ABOVE_0, np.inf, False),
    "min_extent_cm": (0, np.inf, False),
    "min_correlation": (0, 1, False),
}

_TEXTS = tuple(column for column in FINDING_COLUMNS if column not in _LIMITS)

_OF_ONE = {
    column: name
    for name, columns in LIKELIHOODS.items()
    for column in columns
    if column not in ("value", "n_units")
}

_DOI = re.compile(r"10\.\d{4,9}/\S+")

_ROUNDED = 0.0051  # by which a share that was published in whole percent may be off


def read_rows(path: str | Path) -> pd.DataFrame:
    """Read findings from a CSV file in UTF-8 whose first line names the columns.

    Rows are numbered as in the file, for messages: the first finding is in row 2.
    """
    if not isinstance(path, str | Path):
        raise TypeError(f"Findings must be a DataFrame or the path of a file, got {shown(path)}.")
    try:
        text = read_file(check_path("findings", path)).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ValueError(
            f"{path} must be text in UTF-8, but line {line} is not: save the file as CSV (UTF-8)."
        ) from None
    try:
        records = enumerate(csv.reader(io.StringIO(text), strict=True), start=1)
        rows = {number: row for number, row in records if row}
    except csv.Error as error:
        raise ValueError(
            f"{path} must be a CSV table with all quotes closed, got {error}: it may be cut short."
        ) from None
    header = rows.pop(min(rows, default=0), [])
    if not "".join(header).strip():
        raise ValueError(f"{path} is empty: its first line must name the columns.")
    twice = [column for column in header if header.count(column) > 1]
    if twice:
        raise ValueError(f"{path} has the column {twice[0]!r} more than once: keep one.")
    for number, row in rows.items():
        if len(row) != len(header):
            raise ValueError(
                f"{path} must have {len(header)} fields in each row, like its first line; row "
                f"{number} has {len(row)}."
            )
    table = pd.DataFrame([*rows.values()], index=[*rows], columns=header, dtype=object)
    return table.replace("", None)


def typed_rows(table: pd.DataFrame, name: str) -> pd.DataFrame:
    """Check the rows one by one, and return all columns in order.

    Missing texts become empty, and missing numbers NaN; `name` is that of the table in messages.
    """
    check_table(table, _NEEDED, name)
    unknown = [column for column in table if column not in FINDING_COLUMNS]
    if unknown:
        raise ValueError(
            f"{name} has the column {', '.join(map(repr, unknown))}, which findings don't have. "
            "They have: "
            f"{', '.join(FINDING_COLUMNS)}."
        )
    check_table(table, [column for column in FINDING_COLUMNS if column in table], name)
    reads: dict[str, Callable[..., Any]] = dict.fromkeys(_TEXTS, _texts)
    reads |= dict.fromkeys(_LIMITS, _numbers)
    values = check_all(partial(read, table, column, name) for column, read in reads.items())
    typed = pd.DataFrame(dict(zip(reads, values, strict=True)), index=range(len(table)))
    typed = typed[list(FINDING_COLUMNS)]
    # Empty cells whose value follows from other columns.
    evidence = np.where(typed["doi"] == "", UNPUBLISHED, "primary paper")
    studies = [finding.partition(".")[0] for finding in typed["id"]]
    counted = (typed["likelihood"] == "count") & typed["value"].isna()
    shares = typed["successes"] / typed["trials"].where(typed["trials"] > 0)
    typed = typed.assign(
        evidence=typed["evidence"].where(typed["evidence"] != "", evidence),
        study=typed["study"].where(typed["study"] != "", studies),
        value=typed["value"].where(~counted, shares),
        unit=typed["unit"].where(~counted, "fraction"),
    )

    def check_row(number: object, row: Any) -> None:
        problem = _problem(row)
        if problem:
            raise ValueError(f"{name}, row {number}, finding {row.id!r}: {problem}")

    check_all(map(partial, repeat(check_row), table.index.tolist(), typed.itertuples(index=False)))
    return typed.astype({"year": int})


def _texts(table: pd.DataFrame, column: str, name: str) -> list[str] | str:
    """Read a column of text; missing values become empty."""
    if column not in table:
        return ""
    texts = []
    for row, value in table[column].items():
        if not pd.api.types.is_scalar(value):
            raise ValueError(f"{name}, row {row}: {column} must be text, got {shown(value)}.")
        texts.append("" if pd.isna(value) else str(value).strip())
    return texts


def _numbers(table: pd.DataFrame, column: str, name: str) -> Floats | float:
    """Read a column of numbers, also those written as text; missing values become NaN."""
    if column not in table:
        return np.nan
    numbers = np.full(len(table), np.nan)
    for place, (row, value) in enumerate(table[column].items()):
        try:
            if isinstance(value, bool | np.bool_):
                raise TypeError
            is_empty = pd.api.types.is_scalar(value) and pd.isna(value)
            numbers[place] = np.nan if is_empty else float(value)
            if not (is_empty or np.isfinite(numbers[place])):
                raise ValueError
        except (TypeError, ValueError, OverflowError):
            raise ValueError(
                f"{name}, row {row}, finding {table['id'].iloc[place]!r}: {column} must be a "
                f"finite number, or empty; got {shown(value)}."
            ) from None
    return numbers


def _problem(row: Any) -> str | None:
    """Describe what is wrong with a row, and what is expected."""
    for column in ("id", "citation", "quantity"):
        if not getattr(row, column):
            return f"{column} is empty."
    if re.search(r"\s", row.id):
        return "an id must not contain spaces; an example is 'gupta2010.bwd_fraction'."
    if row.doi and not _DOI.fullmatch(row.doi):
        return (
            f"doi must look like 10.1016/j.neuron.2010.01.034, or be empty if there is none; got "
            f"{row.doi!r}."
        )
    if re.fullmatch(r"-.*|0+(\.0*)?", row.n):
        return f"n must be a number above 0, with its unit if you like; got {row.n!r}."
    choices: dict[str, tuple[str, ...]] = {
        "evidence": EVIDENCE,
        "likelihood": tuple(LIKELIHOODS),
        "unit_of_n": ("", *UNITS_OF_N),
    }
    for column, names in choices.items():
        if getattr(row, column) not in names:
            listed, got = ", ".join(filter(None, names)), getattr(row, column)
            hint = " (pandas reads 'null' in a file as empty)" if not got else ""
            return f"{column} must be one of {listed}; got {got!r}{hint}."
    if np.isnan(row.year):
        return "year is empty."
    for column, (low, high, is_whole) in _LIMITS.items():
        value = getattr(row, column)
        if np.isnan(value) or (low <= value <= high and not (is_whole and value % 1)):
            continue
        ends = f" from {low:g} to {high:g}" if np.isfinite(high) else f" of {low:g} or more"
        if low == _ABOVE_0:
            ends = " above 0" + (f", up to {high:g}" if np.isfinite(high) else "")
        return f"{column} must be {'a whole' if is_whole else 'a'} number{ends}, got {value:g}."
    return _problem_of_likelihood(row)


def _problem_of_likelihood(row: Any) -> str | None:
    """Describe which number a likelihood lacks, or which numbers are inconsistent."""
    kind = row.likelihood
    for column, other in _OF_ONE.items():
        if other != kind and not np.isnan(getattr(row, column)):
            return f"{column} belongs to the likelihood {other!r}, but the likelihood is {kind!r}."
    if kind == "none":
        return None if row.why_not else "with the likelihood 'none', why_not must say why."
    for column in LIKELIHOODS[kind]:
        if np.isnan(getattr(row, column)):
            return f"the likelihood {kind!r} needs {column}."
    if not row.statistic:
        return f"the likelihood {kind!r} needs a statistic, such as 'reverse_share'."
    if row.statistic not in STATISTICS:
        return str(unknown_name("statistic", row.statistic, STATISTICS))
    if not (row.task_name or row.why_not):
        return "task_name must say in which task it is tested, or why_not why it is not."
    if kind == "count":
        if row.successes > row.trials:
            return f"successes, {row.successes:g}, must not be more than trials, {row.trials:g}."
        value = row.value / 100 if row.unit.startswith("%") else row.value
        if row.unit.startswith(("%", "fraction")) and (
            abs(value - row.successes / row.trials) > _ROUNDED
        ):
            return (
                f"value, {row.value:g}, must be successes / trials, "
                f"{row.successes:g} / {row.trials:g} = {row.successes / row.trials:.3g}."
            )
    if kind == "value" and row.unit.startswith("%"):
        return f"value must be on the scale of the statistic: {row.value / 100:g}, not percent."
    if kind == "direction" and row.sign == 0:
        return "sign must be 1 or -1, got 0; where no difference was found, the likelihood is null."
    if kind == "null" and row.excluded_low >= row.excluded_high:
        return (
            f"excluded_low, {row.excluded_low:g}, must be below excluded_high, "
            f"{row.excluded_high:g}: effects between them are not excluded."
        )
    return None


def check_together(table: pd.DataFrame) -> None:
    """Check that ids are unique, and that contradicted findings exist."""
    repeated = table.loc[table["id"].duplicated(), "id"]
    if len(repeated):
        raise ValueError(f"Two findings have the id {repeated.iloc[0]!r}: ids must differ.")
    known = set(table["id"])
    for finding, others in zip(table["id"], table["contradicts"], strict=True):
        for other in others.split():
            if other not in known:
                raise ValueError(f"{finding!r} contradicts {other!r}, which is not a finding.")
