"""When pauses end: where a backup is not worth its time, or at random."""

from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

from replay.learners import find_learner
from replay.learners.contract import Transition
from replay.log.backups import EPISODE_END, START
from replay.parts import pauses
from replay.tasks import give_laps, replay_laps
from replay.tasks.published import find_task

LEARNERS = (
    "prioritized_sweeping",
    "full_backups",
    "prioritized_memory_access",
    "dyna_q",
    "trajectory_sampling",
    "sfma",
    "episodic_sequences",
    "retrieved_episodes",
)
# What one backup may cost, in steps, so that pauses become shorter but don't vanish.
COSTS = dict.fromkeys(LEARNERS, 0.3) | {"prioritized_memory_access": 0.003}
SETTINGS = {"discount": 0.9, "max_pops": 20, "max_backups": 20, "n_replays": 20}
SETTINGS |= {"learning_rate": 0.3, "replay_at": "pauses"}


class Params(NamedTuple):
    discount: float = 0.9
    backup_cost: float = 1.0
    mean_backups: float = np.inf


def step(reward=0.0, terminated=False):
    return Transition(0, 0, reward, 1, -1, terminated, False)


def learner(name, **params):
    known = find_learner(name).parameters
    return find_learner(name, {k: v for k, v in SETTINGS.items() if k in known} | params)


@pytest.fixture(scope="module")
def laps():
    return {
        name: give_laps(find_task(name).build(), seed=4)
        for name in ("linear_track_4x", "linear_track_novel", "gupta_2t")
    }


def pops(log):
    """Count pops by event."""
    backups = log.backups.query("phase in ['episode_end', 'start', 'rest']")
    return backups.groupby("event")["pop"].nunique()


# -- the part -----------------------------------------------------------------------------------


def test_rewards_and_prediction_errors_by_hand():
    held, Q = pauses.earnings(), np.array([[0.5], [2.0]])
    pauses.note_experience(Params(), held, Q, step(1.0))  # 1 + .9 * 2 - .5
    assert held.held.tolist() == pytest.approx([1.0, 1.0, 0.2 * 2.3])
    pauses.note_experience(Params(), held, Q, step(0.0, terminated=True))  # 0 - .5
    assert held.held.tolist() == pytest.approx([1.0, 2.0, 0.8 * 0.46 + 0.2 * 0.5])
    before = held.held[2]
    pauses.note_change(Params(), held, np.inf, 3.0)
    assert held.held[2] == before
    pauses.note_experience(Params(backup_cost=0.0), held, Q, step(7.0))
    assert held.held[:2].tolist() == [1.0, 2.0]


def test_a_backup_must_gain_more_than_its_time_earns():
    held, rng = pauses.earnings(), np.random.default_rng(1)
    held.held[:2] = 3.0, 6.0  # half a reward a step
    for cost, gain, expected in [(1, 0.51, True), (1, 0.5, False), (4, 1.9, False), (0, 0.0, True)]:
        assert pauses.goes_on(Params(backup_cost=cost), held, gain, rng) == expected
    held.held[0] = -3.0
    assert pauses.goes_on(Params(), held, 1e-9, rng)
    assert not pauses.goes_on(Params(), held, 0.0, rng)
    assert rng.bit_generator.state == np.random.default_rng(1).bit_generator.state


@pytest.mark.parametrize("mean", [0.0, 0.5, 5.0])
def test_random_ends_are_geometric(mean):
    rng, params = np.random.default_rng(2), Params(mean_backups=mean)
    lengths = []
    for _ in range(20_000):
        lengths.append(0)
        while not pauses.is_over_by_chance(params, rng):
            lengths[-1] += 1
    spread = np.sqrt(mean * (1 + mean))
    assert np.mean(lengths) == pytest.approx(mean, abs=4 * spread / np.sqrt(20_000))
    assert np.std(lengths) == pytest.approx(spread, rel=0.05, abs=1e-9)
    assert np.mean(np.equal(lengths, 0)) == pytest.approx(1 / (1 + mean), abs=0.015)


