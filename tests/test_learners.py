"""Properties of every learner, including a user's own."""

import importlib
import types
from pathlib import Path

import numpy as np
import own_learner
import pandas as pd
import pytest
import recent_sarsa
from house import lines_of
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import examples
from test_mdp import mdps

from replay import LEARNERS, feed, simulate
from replay.experiments import EXPERIMENTS
from replay.learners import find_learner
from replay.log.backups import PHASES
from replay.simulation import driver
from replay.worlds.mazes import from_ascii
from replay.worlds.mdp import MDP
from replay.worlds.trees import stochastic_tree

LEARNER = pytest.mark.parametrize(
    "learner",
    [
        *LEARNERS,
        pytest.param(own_learner, id="own_learner"),
        pytest.param(recent_sarsa, id="recent_sarsa"),
    ],
)
GENERATORS = [name for name in LEARNERS if not find_learner(name).description.computes_values]
COMPUTES_VALUES = [
    *(name for name in LEARNERS if name not in GENERATORS),
    pytest.param(own_learner, id="own_learner"),
    pytest.param(recent_sarsa, id="recent_sarsa"),
]
AT_ENDS = [name for name in LEARNERS if find_learner(name).description.needs_episodes]
FADING = ["memory_access_forgetting", "geodesic_representation"]
"""Action values decay between their backups."""
REVALUING = ["successor_dyna", "geodesic_representation", "bayes_adaptive", "multitask_preplay"]
"""Rewards change action values, too, or what is found of a move in doubt, or there are goals."""
KNOWING = ["sfma_published", "prioritized_memory_access_published"]
"""They know the world before the first step."""
SLOW_IN_PYTHON = ["bayes_adaptive", "geodesic_representation"]
"""Their plans and distances are many."""
REPLAYING = [name for name, (module, _) in LEARNERS.items() if hasattr(module, "replay")]
REPLAYING += [own_learner, recent_sarsa]

UNUSUAL = {
    "dyna_q": {"initial_value": np.inf, "n_replays": 3},
    "trajectory_sampling": {"initial_value": np.inf, "n_replays": 3},
    "sfma": {"replay_at": "pauses", "initial_value": np.inf},
    "sfma_reverse": {"replay_at": "pauses", "similarity_discount": 0.9},
    "sfma_dynamic": {"replay_at": "pauses", "inhibition_decay": 0.5, "min_priority": 1e-3},
    "episodic_sequences": {"expected_return": 0.5, "epsilon": 0.5},
    "spectral_diffusion": {"goal_weight": 10.0, "dwell": True},
    "spectral_superdiffusion": {"stability": 1.5, "n_replays": 3},
    "hierarchical_generative": {"n_maps": 2, "span": 7, "trace_decay": 1.0, "n_replays": 3},
    "successor_dyna": {"on_policy": True, "n_replays": 3},
    "remembered_errors": {"bias": "prioritized", "renew": True, "n_replays": 3},
    "bayes_adaptive": {"untried": "way_back", "volatility": 0.3, "forgetting": 0.01},
    "retrieved_episodes": {"n": 3, "n_retrieved": 2, "n_remembered": 50, "initial_value": np.inf},
}
"""Parameters for learners that the paper has none for."""

MAZE = from_ascii(
    """
    S..#.
    .#...
    ...#G
    """
)
TREE = stochastic_tree(seed=1)
CHAIN = MDP.from_tables(
    [[1], [2], [3], [3]], reward=[0, 0, 0, 1], start=0, terminal=[3], name="chain"
)
RING = MDP.from_tables(
    [[1, 0], [2, 0], [0, 1]], reward=[[0.0, 0.0], [0.0, -1.0], [1.0, 0.5]], name="ring"
)
"""A task without an end."""


def assert_same_memory(one, other):
    assert one.action_values.tobytes() == other.action_values.tobytes()
    for name in ("values", "known_values", "n_returns", "n_steps"):
        if hasattr(one, name):
            assert getattr(one, name).tobytes() == getattr(other, name).tobytes()
    if hasattr(one, "queue"):
        assert queued(one) == queued(other)


def assert_same_table(ours, theirs):
    assert ours.keys() == theirs.keys()
    for column, values in ours.items():
        assert values.tobytes() == theirs[column].tobytes(), column


def assert_same_run(one, other):
    assert_same_table(one.log.columns("steps"), other.log.columns("steps"))
    assert_same_table(one.log.columns("backups"), other.log.columns("backups"))
    assert_same_memory(one.memory, other.memory)
    assert one.window_rewards.tobytes() == other.window_rewards.tobytes()


