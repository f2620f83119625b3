"""Control by retrieved episodes: means of remembered returns, by hand."""

import numpy as np
import pytest
from test_textbook import CHAIN, experienced, taught

from replay import feed, simulate
from replay.worlds.trees import stochastic_tree

VISITS = [[(0, 0, reward, 3)] for reward in (1.0, 2.0, 6.0)]


def entered_last(backups):
    return backups[backups["step"] == backups["step"].max()]


def at_start(*episodes):
    """Let the agent be in state 0 after the last episode too."""
    table = experienced(*episodes)
    following = table["state"].shift(-1, fill_value=0)
    return table.assign(start_state=following)


@pytest.mark.parametrize(
    ("limits", "value"),
    [({}, 3.0), ({"n_retrieved": 2}, 4.0), ({"n_remembered": 1}, 6.0), ({"n_remembered": 2}, 4.0)],
)
def test_the_latest_returns_are_averaged(limits, value):
    memory, backups = taught("retrieved_episodes", at_start(*VISITS), **limits)
    assert memory.action_values[0].tolist() == [value, 0.0]
    last = entered_last(backups)
    assert last["reward"].tolist() == [6.0, 2.0, 1.0][: len(last)]
    assert last["pop"].tolist() == list(range(len(last)))
    assert last["q_after"].tolist() == [6.0, 4.0, 3.0][: len(last)]
    assert last["q_before"].tolist()[1:] == last["q_after"].tolist()[:-1]


@pytest.mark.parametrize(("n", "value"), [(1, 0.5 * 8.0), (2, 1.0), (5, 1.0)])
def test_a_return_has_n_rewards_and_the_value_after_them(n, value):
    """State 1 was worth 8 when it was entered last, which is before it brought 2."""
    table = at_start([(1, 0, 8.0, 3)], [(0, 0, 0.0, 1), (1, 0, 2.0, 3)])
    assert table["start_state"].tolist() == [0, 1, 0]
    memory, _ = taught("retrieved_episodes", table, discount=0.5, n=n)
    assert memory.action_values[:2, 0].tolist() == [value, 8.0]


def test_retrieved_episodes_are_logged_forwards():
    _, backups = taught("retrieved_episodes", at_start(CHAIN, CHAIN), n=2)
    last = entered_last(backups)
    first = last.index[0]
    assert last["phase"].eq("start").all()
    assert last[["state", "next_state"]].to_numpy().tolist() == [[0, 1], [1, 2]] * 2
    assert last["pop"].tolist() == [0, 0, 1, 1]
    assert last["cause"].tolist() == [-1, first, -1, first + 2]
    followed = last.iloc[1::2]
    assert (followed["q_before"] == followed["q_after"]).all()


def test_nothing_is_retrieved_where_an_episode_ends():
    _, backups = taught("retrieved_episodes", experienced(CHAIN))
    assert backups.empty  # all states were new
    _, backups = taught("retrieved_episodes", experienced(CHAIN, CHAIN))
    # The start of the second episode, and the two states entered on the way.
    assert backups.groupby("step")["location"].first().to_dict() == {2: 0, 3: 1, 4: 2}


def test_an_episode_that_was_cut_off_goes_on_with_the_value():
    table = at_start([(1, 0, 4.0, 3)], [(1, 1, 0.0, 3)], [(0, 0, 1.0, 1)], [(2, 0, 9.0, 3)])
    table["terminated"] = [True, True, False, True]
    table["truncated"] = ~table["terminated"]
    memory, _ = taught("retrieved_episodes", table, discount=0.5)
    assert memory.action_values[0, 0] == 1.0 + 0.5 * 4.0


def test_whole_episodes_all_of_them_are_monte_carlo_learning():
    tree = stochastic_tree(seed=1)
    (root,) = np.flatnonzero(tree.start_probability)
    steps = simulate(tree, "q_learning", {"epsilon": 1.0}, n_steps=3000).log.steps
    steps = steps[: np.flatnonzero(steps["terminated"])[-1] + 1].assign(start_state=root)
    learned = {}
    for learner, params in [
        ("retrieved_episodes", {"n": 100, "n_retrieved": 10_000}),
        ("monte_carlo", {}),
    ]:
        memories = {}
        size = {"n_states": tree.n_states, "n_actions": tree.n_actions}
        feed(learner, steps, params=params, **size, on_step=memories.__setitem__)
        learned[learner] = memories[0].action_values[root]
    np.testing.assert_allclose(learned["retrieved_episodes"], learned["monte_carlo"], rtol=1e-12)
    assert np.ptp(learned["monte_carlo"]) > 0.0
