"""Words of memory and operations per step, compared with counts by hand."""

import types

import numpy as np
import own_learner
import pandas as pd
import pytest
from typer.testing import CliRunner

from analyses.cli import app
from analyses.studies import demands as demands_of_worlds
from analyses.studies.demands import measure_demands
from analyses.studies.reward_figures import demands_figure, plot_demands
from replay import LEARNERS, simulate
from replay.demands import count_demands
from replay.experiments import EXPERIMENTS
from replay.worlds.mazes import from_ascii
from replay.worlds.mdp import MDP
from replay.worlds.trees import deterministic_tree, stochastic_tree

CHAIN = MDP.from_tables(
    [[1], [2], [3], [3]], [[0.0], [0.0], [1.0], [0.0]], start=0, terminal=[3], name="chain"
)
"""Three states, one action, a reward at the end."""
MAZE = from_ascii("S..\n.#.\n..G")
TREES = [(2, 2), (3, 2), (5, 2), (3, 4), (4, 4)]


PAPER = EXPERIMENTS["deterministic_tree"].parameters


def counted(learner, params=None, n_steps=6, mdp=CHAIN):
    """Count without exploration, so that every step costs a choice of the best action."""
    params = {"epsilon": 0.0} | (params or {})
    return count_demands(mdp, learner, params, n_steps=n_steps).steps.astype(int)


# -- by hand ------------------------------------------------------------------------------


def test_q_learning_by_hand():
    steps = counted("q_learning")
    assert steps["words"].tolist() == [1, 2, 3, 3, 3, 3]
    assert (steps["backups"] == 1).all()
    assert (steps["queue_operations"] == 0).all()
    # The greedy choice looks for the action whose value is the best one: here it is the first.
    assert (steps["comparisons"] == 1).all()


def test_comparisons_of_maxima_by_hand():
    fan = MDP.from_tables(
        [[1, 1, 1], [2, 2, 2], [2, 2, 2]], [[0.0] * 3] * 3, start=0, terminal=[2], name="fan"
    )
    steps = counted("q_learning", n_steps=2, mdp=fan)
    # All values are 0. Choice: two comparisons with the best so far, each again for equality, and
    # up to three to find the chosen one. Target: two more, but none at an end.
    chosen = simulate(fan, "q_learning", {"epsilon": 0.0}, n_steps=3, log="all").log.steps["action"]
    assert steps["comparisons"].tolist() == [2 + 4 + chosen[1] + 1, 4 + chosen[2] + 1]


def test_episodes_by_hand():
    episodic = counted("episodic_control")
    assert episodic["words"].tolist() == [1 + 3, 2 + 6, 3 + 9, 3 + 3, 3 + 6, 3 + 9]
    assert episodic["backups"].tolist() == [0, 0, 3, 0, 0, 3]
    # At an end each return is compared with the best one, besides the choice of an action.
    assert episodic["comparisons"].tolist() == [1, 1, 1 + 3, 1, 1, 1 + 3]
    monte_carlo = counted("monte_carlo")
    assert monte_carlo["words"].tolist() == [2 + 3, 4 + 6, 6 + 9, 6 + 3, 6 + 6, 6 + 9]
    assert (monte_carlo["comparisons"] == 1).all()


def test_windows_and_traces_by_hand():
    # A window of at most two steps, six words each; the one trace goes at an end.
    n_step = counted("n_step_td", {"n": 2})
    assert n_step["words"].tolist() == [7, 2 + 12 + 2, 3 + 12 + 2, 3 + 12, 3 + 12 + 2, 3 + 12 + 2]
    q_lambda = counted("q_lambda")
    assert q_lambda["words"].tolist() == [1 + 2, 2 + 4, 3, 3 + 2, 3 + 4, 3]
    assert q_lambda["backups"].tolist() == [1, 2, 3, 1, 2, 3]


MODEL = np.array([6 + 2 + 2, 12 + 4 + 4, 18 + 6 + 4])
"""Words of the model after each step of a lap: edges, pairs, and lists of states led to."""


def test_sweeping_by_hand():
    steps = counted("prioritized_sweeping", {"max_pops": 1})
    known = [*(np.array([3, 6, 9]) + MODEL), *[9 + MODEL[-1]] * 3]
    # The change goes back one state a step, so one state waits until the start has been popped.
    waiting = [0, 0, 1, 1, 1, 0]
    assert steps["words"].tolist() == (np.array(known) + 3 * np.array(waiting)).tolist()
    assert steps["backups"].tolist() == [1, 1, 2, 2, 1, 1]
    # Put in, take out, put in its predecessor; take that out, put in another; take that out.
    assert steps["queue_operations"].tolist() == [0, 0, 3, 2, 1, 0]
    assert (steps["comparisons"] == 1).all()


def test_a_reset_by_hand():
    steps = counted("prioritized_sweeping_reset")
    first = np.array([3, 6, 9]) + MODEL + [0, 0, 3]
    assert steps["words"].tolist() == [*first, *(9 + MODEL)]
    assert steps["backups"].tolist() == [1, 1, 3, 1, 1, 1]
    assert steps["queue_operations"].tolist() == [0, 0, 6, 0, 0, 0]


