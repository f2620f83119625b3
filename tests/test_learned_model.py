"""The learned model, its forgetting and its bounds, compared with slow versions."""

from dataclasses import replace
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples
from test_learners import MAZE, assert_same_run, assert_same_table, worlds
from test_textbook import CHAIN, experienced, taught

from replay import feed, simulate
from replay.learners import find_learner
from replay.worlds.mazes import from_ascii
from replay.worlds.mdp import MDP
from replay.worlds.trees import deterministic_tree, stochastic_tree

SWEEPING = pytest.mark.parametrize("learner", ["prioritized_sweeping", "full_backups"])
DISCOUNT = 0.9
MODELS = {
    "counts": {},
    "leaky": {"forgetting": 0.3},
    "overwriting": {"forgetting": 1.0},
    "reversible": {"reversible": True},
    "recent_episodes": {"retention": "recent_episodes", "capacity": 2},
    "recent_transitions": {"retention": "recent_transitions", "capacity": 4},
    "fading": {"retention": "fading", "capacity": 1.5},
    "all_at_once": {
        "forgetting": 0.2,
        "reversible": True,
        "retention": "recent_transitions",
        "capacity": 5,
    },
}


class SlowModel:
    """What the docstrings say, with dicts, a pair at a time."""

    def __init__(
        self, forgetting=0.0, reversible=False, retention="recent_episodes", capacity=np.inf
    ):
        self.forgetting = forgetting
        self.reversible, self.retention, self.capacity = reversible, retention, capacity
        self.weights, self.reward = {}, {}
        self.assumed, self.goes, self.time, self.episode = set(), {}, 0, 0

    def learn(self, mdp, step):
        self.observe((step.state, step.action), step.next_state, step.reward)
        if self.reversible and not mdp.terminal[step.next_state]:
            back = mdp.way_back[step.state, step.action]
            pair = (step.next_state, back)
            if back >= 0 and pair not in self.weights:
                self.observe(pair, step.state, 0.0)
                self.assumed.add(pair)
        if step.terminated or step.truncated:
            self.episode += 1
            if self.retention in ("recent_episodes", "fading"):
                for pair in [pair for pair, end in self.goes.items() if end <= self.episode]:
                    self.forget(pair)

    def observe(self, pair, next_state, reward):
        if pair in self.assumed:
            self.assumed.remove(pair)
            del self.weights[pair]
        weights = self.weights.setdefault(pair, {})
        N = sum(weights.values())
        for outcome in weights:
            weights[outcome] *= 1 - self.forgetting
        mean = self.reward.get(pair, 0.0)
        kept = N * (1 - self.forgetting)
        self.reward[pair] = (mean * kept + reward) / (kept + 1)
        weights[next_state] = weights.get(next_state, 0.0) + 1
        self.retain(pair)

    def retain(self, pair):
        self.time += 1
        if self.retention == "recent_transitions":
            self.goes.pop(pair, None)
            while self.n_edges() > self.capacity and self.goes:
                self.forget(min(self.goes, key=self.goes.get))
            self.goes[pair] = self.time
        else:
            N = sum(self.weights[pair].values())
            stretch = 1 + log(N) if self.retention == "fading" else 1
            self.goes[pair] = self.episode + self.capacity * stretch

    def n_edges(self):
        return sum(sum(weight > 0 for weight in of.values()) for of in self.weights.values())

    def forget(self, pair):
        del self.weights[pair], self.goes[pair]
        self.assumed.discard(pair)

    def solve(self, mdp, action_values):
        """Iterate values; a pair that is not in the model keeps the value it has."""
        Q = np.where(np.isfinite(action_values), action_values, -np.inf)
        for _ in range(400):
            V = np.where(np.isfinite(Q).any(axis=1), Q.max(axis=1), 0.0)
            V[mdp.terminal] = 0.0
            for pair, weights in self.weights.items():
                N = sum(weights.values())
                mean = sum(weight * V[outcome] for outcome, weight in weights.items()) / N
                Q[pair] = self.reward[pair] + DISCOUNT * mean
        return Q


CASES = [
    *(("prioritized_sweeping", kind) for kind in MODELS),
    ("full_backups", "counts"),
    ("full_backups", "reversible"),
]


