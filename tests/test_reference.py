"""Every table of the original code, met at every step.

`reference/trace_*.json.gz` holds three small worlds with a fixed list of transitions, and all
tables of ten learner settings after each of them, written by the published code of Brea (2018).
"""

import gzip
import json
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import ordered_sweeping
import pandas as pd
import pytest

from replay import feed

WORLDS = ("det_tree_terminal", "stoch_tree", "maze")
SETTINGS = {
    "EpisodicControl": "episodic_control",
    "MonteCarlo": "monte_carlo",
    "QLearning": "q_learning",
    "QLearning_explore": "q_learning_optimistic",
    "QLambda": "q_lambda",
    "NstepSarsa_lambda08_as_in_original": "n_step_td",
    "NstepSarsa_lambda0": "n_step_td",
    "SmallBackups3": "prioritized_sweeping",
    "SmallBackups3_explore": "prioritized_sweeping_optimistic",
    "SmallBackups_reset": "prioritized_sweeping_reset",
}
SWEEPING = [setting for setting in SETTINGS if setting.startswith("SmallBackups")]
PARAMETERS = {
    "gamma": "discount",
    "alpha": "learning_rate",
    "lambda": "trace_decay",
    "n": "n",
    "init": "initial_value",
    "maxcount": "max_pops",
    "minpriority": "min_priority",
}
PUBLISHED_QUEUE = {"priority_only_lowers": True, "queue_visited": True}
SMALLEST_PRIORITY = 1e-8


class Pop(NamedTuple):
    """One popped state and the predecessors that were updated, in order."""

    state: int
    priority: float
    predecessors: list[tuple[int, int]]


@cache
def trace(world):
    path = Path(__file__).with_name("reference") / f"trace_{world}.json.gz"
    return json.loads(gzip.decompress(path.read_bytes()))


@cache
def experience(world):
    columns = ["state", "action", "reward", "next_state", "terminated", "first", "next_action"]
    return pd.DataFrame(trace(world)["transitions"], columns=columns)


def reference(world, setting):
    """Give what the original code had after each step."""
    kept = trace(world)["learners"][setting]
    steps = [SimpleNamespace(Q=np.array(Q, dtype=float)) for Q in kept["Q"]]
    for step, counts in zip(steps, kept.get("Nsa", []), strict=False):
        step.n_returns = np.array(counts)
    for step, state in zip(steps, kept.get("state", []), strict=False):
        step.V, step.U = np.array(state["V"]), np.array(state["U"])
        step.queue = [(state, priority) for state, priority in state["queue"]]
        step.discarded = {state for state, _ in state["discarded_by_reset"]}
        step.pops = [
            Pop(pop["state"], pop["priority"], [(s, a) for s, a in pop["preds"]])
            for pop in state["backups"]
        ]
    return steps


def snapshot(memory):
    now = SimpleNamespace(Q=memory.action_values.copy())
    if hasattr(memory, "n_returns"):
        now.n_returns = memory.n_returns.copy()
    if hasattr(memory, "queue"):
        size = memory.queue.size[0]
        states, priorities = memory.queue.state[:size], memory.queue.priority[:size]
        now.V, now.U = memory.values.copy(), memory.known_values.copy()  # noqa: PD011
        now.queue = list(zip(states.tolist(), priorities.tolist(), strict=True))
    return now


def params(world, setting):
    given = trace(world)["learners"][setting]["params"]
    values = {
        PARAMETERS[name]: value
        for name, value in given.items()
        if name in PARAMETERS and not isinstance(value, str)
    }
    if setting in SWEEPING:
        values |= PUBLISHED_QUEUE | {"reset_model": setting == "SmallBackups_reset"}
    return values


@cache
def learned(world, setting, *, impose_order=False):
    """Feed a learner; return what it had after each step, and its backups."""
    logged = reference(world, setting) if impose_order else []
    steps = []

    def impose(k, memory):
        rows = [(*pair, pop.state) for pop in logged[k].pops for pair in pop.predecessors]
        memory.n_imposed[0] = len(rows)
        memory.imposed[: len(rows)] = np.array(rows, dtype=int).reshape(-1, 3)

    def on_step(k, memory):
        steps.append(snapshot(memory))
        if impose_order and k + 1 < len(logged):
            impose(k + 1, memory)

    log = feed(
        ordered_sweeping if impose_order else SETTINGS[setting],
        experience(world),
        n_states=trace(world)["ns"],
        n_actions=trace(world)["na"],
        params=params(world, setting),
        on_step=on_step,
    )
    return steps, log.backups


