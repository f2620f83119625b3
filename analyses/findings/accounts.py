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

Controls do not learn. A finding that they predict as well as an account is no evidence for it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from analyses.findings.controls import CONTROLS
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
from replay.data import data_file


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
        own = {**control.priors, "replay_at": prior("replay_at")}
        accounts[name] = Account(name, own, source="control", claim=control.claim)
    return accounts


ACCOUNTS: dict[str, Account] = _read_accounts()
"""Name -> account; the controls come last. Monte Carlo learning is left out, as it replays the same
as episodic control: the last episode backwards."""


def find_account(name: str) -> Account:
    """Look up an account; parameters that follow its name are fixed, and have no prior.

    Examples
    --------
    >>> find_account("sfma").source
    'Diekmann & Cheng 2023'
    >>> find_account("prioritized_sweeping priority=need").fixed
    {'priority': 'need'}
    """
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
        if isinstance(prior, OneOf) and value not in prior.values:
            raise ValueError(
                f"{key} of {own} must be one of {', '.join(map(str, prior.values))}, got {value!r}."
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

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> [sorted(each) for each in draw_settings(ACCOUNTS["episodic_control"], 2, rng)]
    [['discount'], ['discount']]
    """
    for drawn in draw_parameters(account.priors, n_draws, rng):
        yield {**account.fixed, **drawn}
