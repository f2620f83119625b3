"""Simulation of accounts of replay in the tasks of experiments, and the evidence for each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from analyses.findings.table import findings as published_findings
from analyses.jobs import N_DRAWS_COMPARED
from analyses.jobs.kept import Kept, run_in_scratch
from analyses.jobs.results import Results
from analyses.jobs.run import run
from analyses.jobs.study import Shown, Study
from analyses.reports.text import plural, rows_of
from analyses.studies.comparison import Accounts, Comparison, plan_comparison, plan_rescoring
from analyses.studies.comparison.identification import (
    classified,
    confusion,
    fit,
    identification,
    measurements,
    mistaken,
    mixtures,
)
from analyses.studies.comparison.scores import SETTINGS, evidence_table, regions, robustness, sums
from analyses.studies.comparison.simulated_studies import (
    estimate_studies,
    predictions,
    settings,
    simulate_studies,
)
from replay.checks import known_arguments, typed
from replay.tasks.published import TASKS, TaskEntry

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_LEVEL = 0.05  # of the predictive p, below which an account does not fit
_N_FIRST = 4  # accounts of each order that are printed
_MOST_OWN = 5  # findings of one's own that are printed; the tables have all
_ORDERS = {"by all findings": "evidence_of_all", "by values": "value_of_all"}
"""The name of an order of accounts -> the column of sums by which they are ordered."""


class Compared(Kept, dict[str, pd.DataFrame]):
    """The tables of a comparison by name, with all that ``replay compare`` writes and prints."""

    plan: Comparison

    def __repr__(self) -> str:
        """Say what was found."""
        return _what_was_found(self.plan, self["sums"], self["fit"])


# Many parameters: they are the options of ``replay compare``.
@known_arguments
@typed
def compare(
    tasks: Iterable[str] | Mapping[str, TaskEntry] = tuple(TASKS),
    accounts: Accounts | None = None,
    *,
    n_draws: int = N_DRAWS_COMPARED,
    seed: int = 0,
    jobs: int = 1,
    findings: pd.DataFrame | None = None,
    simulated: str | Path | None = None,
    wrong_places: float = 0.0,
    out: str | Path | None = None,
) -> Compared:
    """Compute how probable each published finding is if an account of replay were true.

    Parameters
    ----------
    tasks : iterable of str or mapping of str to TaskEntry, optional
        Names in ``TASKS``, or Python files that define ``TASK``; or your own entries, by name.
    accounts : iterable of str or mapping of str to Account, optional
        Names in ``analyses.findings.accounts.ACCOUNTS``, by default all; or your own accounts, by
        name.
    n_draws : int, default 128
        Draws of each account's parameters from their priors; each is a simulated study with new
        animals in their own worlds.
    seed : int, default 0
        Seed of everything.
    jobs : int, default 1
        Number of processes; 1 starts none.
    findings : pandas.DataFrame, optional
        As :func:`analyses.findings.table.findings` returns them, possibly with your own.
    simulated : path, optional
        The folder of a finished comparison, whose simulated studies are scored again; `tasks`,
        `accounts`, `n_draws`, `wrong_places` and `seed` are those of the folder, and not given.
    wrong_places : float, default 0
        The share of replayed places, from 0 to 1, that are read as any place of the task, as if
        replay were decoded from spikes.
    out : path, optional
        A folder for tables and figures. Finished pieces of the same comparison in it are used.

    Returns
    -------
    Compared
        The tables by name, all of place sequences: ``evidence``, ``sums``, ``fit``, ``confusion``,
        ``identification``, ``mixtures``, ``classified``, ``measurements``, ``regions``,
        ``robustness``, ``studies``, ``parameters`` and ``findings``; with ``report()``,
        ``figures()`` and ``save(folder)``. ``replay columns NAME`` says what each table holds. Sums
        over diagnostic findings favour accounts, those over all do not.

    Examples
    --------
    >>> compared = compare(["long_track"], ["episodic_control", "graph_walks"], n_draws=2)
    >>> found = compared["evidence"].set_index(["finding", "account"])["evidence"]
    >>> bool(found["davidson2009.reverse_of_directional", "episodic_control"] < 0)
    True
    >>> print(compared.report().splitlines()[0])
    # Which account of replay predicts the findings in animals best?
    """
    given: dict[str, Any] = {
        "tasks": tasks, "accounts": accounts, "n_draws": n_draws, "seed": seed,
        "wrong_places": wrong_places,
    }  # fmt: skip
    if simulated is None:
        plan = plan_comparison(findings=findings, **given)
    else:
        plan = plan_rescoring(simulated, findings, **given)
    compared = Compared()
    compared.plan = plan
    if out is None:
        compared._scratch, tables = run_in_scratch(STUDY, plan, jobs)
    else:
        compared._folder = Path(out)
        tables = run(STUDY, plan, out, jobs=jobs)
    compared.update({Path(name).stem: table for name, table in tables.items()})
    return compared


def _show(plan: Comparison, tables: Mapping[str, pd.DataFrame]) -> Iterator[Shown]:
    """Show the sums, which accounts are mistaken for each other, and what to measure next."""
    sums, found, fit = (tables[f"{name}.csv"] for name in ("sums", "evidence", "fit"))
    yield Shown("What was found", note=_what_was_found(plan, sums, fit))
    if not len(found):
        return
    # Who gives findings of their own asks about these first.
    yield from _shown_own(found[~found["finding"].isin(published_findings()["id"])])
    yield _shown_two_orders(sums[~sums["account"].str.contains("(", regex=False)])
    yield _shown_fit(fit, plan.n_draws)
    shown = pd.DataFrame(
        {
            "account": sums["account"],
            "all findings": _with_interval(sums, "evidence", "ci"),
            "ahead of controls": _with_interval(sums, "ahead", "ahead"),
            "is there replay": sums["presence_of_all"].map("{:.1f}".format),
            "its value": sums["value_of_all"].map("{:.1f}".format),
            "diagnostic ones": _with_interval(sums, "evidence", "ci", ""),
        }
    )
    each = found.drop_duplicates("finding")
    n_diagnostic = int(each["diagnostic"].fillna(False).sum())
    rival = "every control" if found["is_control"].any() else "a uniform prediction (no control)"
    yield Shown(
        "Evidence for each account, in bits against a uniform prediction (95 % over studies)",
        shown,
        "Each study has one vote. Above 0, the findings are more probable than under a uniform "
        f"prediction. {n_diagnostic} of {len(each)} findings are diagnostic: some account predicts "
        f"them at least twice as well as {rival}. This selection favours accounts; the sums of "
        "all findings do not. Evidence has two factors: whether there is such replay "
        "at all, and its value if there is. A statistic that is not defined costs only the first.",
    )
    names = [name for name in sums.loc[~sums["is_control"], "account"] if "(" not in name]
    if len(names) > 1:
        yield _shown_orders(tables["robustness.csv"], names)
    truths = [
        (row.truth, f"{row.right:.0%}", f"{row.mistaken_for} ({row.share_mistaken:.0%})",
         f"{row.statistic} in {row.task} ({row.apart:.2f} bits)")
        if row.mistaken_for else (row.truth, f"{row.right:.0%}", "", "")
        for row in rows_of(tables["mistaken.csv"])
    ]  # fmt: skip
    columns = ["truth", "found", "mostly mistaken for", "what would tell them apart"]
    yield Shown(
        "If an account were true, would this comparison find it?",
        pd.DataFrame(truths, columns=columns),
    )
    if len(tables["classified.csv"]):
        yield _shown_classes(tables["classified.csv"])
    best = tables["measurements.csv"].head(8)
    yield Shown(
        "What to measure next: expected information of one more study about the true account",
        best.assign(
            information=best["information"].map("{:.2f} bits".format),
            apart=best["apart"].map("{:.2f} bits".format),
        ).rename(columns={"most_apart": "separates best"}),
    )


def _what_was_found(plan: Comparison, sums: pd.DataFrame, fit: pd.DataFrame) -> str:
    """Say whether any account fits the findings, and which ones are ahead of all controls."""
    if not len(sums):
        return "No published finding is tested in these tasks."
    n_fitting = int((fit["p"] > _LEVEL).sum())
    told = [
        f"{plural(int(sums['n_findings_of_all'].max()), 'published finding')} in "
        f"{plural(len(plan.tasks), 'task')}, compared with {plural(plan.n_draws, 'simulated set')} "
        "of studies of each account.",
        f"{n_fitting or 'None'} of {plural(len(fit), 'account')} (controls, and accounts as "
        f"published, included) {'fits' if n_fitting <= 1 else 'fit'}. To fit, more than "
        f"{_LEVEL:.0%} of the sets of studies that an account simulates must have as low a sum of "
        "evidence as the published one.",
    ]
    for name, column in _ORDERS.items():
        own = sums[~sums["account"].str.contains("(", regex=False)]
        own = own.sort_values(column, ascending=False, kind="stable")
        is_control = own["is_control"].astype(bool)
        if is_control.any() and not is_control.all():
            best = own[is_control].iloc[0]
            accounts = own[~is_control]
            n_ahead = int((accounts[column] > best[column]).sum())
            told.append(
                f"{name.capitalize()}, {n_ahead or 'none'} of {plural(len(accounts), 'account')} "
                f"{'is' if n_ahead <= 1 else 'are'} ahead of the best control, {best['account']}"
                + (f"; {accounts['account'].iloc[0]} is first." if n_ahead else ".")
            )
    return " ".join(told)


def _shown_two_orders(sums: pd.DataFrame) -> Shown:
    """Show the order by all findings beside that by values alone, with controls in both."""
    columns = {}
    for name, column in _ORDERS.items():
        order = sums.sort_values(column, ascending=False, kind="stable")
        columns[name] = [
            f"{row.account}{' (control)' * bool(row.is_control)} {getattr(row, column):.1f}"
            for row in rows_of(order)
        ]
    return Shown(
        "Two orders: by all findings, and by values where there is such replay (bits)",
        pd.DataFrame(columns),
    )


def _shown_own(found: pd.DataFrame) -> Iterator[Shown]:
    """Show one's own findings, with what each account predicts and the evidence for it."""
    for finding, rows in list(found.groupby("finding", sort=False))[:_MOST_OWN]:
        first = rows.iloc[0]
        ordered = rows.sort_values("evidence", ascending=False, kind="stable")
        published = "" if np.isnan(first["published"]) else f": {first['published']:.3g}"
        yield Shown(
            f"{finding}, {first['label']} in {first['task']}{published}",
            pd.DataFrame(
                {
                    "account": ordered["account"],
                    "predicted (90 % of studies)": [
                        f"{value:.2f} ({low:.2f} to {high:.2f})" if value == value else "no replay"
                        for value, low, high in ordered[
                            ["predicted", "predicted_low", "predicted_high"]
                        ].to_numpy(float)
                    ],
                    "evidence (bits)": ordered["evidence"].map("{:.1f}".format),
                }
            ),
        )
    n_more = found["finding"].nunique() - _MOST_OWN
    if n_more > 0:
        yield Shown(note=f"{n_more} more of your findings are in evidence.csv.")


