"""The main job: simulate the experiments, classify what is replayed, compare and draw.

The work is cut into pieces, one for each world of each experiment, with all runs of all learners in
it. Pieces don't depend on one another, so any number of processes gives the same bytes.
"""

from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import combinations, product
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from analyses import reward_rate, statistics, workers
from analyses.classification import chain_kinds, classify
from analyses.cost import Cost, Sample, estimate, sample
from analyses.experience import Experience
from analyses.figures import FIGURES, draw
from analyses.mdp_files import write_mdps
from analyses.plan import N_WINDOWS, Plan
from analyses.results import Results, write_table
from analyses.tables import KINDS
from replay.experiments import EXPERIMENTS, Experiment
from replay.files import replacing
from replay.learners import LEARNERS
from replay.mazes import random_maze
from replay.mdp import MDP, uniform_policy
from replay.simulation import Run, simulate

__all__ = ["reproduce"]

CHAINS = ("within_event", "across_events")
_MIN_LENGTH = 3
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

    with workers.ended(jobs), results.writing(plan.manifest(), tell_damage):
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
        if left and cluster is None:
            # Compiling each loop once, in one process each, beats doing it in all of them.
            warm_up = [(name, plan.log) for name in _one_of_each_module(plan)]
            _exhaust(workers.run(_warm_up, warm_up, jobs=jobs))
        if left and on_cost is not None:
            sizes = [(plan, *each) for each in product(dict(left), plan.learners)]
            samples = workers.run(_sample, sizes, jobs=jobs, cluster=cluster, tell=tell)
            on_cost(estimate(plan, left, samples))
        work = [(plan, *piece) for piece in left]
        made = workers.run(_do_piece, work, jobs=jobs, cluster=cluster, tell=tell)
        with closing(made) as outcomes:
            for outcome in outcomes:
                outcome.keep(results.folder)
                advance(outcome.experiment, plan.piece_steps(outcome.experiment))
        _make_tables(plan, results)
        results.finish("tables")
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


def _warm_up(learner: str, log: str) -> None:
    run = simulate(random_maze(8), learner, n_steps=N_WINDOWS, log=log)
    if log != "none":
        _count_replay(run)


def _sample(plan: Plan, name: str, learner: str) -> Sample:
    """Time runs of a learner in an experiment that are as short as may be."""
    experiment = plan.experiment(name)
    mdp = experiment.mdp(0, plan.seed)

    def run(n_steps: int) -> tuple[float, int]:
        start = perf_counter()
        parameters, seed = experiment.parameters[learner], experiment.run_seed(0, 0, plan.seed)
        result = simulate(mdp, learner, parameters, n_steps=n_steps, seed=seed, log=plan.log)
        if plan.log != "none":
            _count_replay(result)
        return perf_counter() - start, len(result.log.columns("backups")["run"])

    run(N_WINDOWS)  # to load what is compiled
    return sample(name, learner, plan.n_steps[name], run)


class _Outcome(NamedTuple):
    """What came of a piece: the files that it adds to the folder, wherever it was made."""

    experiment: str
    files: dict[str, bytes]

    def keep(self, folder: Path) -> None:
        for name, content in self.files.items():
            with replacing(folder / name) as beside:
                beside.write_bytes(content)


