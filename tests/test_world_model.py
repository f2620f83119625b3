"""The learned model compared with a list of the observations."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from replay.parts.world_model import clear_model, count_transition, fade, world_model

N_STATES, N_ACTIONS = 4, 2
TERMINAL = N_STATES - 1
TRANSITIONS = st.lists(
    st.tuples(
        st.integers(0, N_STATES - 2), st.integers(0, N_ACTIONS - 1), st.integers(0, N_STATES - 1)
    )
)


def empty():
    return world_model(N_STATES, N_ACTIONS, (N_STATES - 1) * N_ACTIONS * N_STATES)


def edges(model):
    kept = model.edges[: model.n_edges[0]]
    return {(e["state"], e["action"], e["next_state"]): e["count"] for e in kept}


def walk(model, first, link):
    """Follow a linked list; return its transitions."""
    found = []
    edge = first
    while edge >= 0:
        e = model.edges[edge]
        found.append((int(e["state"]), int(e["action"]), int(e["next_state"])))
        edge = e[link]
    return found


def observe_all(model, transitions):
    for state, action, next_state in transitions:
        count_transition(model, state, action, next_state, next_state == TERMINAL)


def check(model, transitions):
    counts = Counter(transitions)
    assert edges(model) == counts
    discovered = list(dict.fromkeys(transitions))
    for state in range(N_STATES):
        into = [t for t in discovered if t[2] == state and state != TERMINAL]
        assert walk(model, model.first_in[state], "next_in") == into
        assert model.n_in[state] == len(into)
        assert model.most_in[0] >= len(into)
        for action in range(N_ACTIONS):
            out = [t for t in discovered if t[:2] == (state, action)]
            assert walk(model, model.first_out[state, action], "next_out") == out[::-1]
            assert model.visits[state, action] == sum(counts[t] for t in out)


@given(TRANSITIONS)
def test_everything_observed_is_counted_and_linked(transitions):
    model = empty()
    observe_all(model, transitions)
    check(model, transitions)


@given(TRANSITIONS, TRANSITIONS)
def test_a_forgotten_model_is_like_a_new_one(before, after):
    model, new = empty(), empty()
    observe_all(model, before)
    clear_model(model)
    check(model, [])
    for array in ("visits", "first_out", "first_in", "n_in"):
        np.testing.assert_array_equal(getattr(model, array), getattr(new, array))
    observe_all(model, after)
    check(model, after)


@given(st.lists(st.tuples(TRANSITIONS, st.sampled_from([0.5, 1.0]))))
def test_what_is_forgotten_leaves_all_lists(rounds):
    """After some transitions the pair of the last one fades, or goes; its places are used again."""
    model, weights = empty(), {}
    for transitions, kappa in rounds:
        observe_all(model, transitions)
        for transition in transitions:
            weights[transition] = weights.get(transition, 0.0) + 1.0
        for state, action, _ in transitions[-1:]:
            fade(model, state, action, kappa)
            for transition in [t for t in weights if t[:2] == (state, action)]:
                weights[transition] *= 1 - kappa
                if kappa == 1:
                    del weights[transition]
    assert model.n_edges[0] == len(weights)
    assert model.n_places[0] <= len(model.edges)
    for state in range(N_STATES):
        into = [t for t in weights if t[2] == state and state != TERMINAL]
        assert walk(model, model.first_in[state], "next_in") == into
        assert model.n_in[state] == len(into)
        out = [t for t in weights if t[0] == state]
        assert model.visits[state].sum() == sum(weights[t] for t in out)
        for action in range(N_ACTIONS):
            listed = walk(model, model.first_out[state, action], "next_out")
            assert listed == [t for t in out if t[1] == action][::-1]


def test_by_hand():
    model = empty()
    observe_all(model, [(0, 0, 1), (2, 1, 1), (0, 0, 2), (0, 0, 1), (1, 0, TERMINAL)])
    assert edges(model) == {(0, 0, 1): 2, (2, 1, 1): 1, (0, 0, 2): 1, (1, 0, TERMINAL): 1}
    assert walk(model, model.first_in[1], "next_in") == [(0, 0, 1), (2, 1, 1)]
    assert model.first_in[TERMINAL] == -1
    assert model.visits.tolist() == [[3, 0], [1, 0], [0, 1], [0, 0]]
    assert model.most_in[0] == 2
