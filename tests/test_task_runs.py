"""Animals that run a task: along given laps, or by their learner's choices."""

import itertools

import networkx as nx
import numpy as np
import own_learner
import pandas as pd
import pytest

from analyses import classify
from analyses.sequences.chains import link_backups
from replay.learners import LEARNERS, find_learner
from replay.log.event_log import EventLog
from replay.simulation import feed
from replay.tasks import (
    Block,
    Lap,
    Rule,
    Task,
    explore,
    give_laps,
    random_walk,
    replay_laps,
    run_task,
    task_of_routes,
)
from replay.tasks.published import TASKS, find_task
from replay.tasks.published.t_mazes import gupta_2t
from replay.tasks.runs import LONGEST_LAP

SETTINGS = {"learning_rate": 1.0, "discount": 0.9, "max_pops": 20, "replay_at": "start_and_end"}


def settings(learner):
    known = find_learner(learner).parameters
    return {key: value for key, value in SETTINGS.items() if key in known}


def run(task, learner="episodic_control", seed=0, **more):
    params = settings(learner) | more.pop("params", {})
    return run_task(task, learner, params, seed=seed, **more)


def build(name):
    return find_task(name).build()


def short_track(n_laps=6, **more):
    track = nx.path_graph(["a", "b", "c", "d"])
    nx.set_node_attributes(track, {node: (10.0 * k, 0.0) for k, node in enumerate("abcd")}, "pos")
    blocks = [
        Block("before", 0, n_rest=2),
        Block("run", n_laps, ("out", "in"), {"a": 1.0, "d": 2.0}, n_rest=3),
        Block("again", 2, ("out", "in"), {"a": 1.0, "d": 0.0}),
    ]
    return task_of_routes(
        "short_track", track, {"out": "abcd", "in": "dcba"}, blocks, home="a", **more
    )


# -- given laps ---------------------------------------------------------------------------------


def test_a_run_by_hand():
    result = run(short_track(reward_sd=0.0), params={})
    laps = result.laps
    assert laps["episode"].tolist() == list(range(8))
    assert laps["block"].tolist() == ["run"] * 6 + ["again"] * 2
    assert laps["lap"].tolist() == ["out", "in"] * 4
    assert laps["start"].tolist() == [0, 7] * 4  # a> b> c> d> a< b< c< d<
    assert laps["end"].tolist() == [3, 4] * 4
    assert laps["goal"].tolist() == [3, 4] * 3 + [-1, 4]
    assert laps["reward"].tolist() == [2.0, 1.0] * 3 + [0.0, 1.0]
    assert laps["n_steps"].tolist() == [3] * 8
    assert laps["n_rest"].tolist() == [0] * 5 + [3, 0, 0]
    steps = result.log.steps
    assert steps["state"].tolist() == [0, 1, 2, 7, 6, 5] * 4
    assert steps["next_state"].tolist() == [1, 2, 3, 6, 5, 4] * 4
    chains = classify(result.log)
    assert chains["states"].map(list).tolist() == [[3, 2, 1, 0], [4, 5, 6, 7]] * 4
    assert (chains["kind"] == "reverse_episode").all()
    assert result.log.runs["mdp"].tolist() == ["short_track"]
    graph = result.log.graph()
    assert sorted(graph.nodes) == list(range(8))
    assert graph.nodes[1]["pos"][0] == 10.0 == graph.nodes[5]["pos"][0]


def test_rest_comes_after_its_block():
    result = run(short_track(), "dyna_q", params={"replay_at": "step_and_rest"})
    rest = result.log.backups.query("phase == 'rest'")
    assert set(rest["step"]) == {17}
    assert set(rest["episode"]) == {5}
    assert set(rest["location"]) == {4}
    assert len(rest) == 3 * find_learner("dyna_q").params.n_replays


