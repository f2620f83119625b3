"""All tables of a comparison, from the studies that its pieces simulated."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analyses.jobs.results import Results
from analyses.studies.comparison.identification import confusion, measurements
from analyses.studies.comparison.plan import Comparison
from analyses.studies.comparison.predictions import predictions
from analyses.studies.comparison.scores import evidence_table, regions, robustness, sums
from analyses.studies.comparison.simulated_studies import settings

__all__ = ["compare_tables"]


def compare_tables(plan: Comparison, results: Results) -> dict[str, pd.DataFrame]:
    """Put all pieces together.

    Parameters
    ----------
    plan : Comparison
        What is compared.
    results : Results
        The folder, with all pieces.

    Returns
    -------
    dict of str to pandas.DataFrame
        The tables by the name of their files; `analyses.studies.comparison.compare` says what they
        hold.
    """
    simulated = results.read_pieces("studies")
    drawn = {name: settings(plan, name) for name in plan.names()}
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
    return {
        "evidence.csv": found,
        "sums.csv": sums(found, rng),
        "confusion.csv": confusion(plan, known, rng),
        "robustness.csv": robustness(plan, known, found),
        "regions.csv": regions(plan, known, drawn),
        "measurements.csv": measurements(plan, simulated, rng),
        "studies.parquet": simulated,
        "parameters.parquet": parameters,
        "findings.csv": plan.findings,
    }
