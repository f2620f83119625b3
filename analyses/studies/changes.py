"""What a change of the world does: reward rate around it, time to recover, and replay after it.

`measure` lets learners act in one drawn world that changes (:mod:`replay.worlds.changing_worlds`);
`summarise_rates`, `summarise_recovery` and `summarise_replay` average over worlds. Reward rates are
normalised in each phase on its own: 0 is a uniformly random policy, 1 the optimal one with the same
exploration (epsilon = 0.1), both exact. A learner has *recovered* at the end of the first tenth of
a phase, wherever that begins, in which the normalised reward rate is back at 90 % of what it was
before the change, in the last fifth of the phase before. What it earns late in the phase stands
beside that: who had not learned the first world has little to recover.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from analyses.intervals import shares
from analyses.jobs.measurements import Measurement
from analyses.reward_rate import over_mdps
from analyses.sequences.growing import chain_kinds
from analyses.tables import KINDS, require_columns
from replay.learners import LEARNERS, find_learner
from replay.simulation.driver import Run, simulate
from replay.worlds.changing_worlds import find_world
from replay.worlds.mdp import uniform_policy
from replay.worlds.protocols import Protocol

__all__ = [
    "N_WINDOWS",
    "find_learners",
    "measure",
    "plan",
    "summarise_rates",
    "summarise_recovery",
    "summarise_replay",
]

N_WINDOWS = 50
"""Into how many windows each phase is cut."""

_CRITERION = 0.9
_STRETCH = N_WINDOWS // 10  # windows; a single one holds few episodes
_LATE = 0.2  # of a phase, at its end
_AROUND = 0.1  # of a phase, before and after a change, in which replay is counted
_MIN_LENGTH = 3
_EPSILON, _DISCOUNT = 0.1, 0.99

Learners = Mapping[str, tuple[str, Mapping[str, Any]]]
"""Name in the tables -> name in ``LEARNERS``, and the parameters that differ."""


def find_learners(texts: Sequence[str]) -> dict[str, tuple[str, dict[str, Any]]]:
    """Read learners with their parameters as they are typed.

    Parameters
    ----------
    texts : sequence of str
        Each the name of a learner, and after blanks parameters as ``name=value``.

    Returns
    -------
    dict
        Text -> name in ``LEARNERS`` and parameters.

    Raises
    ------
    ValueError
        If a learner or a parameter is unknown, or no learner is given.

    Examples
    --------
    >>> find_learners(["dyna_q", "dyna_q n_replays=5"])
    {'dyna_q': ('dyna_q', {}), 'dyna_q n_replays=5': ('dyna_q', {'n_replays': 5})}
    """
    found = {}
    for text in texts:
        name, *pairs = text.split()
        given = {key: _value(value) for key, _, value in (pair.partition("=") for pair in pairs)}
        find_learner(name, given)
        found[" ".join((name, *pairs))] = (name, given)
    if not found:
        raise ValueError(f"Name at least one learner. Choose from: {', '.join(LEARNERS)}.")
    return found


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def measure(
    world: str,
    learners: Learners,
    index: int = 0,
    n_seeds: int = 1,
    n_steps: int | None = None,
    n_rest: int = 0,
    seed: int = 0,
) -> dict[str, pd.DataFrame]:
    """Let learners act in one drawn world that changes.

    Parameters
    ----------
    world : str
        A name in ``WORLDS``.
    learners : dict
        Name in the tables -> name in ``LEARNERS``, and the parameters that differ.
    index : int
        Which of the worlds that can be drawn.
    n_seeds : int
        Runs of each learner.
    n_steps : int, optional
        Steps of each phase, at least 50; the builder's own by default.
    n_rest : int
        Pauses of rest after each phase.
    seed : int
        Seed of everything.

    Returns
    -------
    dict of pandas.DataFrame
        ``rates``: a row for each window of a run, with `world, learner, mdp, seed, phase`,
        `time_step` (a window's end, in steps of the phase) and the normalised `reward_rate`.
        ``replay``: a row for each kind of chain before and after a change, with `world, learner,
        mdp, seed, phase` (the one that the change begins), `period`, `kind`, `count` and `n_steps`.
        Periods are a tenth of a phase; chains are causal, within events, of at least 3 states.
        What is replayed at rest belongs to the time before the change.

    Raises
    ------
    ValueError
        If a name is unknown, or a number out of range.

    Examples
    --------
    >>> tables = measure("drifting_tree", find_learners(["dyna_q"]), n_steps=100)
    >>> tables["rates"].shape, tables["replay"]["period"].unique().tolist()
    ((500, 7), ['before', 'after'])
    """
    protocol = _draw(world, index, n_steps, n_rest, seed)
    baselines = [_baselines(phase.mdp) for phase in protocol.phases]
    tables: dict[str, list[pd.DataFrame]] = {"rates": [], "replay": []}
    for name, (learner, params) in learners.items():
        for number in range(n_seeds):
            run_seed = int(np.random.SeedSequence([seed, index, number]).generate_state(1)[0])
            run = simulate(protocol, learner, params, seed=run_seed)
            labels: dict[str, Any] = {"world": world, "learner": name, "mdp": index, "seed": number}
            for table, rows in (
                ("rates", _rates(run, protocol, baselines)),
                ("replay", _replay(run, protocol)),
            ):
                tables[table].append(rows.assign(**labels)[[*labels, *rows.columns]])
    return {name: pd.concat(rows, ignore_index=True) for name, rows in tables.items()}


def _draw(world: str, index: int, n_steps: int | None, n_rest: int, seed: int) -> Protocol:
    size = {} if n_steps is None else {"n_steps": n_steps}
    protocol = find_world(world)(seed=[seed, index], n_rest=n_rest, **size)
    shortest = min(phase.n_steps for phase in protocol.phases)
    if shortest < N_WINDOWS:
        raise ValueError(
            f"A phase needs at least {N_WINDOWS} steps, one for each window, got {shortest}."
        )
    return protocol


def _baselines(mdp: Any) -> tuple[float, float]:
    best = mdp.solve(_DISCOUNT).policy
    return mdp.reward_rate(uniform_policy(mdp)), mdp.reward_rate(best, _EPSILON)


def _rates(run: Run, protocol: Protocol, baselines: Sequence[tuple[float, float]]) -> pd.DataFrame:
    reward = np.append(0.0, np.cumsum(run.log.columns("steps")["reward"]))
    tables = []
    for number, (phase, end) in enumerate(zip(protocol.phases, protocol.ends, strict=True)):
        ends = np.arange(N_WINDOWS + 1) * phase.n_steps // N_WINDOWS
        rate = np.diff(reward[end - phase.n_steps + ends]) / np.diff(ends)
        random, optimal = baselines[number]
        tables.append(
            pd.DataFrame(
                {
                    "phase": number,
                    "time_step": ends[1:],
                    "reward_rate": (rate - random) / (optimal - random),
                }
            )
        )
    return pd.concat(tables, ignore_index=True)


def _replay(run: Run, protocol: Protocol) -> pd.DataFrame:
    steps, backups = run.log.columns("steps"), run.log.columns("backups")
    found = chain_kinds(steps, backups)
    long = found.length >= _MIN_LENGTH
    step, kind = found.step[long], found.kind[long]
    rows = []
    for number, change in enumerate(protocol.changes.tolist(), start=1):
        n_before, n_after = (
            max(int(_AROUND * protocol.phases[phase].n_steps), 1) for phase in (number - 1, number)
        )
        periods = {"before": (change - n_before, change), "after": (change, change + n_after)}
        for period, (first, end) in periods.items():
            within = kind[(step >= first) & (step < end)]
            counts = np.bincount(within, minlength=len(KINDS))
            rows += [
                {
                    "phase": number,
                    "period": period,
                    "kind": name,
                    "count": count,
                    "n_steps": end - first,
                }
                for name, count in zip(KINDS, counts.tolist(), strict=True)
            ]
    return pd.DataFrame(rows, columns=["phase", "period", "kind", "count", "n_steps"])


_BY = ["world", "learner", "phase"]


def summarise_rates(rates: pd.DataFrame) -> pd.DataFrame:
    """Average the reward rate over worlds, window by window.

    Parameters
    ----------
    rates : pandas.DataFrame
        The table ``rates`` of `measure`, of one or many worlds.

    Returns
    -------
    pandas.DataFrame
        Columns `world, learner, phase, time_step, mean, sem, ci_low, ci_high, n_mdps, n_seeds`,
        with a 95 % Student-t interval over worlds; seeds are averaged within a world first.

    Raises
    ------
    ValueError
        If columns are missing.

    Examples
    --------
    >>> rates = pd.DataFrame({"world": "shortcut", "learner": "dyna_q", "mdp": [0, 0, 1],
    ...                       "seed": [0, 1, 0], "phase": 0, "time_step": 100,
    ...                       "reward_rate": [0.0, 0.2, 0.3]})
    >>> summarise_rates(rates)[["mean", "n_mdps"]].round(2).to_numpy().tolist()
    [[0.2, 2.0]]
    """
    return _in_order(over_mdps(rates, [*_BY, "time_step"]), rates)


def summarise_recovery(rates: pd.DataFrame) -> pd.DataFrame:
    """Find out how long learners take to recover from each change.

    Parameters
    ----------
    rates
        As in `summarise_rates`.

    Returns
    -------
    pandas.DataFrame
        One row a world, learner and change: `world, learner, phase` (the one that the change
        begins); `before, first, late`, the mean normalised reward rate in the last fifth of the
        phase before, in the first fifth of this one, and in its last fifth; `median`, the median
        over drawn worlds of the steps to recover (NaN unless more than half did),
        `share_recovered` and `n_mdps`.

    Raises
    ------
    ValueError
        If columns are missing.

    Examples
    --------
    >>> rates = pd.DataFrame({"world": "shortcut", "learner": "dyna_q", "mdp": 0, "seed": 0,
    ...                       "phase": [0] * 10 + [1] * 10, "time_step": [*range(10, 101, 10)] * 2,
    ...                       "reward_rate": [0.5] * 10 + [0.0] * 3 + [0.5] * 7})
    >>> summarise_recovery(rates)[["before", "late", "median"]].to_numpy().tolist()
    [[0.5, 0.5, 80.0]]
    """
    rows = []
    by = [*_BY, "mdp", "time_step"]
    require_columns(rates, [*by, "reward_rate"], "rates")
    over_seeds = rates.groupby(by, sort=False)["reward_rate"].mean().reset_index()
    worlds = over_seeds.groupby(["world", "learner", "mdp"], sort=False)
    for (world, learner, mdp), table in worlds:
        for phase in range(1, table["phase"].max() + 1):
            before, after = (table[table["phase"] == number] for number in (phase - 1, phase))
            last, late = (
                part.loc[part["time_step"] > (1 - _LATE) * part["time_step"].max(), "reward_rate"]
                for part in (before, after)
            )
            early = after["time_step"] <= _LATE * after["time_step"].max()
            rate = after["reward_rate"].rolling(_STRETCH).mean()
            recovered = after.loc[rate >= _CRITERION * last.mean(), "time_step"]
            # Who earned no more than a random policy has nothing to recover.
            steps = recovered.min() if last.mean() > 0 and len(recovered) else np.inf
            rows.append(
                {
                    "world": world,
                    "learner": learner,
                    "phase": phase,
                    "mdp": mdp,
                    "before": last.mean(),
                    "first": after.loc[early, "reward_rate"].mean(),
                    "late": late.mean(),
                    "steps": steps,
                }
            )
    groups = pd.DataFrame(rows).groupby(_BY, sort=False)
    table = groups.agg(
        before=("before", "mean"),
        first=("first", "mean"),
        late=("late", "mean"),
        median=("steps", "median"),
        share_recovered=("steps", lambda steps: np.isfinite(steps).mean()),
        n_mdps=("steps", "size"),
    ).reset_index()
    return table.assign(median=table["median"].where(table["median"] < np.inf))


def summarise_replay(replay: pd.DataFrame) -> pd.DataFrame:
    """Compare what is replayed before and after each change.

    Parameters
    ----------
    replay : pandas.DataFrame
        The table ``replay`` of `measure`, of one or many worlds.

    Returns
    -------
    pandas.DataFrame
        Columns `world, learner, phase, period, kind`; `count` and `share` of all chains of the
        period, over all runs; `per_step`, chains of the kind a step.

    Raises
    ------
    ValueError
        If columns are missing.

    Examples
    --------
    >>> replay = pd.DataFrame({"world": "shortcut", "learner": "dyna_q", "mdp": 0, "seed": 0,
    ...                        "phase": 1, "period": "after", "count": [6, 2], "n_steps": 100,
    ...                        "kind": ["reverse_episode", "novel_path"]})
    >>> summarise_replay(replay)[["share", "per_step"]].to_numpy().tolist()
    [[0.75, 0.06], [0.25, 0.02]]
    """
    by = [*_BY, "period"]
    require_columns(replay, [*by, "mdp", "seed", "kind", "count", "n_steps"], "replay")
    runs = replay.drop_duplicates([*by, "mdp", "seed"])
    n_steps = runs.groupby(by, as_index=False)["n_steps"].sum()
    table = shares(replay, by).merge(n_steps, on=by)
    table = table.assign(per_step=table["count"] / table.pop("n_steps"))
    periods = pd.Categorical(table["period"], ["before", "after"], ordered=True)
    ordered = table.assign(period=periods).sort_values([*by, "kind"], ignore_index=True)
    return _in_order(ordered.assign(period=ordered["period"].astype(str)), replay)


def plan(
    world: str,
    learners: Learners,
    *,
    n_mdps: int = 10,
    n_seeds: int = 4,
    n_steps: int | None = None,
    n_rest: int = 0,
    seed: int = 0,
) -> Measurement:
    """Plan to let learners act in several drawn worlds that change, a piece for each world.

    Parameters
    ----------
    world, learners, n_seeds, n_steps, n_rest, seed
        As in `measure`.
    n_mdps : int
        How many worlds are drawn.

    Returns
    -------
    Measurement
        It makes ``change_rates``, ``change_recovery`` and ``change_replay``: what the three
        functions that begin with `summarise` give.

    Raises
    ------
    ValueError
        If a name is unknown, or a number out of range.
    """
    for what, number in (("MDPs", n_mdps), ("seeds", n_seeds)):
        if number < 1:
            raise ValueError(f"The number of {what} must be at least 1, got {number}.")
    _draw(world, 0, n_steps, n_rest, seed)
    pieces = [(world, learners, index, n_seeds, n_steps, n_rest, seed) for index in range(n_mdps)]
    return Measurement(["rates", "replay"], measure, pieces, _summarise)


def _summarise(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    return {
        "change_rates": summarise_rates(tables["rates"]),
        "change_recovery": summarise_recovery(tables["rates"]),
        "change_replay": summarise_replay(tables["replay"]),
    }


def _in_order(table: pd.DataFrame, like: pd.DataFrame) -> pd.DataFrame:
    """Let learners come in the order in which another table has them."""
    rank = {name: place for place, name in enumerate(like["learner"].unique())}
    by_rank = table.assign(rank=table["learner"].astype(str).map(rank))
    ordered = by_rank.sort_values("rank", kind="stable", ignore_index=True).drop(columns="rank")
    return ordered.assign(learner=ordered["learner"].astype(str))
