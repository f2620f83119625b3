"""Multitask preplay: values of goals that were never pursued, against distances on the graph."""

from itertools import pairwise

import networkx as nx
import pandas as pd
import pytest
from fed_paths import fed, fed_moves, replayed

from replay import from_ascii, simulate
from replay.learners import find_learner
from replay.learners.contract import Sizes
from replay.log.backups import EPISODE_END, REST, START

NAME = "multitask_preplay"
# A T: stem 0 1 2, arms 2 3 4 and 2 5 6; the action is the place that is next.
LEFT, RIGHT = [0, 1, 2, 3, 4], [0, 1, 2, 5, 6]


def test_replay_learns_how_far_each_goal_is_from_each_place():
    params = {"discount": 0.9, "learning_rate": 1.0, "epsilon": 1.0, "n_replays": 2_000}
    _, found, memory = fed(NAME, [LEFT, RIGHT] * 2, [1.0, 0.5] * 2, **params)
    for seed in range(5):
        replayed(found, memory, EPISODE_END, 6, 1, seed)[0]
    graph = nx.DiGraph([*pairwise(LEFT), *pairwise(RIGHT)])
    assert memory.goals[:2].tolist() == [4, 6]
    for g, goal in enumerate((4, 6)):
        for state, following in graph.edges:
            if goal in nx.descendants(graph, following) | {following}:
                moves = nx.shortest_path_length(graph, following, goal)
                assert memory.goal_values[g, state, following] == pytest.approx(0.9**moves)
    # What an action is worth is what its best goal is.
    assert memory.action_values[1, 2] == pytest.approx(0.9**2)
    assert memory.action_values[2, 5] == pytest.approx(0.5 * 0.9)


@pytest.mark.parametrize(("share", "goals"), [(0.0, {3, 4}), (1.0, {5, 6})])
def test_it_imagines_the_goal_that_is_not_pursued_as_often_as_asked(share, goals):
    params = {"preplay_share": share, "epsilon": 0.0, "n_replays": 400, "learning_rate": 1.0}
    _, found, memory = fed(NAME, [LEFT, RIGHT] * 20, [1.0, 0.5] * 20, **params)
    [moves] = replayed(found, memory, START, 2)
    # In the junction the left goal is pursued, as it is worth more.
    assert set(moves["next_state"]) == goals


def test_simulations_are_chains_that_end_at_goals_or_after_their_length():
    _, found, memory = fed(NAME, [LEFT, RIGHT] * 5, [1.0, 0.5] * 5, n_replays=500, length=3)
    [moves] = replayed(found, memory, EPISODE_END, 6)
    follows = moves["cause"] >= 0
    causes = moves.loc[moves.loc[follows, "cause"]]
    assert (causes["next_state"].to_numpy() == moves.loc[follows, "state"]).all()
    sizes = moves.groupby("pop").size()
    assert sizes.max() == 3
    last = moves.groupby("pop").last()[:-1]
    ended = last["next_state"].isin([4, 6]).to_numpy()
    assert (ended | (sizes[:-1] == 3).to_numpy()).all()
    # At the end of a lap they begin in all places from which a move was tried.
    assert set(moves.groupby("pop")["state"].first()) == {0, 1, 2, 3, 5}


def test_a_simulation_stops_at_its_goal_though_the_track_goes_on():
    """Along 0 1 2 3 4, place 2 pays on the way; 4 is the end."""
    columns = ["state", "next_state", "reward"]
    moves = pd.DataFrame([(0, 1, 0.0), (1, 2, 1.0), (2, 3, 0.0), (3, 4, 3.0)] * 8, columns=columns)
    moves = moves.assign(
        terminated=moves["next_state"] == 4, action=moves["next_state"], start_state=0
    )
    params = {"discount": 0.9, "learning_rate": 1.0, "epsilon": 0.0, "n_replays": 200}
    _, _, memory = fed_moves(NAME, moves, **params)
    assert memory.goals[:2].tolist() == [2, 4]
    # The way to the end goes by the first goal, and is worth more from the start: 3 * .9^3 > .9.
    pursued = find_learner(NAME, {**params, "preplay_share": 0.0})
    assert set(replayed(pursued, memory, START, 0)[0]["next_state"]) == {1, 2, 3, 4}
    other = find_learner(NAME, {**params, "preplay_share": 1.0})
    assert set(replayed(other, memory, START, 0)[0]["next_state"]) == {1, 2}
    # From beyond the goal no way leads there, and nothing is learned at the end of the track.
    assert memory.goal_values[0, 2, 3] == memory.goal_values[0, 3, 4] == 0.0
    assert memory.action_values[0, 1] == pytest.approx(3.0 * 0.9**3)


def test_beyond_an_end_nothing_is_imagined_nor_learned():
    """The first episode ends in a place from which the second one leads to another goal."""
    paths = [[0, 1], [1, 2]] * 10
    _, found, memory = fed(NAME, paths, 1.0, learning_rate=1.0, n_replays=50)
    assert memory.goals[:2].tolist() == [1, 2]
    assert memory.goal_values[1, 0, 1] == 0.0
    assert set(replayed(found, memory, START, 0)[0]["next_state"]) == {1}


