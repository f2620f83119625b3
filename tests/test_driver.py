"""The driver can be interrupted, and refuses invalid input."""

import os
import signal
import threading
from dataclasses import replace
from time import perf_counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_learners import module

from replay import feed, simulate
from replay.learners import find_learner
from replay.simulation import driver
from replay.simulation.driver import replay_stream
from replay.worlds.mazes import from_ascii

MAZE = from_ascii("S..G")
SEEDS = st.one_of(st.integers(0, 2**63 - 1), st.sampled_from([0, 2**32 - 1, 2**32, 2**63 - 1]))

LONG = """
from replay.learners.q_learning import Memory, Params, init, learn

def most_backups(params, memory):
    return 10_000_000

def replay(params, memory, pause, rng, log):
    for _ in range(100_000_000):
        memory.action_values[0, 0] += rng.random()
"""
"""A step takes about a second."""


@pytest.fixture
def interrupt():
    """Interrupt this process some seconds from now, as Ctrl-C does."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timers = []

    def later(seconds):
        timers.append(threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT)))
        timers[-1].start()

    yield later
    for timer in timers:
        timer.cancel()
        timer.join()
    signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(os.name == "nt", reason="there a process cannot interrupt itself")
@pytest.mark.parametrize("log", ["none", "replay"])
def test_a_long_run_can_be_interrupted(interrupt, log):
    simulate(MAZE, "q_learning", n_steps=10, log=log)  # compile first
    begin = perf_counter()
    interrupt(0.3)
    with pytest.raises(KeyboardInterrupt):
        simulate(MAZE, "q_learning", n_steps=10**9 if log == "none" else 10**8, log=log)
    assert perf_counter() - begin < 5.0  # it would take a minute


@pytest.mark.skipif(os.name == "nt", reason="there a process cannot interrupt itself")
def test_a_long_step_can_be_interrupted(interrupt):
    learner = module("long", LONG)
    simulate(MAZE, learner, n_steps=1, log="none")  # compiles, and tells how long a step is
    begin = perf_counter()
    simulate(MAZE, learner, n_steps=1, log="none")
    seconds = perf_counter() - begin
    begin = perf_counter()
    interrupt(seconds / 10)
    with pytest.raises(KeyboardInterrupt):
        simulate(MAZE, learner, n_steps=100, log="none")
    assert perf_counter() - begin < seconds


def test_pieces_of_a_run_are_the_run(monkeypatch):
    """However few steps are made at a time, and in whatever thread."""
    whole = simulate(MAZE, "dyna_q", n_steps=1000, log="all", seed=1)
    monkeypatch.setattr(driver, "_FIRST_WORK", 0.0)
    monkeypatch.setattr(driver, "_SECONDS_PER_CALL", 0.0)
    for large in (0, 10**12):
        monkeypatch.setattr(driver, "_LARGE", large)
        run = simulate(MAZE, "dyna_q", n_steps=1000, log="all", seed=1)
        pd.testing.assert_frame_equal(run.log.backups, whole.log.backups)
        pd.testing.assert_frame_equal(run.log.steps, whole.log.steps)
        np.testing.assert_array_equal(run.window_rewards, whole.window_rewards)


def test_an_error_in_a_thread_is_raised(monkeypatch):
    monkeypatch.setattr(driver, "_LARGE", 0)

    def fail():
        raise RuntimeError("here")

    with pytest.raises(RuntimeError, match="here"):
        driver._in_thread(fail)


@pytest.mark.parametrize(
    ("learner", "params", "n_steps", "message"),
    [
        ("q_learning", {}, 10**9 * 2, r"no room for the log of 2000000000 steps: .* 48\.0 GB"),
        ("q_learning", {}, 2**31, "A log holds at most 2147483647 steps, got 2147483648"),
        ("q_learning", {}, 10**18, "n_steps must be a whole number from 1 to 1000000000000000"),
    ],
)
def test_what_cannot_be_held_is_refused_with_its_size(
    learner, params, n_steps, message, monkeypatch
):
    monkeypatch.setattr("replay.checks.values._memory_bytes", lambda: 8e9)
    with pytest.raises(ValueError, match=message):
        simulate(MAZE, replace(find_learner(learner, params), compiled=False), n_steps=n_steps)


def test_a_memory_that_does_not_fit():
    def init(params, sizes):
        raise MemoryError("Unable to allocate 1 TiB")

    learner = replace(find_learner("sfma"), init=init)
    with pytest.raises(ValueError, match=r"memory of 'sfma' for 4 states and 4 actions .* 1 TiB"):
        simulate(MAZE, learner, n_steps=1)


def test_more_actions_than_a_log_holds():
    table = pd.DataFrame({"state": [0], "action": 0, "reward": 0.0, "next_state": 0,
                          "terminated": True})  # fmt: skip
    with pytest.raises(ValueError, match="A log holds at most 32768 actions, got 40000"):
        feed("q_learning", table, n_states=1, n_actions=40_000)


def test_without_a_log_no_bound_of_backups_is_too_large():
    own = find_learner("q_learning")
    learner = replace(own, compiled=False, most_backups=lambda params, memory: 2**70)
    assert simulate(MAZE, learner, n_steps=20, log="none").window_rewards.shape


def test_a_bound_that_is_none():
    learner = replace(find_learner("q_learning"), most_backups=lambda params, memory: -1)
    with pytest.raises(ValueError, match=r"most_backups\(\) of the learner .* must be at least 0"):
        simulate(MAZE, learner, n_steps=1)


ROWS = {
    "state": [0, 1], "action": [0, 0], "reward": [0.0, 1.0], "next_state": [1, 2],
    "terminated": [False, True],
}  # fmt: skip


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"state": ["a", "b"]}, "'state' of transitions must hold whole numbers .* row 0"),
        ({"action": [0, 3]}, "'action' of transitions must hold whole numbers from 0 to 1; row 1"),
        ({"reward": pd.to_datetime(["2020", "2021"])}, "'reward' of transitions must hold finite"),
        ({"reward": [0.0, 1e200]}, "'reward' of transitions must hold finite numbers .* row 1"),
        ({"terminated": [0.5, 1]}, "'terminated' of transitions must hold True and False only"),
        ({"time": [1.0, 0.5]}, "'time' of transitions decreases: row 1 has 0.5, row 0 1"),
        ({"time": ["1", "2"]}, "'time' of transitions must hold finite numbers"),
        ({"next_action": [0, -1]}, "'next_action' of transitions must hold whole numbers from 0"),
        ({"state": [0, 0]}, "Row 0 of transitions enters state 1, but row 1 begins in state 0"),
    ],
)
def test_columns_that_make_no_sense(columns, message):
    with pytest.raises(ValueError, match=message):
        feed("q_learning", pd.DataFrame(ROWS | columns), n_states=3, n_actions=2)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"mdp": 5}, TypeError, "mdp must be an MDP, got int"),
        ({"mdp": MAZE}, ValueError, "mdp has 4 states, but n_states is 3"),
        (
            {"rest": [2]},
            TypeError,
            r"rest must map numbers of rows to numbers of pauses, got \[2\]",
        ),
        ({"rest": {1: 2}}, ValueError, "rest after 1 rows, within an episode"),
    ],
)
def test_arguments_that_make_no_sense(arguments, error, message):
    with pytest.raises(error, match=message):
        feed("q_learning", pd.DataFrame(ROWS), **{"n_states": 3, "n_actions": 2} | arguments)


def test_nothing_that_ends_for_a_learner_of_ends():
    rows = pd.DataFrame(ROWS | {"terminated": False})
    with pytest.raises(ValueError, match="'monte_carlo' learns at an episode's end, but no row"):
        feed("monte_carlo", rows, n_states=3, n_actions=2)
    assert len(feed("q_learning", rows, n_states=3, n_actions=2).steps) == 2


@given(SEEDS)
def test_replay_draws_from_the_first_child_of_the_seed(seed):
    child = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0,)))
    assert replay_stream(seed).bit_generator.state == child.bit_generator.state
