"""Kinds of replay in the codes of an encoder, beside those in the places that they stand for."""

from __future__ import annotations

from typing import Any

import pandas as pd

from analyses.sequences.classification import classify
from analyses.sequences.runs import log_of
from replay.log.event_log import EventLog

__all__ = ["kinds_in_places"]


def kinds_in_places(run: Any) -> pd.DataFrame:
    """Compare the kind of each replay event in codes with its kind in true states.

    The kind of an event is that of its longest causal chain, the first of several.

    Parameters
    ----------
    run : Run
        Of an environment that tells its true states; without an encoder both kinds are the same.

    Returns
    -------
    pandas.DataFrame
        For each ``run, event`` with a sequence in codes or places, its index: the kinds in `codes`
        and `places` (`no_sequence` for none), and whether it `agrees`.

    Raises
    ------
    ValueError
        If the environment does not tell its true states.

    Examples
    --------
    >>> from replay import from_ascii, simulate
    >>> from replay.encoders import KMeans
    >>> from replay.worlds.place_code import place_code
    >>> env = place_code(from_ascii("S..G"), noise=0.01)
    >>> run = simulate(env, "episodic_control", encoder=KMeans(4, 500), n_steps=100, seed=1)
    >>> kinds_in_places(run)["agrees"].mean()
    np.float64(1.0)
    """
    log = log_of(run)
    logs = [log, log if getattr(run, "codes", None) is None else run.in_places()]
    kinds = pd.concat([_kinds(log) for log in logs], axis=1, keys=["codes", "places"])
    kinds = kinds.astype(object).fillna("no_sequence")
    return kinds.assign(agrees=kinds["codes"] == kinds["places"])


def _kinds(log: EventLog) -> pd.Series:
    longest = classify(log).sort_values("length", ascending=False, kind="stable")
    first = longest.drop_duplicates(["run", "event"]).set_index(["run", "event"])
    return pd.Series(first["kind"])
