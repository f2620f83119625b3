"""Which account explains the replay of these animals? ``replay explain`` and `explain`.

Each account learns from the animal's own moves and replays in its pauses, with parameters from its
priors (:mod:`analyses.inference.simulation`). A classifier of these simulated animals gives the
probability of each class of accounts that can be told apart, and checks whether the animal looks
like any of them (:mod:`analyses.inference.model_choice`); the likelihood of paths says which events
decide (:mod:`analyses.inference.likelihood`). Controls take part as accounts do.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from analyses.findings.accounts import Account
from analyses.inference.animals import ReplayingAnimal, replaying_animals
from analyses.inference.decoding import KnownReplay
from analyses.inference.features import replay_features
from analyses.inference.likelihood import path_bits
from analyses.inference.simulation import in_pauses_of
from analyses.jobs import BYTES_OF_FIGURES, N_DRAWS_EXPLAINED, WorkCost
from analyses.jobs.columns import TABLES
from analyses.jobs.kept import Kept, run_in_scratch
from analyses.jobs.results import Results
from analyses.jobs.run import manifest
from analyses.jobs.study import MOST, Piece, Runner, Shown, Study
from analyses.recordings.recover.known_replay import known_replay
from analyses.reports.explanation import no_predictions, report_of_explanation
from analyses.studies.explanation import (
    LEAST_SHARE,
    ExplanationPlan,
    check_draws,
    in_finer_states,
    named_accounts,
    simulated_draws,
)
from analyses.studies.explanation.answers import answer, group_of, in_same_pauses, statistics_of
from replay.checks import check_number, check_whole, known_arguments
from replay.files import replacing
from replay.jit import working_seconds

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_SAMPLES = 3  # of the sequences of each simulated animal
_SECONDS_OF_TREES, _SECONDS_OF_DRAW = 8.0, 0.06  # of an animal, and of its features and bits
_COLUMNS = {
    file: list(TABLES[f"explain/{file}" if file == "confusion.csv" else file].columns)
    for file in (
        "verdicts.csv", "probabilities.csv", "parameters.csv", "misfits.csv", "importance.csv",
        "explained.parquet", "confusion.csv", "places.csv", "predictions.csv", "conditions.csv",
        "group.csv",
    )
}  # fmt: skip
"""File -> its columns; in the order of `Explanation`."""
_PIECES = ("features", "bits", "draws", "statistics")


class _Tables(NamedTuple):
    """The tables of an explanation."""

    verdicts: pd.DataFrame
    probabilities: pd.DataFrame
    parameters: pd.DataFrame
    misfits: pd.DataFrame
    importance: pd.DataFrame
    sequences: pd.DataFrame
    confusion: pd.DataFrame
    places: pd.DataFrame
    predictions: pd.DataFrame
    conditions: pd.DataFrame
    group: pd.DataFrame


class Explanation(Kept, _Tables):
    """The tables of an explanation, and what else ``replay explain`` writes.

    ``replay columns`` explains the columns.

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
    places : DataFrame
        The positions of states, if they are known.
    predictions : DataFrame
        The statistics of each animal's replay beside those of accounts after the same moves; empty
        without positions of the states.
    conditions : DataFrame
        Forward and backward replay by condition, beside what accounts predict; empty without.
    group : DataFrame
        The frequencies of classes among animals; empty for a single animal.
    """

    plan: ExplanationPlan

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
    conditions: pd.DataFrame | None = None,
    n_draws: int = N_DRAWS_EXPLAINED,
    wrong_places: float | None = None,
    finer: int = 1,
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
        The accounts and controls to choose from, or Python files of your own; by default all of
        ``analyses.findings.accounts.ACCOUNTS``.
    rewards : mapping of int to float, or DataFrame, optional
        What each state paid whenever it was entered, or a table with a `reward` for each rewarded
        `step`, or `time` (s), such as that of a pump, or `state`, or place (`x, y` in cm), in all
        visits, in a `visit`, or from `first_lap` to `last_lap` (numbered from 0). A model's log has
        rewards; a recording has none, and needs this. For several animals it may be a mapping from
        their names to these.
    conditions : DataFrame, optional
        What was varied: `condition`, a name, at a `state` or place (`x, y` in cm), from `first_lap`
        to `last_lap` (numbered from 0), or both. By default, what rewards tell: places that pay, by
        what they paid last, if that varies.
    n_draws : int, default 64
        Number of draws from the priors of each account, at least 20.
    wrong_places : float, optional
        By default, simulated animals lose what `find_replay` loses, if replay was decoded: ends of
        paths, turns, and short paths. How much is learned from known replay that is put into the
        recording of `found`; else it is drawn anew for each of them. A number says instead that
        nothing is lost, and that at most this share of replayed places, drawn likewise, is wrong: 0
        if replay is known exactly.
    finer : int, default 1
        Half of the simulated animals learn and replay in states so many times finer than those of
        `found`, since animals have no states; they are read in these.
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
    # The animals of a log with several runs are named after it.
    several = found if isinstance(found, Mapping) else {"animal": found}
    animals: dict[str, ReplayingAnimal] = {}
    for name, each in several.items():
        own = rewards[name] if isinstance(rewards, Mapping) and name in rewards else rewards
        if hasattr(each, "experience") and hasattr(each, "visited"):  # decoded from a recording
            made = replaying_animals(each.experience, each.visited, name=name, rewards=own)
            known = None
            if hasattr(each, "plan"):  # it has the recording, into which known replay can be put
                number, of_plan = each.plan.n_sessions, each.plan.seed
                known = KnownReplay.of(
                    known_replay(each.session, each, n_sessions=number, seed=of_plan)
                )
            made = [animal.with_decoding(known) for animal in made]
        else:
            made = replaying_animals(each, name=name, rewards=own)
        animals |= {each.name: replace(each, conditions=conditions) for each in made}
    plan = plan_explanation(
        animals, accounts, n_draws=n_draws, wrong_places=wrong_places, seed=seed, finer=finer
    )
    scratch, tables = run_in_scratch(STUDY, plan, jobs)
    explanation = Explanation(*(tables[file] for file in _COLUMNS))
    explanation.plan, explanation._scratch = plan, scratch
    return explanation


def plan_explanation(
    animals: Mapping[str, ReplayingAnimal],
    accounts: Iterable[str] | Mapping[str, Account] | None = None,
    *,
    n_draws: int = N_DRAWS_EXPLAINED,
    wrong_places: float | None = None,
    seed: int = 0,
    earlier: Path | None = None,
    priors: Sequence[str] = (),
    finer: int = 1,
) -> ExplanationPlan:
    """Check and plan an explanation; the parameters are those of `explain` and of its plan."""
    if not animals:
        raise ValueError("There is no animal to explain.")
    check_draws(n_draws)
    if wrong_places is not None:
        check_number("wrong_places", wrong_places, at_least=0, at_most=1)
    elif not any(animal.is_decoded for animal in animals.values()):
        wrong_places = 0.0
    plan = ExplanationPlan(
        in_finer_states(animals, finer), named_accounts(accounts, priors), n_draws, wrong_places,
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


def _make(plan: ExplanationPlan, piece: Piece) -> dict[str, pd.DataFrame]:
    """Simulate some draws of one account on an animal's moves."""
    known = plan.made_earlier(piece)
    if known is not None and plan.earlier is not None:
        return {name: Results(plan.earlier).read_piece(name, *known) for name in _PIECES}
    animal = plan.animals[piece.group]
    name, draws = plan.part(piece.number)
    seen, places = animal.replayed, animal.places
    features, bits, drawn, samples = [], [], [], {}
    account = plan.accounts[name]
    for draw, params, n_made, n_replicas, wrong, made, as_replayed, rng in simulated_draws(
        animal, name, account, draws, plan, len(seen.lap)
    ):
        drawn.append((name, draw, n_made, n_replicas, json.dumps(params)))
        if n_made < LEAST_SHARE * len(seen.lap) or not len(made.lap):
            continue
        # Several samples of a draw show the trees how much so few sequences scatter.
        for _ in range(_SAMPLES):
            sample = in_pauses_of(seen, made, rng)
            features.append({"account": name, "draw": draw, **replay_features(sample, places)})
        samples[draw] = in_same_pauses(made, seen, rng)
        # The likelihood allows for wrong places, which are therefore not in the sequences, too.
        of_draw = path_bits(as_replayed, seen, places, wrong)
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
        "draws": pd.DataFrame(
            drawn, columns=["account", "draw", "n_sequences", "n_replicas", "parameters"]
        ),
    }


