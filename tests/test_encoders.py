"""States made from observations: encoders, and runs in which learners know codes only."""

import math
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyses import classify, place_sequences
from analyses.page import write_page
from analyses.plots import plot_event
from replay import feed, from_ascii, random_maze, simulate
from replay.encoders import (
    Bins,
    KMeans,
    LastObservations,
    PredictiveStates,
    RandomProjections,
    SlowFeatures,
    StateMerging,
    VariationalCodes,
    predictive_states,
)
from replay.encoders.contract import Walk
from replay.encoders.levels import find_levels
from replay.encoders.variational_codes import BitCoder, draw_weights
from replay.learners import episodic_control
from replay.learners.contract import Sizes
from replay.log.event_log import EventLog
from replay.worlds.mdp import uniform_policy
from replay.worlds.observations import pixels, place_code

gymnasium = pytest.importorskip("gymnasium")

MAZE = from_ascii("S...\n.##.\n...G")
N_STATES = MAZE.n_states


def rng(seed=1):
    return np.random.default_rng(seed)


def walk_of(observations, n_actions=2):
    observations = np.asarray(observations, dtype=float)
    n = len(observations)
    return Walk(observations, np.arange(n) == 0, np.zeros(n, np.int64), n_actions, np.zeros(n))


class Seen(gymnasium.Env):
    """An environment whose states are numbers that are seen as one feature."""

    def __init__(self, mdp=MAZE, **changes):
        self.env = mdp.to_gymnasium(max_episode_steps=changes.pop("limit", None))
        self.action_space = self.env.action_space
        self.observation_space = gymnasium.spaces.Box(0, 1000, (1,))
        self.changes = changes

    def reset(self, *, seed=None, options=None):
        state, info = self.env.reset(seed=seed)
        return self._seen(state), info

    def step(self, action):
        state, reward, *ends, info = self.env.step(action)
        return self._seen(state), self.changes.get("reward", reward), *ends, info

    def _seen(self, state):
        see = self.changes.get("see", lambda state: np.array([float(state)]))
        return see(state)


class Identity:
    """The state is the code; after each of some steps, codes are numbered backwards."""

    n_before = 0

    def __init__(self, refit_at=(), n_codes=N_STATES):
        self.refit_at, self.n_codes, self.is_reversed = refit_at, n_codes, False

    def prepare(self, walk, rng, previous=None):
        made = Identity(self.refit_at, self.n_codes)
        made.is_reversed = previous is not None and not previous.is_reversed
        return made

    def begin(self, observation):
        state = int(observation[0])
        return self.n_codes - 1 - state if self.is_reversed else state

    def encode(self, observation, action):
        return self.begin(observation)


LEARNERS = ["q_learning", "prioritized_sweeping", "episodic_control", "monte_carlo"]


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_learner_knows_codes_as_it_knows_states(learner, request):
    """What is learned from codes that are the states is what the same steps teach."""
    if learner != "q_learning":  # all others are as compiled as it is
        request.getfixturevalue("plain")
    run = simulate(Seen(), learner, encoder=Identity(), n_steps=400, seed=3, log="all")
    table = run.log.steps
    learned = []
    log = feed(
        learner, table, n_states=2 * N_STATES, n_actions=4, seed=3,
        on_step=lambda step, memory: learned.append(memory),
    )  # fmt: skip
    assert np.array_equal(learned[-1].action_values, run.memory.action_values)
    columns = ["step", "phase", "state", "action", "next_state", "q_before", "q_after"]
    assert log.backups[columns].equals(run.log.backups[columns])
    assert len(log.backups) > 0
    assert table["reward"].sum() == run.window_rewards.sum()


def test_an_end_has_a_code_of_its_own():
    """Where the end looks like a place that is left, its code does not lead on.

    In the corridor S..G the start, seen as 0, and the end look alike: of all that is learned, only
    the reward at the end is worth anything, and V = 1 before it.
    """
    row = from_ascii("S..G")
    env = Seen(row, see=lambda state: np.array([float(state % 3)]))
    for learner in ("prioritized_sweeping", "full_backups"):
        run = simulate(env, learner, encoder=Identity(n_codes=3), n_steps=2000, seed=1)
        steps = run.log.steps
        assert set(steps.loc[steps["terminated"], "next_state"]) == {3}
        assert not (steps["state"] >= 3).any()
        values = run.memory.action_values.max(axis=1)
        assert values == pytest.approx([0.99**2, 0.99, 1, 0, 0, 0], abs=1e-6)


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_learner_learns_its_run_again_in_other_codes(learner, plain):
    """Codes with other numbers change nothing else, where actions are drawn blindly."""
    params = {"epsilon": 1.0}
    same, other = (
        simulate(Seen(limit=30), learner, params, encoder=Identity(refit_at), n_steps=300, seed=3)
        for refit_at in ((), (40, 180, 299, 300))
    )
    assert same.codes["n_refits"].max() == 0
    changed = other.codes["n_refits"]
    assert changed.tolist() == [0] * 40 + [1] * 140 + [2] * 119 + [3]
    back = np.where(changed % 2, N_STATES - 1 - other.codes["code"], other.codes["code"])
    assert np.array_equal(back, same.codes["code"])
    assert other.window_rewards.tolist() == same.window_rewards.tolist()
    if learner == "q_learning":  # others may draw among equals, or use the order of states
        values, back = same.memory.action_values, other.memory.action_values
        assert np.array_equal(back[:N_STATES][::-1], values[:N_STATES])