def queued(memory):
    size = memory.queue.size[0]
    return dict(
        zip(memory.queue.state[:size].tolist(), memory.queue.priority[:size].tolist(), strict=True)
    )


def experience(steps):
    """Turn the steps of a run into transitions that can be fed; the last row gets lost."""
    following = steps[1:].reset_index(drop=True)
    return steps[:-1].assign(next_action=following["action"], start_state=following["state"])


# -- the loop -----------------------------------------------------------------------------


@LEARNER
def test_the_seed_determines_everything(learner):
    one, again, other = (
        simulate(MAZE, learner, n_steps=1000, seed=seed, log="all") for seed in (1, 1, 2)
    )
    assert_same_run(one, again)
    assert not one.log.steps.equals(other.log.steps)


@pytest.mark.parametrize("mdp", [MAZE, TREE], ids=["maze", "tree"])
@LEARNER
def test_compiled_code_does_what_the_source_says(learner, mdp, request):
    """In a run of its own, and where it learns from the moves of that run."""
    published = EXPERIMENTS["maze"].parameters.get(learner)
    choices = [None, *filter(None, (published, UNUSUAL.get(learner)))]
    # In a tree episodes have four steps, so that a few hundred teach no more.
    n_steps = 100 if learner in SLOW_IN_PYTHON or mdp is TREE else 300
    compiled = [simulate(mdp, learner, params, n_steps=n_steps, log="all") for params in choices]
    for params, run in zip(choices, compiled, strict=True):
        if learner in AT_ENDS and not run.log.steps["terminated"][: n_steps - 1].any():
            continue  # there is nothing to learn from
        sizes = {"n_states": mdp.n_states, "n_actions": mdp.n_actions}
        fed = feed(learner, experience(run.log.steps), params=params, mdp=mdp, **sizes)
        expected = run.log.backups[run.log.backups["step"] < n_steps - 1].copy()
        at_last = expected["phase"].eq("start") & expected["step"].eq(n_steps - 2)
        expected.loc[at_last, "location"] = -1  # the first step of that episode was not fed
        pd.testing.assert_frame_equal(fed.backups, expected)
    request.getfixturevalue("plain")
    for params, run in zip(choices, compiled, strict=True):
        assert_same_run(run, simulate(mdp, learner, params, n_steps=n_steps, log="all"))


@LEARNER
def test_what_is_logged_does_not_change_what_is_learned(learner, request):
    is_compiled = learner in ("q_learning", "prioritized_sweeping")
    if not is_compiled:  # compiling all of them once more, without a log, takes a minute
        request.getfixturevalue("plain")
    check_that_the_log_changes_nothing(learner, 2000 if is_compiled else 150)


@pytest.mark.slow
@pytest.mark.parametrize("learner", LEARNERS)
def test_what_is_logged_does_not_change_what_is_learned_compiled(learner):
    check_that_the_log_changes_nothing(learner, 2000)


def check_that_the_log_changes_nothing(learner, n_steps):
    nothing, replay, everything = (
        simulate(MAZE, learner, n_steps=n_steps, log=log) for log in ("none", "replay", "all")
    )
    for run in (nothing, replay):
        assert_same_memory(run.memory, everything.memory)
        assert run.window_rewards.tobytes() == everything.window_rewards.tobytes()
    assert nothing.log.steps.empty
    assert nothing.log.backups.empty
    pd.testing.assert_frame_equal(replay.log.steps, everything.log.steps)
    online = everything.log.backups["phase"].isin(["online", "trace"])
    kept = everything.log.backups[~online].reset_index(drop=True)
    pd.testing.assert_frame_equal(
        replay.log.backups.drop(columns="cause"), kept.drop(columns="cause")
    )
    renumbered = np.cumsum(~online) - 1
    causes = [renumbered[row] if row >= 0 else -1 for row in kept["cause"]]
    assert replay.log.backups["cause"].tolist() == causes


@LEARNER
def test_blocks_and_buffers_of_any_size_log_the_same(learner, monkeypatch):
    whole = simulate(MAZE, learner, n_steps=600, log="all", max_episode_steps=100)
    monkeypatch.setattr(driver, "_BACKUPS_PER_BUFFER", 1)
    monkeypatch.setattr(driver, "_FIRST_WORK", 0.0)
    monkeypatch.setattr(driver, "_SECONDS_PER_CALL", 0.0)
    assert_same_run(whole, simulate(MAZE, learner, n_steps=600, log="all", max_episode_steps=100))