def _summarise(plan: ExplanationPlan, results: Results) -> dict[str, pd.DataFrame]:
    parts: dict[str, list[pd.DataFrame]] = {name: [] for name in _COLUMNS}
    for name, animal in plan.animals.items():
        tables = {table: results.read_pieces(table, name) for table in _PIECES}
        for file, table in answer(plan, animal, tables).items():
            parts[file].append(table.assign(animal=name)[_COLUMNS[file]])
    found = {
        file: pd.concat(tables, ignore_index=True)
        if tables
        else pd.DataFrame(columns=_COLUMNS[file])
        for file, tables in parts.items()
    }
    if len(plan.animals) > 1:
        found["group.csv"] = group_of(plan, found["probabilities.csv"], found["verdicts.csv"])
    with replacing(results.folder / "report.md") as beside:
        notes = [note for animal in plan.animals.values() for note in animal.notes]
        claims = {name: (each.source, each.claim) for name, each in plan.accounts.items()}
        beside.write_text(report_of_explanation(found, notes, claims), "utf-8")
    return found


def _show(plan: ExplanationPlan, tables: Mapping[str, pd.DataFrame]) -> Iterable[Shown]:
    verdicts = tables["verdicts.csv"]
    for row in verdicts.itertuples():
        own = tables["probabilities.csv"].query("animal == @row.animal")
        best = own.sort_values("probability", ascending=False).head(5)
        shown_columns = ["account", "probability", "misfit", "bits", "share_of_ceiling"]
        yield Shown(
            f"{row.animal}: {row.text}",
            best[shown_columns].round(3),
            f"Simulated animals whose account is known tell {row.account_bits:.1f} bits about "
            f"which of {row.n_accounts} it is, in {row.n_classes} classes; for {row.named:.0%} "
            "one account alone, the true one, is above .9. Bits are log2 of the probability of a "
            f"sequence: {row.walk_bits:.1f} for a walk along the track, and "
            f"{row.ceiling_bits:.1f} for a model that learns from the animal's own replay.",
        )
        if row.animal not in set(tables["predictions.csv"]["animal"]):
            has_positions = row.animal in set(tables["places.csv"]["animal"])
            yield Shown(note=no_predictions(has_positions))
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
    begin = working_seconds()
    draws = range(min(2, plan.n_draws))
    own = plan.accounts[account]
    rat = plan.animals[animal]
    for _ in simulated_draws(rat, account, own, draws, plan, len(rat.replayed.lap)):
        pass
    return account, max(working_seconds() - begin, 0.0) / len(draws)


