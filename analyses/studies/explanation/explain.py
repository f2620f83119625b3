"""Which account explains the replay of these animals? ``replay explain`` and `explain`.

Each account learns from the animal's own moves and replays in its pauses, with parameters from its
priors (:mod:`analyses.inference.simulation`). A classifier of these simulated animals gives the
probability of each class of accounts that can be told apart, and checks whether the animal looks
like any of them (:mod:`analyses.inference.model_choice`); the likelihood of paths says which events
decide (:mod:`analyses.inference.likelihood`). Controls take part as accounts do.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any, NamedTuple

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.findings.accounts import ACCOUNTS, Account, draw_settings, find_account
from analyses.inference.animals import Replayed, ReplayingAnimal, replaying_animals
from analyses.inference.features import replay_features
from analyses.inference.groups import account_frequencies
from analyses.inference.likelihood import ceiling_bits, held_out_bits, path_bits, walk_bits
from analyses.inference.model_choice import (
    ModelChoice,
    Simulations,
    class_name,
    forests,
    parameter_intervals,
)
from analyses.inference.simulation import as_many, simulate_replay
from analyses.jobs.columns import Column, Table
from analyses.jobs.cost import BYTES_OF_FIGURES, WorkCost
from analyses.jobs.results import Results
from analyses.jobs.run import manifest, run
from analyses.jobs.study import MOST, Piece, Runner, Shown, Study
from analyses.studies.explanation.predictions import (
    beside_own_accounts,
    in_same_pauses,
    statistics_of,
)
from analyses.studies.explanation.report import VERDICTS, write_explanation
from replay.checks import check_list, check_number, check_text, check_whole, known_arguments, shown
from replay.files import replacing
from replay.jit import compiling_seconds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["DRAWS_OF_PIECE", "LEAST_DRAWS", "STUDY", "SURE", "Explanation", "ExplanationPlan"]
__all__ += ["drawn_parameters", "explain", "known_parameters", "named_accounts", "plan_explanation"]
__all__ += ["simulated_draws", "simulations_of"]

DRAWS_OF_PIECE = 16
LEAST_DRAWS = 20  # a p of misfit can then be below .05
_SAMPLES = 3  # of the sequences of each simulated animal
_LEAST_SHARE = 0.5  # of the animal's number of sequences
SURE, _LEVEL = 0.9, 0.05
_N_MISFITS = 8
_SECONDS_OF_TREES, _SECONDS_OF_DRAW = 8.0, 0.06


class ExplanationPlan(NamedTuple):
    """What is explained, and by which accounts.

    Attributes
    ----------
    animals : dict of str to ReplayingAnimal
    accounts : dict of str to Account
    n_draws : int
        Number of draws from the priors of each account.
    wrong_places : float
        The largest share of replayed places that may be wrong; that of each draw lies between 0 and
        this.
    seed : int
    earlier : Path, optional
        The folder of an earlier explanation: what was simulated there is not simulated again.
    """

    animals: dict[str, ReplayingAnimal]
    accounts: dict[str, Account]
    n_draws: int
    wrong_places: float
    seed: int
    earlier: Path | None = None

    def describe(self) -> dict[str, Any]:
        """Return what the manifest must hold."""
        return {
            "animals": {name: animal.digest() for name, animal in self.animals.items()},
            "accounts": {name: _plain(account) for name, account in self.accounts.items()},
            "draws": self.n_draws,
            "wrong_places": self.wrong_places,
            "seed": self.seed,
        }

    def n_pieces(self) -> dict[str, int]:
        """Return the number of pieces of each animal: some draws of one account each."""
        return dict.fromkeys(self.animals, len(self.accounts) * len(_chunks(self.n_draws)))

    def part(self, number: int) -> tuple[str, range]:
        """Return the account and the draws of a piece."""
        chunks = _chunks(self.n_draws)
        return list(self.accounts)[number // len(chunks)], chunks[number % len(chunks)]

    def made_earlier(self, piece: Piece) -> Piece | None:
        """Find the piece of the earlier explanation that is the same as one of this, if any."""
        if self.earlier is None:
            return None
        results, own = Results(self.earlier), json.loads(json.dumps(self.describe()))
        held, (name, draws) = results.manifest(), self.part(piece.number)
        chunks = _chunks(held["draws"])
        if (
            any(held.get(key) != own[key] for key in ("wrong_places", "seed"))
            or held["animals"].get(piece.group) != own["animals"][piece.group]
            or held["accounts"].get(name) != own["accounts"][name]
            or draws not in chunks
        ):
            return None
        number = list(held["accounts"]).index(name) * len(chunks) + chunks.index(draws)
        is_whole = results.is_finished(piece.group, number) and not results.damaged(
            piece.group, number
        )
        return Piece(piece.group, number) if is_whole else None


def _chunks(n_draws: int) -> list[range]:
    """Cut the draws of an account into pieces."""
    begins = range(0, n_draws, DRAWS_OF_PIECE)
    return [range(one, min(one + DRAWS_OF_PIECE, n_draws)) for one in begins]


class Explanation(NamedTuple):
    """The tables of an explanation; ``replay columns`` explains their columns.

    Attributes
    ----------
    verdicts : DataFrame
        For each animal: the class of accounts that explains its replay, or why none does.
    probabilities : DataFrame
        For each animal and class: probability, misfit, and bits per sequence.
    parameters : DataFrame
        Parameters of the accounts of the most probable class, with 90 % intervals.
    misfits : DataFrame
        The features in which the animal differs most from that class.
    importance : DataFrame
        The features that tell accounts apart.
    sequences : DataFrame
        The bits of each sequence by account.
    confusion : DataFrame
        Which class is found for simulated animals of each account.
    predictions : DataFrame
        The statistics of each animal's replay beside those of accounts after the same moves; empty
        without positions of the states.
    group : DataFrame
        The frequencies of classes among animals; empty for a single animal.
    """

    verdicts: pd.DataFrame
    probabilities: pd.DataFrame
    parameters: pd.DataFrame
    misfits: pd.DataFrame
    importance: pd.DataFrame
    sequences: pd.DataFrame
    confusion: pd.DataFrame
    predictions: pd.DataFrame
    group: pd.DataFrame

    def __repr__(self) -> str:
        """Show the verdict on each animal."""
        lines = [f"{row.animal}: {row.text}" for row in self.verdicts.itertuples()]
        return "\n".join(lines)


@known_arguments
def explain(
    found: Any,
    *,
    accounts: Iterable[str] | Mapping[str, Account] | None = None,
    rewards: Any = None,
    n_draws: int = 64,
    wrong_places: float | None = None,
    seed: int = 0,
    jobs: int = 1,
) -> Explanation:
    """Say which account of replay made the replay of animals, and how sure that is.

    Parameters
    ----------
    found : Conclusions, EventLog, Run, TaskRun, or mapping of str to these
        The replay of an animal and its moves, as `find_replay` returns them for a recording, or a
        model's log. A mapping has the names of several animals; so has a log of several runs.
    accounts : iterable of str, or mapping of str to Account, optional
        The accounts and controls to choose from; by default all of
        ``analyses.findings.accounts.ACCOUNTS``.
    rewards : mapping of int to float, or DataFrame, optional
        What each state paid whenever it was entered, or a table with a `reward` for each rewarded
        `step`. A model's log has rewards; a recording has none, and needs this. For several
        animals it may be a mapping from their names to these.
    n_draws : int, default 64
        Number of draws from the priors of each account, at least 20.
    wrong_places : float, optional
        The largest share of replayed places that may be wrong, because they are decoded: by default
        0 for models and 0.3 for recordings. The share itself is drawn anew for each simulated
        animal, so that the answer does not depend on it.
    seed : int, default 0
        Seed of all random numbers.
    jobs : int, default 1
        Number of processes.

    Returns
    -------
    Explanation
        Its tables. ``print(explanation)`` shows the verdicts.

    Raises
    ------
    ValueError
        If there is no sequence to explain, rewards are missing, or an account is unknown.

    Notes
    -----
    *When* an account replays, and how much, does not count: as many simulated sequences are
    compared as the animal replayed in and after each lap. All accounts have the same prior
    probability.

    Examples
    --------
    >>> from replay.tasks import run_task
    >>> rat = run_task("gupta_2t", "episodic_control", seed=1)  # a rat whose account is known
    >>> few = ["episodic_control", "dyna_q", "graph_walks"]
    >>> explain(rat, accounts=few, n_draws=20)
    animal: episodic_control explains this replay: probability 1.00, and its animals look like it.
    """
    plan = plan_explanation(
        _animals_of(found, rewards), accounts, n_draws=n_draws,
        wrong_places=_usual_share(found) if wrong_places is None else wrong_places, seed=seed,
    )  # fmt: skip
    tables = run(STUDY, plan, jobs=jobs, tell=lambda text: None)
    return Explanation(*(tables[file] for file in STUDY.columns))


def plan_explanation(
    animals: Mapping[str, ReplayingAnimal],
    accounts: Iterable[str] | Mapping[str, Account] | None = None,
    *,
    n_draws: int = 64,
    wrong_places: float = 0.0,
    seed: int = 0,
    earlier: Path | None = None,
) -> ExplanationPlan:
    """Check and plan an explanation; the parameters are those of `explain` and of its plan."""
    forests()  # before hours of simulation
    if not animals:
        raise ValueError("There is no animal to explain.")
    check_whole("n_draws", n_draws, at_least=LEAST_DRAWS, at_most=MOST)
    check_number("wrong_places", wrong_places, at_least=0, at_most=1)
    plan = ExplanationPlan(
        dict(animals), named_accounts(accounts), n_draws, wrong_places,
        check_whole("seed", seed), earlier,
    )  # fmt: skip
    if earlier is not None:
        held, own = Results(earlier).manifest(), manifest(STUDY, plan)
        other = [key for key in ("study", "versions", "sources") if held.get(key) != own[key]]
        if other:
            raise ValueError(
                f"{earlier} cannot be reused: it was made with {', '.join(other)} that differ. "
                "Explain the replay without it."
            )
        for key in ("animals", "accounts"):
            if not isinstance(held.get(key), dict):
                raise ValueError(
                    f"{earlier} cannot be reused: its manifest names no {key}. Explain the replay "
                    "without it."
                )
        check_whole(f"The number of draws of {earlier}", held.get("draws"), at_most=MOST)
    return plan


def named_accounts(accounts: Iterable[str] | Mapping[str, Account] | None) -> dict[str, Account]:
    """Look up accounts; by default all, controls included."""
    if accounts is None:
        return dict(ACCOUNTS)
    if isinstance(accounts, Mapping):
        chosen = dict(accounts)
        for name, account in chosen.items():
            if not isinstance(account, Account):
                raise TypeError(f"The account {name!r} must be an Account, got {shown(account)}.")
    else:
        chosen = {
            name: find_account(name)
            for name in (
                check_text("each account", each) for each in check_list("accounts", accounts)
            )
        }
    if len(chosen) < 2:
        raise ValueError("Give at least two accounts: an account is probable only beside others.")
    return chosen


def _animals_of(found: Any, rewards: Any) -> dict[str, ReplayingAnimal]:
    """Prepare all animals; those of a log with several runs are named after it."""
    several = found if isinstance(found, Mapping) else {"animal": found}
    animals: dict[str, ReplayingAnimal] = {}
    for name, each in several.items():
        own = rewards
        if isinstance(rewards, Mapping) and name in rewards:
            own = rewards[name]
        if _is_recording(each):
            made = replaying_animals(each.experience, each.visited, name=name, rewards=own)
        else:
            made = replaying_animals(each, name=name, rewards=own)
        animals |= {animal.name: animal for animal in made}
    return animals


def _is_recording(found: Any) -> bool:
    return hasattr(found, "experience") and hasattr(found, "visited")


def _usual_share(found: Any) -> float:
    each = list(found.values()) if isinstance(found, Mapping) else [found]
    return 0.3 if any(map(_is_recording, each)) else 0.0


def simulated_draws(
    animal: ReplayingAnimal,
    name: str,
    account: Account,
    draws: range,
    plan: Any,
) -> Iterator[tuple[int, dict[str, Any], Replayed, np.random.Generator]]:
    """Simulate some draws of an account; yields draw, parameters, sequences and a random stream."""
    for draw, params, seeds, rng in drawn_parameters(name, account, draws, plan):
        wrong = float(rng.uniform(0.0, plan.wrong_places))
        made = simulate_replay(animal, account, params, seeds, wrong_places=wrong)
        yield draw, params, made, rng


def drawn_parameters(
    name: str, account: Account, draws: range, plan: Any
) -> Iterator[tuple[int, dict[str, Any], np.random.SeedSequence, np.random.Generator]]:
    """Draw parameters; yields draw, parameters, seeds of the simulation and a random stream."""
    key = np.random.SeedSequence([plan.seed, zlib.crc32(name.encode())])
    settings = list(draw_settings(account, plan.n_draws, np.random.default_rng(key)))
    for draw in draws:
        seeds = np.random.SeedSequence([plan.seed, zlib.crc32(name.encode()), 1 + draw])
        own, sampling = seeds.spawn(2)
        yield draw, settings[draw], own, np.random.default_rng(sampling)


def _make(plan: ExplanationPlan, piece: Piece) -> dict[str, pd.DataFrame]:
    """Simulate some draws of one account on an animal's moves."""
    known = plan.made_earlier(piece)
    if known is not None and plan.earlier is not None:
        return {name: Results(plan.earlier).read_piece(name, *known) for name in _PIECES}
    animal = plan.animals[piece.group]
    name, draws = plan.part(piece.number)
    seen, places = animal.replayed, animal.places
    features, bits, drawn, samples = [], [], [], {}
    for draw, params, made, rng in simulated_draws(animal, name, plan.accounts[name], draws, plan):
        drawn.append((name, draw, len(made.lap), json.dumps(params)))
        if len(made.lap) < max(_LEAST_SHARE * len(seen.lap), 1):
            continue
        for _ in range(_SAMPLES):
            sample = made.take(as_many(made, seen.lap, rng))
            features.append({"account": name, "draw": draw, **replay_features(sample, places)})
        samples[draw] = in_same_pauses(made, seen, rng)
        of_draw = path_bits(made, seen, places)
        bits.append(
            pd.DataFrame(
                {
                    "account": name,
                    "draw": draw,
                    "sequence": np.arange(len(of_draw)),
                    "bits": of_draw,
                }
            )
        )
    empty = pd.DataFrame({"account": [], "draw": [], "sequence": [], "bits": []})
    statistics = statistics_of(animal, list(samples.values()))
    of_sample = np.array(list(samples), dtype=np.int64)[statistics.pop("sample").astype(int)]
    return {
        "features": pd.DataFrame(features),
        "bits": pd.concat(bits, ignore_index=True) if bits else empty,
        "statistics": statistics.assign(account=name, draw=of_sample),
        "draws": pd.DataFrame(drawn, columns=["account", "draw", "n_sequences", "parameters"]),
    }


