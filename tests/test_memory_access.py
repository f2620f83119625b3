"""Prioritized memory access: by hand, and properties of every backup."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from test_learners import assert_same_run, module

from replay import feed, simulate
from replay.learners import find_learner, prioritized_memory_access
from replay.learners.contract import Pause, Sizes
from replay.learners.prioritized_memory_access.backups import draw_extension, refresh
from replay.log.backups import REST
from replay.parts.experiences import meet
from replay.parts.policies import best_value, softmax
from replay.worlds.mazes import from_ascii, open_maze, two_way_track
from replay.worlds.trees import stochastic_tree

MAZE = from_ascii("S..\n.#.\n..G")
LAP = pd.DataFrame(
    {
        "state": [0, 1, 2],
        "action": 0,
        "reward": [0.0, 0.0, 1.0],
        "next_state": [1, 2, 3],
        "terminated": [False, False, True],
    }
)
HALVES = {"discount": 0.5, "inverse_temperature": 2 * math.log(3), "gain_floor": 0.0}
"""With these a difference of 1/2 makes one of two actions three times as likely."""


def taught(table, n_states=4, n_actions=2, mdp=None, **params):
    memories = []
    log = feed(
        "prioritized_memory_access",
        table,
        n_states=n_states,
        n_actions=n_actions,
        params=params,
        mdp=mdp,
        on_step=lambda k, memory: memories.append(memory),
    )
    return memories[-1], log.backups.query("phase != 'online'")


def test_the_largest_number_of_backups_is_reached():
    """After the last step of a lap, at its end and at the next start: paths of 1, 2 and 3 steps."""
    line, options = from_ascii("S....G"), {"max_backups": 3}
    run = simulate(line, "prioritized_memory_access", options, n_steps=300, seed=2, log="all")
    most = prioritized_memory_access.most_backups(
        find_learner("prioritized_memory_access", options).params, run.memory
    )
    assert run.log.backups["step"].value_counts().max() == most == 1 + 2 * (1 + 2 + 3)


def test_a_first_lap():
    memory, backups = taught(LAP, **HALVES)
    # The last step teaches Q(2, 0) = 1. State 2 stays as it is; for (1, 0) the target is 1/2, and
    # the policy changes from 1/2 to 3/4; then for (0, 0) the target is 1/4, and it becomes
    # 1 / (1 + 1 / sqrt(3)). The lap is expected to begin anew, every 4 steps.
    assert backups["phase"].eq("episode_end").all()
    assert backups["state"].tolist() == [1, 0]
    assert backups["q_after"].tolist() == [0.5, 0.25]
    p = 1 / (1 + 3**-0.5)
    np.testing.assert_allclose(backups["gain"], [0.25 * 0.5, (p - 0.5) * 0.25], rtol=1e-12)
    np.testing.assert_allclose(backups["need"], [4 / 15, 8 / 15], rtol=1e-12)
    np.testing.assert_allclose(backups["priority"], backups["gain"] * backups["need"])
    assert backups["cause"].tolist() == [-1, 3]
    assert memory.values.tolist() == [0.25, 0.5, 1.0, 0.0]  # noqa: PD011


def test_paths_are_extended_where_only_need_decides():
    """With the floor, and nothing to be gained, replay runs ahead of the agent."""
    laps = pd.concat([LAP] * 8, ignore_index=True).assign(start_state=0)
    settings = HALVES | {"gain_floor": 1e-10, "max_backups": 4}
    _, backups = taught(laps, **(settings | {"discount": 0.8}))
    last = backups[(backups["step"] == 23) & (backups["phase"] == "start")]
    assert last["state"].tolist() == [0, 0, 1, 0, 1, 2, 0]
    assert last["pop"].tolist() == [0, 1, 1, 2, 2, 2, 3]
    assert (last["gain"] == 0.0).all()
    causes = last["cause"].to_numpy() - last.index[0]
    assert (causes[[0, 1, 3, 6]] < 0).all()
    assert causes[[2, 4, 5]].tolist() == [1, 3, 4]
    # A lap takes four steps; of a path, the need of its last state counts for each of its steps.
    need = np.array([1, 0.8, 0.8, 0.64, 0.64, 0.64, 1]) / (1 - 0.8**4)
    np.testing.assert_allclose(last["need"], need, rtol=1e-12)
    n_steps = np.array([1, 2, 2, 3, 3, 3, 1])
    np.testing.assert_allclose(last["priority"], need * n_steps * 1e-10, rtol=1e-12)


def test_of_equally_good_backups_the_shorter_is_made():
    """Two steps at half the need are worth as much as one."""
    laps = pd.concat([LAP] * 8, ignore_index=True).assign(start_state=0)
    _, backups = taught(laps, **(HALVES | {"gain_floor": 1e-10, "max_backups": 4}))
    last = backups[(backups["step"] == 23) & (backups["phase"] == "start")]
    assert last["state"].tolist() == [0, 0, 0, 0]


def test_replay_at_a_start_can_wait_for_the_first_step():
    laps = pd.concat([LAP] * 2, ignore_index=True)
    settings = HALVES | {"gain_floor": 1e-10, "max_backups": 1}
    _, at_once = taught(laps, **settings)
    _, late = taught(laps, **settings, one_step_late=True)
    assert at_once["phase"].tolist() == ["episode_end", "start", "episode_end"]
    assert late["phase"].tolist() == ["episode_end", "step", "episode_end"]
    assert at_once["step"].tolist() == [2, 2, 5]
    assert late["step"].tolist() == [2, 3, 5]
    # From the goal, state 1 is two steps ahead; from the state before, three.
    assert at_once["need"].iloc[0] == pytest.approx(0.5**2 / (1 - 0.5**4))
    assert late["need"].iloc[0] == pytest.approx(0.5**3 / (1 - 0.5**4))


def test_nothing_is_replayed_before_a_reward():
    _, backups = taught(LAP.assign(reward=0.0))
    assert backups.empty


def test_an_end_that_is_no_goal_is_not_linked():
    memory, _ = taught(LAP.assign(terminated=False, truncated=[False, False, True]))
    assert memory.need.chain.first_out[3] == -1
    memory, _ = taught(LAP)
    assert memory.need.chain.edges["next_state"][memory.need.chain.first_out[3]] == 0


def test_without_need_gain_alone_decides():
    _, backups = taught(LAP, **HALVES, need="one")
    assert (backups["need"] == 1.0).all()
    np.testing.assert_array_equal(backups["priority"], backups["gain"])


def test_what_is_worth_too_little_is_not_replayed():
    _, backups = taught(LAP, **HALVES, min_priority=0.02)
    assert backups["state"].tolist() == [1]


def test_need_at_rest_is_the_share_of_time():
    memory, _ = taught(pd.concat([LAP] * 2, ignore_index=True), **HALVES)
    params = prioritized_memory_access.Params(**HALVES)
    pause, rng = Pause(REST, 2, False), np.random.default_rng(0)
    prioritized_memory_access.replay(params, memory, pause, rng, None)
    np.testing.assert_allclose(memory.need.expected, 1 / 4, atol=1e-11)


def test_a_path_is_extended_greedily(rng):
    memory, _ = taught(LAP)
    memory.action_values[1] = 0.0, 0.5
    memory.path.state[0] = memory.path.action[0] = 0  # from state 0 to state 1
    draw = draw_extension
    params = prioritized_memory_access.Params()
    assert draw(params, memory, 0, rng) == -1
    assert {draw(params, memory, 1, rng) for _ in range(50)} == {1}
    memory.action_values[1] = 0.5
    assert np.mean([draw(params, memory, 1, rng) for _ in range(4000)]) == pytest.approx(
        1 / 2, abs=0.035
    )


SETTINGS = [
    {},
    {"pre_explored": True, "one_step_late": True},
    {"n_step": False, "need": "one", "gain_floor": 0.0, "learning_rate": 0.3},
    {"act_policy": "epsilon_greedy", "transition_rate": 0.2, "max_backups": 50},
    {"replay_at": "step", "need": "current_state", "forgetting": 0.01},
    {"use_gain": False, "need": "stationary_distribution"},
]


@pytest.mark.parametrize("params", SETTINGS, ids=str)
@pytest.mark.parametrize("mdp", [MAZE, stochastic_tree(seed=1)], ids=["maze", "tree"])
def test_compiled_code_does_what_the_source_says(mdp, params, request):
    compiled = simulate(mdp, "prioritized_memory_access", params, n_steps=400, log="all")
    assert compiled.log.backups["gain"].notna().any()
    request.getfixturevalue("plain")
    plain = simulate(mdp, "prioritized_memory_access", params, n_steps=400, log="all")
    assert_same_run(compiled, plain)
    assert compiled.memory.need.expected.tobytes() == plain.memory.need.expected.tobytes()


@pytest.mark.parametrize("params", SETTINGS, ids=str)
def test_only_what_changed_is_computed_anew_and_nothing_is_missed(params):
    run = simulate(open_maze(), "prioritized_memory_access", params, n_steps=5000)
    memory, full, table = run.memory, run.learner.params, run.memory.table
    refresh(full, memory)
    gain, priority, highest = table.gain.copy(), table.priority.copy(), table.highest.copy()
    for state in range(len(memory.values)):
        value = best_value(memory.action_values, state)
        assert memory.values[state] == value  # noqa: PD011
        meet(table.stale, state)
    refresh(full, memory)
    np.testing.assert_array_equal(table.gain, gain)
    np.testing.assert_array_equal(table.priority, priority)
    np.testing.assert_array_equal(table.highest, highest)
    np.testing.assert_array_equal(highest, priority.max(axis=1))
    moved = memory.next_state != np.arange(len(memory.values))[:, None]
    assert ((priority >= 0) == (moved & (memory.next_state >= 0))).all()


@pytest.mark.parametrize("params", SETTINGS, ids=str)
def test_the_value_of_a_backup_is_need_times_the_gains_of_its_steps(params):
    run = simulate(two_way_track(6), "prioritized_memory_access", params, n_steps=2000)
    backups = run.log.backups
    floor = run.learner.params.gain_floor
    pops = backups.assign(gain=backups["gain"].clip(lower=floor)).groupby(["event", "pop"])
    gain = pops["gain"].sum() if run.learner.params.use_gain else 1.0
    np.testing.assert_allclose(gain * pops["need"].first(), pops["priority"].first())
    assert (pops["priority"].max() == pops["priority"].min()).all()
    # The steps of one backup join forward, without a loop.
    within = backups.duplicated(["event", "pop"])
    assert (backups["state"][within] == backups["next_state"].shift()[within]).all()
    assert (pops["state"].nunique() == pops.size()).all()
    assert (backups["state"] != backups["next_state"]).all()
    everywhere = params.get("need", "one") == "one" and run.learner.params.use_gain
    assert within.any() == (run.learner.params.n_step and everywhere)


def test_enough_replay_after_one_reward_solves_a_maze():
    """Where no backup is worth anything the policy is optimal, and its values are exact."""
    maze = open_maze()
    entered = [
        state for state in range(maze.n_states) if maze.terminal[maze.successors(state, 0)].any()
    ]
    table = pd.DataFrame(
        {
            "state": entered[:1],
            "action": 0,
            "reward": 1.0,
            "next_state": np.flatnonzero(maze.terminal),
            "terminated": True,
            "start_state": np.flatnonzero(maze.start_probability),
        }
    )
    memory, backups = taught(
        table,
        maze.n_states,
        maze.n_actions,
        maze,
        pre_explored=True,
        gain_floor=0.0,
        max_backups=2000,
    )
    exact = maze.solve(0.9)
    values = memory.values  # noqa: PD011
    np.testing.assert_allclose(values, exact.state_values, rtol=0, atol=1e-12)
    assert (backups["event"] == 0).all()
    assert backups.groupby("event")["pop"].max().max() < 1999


def test_q_of_a_maze_tends_to_the_exact_solution():
    params = {"discount": 0.8, "inverse_temperature": 1.0}
    run = simulate(MAZE, "prioritized_memory_access", params, n_steps=20_000)
    exact = MAZE.solve(0.8).action_values
    acting = ~MAZE.terminal
    np.testing.assert_allclose(run.memory.action_values[acting], exact[acting], rtol=0, atol=1e-12)


def test_exploring_before_the_first_step():
    params = prioritized_memory_access.Params(pre_explored=True)
    tree = stochastic_tree(seed=1)
    sizes = Sizes(tree.n_states, tree.n_actions, tree.n_transitions, 1, tree.n_states)
    memory = prioritized_memory_access.init(params, sizes)
    prioritized_memory_access.explore(params, memory, tree)
    tried = memory.next_state >= 0
    assert (tried == ~tree.terminal[:, None]).all()
    for state, action in np.argwhere(tried):
        pair = state * tree.n_actions + action
        outcomes = slice(*tree.successor_offset[pair : pair + 2])
        likeliest = tree.probability[outcomes].max()
        led_to = tree.successor[outcomes] == memory.next_state[state, action]
        assert tree.probability[outcomes][led_to].sum() == likeliest
    chain, T = memory.need.chain, np.zeros((tree.n_states, tree.n_states))
    for state, edge in enumerate(chain.first_out):
        while edge >= 0:
            T[state, chain.edges["next_state"][edge]] = chain.edges["probability"][edge]
            edge = chain.edges["next_out"][edge]
    moves = tree.transition_matrix().toarray().reshape(*tried.shape, -1).mean(axis=1)
    np.testing.assert_allclose(T[~tree.terminal], moves[~tree.terminal], rtol=1e-12)
    assert (T[tree.terminal] == tree.start_probability).all()
    assert memory.whereabouts[["earned", "n_tries"]].tolist() == [(0.0, tried.sum())]
    with pytest.raises(ValueError, match="pre_explored needs to know the world: give feed its mdp"):
        taught(LAP, pre_explored=True)


def test_a_discount_of_1_is_refused():
    with pytest.raises(ValueError, match=r"discount of .* must be .* below 1 .*, got 1"):
        simulate(MAZE, "prioritized_memory_access", {"discount": 1.0}, n_steps=1)


def test_the_softmax(rng):
    values = np.array([[0.0, math.log(3) / 5, -1e9]])
    drawn = [softmax(values, 0, 5.0, rng) for _ in range(4000)]
    counts = np.bincount(drawn, minlength=3)
    assert counts[2] == 0
    assert counts[1] / 4000 == pytest.approx(0.75, abs=0.03)  # more than four standard errors
    assert {softmax(values, 0, 0.0, rng) for _ in range(100)} == {0, 1, 2}


def test_a_learner_of_ones_own_may_log_gain_and_need(plain):
    source = """