@pytest.mark.parametrize("name", TASKS)
def test_all_learners_have_the_same_experience(name):
    task = build(name)
    first = run(task, seed=3)
    for learner in ("q_learning", "prioritized_sweeping"):
        other = run(task, learner, seed=3)
        pd.testing.assert_frame_equal(other.laps, first.laps)
        pd.testing.assert_frame_equal(other.log.steps, first.log.steps)
    assert not run(task, seed=4).laps.equals(first.laps)
    again = run(build(name), seed=3)
    assert again.log.backups.equals(first.log.backups)
    assert len(first.laps) == first.log.steps["terminated"].sum()
    assert first.log.columns("steps")["state"].max() < len(task.places)
    assert first.log.mdp is task.world


@pytest.mark.parametrize("learner", ["prioritized_sweeping", "sfma", "dyna_q"])
def test_laps_are_given_once_and_replayed_often(learner):
    """In any order, by any learner: the bytes are those of a run of its own."""
    given = give_laps(build("gupta_2t"), seed=3)
    other = replay_laps(given, "prioritized_memory_access", {"max_backups": 5})
    for _ in range(2):
        log = replay_laps(given, learner, settings(learner))
        whole = run(build("gupta_2t"), learner, seed=3)
        for name in ("runs", "steps", "backups"):
            pd.testing.assert_frame_equal(getattr(log, name), getattr(whole.log, name))
        assert log.provenance == whole.log.provenance
        pd.testing.assert_frame_equal(given.laps, whole.laps)
        log.columns("steps")["state"][:] = 0  # each log has columns of its own
    assert other.columns("steps")["state"].any()
    seeds = [replay_laps(given, learner, settings(learner), seed=seed) for seed in (3, 4)]
    assert seeds[0].backups.equals(log.backups)
    assert seeds[1].runs["seed"].tolist() == [4]
    draws = learner != "prioritized_sweeping"
    assert seeds[1].backups.equals(log.backups) != draws


def test_given_laps_are_those_of_the_protocol():
    """Steps and rewards, drawn one after the other, as the laps say."""
    task = build("barrier_arena")
    given = give_laps(task, seed=5)
    _, laps_rng, reward_rng = map(np.random.default_rng, np.random.SeedSequence(5).spawn(3))
    protocol = task.laps(laps_rng)
    lap, rows = next(protocol), []
    while lap is not None:
        means = lap.world.expected_reward()
        for here, there in itertools.pairwise(lap.path):
            action = task.model.action(here, there)
            mean = means[here, action]
            reward = max(reward_rng.normal(mean, 0.1 * mean), 0.0) if mean else 0.0
            rows.append((here, action, reward, there))
        try:
            lap = protocol.send(lap.path)
        except StopIteration:
            lap = None
    steps = given.experience.given.steps
    assert rows == list(
        zip(*(steps[c].tolist() for c in ("state", "action", "reward", "next_state")), strict=True)
    )


def test_punishments_vary_too():
    track = nx.path_graph(["a", "b"])
    nx.set_node_attributes(track, {"a": (0, 0), "b": (10, 0)}, "pos")
    blocks = [Block("run", 200, ("out",), {"b": -1.0})]
    task = task_of_routes("t", track, {"out": "ab"}, blocks, reward_sd=0.5)
    paid = give_laps(task, seed=1).laps["reward"]
    assert paid.max() <= 0 < paid.std()
    assert paid.mean() == pytest.approx(-1, abs=0.15)


def test_rewards_vary_by_a_tenth():
    laps = pd.concat(run(build("linear_track_4x"), seed=seed).laps for seed in range(10))
    paid = laps.query("lap == 'out'").groupby("block")["reward"].agg(["mean", "std"])
    np.testing.assert_allclose(paid["mean"], [1, 1, 4], rtol=0.03)
    np.testing.assert_allclose(paid["std"], [0.1, 0.1, 0.4], rtol=0.2)
    assert (laps["reward"] > 0).all()


@pytest.mark.parametrize("behaviour", ["given", "own"])
def test_every_learner_goes_through_a_task(behaviour):
    task = short_track()
    for learner in LEARNERS:
        result = run(task, learner, behaviour=behaviour)
        assert len(result.laps) == 8
        assert (result.log.runs["learner"] == learner).all()
    own = run(task, own_learner, behaviour=behaviour)
    assert own.log.runs["learner"].tolist() == ["own_learner"]


