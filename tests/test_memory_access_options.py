"""Each option of prioritized memory access, compared with a slow, plain version.

The plain version acts, and records its random choices. These are imposed on the learner, which must
make the same steps, candidates and backups.
"""

import imposed_memory_access
import numpy as np
import pytest
from plain_memory_access import simulate_plainly

from replay import feed
from replay.worlds.mazes import from_ascii, two_way_track

WORLDS = {"track": two_way_track(4), "maze": from_ascii("S...\n.#..\n...G")}
OPTIONS = {
    "published": {},
    "own_timing": {"one_step_late": False},
    "slow_learning": {"learning_rate": 0.3},
    "act_policy": {"act_policy": "epsilon_greedy", "epsilon": 0.3},
    "every_step": {"replay_at": "step", "max_backups": 6},
    "every_step_at_once": {"replay_at": "step", "max_backups": 6, "one_step_late": False},
    "episode_end": {"replay_at": "episode_end"},
    "gain_of_one": {"use_gain": False},
    "need_of_one": {"need": "one"},
    "need_here": {"need": "current_state"},
    "long_run": {"need": "stationary_distribution", "transition_rate": 0.3},
    "no_floor": {"gain_floor": 0.0, "min_priority": 1e-12},
    "single_steps": {"n_step": False},
    "unexplored": {"pre_explored": False},
}
"""What differs from the published parameters."""
PUBLISHED = {"pre_explored": True, "one_step_late": True}
TOLERANCE = {"rtol": 0, "atol": 1e-9}
NEED_TOLERANCE = {"rtol": 1e-9, "atol": 1e-9}


def imposed(mdp, params, expected):
    """Feed the steps, and impose the choices; return the log, and what was known before each."""
    by_step = dict(list(expected.backups.groupby("step")))
    known = []

    def on_step(k, memory):
        for now in range(len(by_step.get(k, []))):
            known.append([memory.kept_need[now].copy(), *memory.kept[now].copy()])
            known[-1] += memory.kept_best[now].tolist()
            assert memory.n_made[0] == len(by_step[k])
        if k + 1 in by_step:
            rows = by_step[k + 1].itertuples()
            told = [(row.extending, len(row.path), *(row.path or [(0, 0)])[-1]) for row in rows]
            memory.imposed[: len(told)] = told

    log = feed(
        imposed_memory_access,
        expected.transitions,
        n_states=mdp.n_states,
        n_actions=mdp.n_actions,
        params=params,
        on_step=on_step,
        mdp=mdp,
    )
    return log, known


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("world", WORLDS)
def test_every_backup_is_that_of_the_readable_version(world, option):
    mdp, params = WORLDS[world], PUBLISHED | OPTIONS[option]
    expected = simulate_plainly(mdp, params, n_episodes=6, seed=1)
    log, known = imposed(mdp, params, expected)
    replayed = log.backups[~log.backups["phase"].isin(["online", "trace"])]
    begin = 0
    assert len(known) == len(expected.backups) >= 10
    for now, row in zip(known, expected.backups.itertuples(), strict=True):
        need, Q, _, priority, extended, best = now
        np.testing.assert_allclose(need, row.need, **NEED_TOLERANCE)
        np.testing.assert_allclose(Q, row.Q, **TOLERANCE)
        assert [extended, best] == pytest.approx([row.extended, row.best], rel=1e-9, abs=1e-14)
        assert np.count_nonzero(priority >= 0.0) == row.n_single
        rows = replayed[begin : begin + len(row.path)]
        begin += len(row.path)
        assert list(zip(rows["state"], rows["action"], strict=True)) == row.path
        assert (rows["step"] == row.step).all()
        np.testing.assert_allclose(rows["gain"], row.gain, **TOLERANCE)
        np.testing.assert_allclose(rows["q_after"], row.q_after, **TOLERANCE)
        np.testing.assert_allclose(rows["priority"], row.priority, rtol=1e-9, atol=1e-14)
    assert begin == len(replayed)


CERTAIN = {
    "floor of 0": {"gain_floor": 0.0, "min_priority": 1e-12},
    "worth little": {"gain_floor": 0.0, "min_priority": 0.02},
}


@pytest.mark.parametrize("option", CERTAIN)
def test_where_nothing_is_left_to_chance_the_learner_chooses_the_same(option):
    mdp, params = WORLDS["maze"], PUBLISHED | CERTAIN[option]
    expected = simulate_plainly(mdp, params, n_episodes=6, seed=3)
    log = feed(
        "prioritized_memory_access",
        expected.transitions,
        n_states=mdp.n_states,
        n_actions=mdp.n_actions,
        params=params,
        mdp=mdp,
        log="replay",
    )
    pairs = [pair for path in expected.backups["path"] for pair in path]
    assert list(zip(log.backups["state"], log.backups["action"], strict=True)) == pairs
    assert len(pairs) > 5
    n_early = expected.backups["path"].map(len).eq(0).sum()
    assert n_early > 2
    np.testing.assert_allclose(
        log.backups["q_after"], np.concatenate(expected.backups["q_after"].tolist()), **TOLERANCE
    )
