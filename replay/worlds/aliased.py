"""Worlds in which states look alike, so that what is seen does not tell where the animal is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from replay.checks import check_array, check_whole, shown
from replay.worlds.mdp import MDP

if TYPE_CHECKING:
    from gymnasium import Env

__all__ = ["aliased", "check_looks", "cued_t_maze", "looks_of_walls"]


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


def check_looks(mdp: MDP, looks: ArrayLike) -> NDArray[np.float64]:
    """Return what is seen in each state of a world, one number each, or say what is wrong."""
    if not isinstance(mdp, MDP):
        raise TypeError(f"mdp must be an MDP, got {shown(mdp)}.")
    seen = check_array(looks, "looks", kind="number").astype(np.float64)
    if len(seen) != mdp.n_states:
        raise ValueError(
            f"looks must have one number for each of the {mdp.n_states} states, got {len(seen)}."
        )
    return seen


def cued_t_maze(length: int) -> MDP:
    """Make a T-maze whose rewarded arm is told by a cue at the start only [1]_.

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
    if not isinstance(mdp, MDP):
        raise TypeError(f"mdp must be an MDP, got {shown(mdp)}.")
    looks = np.full(mdp.n_states, -1)
    for state in np.flatnonzero(~mdp.terminal).tolist():
        looks[state] = sum(
            2**action
            for action in range(mdp.n_actions)
            if mdp.successors(state, action).tolist() == [state]
        )
    return looks
