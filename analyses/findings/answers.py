"""Which studies answer which question, and their values as shares."""

from __future__ import annotations

import pandas as pd

from replay.checks import check_cells, check_table, typed

__all__ = ["as_share", "questions"]


@typed
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
    needed = ["question", "study", "likelihood", "why_not"]
    rows = check_table(table, needed, "the table of findings")[needed]
    check_cells(rows, "the table of findings")
    rows = rows.astype(str).fillna("")
    rows = rows[rows["question"] != ""]
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

    Examples
    --------
    >>> as_share(pd.DataFrame({"value": [7.37, 0.49], "unit": ["%", "fraction"]})).tolist()
    [0.0737, 0.49]
    """
    shares = (table["value"] / 100).round(12)
    return table["value"].where(~table["unit"].str.startswith("%", na=False), shares)
