"""From simulated animals to an answer: probabilities, misfit, bits, parameters, and groups.

Besides, the statistics of an animal's replay stand beside what each account predicts for this
animal. An account's predictions are those of its simulated animals: they made the same moves,
replayed in the same pauses, and are seen as imperfectly. Of what they replay in pauses, as many
sequences are counted as the animal has in each phase and lap, so that the intervals hold the
scatter of so few sequences. A draw that replays less than half as much in these pauses predicts
nothing here, and statistics that count sequences per pause are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import networkx as nx
import numpy as np
import pandas as pd

from analyses.inference.animals import FEW_SEQUENCES, ReplayingAnimal
from analyses.inference.features import (
    PLACED,
    UNKNOWN,
    in_words,
    measure,
    of_condition,
    replay_features,
)
from analyses.inference.groups import account_frequencies
from analyses.inference.likelihood import ceiling_bits, held_out_bits, walk_bits
from analyses.inference.model_choice import (
    ModelChoice,
    Simulations,
    class_name,
    parameter_intervals,
)
from analyses.inference.replayed import Replayed, senses_by_condition
from analyses.inference.simulation import as_many
from analyses.jobs.columns import TABLES
from analyses.measures import QUESTIONS, STATISTICS
from analyses.measures.animals import replays_of
from analyses.reports.explanation import LEVEL, VERDICTS, as_one, told_p
from analyses.reports.text import rows_of
from analyses.studies.explanation import ExplanationPlan, known_parameters, simulations_of
from analyses.studies.recorded_replay.statistics import task_of_track
from replay.checks.arrays import Floats
from replay.log.backups import PHASES
from replay.log.event_log import EventLog

SURE = 0.9
_N_MISFITS, _TINY = 8, 1e-9  # of places and moves, and of others
_LEAST_OF_CEILING = 0.1
_OF_CONTENT = {
    name: each
    for question, statistics in QUESTIONS.items()
    if question not in ("order", "rates")
    for name, each in statistics.items()
}
_LEAST_ANIMALS = 10  # of an account, for an interval
_PAUSES = [PHASES.index(name) for name in ("start", "episode_end", "rest")]


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
    sequences = _bits_by_account(animal, tables["bits"])
    classes = _classes(plan, choice, own, sequences, tables["draws"])
    probability, misfit = classes["probability"].to_numpy(), classes["misfit"].to_numpy()
    top, likely = int(np.argmax(probability)), likely_classes(probability)
    first, names = classes.iloc[top], classes["account"]
    controls = [name for name in choice.accounts if plan.accounts[name].is_control]
    in_part = _shortcomings(first, _ahead(sequences, choice.classes[top], controls))
    n_sequences = len(animal.replayed.lap)
    control_share = float(np.mean(np.isin(choice.classes[top], controls)))
    verdict = verdict_of(probability, misfit[likely], control_share, n_sequences, bool(in_part))
    # What is refused by its p of misfit is none of those between which it is undecided.
    named = [f"{as_one(name)} ({p:.2f})" for name, p in zip(names, probability, strict=True)]
    p = [told_p(each, n) for each, n in zip(misfit, classes["n_draws"], strict=True)]
    fitting = [named[k] for k in likely if misfit[k] > LEVEL]
    refused = [f" {named[k]} is refused: p of misfit {p[k]}." for k in likely if misfit[k] <= LEVEL]
    best = np.isin(simulations.account, choice.classes[top])
    inferred = _parameters(plan, choice, choice.classes[top], tables["draws"], own)
    of_bits = sequences.groupby("account")["bits"].mean()
    return {
        "verdicts.csv": pd.DataFrame(
            [
                {
                    "verdict": verdict, "text": VERDICTS[verdict].format(
                        name=as_one(names[top]), probability=probability[top],
                        p=p[top], fitting=", ".join(fitting), refused="".join(refused),
                        n=n_sequences, but=", and ".join(in_part), edges=_edges(inferred),
                    ),
                    "account": names[top], "probability": probability[top], "misfit": misfit[top],
                    "n_sequences": n_sequences,
                    "silent": ", ".join(k for k in plan.accounts if k not in choice.accounts),
                    "walk_bits": of_bits["walk"],
                    "ceiling_bits": of_bits["ceiling"], "n_accounts": len(choice.accounts),
                    "n_classes": len(choice.classes), **choice.summary(),
                }
            ]
        ),
        "probabilities.csv": classes,
        "parameters.csv": inferred,
        "misfits.csv": _with_meaning(_misfits(simulations.features[best], own)),
        "importance.csv": _with_meaning(choice.importance()),
        "explained.parquet": sequences,
        "confusion.csv": choice.confusion(),
        "places.csv": _positions(animal),
        "predictions.csv": beside_own_accounts(
            animal, tables["statistics"], [k for k, a in plan.accounts.items() if a.is_control]
        ),
        "conditions.csv": _by_condition(plan, animal, simulations),
    }  # fmt: skip


def _edges(parameters: pd.DataFrame) -> str:
    """Name the parameters at an edge of their priors, if any are."""
    at_edge = [
        f"{each.parameter} of {each.account} ({each.edge}, {each.median:.3g})"
        for each in rows_of(parameters) if each.edge
    ]  # fmt: skip
    edges = "At an edge of its prior, so that values beyond may explain it: "
    return f" {edges}{', '.join(at_edge)}." if at_edge else ""


def _classes(
    plan: ExplanationPlan,
    choice: ModelChoice,
    own: pd.DataFrame,
    sequences: pd.DataFrame,
    draws: pd.DataFrame,
) -> pd.DataFrame:
    """List the classes of accounts, each with its probability, misfit and bits."""
    found, n = choice.classes, len(choice.accounts)
    of_bits = sequences.groupby("account")["bits"].mean()
    walk, ceiling = of_bits["walk"], of_bits["ceiling"]
    bits = np.array([of_bits[members].max() for members in found])
    replicas = (
        draws.merge(choice.simulations.kept, on=["account", "draw"])
        .groupby("account")["n_replicas"].mean()
    )  # fmt: skip
    return pd.DataFrame(
        {
            "account": [class_name(members) for members in found],
            "is_control": [all(plan.accounts[k].is_control for k in each) for each in found],
            "probability": choice.probabilities(own)[0],
            "prior": [len(members) / n for members in found],
            "misfit": [choice.misfit(own, members)[0] for members in found],
            "n_draws": [choice.n_draws(members) for members in found],
            "n_replicas": [replicas[members].max() for members in found],
            "power": [choice.power(members, LEVEL) for members in found],
            "bits": bits,
            "share_of_ceiling": (bits - walk) / (ceiling - walk) if ceiling > walk else np.nan,
        }
    )


def _positions(animal: ReplayingAnimal) -> pd.DataFrame:
    world = animal.log.mdp
    where = np.empty((0, 2)) if world is None or world.position is None else world.position
    return pd.DataFrame({"state": np.arange(len(where)), "x": where[:, 0], "y": where[:, 1]})


def likely_classes(probability: Floats) -> list[int]:
    """List the classes that are not ruled out, the most probable first."""
    order = np.argsort(-probability, kind="stable")
    n = int(np.searchsorted(np.cumsum(probability[order]), SURE)) + 1
    likely: list[int] = order[:n].tolist()
    return likely


def verdict_of(
    probability: Floats, misfit: Floats, control_share: float, n_sequences: int, is_in_part: bool
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
    plan: ExplanationPlan,
    choice: ModelChoice,
    members: Sequence[str],
    draws: pd.DataFrame,
    own: pd.DataFrame,
) -> pd.DataFrame:
    """Infer the free parameters, as far as they are numbers, of the accounts of a class."""
    found = [pd.DataFrame(columns=list(TABLES["parameters.csv"].columns))]
    for name in members:
        if not plan.accounts[name].is_control:
            mine = choice.simulations.select(choice.simulations.account == name)
            known = known_parameters(mine, draws[draws["account"] == name])
            found.append(parameter_intervals(mine, known, own, choice.seed).assign(account=name))
    return pd.concat(found, ignore_index=True)


def _with_meaning(table: pd.DataFrame) -> pd.DataFrame:
    """Say what features mean."""
    return table.assign(meaning=[in_words(feature) for feature in table["feature"]])


def _misfits(simulated: pd.DataFrame, own: pd.DataFrame) -> pd.DataFrame:
    """List the features in which an animal lies farthest outside of what a class simulates.

    Those of places and moves are drawn on a map, so that they are listed beside the others.
    """
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
    ordered = outside.sort_values("distance", ascending=False, kind="stable")
    is_placed = ordered["feature"].str.startswith(PLACED)
    found: pd.DataFrame = ordered.groupby(is_placed, sort=False).head(_N_MISFITS)
    return found


def _by_condition(
    plan: ExplanationPlan, animal: ReplayingAnimal, simulations: Simulations
) -> pd.DataFrame:
    """Put replay of each sense by condition beside what each account predicts for it."""
    seen, places, rows = animal.replayed, animal.places, []
    if not places.conditions:
        return pd.DataFrame(columns=list(TABLES["conditions.csv"].columns))
    number = np.where(seen.location >= 0, places.condition[seen.lap, seen.location], -1)
    own = senses_by_condition(measure(seen, places), number, places.conditions)
    for (sense, condition, other), value in own.items():
        n = np.count_nonzero(number == places.conditions.index(condition))
        predicted = simulations.features[of_condition(sense, condition, other)]
        for name in simulations.names:
            known = predicted[(simulations.account == name) & (predicted > UNKNOWN)]
            low, middle, high = known.quantile([0.05, 0.5, 0.95])
            n_draws = len(np.unique(simulations.draw[known.index]))
            rows.append((name, sense, condition, other, n, value, low, middle, high, n_draws,
                         plan.accounts[name].is_control))  # fmt: skip
    names = [name for name in TABLES["conditions.csv"].columns if name != "animal"]
    table = pd.DataFrame(rows, columns=names)
    return table[table["value"].notna() & (table["n_draws"] >= _LEAST_ANIMALS)]


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
        ratio = summed["probability"].to_numpy(float) / summed["prior"].to_numpy(float)
        evidence = np.fmax(np.log(ratio), least)
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


def in_same_pauses(made: Replayed, seen: Replayed, rng: np.random.Generator) -> Replayed:
    """Choose as many simulated sequences as the animal has in each phase and lap.

    None if half of the animal's number is not reached in pauses.
    """
    chosen, n_missing, n_seen = [np.empty(0, dtype=np.int64)], 0, 0
    for phase in _PAUSES:
        own, rows = np.flatnonzero(made.phase == phase), seen.phase == phase
        pauses = seen.phase[rows], seen.location[rows]
        chosen.append(own[as_many(made.take(own), seen.lap[rows], rng, pauses)])
        n_seen, n_missing = n_seen + rows.sum(), n_missing + max(rows.sum() - len(own), 0)
    if n_missing > n_seen / 2:
        return made.take(chosen[0])
    return made.take(np.sort(np.concatenate(chosen)))


def statistics_of(animal: ReplayingAnimal, samples: Sequence[Replayed]) -> pd.DataFrame:
    """Compute the statistics of samples of replay after an animal's moves.

    Returns `sample, statistic, value, null`; none without positions, or without replay in pauses.
    """
    world = animal.log.mdp
    if world is None or world.position is None or not any(len(each.lap) for each in samples):
        empty = pd.DataFrame({"sample": [], "statistic": [], "value": [], "null": []})
        return empty.astype({"statistic": str})  # read again, it is still a column of names
    task, steps = task_of_track(world, animal.landmarks), animal.log.columns("steps")
    log = EventLog({"steps": steps}, mdp=task.world)
    laps = pd.DataFrame(
        {
            "episode": steps["episode"],
            "start": steps["state"],
            "end": steps["next_state"],
            "reward": steps["reward"],
        }
    )
    laps = laps.groupby("episode", sort=True, as_index=False).agg(
        {"start": "first", "end": "last", "reward": "sum"}
    )
    # Pauses at rest are counted with the lap that they follow.
    at_rest = animal.pauses.loc[animal.pauses["phase"] == "rest", "step"].to_numpy(np.int64)
    n_rest = np.bincount(animal.lap_of_step[at_rest], minlength=len(laps))
    laps = laps.assign(block="run", lap="", n_rest=n_rest)
    runs = []
    for number, each in enumerate(samples):
        # A sequence is an event of its own; accounts are compared with an animal in pauses alone.
        kept = each.take(np.flatnonzero(np.isin(each.phase, _PAUSES)))
        phase = np.array(PHASES, dtype=object)[kept.phase]
        paths = {"step": kept.step, "phase": phase, "states": kept.states.arrays()}
        if animal.headings is not None:
            paths["along"] = kept.along.arrays()
        runs.append((number, log, laps, pd.DataFrame(paths)))
    replays = replays_of(task, runs)
    found = pd.concat(
        [each.compute(replays).assign(statistic=name) for name, each in _OF_CONTENT.items()],
        ignore_index=True,
    )
    return found.rename(columns={"animal": "sample"})[["sample", "statistic", "value", "null"]]


def beside_own_accounts(
    animal: ReplayingAnimal, simulated: pd.DataFrame, controls: Sequence[str]
) -> pd.DataFrame:
    """Combine the statistics of an animal with those of each account after the same moves.

    `simulated` has `account, draw, statistic, value`. Accounts with few values are left out.
    """
    own = statistics_of(animal, [animal.replayed]).dropna(subset=["value"])
    known = simulated.dropna(subset=["value"]).groupby(["statistic", "account"], sort=False)
    predicted = pd.DataFrame(
        {
            "predicted_low": known["value"].quantile(0.05),
            "predicted": known["value"].quantile(0.5),
            "predicted_high": known["value"].quantile(0.95),
            "n_draws": known["value"].size(),
        }
    )
    predicted = predicted[predicted["n_draws"] >= _LEAST_ANIMALS]
    table = own.merge(predicted.reset_index(), on="statistic", how="inner")
    return table.assign(
        label=[STATISTICS[name].label for name in table["statistic"]],
        is_control=table["account"].isin(controls),
    )
