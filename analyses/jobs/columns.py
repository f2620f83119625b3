"""The columns of the tables that commands write: meaning, unit, and when a cell is empty.

``data/columns.toml`` describes them. A column means the same in every table that does not say
otherwise, so most are described once, in `COLUMNS`. ``replay columns`` prints the descriptions.
"""

import tomllib
from typing import Any, NamedTuple

from replay.data import data_file


class Column(NamedTuple):
    """What a column holds."""

    meaning: str
    unit: str = ""  # of numbers that have one
    empty: str = ""  # when there is no value (empty in CSV, NaN or null in parquet); empty: never


class Table(NamedTuple):
    """What a table holds."""

    row: str  # what each is for
    columns: dict[str, Column]  # in order
    optional: frozenset[str]  # columns that only some of these tables have


def _columns(described: dict[str, Any]) -> dict[str, Column]:
    """Read columns; of most there is nothing to say but their meaning."""
    return {
        name: Column(text) if isinstance(text, str) else Column(**text)
        for name, text in described.items()
    }


_DESCRIBED = tomllib.loads(data_file("columns.toml").read_text("utf-8"))

TEXTS = frozenset(_DESCRIBED["texts"])
"""Columns that hold text in all CSV tables, also names such as 001 and NA, which look like none."""

COLUMNS = _columns(_DESCRIBED["columns"])
"""Column -> what it means in all tables that do not say otherwise."""

TABLES: dict[str, Table] = {}
"""File -> description. Where two studies write the same file name, one is listed as STUDY/FILE."""
for _file, _table in _DESCRIBED["tables"].items():
    _known = COLUMNS | _columns(_table.get("own", {}))
    _names = {name.removesuffix("?"): name.endswith("?") for name in _table["names"].split()}
    TABLES[_file] = Table(
        _table["row"],
        {name: _known[name] for name in _names},
        frozenset(name for name, is_optional in _names.items() if is_optional),
    )
