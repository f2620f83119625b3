"""How far can `replay explain` be trusted?

Animals of all accounts run the laps of a task, with parameters from the priors; a fifth of their
replayed places are misread. Which account made them is known, so what the classifier says of
animals that it has not seen is right or wrong. Goals were set before the first run.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from analyses.cli.studies import run_file
from analyses.inference.model_choice import ModelChoice, Simulations, parameter_intervals
from analyses.inference.simulation import simulate_misread
from analyses.jobs import WorkCost
from analyses.jobs.columns import TABLES
from analyses.jobs.results import Results
from analyses.jobs.study import Piece, Runner, Shown, Study
from analyses.studies.explanation import (
    LEAST_DRAWS,
    drawn_parameters,
    known_parameters,
    simulations_of,
)
from analyses.studies.explanation.identify import (
    IdentifiabilityPlan,
    estimate_identifiability,
    laps_of_task,
    left_out,
    plan_identifiability,
    sampled_features,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["GOALS", "STUDY"]

GOALS = {
    "recovered": (0.95, np.nan),
    "calibration_error": (np.nan, 0.03),
    "left_out": (np.nan, 0.05),
    "walks_and_shuffles": (np.nan, 0.05),
    "parameters": (0.85, 0.95),
}
"""Goal -> the least and the most that is good enough."""

_TASKS = ("gupta_2t", "w_track", "barrier_arena", "linear_track", "eight_arm")
_DRAWS = 64
_WRONG, _MOST_WRONG = 0.2, 0.3  # of places; the second bounds a share that is unknown
_N = 100  # sequences, where goals are judged
_MOST_KEPT = 1000
_N_FOLDS = 4
_SECONDS_OF_SUMMARY = 70.0  # of a task


def _plan(size: float, seed: int) -> IdentifiabilityPlan:
    tasks = {name: laps_of_task(name, seed) for name in _TASKS}
    n_draws = max(round(size * _DRAWS), LEAST_DRAWS)
    return plan_identifiability(tasks, n_draws=n_draws, wrong_places=_WRONG, seed=seed)


def _make(plan: IdentifiabilityPlan, piece: Piece) -> dict[str, pd.DataFrame]:
    """Simulate some draws of one account, and measure them with places misread in three ways."""
    name, draws = plan.part(piece.number)
    animal, account = plan.protocols[piece.group], plan.accounts[name]
    places, rows, drawn = animal.places, [], []
    for draw, params, seeds, rng in drawn_parameters(name, account, draws, plan):
        drawn.append((name, draw, json.dumps(params)))
        shares = [plan.wrong_places or 0.0, 0.0, float(rng.uniform(0.0, _MOST_WRONG))]
        made = [
            each.take(np.sort(rng.permutation(len(each.lap))[:_MOST_KEPT]))
            for each in simulate_misread(animal, account, params, seeds, shares)
        ]
        for n in plan.n_sequences:
            of_number = {"account": name, "draw": draw, "n_sequences": n}
            ways = zip(_MISREAD if n == _N else _MISREAD[:1], made, strict=False)
            found = {way: sampled_features(each, n, places, rng) for way, each in ways}
            if all(found.values()):
                for way, samples in found.items():
                    rows += [of_number | {"misread": way} | each for each in samples]
    return {
        "features": pd.DataFrame(rows),
        "draws": pd.DataFrame(drawn, columns=["account", "draw", "parameters"]),
    }


_MISREAD = ("known", "none", "unknown")


def _summarise(plan: IdentifiabilityPlan, results: Results) -> dict[str, pd.DataFrame]:
    recovered, without, covered = [], [], []
    for task in plan.protocols:
        features, draws = (results.read_pieces(name, task) for name in ("features", "draws"))
        of_task = {"task": task}
        for n in plan.n_sequences:
            known = _animals(features, n, "known")
            choice = ModelChoice(known, plan.seed)
            of_number = of_task | {"n_sequences": n}
            recovered.append(of_number | _row(choice, "known", choice.unseen))
            if n != _N:
                continue
            clean, mixed = (
                ModelChoice(_animals(features, n, way), plan.seed, [known.features])
                for way in _MISREAD[1:]
            )
            recovered.append(of_number | _row(clean, "none", clean.unseen))
            recovered.append(of_number | _row(mixed, "unknown", mixed.unseen_as[0]))
            recovered.append(of_number | _row(clean, "ignored", clean.unseen_as[0]))
            controls = [name for name in choice.accounts if plan.accounts[name].is_control]
            without += [of_task | left_out(choice, each) for each in choice.classes]
            if controls:
                row = left_out(choice, controls)
                without.append(of_task | row | {"account": _CONTROLS})
            covered.append(_coverage(known, draws, plan).assign(task=task))
    tables = {
        "recovered_accounts.csv": pd.DataFrame(recovered),
        "left_out_accounts.csv": pd.DataFrame(without),
        "covered_parameters.csv": pd.concat(covered, ignore_index=True),
    }
    tables["goals.csv"] = _judged(*tables.values())
    return {name: table[list(TABLES[name].columns)] for name, table in tables.items()}


_CONTROLS = "walks and shuffles"


def _animals(features: pd.DataFrame, n: int, misread: str) -> Simulations:
    rows = (features["n_sequences"] == n) & (features["misread"] == misread)
    return simulations_of(features[rows].drop(columns=["n_sequences", "misread"]))


def _row(choice: ModelChoice, noise: str, unseen: Any) -> dict[str, Any]:
    together = [" or ".join(each) for each in choice.classes if len(each) > 1]
    counts = {"n_accounts": len(choice.accounts), "n_classes": len(choice.classes)}
    return {"noise": noise, **counts, "together": "; ".join(together), **choice.summary(unseen)}


def _coverage(
    simulations: Simulations, draws: pd.DataFrame, plan: IdentifiabilityPlan
) -> pd.DataFrame:
    """Count how often intervals hold the true parameter, of a quarter of draws by the others."""
    tested = np.random.default_rng(plan.seed).permutation(plan.n_draws) % _N_FOLDS == 0
    parts = []
    for name in simulations.names:
        if plan.accounts[name].is_control:
            continue
        own = simulations.select(simulations.account == name)
        known = known_parameters(own, draws[draws["account"] == name])
        held = tested[own.draw]
        if not held.any() or held.all():
            continue
        found = parameter_intervals(own.select(~held), known[~held], own.features[held], plan.seed)
        columns = known.columns.get_indexer(pd.Index(found["parameter"]))
        true = known[held].to_numpy(float)[found["row"], columns]
        wide = (found["high"] - found["low"]) / (found["prior_high"] - found["prior_low"])
        inside = (found["low"] <= true) & (true <= found["high"])
        found = found.assign(account=name, covered=inside.astype(float), width=wide)
        parts.append(found[~np.isnan(true)])
    table = pd.concat(parts, ignore_index=True)
    grouped = table.groupby(["account", "parameter"], sort=False)
    counted: pd.DataFrame = grouped.agg(
        n=("covered", "size"), covered=("covered", "mean"), width=("width", "mean")
    )
    return counted.reset_index()


def _judged(recovered: pd.DataFrame, without: pd.DataFrame, covered: pd.DataFrame) -> pd.DataFrame:
    """Put what was reached in each task beside the goals."""
    judged = (recovered["noise"] == "known") & (recovered["n_sequences"] == _N)
    reached = recovered[judged].set_index("task")[["recovered", "calibration_error"]]
    control = without["account"] == _CONTROLS
    reached["left_out"] = without[~control].groupby("task")["accepted"].mean()
    reached["walks_and_shuffles"] = without[control].set_index("task")["accepted"]
    inside = (covered["covered"] * covered["n"]).groupby(covered["task"]).sum()
    reached["parameters"] = inside / covered.groupby("task")["n"].sum()
    rows = reached.reset_index().melt("task", var_name="goal", value_name="reached")
    least, most = (np.array([GOALS[name][k] for name in rows["goal"]]) for k in (0, 1))
    is_reached = ~(rows["reached"] < least) & ~(rows["reached"] > most)
    return rows.assign(least=least, most=most, is_reached=is_reached & rows["reached"].notna())


def _show(plan: IdentifiabilityPlan, tables: Mapping[str, pd.DataFrame]) -> Iterable[Shown]:
    goals = tables["goals.csv"]
    reached = goals.pivot_table("reached", ["goal", "least", "most"], "task", sort=False,
                                dropna=False).dropna(how="all")  # fmt: skip
    yield Shown(
        f"What was reached with {_N} sequences and {_WRONG:.0%} of places wrong",
        reached.round(3).reset_index(),
    )
    recovered = tables["recovered_accounts.csv"]
    shares = recovered.pivot_table("recovered", ["noise", "n_sequences"], "task", sort=False)
    yield Shown("How often the true class comes first", shares.round(3).reset_index())


def _estimate(plan: IdentifiabilityPlan, left: Sequence[Piece], call: Runner) -> WorkCost:
    cost = estimate_identifiability(plan, left, call)
    after = _SECONDS_OF_SUMMARY * plan.n_draws / _DRAWS * len(plan.protocols)
    return cost._replace(seconds=2 * cost.seconds, seconds_after=after)


def _draw(results: Results) -> Iterator[tuple[str, Figure]]:
    from explanation_figures import goals_figure

    tables = (results.read(f"{name}_accounts.csv") for name in ("recovered", "left_out"))
    yield "explanation_goals", goals_figure(*tables, results.manifest()["draws"])


STUDY = Study(
    "explanation",
    "How far can replay explain be trusted, on animals whose account is known?",
    plan=_plan,
    make=_make,
    summarise=_summarise,
    figures={"explanation_goals": _draw},
    show=_show,
    command="python tests/verification/explanation.py",
    estimate=_estimate,
)  # fmt: skip

if __name__ == "__main__":
    run_file(__file__)