def test_changes_say_what_each_code_became():
    """Codes that are numbered backwards at steps 40 and 180."""
    run = simulate(Seen(limit=30), "q_learning", encoder=Identity((40, 180)), n_steps=300, seed=3)
    changes = run.changes
    assert changes["n_refits"].unique().tolist() == [1, 2]
    assert changes["step"].unique().tolist() == [39, 179]
    assert run.log.provenance["learned_again_after"] == [39, 179]
    assert run.log.provenance["encoder"] == "Identity"
    is_end = changes["before"] >= N_STATES
    assert is_end.equals(changes["after"] >= N_STATES)
    codes = changes[["before", "after"]].sum(axis=1) - 2 * N_STATES * is_end
    assert codes.eq(N_STATES - 1).all()
    n_starts = run.log.steps["step"].lt(40) & (
        run.log.steps["terminated"] | run.log.steps["truncated"]
    )
    assert changes.loc[changes["n_refits"] == 1, "n_met"].sum() == 41 + n_starts.sum()
    still = simulate(Seen(), "q_learning", encoder=Identity(), n_steps=300, seed=3)
    assert still.changes.empty
    assert still.changes.columns.tolist() == changes.columns.tolist()
    assert still.log.provenance["learned_again_after"] == []


def test_learning_again_forgets_nothing():
    """After a refit the values are those that the whole run teaches, not those since the refit."""
    first, second = (
        simulate(
            Seen(limit=30),
            "q_learning",
            {"epsilon": 1.0},
            encoder=Identity(at),
            n_steps=300,
            seed=3,
        )
        for at in ((), (298, 299))
    )
    assert np.array_equal(first.memory.action_values, second.memory.action_values)


@pytest.mark.parametrize("learner", ["n_step_td", "prioritized_sweeping"])
def test_the_same_seed_gives_the_same_run(learner, request):
    """The encoder's own draws included."""
    if learner == "n_step_td":
        request.getfixturevalue("plain")
    env = place_code(MAZE, noise=0.2, n_distractors=3)
    encoder = KMeans(12, 60, 1.5)
    runs = [simulate(env, learner, encoder=encoder, n_steps=900, seed=s) for s in (1, 1, 2)]
    tables = [(run.log.steps, run.log.backups, run.codes) for run in runs]
    for one, again, other in zip(*tables, strict=True):
        pd.testing.assert_frame_equal(one, again)
        assert one.empty or not one.equals(other)
    assert runs[0].codes["n_refits"].nunique() == 3


@given(
    n_codes=st.integers(1, 12), n_features=st.integers(1, 4), n=st.integers(1, 60),
    seed=st.integers(0, 99), few=st.booleans(),
)  # fmt: skip
def test_an_observation_belongs_to_the_nearest_centre(n_codes, n_features, n, seed, few):
    seen = rng(seed).normal(size=(n, n_features))
    seen = seen.round() if few else seen
    coder = KMeans(n_codes, 1).prepare(walk_of(seen), rng(seed))
    assert coder.n_codes == n_codes
    centres = coder.centres[np.isfinite(coder.centres).all(axis=1)]
    assert 1 <= len(centres) <= min(n_codes, len(np.unique(seen, axis=0)))
    for observation in rng(seed + 1).normal(size=(20, n_features)):
        point = coder.weight @ (observation - coder.offset)
        distance = ((centres - point) ** 2).sum(axis=1)
        assert distance[coder.encode(observation, 0)] == pytest.approx(distance.min())
    again = KMeans(n_codes, 1).prepare(walk_of(np.vstack([seen, seen + 1])), rng(), coder)
    assert again.n_codes == n_codes


def test_few_different_observations_keep_their_codes():
    """They have a code each, in the order in which they were met, however often it is refitted."""
    seen = np.array([[5.0, 1], [2, 2], [5, 1], [9, 0]])
    encoder = KMeans(6, 1)
    coder = encoder.prepare(walk_of(seen), rng())
    assert [coder.begin(row) for row in seen] == [0, 1, 0, 2]
    more = np.vstack([seen, [[1.0, 1], [7, 7]]])
    coder = encoder.prepare(walk_of(more), rng(), coder)
    assert [coder.begin(row) for row in more] == [0, 1, 0, 2, 3, 4]
    many = np.vstack([more, rng().normal(20, 1, (50, 2))])
    coder = encoder.prepare(walk_of(many), rng(), coder)
    used = {coder.begin(row) for row in many}
    assert len(used) == 6


def test_centres_go_where_observations_are():
    """Centres that a random walk placed move when the run goes elsewhere."""
    before = rng(1).normal(0, 1, (200, 2))
    after = rng(2).normal(30, 1, (2000, 2))
    encoder = KMeans(20, 1)
    coder = encoder.prepare(walk_of(before), rng())
    assert len({coder.begin(row) for row in after}) <= 2
    coder = encoder.prepare(walk_of(np.vstack([before, after])), rng(), coder)
    assert len({coder.begin(row) for row in after}) >= 10


def test_refits_come_whenever_the_run_has_grown():
    assert KMeans(4, 1, 2.0).refit_at[:4] == (500, 1000, 2000, 4000)
    assert KMeans(4, 1, math.inf).refit_at == ()
    assert SlowFeatures().refit_at == ()


