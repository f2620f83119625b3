"""Each learner compared with its textbook algorithm, worked out by hand."""

import numpy as np
import pandas as pd
import pytest
from test_learners import queued

from replay import feed, simulate
from replay.worlds.mazes import from_ascii

MAZE = from_ascii(
    """
    S..#
    .#..
    ...G
    """
)


def experienced(*episodes, ends="terminated"):
    """Make transitions of episodes, each a list of (state, action, reward, next_state)."""
    columns = ["state", "action", "reward", "next_state"]
    rows = [row for episode in episodes for row in episode]
    table = pd.DataFrame(rows, columns=columns).assign(terminated=False, truncated=False)
    last = np.cumsum([len(episode) for episode in episodes]) - 1
    table.loc[last, ends] = True
    table["next_action"] = table["action"].shift(-1, fill_value=0)
    return table


CHAIN = [(0, 0, 0.0, 1), (1, 0, 0.0, 2), (2, 0, 1.0, 3)]


def taught(learner, table, n_states=4, n_actions=2, **params):
    """Feed a learner; return its last memory and its backups."""
    memories = []
    log = feed(
        learner,
        table,
        n_states=n_states,
        n_actions=n_actions,
        params=params,
        on_step=lambda k, memory: memories.append(memory),
    )
    return memories[-1], log.backups


def test_q_learning():
    table = experienced([(0, 0, 1.0, 1), (1, 1, 2.0, 3)], [(0, 0, 1.0, 1), (1, 0, 0.0, 3)])
    memory, backups = taught("q_learning", table, discount=0.5, learning_rate=0.5)
    # Q(0,0) = 0.5, Q(1,1) = 1, then Q(0,0) = 0.5 + 0.5 * (1 + 0.5 * 1 - 0.5) = 1
    assert memory.action_values.tolist() == [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0]]
    assert backups["q_after"].tolist() == [0.5, 1.0, 1.0, 0.0]
    assert backups["phase"].eq("online").all()


def test_q_learning_with_untried_actions_marked():
    table = experienced([(0, 0, 1.0, 1), (1, 1, -2.0, 3)], [(0, 0, 1.0, 1), (1, 1, -4.0, 3)])
    memory, _ = taught("q_learning", table, discount=0.5, learning_rate=0.5, initial_value=np.inf)
    # First visits go all the way: 1 and -2; the untried action of state 1 is in no maximum.
    assert memory.action_values[0].tolist() == [0.5 * 1 + 0.5 * (1 - 0.5 * 2), np.inf]
    assert memory.action_values[1].tolist() == [np.inf, -3.0]


def test_q_lambda_without_trace_is_q_learning():
    one = simulate(MAZE, "q_lambda", {"trace_decay": 0.0}, n_steps=2000, log="all")
    other = simulate(MAZE, "q_learning", n_steps=2000, log="all")
    np.testing.assert_array_equal(one.memory.action_values, other.memory.action_values)
    pd.testing.assert_frame_equal(one.log.backups, other.log.backups)


def test_q_lambda():
    memory, backups = taught(
        "q_lambda", experienced(CHAIN), discount=0.5, learning_rate=0.5, trace_decay=0.5
    )
    # The only error is 1, at the last step; traces 1, 1/4 and 1/16.
    assert memory.action_values[:, 0].tolist() == [0.5 / 16, 0.5 / 4, 0.5, 0.0]
    last = backups[backups["step"] == 2]
    assert last["phase"].tolist() == ["online", "trace", "trace"]
    assert last["state"].tolist() == [2, 1, 0]


@pytest.mark.parametrize("ends", ["terminated", "truncated"])
@pytest.mark.parametrize(
    ("learner", "params"), [("q_lambda", {}), ("n_step_td", {"n": 1}), ("n_step_td", {"n": 2})]
)
def test_traces_end_with_their_episode(learner, params, ends):
    table = experienced([(0, 0, 0.0, 1)], [(2, 0, 1.0, 3)], [(2, 0, 1.0, 3)], ends=ends)
    memory, _ = taught(learner, table, trace_decay=0.9, **params)
    assert memory.action_values[2, 0] > 0.0
    assert memory.action_values[0, 0] == 0.0


def test_n_step_td_with_one_step_is_sarsa():
    run = simulate(MAZE, "n_step_td", {"n": 1, "learning_rate": 0.2}, n_steps=2000, log="all")
    steps = run.log.steps
    Q = np.zeros((MAZE.n_states, MAZE.n_actions))
    actions = [*steps["action"].tolist(), None]
    backups = run.log.backups["q_after"].tolist()
    for row, next_action, after in zip(steps[:-1].itertuples(), actions[1:], backups, strict=False):
        target = row.reward
        if not row.terminated:
            target += 0.99 * Q[row.next_state, next_action]
        Q[row.state, row.action] += 0.2 * (target - Q[row.state, row.action])
        assert after == pytest.approx(Q[row.state, row.action], rel=0, abs=1e-12)
    assert run.log.backups["phase"].eq("online").all()
    assert Q.max() > 0.5


