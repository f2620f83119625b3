"""Worlds that change: phases, events at a change, and rest."""

from dataclasses import replace

import numpy as np
import pytest
from test_learners import MAZE, TREE, assert_same_memory, assert_same_run, assert_same_table

from replay import LEARNERS, simulate
from replay.learners import find_learner
from replay.simulation import driver
from replay.simulation.loop import kernel_of
from replay.worlds.mdp import MDP
from replay.worlds.protocols import Phase, Protocol

LEARNER = pytest.mark.parametrize("learner", LEARNERS)


def corridor(reward_at, start=1):
    reward = np.eye(4)[reward_at]
    ways = [[0, 0], [0, 2], [1, 3], [3, 3]]
    return MDP.from_tables(ways, reward, start=start, terminal=[0, 3], name=f"to_{reward_at}")


RIGHT, LEFT = corridor(3), corridor(0, start=2)


def test_a_change_by_hand():
    protocol = Protocol([Phase(RIGHT, 7), Phase(LEFT, 5)], name="reversal")
    run = simulate(protocol, "q_learning", {"epsilon": 1.0}, seed=0, log="all")
    steps = run.log.steps
    assert len(steps) == 12
    assert protocol.changes.tolist() == [7]
    assert protocol.phase_of(steps["step"]).tolist() == [0] * 7 + [1] * 5
    assert steps["state"][7] == 2  # where the second world starts
    assert bool(steps["terminated"][6]) != bool(steps["truncated"][6])
    assert steps["truncated"].drop(6).sum() == 0
    assert steps["episode"][7] == steps["episode"][6] + 1
    starts = steps.loc[steps.groupby("episode")["step"].idxmin()]
    assert (starts["state"] == np.where(starts["step"] < 7, 1, 2)).all()
    paying = np.where(protocol.phase_of(steps["step"]) == 0, 3, 0)
    assert (steps["reward"] == (steps["next_state"] == paying)).all()
    assert run.protocol is protocol
    assert run.log.runs["mdp"].tolist() == ["reversal"]


def test_a_running_episode_is_cut_off():
    for seed in range(10):
        run = simulate(Protocol([Phase(MAZE, 5), Phase(MAZE, 3)]), "q_learning", seed=seed)
        steps = run.log.steps
        assert not steps["terminated"].any()  # the goal is farther
        assert steps["truncated"].tolist() == [False] * 4 + [True] + [False] * 3


@LEARNER
def test_one_phase_is_a_plain_run(learner):
    for max_episode_steps in (None, 7):
        plain = simulate(MAZE, learner, n_steps=500, max_episode_steps=max_episode_steps, log="all")
        phase = simulate(
            Protocol([Phase(MAZE, 500)]), learner, max_episode_steps=max_episode_steps, log="all"
        )
        assert_same_run(plain, phase)
    assert plain.protocol is None


@LEARNER
def test_equal_phases_are_a_plain_run_where_an_episode_ends_anyway(learner):
    """Episodes of this tree have four steps: no change falls into one."""
    plain = simulate(TREE, learner, n_steps=400, log="all")
    phases = simulate(Protocol([Phase(TREE, n) for n in (40, 160, 200)]), learner, log="all")
    assert_same_run(plain, phases)


@LEARNER
def test_cut_into_equal_phases_it_is_a_run_with_cuts(learner):
    """Cut every 20 steps by the phases, or by the longest episode allowed."""
    far = MDP.from_tables([[1, 0], [2, 0], [0, 1]], np.zeros(3), start=0, terminal=[], name="ring")
    if find_learner(learner).description.needs_episodes:
        pytest.skip("learns at ends only")
    plain = simulate(far, learner, n_steps=100, max_episode_steps=20, log="all")
    phases = simulate(Protocol([Phase(far, 20)] * 5), learner, max_episode_steps=20, log="all")
    assert_same_table(plain.log.columns("backups"), phases.log.columns("backups"))
    assert_same_memory(plain.memory, phases.memory)