def _do_piece(plan: Plan, name: str, index: int) -> _Outcome:
    """Make all runs in one world, and collect what came of them."""
    with TemporaryDirectory(prefix="hippocampal-replay-") as folder:
        results = Results(folder)
        _make_runs(plan, results, name, index)
        files = [path for path in sorted(results.folder.rglob("*")) if path.is_file()]
        # The checksums that make the piece done, "pieces/EXPERIMENT/N.sha256", come last.
        return _Outcome(
            name, {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
        )


def _make_runs(plan: Plan, results: Results, name: str, index: int) -> None:
    experiment = plan.experiment(name)
    mdp = experiment.mdp(index, plan.seed)
    random, optimal = _baselines(experiment, mdp)
    tables = []
    for run, learner in product(range(plan.n_seeds[name]), plan.learners):
        keep = plan.log != "none" and index * plan.n_seeds[name] + run < plan.keep_logs
        result = simulate(
            mdp,
            learner,
            experiment.parameters[learner],
            n_steps=plan.n_steps[name],
            seed=experiment.run_seed(index, run, plan.seed),
            log=plan.log,
            n_windows=N_WINDOWS,
        )
        table = result.reward_rate.assign(
            learner=learner, mdp=index, seed=run, random=random, optimal=optimal
        )
        if plan.log != "none":
            table = table.assign(**_count_replay(result))
        if keep:
            _keep_log(results, result, name, index, run)
        tables.append(table)
    with replacing(results.piece(name, index)) as beside:
        write_table(pd.concat(tables, ignore_index=True), beside)
    results.finish_piece(name, index)


def _baselines(experiment: Experiment, mdp: MDP) -> tuple[float, float]:
    """Give the exact reward rates of the random and of the optimal policy, with exploration."""
    best = mdp.solve(experiment.discount).policy
    return mdp.reward_rate(uniform_policy(mdp)), mdp.reward_rate(best, experiment.epsilon)


def _count_replay(run: Run) -> dict[str, np.ndarray]:
    """Count the kinds of causal chains in each window."""
    counts = {}
    steps, backups = run.log.columns("steps"), run.log.columns("backups")
    n_experienced = int(backups["step"].max(initial=-1)) + 1  # what comes later is never asked for
    experience = Experience({name: column[:n_experienced] for name, column in steps.items()})
    for chains in CHAINS:
        kinds = chain_kinds(experience, backups, across_events=chains == "across_events")
        long = kinds.length >= _MIN_LENGTH
        window = np.searchsorted(run.window_ends, kinds.step[long], side="right")
        for number, kind in enumerate(KINDS):
            of_kind = window[kinds.kind[long] == number]
            counts[f"{chains}:{kind}"] = np.bincount(of_kind, minlength=len(run.window_ends))
    return counts


def _keep_log(results: Results, run: Run, name: str, index: int, seed: int) -> None:
    where = (name, run.learner.name, index, seed)
    folder = results.log(*where)
    log = run.log.label(experiment=name)
    log.save(folder)
    sequences = classify(log)
    labels: dict[str, Any] = {
        "experiment": name,
        "learner": run.learner.name,
        "mdp": index,
        "seed": seed,
    }
    sequences = sequences.assign(**labels)[[*labels, *sequences.columns]]
    with replacing(folder / "sequences.parquet") as beside:
        write_table(sequences, beside)


def _make_tables(plan: Plan, results: Results) -> None:
    """Make the tables of all pieces, and the example worlds."""
    pieces = pd.concat(
        [results.read_piece(name, index).assign(experiment=name) for name, index in plan.pieces],
        ignore_index=True,
    )
    normalised = normalise(pieces)
    results.write("reward_rate.csv", reward_rate.summarise(normalised))
    results.write("area_under_curve.csv", reward_rate.area_under_curve(normalised))
    times = reward_rate.time_to_criterion(normalised, _CRITERION)
    results.write("time_to_criterion.csv", reward_rate.summarise_times(times))
    if len(plan.learners) > 1:
        differences = [
            reward_rate.paired_difference(normalised, one, other)
            for one, other in combinations(plan.learners, 2)
        ]
        results.write("paired_differences.csv", pd.concat(differences, ignore_index=True))
    run = ["experiment", "mdp", "seed"]
    runs = normalised[run].drop_duplicates().sort_values(run)
    first = runs.groupby("experiment", observed=True).head(_N_SINGLE)
    results.write("single_runs.parquet", normalised.merge(first, on=run))
    if plan.log != "none":
        _make_replay_tables(plan, results, pieces)
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


def _make_replay_tables(plan: Plan, results: Results, pieces: pd.DataFrame) -> None:
    wide = [f"{chains}:{kind}" for chains in CHAINS for kind in KINDS]
    group = ["experiment", "learner", "mdp", "time_step"]
    counts = pieces.groupby(group, as_index=False, sort=False)[wide].sum()
    counts = counts.melt(group, value_vars=wide, var_name="which", value_name="count")
    counts[["chains", "kind"]] = counts["which"].str.split(":", expand=True)
    results.write(
        "replay_kinds.csv",
        statistics.share_intervals(counts, ["experiment", "learner", "chains"]),
    )
    within = counts[counts["chains"] == "within_event"].drop(columns="chains")
    last = within.groupby("experiment")["time_step"].transform("max")
    bins = last // _N_BINS
    within = within.assign(time_step=-(-within["time_step"] // bins) * bins)
    results.write(
        "replay_over_time.csv", statistics.shares(within, ["experiment", "learner", "time_step"])
    )
    kept = [path for name in plan.experiments for path in results.logs(name)]
    if kept:
        with replacing(results.folder / "sequences.parquet") as beside:
            tables = [parquet.read_table(folder / "sequences.parquet") for folder in kept]
            table = pa.concat_tables(tables, promote_options="default")
            parquet.write_table(table, beside, compression="zstd")
