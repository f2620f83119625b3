"""The comparison: learners in the tasks of experiments, and each finding held against them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from analyses.findings.verdicts import expectation, held_against
from analyses.jobs.cost import Cost
from analyses.jobs.results import Results
from analyses.jobs.run import run
from analyses.jobs.study import Piece, Shown, Study
from analyses.studies.comparison.compared_tables import compare_tables
from analyses.studies.comparison.pieces import measure_animals
from analyses.studies.comparison.plan import ComparedLearners, Comparison, plan_comparison
from analyses.studies.comparison.timing import estimate_animals
from replay.tasks.published import TASKS, TaskEntry

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["STUDY", "compare"]

_SIGNS = {"agrees": "+", "disagrees": "-", "not comparable": "."}
_NO_REPLAY = "0"


def compare(
    tasks: Iterable[str] | Mapping[str, TaskEntry] = tuple(TASKS),
    learners: ComparedLearners | None = None,
    *,
    n_animals: int = 20,
    behaviour: str = "given",
    seed: int = 0,
    jobs: int = 1,
    findings: pd.DataFrame | None = None,
    out: str | Path | None = None,
    on_cost: Callable[[Cost], None] | None = None,
    on_piece: Callable[[Piece], None] = lambda piece: None,
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
        What :func:`analyses.findings.table.findings` gives, with your own if you like.
    out : path, optional
        A folder for tables and figures. What it holds of the same comparison is not made again.
    on_cost : callable, optional
        Called with a `Cost` before the first piece; some animals are timed for it.
    on_piece : callable, optional
        Called with each piece when it is done; its group is the task.
    tell : callable, default print
        Told in a sentence what the user should know meanwhile.

    Returns
    -------
    dict of pandas.DataFrame
        ``statistics``
            One row a task, learner, statistic, `order` (of chains) and `min_length`: `label, value`
            (mean over animals) `, ci_low, ci_high, null, p, n_animals`; how many animals are above
            and below their nulls, and what share of these chance puts above; `n_chains, n_replays,
            reversible` (whether the learned model knows the reverse of each move) and `judged`,
            whether verdicts rest on this row.
        ``verdicts``
            As `analyses.findings.verdicts.verdicts` gives them.
        ``animals``
            One row an animal and statistic: `value, null, n`.
        ``chains, pauses``
            How many chains of which direction and novelty, and how many pauses and backups.
        ``findings``
            What was published.

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
    plan = plan_comparison(
        tasks, learners, n_animals=n_animals, behaviour=behaviour, seed=seed, findings=findings
    )
    tables = run(STUDY, plan, out, jobs=jobs, on_cost=on_cost, on_piece=on_piece, tell=tell)
    return {Path(name).stem: table for name, table in tables.items()}


def _plan(size: float, seed: int) -> Comparison:
    return plan_comparison(n_animals=max(round(20 * size), 1), seed=seed)


def _show(plan: Comparison, tables: Mapping[str, pd.DataFrame]) -> Iterator[Shown]:
    """Show findings by learners, one sign each."""
    verdicts = tables["verdicts.csv"]
    held = held_against(verdicts)
    learners = list(dict.fromkeys(verdicts["learner"]))
    rows = []
    for _, test in held.groupby("test"):
        cells = test.drop_duplicates("learner").set_index("learner").loc[learners]
        signs = "".join(_sign(cell) for _, cell in cells.iterrows())
        first = test.iloc[0]
        sources = ", ".join(dict.fromkeys(test["source"]))
        rows.append((signs, f"{first['statistic']} {first['task']}", sources, expectation(first)))
    numbers = "".join(str(number % 10) for number in range(1, len(learners) + 1))
    columns = [numbers, "statistic and task", "studies", "found"]
    yield Shown(table=pd.DataFrame(rows, columns=columns))
    agreed = held[held["verdict"] == "agrees"].drop_duplicates(["learner", "test"])
    counts = agreed.groupby("learner").size()
    named = pd.DataFrame({"": [str(number) for number in range(1, len(learners) + 1)]})
    named["learner"] = learners
    named["agrees with"] = [f"{counts.get(name, 0)} of {len(rows)}" for name in learners]
    n_others = verdicts["finding"].nunique() - held["finding"].nunique()
    yield Shown(
        table=named,
        note=f"{_SIGNS['agrees']} agrees   {_SIGNS['disagrees']} disagrees   {_NO_REPLAY} replays "
        f"nothing   {_SIGNS['not comparable']} not comparable\n{n_others} other published values "
        "are not comparable with any learner: verdicts.csv says why.",
    )


def _sign(cell: pd.Series) -> str:
    if cell["verdict"] == "disagrees" and pd.isna(cell["value"]):
        return _NO_REPLAY
    return _SIGNS[cell["verdict"]]


def _draw(results: Results) -> Iterator[tuple[str, Figure]]:
    from analyses.plots.findings import grid_figure, statistics_figure

    statistics, found = results.read("statistics.csv"), results.read("findings.csv")
    main = statistics.loc[statistics["judged"], ["task", "min_length"]].drop_duplicates()
    yield "findings", grid_figure(results.read("verdicts.csv"))
    for task, rows in statistics.merge(main).groupby("task", sort=False):
        yield f"statistics_{task}", statistics_figure(rows, found)


STUDY = Study(
    "comparison",
    "Which learner replays what was found in animals?",
    "replay compare",
    plan=_plan,
    describe=Comparison.describe,
    pieces=Comparison.n_pieces,
    make=measure_animals,
    summarise=compare_tables,
    figures={"findings": _draw},
    show=_show,
    estimate=estimate_animals,
)
