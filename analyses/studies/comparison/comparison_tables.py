"""All tables of a comparison, made from the simulated studies of its pieces."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analyses.jobs.columns import Column, Table
from analyses.jobs.results import Results
from analyses.studies.comparison.classified import classified
from analyses.studies.comparison.identification import (
    confusion,
    fit,
    identification,
    measurements,
)
from analyses.studies.comparison.mixtures import mixtures
from analyses.studies.comparison.plan import Comparison
from analyses.studies.comparison.predictions import predictions
from analyses.studies.comparison.scores import evidence_table, regions, robustness, sums
from analyses.studies.comparison.simulated_studies import settings

__all__ = ["COMPARISON_COLUMNS", "compare_tables"]

_NONE = "with one study, or without controls"
_SUMS = {
    "evidence": Column("the sum of evidence, with one vote per study", "bits"),
    "ci_low": Column("lower end of its 95 % interval over studies", "bits", "with one study"),
    "ci_high": Column("upper end of its 95 % interval over studies", "bits", "with one study"),
    "evidence_se": Column("its Monte Carlo error", "bits"),
    "presence": Column("the sum of the first factor, whether there is such replay", "bits"),
    "value": Column("the sum of the second factor, its value if there is", "bits"),
    "n_studies": Column("number of studies"),
    "n_findings": Column("number of findings"),
    "ahead": Column("by how much it is ahead of the best control", "bits", "without controls"),
    "ahead_low": Column("lower end of its 95 % interval over studies", "bits", _NONE),
    "ahead_high": Column("upper end of its 95 % interval over studies", "bits", _NONE),
}
"""Columns of sums of evidence, which exist for diagnostic findings and for all findings."""

COMPARISON_COLUMNS = {
    "evidence.csv": Table.of(
        "published finding and account",
        "finding study source question task statistic label likelihood account evidence "
        "presence? value? evidence_se share_agreeing predicted_low predicted predicted_high "
        "share_without_replay published published_low published_high weight second_hand "
        "is_control as_published diagnostic",
        {
            "source": Column("first author and year; with `unpublished` if the finding has no DOI"),
            "question": Column("the question that the finding answers"),
            "likelihood": Column(
                "what is known: `count`, `value`, `direction` or `null` (for pandas, "
                "read with `keep_default_na=False`)"
            ),
            "presence": Column("the first factor: whether there is such replay", "bits"),
            "value": Column("the second factor: the value of the statistic if there is", "bits"),
            "share_agreeing": Column(
                "the share of the parameter space in which the finding is more probable than under "
                "a uniform prediction"
            ),
            "predicted_low": Column("5 % of simulated studies lie below", "", "without replay"),
            "predicted": Column("the median of simulated studies", "", "without replay"),
            "predicted_high": Column("95 % of them lie below", "", "without replay"),
            "share_without_replay": Column("the share of simulated studies without any replay"),
            "published": Column("the published value", "", "of directions and null results"),
            "published_low": Column("lower end of its interval", "", "if no error is known"),
            "published_high": Column("upper end of its interval", "", "if no error is known"),
            "weight": Column("the finding's part in the vote of its study"),
            "second_hand": Column("whether it was read in another paper than its own"),
            "as_published": Column("whether its parameters are those of its authors"),
            "diagnostic": Column(
                "whether some account predicts it better than every control, by one bit",
                "",
                "without controls or accounts",
            ),
        },
    ),
    "fit.csv": Table.of(
        "account",
        "account evidence expected_low expected expected_high p",
        {
            "evidence": Column("the sum of evidence from all findings", "bits"),
            "expected_low": Column("5 % of its sums lie below if it is true", "bits"),
            "expected": Column("the median of these sums", "bits"),
            "expected_high": Column("95 % of them lie below", "bits"),
            "p": Column("predictive p: how often such a sum is as low as the real one"),
        },
    ),
    "mixtures.csv": Table.of(
        "two sources of replay in one animal",
        "account other evidence gain p",
        {
            "account": Column("the account whose replay is mixed with that of `other`"),
            "other": Column("another account, or walks along the track"),
            "evidence": Column("the sum of evidence from all findings", "bits"),
            "gain": Column("by how much it is ahead of the better of both alone", "bits"),
            "p": Column(
                "predictive p of the pair", "", "but with walks, and of the ten highest sums"
            ),
        },
    ),
    "sums.csv": Table.of(
        "account",
        "account is_control evidence ci_low ci_high evidence_se presence? value? n_studies "
        "n_findings ahead ahead_low ahead_high evidence_of_all ci_low_of_all ci_high_of_all "
        "evidence_se_of_all presence_of_all? value_of_all? n_studies_of_all n_findings_of_all "
        "ahead_of_all ahead_low_of_all ahead_high_of_all",
        {
            f"{name}{ending}": column._replace(meaning=f"{column.meaning} ({which} findings)")
            for ending, which in (("", "diagnostic"), ("_of_all", "all"))
            for name, column in _SUMS.items()
        },
    ),
    "confusion.csv": Table.of(
        "true account and account that is found",
        "truth found share",
        {
            "truth": Column("the account whose simulated findings are scored"),
            "found": Column("the account that ranks first"),
            "share": Column("how often"),
        },
    ),
    "identification.csv": Table.of(
        "true account under a condition",
        "condition truth right mistaken_for share_mistaken share_fitting",
        {
            "condition": Column(
                "each condition adds to the one before: findings have the noise that the "
                "likelihoods assume; studies differ in parameters; the truth is not scored"
            ),
            "truth": Column("the account whose simulated findings are scored"),
            "right": Column("how often it ranks first"),
            "mistaken_for": Column("the account that it is mistaken for most", "", "if for none"),
            "share_mistaken": Column("how often"),
            "share_fitting": Column(
                "how often the account that ranks first has a sum above 5 % of those that it "
                "would have if it were true"
            ),
        },
    ),
    "classified.csv": Table.of(
        "study, and accounts that it cannot tell apart; none with fewer than eight draws",
        "study found probability p recovered calibration_error",
        {
            "study": Column("the study whose statistics are classified together"),
            "found": Column("the accounts, by name"),
            "probability": Column("their calibrated probability"),
            "p": Column("how often a study of theirs is as unusual as the published one"),
            "recovered": Column("how often simulated studies of an account are found to be its"),
            "calibration_error": Column("how far probabilities are from shares right"),
        },
    ),
    "measurements.csv": Table.of(
        "statistic of a task",
        "task statistic information most_apart apart",
        {
            "information": Column(
                "expected information of one more such study about which account is true", "bits"
            ),
            "most_apart": Column(
                "the two accounts that it separates best", "", "if it separates none"
            ),
            "apart": Column("how well it separates them, at most 1", "bits"),
        },
    ),
    "regions.csv": Table.of(
        "parameter of an account, and finding",
        "account finding parameter region share_agreeing",
        {
            "region": Column("the values with which the account agrees with the finding"),
            "share_agreeing": Column("the share of the parameter space in which it does"),
        },
    ),
    "robustness.csv": Table.of(
        "account under a setting of the scoring",
        "setting account evidence evidence_of_all rank rank_of_all",
        {
            "setting": Column("what differs from the usual scoring, or which half of the draws"),
            "evidence": Column("evidence from diagnostic findings", "bits"),
            "evidence_of_all": Column("evidence from all findings", "bits"),
            "rank": Column("the rank of the account by diagnostic findings, from 1"),
            "rank_of_all": Column("its rank by all findings"),
        },
    ),
    "studies.parquet": Table.of(
        "simulated study and statistic",
        "draw finding statistic successes trials mean sd value n_animals task account",
        {
            "finding": Column("the finding whose criteria detect replay; an empty text: none"),
            "successes": Column("the number counted, of all animals", "", "of other likelihoods"),
            "trials": Column(
                "the number of sequences among which they were counted", "", "of other likelihoods"
            ),
            "mean": Column("the mean over animals", "", "without replay"),
            "sd": Column("the standard deviation over animals", "", "with fewer than two animals"),
            "value": Column("the mean difference from the null", "", "without replay"),
            "n_animals": Column("number of animals that have a value"),
        },
    ),
    "parameters.parquet": Table.of(
        "parameter of a draw",
        "account draw parameter value",
        {"value": Column("its value, as text")},
    ),
    "findings.csv": Table.of(
        "published number or direction",
        "id source? citation doi year species task maze quantity definition value unit error n p "
        "direction evidence second_hand? unpublished? note study question quantity_class statistic "
        "task_name likelihood successes trials standard_error sign p_value excluded_low "
        "excluded_high chance n_animals n_units unit_of_n n_events min_length min_distance_cm "
        "largest_jump_cm min_extent_cm min_correlation contradicts why_not",
        {
            "id": Column("its name: first author, year and quantity"),
            "source": Column("first author and year"),
            "citation": Column("the paper"),
            "doi": Column("its DOI", "", "if it has none: the finding is unpublished"),
            "year": Column("the year of publication"),
            "species": Column("animals, area and cells", "", "if unknown"),
            "task": Column("what the animals did, as text", "", "if unknown"),
            "maze": Column("where, as text", "", "if unknown"),
            "quantity": Column("what was measured"),
            "definition": Column("how it is defined", "", "if unknown"),
            "value": Column("the number", "as in `unit`", "if only a direction is known"),
            "unit": Column("the unit of `value`", "", "if there is no number"),
            "error": Column("its error, as published", "", "if there is none"),
            "n": Column("its n, as published", "", "if there is none"),
            "p": Column("its p, as published", "", "if there is none"),
            "direction": Column("what was found, as text", "", "if the number says it"),
            "evidence": Column("how the number was read"),
            "second_hand": Column("whether it was read in another paper than its own"),
            "unpublished": Column("whether it has no DOI"),
            "note": Column("a remark", "", "if there is none"),
            "study": Column("the study that the data are from"),
            "question": Column("the question that it answers", "", "if it is not tested"),
            "quantity_class": Column(
                "findings of one class measure equal quantities", "", "if it is alone"
            ),
            "statistic": Column("the statistic that tests it", "", "if none does"),
            "task_name": Column("the task in which it is tested", "", "if there is none"),
            "likelihood": Column(
                "what is known; `null` is not an empty cell: read with `keep_default_na=False`"
            ),
            "successes": Column("the number counted", "", "of other likelihoods"),
            "trials": Column(
                "the number of sequences among which they were counted", "", "of other likelihoods"
            ),
            "standard_error": Column("that of the statistic", "", "of other likelihoods"),
            "sign": Column("1 above its null, -1 below", "", "of other likelihoods"),
            "p_value": Column("p as a number, or its bound", "", "of other likelihoods"),
            "excluded_low": Column("effects below it are excluded", "", "of other likelihoods"),
            "excluded_high": Column("effects above it are excluded", "", "of other likelihoods"),
            "chance": Column("the share expected by chance", "", "if the study gives none"),
            "n_animals": Column("number of animals", "", "if unknown"),
            "n_units": Column("number of units of the error or test", "", "if unknown"),
            "unit_of_n": Column("`animal`, `session`, `pause` or `event`", "", "without `n_units`"),
            "n_events": Column("number of replay events", "", "if unknown"),
            "min_length": Column("the least number of places of a replay", "", "if there is none"),
            "min_distance_cm": Column("the least length of its path", "cm", "if there is none"),
            "largest_jump_cm": Column("the largest jump between places", "cm", "if there is none"),
            "min_extent_cm": Column("its least extent", "cm", "if there is none"),
            "min_correlation": Column(
                "the least correlation of order and distance", "", "if there is none"
            ),
            "contradicts": Column("ids of findings that exclude this one", "", "if none do"),
            "why_not": Column("why it is not tested", "", "if it is"),
        },
    ),
}
"""File -> description of its rows and columns."""


def compare_tables(plan: Comparison, results: Results) -> dict[str, pd.DataFrame]:
    """Make all tables from the pieces; ``COMPARISON_COLUMNS`` describes them."""
    simulated = results.read_pieces("studies")
    drawn = {name: settings(plan, name) for name in plan.candidates()}
    parameters = pd.DataFrame(
        [
            {"account": name, "draw": draw, "parameter": key, "value": str(value)}
            for name, sets in drawn.items()
            for draw, each in enumerate(sets)
            for key, value in each.items()
        ],
        columns=["account", "draw", "parameter", "value"],
    )
    known = predictions(plan, simulated)
    rng = np.random.default_rng([plan.seed, 1])
    found = evidence_table(plan, known, rng)
    fits = fit(known, np.random.default_rng([plan.seed, 2]))
    return {
        "fit.csv": fits,
        "mixtures.csv": mixtures(plan, known, np.random.default_rng([plan.seed, 3])),
        "evidence.csv": found,
        "sums.csv": sums(found, rng),
        "confusion.csv": confusion(plan, known, rng),
        "identification.csv": identification(
            plan, known, fits, np.random.default_rng([plan.seed, 4])
        ),
        "classified.csv": classified(plan, known, np.random.default_rng([plan.seed, 5])),
        "robustness.csv": robustness(plan, known, found, drawn),
        "regions.csv": regions(plan, known, drawn),
        "measurements.csv": measurements(plan, simulated, rng),
        "studies.parquet": simulated,
        "parameters.parquet": parameters,
        "findings.csv": plan.findings,
    }
