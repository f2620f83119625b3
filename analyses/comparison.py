"""Learners in the tasks of the experiments, and each published finding held against what they do.

The work is cut into pieces, some animals of one learner in one task. Pieces don't depend on one
another, so any number of processes gives the same bytes; what is finished is kept, and the same
call goes on from there.
"""

from __future__ import annotations

import runpy
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, nullcontext
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from analyses import workers
from analyses.animals import PAUSES, parameters, replays
from analyses.figures import draw
from analyses.findings import findings as read_findings
from analyses.pieces import Outcome
from analyses.replay_statistics import STATISTICS, Replays
from analyses.results import Results, write_table
from analyses.sequences import ORDERS
from analyses.statistics import mean_interval, sign_test
from analyses.tasks import TASKS, TaskEntry, find_task
from analyses.verdicts import verdicts
from analyses.workers import software
from replay.files import replacing
from replay.learners import LEARNERS, find_learner
from replay.names import unknown_name
from replay.tasks import BEHAVIOURS, Task

__all__ = ["Comparison", "Cost", "all_learners", "compare", "plan_comparison"]

_BATCH = 10  # animals of a piece
_LENGTHS = (3, 5)
_BY = ["task", "learner", "statistic", "order", "min_length"]
_CHAINS = ["phase", "order", "direction", "novelty"]
_BYTES_PER_PIECE = 150_000
_BYTES_OF_FIGURES = 10_000_000

Learners = Mapping[str, tuple[Any, Mapping[str, Any]]]
"""Name in the tables -> name in ``LEARNERS`` (or a module), and the parameters that differ."""


class Cost(NamedTuple):
    """What is left of a comparison costs.

    Attributes
    ----------
    n_animals : int
        Animals to simulate.
    seconds : float
        Time for them, if one process did it.
    n_bytes : float
        Room on disk.
    """

    n_animals: int
    seconds: float
    n_bytes: float


class Comparison(NamedTuple):
    """What is to be compared.

    Attributes
    ----------
    tasks : dict of str to TaskEntry
        The tasks, with all statistics that are asked of them.
    learners : dict
        Name in the tables -> name in ``LEARNERS`` (or a module), and parameters.
    n_animals : int
        Animals of each learner in each task.
    behaviour : str
        ``given`` laps, or the learner's ``own``.
    seed : int
        Seed of everything.
    """

    tasks: dict[str, TaskEntry]
    learners: dict[str, tuple[Any, dict[str, Any]]]
    n_animals: int
    behaviour: str
    seed: int

    def pieces(self, task: str) -> list[tuple[str, range]]:
        """List the pieces of a task: learners, and the numbers of their animals."""
        firsts = range(0, self.n_animals, _BATCH)
        one_way = _built(self.tasks[task].build).one_way
        return [
            (learner, range(first, min(first + _BATCH, self.n_animals)))
            for learner, (name, given) in self.learners.items()
            if not (one_way and _knows_ways_back(name, given))
            for first in firsts
        ]

    def manifest(self) -> dict[str, Any]:
        """Give all that the tables depend on."""
        return software() | {
            "study": "comparison",
            "experiments": list(self.tasks),
            "n_mdps": {task: len(self.pieces(task)) for task in self.tasks},
            "learners": {
                text: [find_learner(name).name, parameters(name, given)]
                for text, (name, given) in self.learners.items()
            },
            "statistics": {task: list(entry.statistics) for task, entry in self.tasks.items()},
            "min_length": {task: entry.min_length for task, entry in self.tasks.items()},
            "remarks": {task: _built(entry.build).remark for task, entry in self.tasks.items()},
            "n_animals": self.n_animals,
            "behaviour": self.behaviour,
            "seed": self.seed,
        }


@cache
def _built(build: Callable[[], Task]) -> Task:
    return build()


def _knows_ways_back(name: Any, given: Mapping[str, Any]) -> bool:
    return bool(find_learner(name, given).parameters.get("reversible", False))