def _shown_classes(classified: pd.DataFrame) -> Shown:
    """Show the accounts that a classifier finds for each study, and whether it looks like them."""
    first = classified.sort_values("probability", ascending=False, kind="stable")
    first = first.drop_duplicates("study").sort_index()
    return Shown(
        "Which accounts does a classifier find, by all statistics of a study together?",
        first.assign(
            probability=first["probability"].map("{:.2f}".format),
            p=first["p"].map("{:.3f}".format),
            recovered=first["recovered"].map("{:.0%}".format, na_action="ignore").fillna(""),
        ).drop(columns="calibration_error"),
        "p: how often a simulated study of these accounts is as unusual as the published one. "
        "recovered: how often the accounts of simulated studies are found. A statistic that is "
        "not defined is a value like others.",
    )


def _shown_fit(fit: pd.DataFrame, n_draws: int) -> Shown:
    """Show whether any account predicts the findings as well as its own."""
    few = (
        f" One draw alone can make p {1 / n_draws:.2f}: judge it with more draws."
        if 1 / n_draws > _LEVEL
        else ""
    )
    columns = fit[["expected_low", "expected_high"]].to_numpy(float)
    return Shown(
        "Does any account fit? The sum of evidence, and what it would be if the account were true",
        pd.DataFrame(
            {
                "account": fit["account"],
                "found (bits)": fit["evidence"].map("{:.1f}".format),
                "if it were true (90 %)": [f"{low:.1f} to {high:.1f}" for low, high in columns],
                "distance (sd)": fit["distance"].map("{:.1f}".format),
                "p": fit["p"].map("{:.3f}".format),
            }
        ),
        "p: the share of the sets of studies that an account simulates whose sum is as low as the "
        "published one (predictive p). distance: how far the published sum is "
        "below the mean of theirs, in their standard deviations. Orders compare accounts whether "
        f"they fit or not.{few}",
    )


