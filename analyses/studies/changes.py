"""Effects of a change of the world: reward rate around it, time to recover, and replay after it.

`measure_change` simulates learners in one randomly drawn world that changes
(:mod:`replay.worlds.changing_worlds`); `summarise_rates`, `summarise_recovery` and
`summarise_replay` average over worlds. Reward rates are normalised separately in each phase: 0 is
the uniformly random policy, 1 the optimal one with the same exploration (epsilon = 0.1), both
exact. A learner has *recovered* at the end of the first stretch of a tenth of a phase in which the
normalised reward rate is at least 90 % of that in the last fifth of the phase before. The reward
rate late in the phase is reported as well, because a learner that had not learned the first world
has little to recover.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from analyses.intervals import shares
from analyses.jobs import N_CHANGING_RUNS, N_CHANGING_WORLDS
from analyses.jobs.results import Results
from analyses.jobs.study import MOST, MOST_STEPS, Shown, Study, digests, drawn
from analyses.measures.reward_rate import baselines_of, over_mdps
from analyses.sequences.growing import chain_kinds
from analyses.tables import KINDS
from replay.checks import check_table, check_whole
from replay.learners import LEARNERS, check_computes_values
from replay.simulation import Run, simulate
from replay.worlds.changing_worlds import find_world
from replay.worlds.protocols import Protocol

PHASE_WINDOWS = 50
"""Number of windows of each phase."""

_CRITERION = 0.9  # of the rate before the change, at which a learner has recovered
_STRETCH = PHASE_WINDOWS // 10  # windows; a single one contains few episodes
_LATE = 0.2  # of a phase, at its end
_AROUND = 0.1  # of a phase, before and after a change, in which replay is counted
_MIN_LENGTH = 3  # states: two may follow one another by chance
_EPSILON, _DISCOUNT = 0.1, 0.99  # of the optimal policy that is 1 in normalised rates

Learners = Mapping[str, tuple[str, Mapping[str, Any]]]
"""Name in the tables -> name in ``LEARNERS``, and the parameters that differ."""
_BY = ["world", "learner", "phase"]


def measure_change(
    world: str,
    learners: Learners,
    index: int = 0,
    n_seeds: int = 1,
    n_steps: int | None = None,
    n_rest: int = 0,
    seed: int = 0,
) -> dict[str, pd.DataFrame]:
    """Simulate learners in one randomly drawn world that changes.

    ``rates`` has one row per window of a run, with the window's end in steps of the phase.
    ``replay`` has one row per kind of chain (causal, within events, 3 states or more) in the tenth
    of a phase before and after each change; replay at rest counts before it.
    """
    protocol = _draw_world(world, index, n_steps, n_rest, seed)
    phases = protocol.phases
    between = [baselines_of(phase.mdp, discount=_DISCOUNT, epsilon=_EPSILON) for phase in phases]
    rates, replay = [], []
    for name, (learner, params) in learners.items():
        for number in range(n_seeds):
            # Learners of one number have the same seed, so that they differ in nothing else.
            run_seed = int(np.random.SeedSequence([seed, index, number]).generate_state(1)[0])
            run = simulate(protocol, learner, params, seed=run_seed)
            labels: dict[str, Any] = {"world": world, "learner": name, "mdp": index, "seed": number}
            reward = np.append(0.0, np.cumsum(run.log.columns("steps")["reward"]))
            for k, (phase, end) in enumerate(zip(phases, protocol.ends, strict=True)):
                ends = np.arange(PHASE_WINDOWS + 1) * phase.n_steps // PHASE_WINDOWS
                rate = np.diff(reward[end - phase.n_steps + ends]) / np.diff(ends)
                window = {"time_step": ends[1:], "reward_rate": between[k].normalise(rate)}
                rates.append(pd.DataFrame({**labels, "phase": k, **window}))
            replay += [pd.DataFrame(labels | counts) for counts in _replay(run, protocol)]
    return {
        "rates": pd.concat(rates, ignore_index=True),
        "replay": pd.concat(replay, ignore_index=True),
    }


def _draw_world(world: str, index: int, n_steps: int | None, n_rest: int, seed: int) -> Protocol:
    size = {} if n_steps is None else {"n_steps": n_steps}
    protocol = find_world(world)(seed=[seed, index], n_rest=n_rest, **size)
    shortest = min(phase.n_steps for phase in protocol.phases)
    if shortest < PHASE_WINDOWS:
        raise ValueError(
            f"A phase needs at least {PHASE_WINDOWS} steps, one per window, got {shortest}."
        )
    return protocol


def _replay(run: Run, protocol: Protocol) -> Iterator[dict[str, Any]]:
    """Count the chains of each kind before and after each change: the columns of ``replay``."""
    found = chain_kinds(run.log.columns("steps"), run.log.columns("backups"))
    long = found.length >= _MIN_LENGTH
    step, kind = found.step[long], found.kind[long]
    for number, change in enumerate(protocol.changes.tolist(), start=1):
        n_before, n_after = (
            max(int(_AROUND * protocol.phases[phase].n_steps), 1) for phase in (number - 1, number)
        )
        periods = {"before": (change - n_before, change), "after": (change, change + n_after)}
        for period, (first, end) in periods.items():
            within = kind[(step >= first) & (step < end)]
            yield {
                "phase": number,
                "period": period,
                "kind": KINDS,
                "count": np.bincount(within, minlength=len(KINDS)),
                "n_steps": end - first,
            }


def summarise_rates(rates: pd.DataFrame) -> pd.DataFrame:
    """Average the reward rate over worlds, window by window.

    Seeds are averaged within a world first. The columns are those of ``change_rates.csv``.

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
    """Measure how long learners need to recover from each change.

    The columns are those of ``change_recovery.csv``: before and late are the last fifths of the
    phases before and after the change, first is the first fifth after it. The median is NaN unless
    more than half of the worlds recovered.
    """
    rows = []
    by = [*_BY, "mdp", "time_step"]
    check_table(rates, [*by, "reward_rate"], "rates")
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
            # A learner that earned no more than a random policy has nothing to recover.
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
    """Compare replay before and after each change.

    The columns are those of ``change_replay.csv``; shares are of all chains of a period, over all
    runs.
    """
    by = [*_BY, "period"]
    check_table(replay, [*by, "mdp", "seed", "kind", "count", "n_steps"], "replay")
    runs = replay.drop_duplicates([*by, "mdp", "seed"])
    n_steps = runs.groupby(by, as_index=False)["n_steps"].sum()
    table = shares(replay, by).merge(n_steps, on=by)
    table = table.assign(per_step=table["count"] / table.pop("n_steps"))
    periods = pd.Categorical(table["period"], ["before", "after"], ordered=True)
    ordered = table.assign(period=periods).sort_values([*by, "kind"], ignore_index=True)
    return _in_order(ordered.assign(period=ordered["period"].astype(str)), replay)


