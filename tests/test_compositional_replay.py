"""Compositional replay against its authors' code, and in worlds worked out by hand.

Tables in ``reference`` are results of the published code (github.com/jbakermans/
state-space-composition, commit ab731a4), run with Python 3.11 and numpy 2.4:
``compositional_moves.csv``, the probabilities of moves in replay in DiscreteHoming (home in the
middle of a grid of 25 x 25 places, so that borders are far); ``compositional_errors.csv``, the mean
square errors of vectors in 3,000 runs of its landmark model on a grid of 17 x 17 along one walk
from home (`kind` is ``awake``, by step of the walk) and of what is remembered at each place, with
and without the four replays of `PATHS`; ``compositional_paths.csv``, all replays of five places
from a new landmark in DiscretePlanning (reward on its linear track and in its maze), and how many
steps too many are expected afterwards, summed over places.
"""

from itertools import pairwise
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from analyses.findings.evidence import evidence
from analyses.jobs.study import Piece
from analyses.studies.comparison import plan_comparison
from analyses.studies.comparison.simulated_studies import predictions, simulate_studies
from replay import feed
from replay.learners import compositional_replay, find_learner
from replay.learners.contract import Known, Pause, Sizes, Transition
from replay.log.backups import EPISODE_END, REST, START, backup_buffer

REFERENCE = Path(__file__).parent / "reference"
NAME = "compositional_replay"


def learned(moves, rewarded, n_states, **params):
    """Learn from moves in plain Python, some of which are rewarded; return what replay is given."""
    found = find_learner(NAME, params)
    memory = compositional_replay.init(found.params, Sizes(n_states, 4, 4 * n_states, 1000))
    for number, (state, next_state) in enumerate(moves):
        reward = float(number in rewarded)
        step = Transition(state, 0, reward, next_state, -1, False, False)
        compositional_replay.learn(found.params, memory, step, None)
    return found.params, memory


def along(places):
    return list(pairwise(places))


def replayed(params, memory, phase, state, seed=0):
    """Return the rows of one pause: state, next_state and priority."""
    log = backup_buffer(1000, "replay")
    rng = np.random.default_rng(seed)
    compositional_replay.replay(params, memory, Pause(phase, state, True), rng, log)
    rows = log.rows[: log.counter[1]]
    return rows[["state", "next_state", "priority"]].tolist()


def everywhere(graph, start):
    """Walk along all edges of a graph, in both directions."""
    return list(nx.eulerian_circuit(nx.DiGraph(graph), start))


def test_moves_are_those_of_the_published_code():
    table = pd.read_csv(REFERENCE / "compositional_moves.csv")
    middle, side = 4, 9
    grid = nx.convert_node_labels_to_integers(nx.grid_2d_graph(side, side))  # row by row

    def place(x, y):
        return (middle + y) * side + middle + x

    home = place(0, 0)
    walk = [(place(1, 0), home), *everywhere(grid, home)]
    rewarded = {step for step, (_, to) in enumerate(walk) if to == home}
    for (away, x, y), rows in table.groupby(["away", "x", "y"]):
        params, memory = learned(walk, rewarded, side**2, away=away, n_replays=1)
        found = {}
        for seed in range(60):
            for here, following, probability in replayed(
                params, memory, EPISODE_END, place(x, y), seed
            ):
                assert here == place(x, y)
                found[following] = probability
        expected = {place(r.to_x, r.to_y): r.probability for r in rows.itertuples()}
        assert set(found) <= set(expected)
        assert len(found) >= 2
        for following, probability in found.items():
            assert probability == pytest.approx(expected[following], abs=1e-12)


def test_where_a_replay_begins_is_certain():
    """A row of it is no drawn move, so that its probability is not that of the move before."""
    grid = nx.convert_node_labels_to_integers(nx.grid_2d_graph(5, 5))
    walk = [(7, 12), *everywhere(grid, 12)]
    rewarded = {step for step, (_, to) in enumerate(walk) if to == 12}
    params, memory = learned(walk, rewarded, 25, n_replays=24, length=4)
    rows = replayed(params, memory, EPISODE_END, 0)
    begins = [probability for _, _, probability in rows[3::4]]
    assert len(begins) > 3
    assert set(begins) == {1.0}
    assert {probability for _, _, probability in rows[:3]} != {1.0}


