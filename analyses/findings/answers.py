"""Ranges of quantities that several studies measured, and which studies answer which question."""

from __future__ import annotations

import pandas as pd

from replay.checks import check_table

__all__ = ["as_share", "published_ranges", "questions"]


def published_ranges(table: pd.DataFrame) -> pd.DataFrame:
    """Return the range of each quantity that at least two studies measured.

    Values from tasks without a graph count, too; second-hand values don't.

    Parameters
    ----------
    table : pandas.DataFrame
        The table of `findings`.

    Returns
    -------
    pandas.DataFrame
        Columns `quantity_class, low, high, n_values, n_studies`, and `sources`, the studies in
        order of value.

    Raises
    ------
    ValueError
        If columns are missing.

    Examples
    --------
    >>> from analyses.findings.table import findings
    >>> ranges = published_ranges(findings())
    >>> ranges[["quantity_class", "low", "high", "n_studies"]].to_numpy().tolist()
    [['reverse of directional', 0.3908, 0.543, 5]]
    """
    columns = ["quantity_class", "likelihood", "second_hand", "value", "unit", "source", "study"]
    check_table(table, columns, "the table of findings")
    is_number = table["likelihood"].isin(["count", "value"]) & ~table["second_hand"]
    rows = table[is_number & (table["quantity_class"] != "")]
    rows = rows.assign(value=as_share(rows)).sort_values("value", kind="stable")
    groups = rows.groupby("quantity_class", sort=True)
    ranges = groups.agg(
        low=("value", "min"),
        high=("value", "max"),
        n_values=("value", "size"),
        n_studies=("study", "nunique"),
        sources=("source", lambda sources: ", ".join(dict.fromkeys(sources))),
    ).reset_index()
    return ranges[ranges["n_studies"] > 1].reset_index(drop=True)


def questions(table: pd.DataFrame) -> pd.DataFrame:
    """List the questions of the findings, and the studies that answer each.

    Parameters
    ----------
    table : pandas.DataFrame
        The table of `findings`.

    Returns
    -------
    pandas.DataFrame
        One row per question, in alphabetical order: `question`; `n_tested`, the number of findings
        that are tested on models; `n_studies` and `studies`, the studies that these findings come
        from; and `others`, studies whose answer cannot be compared with a model.

    Raises
    ------
    ValueError
        If columns are missing.

    Examples
    --------
    >>> from analyses.findings.table import findings
    >>> asked = questions(findings()).set_index("question")
    >>> asked.loc["Does replay predict the next choice?", "studies"]
    'shin2019, widloski2022'
    """
    check_table(table, ["question", "study", "likelihood", "why_not"], "the table of findings")
    rows = table[table["question"] != ""]
    tested = (rows["likelihood"] != "none") & (rows["why_not"] == "")
    found = []
    for question, group in rows.assign(tested=tested).groupby("question", sort=True):
        answer = sorted(set(group.loc[group["tested"], "study"]))
        found.append(
            {
                "question": question,
                "n_tested": int(group["tested"].sum()),
                "n_studies": len(answer),
                "studies": ", ".join(answer),
                "others": ", ".join(sorted(set(group["study"]).difference(answer))),
            }
        )
    return pd.DataFrame(found, columns=["question", "n_tested", "n_studies", "studies", "others"])


def as_share(table: pd.DataFrame) -> pd.Series[float]:
    """Return the values of findings, with percentages converted to shares.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns `value, unit`.

    Returns
    -------
    pandas.Series of float, shape (n_findings,)
        The values; NaN for findings without a value.

    Examples
    --------
    >>> as_share(pd.DataFrame({"value": [7.37, 0.49], "unit": ["%", "fraction"]})).tolist()
    [0.0737, 0.49]
    """
    shares = (table["value"] / 100).round(12)
    return table["value"].where(~table["unit"].str.startswith("%", na=False), shares)
