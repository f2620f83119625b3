"""A world seen through noisy place cells, among units that flicker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from replay.checks import check_number, check_whole, shown
from replay.worlds.mdp import MDP

if TYPE_CHECKING:
    from gymnasium import Env

__all__ = ["place_code"]


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
    .. [1] Brea (2018), Is prioritized sweeping the better episodic control?
       https://doi.org/10.48550/arXiv.1711.06677

    Examples
    --------
    >>> from replay import from_ascii
    >>> env = place_code(from_ascii("S..G"), n_distractors=30)
    >>> observation, info = env.reset(seed=1)
    >>> observation.shape, info["state"]
    ((34,), 0)
    """
    from replay.worlds.gymnasium_bridge import ObservedEnv

    if not isinstance(mdp, MDP):
        raise TypeError(f"mdp must be an MDP, got {shown(mdp)}.")
    if mdp.position is None:
        raise ValueError(f"The states of {mdp.name!r} have no positions: give position=.")
    centres = np.asarray(mdp.position)
    spread = check_number("width", width, at_least=1e-6)
    sd = check_number("noise", noise, at_least=0.0)
    n_more = check_whole("n_distractors", n_distractors, at_least=0, at_most=1_000_000)

    def observe(state: int, rng: np.random.Generator) -> Any:
        distance = ((centres - centres[state]) ** 2).sum(axis=1)
        cells = np.exp(-distance / (2 * spread**2)) + sd * rng.normal(size=len(centres))
        return np.append(cells, rng.integers(0, 2, n_more))

    return ObservedEnv(mdp.to_gymnasium(max_episode_steps), observe, centres, len(centres) + n_more)
