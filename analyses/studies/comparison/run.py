"""The comparison itself: do all of it that is not done yet, make the tables, and draw them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from analyses.findings.published import findings as read_findings
from analyses.jobs import workers
from analyses.jobs.results import Results
from analyses.studies.comparison.cost import Cost, estimate
from analyses.studies.comparison.pieces import make_piece
from analyses.studies.comparison.plan import Comparison, Learners, plan_comparison
from analyses.studies.comparison.tables import make_tables
from analyses.studies.figures import draw
from replay.tasks.published import TASKS, TaskEntry

__all__ = ["compare"]


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
        What :func:`analyses.findings.published.findings` gives, with your own if you like.
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
            (mean over animals) `, ci_low, ci_high, null, p, n_animals`; how many animals are above
            and below their nulls, and what share of these chance puts above; `n_chains, n_replays,
            reversible` (whether the learned model knows ways back) and `judged`, whether verdicts
            rest on this row.
        ``verdicts``
            As `analyses.findings.verdicts.verdicts` gives them.
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
    >>> found = tables["statistics"].query("judged and statistic == 'S1'")
    >>> found[["value", "n_animals"]].to_numpy().tolist()
    [[1.0, 2.0]]
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
            tables = make_tables(plan, results, table)
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
        on_cost(estimate(plan, left, jobs))
    work = [(plan, *piece) for piece in left]
    with closing(workers.run(make_piece, work, jobs=jobs)) as outcomes:
        for outcome in outcomes:
            outcome.keep(results.folder)
            on_piece(outcome.experiment)


def _keep(results: Results, tables: Mapping[str, pd.DataFrame], table: pd.DataFrame) -> None:
    for name, each in tables.items():
        results.write(f"{name}.parquet" if name == "animals" else f"{name}.csv", each)
    results.write("findings.csv", table)
    results.finish("tables")
    draw("findings", results.folder)
    results.finish("figures")
