"""What an animal sees of a world instead of its state: place cells, an image, or like places."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from replay.checks import check_array, check_number, check_whole, shown
from replay.checks.arrays import Floats
from replay.worlds.mdp import MDP

if TYPE_CHECKING:
    from gymnasium import Env

_FLOOR, _ANIMAL = 0.5, 1.0  # brightness; walls are black
_MOST_PIXELS = 1_000_000


def place_code(
    mdp: MDP,
    *,
    width: float = 15.0,
    noise: float = 0.1,
    n_distractors: int = 0,
    max_episode_steps: int | None = None,
) -> Env[Any, Any]:
    """Make an environment in which an animal sees the activity of place cells, not its state.

    One place cell is centred on each state. Beside them, distractors are on or off by chance at
    each step, whatever the animal does, like the pedestrians of Brea (2018) [1]_: what is seen is
    never the same twice, though the state is.

    Parameters
    ----------
    mdp : MDP
        The world; its states have positions.
    width : float, default 15.0
        Standard deviation of the place fields, in cm.
    noise : float, default 0.1
        Standard deviation of the noise of each cell, whose peak is 1.
    n_distractors : int, default 0
        Number of units that flicker between 0 and 1.
    max_episode_steps : int, optional
        After so many steps an episode is truncated.

    Returns
    -------
    gymnasium.Env
        Observations have the shape (n_states + n_distractors,); ``info`` has the true `state` and
        the `position`.

    References
    ----------
    .. [1] Brea (2018). https://doi.org/10.48550/arXiv.1711.06677

    Examples
    --------
    >>> from replay import from_ascii
    >>> env = place_code(from_ascii("S..G"), n_distractors=30)
    >>> observation, info = env.reset(seed=1)
    >>> observation.shape, info["state"]
    ((34,), 0)
    """
    from replay.worlds.gymnasium_bridge import ObservedEnv

    centres = _positions(mdp)
    spread = check_number("width", width, at_least=1e-6)
    sd = check_number("noise", noise, at_least=0.0)
    n_more = check_whole("n_distractors", n_distractors, at_least=0, at_most=1_000_000)

    def observe(state: int, rng: np.random.Generator) -> Any:
        distance = ((centres - centres[state]) ** 2).sum(axis=1)
        cells = np.exp(-distance / (2 * spread**2)) + sd * rng.normal(size=len(centres))
        return np.append(cells, rng.integers(0, 2, n_more))

    return ObservedEnv(mdp.to_gymnasium(max_episode_steps), observe, centres, len(centres) + n_more)


def pixels(
    mdp: MDP, *, size: int = 2, noise: float = 0.1, max_episode_steps: int | None = None
) -> Env[Any, Any]:
    """Make an environment in which a maze is seen from above, as an image with noise.

    Parameters
    ----------
    mdp : MDP
        A maze; the positions of its states are on a grid. Where there is none, there is a wall.
    size : int, default 2
        Width of a place, in pixels.
    noise : float, default 0.1
        Standard deviation of the noise of each pixel. Walls are 0, the floor is 0.5, the animal 1.
    max_episode_steps : int, optional
        After so many steps an episode is truncated.

    Returns
    -------
    gymnasium.Env
        Observations have the shape (height * width,), row after row; ``info`` has the true `state`
        and the `position`.

    Examples
    --------
    >>> from replay import from_ascii
    >>> observation, info = pixels(from_ascii("S.#G"), size=1, noise=0.0).reset(seed=1)
    >>> observation
    array([1. , 0.5, 0. , 0.5])
    """
    from replay.worlds.gymnasium_bridge import ObservedEnv

    position = _positions(mdp)
    width = check_whole("size", size, at_least=1, at_most=100)
    sd = check_number("noise", noise, at_least=0.0)
    # The spacing of the grid is the smallest difference in x, or in y, that is not rounding.
    apart = np.concatenate([np.diff(np.unique(along)) for along in position.T])
    unit = apart[apart > 1e-9].min(initial=np.inf)
    place = np.rint((position - position.min(axis=0)) / unit).astype(np.int64)
    shape = place.max(axis=0)[::-1] + 1
    if width**2 * float(shape.prod()) > _MOST_PIXELS:
        raise ValueError(
            f"The image would have more than {_MOST_PIXELS:,} pixels: places must be on a grid, "
            "and size small."
        )
    column, row = place[:, 0], shape[0] - 1 - place[:, 1]
    floor = np.zeros(shape)
    floor[row, column] = _FLOOR
    n_pixels = width**2 * floor.size

    def observe(state: int, rng: np.random.Generator) -> Any:
        image = floor.copy()
        image[row[state], column[state]] = _ANIMAL
        return image.repeat(width, 0).repeat(width, 1).ravel() + sd * rng.normal(size=n_pixels)

    return ObservedEnv(mdp.to_gymnasium(max_episode_steps), observe, position, n_pixels)


def aliased(mdp: MDP, looks: ArrayLike, *, max_episode_steps: int | None = None) -> Env[Any, Any]:
    """Make an environment in which an animal sees how a state looks, and several look alike.

    Parameters
    ----------
    mdp : MDP
        The world.
    looks : array_like of float, shape (n_states,)
        What is seen in each state.
    max_episode_steps : int, optional
        After so many steps an episode is truncated.

    Returns
    -------
    gymnasium.Env
        Observations have the shape (1,); ``info`` has the true `state`, and the `position` if
        states have one.

    Examples
    --------
    >>> maze = cued_t_maze(5)
    >>> observation, info = aliased(maze, maze.labels).reset(seed=1)
    >>> bool(observation[0] == maze.labels[info["state"]])
    True
    """
    from replay.worlds.gymnasium_bridge import ObservedEnv

    seen = check_looks(mdp, looks)

    def observe(state: int, rng: np.random.Generator) -> Any:
        return seen[state : state + 1]

    return ObservedEnv(mdp.to_gymnasium(max_episode_steps), observe, mdp.position, 1)


def _check_world(mdp: object) -> None:
    if not isinstance(mdp, MDP):
        raise TypeError(f"mdp must be an MDP, got {shown(mdp)}.")


def _positions(mdp: MDP) -> Floats:
    _check_world(mdp)
    if mdp.position is None:
        raise ValueError(f"The states of {mdp.name!r} have no positions: give position=.")
    return np.asarray(mdp.position)


def check_looks(mdp: MDP, looks: ArrayLike) -> Floats:
    """Return what is seen in each state of a world, one number each, or say what is wrong."""
    _check_world(mdp)
    seen = check_array(looks, "looks", kind="number").astype(np.float64)
    if len(seen) != mdp.n_states:
        raise ValueError(
            f"looks must have one number for each of the {mdp.n_states} states, got {len(seen)}."
        )
    return seen


def cued_t_maze(length: int) -> MDP:
    """Make a T-maze whose rewarded arm is shown by a cue at the start only [1]_.

    From the start, where one of two cues is seen, a corridor leads to the junction. The way back is
    closed, and turns before the junction change nothing. The cue decides in which arm there is
    food; either arm ends the episode.

    Parameters
    ----------
    length : int
        Number of places between the start and the junction; all look alike.

    Returns
    -------
    MDP
        Labels say how each state looks: 0 and 1 the cues, 2 the corridor, 3 the junction, 4 food,
        5 none. The two cues have a row of states each, and share food and none.

    References
    ----------
    .. [1] Bakker (2002), Reinforcement learning with long short-term memory.
       https://papers.nips.cc/paper/1953-reinforcement-learning-with-long-short-term-memory

    Examples
    --------
    >>> cued_t_maze(2).labels
    (0, 2, 2, 3, 1, 2, 2, 3, 4, 5)
    """
    n = check_whole("length", length, at_least=1, at_most=100_000) + 2  # states of a row
    food, none = 2 * n, 2 * n + 1
    transition = np.repeat(np.arange(2 * n + 2)[:, None], 3, axis=1)
    transition[: 2 * n, 0] += 1
    transition[n - 1] = (n - 1, food, none)
    transition[2 * n - 1] = (2 * n - 1, none, food)
    along = 10.0 * np.arange(n)
    ends = [(10.0 * n, 20.0), (10.0 * n + 10, 20.0)]
    return MDP.from_tables(
        transition,
        [0] * (2 * n) + [1, 0],
        start=np.isin(np.arange(2 * n + 2), (0, n)) / 2,
        terminal=[food, none],
        action_names=("ahead", "left", "right"),
        position=[*zip(along, [40.0] * n, strict=True), *zip(along, [0.0] * n, strict=True), *ends],
        labels=[0, *[2] * (n - 2), 3, 1, *[2] * (n - 2), 3, 4, 5],
        name=f"T-maze with a cue, corridor of {length}",
    )


def looks_of_walls(mdp: MDP) -> Any:
    """Return how each state looks if only walls and the goal are seen.

    Parameters
    ----------
    mdp : MDP
        A world in which an action into a wall leaves the state as it is.

    Returns
    -------
    ndarray of int64, shape (n_states,)
        The sum of 2 to the power of each action that changes nothing; -1 in terminal states.

    Examples
    --------
    >>> from replay import from_ascii
    >>> looks_of_walls(from_ascii("S..G"))
    array([13,  5,  5, -1])
    """
    _check_world(mdp)
    looks = np.full(mdp.n_states, -1)
    for state in np.flatnonzero(~mdp.terminal).tolist():
        looks[state] = sum(
            2**action
            for action in range(mdp.n_actions)
            if mdp.successors(state, action).tolist() == [state]
        )
    return looks