@LEARNER
def test_compiled_protocols_do_what_the_source_says(learner, monkeypatch):
    protocol = Protocol([Phase(RIGHT, 50, n_rest=3), Phase(LEFT, 50, n_rest=2)])
    compiled = simulate(protocol, learner, log="all", seed=3)
    monkeypatch.setattr(driver, "kernel_of", lambda own: kernel_of(replace(own, compiled=False)))
    assert_same_run(compiled, simulate(protocol, learner, log="all", seed=3))


# -- rest ---------------------------------------------------------------------------------


RESTING = {
    "prioritized_sweeping": {"replay_at": "rest"},
    "full_backups": {"replay_at": "rest"},
    "dyna_q": {},
    "trajectory_sampling": {},
    "retrieved_episodes": {},
    "prioritized_memory_access": {},
}


@pytest.mark.parametrize("learner", RESTING)
def test_rest_is_where_the_phase_ended_and_knows_no_future(learner):
    """The first change falls into an episode, so the agent rests at a place that it can leave."""
    n_replayed = 0
    for seed in range(5):
        protocol = Protocol([Phase(MAZE, 203, n_rest=4), Phase(MAZE, 50, n_rest=2)])
        log = simulate(protocol, learner, RESTING[learner], seed=seed, log="all").log
        rest = log.backups[log.backups["phase"] == "rest"]
        steps = log.steps
        assert set(rest["step"]) <= {202, 252}
        assert (rest["location"] == steps["next_state"].to_numpy()[rest["step"]]).all()
        assert (rest["episode"] == steps["episode"].to_numpy()[rest["step"]]).all()
        for end in (202, 252):
            past = steps[steps["step"] <= end]
            known = set(zip(past["state"], past["action"], past["next_state"], strict=True))
            now = rest[rest["step"] == end]
            made = set(zip(now["state"], now["action"], now["next_state"], strict=True))
            assert made <= known
        at_first = log.backups[log.backups["step"] == 202]["phase"].astype(str).drop_duplicates()
        order = ("online", "trace", "episode_end", "rest", "start")
        assert at_first.tolist() == [phase for phase in order if phase in set(at_first)]
        n_replayed += len(rest)
    assert n_replayed > 0


def test_rest_by_hand():
    """Two steps to the reward; each pause of rest updates one predecessor."""
    line = MDP.from_tables([[1], [2], [3], [3]], [0, 0, 0, 1], start=0, terminal=[3])
    protocol = Protocol([Phase(line, 3, n_rest=3), Phase(line, 1)])
    run = simulate(
        protocol, "prioritized_sweeping", {"replay_at": "rest", "max_pops": 1, "discount": 0.5}
    )
    rest = run.log.backups
    assert rest["state"].tolist() == [1, 0]
    assert rest["q_after"].tolist() == [0.5, 0.25]
    assert set(rest["phase"]) == {"rest"}
    assert set(rest["location"]) == {3}
    assert set(rest["step"]) == {2}


def test_much_rest_fits_the_log():
    protocol = Protocol([Phase(MAZE, 300, n_rest=30_000), Phase(MAZE, 1)])
    log = simulate(protocol, "dyna_q", {"n_replays": 10}).log
    assert (log.backups["phase"] == "rest").sum() == 300_000


# -- errors -------------------------------------------------------------------------------


@LEARNER
def test_a_start_without_a_way_to_an_end_is_told(learner):
    """States 0 and 1 lead to the end, 2; from 3 and 4 no way does."""
    moves = [[1, 0], [2, 0], [2, 2], [4, 3], [3, 4]]
    world = MDP.from_tables(moves, [0, 0, 1, 0, 0], start=[0.5, 0, 0, 0.5, 0], terminal=[2])
    with pytest.raises(ValueError, match=r"can be reached from state 3|such as state 3, but"):
        simulate(world, learner, n_steps=10)


