"""The index of experience, compared with a search through all episodes."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from figure_of_eight import run_eight
from hypothesis import given
from hypothesis import strategies as st
from strategies import (
    N_STATES,
    columns,
    examples,
    experienced_episodes,
    greedy_pieces,
    holding_episodes,
    least_pieces,
    step_tables,
)

from analyses import place_sequences
from analyses.sequences.ends import LatestEnds
from analyses.sequences.experience import Experience, PathPiece, experienced_pieces
from analyses.sequences.suffix_automaton import GrowingAutomaton, appended
from replay.log.event_log import EventLog

COLUMNS = ("episode", "step", "state", "action", "next_state")


@st.composite
def queries(draw):
    """Draw steps, a path of moves (mostly pieces of the steps), and the last step that counts."""
    steps = draw(step_tables(draw(st.integers(2, 6))))
    moves = []
    for _ in range(draw(st.integers(1, 4))):
        begin = draw(st.integers(0, len(steps) - 1))
        for step in steps[begin : begin + draw(st.integers(1, 5))]:
            if step["state"] != step["next_state"] and (not moves or moves[-1][2] == step["state"]):
                moves.append((step["state"], step["action"], step["next_state"]))
    if not moves:
        moves = [(0, 0, 1)]
    if draw(st.booleans()):
        other = draw(st.integers(0, N_STATES + 1).filter(lambda state: state != moves[-1][2]))
        moves.append((moves[-1][2], draw(st.integers(0, 1)), other))
    return steps, moves, draw(st.integers(-1, len(steps)))


@given(queries(), st.sampled_from(["states", "actions"]))
@examples(1500)
def test_pieces_are_those_of_a_search(query, by):
    steps, moves, until = query
    experience = Experience(columns(steps, COLUMNS), by)
    path = [moves[0][0], *(move[2] for move in moves)]
    pieces = experience.pieces(path, until, [move[1] for move in moves])
    episodes = experienced_episodes(steps, until)
    assert pieces == [PathPiece(*piece) for piece in greedy_pieces(moves, episodes, by)]
    assert (len(pieces) or None) == least_pieces(moves, episodes, by)
    if pieces:
        assert (pieces[0].begin, pieces[-1].end) == (0, len(moves))
        assert all(one.end == other.begin for one, other in pairwise(pieces))


@given(queries())
@examples(300)
def test_the_future_does_not_count(query):
    steps, moves, until = query
    path = [moves[0][0], *(move[2] for move in moves)]
    past = [step for step in steps if step["step"] <= until]
    whole = Experience(columns(steps, COLUMNS)).pieces(path, until)
    assert whole == Experience(columns(past, COLUMNS)).pieces(path)


@given(step_tables(n_states=3))
@examples(300)
def test_all_that_was_experienced_is_found(steps):
    experience = Experience(columns(steps, COLUMNS))
    for until in range(len(steps)):
        episodes = experienced_episodes(steps, until)
        moves = list(episodes.values())[-1] if episodes else []
        for begin in range(len(moves)):
            part = moves[begin:]
            path = [part[0][0], *(move[2] for move in part)]
            latest = holding_episodes(part, episodes)[-1]
            assert experience.pieces(path, until) == [PathPiece(0, len(part), latest)]


@given(queries(), st.sampled_from(["states", "actions"]), st.lists(st.integers(0, 50), max_size=4))
@examples(400)
def test_experience_that_goes_on_is_that_of_the_whole(query, by, cuts):
    steps, moves, until = query
    path, actions = [moves[0][0], *(move[2] for move in moves)], [move[1] for move in moves]
    growing, begin = Experience(columns([], COLUMNS), by), 0
    for end in sorted(min(cut, len(steps)) for cut in [*cuts, len(steps)]):
        growing.extend(columns(steps[begin:end], COLUMNS))
        whole = Experience(columns(steps[:end], COLUMNS), by)
        assert growing.pieces(path, until, actions) == whole.pieces(path, until, actions)
        assert growing.pieces(path, None, actions) == whole.pieces(path, None, actions)
        state, next_state = np.array(path[:-1]), np.array(path[1:])
        first = [each.first_moves(state, next_state).tolist() for each in (growing, whole)]
        assert first[0] == first[1]
        assert growing.second_ends.tolist() == whole.second_ends.tolist()
        begin = end
    with pytest.raises(ValueError, match="must ascend"):
        growing.extend(columns(steps[-1:], COLUMNS))


@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=12), min_size=1, max_size=5))
@examples(500)
def test_automaton_holds_each_substring_with_its_places(texts):
    text = np.array([symbol for one in texts for symbol in one], dtype=np.int32)
    begins = np.array([i == 0 for one in texts for i in range(len(one))])
    automaton = GrowingAutomaton().extend(text, begins, n_symbols=3)
    places, start = {}, 0
    for one in texts:
        for end in range(1, len(one) + 1):
            for begin in range(end):
                places.setdefault(tuple(one[begin:end]), []).append(start + end - 1)
        start += len(one)
    node_of = {}
    for substring in places:
        node = automaton.from_root[substring[0]]
        for symbol in substring[1:]:
            node = appended(automaton, node, symbol)
        node_of[substring] = node
    sets = {tuple(ends) for ends in places.values()}
    assert len(automaton.nodes) == len(sets) + 1, "a node for each set of ends, and the root"
    for limit in range(len(text) + 1):
        found = LatestEnds(automaton).find(
            np.array(list(node_of.values()), dtype=np.int32), np.full(len(node_of), limit)
        )
        for substring, end in zip(node_of, found, strict=True):
            assert end == max((p for p in places[substring] if p < limit), default=-1)
    for substring, node in node_of.items():
        assert automaton.nodes[node]["first_end"] == places[substring][0]
        longest = max(len(s) for s, ends in places.items() if ends == places[substring])
        assert automaton.nodes[node]["length"] == longest


def test_index_is_linear_in_the_experience():
    rng = np.random.default_rng(0)
    n = 3000
    text = rng.integers(0, 2, n).astype(np.int32)
    automaton = GrowingAutomaton().extend(text, rng.random(n) < 0.05, n_symbols=2)
    assert len(automaton.nodes) <= 2 * n
    assert len(automaton.edges) <= 3 * n


def test_bumps_are_no_moves():
    steps = {
        "episode": [0] * 4,
        "step": range(4),
        "state": [0, 1, 1, 1],
        "next_state": [1, 1, 1, 2],
    }
    experience = Experience(pd.DataFrame(steps))
    assert experience.n_moves == 2
    assert experience.pieces([0, 1, 2]) == [PathPiece(0, 2, 0)]
    assert experience.moves_by([-1, 0, 1, 2, 3]).tolist() == [0, 1, 1, 1, 2]


def test_truncation_ends_a_path():
    steps = {"episode": [0, 1], "step": [0, 1], "state": [0, 1], "next_state": [1, 2]}
    assert len(Experience(steps).pieces([0, 1, 2])) == 2


def test_actions_tell_moves_apart():
    steps = {
        "episode": [0, 0],
        "step": [0, 1],
        "state": [0, 1],
        "next_state": [1, 0],
        "action": [0, 1],
    }
    experience = Experience(steps, by="actions")
    assert len(experience.pieces([0, 1, 0], actions=[0, 1])) == 1
    assert experience.pieces([0, 1, 0], actions=[0, 0]) == []


def test_no_experience():
    nothing = {name: np.empty(0, dtype=np.int64) for name in COLUMNS}
    assert Experience(nothing).pieces([0, 1]) == []


@pytest.mark.parametrize(
    ("steps", "by", "message"),
    [
        ({"episode": [0]}, "states", "The column 'step' of .* is missing"),
        (
            {"episode": [0, 0], "step": [1, 0], "state": [0, 1], "next_state": [1, 2]},
            "states",
            "asc",
        ),
        (
            {"episode": [0], "step": [0], "state": [0], "next_state": [1]},
            "places",
            "states, actions",
        ),
        (
            {"episode": [0], "step": [0], "state": [0], "next_state": [1], "action": [-1]},
            "actions",
            "recordings have none",
        ),
    ],
)
def test_refused_experience(steps, by, message):
    with pytest.raises(ValueError, match=message):
        Experience(steps, by)


def test_refused_paths():
    steps = {"episode": [0], "step": [0], "state": [0], "next_state": [1], "action": [0]}
    with pytest.raises(ValueError, match="at least two states"):
        Experience(steps).pieces([0])
    with pytest.raises(ValueError, match="one action for each move"):
        Experience(steps, by="actions").pieces([0, 1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"state": ["a", "b"]}, "'state' of steps must hold whole numbers from 0 to 9999999"),
        ({"state": [0, -1]}, "row 1 has -1"),
        ({"next_state": [1, 10**9]}, "row 1 has 1000000000"),
        ({"next_state": [1, np.nan]}, "row 1 has nan"),
        ({"step": pd.to_datetime(["2024-05-01", "2024-05-02"])}, "'step' of steps must hold whole"),
        ({"episode": [0, 2**40]}, "row 1 has 1099511627776"),
        ({"step": [0, 2**70]}, "'step' of steps must hold whole numbers"),
        ({"step": [1, 0]}, "must ascend"),
        ({"episode": [{0}, {1}]}, "row 0 has {0}"),
        ({"state": [0]}, "must all have the same length"),
    ],
)
def test_refused_steps(change, message):
    steps = {"episode": [0, 0], "step": [0, 1], "state": [0, 1], "next_state": [1, 2]}
    assert Experience(steps).n_moves == 2
    with pytest.raises(ValueError, match=message):
        Experience(steps | change)
    with pytest.raises(TypeError, match="steps must be a DataFrame or a mapping"):
        Experience([[0, 1]])
    for wrong in (["a", "b"], [0, 0.5], "01", None):
        with pytest.raises(ValueError, match="path must"):
            Experience(steps).pieces(wrong)
    with pytest.raises(ValueError, match="step must be a whole number"):
        Experience(steps).pieces([0, 1], step="last")


def test_pieces_are_those_that_a_place_sequence_counts():
    log, way = run_eight()
    experience = Experience(log.columns("steps"))
    paths = [way(0, 1, 2), way(2, 1, 0), way(2, 1, 4), way(3, 0, 1, 2, 1), way(4, 1, 2, 1, 4)]
    last = len(log.steps) - 1
    found = place_sequences(log, pd.DataFrame({"step": last, "states": paths}))
    for path, order in zip(paths, found["composition_order"], strict=True):
        pieces = experienced_pieces(path, experience)
        assert len(pieces) == order
        assert [piece.begin for piece in pieces[1:]] == [piece.end for piece in pieces[:-1]]
    across = experienced_pieces(way(2, 1, 4), experience)
    assert [(piece.episode, piece.backward) for piece in across] == [(0, True), (1, False)]
    assert experienced_pieces([0, 2], experience) == []


def test_a_heading_rules_out_one_reading():
    steps = {"state": [0, 1, 2, 1], "next_state": [1, 2, 1, 0], "terminated": [False, True] * 2}
    ran = Experience(EventLog({"steps": steps}).columns("steps"))
    for moves, backward in ((["forward"] * 2, False), (["backward"] * 2, True)):
        (piece,) = experienced_pieces([0, 1, 2], ran, moves=moves)
        assert piece.backward == backward
