"""All tables of a comparison, made from the simulated studies of its pieces."""

from __future__ import annotations

import numpy as np
import pandas as pd

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

__all__ = ["compare_tables"]


def compare_tables(plan: Comparison, results: Results) -> dict[str, pd.DataFrame]:
    """Make all tables from the pieces; ``replay columns`` describes them."""
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
