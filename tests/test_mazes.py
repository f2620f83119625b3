"""Mazes: the statistics of 300 mazes of the original code, and mazes drawn by hand."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from replay import MDP, Phase, Protocol
from replay.worlds.mazes import barriers, from_ascii, layout, random_maze

# Mean, standard deviation over 300 mazes made by the original code, and last digit given.
ORIGINAL = {
    "n_states": (1007, 22, 1),
    "distance": (43.8, 10, 0.1),
    "dead_ends": (17, 4, 1),
    "bumps": (1060, 44, 1),
    "blind_rate": (3.3e-5, 2e-5, 1e-6),
    "best_rate": (0.0208, 0.0045, 1e-4),
}


@pytest.fixture(scope="module")
def mazes():
    return [random_maze(seed=s) for s in range(40)]


def neighbours(maze):
    """Number of each state's free neighbours."""
    free = ~layout(maze)
    x, y = np.array(maze.labels).T
    return free[y + 1, x].astype(int) + free[y - 1, x] + free[y, x + 1] + free[y, x - 1]


def measure(maze):
    goal = int(np.flatnonzero(maze.terminal)[0])
    distances = nx.single_source_shortest_path_length(maze.to_networkx().reverse(), goal)
    policy = maze.solve(0.99).policy
    open_sides = neighbours(maze)
    return {
        "n_states": maze.n_states,
        "distance": np.mean([distance for distance in distances.values() if distance]),
        "dead_ends": np.count_nonzero(open_sides == 1),
        "bumps": 4 * maze.n_states - open_sides.sum(),
        "blind_rate": maze.reward_rate(policy, epsilon=1),
        "best_rate": maze.reward_rate(policy, epsilon=0.1),
    }


@pytest.mark.parametrize("n_mazes", [40, pytest.param(300, marks=pytest.mark.slow)])
def test_statistics_of_the_original_mazes(n_mazes):
    mazes = [random_maze(seed=s) for s in range(n_mazes)]
    measured = [measure(maze) for maze in mazes]
    for name, (mean, deviation, digit) in ORIGINAL.items():
        values = np.array([m[name] for m in measured])
        error = deviation * np.sqrt(1 / len(mazes) + 1 / 300)  # both means are of samples
        assert abs(values.mean() - mean) < 4 * error + digit / 2, name
        assert 0.75 < values.std(ddof=1) / deviation < 1.35, name


def test_all_cells_are_connected(mazes):
    for maze in mazes:
        assert nx.is_connected(nx.Graph(maze.to_networkx()))


def test_the_goal_is_the_only_reward_and_the_only_end(mazes):
    maze = mazes[0]
    enters = maze.terminal[maze.successor]
    assert maze.terminal.sum() == 1
    assert (maze.reward == enters).all()
    starts = maze.start_probability[~maze.terminal]
    np.testing.assert_allclose(starts, 1 / (maze.n_states - 1), rtol=1e-14)


def test_a_move_goes_to_the_neighbour_or_stays(mazes):
    maze = mazes[0]
    assert maze.action_names == ("up", "right", "down", "left")
    walls = layout(maze)
    state, action = np.divmod(maze.transition_rows(), 4)
    ahead = np.array(maze.labels)[state] + np.array([(0, 1), (1, 0), (0, -1), (-1, 0)])[action]
    is_wall = walls[ahead[:, 1], ahead[:, 0]]
    assert (maze.successor[is_wall] == state[is_wall]).all()
    entered = np.array(maze.labels)[maze.successor[~is_wall]]
    assert (entered == ahead[~is_wall]).all()


def test_states_run_along_x_first(mazes):
    maze = mazes[0]
    x, y = np.array(maze.labels).T
    assert (np.diff(40 * y + x) > 0).all()
    np.testing.assert_array_equal(maze.position, 10 * np.column_stack((x, y)) + 5)
    assert layout(maze).shape == (40, 40)