def test_random_moves_are_imagined_too():
    params = {"preplay_share": 0.0, "epsilon": 1.0, "n_replays": 100}
    _, found, memory = fed(NAME, [LEFT, RIGHT] * 20, [1.0, 0.5] * 20, **params)
    assert set(replayed(found, memory, START, 2)[0]["next_state"]) == {3, 4, 5, 6}


def test_experience_teaches_all_goals():
    log, _, memory = fed(NAME, [LEFT, RIGHT, LEFT], [1.0, 0.5, 1.0], learning_rate=1.0, n_replays=0)
    assert memory.goal_values[0, 3, 4] == memory.goal_values[1, 5, 6] == 1.0
    # The third lap, to the left, is the first after which (2, 3) is known to lead to the goal.
    assert memory.goal_values[0, 2, 3] == pytest.approx(0.99)
    assert memory.goal_values[1, 2, 3] == 0.0
    assert set(log["phase"]) == {"online"}


def test_a_punished_end_is_worth_nothing_so_that_it_is_not_avoided():
    _, _, memory = fed(NAME, [LEFT, RIGHT], [-1.0, 0.5], n_replays=0)
    assert memory.worth[:2].tolist() == [0.0, 0.5]
    assert (memory.action_values >= 0.0).all()


def test_preplay_is_worth_its_time_like_any_replay():
    """A pause with a cost of backups is as long where another goal is imagined."""
    n_backups = {}
    for share in (0.0, 1.0):
        params = {"preplay_share": share, "backup_cost": 0.3, "learning_rate": 0.1}
        log, _, _ = fed(NAME, [LEFT, RIGHT] * 20, [1.0, 1.0] * 20, n_replays=40, **params)
        n_backups[share] = len(log)
    assert 5 < n_backups[1.0] < 1_600
    assert n_backups[1.0] > 0.7 * n_backups[0.0]


def test_a_new_reward_at_a_known_goal_needs_no_learning():
    params = {"learning_rate": 1.0, "n_replays": 200}
    rewards = [1.0, 0.5] * 10
    _, _, before = fed(NAME, [LEFT, RIGHT] * 10, rewards, **params)
    assert before.action_values[2, 3] > before.action_values[2, 5]
    _, _, after = fed(NAME, [LEFT, RIGHT] * 11, [*rewards, 1.0, 3.0], **params)
    assert after.action_values[2, 5] == pytest.approx(3.0 / 0.5 * before.action_values[2, 5])
    assert after.action_values[2, 5] > after.action_values[2, 3]


def test_the_goals_worth_most_are_kept():
    paths = [[0, 1], [0, 2], [0, 3], [0, 4]]
    _, _, memory = fed(NAME, paths, [1.0, 3.0, 2.0, 0.5], n_goals=2, learning_rate=1.0, n_replays=0)
    assert dict(zip(memory.goals.tolist(), memory.worth.tolist(), strict=True)) == {3: 2.0, 2: 3.0}
    assert memory.action_values[0, 1:].tolist() == [0.0, 3.0, 2.0, 0.0]


def test_a_place_that_pays_no_more_is_worth_nothing_and_a_punishment_is_no_goal():
    columns = ["state", "next_state", "reward", "terminated", "action"]
    visits = [(0, 1, 1.0), (1, 2, -1.0), (2, 0, 0.0), (0, 1, 0.0), (1, 0, 0.0)]
    moves = pd.DataFrame([(*each, False, each[1]) for each in visits], columns=columns)
    with pytest.warns(UserWarning, match="no row of transitions is terminated"):
        _, _, memory = fed_moves(NAME, moves)
    assert memory.goals[: memory.n_known[0]].tolist() == [1]
    assert memory.worth[0] == 0.0
    assert memory.goal_values[0, 0, 1] > 0.9
    assert not memory.action_values.any()


def test_an_agent_that_preplays_knows_the_way_to_what_it_did_not_pursue():
    # Both arms were seen; the left one pays. Then the way to the right is known, unless only what
    # is pursued is imagined.
    maze = [LEFT, RIGHT, *[LEFT] * 10]
    known = {}
    for share in (0.0, 1.0):
        params = {"preplay_share": share, "discount": 0.9, "epsilon": 0.5, "n_replays": 30}
        _, _, memory = fed(NAME, maze, [1.0, 0.1, *[1.0] * 10], **params)
        known[share] = memory.goal_values[1, 0, 1]
    assert known[0.0] == pytest.approx(0.0)
    assert known[1.0] == pytest.approx(0.9**3, abs=0.05)


def test_it_earns_in_a_maze_what_can_be_earned():
    maze = from_ascii("S..#G\n.#.#.\n.....")
    run = simulate(maze, NAME, n_steps=4_000, seed=1)
    late = run.log.steps["reward"].tail(1_000).mean()
    # The shortest way has eight moves; a tenth of all moves are random.
    assert late > 0.7 / 8


def test_nothing_is_replayed_before_a_goal_is_known():
    found = find_learner(NAME)
    memory = found.init(found.params, Sizes(3, 1, 3, 10))
    assert replayed(found, memory, REST, 0)[0].empty
