"""The tables of a comparison, made of all its pieces."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from analyses.findings.verdicts import verdicts
from analyses.jobs.results import Results
from analyses.measures import STATISTICS
from analyses.measures.animals import PAUSES
from analyses.measures.summary import over_animals
from analyses.sequences.chains import ORDERS
from analyses.studies.comparison.pieces import COUNTED_BY
from analyses.studies.comparison.plan import Comparison

__all__ = ["compare_tables", "summarise_all"]

_BY = ["task", "learner", "statistic", "order", "min_length"]
_TEST = ["task", "learner", "statistic"]


def compare_tables(plan: Comparison, results: Results) -> dict[str, pd.DataFrame]:
    """Put all pieces together.

    Parameters
    ----------
    plan : Comparison
        What is compared.
    results : Results
        The folder, with all pieces.

    Returns
    -------
    dict of str to pandas.DataFrame
        The tables by the name of their files; `analyses.studies.comparison.compare` says what they
        hold.
    """
    animals = results.read_pieces("animals")
    chains = _added(plan, results.read_pieces("chains"), ["task", "learner", *COUNTED_BY])
    pauses = _added(plan, results.read_pieces("pauses"), ["task", "learner", "phase"])
    n_replays = pauses.groupby(["task", "learner"], observed=True)["n_replays"].sum()
    statistics = summarise_all(plan, animals).join(n_replays, on=["task", "learner"])
    judged = statistics[statistics["judged"]]
    found = verdicts(judged, plan.findings, behaviour=plan.behaviour)
    how = judged.set_index(_TEST)[["label", "order", "min_length", "reversible"]]
    return {
        "statistics.csv": statistics,
        "verdicts.csv": found.join(how, on=_TEST),
        "animals.parquet": animals[[*_BY, "animal", "value", "null", "n"]],
        "chains.csv": chains,
        "pauses.csv": pauses,
        "findings.csv": plan.findings,
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


def summarise_all(plan: Comparison, animals: pd.DataFrame) -> pd.DataFrame:
    """Summarise all statistics over animals, as `analyses.measures.summary.over_animals` does.

    Parameters
    ----------
    plan : Comparison
        What is compared.
    animals : pandas.DataFrame
        One row an animal and statistic: `task, learner, statistic, order, min_length, animal`,
        `value, null, n`.

    Returns
    -------
    pandas.DataFrame
        The table ``statistics`` of `analyses.studies.comparison.compare`, but for `n_replays`.
    """
    table = _plain(over_animals(_in_order(plan, animals), _BY))
    main = {task: entry.min_length for task, entry in plan.tasks.items()}
    reversible = {learner: plan.is_reversible(learner) for learner in plan.learners}
    table = table.assign(
        label=table["statistic"].map(lambda name: STATISTICS[name].label),
        reversible=table["learner"].map(reversible),
        judged=(table["order"] == "causal") & (table["min_length"] == table["task"].map(main)),
    )
    columns = ["label", "value", "ci_low", "ci_high", "null", "p", "n_animals", "n_above"]
    columns += ["n_below", "chance_above", "n_chains", "reversible", "judged"]
    return table[[*_BY, *columns]]