def all_learners() -> dict[str, tuple[str, dict[str, Any]]]:
    """List all learners, and once more as reversible those whose model may know ways back.

    Returns
    -------
    dict
        Name in the tables -> name in ``LEARNERS`` and parameters.

    Examples
    --------
    >>> all_learners()["full_backups reversible=true"]
    ('full_backups', {'reversible': True})
    """
    plain: dict[str, tuple[str, dict[str, Any]]] = {name: (name, {}) for name in LEARNERS}
    return plain | {
        f"{name} reversible=true": (name, {"reversible": True})
        for name in LEARNERS
        if "reversible" in find_learner(name).parameters
    }


def plan_comparison(
    tasks: Iterable[str] | Mapping[str, TaskEntry] = tuple(TASKS),
    learners: Learners | None = None,
    *,
    n_animals: int = 20,
    behaviour: str = "given",
    seed: int = 0,
    findings: pd.DataFrame | None = None,
) -> Comparison:
    """Check what is to be compared, and add the statistics by which findings are tested.

    Parameters
    ----------
    tasks, learners, n_animals, behaviour, seed
        As in `compare`.
    findings : pandas.DataFrame, optional
        What `analyses.findings.findings` gives.

    Returns
    -------
    Comparison
        The plan.

    Raises
    ------
    ValueError
        If a name is unknown or a number out of range.

    Examples
    --------
    >>> plan = plan_comparison(["linear_track"], {"mine": ("dyna_q", {"n_replays": 5})})
    >>> plan.pieces("linear_track")
    [('mine', range(0, 10)), ('mine', range(10, 20))]
    """
    table = read_findings() if findings is None else findings
    if n_animals < 1:
        raise ValueError(f"The number of animals must be at least 1, got {n_animals}.")
    if behaviour not in BEHAVIOURS:
        raise unknown_name("behaviour", behaviour, BEHAVIOURS)
    chosen = dict(all_learners() if learners is None else learners)
    found = (
        dict(tasks) if isinstance(tasks, Mapping) else {_stem(name): _task(name) for name in tasks}
    )
    for what, names in (("task", found), ("learner", chosen)):
        if not names:
            raise ValueError(f"Name at least one {what}.")
    asked = table[(table["test"] != "none") & (table["why_not"] == "")]
    complete = {}
    for name, entry in found.items():
        of_findings = asked.loc[asked["task_name"] == name, "statistic"]
        statistics = tuple(dict.fromkeys((*entry.statistics, *of_findings)))
        for statistic in statistics:
            if statistic not in STATISTICS:
                raise unknown_name("statistic", statistic, STATISTICS)
        complete[name] = entry._replace(statistics=statistics)
    given = {text: (name, dict(params)) for text, (name, params) in chosen.items()}
    for name, params in given.values():
        find_learner(name, params)
    return Comparison(complete, given, n_animals, behaviour, seed)


def _stem(name: str) -> str:
    return Path(name).stem if name.endswith(".py") else name


def _task(name: str) -> TaskEntry:
    """Find a task by its name, or in a file of the user's that defines ``TASK``."""
    if not name.endswith(".py"):
        return find_task(name)
    if not Path(name).is_file():
        raise FileNotFoundError(f"{name} is no file. Name a task, or a Python file of your own.")
    entry = runpy.run_path(name).get("TASK")
    if not isinstance(entry, TaskEntry):
        raise TypeError(
            f"{name} must define TASK = TaskEntry(build, statistics), from analyses.tasks; it has "
            f"{'no TASK' if entry is None else type(entry).__name__}."
        )
    return entry


