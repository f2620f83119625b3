"""The reproduction: simulate the paper's experiments, classify replay, compare and draw.

The work is divided into pieces, one per world of each experiment, with all runs of all learners in
it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from analyses import intervals
from analyses.jobs.results import Results
from analyses.jobs.study import Shown, Study, drawn
from analyses.measures import reward_rate
from analyses.studies.brea_2018 import N_WINDOWS, Reproduction, log_folder, plan_reproduction
from analyses.studies.brea_2018.reproduced_runs import estimate_cost, make_runs
from analyses.tables import in_paper_order
from replay.experiments import EXPERIMENTS
from replay.files import inside, opened_parquet, replacing
from replay.log.event_log import EventLog
from replay.log.parquet import beginning
from replay.log.worlds import read_mdps, write_mdps

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# The number of steps and backups of a log that are read for a figure.
_ROWS_OF_EVENTS = 1 << 19
_ROWS_OF_GRAPH = 1 << 20

_GRAPH_LEARNERS = ("prioritized_sweeping", "q_learning")
_EVENT_LEARNERS = (
    "prioritized_sweeping",
    "prioritized_sweeping_reset",
    "episodic_control",
    "monte_carlo",
)
_GROUP = ["experiment", "learner", "mdp", "time_step"]
_WINDOWS = [*_GROUP, "seed", "reward_rate", "random", "optimal"]
_CRITERION = 0.9  # normalised rate, at which a learner has learned
_N_SINGLE = 5  # runs that are drawn as thin lines
_N_BINS = 20
_ROWS_OF_A_GROUP = 1 << 20  # so that a reader needs memory for few of them at once


def _show(plan: Reproduction, tables: Mapping[str, pd.DataFrame]) -> Iterator[Shown]:
    areas = tables["area_under_curve.csv"]
    areas = areas.assign(shown=areas["mean"].map("{:.2f}".format))
    title = "Normalised reward rate, mean over a run (0 random, 1 optimal)"
    yield Shown(title, by_experiment(areas))
    if plan.log != "none":
        kinds = tables["replay_kinds.csv"]
        kinds = kinds[kinds["chains"] == "across_events"]
        totals = kinds.groupby(["experiment", "learner"], sort=False, observed=True)["count"]
        kinds = kinds.assign(total=totals.transform("sum"))
        novel = kinds[kinds["kind"] == "novel_path"]
        shown = [
            f"{share:.0%} of {_rounded(total)}" if total else "no replay"
            for share, total in zip(novel["share"], novel["total"], strict=True)
        ]
        title = (
            "Novel paths among replayed chains of at least 3 states; chains run on across replay "
            "events, and are counted within events in replay_kinds.csv"
        )
        yield Shown(title, by_experiment(novel.assign(shown=shown)))


def by_experiment(table: pd.DataFrame) -> pd.DataFrame:
    """Arrange texts about each learner and experiment in a table."""
    from analyses.plots.style import label

    names = table.astype({"experiment": str, "learner": str})
    experiments = list(dict.fromkeys(names["experiment"]))
    wide = names.pivot_table("shown", "learner", "experiment", aggfunc="first", sort=False)
    wide = wide[experiments].fillna("").rename(index=label, columns=label)
    return wide.rename_axis(index="learner", columns=None).reset_index()


def _rounded(count: int) -> str:
    if count >= 1_000_000:
        return f"{count / 1e6:.1f}M"
    return f"{count / 1e3:.0f}k" if count >= 10_000 else str(count)


def _draw_mdps(results: Results) -> Iterator[tuple[str, Figure]]:
    from analyses.plots.mdps import mdps_figure

    yield "mdps", mdps_figure(read_mdps(results.folder / "mdps"))


def _draw_replay_kinds(results: Results) -> Iterator[tuple[str, Figure]]:
    from analyses.plots.replay_kinds import replay_kinds_figure, replay_over_time_figure

    if results.manifest()["log"] != "none":
        yield "replay_kinds", replay_kinds_figure(results.read("replay_kinds.csv"))
        for name, rows in results.read("replay_over_time.csv").groupby("experiment"):
            yield f"replay_over_time_{name}", replay_over_time_figure(rows)


def _draw_replay_events(results: Results) -> Iterator[tuple[str, Figure]]:
    from analyses.plots.examples import pick_examples
    from analyses.plots.replay_events import replay_events_figure
    from analyses.sequences.classification import classify

    for name, mdp in read_mdps(results.folder / "mdps").items():
        log = _first_log(results, name, _EVENT_LEARNERS, _ROWS_OF_EVENTS)
        if log is not None:
            sequences = classify(log, across_events=True, min_length=3)
            learner = str(log.runs["learner"].iloc[0])
            if pick_examples(sequences, log.steps):  # a short run may have none
                figure = replay_events_figure(sequences, log.steps, mdp, learner=learner)
                yield f"replay_events_{name}", figure


def _draw_learned_graph(results: Results) -> Iterator[tuple[str, Figure]]:
    from analyses.plots.learned import growth_moments, learned_graph_figure

    for name, mdp in read_mdps(results.folder / "mdps").items():
        log = _first_log(results, name, _GRAPH_LEARNERS, _ROWS_OF_GRAPH)
        if log is not None:
            log = EventLog(log.tables, log.provenance, mdp)
            moments = growth_moments(log.steps)
            graphs = {moment: log.graph(until=moment) for moment in moments}
            learner = str(log.runs["learner"].iloc[0])
            yield f"learned_graph_{name}", learned_graph_figure(graphs, mdp, learner=learner)


def _first_log(
    results: Results, experiment: str, learners: tuple[str, ...], n_rows: int
) -> EventLog | None:
    """Read the first kept log among these learners; if it is long, only its beginning."""
    for learner in learners:
        folder = inside(results.folder, log_folder(experiment, learner, 0, 0))
        if folder.exists():
            return EventLog(*beginning(folder, n_rows))
    return None


def make_tables(plan: Reproduction, results: Results) -> dict[str, pd.DataFrame]:
    """Make the tables of all pieces; also write the example worlds and all sequences."""
    means, singles, counts = [], [], []
    for name, n_mdps in plan.n_mdps.items():
        for index in range(n_mdps):
            piece = results.read_piece("windows", name, index).assign(experiment=name)
            means.append(world_means(piece))
            n_before = index * plan.n_seeds[name]
            singles.append(piece.loc[n_before + piece["seed"] < _N_SINGLE, _WINDOWS])
            if plan.log != "none":
                replayed = results.read_piece("counts", name, index)
                counts.append(replayed.assign(experiment=name))
    normalised = normalise_windows(in_paper_order(pd.concat(means, ignore_index=True)))
    n_seeds = [plan.n_seeds[name] for name in plan.experiments for _ in plan.learners]
    areas = reward_rate.area_under_curve(normalised)
    times = reward_rate.time_to_criterion(normalised, _CRITERION)
    tables = {
        "reward_rate.csv": learning_curves(plan, normalised),
        "area_under_curve.csv": areas.assign(n_seeds=n_seeds),
        "time_to_criterion.csv": reward_rate.summarise_times(times),
    }
    if len(plan.learners) > 1:
        differences = [
            reward_rate.paired_difference(normalised, one, other)
            for one, other in combinations(plan.learners, 2)
        ]
        tables["paired_differences.csv"] = pd.concat(differences, ignore_index=True)
    single = normalise_windows(pd.concat(singles, ignore_index=True))
    tables["single_runs.parquet"] = single
    if plan.log != "none":
        replayed = in_paper_order(pd.concat(counts, ignore_index=True))
        # Kinds over time are those of bins of several windows.
        bins = replayed.groupby("experiment")["time_step"].transform("max") // _N_BINS
        binned = replayed.assign(time_step=-(-replayed["time_step"] // bins) * bins)
        within = binned[binned["chains"] == "within_event"]
        by = ["experiment", "learner"]
        tables["replay_kinds.csv"] = intervals.share_intervals(replayed, [*by, "chains"])
        tables["replay_over_time.csv"] = intervals.shares(within, [*by, "time_step"])
        logs = [results.folder / "logs" / name for name in plan.experiments]
        kept = [path for folder in logs for path in sorted(folder.glob("[!.]*/sequences.parquet"))]
        if kept:
            _join(kept, results.folder / "sequences.parquet")
    write_mdps(
        {name: EXPERIMENTS[name].mdp(0, plan.seed) for name in plan.experiments},
        results.folder / "mdps",
    )
    return tables


def world_means(windows: pd.DataFrame) -> pd.DataFrame:
    """Average the reward rate of each window over the runs of a learner in a world.

    The result is like the table of a single run with seed 0.
    """
    group = windows.groupby(_GROUP, as_index=False, sort=False)
    return group[["reward_rate", "random", "optimal"]].mean().assign(seed=0)


def normalise_windows(windows: pd.DataFrame) -> pd.DataFrame:
    """Scale reward rates so that the random policy has 0 and the optimal policy 1."""
    between = windows[["experiment", "mdp", "random", "optimal"]].drop_duplicates()
    rates = windows[["experiment", "learner", "mdp", "seed", "time_step", "reward_rate"]]
    return reward_rate.normalise(rates, between)


def learning_curves(plan: Reproduction, normalised: pd.DataFrame) -> pd.DataFrame:
    """Average normalised rates over worlds: the table ``reward_rate.csv``."""
    curves = reward_rate.summarise(normalised)
    n_seeds = [plan.n_seeds[name] for name in plan.experiments for _ in plan.learners]
    return curves.assign(n_seeds=np.repeat(n_seeds, N_WINDOWS))


def _join(files: list[Path], path: Path) -> None:
    """Write the rows of several tables as one table, part by part."""
    schemas = []
    for each in files:
        with opened_parquet(each) as file:
            schemas.append(file.schema_arrow)
    schema = pa.unify_schemas(schemas, promote_options="default")
    with (
        replacing(path) as beside,
        parquet.ParquetWriter(beside, schema, compression="zstd") as writer,
    ):
        # The parts are regrouped into groups of equal numbers of rows.
        waiting = schema.empty_table()
        for each in files:
            with opened_parquet(each) as file:
                for number in range(file.num_row_groups):
                    group = file.read_row_group(number).cast(schema)
                    waiting = pa.concat_tables([waiting, group]) if len(waiting) else group
                    while len(waiting) >= _ROWS_OF_A_GROUP:
                        writer.write_table(waiting.slice(0, _ROWS_OF_A_GROUP), _ROWS_OF_A_GROUP)
                        waiting = waiting.slice(_ROWS_OF_A_GROUP)
        if len(waiting):
            writer.write_table(waiting, len(waiting))


STUDY = Study(
    "reproduction",
    "Is prioritized sweeping the better episodic control? The experiments of Brea (2018).",
    plan=lambda size, seed: plan_reproduction(size=size, seed=seed),
    make=make_runs,
    summarise=make_tables,
    figures={
        "learning_curves": drawn(
            "learning_curves_figure", "reward_rate.csv", "single_runs.parquet"
        ),
        "mdps": _draw_mdps,
        "replay_events": _draw_replay_events,
        "replay_kinds": _draw_replay_kinds,
        "learned_graph": _draw_learned_graph,
    },
    show=_show,
    size=lambda plan, piece: plan.world_steps(piece.group),
    estimate=estimate_cost,
    command="replay reproduce",
)
