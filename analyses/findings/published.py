"""What was published about replay, and whether a model agrees with it.

``findings()`` is a table of numbers and directions, one row each, with their source.
Each says which of our statistics tests it, in which task, and how:

========  ==========================================================================================
``test``
========  ==========================================================================================
range     the model's mean lies within the range of the values that the studies found (``S1``, ...)
sign      the animals of the model differ from the null in the expected direction, by a sign test
none      it cannot be tested; `why_not` says why
========  ==========================================================================================

Second-hand values, read in another paper than the one that found them, are marked as such and
enter no range.
"""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from replay.checks import check_table, shown
from replay.data import reference_table

__all__ = ["EVIDENCE", "TESTS", "as_share", "findings", "published_ranges"]

TESTS = ("range", "sign", "none")
SECOND_HAND = "second-hand"
EVIDENCE = (
    "primary paper",
    "figure legend",
    "abstract",
    "arithmetic on published counts",
    "recomputed from released data",
    "released notebooks",
    SECOND_HAND,
)

_NEEDED = ("id", "citation", "doi", "year", "quantity", "evidence", "test")
_COLUMNS = (
    *("id", "citation", "doi", "year", "species", "task", "maze", "quantity", "definition"),
    *("value", "unit", "error", "n", "p", "direction", "evidence", "note", "statistic"),
    *("task_name", "test", "range", "expected_sign", "contradicts", "why_not"),
)
_NUMBERS = ("year", "value", "expected_sign")
_TEXTS = tuple(column for column in _COLUMNS if column not in _NUMBERS)
_DOI = re.compile(r"10\.\d{4,9}/\S+")
_FIRST_AUTHOR = re.compile(r"(.+?) [A-Z][A-Z-]*(,| et al| and| \()")


def findings(extra: pd.DataFrame | str | Path | None = None) -> pd.DataFrame:
    """List the published numbers and directions.

    Parameters
    ----------
    extra : DataFrame or path, optional
        Findings of your own, as a table or a CSV file; they come last. `id, citation, doi, year,
        quantity, evidence` and `test` are needed, other columns may be left out.

    Returns
    -------
    pandas.DataFrame
        One row a number or direction, with columns

        ``id, source, citation, doi, year, species, task, maze``
            Where it comes from: `source` is the first author and the year.
        ``quantity, definition, direction, note``
            What was measured and found, in words.
        ``value, unit, error, n, p``
            The number; NaN if only a direction is known. The rest is text, as published.
        ``evidence, second_hand``
            How it was read, and whether in another paper than its own.
        ``statistic, task_name, test, range, expected_sign``
            What tests it: a name in ``STATISTICS`` and one in ``TASKS``; the name of the range that
            its value enters; or the `expected_sign` (-1, 0, 1) of the statistic minus its null.
        ``contradicts``
            The ids of findings that it excludes, with blanks between.
        ``why_not``
            Why it is not comparable; empty if it is.

    Raises
    ------
    TypeError
        If `extra` is no table and no path.
    ValueError
        If a file is no CSV table in UTF-8, or a row is not of this form; the message names the row,
        what is expected, and what it has.

    Examples
    --------
    >>> table = findings()
    >>> table[table["second_hand"]]["source"].unique().tolist()
    ['Ambrose 2016 (second-hand)', 'Stella 2019 (second-hand)']

    One of your own:

    >>> mine = pd.DataFrame({"id": ["mine2026.reverse"], "citation": ["Mine M (2026) My track."],
    ...     "doi": ["10.1000/mine"], "year": [2026], "quantity": ["reverse fraction"],
    ...     "evidence": ["primary paper"], "value": [0.44], "unit": ["fraction"],
    ...     "statistic": ["S1"], "task_name": ["linear_track"], "test": ["range"], "range": ["S1"]})
    >>> findings(mine)["source"].iloc[-1]
    'Mine 2026'
    """
    table = _typed(reference_table("findings/findings"), "findings.csv")
    if extra is not None:
        own = extra if isinstance(extra, pd.DataFrame) else _read(extra)
        name = "your findings" if isinstance(extra, pd.DataFrame) else str(extra)
        table = pd.concat([table, _typed(own, name)], ignore_index=True)
    _check_together(table)
    second_hand = table["evidence"] == SECOND_HAND
    marks = np.where(second_hand, f" ({SECOND_HAND})", "")
    names = table["citation"].map(_first_author) + " " + table["year"].astype(str)
    columns = list(_COLUMNS)
    columns.insert(columns.index("citation"), "source")
    columns.insert(columns.index("note"), "second_hand")
    return table.assign(source=names + marks, second_hand=second_hand)[columns]


