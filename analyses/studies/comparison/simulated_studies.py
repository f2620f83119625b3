"""Simulated studies: made for one account in one task, and arranged for scoring."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import lru_cache, partial
from time import process_time
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import pandas as pd

from analyses.findings.accounts import CONTROLS, Account, draw_settings, replay_of_control
from analyses.findings.evidence import Published, Studies, published
from analyses.findings.priors import Parameter
from analyses.findings.table import detection_of
from analyses.inference.simulation import misread
from analyses.jobs import BYTES_OF_FIGURES, WorkCost
from analyses.jobs.study import Piece, Runner
from analyses.measures import STATISTICS
from analyses.measures.animals import replays_by_jump
from analyses.sequences import Detection
from analyses.sequences.logs import Columns
from analyses.sequences.track import graph_of_task
from analyses.studies.comparison import DRAWS_OF_PIECE, Comparison, n_simulated, stored_studies
from replay.checks.arrays import Floats
from replay.learners import find_learner
from replay.log.event_log import EventLog
from replay.tasks import GivenLaps, Task, give_laps, replay_laps
from replay.tasks.published import TaskEntry

_BYTES_PER_PIECE = 50_000  # of its table, as compressed
_MEMORY = 1.2e9  # bytes: worlds with their laps, and the logs of all animals in one of them
_SECONDS_OF_TABLES = 0.009  # to score and classify one simulated study of one account
_SECONDS_READING = 0.01  # for the stored studies of a piece
_N_WORLDS = 32  # variants of a task, each with the laps of one animal
_N_TIMED = 3  # of them, for the estimate of time
_LEAST_PLACES = 3  # of a sequence: any two neighbours would be one
_SUMMARY = ["successes", "trials", "mean", "sd", "value", "n_animals"]


class _World(NamedTuple):
    """One animal's variant of a task, and its laps."""

    task: Task
    given: GivenLaps
    graph: nx.Graph
    pauses: pd.DataFrame


class _Seconds(NamedTuple):
    """Processor time for an animal, and for a world and its laps."""

    animal: float
    world: float


def simulate_studies(plan: Comparison, piece: Piece) -> dict[str, pd.DataFrame]:
    """Simulate some studies of one account in one task: the table ``studies`` of the piece."""
    if plan.simulated:
        return {"studies": stored_studies(plan, piece)}
    part = plan.parts()[piece.number]
    with plan.locating_errors(piece.group):
        rows = list(_animals(plan, piece.group, part.candidate, part.draws))
        animals = pd.concat(rows, ignore_index=True)
    # Each statistic is measured under the criteria of a finding and, without one, of the task.
    tested, n_animals = plan.tested(piece.group), plan.n_animals(piece.group)
    named = zip(tested["id"], tested["statistic"], n_simulated(tested), strict=True)
    measured = [*named, *(("", name, n_animals) for name in plan.tasks[piece.group].statistics)]
    found = [_studies(animals, *each) for each in measured]
    table = pd.concat(found, ignore_index=True)
    return {"studies": table.assign(task=piece.group, account=part.candidate)}


def settings(plan: Comparison, name: str) -> list[dict[str, Parameter]]:
    """Return the parameters of all draws of one of the plan's candidates."""
    account, is_published = _account(plan, name)
    if is_published:
        return [{**account.fixed, **(account.as_published or {})}] * plan.n_studies(name)
    rng = np.random.default_rng(_seeds(plan.seed, name))
    return list(draw_settings(account, plan.n_draws, rng))