def _shown_orders(robustness: pd.DataFrame, names: list[str]) -> Shown:
    """Show the order of accounts by assumption; `names` are in the usual order."""
    is_left_out = ~robustness["setting"].isin(SETTINGS)
    scored = robustness[~is_left_out]
    totals = scored.pivot_table("evidence_of_all", "account", "setting", sort=False)
    totals = totals.loc[[name for name in totals.index if name in names]]
    orders = {name: totals[name].sort_values(ascending=False, kind="stable") for name in totals}
    rows = [
        (name, ", ".join(order.index[:_N_FIRST]), totals["usual"].corr(order, method="kendall"))
        for name, order in orders.items()
    ]
    first = set.intersection(*(set(order.index[:_N_FIRST]) for order in orders.values()))
    shown = pd.DataFrame(rows, columns=["assumption", f"first {_N_FIRST} accounts", "tau"])
    shown["tau"] = shown["tau"].map("{:.2f}".format)
    told = ", ".join(name for name in names if name in first) or "none"
    # How often accounts are surely ahead of the best control when a study is left out.
    without = robustness[is_left_out & robustness["account"].isin(names)]
    left_out = without.dropna(subset=["ahead_low_of_all"])
    is_ahead = (left_out["ahead_low_of_all"] > 0).groupby(left_out["account"], sort=False)
    counts = is_ahead.agg(["sum", "size"]).itertuples(name=None)
    ahead = [f"{name} in {count} of {total}" for name, count, total in counts if count]
    return Shown(
        "The order of accounts under each assumption, and its agreement with the usual one "
        "(Kendall's tau)",
        shown,
        f"Among the first {_N_FIRST} under all of them: {told}."
        + " Each study, and then the findings with a caveat, are left out in turn. Ahead of the "
        f"best control, with an interval above 0: {', '.join(ahead) or 'none'}."
        * (len(left_out) > 0),
    )


