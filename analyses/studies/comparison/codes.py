"""Explanations of the codes of statistics, and the published findings of each."""

from __future__ import annotations

import pandas as pd

from analyses.findings.table import findings
from analyses.measures import STATISTICS
from replay.checks import check_choice
from replay.tasks.published import TASKS

__all__ = ["explained", "list_codes", "list_findings"]


def explained(code: str) -> str:
    """Explain what a statistic measures.

    Examples
    --------
    >>> explained("S3")
    'share: sequences that begin near the animal'
    """
    statistic = STATISTICS[code]
    return f"{'share: ' * statistic.is_share}{statistic.label}"


def list_codes() -> pd.DataFrame:
    """List the codes of all statistics.

    Examples
    --------
    >>> list_codes().set_index("code").loc["S1", "what it measures"]
    'share: reverse among directional sequences'
    """
    n_published = findings()["statistic"].value_counts()
    codes = [(code, explained(code), int(n_published.get(code, 0))) for code in STATISTICS]
    return pd.DataFrame(codes, columns=["code", "what it measures", "findings"])


def list_findings(name: str) -> pd.DataFrame:
    """List the published findings of a statistic, or in a task.

    Examples
    --------
    >>> list_findings("S6_shortcut")["value"].tolist()
    ['11 sequences', '0.01105 fraction', '0.0064 fraction']
    """
    check_choice("code or task", name, [*STATISTICS, *TASKS])
    table = findings()
    table = table[(table["statistic"] == name) | (table["task_name"] == name)]
    value = table["value"].map("{:g}".format).where(table["value"].notna(), "")
    return pd.DataFrame(
        {
            "finding": table["id"],
            "code": table["statistic"],
            "task": table["task_name"],
            "quantity": table["quantity"],
            "value": (value + " " + table["unit"].fillna("")).str.strip(),
            "tested": ("no: " + table["why_not"]).where(table["why_not"] != "", "yes"),
        }
    )
