"""Linear tracks, run to and fro."""

from __future__ import annotations

from collections.abc import Sequence

from replay.checks import check_whole
from replay.tasks import Block, Task, task_of_routes
from replay.tasks.published.maze_data import N_REST, about_maze, maze_graph

__all__ = ["linear_track", "linear_track_0x", "linear_track_4x", "linear_track_novel", "long_track"]

_TO_AND_FRO = ("out", "in")


def _track(name: str, maze: str, blocks: Sequence[Block], headings: tuple[str, str]) -> Task:
    graph = maze_graph(maze)
    nodes = list(graph)
    return task_of_routes(
        name,
        graph,
        {"out": nodes, "in": nodes[::-1]},
        blocks,
        home=nodes[0],
        one_way=True,
        headings=headings,
        **about_maze(maze),
    )


def _short_track(name: str, blocks: Sequence[Block]) -> Task:
    before = Block("rest", 0, n_rest=N_REST)
    return _track(name, "linear_track", [before, *blocks], ("out{}", "in{}"))


def _pay(near: float, far: float) -> dict[str, float]:
    return {"0": near, "9": far}


def linear_track(n_training: int = 20, n_laps: int = 40) -> Task:
    """Linear track that is run to and fro for the same reward at both ends; rest before and after.

    Parameters
    ----------
    n_training : int, default 20
        Laps, one way each, until the track counts as familiar.
    n_laps : int, default 40
        Laps after that.

    Returns
    -------
    Task
    """
    blocks = [
        Block("training", n_training, _TO_AND_FRO, _pay(1.0, 1.0)),
        Block("familiar", n_laps, _TO_AND_FRO, _pay(1.0, 1.0), n_rest=N_REST),
    ]
    return _short_track("linear_track", blocks)


def linear_track_novel(n_laps: int = 20, n_sessions: int = 3) -> Task:
    """Linear track from the first lap on, in sessions with rest between them.

    Parameters
    ----------
    n_laps : int, default 20
        Laps of a session, one way each.
    n_sessions : int, default 3

    Returns
    -------
    Task
    """
    n_sessions = check_whole("n_sessions", n_sessions, at_least=1, at_most=1000)
    blocks = [
        Block(f"session {k + 1}", n_laps, _TO_AND_FRO, _pay(1.0, 1.0), n_rest=N_REST)
        for k in range(n_sessions)
    ]
    return _short_track("linear_track_novel", blocks)


def linear_track_4x(n_laps: int = 34) -> Task:
    """Linear track on which the far end pays four times as much for an epoch, and then as before.

    Parameters
    ----------
    n_laps : int, default 34
        Laps of each of the three epochs, one way each; the experiment had 15 to 20 to and fro.

    Returns
    -------
    Task
    """
    return _reward_track("linear_track_4x", 4.0, n_laps)


def linear_track_0x(n_laps: int = 34) -> Task:
    """Linear track on which the far end pays nothing for an epoch, and then as before.

    Parameters
    ----------
    n_laps : int, default 34
        Laps of each of the three epochs, one way each; the experiment had 15 to 20 to and fro.

    Returns
    -------
    Task
    """
    return _reward_track("linear_track_0x", 0.0, n_laps)


def _reward_track(name: str, changed: float, n_laps: int) -> Task:
    blocks = [
        Block("equal", n_laps, _TO_AND_FRO, _pay(1.0, 1.0)),
        Block("unequal", n_laps, _TO_AND_FRO, _pay(1.0, changed)),
        Block("restored", n_laps, _TO_AND_FRO, _pay(1.0, 1.0), n_rest=N_REST),
    ]
    return _short_track(name, blocks)


def long_track(n_laps: int = 20) -> Task:
    """Track of 10.3 m with food at both ends; rest before and after.

    Parameters
    ----------
    n_laps : int, default 20
        Laps, one way each.

    Returns
    -------
    Task
    """
    blocks = [
        Block("rest", 0, n_rest=N_REST),
        Block("run", n_laps, _TO_AND_FRO, {"n0": 1.0, "n41": 1.0}, n_rest=N_REST),
    ]
    return _track("long_track", "long_track", blocks, ("{}>", "{}<"))
