"""SFMA: similarity, strengths, ratings and what is reactivated, by hand and by plain formulas."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples
from test_textbook import CHAIN, experienced, taught

from replay import LEARNERS, simulate
from replay.learners import sfma
from replay.learners.contract import Pause, Sizes, Transition
from replay.log.backups import EPISODE_END, REST, backup_buffer, renew
from replay.worlds.mazes import from_ascii

PARAMS = LEARNERS["sfma"][1]
NO_LOG = None
STRICT = {"inverse_temperature": 700.0}


def default_representation(n_states, n_actions, links, discount):
    laplacian = np.zeros((n_states, n_states))
    for state, other in {tuple(sorted(link)) for link in links if link[0] != link[1]}:
        laplacian[[state, other], [state, other]] += 1.0
        laplacian[[state, other], [other, state]] -= 1.0
    walk = np.eye(n_states) - laplacian / n_actions
    return np.linalg.inv(np.eye(n_states) - discount * walk)


def strengths(memory):
    known = memory.experiences.rows[: memory.experiences.n_known[0]]
    pairs = zip(known["state"].tolist(), known["action"].tolist(), strict=True)
    return dict(zip(pairs, known["strength"].tolist(), strict=True))


def reactivated(backups, phase="episode_end"):
    return backups[backups["phase"] == phase].reset_index(drop=True)


# -- similarity ---------------------------------------------------------------------------


@pytest.mark.parametrize("discount", [0.1, 0.9])
@given(outcomes=st.lists(st.tuples(*[st.integers(0, n) for n in (4, 1, 4)]), max_size=60))
@examples(150)
def test_similarity_is_that_of_the_remembered_transitions(discount, outcomes):
    params = PARAMS._replace(similarity_discount=discount)
    memory = sfma.init(params, Sizes(5, 2, 50, 100))
    remembered = {}
    for s, a, s_next in outcomes:
        sfma.learn(params, memory, Transition(s, a, 0.0, s_next, -1, False, False), NO_LOG)
        remembered[s, a] = s_next
    links = {(s, s_next) for (s, _), s_next in remembered.items()}
    expected = default_representation(5, 2, links, discount)
    np.testing.assert_allclose(memory.similarity.matrix, expected, rtol=0, atol=1e-12)


def test_similarity_stays_exact_when_outcomes_keep_changing(rng):
    params = PARAMS._replace(similarity_discount=0.9)
    memory = sfma.init(params, Sizes(6, 2, 72, 100))
    remembered = {}
    for s, a, s_next in zip(*(rng.integers(n, size=20_000) for n in (6, 2, 6)), strict=True):
        sfma.learn(params, memory, Transition(s, a, 0.0, s_next, -1, False, False), NO_LOG)
        remembered[s, a] = s_next
    links = {(int(s), int(s_next)) for (s, _), s_next in remembered.items()}
    expected = default_representation(6, 2, links, 0.9)
    np.testing.assert_allclose(memory.similarity.matrix, expected, rtol=0, atol=1e-11)


def test_in_an_explored_grid_it_is_the_originals_representation():
    """Of a walk that takes each of four moves alike, and stays where a wall is in the way."""
    maze = from_ascii("...\n.#.\nG..")
    run = simulate(maze, "sfma", {"epsilon": 1.0, "similarity_discount": 0.5}, n_steps=5000)
    cells = np.array(maze.labels)
    walk = np.zeros((maze.n_states, maze.n_states))
    for state, cell in enumerate(cells):
        near = np.flatnonzero(np.abs(cells - cell).sum(axis=1) == 1)
        walk[state, near] = 0.25
        walk[state, state] = 1.0 - 0.25 * len(near)
    expected = np.linalg.inv(np.eye(maze.n_states) - 0.5 * walk)
    np.testing.assert_allclose(run.memory.similarity.matrix, expected, rtol=0, atol=1e-12)


# -- strength -----------------------------------------------------------------------------


def test_strength_counts_and_grows_near_reward():
    table = experienced([(0, 0, 0.0, 1), (0, 0, 0.0, 1), (1, 1, -2.0, 3)])
    table.loc[0, "truncated"] = True
    table.loc[1, "next_state"] = 1
    params = {"reward_modulation": 3.0, "similarity_discount": 0.4}
    memory, _ = taught("sfma", table, **params)
    D = default_representation(4, 2, [(0, 1), (1, 3)], 0.4)
    expected = {(0, 0): 2.0 + 3.0 * 2.0 * D[1, 0], (1, 1): 6.0 * D[1, 1] + 1.0}
    assert strengths(memory) == pytest.approx(expected, abs=1e-12)


# -- what is reactivated ------------------------------------------------------------------


@pytest.mark.parametrize("learner", ["sfma", "sfma_reverse"])
def test_a_run_to_the_goal_is_replayed_backwards(learner):
    table = experienced(CHAIN)
    memory, backups = taught(learner, table, discount=0.5, learning_rate=1.0, n_replays=3, **STRICT)
    rows = reactivated(backups)
    assert rows["state"].tolist() == [2, 1, 0]
    assert rows["pop"].tolist() == [0, 1, 2]
    assert rows["cause"].tolist() == [-1, 3, 4]
    assert memory.action_values[:, 0].tolist() == [0.25, 0.5, 1.0, 0.0]
    D = default_representation(4, 2, [(0, 1), (1, 2), (2, 3)], 0.1)
    strength = 1.0 + D[2]
    if learner == "sfma":  # similar experiences begin near
        ratings = [strength[2] * D[3, 2], strength[1] * D[2, 1], strength[0] * D[1, 0]]
    else:  # similar experiences end near
        ratings = [strength[2] * D[3, 3], strength[1] * D[2, 2], strength[0] * D[1, 1]]
    assert rows["priority"].tolist() == pytest.approx(ratings, rel=1e-12)


def test_at_a_start_the_default_mode_runs_ahead():
    table = experienced(CHAIN).assign(start_state=0)
    choices = {"n_replays": 3, "replay_at": "pauses", "reward_modulation": 0.0}
    _, backups = taught("sfma", table, **choices, **STRICT)
    rows = reactivated(backups, "start")
    assert rows["state"].tolist() == [0, 1, 2]
    assert (rows["cause"] >= 0).tolist() == [False, True, True]
    _, backups = taught("sfma", table)
    assert not backups["phase"].eq("start").any()


def test_inhibition_keeps_a_state_from_being_reactivated_again():
    """After 2, 1, 0: of what is left, 2 has recovered most, but 1 is nearer."""
    _, backups = taught("sfma", experienced(CHAIN), n_replays=5, reward_modulation=0.0, **STRICT)
    rows = reactivated(backups)
    assert rows["state"].tolist() == [2, 1, 0, 1, 2]
    D = default_representation(4, 2, [(0, 1), (1, 2), (2, 3)], 0.1)
    left = [1.0, 1.0, 1.0, 1.0 - 0.9, 1.0 - 0.9**3]
    path = [3, 2, 1, 0, 1, 2]
    ratings = [
        D[here, there] * more for here, there, more in zip(path, path[1:], left, strict=False)
    ]
    assert rows["priority"].tolist() == pytest.approx(ratings, rel=1e-12)
    assert rows["cause"].tolist() == [-1, 3, 4, 5, 6]  # turns around, and goes on forwards


def test_replay_stops_when_all_ratings_are_too_small():
    table = experienced(CHAIN)
    _, backups = taught("sfma", table, n_replays=5, inhibition_decay=1.0)
    assert reactivated(backups)["state"].tolist() == [2, 1, 0]
    _, backups = taught("sfma", table, n_replays=5, min_priority=1.0)
    assert reactivated(backups).empty


def played(params, memory, n_times, phase=EPISODE_END, state=1, seed=0):
    """Reactivate again and again, without learning; return the backups."""
    log = backup_buffer(n_times * params.n_replays, "all")
    pause = Pause(phase, state, False)
    rng = np.random.default_rng(seed)
    for _ in range(n_times):
        sfma.replay(params, memory, pause, rng, log)
    (rows,), _ = renew(log, 0)
    return rows


def crossing():
    """Three ways from state 1, taken once, twice and four times."""
    params = PARAMS._replace(learning_rate=0.0, n_replays=1, inverse_temperature=2.0)
    memory = sfma.init(params, Sizes(4, 3, 16, 100))
    for action in (0, 1, 1, 2, 2, 2, 2):
        transition = Transition(1, action, 0.0, (0, 2, 3)[action], -1, False, False)
        sfma.learn(params, memory, transition, NO_LOG)
    return params, memory


def test_experiences_are_drawn_by_their_ratings():
    params, memory = crossing()
    rows = played(params, memory, 20_000)
    weights = np.expm1(2.0 * np.array([1.0, 2.0, 4.0]) / 4.0)
    expected = weights / weights.sum()
    counts = np.bincount(rows["action"], minlength=3) / len(rows)
    errors = np.sqrt(expected * (1.0 - expected) / len(rows))
    assert (np.abs(counts - expected) < 4 * errors).all()
    assert (np.abs(counts - np.array([1, 2, 4]) / 7) > 4 * errors).any()


def test_offline_replay_begins_anywhere_by_strength():
    """Three states that are not near one another, left once, twice and four times."""
    params = PARAMS._replace(learning_rate=0.0, n_replays=1, inverse_temperature=700.0)
    memory = sfma.init(params, Sizes(6, 1, 16, 100))
    for state in (0, 1, 1, 2, 2, 2, 2):
        sfma.learn(params, memory, Transition(state, 0, 0.0, state + 3, -1, False, False), NO_LOG)
    rows = played(params, memory, 20_000, phase=REST, state=5)
    expected = np.array([1, 2, 4]) / 7
    counts = np.bincount(rows["state"], minlength=3) / len(rows)
    assert (np.abs(counts - expected) < 4 * np.sqrt(expected * (1 - expected) / len(rows))).all()
    awake = played(params, memory, 100, state=1)
    assert set(awake["state"]) == {1}


@pytest.mark.parametrize(("surprise", "expected"), [(0.0, 1 / (1 + np.exp(2))), (0.4, 0.5)])
def test_surprise_makes_the_reverse_mode_likelier(surprise, expected):
    """From state 0 the default mode reactivates (0, 0); what leads there is (1, 0)."""
    params = PARAMS._replace(
        replay_mode=sfma.DYNAMIC_MODE, n_replays=1, learning_rate=0.0, inverse_temperature=700.0
    )
    memory = sfma.init(params, Sizes(3, 1, 16, 100))
    for s, s_next in [(0, 2), (1, 0), (1, 0)]:
        sfma.learn(params, memory, Transition(s, 0, 0.0, s_next, -1, False, False), NO_LOG)
    states = []
    for seed in range(2000):
        memory.surprise[0] = surprise
        states += played(params, memory, 1, state=0, seed=seed)["state"].tolist()
    error = np.sqrt(expected * (1 - expected) / 2000)
    assert np.mean(states) == pytest.approx(expected, abs=4 * error)


@pytest.mark.filterwarnings("ignore:.* replays at the ends of episodes:UserWarning")
def test_surprise_is_the_sum_of_errors_since_the_mode_was_chosen():
    table = experienced(CHAIN)
    memory, _ = taught("sfma_dynamic", table[:2], discount=0.5)
    assert memory.surprise[0] == 0.0
    memory, _ = taught("sfma_dynamic", table, discount=0.5, n_replays=0)
    assert memory.surprise[0] == 0.0
    memory, _ = taught("sfma_dynamic", table.assign(terminated=False), discount=0.5)
    assert memory.surprise[0] == 1.0
    params = {"discount": 0.5, "learning_rate": 1.0, "n_replays": 3, **STRICT}
    memory, backups = taught("sfma_dynamic", table, **params)
    assert reactivated(backups)["state"].tolist() == [2, 1, 0]
    assert memory.surprise[0] == 0.0 + 0.5 + 0.25


# -- preplay ------------------------------------------------------------------------------


def test_what_is_seen_is_replayed_before_the_first_step():
    """Each move that leads elsewhere has its strength; similarity is that of the whole maze."""
    maze = from_ascii("S.G")
    params = PARAMS._replace(preplay=0.5, similarity_discount=0.4)
    memory = sfma.init(params, Sizes(3, 4, 12, 100))
    sfma.explore(params, memory, maze)
    right, left = 1, 3
    assert strengths(memory) == {(0, right): 0.5, (1, right): 0.5, (1, left): 0.5}
    D = default_representation(3, 4, [(0, 1), (1, 2)], 0.4)
    np.testing.assert_allclose(memory.similarity.matrix, D, rtol=0, atol=1e-12)
    log = backup_buffer(100, "all", False)
    pause = Pause(REST, 0, False)
    sfma.replay(params, memory, pause, np.random.default_rng(0), log)
    rows, _ = renew(log, 0)
    assert len(rows[0]) == params.n_replays
    assert (rows[0]["state"] != rows[0]["next_state"]).all()


def test_reward_strengthens_what_was_only_seen():
    maze = from_ascii("S.G")
    params = PARAMS._replace(preplay=0.5, similarity_discount=0.4)
    memory = sfma.init(params, Sizes(3, 4, 12, 100))
    sfma.explore(params, memory, maze)
    sfma.learn(params, memory, Transition(1, 1, 2.0, 2, -1, True, False), NO_LOG)
    D = default_representation(3, 4, [(0, 1), (1, 2)], 0.4)
    expected = {(0, 1): 0.5 + 2 * D[1, 0], (1, 1): 1.5 + 2 * D[1, 1], (1, 3): 0.5 + 2 * D[1, 1]}
    assert strengths(memory) == pytest.approx(expected, abs=1e-12)


def test_without_preplay_nothing_is_replayed_before_the_first_step():
    memory = sfma.init(PARAMS, Sizes(3, 4, 12, 100))
    sfma.explore(PARAMS, memory, None)
    log, rng = backup_buffer(100, "all", False), np.random.default_rng(0)
    sfma.replay(PARAMS, memory, Pause(REST, 0, False), rng, log)
    assert len(renew(log, 0)[0][0]) == 0
    assert rng.random() == np.random.default_rng(0).random()


def test_preplay_needs_the_world():
    with pytest.raises(ValueError, match="preplay needs to know the world: give feed its mdp"):
        taught("sfma", experienced(CHAIN), preplay=1.0)
