"""The two tracks of Huelin Gorriz et al. (2023): one is run more than the other, then rest."""

from __future__ import annotations

import numpy as np

from replay.tasks.published.maze_data import maze_with
from replay.tasks.published.variants import DRAWN, Variant
from replay.tasks.routes import task_of_routes
from replay.tasks.task import Block, Task

__all__ = ["two_tracks"]

_MANY = 16
_FEW = (4, 8, 3, 2, 1)  # the first where nothing is drawn
_DRAWN = (
    "Drawn for each animal: 8, 4, 3, 2 or 1 laps on the second track, as in the five kinds of "
    "session; and 0.78 to 2.1 times as many places per metre, since the spatial resolution is a "
    "choice. "
)


def two_tracks(n_few: int | None = None, *, rng: np.random.Generator | None = None) -> Task:
    """Two linear tracks: 16 laps there and back on the first, few on the second; then rest.

    Parameters
    ----------
    n_few : int, optional
        Laps there and back on the second track: 4, or 8, 4, 3, 2 or 1 with `rng`.
    rng : numpy.random.Generator, optional
        Draws, for one animal, what differs between sessions and what the experiment leaves open:
        these laps, places per metre, pauses of rest, and the standard deviation of rewards.

    Returns
    -------
    Task

    Examples
    --------
    >>> [(block.name, block.n_laps) for block in two_tracks().blocks]
    [('rest', 0), ('first track', 32), ('second track', 8)]
    """
    variant = Variant(rng)
    n_few = variant.choice(_FEW) if n_few is None else n_few
    maze = maze_with("two_tracks", variant.density())
    first, second = maze.landmarks["left_arm"], maze.landmarks["right_arm"]
    routes = {
        "first_out": first,
        "first_in": first[::-1],
        "second_out": second,
        "second_in": second[::-1],
    }
    blocks = [Block("rest", 0, n_rest=variant.n_rest)]
    for which, track, n_laps in (("first", first, _MANY), ("second", second, n_few)):
        paid = {track[0]: 1.0, track[-1]: 1.0}
        ways = (f"{which}_out", f"{which}_in")
        n_rest = variant.n_rest * (which == "second")
        blocks.append(Block(f"{which} track", 2 * n_laps, ways, paid, n_rest=n_rest))
    return task_of_routes(
        "two_tracks",
        maze.graph,
        routes,
        blocks,
        reward_sd=variant.reward_sd,
        **maze.about(drawn="" if rng is None else _DRAWN + DRAWN),
    )