# -- in learners --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LEARNERS)
def test_a_cost_only_ends_pauses(name, laps):
    """A tiny cost ends what gains nothing; a huge one ends all, and what is learned stays."""
    given = laps["gupta_2t"]
    usual = replay_laps(given, learner(name))
    costly = replay_laps(given, learner(name, backup_cost=COSTS[name]))
    huge = replay_laps(given, learner(name, backup_cost=1e9))
    n = [len(pops(log)) and pops(log).sum() for log in (usual, costly, huge)]
    assert n[0] > n[1] > n[2]
    pd.testing.assert_frame_equal(costly.steps, usual.steps)
    # Before the first reward time earns nothing.
    paid = usual.steps.query("reward > 0")["step"].min()
    assert (huge.backups.query("phase != 'online'")["step"] < paid).all()


@pytest.mark.parametrize("name", LEARNERS)
def test_a_mean_number_of_backups(name, laps):
    given = laps["gupta_2t"]
    log = replay_laps(given, learner(name, mean_backups=2.0))
    again = replay_laps(given, learner(name, mean_backups=2.0))
    pd.testing.assert_frame_equal(log.backups, again.backups)
    usual = pops(replay_laps(given, learner(name)))
    counts = pops(log)
    assert len(counts) < len(usual)
    assert 1.5 < counts.mean() < min(4.5, usual.mean() + 1)
    assert not len(pops(replay_laps(given, learner(name, mean_backups=0.0))))


def by_lap(log, n_laps):
    """Count the backups at the ends of laps; of learners that plan, before them."""
    backups = log.columns("backups")
    phase = EPISODE_END if (backups["phase"] == EPISODE_END).any() else START
    return np.bincount(backups["episode"][backups["phase"] == phase], minlength=n_laps)[:n_laps]


@pytest.mark.parametrize("name", ["prioritized_sweeping", "full_backups", "dyna_q", "sfma"])
def test_rates_follow_reward(name, laps):
    """Where an end pays four times as much there is more replay at it, and less at the other."""
    given = laps["linear_track_4x"]
    log = replay_laps(given, learner(name, backup_cost=0.3))
    table = given.laps.assign(n=by_lap(log, len(given.laps)))
    mean = table.groupby(["lap", "block"])["n"].mean()
    assert mean["out", "unequal"] > mean["out", "equal"]
    assert mean["in", "unequal"] < mean["in", "equal"]
    usual = table.assign(n=by_lap(replay_laps(given, learner(name)), len(table)))
    saturated = usual.groupby(["lap", "block"])["n"].mean()
    assert saturated["out", "unequal"] == pytest.approx(saturated["out", "equal"], rel=0.1)


@pytest.mark.parametrize("name", ["prioritized_sweeping", "full_backups", "dyna_q", "sfma"])
def test_rates_fall_with_experience(name, laps):
    given = laps["linear_track_novel"]
    n = by_lap(replay_laps(given, learner(name, backup_cost=0.3)), len(given.laps))
    assert n[:6].mean() > 2 * n[-10:].mean()
    usual = by_lap(replay_laps(given, learner(name)), len(given.laps))
    assert usual[1:6].mean() == pytest.approx(usual[-10:].mean(), rel=0.1)


def test_a_cost_is_counted_among_what_is_held():
    assert pauses.earnings_words(Params()) == 3
    assert pauses.earnings_words(Params(backup_cost=0.0)) == 0


def test_parameters_have_ranges():
    for name in LEARNERS:
        with pytest.raises(ValueError, match="backup_cost"):
            learner(name, backup_cost=-1.0)
        with pytest.raises(ValueError, match="mean_backups"):
            learner(name, mean_backups=-1.0)
        with pytest.raises(ValueError, match="backup_cost"):
            learner(name, backup_cost=np.inf)
