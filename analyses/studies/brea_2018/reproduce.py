"""The main job: simulate the experiments, classify what is replayed, compare and draw.

The work is cut into pieces, one for each world of each experiment, with all runs of all learners in
it. Pieces don't depend on one another, so any number of processes gives the same bytes.
"""

from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from analyses import intervals, reward_rate
from analyses.jobs import workers
from analyses.jobs.results import Results
from analyses.jobs.worlds import write_mdps
from analyses.studies.brea_2018.cost import Cost, estimate
from analyses.studies.brea_2018.pieces import make_piece, sample_runs, warm_up
from analyses.studies.brea_2018.plan import N_WINDOWS, Plan
from analyses.studies.figures import FIGURES, draw
from replay.experiments import EXPERIMENTS
from replay.files import replacing
from replay.learners import LEARNERS

__all__ = ["normalise", "reproduce"]

_GROUP = ["experiment", "learner", "mdp", "time_step"]
_WINDOWS = [*_GROUP, "seed", "reward_rate", "random", "optimal"]
_CRITERION = 0.9
_N_SINGLE = 5
_N_BINS = 20


def reproduce(
    plan: Plan,
    out: str | Path,
    *,
    jobs: int = 1,
    cluster: str | None = None,
    on_cost: Callable[[Cost], None] | None = None,
    on_piece: Callable[[str, int], None] | None = None,
    tell: Callable[[str], None] = print,
) -> Results:
    """Do all of a plan that is not done yet, and make its tables and figures.

    Parameters
    ----------
    plan : Plan
        What to do.
    out : path
        The result folder.
    jobs : int, default 1
        How many processes to use; 1 starts none.
    cluster : str, optional
        Address of a Dask scheduler whose workers make the pieces; the rest is done here.
    on_cost : callable, optional
        Called with a `Cost` before the first piece, for which short runs are timed.
    on_piece : callable, optional
        Called as ``on_piece(experiment, n_steps)`` after each piece, those found done included.
    tell : callable, default print
        Told in a sentence what the user should know meanwhile.

    Returns
    -------
    Results
        The folder.

    Raises
    ------
    FileExistsError
        If the folder holds another run.
    OSError
        If another process is writing to the folder, or it is read-only.
    """
    results = Results(out)
    advance = on_piece or (lambda experiment, n_steps: None)

    def tell_damage(name: str) -> None:
        tell(f"{name} is damaged or gone, and is made again.")

    with results.writing(plan.manifest(), tell_damage):
        left = []
        for experiment, index in plan.pieces:
            damaged = results.damaged(experiment, index)
            for name in damaged:
                tell_damage(name)
            if results.is_finished(experiment, index) and not damaged:
                advance(experiment, plan.piece_steps(experiment))
            else:
                left.append((experiment, index))
        # The longest first, so that at the end no process works alone for long.
        left.sort(key=lambda piece: -plan.piece_steps(piece[0]))
        with workers.ended(jobs):
            if left and cluster is None:
                # Compiling each loop once, in one process each, beats doing it in all of them.
                learners = [(name, plan.log) for name in _one_of_each_module(plan)]
                _exhaust(workers.run(warm_up, learners, jobs=jobs))
            if left and on_cost is not None:
                sizes = [(plan, *each) for each in product(dict(left), plan.learners)]
                samples = workers.run(sample_runs, sizes, jobs=jobs, cluster=cluster, tell=tell)
                on_cost(estimate(plan, left, samples))
            work = [(plan, *piece) for piece in left]
            made = workers.run(make_piece, work, jobs=jobs, cluster=cluster, tell=tell)
            with closing(made) as outcomes:
                for outcome in outcomes:
                    outcome.keep(results.folder)
                    advance(outcome.experiment, plan.piece_steps(outcome.experiment))
        _make_tables(plan, results)
        results.finish("tables")
        with workers.ended(jobs):  # others than above, which still hold what runs needed
            _exhaust(workers.run(draw, [(name, results.folder) for name in FIGURES], jobs=jobs))
        results.finish("figures")
    return results