def test_a_start_may_be_shut_in_for_a_phase():
    shut = RIGHT.with_barrier(2, 3).with_barrier(0, 1)
    for phases in ([RIGHT, shut], [shut, RIGHT]):
        run = simulate(Protocol([Phase(each, 6) for each in phases]), "q_learning", seed=1)
        assert len(run.log.steps) == 12
    with pytest.raises(ValueError, match=r"none of its 2 .* from state 1, in which"):
        simulate(Protocol([Phase(shut, 6), Phase(shut, 6)]), "q_learning")
    with pytest.raises(ValueError, match="from state 2, in which episodes may start"):
        simulate(Protocol([Phase(RIGHT, 6), Phase(shut.starting_in(2), 6)]), "q_learning")


def test_phases_must_fit_together():
    with pytest.raises(ValueError, match="at least one phase"):
        Protocol([])
    with pytest.raises(ValueError, match=r"same n_states: phase 0 has 4, phase 1 has \d+"):
        Protocol([Phase(RIGHT, 1), Phase(MAZE, 1)])
    other = MDP.from_tables([[0, 1], [0, 2], [1, 3], [0, 1]], [0, 0, 0, 1], terminal=[0])
    with pytest.raises(ValueError, match="state 3 is terminal in only one of the phases 0 and 1"):
        Protocol([Phase(RIGHT, 1), Phase(other, 1)])
    more = MDP.from_tables([[0] * 3, [0] * 3, [1] * 3, [3] * 3], [0, 0, 0, 1], terminal=[0, 3])
    with pytest.raises(ValueError, match="same n_actions"):
        Protocol([Phase(RIGHT, 1), Phase(more, 1)])
    for wrong in ({"n_steps": 0}, {"n_steps": 1, "n_rest": -1}, {"n_steps": 1.5}):
        with pytest.raises(ValueError, match="must be a whole number from"):
            Phase(RIGHT, **wrong)
    with pytest.raises(TypeError, match="must be an MDP, got str"):
        Phase("maze", 1)
    protocol = Protocol([Phase(RIGHT, 7)])
    with pytest.raises(ValueError, match="have 7 steps in all: leave out n_steps"):
        simulate(protocol, "q_learning", n_steps=7)
    with pytest.raises(ValueError, match="n_steps must be a whole number"):
        simulate(RIGHT, "q_learning")
    with pytest.raises(TypeError, match=r"an MDP or a Protocol, got \[MDP"):
        simulate([RIGHT], "q_learning")
    for step in (-1, 7):
        with pytest.raises(ValueError, match="go from 0 to 6"):
            protocol.phase_of([0, step])


# -- sizes --------------------------------------------------------------------------------


def test_memory_has_room_for_all_phases():
    """Each phase has transitions that no other has."""
    first, second = (
        MDP.from_tables([[a, b], [c, 2], [2, 2]], np.zeros(3), terminal=[2])
        for a, b, c in ((1, 1, 0), (0, 0, 1))
    )
    protocol = Protocol([Phase(first, 60), Phase(second, 60)])
    assert protocol.n_transitions == 4 + 3
    log = simulate(protocol, "full_backups", {"epsilon": 1.0}, max_episode_steps=3).log.steps
    assert len(log[["state", "action", "next_state"]].drop_duplicates()) == 7
    starts = Protocol([Phase(corridor(3, 1), 1), Phase(corridor(3, 2), 1)])
    assert starts.n_links == 2 * 2


def test_the_way_back_holds_in_all_phases():
    opened = MDP.from_tables([[0, 1], [0, 2], [1, 3], [3, 3]], [0, 0, 0, 1], start=0, terminal=[3])
    walled = MDP.from_tables([[0, 0], [1, 2], [1, 3], [3, 3]], [0, 0, 0, 1], start=0, terminal=[3])
    back = Protocol([Phase(opened, 1), Phase(walled, 1)]).way_back
    assert opened.way_back[0].tolist() == [-1, 0]
    assert back.tolist() == [[-1, -1], [-1, 0], [1, -1], [-1, -1]]
    run = simulate(
        Protocol([Phase(opened, 50), Phase(walled, 50)]),
        "prioritized_sweeping",
        {"reversible": True, "epsilon": 1.0},
    )
    assert np.isfinite(run.memory.action_values).all()