def _summarise(plan: ExplanationPlan, results: Results) -> dict[str, pd.DataFrame]:
    parts: dict[str, list[pd.DataFrame]] = {name: [] for name in STUDY.columns}
    for name, animal in plan.animals.items():
        tables = {table: results.read_pieces(table, name) for table in _PIECES}
        for file, table in _one_animal(plan, animal, tables).items():
            parts[file].append(table.assign(animal=name)[list(STUDY.columns[file].columns)])
    found = {
        file: pd.concat(tables, ignore_index=True) if tables else _empty(file)
        for file, tables in parts.items()
    }
    if len(plan.animals) > 1:
        found["group.csv"] = _group(plan, found["probabilities.csv"])
    with replacing(results.folder / "report.md") as beside:
        write_explanation(beside, found, [note for a in plan.animals.values() for note in a.notes])
    return found


_PIECES = ("features", "bits", "draws", "statistics")


def _empty(file: str) -> pd.DataFrame:
    return pd.DataFrame(columns=list(STUDY.columns[file].columns))


def simulations_of(features: pd.DataFrame) -> Simulations:
    """Take the simulated animals from the tables of pieces."""
    known = features.drop(columns=["account", "draw"])
    return Simulations(features["account"].to_numpy(object), features["draw"].to_numpy(int), known)


