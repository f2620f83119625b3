"""A maze seen from above, as an image."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from replay.checks import check_number, check_whole, shown
from replay.worlds.mdp import MDP

if TYPE_CHECKING:
    from gymnasium import Env

__all__ = ["pixels"]

_FLOOR, _ANIMAL = 0.5, 1.0  # brightness; walls are black
_MOST_PIXELS = 1_000_000


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

    if not isinstance(mdp, MDP):
        raise TypeError(f"mdp must be an MDP, got {shown(mdp)}.")
    if mdp.position is None:
        raise ValueError(f"The states of {mdp.name!r} have no positions: give position=.")
    width = check_whole("size", size, at_least=1, at_most=100)
    sd = check_number("noise", noise, at_least=0.0)
    apart = np.diff(np.unique(mdp.position.ravel()))
    unit = apart[apart > 1e-9].min(initial=np.inf)
    place = np.rint((mdp.position - mdp.position.min(axis=0)) / unit).astype(np.int64)
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

    return ObservedEnv(mdp.to_gymnasium(max_episode_steps), observe, mdp.position, n_pixels)