def _exhaust(generator: Iterator) -> None:
    for _ in generator:
        pass


def _one_of_each_module(plan: Plan) -> list[str]:
    first: dict[Any, str] = {}
    for name in plan.learners:
        first.setdefault(LEARNERS[name][0], name)
    return list(first.values())


def _make_tables(plan: Plan, results: Results) -> None:
    """Make the tables of all pieces, and the example worlds."""
    means, singles, counts = [], [], []
    for name, index in plan.pieces:
        piece = results.read_piece(name, index).assign(experiment=name)
        group = piece.groupby(_GROUP, as_index=False, sort=False)
        means.append(group[["reward_rate", "random", "optimal"]].mean().assign(seed=0))
        n_before = index * plan.n_seeds[name]
        singles.append(piece.loc[n_before + piece["seed"] < _N_SINGLE, _WINDOWS])
        if plan.log != "none":
            counts.append(results.read_counts(name, index).assign(experiment=name))
    normalised = normalise(pd.concat(means, ignore_index=True))
    n_seeds = [plan.n_seeds[name] for name in plan.experiments for _ in plan.learners]
    curves, areas = reward_rate.summarise(normalised), reward_rate.area_under_curve(normalised)
    curves["n_seeds"] = np.repeat(n_seeds, N_WINDOWS)
    results.write("reward_rate.csv", curves)
    results.write("area_under_curve.csv", areas.assign(n_seeds=n_seeds))
    times = reward_rate.time_to_criterion(normalised, _CRITERION)
    results.write("time_to_criterion.csv", reward_rate.summarise_times(times))
    if len(plan.learners) > 1:
        differences = [
            reward_rate.paired_difference(normalised, one, other)
            for one, other in combinations(plan.learners, 2)
        ]
        results.write("paired_differences.csv", pd.concat(differences, ignore_index=True))
    results.write("single_runs.parquet", normalise(pd.concat(singles, ignore_index=True)))
    if plan.log != "none":
        _make_replay_tables(plan, results, pd.concat(counts, ignore_index=True))
    write_mdps(
        {name: EXPERIMENTS[name].mdp(0, plan.seed) for name in plan.experiments},
        results.folder / "mdps",
    )


def normalise(pieces: pd.DataFrame) -> pd.DataFrame:
    """Express the reward rates of pieces between the random (0) and the optimal policy (1).

    Parameters
    ----------
    pieces : pandas.DataFrame
        Columns `experiment, learner, mdp, seed, time_step, reward_rate, random, optimal`.

    Returns
    -------
    pandas.DataFrame
        As `analyses.reward_rate.normalise` gives it.
    """
    baselines = pieces[["experiment", "mdp", "random", "optimal"]].drop_duplicates()
    windows = pieces[["experiment", "learner", "mdp", "seed", "time_step", "reward_rate"]]
    return reward_rate.normalise(windows, baselines)


def _make_replay_tables(plan: Plan, results: Results, counts: pd.DataFrame) -> None:
    by = ["experiment", "learner", "chains"]
    results.write("replay_kinds.csv", intervals.share_intervals(counts, by))
    last = counts.groupby("experiment")["time_step"].transform("max")
    bins = last // _N_BINS
    moment = ["experiment", "learner", "time_step"]
    binned = counts.assign(time_step=-(-counts["time_step"] // bins) * bins)
    within = binned[binned["chains"] == "within_event"]
    results.write("replay_over_time.csv", intervals.shares(within, moment))
    kept = [path for name in plan.experiments for path in results.logs(name)]
    if kept:
        with replacing(results.folder / "sequences.parquet") as beside:
            tables = [parquet.read_table(folder / "sequences.parquet") for folder in kept]
            table = pa.concat_tables(tables, promote_options="default")
            parquet.write_table(table, beside, compression="zstd")