def _read(path: str | Path) -> pd.DataFrame:
    """Read findings from a CSV file."""
    if not isinstance(path, str | Path):
        raise TypeError(f"Findings must be a DataFrame or the path of a file, got {shown(path)}.")
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ValueError(
            f"{path} must be text in UTF-8, but line {line} is not: save the file as CSV (UTF-8)."
        ) from None
    except (OSError, ValueError) as error:
        raise ValueError(f"{path} must be a CSV file that can be read, got: {error}.") from None
    try:
        header, *rows = [row for row in csv.reader(io.StringIO(text), strict=True) if row] or [[]]
    except csv.Error as error:
        raise ValueError(
            f"{path} must be a CSV table with all quotes closed, got {error}: it may be cut short."
        ) from None
    if not "".join(header).strip():
        raise ValueError(f"{path} is empty: its first line must name the columns.")
    twice = [column for column in header if header.count(column) > 1]
    if twice:
        raise ValueError(f"{path} has the column {twice[0]!r} more than once: keep one.")
    for number, row in enumerate(rows):
        if len(row) != len(header):
            raise ValueError(
                f"{path} must have {len(header)} fields in each row, as its first line has; row "
                f"{number} has {len(row)}."
            )
    return pd.read_csv(io.StringIO(text))


def _typed(table: pd.DataFrame, name: str) -> pd.DataFrame:
    """Check the rows one by one, and give all columns, in order."""
    check_table(table, _NEEDED, name)
    unknown = [column for column in table if column not in _COLUMNS]
    if unknown:
        raise ValueError(
            f"{name} has the column {unknown[0]!r}, which findings don't have. They have: "
            f"{', '.join(_COLUMNS)}."
        )
    check_table(table, [column for column in _COLUMNS if column in table], name)
    texts = {column: _texts(table, column, name) for column in _TEXTS}
    numbers = {column: _numbers(table, column, name) for column in _NUMBERS}
    typed = pd.DataFrame({**texts, **numbers}, index=range(len(table)))[list(_COLUMNS)]
    for number, row in enumerate(typed.itertuples(index=False)):
        problem = _problem(row)
        if problem:
            raise ValueError(f"{name}, row {number}, finding {row.id!r}: {problem}")
    return typed.astype({"year": int})


def _texts(table: pd.DataFrame, column: str, name: str) -> list[str] | str:
    """Read a column of text; what is missing is empty."""
    if column not in table:
        return ""
    texts = []
    for row, value in enumerate(table[column]):
        if not pd.api.types.is_scalar(value):
            raise ValueError(f"{name}, row {row}: {column} must be text, got {shown(value)}.")
        texts.append("" if pd.isna(value) else str(value).strip())
    return texts


def _numbers(table: pd.DataFrame, column: str, name: str) -> NDArray[np.float64] | float:
    """Read a column of numbers, also those written as text; what is missing is NaN."""
    if column not in table:
        return np.nan
    numbers = np.full(len(table), np.nan)
    for row, value in enumerate(table[column]):
        try:
            if isinstance(value, bool | np.bool_):
                raise TypeError
            is_empty = pd.api.types.is_scalar(value) and pd.isna(value)
            numbers[row] = np.nan if is_empty else float(value)
            if not (is_empty or np.isfinite(numbers[row])):
                raise ValueError
        except (TypeError, ValueError, OverflowError):
            raise ValueError(
                f"{name}, row {row}, finding {table['id'].iloc[row]!r}: {column} must be a finite "
                f"number, or empty; got {shown(value)}."
            ) from None
    return numbers


