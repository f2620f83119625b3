"""The accounts of replay that are compared: learners and controls, with priors of free parameters.

An account says what is replayed next; most accounts leave parameters open. Each of these has a
prior, so that an account is judged by all its possible settings, not by a single one.
``as_published`` has the values that its authors used; parameters that they don't mention keep the
learner's own default. All of them are in ``data/findings/accounts.toml``.

A pause ends after a number of backups. In half of all draws each, it may also end earlier, when the
next backup is not worth its time, or at random (see `replay.parts.pauses`). Otherwise all pauses
would be equally long, and rates of replay could not depend on reward or novelty. Whether there is
replay before a run, too, has one prior in all accounts and controls, unless an account's definition
fixes it. These and other parameters of the outer shell are listed in `SHELL`.

Controls do not learn. A finding that they predict as well as an account is no evidence for it. A
control reactivates places in the pauses of an animal. An event reactivates between 1 and
`most_places` places, and occurs in a share of all pauses, or of those that are not before a run.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import pandas as pd

from analyses.findings.priors import (
    LogUniform,
    OneOf,
    Parameter,
    Prior,
    Sometimes,
    Uniform,
    WholeNumber,
    draw_parameters,
)
from analyses.tables import read_learner_label, read_settings
from replay.checks import unknown_name
from replay.checks.arrays import Int32s, Ints
from replay.data import data_file
from replay.log.event_log import EventLog

_OF_CONTROLS: dict[str, Prior] = {
    "most_places": WholeNumber(10, 40, "as many as accounts reactivate in a pause, or fewer"),
    "share_of_pauses": Uniform(0.1, 1.0, "from replay now and then to replay in each pause"),
}


class Experienced(NamedTuple):
    """What an animal knows when a control replays."""

    # All steps so far, shape (n_steps,).
    state: Int32s
    next_state: Int32s
    episode: Int32s  # the lap of each step
    # Place -> its neighbours along open edges, and along all edges, through walls.
    open_moves: list[Ints]
    all_moves: list[Ints]


Emit = Callable[[Experienced, int, np.random.Generator], list[int]]
"""Draws the places of one event, given their number."""


class Control(NamedTuple):
    """A rule that reactivates places without learning."""

    # Returns the places of one event; none before any experience that the control needs.
    emit: Emit
    claim: str  # what is reactivated


def _uniform(known: Experienced, n_places: int, rng: np.random.Generator) -> list[int]:
    visited = np.unique(np.append(known.state, known.next_state))
    return rng.choice(visited, n_places).tolist() if len(visited) else []


def _shuffled(known: Experienced, n_places: int, rng: np.random.Generator) -> list[int]:
    if not len(known.episode):
        return []
    lap = rng.integers(known.episode[-1] + 1)
    begin, end = np.searchsorted(known.episode, [lap, lap + 1])
    if begin == end:
        return []
    run = np.append(known.state[begin:end], known.next_state[end - 1])
    places: list[int] = rng.permutation(run)[:n_places].tolist()
    return places


def _walk(moves: list[Ints], n_places: int, rng: np.random.Generator) -> list[int]:
    place = int(rng.integers(len(moves)))
    walk = [place]
    for draw in rng.random(n_places - 1).tolist():
        neighbours = moves[place]
        if not len(neighbours):
            break
        place = int(neighbours[int(draw * len(neighbours))])
        walk.append(place)
    return walk


CONTROLS: dict[str, Control] = {
    "uniform_reactivation": Control(_uniform, "Visited places, drawn independently."),
    "shuffled_laps": Control(_shuffled, "The places of one of the laps, in random order."),
    "blind_walks": Control(
        lambda known, n, rng: _walk(known.all_moves, n, rng),
        "A random walk from a random place, through walls.",
    ),
    "graph_walks": Control(
        lambda known, n, rng: _walk(known.open_moves, n, rng),
        "A random walk from a random place, along ways.",
    ),
}
"""Name -> control."""


def replay_of_control(
    control: Control,
    params: Mapping[str, Parameter],
    log: EventLog,
    pauses: pd.DataFrame,
    graph: nx.Graph,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Draw the replay of a control in the pauses of an animal.

    `pauses` has `step` (the last completed one, -1 before the first) and `phase`, in order; `graph`
    has the places, numbered from 0, whose edges may be `impossible`. One row per event is returned:
    `step, phase, states`, the form of paths in `analyses.place_sequences`.
    """
    steps, n_places = log.columns("steps"), graph.number_of_nodes()
    all_moves = [np.array(sorted(graph.adj[place]), dtype=np.int64) for place in range(n_places)]
    is_open = nx.restricted_view(
        graph, [], [(u, v) for u, v, closed in graph.edges(data="impossible") if closed]
    )
    open_moves = [np.array(sorted(is_open.adj[place]), dtype=np.int64) for place in range(n_places)]
    if params.get("replay_at") == "end_and_rest":
        pauses = pauses[pauses["phase"] != "start"]
    rows = []
    happens = rng.random(len(pauses)) < float(params["share_of_pauses"])
    n_emitted = rng.integers(1, int(params["most_places"]) + 1, size=len(pauses))
    for step, phase, n, does in zip(
        pauses["step"].tolist(), pauses["phase"], n_emitted.tolist(), happens.tolist(), strict=True
    ):
        state, next_state, episode = (
            steps[name][: step + 1] for name in ("state", "next_state", "episode")
        )
        known = Experienced(state, next_state, episode, open_moves, all_moves)
        places = control.emit(known, n, rng) if does else []
        if places:
            rows.append((step, phase, places))
    return pd.DataFrame(rows, columns=["step", "phase", "states"])