def _one_animal(
    plan: ExplanationPlan, animal: ReplayingAnimal, tables: Mapping[str, pd.DataFrame]
) -> dict[str, pd.DataFrame]:
    """Classify one animal, check the answer, and say what decides."""
    simulations = simulations_of(tables["features"])
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
    controls = [
        all(plan.accounts[name].is_control for name in members) for members in choice.classes
    ]
    n_silent = sum(name not in choice.accounts for name in plan.accounts)
    verdict = _verdict(names, probability, misfit[top], controls[top])
    best = np.isin(simulations.account, choice.classes[top])
    parameters = [
        _parameters(choice, name, simulations, tables["draws"], own)
        for name in choice.classes[top]
        if not plan.accounts[name].is_control
    ]
    summary = choice.summary()
    return {
        "verdicts.csv": pd.DataFrame(
            [
                {
                    "verdict": verdict, "text": VERDICTS[verdict].format(
                        name=names[top], probability=probability[top], misfit=misfit[top],
                        others=_candidates(names, probability),
                    ),
                    "account": names[top], "probability": probability[top], "misfit": misfit[top],
                    "n_sequences": len(animal.replayed.lap), "n_silent": n_silent,
                    "walk_bits": walk, "ceiling_bits": ceiling, **summary,
                }
            ]
        ),
        "probabilities.csv": pd.DataFrame(
            {
                "account": names, "is_control": controls, "probability": probability,
                "prior": [len(members) / len(choice.accounts) for members in choice.classes],
                "misfit": misfit, "bits": bits,
                "share_of_ceiling": (bits - walk) / (ceiling - walk) if ceiling > walk else np.nan,
            }
        ),
        "parameters.csv": pd.concat([_empty("parameters.csv"), *parameters], ignore_index=True),
        "misfits.csv": _misfits(simulations.features[best], own),
        "importance.csv": choice.importance(),
        "explained.parquet": sequences,
        "confusion.csv": choice.confusion(),
        "predictions.csv": beside_own_accounts(
            animal, tables["statistics"], [k for k, a in plan.accounts.items() if a.is_control]
        ),
    }  # fmt: skip


