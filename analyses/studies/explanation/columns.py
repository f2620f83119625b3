"""The columns of the tables that ``replay explain`` writes."""

from __future__ import annotations

from analyses.jobs.columns import Column, Table

__all__ = ["COLUMNS"]

_RECOVERY = {
    "recovered": Column("the share of simulated animals whose class is the most probable"),
    "sure": Column("the share of them with a class above .9"),
    "right_if_sure": Column("the share of these that is right", "", "if none is sure"),
    "calibration_error": Column("the expected calibration error of probabilities"),
}
_CLASS = Column("the account, or the accounts that cannot be told apart, joined by `or`")
_MISFIT = Column("how often an animal of the class is as unusual for it: the p of a test")

COLUMNS = {
    "verdicts.csv": Table.of(
        "animal",
        "animal verdict text account probability misfit n_sequences silent walk_bits "
        "ceiling_bits recovered sure right_if_sure calibration_error",
        {
            "animal": Column("the name of the animal"),
            "verdict": Column("`account`, `control`, `none` or `undecided`"),
            "text": Column("the verdict in words"),
            "account": _CLASS,
            "probability": Column("that of the most probable class"),
            "misfit": _MISFIT,
            "n_sequences": Column("number of sequences that are explained"),
            "silent": Column("accounts that replay too little to be compared", "", "if none does"),
            "walk_bits": Column("a walk along the track", "bits per sequence"),
            "ceiling_bits": Column("a model that learns from this replay", "bits per sequence"),
            **_RECOVERY,
        },
    ),
    "probabilities.csv": Table.of(
        "animal and class of accounts",
        "animal account is_control probability prior misfit power bits share_of_ceiling",
        {
            "animal": Column("the name of the animal"),
            "account": _CLASS,
            "is_control": Column("whether it is a control, which does not learn"),
            "probability": Column("the calibrated probability of the class"),
            "prior": Column("its probability before: its share of the accounts"),
            "misfit": _MISFIT,
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
    "parameters.csv": Table.of(
        "animal, account and parameter",
        "animal account parameter median low high prior_low prior_high",
        {
            "animal": Column("the name of the animal"),
            "account": Column("the account"),
            "parameter": Column("its parameter"),
            "median": Column("the median given the animal's replay"),
            "low": Column("5 % lie below"),
            "high": Column("95 % lie below"),
            "prior_low": Column("the same before"),
            "prior_high": Column("the same before"),
        },
    ),
    "misfits.csv": Table.of(
        "animal and feature that its class does not explain",
        "animal feature value low high distance",
        {
            "animal": Column("the name of the animal"),
            "feature": Column("the feature"),
            "value": Column("that of the animal"),
            "low": Column("5 % of simulated animals lie below"),
            "high": Column("95 % of them lie below"),
            "distance": Column("from their median, in half-widths of this interval"),
        },
    ),
    "importance.csv": Table.of(
        "animal and feature",
        "animal feature importance",
        {
            "animal": Column("the name of the animal"),
            "feature": Column("the feature"),
            "importance": Column("its share in telling accounts apart"),
        },
    ),
    "explained.parquet": Table.of(
        "animal, account and sequence",
        "animal account sequence event lap states bits",
        {
            "animal": Column("the name of the animal"),
            "account": Column("the account, `walk` or `ceiling`"),
            "event": Column("the number of its event"),
            "sequence": Column("its number, from 0"),
            "lap": Column("the lap, from 0"),
            "states": Column("the places as replayed"),
            "bits": Column("log2 of its probability, held out", "bits"),
        },
    ),
    "confusion.csv": Table.of(
        "animal, true account and class found",
        "animal truth found share",
        {
            "animal": Column("the animal whose moves were used"),
            "truth": Column("the account that was simulated"),
            "found": _CLASS,
            "share": Column("the share of its animals for which the class is found"),
        },
    ),
    "places.csv": Table.of(
        "animal and state, where positions are known",
        "animal state x y",
        {
            "animal": Column("the name of the animal"),
            "state": Column("the state"),
            "x": Column("its position", "cm"),
            "y": Column("its position", "cm"),
        },
    ),
    "predictions.csv": Table.of(
        "animal, statistic and account",
        "animal statistic label value null account is_control n_draws predicted_low predicted "
        "predicted_high",
        {
            "animal": Column("the name of the animal"),
            "value": Column("that of the animal's replay in pauses"),
            "null": Column("the value expected by chance", "", "if the statistic has no null"),
            "account": Column("the account, after the same moves"),
            "is_control": Column("whether it is a control, which does not learn"),
            "n_draws": Column("number of its simulated animals that have a value"),
            "predicted_low": Column("5 % of these lie below"),
            "predicted": Column("their median"),
            "predicted_high": Column("95 % of them lie below"),
        },
    ),
    "group.csv": Table.of(
        "class of accounts",
        "account frequency low high exceedance protected equal n_animals",
        {
            "account": _CLASS,
            "frequency": Column("its expected frequency among animals"),
            "low": Column("5 % lie below"),
            "high": Column("95 % lie below"),
            "exceedance": Column("the probability that it is the most frequent"),
            "protected": Column("the same, allowing for equal frequencies"),
            "equal": Column("the probability that all are equally frequent"),
            "n_animals": Column("number of animals"),
        },
    ),
}
