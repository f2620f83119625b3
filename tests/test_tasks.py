"""Tasks: their mazes, their laps, and the states along these."""

import dataclasses
import itertools
import math
from collections import Counter

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from replay.tasks import State, run_task
from replay.tasks.published import TASKS, find_maze, find_task, maze_graph
from replay.worlds.mazes import open_maze

# Nodes and edges of each maze as the studies describe it, counted by hand.
SIZES = {
    "linear_track": (10, 9),
    "long_track": (42, 41),
    "two_tracks": (20, 18),
    "gupta_2t": (37, 38),
    "barrier_arena": (25, 40),
    "w_track": (25, 24),
    "t_unvisited": (22, 21),
    "t_revaluation": (21, 20),
    "eight_arm": (36, 35),
    "y_maze": (19, 18),
    "liu2021_three_arm": (23, 24),
    "liu2019_chains": (8, 6),
    "mattar_open_maze": (47, 70),
}
TWO_WAY = {"linear_track", "long_track", "w_track", "t_unvisited", "eight_arm", "y_maze"}
SETTINGS = {"learning_rate": 1.0, "discount": 0.9, "max_pops": 20, "replay_at": "start_and_end"}


def build(name):
    return find_task(name).build()


@pytest.fixture(scope="module")
def tasks():
    return {name: build(name) for name in TASKS}


def given_laps(task, seed=0):
    """Run the protocol as it is given."""
    protocol = task.laps(np.random.default_rng(seed))
    laps = []
    lap = next(protocol, None)
    while lap is not None:
        laps.append(lap)
        try:
            lap = protocol.send(lap.path)
        except StopIteration:
            lap = None
    return laps


def nodes_of(task, lap):
    return [task.model.states[state].node for state in lap.path]


def run(task, learner="episodic_control", seed=0, **more):
    return run_task(task, learner, {"discount": 0.9}, seed=seed, **more)


def maze_of(name):
    return "linear_track" if name.startswith("linear") else name.removesuffix("_unknown")


# -- mazes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SIZES)
def test_mazes_have_the_shape_of_the_studies(name):
    graph = maze_graph(name)
    assert (len(graph), len(graph.edges)) == SIZES[name]
    pieces = list(nx.connected_components(graph.to_undirected()))
    assert len(pieces) == (2 if name in ("liu2019_chains", "two_tracks") else 1)
    assert graph.is_directed() == name.startswith("liu")
    places = [data["pos"] for _, data in graph.nodes(data=True)]
    assert len(set(places)) == len(places)
    maze = find_maze(name)
    assert {node for nodes in maze["landmarks"].values() for node in nodes} <= set(graph)
    assert maze["known"]
    assert maze["chosen"]


def distance(graph, *nodes):
    return sum(
        math.dist(graph.nodes[u]["pos"], graph.nodes[v]["pos"])
        for u, v in itertools.pairwise(nodes)
    )


def test_lengths_are_those_that_are_known():
    assert distance(maze_graph("linear_track"), *"0123456789") == pytest.approx(180)
    track = maze_graph("long_track")
    assert distance(track, *track) == pytest.approx(1030, rel=0.01)
    t_maze = maze_graph("t_unvisited")
    stem = [*(f"s{k}" for k in range(11)), "J"]
    assert distance(t_maze, *stem) == pytest.approx(222, abs=1)
    for arm in ("cued", "uncued"):
        assert distance(t_maze, "J", *(f"{arm}{k}" for k in range(1, 6))) == pytest.approx(100)
    arena = maze_graph("barrier_arena")
    for here, there in find_maze("barrier_arena")["barrier_slots"]:
        assert distance(arena, here, there) == pytest.approx(23)