def compare(
    tasks: Iterable[str] | Mapping[str, TaskEntry] = tuple(TASKS),
    learners: Learners | None = None,
    *,
    n_animals: int = 20,
    behaviour: str = "given",
    seed: int = 0,
    jobs: int = 1,
    findings: pd.DataFrame | None = None,
    out: str | Path | None = None,
    on_cost: Callable[[Cost], None] | None = None,
    on_piece: Callable[[str], None] = lambda task: None,
    tell: Callable[[str], None] = print,
) -> dict[str, pd.DataFrame]:
    """Let animals of many learners go through tasks, and hold them against what was published.

    Parameters
    ----------
    tasks : iterable of str or mapping of str to TaskEntry, optional
        Names in ``TASKS``, or Python files that define ``TASK``; or entries of your own, by name.
    learners : mapping, optional
        Name in the tables -> name in ``LEARNERS`` (or a module), and parameters; by default
        `all_learners`.
    n_animals : int, default 20
        Animals of each learner in each task.
    behaviour : {"given", "own"}, default "given"
        Whether laps are given by the task, or run as the learner acts.
    seed : int, default 0
        Seed of everything.
    jobs : int, default 1
        How many processes to use; 1 starts none.
    findings : pandas.DataFrame, optional
        What :func:`analyses.findings.findings` gives, with your own if you like.
    out : path, optional
        A folder for tables and figures. What it holds of the same comparison is not made again.
    on_cost : callable, optional
        Called with a `Cost` before the first piece, for which some animals are timed.
    on_piece : callable, optional
        Called with the name of the task after each piece, those found done included.
    tell : callable, default print
        Told in a sentence what the user should know meanwhile.

    Returns
    -------
    dict of pandas.DataFrame
        ``statistics``
            One row a task, learner, statistic, `order` (of chains) and `min_length`: `label, value`
            (mean over animals) `, ci_low, ci_high, null, p, n_animals, n_above, n_below, n_chains,
            n_replays, reversible` (whether the learned model knows ways back) and `judged`, whether
            verdicts rest on this row.
        ``verdicts``
            As `analyses.verdicts.verdicts` gives them.
        ``animals``
            One row an animal and statistic: `value, null, n`.
        ``chains, pauses``
            How many chains of which direction and novelty, and how many pauses and backups.

    Raises
    ------
    ValueError
        If a name is unknown or a number out of range.
    FileExistsError
        If `out` holds something else.
    OSError
        If another process is writing to `out`, or it is read-only.

    Examples
    --------
    >>> tables = compare(["linear_track"], {"backward": ("episodic_control", {})}, n_animals=2)
    >>> tables["statistics"].query("judged and statistic == 'S1'")[["value", "n_animals"]]
       value  n_animals
    0    1.0          2
    """
    table = read_findings() if findings is None else findings
    plan = plan_comparison(
        tasks, learners, n_animals=n_animals, behaviour=behaviour, seed=seed, findings=table
    )
    if jobs < 1:
        raise ValueError(f"The number of jobs must be at least 1, got {jobs}.")
    scratch = TemporaryDirectory(prefix="hippocampal-replay-") if out is None else nullcontext(out)
    with scratch as folder, workers.ended(jobs):
        results = Results(folder)
        with results.writing(plan.manifest(), lambda name: tell(_damaged(name))):
            _make_pieces(plan, results, jobs, on_cost, on_piece, tell)
            tables = _tables(plan, results, table)
            if out is not None:
                _keep(results, tables, table)
    return tables


def _damaged(name: str) -> str:
    return f"{name} is damaged or gone, and is made again."


def _make_pieces(
    plan: Comparison,
    results: Results,
    jobs: int,
    on_cost: Callable[[Cost], None] | None,
    on_piece: Callable[[str], None],
    tell: Callable[[str], None],
) -> None:
    left = []
    for task in plan.tasks:
        for index in range(len(plan.pieces(task))):
            damaged = results.damaged(task, index)
            for name in damaged:
                tell(_damaged(name))
            if results.is_finished(task, index) and not damaged:
                on_piece(task)
            else:
                left.append((task, index))
    if left and on_cost is not None:
        on_cost(_cost(plan, left, jobs))
    work = [(plan, *piece) for piece in left]
    with closing(workers.run(_make_piece, work, jobs=jobs)) as outcomes:
        for outcome in outcomes:
            outcome.keep(results.folder)
            on_piece(outcome.experiment)


