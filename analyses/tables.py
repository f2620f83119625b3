"""The order of names in tables, and the labels of learners and accounts with parameters.

Experiments, learners and kinds of replay have the order in which the paper and its figures name
them. The user's own names come after these, in the order in which they appear.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

import pandas as pd

from replay import experiments, learners
from replay.checks import shown

EXPERIMENT_ORDER = tuple(experiments.EXPERIMENTS)
"""The names of the experiments, in the paper's order."""

LEARNER_ORDER = tuple(learners.LEARNERS)
"""The names of the learners, the paper's first and in its order."""

LEARNER_LABELS = {
    name: learners.find_learner(name).description.label or name.replace("_", " ")
    for name in LEARNER_ORDER
}
"""Name -> label in figures, from each learner's own description."""

KINDS = ("reverse_episode", "forward_episode", "novel_path", "ambiguous", "unexperienced")
"""The kinds of replay, in the order in which figures stack them."""

_MOST_NAMES = 100
_AS_PUBLISHED = " (as published)"
_ORDER = {"experiment": EXPERIMENT_ORDER, "learner": LEARNER_ORDER, "kind": KINDS}


def published_label(account: str) -> str:
    """Name an account with its authors' parameters, as tables do.

    Examples
    --------
    >>> published_label("sfma"), account_of(published_label("sfma"))
    ('sfma (as published)', 'sfma')
    """
    return f"{account}{_AS_PUBLISHED}"


def account_of(name: str) -> str:
    """Return the account that a name made by `published_label` stands for."""
    return name.removesuffix(_AS_PUBLISHED)


def in_order(names: Iterable[str], order: Iterable[str], most: float = _MOST_NAMES) -> list[str]:
    """Sort names by a fixed order; other names follow in the order in which they appear.

    There may be as many as a figure shows, unless `most` says otherwise.

    Examples
    --------
    >>> in_order(["mine", "episodic_control", "q_lambda", "mine"], LEARNER_ORDER)
    ['q_lambda', 'episodic_control', 'mine']
    """
    occurring = dict.fromkeys(names)
    if len(occurring) > most:
        raise ValueError(
            f"A figure shows {most} learners, worlds or the like at most, got "
            f"{len(occurring):,}, such as {shown(next(iter(occurring)))}. Choose some of them."
        )
    known = [name for name in order if name in occurring]
    return known + [name for name in occurring if name not in known]


def learner_label(name: str, settings: Iterable[str] = ()) -> str:
    """Write a learner and its parameters as one text, as in the column `learner` of tables.

    Each setting is written as ``name=value``.

    Examples
    --------
    >>> learner_label("sfma", ["replay_mode=reverse"])
    'sfma replay_mode=reverse'
    """
    return " ".join((name, *settings))


def read_learner_label(text: str) -> tuple[str, tuple[str, ...]]:
    """Separate a learner from its parameters.

    Examples
    --------
    >>> read_learner_label("sfma replay_mode=reverse")
    ('sfma', ('replay_mode=reverse',))
    """
    name, *settings = text.split(" ")
    return name, tuple(settings)


def read_settings(pairs: Iterable[str]) -> dict[str, Any]:
    """Read parameters that are written as ``name=value``; what is no number or flag is a name.

    Examples
    --------
    >>> read_settings(["n_replays=5", "priority=need"])
    {'n_replays': 5, 'priority': 'need'}
    """
    given = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not (key and equals and value):
            raise ValueError(
                f"A name must be followed by parameters as name=value, got {shown(pair)}."
            )
        try:
            given[key] = json.loads(value)
        except ValueError:
            given[key] = value
    return given


def different(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return the first row of each value; all rows if values cannot be compared.

    Examples
    --------
    >>> different(pd.Series(["maze", "maze", "tree"])).to_dict()
    {0: 'maze', 2: 'tree'}
    """
    try:
        return column.drop_duplicates()
    except TypeError:  # lists
        return column


def in_paper_order(table: pd.DataFrame) -> pd.DataFrame:
    """Convert `experiment`, `learner` and `kind` to categories in the paper's order.

    Examples
    --------
    >>> table = pd.DataFrame({"learner": ["episodic_control", "monte_carlo"]})
    >>> in_paper_order(table).sort_values("learner")["learner"].tolist()
    ['monte_carlo', 'episodic_control']
    """
    ordered: dict[str, Any] = {}
    for column, order in _ORDER.items():
        if column in table:
            names = table[column]
            known = in_order(names.dropna().unique(), order, most=math.inf)
            if isinstance(names.dtype, pd.CategoricalDtype):  # several times as fast
                ordered[column] = names.cat.set_categories(known, ordered=True)
            else:
                ordered[column] = pd.Categorical(names.astype(object), known, ordered=True)
    return table.assign(**ordered)