@LEARNER
def test_feeding_a_run_to_its_own_learner_gives_that_run(learner):
    steps = simulate(MAZE, learner, n_steps=601, seed=3, max_episode_steps=50).log.steps
    run = simulate(MAZE, learner, n_steps=600, seed=3, max_episode_steps=50, log="all")
    memories = {}
    log = feed(
        learner,
        experience(steps),
        n_states=MAZE.n_states,
        n_actions=MAZE.n_actions,
        seed=3,
        on_step=memories.__setitem__,
        mdp=MAZE,
    )
    assert_same_table(log.columns("steps"), run.log.columns("steps"))
    assert_same_table(log.columns("backups"), run.log.columns("backups"))
    assert list(memories) == list(range(600))
    assert_same_memory(memories[599], run.memory)
    sizes = {"n_states": MAZE.n_states, "n_actions": MAZE.n_actions}
    at_once = feed(learner, experience(steps), seed=3, mdp=MAZE, **sizes)
    pd.testing.assert_frame_equal(at_once.backups, log.backups)


@LEARNER
def test_episodes_are_cut_off(learner):
    steps = simulate(MAZE, learner, n_steps=1000, max_episode_steps=9).log.steps
    lengths = steps.groupby("episode").size()
    assert lengths.max() == 9
    ends = steps.groupby("episode").tail(1)[:-1]
    assert (ends["truncated"] == (lengths.iloc[:-1] == 9).to_numpy() & ~ends["terminated"]).all()
    assert (ends["truncated"] | ends["terminated"]).all()
    assert ends["truncated"].any()
    assert not steps.drop(ends.index)[:-1][["terminated", "truncated"]].any().any()
    begins = steps["state"][1:].to_numpy()[(steps["truncated"] | steps["terminated"])[:-1]]
    assert (begins == np.flatnonzero(MAZE.start_probability)[0]).all()


@pytest.mark.parametrize(
    "learner",
    [
        *(name for name in LEARNERS if name not in [*AT_ENDS, *GENERATORS]),
        pytest.param(own_learner, id="own"),
    ],
)
def test_tasks_without_end(learner):
    params = {"discount": 0.9, "epsilon": 0.3}
    if learner in ("prioritized_memory_access", "memory_access_forgetting", "bayes_adaptive"):
        del params["epsilon"]  # its policy is the softmax
    run = simulate(RING, learner, params, n_steps=20_000, log="all")
    assert not run.log.steps["terminated"].any()
    exact = RING.solve(0.9)
    # One waits for an end that does not come, the others look as far as to the next goal.
    goal_directed = ("geodesic_representation", "multitask_preplay")
    if learner not in ("prioritized_sweeping_reset", *goal_directed):
        assert (run.memory.action_values.argmax(axis=1) == exact.policy).all()


def test_windows_hold_all_rewards():
    run = simulate(MAZE, "q_learning", n_steps=1234, n_windows=7)
    rewards = run.log.steps["reward"].to_numpy()
    assert run.window_ends[-1] == 1234
    split = np.split(rewards, run.window_ends[:-1])
    assert run.window_rewards == pytest.approx([part.sum() for part in split])
    assert run.reward_rate["reward_rate"].tolist() == pytest.approx([part.mean() for part in split])
    assert len(simulate(MAZE, "q_learning", n_steps=3).reward_rate) == 3


@pytest.mark.parametrize(
    "name", ["FrozenLake", "CliffWalking", pytest.param("Taxi", marks=pytest.mark.slow)]
)
def test_gymnasium_worlds(name):
    gymnasium = pytest.importorskip("gymnasium")
    newest = [known for known in gymnasium.registry if known.startswith(f"{name}-v")][-1]
    world = MDP.from_gymnasium(newest)
    for learner in LEARNERS:
        run = simulate(world, learner, n_steps=5000, max_episode_steps=200)
        assert len(run.log.steps) == 5000
        learned = run.memory.action_values
        assert np.isfinite(learned).all()
        needs_pay = ("geodesic_representation", "compositional_replay", "multitask_preplay")
        if learner in needs_pay and run.log.steps["reward"].max() <= 0:
            # Without a place that pays there is no goal, nor landmark; an end is worth nothing.
            assert run.log.backups.empty or learner == "multitask_preplay"
            assert not learned.any()
            continue
        waits = learner in AT_ENDS and not run.log.steps["terminated"].any()
        assert waits or len(np.unique(learned)) > 2 or learner in GENERATORS
        assert run.log.backups.empty == (learner not in REPLAYING)


# -- backups ------------------------------------------------------------------------------