def _verdict(
    names: Sequence[str], probability: NDArray[np.float64], misfit: float, is_control: bool
) -> str:
    if probability.max() <= SURE:
        return "undecided"
    if misfit <= _LEVEL:
        return "none"
    return "control" if is_control else "account"


def _candidates(names: Sequence[str], probability: NDArray[np.float64]) -> str:
    """List the classes that are not ruled out, the most probable first."""
    order = np.argsort(-probability)
    n = int(np.searchsorted(np.cumsum(probability[order]), SURE)) + 1
    return ", ".join(f"{names[k]} ({probability[k]:.2f})" for k in order[:n].tolist())


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


def known_parameters(simulations: Simulations, draws: pd.DataFrame) -> pd.DataFrame:
    """Look up the parameters of simulated animals of an account that are numbers."""
    known = draws.set_index("draw")["parameters"].map(json.loads)
    values = pd.DataFrame([known[draw] for draw in simulations.draw.tolist()])
    return values.select_dtypes("number")


def _misfits(simulated: pd.DataFrame, own: pd.DataFrame) -> pd.DataFrame:
    """List the features in which an animal lies farthest outside of what a class simulates."""
    low, middle, high = simulated.quantile([0.05, 0.5, 0.95]).to_numpy()
    value = own[simulated.columns].to_numpy()[0]
    width = np.maximum(np.where(value > middle, high - middle, middle - low), 1e-9)
    table = pd.DataFrame(
        {
            "feature": simulated.columns, "value": value, "low": low, "high": high,
            "distance": np.abs(value - middle) / width,
        }
    )  # fmt: skip
    outside = table[(value < low) | (value > high)]
    ordered: pd.DataFrame = outside.sort_values("distance", ascending=False, kind="stable")
    return ordered.head(_N_MISFITS)


