"""The experiments have the published code's parameters, and their variants the paper's."""

import numpy as np
import pytest

from replay.experiments import (
    DISCREPANCIES,
    EXPERIMENTS,
    PAPER_LEARNERS,
    VARIANTS,
    find_experiment,
    find_variant,
)
from replay.learners import LEARNERS
from replay.simulation import feed, simulate
from replay.worlds.mdp import MDP

TREES = ("deterministic_tree", "deterministic_tree_intermittent", "stochastic_tree")
SWEEPS = ("prioritized_sweeping", "prioritized_sweeping_optimistic", "prioritized_sweeping_reset")
INF = np.inf
PUBLISHED = {
    # Deterministic trees, stochastic tree, maze.
    ("q_learning", "learning_rate"): (1, 0.1, 1),
    ("q_learning", "initial_value"): (INF, INF, INF),
    ("q_learning_optimistic", "learning_rate"): (1, 0.1, 1),
    ("q_learning_optimistic", "initial_value"): (5, 5, 1 / 200),
    ("q_lambda", "learning_rate"): (1, 0.1, 0.005),
    ("q_lambda", "trace_decay"): (0.2, 0.2, 0.2),
    ("q_lambda", "initial_value"): (INF, INF, INF),
    ("n_step_td", "learning_rate"): (0.08, 0.05, 0.01),
    ("n_step_td", "n"): (10, 10, 25),
    ("n_step_td", "trace_decay"): (0.8, 0.8, 0.8),
    ("n_step_td", "initial_value"): (INF, INF, INF),
    ("prioritized_sweeping", "max_pops"): (3, 3, 3),
    ("prioritized_sweeping", "min_priority"): (1e-8, 1e-8, 1e-8),
    ("prioritized_sweeping", "initial_value"): (INF, INF, INF),
    ("prioritized_sweeping", "reset_model"): (False, False, False),
    ("prioritized_sweeping_optimistic", "max_pops"): (3, 3, 3),
    ("prioritized_sweeping_optimistic", "min_priority"): (1e-8, 1e-8, 1e-8),
    ("prioritized_sweeping_optimistic", "initial_value"): (5, 5, 5),
    ("prioritized_sweeping_optimistic", "reset_model"): (False, False, False),
    ("prioritized_sweeping_reset", "min_priority"): (1e-8, 1e-8, 1e-8),
    ("prioritized_sweeping_reset", "initial_value"): (INF, INF, INF),
    ("prioritized_sweeping_reset", "reset_model"): (True, True, True),
    ("monte_carlo", "initial_value"): (INF, INF, INF),
    ("episodic_control", "initial_value"): (INF, INF, INF),
}
SIZES = {
    "deterministic_tree": (100, 8, 20_000, 342),
    "deterministic_tree_intermittent": (100, 8, 20_000, 342),
    "stochastic_tree": (100, 50, 10_000, 16),
    "maze": (50, 8, 1_000_000, None),
}


