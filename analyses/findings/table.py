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
from collections.abc import Hashable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

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
from analyses.measures import STATISTICS
from analyses.sequences import Detection
from replay.checks import (
    LARGEST_NUMBER,
    check_array,
    check_cells,
    check_choice,
    check_number,
    check_table,
    typed,
)
from replay.data import data_file
from replay.tasks.published import TASKS

_FIRST_AUTHOR = re.compile(r"^(.+?) [A-Z][A-Z-]*(?:,| et al| and| \()")

_DETECTION = {
    "min_length": "min_length",
    "min_distance_cm": "min_distance",
    "largest_jump_cm": "largest_jump",
    "min_extent_cm": "min_extent",
    "min_correlation": "min_correlation",
}


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
    table = _published().copy()
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
    first_author = table["citation"].str.extract(_FIRST_AUTHOR)[0]
    first_author = first_author.fillna(table["citation"].str.split().str[0])
    names = first_author + " " + table["year"].astype(str)
    columns = list(FINDING_COLUMNS)
    columns.insert(columns.index("citation"), "source")
    columns[columns.index("note") : columns.index("note")] = ["second_hand", "unpublished"]
    table = table.assign(source=names + marks, second_hand=second_hand, unpublished=unpublished)
    return table[columns]


@cache
def _published() -> pd.DataFrame:
    # Checked once: it takes a fifth of a second, and lists ask for one row at a time.
    return typed_rows(read_rows(data_file("findings/findings.csv")), "findings.csv")


@typed
def questions(table: pd.DataFrame) -> pd.DataFrame:
    """List the questions of the findings, and the studies that answer each.

    Parameters
    ----------
    table : pandas.DataFrame
        The table of `findings`.

    Returns
    -------
    pandas.DataFrame
        One row per question, in alphabetical order: `question`; `n_tested`, the number of findings
        that are tested on models; `n_studies` and `studies`, the studies that these findings come
        from; and `others`, studies whose answer cannot be compared with a model.

    Examples
    --------
    >>> asked = questions(findings()).set_index("question")
    >>> asked.loc["Does replay predict the next choice?", "studies"]
    'shin2019, widloski2022'
    """
    needed = ["question", "study", "likelihood", "why_not"]
    rows = check_table(table, needed, "the table of findings")[needed]
    check_cells(rows, "the table of findings")
    rows = rows.astype(str).fillna("")
    rows = rows[rows["question"] != ""]
    tested = (rows["likelihood"] != "none") & (rows["why_not"] == "")
    found = []
    for question, group in rows.assign(tested=tested).groupby("question", sort=True):
        answer = sorted(set(group.loc[group["tested"], "study"]))
        found.append(
            {
                "question": question,
                "n_tested": int(group["tested"].sum()),
                "n_studies": len(answer),
                "studies": ", ".join(answer),
                "others": ", ".join(sorted(set(group["study"]).difference(answer))),
            }
        )
    return pd.DataFrame(found, columns=["question", "n_tested", "n_studies", "studies", "others"])


def as_share(table: pd.DataFrame) -> pd.Series[float]:
    """Return the values of findings, with percentages converted to shares."""
    shares = (table["value"] / 100).round(12)
    return table["value"].where(~table["unit"].str.startswith("%", na=False), shares)


@typed
def detection_of(
    finding: Mapping[Hashable, Any] | pd.Series[Any],
    spacing: float,
    otherwise: Detection = Detection(),  # noqa: B008 (immutable)
) -> Detection:
    """Return the criteria by which the study of a finding detected replay.

    Parameters
    ----------
    finding : row of a DataFrame
        `min_length, min_distance_cm, largest_jump_cm, min_extent_cm, min_correlation`; NaN where
        the study has no such criterion, or it is not known.
    spacing : float
        The distance between neighbouring places of the task, in cm; converts jumps into places.
    otherwise : Detection, optional
        The criteria that the study does not report.

    Examples
    --------
    >>> table = findings().set_index("id")
    >>> detection_of(table.loc["mallory2025.rev_fraction"], spacing=20.0)
    Detection(min_length=3, min_distance=0.0, largest_jump=3, min_extent=36.0, min_correlation=0.6)
    """
    lacking = [column for column in _DETECTION if column not in finding]
    if lacking:
        raise ValueError(f"finding must be a row of findings, but lacks {', '.join(lacking)}.")
    check_number("spacing", spacing, at_least=1e-12)
    reported = check_array(
        [finding[column] for column in _DETECTION],
        f"{', '.join(_DETECTION)} of finding",
        kind="number",
        at_least=-LARGEST_NUMBER,
        at_most=LARGEST_NUMBER,
        missing=True,
    )
    criteria: dict[str, Any] = {
        field: value
        for field, value in zip(_DETECTION.values(), reported.tolist(), strict=True)
        if not np.isnan(value)
    }
    # In places; a step to the next one is always allowed.
    if "largest_jump" in criteria:
        criteria["largest_jump"] = max(int(criteria["largest_jump"] / spacing), 1)
    if "min_length" in criteria:
        criteria["min_length"] = int(criteria["min_length"])
    return otherwise._replace(**criteria)


def explained(name: str) -> str:
    """Explain what a statistic measures or what a task is, or cite a study.

    Examples
    --------
    >>> explained("begins_at_animal")
    'share: sequences that begin near the animal'
    """
    if name in STATISTICS:
        return f"{'share: ' * STATISTICS[name].is_share}{STATISTICS[name].label}"
    if name in TASKS:
        return (TASKS[name].builder.__doc__ or "").partition("\n")[0]
    cited = findings().drop_duplicates("study").set_index("study")["citation"]
    check_choice("statistic, task or study", name, [*STATISTICS, *TASKS, *cited.index])
    return str(cited[name])


def list_studies() -> pd.DataFrame:
    """List all studies, with the number of their findings and of those that are tested.

    Examples
    --------
    >>> list_studies().set_index("study").loc["ambrose2016"].tolist()
    [29, 9]
    """
    table = findings()
    is_tested = (table["likelihood"] != "none") & (table["why_not"] == "")
    counts = is_tested.groupby(table["study"], sort=False).agg(["size", "sum"])
    return counts.set_axis(["findings", "tested"], axis=1).reset_index()


def list_statistics() -> pd.DataFrame:
    """List all statistics.

    Examples
    --------
    >>> list_statistics().set_index("statistic").loc["reverse_share", "what it measures"]
    'share: reverse among directional sequences'
    """
    n_published = findings()["statistic"].value_counts()
    listed = [(name, explained(name), int(n_published.get(name, 0))) for name in STATISTICS]
    return pd.DataFrame(listed, columns=["statistic", "what it measures", "findings"])


def list_findings(name: str) -> pd.DataFrame:
    """List the published findings of a statistic, in a task, or of a study.

    Examples
    --------
    >>> list_findings("shortcut_share")["value"].tolist()
    ['11 sequences', '0.01105 fraction', '0.0064 fraction']
    """
    table = findings()
    table = table[(table[["statistic", "task_name", "study"]] == name).any(axis=1)]
    value = table["value"].map("{:g}".format).astype(str) + " " + table["unit"].fillna("")
    return pd.DataFrame(
        {
            "finding": table["id"],
            "statistic": table["statistic"],
            "task": table["task_name"],
            "quantity": table["quantity"],
            "value": value.where(table["value"].notna(), table["direction"]).str.strip(),
            "tested": ("no: " + table["why_not"]).where(table["why_not"] != "", "yes"),
        }
    )