def test_shapes_that_matter():
    gupta = maze_graph("gupta_2t")
    assert sorted(dict(gupta.degree).values()) == [2] * 35 + [3, 3]
    marks = find_maze("gupta_2t")["landmarks"]
    assert [gupta.degree[node] for node in marks["maze_start"] + marks["choice"]] == [3, 3]
    assert not set(marks["left_loop"]) & set(marks["right_loop"])
    assert len(marks["left_loop"]) + len(marks["right_loop"]) + len(marks["stem"]) == 37
    assert maze_graph("w_track").degree["X"] == 3
    assert maze_graph("eight_arm").degree["box"] == 11
    assert math.comb(12, 6) == 924 == math.comb(len(find_maze("barrier_arena")["barrier_slots"]), 6)
    tree = maze_graph("liu2021_three_arm")
    assert [tree.in_degree[end] for end in ("end_X", "end_Y")] == [3, 3]
    for start in ("start_rare", "start_occasional", "start_common"):
        ways = {end: nx.shortest_path_length(tree, start, end) for end in ("end_X", "end_Y")}
        assert ways == {"end_X": 4, "end_Y": 4}


def test_the_open_maze_is_the_one_of_the_learners():
    drawn, known = maze_graph("mattar_open_maze"), open_maze()

    def moves(pairs):
        return {frozenset(pair) for pair in pairs if len(set(pair)) == 2}

    place = {node: tuple(data["pos"]) for node, data in drawn.nodes(data=True)}
    there = [tuple(position - 10) for position in known.position]  # it has a wall around
    rows = known.transition_rows() // known.n_actions
    expected = moves((there[s], there[t]) for s, t in zip(rows, known.successor, strict=True))
    assert moves((place[u], place[v]) for u, v in drawn.edges) == expected
    (goal,) = find_maze("mattar_open_maze")["landmarks"]["goal"]
    assert place[goal] == there[int(np.flatnonzero(known.terminal)[0])]


def test_lanes_of_the_linear_track(tasks):
    """Two lanes of ten states; beside running on, one can turn round."""
    task = tasks["linear_track"]
    assert task.places == tuple(f"{way}{k}" for way in ("out", "in") for k in range(10))
    world = task.world
    rows = world.transition_rows() // world.n_actions
    moves = {
        (task.places[s], task.places[t])
        for s, t in zip(rows, world.successor, strict=True)
        if s != t
    }
    on = {(f"out{k}", f"out{k + 1}") for k in range(9)} | {
        (f"in{k + 1}", f"in{k}") for k in range(9)
    }
    turns = {(f"out{k}", f"in{k - 1}") for k in range(1, 9)}
    turns |= {(f"in{k}", f"out{k + 1}") for k in range(1, 9)}
    assert on <= moves
    # The ends of the lanes are where laps end or begin: one that came back to its start turns.
    assert moves - on - turns <= {("in0", "out1"), ("out9", "in8")}


@pytest.mark.parametrize("name", TASKS)
def test_analysed_states(tasks, name):
    task = tasks[name]
    places = list(zip(task.node, task.places, strict=True))
    assert len(set(task.places)) == len(task.places) == task.world.n_states
    assert set(task.node) == set(task.graph)
    assert set(task.analysed.tolist()) == set(range(len(places)))
    for state, place in zip(task.model.states, task.analysed, strict=True):
        assert places[place][0] == state.node
        assert bool(state.heading) == (maze_of(name) in TWO_WAY)
    assert task.one_way == (maze_of(name) in TWO_WAY or name.startswith("liu"))
    assert {node for nodes in task.landmarks.values() for node in nodes} <= set(task.graph)
    assert np.linalg.norm(np.diff(task.position, axis=0), axis=1).min() > 0
    assert "Known:" in task.remark
    assert "Chosen:" in task.remark
    # Headings of a place lie side by side.
    middle = pd.DataFrame(task.position).groupby(list(task.node)).mean()
    drawn = pd.DataFrame({node: task.graph.nodes[node]["pos"] for node in task.graph}).T
    if maze_of(name) in TWO_WAY:
        both = [node for node, n in Counter(task.node).items() if n == 2]
        np.testing.assert_allclose(middle.loc[both], drawn.loc[both], atol=1e-9)