def changed(experiment, variant):
    """Return what a variant changes: learner -> parameter -> its value."""
    published, ours = EXPERIMENTS[experiment], EXPERIMENTS[experiment].variant(variant)
    found = {}
    for learner, params in ours.parameters.items():
        before = published.parameters[learner]._asdict()
        after = {key: value for key, value in params._asdict().items() if value != before[key]}
        if after:
            found[learner] = after
    return found


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_parameters_are_the_published_codes(name):
    experiment = EXPERIMENTS[name]
    column = {"stochastic_tree": 1, "maze": 2}.get(name, 0)
    assert list(experiment.parameters) == list(LEARNERS)
    assert tuple(LEARNERS)[:9] == PAPER_LEARNERS
    discounts = {getattr(each, "discount", None) for each in experiment.parameters.values()}
    assert discounts == {experiment.discount, None}  # who computes no values needs none
    for (learner, key), values in PUBLISHED.items():
        assert getattr(experiment.parameters[learner], key) == values[column], (learner, key)
    checked = {key for _, key in PUBLISHED}
    for learner in PAPER_LEARNERS:
        own = experiment.parameters[learner]._asdict()
        assert own.pop("discount") == (0.99 if name == "maze" else 1.0)
        assert own.pop("epsilon") == 0.1
        assert own.pop("act_before_update", True)
        if learner in SWEEPS:
            assert own.pop("priority_only_lowers")
            assert own.pop("queue_visited")
        textbook = LEARNERS[learner][1]._asdict()
        assert {key for key in own if own[key] != textbook[key]} <= checked
    assert (experiment.discount, experiment.epsilon) == (0.99 if name == "maze" else 1.0, 0.1)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_sizes_are_the_papers(name):
    experiment = find_experiment(name)
    n_mdps, n_seeds, n_steps, n_states = SIZES[name]
    assert (experiment.n_mdps, experiment.n_seeds, experiment.n_steps) == (n_mdps, n_seeds, n_steps)
    mdp = experiment.mdp(0)
    assert mdp.n_actions == 4
    assert mdp.n_states == n_states or 900 < mdp.n_states < 1080


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_worlds_depend_on_their_numbers_only(name):
    experiment = EXPERIMENTS[name]
    one = experiment.mdp(3, seed=1)
    assert np.array_equal(one.reward, experiment.mdp(3, seed=1).reward)
    assert np.array_equal(one.successor, experiment.variant("text").mdp(3, seed=1).successor)
    for other in (experiment.mdp(4, seed=1), experiment.mdp(3, seed=2)):
        assert not np.array_equal(one.reward, other.reward)


def test_worlds_of_both_deterministic_trees_are_drawn_apart():
    terminal, intermittent = (EXPERIMENTS[name].mdp(0).reward for name in TREES[:2])
    assert not np.isin(terminal[terminal > 0], intermittent).any()


def test_run_seeds_are_distinct_and_repeat():
    seeds = [
        experiment.run_seed(index, run, seed)
        for experiment in EXPERIMENTS.values()
        for index in range(20)
        for run in range(8)
        for seed in range(3)
    ]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert EXPERIMENTS["maze"].variant("text").run_seed(5, 2) == EXPERIMENTS["maze"].run_seed(5, 2)


def test_the_same_numbers_give_the_same_run():
    experiment = EXPERIMENTS["stochastic_tree"]
    one, again, other = (
        simulate(
            experiment.mdp(0),
            "prioritized_sweeping",
            experiment.parameters["prioritized_sweeping"],
            n_steps=400,
            seed=experiment.run_seed(0, run),
        ).log.steps
        for run in (0, 0, 1)
    )
    assert one.equals(again)
    assert not one["action"].equals(other["action"])


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_each_discrepancy_changes_what_the_papers_text_has_otherwise(name):
    maze = name == "maze"
    third = pytest.approx(0.1 * 4 / 3)
    start = {
        "q_learning_optimistic": {"initial_value": 5.0},
        "prioritized_sweeping_optimistic": {"initial_value": 0.005},
    }
    expected = {
        "D1": {"n_step_td": {"trace_decay": 0.0}},
        "D2": {} if maze else {"n_step_td": {"n": 5}},
        "D3": start if maze else {},
        "D4": {learner: {"epsilon": third} for learner in PAPER_LEARNERS},
        "D5": {},
        "D6": {"prioritized_sweeping_reset": {"queue_visited": False}},
        "D13": {learner: {"priority_only_lowers": False} for learner in SWEEPS},
    }
    assert list(expected) == list(DISCREPANCIES)
    for discrepancy, values in expected.items():
        assert changed(name, discrepancy) == values
    together = {learner: {} for learner in PAPER_LEARNERS}
    for values in expected.values():
        for learner, own in values.items():
            together[learner].update(own)
    assert changed(name, "text") == together


def test_variants_are_named_or_made_of_discrepancies():
    assert find_variant("published") == ()
    assert find_variant("text") == tuple(DISCREPANCIES)
    assert find_variant("fixed") == find_variant("D13")
    assert changed("maze", "published") == {}
    both = {"n_step_td": {"n": 5, "trace_decay": 0.0}}
    assert changed("stochastic_tree", "D1+D2") == changed("stochastic_tree", "D2+D1") == both