def test_n_step_td():
    memory, backups = taught(
        "n_step_td",
        experienced([(0, 0, 1.0, 1), (1, 1, 2.0, 2), (2, 0, 4.0, 3)], CHAIN),
        discount=0.5,
        learning_rate=0.5,
        n=2,
    )
    # Each update is a step late, the first episode's last one comes with the second's first step:
    # Q(0,0) = (1 + 2/2)/2 = 1, Q(1,1) = (2 + 4/2)/2 = 2, Q(2,0) = 4/2 = 2;
    # then Q(0,0) += (0 + 0/2 + 2/4 - 1)/2, and Q(1,0) = (0 + 1/2)/2.
    assert backups["q_after"].tolist() == [1.0, 2.0, 2.0, 0.75, 0.25]
    assert backups["step"].tolist() == [1, 2, 3, 4, 5]
    assert backups["state"].tolist() == [0, 1, 2, 0, 1]
    assert backups["phase"].eq("trace").all()
    assert memory.action_values[0, 0] == 0.75


def test_n_step_td_goes_on_from_the_value_where_an_episode_is_cut_off():
    table = experienced([(1, 0, 2.0, 3)], [(0, 0, 1.0, 1)], [(0, 1, 0.0, 1)], [(0, 1, 0.0, 1)])
    table["terminated"] = [True, False, False, False]
    table["truncated"] = [False, True, True, True]
    memory, _ = taught("n_step_td", table, discount=0.5, learning_rate=0.5, n=2)
    assert memory.action_values[1, 0] == 1.0
    assert memory.action_values[0].tolist() == [0.5 * (1 + 0.5 * 1), 0.5 * (0 + 0.5 * 1)]


def test_monte_carlo():
    table = experienced(
        [(0, 0, 1.0, 1), (1, 0, 2.0, 3)], [(0, 0, 0.0, 0), (0, 0, 3.0, 3)], [(1, 0, 8.0, 3)]
    )
    memory, backups = taught("monte_carlo", table, discount=0.5)
    # Returns of (0,0): 1 + 2/2 = 2; then, both visits, 3 and 3/2. Returns of (1,0): 2, 8.
    assert memory.action_values[0, 0] == pytest.approx((2 + 3 + 1.5) / 3)
    assert memory.action_values[1, 0] == pytest.approx(5.0)
    assert memory.n_returns[:2, 0].tolist() == [3, 2]
    assert backups[["step", "state", "next_state", "cause"]].to_numpy().tolist() == [
        [1, 1, 3, -1],
        [1, 0, 1, 0],
        [3, 0, 3, -1],
        [3, 0, 0, 2],
        [4, 1, 3, -1],
    ]
    assert backups["phase"].eq("episode_end").all()
    assert backups["location"].eq(3).all()


def test_episodic_control():
    table = experienced(
        [(0, 0, 1.0, 1), (1, 0, 2.0, 3)], [(0, 0, 0.0, 0), (0, 0, 3.0, 3)], [(1, 0, -8.0, 3)]
    )
    memory, backups = taught("episodic_control", table, discount=0.5)
    assert memory.action_values[:2, 0].tolist() == [3.0, 2.0]
    assert backups["q_after"].tolist() == [2.0, 2.0, 3.0, 3.0, 2.0]


@pytest.mark.parametrize(
    ("learner", "unfinished"), [("episodic_control", -np.inf), ("monte_carlo", 0.0)]
)
def test_a_truncated_episode_has_no_return(learner, unfinished):
    table = experienced(CHAIN, [(0, 1, 0.0, 3)])
    table.loc[2, ["terminated", "truncated"]] = False, True
    memory, backups = taught(learner, table, initial_value=np.inf)
    assert memory.action_values[:3].tolist() == [[unfinished, 0.0], *[[unfinished, np.inf]] * 2]
    assert backups[["state", "action"]].to_numpy().tolist() == [[0, 1]]


def test_episodic_control_accepts_returns_below_the_initial_value():
    memory, _ = taught("episodic_control", experienced([(0, 0, -5.0, 3)]), initial_value=0.0)
    assert memory.action_values[0, 0] == -5.0


def test_prioritized_sweeping():
    """One episode down a chain: each pop updates one predecessor, caused by the last."""
    memory, backups = taught("prioritized_sweeping", experienced(CHAIN), discount=0.5)
    assert memory.action_values[:, 0].tolist() == [0.25, 0.5, 1.0, 0.0]
    assert memory.values.tolist() == memory.known_values.tolist() == [0.25, 0.5, 1.0, 0.0]  # noqa: PD011
    assert memory.queue.size[0] == 0
    assert backups["phase"].tolist() == ["online"] * 3 + ["episode_end"] * 2
    swept = backups.iloc[3:]
    assert swept[["state", "next_state"]].to_numpy().tolist() == [[1, 2], [0, 1]]
    assert swept["pop"].tolist() == [0, 1]  # the third pop, state 0, has no predecessors
    assert swept["priority"].tolist() == [1.0, 0.5]
    assert swept["cause"].tolist() == [-1, 3]
    assert swept["location"].tolist() == [3, 3]
    assert swept["reward"].isna().all()