def test_the_slowest_features_of_a_mixture_are_found():
    """A slow sine, mixed linearly with louder fast noise, is the first feature."""
    slow = np.sin(np.arange(5000) / 50)
    sources = np.column_stack([slow, 5 * rng().normal(size=(5000, 4))])
    seen = sources @ rng(2).normal(size=(5, 5))
    coder = SlowFeatures(1, 8, 5000).prepare(walk_of(seen), rng())
    feature = (seen - coder.offset) @ coder.weight[0]
    assert abs(np.corrcoef(feature, slow)[0, 1]) > 0.99
    assert feature.std() == pytest.approx(1, abs=1e-3)


def test_jumps_between_episodes_are_not_fast():
    """A feature that only changes when an episode begins is as slow as can be."""
    n = 2000
    first = np.arange(n) % 20 == 0
    context = np.repeat(rng().integers(0, 2, n // 20), 20) + 0.01 * rng(1).normal(size=n)
    seen = np.column_stack([context, np.sin(np.arange(n) / 10)])
    walk = Walk(seen, first, np.where(first, -1, 0), 2, np.zeros(n))
    coder = SlowFeatures(1, 2, n).prepare(walk, rng())
    assert abs(coder.weight[0, 0]) > 100 * abs(coder.weight[0, 1]) * seen[:, 1].std() * 0.01


def clusters(n_places, n, noise=0.1, n_distractors=10, seed=1):
    """Walk at random along a row of places, each seen as a unit of its own, and flicker."""
    draw = rng(seed)
    action = draw.integers(0, 2, n)
    place = np.zeros(n, dtype=np.int64)
    for k in range(1, n):
        place[k] = np.clip(place[k - 1] + 2 * action[k] - 1, 0, n_places - 1)
    seen = np.eye(n_places)[place] + noise * draw.normal(size=(n, n_places))
    seen = np.column_stack([seen, draw.integers(0, 2, (n, n_distractors))])
    return Walk(
        seen, np.arange(n) == 0, np.where(np.arange(n) > 0, action, -1), 2, np.zeros(n)
    ), place


@pytest.mark.parametrize("n_places", [4, 9])
def test_as_many_predictive_states_as_places(n_places):
    """One code a place, though there may be more, and though other units flicker or drift."""
    walk, place = clusters(n_places, 3000)
    drift = np.zeros((3000, 10))
    for k in range(1, 3000):
        drift[k] = 0.95 * drift[k - 1] + rng(k).normal(size=10)
    walk = walk._replace(observations=np.hstack([walk.observations, drift]))
    coder = PredictiveStates(40, 2).prepare(walk, rng())
    codes = np.array([coder.begin(seen) for seen in walk.observations])
    assert len(set(zip(codes, place, strict=True))) == len(set(codes)) == n_places
    assert coder.of.weight[:, :n_places].any(axis=0).all()
    assert not coder.of.weight[:, n_places:].any()


def test_levels_by_hand():
    """A pixel of three values becomes two features; what is rare, continuous or on-off stays."""
    n, draw = 4000, rng(1)
    of_three = np.array([0.5, 0.75, 1.0])[draw.choice(3, n, p=[0.9, 0.07, 0.03])]
    on_and_off = draw.integers(0, 2, n).astype(float)
    rare = np.where(np.arange(n) < 2, 1.0, np.where(np.arange(n) < 50, 0.75, 0.5))
    noise = 0.02 * draw.normal(size=n)
    seen = np.column_stack(
        [noise, of_three + noise, on_and_off, rare + noise, draw.uniform(size=n)]
    )
    levels = find_levels(seen, 100, None)
    assert levels.kept.tolist() == [0, 2, 3, 4]
    assert levels.owner.tolist() == [1, 1]
    own = levels.of(seen)
    assert (own[:, :4] == seen[:, levels.kept]).all()
    assert (own[:, 4:] == np.equal.outer(of_three, [0.75, 1.0])).all()
    assert (levels.of(seen[7]) == own[7]).all()
    # Known levels stay, even if values fill the gap later; and there are not more than allowed.
    filled = np.vstack([seen, np.tile(np.linspace(0, 1, 200)[:, None], 5)])
    assert find_levels(filled, 100, None).owner.size == 0
    assert find_levels(filled, 100, levels).owner.tolist() == [1, 1]
    assert find_levels(seen, 5, None).kept.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_second_animal_in_the_same_pixels_is_no_part_of_the_state(seed):
    n, n_places, draw = 10_000, 25, rng(seed)
    action, moves = draw.integers(0, 2, n), draw.choice([-1, 1], n)
    own, other = np.zeros((2, n), dtype=int)
    for k in range(1, n):
        own[k] = np.clip(own[k - 1] + 2 * action[k] - 1, 0, n_places - 1)
        other[k] = np.clip(other[k - 1] + moves[k], 0, n_places - 1)
    seen = np.full((n, n_places), 0.5)
    seen[np.arange(n), other] = 0.75
    seen[np.arange(n), own] = 1.0  # and hides the other
    seen += 0.02 * draw.normal(size=seen.shape)
    first = np.arange(n) == 0
    walk = Walk(seen, first, np.where(first, -1, action), 2, np.zeros(n))
    codes = walk.codes(PredictiveStates(60, 2).prepare(walk, rng()))
    assert len(set(zip(codes, own, strict=True))) == len(set(codes)) == n_places


def test_a_unit_that_was_seen_once_with_the_reward_does_not_count():
    """One moment at which both are there may be chance; many are not."""
    walk, _ = clusters(4, 3000)
    moments = rng(2).choice(np.arange(1, 3000), 100, replace=False)
    for n, counts in ((1, False), (100, True)):
        unit = np.zeros(3000)
        unit[moments[:n] - 1] = 1.0  # what is seen before the reward
        reward = np.zeros(3000)
        reward[moments[:n]] = 1.0
        seen = np.column_stack([walk.observations, unit])
        coder = PredictiveStates(40, 2).prepare(
            walk._replace(observations=seen, reward=reward), rng()
        )
        assert coder.of.weight[:, -1].any() == counts


@pytest.mark.parametrize("n", [100, 400])
def test_noise_in_many_dimensions_is_one_place(n):
    """Along a direction that points have chosen themselves, they would look like two."""
    rng = np.random.default_rng(n)
    noise = rng.standard_normal((n, 200))
    assert list(predictive_states._halves(noise)) == []
    apart = np.where(np.arange(n)[:, None] < n / 2, 6 / np.sqrt(200), 0.0)
    assert len(list(predictive_states._halves(noise + apart))) == 1


def test_predictive_states_keep_their_codes():
    """A place that is new gets a new code; the others keep theirs."""
    walk, place = clusters(9, 4000)
    first = 400
    place[:first] = np.minimum(place[:first], 5)
    walk.observations[:first, :9] = np.eye(9)[place[:first]] + 0.1 * rng().normal(size=(first, 9))
    early = Walk(*(part[:first] for part in walk[:3]), 2, walk.reward[:first])
    encoder = PredictiveStates(40, 2)
    coder = encoder.prepare(early, rng())
    again = encoder.prepare(walk, rng(), coder)
    old, new = (
        np.array([each.begin(seen) for seen in walk.observations]) for each in (coder, again)
    )
    common = [k for k in range(6) if np.count_nonzero(place[:first] == k) > 25]
    assert len(common) > 3
    for k in common:
        code = np.bincount(old[:first][place[:first] == k]).argmax()
        assert (new[place == k] == code).all()
    assert not np.isin(new[place >= 6], new[place < 6]).any()


def test_what_varies_continuously_is_divided_into_all_codes():
    seen = rng().uniform(size=(6000, 1)).cumsum(axis=0) % 7  # it turns, and is predictable
    walk = Walk(seen, np.arange(6000) == 0, np.where(np.arange(6000) > 0, 0, -1), 1, np.zeros(6000))
    encoder = PredictiveStates(16, 2)
    coder = encoder.prepare(walk, rng())
    assert len({coder.begin(one) for one in seen}) == 16
    elsewhere = walk._replace(observations=np.where(seen > 6, seen, seen / 20))
    coder = encoder.prepare(elsewhere, rng(), coder)
    used = [coder.begin(one) for one in elsewhere.observations if one[0] < 0.3]
    assert len(set(used)) >= 4


@pytest.mark.parametrize("n", [1, 3])
def test_predictive_states_of_next_to_nothing(n):
    coder = PredictiveStates(5, 2).prepare(walk_of(np.ones((n, 2))), rng())
    assert coder.begin(np.ones(2)) == 0


def test_predictive_states_are_places_in_what_is_replayed():
    """With distractors, kinds of replay in codes are those in places, and sweeping rests."""
    maze = random_maze(6, seed=1)
    width = float(np.linalg.norm(np.diff(maze.position, axis=0), axis=1).min())
    env = place_code(maze, width=width, noise=0.1, n_distractors=10)
    encoder = PredictiveStates(2 * maze.n_states, 5000)
    run = simulate(env, "prioritized_sweeping", encoder=encoder, n_steps=2000, seed=5)
    assert run.log.backups["event"].nunique() < 100
    kinds = [classify(log)["kind"] for log in (run.log, run.in_places())]
    assert kinds[0].tolist() == kinds[1].tolist()
    assert len(kinds[0]) > 4


def test_bins_by_hand():
    coder = Bins(4).prepare(walk_of([[0.0, 10], [4, 30]]), rng())
    assert coder.n_codes == 16
    codes = [coder.begin(np.array(seen)) for seen in ([0.5, 10.0], [1.5, 10], [1.5, 29], [-9, 99])]
    assert codes == [0, 1, 13, 12]
    constant = Bins(4).prepare(walk_of([[1.0], [1]]), rng())
    assert constant.begin(np.array([1.0])) == 0


def test_random_projections_of_opposite_observations():
    """What lies opposite is on the other side of each plane; what lies near, on the same one."""
    coder = RandomProjections(10).prepare(walk_of(rng().normal(size=(500, 30))), rng())
    mean = np.linalg.lstsq(coder._weight, coder._threshold, rcond=None)[0]
    direction = rng(5).normal(size=30)
    code, opposite = (coder.begin(mean + sign * direction) for sign in (1, -1))
    assert code + opposite == 2**10 - 1
    near = coder.begin(mean + direction + 0.01 * rng(6).normal(size=30))
    assert (code ^ near).bit_count() <= 1


def test_windows_of_observations_by_hand():
    encoder = LastObservations(2, Identity(n_codes=3))
    coder = encoder.prepare(walk_of([[0.0]]), rng())
    episode = [(0, -1), (1, 0), (1, 0), (1, 1), (1, 0)]
    codes = []
    for state, action in episode * 2:
        seen = np.array([float(state)])
        codes.append(coder.begin(seen) if action < 0 else coder.encode(seen, action))
    assert codes == [0, 1, 2, 3, 2] * 2


def test_a_window_tells_aliased_states_apart():
    """In a corridor whose two halves look alike, one observation does not tell where to go."""
    row = "S" + "." * 5 + "G"
    see = lambda state: np.array([float(state % 3)])  # noqa: E731
    maze = from_ascii(row)
    codes = {
        n: simulate(
            Seen(maze, see=see), "prioritized_sweeping", n_steps=200, seed=1,
            encoder=LastObservations(n, Identity(n_codes=3)),
        ).codes["code"].nunique()
        for n in (1, 4)
    }  # fmt: skip
    assert codes[1] == 3
    assert codes[4] > 6


def test_codes_are_translated_to_places():
    """Codes 0 and 1 are one state, code 2 is two states, of which one was met more often."""
    env = place_code(MAZE, noise=0.0)
    run = simulate(env, "prioritized_sweeping", encoder=KMeans(N_STATES, 400), n_steps=900, seed=1)
    found = run.in_places()
    assert found.steps["state"].tolist() == run.codes["state"].tolist()
    assert found.steps["next_state"].tolist() == run.codes["next_state"].tolist()
    pairs = set(zip(run.log.steps["state"], run.codes["state"], strict=True))
    assert len(pairs) == run.codes["code"].nunique() == run.codes["state"].nunique()
    place = dict(pairs) | dict(
        zip(run.log.steps["next_state"], run.codes["next_state"], strict=True)
    )
    for column in ("location", "state", "next_state"):
        assert found.backups[column].tolist() == [place[k] for k in run.log.backups[column]]
    positions = MAZE.position[run.codes["state"]]
    assert np.array_equal(run.codes[["x", "y"]].to_numpy(), positions)
    kinds = [classify(log)["kind"] for log in (run.log, found)]
    assert kinds[0].tolist() == kinds[1].tolist()
    assert len(kinds[0]) > 3


def test_places_are_drawn_in_their_world():
    env = place_code(MAZE, noise=0.0)
    run = simulate(env, "q_learning", encoder=KMeans(N_STATES, 400), n_steps=90, seed=1)
    assert run.in_places(MAZE).mdp is MAZE
    with pytest.raises(ValueError, match="has 4 states, and the run was in state"):
        run.in_places(from_ascii("S..G"))
    with pytest.raises(TypeError, match="mdp must be an MDP, got 7"):
        run.in_places(7)


def test_a_code_of_two_places_stands_for_the_one_met_most_often():
    merged = replace_states(lambda state: min(state, N_STATES - 3))
    run = simulate(merged, "q_learning", encoder=Identity(), n_steps=300, seed=2, log="all")
    met = pd.DataFrame(
        {
            "code": np.append(run.log.steps["state"], run.log.steps["next_state"]),
            "state": np.append(run.codes["state"], run.codes["next_state"]),
        }
    )
    [shared] = [code for code, rows in met.groupby("code") if len(rows["state"].unique()) > 1]
    assert run.places.loc[run.places["n_states"] > 1, "code"].tolist() == [shared]
    most = met.loc[met["code"] == shared, "state"].mode()[0]
    backups, places = run.log.backups, run.in_places().backups
    assert set(places.loc[backups["next_state"] == shared, "next_state"]) == {most}


def test_codes_are_drawn_where_they_were_met(tmp_path):
    """The log's world is what was met: moves, mean rewards, and positions of codes.

    One code is two places, and lies between them; pictures and the page mark it.
    """
    shared = replace_states(lambda state: min(state, N_STATES - 3))
    encoder = Identity((100,), N_STATES + 2)
    run = simulate(shared, "prioritized_sweeping", encoder=encoder, n_steps=300, seed=2)
    world, log = run.log.mdp, run.log
    assert log.provenance["codes_of_several_states"] == [4]
    places = run.places.drop_duplicates("code", keep="last").set_index("code")
    assert np.array_equal(world.position[places.index], places[["x", "y"]])
    told = place_sequences(run)
    assert len(told) > 3
    assert np.flatnonzero(world.terminal).tolist() == [k for k in places.index if k > N_STATES + 1]
    rewarded = world.expected_reward() > 0
    for (state, action), made in log.steps.groupby(["state", "action"]):
        assert set(made["next_state"]) <= set(world.successors(state, action).tolist())
        assert rewarded[state, action] == world.terminal[world.successors(state, action)].any()
    ax = plot_event(run)
    [marks] = [line for line in ax.lines if line.get_marker() == "D"]
    assert np.array_equal(marks.get_xydata(), world.position[[4]])
    assert "met in several places" in write_page(run, tmp_path / "page.html").read_text()
    assert "codes_of_several_states" not in run.in_places(MAZE).provenance
    log.save(tmp_path / "log")
    assert EventLog.load(tmp_path / "log").mdp == world


def replace_states(number):
    class Told(Seen):
        def reset(self, **options):
            return self._told(self.env.reset(**options)[0])

        def step(self, action):
            state, reward, *ends, _ = self.env.step(action)
            seen, info = self._told(state)
            return seen, reward, *ends, info

        def _told(self, state):
            info = {"state": state, "position": MAZE.position[state]}
            return np.array([float(number(state))]), info

    return Told()


def bit_coder(n_codes, seed=1, n_bits=6):
    weights = draw_weights(3, n_bits, 2, rng(seed))
    return BitCoder(np.zeros(3), np.ones(3), weights, n_codes)


@given(st.integers(1, 40), st.integers(0, 99))
def test_bits_are_numbered_as_they_are_met(n_codes, seed):
    """Same bits, same code; other bits share one only if none is left, and then the nearest."""
    seen = rng(seed).normal(size=(60, 3))
    coder = bit_coder(n_codes)
    bits = coder.bits(seen)
    codes = [coder.begin(each) for each in seen]
    assert codes == [coder.encode(each, 0) for each in seen]
    first = {code: bits[codes.index(code)] for code in dict.fromkeys(codes)}
    assert list(first) == list(range(min(len(first), n_codes)))
    for each, code in zip(bits, codes, strict=True):
        away = {other: (each != own).sum() for other, own in first.items()}
        if len(first) < n_codes:
            assert away[code] == 0
        assert away[code] == min(away.values())


def test_codes_keep_their_numbers_when_bits_change():
    """A permutation of bits is another network that tells the same apart."""
    seen = rng(2).normal(size=(300, 3))
    before = bit_coder(40).numbered(seen, None)
    weights = dict(before.weights)
    for name in ("bits", "bits_offset"):
        weights[name] = weights[name][..., ::-1]
    after = BitCoder(np.zeros(3), np.ones(3), weights, 40).numbered(seen, before)
    assert [after.begin(each) for each in seen] == [before.begin(each) for each in seen]


def test_the_most_frequent_bits_have_codes_of_their_own():
    seen = rng(3).normal(size=(300, 3))
    bits, n_met = np.unique(bit_coder(9).bits(seen), axis=0, return_counts=True)
    coder = bit_coder(5).numbered(seen, None)
    frequent = bits[np.argsort(-n_met, kind="stable")[:5]]
    is_frequent = [(each == frequent).all(axis=1).any() for each in coder.bits(seen)]
    own = {coder.begin(each) for each in seen[is_frequent]}
    assert len(own) == 5


def test_without_pytorch_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"pip install 'hippocampal-replay\[torch\]'"):
        simulate(Seen(), "q_learning", encoder=VariationalCodes(n_before=9), n_steps=9)


def test_states_that_are_learned_serve_as_well_as_true_ones():
    """In a noisy place code with distractors, as far as in the true states within a fifth."""
    maze = random_maze(6, seed=1)
    solved = maze.solve(0.99).policy
    optimal, blind = maze.reward_rate(solved, 0.1), maze.reward_rate(uniform_policy(maze))
    width = float(np.linalg.norm(np.diff(maze.position, axis=0), axis=1).min())
    env = place_code(maze, width=width, noise=0.1, n_distractors=10)
    rates = []
    for world, encoder in (
        (maze, None), (env, SlowFeatures(maze.n_states - 1, 2 * maze.n_states, 5000)),
        (env, RandomProjections(3)),
    ):  # fmt: skip
        run = simulate(world, "prioritized_sweeping", encoder=encoder, n_steps=6000, seed=5)
        rate = run.reward_rate["reward_rate"].iloc[-50:].mean()
        rates.append((rate - blind) / (optimal - blind))
    assert rates[1] > 0.8 * rates[0]
    assert rates[2] < rates[1] - 0.2


def test_a_maze_is_seen_from_above():
    """Rows from above, walls black, the animal white; a place is two pixels wide."""
    maze = from_ascii("S.#\n.#G")
    env = pixels(maze, noise=0.0)
    seen, info = env.reset(seed=1)
    expected = np.array([[1, 0.5, 0], [0.5, 0, 0.5]]).repeat(2, 0).repeat(2, 1)
    assert np.array_equal(seen.reshape(4, 6), expected)
    assert np.array_equal(info["position"], maze.position[info["state"]])
    seen, info = env.step(maze.action_names.index("right"))[0::4]
    expected_next = np.array([[0.5, 1, 0], [0.5, 0, 0.5]]).repeat(2, 0).repeat(2, 1)
    assert np.array_equal(seen.reshape(4, 6), expected_next)
    for moved in ((0, 5), (3.7, 0)):  # cm: x and y need not begin alike
        elsewhere = pixels(replace(maze, position=maze.position + moved), noise=0.0)
        assert np.array_equal(elsewhere.reset(seed=1)[0], expected.ravel())
    noisy = [pixels(maze, noise=0.2).reset(seed=k)[0] for k in range(200)]
    assert np.std(np.array(noisy) - expected.ravel()) == pytest.approx(0.2, rel=0.05)


def test_states_are_learned_from_pixels():
    """One code a place, in 3,000 images with noise; what is earned is as with true states."""
    maze = random_maze(6, seed=4)
    encoder, env = PredictiveStates(2 * maze.n_states, 3000), pixels(maze, size=1)
    run = simulate(env, "prioritized_sweeping", encoder=encoder, n_steps=2000, seed=5)
    known = simulate(maze, "prioritized_sweeping", n_steps=2000, seed=5)
    rates = [each.reward_rate["reward_rate"].iloc[-25:].mean() for each in (run, known)]
    assert rates[0] > 0.8 * rates[1] > 0
    last = run.places[run.places["n_refits"] == run.places["n_refits"].max()]
    assert np.average(last["share"], weights=last["n_met"]) > 0.99


def test_actions_may_be_numbered_from_one():
    class FromOne(gymnasium.Wrapper):
        def __init__(self, environment):
            super().__init__(environment)
            self.action_space = gymnasium.spaces.Discrete(environment.action_space.n, start=1)

        def step(self, action):
            assert self.action_space.contains(action)
            return self.env.step(action - 1)

    made = [
        simulate(env, "q_learning", encoder=KMeans(9), n_steps=200, seed=2)
        for env in (pixels(MAZE), FromOne(pixels(MAZE)))
    ]
    pd.testing.assert_frame_equal(made[0].log.steps, made[1].log.steps)


def test_an_environment_without_an_encoder_is_told_from_a_world():
    with pytest.raises(TypeError, match=r"is a Gymnasium environment.*give encoder=.*KMeans"):
        simulate(pixels(MAZE), "q_learning", n_steps=9)


WRONG = {
    "a dictionary": (
        {"see": lambda state: {"place": state}}, {}, ValueError, "FlattenObservation"
    ),
    "text": ({"see": lambda state: "here"}, {}, ValueError, "Observations must be numbers"),
    "missing": ({"see": lambda state: np.array([np.nan])}, {}, ValueError, "An observation"),
    "other shapes": (
        {"see": lambda state: np.zeros(1 + state)}, {}, ValueError, "must have one shape"
    ),
    "an endless reward": ({"reward": np.inf}, {}, ValueError, "A reward of the environment"),
    "blocks": ({}, {"on_block": print}, ValueError, "leave out on_block"),
    "no steps": ({}, {"n_steps": None}, ValueError, "n_steps must be a whole number"),
    "a class": ({}, {"encoder": KMeans}, TypeError, "encoder must be an encoder such as"),
    "a name": ({}, {"encoder": "k_means"}, TypeError, "encoder must be an encoder such as"),
    "a code too many": ({}, {"encoder": Identity(n_codes=2)}, ValueError, "code of the encoder"),
    "windows without room": (
        {}, {"encoder": LastObservations(9, Identity(), 20)}, ValueError, "or n_last smaller"
    ),
    "too many bins": (
        {"see": lambda state: np.zeros(50)}, {"encoder": Bins(10)}, ValueError, "use fewer bins"
    ),
    "images that are too large": (
        {"see": lambda state: np.zeros((60, 80))}, {"encoder": PredictiveStates(9, 5)}, ValueError,
        "at most 2,000 features",
    ),
    "a world of states": ({}, {"mdp": MAZE}, TypeError, "must be a Gymnasium environment"),
    "reversible moves": (
        {}, {"params": {"reversible": True}}, ValueError, "reversible=False"
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_what_cannot_be_encoded_is_told(what):
    changes, options, error, message = WRONG[what]
    options = {"n_steps": 300, "encoder": Identity(), **options}
    world = options.pop("mdp", None) or Seen(**changes)
    with pytest.raises(error, match=message):
        simulate(world, "prioritized_sweeping", options.pop("params", None), **options)


def test_continuous_actions_are_told():
    env = Seen()
    env.action_space = gymnasium.spaces.Box(-1, 1, (1,))
    with pytest.raises(ValueError, match=r"action_space must be Discrete\(n\).*ActionWrapper"):
        simulate(env, "q_learning", encoder=Identity(), n_steps=10)


def test_a_learner_of_episodes_needs_ends():
    class Endless(Seen):
        def step(self, action):
            seen, reward, _, truncated, info = super().step(action)
            return seen, reward, False, truncated, info

    with pytest.raises(ValueError, match="no episode of 'Endless' ended in 50 steps"):
        simulate(Endless(), "monte_carlo", encoder=Identity(), n_steps=50)


def test_an_encoder_keeps_its_number_of_codes():
    class Growing(Identity):
        def prepare(self, walk, rng, previous=None):
            return Identity((), N_STATES + (previous is not None))

    with pytest.raises(ValueError, match="must keep its number of codes: it had 10, and has 11"):
        simulate(Seen(), "q_learning", encoder=Growing((5,)), n_steps=10)


@pytest.mark.parametrize(
    "wrap", [lambda encoder: encoder, lambda encoder: LastObservations(1, encoder)]
)
def test_an_encoder_may_change_what_it_is_given(wrap):
    """Each walk and each observation are as they were seen, whatever was done to earlier ones."""

    class Keeping(Identity):
        factor = 1.0

        def prepare(self, walk, rng, previous=None):
            walks.append(walk.observations.copy())
            walk.observations[:] *= self.factor
            self.is_reversed = False
            return self

        def begin(self, observation):
            code = super().begin(observation)
            observation *= self.factor
            return code

    class Scaling(Keeping):
        factor = 0.5

    logs, seen = [], []
    for encoder in (Keeping((40, 90)), Scaling((40, 90))):
        walks = []
        run = simulate(Seen(limit=30), "q_learning", encoder=wrap(encoder), n_steps=120, seed=3)
        logs.append(run.log.steps)
        seen.append(np.concatenate(walks))
    pd.testing.assert_frame_equal(*logs)
    np.testing.assert_array_equal(*seen)
    assert set(np.unique(seen[1])) <= set(range(N_STATES))


@pytest.mark.parametrize("end", ["False", None, 2])
def test_an_end_is_true_or_false(end):
    class Unclear(Seen):
        def step(self, action):
            observation, reward, terminated, truncated, info = super().step(action)
            ends = self.changes.get("ends", np.int64(truncated))  # as good as a flag
            return observation, reward, terminated, ends, info

    simulate(Unclear(limit=5), "q_learning", encoder=Identity(), n_steps=10)
    with pytest.raises(ValueError, match="truncated of the environment must hold True and False"):
        simulate(Unclear(ends=end), "q_learning", encoder=Identity(), n_steps=10)


def test_places_must_be_told():
    run = simulate(Seen(), "q_learning", encoder=Identity(), n_steps=50)
    with pytest.raises(ValueError, match=r"info\['state'\]"):
        run.in_places()
    with pytest.raises(ValueError, match="no encoder made them"):
        simulate(MAZE, "q_learning", n_steps=50).in_places()


@pytest.mark.parametrize("place", [(1.0, 2.0, 3.0), 1.0, np.zeros((2, 1))])
def test_a_position_is_x_and_y(place):
    class Elsewhere(Seen):
        def step(self, action):
            *made, info = super().step(action)
            return *made, info | {"position": place}

    with pytest.raises(ValueError, match=r"info\['position'\] must be x and y, got "):
        simulate(Elsewhere(), "q_learning", encoder=Identity(), n_steps=10)


@pytest.mark.parametrize(
    "make",
    [
        lambda: KMeans(0), lambda: KMeans(3, 0), lambda: KMeans(3, refit_factor=1.0),
        lambda: PredictiveStates(0), lambda: PredictiveStates(3, 1),
        lambda: SlowFeatures(0), lambda: RandomProjections(64), lambda: Bins(0.5),
        lambda: VariationalCodes(0), lambda: VariationalCodes(n_updates=0),
        lambda: LastObservations(0), lambda: StateMerging(1), lambda: StateMerging(n_starts=0),
        lambda: place_code(MAZE, width=0),
        lambda: place_code(MAZE, noise=-1), lambda: place_code(replace(MAZE, position=None)),
        lambda: place_code(MAZE, n_distractors=1.5), lambda: pixels(MAZE, size=0),
        lambda: pixels(replace(MAZE, position=None)), lambda: pixels(MAZE, noise=-1),
    ],
)  # fmt: skip
def test_parameters_out_of_range_are_told(make):
    with pytest.raises(ValueError, match=r"must|no positions"):
        make()


def test_a_run_of_codes_shows_itself():
    run = simulate(Seen(), "q_learning", encoder=Identity(), n_steps=50, seed=4)
    assert repr(run).startswith("Run('q_learning' in 'Seen', 50 steps, seed 4")
    assert "Seen" in run._repr_html_()


def test_episodic_control_averages_over_the_nearest_codes():
    """By hand: four codes in a row at 0, 1, 3, 7; returns of action 0 in three of them."""
    coder = KMeans(5, 1).prepare(walk_of([[0.0], [1], [3], [7]]), rng())
    near = coder.neighbours()
    assert near[:4].tolist() == [[0, 1, 2, 3, 4], [1, 0, 2, 3, 4], [2, 1, 0, 3, 4], [3, 2, 1, 0, 4]]
    params = episodic_control.Params(epsilon=0.0, n_nearest=2)
    memory = episodic_control.init(params, Sizes(10, 2, 5, 5, neighbours=near))
    memory.best_returns[[0, 2, 3], 0] = 8, 2, 4
    memory.action_values[[0, 2, 3], 0] = 8, 2, 4
    for code, expected in ((0, 8), (1, 5), (2, 2), (3, 4)):
        assert episodic_control.act(params, memory, code, rng()) == 0
        assert memory.action_values[code].tolist() == [expected, 0]


def test_the_nearest_codes_tell_what_to_do_where_nothing_was_tried():
    """In a corridor with more codes than were visited often, it earns more."""
    maze = from_ascii("S..G")
    env = place_code(maze, width=10, noise=0.3)
    encoder = KMeans(150, 500)
    rates = [
        simulate(
            env, "episodic_control", {"n_nearest": n}, encoder=encoder, n_steps=1000, seed=2
        ).window_rewards[:30].sum()
        for n in (0, 11)
    ]  # fmt: skip
    assert rates[1] > 1.3 * rates[0]
    with pytest.raises(ValueError, match="n_nearest needs distances"):
        simulate(maze, "episodic_control", {"n_nearest": 3}, n_steps=9)


def test_what_an_environment_raises_ends_the_run():
    """Also a key that interrupts: the loop, which is compiled, stops at once."""
    for error in (KeyboardInterrupt, ZeroDivisionError("at 7")):
        states = iter(range(60))

        def see(state, states=states, error=error):
            if next(states) == 50:
                raise error
            return np.array([float(state)])

        with pytest.raises(error if isinstance(error, type) else type(error)):
            simulate(Seen(see=see), "q_learning", encoder=Identity(), n_steps=300)
        assert next(states) == 51


def test_neighbours_of_an_own_encoder_are_checked():
    class Near(Identity):
        def prepare(self, walk, rng, previous=None):
            return self

        def neighbours(self):
            return np.zeros((2, 2))

    with pytest.raises(ValueError, match=r"neighbours\(\) of the encoder must"):
        simulate(Seen(), "episodic_control", {"n_nearest": 3}, encoder=Near(), n_steps=9)