@st.composite
def worlds(draw):
    """Small random worlds with an end that can be reached; half of them without chance."""
    if draw(st.booleans()):
        return draw(mdps(episodic=True))
    n_states, n_actions = draw(st.integers(2, 7)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    world = MDP.from_tables(
        rng.integers(n_states, size=(n_states, n_actions)),
        rng.normal(size=(n_states, n_actions)).round(2),
        terminal=[n_states - 1],
    )
    assume(np.isfinite(world.steps_to_end).all())
    return world


@pytest.mark.parametrize("learner", [each for each in COMPUTES_VALUES if each not in KNOWING])
@given(data=st.data())
@examples(100)
def test_backups_are_of_remembered_transitions(learner, data):
    world = data.draw(worlds())
    run = simulate(
        world,
        learner,
        {"discount": 0.9},
        n_steps=data.draw(st.integers(1, 150)),
        max_episode_steps=data.draw(st.sampled_from([None, 4, 20])),
        seed=data.draw(st.integers(0, 99)),
        log="all",
    )
    steps, backups = run.log.steps, run.log.backups
    first_seen = {}
    reward = {}
    for row in steps.itertuples():
        transition = row.state, row.action, row.next_state
        first_seen.setdefault(transition, row.step)
        reward[transition] = row.reward
    values, changed = {}, {}
    fading = getattr(run.learner.params, "forgetting", 0.0) if learner in FADING else 0.0
    for row in backups.itertuples():
        transition = row.state, row.action, row.next_state
        assert first_seen[transition] <= row.step
        assert np.isnan(row.reward) or row.reward == reward[transition]
        now = row.step + (row.phase == "start")  # what fades, does so before the next start
        kept = (1.0 - fading) ** (now - changed.get(transition[:2], now))
        known = values.get(transition[:2], row.q_before) * kept
        if learner not in REVALUING:
            assert row.q_before == (known if kept == 1.0 else pytest.approx(known, abs=1e-12))
        values[transition[:2]], changed[transition[:2]] = row.q_after, now
        if row.phase == "start":
            assert row.location == steps["state"].get(row.step + 1, row.location)
        else:
            assert row.location == steps["next_state"][row.step]
        assert (row.event >= 0) == (row.phase not in ("online", "trace"))
        assert row.cause < row.Index
        if row.cause >= 0:
            cause = backups.loc[row.cause]
            goes_on = cause["next_state"] == row.state
            goes_on = goes_on and run.learner.description.goes_forward
            assert goes_on or cause["state"] == row.next_state
        if row.phase == "online":
            made = steps.loc[row.step]
            assert transition == (made["state"], made["action"], made["next_state"])
            assert row.reward == made["reward"]
    for (s, a), value in values.items():
        kept = (1.0 - fading) ** (len(steps) - changed[s, a])
        expected = value if kept == 1.0 else pytest.approx(value * kept, abs=1e-12)
        assert learner in REVALUING or run.memory.action_values[s, a] == expected
    bound = max(np.abs(world.reward).max() / (1 - 0.9), 5.0)
    assert np.abs(run.memory.action_values).max() <= bound * (1 + 1e-12)


@pytest.mark.parametrize("learner", GENERATORS)
@given(data=st.data())
@examples(100)
def test_generators_reactivate_visited_places_and_know_no_values(learner, data):
    world = data.draw(worlds())
    run = simulate(
        world,
        learner,
        n_steps=data.draw(st.integers(1, 150)),
        max_episode_steps=data.draw(st.sampled_from([None, 4, 20])),
        seed=data.draw(st.integers(0, 99)),
        log="all",
    )
    steps, moves = run.log.steps, run.log.backups
    first_seen = {}
    for row in steps.itertuples():
        first_seen.setdefault(row.state, row.step)
        first_seen.setdefault(row.next_state, row.step)
    assert not run.memory.action_values.any()
    assert moves["action"].eq(-1).all()
    assert moves["cause"].eq(-1).all()
    assert moves[["q_before", "q_after", "reward"]].isna().all(axis=None)
    assert set(moves["phase"]) <= {"step", "episode_end", "start", "rest"}
    for row in moves.itertuples():
        assert first_seen[row.state] <= row.step
        assert first_seen[row.next_state] <= row.step
    # Within an event they are one sequence: each move begins where the last one ended.
    following = moves[1:].reset_index(drop=True)
    same = (following["event"] == moves["event"][:-1]).to_numpy()
    assert (following["state"].to_numpy() == moves["next_state"][:-1].to_numpy())[same].all()


@LEARNER
def test_who_replays_and_when(learner):
    """As the papers say; of learners that are not listed here, as their own description says."""
    phases = set(simulate(MAZE, learner, n_steps=3000, log="all").log.backups["phase"])
    expected = {
        "monte_carlo": {"episode_end"},
        "episodic_control": {"episode_end"},
        "n_step_td": {"trace"},
        "q_lambda": {"online", "trace"},
        "q_learning": {"online"},
        "q_learning_optimistic": {"online"},
        "prioritized_sweeping": {"online", "step", "episode_end"},
        "prioritized_sweeping_reset": {"online", "episode_end"},
        "dyna_q": {"online", "step", "episode_end"},
        "trajectory_sampling": {"online", "step", "start"},
        "sfma": {"online", "episode_end"},
        "sfma_reverse": {"online", "episode_end"},
        "sfma_dynamic": {"online", "episode_end"},
        "sfma_published": {"online", "episode_end", "start"},
        "episodic_sequences": {"episode_end"},
        "remembered_errors": {"online", "episode_end"},
        "retrieved_episodes": {"step", "start"},
        "prioritized_memory_access": {"online", "episode_end", "start"},
        "memory_access_forgetting": {"online", "episode_end", "start"},
        "bayes_adaptive": {"online", "episode_end", "start"},
        "geodesic_representation": {"online", "episode_end", "start"},
        **{name: {"episode_end", "start"} for name in GENERATORS},
        recent_sarsa: {"online", "episode_end", "start"},
        own_learner: {"online", "step", "episode_end"},
    }
    if learner in expected:
        assert phases == expected[learner]
    else:
        told = {PHASES[phase] for phase in find_learner(learner).description.phases}
        assert phases - {"online", "trace"} == told - {"rest"}
    replayed = simulate(MAZE, learner, n_steps=3000).log.backups
    assert replayed.empty == (learner not in REPLAYING)


# -- what is learned ----------------------------------------------------------------------


@pytest.mark.parametrize("learner", COMPUTES_VALUES)
def test_the_values_of_a_chain(learner):
    """Where there is nothing to choose and nothing to chance, all learn the same values."""
    if learner in FADING:
        pytest.skip("what is forgotten is not what was learned")
    run = simulate(CHAIN, learner, {"discount": 0.5}, n_steps=3000)
    exact = CHAIN.solve(0.5).action_values
    np.testing.assert_allclose(run.memory.action_values[:3], exact[:3], rtol=0, atol=1e-7)
    np.testing.assert_allclose(exact[:3, 0], [0.25, 0.5, 1.0])


@pytest.mark.parametrize(
    "learner",
    [
        "q_learning",
        "q_learning_optimistic",
        "prioritized_sweeping",
        "prioritized_sweeping_optimistic",
        "full_backups",
        "episodic_control",
        "dyna_q",
        "trajectory_sampling",
        "sfma",
        "sfma_reverse",
        "sfma_dynamic",
        "successor_dyna",
        "remembered_errors",
        own_learner,
    ],
)
def test_the_optimal_values_of_a_maze(learner):
    """Tried often enough, with certain outcomes, these are exact."""
    maze = from_ascii("S..\n.#.\n..G")
    run = simulate(maze, learner, {"discount": 0.8, "epsilon": 1.0}, n_steps=100_000)
    exact = maze.solve(0.8).action_values
    acting = ~maze.terminal
    np.testing.assert_allclose(run.memory.action_values[acting], exact[acting], rtol=0, atol=1e-6)


@pytest.mark.parametrize("learner", ["monte_carlo", "n_step_td"])
def test_the_values_of_a_random_policy(learner):
    """On-policy learners learn what the policy earns, which here is uniform."""
    values = np.zeros(TREE.n_states)
    exact = np.zeros((TREE.n_states, TREE.n_actions))
    for state in reversed(np.flatnonzero(~TREE.terminal)):
        for action in range(TREE.n_actions):
            first = TREE.successor_offset[state * TREE.n_actions + action]
            last = TREE.successor_offset[state * TREE.n_actions + action + 1]
            future = TREE.reward[first:last] + values[TREE.successor[first:last]]
            exact[state, action] = TREE.probability[first:last] @ future
        values[state] = exact[state].mean()
    params = {"discount": 1.0, "epsilon": 1.0}
    if learner == "n_step_td":
        params |= {"n": 2, "learning_rate": 0.01}
    learned = simulate(TREE, learner, params, n_steps=200_000).memory.action_values
    np.testing.assert_allclose(learned, exact, rtol=0, atol=0.05)
    assert np.ptp(exact[0]) > 0.01


@pytest.mark.parametrize("only_lowers", [False, True])
@pytest.mark.parametrize("initial_value", [0.0, np.inf, 5.0])
@given(data=st.data())
@examples(100)
def test_sweeping_solves_the_learned_model(initial_value, only_lowers, data):
    """Small backups stay true to the model, and an empty queue says that it is solved."""
    world = data.draw(worlds())
    params = {"discount": 0.9, "initial_value": initial_value, "priority_only_lowers": only_lowers}
    params["max_pops"] = data.draw(st.sampled_from([1, 3, 1000]))
    seed, n_steps = data.draw(st.integers(0, 99)), data.draw(st.integers(1, 200))
    run = simulate(world, "prioritized_sweeping", params, n_steps=n_steps, seed=seed)
    Q, V, U = run.memory[:3]
    total = np.zeros_like(Q)
    count = np.zeros_like(Q)
    for row in run.log.steps.itertuples():
        total[row.state, row.action] += row.reward
        if not row.terminated:
            total[row.state, row.action] += 0.9 * U[row.next_state]
        count[row.state, row.action] += 1
    tried = count > 0
    np.testing.assert_allclose(Q[tried], (total / np.maximum(count, 1))[tried], atol=1e-9)
    assert (Q[~tried] == initial_value).all()
    visited = tried.any(axis=1)
    finite = np.where(np.isfinite(Q), Q, -np.inf)
    np.testing.assert_array_equal(V[visited], finite[visited].max(axis=1))
    waiting = np.flatnonzero(np.abs(V - U) > 1e-8)
    if only_lowers:
        assert set(waiting) <= set(queued(run.memory))
    else:
        assert queued(run.memory) == dict(
            zip(waiting.tolist(), np.abs(V - U)[waiting].tolist(), strict=True)
        )
    if params["max_pops"] == 1000:
        assert queued(run.memory) == {}


# -- a user's own module ------------------------------------------------------------------


def module(name, source):
    made = types.ModuleType(name)
    exec(source, made.__dict__)
    return made


def test_the_learner_of_the_guide():
    guide = Path(__file__).parents[1] / ".docs" / "how_to" / "own_learner.md"
    source = guide.read_text("utf-8").split("```python\n")[1].split("```")[0]
    run = simulate(MAZE, module("from_guide", source), n_steps=2000)
    assert run.log.steps["terminated"].any()
    assert not run.log.backups.empty


LINES = {
    "prioritized_sweeping": 390,
    "full_backups": 120,
    "prioritized_memory_access": 450,
    "n_step_td": 60,
    "monte_carlo": 60,
    "episodic_control": 105,
    "q_learning": 60,
    "q_lambda": 60,
}


@pytest.mark.parametrize("name", LINES)
def test_learners_are_short(name):
    """An account reads like the pseudo-code of its paper; the parts of its folder count, too."""
    learners = Path(__file__).parents[1] / "replay" / "learners"
    files = [*(learners / name).glob("*.py")] or [learners / f"{name}.py"]
    assert sum(len(lines_of(file.read_text("utf-8"))[0]) for file in files) <= LINES[name]


def test_a_module_may_use_our_learners_and_helpers():
    """Functions and modules of ours, a helper of its own, and nothing registered anywhere."""
    source = """
from replay.learners import q_learning
from replay.learners.q_learning import Memory, Params, init, learn as learn_online, most_backups

def halved(transition):
    return transition._replace(reward=transition.reward / 2)

def learn(params, memory, transition, log):
    learn_online(params, memory, transition, log)

def act(params, memory, state, rng):
    return 1
"""
    source = source.replace("learn_online(", "q_learning.learn(", 1)
    always_right = simulate(CHAIN_OF_TWO, module("right", source), n_steps=100, log="all")
    assert (always_right.log.steps["action"] == 1).all()
    ours = feed("q_learning", experience(always_right.log.steps), n_states=3, n_actions=2)
    rows = always_right.log.backups["step"] < 99
    pd.testing.assert_frame_equal(ours.backups, always_right.log.backups[rows])


CHAIN_OF_TWO = MDP.from_tables([[0, 1], [0, 2], [2, 2]], reward=[0, 0, 1], terminal=[2])


PAUSES = """
COMPILED = False

from replay.log.backups import record
from replay.learners import q_learning
from replay.learners.q_learning import Memory, Params, init

def most_backups(params, memory):
    return 3

def learn(params, memory, transition, log):
    q_learning.learn(params, memory, transition, log)

def replay(params, memory, pause, rng, log):
    record(log, pause.phase, pause.state, 0, 0, 0.0, rng.random(), priority=pause.terminated)
"""
"""It notes each pause instead of replaying, and a random number."""


def test_pauses_after_each_step_and_between_episodes():
    run = simulate(MAZE, module("pauses", PAUSES), n_steps=500, max_episode_steps=20, seed=3)
    backups, steps = run.log.backups, run.log.steps
    ended = steps["terminated"] | steps["truncated"]
    assert steps["terminated"].any()
    assert steps["truncated"].any()
    assert not ended.iloc[-1]
    after = backups[backups["phase"] != "start"]
    assert (after["phase"] == np.where(ended, "episode_end", "step")).all()
    assert (after["state"].to_numpy() == steps["next_state"]).all()
    assert (after["priority"].to_numpy() == steps["terminated"]).all()
    starts = backups[backups["phase"] == "start"]
    following = steps["state"].to_numpy()[starts["step"] + 1]
    assert (starts["state"] == following).all()
    assert (starts["location"] == following).all()
    assert starts["step"].tolist() == steps.loc[ended, "step"].tolist()
    assert starts["episode"].tolist() == (steps.loc[ended, "episode"] + 1).tolist()


def test_what_replay_draws_changes_no_outcome():
    pauses = module("pauses", PAUSES)
    drawn, undrawn = (simulate(MAZE, it, n_steps=500, seed=3) for it in (pauses, "q_learning"))
    pd.testing.assert_frame_equal(drawn.log.steps, undrawn.log.steps)
    numbers = drawn.log.backups["q_after"]
    assert numbers.is_unique
    sizes = {"n_states": MAZE.n_states, "n_actions": MAZE.n_actions}
    fed = feed(pauses, drawn.log.steps, seed=3, log="replay", **sizes)
    assert fed.backups["q_after"].tolist() == numbers.tolist()
    other = feed(pauses, drawn.log.steps, seed=4, log="replay", **sizes)
    assert not set(other.backups["q_after"]) & set(numbers)


def test_the_start_after_the_last_row_can_be_given():
    pauses = module("pauses", PAUSES)
    lap = LAP.assign(start_state=[-1, -1, 2])
    with pytest.raises(
        ValueError, match="'start_state' of transitions must hold whole numbers from 0"
    ):
        feed(pauses, lap, n_states=4, n_actions=1)
    starts = [
        feed(pauses, laps, n_states=4, n_actions=1).backups.query("phase == 'start'")["state"]
        for laps in (LAP, LAP.assign(start_state=2))
    ]
    assert [start.tolist() for start in starts] == [[], [2]]


def test_an_edited_module_is_compiled_again(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "edited_learner.py"
    source = (Path(__file__).with_name("own_learner.py")).read_text(encoding="utf-8")
    path.write_text(source, encoding="utf-8")
    edited = importlib.import_module("edited_learner")
    before = simulate(MAZE, edited, n_steps=500)
    halved = source.replace("(target - before)", "(target - before) * 0.5")
    path.write_text(halved, encoding="utf-8")
    importlib.reload(edited)
    after = simulate(MAZE, edited, {"learning_rate": 1.0}, n_steps=500)
    assert before.memory.action_values.tobytes() == after.memory.action_values.tobytes()


def test_a_bound_that_is_too_low_is_noticed(monkeypatch, plain):
    monkeypatch.setattr(driver, "_BACKUPS_PER_BUFFER", 1 << 10)
    source = Path(own_learner.__file__).read_text(encoding="utf-8")
    low = module("low", source.replace("1 + params.n_replays", "1"))
    with pytest.raises(RuntimeError, match=r"'low' made more backups .* most_backups\(\)"):
        simulate(MAZE, low, {"n_replays": 2}, n_steps=1000, log="all")
    simulate(MAZE, low, {"n_replays": 2}, n_steps=1000, log="none")


# -- bad input ----------------------------------------------------------------------------


LAP = pd.DataFrame(
    {
        "state": [0, 1, 2],
        "action": [0, 0, 0],
        "reward": [0.0, 0.0, 1.0],
        "next_state": [1, 2, 3],
        "terminated": [False, False, True],
    }
)


def test_parameters_are_a_dict_or_a_named_tuple():
    for params in ({"learning_rate": 1}, LEARNERS["q_learning"][1]._replace(learning_rate=1.0)):
        found = find_learner("q_learning", params).params
        assert found == LEARNERS["q_learning"][1]._replace(learning_rate=1.0)
        assert isinstance(found.learning_rate, float)
    assert find_learner("prioritized_sweeping", {"max_pops": 5.0}).params.max_pops == 5
    reset = find_learner("prioritized_sweeping_reset", {"discount": np.float32(0.5)}).params
    assert reset.reset_model
    assert reset.discount == 0.5
    assert find_learner(own_learner).name == "own_learner"


@pytest.mark.parametrize(
    ("learner", "params", "error", "message"),
    [
        ("q_lerning", None, ValueError, "Did you mean 'q_learning'. Choose from: monte_carlo, "),
        (types, None, TypeError, "'types' lacks Params, Memory, init, learn, most_backups"),
        ("q_learning", {"alpha": 1}, ValueError, "no parameter 'alpha'. Its parameters: discount"),
        ("q_learning", {"discount": "high"}, TypeError, "must be a number, such as 0.99"),
        ("n_step_td", {"n": 0}, ValueError, "n of 'n_step_td' must be between 1 and"),
    ],
)
def test_unusable_learners_and_parameters(learner, params, error, message):
    with pytest.raises(error, match=message):
        simulate(MAZE, learner, params, n_steps=10)


def test_a_module_without_a_discount():
    source = Path(own_learner.__file__).read_text(encoding="utf-8")
    lacking = module("lacking", source.replace("    discount: float = 0.99\n", ""))
    with pytest.raises(TypeError, match="'lacking' must be a NamedTuple with discount and epsilon"):
        simulate(MAZE, lacking, n_steps=10)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_steps": 0}, "n_steps must be a whole number from 1 to .*, got 0"),
        ({"max_episode_steps": 0}, "max_episode_steps must be a whole number of at least 1"),
        ({"seed": None}, "seed must be a whole number of at least 0, got None"),
        ({"log": "some"}, "Unknown log 'some'. Choose from: replay, all, none"),
    ],
)
def test_unusable_sizes(arguments, message):
    with pytest.raises(ValueError, match=message):
        simulate(MAZE, "q_learning", **({"n_steps": 10} | arguments))


