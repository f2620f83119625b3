"""Published findings about replay, with the numbers that their likelihoods need.

``findings()`` is a table with one row per number or direction and its source. The numbers with
which simulated studies are compared are in columns that depend on the `likelihood`:

=============  =====================================================================================
`likelihood`
=============  =====================================================================================
count          `successes` of `trials`, and sometimes the share expected by `chance`
value          `value` with `standard_error`, on the scale of the statistic
direction      the statistic lies above (`sign` 1) or below (-1) its null, with `p_value`
null           no difference was found; effects below `excluded_low` and above `excluded_high` are
               excluded
none           it is not tested, and `why_not` says why
=============  =====================================================================================

Second-hand values, which were read in a paper other than the one that found them, and findings
without a DOI are marked as such.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd

from analyses.findings.rows import (
    FINDING_COLUMNS,
    SECOND_HAND,
    UNPUBLISHED,
    check_together,
    read_rows,
    typed_rows,
)
from replay.data import data_file

__all__ = ["findings"]

_FIRST_AUTHOR = re.compile(r"(.+?) [A-Z][A-Z-]*(,| et al| and| \()")


def findings(extra: pd.DataFrame | str | Path | None = None) -> pd.DataFrame:
    """List the published numbers and directions.

    Parameters
    ----------
    extra : DataFrame, str or path, optional
        Your own findings, as a table or a CSV file; they come last. `id, citation, year, quantity`
        and `likelihood` are required, as are `statistic, task_name` and the numbers of the
        likelihood if it is not ``none``. Other columns are optional: a finding without a DOI is
        marked as unpublished, and one without a question gets that of the findings with the same
        statistic.

    Returns
    -------
    pandas.DataFrame
        One row per number or direction; ``replay columns findings`` explains the columns. Besides
        those of the file, there are `source` (first author and year), `second_hand` (read in a
        paper other than its own) and `unpublished` (without a DOI). Numbers that were not
        published, or not read, are NaN, and such texts are empty; shares are fractions.

    Raises
    ------
    TypeError
        If `extra` is neither a table nor a path.
    OSError
        If there is no such file, or it is a folder.
    ValueError
        If a file is not a CSV table in UTF-8, or a row is invalid; the message names the row, what
        is expected, and what it has.

    Examples
    --------
    >>> table = findings()
    >>> counted = table.query("statistic == 'reverse_share' and likelihood == 'count'")
    >>> counted = counted[counted["task_name"] != ""]
    >>> counted[["source", "successes", "trials"]].head(2)
               source  successes  trials
    2      Gupta 2010      842.0  1719.0
    39  Davidson 2009       68.0   174.0

    One of your own:

    >>> mine = pd.DataFrame({"id": ["mine2026.reverse"], "citation": ["Mine M (2026) My track."],
    ...     "year": [2026], "quantity": ["reverse fraction"], "statistic": ["reverse_share"],
    ...     "task_name": ["linear_track"], "likelihood": ["count"], "successes": [44],
    ...     "trials": [100]})
    >>> findings(mine)[["source", "question"]].iloc[-1].tolist()
    ['Mine 2026 (unpublished)', 'How much of replay is reverse?']
    """
    table = typed_rows(read_rows(data_file("findings/findings.csv")), "findings.csv")
    if extra is not None:
        own = extra if isinstance(extra, pd.DataFrame) else read_rows(extra)
        name = "your findings" if isinstance(extra, pd.DataFrame) else str(extra)
        asked = table[table["question"] != ""].drop_duplicates("statistic")
        questions = asked.set_index("statistic")["question"].drop("")
        mine = typed_rows(own, name)
        asks = mine["statistic"].map(questions).fillna(mine["quantity"])
        mine["question"] = mine["question"].where(mine["question"] != "", asks)
        table = pd.concat([table, mine], ignore_index=True)
    check_together(table)
    second_hand, unpublished = table["evidence"] == SECOND_HAND, table["doi"] == ""
    marks = np.select([second_hand, unpublished], [f" ({SECOND_HAND})", f" ({UNPUBLISHED})"], "")
    names = table["citation"].map(_first_author) + " " + table["year"].astype(str)
    columns = list(FINDING_COLUMNS)
    columns.insert(columns.index("citation"), "source")
    columns[columns.index("note") : columns.index("note")] = ["second_hand", "unpublished"]
    table = table.assign(source=names + marks, second_hand=second_hand, unpublished=unpublished)
    return table[columns]


def _first_author(citation: str) -> str:
    found = _FIRST_AUTHOR.match(citation)
    return found[1] if found else citation.split()[0]
