"""The comparison: how probable each published finding is if an account of replay were true."""

from __future__ import annotations

import inspect
import json
import re
import runpy
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd

from analyses.findings.accounts import ACCOUNTS, Account, find_account
from analyses.findings.rows import FINDING_COLUMNS
from analyses.findings.table import findings as read_findings
from analyses.jobs import N_DRAWS_COMPARED
from analyses.jobs.results import Results
from analyses.jobs.study import MOST, Piece, digests
from analyses.measures import STATISTICS
from analyses.tables import published_label
from replay.checks import (
    check_number,
    check_table,
    check_whole,
    errors_located,
    shown,
    unknown_name,
)
from replay.checks.arrays import Ints
from replay.learners import find_learner
from replay.tasks import Task
from replay.tasks.published import TASKS, TaskEntry, find_task

_STUDIES = "studies.parquet"
_STEM = re.compile(r"\w[\w .-]{0,79}")

Accounts = Iterable[str] | Mapping[str, Account | str]
"""Names in ``ACCOUNTS``; or your own accounts or such names, by name."""

_Named = TypeVar("_Named")

DRAWS_OF_PIECE = 64
_MOST_ANIMALS = 8  # of a simulated study, which are simulated in each draw
_FEWEST_ANIMALS = 3  # for a standard deviation over animals


class Candidate(NamedTuple):
    """An account as it is scored."""

    account: str  # its name
    # Whether its parameters are those of its authors; otherwise they are drawn from priors.
    as_published: bool


class Part(NamedTuple):
    """A piece of the work: some draws of a candidate, in one task."""

    candidate: str  # one of `Comparison.candidates`
    draws: range  # the numbers of the draws