# -- what the analyses see ----------------------------------------------------------------------


@pytest.fixture
def in_model(monkeypatch):
    """The log as the learner made it, before its states are mapped."""
    seen = {}

    def keep(log, number, mdp, closed, with_states=EventLog.with_states):
        seen["log"] = log
        return with_states(log, number, mdp, closed)

    monkeypatch.setattr(EventLog, "with_states", keep)
    return seen


@pytest.mark.parametrize("learner", ["prioritized_sweeping", "trajectory_sampling", "sfma"])
def test_chains_join_the_same_way_in_analysed_states(in_model, learner):
    """Memory stays the same within a lap, so that it breaks no chain."""
    for name in TASKS:
        result = run(build(name), learner, seed=1)
        before, after = (
            link_backups(log.columns("backups")) for log in (in_model["log"], result.log)
        )
        differ = (after.parent != before.parent) | (after.fits != before.fits)
        # In the arena a well is the end of one lap and on the way of another.
        assert np.mean(differ) <= (0.01 if name == "barrier_arena" else 0.0)


def crossings(task, result, name):
    """Count chains that pass a shortcut, in either direction, from arm to arm."""
    place = {node: number for number, node in enumerate(task.places)}
    path = [place[node] for node in task.landmarks[name]]
    paths = (path, path[::-1])
    states = classify(result.log, min_length=3)["states"].map(list)
    return sum(
        any(chain[k : k + len(path)] in paths for k in range(len(chain))) for chain in states
    )


def test_shortcuts_need_a_reversible_model():
    task = build("gupta_2t")
    one_way = [run(task, "prioritized_sweeping", seed=seed) for seed in range(3)]
    assert [crossings(task, result, "shortcut_top") for result in one_way] == [0] * 3
    reversible = [
        run(task, "prioritized_sweeping", seed=seed, params={"reversible": True})
        for seed in range(3)
    ]
    assert all(crossings(task, result, "shortcut_top") for result in reversible)
    for result in one_way + reversible:  # and were never run
        moves = set(zip(result.log.steps["state"], result.log.steps["next_state"], strict=True))
        top = [task.places.index(node) for node in task.landmarks["shortcut_top"]]
        assert not set(itertools.pairwise(top)) <= moves
        assert not set(itertools.pairwise(top[::-1])) <= moves


@pytest.mark.parametrize("name", ["linear_track", "t_unvisited_unknown", "liu2021_three_arm"])
def test_ways_back_change_nothing_where_states_have_a_heading(name):
    task = build(name)
    assert task.one_way
    logs = [
        run(task, "prioritized_sweeping", params={"reversible": reversible}).log.backups
        for reversible in (False, True)
    ]
    assert logs[0].equals(logs[1])
    assert not build("gupta_2t").one_way


# -- own behaviour ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TASKS)
def test_animals_act_within_the_rules(name, in_model):
    task = build(name)
    result = run(task, "prioritized_sweeping", seed=2, behaviour="own")
    laps, steps = result.laps, in_model["log"].steps
    assert (laps["n_steps"] <= LONGEST_LAP).all()
    ended = steps["terminated"] | steps["truncated"]
    assert ended.sum() == len(laps)
    same = steps["next_state"][:-1].to_numpy() == steps["state"][1:].to_numpy()
    assert (same | ended[:-1]).all()
    closed = {block.name: set(block.closed) for block in task.blocks}
    moved = steps[steps["state"] != steps["next_state"]]
    node = np.array([state.node for state in task.model.states])
    block = laps["block"].to_numpy()[moved["episode"]]
    ways = zip(block, node[moved["state"]], node[moved["next_state"]], strict=True)
    for of, here, there in set(ways):
        assert there in task.graph.adj[here]
        assert (here, there) not in closed[of]


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if name != "w_track" else ()) for name in TASKS],
)
def test_the_same_seed_makes_the_same_animal(name):
    one, again = (
        run(build(name), "prioritized_sweeping", seed=2, behaviour="own") for _ in range(2)
    )
    assert again.log.backups.equals(one.log.backups)
    pd.testing.assert_frame_equal(again.laps, one.laps)


