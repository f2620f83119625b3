"""Effects of the discrepancies between the paper's text and its code on the learning curves.

The learners of the text are simulated in the worlds of a reproduction, with its seeds: with each
discrepancy alone (D1 and so on), and with all of them. Only learners whose parameters change are
simulated again. Reward rates are compared in pairs, world by world.

==========================  ===============================================================
``discrepancies.csv``       published and changed reward rate, their difference, its interval
``discrepancy_curves.csv``  the changed learning curves
``reward_rate.csv``         the published ones
==========================  ===============================================================

Reward rates are normalised by the policies of the variant: with another epsilon, the optimal policy
explores as much as the learner does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd
import typer

from analyses.cli.options import Cluster, Jobs, Pieces, as_command
from analyses.cli.studies import do_study
from analyses.intervals import mean_interval
from analyses.jobs import BYTES_OF_FIGURES, WorkCost
from analyses.jobs.results import Results
from analyses.jobs.run import manifest
from analyses.jobs.study import Piece, Runner, Shown, Study
from analyses.studies.brea_2018 import Reproduction, plan_of, reproduce
from analyses.studies.brea_2018.reproduce import learning_curves, normalise_windows, world_means
from analyses.studies.brea_2018.reproduced_runs import estimate_cost, make_runs
from analyses.tables import in_order, in_paper_order
from replay.experiments import DISCREPANCIES, EXPERIMENTS
from replay.files import inside

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["COMPARED", "PERIODS", "STUDY", "Variants", "compare_periods", "plan_variants"]

COMPARED = ("D1", "D2", "D1+D2", "D3", "D4", "D6", "D13", "text")
"""The variants that are compared with the published code; D5 has no effect."""

PERIODS = {"early": (0.0, 0.1), "whole": (0.0, 1.0), "late": (0.9, 1.0)}
"""Name -> the part of a run over which reward rates are averaged."""


class Variants(NamedTuple):
    """The plan of the study.

    Attributes
    ----------
    folder : Path
        A folder that ``replay reproduce`` wrote.
    published : Reproduction
        The plan of that reproduction.
    changed : dict of str to Reproduction
        Name of the variant -> the learners that it changes, in the same worlds.
    """

    folder: Path
    published: Reproduction
    changed: dict[str, Reproduction]

    def worlds(self, variant: str) -> list[Piece]:
        """List the worlds in which learners of a variant are simulated again."""
        pieces = self.changed[variant].n_pieces().items()
        return [Piece(name, index) for name, n_mdps in pieces for index in range(n_mdps)]

    def world_of(self, piece: Piece) -> tuple[Reproduction, Piece]:
        """Return the variant that a piece of this study belongs to, and the world in it."""
        return self.changed[piece.group], self.worlds(piece.group)[piece.number]

    def n_pieces(self) -> dict[str, int]:
        """Return the number of pieces of each variant: one per world."""
        return {variant: len(self.worlds(variant)) for variant in self.changed}

    def describe(self) -> dict[str, Any]:
        """Return the entries of the manifest."""
        return {
            "published": self.published.describe(),
            "changed": {name: plan.describe() for name, plan in self.changed.items()},
        }


def plan_variants(folder: str | Path) -> Variants:
    """Plan the variants of a result folder, each with the learners that it changes.

    The folder must be a finished ``replay reproduce`` of the published variant, by the same
    sources.
    """
    results = Results(folder)
    held = results.manifest()
    if held.get("study") != reproduce.STUDY.name:
        raise ValueError(
            f"{folder} was written by {held.get('command', 'another command')}. Name a folder that "
            "replay reproduce wrote."
        )
    published = plan_of(results)
    if published.variant != "published":
        raise ValueError(
            f"{folder} holds the variant {published.variant!r}. Discrepancies are compared with "
            "the published code: name a folder that was written without --variant."
        )
    if held.get("sources") != manifest(reproduce.STUDY, published)["sources"]:
        raise ValueError(
            f"{folder} was written with other source files of this toolkit, and runs are compared "
            "in pairs. Write another folder with the present ones."
        )
    if not all(results.is_finished(*piece) for piece in reproduce.STUDY.all_pieces(published)):
        raise ValueError(
            f"{folder} is not finished. Run its replay reproduce command again, with the same "
            "options."
        )
    changed = {}
    for variant in COMPARED:
        learners = [
            (name, learner)
            for name in published.experiments
            for learner in published.learners
            if all(
                _parameters(part, name, learner) != _parameters("published", name, learner)
                for part in variant.split("+")
            )
        ]
        if learners:
            names = in_order([name for name, _ in learners], published.experiments)
            changed[variant] = replace(
                published,
                experiments=tuple(names),
                learners=tuple(in_order([each for _, each in learners], published.learners)),
                n_mdps={name: published.n_mdps[name] for name in names},
                n_seeds={name: published.n_seeds[name] for name in names},
                n_steps={name: published.n_steps[name] for name in names},
                log="none",
                variant=variant,
            )
    if not changed:
        raise ValueError(f"{folder} has no learner on which the paper's text and code disagree.")
    return Variants(Path(folder), published, changed)


def _parameters(variant: str, experiment: str, learner: str) -> Any:
    return EXPERIMENTS[experiment].variant(variant).parameters[learner]


def compare_periods(published: pd.DataFrame, changed: pd.DataFrame) -> pd.DataFrame:
    """Compute the differences in reward rate between two sets of runs, paired over worlds.

    Both have one row per window of the same worlds, seeds and learners. Differences are `changed`
    minus `published`, in each of `PERIODS`; seeds are averaged first.
    """
    pairs = _period_means(published).merge(
        _period_means(changed),
        on=["experiment", "learner", "period", "mdp"],
        suffixes=("_published", "_changed"),
    )
    pairs = in_paper_order(pairs.rename(columns=lambda name: name.removeprefix("reward_rate_")))
    pairs["period"] = pd.Categorical(pairs["period"], list(PERIODS), ordered=True)
    pairs["difference"] = pairs["changed"] - pairs["published"]
    by = ["experiment", "learner", "period"]
    means = pairs.groupby(by, observed=True, sort=True)[["published", "changed"]].mean()
    intervals = mean_interval(pairs, "difference", by)
    intervals = intervals.rename(columns={"mean": "difference", "n": "n_mdps"})
    return means.reset_index().merge(intervals, on=by)


def _period_means(runs: pd.DataFrame) -> pd.DataFrame:
    """Average normalised reward rates over each period and over seeds, for each world."""
    windows = normalise_windows(runs)
    last = windows.groupby("experiment", observed=True)["time_step"].transform("max")
    progress = windows["time_step"] / last
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


def _make(plan: Variants, piece: Piece) -> dict[str, pd.DataFrame | Path]:
    return make_runs(*plan.world_of(piece))


def _size(plan: Variants, piece: Piece) -> float:
    variant, world = plan.world_of(piece)
    return variant.world_steps(world.group)


def _estimate(plan: Variants, left: Sequence[Piece], call: Runner) -> WorkCost:
    costs = []
    for variant in dict.fromkeys(piece.group for piece in left):
        worlds = [plan.world_of(piece)[1] for piece in left if piece.group == variant]
        costs.append(estimate_cost(plan.changed[variant], worlds, call))
    n_bytes = sum(cost.n_bytes - BYTES_OF_FIGURES for cost in costs) + BYTES_OF_FIGURES
    n_steps = sum(cost.counts["steps"] for cost in costs)
    return WorkCost({"steps": n_steps}, sum(cost.seconds for cost in costs), n_bytes)


def _summarise(plan: Variants, results: Results) -> dict[str, pd.DataFrame]:
    published = Results(plan.folder)
    differences, curves = [], []
    for variant, changed in plan.changed.items():
        runs = [
            results.read_piece("windows", variant, index).assign(experiment=world.group)
            for index, world in enumerate(plan.worlds(variant))
        ]
        theirs = pd.concat(runs, ignore_index=True)
        ours = pd.concat(
            [
                published.read_piece("windows", *world).assign(experiment=world.group)
                for world in plan.worlds(variant)
            ],
            ignore_index=True,
        )
        differences.append(
            compare_periods(_differing(ours, changed), _differing(theirs, changed)).assign(
                discrepancy=variant
            )
        )
        means = pd.concat([world_means(run) for run in runs], ignore_index=True)
        curve = learning_curves(changed, normalise_windows(means))
        curves.append(curve.assign(discrepancy=variant))
    return {
        "discrepancies.csv": _discrepancy_first(differences),
        "discrepancy_curves.csv": _discrepancy_first(curves),
        "reward_rate.csv": published.read("reward_rate.csv"),
    }


def _differing(runs: pd.DataFrame, changed: Reproduction) -> pd.DataFrame:
    """Select the runs of learners whose parameters the variant changes in their experiment."""
    of_rows = [*zip(runs["experiment"], runs["learner"], strict=True)]
    differs = {
        pair: _parameters(changed.variant, *pair) != _parameters("published", *pair)
        for pair in set(of_rows)
    }
    return runs[[differs[pair] for pair in of_rows]]


def _discrepancy_first(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    table = pd.concat(tables, ignore_index=True)
    return table[["discrepancy", *table.columns.drop("discrepancy")]]


def _show(plan: Variants, tables: Mapping[str, pd.DataFrame]) -> Iterator[Shown]:
    what = [(name, discrepancy.what) for name, discrepancy in DISCREPANCIES.items()]
    yield Shown(table=pd.DataFrame(what, columns=["discrepancy", "the text, against the code"]))
    differences = tables["discrepancies.csv"]
    whole = differences[differences["period"] == "whole"]
    half_width = (whole["ci_high"] - whole["ci_low"]) / 2
    shown = [
        f"{mean:+.3f}" if pd.isna(width) else f"{mean:+.3f} ± {width:.3f}"
        for mean, width in zip(whole["difference"], half_width, strict=True)
    ]
    learner = whole["discrepancy"] + " " + whole["learner"].astype(str)
    yield Shown(
        "Normalised reward rate, text minus code, mean over a run",
        reproduce.by_experiment(whole.assign(learner=learner, shown=shown)),
    )


def _draw(results: Results) -> Iterator[tuple[str, Figure]]:
    from discrepancies_figures import differing, discrepancies_figure, discrepancy_curves_figure

    differences = results.read("discrepancies.csv")
    yield "discrepancies", discrepancies_figure(differences)
    if len(differing(differences)):
        published = results.read("reward_rate.csv")
        changed = results.read("discrepancy_curves.csv")
        yield "discrepancy_curves", discrepancy_curves_figure(published, changed, differences)


STUDY = Study(
    "discrepancies",
    "How does each discrepancy between the paper's text and its code change the learning curves?",
    plan=None,
    make=_make,
    summarise=_summarise,
    figures={"discrepancies": _draw},
    show=_show,
    size=_size,
    estimate=_estimate,
    command="python tests/verification/discrepancies.py",
)


def main(
    folder: Path = Path("results"),
    /,
    out: Path | None = None,
    jobs: Jobs = None,
    cluster: Cluster = None,
    pieces: Pieces = None,
) -> None:
    """Show how each disagreement between the paper's text and code changes the learning curves.

    Learners that follow the text, in one discrepancy at a time and in all together, run in the
    same worlds. Run the same command again to resume after an interruption.

    Options
    -------
    folder : FOLDER
        A folder that replay reproduce wrote; its sizes and seed are used.
    out : FOLDER, default FOLDER/discrepancies
        Result folder.
    """
    # Workers find functions by the name of this module, which is __main__ where it is run.
    from discrepancies import STUDY, plan_variants

    plan = plan_variants(folder)
    do_study(STUDY, plan, out or inside(folder, "discrepancies"), jobs, cluster, pieces)


app = typer.Typer()
app.command()(as_command(main))

if __name__ == "__main__":
    app()
