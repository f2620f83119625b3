"""Another scoring of a comparison that was made before: its simulated studies are read again."""

from __future__ import annotations

import inspect
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analyses.jobs.results import Results
from analyses.jobs.study import Piece
from analyses.studies.comparison.plan import Comparison, plan_comparison, tested_findings
from replay.checks import check_number, check_table, check_whole, unknown_name
from replay.tasks.published import find_task

__all__ = ["plan_rescoring", "stored_studies"]

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