def _group(plan: ExplanationPlan, probabilities: pd.DataFrame) -> pd.DataFrame:
    """Infer how frequent each class is among animals; classes of all animals are joined first."""
    links = nx.Graph()
    for text in probabilities["account"]:
        nx.add_path(links, text.split(" or "))
    groups = [
        sorted(each, key=list(plan.accounts).index) for each in nx.connected_components(links)
    ]
    table = probabilities.assign(
        group=[
            next(class_name(each) for each in groups if text.split(" or ")[0] in each)
            for text in probabilities["account"]
        ]
    )
    summed = table.pivot_table(
        ["probability", "prior"], "animal", "group", aggfunc="sum", fill_value=0.0, sort=False
    )
    evidence = np.log(
        np.maximum(summed["probability"].to_numpy(float), 1e-12)
        / np.maximum(summed["prior"].to_numpy(float), 1e-12)
    )
    found = account_frequencies(evidence, seed=plan.seed)
    return pd.DataFrame(
        {
            "account": summed["probability"].columns, "frequency": found.mean, "low": found.low,
            "high": found.high, "exceedance": found.exceedance, "protected": found.protected,
            "equal": found.equal, "n_animals": len(evidence),
        }
    )  # fmt: skip


def _show(plan: ExplanationPlan, tables: Mapping[str, pd.DataFrame]) -> Iterable[Shown]:
    verdicts = tables["verdicts.csv"]
    for row in verdicts.itertuples():
        own = tables["probabilities.csv"].query("animal == @row.animal")
        best = own.sort_values("probability", ascending=False).head(5)
        shown_columns = ["account", "probability", "misfit", "bits", "share_of_ceiling"]
        yield Shown(
            f"{row.animal}: {row.text}",
            best[shown_columns].round(3),
            f"Of simulated animals whose account is known, {row.recovered:.0%} are recovered, and "
            f"{row.right_if_sure:.0%} of those that are sure (above .9) are right. A sequence has "
            f"{row.walk_bits:.1f} bits for a walk along the track, and {row.ceiling_bits:.1f} for "
            "a model that learns from the animal's own replay.",
        )
    if len(tables["group.csv"]):
        yield Shown("Frequencies among animals", tables["group.csv"].round(3))


