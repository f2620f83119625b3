"""Which account explains the replay of an animal, and which accounts a maze could tell apart."""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from analyses.findings.accounts import ACCOUNTS, Account, draw_settings, find_account
from analyses.findings.priors import OneOf
from analyses.inference.animals import ReplayingAnimal
from analyses.inference.decoding import as_decoded
from analyses.inference.model_choice import Simulations, forests
from analyses.inference.replayed import Replayed
from analyses.inference.simulation import simulate_misread
from analyses.jobs.results import Results
from analyses.jobs.study import MOST, Piece
from replay.checks import check_list, check_text, check_whole, shown
from replay.learners import LEARNERS, find_learner, learner_from_file

_MOST_FINER = 5  # more take hours
_OF_PRIOR = re.compile(r"(.+)\.(\w+)=([^:]+):([^:]+)")
DRAWS_OF_PIECE = 16  # so few that many processes share the work of an account
LEAST_DRAWS = 20  # a p of misfit can then be below .05
LEAST_SHARE = 0.5  # of the number of sequences that are compared
_MOST_REPLICAS = 32  # after which an account that replays so little is left out


def named_accounts(
    accounts: Iterable[str] | Mapping[str, Account] | None, priors: Sequence[str] = ()
) -> dict[str, Account]:
    """Look up accounts, or read them from Python files; by default all, controls included.

    `priors` replace limits, as in ``sfma.inverse_temperature=1:60``.
    """
    if accounts is None:
        chosen = dict(ACCOUNTS)
    elif isinstance(accounts, Mapping):
        chosen = dict(accounts)
        for name, account in chosen.items():
            if not isinstance(account, Account):
                raise TypeError(f"The account {name!r} must be an Account, got {shown(account)}.")
    else:
        chosen = {}
        for each in check_list("accounts", accounts):
            name = check_text("each account", each)
            if name.endswith(".py"):
                chosen[Path(name).stem] = _own_account(name)
            else:
                chosen |= ACCOUNTS if name == "all" else {name: find_account(name)}
    for account in chosen.values():  # what is fixed, before hours of simulation
        if not account.is_control:
            find_learner(account.generator, dict(account.fixed))
    if len(chosen) < 2:
        raise ValueError("Give at least two accounts: an account is probable only beside others.")
    for text in priors:
        name, account = _with_prior(chosen, text)
        chosen[name] = account
    return chosen


def in_finer_states(animals: Mapping[str, ReplayingAnimal], n: int) -> dict[str, ReplayingAnimal]:
    """Let half of the simulated animals learn in states `n` times finer, if there can be such."""
    if check_whole("finer", n, at_least=1, at_most=_MOST_FINER) > 1:
        animals = {name: replace(animal, n_finer=n) for name, animal in animals.items()}
        for animal in animals.values():
            _ = animal.finer  # it may have none: before hours of simulation
    return dict(animals)


def _own_account(file: str) -> Account:
    """Read an account from a file with a learner and the ``PRIORS`` of its free parameters."""
    module = learner_from_file(file)
    learner = find_learner(file)
    if learner.name in ACCOUNTS or learner.name in LEARNERS:
        raise ValueError(f"There is an account {learner.name!r} already: rename {file!r}.")
    priors = getattr(module, "PRIORS", None)
    if not isinstance(priors, Mapping):
        raise ValueError(
            f"{file} has no priors of its free parameters: add PRIORS = {{'discount': "
            "Uniform(0.8, 0.99, 'why these')}, with distributions of analyses.findings.priors, or "
            "PRIORS = {} if it has none."
        )
    unknown = [name for name in priors if name not in learner.parameters]
    if unknown:
        raise ValueError(
            f"{file} has a prior of {unknown[0]!r}, which is none of the parameters of its "
            f"learner: {', '.join(learner.parameters)}."
        )
    claim = (module.__doc__ or "").strip().partition("\n")[0]
    return Account(str(Path(file).resolve()), dict(priors), source="your own", claim=claim)


def _with_prior(accounts: Mapping[str, Account], text: str) -> tuple[str, Account]:
    """Give a parameter other limits, from ACCOUNT.PARAMETER=LOW:HIGH."""
    match = _OF_PRIOR.fullmatch(text.strip())
    if match is None:
        raise ValueError(
            f"A prior must be ACCOUNT.PARAMETER=LOW:HIGH, such as sfma.inverse_temperature=1:60, "
            f"got {text!r}."
        )
    name, parameter, *limits = match.groups()
    account = accounts.get(name)
    prior: Any = None if account is None else account.priors.get(parameter)
    if account is None or prior is None or isinstance(prior, OneOf):
        known = ", ".join(
            f"{other}.{key}" for other, each in accounts.items() if other == name or account is None
            for key, own in each.priors.items() if not isinstance(own, OneOf)
        )  # fmt: skip
        raise ValueError(f"There is no prior {name}.{parameter} with limits; there are {known}.")
    try:
        kind = type(prior.low)
        low, high = (kind(each) for each in limits)
    except ValueError:
        raise ValueError(
            f"The limits of {name}.{parameter} must be numbers like {prior.low:g}:{prior.high:g}, "
            f"got {':'.join(limits)}."
        ) from None
    wider = prior._replace(low=low, high=high, reason="yours")
    for limit in (low, high):  # as the learner checks it, before hours of simulation
        if not account.is_control:
            find_learner(account.generator, {**account.fixed, parameter: limit})
    return name, replace(account, priors={**account.priors, parameter: wider})