def test_worlds_that_a_learner_cannot_learn_in():
    with pytest.raises(TypeError, match=r"must be an MDP or a Protocol, got 'maze': MDP\.from_"):
        simulate("maze", "q_learning", n_steps=10)
    endless = "from 3 of the 3 states of 'ring', such as state 0"
    with pytest.raises(ValueError, match=f"{endless}.*use a discount below 1"):
        simulate(RING, "q_learning", {"discount": 1.0}, n_steps=10)
    for learner in AT_ENDS:
        with pytest.raises(ValueError, match=f"{endless}.*{learner}.*choose another learner"):
            simulate(RING, learner, n_steps=10)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"state": [0, 1, 4]}, "'state' of transitions must hold whole numbers from 0 to 3"),
        ({"action": [0, 0, -1]}, "'action' of transitions must hold whole numbers from 0 to 1"),
        ({"next_state": [1, 0, 3]}, "Row 1 .* enters state 0, but row 2 begins in state 2. Mark"),
        ({"time": ["a", "b", "c"]}, "'time' of transitions must hold finite numbers"),
    ],
)
def test_unusable_experience(changes, message):
    with pytest.raises(ValueError, match=message):
        feed("q_learning", LAP.assign(**changes), n_states=4, n_actions=2)


def test_incomplete_experience():
    size = {"n_states": 4, "n_actions": 2}
    for column in LAP:
        with pytest.raises(ValueError, match=rf"transitions lacks the columns \['{column}'\]"):
            feed("q_learning", LAP.drop(columns=column), **size)
    with pytest.raises(ValueError, match=r"'n_step_td' learns on-policy.* needs .*'next_action'"):
        feed("n_step_td", LAP, **size)
    with pytest.raises(TypeError, match="transitions must be a DataFrame, got dict"):
        feed("q_learning", LAP.to_dict("list"), **size)
    with pytest.raises(ValueError, match=r"Unknown log 'none'\. Choose from: all, replay"):
        feed("q_learning", LAP, log="none", **size)
    with pytest.raises(ValueError, match="mdp has 3 states, but n_states is 4"):
        feed("q_learning", LAP, mdp=RING, **size)
    with pytest.raises(ValueError, match="n_actions must be a whole number from 1 to"):
        feed("q_learning", LAP, n_states=4, n_actions=0)


def test_experience_in_other_forms():
    """Nullable columns, zeros and ones, any index, times, or gaps after a cut."""
    size = {"n_states": 4, "n_actions": 2}
    plain = feed("episodic_control", LAP, **size)
    other = LAP.astype({"state": "Int64", "terminated": "boolean"}).set_index(pd.Index([7, 8, 9]))
    for table in (other, LAP.assign(terminated=[0, 0, 1]), LAP.assign(truncated=False)):
        fed = feed("episodic_control", table, **size)
        pd.testing.assert_frame_equal(fed.backups, plain.backups)
    timed = feed("episodic_control", LAP.assign(time=[0.5, 1.0, 2.5]), mdp=CHAIN, **size)
    assert timed.steps["time"].tolist() == [0.5, 1.0, 2.5]
    assert timed.backups["time"].tolist() == [2.5] * 3
    assert timed.mdp is CHAIN
    cut = feed("q_learning", LAP.assign(state=[0, 3, 2], truncated=[True, False, False]), **size)
    assert cut.steps["episode"].tolist() == [0, 1, 1]
    assert feed("prioritized_sweeping", LAP, log="replay", **size).backups["event"].min() == 0