UP, RIGHT, DOWN, LEFT = (0, -1), (1, 0), (0, 1), (-1, 0)
WALK = [RIGHT, RIGHT, DOWN, LEFT, LEFT, DOWN, RIGHT, RIGHT, UP, RIGHT, DOWN, LEFT]
PATHS = {
    3: [[UP, RIGHT, RIGHT, DOWN, DOWN], [RIGHT, RIGHT, DOWN, LEFT]],
    8: [[RIGHT, DOWN, DOWN, RIGHT], [DOWN, RIGHT, RIGHT, DOWN, LEFT]],
}
"""Replay from home after steps 3 and 8 of the walk."""


@pytest.mark.parametrize("with_replay", [False, True])
@pytest.mark.parametrize("noise", [0.2, 0.5])
def test_errors_of_vectors_are_those_of_the_published_code(noise, with_replay, monkeypatch):
    table = pd.read_csv(REFERENCE / "compositional_errors.csv")
    own = table[(table["noise"] == noise) & (table["with_replay"] == with_replay)]
    side, middle = 17, 8

    def place(x, y):
        return (middle + y) * side + middle + x

    def positions(moves):
        return [(0, 0), *np.cumsum(moves, axis=0).tolist()]

    walk = [place(*position) for position in positions(WALK)]
    params, memory = learned([(place(0, 1), walk[0])], {0}, side**2, noise=noise)
    expected = own[own["kind"] == "awake"].set_index("step")

    def check(step):
        theirs = expected.loc[step]
        assert memory.error[0, 0] == pytest.approx(
            theirs["square_error"], abs=4.5 * theirs["standard_error"] + 1e-12
        )

    check(0)
    for step, (state, next_state) in enumerate(along(walk), start=1):
        moved = Transition(state, 0, 0.0, next_state, -1, False, False)
        compositional_replay.learn(params, memory, moved, None)
        check(step)
        for path in PATHS.get(step, []) if with_replay else []:
            to_come = [place(*position) for position in positions(path)[1:]]
            imposed = iter([number_of(memory, to) for to in to_come])
            monkeypatch.setattr(
                compositional_replay, "_drawn_move", lambda *_, left=imposed: (next(left), 1.0)
            )
            settings = params._replace(from_landmark=True, length=9, n_replays=len(path))
            log = backup_buffer(10, "replay")
            pause = Pause(EPISODE_END, next_state, True)
            compositional_replay.replay(settings, memory, pause, np.random.default_rng(0), log)
            assert log.rows["next_state"][: len(path)].tolist() == to_come
    remembered = own[own["kind"] == "memory"]
    assert int(memory.n_memories.sum()) == remembered["n"].sum()
    for theirs in remembered.itertuples():
        number = memory.known.number[place(theirs.x, theirs.y)]
        n = memory.n_memories[0, number]
        assert n == theirs.n
        assert memory.square_errors[0, number] / n == pytest.approx(
            theirs.square_error, abs=4.5 * theirs.standard_error + 1e-12
        )


def number_of(memory, place):
    """Return the number of a place, which in the published code is known before it is visited."""
    return compositional_replay.meet(memory.known, place)


def extra_steps(table, graph, landmark, n_drawn=300, **params):
    """Draw replays from a new landmark, and return how many steps too many each leaves."""
    (before,) = list(graph[landmark])[:1]
    moves = [*everywhere(graph, landmark), (landmark, before), (before, landmark)]
    last = {len(moves) - 1}
    settings, memory = learned(moves, last, 54, length=5, n_replays=4, **params)
    assert memory.n_memories.sum() == 1
    left = table.set_index("path")["extra_steps"]
    made, drawn = memory.n_memories.copy(), []
    for seed in range(n_drawn):
        memory.n_memories[:] = made
        rows = replayed(settings, memory, EPISODE_END, landmark, seed)
        path = [landmark, *(following for _, following, _ in rows)]
        drawn.append(left[" ".join(map(str, path))])
    return np.array(drawn)


