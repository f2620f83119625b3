"""From simulated animals to an answer: probabilities, misfit, bits, parameters, and groups."""

from __future__ import annotations

from collections.abc import Mapping

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.inference.animals import FEW_SEQUENCES, ReplayingAnimal
from analyses.inference.features import replay_features
from analyses.inference.groups import account_frequencies
from analyses.inference.likelihood import ceiling_bits, held_out_bits, walk_bits
from analyses.inference.model_choice import (
    ModelChoice,
    Simulations,
    class_name,
    parameter_intervals,
)
from analyses.jobs.columns import TABLES
from analyses.reports.explanation import LEVEL, VERDICTS, told_p
from analyses.studies.explanation.plan import ExplanationPlan, known_parameters, simulations_of
from analyses.studies.explanation.predictions import beside_own_accounts

__all__ = ["SURE", "answer", "group_of"]

SURE = 0.9
_N_MISFITS, _TINY = 8, 1e-9
_LEAST_OF_CEILING = 0.1


def answer(
    plan: ExplanationPlan, animal: ReplayingAnimal, tables: Mapping[str, pd.DataFrame]
) -> dict[str, pd.DataFrame]:
    """Classify one animal, check the answer, and say what decides."""
    simulations = simulations_of(tables["features"])
    if len(simulations.names) < 2:
        raise ValueError(
            f"Of the accounts, only {' '.join(simulations.names) or 'none'} replays often enough "
            f"to be compared with {animal.name} ({len(animal.replayed.lap):,} sequences): name "
            "others, or leave this animal out. What was simulated for the others is kept."
        )
    choice = ModelChoice(simulations, plan.seed)
    own = pd.DataFrame([replay_features(animal.replayed, animal.places)])
    probability = choice.probabilities(own)[0]
    names = [class_name(members) for members in choice.classes]
    misfit = np.array([choice.misfit(own, members)[0] for members in choice.classes])
    sequences = _bits_by_account(animal, tables["bits"])
    walk = sequences.loc[sequences["account"] == "walk", "bits"].mean()
    ceiling = sequences.loc[sequences["account"] == "ceiling", "bits"].mean()
    by_account = sequences.groupby("account")["bits"].mean()
    bits = np.array([by_account[members].max() for members in choice.classes])
    top = int(np.argmax(probability))
    shares = [
        float(np.mean([plan.accounts[name].is_control for name in members]))
        for members in choice.classes
    ]
    n_sequences = len(animal.replayed.lap)
    silent = ", ".join(name for name in plan.accounts if name not in choice.accounts)
    n_draws = np.array([choice.n_draws(members) for members in choice.classes])
    kept = tables["draws"].merge(simulations.kept, on=["account", "draw"])
    replicas = kept.groupby("account")["n_replicas"].mean()
    likely = _likely(probability)
    classes = pd.DataFrame(
        {
            "account": names, "is_control": np.equal(shares, 1), "probability": probability,
            "prior": [len(members) / len(choice.accounts) for members in choice.classes],
            "misfit": misfit, "n_draws": n_draws,
            "n_replicas": [replicas[members].max() for members in choice.classes],
            "power": [choice.power(members, LEVEL) for members in choice.classes],
            "bits": bits,
            "share_of_ceiling": (bits - walk) / (ceiling - walk) if ceiling > walk else np.nan,
        }
    )  # fmt: skip
    controls = [name for name in choice.accounts if plan.accounts[name].is_control]
    in_part = _shortcomings(classes.iloc[top], _ahead(sequences, choice.classes[top], controls))
    verdict = _verdict(probability, misfit[likely], shares[top], n_sequences, bool(in_part))
    best = np.isin(simulations.account, choice.classes[top])
    parameters = [
        _parameters(choice, name, simulations, tables["draws"], own)
        for name in choice.classes[top]
        if not plan.accounts[name].is_control
    ]
    no_parameters = pd.DataFrame(columns=list(TABLES["parameters.csv"].columns))
    inferred = pd.concat([no_parameters, *parameters], ignore_index=True)
    at_edge = [
        f"{each.parameter} of {each.account} ({each.edge}, {each.median:.3g})"
        for each in inferred.itertuples() if each.edge
    ]  # fmt: skip
    edges = (
        f" At an edge of its prior, so that values beyond may explain it: {', '.join(at_edge)}."
        if at_edge
        else ""
    )
    return {
        "verdicts.csv": pd.DataFrame(
            [
                {
                    "verdict": verdict, "text": VERDICTS[verdict].format(
                        name=names[top], probability=probability[top],
                        p=told_p(misfit[top], n_draws[top]),
                        others=", ".join(f"{names[k]} ({probability[k]:.2f})" for k in likely),
                        n=n_sequences, but=", and ".join(in_part), edges=edges,
                    ),
                    "account": names[top], "probability": probability[top], "misfit": misfit[top],
                    "n_sequences": n_sequences, "silent": silent,
                    "walk_bits": walk, "ceiling_bits": ceiling, "n_accounts": len(choice.accounts),
                    "n_classes": len(choice.classes), **choice.summary(),
                }
            ]
        ),
        "probabilities.csv": classes,
        "parameters.csv": inferred,
        "misfits.csv": _misfits(simulations.features[best], own),
        "importance.csv": choice.importance(),
        "explained.parquet": sequences,
        "confusion.csv": choice.confusion(),
        "places.csv": _positions(animal),
        "predictions.csv": beside_own_accounts(
            animal, tables["statistics"], [k for k, a in plan.accounts.items() if a.is_control]
        ),
    }  # fmt: skip