def pops_by_step(backups, n_steps):
    """Group the log by pop: a dict of pop -> Pop for each step."""
    steps = [{} for _ in range(n_steps)]
    replayed = backups[backups["phase"] != "online"]
    for (step, number), rows in replayed.groupby(["step", "pop"]):
        assert rows[["next_state", "priority", "cause", "event"]].nunique().eq(1).all()
        pairs = list(zip(rows["state"], rows["action"], strict=True))
        steps[step][number] = Pop(rows["next_state"].iloc[0], rows["priority"].iloc[0], pairs)
    return steps


def assert_same(ours, theirs, tolerance=1e-12):
    """Compare tables; infinite entries must be the same."""
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance)


def assert_same_sweeping(ours, theirs):
    for our, their in zip(ours, theirs, strict=True):
        assert_same(our.Q, their.Q)
        assert_same(our.V, their.V)
        assert_same(our.U, their.U)
        assert [state for state, _ in our.queue] == [state for state, _ in their.queue]
        assert_same([p for _, p in our.queue], [p for _, p in their.queue])


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("setting", [name for name in SETTINGS if name not in SWEEPING])
def test_tables(world, setting):
    ours, backups = learned(world, setting)
    theirs = reference(world, setting)
    for our, their in zip(ours, theirs, strict=True):
        assert_same(our.Q, their.Q)
        if setting == "MonteCarlo":
            np.testing.assert_array_equal(our.n_returns, their.n_returns)
    assert_log_leads_to(backups, world, theirs, params(world, setting)["initial_value"])


@pytest.mark.parametrize("world", ["det_tree_terminal", "stoch_tree"])
@pytest.mark.parametrize("setting", SWEEPING)
def test_sweeping_in_trees(world, setting):
    ours, backups = learned(world, setting)
    theirs = reference(world, setting)
    assert_same_sweeping(ours, theirs)
    assert_same_pops(backups, theirs, any_order=world == "stoch_tree")
    assert_log_leads_to(backups, world, theirs, params(world, setting)["initial_value"])


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("setting", SWEEPING)
def test_sweeping_with_the_order_of_predecessors_imposed(world, setting):
    ours, backups = learned(world, setting, impose_order=True)
    theirs = reference(world, setting)
    assert_same_sweeping(ours, theirs)
    assert_same_pops(backups, theirs)
    assert_log_leads_to(backups, world, theirs, params(world, setting)["initial_value"])


@pytest.mark.parametrize("setting", SWEEPING)
def test_sweeping_in_the_maze_with_an_order_of_our_own(setting):
    """Without the hash order, ties break differently; what does not depend on them is the same.

    Where a queue is empty, the tables solve the learned model: they are determined, if neither
    queue holds anything. Elsewhere every pop tells all predecessors known by then.
    """
    ours, backups = learned("maze", setting)
    theirs = reference("maze", setting)
    settled = [not (our.queue or their.queue) for our, their in zip(ours, theirs, strict=True)]
    assert sum(settled) >= 0.95 * sum(not their.queue for their in theirs)
    for our, their, both_empty in zip(ours, theirs, settled, strict=True):
        if both_empty:
            assert_same(our.Q, their.Q, 1e-6)
            assert_same(our.V, their.V, 1e-6)
            assert_same(our.U, their.U, 1e-6)

    known = [set() for _ in range(trace("maze")["ns"])]
    our_pops = pops_by_step(backups, len(ours))
    for row in experience("maze").itertuples():
        if not row.terminated:
            known[row.next_state].add((row.state, row.action))
        for pop in (*our_pops[row.Index].values(), *theirs[row.Index].pops):
            assert len(pop.predecessors) == len(set(pop.predecessors))
            assert set(pop.predecessors) == known[pop.state]
        if setting == "SmallBackups_reset" and row.terminated:
            known = [set() for _ in known]


