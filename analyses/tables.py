"""What the tables of the analyses share: the order of names.

Experiments, learners and kinds of replay keep the order in which the paper and its figures name
them. Names that are the user's own come after these, in the order in which they appear.
"""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from replay import experiments, learners

__all__ = ["EXPERIMENT_ORDER", "KINDS", "LEARNER_ORDER", "in_order", "in_paper_order"]

EXPERIMENT_ORDER = tuple(experiments.EXPERIMENTS)
"""The names of the experiments, in the paper's order."""

LEARNER_ORDER = tuple(learners.LEARNERS)
"""The names of the learners, the paper's first and in its order."""

KINDS = ("reverse_episode", "forward_episode", "novel_path", "ambiguous", "unexperienced")
"""The kinds of replay, in the order in which figures stack them."""

_ORDER = {"experiment": EXPERIMENT_ORDER, "learner": LEARNER_ORDER, "kind": KINDS}


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
    >>> in_order(["mine", "episodic_control", "q_lambda", "mine"], LEARNER_ORDER)
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
