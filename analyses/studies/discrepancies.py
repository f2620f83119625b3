"""What each discrepancy between the paper's text and its code does to the learning curves.

``compare_discrepancies`` adds to a result folder what the text's learners would have done in the
same worlds with the same seeds: each discrepancy on its own in ``variants/D1`` and so on, and all
of them in ``variants/text``. Only learners whose parameters change act again. ``compare`` gives the
differences between any two result folders, paired over worlds.

=========================  ================================================================
``discrepancies.csv``      published and changed reward rate, their difference, its interval
``discrepancy_curves.csv`` the changed learning curves; the published are in reward_rate.csv
=========================  ================================================================

Reward rates are normalised by the policies of the variant: with another epsilon the optimal policy
explores as much as the learner does.
"""

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pandas as pd

from analyses.intervals import mean_interval
from analyses.jobs.results import Results
from analyses.studies.brea_2018.plan import Plan
from analyses.studies.brea_2018.reproduce import normalise, reproduce
from analyses.studies.figures import draw
from analyses.tables import in_order, in_paper_order
from replay.experiments import EXPERIMENTS

__all__ = ["COMPARED", "PERIODS", "compare", "compare_discrepancies", "plan_variants"]

COMPARED = ("D1", "D2", "D1+D2", "D3", "D4", "D6", "D13", "text")
"""The variants that are compared with the published code; D5 changes nothing."""

PERIODS = {"early": (0.0, 0.1), "whole": (0.0, 1.0), "late": (0.9, 1.0)}
"""Name -> the part of a run over which reward rates are averaged."""


def compare_discrepancies(
    folder: str | Path,
    *,
    jobs: int = 1,
    cluster: str | None = None,
    on_piece: Callable[[str, int], None] | None = None,
) -> pd.DataFrame:
    """Run what a result folder lacks to tell what each discrepancy does, and compare.

    Parameters
    ----------
    folder : path
        What ``replay reproduce`` made, or began to make: the sizes and the seed are taken from it.
    jobs : int, default 1
        How many processes to use; 1 starts none.
    cluster : str, optional
        Address of a Dask scheduler whose workers make the runs instead.
    on_piece : callable, optional
        Called as ``on_piece(variant, n_steps)`` after each world, those found done included.

    Returns
    -------
    pandas.DataFrame
        As in ``discrepancies.csv``: the columns of `compare` after `discrepancy`.

    Raises
    ------
    FileNotFoundError
        If this is no result folder.
    ValueError
        If it holds a variant, or no learner that a discrepancy is about.
    FileExistsError
        If another version of the software made it.
    """
    published = Results(folder)
    plans = plan_variants(folder)
    tell = on_piece or (lambda variant, n_steps: None)
    differences, curves = [], []
    for variant, plan in plans.items():
        place = published.folder
        if variant != "published":
            place = place / "variants" / variant

        def on_world(experiment: str, n_steps: int, variant: str = variant) -> None:
            tell(variant, n_steps)

        results = reproduce(plan, place, jobs=jobs, cluster=cluster, on_piece=on_world)
        if variant != "published":
            differences.append(compare(published, results).assign(discrepancy=variant))
            curves.append(results.read("reward_rate.csv").assign(discrepancy=variant))
    with published.writing(plans["published"].manifest()):
        for name, tables in (
            ("discrepancies.csv", differences),
            ("discrepancy_curves.csv", curves),
        ):
            table = pd.concat(tables, ignore_index=True)
            published.write(name, table[["discrepancy", *table.columns.drop("discrepancy")]])
        published.finish("tables")
        draw("discrepancies", folder)
        published.finish("figures")
    return published.read("discrepancies.csv")


def plan_variants(folder: str | Path) -> dict[str, Plan]:
    """Plan the variants of a result folder, each with the learners that it changes.

    Parameters
    ----------
    folder : path
        What ``replay reproduce`` made, or began to make.

    Returns
    -------
    dict of str to Plan
        The published one first, then those of `COMPARED` that change any of its learners.

    Raises
    ------
    FileNotFoundError
        If this is no result folder.
    ValueError
        If it holds a variant, or no learner that a discrepancy is about.
    """
    manifest = Results(folder).manifest()
    held = {key: manifest[key] for key in (field.name for field in fields(Plan)) if key in manifest}
    published = Plan(
        **held | {key: tuple(held.get(key, ())) for key in ("experiments", "learners")}
    )
    if published.variant != "published":
        raise ValueError(
            f"{folder} holds the variant {published.variant!r}. Discrepancies are compared with "
            "the published code: name a folder that was made without --variant."
        )
    plans = {"published": published}
    for variant in COMPARED:
        changed = [
            (name, learner)
            for name in published.experiments
            for learner in published.learners
            if all(
                _parameters(part, name, learner) != _parameters("published", name, learner)
                for part in variant.split("+")
            )
        ]
        if changed:
            names = in_order([name for name, _ in changed], published.experiments)
            plans[variant] = replace(
                published,
                experiments=tuple(names),
                learners=tuple(in_order([learner for _, learner in changed], published.learners)),
                n_mdps={name: published.n_mdps[name] for name in names},
                n_seeds={name: published.n_seeds[name] for name in names},
                n_steps={name: published.n_steps[name] for name in names},
                log="none",
                variant=variant,
            )
    if len(plans) == 1:
        raise ValueError(f"{folder} has no learner on which the paper's text and code disagree.")
    return plans


