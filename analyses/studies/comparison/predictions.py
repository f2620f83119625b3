"""The predictions of all accounts for each finding: simulated studies, arranged for scoring."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.findings.evidence import Published, Studies, published
from analyses.studies.comparison.plan import Comparison

__all__ = ["Predictions", "predictions", "weights"]

_COLUMNS = ["successes", "trials", "mean", "sd", "value", "n_animals"]


class Predictions(NamedTuple):
    """The findings, and the predictions of all accounts for them."""

    rows: list[dict[Hashable, Any]]  # the findings; of n_findings
    results: list[Published]  # their published values; of n_findings
    studies: list[dict[str, Studies]]  # the simulated studies of each account; of n_findings
    # The part of each finding in the vote of its study; shape (n_findings,).
    weight: NDArray[np.float64]


def predictions(plan: Comparison, simulated: pd.DataFrame) -> Predictions:
    """Arrange the simulated studies by finding and account."""
    rows = pd.concat([plan.tested(task) for task in plan.tasks])
    of_finding = dict(tuple(simulated[simulated["finding"] != ""].groupby("finding", sort=False)))
    studies = []
    for name in rows["id"]:
        accounts = (
            of_finding[name].sort_values("draw", kind="stable").groupby("account", sort=False)
        )
        studies.append(
            {
                str(account): Studies(*(group[column].to_numpy(float) for column in _COLUMNS))
                for account, group in accounts
            }
        )
    records = rows.to_dict("records")
    return Predictions(records, [published(row) for row in records], studies, weights(rows))


def weights(rows: pd.DataFrame, *, duplicates_share: bool = True) -> NDArray[np.float64]:
    """Compute the share of each finding in the vote of its study.

    A study has one vote, however many statistics it reports: its findings share it equally. Studies
    with mutually exclusive answers to one question also share one vote. With `duplicates_share`,
    findings of one study with the same statistic in one task have the part of a single finding.

    Examples
    --------
    >>> rows = pd.DataFrame({"id": ["a.1", "a.2", "b.1"], "study": ["a", "a", "b"],
    ...                      "contradicts": ["", "b.1", "a.2"]})
    >>> weights(rows, duplicates_share=False).tolist()
    [0.5, 0.25, 0.5]
    """
    weight = 1 / rows.groupby("study")["id"].transform("size").to_numpy(float)
    if duplicates_share:
        measured = rows["task_name"] + " " + rows["statistic"]
        n_alike = measured.groupby([rows["study"], measured]).transform("size")
        n_measured = measured.groupby(rows["study"]).transform("nunique")
        weight = 1 / (n_alike * n_measured).to_numpy(float)
    studies = dict(zip(rows["id"], rows["study"], strict=True))
    for number, (study, others) in enumerate(
        zip(rows["study"], rows["contradicts"].fillna(""), strict=True)
    ):
        opposed = {studies[other] for other in others.split() if other in studies} - {study}
        weight[number] /= 1 + len(opposed)
    return weight