def _with_interval(
    sums: pd.DataFrame, name: str, interval: str, ending: str = "_of_all"
) -> list[str]:
    """Format sums with their intervals; those of one study have none."""
    columns = [f"{each}{ending}" for each in (name, f"{interval}_low", f"{interval}_high")]
    shown = []
    for bits, low, high in sums[columns].to_numpy(float).tolist():
        known = "" if np.isnan(bits) else f"{bits:.1f}"
        shown.append(known if np.isnan(low) else f"{known} ({low:.1f} to {high:.1f})")
    return shown


def _draw(results: Results) -> Iterator[tuple[str, Figure]]:
    from analyses.plots.findings import (
        found_accounts_figure,
        page_figure,
        study_figures,
        sums_figure,
    )

    found = results.read("evidence.csv")
    if not len(found):
        return
    sums = results.read("sums.csv")
    yield "findings", page_figure(found, sums)
    yield "sums", sums_figure(sums, results.read("fit.csv"))
    yield "found_accounts", found_accounts_figure(results.read("confusion.csv"))
    for study, figure in study_figures(found):
        yield f"study_{study}", figure


def compare_tables(plan: Comparison, results: Results) -> dict[str, pd.DataFrame]:
    """Make all tables from the pieces; ``replay columns`` describes them."""
    simulated = results.read_pieces("studies")
    drawn = {name: settings(plan, name) for name in plan.candidates()}
    parameters = pd.DataFrame(
        [
            {"account": name, "draw": draw, "parameter": key, "value": str(value)}
            for name, sets in drawn.items()
            for draw, each in enumerate(sets)
            for key, value in each.items()
        ],
        columns=["account", "draw", "parameter", "value"],
    )
    # Most tables have a stream of their own, so that what one draws changes no other.
    known = predictions(plan, simulated)
    rng = np.random.default_rng([plan.seed, 1])
    found = evidence_table(plan, known, rng)
    fits = fit(known, np.random.default_rng([plan.seed, 2]))
    summed = sums(found, rng)
    confused = confusion(plan, known, rng)
    return {
        "fit.csv": fits,
        "mixtures.csv": mixtures(plan, known, np.random.default_rng([plan.seed, 3])),
        "evidence.csv": found,
        "sums.csv": summed,
        "confusion.csv": confused,
        "mistaken.csv": mistaken(plan, simulated, confused),
        "identification.csv": identification(
            plan, known, fits, np.random.default_rng([plan.seed, 4])
        ),
        "classified.csv": classified(plan, known, np.random.default_rng([plan.seed, 5])),
        "robustness.csv": robustness(plan, known, found, drawn),
        "regions.csv": regions(plan, known, drawn),
        "measurements.csv": measurements(plan, simulated, rng),
        "studies.parquet": simulated,
        "parameters.parquet": parameters,
        "findings.csv": plan.findings,
    }


STUDY = Study(
    "comparison",
    "Which account of replay predicts the findings in animals best?",
    plan=lambda size, seed: plan_comparison(
        n_draws=max(round(N_DRAWS_COMPARED * size), 2), seed=seed
    ),
    make=simulate_studies,
    summarise=compare_tables,
    figures={"findings": _draw},
    show=_show,
    estimate=estimate_studies,
    size=lambda plan, piece: float(
        len(plan.parts()[piece.number].draws) * plan.n_animals(piece.group)
    ),
    command="replay compare",
)
Compared.study = STUDY