def _cost(plan: Comparison, left: list[tuple[str, int]], jobs: int) -> Cost:
    """Time one animal of each learner in one task, and of the slowest learner in each task.

    A learner that takes twice as long as another in one task is taken to do so in all.
    """
    pieces = [(task, *plan.pieces(task)[index]) for task, index in left]
    first = max(plan.tasks, key=lambda task: len(plan.pieces(task)))
    present = dict.fromkeys(learner for _, learner, _ in pieces)
    of_learner = dict(
        workers.run(_time, [(plan, first, learner) for learner in present], jobs=jobs)
    )
    slowest = max(of_learner, key=lambda key: of_learner[key])[1]
    wanted = [(plan, task, slowest) for task in dict.fromkeys(task for task, *_ in pieces)]
    of_task = dict(workers.run(_time, wanted, jobs=jobs))
    one = of_learner[first, slowest]
    n_animals = sum(len(animals) for *_, animals in pieces)
    seconds = sum(
        len(animals) * of_task[task, slowest] * of_learner[first, learner] / one
        for task, learner, animals in pieces
    )
    return Cost(n_animals, seconds, _BYTES_PER_PIECE * len(pieces) + _BYTES_OF_FIGURES)


def _time(plan: Comparison, task: str, learner: str) -> tuple[tuple[str, str], float]:
    """Time one animal, compiled already."""
    seconds = 0.0
    for _ in range(2):
        start = perf_counter()
        _measure(plan, task, _replays(plan, task, learner, range(1)))
        seconds = perf_counter() - start
    return (task, learner), seconds


def _replays(plan: Comparison, task: str, learner: str, animals: Iterable[int]) -> Replays:
    name, given = plan.learners[learner]
    built = _built(plan.tasks[task].build)
    return replays(built, name, given, animals=animals, seed=plan.seed, behaviour=plan.behaviour)


def _measure(plan: Comparison, task: str, made: Replays) -> pd.DataFrame:
    """Compute all statistics of some animals, for chains of both orders and all lengths."""
    entry = plan.tasks[task]
    rows = []
    for statistic in entry.statistics:
        for order in ORDERS:
            for min_length in sorted({*_LENGTHS, entry.min_length}):
                computed = STATISTICS[statistic].compute(made, min_length=min_length, order=order)
                rows.append(
                    computed.assign(statistic=statistic, order=order, min_length=min_length)
                )
    return pd.concat(rows, ignore_index=True)