def _positions(animal: ReplayingAnimal) -> pd.DataFrame:
    world = animal.log.mdp
    where = np.empty((0, 2)) if world is None or world.position is None else world.position
    return pd.DataFrame({"state": np.arange(len(where)), "x": where[:, 0], "y": where[:, 1]})


def _likely(probability: NDArray[np.float64]) -> list[int]:
    """List the classes that are not ruled out, the most probable first."""
    order = np.argsort(-probability, kind="stable")
    n = int(np.searchsorted(np.cumsum(probability[order]), SURE)) + 1
    likely: list[int] = order[:n].tolist()
    return likely


def _verdict(
    probability: NDArray[np.float64],
    misfit: NDArray[np.float64],
    control_share: float,
    n_sequences: int,
    is_in_part: bool,
) -> str:
    """Judge by the misfit of the classes that are not ruled out: if none fits, none is named.

    A class that cannot be told from a control, or from any other account, is no answer either.
    """
    if n_sequences < FEW_SEQUENCES:
        return "few"
    if (misfit <= LEVEL).all():
        return "none"
    if probability.max() <= SURE or 0 < control_share < 1 or len(probability) < 2:
        return "undecided"
    if control_share:
        return "control"
    return "part" if is_in_part else "account"


def _shortcomings(best: pd.Series, ahead: str) -> list[str]:
    """Say what an account leaves unexplained, or untested, though it is probable and fits."""
    found = []
    if best["share_of_ceiling"] < _LEAST_OF_CEILING:
        share = best["share_of_ceiling"]
        found.append(f"it comes {share:.2f} of the way from a walk along the track to the ceiling")
    if ahead:
        found.append(f"{ahead}, which does not learn, predicts its sequences better")
    if best["power"] <= LEVEL:  # no more often than it refuses the class itself
        found.append(
            f"the test of misfit does not notice its relatives (power {best['power']:.2f})"
        )
    return found


def _ahead(sequences: pd.DataFrame, members: list[str], controls: list[str]) -> str:
    """Name the control that predicts better than a class by two standard errors over laps."""
    by_lap = sequences.pivot_table("bits", "lap", "account", aggfunc="sum")
    best = by_lap[members].sum().idxmax()
    rivals = by_lap[[name for name in controls if name not in members]]
    gain = rivals.sub(by_lap[best], axis=0)
    surely = gain.mean() > 2 * gain.sem()
    return str(gain.mean()[surely].idxmax()) if surely.any() else ""


