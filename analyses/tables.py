"""What the tables of the analyses share: order of names, a check of columns, what is published.

Experiments, learners and kinds of replay keep the order in which the paper and its figures name
them. Names that are the user's own come after these, in the order in which they appear.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from replay import experiments, learners
from replay.names import unknown_name

__all__ = ["EXPERIMENTS", "KINDS", "LEARNERS", "data_file", "in_order", "in_paper_order"]
__all__ += ["reference_table", "require_columns"]

EXPERIMENTS = tuple(experiments.EXPERIMENTS)
LEARNERS = tuple(learners.LEARNERS)
KINDS = ("reverse_episode", "forward_episode", "novel_path", "ambiguous", "unexperienced")

_ORDER = {"experiment": EXPERIMENTS, "learner": LEARNERS, "kind": KINDS}


_HERE = Path(__file__).parent
_DATA = next(path for path in (_HERE / "data", _HERE.parent / "data") if path.is_dir())


def data_file(name: str) -> Path:
    """Find a file that ships with the toolkit, in an installed package or a checkout.

    Parameters
    ----------
    name : str
        Its path below ``data``.

    Returns
    -------
    Path

    Examples
    --------
    >>> data_file("README.md").exists()
    True
    """
    return _DATA / name


def reference_table(name: str) -> pd.DataFrame:
    """Read a table that ships with the toolkit.

    Parameters
    ----------
    name : str
        Folder and file without ending, such as ``"brea_2018/reward_rate"``; ``data/README.md``
        tells what they are.

    Returns
    -------
    pandas.DataFrame
        The table.

    Raises
    ------
    ValueError
        If there is none of that name; the message lists the choices.

    Examples
    --------
    >>> curves = reference_table("brea_2018/reward_rate")
    >>> curves.query("learner == 'episodic_control'").groupby("experiment")["mean"].last().round(2)
    experiment
    deterministic_tree                 0.97
    deterministic_tree_intermittent    0.96
    maze                               0.87
    stochastic_tree                    0.79
    Name: mean, dtype: float64
    """
    names = [path.relative_to(_DATA).with_suffix("").as_posix() for path in _DATA.rglob("*.csv")]
    if name not in names:
        raise unknown_name("table", name, sorted(names))
    return pd.read_csv(_DATA / f"{name}.csv")


def in_order(names: Iterable[str], order: Iterable[str]) -> list[str]:
    """Sort names by a fixed order; the others follow as they appear.

    Parameters
    ----------
    names : iterable of str
        Names, repeated or not.
    order : iterable of str
        The names that have a fixed place.

    Returns
    -------
    list of str
        Each name that occurs, once.

    Examples
    --------
    >>> in_order(["mine", "episodic_control", "q_lambda", "mine"], LEARNERS)
    ['q_lambda', 'episodic_control', 'mine']
    """
    occurring = dict.fromkeys(names)
    known = [name for name in order if name in occurring]
    return known + [name for name in occurring if name not in known]


def in_paper_order(table: pd.DataFrame) -> pd.DataFrame:
    """Make `experiment`, `learner` and `kind` ordered categories, in the paper's order.

    Parameters
    ----------
    table : pandas.DataFrame
        A table with any of the three columns.

    Returns
    -------
    pandas.DataFrame
        The same rows; sorting and grouping now keep the paper's order.

    Examples
    --------
    >>> table = pd.DataFrame({"learner": ["episodic_control", "monte_carlo"]})
    >>> in_paper_order(table).sort_values("learner")["learner"].tolist()
    ['monte_carlo', 'episodic_control']
    """
    ordered = {
        column: pd.Categorical(
            table[column].astype(object),
            in_order(table[column].dropna().unique(), order),
            ordered=True,
        )
        for column, order in _ORDER.items()
        if column in table
    }
    return table.assign(**ordered)


def require_columns(table: pd.DataFrame, columns: Iterable[str], name: str) -> None:
    """Check that a table has the columns that it is read for.

    Parameters
    ----------
    table : pandas.DataFrame
        The table.
    columns : iterable of str
        The columns needed.
    name : str
        What the table is called in the message.

    Raises
    ------
    ValueError
        If columns are missing.

    Examples
    --------
    >>> require_columns(pd.DataFrame({"mdp": [0]}), ["mdp"], "baselines")
    """
    columns = list(columns)
    missing = [column for column in columns if column not in table]
    if missing:
        raise ValueError(
            f"{name} lacks the columns {missing}: it needs {columns} and has {list(table.columns)}."
        )
