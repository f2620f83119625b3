"""Learners that compute no values: their log, and everything that is computed from it."""

import types

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from analyses import classify, place_sequences
from analyses.sequences.events import longest_event, replayed_moves
from analyses.sequences.growing import chain_kinds
from analyses.sequences.place_sequences import Detection
from analyses.sequences.reactivations import reactivations
from analyses.studies.brea_2018 import plan_reproduction
from analyses.studies.changes import plan_change
from analyses.tables import KINDS
from replay import EventLog, feed, simulate, sweep
from replay.demands import count_demands
from replay.learners import find_learner
from replay.learners.contract import Description
from replay.log.backups import EPISODE_END
from replay.worlds.mazes import from_ascii

SOURCE = """
COMPILED = False

from typing import NamedTuple
import numpy as np
from replay.log.backups import EPISODE_END, reactivate

class Params(NamedTuple):
    pass

class Memory(NamedTuple):
    action_values: np.ndarray

def init(params, sizes):
    return Memory(np.zeros((sizes.n_states, sizes.n_actions)))

def most_backups(params, memory):
    return 10

def act(params, memory, state, rng):
    return 0

def learn(params, memory, transition, log):
    pass

def replay(params, memory, pause, rng, log):
    if pause.phase == EPISODE_END:
        last = PATH[0]
        for place in PATH[1:]:
            reactivate(log, pause.phase, last, place, 0.5)
            last = place
"""
"""It reactivates one path at the end of each episode."""


def emitting(path):
    made = types.ModuleType("emitting")
    exec(SOURCE.replace("PATH", str(tuple(path))), made.__dict__)
    made.description = lambda params: Description("nothing", (EPISODE_END,), "", "me", False)
    return made


LAP = pd.DataFrame(
    {
        "state": [0, 1, 2],
        "action": 0,
        "next_state": [1, 2, 3],
        "reward": 0.0,
        "terminated": [False, False, True],
    }
)


def fed(path):
    return feed(emitting(path), LAP, n_states=5, n_actions=1)


def test_rows_have_places_and_no_backup():
    moves = fed([3, 2, 1, 4]).backups
    assert moves[["state", "next_state"]].to_numpy().tolist() == [[3, 2], [2, 1], [1, 4]]
    assert moves["action"].eq(-1).all()
    assert moves["cause"].eq(-1).all()
    assert moves["priority"].eq(0.5).all()
    assert moves[["q_before", "q_after", "reward", "gain", "need"]].isna().all(axis=None)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ([0, 1, 2, 3], "forward_episode"),
        ([3, 2, 1], "reverse_episode"),
        ([1, 4, 2], "unexperienced"),
        ([0, 1, 2, 1], "ambiguous"),
    ],
)
@pytest.mark.parametrize("order", ["causal", "temporal"])
def test_direction_is_by_experience(path, kind, order):
    found = classify(fed(path), order=order)
    assert found["states"].map(list).tolist() == [path]
    assert found["orientation"].isna().all()
    assert found["kind"].tolist() == [kind]


@pytest.mark.parametrize("path", [[3, 2, 1, 0], [0, 1, 2, 1], [2, 2, 3, 0, 1], [1, 1]])
def test_places_are_those_that_would_be_decoded(path):
    graph, log = nx.path_graph(5), fed(path)
    steps = EventLog({"steps": log.columns("steps")})
    decoded = pd.DataFrame({"step": [2], "states": [path], "phase": ["episode_end"]})
    columns = ["event", "index", "place", "location"]
    expected = reactivations(steps, decoded)[columns]
    pd.testing.assert_frame_equal(reactivations(log)[columns], expected)
    options = {"graph": graph, "detection": Detection(min_length=2)}
    ours, theirs = place_sequences(log, **options), place_sequences(steps, decoded, **options)
    pd.testing.assert_frame_equal(ours, theirs)


def test_a_log_is_saved_and_shown(tmp_path):
    log = fed([0, 1, 2, 3])
    log.save(tmp_path / "log")
    again = EventLog.load(tmp_path / "log")
    pd.testing.assert_frame_equal(again.backups, log.backups)
    moves = replayed_moves(again, longest_event(again))
    assert moves["next_state"].tolist() == [1, 2, 3]
    assert np.isnan(again.graph().nodes[0]["value"])


@pytest.mark.parametrize("across_events", [False, True])
def test_counted_kinds_are_those_of_the_listed_chains(across_events):
    maze = from_ascii("S..\n.#.\n..G")
    log = simulate(maze, "spectral_diffusion", {"tempo": 20.0}, n_steps=300, seed=3).log
    listed = classify(log, min_length=2, across_events=across_events)
    columns = log.columns("steps"), log.columns("backups")
    counted = chain_kinds(*columns, across_events=across_events)
    assert listed["kind"].nunique() > 2
    assert [KINDS[kind] for kind in counted.kind] == listed["kind"].tolist()
    assert counted.step.tolist() == listed["step"].tolist()
    assert counted.length.tolist() == listed["length"].tolist()


def test_parameters_are_those_that_it_needs():
    generator = emitting([0, 1])
    assert find_learner(generator).parameters == {}
    del generator.act  # it then acts at random
    assert find_learner(generator).parameters == {}
    del generator.description
    with pytest.raises(TypeError, match="with discount and epsilon"):
        find_learner(generator)


def test_a_task_without_end_and_without_discount():
    maze = from_ascii("S..G")
    demands = count_demands(maze, emitting([0, 1]), n_steps=60)
    run = simulate(maze, emitting([0, 1]), n_steps=60, log="all")
    pd.testing.assert_frame_equal(demands.run.log.backups, run.log.backups)


@pytest.mark.parametrize(
    "plan",
    [
        lambda name: plan_reproduction(["maze"], [name]),
        lambda name: plan_change("shortcut", {name: (name, {})}),
        lambda name: sweep(from_ascii("S.G"), name, {"n_replays": [0, 1]}, n_steps=100, n_seeds=1),
    ],
    ids=["reproduce", "change", "sweep"],
)
def test_reward_rates_leave_them_out_and_say_so(plan):
    with pytest.raises(ValueError, match="spectral_diffusion computes no values"):
        plan("spectral_diffusion")
    plan("dyna_q")