def published_map(case):
    if case == "line":
        return nx.path_graph(10), 9
    grid = nx.convert_node_labels_to_integers(nx.grid_2d_graph(6, 9))
    grid.remove_nodes_from([7, 11, 16, 20, 25, 29, 41])
    return grid, 8


@pytest.mark.parametrize(("case", "best"), [("line", 1.0), ("maze", 0.5)])
def test_new_memories_come_first_as_in_the_replays_that_the_authors_find_best(case, best):
    """In their maze two ways lead away at the end, of which one is a little better."""
    table = pd.read_csv(REFERENCE / "compositional_paths.csv").query("case == @case")
    least, most = table["extra_steps"].min(), table["extra_steps"].max()
    graph, landmark = published_map(case)
    left = [
        extra_steps(table, graph, landmark, away=away, coverage=coverage)
        for away, coverage in ((0.0, 0.0), (1.5, 0.0), (1.5, 1.0), (0.0, 20.0))
    ]
    means = [drawn.mean() for drawn in left]
    assert means == sorted(means, reverse=True)
    assert np.mean(left[-1] == least) == pytest.approx(best, abs=0.1)
    assert means[-1] <= least + 0.05 * (most - least)
    straight = extra_steps(table, graph, landmark, away=100.0)
    assert (straight == left[-1]).all() or set(straight) == set(left[-1])


def memories(memory, n_places):
    """Return the number of memories of each place, and their mean square error: of landmark 0."""
    number = memory.known.number[:n_places]
    n = memory.n_memories[0, number]
    with np.errstate(invalid="ignore"):
        return n.tolist(), (memory.square_errors[0, number] / n).tolist()


LINE = along([0, 1, 2, 3, 4])
STRAIGHT = {"away": 100.0, "noise": 0.5, "n_replays": 4}


def test_one_replay_gives_all_places_their_vectors():
    params, memory = learned(LINE, {3}, 5, **STRAIGHT)
    assert memories(memory, 5)[0] == [0, 0, 0, 0, 1]
    rows = replayed(params, memory, EPISODE_END, 4)
    assert [(state, following) for state, following, _ in rows] == [(4, 3), (3, 2), (2, 1), (1, 0)]
    assert [probability for *_, probability in rows] == [1.0] * 4
    assert memories(memory, 5) == ([1, 1, 1, 1, 2], [2.0, 1.5, 1.0, 0.5, 0.0])


def test_awake_a_vector_is_the_weighted_mean_of_the_path_and_memories():
    params, memory = learned(LINE, {3}, 5, path_weight=0.25, **STRAIGHT)
    replayed(params, memory, EPISODE_END, 4)
    for state, following in ((4, 3), (3, 2)):
        step = Transition(state, 0, 0.0, following, -1, False, False)
        compositional_replay.learn(params, memory, step, None)
    # at 3 both are 0.5; at 2 the path has 0.5 + 0.5, and memory 1.0
    assert memory.error[0, 0] == 0.25 * 1.0 + 0.75 * 1.0
    memory.square_errors[0, memory.known.number[1]] = 0.2
    step = Transition(2, 0, 0.0, 1, -1, False, False)
    compositional_replay.learn(params, memory, step, None)
    assert memory.error[0, 0] == pytest.approx(0.25 * 1.5 + 0.75 * 0.2)


def test_a_memory_serves_where_the_vector_has_been_lost():
    """One who is carried to a place without a memory finds the vector again at one with one."""
    _, memory = learned([(0, 1), (1, 2), (2, 1), (5, 1)], {1}, 6, noise=0.5)
    place = memory.known.number[1]
    assert memory.n_memories[0, memory.known.number[5]] == 0
    assert memory.n_memories[0, place] == 2
    assert memory.error[0, 0] == memory.square_errors[0, place] / 2 == 0.5


def test_without_a_landmark_or_its_vector_there_is_no_replay():
    params, memory = learned(LINE, set(), 6)
    assert replayed(params, memory, EPISODE_END, 4) == []
    assert replayed(params, memory, REST, 4) == []
    params, memory = learned(LINE, {3}, 6, **STRAIGHT)
    assert replayed(params, memory, START, 5) == []  # never seen
    assert replayed(params, memory, START, 0) == []  # seen before reward was found
    replayed(params, memory, EPISODE_END, 4)
    rows = replayed(params, memory, START, 0)  # carried there, and what was replayed is recalled
    assert rows[0] == (0, 1, 1.0)