def _draw(results: Results) -> Iterator[tuple[str, Figure]]:
    from analyses.plots.explanation import (
        explained_maze_figure,
        explained_sequences_figure,
        explanation_figure,
        group_figure,
    )
    from analyses.plots.predictions import predictions_figure

    names = ("verdicts", "probabilities", "group", "places", "misfits")
    tables = {name: results.read(f"{name}.csv") for name in names}
    yield "explanation", explanation_figure(tables["probabilities"], tables["verdicts"])
    sequences = results.read("explained.parquet")
    yield "explained_sequences", explained_sequences_figure(sequences, tables["verdicts"])
    if len(tables["group"]):
        yield "group", group_figure(tables["group"])
    several = len(tables["verdicts"]) > 1
    account = tables["verdicts"].set_index("animal")["account"]
    for name, places in tables["places"].groupby("animal", sort=False):
        own = sequences[sequences["animal"] == name]
        unlike = tables["misfits"][tables["misfits"]["animal"] == name]
        figure = explained_maze_figure(own, places, str(account[name]), unlike)
        yield f"explained_maze_{name}" if several else "explained_maze", figure
    predictions = results.read("predictions.csv")
    animals = predictions["animal"].unique().tolist()
    for name, own in predictions.groupby("animal", sort=False):
        suffix = f"_{name}" if len(animals) > 1 else ""
        yield f"predictions{suffix}", predictions_figure(own)


STUDY = Study(
    "explain",
    "Which account explains the replay of these animals?",
    command="replay explain",
    plan=None,
    make=_make,
    summarise=_summarise,
    figures={"explanation": _draw},
    show=_show,
    estimate=_estimate,
)

Explanation.study = STUDY