def estimate_studies(plan: Comparison, left: Sequence[Piece], call: Runner) -> WorkCost:
    """Time a few animals of the first account in all tasks, and of all accounts in one of them.

    An account that takes twice as long as another in the task that takes most is expected to do so
    in all tasks. The worlds of a task are made once for all accounts.
    """
    n_bytes = _BYTES_PER_PIECE * len(left) + BYTES_OF_FIGURES
    published = {study for task in plan.tasks for study in plan.tested(task)["study"]}
    after = _SECONDS_OF_TABLES * len(published) * len(plan.accounts) * plan.n_draws
    if plan.simulated:
        seconds = _SECONDS_READING * len(left)
        return WorkCost({"pieces": len(left)}, seconds, n_bytes, seconds_after=after)
    parts = plan.parts()
    tasks = list(dict.fromkeys(piece.group for piece in left))
    names = list(dict.fromkeys(parts[piece.number].candidate for piece in left))
    of_task = dict(call(_time_animals, [(plan, task, names[0]) for task in tasks]))
    longest = max(tasks, key=lambda task: of_task[task, names[0]].animal * plan.n_animals(task))
    of_account = dict(call(_time_animals, [(plan, longest, name) for name in names]))
    usual = of_account[longest, names[0]].animal
    n_animals, seconds, n_worlds = 0, 0.0, dict.fromkeys(tasks, 0)
    for piece in left:
        part = parts[piece.number]
        n = len(part.draws) * plan.n_animals(piece.group)
        n_animals += n
        # Made once in each process, for all animals and accounts that are in it.
        n_worlds[piece.group] = min(max(n_worlds[piece.group], n), _N_WORLDS)
        one = of_task[piece.group, names[0]].animal
        seconds += n * one * of_account[longest, part.candidate].animal / usual
    seconds += sum(n_worlds[task] * of_task[task, names[0]].world for task in tasks)
    return WorkCost({"animals": n_animals}, seconds, n_bytes, _MEMORY, after)


