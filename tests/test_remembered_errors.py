"""Replay biased by remembered prediction errors: the errors, and the draws by error."""

import numpy as np
import pandas as pd
import pytest

from replay import feed
from replay.learners import find_learner
from replay.learners.contract import Pause
from replay.log.backups import REST, backup_buffer

RATE = 0.25


def arms(rewards, order):
    """From one place, arms that end the lap; a lap is one step."""
    order = np.asarray(order)
    columns = {"state": 0, "action": order, "next_state": order + 1, "terminated": True}
    return pd.DataFrame({**columns, "reward": np.asarray(rewards)[order], "start_state": 0})


def fed(moves, n_actions, **params):
    kept = {}
    params = {"learning_rate": RATE, **params}
    sizes = {"n_states": n_actions + 1, "n_actions": n_actions, "params": params}
    feed("remembered_errors", moves, **sizes, on_step=kept.__setitem__)
    return kept[len(moves) - 1]


def drawn(memory, n, **params):
    found = find_learner("remembered_errors", {"learning_rate": RATE, **params, "n_replays": n})
    log = backup_buffer(n, "replay")
    found.replay(found.params, memory, Pause(REST, 0, False), np.random.default_rng(0), log)
    return log.rows["action"][: log.counter[1]]


def errors_of(rewards, order):
    """Textbook Q-learning of arms: the size of the last error of each."""
    values, errors = np.zeros(len(rewards)), np.zeros(len(rewards))
    for arm in order:
        errors[arm] = abs(rewards[arm] - values[arm])
        values[arm] += RATE * (rewards[arm] - values[arm])
    return errors


REWARDS, ORDER = [1.0, 0.2, -0.5, 0.0], [0, 1, 0, 2, 3, 0, 2, 1, 0, 0]


def test_the_size_of_the_last_error_is_remembered():
    memory = fed(arms(REWARDS, ORDER), 4, n_replays=0)
    rows = memory.experiences.rows[: memory.experiences.n_known[0]]
    found = dict(zip(rows["action"].tolist(), rows["strength"].tolist(), strict=True))
    assert [found[arm] for arm in range(4)] == pytest.approx(errors_of(REWARDS, ORDER))


@pytest.mark.parametrize("bias", ["proportional", "prioritized"])
def test_replay_renews_errors_if_it_is_told(bias):
    memory = fed(arms(REWARDS, ORDER), 4, n_replays=0)
    rows = memory.experiences.rows[:4]
    for renew, n in ((False, 1), (True, 40)):
        values, before = memory.action_values[0].copy(), dict(rows[["action", "strength"]].tolist())
        replayed = drawn(memory, n, bias=bias, renew=renew)
        expected = before | {}
        for arm in replayed:
            if renew:
                expected[arm] = abs(REWARDS[arm] - values[arm])
            values[arm] += RATE * (REWARDS[arm] - values[arm])
        assert dict(rows[["action", "strength"]].tolist()) == pytest.approx(expected)
        np.testing.assert_allclose(memory.action_values[0], values)
        if renew and bias == "prioritized":  # the largest error first, whatever came before
            assert len(set(replayed[:6])) > 1


def test_expected_reward_draws_by_values():
    memory = fed(arms(REWARDS, ORDER), 4, n_replays=0)
    values = memory.action_values[0].copy()
    counts = np.zeros(4)
    for seed in range(3000):
        memory.action_values[0] = values
        found = find_learner("remembered_errors", {"bias": "expected_reward", "n_replays": 1})
        log, rng = backup_buffer(1, "replay"), np.random.default_rng(seed)
        found.replay(found.params, memory, Pause(REST, 0, False), rng, log)
        counts[log.rows["action"][0]] += 1
    np.testing.assert_allclose(
        counts / counts.sum(), values.clip(0) / values.clip(0).sum(), atol=0.03
    )


@pytest.mark.parametrize(
    ("bias", "weights"),
    [
        ("proportional", errors_of(REWARDS, ORDER)),
        ("reward", np.abs(REWARDS)),
        ("random", np.ones(4)),
    ],
)
def test_shares_of_replay_are_proportional(bias, weights):
    memory = fed(arms(REWARDS, ORDER), 4, n_replays=0, bias=bias)
    n = 40_000
    shares = np.bincount(drawn(memory, n, bias=bias), minlength=4) / n
    # Replay changes no error that is remembered, so each draw is alike.
    assert shares == pytest.approx(weights / weights.sum(), abs=4 * 0.5 / np.sqrt(n))


def test_prioritized_replay_is_in_the_order_of_errors():
    memory = fed(arms(REWARDS, ORDER), 4, n_replays=0)
    errors = errors_of(REWARDS, ORDER)
    expected = [arm for arm in np.argsort(-errors).tolist() if errors[arm] > 0]
    assert drawn(memory, 10, bias="prioritized").tolist() == expected


def test_an_error_that_is_gone_in_replay_is_remembered_all_the_same():
    """This distinguishes the account from prioritized experience replay."""
    memory = fed(arms([1.0], [0]), 1, n_replays=0, learning_rate=1.0)
    assert len(drawn(memory, 50, learning_rate=1.0)) == 50
    assert memory.action_values[0, 0] == 1.0
