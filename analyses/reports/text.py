"""Numbers, names and tables as text, in Markdown where that matters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

# What Markdown takes for markup: code, emphasis, formulas and cells anywhere; tags, links, entities
# and underscores in their places; headings, quotes and lists at the beginning.
_MARKUP = re.compile(
    r"[\\`*~$|]|<(?=[a-zA-Z/!?])|\](?=[(\[:])|&(?=#?\w+;)|(?<!\w)_|_(?!\w)"
    r"|^(?:[#>+=]|-(?![\d.]))"
)
_NUMBERED = re.compile(r"^(\d+)(?=[.)](?: |$))")


def plural(n: int, noun: str) -> str:
    """Write a number of things.

    Examples
    --------
    >>> plural(1, "lap"), plural(2, "lap")
    ('1 lap', '2 laps')
    """
    return f"{n} {noun}{'s' * (n != 1)}"


def agree(n: int, one: str, several: str) -> str:
    """Choose the verb that agrees with a number.

    Examples
    --------
    >>> agree(1, "is", "are"), agree(0, "is", "are")
    ('is', 'are')
    """
    return one if n == 1 else several


def number(value: float) -> str:
    """Write a number with two decimals; nothing if it is unknown."""
    return "" if np.isnan(value) else f"{value:.2f}"


def interval(low: float, high: float) -> str:
    """Write an interval; nothing if there is none."""
    return "" if np.isnan(low) else f"{low:.2f} to {high:.2f}"


def with_interval(value: float, low: float, high: float) -> str:
    """Write a number with its interval, if it has one.

    Examples
    --------
    >>> with_interval(0.5, 0.25, 0.75), with_interval(0.5, np.nan, np.nan)
    ('0.50 (0.25 to 0.75)', '0.50')
    """
    return number(value) + ("" if np.isnan(low) else f" ({interval(low, high)})")


def in_markdown(text: str) -> str:
    r"""Keep a text from a file plain, in its line and its cell: no HTML, links or formulas."""
    return _NUMBERED.sub(r"\1\\", _MARKUP.sub(r"\\\g<0>", " ".join(text.split())))


def cells_in_markdown(table: pd.DataFrame) -> pd.DataFrame:
    """Keep the texts of a table plain, by `in_markdown`."""
    texts = {
        str(name): [in_markdown(cell) if isinstance(cell, str) else cell for cell in column]
        for name, column in table.select_dtypes(exclude=["number", "bool"]).items()
    }
    return table.assign(**texts)


def rows_of(table: pd.DataFrame) -> Iterator[Any]:
    """Iterate over rows with a field for each column, whose type the table does not tell."""
    return table.itertuples()


def markdown(header: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """Write a table.

    Examples
    --------
    >>> print(markdown(["", "share"], [["novel", 0.5]]))
    | | share |
    |---|---|
    | novel | 0.5 |
    """
    named = "".join(f" {name} |" if name else " |" for name in header)
    lines = [f"|{named}", f"|{'---|' * len(header)}"]
    return "\n".join([*lines, *(f"| {' | '.join(map(str, row))} |" for row in rows)])


def report_of_parts(title: str, parts: Iterable[tuple[str, pd.DataFrame, str]]) -> str:
    """Write a report of parts, each with a title, a table and a note; any of them may be empty."""
    text = [f"# {title}"]
    for name, table, note in parts:
        cells = shown_cells(cells_in_markdown(table))
        rows = markdown([*map(str, table.columns)], cells) if len(table.columns) else ""
        text += [f"## {in_markdown(name)}" if name else "", rows, in_markdown(note)]
    return "\n\n".join(filter(None, text)) + "\n"


def shown_cells(table: pd.DataFrame) -> list[list[str]]:
    """Write cells as text, numbers with three significant digits; what is missing is empty.

    Examples
    --------
    >>> shown_cells(pd.DataFrame({"n_episodes": pd.array([1, None]), "share": [0.5, np.nan]}))
    [['1', '0.5'], ['', '']]
    """

    def text(value: Any) -> str:
        if pd.api.types.is_scalar(value) and pd.isna(value):
            return ""
        return f"{value:.3g}" if isinstance(value, float) else str(value)

    return [[text(value) for value in row] for row in table.itertuples(index=False)]


def listed(items: Iterable[str]) -> str:
    """Write a list, whose items are text from files."""
    return "\n".join(f"- {in_markdown(item)}" for item in items)
