"""Which moves of a world are closed when: new walls, and barriers between sessions."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay import MDP, EventLog, Phase, Protocol, find_task, run_task, simulate
from replay.log.parquet import LogError
from replay.log.worlds import closed_moves
from replay.worlds.changing_worlds import moving_wall

N_STATES = 4


def moves_of(mdp):
    state = mdp.transition_rows() // mdp.n_actions
    return {(s, t) for s, t in zip(state.tolist(), mdp.successor.tolist(), strict=True) if s != t}


def closed_at(closed, step):
    begun = [from_step for from_step in closed if from_step <= step]
    return set(closed[max(begun)]) if begun else set()


tables = st.lists(
    st.lists(st.integers(0, N_STATES - 1), min_size=2, max_size=2),
    min_size=N_STATES,
    max_size=N_STATES,
)


@given(st.lists(tables, min_size=1, max_size=5))
def test_what_is_closed_is_what_another_world_has(worlds):
    reward = np.zeros((N_STATES, 2))
    mdps = [MDP.from_tables(table, reward=reward) for table in worlds]
    closed = closed_moves(enumerate(mdps))
    some = set().union(*map(moves_of, mdps))
    for step, mdp in enumerate(mdps):
        assert closed_at(closed, step) == some - moves_of(mdp)
    told = [set(), *map(set, closed.values())]
    assert all(one != other for one, other in pairwise(told))


def test_barriers_of_each_session():
    """Those of its block, both ways; the animal never crosses one."""
    task = find_task("barrier_arena").build(np.random.default_rng(3))
    animal = run_task(task, "q_learning", seed=3)
    node = {name: state for state, name in enumerate(task.node)}
    barriers = {block.name: {(node[a], node[b]) for a, b in block.closed} for block in task.blocks}
    block = animal.laps["block"].repeat(animal.laps["n_steps"]).tolist()
    assert len(set(block)) > 2
    steps = animal.log.steps
    moves = zip(steps["step"], steps["state"], steps["next_state"], strict=True)
    for step, *move in moves:
        now = closed_at(animal.log.closed, step)
        assert now == barriers[block[step]]
        assert tuple(move) not in now


def test_what_the_animal_chooses_meets_the_same_barriers():
    animal = run_task("barrier_arena", "q_learning", seed=1, behaviour="own")
    begins = np.cumsum(animal.laps["n_steps"]) - animal.laps["n_steps"]
    first = begins.groupby(animal.laps["block"], sort=False).min().tolist()
    assert [*animal.log.closed] == first
    assert not EventLog.concat([animal.log, run_task("linear_track", "q_learning").log]).closed


def test_they_travel_with_the_log(tmp_path):
    world = moving_wall(n_steps=200, seed=1)
    log = simulate(world, "q_learning", seed=1).log
    assert [*log.closed] == world.changes.tolist()
    log.save(tmp_path / "log")
    assert EventLog.load(tmp_path / "log").closed == log.closed
    assert log.label(experiment="wall").closed == log.closed
    assert EventLog.concat([log, log]).closed == log.closed
    with EventLog.saving(tmp_path / "parts") as add:
        simulate(world, "q_learning", seed=1, on_block=lambda block: add(block.log))
    assert EventLog.load(tmp_path / "parts").closed == log.closed


def test_a_world_that_stays_has_no_file_of_them(tmp_path):
    corridor = MDP.from_tables([[1], [2], [2]], reward=[0, 1, 0], terminal=[2])
    simulate(corridor, "q_learning", n_steps=10).log.save(tmp_path / "log")
    assert not (tmp_path / "log" / "closed.json").exists()
    twice = Protocol([Phase(corridor, 10), Phase(corridor, 10)])
    assert not simulate(twice, "q_learning").log.closed


@pytest.mark.parametrize("text", ["", "[]", '{"a": []}', '{"0": [[0, 9]]}', '{"0": [[0]]}', "{1"])
def test_a_damaged_file_is_told(tmp_path, text):
    corridor = MDP.from_tables([[1], [2], [2]], reward=[0, 1, 0], terminal=[2])
    simulate(corridor, "q_learning", n_steps=10).log.save(tmp_path / "log")
    (tmp_path / "log" / "closed.json").write_text(text)
    with pytest.raises(LogError, match=r"closed\.json holds no closed moves .*then no walls move"):
        EventLog.load(tmp_path / "log")


@pytest.mark.parametrize(
    ("closed", "message"),
    [
        ([(0, 1)], r"closed must be a dict of step to the moves .* got \[\(0, 1\)\]"),
        ({0.5: [(0, 1)]}, "A step of closed must be a whole number"),
        ({3: [(0, 1, 2)]}, "closed from step 3 on must be pairs of states"),
        ({3: [0, 1]}, "closed from step 3 on"),
        ({3: 7}, "closed from step 3 on"),
        ({3: [(0, "b")]}, "closed from step 3 on"),
    ],
)
def test_a_mistake_is_told(closed, message):
    with pytest.raises((TypeError, ValueError), match=message):
        EventLog({}, closed=closed)
