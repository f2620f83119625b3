"""Clones of observations, learned by expectation maximisation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_belief_states import slippery

from replay import from_ascii, simulate
from replay.encoders import BeliefStates, Clones, KMeans
from replay.encoders.clones import _expect, learn
from replay.encoders.contract import Walk
from replay.worlds.observations import aliased

pytest.importorskip("gymnasium")


def walk_of(seen, action, is_first=None):
    n = len(seen)
    first = np.arange(n) == 0 if is_first is None else is_first
    return Walk(
        np.array(seen, dtype=float)[:, None], first, action, int(action.max()) + 1, 0.0 * action
    )


def test_learning_equals_the_published_code():
    """Against chmm_actions.py of George et al. (2021), commit of 2021, in double precision.

    Its sequence, beginning, likelihoods (bits an observation) of five iterations and some of the
    probabilities after them. There, the first clone is not learned, and the action is that of the
    row before.
    """
    draw = np.random.RandomState(7)
    seen, action = draw.randint(0, 3, 60), np.append(-1, draw.randint(0, 2, 60)[:-1])
    follows = np.random.RandomState(42).rand(2, 6, 6).reshape(2, 3, 2, 3, 2)
    is_first = np.arange(60) == 0
    bits = []
    for _ in range(5):
        follows += 0.002 * (len(bits) == 0)
        follows /= follows.sum(axis=(3, 4), keepdims=True)
        counts = np.full_like(follows, 0.002)
        begins = np.full((3, 2), 1 / 6)
        bits.append(
            -_expect(seen, action, is_first, follows, begins, counts, begins.copy())
            / np.log(2) / 60
        )  # fmt: skip
        follows = counts
    assert bits == pytest.approx(
        [1.5404340289479648, 1.1971991077706396, 1.1495818849987745, 1.1070394259714256,
         1.0769343754965124]
    )  # fmt: skip
    found = (follows / follows.sum(axis=(3, 4), keepdims=True)).reshape(2, 6, 6)
    assert found[0, 0] == pytest.approx(
        [0.07837547048649975, 0.3420226939194389, 0.45814328265160853, 0.043097696686187265,
         0.04604305037188624, 0.032317805884379366]
    )  # fmt: skip
    assert found[1, 5] == pytest.approx(
        [0.07360872792546444, 0.565147776842489, 0.000353113361593055, 0.34931161876129124,
         0.006011474998043794, 0.005567288111118384]
    )  # fmt: skip


@given(n_clones=st.integers(1, 3), n=st.integers(5, 40), seed=st.integers(0, 999))
def test_the_likelihood_never_falls(n_clones, n, seed):
    """Several episodes; without pseudocounts it is maximised itself."""
    rng = np.random.default_rng(seed)
    seen, is_first = rng.integers(0, 2, n), rng.random(n) < 0.2
    is_first[0] = True
    walk = walk_of(seen, np.where(is_first, -1, rng.integers(0, 2, n)), is_first)
    walk = walk._replace(n_actions=2)
    model = rng.random((2, 2, n_clones, 2, n_clones)), np.ones((2, n_clones))
    found = [learn(seen, walk, *model, n_iterations, 0.0)[0] for n_iterations in (1, 2, 3, 8)]
    assert (np.diff(found) > -1e-9).all()


def test_places_that_look_alike_are_told_apart_where_actions_fail():
    """Nearly as well as by one who knows the room, in which one action in ten has no effect."""
    room = from_ascii("S...\n..G.\n....")
    looks = np.where(room.terminal, -1.0, [0, 1, 2, 2, 0, 0, 1, 1, 2, 0, 1, 0])
    world = slippery(room, 0.1)
    pure = {}
    for encoder in (KMeans(5), Clones(6, KMeans(5), 4000), BeliefStates(world, looks)):
        run = simulate(aliased(world, looks), "q_learning", encoder=encoder, n_steps=1500, seed=3)
        places = run.places
        pure[type(encoder).__name__] = np.average(places["share"], weights=places["n_met"])
    assert pure["KMeans"] < 0.7
    assert pure["Clones"] > pure["BeliefStates"] - 0.03


def test_clones_keep_their_codes_when_learning_goes_on():
    room = from_ascii("S..\n..G")
    looks = np.where(room.terminal, -1.0, np.arange(room.n_states) % 2)
    encoder = Clones(4, KMeans(4), 2000, 2.0)
    run = simulate(aliased(room, looks), "q_learning", encoder=encoder, n_steps=700, seed=1)
    assert run.changes.empty or (run.changes["before"] == run.changes["after"]).mean() > 0.5
    again = simulate(aliased(room, looks), "q_learning", encoder=encoder, n_steps=700, seed=1)
    assert again.codes.equals(run.codes)


@pytest.mark.parametrize(
    "wrong",
    [{"n_clones": 0}, {"n_before": 0}, {"n_iterations": 0}, {"n_starts": 0}, {"pseudocount": -1}],
)
def test_numbers_out_of_range_are_told(wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must"):
        Clones(**wrong)
    with pytest.raises(ValueError, match="the moves between 100000 clones"):
        Clones(100_000).prepare(walk_of([0, 1], np.array([-1, 0])), np.random.default_rng(1))