def test_prioritized_sweeping_goes_on_at_the_next_step():
    """With one pop a step the sweep continues in the next episode, and so do the causes."""
    table = experienced(CHAIN, [(3, 1, 0.0, 3)], [(3, 1, 0.0, 3)])
    _, backups = taught("prioritized_sweeping", table, discount=0.5, max_pops=1)
    swept = backups[backups["event"] >= 0]
    assert swept["step"].tolist() == [2, 3]
    assert swept["event"].tolist() == [0, 1]
    assert swept["next_state"].tolist() == [2, 1]
    assert swept["cause"].tolist() == [-1, swept.index[0]]


def test_prioritized_sweeping_weighs_by_how_often():
    """A pair that led to s' in one of two tries takes half of the change."""
    table = experienced([(0, 0, 0.0, 1), (1, 0, 1.0, 3)], [(0, 0, 0.0, 2), (2, 0, 3.0, 3)])
    memory, _ = taught("prioritized_sweeping", table, discount=0.5)
    assert memory.action_values[0, 0] == pytest.approx(0.5 * (1 + 3) / 2)


def bandit(*rewards):
    return experienced(*([(0, 0, reward, 3)] for reward in rewards))


def test_the_published_queue_only_lowers_priorities():
    """The mean reward goes 1, 2, 2/3; the textbook's priority follows."""
    for rewards, textbook, published in [
        ([1.0], 1.0, 1.0),
        ([1.0, 3.0], 2.0, 1.0),
        ([1.0, 3.0, -2.0], 2 / 3, 2 / 3),
    ]:
        for only_lowers, priority in [(False, textbook), (True, published)]:
            memory, _ = taught(
                "prioritized_sweeping",
                bandit(*rewards),
                max_pops=0,
                priority_only_lowers=only_lowers,
            )
            assert queued(memory) == {0: pytest.approx(priority)}


def test_the_published_queue_keeps_a_state_whose_value_came_back():
    for only_lowers, expected in [(False, {}), (True, {0: 1.0})]:
        memory, _ = taught(
            "prioritized_sweeping", bandit(1.0, -1.0), max_pops=0, priority_only_lowers=only_lowers
        )
        assert memory.values[0] == 0.0  # noqa: PD011
        assert queued(memory) == expected


def test_small_changes_are_not_queued():
    memory, backups = taught("prioritized_sweeping", experienced(CHAIN), min_priority=2.0)
    assert queued(memory) == {}
    assert backups["phase"].eq("online").all()


def test_model_reset():
    """The sweep waits for the end, pops once a step of the episode, and forgets the model."""
    table = experienced(CHAIN, [(0, 1, 0.0, 1), (1, 0, 0.0, 2), (2, 0, 2.0, 3)])
    memory, backups = taught("prioritized_sweeping_reset", table, discount=0.5)
    assert backups.loc[backups["event"] >= 0, "step"].tolist() == [2, 2, 5, 5]
    # Without the first episode's model, (2,0) counts one visit, and (0,0) is told nothing.
    assert memory.action_values[:3].tolist() == [[0.25, 0.5], [1.0, 0.0], [2.0, 0.0]]
    assert (memory.model.visits == 0).all()
    assert queued(memory) == {}
    assert memory.n_steps[0] == 0


@pytest.mark.filterwarnings("ignore:.*no row of transitions is terminated")
@pytest.mark.parametrize(("queue_visited", "expected"), [(False, {}), (True, {0: 1.0})])
def test_what_is_queued_before_a_model_reset(queue_visited, expected):
    table = experienced([(0, 0, 1.0, 1), (1, 0, 4.0, 3)])
    during, _ = taught("prioritized_sweeping_reset", table[:1], queue_visited=queue_visited)
    assert queued(during) == expected
    _, backups = taught("prioritized_sweeping_reset", table, queue_visited=queue_visited)
    assert backups.loc[backups["event"] >= 0, "next_state"].tolist() == [1]


def test_the_next_action_is_drawn_after_learning_unless_asked_otherwise():
    """A greedy agent repeats its first bump or not, depending on what it has learned by then."""
    corridor = from_ascii("S.G")
    greedy = {"epsilon": 0.0, "initial_value": np.inf, "discount": 0.9}
    repeats = {}
    for before in (False, True):
        repeated = 0
        for seed in range(40):
            params = greedy | {"act_before_update": before}
            run = simulate(corridor, "q_learning", params, n_steps=2, seed=seed)
            first, second = run.log.steps.itertuples()
            bumped = first.state == first.next_state
            repeated += bumped and first.action == second.action
        repeats[before] = repeated
    assert repeats[False] == 0  # tried by now: the untried actions come first
    assert repeats[True] > 0  # still looks untried