# -- states -------------------------------------------------------------------------------------


def slow_step(task, rule, closed, state, action):
    """What one move does, by hand; `rule` is the one of the state's memory."""
    x, y = task.graph.nodes[state.node]["pos"]

    def angle(node):
        there = task.graph.nodes[node]["pos"]
        return round(math.degrees(math.atan2(there[1] - y, there[0] - x)) % 360, 6) % 360

    neighbours = sorted(task.graph.adj[state.node], key=angle)
    if action >= len(neighbours) or (state.node, neighbours[action]) in closed:
        return state, 0.0
    node = neighbours[action]
    heading = ""
    if state.heading:
        home = next(n for n, steps in task.model.steps_from_home.items() if steps == 0)
        before, after = (
            nx.shortest_path_length(task.graph, home, place) for place in (state.node, node)
        )
        heading = ">" if after > before else "<"
    return State(node, heading, state.memory, node in rule.ends), dict(rule.rewards).get(node, 0.0)


@pytest.mark.parametrize("name", ["linear_track", "gupta_2t", "w_track", "eight_arm", "y_maze"])
def test_worlds_agree_with_a_slow_walk(tasks, name, rng):
    task = tasks[name]
    rules = {rule.memory: rule for rule in reversed(task.model.rules)}
    closed = task.blocks[1].closed
    world = task.model.world(closed=closed)
    task.model.world(start=0)
    with pytest.raises(ValueError, match="start must be a whole number"):
        task.model.world(start=False)
    rewards = world.expected_reward()
    for memory, rule in rules.items():
        for start in rule.start:
            state = task.model.start(start, memory)
            for _ in range(200):
                action = int(rng.integers(world.n_actions))
                expected, reward = slow_step(task, rule, closed, state, action)
                number = task.model.number[state]
                (entered,) = world.successors(number, action)
                assert task.model.states[entered] == expected
                assert rewards[number, action] == reward
                assert world.terminal[entered] == expected.end
                state = task.model.start(start, memory) if expected.end else expected


@pytest.mark.parametrize("name", TASKS)
def test_given_laps_can_be_run(tasks, name):
    """Each lap starts where it says, moves along open edges, and ends with its last state only."""
    task = tasks[name]
    for seed in range(2):
        laps = given_laps(task, seed)
        if name != "eight_arm":
            assert len(laps) == sum(block.n_laps for block in task.blocks)
        blocks = {block.name: block for block in task.blocks}
        for lap in laps:
            assert lap.path[0] == lap.start == np.flatnonzero(lap.world.start_probability)[0]
            assert lap.world.n_states == len(task.model.states)
            assert lap.world.terminal[list(lap.path)].tolist() == [False] * (len(lap.path) - 1) + [
                True
            ]
            assert lap.block in blocks
            for here, there in itertools.pairwise(lap.path):
                action = task.model.action(here, there)
                assert lap.world.successors(here, action).tolist() == [there]
            way = nodes_of(task, lap)
            if task.lap_names:
                assert lap.name == task.lap_names[way[0], way[-1]]
        # Rest comes after each block that has some, and nowhere else.
        last = [a for a, b in itertools.zip_longest(laps, laps[1:]) if b is None or a.n_rest]
        assert {lap.block for lap in last if lap.n_rest} == {
            block.name for block in task.blocks if block.n_laps and block.n_rest
        }


def carried(task, laps):
    """Count laps that begin elsewhere than the one before ended."""
    ways = [nodes_of(task, lap) for lap in laps]
    return sum(a[-1] != b[0] for a, b in itertools.pairwise(ways))