def _bits_by_account(animal: ReplayingAnimal, bits: pd.DataFrame) -> pd.DataFrame:
    """Return the held-out bits of each sequence: by account, by the walk, and by the ceiling."""
    seen, n = animal.replayed, len(animal.replayed.lap)
    found = {"walk": walk_bits(seen, animal.places), "ceiling": ceiling_bits(seen, animal.places)}
    for name, own in bits.groupby("account", sort=False):
        by_draw = own.sort_values(["draw", "sequence"])["bits"].to_numpy().reshape(-1, n)
        found[str(name)] = held_out_bits(by_draw, seen.lap)
    states = seen.states.arrays()
    return pd.concat(
        [
            pd.DataFrame(
                {
                    "account": name, "sequence": np.arange(n), "event": seen.event,
                    "lap": seen.lap, "states": states, "bits": values,
                }
            )
            for name, values in found.items()
        ],
        ignore_index=True,
    )  # fmt: skip


def _parameters(
    choice: ModelChoice,
    name: str,
    simulations: Simulations,
    draws: pd.DataFrame,
    own: pd.DataFrame,
) -> pd.DataFrame:
    """Infer the free parameters of an account that are numbers."""
    mine = simulations.select(simulations.account == name)
    known = known_parameters(mine, draws[draws["account"] == name])
    return parameter_intervals(mine, known, own, choice.seed).assign(account=name)


def _misfits(simulated: pd.DataFrame, own: pd.DataFrame) -> pd.DataFrame:
    """List the features in which an animal lies farthest outside of what a class simulates."""
    low, middle, high = simulated.quantile([0.05, 0.5, 0.95]).to_numpy()
    value = own[simulated.columns].to_numpy()[0]
    width = np.maximum(np.where(value > middle, high - middle, middle - low), _TINY)
    table = pd.DataFrame(
        {
            "feature": simulated.columns, "value": value, "low": low, "high": high,
            "distance": np.abs(value - middle) / width,
        }
    )  # fmt: skip
    outside = table[(value < low - _TINY) | (value > high + _TINY)]
    ordered: pd.DataFrame = outside.sort_values("distance", ascending=False, kind="stable")
    return ordered.head(_N_MISFITS)


def group_of(
    plan: ExplanationPlan, probabilities: pd.DataFrame, verdicts: pd.DataFrame
) -> pd.DataFrame:
    """Infer how frequent each class is among animals; classes of all animals are joined first.

    *None of these* is as frequent as a class before. An animal so judged says nothing of classes.
    """
    links = nx.Graph()
    for text in probabilities["account"]:
        nx.add_path(links, text.split(" or "))
    group_of_account = {
        name: class_name(sorted(each, key=list(plan.accounts).index))
        for each in nx.connected_components(links) for name in each
    }  # fmt: skip
    group = [group_of_account[text.split(" or ")[0]] for text in probabilities["account"]]
    summed = probabilities.assign(group=group).pivot_table(
        ["probability", "prior"], "animal", "group", aggfunc="sum", fill_value=0.0, sort=False
    )
    least = np.log(1e-12)
    with np.errstate(divide="ignore", invalid="ignore"):
        evidence = np.fmax(np.log(summed["probability"] / summed["prior"]).to_numpy(float), least)
    verdict = verdicts.set_index("animal")["verdict"][summed.index].to_numpy()
    evidence[verdict == "none"] = least
    # Of few sequences, nothing is known of whether they fit: as probable as the mean class.
    none = np.where(np.isin(verdict, ["none", "few"]), 0.0, least)
    found = account_frequencies(np.column_stack((evidence, none)), seed=plan.seed)
    return pd.DataFrame(
        {
            "account": [*summed["probability"].columns, "none of these"],
            "frequency": found.mean, "low": found.low,
            "high": found.high, "exceedance": found.exceedance, "protected": found.protected,
            "equal": found.equal, "n_animals": len(evidence),
        }
    )  # fmt: skip