@pytest.mark.parametrize(("learner", "kind"), CASES)
@given(data=st.data())
@examples(60)
def test_an_empty_queue_says_that_the_model_is_solved(learner, kind, data):
    """Compiled without options; compiled options are compared with their source below."""
    world = data.draw(worlds())
    initial_value = data.draw(st.sampled_from([0.0, np.inf]))
    params = {"discount": DISCOUNT, "initial_value": initial_value, "epsilon": 0.5}
    params |= {"max_pops": 100_000, "min_priority": 1e-13} | MODELS[kind]
    seed, n_steps = data.draw(st.integers(0, 99)), data.draw(st.integers(1, 80))
    own = replace(find_learner(learner, params), compiled=kind == "counts")
    run = simulate(world, own, n_steps=n_steps, seed=seed, max_episode_steps=9)
    model = SlowModel(**MODELS[kind])
    for step in run.log.steps.itertuples():
        model.learn(world, step)
    learned = run.memory.model
    known = {(int(s), int(a)) for s, a in zip(*np.nonzero(learned.visits), strict=True)}
    assert known == set(model.weights)
    for pair, weights in model.weights.items():
        assert learned.visits[pair] == pytest.approx(sum(weights.values()))
    assert learned.n_edges[0] == model.n_edges()
    Q = run.memory.action_values
    assert run.memory.queue.size[0] == 0
    tried = np.isfinite(Q) & ~world.terminal[:, None]
    np.testing.assert_allclose(Q[tried], model.solve(world, Q)[tried], rtol=0, atol=1e-10)


# What is on decides what is compiled, which takes a while.
OPTIONS = [
    ("full_backups", {"replay_at": "start_and_end", "reversible": True, "max_pops": 9}),
    ("prioritized_sweeping", {"forgetting": 0.3, "priority": "random", "max_pops": 9}),
    pytest.param(
        "prioritized_sweeping",
        {"retention": "fading", "capacity": 3, "priority": "recency", "reversible": True},
        marks=pytest.mark.slow,
    ),
    pytest.param(
        "prioritized_sweeping",
        {
            "retention": "valuable_transitions",
            "capacity": 5,
            "priority": "need",
            "replay_at": "start_and_end",
        },
        marks=pytest.mark.slow,
    ),
]


@pytest.mark.parametrize(("learner", "options"), OPTIONS)
def test_compiled_code_does_what_the_source_says(learner, options, request):
    mdps = [MAZE, stochastic_tree(seed=1)]
    compiled = [simulate(mdp, learner, options, n_steps=100, log="all") for mdp in mdps]
    request.getfixturevalue("plain")
    for mdp, run in zip(mdps, compiled, strict=True):
        assert not run.log.backups.empty
        assert_same_run(run, simulate(mdp, learner, options, n_steps=100, log="all"))


# -- a world that changes -----------------------------------------------------------------


MOVED = [(0, 0, 0.0, 1)] * 3 + [(0, 0, 0.0, 2)] * 2
"""One action in state 0 that led to state 1 three times, and now leads to state 2."""


def shares(memory, state=0, action=0):
    model, found = memory.model, {}
    edge = model.first_out[state, action]
    while edge >= 0:
        row = model.edges[edge]
        found[int(row["next_state"])] = row["count"] / model.visits[state, action]
        edge = row["next_out"]
    return found


def moved(n, **params):
    return taught(
        "prioritized_sweeping",
        experienced(*([row] for row in MOVED[:n]), ends="truncated"),
        **params,
    )


@pytest.mark.usefixtures("plain")
def test_three_models_of_a_move():
    """Counts 3 : 2; halved each time 7/8 : 1 : 1/2 ..., and the last outcome only."""
    assert shares(moved(5)[0]) == pytest.approx({1: 3 / 5, 2: 2 / 5})
    leaky = {1: (1 + 1 / 2 + 1 / 4) / 4, 2: 1 + 1 / 2}
    total = sum(leaky.values())
    assert shares(moved(5, forgetting=0.5)[0]) == pytest.approx(
        {state: weight / total for state, weight in leaky.items()}
    )
    assert shares(moved(4, forgetting=1.0)[0]) == {2: 1.0}


@pytest.mark.usefixtures("plain")
def test_leaky_integration_is_the_papers_once_a_pair_is_known():
    """p <- (1 - kappa) p + kappa 1[s'] after many outcomes."""
    rows = [[(0, 0, 0.0, 1)]] * 200
    before, _ = taught("prioritized_sweeping", experienced(*rows, ends="truncated"), forgetting=0.2)
    assert before.model.visits[0, 0] == pytest.approx(1 / 0.2)
    rows = [*rows, [(0, 0, 0.0, 2)]]
    after, _ = taught("prioritized_sweeping", experienced(*rows, ends="truncated"), forgetting=0.2)
    assert shares(after) == pytest.approx({1: 0.8, 2: 0.2})


