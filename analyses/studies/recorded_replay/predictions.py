"""Predictions of accounts of replay for the statistics of a recording.

The predictions are those of the comparison with findings (`replay compare`): for each account, the
values of a statistic in simulated studies with the maze, laps and criteria of the study that
published it. They are shown beside a recording's own values, not as a test of them: an animal in
another maze may differ for that reason alone.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from analyses.jobs.columns import TEXTS
from replay.checks import check_table
from replay.data import data_file
from replay.files import read_table

__all__ = ["beside_predictions", "read_predictions"]

_FILE = "evidence.csv"
_NUMBERS = ("count", "value")
_RECORDED = ["statistic", "label", "value", "ci_low", "ci_high", "null"]
_PREDICTED = ["statistic", "finding", "source", "task", "likelihood", "published"]
_PREDICTED += ["published_low", "published_high", "account", "is_control"]
_PREDICTED += ["predicted_low", "predicted", "predicted_high"]


def read_predictions(folder: str | Path | None = None) -> pd.DataFrame:
    """Read the predictions of accounts.

    Examples
    --------
    >>> published = read_predictions().query("statistic == 'forward_minus_reverse_at_rest'")
    >>> published.query("account == 'sfma'")["source"].tolist()
    ['Lee 2002']
    """
    path = data_file(f"comparison/{_FILE}") if folder is None else Path(folder) / _FILE
    if not path.is_file():
        raise FileNotFoundError(
            f"{path.parent} has no comparison with findings: {_FILE} is missing. Name a folder in "
            "which replay compare has finished."
        )
    table = check_table(read_table(path, TEXTS), [*_PREDICTED, "as_published"], str(path))
    # Accounts with published parameters are single points of the priors, and are left out.
    return table.loc[~table["as_published"].astype(bool), _PREDICTED]


def beside_predictions(statistics: pd.DataFrame, predictions: pd.DataFrame) -> pd.DataFrame:
    """Combine the statistics of a recording with the predictions of accounts.

    Examples
    --------
    >>> own = pd.DataFrame({"statistic": ["forward_minus_reverse_at_rest"],
    ...                     "label": ["forward replay"], "value": [0.2], "ci_low": [0.1],
    ...                     "ci_high": [0.3], "null": [0.0]})
    >>> beside_predictions(own, read_predictions())["finding"].unique().tolist()
    ['lee2002.forward']
    """
    check_table(statistics, _RECORDED, "statistics")
    check_table(predictions, _PREDICTED, "predictions")
    columns = ["published", "published_low", "published_high"]
    is_number = predictions["likelihood"].isin(_NUMBERS)
    known = predictions.assign(**{name: predictions[name].where(is_number) for name in columns})
    return statistics[_RECORDED].merge(known, on="statistic", how="inner")