@dataclass(frozen=True)
class Account:
    """An account of replay: a learner or control, and what is known about its parameters.

    Attributes
    ----------
    generator : str
        A name in ``replay.learners.LEARNERS`` or in ``CONTROLS``, or the file of a learner.
    priors : mapping of str to Prior
        Free parameters with their priors.
    fixed : mapping of str to float, int, bool or str
        Fixed parameters that differ from the learner's own defaults.
    as_published : mapping of str to float, int, bool or str, or None
        The parameters that its authors used; None if they published none.
    source : str
        Authors and year.
    claim : str
        What it claims, in a sentence.
    """

    generator: str
    priors: Mapping[str, Prior] = field(default_factory=dict)
    fixed: Mapping[str, Parameter] = field(default_factory=dict)
    as_published: Mapping[str, Parameter] | None = None
    source: str = ""
    claim: str = ""

    @property
    def is_control(self) -> bool:
        """Whether it is a control, which does not learn."""
        return self.generator in CONTROLS


SHELL = ("replay_at", "backup_cost", "mean_backups", "pre_explored", "preplay", "reversible")
"""Parameters of the outer shell, which belong to no account and have one prior: when replay takes
place, when a pause ends, and what is known of a maze besides its laps. The published definitions of
some accounts fix when they replay: at the end of the lap that they replay (episodic control and
episodic sequences, sweeping with a reset), or where a path from the animal can begin (trajectory
sampling, retrieved episodes)."""

_KINDS: dict[str, Callable[..., Prior]] = {
    "uniform": Uniform,
    "log-uniform": LogUniform,
    "whole": WholeNumber,
    "one of": lambda values, reason: OneOf(tuple(values), reason),
    "sometimes": Sometimes,
}


def _read_accounts() -> dict[str, Account]:
    given = tomllib.loads(data_file("findings/accounts.toml").read_text("utf-8"))
    shared = given.pop("shared")

    def prior(row: str | list[Any]) -> Prior:
        kind, *rest = shared[row] if isinstance(row, str) else row
        return _KINDS[kind](*rest)

    accounts = {
        name: Account(
            each.get("generator", name),
            {key: prior(row) for key, row in each["priors"].items()},
            each.get("fixed", {}),
            each.get("as_published"),
            each["source"],
            each["claim"],
        )
        for name, each in given.items()
    }
    for name, control in CONTROLS.items():
        priors = {**_OF_CONTROLS, "replay_at": prior("replay_at")}
        accounts[name] = Account(name, priors, source="control", claim=control.claim)
    return accounts