def test_what_a_reset_leaves_in_the_queue_is_taken_out():
    """In a tree with chance some episodes leave one; in random order no priority ever changes."""
    params = {"epsilon": 0.0, "reset_model": True, "priority": "random"}
    demands = count_demands(stochastic_tree(seed=1), "prioritized_sweeping", params, n_steps=300)
    # Whatever was put in was popped or cleared: with a reset the queue is empty after an episode.
    ended = demands.run.log.steps["terminated"].cumsum().shift(fill_value=0)
    whole = ended < ended.max()
    assert (demands.steps["queue_operations"][whole].groupby(ended[whole]).sum() % 2 == 0).all()


def test_models_and_squares_by_hand():
    full = counted("full_backups", {"max_pops": 1})
    # At the fourth step the pair that waits is backed up by experience, before it is counted.
    assert full["words"].tolist() == [3 + 10, 6 + 20, 9 + 28 + 3, 9 + 28, 9 + 28, 9 + 28]
    assert full["queue_operations"].tolist() == [0, 0, 3, 1, 0, 0]
    assert counted("dyna_q")["words"].tolist() == [2 + 10 + 2, 4 + 20 + 4, *[6 + 28 + 6] * 4]
    # From the third step on with a goal, and with what leads to it; always with one start.
    geodesic = counted("geodesic_representation")
    assert geodesic["words"].tolist() == [1 + 10 + 1, 2 + 20 + 1, *[3 * 3 + 3 + 30 + 1] * 4]
    sfma = counted("sfma")
    assert sfma["words"].tolist() == [8 + 2 * 2**2, 16 + 2 * 3**2, *[24 + 2 * 4**2] * 4]
    sequences = counted("episodic_sequences")
    kept = 3 + 2 * (1 + 2 + 3)  # lengths and moves
    assert sequences["words"].tolist() == [4, 8, 12, *(3 + kept + np.array([3, 6, 9]))]
    retrieved = counted("retrieved_episodes", {"n_remembered": 4})
    assert retrieved["words"].tolist() == [2 + 7, 4 + 14, 6 + 21, *[6 + 28] * 3]


def test_belief_states_by_hand():
    """The latest tree has the start and what follows one try, which may show either outcome."""
    params = {"horizon": 1, "one_try_tells": False}
    steps = count_demands(CHAIN, "bayes_adaptive", params, n_steps=6).steps
    # Three nodes with a place and the tries of one uncertain move; that move, from the start.
    tree = 3 * (1 + 2) + 4
    assert steps["words"].tolist() == [6, 12, 18, *[18 + tree] * 3]


def test_memory_access_by_hand():
    params = {"max_backups": 1}
    steps = count_demands(CHAIN, "prioritized_memory_access", params, n_steps=3).steps
    # Tables; states whose gain is stale, all so far; model; chain, with the link of the end to the
    # start that is there from the beginning.
    known = np.array([5 + 1, 10 + 2, 15 + 3]) + MODEL + [3 + 1, 6 + 2, 9 + 3] + (3 + 1)
    assert steps["words"].tolist() == np.add(known, [2, 4, 6]).tolist()


# -- properties ---------------------------------------------------------------------------


@pytest.mark.parametrize("mdp", [MAZE, stochastic_tree(depth=3)], ids=["maze", "tree"])
@pytest.mark.parametrize("learner", [*LEARNERS, own_learner], ids=str)
def test_counting_changes_nothing(learner, mdp, request):
    if learner is own_learner:  # whose code is not kept
        request.getfixturevalue("plain")
    n_steps = 60 if mdp is MAZE else 20  # at least some episodes
    demands = count_demands(mdp, learner, n_steps=n_steps, seed=3)
    run = simulate(mdp, learner, n_steps=n_steps, seed=3, log="all")
    values, counted_values = run.memory.action_values, demands.run.memory.action_values
    assert counted_values.dtype == values.dtype
    assert counted_values.tobytes() == values.tobytes()
    pd.testing.assert_frame_equal(demands.run.log.backups, run.log.backups)
    steps = demands.run.log.steps[list(run.log.steps)]
    pd.testing.assert_frame_equal(steps, run.log.steps)
    assert demands.steps["backups"].sum() == len(run.log.backups)
    assert demands.run.learner.module is (LEARNERS[learner][0] if learner in LEARNERS else learner)


@pytest.mark.parametrize(
    "priority",
    ["recency", *(pytest.param(name, marks=pytest.mark.slow) for name in ("need", "random"))],
)
def test_other_priorities_are_counted_too(priority, plain):
    params = {"priority": priority, "max_pops": 1}
    demands = count_demands(MAZE, "prioritized_sweeping", params, n_steps=300)
    run = simulate(MAZE, "prioritized_sweeping", params, n_steps=300)
    assert demands.run.memory.action_values.tobytes() == run.memory.action_values.tobytes()
    assert demands.steps["queue_operations"].sum() > 0


