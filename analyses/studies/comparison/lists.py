"""Explanations of the statistics, and the published findings of each."""

from __future__ import annotations

import pandas as pd

from analyses.findings.table import findings
from analyses.measures import STATISTICS
from replay.checks import check_choice
from replay.tasks.published import TASKS

__all__ = ["explained", "list_findings", "list_statistics"]


def explained(name: str) -> str:
    """Explain what a statistic measures.

    Examples
    --------
    >>> explained("begins_at_animal")
    'share: sequences that begin near the animal'
    """
    statistic = STATISTICS[name]
    return f"{'share: ' * statistic.is_share}{statistic.label}"


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
    """List the published findings of a statistic, or in a task.

    Examples
    --------
    >>> list_findings("shortcut_share")["value"].tolist()
    ['11 sequences', '0.01105 fraction', '0.0064 fraction']
    """
    check_choice("statistic or task", name, [*STATISTICS, *TASKS])
    table = findings()
    table = table[(table["statistic"] == name) | (table["task_name"] == name)]
    value = table["value"].map("{:g}".format).where(table["value"].notna(), "")
    return pd.DataFrame(
        {
            "finding": table["id"],
            "statistic": table["statistic"],
            "task": table["task_name"],
            "quantity": table["quantity"],
            "value": (value + " " + table["unit"].fillna("")).str.strip(),
            "tested": ("no: " + table["why_not"]).where(table["why_not"] != "", "yes"),
        }
    )