def described(account: Account) -> dict[str, Any]:
    """Return what a manifest must hold of an account."""
    file = Path(account.generator)
    own = {"file": hashlib.sha256(file.read_bytes()).hexdigest()} if file.suffix == ".py" else {}
    priors = {
        key: [type(prior).__name__, *prior[:-1]]  # type: ignore[index]
        for key, prior in account.priors.items()
    }
    return {"generator": account.generator, "priors": priors, "fixed": dict(account.fixed), **own}


def check_draws(n_draws: int) -> int:
    """Check the number of draws, and that there is what tells accounts apart."""
    forests()
    return check_whole("n_draws", n_draws, at_least=LEAST_DRAWS, at_most=MOST)


class ExplanationPlan(NamedTuple):
    """What is explained, and by which accounts."""

    animals: dict[str, ReplayingAnimal]
    accounts: dict[str, Account]
    n_draws: int  # number of draws from the priors of each account
    # The largest share of replayed places that may be wrong; that of each draw lies between 0 and
    # this. None if decoding loses ends, turns, and short paths instead.
    wrong_places: float | None
    seed: int
    # The folder of an earlier explanation: what was simulated there is not simulated again.
    earlier: Path | None = None

    def describe(self) -> dict[str, Any]:
        """Return what the manifest must hold."""
        return {
            "animals": {name: animal.digest() for name, animal in self.animals.items()},
            "accounts": {name: described(each) for name, each in self.accounts.items()},
            "draws": self.n_draws,
            "wrong_places": self.wrong_places,
            "seed": self.seed,
        }

    def n_pieces(self) -> dict[str, int]:
        """Return the number of pieces of each animal: some draws of one account each."""
        return dict.fromkeys(self.animals, len(self.accounts) * len(chunks_of_draws(self.n_draws)))

    def part(self, number: int) -> tuple[str, range]:
        """Return the account and the draws of a piece."""
        chunks = chunks_of_draws(self.n_draws)
        return list(self.accounts)[number // len(chunks)], chunks[number % len(chunks)]

    def made_earlier(self, piece: Piece) -> Piece | None:
        """Find the piece of the earlier explanation that is the same as one of this, if any."""
        if self.earlier is None:
            return None
        results, own = Results(self.earlier), json.loads(json.dumps(self.describe()))
        held, (name, draws) = results.manifest(), self.part(piece.number)
        chunks = chunks_of_draws(held["draws"])
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


def chunks_of_draws(n_draws: int) -> list[range]:
    """Cut the draws of an account into pieces."""
    begins = range(0, n_draws, DRAWS_OF_PIECE)
    return [range(one, min(one + DRAWS_OF_PIECE, n_draws)) for one in begins]


class SimulatedDraw(NamedTuple):
    """What an account replays with one draw of its parameters."""

    draw: int
    params: dict[str, Any]
    n_made: int  # number of sequences that it replays
    n_replicas: int  # how often it replays on the same laps
    wrong: float  # the share of its places that are wrong
    seen: Replayed  # what is seen of them
    as_replayed: Replayed  # the same without wrong places
    rng: np.random.Generator  # for what is sampled of them


def simulated_draws(
    animal: ReplayingAnimal, name: str, account: Account, draws: range, plan: Any, n_compared: int
) -> Iterator[SimulatedDraw]:
    """Simulate some draws of an account, and see them as the plan says that replay is seen.

    How much an account replays does not count: with less than half of the number that is compared,
    it replays again on the same laps, unless even that would never be enough.
    """
    n_enough = LEAST_SHARE * n_compared
    for draw, params, seeds, rng in drawn_parameters(name, account, draws, plan):
        wrong = float(rng.uniform(0.0, plan.wrong_places or 0.0))
        shares = [wrong, 0.0] if wrong else [0.0]
        replicas: list[list[Replayed]] = []
        n_made = 0
        while not replicas or n_made < n_enough <= n_made / len(replicas) * _MOST_REPLICAS:
            replicas.append(simulate_misread(animal, account, params, seeds, shares))
            n_made += len(replicas[-1][0].lap)
        seen, *others = (Replayed.joined(made) for made in zip(*replicas, strict=True))
        as_replayed = others[0] if others else seen
        if animal.is_decoded and plan.wrong_places is None:
            known = animal.known_replay
            seen = as_decoded(seen, animal.places, rng) if known is None else known.seen(seen, rng)
            as_replayed = seen
        yield SimulatedDraw(draw, params, n_made, len(replicas), wrong, seen, as_replayed, rng)


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


def simulations_of(features: pd.DataFrame) -> Simulations:
    """Take the simulated animals from the tables of pieces."""
    if not len(features):  # no draw of any account replays enough
        features = pd.DataFrame({"account": [], "draw": []})
    known = features.drop(columns=["account", "draw"])
    return Simulations(features["account"].to_numpy(object), features["draw"].to_numpy(int), known)


def known_parameters(simulations: Simulations, draws: pd.DataFrame) -> pd.DataFrame:
    """Look up the parameters of simulated animals of an account that are numbers."""
    known = draws.set_index("draw")["parameters"].map(json.loads)
    values = pd.DataFrame([known[draw] for draw in simulations.draw.tolist()])
    return values.select_dtypes("number")
