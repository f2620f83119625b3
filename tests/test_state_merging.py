"""Hidden states found by merging histories, and worlds in which states look alike."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay import MDP, from_ascii, simulate
from replay.encoders import KMeans, LastObservations, StateMerging
from replay.encoders import state_merging as merging
from replay.encoders.contract import Walk
from replay.worlds.observations import aliased, cued_t_maze, looks_of_walls

pytest.importorskip("gymnasium")


def walk_in(mdp, looks, n, seed=1):
    """Walk at random; return what was seen, and the true states."""
    env, rng = aliased(mdp, looks), np.random.default_rng(seed)
    rows, ended = [], True
    while len(rows) < n:
        if ended:
            seen, info = env.reset(seed=seed if not rows else None)
            rows.append((seen, True, -1, info["state"]))
            ended = False
        else:
            action = int(rng.integers(mdp.n_actions))
            seen, _, ended, _, info = env.step(action)
            rows.append((seen, False, action, info["state"]))
    seen, first, action, states = map(np.array, zip(*rows, strict=True))
    return Walk(seen, first, action, mdp.n_actions, np.zeros(len(seen))), states


def codes_of(coder, walk):
    rows = zip(walk.observations, walk.action, strict=True)
    return np.array(
        [coder.begin(seen) if a < 0 else coder.encode(seen, int(a)) for seen, a in rows]
    )


def is_one_to_one(codes, states):
    return len(set(zip(codes, states, strict=True))) == len(set(codes)) == len(set(states))


def room(n):
    drawing = ["." * n] * n
    drawing[0] = "S" + "." * (n - 1)
    drawing[n // 2] = "." * (n // 2) + "G" + "." * (n - 1 - n // 2)
    return from_ascii("\n".join(drawing))


# What is seen tells neither cue nor place in the corridor; in the room, only walls are seen.
@pytest.mark.parametrize(
    "mdp", [cued_t_maze(2), cued_t_maze(20), room(5)], ids=lambda mdp: mdp.name
)
@pytest.mark.parametrize("seed", [1, 2])
def test_hidden_states_are_found_up_to_their_names(mdp, seed):
    looks = looks_of_walls(mdp) if "T-maze" not in mdp.name else mdp.labels
    walk, states = walk_in(mdp, looks, 6000, seed)
    coder = StateMerging().prepare(walk, np.random.default_rng(seed))
    assert is_one_to_one(codes_of(coder, walk), states)


@given(
    n_states=st.integers(2, 5), n_looks=st.integers(1, 3), n=st.integers(1, 80),
    seed=st.integers(0, 999),
)  # fmt: skip
def test_the_same_codes_and_actions_lead_to_the_same_observation(n_states, n_looks, n, seed):
    """In any world of certain outcomes, however short the walk; a code has one observation."""
    rng = np.random.default_rng(seed)
    following = rng.integers(0, n_states, (n_states, 2))
    look = rng.integers(0, n_looks, n_states)
    look[0] = n_looks
    first = np.arange(n) % 10 == 0
    action = np.where(first, -1, rng.integers(0, 2, n))
    states = np.zeros(n, np.int64)
    for k in np.flatnonzero(~first):
        states[k] = following[states[k - 1], action[k]]
    walk = Walk(look[states][:, None].astype(float), first, action, 2, 0.0 * action)
    coder = StateMerging(60, n_starts=3).prepare(walk, rng)
    codes = codes_of(coder, walk)
    outcome = {}
    for k in range(n):
        assert outcome.setdefault(codes[k], look[states[k]]) == look[states[k]]
        if not first[k]:
            key = codes[k - 1], action[k]
            assert outcome.setdefault(key, look[states[k]]) == look[states[k]]


@given(length=st.integers(1, 120), seed=st.integers(0, 999))
def test_a_merge_can_be_taken_back(length, seed):
    """Whatever is merged, and whether it fails; and counts of a merge that succeeds are kept."""
    rng = np.random.default_rng(seed)
    first = rng.random(length) < 0.2
    first[0] = True
    seen, action = rng.integers(0, 2, length), rng.integers(0, 2, length)
    tree, _ = merging._grow(seen, action, first, rng.random((2, 2)) < 0.3)
    edge = int(rng.integers(1, tree.first.size))
    [other] = rng.choice(np.unique(tree.target), 1)
    n_edges = np.count_nonzero(tree.n_met)
    if edge > n_edges or tree.target[edge] >= other:
        return
    before = [np.array(part) for part in tree]
    pairs, changes = np.zeros((length + 9, 3), np.int64), np.zeros((length + 9, 4), np.int64)
    _, n_changes = merging._fold(
        tree, int(tree.target[edge]), int(other), 0, np.ones((2, 2, 2)), pairs, changes
    )
    merging._undo(tree, n_changes, changes)
    assert all(np.array_equal(part, old) for part, old in zip(tree, before, strict=True))


def test_what_is_new_has_the_code_of_its_observation_until_one_state_is_left():
    """In a corridor 0-1-1-2 whose last place is a surprise, the walk that returns finds itself."""
    walk = Walk(
        np.array([[0.0], [1], [1], [2], [0], [1], [1], [2]]),
        np.array([True, False, False, False] * 2), np.array([-1, 0, 0, 0] * 2), 2, np.zeros(8),
    )  # fmt: skip
    coder = StateMerging(50, n_starts=1).prepare(walk, np.random.default_rng(1))
    assert coder.n_codes == 50
    codes = codes_of(coder, walk)
    assert codes.max() < 20
    assert len(set(codes)) == 4
    begin, first, second, last = codes[:4]
    lost = 50 - 30 + coder.single.begin(np.array([1.0]))
    assert coder.begin(np.array([1.0])) == lost  # in which of two places?
    assert coder.encode(np.array([2.0]), 0) == last
    assert coder.encode(np.array([0.0]), 1) == begin
    assert coder.encode(np.array([1.0]), 0) == first
    assert coder.encode(np.array([1.0]), 0) == second


def test_codes_keep_their_meaning_when_states_are_learned_again():
    """What was known keeps its code, and what is known already is not learned again."""
    maze = cued_t_maze(3)
    walk, states = walk_in(maze, maze.labels, 3000)
    short = np.flatnonzero(walk.is_first)[3]
    few = Walk(*(part[:short] for part in walk[:3]), 3, walk.reward[:short])
    encoder = StateMerging(200, n_starts=2)
    rng = np.random.default_rng(1)
    early = encoder.prepare(few, rng)
    late = encoder.prepare(walk, rng, early)
    before, after = codes_of(early, few), codes_of(late, few)
    kept = {(old, new) for old, new in zip(before, after, strict=True) if old == new}
    assert len(kept) >= 0.5 * len(set(after))
    assert is_one_to_one(codes_of(late, walk), states)
    assert encoder.prepare(walk, rng, late).following is late.following


def test_a_learner_remembers_the_cue():
    """Rewards as in true states, where one in thirty choices is random; a window does not help."""
    maze = cued_t_maze(10)
    shares = []
    for world, encoder in (
        (maze, None), (aliased(maze, maze.labels), StateMerging(200, n_before=6000, n_starts=1)),
        (aliased(maze, maze.labels), LastObservations(4, KMeans(30, 1, np.inf))),
    ):  # fmt: skip
        run = simulate(world, "prioritized_sweeping", encoder=encoder, n_steps=6000, seed=2)
        ends = run.log.steps[run.log.steps["terminated"]].iloc[-150:]
        shares.append(ends["reward"].mean())
        if isinstance(encoder, StateMerging):
            assert run.codes["n_refits"].max() == 0
    assert shares[1] > 0.9
    assert shares[1] > shares[0] - 0.05
    assert shares[2] < 0.7


def test_looks_of_walls_by_hand():
    """In the upper left corner, where episodes start, up and left change nothing."""
    maze = from_ascii("S.\n.G")
    names, looks = maze.action_names, looks_of_walls(maze)
    corner = sum(2 ** names.index(name) for name in ("up", "left"))
    assert looks[maze.start_probability > 0] == [corner]
    assert looks[maze.terminal] == [-1]
    assert len(set(looks)) == 4


def test_what_cannot_be_aliased_is_told():
    maze = cued_t_maze(2)
    with pytest.raises(ValueError, match="one number for each of the 10 states, got 3"):
        aliased(maze, [1, 2, 3])
    with pytest.raises(TypeError, match="mdp must be an MDP, got 5"):
        aliased(5, [1])
    with pytest.raises(TypeError, match="mdp must be an MDP, got 5"):
        looks_of_walls(5)
    with pytest.raises(ValueError, match="length must"):
        cued_t_maze(0)
    nowhere = MDP.from_tables([[1], [1]], [0, 1], start=0, terminal=[1])
    _, info = aliased(nowhere, [0, 1]).reset(seed=1)
    assert info == {"state": 0}


def test_there_is_room_for_states_beside_observations():
    walk = Walk(
        np.zeros((3, 1)), np.array([True, False, False]), np.array([-1, 0, 0]), 2, np.zeros(3)
    )
    with pytest.raises(ValueError, match="larger than the number of codes of single observations"):
        StateMerging(30).prepare(walk, np.random.default_rng(1))