@pytest.mark.usefixtures("plain")
def test_weight_that_is_lost_altogether_is_not_replayed():
    """Half the weight, a hundred times: the edge is gone, and its place is used again."""
    rows = [[(0, 0, 0.0, 1)], *[[(0, 0, 0.0, 2)]] * 110, [(0, 0, 0.0, 3)]]
    memory, _ = taught("prioritized_sweeping", experienced(*rows, ends="truncated"), forgetting=0.5)
    assert set(shares(memory)) == {2, 3}
    assert memory.model.n_edges[0] == memory.model.n_places[0] == 2
    assert memory.model.first_in[1] == -1
    assert memory.model.n_in.tolist() == [0, 0, 1, 1]


# -- ways back ----------------------------------------------------------------------------


CORRIDOR = from_ascii("S...G")


@pytest.mark.usefixtures("plain")
def test_ways_back():
    table = CORRIDOR.way_back
    for state in range(CORRIDOR.n_states):
        for action in range(CORRIDOR.n_actions):
            back = table[state, action]
            (after,) = CORRIDOR.successors(state, action) if state != 4 else (state,)
            if after in (state, 4):
                assert back == -1
            else:
                assert CORRIDOR.successors(after, back).tolist() == [state]
    assert (table >= 0).sum() == 6
    one_way = MDP.from_tables([[1], [2], [2]], reward=[0, 1, 0], start=0, terminal=[2])
    assert (one_way.way_back == -1).all()
    assert (stochastic_tree(seed=0).way_back == -1).all()


@pytest.mark.usefixtures("plain")
@SWEEPING
def test_a_corridor_walked_once_is_known_both_ways(learner):
    """A reward met at its beginning is known at its end."""
    right = int(np.flatnonzero([CORRIDOR.successors(1, a).tolist() == [2] for a in range(4)])[0])
    left = int(CORRIDOR.way_back[1, right])
    rows = [(1, left, 1.0, 0), (0, right, 0.0, 1), (1, right, 0.0, 2), (2, right, 0.0, 3)]
    table = experienced(rows, ends="truncated")
    values = {}
    for reversible in (False, True):
        params = {"discount": 0.5, "max_pops": 100, "reversible": reversible}
        memories = []
        feed(
            learner,
            table,
            n_states=5,
            n_actions=4,
            mdp=CORRIDOR,
            params=params,
            on_step=lambda k, memory, memories=memories: memories.append(memory),
        )
        values[reversible] = memories[-1].action_values
    # Between states 0 and 1 the reward is collected on every way left: V(1) = 1 + V(1)/4.
    first = 1 / (1 - 1 / 4)
    np.testing.assert_allclose(
        values[True][1:4, left], [first, first / 2, first / 4], rtol=0, atol=1e-7
    )
    assert values[False][2:4, left].tolist() == [0.0, 0.0]


@pytest.mark.usefixtures("plain")
def test_what_was_assumed_is_replaced_by_what_is_found():
    right = int(np.flatnonzero([CORRIDOR.successors(1, a).tolist() == [2] for a in range(4)])[0])
    left = int(CORRIDOR.way_back[1, right])
    rows = [(1, right, 0.0, 2), (2, left, 3.0, 1)]
    sizes = {"n_states": 5, "n_actions": 4}
    log = feed(
        "prioritized_sweeping",
        experienced(rows, ends="truncated"),
        mdp=CORRIDOR,
        params={"reversible": True, "max_pops": 0},
        **sizes,
    )
    assert log.backups[["state", "action", "next_state", "q_after"]].to_numpy().tolist() == [
        [1, right, 2, 0.0],
        [2, left, 1, 0.0],
        [2, left, 1, 3.0],
    ]
    with pytest.raises(ValueError, match=r"reversible=True must know .* got no mdp; give mdp="):
        feed("full_backups", experienced(rows), params={"reversible": True}, **sizes)
    with pytest.raises(ValueError, match="got an mdp of 1 actions"):
        feed(
            "full_backups",
            experienced(CHAIN),
            mdp=MDP.from_tables([[1], [2], [3], [3]], reward=[0, 0, 1, 0], terminal=[3]),
            params={"reversible": True},
            n_states=4,
            n_actions=2,
        )


# -- bounded memory -----------------------------------------------------------------------


def remembered(*episodes, **params):
    memory, _ = taught("prioritized_sweeping", experienced(*episodes), **params)
    return [(int(s), int(a)) for s, a in zip(*np.nonzero(memory.model.visits), strict=True)]


TRIES = [[(0, 0, 3.0, 3)], [(1, 0, 1.0, 3)], [(0, 0, 3.0, 3)], [(2, 0, 2.0, 3)]]


