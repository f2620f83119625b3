"""The columns of the tables that ``replay explain`` writes."""

from __future__ import annotations

from collections.abc import Mapping

from analyses.jobs.columns import Column, Table

__all__ = ["COLUMNS", "CONFUSION", "LEFT_OUT", "RECOVERY"]

RECOVERY = {
    "n_sequences": Column("number of sequences of an animal"),
    "n_accounts": Column("number of accounts that replay enough"),
    "n_classes": Column("number of classes that can be told apart"),
    "recovered": Column("the share of simulated animals whose class comes first"),
    "sure": Column("the share of them with a class above .9"),
    "right_if_sure": Column("the share of these that is right", "", "if none is sure"),
    "calibration_error": Column("the expected calibration error of probabilities"),
}
"""How often simulated animals are classified right."""

_CLASS = Column("the account, or the accounts that cannot be told apart, joined by `or`")
CONFUSION = {
    "truth": Column("the account that was simulated"),
    "found": _CLASS,
    "share": Column("the share of its animals for which the class is found"),
}
"""Which class is found for which account."""

_FEW = "with fewer than two others"
LEFT_OUT = {
    "account": _CLASS,
    "sure": Column("the share of its animals for which another class is above .9", "", _FEW),
    "accepted": Column("the share for which it also passes the test of misfit", "", _FEW),
    "at_best": Column(
        "the share that would pass the most powerful test of the same level, which knows the "
        "account that is left out",
        "",
        _FEW,
    ),
    "taken_for": Column("the class for which most of these are taken", "", "if none"),
}
"""What happens if the true class is in no list."""

_COMMON = {
    "animal": Column("the name of the animal"),
    "account": _CLASS,
    "is_control": Column("whether it is a control, which does not learn"),
    "misfit": Column("how often an animal of the class is as unusual for it: the p of a test"),
    "low": Column("5 % lie below"),
    "high": Column("95 % lie below"),
    "feature": Column("the feature"),
}


def _table(row: str, names: str, own: Mapping[str, Column]) -> Table:
    return Table.of(row, names, {**_COMMON, **own})


COLUMNS = {
    "verdicts.csv": _table(
        "animal",
        "animal verdict text account probability misfit n_sequences silent walk_bits "
        "ceiling_bits recovered sure right_if_sure calibration_error",
        {
            "verdict": Column("`account`, `control`, `none`, `undecided` or `few`"),
            "text": Column("the verdict in words"),
            "probability": Column("that of the most probable class"),
            "silent": Column("accounts that replay too little to be compared", "", "if none does"),
            "walk_bits": Column("a walk along the track", "bits per sequence"),
            "ceiling_bits": Column("a model that learns from this replay", "bits per sequence"),
            **RECOVERY,
            "recovered": Column("the share of simulated animals whose class is the most probable"),
            "n_sequences": Column("number of sequences that are explained"),
        },
    ),
    "probabilities.csv": _table(
        "animal and class of accounts",
        "animal account is_control probability prior misfit power bits share_of_ceiling",
        {
            "probability": Column("the calibrated probability of the class"),
            "prior": Column("its probability before: its share of the accounts"),
            "power": Column(
                "how often this test would notice the listed account most like it",
                "",
                "if it holds all accounts",
            ),
            "bits": Column("the best of the class, held out", "bits per sequence"),
            "share_of_ceiling": Column(
                "how far it comes from the walk to the ceiling", "", "if there is no way"
            ),
        },
    ),
    "parameters.csv": _table(
        "animal, account and parameter",
        "animal account parameter median low high prior_low prior_high",
        {
            "account": Column("the account"),
            "parameter": Column("its parameter"),
            "median": Column("the median given the animal's replay"),
            "prior_low": Column("the same before"),
            "prior_high": Column("the same before"),
        },
    ),
    "misfits.csv": _table(
        "animal and feature that its class does not explain",
        "animal feature value low high distance",
        {
            "value": Column("that of the animal"),
            "low": Column("5 % of simulated animals lie below"),
            "high": Column("95 % of them lie below"),
            "distance": Column("from their median, in half-widths of this interval"),
        },
    ),
    "importance.csv": _table(
        "animal and feature",
        "animal feature importance",
        {"importance": Column("its share in telling accounts apart")},
    ),
    "explained.parquet": _table(
        "animal, account and sequence",
        "animal account sequence event lap states bits",
        {
            "account": Column("the account, `walk` or `ceiling`"),
            "event": Column("the number of its event"),
            "sequence": Column("its number, from 0"),
            "lap": Column("the lap, from 0"),
            "states": Column("the places as replayed"),
            "bits": Column("log2 of its probability, held out", "bits"),
        },
    ),
    "confusion.csv": _table(
        "animal, true account and class found",
        "animal truth found share",
        {"animal": Column("the animal whose moves were used"), **CONFUSION},
    ),
    "places.csv": _table(
        "animal and state, where positions are known",
        "animal state x y",
        {
            "state": Column("the state"),
            "x": Column("its position", "cm"),
            "y": Column("its position", "cm"),
        },
    ),
    "predictions.csv": _table(
        "animal, statistic and account",
        "animal statistic label value null account is_control n_draws predicted_low predicted "
        "predicted_high",
        {
            "value": Column("that of the animal's replay in pauses"),
            "null": Column("the value expected by chance", "", "if the statistic has no null"),
            "account": Column("the account, after the same moves"),
            "n_draws": Column("number of its simulated animals that have a value"),
            "predicted_low": Column("5 % of these lie below"),
            "predicted": Column("their median"),
            "predicted_high": Column("95 % of them lie below"),
        },
    ),
    "group.csv": _table(
        "class of accounts",
        "account frequency low high exceedance protected equal n_animals",
        {
            "frequency": Column("its expected frequency among animals"),
            "exceedance": Column("the probability that it is the most frequent"),
            "protected": Column("the same, allowing for equal frequencies"),
            "equal": Column("the probability that all are equally frequent"),
        },
    ),
}