from replay.log.backups import record
from replay.learners import q_learning
from replay.learners.contract import Description
from replay.learners.q_learning import Memory, Params, init, learn


def description(params):
    return Description("values", (), "nothing", "nobody", evaluates=True)


def most_backups(params, memory):
    return 3

def replay(params, memory, pause, rng, log):
    record(log, pause.phase, pause.state, 0, 0, 0.0, 0.0, gain=2.0, need=3.0)
"""
    log = simulate(MAZE, module("evaluating", source), n_steps=50, log="all").log
    replayed = log.backups["phase"] != "online"
    assert log.backups.loc[replayed, ["gain", "need"]].drop_duplicates().to_numpy().tolist() == [
        [2.0, 3.0]
    ]
    assert log.backups.loc[~replayed, ["gain", "need"]].isna().all(axis=None)


# -- links from ends to starts ------------------------------------------------------------------


def links(mdp, **params):
    """Feed one episode, and give the row of T of its end."""
    lap = pd.DataFrame({"state": [0, 1, 2], "action": 1, "reward": [0.0, 0, 1],
                        "next_state": [1, 2, 3], "terminated": [False, False, True]})  # fmt: skip
    memories = []
    feed(
        replace(find_learner("prioritized_memory_access", params), compiled=False), lap,
        n_states=4, n_actions=4, mdp=mdp, on_step=lambda k, memory: memories.append(memory),
    )  # fmt: skip
    chain, row = memories[-1].need.chain, {}
    edge = chain.first_out[3]
    while edge >= 0:
        row[int(chain.edges[edge]["next_state"])] = float(chain.edges[edge]["probability"])
        edge = chain.edges[edge]["next_out"]
    return row


@pytest.mark.parametrize("pre_explored", [False, True])
def test_an_end_is_linked_to_every_start_alike(pre_explored):
    """As in the published code: before the first episode, Tgoal2start is uniform over all starts.

    (`whereabouts.link_episodes` then learns it, with the transition rate.)
    """
    random_starts = from_ascii("...G")
    third = pytest.approx(1 / 3)
    assert links(random_starts, pre_explored=pre_explored) == {0: third, 1: third, 2: third}
    assert links(from_ascii("S..G"), pre_explored=pre_explored) == {0: 1.0}


def test_an_end_in_an_unknown_world_is_linked_to_its_own_start():
    assert links(None) == {0: 1.0}


def test_need_at_the_first_end_is_that_of_every_start():
    lap = pd.DataFrame({"state": [1, 2], "action": 1, "reward": [0.0, 1],
                        "next_state": [2, 3], "terminated": [False, True]})  # fmt: skip
    world = from_ascii("...G")
    fed = feed("prioritized_memory_access", lap, n_states=4, n_actions=4, mdp=world)
    at_end = fed.backups.query("phase == 'episode_end'").drop_duplicates("state")
    # T: 3 -> 0, 1, 2 alike, 1 -> 2 -> 3; nothing is known of how 0 goes on.
    T = np.zeros((4, 4))
    T[3, :3], T[1, 2], T[2, 3] = 1 / 3, 1.0, 1.0
    need = np.linalg.inv(np.eye(4) - 0.9 * T)[3]
    assert len(at_end) == 2
    np.testing.assert_allclose(at_end["need"], need[at_end["state"]], rtol=1e-12)