@pytest.mark.usefixtures("plain")
def test_what_is_forgotten():
    for k, expected in [(1, []), (2, [2]), (3, [0, 2]), (4, [0, 1, 2])]:
        kept = remembered(*TRIES, retention="recent_episodes", capacity=k)
        assert [s for s, _ in kept] == expected
    for m, expected in [(1, [2]), (2, [0, 2]), (3, [0, 1, 2])]:
        kept = remembered(*TRIES, retention="recent_transitions", capacity=m)
        assert [s for s, _ in kept] == expected
    # The pair just tried stays, whatever it is worth; of the others the best.
    kept = remembered(*TRIES, retention="valuable_transitions", capacity=2)
    assert [s for s, _ in kept] == [0, 2]
    kept = remembered(*TRIES, [(1, 0, 1.0, 3)], retention="valuable_transitions", capacity=2)
    assert [s for s, _ in kept] == [0, 1]
    # State 0 was tried twice, so from its last episode on its trace lasts for 3 (1 + log 2) = 5.1.
    for n_more, expected in [(0, [0, 2]), (1, [0, 1, 2]), (2, [0, 1]), (3, [0, 1]), (4, [1])]:
        kept = remembered(*TRIES, *TRIES[1:2] * n_more, retention="fading", capacity=3)
        assert [s for s, _ in kept] == expected


@pytest.mark.usefixtures("plain")
def test_value_is_that_of_now():
    """A sweep raises the value of (0, 0), so (1, 1) goes instead."""
    path = [(0, 0, 0.0, 1), (1, 1, 1.0, 2)]
    rich = [(1, 0, 9.0, 3)]
    memory, _ = taught(
        "prioritized_sweeping",
        experienced(path, rich, [(2, 0, 0.0, 3)], ends="truncated"),
        retention="valuable_transitions",
        capacity=3,
        discount=0.5,
    )
    assert memory.action_values[0, 0] == 4.5
    assert memory.model.visits[:3].tolist() == [[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]


@pytest.mark.usefixtures("plain")
def test_a_forgotten_pair_keeps_its_value_and_begins_anew():
    """Its new value does not reach predecessors that were forgotten, too."""
    episodes = [[(0, 0, 4.0, 3)], [(1, 0, 0.0, 0), (0, 1, 0.0, 3)], [(0, 0, 1.0, 3)]]
    params = {"discount": 0.5, "retention": "recent_transitions"}
    for n, capacity, first, second in [(2, 2, 4.0, 2.0), (3, 2, 1.0, 2.0), (3, 9, 2.5, 1.25)]:
        table = experienced(*episodes[:n])
        memory, _ = taught("prioritized_sweeping", table, capacity=capacity, **params)
        assert memory.action_values[:2, 0].tolist() == [first, second]


def test_one_episode_is_a_model_reset():
    """In a deterministic tree, where the sweep at an episode's end walks back along it."""
    tree = deterministic_tree(rewards="terminal", seed=2)
    shared = {"discount": 1.0, "initial_value": np.inf}
    reset = simulate(tree, "prioritized_sweeping_reset", shared, n_steps=2000)
    bounded = {"retention": "recent_episodes", "capacity": 1, "replay_at": "episode_end"}
    bounded |= shared | {"max_pops": 5}
    one = simulate(tree, "prioritized_sweeping", bounded, n_steps=2000)
    assert_same_table(one.log.columns("steps"), reset.log.columns("steps"))
    assert_same_table(one.log.columns("backups"), reset.log.columns("backups"))


@pytest.mark.usefixtures("plain")
def test_at_most_so_many_transitions():
    for retention in ("recent_transitions", "valuable_transitions"):
        counts = []
        maze = from_ascii("S..\n.#.\n..G")
        params = {"retention": retention, "capacity": 7, "epsilon": 0.5}
        steps = simulate(maze, "prioritized_sweeping", params, n_steps=400).log.steps
        feed(
            "prioritized_sweeping",
            steps,
            n_states=maze.n_states,
            n_actions=maze.n_actions,
            params=params,
            on_step=lambda k, memory, counts=counts: counts.append(int(memory.model.n_edges[0])),
        )
        assert max(counts) == 7
        assert min(counts[50:]) == 7


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"retention": "all"}, "retention of .* must be one of recent_episodes, .* got 'all'"),
        ({"retention": 4}, "must be one of .* got 4"),
        ({"capacity": 0}, "capacity of .* must be at least 1, got 0"),
        ({"forgetting": 1.5}, "forgetting of .* must be between 0 and 1, got 1.5"),
    ],
)
def test_unusable_options(params, message):
    with pytest.raises(ValueError, match=message):
        simulate(MAZE, "prioritized_sweeping", params, n_steps=10)