def _make_piece(plan: Comparison, task: str, index: int) -> Outcome:
    """Make some animals of one learner in one task, and collect what came of them."""
    learner, animals = plan.pieces(task)[index]
    made = _replays(plan, task, learner, animals)
    labels = {"task": task, "learner": learner}
    long = made.chains["n_distinct"] >= plan.tasks[task].min_length
    chains = made.chains[long].groupby(_CHAINS, observed=True).size().reset_index(name="count")
    pauses = made.pauses.assign(replayed=made.pauses["n_backups"] > 0)
    pauses = pauses.groupby("phase")[["replayed", "n_backups"]].agg(["size", "sum"])
    counts = pd.DataFrame(
        {
            "phase": pauses.index,
            "n_pauses": pauses["replayed", "size"].to_numpy(),
            "n_replays": pauses["replayed", "sum"].to_numpy(),
            "n_backups": pauses["n_backups", "sum"].to_numpy(),
        }
    )
    tables = {"chains": chains, "pauses": counts}
    with TemporaryDirectory(prefix="hippocampal-replay-") as folder:
        results = Results(folder)
        with replacing(results.piece(task, index)) as beside:
            write_table(_measure(plan, task, made).assign(**labels), beside)
        for name, table in tables.items():
            with replacing(_counts(results, task, index, name)) as beside:
                write_table(table.assign(**labels), beside)
        results.finish_piece(task, index)
        files = [path for path in sorted(results.folder.rglob("*")) if path.is_file()]
        # The checksums that make the piece done, "pieces/TASK/N.sha256", come last.
        return Outcome(
            task, {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
        )


def _counts(results: Results, task: str, index: int, name: str) -> Path:
    return results.log(task, "counts", index, 0) / f"{name}.parquet"


def _tables(plan: Comparison, results: Results, table: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Put all pieces together."""
    made = [(task, index) for task in plan.tasks for index in range(len(plan.pieces(task)))]
    animals = pd.concat([results.read_piece(*piece) for piece in made], ignore_index=True)
    counts = {
        name: pd.concat(
            [pd.read_parquet(_counts(results, *piece, name)) for piece in made], ignore_index=True
        )
        for name in ("chains", "pauses")
    }
    chains = _added(plan, counts["chains"], ["task", "learner", *_CHAINS])
    pauses = _added(plan, counts["pauses"], ["task", "learner", "phase"])
    n_replays = pauses.groupby(["task", "learner"], observed=True)["n_replays"].sum()
    statistics = _summarise(plan, animals).join(n_replays, on=["task", "learner"])
    judged = statistics[statistics["judged"]]
    found = verdicts(judged, table, behaviour=plan.behaviour)
    how = judged.drop_duplicates(["task", "learner", "statistic"]).set_index(
        ["task", "learner", "statistic"]
    )[["label", "order", "min_length", "reversible"]]
    found = found.join(how, on=["task", "learner", "statistic"])
    return {
        "statistics": statistics,
        "verdicts": found,
        "animals": animals[[*_BY, "animal", "value", "null", "n"]],
        "chains": chains,
        "pauses": pauses,
    }


def _added(plan: Comparison, counts: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Add up the counts of all animals."""
    ordered = _in_order(plan, counts)
    return _plain(ordered.groupby(by, observed=True, as_index=False).sum(numeric_only=True))


def _in_order(plan: Comparison, table: pd.DataFrame) -> pd.DataFrame:
    """Make categories of names, so that groups come in the order of the plan."""
    statistics = dict.fromkeys(name for entry in plan.tasks.values() for name in entry.statistics)
    orders: dict[str, Iterable[str]] = {
        "task": plan.tasks,
        "learner": plan.learners,
        "statistic": statistics,
        "order": ORDERS,
        "phase": PAUSES,
    }
    return table.assign(
        **{
            name: pd.Categorical(table[name].astype(str), list(order), ordered=True)
            for name, order in orders.items()
            if name in table
        }
    )


def _plain(table: pd.DataFrame) -> pd.DataFrame:
    names = table.select_dtypes("category").columns
    return table.astype(dict.fromkeys(names, str))


def _summarise(plan: Comparison, animals: pd.DataFrame) -> pd.DataFrame:
    """Summarise each statistic over animals; as `analyses.replay_statistics.summarise`, at once."""
    rows = _in_order(plan, animals)
    difference = rows["value"] - rows["null"]
    rows = rows.assign(above=difference > 0, below=difference < 0)
    told = rows["value"].notna()
    groups = rows.assign(n=rows["n"].where(told, 0)).groupby(_BY, observed=True, sort=True)
    counts = groups.agg(
        null=("null", "mean"),
        n_above=("above", "sum"),
        n_below=("below", "sum"),
        n_chains=("n", "sum"),
    )
    means = (
        mean_interval(rows, "value", _BY)
        .set_index(_BY)
        .rename(columns={"mean": "value", "n": "n_animals"})
    )
    table = means.join(counts).reset_index()
    tests = {
        (n_above, n_below): sign_test(np.repeat([1.0, -1.0], [n_above, n_below])).p
        for n_above, n_below in {*zip(table["n_above"], table["n_below"], strict=True)}
    }
    pairs = zip(table["n_above"], table["n_below"], strict=True)
    table = _plain(table.assign(p=[tests[pair] for pair in pairs]))
    main = {task: entry.min_length for task, entry in plan.tasks.items()}
    reversible = {text: _knows_ways_back(*learner) for text, learner in plan.learners.items()}
    table = table.assign(
        label=table["statistic"].map(lambda name: STATISTICS[name].label),
        reversible=table["learner"].map(reversible),
        judged=(table["order"] == "causal") & (table["min_length"] == table["task"].map(main)),
    )
    columns = ["label", "value", "ci_low", "ci_high", "null", "p", "n_animals", "n_above"]
    return table[[*_BY, *columns, "n_below", "n_chains", "reversible", "judged"]]


def _keep(results: Results, tables: Mapping[str, pd.DataFrame], table: pd.DataFrame) -> None:
    for name, each in tables.items():
        results.write(f"{name}.parquet" if name == "animals" else f"{name}.csv", each)
    results.write("findings.csv", table)
    results.finish("tables")
    draw("findings", results.folder)
    results.finish("figures")