def _estimate(plan: ExplanationPlan, left: Sequence[Piece], call: Runner) -> WorkCost:
    """Time a few draws of each account on the first animal, after compiling."""
    name = next(iter(plan.animals))
    parts = [plan.part(piece.number) for piece in left if plan.made_earlier(piece) is None]
    timed = dict(call(_time_draws, [(plan, name, each) for each in dict(parts)]))
    seconds, n = 0.0, 0
    for account, draws in parts:
        seconds += len(draws) * (timed[account] + _SECONDS_OF_DRAW)
        n += len(draws)
    return WorkCost(
        {"simulated animals": n}, seconds, BYTES_OF_FIGURES,
        seconds_after=_SECONDS_OF_TREES * len(plan.animals),
    )  # fmt: skip


def _time_draws(plan: ExplanationPlan, animal: str, account: str) -> tuple[str, float]:
    """Time two draws of an account; return the processor seconds of one, without compiling."""
    begin, compiling = process_time(), compiling_seconds()
    draws = range(min(2, plan.n_draws))
    own = plan.accounts[account]
    for _ in simulated_draws(plan.animals[animal], account, own, draws, plan):
        pass
    spent = process_time() - begin - (compiling_seconds() - compiling)
    return account, max(spent, 0.0) / len(draws)