def test_replay_begins_where_the_agent_is_or_at_the_latest_landmark_with_reward():
    back = along([4, 3, 2, 1, 0])
    moves = LINE + back + along([0, 1, 2])
    for from_landmark, begin in ((False, 2), (True, 0)):
        params, memory = learned(moves, {3, 7}, 5, from_landmark=from_landmark)
        assert replayed(params, memory, EPISODE_END, 2)[0][0] == begin
    lost = moves + along([2, 1, 0, 1, 2])  # entered again, without reward
    params, memory = learned(lost, {3, 7}, 5, from_landmark=True)
    assert replayed(params, memory, EPISODE_END, 2)[0][0] == 4


def test_at_rest_it_begins_at_any_landmark_with_reward():
    moves = LINE + along([4, 3, 2, 1, 0, 1, 2])
    params, memory = learned(moves, {1, 3, 7}, 5)  # places 2, 4 and 0; the last step ends in 2
    firsts = {replayed(params, memory, REST, 2, seed)[0][0] for seed in range(30)}
    assert firsts == {0, 4}


def test_after_some_places_another_replay_begins():
    params, memory = learned(LINE, {3}, 5, away=100.0, length=3, n_replays=7)
    rows = replayed(params, memory, EPISODE_END, 4)
    assert [4, *(following for _, following, _ in rows)] == [4, 3, 2, 4, 3, 2, 4, 3]
    assert memories(memory, 5)[0] == [0, 0, 2, 3, 4]


def test_it_is_a_generator_that_keeps_a_map_and_vectors():
    found = find_learner(NAME)
    assert not found.description.computes_values
    assert found.description.stores == "vectors to landmarks"
    _, memory = learned(LINE, {1, 3}, 9)
    assert found.n_words(found.params, memory, Known(4, 4)) == 25 + 2 * 2 * 5 + 2 * 2


def test_it_logs_moves_without_actions():
    moves = pd.DataFrame(LINE, columns=["state", "next_state"]).assign(action=0, reward=0.0)
    moves["terminated"] = moves["next_state"] == 4
    moves.loc[3, "reward"] = 1.0
    rows = feed(NAME, moves, n_states=5, n_actions=1, params=STRAIGHT).backups
    assert rows["next_state"].tolist() == [3, 2, 1, 0]
    assert (rows["action"] == -1).all()
    assert (rows["phase"] == "episode_end").all()


VALUE_BACKUPS = (
    "prioritized_sweeping",
    "full_backups",
    "dyna_q",
    "prioritized_memory_access",
    "memory_access_forgetting",
)


@pytest.mark.slow
def test_one_protocol_tells_it_from_value_backups():
    """In Gupta's maze, if it were true, all would lose more than 10 bits by the five findings.

    It replays again at each reward, from where the animal is; values have converged by then. And
    if memory access were true, compositional replay would lose as many bits.
    """
    plan = plan_comparison(["gupta_2t"], [NAME, *VALUE_BACKUPS], n_draws=16, seed=90)
    simulated = pd.concat(
        simulate_studies(plan, Piece("gupta_2t", number))["studies"]
        for number, part in enumerate(plan.parts())
        if not plan.candidates()[part.candidate].as_published
    )
    known = predictions(plan, simulated)
    assert {row["study"] for row in known.rows} == {"gupta2010"}

    def ahead(truth, other):
        """Return how far the truth is ahead in the sum over findings: the median over draws."""
        bits = np.zeros(16)
        for result, studies in zip(known.results, known.studies, strict=True):
            for draw in np.flatnonzero(studies[truth].has_replay):
                found = result.as_found(studies[truth], draw)
                own = np.delete(found.likelihood(studies[truth]), draw)
                bits[draw] += evidence(own) - evidence(found.likelihood(studies[other]))
        return np.median(bits)

    assert min(ahead(NAME, other) for other in VALUE_BACKUPS) > 10.0
    assert ahead("prioritized_memory_access", NAME) > 10.0
