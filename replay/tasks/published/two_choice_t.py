"""The two-choice T of Gupta et al. (2010): a figure of eight that is run one way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from replay.checks import typed
from replay.tasks.places import Rule
from replay.tasks.published.maze_data import (
    Variant,
    find_maze,
    landmarks,
    lap_of,
    maze_task,
    maze_with,
)
from replay.tasks.task import Block, Laps, Task

__all__ = ["gupta_2t"]

_MAZE = "gupta_2t"
_SIDES = ("left", "right")
_ALTERNATION = "alternation"
_SESSIONS = (
    ("left", "right"),
    ("right", "left"),
    ("left", _ALTERNATION),
    (_ALTERNATION, "left"),
    ("right", _ALTERNATION),
    (_ALTERNATION, "right"),
)


@typed
def gupta_2t(n_laps: int | None = None, *, rng: np.random.Generator | None = None) -> Task:
    """Two-choice T: left, right or alternating sides pay, with a switch in mid-session.

    Each animal has the six sessions of the experiment, in random order, with rest between them. The
    blocks are half-sessions, named ``left``, ``right`` and ``alternation``. The maze is run one
    way, but its states have no heading: a reversible model knows both directions.

    Parameters
    ----------
    n_laps : int, optional
        Laps per half-session: 12, or 8 to 20 with `rng`; in the experiment it lasted 20 minutes.
    rng : numpy.random.Generator, optional
        Draws, for one animal, what the experiment leaves open: the number of laps, places per
        metre, pauses of rest, and the standard deviation of rewards. The order of sessions is
        always drawn, with the laps.

    Examples
    --------
    >>> task = gupta_2t()
    >>> len(task.places), task.one_way
    (37, False)
    """
    variant = Variant(rng)
    n_laps = variant.whole(12, 8, 20, n_laps)
    maze = maze_with(_MAZE, variant.density())
    routes = {side: maze.along(nodes) for side, nodes in find_maze(_MAZE)["laps"].items()}
    # The maze is run one way.
    against = tuple((b, a) for route in routes.values() for a, b in pairwise(route))
    blocks = [Block("rest", 0, n_rest=variant.n_rest)]
    for halves in _SESSIONS:
        for k, rule in enumerate(halves):
            sides = _SIDES if rule == _ALTERNATION else (rule,)
            paid = {node: 1.0 for side in sides for node in _feeders(side)}
            blocks.append(Block(rule, n_laps, (rule,), paid, against, n_rest=variant.n_rest * k))
    rules = [rule for block in blocks[1:] for rule in _rules(block)]

    def laps(task: Task, rng: np.random.Generator) -> Laps:
        return _laps(task, rng, routes)

    return maze_task(maze, rules, laps, blocks, variant)


def _rules(block: Block) -> list[Rule]:
    """Return the rules of a half-session: one for each last arm if the rule is alternation."""
    marks = landmarks(_MAZE)
    begin = marks["maze_start"]
    stops = {side: marks[f"feeders_{side}"][-1] for side in _SIDES}
    ends = tuple(stops.values())
    if block.contingency != (_ALTERNATION,):
        return [Rule((*begin, *ends), ends, tuple(block.rewards.items()))]
    paid = {side: tuple((n, block.rewards[n]) for n in _feeders(side)) for side in _SIDES}
    return [Rule((*begin, stops[last]), ends, paid[_other(last)], last) for last in _SIDES]


def _laps(task: Task, rng: np.random.Generator, routes: Mapping[str, Sequence[str]]) -> Laps:
    """Run the sessions in random order; each begins at the maze's start."""
    halves = task.blocks[1:]
    stops = {side: _feeders(side)[-1] for side in _SIDES}
    side_of = {stop: side for side, stop in stops.items()}
    for session in rng.permutation(len(halves) // 2):
        here = task.landmarks["maze_start"][0]
        last = str(rng.choice(_SIDES))  # the first lap of an alternating animal avoids this side
        old = ""
        for block in halves[2 * session : 2 * session + 2]:
            (rule,) = block.contingency
            rules = _rules(block)
            for number in range(block.n_laps):
                followed = old if old and number == 0 else rule
                side = _other(last) if followed == _ALTERNATION else followed
                before, route = routes[last], routes[side]
                rest = before[before.index(here) : -1] if here != before[0] else ()
                nodes = (*rest, *route[: route.index(stops[side]) + 1])
                memory = last if rule == _ALTERNATION else ""
                run = yield lap_of(task, block, number, nodes, rules, side, memory)
                here = task.model.states[run[-1]].node
                last = side_of[here]
            old = rule


def _feeders(side: str) -> tuple[str, ...]:
    return landmarks(_MAZE)[f"feeders_{side}"]


def _other(side: str) -> str:
    return _SIDES[side == _SIDES[0]]