@pytest.mark.parametrize("setting", ["SmallBackups3", "SmallBackups3_explore"])
def test_ties_in_the_maze_do_break_differently(setting):
    """Imposing the order is not idle: without it some table differs."""
    ours, _ = learned("maze", setting)
    theirs = reference("maze", setting)
    assert not all(
        np.allclose(our.U, their.U, rtol=0, atol=1e-12) and our.queue == their.queue
        for our, their in zip(ours, theirs, strict=True)
    )


def assert_same_pops(backups, theirs, *, any_order=False):
    """The log has the reference's pops, in order; those without predecessors are gaps.

    In any order of predecessors: where several backups of one pop changed the value of a state, a
    queue that only lowers priorities keeps the lowest on the way, which depends on their order.
    """
    arranged = sorted if any_order else list
    for ours, their in zip(pops_by_step(backups, len(theirs)), theirs, strict=True):
        expected = {i: pop for i, pop in enumerate(their.pops) if pop.predecessors}
        assert list(ours) == list(expected)
        for number, pop in expected.items():
            assert ours[number].state == pop.state
            assert arranged(ours[number].predecessors) == arranged(pop.predecessors)
            told = [[s for s, _ in p.predecessors].count(pop.state) for p in their.pops[:number]]
            if not any_order or max(told, default=0) < 2:
                assert ours[number].priority == pytest.approx(pop.priority, rel=0, abs=1e-12)


def assert_log_leads_to(backups, world, theirs, initial_value):
    """The logged changes, one after the other, lead from table to table; so do the causes.

    Queued states and the backups that inserted them are followed in plain Python: along the log,
    and along the reference's pops, which include those that the log leaves out.
    """
    steps = experience(world)
    sweeps = hasattr(theirs[0], "V")
    changes = [[] for _ in theirs]
    for number, row in enumerate(backups.to_dict("records")):
        changes[row["step"]].append((number, row))
    Q = np.full_like(theirs[0].Q, np.nan)
    queued = {}
    start = untaught(theirs[0], initial_value) if sweeps else None
    for k, (now, their) in enumerate(zip(changes, theirs, strict=True)):
        step = steps.iloc[k]
        phases = [row["phase"] for _, row in now]
        assert phases == sorted(phases, key=["online", "trace", "step", "episode_end"].index)
        assert [row["index"] for _, row in now if row["event"] >= 0] == list(
            range(sum(row["event"] >= 0 for _, row in now))
        )
        assert set(phases) <= {"online", "trace", "episode_end" if step["terminated"] else "step"}
        for _, row in now:
            pair = row["state"], row["action"]
            if np.isfinite(Q[pair]):
                assert row["q_before"] == Q[pair]
            Q[pair] = row["q_after"]
        if step["terminated"] or sweeps:
            logged = np.isfinite(Q)
            assert_same(Q[logged], their.Q[logged])
        if sweeps:
            follow_causes(now, their, theirs[k - 1] if k else start, queued)
            if their.discarded or (step["terminated"] and not their.queue):
                assert set(queued) == their.discarded
                queued.clear()
            assert set(queued) == {state for state, _ in their.queue}


def untaught(their, initial_value):
    """Give what sweeping has before its first step."""
    start = np.full(len(their.V), initial_value if np.isfinite(initial_value) else 0.0)
    return SimpleNamespace(Q=np.full_like(their.Q, initial_value), V=start, U=start)


def follow_causes(now, their, before, queued):
    """Follow which backup put each state in the queue, through one step."""
    (number, online), *replayed = now
    Q, V, U = before.Q.copy(), before.V.copy(), before.U.copy()

    def change(row, inserted_by):
        Q[row["state"], row["action"]] = row["q_after"]
        values = Q[row["state"]]
        V[row["state"]] = values[np.isfinite(values)].max()
        if abs(V[row["state"]] - U[row["state"]]) > SMALLEST_PRIORITY:
            queued.setdefault(row["state"], inserted_by)

    assert online["phase"] == "online"
    assert online["cause"] == -1
    change(online, -1)
    rows = iter(replayed)
    for pop in their.pops:
        cause = queued.pop(pop.state)
        U[pop.state] = V[pop.state]
        for _ in pop.predecessors:
            number, row = next(rows)
            assert row["cause"] == cause
            change(row, number)
    assert next(rows, None) is None