def test_animals_are_carried_between_sessions_only(tasks):
    """Except in tasks of people and the open maze, whose laps begin anywhere."""
    n_carried = {
        "linear_track": 0,
        "linear_track_novel": 0,
        "linear_track_4x": 0,
        "long_track": 0,
        "two_tracks": 1,
        "gupta_2t": 5,
        "w_track": 0,
        "eight_arm": 0,
        "y_maze": 0,
    }
    for name, expected in n_carried.items():
        assert carried(tasks[name], given_laps(tasks[name])) == expected
    assert carried(tasks["barrier_arena"], given_laps(tasks["barrier_arena"])) <= 3


# -- contingencies ------------------------------------------------------------------------------


def rewards_of(task, lap):
    """Mean reward of a lap."""
    means = lap.world.expected_reward()
    return sum(
        means[here, task.model.action(here, there)] for here, there in itertools.pairwise(lap.path)
    )


@pytest.mark.parametrize(("name", "epochs"), [("4x", [1, 4, 1]), ("0x", [1, 0, 1])])
def test_reward_changes_at_one_end_and_is_restored(tasks, name, epochs):
    task = tasks[f"linear_track_{name}"]
    laps = given_laps(task)
    paid = pd.DataFrame(
        [(lap.block, lap.name, rewards_of(task, lap)) for lap in laps],
        columns=["block", "lap", "reward"],
    )
    assert 30 <= paid.groupby("block").size().min() <= paid.groupby("block").size().max() <= 40
    means = paid.groupby(["lap", "block"], sort=False)["reward"].agg(["min", "max"])
    assert means.loc["out", "min"].tolist() == means.loc["out", "max"].tolist() == epochs
    assert (means.loc["in"] == 1).all(axis=None)
    assert paid["lap"].tolist() == ["out", "in"] * (len(paid) // 2)


def test_one_of_two_tracks_is_run_sixteen_times_there_and_back():
    """The other as often as in one of the five kinds of session, and rest comes after both."""
    entry, few = find_task("two_tracks"), set()
    for animal in range(20):
        laps = given_laps(entry.build(np.random.default_rng(animal)))
        n = Counter(lap.name for lap in laps)
        assert n["first_out"] == n["first_in"] == 16
        assert n["second_out"] == n["second_in"]
        few.add(n["second_out"])
        assert [bool(lap.n_rest) for lap in laps] == [False] * (len(laps) - 1) + [True]
    assert few == {1, 2, 3, 4, 8}


def test_two_choice_t_follows_its_rules(tasks):
    task = tasks["gupta_2t"]
    orders = set()
    for seed in range(3):
        laps = given_laps(task, seed)
        table = pd.DataFrame(
            [(lap.block, lap.name, rewards_of(task, lap), nodes_of(task, lap)) for lap in laps],
            columns=["block", "side", "reward", "way"],
        )
        begins = table["way"].str[0] == "r6c5"
        session = begins.cumsum()
        assert session.max() == 6
        sessions = []
        for _, rows in table.groupby(session):
            half = (rows["block"] != rows["block"].shift()).cumsum()
            sessions.append(tuple(rows.groupby(half)["block"].first()))
            assert half.max() == 2
            before = None
            for number, (index, row) in enumerate(rows.iterrows()):
                alternates = row["block"] == "alternation"
                is_switch = number > 0 and row["block"] != rows.loc[index - 1, "block"]
                right = row["side"] == row["block"]
                if alternates:
                    right = before is None or row["side"] != before
                if not is_switch:
                    assert right
                assert row["reward"] == (2.0 if right else 0.0)
                assert row["side"] in row["way"][-1].replace("r4c0", "left").replace(
                    "r4c10", "right"
                )
                before = row["side"]
            first_half, second_half = (rows[half == k]["block"].iloc[0] for k in (1, 2))
            switch = rows[half == 2].iloc[0]
            if first_half != "alternation":
                assert switch["side"] == first_half  # it still follows the old rule
            assert second_half != first_half
        orders.add(tuple(sessions))
        assert set(sessions) == {
            ("left", "right"),
            ("right", "left"),
            ("left", "alternation"),
            ("alternation", "left"),
            ("right", "alternation"),
            ("alternation", "right"),
        }
        # The maze is run one way: no move and its reverse in all laps.
        moves = {move for way in table["way"] for move in itertools.pairwise(way)}
        assert not moves & {(b, a) for a, b in moves}
    assert len(orders) == 3


def test_w_track_alternates_with_rarer_errors(tasks):
    task = tasks["w_track"]
    errors = Counter()
    for seed in range(10):
        last = None
        for lap in given_laps(task, seed):
            way = nodes_of(task, lap)
            side = way[-1][0]
            if way[0] == "C0":
                right = last is None or side != last
                if last is None:
                    last = side  # which side counts as the last before the first lap is drawn
                    right = rewards_of(task, lap) == 1.0
            else:
                right = way[-1] == "C0"
            assert rewards_of(task, lap) == float(right)
            errors[lap.block] += not right
            last = side if side in "LR" else last
    assert errors["session 1"] > errors["session 3"] > errors["session 8"]
    assert errors["session 1"] / 240 == pytest.approx(0.375, abs=0.1)
    memories = {(s.node, s.memory) for s in task.model.states if s.node == "C3"}
    assert memories == {("C3", ""), ("C3", "left"), ("C3", "right")}


def test_arms_are_run_only_after_they_were_seen(tasks):
    for name, n_looks in (("t_unvisited", 8), ("t_unvisited_unknown", 0)):
        task = tasks[name]
        laps = given_laps(task)
        blocks = [lap.block for lap in laps]
        first_run = blocks.index("run 2")
        looked = [lap for lap in laps if lap.shown]
        assert len(looked) == n_looks
        for number, lap in enumerate(laps):
            enters = any("cued" in node for node in nodes_of(task, lap))
            assert enters == (number >= first_run or lap.shown)
        paid = {
            (lap.block, lap.name): rewards_of(task, lap)
            for lap in laps
            if lap.block != "run 1" and not lap.name.startswith("from")
        }
        expected = {("run 2", "to_cued"): 1.0, ("run 2", "to_uncued"): 0.0}
        if n_looks:
            expected |= {
                ("seen", "look_cued"): 0.0,
                ("seen", "look_uncued"): 0.0,
                ("goal cue", "look_cued"): 1.0,
                ("goal cue", "look_uncued"): 0.0,
            }
        assert paid == expected
        rested = [lap.block for lap in laps if lap.n_rest]
        assert rested == ["goal cue" if n_looks else "run 1", "run 2"]


def test_the_restricted_good_pays_more_and_changes_daily(tasks):
    task = tasks["t_revaluation"]
    laps, names = given_laps(task), {"food": "left", "water": "right"}
    days = [list(day) for _, day in itertools.groupby(laps, key=lambda lap: lap.block)]
    assert [day[0].block.split()[0] for day in days] == ["food", "water"] * 3
    for day in days:
        better = names[day[0].block.split()[0]]
        assert {(lap.name, rewards_of(task, lap)) for lap in day} == {
            (name, 1.0 if name == better else 0.25) for name in names.values()
        }
    n_better = sum(lap.name == names[lap.block.split()[0]] for lap in laps)
    assert 0.55 < n_better / len(laps) < 0.85
    assert [bool(lap.n_rest) for lap in laps] == [n % 16 == 15 for n in range(6 * 16)]


def test_barriers_move_and_wells_stay_open(tasks):
    task = tasks["barrier_arena"]
    sessions = task.blocks[1:]
    layouts = [frozenset(map(frozenset, block.closed)) for block in sessions]
    assert len(set(layouts)) == len(sessions) > 1
    slots = {frozenset(slot) for slot in find_maze("barrier_arena")["barrier_slots"]}
    wells = set(task.landmarks["wells"])
    for block, layout in zip(sessions, layouts, strict=True):
        assert len(layout) == 6
        assert layout <= slots
        graph = task.graph.copy()
        graph.remove_edges_from(tuple(edge) for edge in layout)
        assert nx.is_connected(graph)
        (home,) = block.contingency
        laps = [lap for lap in given_laps(task) if lap.block == block.name]
        assert [lap.name for lap in laps] == ["home", "random"] * (len(laps) // 2)
        for lap in laps:
            way = nodes_of(task, lap)
            assert not {frozenset(move) for move in itertools.pairwise(way)} & layout
            assert (way[-1] == home) == (lap.name == "home")
            assert way[-1] in wells
            assert rewards_of(task, lap) == 1.0
        for lap in laps[6::2]:
            way = nodes_of(task, lap)
            assert len(way) - 1 == nx.shortest_path_length(graph, way[0], home)


def test_the_goal_moves_after_4_to_15_rewards(tasks):
    task = tasks["eight_arm"]
    for seed in range(3):
        trials = [
            (lap.block, lap.name, rewards_of(task, lap))
            for lap in given_laps(task, seed)
            if lap.name.startswith("arm")
        ]
        goals, counts = [], []
        for block, laps in itertools.groupby(trials, key=lambda trial: trial[0]):
            laps = list(laps)
            arms = {name for _, name, reward in laps if reward}
            if block == "search":
                assert [reward > 0 for *_, reward in laps] == [False] * (len(laps) - 1) + [True]
                (goal,) = arms
                goals.append(goal)
                counts.append(1)
            else:
                assert arms == {goals[-1]}
                counts[-1] += sum(reward > 0 for *_, reward in laps)
        assert len(goals) == 4
        assert all(a != b for a, b in itertools.pairwise(goals))
        assert all(4 <= count <= 15 for count in counts)
        names = [lap.name for lap in given_laps(task, seed)]
        assert names[::3] == ["centre"] * (len(names) // 3)
        assert names[2::3] == ["home"] * (len(names) // 3)


def test_the_three_arms_start_as_often_as_they_should(tasks):
    task = tasks["liu2021_three_arm"]
    laps = [lap for seed in range(10) for lap in given_laps(task, seed)]
    share = pd.Series([lap.name for lap in laps]).value_counts(normalize=True)
    for arm, expected in (("rare", 0.17), ("occasional", 0.33), ("common", 0.5)):
        assert share[arm] == pytest.approx(expected, abs=0.04)
    paid = [rewards_of(task, lap) for lap in laps]
    assert set(paid) == {0.0, 1.0}
    assert 0.4 < np.mean(paid) < 0.65
    assert set(run(task).laps["reward"]) == {0.0, 1.0}


def test_exploration_comes_without_reward(tasks):
    task = tasks["mattar_open_maze"]
    laps = given_laps(task)
    assert {rewards_of(task, lap) for lap in laps if lap.block == "exploration"} == {0.0}
    later = [lap for lap in laps if lap.block == "reward"]
    assert {rewards_of(task, lap) for lap in later} == {1.0}
    for lap in later[3:]:
        way = nodes_of(task, lap)
        assert len(way) - 1 == nx.shortest_path_length(task.graph, way[0], "r1c9")
    (chains,) = (build("liu2019_chains"),)
    values = {(lap.block, lap.name): rewards_of(chains, lap) for lap in given_laps(chains)}
    assert values == {
        ("sequences", "first"): 0.0,
        ("sequences", "second"): 0.0,
        ("value", "first"): 1.0,
        ("value", "second"): 0.0,
    }


def test_landmarks_are_nodes_of_the_graph():
    task = TASKS["gupta_2t"].build()
    for nodes in (("nowhere",), "nowhere", (3.5,)):
        with pytest.raises(ValueError, match="'reward' must list nodes of the graph"):
            dataclasses.replace(task, landmarks={"reward": nodes})
    with pytest.raises(ValueError, match="'reward' must be a list, got 3"):
        dataclasses.replace(task, landmarks={"reward": 3})
