"""Mazes: grids of free cells and walls, random (experiment 4 of Brea (2018) [1]_) or drawn as text.

A state is a free cell; its label is the cell (x, y) and its position the middle of the cell in cm,
y upwards. The actions are up, right, down and left; a move into a wall leaves the animal in place.
Entering the goal gives reward 1 and ends the episode.

References
----------
.. [1] Brea (2018). https://arxiv.org/abs/1711.06677
"""

from __future__ import annotations

from textwrap import dedent

import numpy as np

from replay.checks import (
    LARGEST_NUMBER,
    SMALLEST_BIN,
    check_flag,
    check_number,
    check_seed,
    check_text,
    check_whole,
    shown,
)
from replay.checks.arrays import Bools, Ints
from replay.worlds.mdp import MDP
from replay.worlds.transitions import close_moves

_MOST_CELLS = 3000  # along a side
_PLACES = (  # what may be drawn on lines of cells, and between two of them
    (("a cell", "#. SG"), ("between two cells of a line", " |")),
    (("between two lines of cells", " -"), ("between four cells", " +|-")),
)
_MOVES = {"up": (0, 1), "right": (1, 0), "down": (0, -1), "left": (-1, 0)}


def random_maze(size: int = 40, seed: int | np.random.Generator | None = 0) -> MDP:
    """Maze of straight random walls with a goal at a random place; episodes start anywhere else.

    `size` * `size` // 10 walls are tried. Each begins in a random cell away from all other walls
    and grows rightwards or upwards (with equal probability) until it meets another one. Where it
    would close a gap between two walls it stops one cell earlier; as in the published code, an
    upward wall is then not built at all. Finally, m // 50 - 1 (at least 0) of the m inner wall
    cells, drawn at random with replacement, are opened. All free cells are connected.

    Parameters
    ----------
    size : int
        Cells along a side, including the surrounding wall; at least 4. A cell is 10 cm wide.
    seed : int, numpy.random.Generator or None
        Seed; None gives a different maze each time.

    Examples
    --------
    >>> maze = random_maze(size=10, seed=1)
    >>> layout(maze).shape
    (10, 10)
    >>> int(maze.terminal.sum())
    1
    """
    hint = "A maze has a surrounding wall, and needs room for a start and a goal."
    size = check_whole("size", size, at_least=4, at_most=_MOST_CELLS, hint=hint)
    rng = np.random.default_rng(check_seed(seed))
    free = np.zeros((size, size), dtype=bool)
    free[1:-1, 1:-1] = True
    for _ in range(size * size // 10):
        _try_wall(free, rng)
    walls = 1 + np.argwhere(~free[1:-1, 1:-1])
    n_openings = max(len(walls) // 50 - 1, 0)
    opened = walls[rng.integers(len(walls), size=n_openings)] if n_openings else walls[:0]
    free[opened[:, 0], opened[:, 1]] = True
    goal = np.zeros_like(free)
    cells = np.argwhere(free.T)[:, ::-1]
    goal[tuple(cells[rng.integers(len(cells))])] = True
    return _maze(free, goal, free & ~goal, cell_size=10.0, name="maze")


def from_ascii(text: str, cell_size: float = 10.0, name: str = "maze") -> MDP:
    """Make a maze from a drawing.

    Parameters
    ----------
    text : str
        `#` is a wall, `.` or a space a free cell, `S` a start, `G` a goal. Without `S`, episodes
        start in any free cell that is not a goal, with equal probability. A drawing that is open at
        its edge gets a surrounding wall. Indentation is removed and short lines are filled up with
        walls: at the edge, draw free cells as `.`.

        In a drawing with barriers between cells (`|` or `-`) there is one more character between
        two cells of a line, and one more line between two lines of cells: a space, or the barrier.
        At the corners `+`, `|` and `-` may be drawn for the looks.
    cell_size : float
        Width of a cell in cm.
    name : str
        Name of the maze in logs.

    Examples
    --------
    >>> t_maze = from_ascii('''
    ... #######
    ... #G    #
    ... ### ###
    ... ###S###
    ... #######
    ... ''')
    >>> t_maze.labels[0], t_maze.n_states
    ((3, 1), 7)
    >>> float(t_maze.solve(discount=1).state_values.max())
    1.0

    Two rooms, with a door between them at the top:

    >>> rooms = from_ascii('''
    ... . . . G
    ...
    ... S .|. .
    ... ''')
    >>> rooms.steps_to_end[rooms.labels.index((2, 1))]
    np.float64(3.0)
    """
    name = check_text("The name of a maze", name)
    cell_size = check_number("cell_size", cell_size, at_most=LARGEST_NUMBER)
    if cell_size < SMALLEST_BIN:
        raise ValueError(
            f"cell_size must be at least {SMALLEST_BIN} cm; got {cell_size:g}. Multiply metres by "
            "100."
        )
    lines = dedent(check_text("The drawing of a maze", text)).strip("\n").splitlines()
    unknown = sorted(set("".join(lines)) - set("#. SG|-+"))
    if unknown:
        raise ValueError(
            "A maze is drawn with '#', '.', ' ', 'S' and 'G', and with '|' and '-' between cells; "
            f"got {unknown[0]!r}."
        )
    lines, between = _read_barriers(lines)
    width = max(map(len, lines), default=1)
    if max(width, len(lines)) > _MOST_CELLS:
        raise ValueError(
            f"A maze has at most {_MOST_CELLS} cells along a side; got {width} times {len(lines)}."
        )
    rows = [list(line.ljust(width, "#")) for line in reversed(lines)]
    drawn = np.array(rows, dtype="U1").reshape(len(rows), width).T
    is_open = np.count_nonzero(drawn != "#") > np.count_nonzero(drawn[1:-1, 1:-1] != "#")
    if is_open:
        drawn = np.pad(drawn, 1, constant_values="#")
        between = between + 1  # the new wall moves all cells
    goal = drawn == "G"
    start = drawn == "S" if (drawn == "S").any() else (drawn != "#") & ~goal
    if not goal.any() or not start.any():
        raise ValueError(
            "A maze needs a goal 'G' and a start; "
            f"got {np.count_nonzero(goal)} goals, {np.count_nonzero(start)} starts."
        )
    maze = _maze(drawn != "#", goal, start, cell_size, name)
    if not len(between):
        return maze
    number = {label: state for state, label in enumerate(maze.labels or ())}
    pairs = [[number.get((x, y), -1) for x, y in pair] for pair in between.tolist()]
    pairs = [pair for pair in pairs if min(pair) >= 0]  # beside walls there are no moves to close
    closed = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    moves = maze.transitions()
    size = (maze.n_states, 1)  # which makes one number of a pair of states
    made = np.sort(np.column_stack((moves.state, moves.next_state)), axis=1)
    is_closed = np.isin(made @ size, np.sort(closed, axis=1) @ size)
    return MDP.from_transitions(**close_moves(moves, is_closed)._asdict())


def _read_barriers(lines: list[str]) -> tuple[list[str], Ints]:
    """Part the lines of a drawing into cells and barriers, as pairs of cells (x, y), (n, 2, 2)."""
    if not set("".join(lines)) & set("|-+"):
        return lines, np.zeros((0, 2, 2), dtype=np.int64)
    n_rows = (len(lines) + 1) // 2
    found: list[tuple[tuple[int, int], tuple[int, int]]] = []
    for number, line in enumerate(lines):
        y = n_rows - 1 - number // 2
        for place, drawn in enumerate(line):
            x = place // 2
            where, allowed = _PLACES[number % 2][place % 2]
            if drawn not in allowed:
                raise ValueError(
                    "With barriers drawn, every second character and line is between "
                    f"cells. Character {place + 1} of line {number + 1} is {where}, one of "
                    f"{', '.join(map(repr, allowed))}; got {drawn!r}."
                )
            if drawn == "|" and not number % 2:
                found.append(((x, y), (x + 1, y)))
            elif drawn == "-" and not place % 2:
                found.append(((x, y), (x, y - 1)))
    return [line[::2] for line in lines[::2]], np.array(found, dtype=np.int64).reshape(-1, 2, 2)


def open_maze(scale: int = 1, random_starts: bool = False) -> MDP:
    """Open field of 6 x 9 cells with three walls [1]_ [2]_, start at the left, goal in a corner.

    Parameters
    ----------
    scale : int
        Each cell becomes `scale` x `scale` cells, start and goal included.
    random_starts : bool
        Whether episodes start in any free cell except the goal, with equal probability.

    References
    ----------
    .. [1] Sutton (1990). https://doi.org/10.1016/B978-1-55860-141-3.50030-4
    .. [2] Mattar & Daw (2018). https://doi.org/10.1038/s41593-018-0232-z

    Examples
    --------
    >>> open_maze().n_states, open_maze(scale=2).n_states
    (47, 188)
    """
    drawn = """\
        .......#G
        ..#....#.
        S.#....#.
        ..#......
        .....#...
        ........."""
    if check_flag("random_starts", random_starts):
        drawn = drawn.replace("S", ".")
    scale = check_whole("scale", scale, at_least=1, at_most=_MOST_CELLS // 9)
    rows = ["".join(cell * scale for cell in row) for row in dedent(drawn).splitlines()]
    return from_ascii("\n".join(row for row in rows for _ in range(scale)), name="open_maze")


def two_way_track(length: int = 10) -> MDP:
    """Linear track that is run in both directions [1]_, with one corridor per direction.

    A place has one state for each direction, since place cells distinguish them. Each corridor has
    a start at one end and a goal at the other; episodes start in either corridor with equal
    probability.

    References
    ----------
    .. [1] Mattar & Daw (2018). https://doi.org/10.1038/s41593-018-0232-z

    Examples
    --------
    >>> track = two_way_track(5)
    >>> track.n_states, track.labels[0], track.labels[9]
    (10, (1, 1), (5, 3))
    """
    hint = "A track needs room for a start and a goal."
    length = check_whole("length", length, at_least=2, at_most=_MOST_CELLS, hint=hint)
    corridor = "." * (length - 2)
    drawn = f"S{corridor}G\n{'#' * length}\nG{corridor}S"
    return from_ascii(drawn, name="two_way_track")


def layout(mdp: MDP) -> Bools:
    """Recover the walls of a maze from its labels.

    Cell (x, y) is the element [y, x] of the result, True where there is a wall, so that
    `plt.imshow(walls, origin="lower")` shows the maze.

    Examples
    --------
    >>> layout(from_ascii("S.G")).astype(int)
    array([[1, 1, 1, 1, 1],
           [1, 0, 0, 0, 1],
           [1, 1, 1, 1, 1]])
    """
    if not isinstance(mdp, MDP):
        raise TypeError(f"mdp must be an MDP, got {shown(mdp)}.")
    labels = mdp.labels or ((),)
    if not all(
        isinstance(label, tuple)
        and len(label) == 2
        and all(type(number) is int and 0 <= number <= _MOST_CELLS for number in label)
        for label in labels
    ):
        raise ValueError(f"{mdp!r} is not a maze: its labels are not cells (x, y).")
    x, y = np.array(labels, dtype=np.int64).T
    walls = np.ones((y.max() + 2, x.max() + 2), dtype=bool)
    walls[y, x] = False
    return walls


def barriers(mdp: MDP) -> Ints:
    """List the pairs of neighbouring free cells of a maze between which no move leads, (n, 2).

    Examples
    --------
    >>> barriers(from_ascii("S|. G"))
    array([[0, 1]])
    """
    number = np.full(np.add(layout(mdp).shape, 1)[::-1], -1)
    x, y = np.array(mdp.labels, dtype=np.int64).T
    number[x, y] = np.arange(mdp.n_states)
    pairs = np.concatenate(
        [np.column_stack((number[x, y], number[x + 1, y])),
         np.column_stack((number[x, y], number[x, y + 1]))]
    )  # fmt: skip
    pairs = pairs[(pairs >= 0).all(axis=1) & ~mdp.terminal[pairs].all(axis=1)]
    made = np.column_stack((mdp.transition_rows() // mdp.n_actions, mdp.successor))
    size = (mdp.n_states, 1)
    is_open = np.isin(np.sort(pairs, axis=1) @ size, np.sort(made, axis=1) @ size)
    closed: Ints = pairs[~is_open]
    return closed


def _try_wall(free: Bools, rng: np.random.Generator) -> None:
    """Build one wall from a random cell, if there is room."""
    cells = np.flatnonzero(free)
    cell = divmod(int(cells[rng.integers(len(cells))]), free.shape[1])

    def is_clear(grid: Bools, along: int, across: int) -> bool:
        return bool(grid[along - 1 : along + 2, across - 1 : across + 2].all())

    if not is_clear(free, *cell):
        return
    rightwards = rng.random() < 0.5
    grid = free if rightwards else free.T
    begin, across = cell if rightwards else cell[::-1]
    last = begin
    while is_clear(grid, last, across):
        last += 1
    ahead = grid[last + 1, across - 1 : across + 2]
    if ahead.tolist() == [False, True, False]:
        if not rightwards:
            return  # the published code steps back on the wrong axis and builds nothing
        last -= 1
    grid[begin : last + 1, across] = False


def _maze(free: Bools, goal: Bools, start: Bools, cell_size: float, name: str) -> MDP:
    """Make the MDP of a grid with a surrounding wall; all tables have shape (width, height)."""
    y, x = np.nonzero(free.T)  # x changes fastest
    number = np.full(free.shape, -1)
    number[x, y] = np.arange(len(x))
    neighbour = np.stack([number[x + dx, y + dy] for dx, dy in _MOVES.values()], axis=1)
    is_goal = goal[x, y]
    return MDP.from_tables(
        np.where(neighbour < 0, number[x, y][:, None], neighbour),
        reward=is_goal,
        start=start[x, y] / start.sum(),
        terminal=is_goal,
        action_names=tuple(_MOVES),
        position=cell_size * (np.column_stack((x, y)) + 0.5),
        labels=list(zip(x.tolist(), y.tolist(), strict=True)),
        name=name,
    )
