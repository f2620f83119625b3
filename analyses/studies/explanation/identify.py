"""Which accounts could a maze and its protocol tell apart? ``replay identifiability``.

Before an experiment there are laps, or a task that gives them, but no replay. Accounts are
simulated on these laps as for an explanation, and classified with more and more sequences. How sure
a wrong answer would be if the true account were in no list is measured by leaving each class out.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from analyses.findings.accounts import ACCOUNTS, Account
from analyses.inference.animals import ReplayingAnimal, experienced_animal
from analyses.inference.features import replay_features
from analyses.inference.model_choice import ModelChoice, Simulations, class_name
from analyses.inference.replayed import Places, Replayed
from analyses.inference.simulation import as_many
from analyses.jobs import BYTES_OF_FIGURES, N_DRAWS_EXPLAINED, N_SEQUENCES, WorkCost
from analyses.jobs.results import Results
from analyses.jobs.study import Piece, Runner, Shown, Study, drawn
from analyses.reports.explanation import LEVEL
from analyses.sequences.sequences import Lists
from analyses.studies.explanation import (
    LEAST_DRAWS,
    LEAST_SHARE,
    check_draws,
    chunks_of_draws,
    described,
    in_finer_states,
    named_accounts,
    simulated_draws,
    simulations_of,
)
from analyses.studies.explanation.answers import SURE
from replay.checks import check_number, check_whole
from replay.jit import working_seconds
from replay.log.event_log import EventLog
from replay.tasks import give_laps, replay_laps
from replay.tasks.published import TASKS
from replay.worlds.mdp import MDP

_SAMPLES = 3  # of the sequences of each simulated animal
_GROUPS = (3, 10)  # animals
_MOST_KEPT = 1000  # sequences of a draw, more than any number that is asked for by default
_SECONDS_OF_ANIMALS = 0.006  # of one account in the trees
_TASKS = ("gupta_2t", "w_track", "barrier_arena", "linear_track", "eight_arm")
_USUAL_DRAWS = 32  # half of those of an explanation
_MOVES = ("state", "action", "reward", "next_state", "terminated", "truncated")


class IdentifiabilityPlan(NamedTuple):
    """The laps of an experiment, and the accounts that it should tell apart."""

    # The laps of each maze or protocol; nothing needs to be replayed.
    protocols: dict[str, ReplayingAnimal]
    accounts: dict[str, Account]
    n_sequences: tuple[int, ...]  # numbers of sequences that an animal may give, ascending
    n_draws: int
    # The largest share of replayed places that may be wrong; that of each draw lies between 0 and
    # this. None if decoding loses ends, turns, and short paths instead.
    wrong_places: float | None
    seed: int
    # Protocol -> how often its session is run, if it is more than once: an animal gives as many
    # sequences in each.
    n_sessions: Mapping[str, int] = MappingProxyType({})

    def numbers(self, protocol: str) -> list[int]:
        """Return the numbers of sequences of all sessions of a protocol."""
        return [n * self.n_sessions.get(protocol, 1) for n in self.n_sequences]

    def describe(self) -> dict[str, Any]:
        """Return what the manifest must hold."""
        own = {
            name: described(each) for name, each in self.accounts.items()
            if each != ACCOUNTS.get(name)
        }  # fmt: skip
        return {
            "protocols": {name: laps.digest() for name, laps in self.protocols.items()},
            "accounts": list(self.accounts),
            **({"own_accounts": own} if own else {}),
            "n_sequences": list(self.n_sequences),
            "draws": self.n_draws,
            "wrong_places": self.wrong_places,
            "seed": self.seed,
            **({"sessions": dict(self.n_sessions)} if self.n_sessions else {}),
        }

    def part(self, number: int) -> tuple[str, range]:
        """Return the account and the draws of a piece."""
        account, chunk = divmod(number, len(chunks_of_draws(self.n_draws)))
        return list(self.accounts)[account], chunks_of_draws(self.n_draws)[chunk]

    def n_pieces(self) -> dict[str, int]:
        """Return the number of pieces of each protocol: some draws of one account each."""
        n_chunks = len(chunks_of_draws(self.n_draws))
        return dict.fromkeys(self.protocols, len(self.accounts) * n_chunks)


def plan_identifiability(
    protocols: Mapping[str, ReplayingAnimal],
    accounts: Iterable[str] | Mapping[str, Account] | None = None,
    *,
    n_sequences: Sequence[int] = N_SEQUENCES,
    n_draws: int = N_DRAWS_EXPLAINED,
    wrong_places: float | None = None,
    seed: int = 0,
    n_sessions: Mapping[str, int] | None = None,
    priors: Sequence[str] = (),
    finer: int = 1,
) -> IdentifiabilityPlan:
    """Check and plan; laps are those of animals of `analyses.inference.animals`.

    By default these will be recorded, and `find_replay` loses as much as in an explanation.
    """
    if not protocols:
        raise ValueError("Give the laps of at least one maze.")
    numbers = sorted({check_whole("n_sequences", n, at_least=1) for n in n_sequences})
    if not numbers:
        raise ValueError("n_sequences must name at least one number of sequences.")
    check_draws(n_draws)
    if wrong_places is None:
        protocols = {name: replace(laps, is_decoded=True) for name, laps in protocols.items()}
    else:
        check_number("wrong_places", wrong_places, at_least=0, at_most=1)
    return IdentifiabilityPlan(
        in_finer_states(protocols, finer), named_accounts(accounts, priors), tuple(numbers),
        n_draws, wrong_places, check_whole("seed", seed), dict(n_sessions or {}),
    )  # fmt: skip


def _make(plan: IdentifiabilityPlan, piece: Piece) -> dict[str, pd.DataFrame]:
    """Simulate some draws of one account, and keep what they replay."""
    name, draws = plan.part(piece.number)
    animal, account = plan.protocols[piece.group], plan.accounts[name]
    parts = []
    most = plan.numbers(piece.group)[-1]
    for made in simulated_draws(animal, name, account, draws, plan, most):
        kept = np.sort(made.rng.permutation(len(made.seen.lap))[:_MOST_KEPT])
        parts.append((made.draw, made.seen.take(kept)))
    sequences = pd.DataFrame(
        {
            "draw": np.concatenate([np.full(len(made.lap), draw) for draw, made in parts]),
            "lap": np.concatenate([made.lap for _, made in parts]),
            **{
                key: np.concatenate([getattr(made, key) for _, made in parts])
                for key in ("step", "phase", "location")
            },
            "length": np.concatenate([made.states.length for _, made in parts]),
        }
    )
    places, along = (
        np.concatenate([getattr(made, name).flat for _, made in parts])
        for name in ("states", "along")
    )
    table = pd.DataFrame({"place": places, "along": along})
    return {"sequences": sequences.astype(np.int32), "places": table}


def _sampled(plan: IdentifiabilityPlan, results: Results, protocol: str) -> dict[int, Simulations]:
    """Sample each number of sequences from what each draw replayed, and measure the features."""
    places = plan.protocols[protocol].places
    rows: dict[int, list[dict[str, Any]]] = {n: [] for n in plan.numbers(protocol)}
    for number in range(plan.n_pieces()[protocol]):
        name, _ = plan.part(number)
        table = results.read_piece("sequences", protocol, number)
        begin = np.concatenate(([0], np.cumsum(table["length"].to_numpy(np.int64))))
        flat = results.read_piece("places", protocol, number)
        states, along = (Lists(flat[key].to_numpy(), begin) for key in ("place", "along"))
        lap, step, phase, location = (
            table[key].to_numpy() for key in ("lap", "step", "phase", "location")
        )
        made = Replayed(lap, step, phase, location, states, np.arange(len(table)), along)
        for draw in table["draw"].unique().tolist():
            rng = np.random.default_rng([plan.seed, zlib.crc32(name.encode()), draw])
            of_draw = made.take(np.flatnonzero(table["draw"] == draw))
            for n in rows:
                rows[n] += [
                    {"account": name, "draw": draw, **found}
                    for found in sampled_features(of_draw, n, places, rng)
                ]
    return {n: simulations_of(pd.DataFrame(each)) for n, each in rows.items() if each}


def sampled_features(
    made: Replayed, n: int, places: Places, rng: np.random.Generator
) -> list[dict[str, float]]:
    """Measure the features of some samples of `n` sequences; none if too few were replayed."""
    if len(made.lap) < LEAST_SHARE * n:
        return []
    found = []
    for _ in range(_SAMPLES):
        laps = np.sort(rng.integers(len(places.goal), size=n)).astype(np.int32)
        found.append(replay_features(made.take(as_many(made, laps, rng)), places))
    return found


def _summarise(plan: IdentifiabilityPlan, results: Results) -> dict[str, pd.DataFrame]:
    recovery, confusion, without = [], [], []
    for protocol in plan.protocols:
        of_protocol = {"protocol": protocol}
        for n, simulations in _sampled(plan, results, protocol).items():
            choice = ModelChoice(simulations, plan.seed)
            of_number: dict[str, Any] = {"protocol": protocol, "n_sequences": n}
            counts = {"n_accounts": len(choice.accounts), "n_classes": len(choice.classes)}
            groups = {f"of_{m}_animals": choice.recovered_of_groups(m) for m in _GROUPS}
            recovery.append(of_number | counts | choice.summary() | groups)
            confusion.append(choice.confusion().assign(**of_number))
            if n == plan.numbers(protocol)[-1]:
                without += [of_protocol | left_out(choice, each) for each in choice.classes]
    return {
        "recovery.csv": pd.DataFrame(recovery),
        "confusion.csv": pd.concat(confusion, ignore_index=True)[
            ["protocol", "n_sequences", "truth", "found", "share"]
        ],
        "left_out.csv": pd.DataFrame(without),
    }


def left_out(choice: ModelChoice, members: Sequence[str]) -> dict[str, Any]:
    """Classify the animals of a class with trees that know nothing of it."""
    row: dict[str, Any] = {"sure": np.nan, "accepted": np.nan, "at_best": np.nan, "taken_for": ""}
    row = {"account": class_name(members)} | row
    if len(choice.accounts) - len(members) < 2:
        return row
    out = np.isin(choice.simulations.account, list(members))
    animals = choice.simulations.features[out]
    others, probability = choice.without(members)
    top, sure = probability.argmax(axis=1), probability.max(axis=1) > SURE
    accepted, at_best = np.zeros((2, len(top)), dtype=bool)
    for k in np.unique(top[sure]).tolist():
        rows = sure & (top == k)
        accepted[rows] = choice.misfit(animals[rows], others[k]) > LEVEL
        margin, own = choice.margin(members, others[k]), choice.simulations.account
        most = np.quantile(margin[np.isin(own, others[k])], 1 - LEVEL)
        at_best[rows] = margin[out][rows] <= most
    names = [class_name(others[k]) for k in top[accepted].tolist()]
    taken_for = max(sorted(set(names)), key=names.count) if names else ""
    shares = {"sure": sure.mean(), "accepted": accepted.mean(), "at_best": at_best.mean()}
    return row | shares | {"taken_for": taken_for}


def _show(plan: IdentifiabilityPlan, tables: Mapping[str, pd.DataFrame]) -> Iterable[Shown]:
    yield Shown(
        "What would be known of the account: bits, and how often it alone is named",
        tables["recovery.csv"].round(3),
    )
    yield from _sessions(plan, tables["recovery.csv"])
    most = tables["confusion.csv"]
    largest = most.groupby("protocol", sort=False)["n_sequences"].transform("max")
    most = most[most["n_sequences"] == largest]
    together = most[most["found"].str.contains(" or ")].groupby("protocol", sort=False)["found"]
    note = " ".join(
        f"The moves of {protocol} cannot tell apart: {'; '.join(dict.fromkeys(classes))}."
        for protocol, classes in together
    )
    left = tables["left_out.csv"].sort_values("accepted", ascending=False, kind="stable")
    missing = " ".join(
        f"After an answer above {SURE:g} that fits, the account that replays on the moves of "
        f"{protocol} is in no list with a probability of {probability:.2f}, if that was as "
        "probable as not before."
        for protocol, probability in _missing(tables["recovery.csv"], left)
    )
    yield Shown("If the true account were in no list", left.head(8).round(3), f"{note} {missing}")


def _missing(recovery: pd.DataFrame, left: pd.DataFrame) -> Iterator[tuple[str, float]]:
    """Yield the probability that the true account is in no list, after a sure answer that fits."""
    accepted = left.groupby("protocol", sort=False)["accepted"].mean().dropna().to_dict()
    for protocol, own in recovery.groupby("protocol", sort=False):
        if protocol in accepted:
            # Bayes' rule. Of animals whose account is listed, a share is sure and passes the test
            # of misfit; of animals whose account was left out, another share does both.
            known, out = own["sure"].iloc[-1] * (1 - LEVEL), accepted[protocol]
            yield str(protocol), float(out / max(out + known, 1e-9))


def _sessions(plan: IdentifiabilityPlan, recovery: pd.DataFrame) -> Iterable[Shown]:
    """Say what more sessions like the first one add, with as many sequences in each."""
    known = recovery.set_index(["protocol", "n_sequences"])["account_bits"]
    rows = [
        {"protocol": _first_session(protocol, m), "sessions": m, "sequences_each": n,
         "account_bits": known.get((protocol, n * m)),
         "one_session": known.get((_first_session(protocol, m), n))}
        for protocol, m in plan.n_sessions.items()
        for n in plan.n_sequences
    ]  # fmt: skip
    if rows:
        yield Shown("What more sessions would add", pd.DataFrame(rows).round(3))


def _first_session(protocol: str, n_sessions: int) -> str:
    return protocol.removesuffix(f"_{n_sessions}_sessions")


def estimate_identifiability(
    plan: IdentifiabilityPlan, left: Sequence[Piece], call: Runner
) -> WorkCost:
    """Time two draws of each account, after compiling."""
    timed = dict(call(_time_draws, [(plan, account) for account in plan.accounts]))
    parts = [plan.part(piece.number) for piece in left]
    seconds = sum(len(draws) * timed[account] for account, draws in parts)
    n = sum(len(draws) for _, draws in parts)
    fits = len(plan.n_sequences) + len(plan.accounts)
    after = _SECONDS_OF_ANIMALS * len(plan.accounts) * plan.n_draws * fits * len(plan.protocols)
    return WorkCost({"simulated animals": n}, seconds, BYTES_OF_FIGURES, seconds_after=after)


def _time_draws(plan: IdentifiabilityPlan, account: str) -> tuple[str, float]:
    begin = working_seconds()
    first = next(iter(plan.protocols))
    _make(plan._replace(accounts={account: plan.accounts[account]}, n_draws=2), Piece(first, 0))
    return account, max(working_seconds() - begin, 0.0) / 2


def laps_of_task(name: str, seed: int) -> ReplayingAnimal:
    """Run the laps of a task with an animal that does not replay, in the states of the task."""
    run = replay_laps(give_laps(name, seed=seed), "q_learning")
    return experienced_animal(EventLog({"steps": run.columns("steps")}, mdp=run.mdp), name=name)


def recorded_laps(name: str, seed: int, heading_share: float = 1.0) -> ReplayingAnimal:
    """Run the laps of a task in its places, as they are recorded.

    `heading_share` is the share of sequences whose heading will be known. Tracks that are
    run one way, and arenas, have no headings, so that their states are places.
    """
    animal, task = laps_of_task(name, seed), TASKS[name].build()
    if not task.model.steps_from_home:
        return animal
    world = MDP.from_networkx(task.graph, name=name)
    number = {node: place for place, node in enumerate(task.graph)}
    place = np.array([number[task.node[state]] for state in range(len(task.node))])
    steps = dict(animal.log.columns("steps"))
    steps |= {key: place[steps[key]] for key in ("state", "next_state")}
    log = EventLog({"steps": steps}, mdp=world)
    return experienced_animal(log, name=name, heading_share=heading_share)


def with_more_sessions(
    protocols: Mapping[str, ReplayingAnimal], n_sessions: int
) -> tuple[dict[str, ReplayingAnimal], dict[str, int]]:
    """Add, to each protocol, one that runs its session several times; and say how often."""
    found, counted = dict(protocols), {}
    for name, animal in protocols.items() if n_sessions > 1 else ():
        if animal.conditions is not None:
            raise ValueError(
                "Conditions are those of the laps of one session: leave --more-sessions out."
            )
        steps = animal.log.columns("steps")
        again = {key: np.tile(steps[key], n_sessions) for key in _MOVES}
        again["truncated"][len(steps["step"]) - 1 :: len(steps["step"])] = True
        more = f"{name}_{n_sessions}_sessions"
        log = EventLog({"steps": again}, mdp=animal.log.mdp)
        found[more] = experienced_animal(log, name=more, heading_share=animal.heading_share)
        counted[more] = n_sessions
    return found, counted


STUDY = Study(
    "identifiability",
    "Which accounts of replay could a maze and its laps tell apart?",
    plan=lambda size, seed: plan_identifiability(
        {name: recorded_laps(name, seed) for name in _TASKS},
        n_draws=max(round(size * _USUAL_DRAWS), LEAST_DRAWS),
        seed=seed,
    ),
    make=_make,
    summarise=_summarise,
    figures={
        "identifiability": drawn(
            "identifiability_figure", "recovery.csv", "confusion.csv", by="protocol"
        )
    },
    show=_show,
    estimate=estimate_identifiability,
    command="replay identifiability",
)  # fmt: skip
