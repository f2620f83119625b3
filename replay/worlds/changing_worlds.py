"""Worlds that change: moving walls, a shortcut, a moving reward, drifting probabilities.

Each builder draws a world and makes a :class:`replay.worlds.protocols.Protocol` of it; ``WORLDS``
lists them. The mazes are random, with one start. As in Tolman's blocking task, a wall is built
across the path that the animal has learned [1]_, or a wall is removed, which opens a shorter path
[2]_.

References
----------
.. [1] Tolman & Honzik (1930), "Insight" in rats. University of California Publications in
   Psychology, 4, 215-232.
.. [2] Sutton (1990). https://doi.org/10.1016/B978-1-55860-141-3.50030-4
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from replay.checks import Named, check_choice, check_number, check_seed, check_whole
from replay.worlds.mazes import random_maze
from replay.worlds.mdp import MDP
from replay.worlds.protocols import Phase, Protocol
from replay.worlds.transitions import close_moves
from replay.worlds.trees import stochastic_tree

_Seed = int | Sequence[int] | np.random.Generator | None

_MOST_DRAWS = 1000
_LARGEST_DRIFT = 10.0  # a factor of 20,000 per change; far larger ones make probabilities of 0
_LEAST_DETOUR = 1.25  # as a multiple of the previous shortest path
_KEPT = ("start_probability", "terminal", "action_names", "position", "labels", "name")


def moving_wall(
    size: int = 12,
    n_phases: int = 3,
    n_steps: int = 10_000,
    noise: float = 0.0,
    n_rest: int = 0,
    seed: _Seed = 0,
) -> Protocol:
    """Maze in which a wall blocks the animal's path, and then moves to its new path.

    The first phase has no such wall. In each other phase it blocks one cell through which all
    shortest paths of the previous phase went: the one that makes the new shortest path longest.
    The first wall lengthens the shortest path by at least a quarter.

    Parameters
    ----------
    size : int
        Cells along a side of the maze, including the surrounding wall.
    n_phases : int
        At least 2.
    n_steps : int
        Steps per phase.
    noise : float
        Probability that the action is replaced by a random one.
    n_rest : int
        Pauses of rest after each phase.
    seed : int, sequence of int, numpy.random.Generator or None

    Raises
    ------
    ValueError
        If a number is out of range, or no such maze can be drawn.

    Examples
    --------
    >>> world = moving_wall(seed=1)
    >>> start = world.phases[0].mdp.start_probability.argmax()
    >>> [int(phase.mdp.steps_to_end[start]) for phase in world.phases]
    [14, 18, 14]
    """
    _check(n_steps, n_rest, noise, n_phases=n_phases)
    mazes = _draw(seed, size, n_phases)
    return _protocol("moving_wall", mazes, n_steps, noise, n_rest)


def shortcut(
    size: int = 12, n_steps: int = 10_000, noise: float = 0.0, n_rest: int = 0, seed: _Seed = 0
) -> Protocol:
    """Maze in which a cell of the shortest path is blocked in the first phase, and then opened.

    Parameters
    ----------
    size, n_steps, noise, n_rest, seed
        As in `moving_wall`.

    Examples
    --------
    >>> before, after = (phase.mdp for phase in shortcut(seed=1).phases)
    >>> start = before.start_probability.argmax()
    >>> int(before.steps_to_end[start]), int(after.steps_to_end[start])
    (18, 14)
    """
    _check(n_steps, n_rest, noise)
    mazes = _draw(seed, size, 2)[::-1]
    return _protocol("shortcut", mazes, n_steps, noise, n_rest)


def moving_reward(
    size: int = 12,
    n_phases: int = 3,
    n_steps: int = 10_000,
    n_places: int = 2,
    noise: float = 0.0,
    n_rest: int = 0,
    seed: _Seed = 0,
) -> Protocol:
    """Maze in which episodes end at several places, a different one of which pays in each phase.

    The places take turns. Episodes start in any other cell, with equal probability. No place is on
    all paths to another one.

    Parameters
    ----------
    size, n_phases, n_steps, noise, n_rest, seed
        As in `moving_wall`.
    n_places : int
        At least 2.

    Examples
    --------
    >>> before, after, again = moving_reward(seed=1).phases
    >>> before.mdp == again.mdp, before.mdp == after.mdp
    (True, False)
    """
    _check(n_steps, n_rest, noise, n_phases=n_phases, n_places=n_places)
    rng = np.random.default_rng(check_seed(seed))
    maze, places = _maze_with_places(size, n_places, rng)
    terminal = np.isin(np.arange(maze.n_states), places)
    moves = maze.transitions()
    goes_on = ~terminal[moves.state]
    columns = {name: column[goes_on] for name, column in list(moves._asdict().items())[:4]}
    columns |= {"terminal": terminal, "start_probability": ~terminal / (~terminal).sum()}
    mazes = []
    for number in range(n_phases):
        paid = columns["next_state"] == places[number % n_places]
        mazes.append(MDP.from_transitions(**moves._replace(**columns, reward=paid)._asdict()))
    return _protocol("moving_reward", mazes, n_steps, noise, n_rest)


def drifting_tree(
    depth: int = 4,
    n_actions: int = 4,
    branching: int = 2,
    n_phases: int = 10,
    n_steps: int = 2_000,
    drift: float = 0.5,
    n_rest: int = 0,
    seed: _Seed = 0,
) -> Protocol:
    """Stochastic tree whose transition probabilities follow a random walk from phase to phase.

    Examples
    --------
    >>> before, after = (phase.mdp for phase in drifting_tree(n_phases=2, seed=1).phases)
    >>> before.probability[:2].round(2), after.probability[:2].round(2)
    (array([0.91, 0.09]), array([0.89, 0.11]))
    """
    _check(n_steps, n_rest, n_phases=n_phases)
    drift = check_number("drift", drift, at_least=0, at_most=_LARGEST_DRIFT)
    rng = np.random.default_rng(check_seed(seed))
    trees = [stochastic_tree(depth, n_actions, branching, rng)]
    rows = trees[0].transition_rows()
    for _ in range(n_phases - 1):
        weight = trees[-1].probability * np.exp(drift * rng.standard_normal(len(rows)))
        total = np.bincount(rows, weights=weight)[rows]
        trees.append(replace(trees[-1], probability=weight / total))
    return _protocol("drifting_tree", trees, n_steps, 0.0, n_rest)


WORLDS: Named[Callable[..., Protocol]] = Named("world")
WORLDS |= {
    "moving_wall": moving_wall,
    "shortcut": shortcut,
    "moving_reward": moving_reward,
    "drifting_tree": drifting_tree,
    "noisy_moving_wall": partial(moving_wall, noise=0.2),
}
"""Name -> builder; all have the parameters `n_steps` (per phase), `n_rest` and `seed`. The last one
has both noise and change."""


def find_world(name: str) -> Callable[..., Protocol]:
    """Look up a builder.

    Examples
    --------
    >>> find_world("shortcut")(n_steps=100).n_steps
    200
    """
    return WORLDS[check_choice("world", name, WORLDS)]


def _check(n_steps: int, n_rest: int, noise: float = 0.0, **counts: int) -> None:
    check_whole("n_steps", n_steps, at_least=1)
    check_whole("n_rest", n_rest)
    check_number("noise", noise, at_least=0, at_most=1)
    for name, count in counts.items():
        check_whole(name, count, at_least=2, at_most=1000, hint="The world must change.")


def _protocol(name: str, mdps: list[MDP], n_steps: int, noise: float, n_rest: int) -> Protocol:
    if noise > 0:  # each action has, with this probability, the outcome of a random action
        n = mdps[0].n_actions
        any_action = sparse.kron(sparse.eye_array(mdps[0].n_states), np.full((n, n), 1 / n))
        mix = (1 - noise) * sparse.eye_array(n * mdps[0].n_states) + noise * any_action
        mdps = [_mixed(mdp, mix) for mdp in mdps]
    return Protocol([Phase(mdp, n_steps, n_rest) for mdp in mdps], name=name)


def _mixed(mdp: MDP, mix: sparse.csr_array) -> MDP:
    """Let each pair of state and action have the mean outcomes of several, with these weights."""
    chance, earned = mdp.transition_matrix(), mdp.transition_matrix()
    earned.data = mdp.probability * mdp.reward
    chance, earned = (mix @ chance).tocsr(), (mix @ earned).tocsr()
    rows, successor = chance.nonzero()
    probability = chance[rows, successor]
    same = {name: getattr(mdp, name) for name in _KEPT}
    return MDP.from_transitions(
        rows // mdp.n_actions,
        rows % mdp.n_actions,
        successor,
        probability,
        earned[rows, successor] / probability,
        **same,
    )


def _draw(seed: _Seed, size: int, n_phases: int) -> list[MDP]:
    """Draw mazes until a wall can be moved as often as there are changes."""
    rng = np.random.default_rng(check_seed(seed))
    for _ in range(_MOST_DRAWS):
        maze = random_maze(size, rng)
        farthest = int(np.argmax(maze.steps_to_end))
        maze = replace(maze, start_probability=np.eye(1, maze.n_states, farthest)[0])
        mazes = [maze]
        while len(mazes) < n_phases:
            moved = _move_wall(maze, mazes[-1])
            if moved is None:
                break
            mazes.append(moved)
        else:
            return mazes
    raise ValueError(
        f"None of {_MOST_DRAWS} mazes of size {size} had a further path whenever one was blocked: "
        "make them larger, or use fewer phases."
    )


def _move_wall(maze: MDP, latest: MDP) -> MDP | None:
    """Build the wall across all shortest paths of the latest maze, and nowhere else."""
    start = int(np.argmax(maze.start_probability))
    shortest = latest.steps_to_end[start]
    least = _LEAST_DETOUR * shortest if latest is maze else 0
    path = [start]
    while not latest.terminal[path[-1]]:
        reached = np.concatenate([latest.successors(path[-1], a) for a in range(latest.n_actions)])
        path.append(int(reached[np.argmin(latest.steps_to_end[reached])]))
    longest, best = 0.0, None
    # The wall lies on the path that was walked, but is built anew into the maze without walls.
    for state in path[1:-1]:
        n_steps = _steps_around(maze, start, state)
        is_best = least <= n_steps < np.inf and n_steps > longest
        if is_best and _steps_around(latest, start, state) > shortest:
            longest, best = n_steps, state
    if best is None:
        return None
    return MDP.from_transitions(**close_moves(maze.transitions(), maze.successor == best)._asdict())


def _steps_around(mdp: MDP, start: int, wall: int) -> float:
    """Count the steps to the nearest end if one state is closed; infinite without a path."""
    came_from = mdp.transition_rows() // mdp.n_actions
    is_open = (came_from != wall) & (mdp.successor != wall)
    moves = (np.ones(np.count_nonzero(is_open)), (came_from[is_open], mdp.successor[is_open]))
    graph = sparse.csr_array(moves, shape=(mdp.n_states, mdp.n_states))
    n_steps = csgraph.dijkstra(graph, indices=[start], unweighted=True)[0]
    return float(n_steps[mdp.terminal].min())


def _maze_with_places(size: int, n_places: int, rng: np.random.Generator) -> tuple[MDP, np.ndarray]:
    for _ in range(_MOST_DRAWS):
        maze = random_maze(size, rng)
        places = np.flatnonzero(maze.terminal)
        for state in rng.permutation(np.flatnonzero(~maze.terminal)):
            if len(places) < n_places and _within_reach(maze, np.append(places, state)):
                places = np.append(places, state)
        if len(places) == n_places:
            return maze, places
    raise ValueError(
        f"None of {_MOST_DRAWS} mazes of size {size} had room for {n_places} places; make them "
        "larger."
    )


def _within_reach(maze: MDP, places: np.ndarray) -> bool:
    """Whether each place can be reached from everywhere, if episodes end in all of them."""
    came_from = maze.transition_rows() // maze.n_actions
    goes_on = ~np.isin(came_from, places)
    moves = (np.ones(np.count_nonzero(goes_on)), (maze.successor[goes_on], came_from[goes_on]))
    backwards = sparse.csr_array(moves, shape=(maze.n_states, maze.n_states))
    n_steps = csgraph.dijkstra(backwards, indices=list(places), unweighted=True)
    elsewhere = ~np.isin(np.arange(maze.n_states), places)
    return bool(np.isfinite(n_steps[:, elsewhere]).all())