@pytest.mark.parametrize("name", ["txt", "D7", "D1,D2", "", "text+D1"])
def test_unknown_variants_list_the_choices(name):
    with pytest.raises(ValueError, match=r"published, text, fixed.*D1, D2, D3, D4, D5, D6, D13"):
        EXPERIMENTS["maze"].variant(name)


def test_changes_name_known_learners_and_experiments():
    for discrepancy in DISCREPANCIES.values():
        assert set(discrepancy.changes) <= set(EXPERIMENTS)
        for changes in discrepancy.changes.values():
            assert set(changes) <= set(PAPER_LEARNERS)
    assert all(set(names) <= set(DISCREPANCIES) for names in VARIANTS.values())


def bandit(n_best):
    """One choice of four, of which so many are rewarded."""
    reward = np.zeros((2, 4))
    reward[0, :n_best] = 1.0
    return MDP.from_tables(np.full((2, 4), 1), reward, start=0, terminal=[1])


@pytest.mark.parametrize(("n_best", "not_optimal"), [(1, 0.1), (2, 0.2 / 3), (4, 0.0)])
def test_the_texts_epsilon_is_the_probability_of_an_action_that_is_not_optimal(n_best, not_optimal):
    """It is exactly that where one action is optimal, and less where several are."""
    mdp = bandit(n_best)
    best = mdp.solve(1.0).policy
    assert 1 - mdp.reward_rate(best, EXPERIMENTS["maze"].variant("text").epsilon) == pytest.approx(
        not_optimal
    )


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow) if name == "maze" else name
        for name in EXPERIMENTS
    ],
)
def test_a_reset_forgets_rewards_without_a_table_of_them(name):
    """D5: since the last reset Q is the mean reward and U of what followed, and stays otherwise.

    A learner that keeps observed rewards, and clears them at each reset, has the same values.
    """
    experiment = EXPERIMENTS[name]
    mdp, params = experiment.mdp(0), experiment.parameters["prioritized_sweeping_reset"]
    n_steps = 10_000 if name == "maze" else 1000
    log = simulate(mdp, "prioritized_sweeping_reset", params, n_steps=n_steps, seed=1).log
    steps = log.steps
    columns = ("state", "action", "next_state", "reward", "terminated")
    state, action, next_state, reward, ends = (steps[name].to_numpy() for name in columns)
    compared, kept = [], np.full(mdp.n_states * mdp.n_actions, np.inf)

    def compare(k, memory):
        if ends[k]:
            episode = slice(compared[-1] + 1 if compared else 0, k + 1)
            pair = state[episode] * mdp.n_actions + action[episode]
            future = params.discount * memory.known_values[next_state[episode]]
            future[-1] = 0.0
            count = np.bincount(pair, minlength=len(kept))
            total = np.bincount(pair, reward[episode] + future, minlength=len(kept))
            known = np.where(count > 0, total / np.maximum(count, 1), kept)
            Q = memory.action_values.ravel()
            np.testing.assert_allclose(Q, known, rtol=1e-9, atol=1e-12)
            kept[:] = Q
            compared.append(k)

    feed(
        "prioritized_sweeping_reset",
        steps,
        n_states=mdp.n_states,
        n_actions=mdp.n_actions,
        params=params,
        on_step=compare,
        log="replay",
    )
    assert len(compared) == ends.sum() > 0


def test_with_the_last_state_queued_a_reset_makes_it_episodic_control():
    """D6, with rewards all along a deterministic tree; the published code queues all states."""
    experiment = EXPERIMENTS["deterministic_tree_intermittent"]

    def rates(learner, variant):
        return [
            simulate(
                experiment.mdp(index),
                learner,
                experiment.variant(variant).parameters[learner],
                n_steps=5000,
                seed=experiment.run_seed(index, 0),
                log="none",
            )
            .reward_rate["reward_rate"]
            .tolist()
            for index in range(5)
        ]

    episodic = rates("episodic_control", "published")
    assert rates("prioritized_sweeping_reset", "D6") == episodic
    assert rates("prioritized_sweeping_reset", "published") != episodic


def test_unknown_experiments_are_named_with_the_choices():
    with pytest.raises(ValueError, match=r"Did you mean 'maze'\? Choose from: deterministic_tree"):
        find_experiment("mase")