def _time_animals(plan: Comparison, task: str, name: str) -> tuple[tuple[str, str], _Seconds]:
    """Time animals of several draws, and their worlds, once everything is compiled.

    They are in worlds that are new to the account, as those are of which it solves something.
    """
    draws = range(min(plan.n_studies(name), DRAWS_OF_PIECE))
    n = min(len(draws) * plan.n_animals(task), _N_WORLDS)
    every = -(-n // _N_TIMED)
    with plan.locating_errors(task):
        # All is compiled in the first round, and only the second one counts.
        for first in (0, min(1, n - 1)):
            worlds = range(first, n, every)
            begin, n_animals = process_time(), 0
            for number in worlds:
                _world(plan.tasks[task], task, plan.seed, number)
            built = process_time()
            for rows in _animals(plan, task, name, draws, worlds):
                n_animals += len(rows[["draw", "animal"]].drop_duplicates())
    seconds = _Seconds((process_time() - built) / n_animals, (built - begin) / len(worlds))
    return (task, name), seconds


def _account(plan: Comparison, name: str) -> tuple[Account, bool]:
    candidate = plan.candidates()[name]
    return plan.accounts[candidate.account], candidate.as_published


def _seeds(seed: int, *names: object) -> np.random.SeedSequence:
    # Unlike Python's own hash, this one is the same in all processes.
    keys = [zlib.crc32(str(name).encode()) for name in names]
    return np.random.SeedSequence([seed, *keys])


def _animals(
    plan: Comparison, task: str, name: str, draws: range, worlds: range = range(_N_WORLDS)
) -> Iterator[pd.DataFrame]:
    """Simulate and measure animals world by world: all of them, or those in some worlds."""
    n_animals = plan.n_animals(task)
    of_draw = settings(plan, name)
    # Animals share a few worlds, whose laps are run once for all draws and accounts.
    wanted: dict[int, list[tuple[int, int]]] = {}
    for draw in draws:
        for animal in range(n_animals):
            wanted.setdefault((draw * n_animals + animal) % _N_WORLDS, []).append((draw, animal))
    account, _ = _account(plan, name)
    entry, tested = plan.tasks[task], plan.tested(task).to_dict("records")
    for number in sorted(wanted.keys() & set(worlds)):
        world = _world(entry, task, plan.seed, number)
        runs, noise = [], dict[int, np.random.Generator]()
        for draw, animal in wanted[number]:
            seeds = _seeds(plan.seed, task, name, draw, animal)
            replayed = _replay(account, of_draw[draw], world, seeds)
            runs.append((draw * n_animals + animal, *replayed))
            noise[draw * n_animals + animal] = np.random.default_rng(seeds.spawn(1)[0])
        # A finding's statistic is measured by its study's criteria, others by those of the task.
        spacing, otherwise = _spacing(world.graph), _usual_detection(entry)
        of_findings = {}
        for row in tested:
            asked = detection_of(row, spacing, otherwise)
            least = max(asked.min_length, _LEAST_PLACES)
            of_findings[row["id"], row["statistic"]] = asked._replace(min_length=least)
        detections = of_findings | {("", statistic): otherwise for statistic in entry.statistics}
        read = partial(_read, plan.wrong_places, len(world.task.places), noise)
        yield _measure(world.task, runs, detections, n_animals, read)


@lru_cache(maxsize=2 * _N_WORLDS)
def _world(entry: TaskEntry, name: str, seed: int, number: int) -> _World:
    """Make an animal's variant of a task, and its laps; these are equal for all accounts."""
    build, laps = _seeds(seed, name, number).spawn(2)
    task = entry.build(np.random.default_rng(build))
    given = give_laps(task, seed=int(laps.generate_state(1)[0]))
    # Controls replay in the pauses that learners have, in the same order.
    first = task.blocks[0] if task.blocks else None
    rows = [(-1, "rest")] * (first.n_rest if first is not None and not first.n_laps else 0)
    ends = np.cumsum(given.laps["n_steps"].to_numpy()) - 1
    for end, n_rest in zip(ends.tolist(), given.laps["n_rest"].tolist(), strict=True):
        rows += [(end, "episode_end"), *[(end, "rest")] * n_rest]
        if end < ends[-1]:
            rows.append((end, "start"))
    return _World(task, given, graph_of_task(task), pd.DataFrame(rows, columns=["step", "phase"]))


def _spacing(graph: nx.Graph) -> float:
    """Return the distance between neighbouring places, in cm."""
    return float(np.median([distance for *_, distance in graph.edges(data="distance")]))


@lru_cache
def _usual_detection(entry: TaskEntry) -> Detection:
    """Return the criteria of a task, in cm, so that they do not depend on the size of places."""
    least = (entry.min_length - 1) * _spacing(graph_of_task(entry.build()))
    return Detection(_LEAST_PLACES, min_extent=least if entry.min_length > _LEAST_PLACES else 0.0)


def _replay(
    account: Account, params: dict[str, Parameter], world: _World, seeds: np.random.SeedSequence
) -> tuple[Any, ...]:
    """Simulate the replay of one animal; return its log, its laps and, for a control, its paths."""
    if account.is_control:
        log = _steps(world.given)
        rng = np.random.default_rng(seeds)
        control = CONTROLS[account.generator]
        paths = replay_of_control(control, params, log, world.pauses, world.graph, rng)
        return log, world.given.laps, paths
    if world.task.one_way and "reversible" in params:
        params = params | {"reversible": False}  # a move and its reverse differ in states
    learner = find_learner(account.generator, params)
    log = replay_laps(world.given, learner, seed=int(seeds.generate_state(1)[0]))
    return log, world.given.laps


@lru_cache(maxsize=2 * _N_WORLDS)
def _steps(given: GivenLaps) -> EventLog:
    """Return a log of an animal's steps."""
    log = replay_laps(given, "q_learning")
    return EventLog({"steps": log.columns("steps")}, mdp=given.task.world)


def _read(
    wrong_places: float,
    n_places: int,
    noise: dict[int, np.random.Generator],
    animal: int,
    reactivated: Columns,
) -> Columns:
    """Return the places that are read of those that an animal reactivated."""
    if not wrong_places:
        return reactivated
    return misread(reactivated, wrong_places, n_places, noise[animal])


def _measure(
    task: Task,
    runs: list[tuple[Any, ...]],
    detections: dict[tuple[str, str], Detection],
    n_animals: int,
    read: Callable[[int, Columns], Columns],
) -> pd.DataFrame:
    """Compute all statistics of the animals in one world, each under its criteria."""
    # Many findings share their criteria: replay is detected, and measured, once for each of these.
    wanted = dict.fromkeys(detections.values())
    jumps = sorted({detection.largest_jump for detection in wanted})
    made = replays_by_jump(task, runs, jumps, read=read)
    seen = {each: made[each.largest_jump].detected(each) for each in wanted}
    done = {
        key: STATISTICS[key[0]].compute(seen[key[1]])
        for key in dict.fromkeys((name, each) for (_, name), each in detections.items())
    }
    tables = [done[statistic, detection] for (_, statistic), detection in detections.items()]
    table = pd.concat(tables, ignore_index=True)
    number = table["animal"].to_numpy()
    n_rows = [len(each) for each in tables]
    findings, statistics = (
        np.array(names, dtype=object) for names in zip(*detections, strict=True)
    )
    return table.assign(
        finding=np.repeat(findings, n_rows),
        statistic=np.repeat(statistics, n_rows),
        draw=number // n_animals,
        animal=number % n_animals,
    )


def _studies(animals: pd.DataFrame, finding: str, statistic: str, n_animals: int) -> pd.DataFrame:
    """Summarise the first animals of each draw, as many as the study had."""
    is_measured = (animals["finding"] == finding) & (animals["statistic"] == statistic)
    rows = animals[is_measured & (animals["animal"] < n_animals)]
    draw = rows["draw"].to_numpy()
    first, n_draws = draw.min(), np.ptp(draw) + 1
    known = rows["value"].notna().to_numpy()
    rows, draw = rows[known], draw[known] - first
    value, n = rows["value"].to_numpy(), rows["n"].to_numpy(float)
    null = np.nan_to_num(rows["null"].to_numpy())  # without a null, a value counts from 0
    count = np.bincount(draw, minlength=n_draws).astype(float)
    divisor = np.where(count > 0, count, np.nan)
    mean = np.bincount(draw, value - null, n_draws) / divisor
    square = np.bincount(draw, (value - null - mean[draw]) ** 2, n_draws)
    sd = np.sqrt(square / np.where(count > 1, count - 1, np.nan))
    return pd.DataFrame(
        {
            "draw": np.arange(n_draws) + first,
            "finding": finding,
            "statistic": statistic,
            "successes": np.bincount(draw, value * n, n_draws),
            "trials": np.bincount(draw, n, n_draws),
            "mean": mean,
            "sd": sd,
            "value": np.bincount(draw, value, n_draws) / divisor,
            "n_animals": count,
        }
    )


class Predictions(NamedTuple):
    """The findings, and the predictions of all accounts for them."""

    rows: list[dict[Hashable, Any]]  # the findings; of n_findings
    results: list[Published]  # their published values; of n_findings
    studies: list[dict[str, Studies]]  # the simulated studies of each account; of n_findings
    # The part of each finding in the vote of its study; shape (n_findings,).
    weight: Floats


def predictions(plan: Comparison, simulated: pd.DataFrame) -> Predictions:
    """Arrange the simulated studies by finding and account."""
    rows = pd.concat([plan.tested(task) for task in plan.tasks])
    of_finding = dict(tuple(simulated[simulated["finding"] != ""].groupby("finding", sort=False)))
    studies = []
    for name in rows["id"]:
        accounts = (
            of_finding[name].sort_values("draw", kind="stable").groupby("account", sort=False)
        )
        studies.append(
            {
                str(account): Studies(*(group[column].to_numpy(float) for column in _SUMMARY))
                for account, group in accounts
            }
        )
    records = rows.to_dict("records")
    return Predictions(records, [published(row) for row in records], studies, weights(rows))


def weights(rows: pd.DataFrame, *, duplicates_share: bool = True) -> Floats:
    """Compute the share of each finding in the vote of its study.

    A study has one vote, however many statistics it reports: its findings share it equally. Studies
    with mutually exclusive answers to one question also share one vote. With `duplicates_share`,
    findings of one study with the same statistic in one task have the part of a single finding.

    Examples
    --------
    >>> rows = pd.DataFrame({"id": ["a.1", "a.2", "b.1"], "study": ["a", "a", "b"],
    ...                      "contradicts": ["", "b.1", "a.2"]})
    >>> weights(rows, duplicates_share=False).tolist()
    [0.5, 0.25, 0.5]
    """
    weight = 1 / rows.groupby("study")["id"].transform("size").to_numpy(float)
    if duplicates_share:
        measured = rows["task_name"] + " " + rows["statistic"]
        n_alike = measured.groupby([rows["study"], measured]).transform("size")
        n_measured = measured.groupby(rows["study"]).transform("nunique")
        weight = 1 / (n_alike * n_measured).to_numpy(float)
    studies = dict(zip(rows["id"], rows["study"], strict=True))
    for number, (study, others) in enumerate(
        zip(rows["study"], rows["contradicts"].fillna(""), strict=True)
    ):
        opposed = {studies[other] for other in others.split() if other in studies} - {study}
        weight[number] /= 1 + len(opposed)
    return weight
