"""The two-choice T of Gupta et al. (2010): a figure of eight that is run one way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from replay.checks import typed
from replay.tasks.places import Rule
from replay.tasks.published.maze_data import find_maze, landmarks, maze_task, maze_with
from replay.tasks.published.variants import DRAWN, Variant
from replay.tasks.task import Block, Lap, Laps, Task

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
_CHOSEN = (
    "A lap leads from one visit of a second feeder to the next, since pauses are there; the animal "
    "does not pause at the first feeder. The last arm is remembered only while the rule is "
    "alternation. After the switch in mid-session the first lap still follows the old rule. Each "
    "animal has all six sessions, in random order. The number of laps is chosen."
)
_DRAWN = (
    "Drawn for each animal: 8 to 20 laps per half-session, since only its length of 20 minutes is "
    "known; and 0.78 to 2.1 times as many places per metre, since the lengths are not known and "
    "the spatial resolution is a choice. "
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

    Returns
    -------
    Task

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
    against = _against(routes.values())
    blocks = [Block("rest", 0, n_rest=variant.n_rest)]
    for halves in _SESSIONS:
        for k, rule in enumerate(halves):
            sides = _SIDES if rule == _ALTERNATION else (rule,)
            paid = {node: 1.0 for side in sides for node in _feeders(side)}
            blocks.append(Block(rule, n_laps, (rule,), paid, against, n_rest=variant.n_rest * k))
    rules = [rule for block in blocks[1:] for rule in _rules(block)]

    def laps(task: Task, rng: np.random.Generator) -> Laps:
        return _laps(task, rng, routes)

    drawn = "" if rng is None else _DRAWN + DRAWN
    return maze_task(
        maze, rules, laps, blocks, chosen=_CHOSEN, drawn=drawn, reward_sd=variant.reward_sd
    )


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
                nodes = _after(routes[last], here) + _until(routes[side], stops[side])
                memory = last if rule == _ALTERNATION else ""
                path = task.model.walk(nodes, memory)
                world = task.model.world(rules, block.closed, path[0])
                n_rest = block.n_rest if number == block.n_laps - 1 else 0
                run = yield Lap(world, path[0], path, block.name, side, n_rest)
                here = task.model.states[run[-1]].node
                last = side_of[here]
            old = rule


def _feeders(side: str) -> tuple[str, ...]:
    return landmarks(_MAZE)[f"feeders_{side}"]


def _other(side: str) -> str:
    return _SIDES[side == _SIDES[0]]


def _after(route: Sequence[str], node: str) -> list[str]:
    """Return the rest of a lap from a node on, without its last node."""
    return list(route[route.index(node) : -1]) if node != route[0] else []


def _until(route: Sequence[str], node: str) -> list[str]:
    return list(route[: route.index(node) + 1])


def _against(routes: Iterable[Sequence[str]]) -> tuple[tuple[str, str], ...]:
    """List the moves against the direction in which the maze is run."""
    return tuple((there, here) for route in routes for here, there in pairwise(route))
