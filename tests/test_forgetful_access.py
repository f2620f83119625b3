"""Memory access with forgetting: the same without forgetting, and its effects."""

import numpy as np
import pandas as pd
import pytest

from replay import feed, simulate
from replay.learners.prioritized_memory_access import Params
from replay.worlds.mazes import from_ascii, two_way_track

MAZE = from_ascii("S...\n.#..\n...G")
MEMORY_ACCESS = Params()._asdict()


@pytest.mark.parametrize("mdp", [MAZE, two_way_track(4)], ids=["maze", "track"])
def test_who_forgets_nothing_is_memory_access_bit_by_bit(mdp):
    params = MEMORY_ACCESS | {"forgetting": 0.0}
    runs = [
        simulate(mdp, learner, given, n_steps=1500, seed=2, log="all")
        for learner, given in (
            ("memory_access_forgetting", params),
            ("prioritized_memory_access", {}),
        )
    ]
    for name in ("steps", "backups"):
        ours, theirs = (run.log.columns(name) for run in runs)
        for column, values in ours.items():
            assert values.tobytes() == theirs[column].tobytes(), column
    ours, theirs = (run.memory.action_values for run in runs)
    assert ours.tobytes() == theirs.tobytes()


def choices(actions, rewards, state=0):
    """One of two states, and actions that end the episode, as often as they are listed."""
    return pd.DataFrame(
        {
            "state": state,
            "action": actions,
            "reward": np.asarray(rewards, float)[actions],
            "next_state": 1 - state,
            "terminated": True,
            "start_state": state,
        }
    )


def values_after(moves, n_actions, **params):
    kept = {}
    given = {"max_backups": 0, "discount": 0.9, **params}
    sizes = {"n_states": 2, "n_actions": n_actions, "params": given}
    feed("memory_access_forgetting", moves, **sizes, on_step=kept.__setitem__)
    return kept[len(moves) - 1].action_values[moves["state"].iloc[0]]


@pytest.mark.parametrize("state", [0, 1])
def test_values_decay_by_a_share_a_step(state):
    moves = choices([0, 1, 1, 1], [1.0, -1.0], state)
    found = values_after(moves, 2, forgetting=0.1)
    expected = 0.9**4, -0.9
    assert found == pytest.approx(expected)
    found = values_after(moves, 3, forgetting=0.1, forgets_to_mean=True)
    means = np.cumsum([1.0, -1.0, -1.0, -1.0]) / [1, 2, 3, 4]
    first = 1.0
    for mean in means:
        first += 0.1 * (mean - first)
    # What was never tried is not forgotten.
    assert found[[0, 2]] == pytest.approx([first, 0.0])


def replayed(forgetting):
    """Count replay of the worst and of the best action, and in all; the agent chooses the best."""
    rng = np.random.default_rng(0)
    actions = np.concatenate(
        [[0, 1, 2], np.where(rng.random(400) < 0.95, 2, rng.integers(3, size=400))]
    )
    moves = choices(actions, [-1.0, 0.3, 1.0])
    params = {"forgetting": forgetting, "min_priority": 1e-6, "discount": 0.9}
    params["replay_at"] = "episode_end"  # as the authors' agent, which forgets after it
    log = feed("memory_access_forgetting", moves, n_states=2, n_actions=3, params=params)
    own = log.backups.query("step > 20 and phase == 'episode_end'")
    return (own["action"] == 0).sum(), (own["action"] == 2).sum(), len(own)


def test_actions_that_were_wrongly_upgraded_are_replayed():
    """The paper's claim: forgetful agents replay sub-optimal actions more than optimal ones."""
    worst, best, n = replayed(0.02)
    assert n > 100
    assert worst > 2 * best
    assert replayed(0.0)[2] == 0  # without forgetting nothing is left to be gained