def _plain(account: Account) -> dict[str, Any]:
    priors = {name: [type(each).__name__, *each[:-1]] for name, each in account.priors.items()}  # type: ignore[index]
    return {"generator": account.generator, "priors": priors, "fixed": dict(account.fixed)}


def _draw(results: Results) -> Iterator[tuple[str, Figure]]:
    from analyses.plots.explanation import (
        explained_sequences_figure,
        explanation_figure,
        predictions_figure,
    )

    tables = {name: results.read(f"{name}.csv") for name in ("verdicts", "probabilities")}
    yield "explanation", explanation_figure(tables["probabilities"], tables["verdicts"])
    yield (
        "explained_sequences",
        explained_sequences_figure(results.read("explained.parquet"), tables["verdicts"]),
    )
    predictions = results.read("predictions.csv")
    animals = predictions["animal"].unique().tolist()
    for name, own in predictions.groupby("animal", sort=False):
        suffix = f"_{name}" if len(animals) > 1 else ""
        yield f"predictions{suffix}", predictions_figure(own)


_RECOVERY = {
    "recovered": Column("the share of simulated animals whose class is the most probable"),
    "sure": Column("the share of them with a class above .9"),
    "right_if_sure": Column("the share of these that is right", "", "if none is sure"),
    "calibration_error": Column("the expected calibration error of probabilities"),
}
_CLASS = Column("the account, or the accounts that cannot be told apart, joined by `or`")
_MISFIT = Column("how often an animal of the class is as unusual for it: the p of a test")

STUDY = Study(
    "explain",
    "Which account explains the replay of these animals?",
    command="replay explain",
    plan=None,
    needs="the moves and the replay of animals: see replay explain",
    make=_make,
    summarise=_summarise,
    figures={"explanation": _draw},
    n_figures=lambda plan: 2 + len(plan.animals),
    show=_show,
    estimate=_estimate,
    columns={
        "verdicts.csv": Table.of(
            "animal",
            "animal verdict text account probability misfit n_sequences n_silent walk_bits "
            "ceiling_bits recovered sure right_if_sure calibration_error",
            {
                "animal": Column("the name of the animal"),
                "verdict": Column("`account`, `control`, `none` or `undecided`"),
                "text": Column("the verdict in words"),
                "account": _CLASS,
                "probability": Column("that of the most probable class"),
                "misfit": _MISFIT,
                "n_sequences": Column("number of sequences that are explained"),
                "n_silent": Column("number of accounts that replay too little to be compared"),
                "walk_bits": Column("a walk along the track", "bits per sequence"),
                "ceiling_bits": Column("a model that learns from this replay", "bits per sequence"),
                **_RECOVERY,
            },
        ),
        "probabilities.csv": Table.of(
            "animal and class of accounts",
            "animal account is_control probability prior misfit bits share_of_ceiling",
            {
                "animal": Column("the name of the animal"),
                "account": _CLASS,
                "is_control": Column("whether it is a control, which does not learn"),
                "probability": Column("the calibrated probability of the class"),
                "prior": Column("its probability before: its share of the accounts"),
                "misfit": _MISFIT,
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
    },
)
