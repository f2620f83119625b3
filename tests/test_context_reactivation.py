"""Context-driven reactivation: its equations in dense algebra, and the paper's effects."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay import feed
from replay.learners import context_reactivation, find_learner
from replay.learners.contract import Pause, Sizes
from replay.log.backups import REST, backup_buffer

N = 12


def laps(n_laps, reward=1.0):
    state = np.tile(np.arange(N - 1), n_laps)
    end = state == N - 2
    columns = {"state": state, "action": 0, "reward": end * reward, "next_state": state + 1}
    return pd.DataFrame({**columns, "terminated": end, "start_state": 0})


def fed(moves, seed=0, **params):
    kept = {}
    sizes = {"n_states": N, "n_actions": 1, "params": params, "seed": seed}
    log = feed("context_reactivation", moves, **sizes, on_step=kept.__setitem__)
    return log.backups, kept[len(moves) - 1]


@pytest.mark.filterwarnings("ignore:.*no row of transitions is terminated")
@given(data=st.data())
def test_drift_and_association_are_those_of_the_equations(data):
    path = data.draw(st.lists(st.integers(0, N - 1), min_size=2, max_size=15))
    beta, gamma_fc = (data.draw(st.sampled_from([0.1, 0.5, 1.0])) for _ in range(2))
    moves = pd.DataFrame({"state": path[:-1], "action": 0, "next_state": path[1:]})
    moves = moves.assign(reward=np.arange(len(moves)) % 3 - 1.0, terminated=False)
    params = {"drift": beta, "item_to_context": gamma_fc}
    _, memory = fed(moves, salience=2.0, **params)
    M_fc, M_cf, c = np.eye(N), np.eye(N), np.zeros(N)
    number = {place: i for i, place in enumerate(dict.fromkeys(path))}
    for place, reward in zip(path, [0.0, *moves["reward"]], strict=True):
        f = np.eye(N)[number[place]]
        c_in = M_fc @ f
        c_in /= np.linalg.norm(c_in)
        rho = np.sqrt(1 + beta**2 * ((c @ c_in) ** 2 - 1)) - beta * (c @ c_in)
        c = rho * c + beta * c_in
        if not np.allclose(c, 0):
            c = c / np.linalg.norm(c)
        M_fc += (1 + 2.0 * abs(reward)) * gamma_fc * np.outer(c, f)
        M_cf += (1 + 2.0 * abs(reward)) * np.outer(f, c)
    np.testing.assert_allclose(memory.context[0], c, atol=1e-12)
    np.testing.assert_allclose(memory.to_context.T, M_fc, atol=1e-12)
    np.testing.assert_allclose(memory.to_item.T, M_cf, atol=1e-12)


def directions(phase, n_laps=1, **params):
    """Count steps to the next place and to the one before, after the last lap."""
    ahead, back = 0, 0
    for seed in range(40):
        moves, _ = fed(laps(n_laps), seed, **params)
        own = moves[(moves["phase"] == phase) & (moves["step"] == n_laps * (N - 1) - 1)]
        step = own["next_state"] - own["state"]
        ahead, back = ahead + (step == 1).sum(), back + (step == -1).sum()
    return ahead, back


def test_backwards_where_a_lap_ends_and_forwards_where_one_begins():
    ahead, back = directions("episode_end")
    assert back > 5 * ahead
    ahead, back = directions("start")
    assert ahead > 2 * back


def test_no_place_comes_twice_in_a_pause():
    moves, _ = fed(laps(6), stopping=0.0, n_replays=100)
    places = moves.groupby("event")["next_state"]
    assert (places.nunique() == places.size()).all()
    assert places.size().max() == N


def resting(memory, params, n_pauses=300):
    found = find_learner("context_reactivation", params)
    rng = np.random.default_rng(1)
    firsts = []
    for _ in range(n_pauses):
        log = backup_buffer(100, "replay")
        context_reactivation.replay(found.params, memory, Pause(REST, 0, False), rng, log)
        firsts.append(int(log.rows["next_state"][0]))
    return np.array(firsts)


def test_salient_places_are_reactivated_more_often_at_rest():
    shares = []
    for salience in (0.0, 5.0):
        params = {"salience": salience, "replay_share": 0.0, "n_replays": 1}
        _, memory = fed(laps(3), **params)
        shares.append((resting(memory, params) == N - 1).mean())
    assert shares[1] > 2 * shares[0]


def test_replay_teaches_what_it_may():
    params = {"replay_share": 0.0}
    _, memory = fed(laps(2), **params)
    before = memory.to_item.copy()
    resting(memory, params, 20)
    assert (memory.to_item == before).all()
    resting(memory, {"replay_share": 0.1}, 20)
    assert (memory.to_item >= before).all()
    assert memory.to_item.sum() > before.sum()


def test_nothing_is_replayed_before_anything_was_experienced():
    found = find_learner("context_reactivation")
    memory = found.init(found.params, Sizes(3, 1, 3, 10))
    log = backup_buffer(10, "replay")
    found.replay(found.params, memory, Pause(REST, 0, False), np.random.default_rng(0), log)
    assert log.counter[1] == pytest.approx(0)
