"""Which priorities explain logged backups? Exact, for accounts that choose among candidates.

A model's log, unlike a recording, says which backup was made, and its authors know among which
candidates, and with which priorities. An account then gives each choice a probability, by a power
of its priority: p(i) = (1 - lapse) priority_i ** power / sum_j priority_j ** power + lapse / n. A
power needs no units; 0 is random choice, and a large one the choice of the greatest priority.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import logsumexp, softmax

from replay.checks import check_array, typed

_POWERS = np.array([0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0])
_LAPSES = np.array([0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5])


@typed
def explain_backups(
    chosen: ArrayLike, priorities: Mapping[str, Sequence[ArrayLike]]
) -> pd.DataFrame:
    """Say which account's priorities explain the backups that were made.

    Parameters
    ----------
    chosen : array_like of int, shape (n_backups,)
        Which candidate was backed up, counted from 0, each time.
    priorities : mapping of str to sequence of array_like
        For each account, the priorities of all candidates each time, at least 0. For recency, give
        1 / rank.

    Returns
    -------
    DataFrame
        A row for each account: its `probability`, all being as probable before; its `bits`, log2 of
        the evidence per backup; `random_bits`, those of random choice; and the expected `power` and
        `lapse`.

    Raises
    ------
    ValueError
        If accounts have other numbers of candidates, or a priority is negative.

    Notes
    -----
    Powers from 0 to 16 and lapses from .001 to .5 are equally probable before.

    Examples
    --------
    >>> gain, age = [[0.1, 0.9], [0.2, 0.8], [0.7, 0.3]], [[1, 0.5], [1, 0.5], [1, 0.5]]
    >>> found = explain_backups([1, 1, 0], {"gain": gain, "recency": age})
    >>> found["account"].tolist(), found["probability"].round(2).tolist()
    (['gain', 'recency'], [0.9, 0.1])
    """
    made = check_array(chosen, "chosen", kind="whole", at_least=0)
    names, rows, n_candidates = list(priorities), [], None
    if not names:
        raise ValueError("priorities must have those of at least one account, got none.")
    for name in names:
        each = [
            check_array(values, f"priorities[{name!r}][{k}]", kind="number", at_least=0)
            for k, values in enumerate(priorities[name])
        ]
        own = [len(values) for values in each]
        n_candidates = own if n_candidates is None else n_candidates
        if own != n_candidates or len(own) != len(made):
            raise ValueError(
                f"{name!r} must have the priorities of as many candidates as {names[0]!r}, for "
                f"each of the {len(made):,} backups."
            )
        if not all(0 <= k < n for k, n in zip(made.tolist(), own, strict=True)):
            raise ValueError("chosen must count the candidates of each backup from 0.")
        # The evidence is a mean over a grid of powers and lapses, which are equally probable.
        log_p = np.zeros((len(_POWERS), len(_LAPSES)))
        for k, values in zip(made.tolist(), each, strict=True):
            # A priority of 0 remains possible with the power 0, which is random choice.
            log_values = np.log(np.maximum(values, np.finfo(float).tiny))
            p = softmax(_POWERS[:, None] * log_values, axis=1)[:, k]
            log_p += np.log((1 - _LAPSES) * p[:, None] + _LAPSES / len(values))
        weight = softmax(log_p)
        rows.append(
            {
                "account": name,
                "evidence": logsumexp(log_p) - np.log(log_p.size),
                "random_bits": -float(np.mean(np.log2(own))),
                "power": float(weight.sum(axis=1) @ _POWERS),
                "lapse": float(weight.sum(axis=0) @ _LAPSES),
            }
        )
    table = pd.DataFrame(rows)
    evidence = table.pop("evidence").to_numpy(dtype=np.float64)
    table.insert(1, "probability", softmax(evidence))
    table.insert(2, "bits", evidence / np.log(2) / len(made))
    return table
