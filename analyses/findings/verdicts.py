"""Whether what a model replays agrees with what was published, finding by finding, and why."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import pandas as pd

from analyses.findings.table import as_share, published_ranges
from replay.checks import check_choice, check_column, check_table

__all__ = [
    "LEAST_ANIMALS",
    "NEED_CHOICES",
    "VERDICTS",
    "excluding",
    "expectation",
    "held_against",
    "verdicts",
]

VERDICTS = ("agrees", "disagrees", "not comparable")

LEAST_ANIMALS = 6
"""With fewer, no sign test can reach p < 0.05."""

NEED_CHOICES = ("S8_followed", "S8_future_arm", "S8_taken_centre", "S8_taken_side")
"""Statistics of whether replay tells the next choice: given laps are nobody's choice."""

_LEVEL = 0.05
_FINDING = ["id", "source", "value", "unit", "task_name", "statistic", "test", "quantity_class"]
_FINDING += ["expected_sign", "contradicts", "why_not", "second_hand"]
_WORDS = {1: "above", 0: "no consistent difference", -1: "below"}


class _Verdict(NamedTuple):
    verdict: str
    reason: str


def verdicts(
    statistics: pd.DataFrame, table: pd.DataFrame, *, behaviour: str = "own"
) -> pd.DataFrame:
    """Say for each learner and finding whether they agree, and why.

    A learner that replays nothing in a task disagrees with what is tested there: these findings
    describe replay, so an account without any is wrong about all of them, even where a statistic of
    nothing has no value. (Only where "no replay" is itself a value, such as no chains before the
    first lap, it counts as that value.) A learner that replays, but makes no chains of the kind in
    question, is not comparable.

    A direction agrees if a two-sided sign test over animals has p < 0.05 in the expected direction.
    Where no difference is expected, it agrees if the test finds none, which fewer animals make more
    likely: fewer than six are never compared.

    Parameters
    ----------
    statistics : pandas.DataFrame
        One row a task, learner and statistic: `task, learner, statistic, value, ci_low, ci_high,
        null, p, n_animals, n_above, n_below, chance_above, n_chains, n_replays` (pauses with any
        replay). `p` is that of a sign test of the animals above and below their nulls, of which
        chance puts the share `chance_above` above.
    table : pandas.DataFrame
        What `findings` gives. Findings of tasks that `statistics` doesn't have are left out.
    behaviour : {"own", "given"}, default "own"
        Whether learners chose the laps themselves; else ``NEED_CHOICES`` are not comparable.

    Returns
    -------
    pandas.DataFrame
        One row a learner and finding: `learner, finding, source, task, statistic`, what was
        measured, `published` (a share where it was a percentage), `published_low, published_high,
        expected_sign, verdict, reason, contradicts, second_hand`.

    Raises
    ------
    ValueError
        If columns are missing, a statistic of a task and a learner is there twice or no number, or
        `behaviour` is unknown.

    Examples
    --------
    >>> from analyses.findings.table import findings
    >>> statistics = pd.DataFrame({"task": "linear_track", "learner": ["balanced", "backward"],
    ...     "statistic": "S1", "value": [0.45, 1.0], "ci_low": [0.4, 1.0], "ci_high": [0.5, 1.0],
    ...     "null": 0.5, "p": [0.26, 0.002], "n_animals": 10, "n_above": [3, 10],
    ...     "n_below": [7, 0], "chance_above": 0.5, "n_chains": 100, "n_replays": 50})
    >>> found = verdicts(statistics, findings()).query("finding == 'mallory2025.rev_fraction'")
    >>> found[["learner", "verdict", "reason"]].to_numpy().tolist()[0]
    ['balanced', 'agrees', '0.45 lies within the studies, 0.391 to 0.543']
    >>> found["verdict"].tolist()
    ['agrees', 'disagrees']
    """
    columns = ["task", "learner", "statistic", "value", "ci_low", "ci_high", "null", "p"]
    columns += ["n_animals", "n_above", "n_below", "chance_above", "n_chains", "n_replays"]
    check_choice("behaviour", behaviour, ("own", "given"))
    check_table(statistics, columns, "statistics")
    for column in columns[3:]:
        check_column(statistics, column, "statistics", kind="number", missing=True)
    of_statistic = statistics.set_index(["task", "learner", "statistic"])
    if of_statistic.index.has_duplicates:
        raise ValueError("statistics must have one row for each task, learner and statistic.")
    rows: dict[Any, Any] = of_statistic.to_dict("index")
    ranges: dict[Any, Any] = published_ranges(table).set_index("quantity_class").to_dict("index")
    was_run = {(task, learner) for task, learner, _ in rows}
    check_table(table, _FINDING, "the table of findings")
    relevant = table[table["task_name"].isin({"", *statistics["task"]})]
    relevant = relevant.assign(published=as_share(relevant))
    made = []
    for learner in statistics["learner"].unique():
        for finding in relevant.to_dict("records"):
            row = rows.get((finding["task_name"], learner, finding["statistic"]), {})
            limits = ranges.get(finding["quantity_class"], {})
            why_not = finding["why_not"]
            if not why_not and behaviour != "own" and finding["statistic"] in NEED_CHOICES:
                why_not = "needs laps that the learner chose: behaviour 'own'"
            if not why_not and (finding["task_name"], learner) not in was_run:
                why_not = "not run there: ways back add nothing where states tell directions"
            made.append(
                {
                    "learner": learner,
                    "finding": finding["id"],
                    "source": finding["source"],
                    "task": finding["task_name"],
                    "statistic": finding["statistic"],
                    **{name: row.get(name, np.nan) for name in columns[3:]},
                    "published": finding["published"],
                    "published_low": limits.get("low", np.nan),
                    "published_high": limits.get("high", np.nan),
                    "expected_sign": finding["expected_sign"],
                    **_judge(finding, row, limits, why_not)._asdict(),
                    "contradicts": finding["contradicts"],
                    "second_hand": finding["second_hand"],
                }
            )
    return pd.DataFrame(made)