class Comparison(NamedTuple):
    """The plan of a comparison."""

    tasks: dict[str, TaskEntry]  # the tasks, with all statistics that are computed in them
    accounts: dict[str, Account]  # the accounts of replay and controls
    n_draws: int  # draws of each account's parameters: simulated studies
    seed: int  # seed of everything
    findings: pd.DataFrame  # as `analyses.findings.table.findings` returns them
    files: dict[str, str]  # the user's Python files that define tasks, by the name of the task
    # The folder whose simulated studies are scored again; empty: studies are simulated.
    simulated: str = ""
    wrong_places: float = 0.0  # the share of replayed places that are read wrongly

    @contextmanager
    def locating_errors(self, task: str) -> Iterator[None]:
        """Report where the user's file of a task fails, as a context manager."""
        with errors_located(self.files[task]) if task in self.files else nullcontext():
            yield

    def tested(self, task: str) -> pd.DataFrame:
        """List the findings that models are compared with in a task."""
        found = tested_findings(self.findings)
        return found[found["task_name"] == task]

    def n_animals(self, task: str) -> int:
        """Return the number of animals of a simulated study in a task, as its findings need."""
        return int(n_simulated(self.tested(task)).max(initial=_FEWEST_ANIMALS))

    def candidates(self) -> dict[str, Candidate]:
        """List the accounts by name, then those with published parameters, by names for these."""
        published = [n for n, account in self.accounts.items() if account.as_published is not None]
        return {name: Candidate(name, False) for name in self.accounts} | {
            published_label(name): Candidate(name, True) for name in published
        }

    def n_studies(self, name: str) -> int:
        """Return the number of simulated studies of a candidate: a quarter if as published."""
        is_published = self.candidates()[name].as_published
        return max(self.n_draws // 4, 1) if is_published else self.n_draws

    def parts(self) -> list[Part]:
        """List the pieces of every task."""
        return [
            Part(name, range(first, min(first + DRAWS_OF_PIECE, self.n_studies(name))))
            for name in self.candidates()
            for first in range(0, self.n_studies(name), DRAWS_OF_PIECE)
        ]

    def n_pieces(self) -> dict[str, int]:
        """Return the number of pieces of each task."""
        return dict.fromkeys(self.tasks, len(self.parts()))

    def describe(self) -> dict[str, Any]:
        """Return the entries of the manifest: all that the tables depend on."""
        stored = {"simulated": str(Path(self.simulated, _STUDIES))}
        return {
            "accounts": {
                name: {
                    "generator": find_learner(each.generator).name
                    if not each.is_control
                    else each.generator,
                    "priors": {key: prior._asdict() for key, prior in each.priors.items()},
                    "fixed": dict(each.fixed),
                    "as_published": each.as_published and dict(each.as_published),
                }
                for name, each in self.accounts.items()
            },
            "statistics": {task: list(entry.statistics) for task, entry in self.tasks.items()},
            "findings": {task: self.tested(task)["id"].tolist() for task in self.tasks},
            "files": digests(self.files),
            "n_draws": self.n_draws,
            "seed": self.seed,
            **({"wrong_places": self.wrong_places} if self.wrong_places else {}),
            **(digests(stored) if self.simulated else {}),
        }


def n_simulated(tested: pd.DataFrame) -> Ints:
    """Compute the number of animals in simulated studies.

    It is that of the units, animals or sessions, in the test or error of a finding; if these are
    something else, that of the study's animals. At least three, at most eight.

    Examples
    --------
    >>> columns = {"n_animals": [3, 5, 4], "n_units": [37, 7, 3349],
    ...            "unit_of_n": ["session", "session", "pause"]}
    >>> n_simulated(pd.DataFrame(columns)).tolist()
    [8, 7, 4]
    """
    counts_them = tested["unit_of_n"].isin(["animal", "session"])
    asked = tested["n_units"].where(counts_them).fillna(tested["n_animals"]).to_numpy(float)
    n: Ints = np.nan_to_num(asked).astype(np.int64)
    return n.clip(_FEWEST_ANIMALS, _MOST_ANIMALS)


def tested_findings(table: pd.DataFrame) -> pd.DataFrame:
    """Select the findings that models are compared with."""
    kept: pd.DataFrame = table[(table["likelihood"] != "none") & (table["why_not"] == "")]
    return kept


def plan_comparison(
    tasks: Iterable[str] | Mapping[str, TaskEntry] = tuple(TASKS),
    accounts: Accounts | None = None,
    *,
    n_draws: int = N_DRAWS_COMPARED,
    seed: int = 0,
    findings: pd.DataFrame | Path | None = None,
    wrong_places: float = 0.0,
) -> Comparison:
    """Plan a comparison: check its parts, and add the statistics by which findings are tested."""
    table = findings if isinstance(findings, pd.DataFrame) else read_findings(findings)
    check_table(table, FINDING_COLUMNS, "findings")
    check_whole("The number of draws", n_draws, at_least=2, at_most=MOST)
    check_whole("The seed", seed)
    check_number("wrong_places", wrong_places, at_least=0, at_most=1)
    tasks = [tasks] if isinstance(tasks, str) else tasks
    found, files = (dict(tasks), {}) if isinstance(tasks, Mapping) else _find_tasks(tasks)
    # Random numbers are drawn in this order, whatever the order in which they were named.
    found, chosen = _in_order(found, TASKS), _in_order(_find_accounts(accounts), ACCOUNTS)
    for what, names in (("task", found), ("account", chosen)):
        if not names:
            raise ValueError(f"Name at least one {what}.")
    asked = tested_findings(table)
    for row in asked[~asked["task_name"].isin([*TASKS, *found])].itertuples():
        unknown_task = unknown_name("task", row.task_name, [*TASKS, *found])
        raise ValueError(
            f"The finding {row.id!r} is tested in no task. {unknown_task} A task of your own has "
            "the name of its file, such as mine in --task mine.py, whatever the task calls itself."
        )
    complete = {}
    for name, entry in found.items():
        of_findings = asked.loc[asked["task_name"] == name, "statistic"]
        wanted = {*entry.statistics, *of_findings}
        unknown = wanted.difference(STATISTICS)
        if unknown:
            raise unknown_name("statistic", min(unknown, key=str), STATISTICS)
        if not wanted:
            raise ValueError(
                f"The task {name} has no statistics. Name some, as in "
                'TaskEntry(build, ("reverse_share", "begins_at_animal")).'
            )
        complete[name] = entry._replace(
            statistics=tuple(name for name in STATISTICS if name in wanted)
        )
    plan = Comparison(complete, chosen, n_draws, seed, table, files, wrong_places=wrong_places)
    for name, entry in found.items():
        if TASKS.get(name) is not entry:  # the user's own
            with plan.locating_errors(name):
                built = entry.build()
                if not isinstance(built, Task):
                    raise TypeError(f"build() must return a Task, got {shown(built)}.")
    return plan


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


def _in_order(named: Mapping[str, _Named], known: Iterable[str]) -> dict[str, _Named]:
    """Sort by the toolkit's own order, and then by name."""
    own = [name for name in known if name in named]
    return {name: named[name] for name in [*own, *sorted(named.keys() - set(own), key=str)]}


def _find_accounts(accounts: Accounts | None) -> dict[str, Account]:
    """Look up accounts by their names, and check the user's own."""
    if accounts is None:
        return dict(ACCOUNTS)
    if isinstance(accounts, str):
        accounts = [accounts]
    if not isinstance(accounts, Mapping):
        return {name: find_account(name) for name in accounts}
    accounts = {
        name: find_account(account) if isinstance(account, str) else account
        for name, account in accounts.items()
    }
    for name, account in accounts.items():
        if not isinstance(account, Account):
            raise TypeError(f"The account {name!r} must be an Account, got {shown(account)}.")
        if account.is_control:
            continue
        middle = {key: prior.quantile(0.5) for key, prior in account.priors.items()}
        given = {key: value for key, value in middle.items() if value is not None}
        find_learner(account.generator, {**account.fixed, **given})
    return accounts


def _find_tasks(names: Iterable[str]) -> tuple[dict[str, TaskEntry], dict[str, str]]:
    """Look up tasks by their names, or in the user's files that define ``TASK``."""
    found: dict[str, TaskEntry] = {}
    files: dict[str, str] = {}
    for name in names:
        if not name.endswith(".py"):
            found[name] = find_task(name)
            continue
        stem = Path(name).stem
        if not _STEM.fullmatch(stem):
            raise ValueError(
                f"The name of the file {shown(name)} becomes that of a folder: use at most 80 "
                "letters and digits."
            )
        if stem in TASKS or files.get(stem, name) != name:
            raise ValueError(f"There are two tasks {stem!r}: rename the file {shown(name)}.")
        if not Path(name).is_file():
            raise FileNotFoundError(
                f"{shown(name)} is not a file. Name a task, or your own Python file."
            )
        with errors_located(name):
            entry = runpy.run_path(name).get("TASK")
        if not isinstance(entry, TaskEntry):
            raise TypeError(
                f"{name} must define TASK = TaskEntry(build, statistics), from "
                f"replay.tasks.published; it has "
                f"{'no TASK' if entry is None else type(entry).__name__}."
            )
        if not callable(entry.builder):
            raise TypeError(
                f"The first field of TASK in {name} must be a function, got {shown(entry.builder)}."
            )
        statistics: object = entry.statistics  # a user may have written anything
        if not isinstance(statistics, tuple | list):
            raise TypeError(
                f"The statistics of TASK in {name} must be a tuple of names, got "
                f"{shown(statistics)}."
            )
        check_whole(f"min_length of TASK in {name}", entry.min_length, at_least=2)
        found[stem], files[stem] = entry, name
    return found, files


def _read(folder: str) -> pd.DataFrame:
    return _read_once(folder, Path(folder, _STUDIES).stat().st_mtime_ns)


@lru_cache(maxsize=1)
def _read_once(folder: str, modified: int) -> pd.DataFrame:
    table = Results(folder).read(_STUDIES)
    return check_table(table, ["task", "account", "draw", "finding"], f"{_STUDIES} of {folder}")