ACCOUNTS: dict[str, Account] = _read_accounts()
"""Name -> account; the controls come last. Monte Carlo learning is left out, as it replays the same
as episodic control: the last episode backwards."""


def find_account(name: str) -> Account:
    """Look up an account; parameters that follow its name are fixed, and have no prior."""
    own, settings = read_learner_label(name)
    if own not in ACCOUNTS:
        raise unknown_name("account of replay", own, ACCOUNTS)
    account, given = ACCOUNTS[own], read_settings(settings)
    for key, value in given.items():
        prior = account.priors.get(key)
        if prior is None:
            raise ValueError(
                f"{own} has no free parameter {key!r} that could be fixed; it has "
                f"{', '.join(account.priors) or 'none'}."
            )
        choices = prior.values if isinstance(prior, OneOf) else (value,)  # noqa: PD011
        if value not in choices:
            raise ValueError(
                f"{key} of {own} must be one of {', '.join(map(str, choices))}, got {value!r}."
            )
    if not given:
        return account
    priors = {key: prior for key, prior in account.priors.items() if key not in given}
    return replace(account, priors=priors, fixed={**account.fixed, **given}, as_published=None)


def draw_settings(
    account: Account, n_draws: int, rng: np.random.Generator
) -> Iterator[dict[str, Parameter]]:
    """Draw all parameters of an account from their priors.

    One dict per draw, with the fixed parameters; all others keep the learner's defaults.
    """
    for drawn in draw_parameters(account.priors, n_draws, rng):
        yield {**account.fixed, **drawn}


def list_accounts() -> pd.DataFrame:
    """List the accounts of replay and the controls.

    Examples
    --------
    >>> list_accounts().set_index("account").loc["sfma", "source"]
    'Diekmann & Cheng 2023'
    """
    rows = [
        (
            name,
            each.generator,
            " ".join(key for key in each.priors if key not in SHELL),
            " ".join(key for key in each.priors if key in SHELL),
            each.source,
            each.claim,
        )
        for name, each in ACCOUNTS.items()
    ]
    columns = ["account", "learner or control", "open parameters", "outer shell", "source"]
    return pd.DataFrame(rows, columns=[*columns, "claim"])


def list_priors(name: str) -> pd.DataFrame:
    """List the parameters of an account with their priors, and the values that its authors used.

    Examples
    --------
    >>> priors = list_priors("sfma").set_index("parameter")
    >>> priors.loc["inhibition_decay", ["prior", "as published"]].tolist()
    ['0.5 to 0.99', '0.9']
    """
    account = find_account(name)
    published = {key: _shown(value) for key, value in (account.as_published or {}).items()}
    kinds: dict[type[Prior], str] = {
        LogUniform: ", logarithmic", WholeNumber: ", whole", Sometimes: ", in half of draws"
    }  # fmt: skip
    rows = {}
    for key, prior in account.priors.items():
        given = prior._asdict()
        if isinstance(prior, OneOf):
            span = " or ".join(map(_shown, prior.values))
        else:
            span = f"{given['low']:g} to {given['high']:g}{kinds.get(type(prior), '')}"
        rows[key] = (span, prior.reason)
    rows |= {key: (_shown(value), "fixed") for key, value in account.fixed.items()}
    rows |= {key: ("its default", "") for key in published if key not in rows}
    return pd.DataFrame(
        [(key, prior, published.get(key, ""), why) for key, (prior, why) in rows.items()],
        columns=["parameter", "prior", "as published", "reason"],
    )


def _shown(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value).lower()