def test_animals_learn_the_rule():
    two_t = run(gupta_2t(n_laps=40), "prioritized_sweeping", behaviour="own").laps
    assert two_t["reward"][20:40].mean() > 1.7  # two feeders; chance is 1
    track = run(build("linear_track"), "prioritized_sweeping", behaviour="own").laps
    assert track["lap"].tolist() == ["out", "in"] * 30
    assert track["n_steps"].iloc[0] > track["n_steps"].tail(20).mean()
    w_track = run(build("w_track"), "q_learning", behaviour="own", params={"epsilon": 0.0}).laps
    assert w_track["reward"].tail(40).mean() > 0.9


def test_shown_laps_are_shown_to_animals_that_act():
    result = run(build("t_unvisited"), "prioritized_sweeping", behaviour="own")
    shown = result.laps[result.laps["lap"].str.startswith("look")]
    assert shown["lap"].tolist() == ["look_cued", "look_uncued"] * 4
    assert (shown["n_steps"] == 7).all()
    assert (shown.query("block == 'goal cue' and lap == 'look_cued'")["reward"] > 0).all()
    phases = result.log.backups.groupby("episode")["phase"].agg(set)
    assert phases.loc[shown["episode"]].map(lambda seen: "online" in seen).all()


@pytest.mark.parametrize("learner", ["prioritized_sweeping", "episodic_control"])
def test_own_steps_fed_again_are_replayed_alike(learner, in_model):
    """Fed with its own steps, a learner makes the same backups at the same moments."""
    task = short_track()
    laps = run(task, learner, behaviour="own").laps
    own = in_model["log"]
    ends = np.flatnonzero(own.steps["terminated"]) + 1
    fed = feed(
        learner,
        own.steps,
        n_states=len(task.model.states),
        n_actions=2,
        params=settings(learner),
        mdp=task.model.world(),
        rest=dict(zip(ends.tolist(), laps["n_rest"].tolist(), strict=True)),
    )
    pd.testing.assert_frame_equal(fed.backups, own.backups)
    assert len(own.backups)


def test_a_lap_without_end_is_cut_and_the_animal_carried():
    """A door that is closed: the lap is cut off, and the next one begins at its end."""
    ring = nx.path_graph(["a", "b", "c"])
    nx.set_node_attributes(ring, {"a": (0, 0), "b": (10, 0), "c": (20, 0)}, "pos")
    rule = Rule(("a",), ("c",), (("c", 1.0),))

    def protocol(task, rng):
        path = task.model.walk("abc")
        world = task.model.world([rule], [("b", "c")], path[0])
        seen = yield Lap(world, path[0], path, "run", "lap")
        assert seen[-1] == path[-1]
        assert len(seen) == LONGEST_LAP + 2
        yield Lap(task.model.world([rule], (), path[0]), path[0], path, "run", "lap")

    task = Task("closed", explore(ring, [rule]), protocol, (Block("run", 2),))
    laps = run(task, "q_learning", behaviour="own").laps
    assert laps["n_steps"].iloc[0] == LONGEST_LAP
    assert laps["reward"].iloc[0] == 0.0
    assert laps["reward"].iloc[1] > 0.0


# -- a user's own task --------------------------------------------------------------------------