def walls_word_for_word(size, rng):
    """Build the walls as the description of the original code has it, cell by cell."""
    free = {(x, y) for x in range(1, size - 1) for y in range(1, size - 1)}

    def clear(x, y):
        return all((x + dx, y + dy) in free for dx in (-1, 0, 1) for dy in (-1, 0, 1))

    for _ in range(size * size // 10):
        x, y = sorted(free)[rng.integers(len(free))]
        if not clear(x, y):
            continue
        if rng.random() < 0.5:
            end = x
            while clear(end, y):
                end += 1
            gap = (end + 1, y) in free
            if gap and (end + 1, y + 1) not in free and (end + 1, y - 1) not in free:
                end -= 1
            free -= {(k, y) for k in range(x, end + 1)}
        else:
            end, x_end = y, x
            while clear(x, end):
                end += 1
            gap = (x, end + 1) in free
            if gap and (x + 1, end + 1) not in free and (x - 1, end + 1) not in free:
                x_end -= 1  # the bug
            free -= {(k, m) for k in range(x, x_end + 1) for m in range(y, end + 1)}
    inside = [(x, y) for x in range(1, size - 1) for y in range(1, size - 1)]
    walls = [cell for cell in inside if cell not in free]
    n = len(walls) // 50
    if n > 1:
        free |= {walls[k] for k in rng.integers(len(walls), size=n - 1)}
    return free


@pytest.mark.parametrize("size", [9, 20, 33])
def test_walls_are_built_word_for_word(size):
    for seed in range(20):
        free = walls_word_for_word(size, np.random.default_rng(seed))
        assert set(random_maze(size=size, seed=seed).labels) == free


def test_the_seed_decides():
    assert random_maze(seed=5) == random_maze(seed=5) == random_maze(seed=np.random.default_rng(5))
    assert random_maze(seed=5) != random_maze(seed=6)


def test_small_mazes():
    for seed in range(20):
        maze = random_maze(size=4, seed=seed)
        assert maze.n_states == 4
    with pytest.raises(ValueError, match=r"from 4 to 3000, got 3"):
        random_maze(size=3)


# -- drawn mazes ----------------------------------------------------------------------------

PLUS = """
#####
##G##
#S..#
## ##
#####
"""


def test_a_drawn_maze():
    maze = from_ascii(PLUS, cell_size=20)
    assert maze.labels == ((2, 1), (1, 2), (2, 2), (3, 2), (2, 3))
    assert maze.position[0].tolist() == [50, 30]
    assert np.flatnonzero(maze.terminal).tolist() == [4]
    assert maze.start_probability.tolist() == [0, 1, 0, 0, 0]
    middle = [maze.successors(2, a).item() for a in range(4)]
    assert middle == [4, 3, 0, 1]
    assert maze.successors(1, 0).item() == 1
    assert maze.solve(0.5).state_values.tolist() == [0.5, 0.5, 1, 0.5, 0]


def test_the_layout_is_the_drawing():
    drawing = PLUS.strip("\n").splitlines()[::-1]
    expected = [[character == "#" for character in line] for line in drawing]
    assert layout(from_ascii(PLUS)).tolist() == expected


def test_an_open_drawing_gets_a_wall():
    assert from_ascii("S.G") == from_ascii("#####\n#S.G#\n#####")
    assert from_ascii("S.G").labels == ((1, 1), (2, 1), (3, 1))
    # Short lines are filled up with walls.
    assert from_ascii("#####\n#S.G\n#####") == from_ascii("S.G")


def test_indentation_does_not_matter():
    indented = """
        #####
        #S G#
        #####
        """
    assert from_ascii(indented) == from_ascii("S.G")


def test_without_a_start_all_cells_are_starts():
    maze = from_ascii("G. G\n....")
    np.testing.assert_allclose(maze.start_probability, ~maze.terminal / 6)
    assert maze.terminal.sum() == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#S.X#", "got 'X'"),
        ("S...", "got 0 goals, 1 starts"),
        ("#G#", "got 1 goals, 0 starts"),
        ("", "got 0 goals, 0 starts"),
    ],
)
def test_drawing_errors(text, message):
    with pytest.raises(ValueError, match=message):
        from_ascii(text)


def test_other_errors():
    with pytest.raises(ValueError, match=r"cell_size must be at least 0\.5 cm; got 0"):
        from_ascii("SG", cell_size=0)
    from replay.worlds.trees import stochastic_tree

    with pytest.raises(ValueError, match="is not a maze: its labels"):
        layout(stochastic_tree())


# -- barriers -------------------------------------------------------------------------------

ROOMS = """
    . . .|. G
      -+
    # .|. . .
    -    |
    S . .|. .
"""


def pairs_of_cells(maze):
    return {frozenset(maze.labels[state] for state in pair) for pair in barriers(maze).tolist()}


def test_drawn_barriers():
    maze = from_ascii(ROOMS)
    assert maze.labels == from_ascii("....G\n#....\nS....").labels
    expected = {((3, 3), (4, 3)), ((2, 3), (2, 2)), ((2, 2), (3, 2)), ((3, 1), (4, 1))}
    assert pairs_of_cells(maze) == {frozenset(pair) for pair in expected}
    built = from_ascii("....G\n#....\nS....")
    for one, other in expected:
        built = built.with_barrier(one, other)
    assert maze == built


def test_corners_and_walls_take_any_line():
    assert from_ascii("S . G\n + |\n. . .") == from_ascii("S.G\n...")
    assert from_ascii("S|# G\n\n. . .") == from_ascii("S#G\n...")
    assert from_ascii("S . G|\n- -\n") == from_ascii("S.G")


@pytest.mark.parametrize(
    ("drawing", "message"),
    [
        ("|S G|", r"Character 1 of line 1 is a cell, .* got '\|'"),
        ("S-. G", r"Character 2 of line 1 is between two cells of a line, .* got '-'"),
        ("S . G\n|\n. . .", r"Character 1 of line 2 is between two lines of cells, .* got '\|'"),
        ("S . G\n-#\n. . .", r"Character 2 of line 2 is between four cells, .* got '#'"),
    ],
)
def test_barriers_out_of_place_are_refused(drawing, message):
    with pytest.raises(ValueError, match=message):
        from_ascii(drawing)


