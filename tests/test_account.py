"""What learners say of themselves is what they do."""

import re

import numpy as np
import pytest

from replay import LEARNERS, simulate
from replay.learners import find_learner
from replay.log.backups import PHASES, REST, backup_buffer
from replay.simulation.loop import Pause
from replay.worlds.mazes import from_ascii

MAZE = from_ascii("S....G")

VARIANTS = [
    *((name, {}) for name in LEARNERS),
    *(("prioritized_sweeping", {"replay_at": moment}) for moment in ("episode_end", "rest")),
    ("full_backups", {"replay_at": "start_and_end"}),
    ("sfma", {"replay_at_start": True}),
    ("prioritized_memory_access", {"one_step_late": True}),
]
VARIANT = pytest.mark.parametrize(
    ("learner", "params"), VARIANTS, ids=["-".join(map(str, (n, *p.values()))) for n, p in VARIANTS]
)


def account_of(learner, params=None):
    found = find_learner(learner, params)
    return found.module.account(found.params)


def rests(run, learner, params):
    """Tell whether a learner replays in a rest after a run."""
    found = find_learner(learner, params)
    if not hasattr(found.module, "replay"):
        return False
    log = backup_buffer(1000, "replay", getattr(found.module, "EVALUATES", False))
    pause = Pause(REST, 0, False)
    found.module.replay(found.params, run.memory, pause, np.random.default_rng(0), log)
    return bool((log.rows["phase"][: log.counter[1]] == REST).any())


@VARIANT
def test_replay_is_logged_in_the_pauses_that_are_named(learner, params):
    # Reward is met for the last time in the last step, so that something is left to be told.
    n_steps = 1
    while not simulate(MAZE, learner, params, n_steps=n_steps).log.steps["terminated"].iloc[-1]:
        n_steps += 1
    phases = set()
    for steps in (n_steps, 2000):
        run = simulate(MAZE, learner, params, n_steps=steps, seed=0)
        phases |= set(run.log.backups["phase"].unique())
        if rests(run, learner, params):
            phases.add(PHASES[REST])
    assert phases == {PHASES[phase] for phase in account_of(learner, params).phases}


@pytest.mark.parametrize("learner", LEARNERS)
def test_sources_are_references_of_the_module(learner):
    module, _ = LEARNERS[learner]
    account = account_of(learner)
    for source in account.source.split(", "):
        authors, year = source.rsplit(" ", 1)
        assert re.search(rf"{authors} \({year}\)", " ".join(module.__doc__.split())), source


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_priority_is_named_if_anything_is_replayed(learner):
    account = account_of(learner)
    assert bool(account.priority) == bool(account.phases)
    assert account.stores


def test_no_two_learners_say_the_same():
    accounts = [account_of(learner) for learner in LEARNERS]
    assert len(set(accounts)) == len(LEARNERS)


def test_parameters_tell():
    bounded = {"capacity": 3, "retention": "fading", "priority": "recency"}
    account = account_of("full_backups", bounded)
    assert (account.stores, account.priority) == (
        "a model of fading transitions",
        "latest change of Q",
    )
    assert account_of("prioritized_memory_access", {"need": "one"}).priority == "gain"
    indifferent = {"need": "one", "use_gain": False, "replay_at": "step"}
    account = account_of("prioritized_memory_access", indifferent)
    assert (account.priority, account.pauses) == ("any", "steps, ends")
    assert account_of("n_step_td", {"trace_decay": 0.8}).stores.endswith("traces")
