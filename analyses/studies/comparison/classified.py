"""Which account made the results of a study: a classifier over the vector of its statistics.

The likelihoods of `analyses.findings.evidence` judge each statistic alone. Here all results of a
study are one vector, and a classifier that is trained on simulated studies, and calibrated on
others, names the account. A statistic that is not defined is a value like others.
"""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pandas as pd

from analyses.findings.evidence import Count, Direction, Null, Published, Value
from analyses.inference.model_choice import ModelChoice, Simulations, class_name
from analyses.studies.comparison.plan import Comparison
from analyses.studies.comparison.predictions import Predictions

__all__ = ["classified"]

_LEAST_DRAWS = 8  # of each account, for a calibration
_N_REPEATS = 4  # of each simulated study, with other noise
_UNDEFINED = -9.0  # outside of all ranges
_COLUMNS = ["study", "found", "probability", "p", "recovered", "calibration_error"]


def classified(plan: Comparison, known: Predictions, rng: np.random.Generator) -> pd.DataFrame:
    """Classify each published study, by statistics with the noise that the likelihoods assume.

    Returns, for each study and each class of accounts that the classifier cannot tell apart, the
    calibrated `probability`, and the `p` of how unusual the study is among those of the class; for
    each study, how often the class of simulated studies is `recovered`, and the
    `calibration_error`. Empty with fewer than eight draws or two accounts, and without
    scikit-learn.
    """
    names = list(plan.accounts) if find_spec("sklearn") else []
    least = min((plan.n_studies(name) for name in names), default=0)
    of_study: dict[str, list[int]] = {}
    for number, row in enumerate(known.rows):
        of_study.setdefault(str(row["study"]), []).append(number)
    rows = []
    for study, numbers in of_study.items() if least >= _LEAST_DRAWS and len(names) > 1 else ():
        results = [known.results[number] for number in numbers]
        labels = [str(known.rows[number]["id"]) for number in numbers]
        made = [
            (name, draw, [_seen(known, number, name, draw, rng) for number in numbers])
            for name in names
            for draw in range(plan.n_studies(name))
            for _ in range(_N_REPEATS)
        ]
        account, draws, features = zip(*made, strict=True)
        simulations = Simulations(
            np.array(account, dtype=object),
            np.array(draws),
            pd.DataFrame(list(features), columns=labels),
        )
        choice = ModelChoice(simulations, int(rng.integers(2**31)))
        published = pd.DataFrame([[_value(result) for result in results]], columns=labels)
        quality = choice.summary()
        for members, probability in zip(
            choice.classes, choice.probabilities(published)[0].tolist(), strict=True
        ):
            rows.append(
                (
                    study,
                    class_name(members),
                    probability,
                    float(choice.misfit(published, members)[0]),
                    quality["recovered"],
                    quality["calibration_error"],
                )
            )
    return pd.DataFrame(rows, columns=_COLUMNS)


def _seen(
    known: Predictions, number: int, account: str, draw: int, rng: np.random.Generator
) -> float:
    """Return what a simulated study would publish of a finding, as a number."""
    studies = known.studies[number][account]
    if not studies.has_replay[draw]:
        return _UNDEFINED
    return _value(known.results[number].as_found(studies, draw).repeated(rng))


def _value(result: Published) -> float:
    """Return a result as a number: a share, a value, a sign, or the middle of an interval."""
    match result:
        case Count():
            return result.successes / result.trials
        case Value():
            return result.value
        case Direction():
            return result.sign
        case Null():
            return (result.excluded_low + result.excluded_high) / 2
    raise TypeError(f"A result of the kind {result.kind!r} has no value.")
