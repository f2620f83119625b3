"""The study of where episodic control and prioritized sweeping are one learner."""

import networkx as nx
import numpy as np
import pytest

from analyses.jobs.run import run
from analyses.studies.equivalence import (
    LEARNERS,
    STUDY,
    WORLDS,
    changed_tree,
    compare_with_episodic_control,
    tree_likeness,
)
from replay.worlds.mdp import MDP

EXACT = [name for name in LEARNERS if "3 pops" not in name and "visited" not in name]


@pytest.mark.parametrize("n_steps", [1000, pytest.param(3000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("world", ["tree, rewards on the way", "tree of many depths"])
def test_what_the_theorem_covers_is_the_same_to_rounding(world, n_steps):
    made = compare_with_episodic_control(world, 3, n_steps=n_steps, n_taught=n_steps)
    table = made.set_index("learner")
    exact = table.loc[EXACT]
    assert exact["first_difference"].isna().all()
    assert exact["value_difference"].max() < 1e-12
    assert exact["gain"].abs().max() == 0.0
    assert (table[["one_way_in", "one_outcome"]] == 1).all(axis=None)
    # Of the d visited states that wait, some are popped twice, and then others never.
    assert table.loc["reset, visited states queued", "value_difference"] > 0.01
    # All d = 5 states wait, and each pop may change all values before it.
    assert 5 <= table.loc["model of one episode, until the queue is empty", "most_backups"] <= 10


def test_beyond_it_sweeping_earns_more():
    world = "tree, half of branches joined"
    table = compare_with_episodic_control(world, 1, n_steps=10_000).set_index("learner")
    assert table["first_difference"].notna().all()
    assert table.loc["sweeping, until the queue is empty", "gain"] > 0.01
    assert table["one_way_in"].iloc[0] < 0.85


def test_likeness_to_a_tree_is_counted_state_by_state():
    # 0 leads to 1 and 2, both of which lead to 3; from there one action ends, the other strays.
    moves = np.zeros((6, 2, 6))
    for s, a, s_next, p in [
        (0, 0, 1, 1.0), (0, 1, 2, 1.0), (1, 0, 3, 1.0), (1, 1, 3, 1.0), (2, 0, 3, 1.0),
        (2, 1, 2, 1.0), (3, 0, 4, 1.0), (3, 1, 4, 0.5), (3, 1, 1, 0.5),
        (5, 0, 1, 1.0), (5, 1, 1, 1.0),
    ]:  # fmt: skip
        moves[s, a, s_next] = p
    mdp = MDP.from_tables(moves, np.zeros((6, 2)), start=0, terminal=[4])
    found = tree_likeness(mdp.to_networkx())
    # 1 has ways in from 0 and 3 (5 is never reached), 2 from 0 (staying is none), 3 from 1 and 2.
    assert found.one_way_in == 1 / 3
    assert found.one_outcome == 7 / 8
    experienced = nx.MultiDiGraph([(0, 1, 0), (1, 3, 0)])  # as in a log, without starts
    assert tree_likeness(experienced) == (1.0, 1.0)
    one_choice = nx.MultiDiGraph([(0, 1, 0), (0, 1, 1)])  # no state between start and end
    assert np.isnan(tree_likeness(one_choice).one_way_in)


def test_trees_are_changed_as_asked():
    regular, joined = changed_tree(4), changed_tree(4, joined=0.25)
    assert tree_likeness(regular.to_networkx()) == (1.0, 1.0)
    np.testing.assert_array_equal(joined.steps_to_end, regular.steps_to_end)  # the same levels
    inner = regular.successor != 341  # where another state of the same level can be entered
    changed = (joined.successor != regular.successor)[inner]
    assert changed.mean() == pytest.approx(0.25, abs=0.08)  # of 340 actions
    ended = changed_tree(4, ended=0.5)
    assert ended.steps_to_end[0] < regular.steps_to_end[0]
    assert ended.reward.min() < 0 < ended.reward.max()


def test_the_table_counts_worlds_and_the_picture_is_drawn(tmp_path):
    plan = STUDY.usual_plan(0.1, seed=1)
    few = plan._replace(pieces={"tree, reward at its end": 2, "maze": 2})
    table = run(STUDY, few, tmp_path / "out")["equivalence.csv"]
    assert list(few.pieces) == list(dict.fromkeys(table["world"]))
    assert set(few.pieces) <= set(WORLDS)
    rows = table.set_index(["world", "learner"])
    assert (rows.loc["tree, reward at its end"].loc[EXACT, "n_same"] == 2).all()
    assert (rows.loc["maze", "n_same"] == 0).all()
    assert (tmp_path / "out" / "figures" / "equivalence.png").exists()