@given(seed=st.integers(0, 2**32 - 1))
@examples(100)
def test_a_barrier_closes_one_connection_both_ways(seed):
    rng = np.random.default_rng(seed)
    maze = random_maze(8, rng)
    edges = [pair for pair in maze.to_networkx().to_undirected().edges() if pair[0] != pair[1]]
    one, other = edges[rng.integers(len(edges))]
    named = rng.random() < 0.5
    barred = maze.with_barrier(*((maze.labels[one], maze.labels[other]) if named else (one, other)))
    graph = maze.to_networkx()
    graph.remove_edges_from([*graph.subgraph([one, other]).edges(keys=True)])
    left = {tuple(sorted(pair)) for pair in graph.edges() if pair[0] != pair[1]}
    kept = {tuple(sorted(pair)) for pair in barred.to_networkx().edges() if pair[0] != pair[1]}
    assert kept == left - {(min(one, other), max(one, other))}
    assert barriers(maze).tolist() == []
    assert pairs_of_cells(barred) == {frozenset((maze.labels[one], maze.labels[other]))}
    assert Protocol([Phase(maze, 1), Phase(barred, 1)]).n_steps == 2
    with pytest.raises(ValueError, match="A barrier stands between two neighbouring states"):
        barred.with_barrier(one, other)


def test_what_a_slippery_move_pays_at_a_barrier():
    ice = MDP.from_tables(
        [[[0.5, 0.25, 0.25]], [[1, 0, 0]], [[1, 0, 0]]],
        reward=[[[1, 2, 3]], [[5, 0, 0]], [[0, 0, 0]]],
        terminal=[2],
    )
    barred = ice.with_barrier(0, 1)
    assert barred.successors(0, 0).tolist() == [0, 2]
    assert barred.probability.tolist() == [0.75, 0.25, 1]
    np.testing.assert_allclose(barred.reward, [(0.5 * 1 + 0.25 * 0) / 0.75, 3, 0], rtol=1e-15)
    assert barred.successors(1, 0).tolist() == [1]


@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        (0, 2, r"no move leads from 0 to 2\. From 0 moves lead to 1"),
        (0, 0, "no move leads from 0 to 0"),
        ((1, 1), (1, 4), r"no state with the label \(1, 4\); its labels are like \(1, 1\)"),
        (0, 3, "state must be"),
        ([1], 0, r"no state with the label \[1\]"),
        ((np.array([1, 2]), 1), 0, "no state with the label"),
    ],
)
def test_barriers_elsewhere_are_refused(one, other, message):
    with pytest.raises(ValueError, match=message):
        from_ascii("S.G").with_barrier(one, other)


def lane(*nodes):
    return MDP.from_networkx(nx.path_graph(nodes), terminal=nodes[-1])


def walls(world):
    """List the pairs of neighbours, by label, between which no move leads any more."""
    nodes = list(world.labels)
    row = world.transition_rows() // world.n_actions
    moves = set(zip(row.tolist(), world.successor.tolist(), strict=True))
    return [(nodes[k], nodes[k + 1]) for k in range(len(nodes) - 1) if (k, k + 1) not in moves]


def test_numbers_of_nodes_are_not_those_of_states():
    """Nodes 1 to 6 are the states 0 to 5."""
    numbered, named = lane(1, 2, 3, 4, 5, 6), lane(*"abcdef")
    assert walls(numbered.with_barrier(2, 3)) == [(2, 3)]
    assert walls(numbered.with_barrier(np.int64(3), 2)) == [(2, 3)]
    assert numbered.starting_in(2).start_states.tolist() == [1]
    with pytest.raises(ValueError, match=r"no move leads from 2 to 4. From 2 moves lead to 1, 3"):
        numbered.with_barrier(2, 4)
    for refused in (0, 7, True):
        with pytest.raises(ValueError, match=r"no state with the label \w+; .* Give a label\.$"):
            numbered.starting_in(refused)
    with pytest.raises(ValueError, match="No episode can start in state 6, which is terminal"):
        numbered.starting_in(6)
    # Letters cannot be mistaken for numbers, which are then those of states.
    assert walls(named.with_barrier(2, 3)) == walls(named.with_barrier("c", "d")) == [("c", "d")]
    assert named.starting_in(2).start_states.tolist() == [2]


def test_both_states_with_a_label_are_behind_a_barrier():
    """As a state of a Gymnasium environment and its terminal copy have."""
    world = MDP.from_tables(
        [[1, 2], [0, 0], [2, 2]], [0, 0, 1], start=0, terminal=[2], labels=[0, 1, 1]
    )
    assert world.with_barrier(0, 1).successors(0, 1).tolist() == [0]
    assert world.with_barrier(0, 1).successors(0, 0).tolist() == [0]
    assert world.starting_in(1).start_states.tolist() == [1]
    twice = MDP.from_tables([[1], [0]], [0, 1], labels=["a", "a"])
    with pytest.raises(ValueError, match="2 states of 'mdp' have the label 'a'"):
        twice.starting_in("a")