def _judge(
    finding: Mapping[Hashable, Any],
    row: Mapping[str, Any],
    limits: Mapping[str, float],
    why_not: str,
) -> _Verdict:
    if why_not:
        return _Verdict("not comparable", why_not)
    if finding["test"] == "none" or (finding["test"] == "range" and not limits):
        return _Verdict("not comparable", "one study alone makes no range")
    if not row:
        return _Verdict("not comparable", f"{finding['statistic']} was not measured there")
    if np.isnan(row["value"]):
        if row["n_replays"] == 0:
            return _Verdict("disagrees", "no replay at all")
        return _Verdict("not comparable", "it makes no such chains")
    if finding["test"] == "range":
        return _judge_range(row, limits)
    if np.isnan(row["null"]):
        return _Verdict("not comparable", "the statistic has no null to differ from")
    if row["n_animals"] < LEAST_ANIMALS:
        return _Verdict(
            "not comparable",
            f"{row['n_animals']:.0f} animals have a value, a sign test needs {LEAST_ANIMALS}",
        )
    return _judge_sign(int(finding["expected_sign"]), row)


def _judge_range(row: Mapping[str, Any], limits: Mapping[str, float]) -> _Verdict:
    studies = f"the studies, {limits['low']:.3g} to {limits['high']:.3g}"
    if limits["low"] <= row["value"] <= limits["high"]:
        return _Verdict("agrees", f"{row['value']:.3g} lies within {studies}")
    where = "below" if row["value"] < limits["low"] else "above"
    return _Verdict("disagrees", f"{row['value']:.3g} lies {where} {studies}")


def _judge_sign(expected: int, row: Mapping[str, Any]) -> _Verdict:
    n_above, n_below = int(row["n_above"]), int(row["n_below"])
    significant = row["p"] < _LEVEL  # false of NaN, where no animal differs
    n, chance = n_above + n_below, row["chance_above"]
    found = int(np.sign(n_above - chance * n)) if significant else 0
    counts = f"{n_above} of {row['n_animals']:.0f} animals above the null, {n_below} below"
    if n:
        by_chance = "" if chance == 0.5 else f" ({chance * n:.1f} above by chance)"
        counts += f"{by_chance}, p = {row['p']:.2g}"
    if found == expected:
        return _Verdict("agrees", f"{_WORDS[found]}, as expected: {counts}")
    return _Verdict("disagrees", f"expected {_WORDS[expected]}, found {_WORDS[found]}: {counts}")


def held_against(found: pd.DataFrame) -> pd.DataFrame:
    """Keep the findings that some learner could be held against, and number the different tests.

    Parameters
    ----------
    found : pandas.DataFrame
        What `verdicts` gives.

    Returns
    -------
    pandas.DataFrame
        Its rows, sorted by statistic and task, with the column `test`: findings that the same
        statistic tests in the same way have the same number, and the same verdict.
    """
    held = found.loc[found["verdict"] != "not comparable", "finding"]
    kept = found[found["finding"].isin(held)]
    way = kept["expected_sign"].where(kept["published_low"].isna(), 2.0)
    ordered = kept.assign(
        way=way, number=kept["statistic"].str.extract(r"(\d+)", expand=False).astype(float)
    ).sort_values(["number", "statistic", "task", "way"], kind="stable")
    tests = ordered.groupby(["number", "statistic", "task", "way"], sort=True, dropna=False)
    return ordered.assign(test=tests.ngroup()).drop(columns=["way", "number"])


def expectation(finding: Mapping[str, float] | pd.Series[Any]) -> str:
    """Say briefly what a finding expects of a model.

    Parameters
    ----------
    finding : row of a DataFrame
        With `published_low, published_high, expected_sign`.

    Returns
    -------
    str
        The range of the studies, or on which side of the null.

    Examples
    --------
    >>> expectation({"published_low": np.nan, "published_high": np.nan, "expected_sign": -1})
    'below'
    """
    low, high = finding["published_low"], finding["published_high"]
    if np.isnan(low):
        return _WORDS[int(finding["expected_sign"])]
    return f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"


def excluding(found: pd.DataFrame) -> dict[str, str]:
    """Give a letter to each set of findings that exclude each other.

    Parameters
    ----------
    found : pandas.DataFrame
        What `verdicts` gives. Sets of which no finding was held against a learner are left out.

    Returns
    -------
    dict of str
        Finding -> letter.
    """
    held = set(held_against(found)["finding"])
    findings = found.drop_duplicates("finding")
    graph = nx.Graph()
    excluded = findings["contradicts"].fillna("")
    for finding, others in zip(findings["finding"], excluded, strict=True):
        graph.add_edges_from((finding, other) for other in others.split())
    sets = [names for names in nx.connected_components(graph) if not held.isdisjoint(names)]
    return {
        name: letter
        for letter, names in zip("abcdefghijklmnopqrstuvwxyz", sets, strict=False)
        for name in sorted(names)
    }