def test_errors_say_what_to_do():
    with pytest.raises(ValueError, match=r"Unknown behaviour 'own_'\. Did you mean 'own'"):
        run_task(short_track(), "q_learning", behaviour="own_")
    with pytest.raises(ValueError, match=r"Unknown task 'linear'\. Did you mean 'linear_track'"):
        find_task("linear")
    track = nx.path_graph(["a", "b", "c"])
    with pytest.raises(ValueError, match="Each place needs 'pos'"):
        explore(track, [Rule(("a",), ("c",))])
    nx.set_node_attributes(track, {"a": (0, 0), "b": (10, 0), "c": (20, 0)}, "pos")
    with pytest.raises(ValueError, match="A rule names 'x', but the places are a, b, c"):
        explore(track, [Rule(("a",), ("x",))])
    with pytest.raises(ValueError, match="Unknown route"):
        task_of_routes("t", track, {"out": "abc"}, [Block("run", 1, ("in",))])
    with pytest.raises(ValueError, match=r"'c' is not a neighbour of 'a', which has 'b'"):
        explore(track, [Rule(("a",), ("c",))]).walk("ac")
    with pytest.raises(ValueError, match=r"give explore\(\) every rule"):
        explore(track, [Rule(("a",), ("c",))]).walk("ab")
    track.add_edge("a", "c")
    with pytest.raises(ValueError, match="equally far"):
        explore(track, [Rule(("a",), ("c",))], home="b")

    def nowhere(task, rng):
        yield Lap(task.model.world(), 0, None, "run", "lap")

    task = Task("free", explore(track, [Rule(("a",), ("c",))]), nowhere, (Block("run", 1),))
    with pytest.raises(ValueError, match="gives no path for lap 0: let the learner act"):
        run_task(task, "q_learning")
    assert len(run_task(task, "q_learning", behaviour="own").laps) == 1
    closed = [Block("run", 1, ("out",), closed=(("b", "c"),))]
    track.remove_edge("a", "c")
    with pytest.raises(ValueError, match="Lap 0 of the task 't' goes from 'b' to 'c'"):
        run_task(task_of_routes("t", track, {"out": "abc"}, closed), "q_learning")
    for behaviour in ("given", "own"):
        with pytest.raises(ValueError, match="must yield a lap, but has none"):
            run_task(
                task_of_routes("t", track, {"out": "abc"}, []), "q_learning", behaviour=behaviour
            )


def test_a_random_walk_keeps_to_places_from_which_the_end_is_reached(rng):
    maze = nx.DiGraph(["ab", "ba", "bc", "bx", "ay", "yx"])
    for _ in range(20):
        assert set(random_walk(maze, "a", "c", rng)) == set("abc")


def test_routes_wait_for_the_animal_and_blocks_of_rest_for_their_time():
    """The second way out waits for a way in; rest alone comes after the block before."""
    blocks = [
        Block("before", 0, n_rest=1),
        Block("out", 3, ("out", "out", "in"), n_rest=2),
        Block("sleep", 0, n_rest=5),
        Block("in", 1, ("in",)),
    ]
    track = nx.path_graph(["a", "b", "c"])
    nx.set_node_attributes(track, {"a": (0, 0), "b": (10, 0), "c": (20, 0)}, "pos")
    task = task_of_routes("t", track, {"out": "abc", "in": "cba"}, blocks, home="a")
    laps = run(task).laps
    assert laps["lap"].tolist() == ["out", "in", "out", "in"]
    assert laps["n_rest"].tolist() == [0, 0, 7, 0]


def test_ways_back_are_known_wherever_laps_go_on():
    for name in ("gupta_2t", "barrier_arena", "mattar_open_maze"):
        model = build(name).model
        moves = model.whole.transition_rows()
        entered = model.whole.successor
        state, action = np.divmod(moves, model.n_actions)
        passes = ~model.whole.terminal[entered] & (state != entered)
        passes &= np.isin(state, entered)  # a start may be entered as an end only
        assert (model.whole.way_back[state[passes], action[passes]] >= 0).all()
        assert passes.any()


def test_a_task_is_taken_by_its_name():
    given = give_laps("linear_track", seed=3)
    assert given.task.name == "linear_track"
    pd.testing.assert_frame_equal(give_laps(TASKS["linear_track"], seed=3).laps, given.laps)
    assert len(run_task("linear_track", "q_learning", seed=3).laps) == len(given.laps)
    for wrong, error, message in (
        ("linear", ValueError, "Unknown task 'linear'"),
        (5, TypeError, "task must be a Task or the name of one in TASKS, got 5"),
    ):
        with pytest.raises(error, match=message):
            run_task(wrong, "q_learning")
