"""Simulated studies: read again from an earlier comparison, and arranged for scoring."""

from __future__ import annotations

import inspect
import json
from collections.abc import Hashable
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from analyses.findings.evidence import Published, Studies, published
from analyses.jobs.results import Results
from analyses.jobs.study import Piece
from analyses.studies.comparison.plan import Comparison, plan_comparison, tested_findings
from replay.checks import check_number, check_table, check_whole, unknown_name
from replay.checks.arrays import Floats
from replay.tasks.published import find_task

_COLUMNS = ["successes", "trials", "mean", "sd", "value", "n_animals"]


class Predictions(NamedTuple):
    """The findings, and the predictions of all accounts for them."""

    rows: list[dict[Hashable, Any]]  # the findings; of n_findings
    results: list[Published]  # their published values; of n_findings
    studies: list[dict[str, Studies]]  # the simulated studies of each account; of n_findings
    # The part of each finding in the vote of its study; shape (n_findings,).
    weight: Floats


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


def weights(rows: pd.DataFrame, *, duplicates_share: bool = True) -> Floats:
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


_STUDIES = "studies.parquet"


def plan_rescoring(
    folder: str | Path, findings: pd.DataFrame | Path | None = None, **given: Any
) -> Comparison:
    """Plan to score the simulated studies of a finished comparison again.

    Tasks, accounts, number of draws, wrong places and seed are those of the folder; whoever gives
    other arguments of `plan_comparison` than its defaults is told so. The parameters of its draws
    are drawn again, so accounts must have the priors that they had.
    """
    usual = inspect.signature(plan_comparison).parameters
    for name, value in given.items():
        if not np.array_equal(value, usual[name].default):
            raise ValueError(
                "What is scored again has the tasks, accounts, draws, wrong places and seed of "
                f"{folder}: leave out {name.removeprefix('n_').replace('_', ' ')}."
            )
    results = Results(folder)
    held = results.manifest()
    if held.get("study") != "comparison":
        raise ValueError(
            f"{folder} holds results of {held.get('command', 'another command')}: name a folder "
            "that replay compare wrote."
        )
    results.check_tables()
    tasks, accounts = held.get("statistics"), held.get("accounts")
    if not isinstance(tasks, dict) or not isinstance(accounts, dict):
        raise ValueError(
            f"{folder} was made by another version, whose manifest had no tasks and accounts. Run "
            "replay compare again in another folder."
        )
    for name in tasks:  # a manifest may come from somebody else: it chooses no file to be run
        find_task(name)
    plan = plan_comparison(
        list(tasks),
        list(accounts),
        n_draws=check_whole(f"The number of draws of {folder}", held.get("n_draws")),
        seed=check_whole(f"The seed of {folder}", held.get("seed")),
        findings=findings,
        wrong_places=check_number(
            f"The share of wrong places of {folder}", held.get("wrong_places", 0.0)
        ),
    )
    described = json.loads(json.dumps(plan.describe()["accounts"]))  # lists, as in the manifest
    for name, account in described.items():
        if account != accounts.get(name):
            raise ValueError(
                f"The account {name} has other parameters or priors now than in {folder}. Run "
                "replay compare again in another folder."
            )
    simulated = set(_read(str(folder))["finding"])
    tested = tested_findings(plan.findings)
    for finding in tested.loc[tested["task_name"].isin(plan.tasks), "id"]:
        if finding not in simulated:
            missing = unknown_name("finding", finding, sorted(simulated - {""}))
            raise ValueError(f"{folder} has no simulated studies of {finding!r}. {missing}")
    return plan._replace(simulated=str(folder))


def stored_studies(plan: Comparison, piece: Piece) -> pd.DataFrame:
    """Read the simulated studies of one piece of the plan."""
    part = plan.parts()[piece.number]
    table = _read(plan.simulated)
    chosen = (table["task"] == piece.group) & (table["account"] == part.candidate)
    chosen &= table["draw"].between(part.draws.start, part.draws.stop - 1)
    return table[chosen & table["finding"].isin(["", *plan.tested(piece.group)["id"]])]


def _read(folder: str) -> pd.DataFrame:
    return _read_once(folder, Path(folder, _STUDIES).stat().st_mtime_ns)


@lru_cache(maxsize=1)
def _read_once(folder: str, modified: int) -> pd.DataFrame:
    table = Results(folder).read(_STUDIES)
    return check_table(table, ["task", "account", "draw", "finding"], f"{_STUDIES} of {folder}")
