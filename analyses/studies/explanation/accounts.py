"""The accounts that are to explain replay: those of the toolkit, and your own."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from analyses.findings.accounts import ACCOUNTS, Account, find_account
from analyses.findings.priors import OneOf
from replay.checks import check_list, check_text, shown
from replay.learners import LEARNERS, find_learner, learner_from_file

_OF_PRIOR = re.compile(r"(.+)\.(\w+)=([^:]+):([^:]+)")


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