def test_bounded_memory_is_smaller():
    params = {"retention": "recent_transitions", "capacity": 5}
    bounded = count_demands(MAZE, "prioritized_sweeping", params, n_steps=500).steps["words"]
    unbounded = count_demands(MAZE, "prioritized_sweeping", n_steps=500).steps["words"]
    assert bounded.max() < unbounded.max()


def test_a_learner_that_does_not_count_its_words():
    assert count_demands(CHAIN, own_learner, n_steps=3).steps["words"].isna().all()
    assert all(hasattr(module, "n_words") for module, _ in LEARNERS.values())


def test_learners_of_our_own_may_use_ours():
    module = types.ModuleType("mine")
    module.__dict__.update({key: getattr(LEARNERS["q_learning"][0], key) for key in (
        "Params", "Memory", "init", "learn", "most_backups", "n_words")})  # fmt: skip
    ours = count_demands(MAZE, "q_learning", n_steps=100).steps
    pd.testing.assert_frame_equal(count_demands(MAZE, module, n_steps=100).steps, ours)


# -- growth -------------------------------------------------------------------------------


@pytest.mark.parametrize(("depth", "n_actions"), TREES)
@pytest.mark.parametrize("rewards", ["terminal", "intermittent"])
def test_a_reset_needs_what_episodic_control_needs(depth, n_actions, rewards):
    """The paper's claim: Q and one episode, here with V and U of each state besides."""
    tree = deterministic_tree(depth, n_actions, rewards)
    found = {}
    for name in ("episodic_control", "prioritized_sweeping_reset", "prioritized_sweeping"):
        demands = count_demands(tree, name, PAPER[name], n_steps=300 * depth)
        steps = demands.run.log.steps
        pairs = len(steps[["state", "action"]].drop_duplicates())
        found[name] = demands.steps, pairs, steps["state"].nunique()
    episodic, pairs, _ = found["episodic_control"]
    assert episodic["words"].max() == pairs + 3 * depth
    reset, pairs, states = found["prioritized_sweeping_reset"]
    an_episode = reset["words"].max() - pairs - 2 * states
    assert 8 * depth + 2 * (depth - 1) <= an_episode <= 13 * depth - 2
    kept, pairs, states = found["prioritized_sweeping"]
    assert kept["words"].max() - pairs - 2 * states >= 8 * pairs
    assert 1.0 <= reset["backups"].mean() / episodic["backups"].mean() < 1.15
    assert reset["comparisons"].mean() / episodic["comparisons"].mean() < 1.4
    assert reset["queue_operations"].mean() < 0.25


@pytest.fixture(scope="module")
def table():
    worlds = {
        "deterministic_tree_depth": (lambda n, seed: deterministic_tree(n, 2, seed=seed), [2, 4]),
        "stochastic_tree_actions": (lambda n, seed: stochastic_tree(2, n, seed=seed), [2, 4]),
    }
    return measure_demands(["episodic_control", "q_learning", "dyna_q"], worlds=worlds, n_mdps=1)


def test_demands_grow_with_the_world(table):
    assert table["learner"].unique().tolist() == ["episodic_control", "q_learning", "dyna_q"]
    for _, rows in table.groupby(["learner", "world"], observed=True):
        assert rows["words"].is_monotonic_increasing
    q_learning = table[table["learner"] == "q_learning"]
    assert (q_learning["words"] <= q_learning["n_states"] * q_learning["n_actions"]).all()
    assert q_learning["words"].iloc[-1] == 3 * 4
    assert (q_learning["backups"] == 1).all()
    assert (table[table["learner"] == "dyna_q"]["backups"] == 11).all()


def test_the_figure_has_words_beside_operations(table):
    trees = table[table["world"] == "stochastic_tree_actions"]
    figure = demands_figure(trees)
    assert len(figure.axes) == 2
    last = trees[trees["n_actions"] == 4]
    operations = last[["backups", "queue_operations", "comparisons"]].sum(axis=1)
    for ax, drawn in zip(figure.axes, (last["words"], operations), strict=True):
        assert {line.get_xdata()[-1] for line in ax.lines} == set(drawn)
    with pytest.raises(ValueError, match="holds several kinds of world"):
        demands_figure(table)
    with pytest.raises(ValueError, match="demands has no rows"):
        demands_figure(table[:0])
    with pytest.raises(ValueError, match="what must be one of"):
        plot_demands(table, figure.axes[0], "time")
    with pytest.raises(ValueError, match="lacks the columns"):
        plot_demands(table.drop(columns="words"), figure.axes[0])


def test_the_command_writes_table_and_figure(tmp_path, monkeypatch):
    build, _ = demands_of_worlds.GROWING_WORLDS["maze_size"]
    monkeypatch.setattr(demands_of_worlds, "GROWING_WORLDS", {"maze_size": (build, (4, 5))})
    arguments = ["demands", "--learner", "q_learning,episodic_control", "--n-worlds", "2"]
    done = CliRunner().invoke(app, [*arguments, "--jobs", "1", "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert "episodic_control" in done.stdout
    table = pd.read_csv(tmp_path / "out" / "demands.csv")
    assert len(table) == 2 * 2 * 2
    assert (tmp_path / "out" / "figures" / "demands_maze_size.png").exists()
