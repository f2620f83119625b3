"""The comparison: accounts of replay in the tasks of experiments, and evidence for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from analyses.jobs.cost import WorkCost
from analyses.jobs.results import Results
from analyses.jobs.run import run
from analyses.jobs.study import Piece, Shown, Study
from analyses.studies.comparison.plan import (
    N_DRAWS,
    Accounts,
    Comparison,
    plan_comparison,
)
from analyses.studies.comparison.simulated_studies import estimate_studies, simulate_studies
from analyses.studies.comparison.tables import compare_tables
from replay.checks import known_arguments
from replay.tasks.published import TASKS, TaskEntry

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["STUDY", "compare"]


@known_arguments
def compare(
    tasks: Iterable[str] | Mapping[str, TaskEntry] = tuple(TASKS),
    accounts: Accounts | None = None,
    *,
    n_draws: int = N_DRAWS,
    seed: int = 0,
    jobs: int = 1,
    findings: pd.DataFrame | None = None,
    out: str | Path | None = None,
    on_cost: Callable[[WorkCost], None] | None = None,
    on_piece: Callable[[Piece], None] = lambda piece: None,
    tell: Callable[[str], None] = print,
) -> dict[str, pd.DataFrame]:
    """Ask how probable each published finding is if an account of replay were true.

    Parameters
    ----------
    tasks : iterable of str or mapping of str to TaskEntry, optional
        Names in ``TASKS``, or Python files that define ``TASK``; or entries of your own, by name.
    accounts : iterable of str or mapping of str to Account, optional
        Names in ``analyses.findings.accounts.ACCOUNTS``, by default all; or accounts of your own,
        by name.
    n_draws : int, default 128
        Draws of each account's parameters from their priors; each is a simulated study with new
        animals, in worlds of their own.
    seed : int, default 0
        Seed of everything.
    jobs : int, default 1
        How many processes to use; 1 starts none.
    findings : pandas.DataFrame, optional
        What :func:`analyses.findings.table.findings` gives, with your own if you like.
    out : path, optional
        A folder for tables and figures. What it holds of the same comparison is not made again.
    on_cost : callable, optional
        Called with a `WorkCost` when the first pieces have told it.
    on_piece : callable, optional
        Called with each piece when it is done; its group is the task.
    tell : callable, default print
        Told in a sentence what the user should know meanwhile.

    Returns
    -------
    dict of pandas.DataFrame
        All sequences are place sequences.

        ``evidence``
            One row a finding and account: `evidence` (bits beyond who knows nothing) and its Monte
            Carlo error `evidence_se`; `share_agreeing`, the share of the parameter space in which
            the finding is more probable than by knowing nothing; `predicted_low, predicted,
            predicted_high` (5, 50, 95 % of simulated studies: of the value, or of its difference
            from the null for directions and null results) beside `published, published_low,
            published_high`; `weight`, the finding's part in its study's vote; `diagnostic`, whether
            some account predicts it better than every control by a bit.
        ``sums``
            One row an account, a vote a study. Of all findings: `evidence_of_all` with 95 % over
            studies (`ci_low_of_all, ci_high_of_all`) and the Monte Carlo error of few draws
            (`evidence_se_of_all`), and how far it is `ahead_of_all` of the best control, with 95 %
            over the same studies. The same without ``_of_all`` of the diagnostic findings; these
            are those by which some account surpasses the controls, so their sums favour accounts.
        ``confusion``
            `truth, found, share`: who wins if the results were those of a simulated account.
        ``measurements``
            One row a statistic of a task: `information`, how many bits one more such study is
            expected to tell of which account is true, and the two accounts that it tells apart best
            (`apart`, at most 1 bit).
        ``regions``
            In which region of each parameter an account agrees with a finding.
        ``robustness``
            Both sums under other settings of the scoring, and of each half of the draws.
        ``studies, parameters``
            The simulated studies, and their parameters.
        ``findings``
            What was published.

    Raises
    ------
    TypeError
        If an account is none.
    ValueError
        If a name is unknown or a number out of range.
    FileExistsError
        If `out` holds something else.
    OSError
        If another process is writing to `out`, or it is read-only.

    Examples
    --------
    >>> tables = compare(["long_track"], ["episodic_control", "graph_walks"], n_draws=2)
    >>> found = tables["evidence"].set_index(["finding", "account"])["evidence"]
    >>> bool(found["davidson2009.reverse_of_directional", "episodic_control"] < 0)
    True
    """
    plan = plan_comparison(tasks, accounts, n_draws=n_draws, seed=seed, findings=findings)
    tables = run(STUDY, plan, out, jobs=jobs, on_cost=on_cost, on_piece=on_piece, tell=tell)
    return {Path(name).stem: table for name, table in tables.items()}


def _plan(size: float, seed: int) -> Comparison:
    return plan_comparison(n_draws=max(round(N_DRAWS * size), 2), seed=seed)


def _show(plan: Comparison, tables: Mapping[str, pd.DataFrame]) -> Iterator[Shown]:
    """Show the sums, what the controls do, who is mistaken for whom, and what to measure."""
    sums, found = tables["sums.csv"], tables["evidence.csv"]
    if not len(found):
        yield Shown(note="No published finding is tested in these tasks.")
        return
    shown = pd.DataFrame(
        {
            "account": sums["account"],
            "all findings": _with_interval(sums, "evidence", "ci"),
            "ahead of controls": _with_interval(sums, "ahead", "ahead"),
            "diagnostic ones": [
                f"{bits:.1f} ({low:.1f} to {high:.1f})"
                for bits, low, high in sums[["evidence", "ci_low", "ci_high"]].to_numpy(float)
            ],
        }
    )
    each = found.drop_duplicates("finding")
    n_told = int(each["diagnostic"].fillna(False).sum())
    yield Shown(
        "Evidence for each account, in bits beyond who knows nothing (95 % over studies)",
        shown,
        "Each study has one vote. Above 0: the findings are more probable than by knowing "
        f"nothing.\n{n_told} of {len(each)} findings are diagnostic: some account predicts them at "
        "least twice as well as every control.\nThat choice favours accounts; the sums of all "
        "findings don't.",
    )
    confusion = tables["confusion.csv"]
    yield Shown(
        "If an account were true, would this comparison find it?",
        pd.DataFrame(
            [_found(str(truth), rows) for truth, rows in confusion.groupby("truth", sort=False)],
            columns=["truth", "found", "mostly mistaken for"],
        ),
    )
    best = tables["measurements.csv"].head(8)
    yield Shown(
        "What to measure next: what one more study would tell of which account is true",
        best.assign(
            information=best["information"].map("{:.2f} bits".format),
            apart=best["apart"].map("{:.2f} bits".format),
        ).rename(columns={"most_apart": "tells apart best"}),
    )


def _with_interval(sums: pd.DataFrame, name: str, interval: str) -> list[str]:
    columns = [f"{name}_of_all", f"{interval}_low_of_all", f"{interval}_high_of_all"]
    return [
        f"{bits:.1f} ({low:.1f} to {high:.1f})" if bits == bits else ""
        for bits, low, high in sums[columns].to_numpy(float)
    ]


def _found(truth: str, rows: pd.DataFrame) -> tuple[str, str, str]:
    """Say how often an account is found, and what it is mistaken for."""
    shares = dict(zip(rows["found"], rows["share"].to_numpy(float), strict=True))
    right = shares.pop(truth)
    other = max(shares, key=lambda name: shares[name], default="")
    mistaken = f"{other} ({shares[other]:.0%})" if other and shares[other] > 0 else ""
    return truth, f"{right:.0%}", mistaken


def _draw(results: Results) -> Iterator[tuple[str, Figure]]:
    from analyses.plots.findings import page_figure, study_figures
    from analyses.plots.found_accounts import found_accounts_figure

    found = results.read("evidence.csv")
    if not len(found):
        return
    confusion = results.read("confusion.csv")
    yield "findings", page_figure(found, results.read("sums.csv"), confusion)
    yield "found_accounts", found_accounts_figure(confusion)
    for study, figure in study_figures(found):
        yield f"study_{study}", figure


STUDY = Study(
    "comparison",
    "Which account would replay what was found in animals?",
    "replay compare",
    plan=_plan,
    describe=Comparison.describe,
    pieces=Comparison.n_pieces,
    make=simulate_studies,
    summarise=compare_tables,
    figures={"findings": _draw},
    n_figures=lambda plan: 2 + len({s for task in plan.tasks for s in plan.tested(task)["study"]}),
    show=_show,
    estimate=estimate_studies,
    size=lambda plan, piece: float(
        len(plan.parts()[piece.number].draws) * plan.n_animals(piece.group)
    ),
)
