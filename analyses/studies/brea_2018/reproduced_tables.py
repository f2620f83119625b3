"""The tables of a reproduction, made from all its pieces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from analyses import intervals
from analyses.jobs.mdp_files import write_mdps
from analyses.jobs.results import Results
from analyses.measures import reward_rate
from analyses.studies.brea_2018.reproduction import N_WINDOWS, Reproduction
from analyses.tables import in_paper_order
from replay.experiments import EXPERIMENTS
from replay.files import opened_parquet, replacing

__all__ = ["learning_curves", "make_tables", "normalise_windows", "world_means"]

_GROUP = ["experiment", "learner", "mdp", "time_step"]
_WINDOWS = [*_GROUP, "seed", "reward_rate", "random", "optimal"]
_CRITERION = 0.9
_N_SINGLE = 5
_N_BINS = 20
_ROWS_OF_A_GROUP = 1 << 20


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
        tables |= _replay_tables(in_paper_order(pd.concat(counts, ignore_index=True)))
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


def _replay_tables(counts: pd.DataFrame) -> dict[str, pd.DataFrame]:
    last = counts.groupby("experiment")["time_step"].transform("max")
    bins = last // _N_BINS
    binned = counts.assign(time_step=-(-counts["time_step"] // bins) * bins)
    within = binned[binned["chains"] == "within_event"]
    by = ["experiment", "learner"]
    return {
        "replay_kinds.csv": intervals.share_intervals(counts, [*by, "chains"]),
        "replay_over_time.csv": intervals.shares(within, [*by, "time_step"]),
    }


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
        for group in _regrouped(_row_groups(files, schema)):
            writer.write_table(group, len(group))


def _row_groups(files: Iterable[Path], schema: pa.Schema) -> Iterator[pa.Table]:
    for path in files:
        with opened_parquet(path) as file:
            for number in range(file.num_row_groups):
                yield file.read_row_group(number).cast(schema)


def _regrouped(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Regroup a table that arrives in parts into groups of equal numbers of rows."""
    waiting: pa.Table | None = None
    for table in tables:
        waiting = table if waiting is None else pa.concat_tables([waiting, table])
        while len(waiting) >= _ROWS_OF_A_GROUP:
            yield waiting.slice(0, _ROWS_OF_A_GROUP)
            waiting = waiting.slice(_ROWS_OF_A_GROUP)
    if waiting is not None and len(waiting):
        yield waiting
