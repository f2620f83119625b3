"""Linear tracks, run back and forth: one of them, or two that do not join."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from replay.tasks.published.maze_data import Variant, find_maze, maze_with
from replay.tasks.routes import task_of_routes
from replay.tasks.task import Block, Task

_MANY = 16
_FEW = (4, 8, 3, 2, 1)  # the first where nothing is drawn


def _track(
    name: str, maze: str, blocks: Sequence[Block], headings: tuple[str, str], variant: Variant
) -> Task:
    """Make a track that is run back and forth in all blocks, beginning at either end."""
    track = maze_with(maze, variant.density())
    nodes = track.along(list(find_maze(maze)["nodes"]))
    back_and_forth = variant.choice((("out", "in"), ("in", "out")))
    return task_of_routes(
        name,
        track.graph,
        {"out": nodes, "in": nodes[::-1]},
        [block._replace(contingency=back_and_forth if block.n_laps else ()) for block in blocks],
        home=nodes[0],
        one_way=True,
        headings=headings,
        **track.about(name, variant),
    )


def _short_track(name: str, blocks: Sequence[Block], variant: Variant) -> Task:
    before = Block("rest", 0, n_rest=variant.n_rest)
    headings = ("out{}", "in{}")
    return _track(name, "linear_track", [before, *blocks], headings, variant)


def _pay(near: float, far: float) -> dict[str, float]:
    return {"0": near, "9": far}


def linear_track(
    n_training: int | None = None,
    n_laps: int | None = None,
    *,
    rng: np.random.Generator | None = None,
) -> Task:
    """Linear track, run back and forth for equal rewards at both ends; rest before and after.

    Parameters
    ----------
    n_training : int, optional
        One-way laps until the track counts as familiar: 20, or 10 to 40 with `rng`, since no study
        says how well an animal must know a track.
    n_laps : int, optional
        Further laps: 40, or 20 to 60 with `rng`, since rats differ in how much they run.
    rng : numpy.random.Generator, optional
        Draws, for one animal, what the experiment leaves open: these numbers and what the task's
        `remark` says.
    """
    variant = Variant(rng)
    n_training = variant.whole(20, 10, 40, n_training)
    n_laps = variant.whole(40, 20, 60, n_laps)
    blocks = [
        Block("training", n_training, rewards=_pay(1.0, 1.0)),
        Block("familiar", n_laps, rewards=_pay(1.0, 1.0), n_rest=variant.n_rest),
    ]
    return _short_track("linear_track", blocks, variant)


def linear_track_novel(*, rng: np.random.Generator | None = None) -> Task:
    """Linear track from the first lap on, in sessions with rest between them.

    There are 20 one-way laps per session, or 10 to 40 with `rng`, since rats differ in how much
    they run.
    """
    variant = Variant(rng)
    n_laps = variant.whole(20, 10, 40)
    blocks = [
        Block(f"session {k + 1}", n_laps, rewards=_pay(1.0, 1.0), n_rest=variant.n_rest)
        for k in range(3)
    ]
    return _short_track("linear_track_novel", blocks, variant)


def linear_track_4x(n_laps: int | None = None, *, rng: np.random.Generator | None = None) -> Task:
    """Linear track on which one end pays four times as much in the second of three epochs.

    There are 34 one-way laps per epoch, or 30 to 40 with `rng`; the experiment had 15 to 20 laps
    back and forth. With `rng` the end that changes is drawn; otherwise it is the far one.
    """
    return _reward_track("linear_track_4x", 4.0, n_laps, rng)


def linear_track_0x(*, rng: np.random.Generator | None = None) -> Task:
    """Linear track on which one end pays nothing in the second of three epochs.

    Laps and what is drawn are as in `linear_track_4x`.
    """
    return _reward_track("linear_track_0x", 0.0, None, rng)


def _reward_track(
    name: str, changed: float, n_laps: int | None, rng: np.random.Generator | None
) -> Task:
    variant = Variant(rng)
    n_laps = variant.whole(34, 30, 40, n_laps)
    unequal = variant.choice((_pay(1.0, changed), _pay(changed, 1.0)))
    blocks = [
        Block("equal", n_laps, rewards=_pay(1.0, 1.0)),
        Block("unequal", n_laps, rewards=unequal),
        Block("restored", n_laps, rewards=_pay(1.0, 1.0), n_rest=variant.n_rest),
    ]
    return _short_track(name, blocks, variant)


def long_track(n_laps: int | None = None, *, rng: np.random.Generator | None = None) -> Task:
    """Track of 10.3 m with food at both ends; rest before and after.

    Parameters
    ----------
    n_laps : int, optional
        One-way laps: 20, or 10 to 30 with `rng`, since rats differ in how much they run.
    rng : numpy.random.Generator, optional
        Draws, for one animal, what the experiment leaves open; see the task's `remark`.
    """
    variant = Variant(rng)
    n_laps = variant.whole(20, 10, 30, n_laps)
    blocks = [
        Block("rest", 0, n_rest=variant.n_rest),
        Block("run", n_laps, rewards={"n0": 1.0, "n41": 1.0}, n_rest=variant.n_rest),
    ]
    return _track("long_track", "long_track", blocks, ("{}>", "{}<"), variant)


def two_tracks(*, rng: np.random.Generator | None = None) -> Task:
    """Two linear tracks: 16 laps there and back on the first, few on the second; then rest.

    There are 4 laps there and back on the second track, or 8, 4, 3, 2 or 1 with `rng`, as in the
    five kinds of session [1]_.

    References
    ----------
    .. [1] Huelin Gorriz et al. (2023). https://doi.org/10.1038/s41467-023-43939-z

    Examples
    --------
    >>> [(block.name, block.n_laps) for block in two_tracks().blocks]
    [('rest', 0), ('first track', 32), ('second track', 8)]
    """
    variant = Variant(rng)
    n_few = variant.choice(_FEW)
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
        "two_tracks", maze.graph, routes, blocks, **maze.about("two_tracks", variant)
    )