def compare(published: Results, changed: Results) -> pd.DataFrame:
    """Give the differences in reward rate between two result folders, paired over worlds.

    Parameters
    ----------
    published, changed : Results
        Two folders of the same seed and numbers of steps. Only learners that have other parameters
        in the second one are compared, in the worlds that both have.

    Returns
    -------
    pandas.DataFrame
        Columns `experiment, learner, period, published, changed`, then `difference`, `changed`
        minus `published`, with `sem, ci_low, ci_high` (95 % Student-t) over `n_mdps` worlds, whose
        seeds are averaged first. Periods are those of `PERIODS`.

    Raises
    ------
    ValueError
        If the folders differ in their seed or steps, or no learner differs.
    """
    one, other = published.manifest(), changed.manifest()
    names = [name for name in one["experiments"] if name in other["experiments"]]
    for what, here, there in [
        ("seed", one["seed"], other["seed"]),
        *((f"{name} n_steps", one["n_steps"][name], other["n_steps"][name]) for name in names),
        *((f"{name} n_seeds", one["n_seeds"][name], other["n_seeds"][name]) for name in names),
    ]:
        if here != there:
            raise ValueError(
                f"Runs are compared in pairs, but {what} is {here} in {published.folder} and "
                f"{there} in {changed.folder}."
            )
    tables = []
    for name in names:
        theirs = one["parameters"][name], other["parameters"][name]
        learners = [
            learner
            for learner in one["learners"]
            if learner in theirs[1] and theirs[0][learner] != theirs[1][learner]
        ]
        if learners:
            n_mdps = min(one["n_mdps"][name], other["n_mdps"][name])
            tables.append(
                _period_means(published, name, learners, n_mdps).merge(
                    _period_means(changed, name, learners, n_mdps),
                    on=["experiment", "learner", "period", "mdp"],
                    suffixes=("_published", "_changed"),
                )
            )
    if not tables:
        raise ValueError(
            f"No learner has other parameters in {changed.folder} than in {published.folder}."
        )
    pairs = pd.concat(tables, ignore_index=True)
    pairs = in_paper_order(pairs.rename(columns=lambda name: name.removeprefix("reward_rate_")))
    pairs["period"] = pd.Categorical(pairs["period"], list(PERIODS), ordered=True)
    pairs["difference"] = pairs["changed"] - pairs["published"]
    by = ["experiment", "learner", "period"]
    means = pairs.groupby(by, observed=True, sort=True)[["published", "changed"]].mean()
    intervals = mean_interval(pairs, "difference", by)
    intervals = intervals.rename(columns={"mean": "difference", "n": "n_mdps"})
    return means.reset_index().merge(intervals, on=by)


def _parameters(variant: str, experiment: str, learner: str) -> Any:
    return EXPERIMENTS[experiment].variant(variant).parameters[learner]


def _period_means(
    results: Results, experiment: str, learners: list[str], n_mdps: int
) -> pd.DataFrame:
    """Average normalised reward rates over each period and over seeds: a row for each world."""
    pieces = pd.concat(
        [results.read_piece(experiment, index) for index in range(n_mdps)], ignore_index=True
    )
    pieces = pieces[pieces["learner"].isin(learners)].assign(experiment=experiment)
    windows = normalise(pieces)
    progress = windows["time_step"] / windows["time_step"].max()
    by = ["experiment", "learner", "mdp"]
    periods = [
        windows[(progress > begin) & (progress <= end)]
        .groupby(by, observed=True)["reward_rate"]
        .mean()
        .reset_index()
        .assign(period=period)
        for period, (begin, end) in PERIODS.items()
    ]
    return pd.concat(periods, ignore_index=True).astype({"experiment": str, "learner": str})