def _problem(row: Any) -> str | None:
    """Say what is wrong with a row, and what is expected."""
    for column in ("id", "citation", "quantity"):
        if not getattr(row, column):
            return f"{column} is empty."
    if re.search(r"\s", row.id):
        return "an id has no blanks, as in 'gupta2010.bwd_fraction'."
    if not _DOI.fullmatch(row.doi):
        return f"doi must look like 10.1016/j.neuron.2010.01.034, got {row.doi!r}."
    if not (1900 < row.year < 2100 and row.year == int(row.year)):
        return f"year must be one, got {row.year}."
    for column, choices in (("evidence", EVIDENCE), ("test", TESTS)):
        if getattr(row, column) not in choices:
            return f"{column} must be one of {', '.join(choices)}; got {getattr(row, column)!r}."
    if row.test == "none":
        return None if row.why_not else "without a test, why_not must say why."
    if not row.statistic:
        return f"the test {row.test!r} needs a statistic, as in 'S1'."
    if not (row.task_name or row.why_not):
        return "task_name must say in which task it is tested, or why_not why it is not."
    if row.test == "range" and (np.isnan(row.value) or not row.range):
        return "the test 'range' needs a value, and the name of a range, as in 'S1'."
    if row.test == "sign" and row.expected_sign not in (-1, 0, 1):
        return f"the test 'sign' needs an expected_sign of -1, 0 or 1, got {row.expected_sign:g}."
    return None


def _check_together(table: pd.DataFrame) -> None:
    repeated = table.loc[table["id"].duplicated(), "id"]
    if len(repeated):
        raise ValueError(f"Two findings have the id {repeated.iloc[0]!r}: ids must differ.")
    known = set(table["id"])
    for finding, others in zip(table["id"], table["contradicts"], strict=True):
        for other in others.split():
            if other not in known:
                raise ValueError(f"{finding!r} contradicts {other!r}, which is no finding.")


def _first_author(citation: str) -> str:
    found = _FIRST_AUTHOR.match(citation)
    return found[1] if found else citation.split()[0]


def published_ranges(table: pd.DataFrame) -> pd.DataFrame:
    """Give the range of the values that studies found, by its name.

    Values of tasks that have no graph here count too; second-hand values don't.

    Parameters
    ----------
    table : pandas.DataFrame
        What `findings` gives.

    Returns
    -------
    pandas.DataFrame
        Columns `range, low, high, n_values`, `n_studies` (where it is 1, the values are of one
        study alone), and `sources`, the studies in order of value.

    Raises
    ------
    ValueError
        If columns are missing.

    Examples
    --------
    >>> ranges = published_ranges(findings())
    >>> ranges.loc[ranges["range"] == "S1", ["low", "high", "n_values"]].to_numpy().tolist()
    [[0.3908, 0.543, 5.0]]
    """
    columns = ["test", "second_hand", "value", "unit", "range", "source"]
    check_table(table, columns, "the table of findings")
    rows = table[(table["test"] == "range") & ~table["second_hand"]]
    rows = rows.assign(value=as_share(rows)).sort_values("value", kind="stable")
    groups = rows.groupby("range", sort=True)
    return groups.agg(
        low=("value", "min"),
        high=("value", "max"),
        n_values=("value", "size"),
        n_studies=("source", "nunique"),
        sources=("source", lambda sources: ", ".join(dict.fromkeys(sources))),
    ).reset_index()


def as_share(table: pd.DataFrame) -> pd.Series[float]:
    """Give the values of findings, those in percent as shares.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns `value, unit`.

    Returns
    -------
    pandas.Series of float, shape (n_findings,)
        The values; NaN where there is none.

    Examples
    --------
    >>> as_share(pd.DataFrame({"value": [7.37, 0.49], "unit": ["%", "fraction"]})).tolist()
    [0.0737, 0.49]
    """
    shares = (table["value"] / 100).round(12)
    return table["value"].where(~table["unit"].str.startswith("%", na=False), shares)