class ChangePlan(NamedTuple):
    """The plan of the study."""

    world: str  # a name in `WORLDS`
    learners: Learners  # name in the tables -> name in `LEARNERS`, and the parameters that differ
    n_mdps: int = N_CHANGING_WORLDS  # number of drawn worlds
    n_seeds: int = N_CHANGING_RUNS  # runs of each learner in each of them
    n_steps: int | None = None  # steps of each phase; None for those of the kind of world
    n_rest: int = 0  # pauses of rest after each phase
    seed: int = 0  # seed of everything

    def describe(self) -> dict[str, Any]:
        """Return the entries of the manifest."""
        files = {name: name for name, _ in self.learners.values() if name not in LEARNERS}
        return self._asdict() | ({"files": digests(files)} if files else {})

    def n_pieces(self) -> dict[str, int]:
        """Return the number of pieces: one per drawn world."""
        return {self.world: self.n_mdps}


def plan_change(
    world: str,
    learners: Learners,
    *,
    n_mdps: int = N_CHANGING_WORLDS,
    n_seeds: int = N_CHANGING_RUNS,
    n_steps: int | None = None,
    n_rest: int = 0,
    seed: int = 0,
) -> ChangePlan:
    """Plan to simulate learners in several drawn worlds that change."""
    check_whole("The number of worlds", n_mdps, at_least=1, at_most=MOST)
    check_whole("The number of seeds", n_seeds, at_least=1, at_most=MOST)
    check_whole("The number of pauses of rest", n_rest, at_most=MOST)
    check_whole("The seed", seed)
    if n_steps is not None:
        check_whole(
            "The number of steps of a phase", n_steps, at_least=PHASE_WINDOWS, at_most=MOST_STEPS,
            hint="Each phase is divided into that many windows.",
        )  # fmt: skip
    if not learners:
        raise ValueError("Name at least one learner.")
    for learner, params in learners.values():
        check_computes_values(learner, params)
    _draw_world(world, 0, n_steps, n_rest, seed)
    return ChangePlan(world, learners, n_mdps, n_seeds, n_steps, n_rest, seed)


def _summarise(plan: ChangePlan, results: Results) -> dict[str, pd.DataFrame]:
    rates, replay = (results.read_pieces(name) for name in ("rates", "replay"))
    return {
        "change_rates.csv": summarise_rates(rates),
        "change_recovery.csv": summarise_recovery(rates),
        "change_replay.csv": summarise_replay(replay),
    }


def _show(plan: ChangePlan, tables: Mapping[str, pd.DataFrame]) -> list[Shown]:
    recovery = tables["change_recovery.csv"]
    shown = pd.DataFrame({"learner": recovery["learner"], "change": recovery["phase"].map(str)})
    for name, title in (("before", "before"), ("first", "after"), ("late", "late")):
        shown[title] = recovery[name].map("{:.2f}".format)
    steps = recovery["median"].map("{:,.0f}".format)
    shown["steps"] = steps.where(recovery["median"].notna(), "not")
    shown["recovered"] = recovery["share_recovered"].map("{:.0%}".format)
    return [Shown("Normalised reward rate (0 random, 1 optimal) and steps to recover", shown)]


def _in_order(table: pd.DataFrame, like: pd.DataFrame) -> pd.DataFrame:
    """Order learners as in another table."""
    rank = {name: place for place, name in enumerate(like["learner"].unique())}
    named = table.assign(learner=table["learner"].astype(str))
    return named.sort_values(
        "learner", key=lambda names: names.map(rank), kind="stable", ignore_index=True
    )


STUDY = Study(
    "changes",
    "How do learners recover when the world changes?",
    plan=lambda size, seed: plan_change(
        "shortcut",
        {"prioritized_sweeping": ("prioritized_sweeping", {}), "dyna_q": ("dyna_q", {})},
        n_mdps=max(round(10 * size), 1),
        seed=seed,
    ),
    make=lambda plan, piece: measure_change(
        plan.world, plan.learners, piece.number, plan.n_seeds, plan.n_steps, plan.n_rest, plan.seed
    ),
    summarise=_summarise,
    figures={
        "changes": drawn("reward_figures:changes_figure", "change_rates.csv", "change_replay.csv")
    },
    show=_show,
    command="replay change",
)
