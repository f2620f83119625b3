"""Lists of the statistics, their published findings, and the accounts that are compared."""

from __future__ import annotations

import pandas as pd

from analyses.findings.accounts import ACCOUNTS, SHELL, find_account
from analyses.findings.priors import LogUniform, OneOf, Prior, Sometimes, WholeNumber
from analyses.findings.table import findings
from analyses.measures import STATISTICS
from replay.checks import check_choice
from replay.tasks.published import TASKS


def explained(name: str) -> str:
    """Explain what a statistic measures or what a task is, or cite a study.

    Examples
    --------
    >>> explained("begins_at_animal")
    'share: sequences that begin near the animal'
    """
    if name in STATISTICS:
        return f"{'share: ' * STATISTICS[name].is_share}{STATISTICS[name].label}"
    if name in TASKS:
        return (TASKS[name].builder.__doc__ or "").partition("\n")[0]
    cited = findings().drop_duplicates("study").set_index("study")["citation"]
    check_choice("statistic, task or study", name, [*STATISTICS, *TASKS, *cited.index])
    return str(cited[name])


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


def list_studies() -> pd.DataFrame:
    """List all studies, with the number of their findings and of those that are tested.

    Examples
    --------
    >>> list_studies().set_index("study").loc["ambrose2016"].tolist()
    [29, 9]
    """
    table = findings()
    is_tested = (table["likelihood"] != "none") & (table["why_not"] == "")
    counts = is_tested.groupby(table["study"], sort=False).agg(["size", "sum"])
    return counts.set_axis(["findings", "tested"], axis=1).reset_index()


def list_statistics() -> pd.DataFrame:
    """List all statistics.

    Examples
    --------
    >>> list_statistics().set_index("statistic").loc["reverse_share", "what it measures"]
    'share: reverse among directional sequences'
    """
    n_published = findings()["statistic"].value_counts()
    listed = [(name, explained(name), int(n_published.get(name, 0))) for name in STATISTICS]
    return pd.DataFrame(listed, columns=["statistic", "what it measures", "findings"])


def list_findings(name: str) -> pd.DataFrame:
    """List the published findings of a statistic, in a task, or of a study.

    Examples
    --------
    >>> list_findings("shortcut_share")["value"].tolist()
    ['11 sequences', '0.01105 fraction', '0.0064 fraction']
    """
    table = findings()
    table = table[(table[["statistic", "task_name", "study"]] == name).any(axis=1)]
    value = table["value"].map("{:g}".format).astype(str) + " " + table["unit"].fillna("")
    return pd.DataFrame(
        {
            "finding": table["id"],
            "statistic": table["statistic"],
            "task": table["task_name"],
            "quantity": table["quantity"],
            "value": value.where(table["value"].notna(), table["direction"]).str.strip(),
            "tested": ("no: " + table["why_not"]).where(table["why_not"] != "", "yes"),
        }
    )
