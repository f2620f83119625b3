"""T-mazes: arms not yet visited, arms worth more or less by day, and a figure of eight.

They are those of Olafsdottir et al. (2015), Carey et al. (2019) and Gupta et al. (2010).
"""

from __future__ import annotations

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
from replay.tasks.routes import both_directions, shortest_path
from replay.tasks.task import Block, Laps, Task

_MAZE = "t_unvisited"
_HOME, _STOP, _CUED, _UNCUED = "s0", "s9", "cued5", "uncued5"
_BACK = "back"
_ROUTES = {
    "to_barrier": (_HOME, _STOP),
    "from_barrier": (_STOP, _HOME),
    "look_cued": (_STOP, _CUED),
    "look_uncued": (_STOP, _UNCUED),
    "to_cued": (_HOME, _CUED),
    "from_cued": (_CUED, _HOME),
    "to_uncued": (_HOME, _UNCUED),
    "from_uncued": (_UNCUED, _HOME),
}

_GOOD_SIDES = {"food": "left", "water": "right"}
_N_DAYS = 6


def t_unvisited(*, rng: np.random.Generator | None = None) -> Task:
    """T-maze whose arms are known by sight: seeing an arm teaches the same as running along it.

    The phases are rest, the stem alone, both arms seen, one of them cued, rest, and the whole maze.
    The laps ``look_cued`` and ``look_uncued`` are shown, also with ``behaviour="own"``.

    Examples
    --------
    >>> [block.name for block in t_unvisited().blocks]
    ['rest 1', 'run 1', 'seen', 'goal cue', 'run 2']
    """
    variant = Variant(rng)
    n_looks = variant.whole(2, 1, 4)
    return _t_maze("t_unvisited", n_looks, variant)


def t_unvisited_unknown(*, rng: np.random.Generator | None = None) -> Task:
    """T-maze whose arms are not known before they are run: seeing them teaches nothing."""
    return _t_maze("t_unvisited_unknown", 0, Variant(rng))


def _t_maze(name: str, n_looks: int, variant: Variant) -> Task:
    n_laps, n_rest = variant.whole(24, 16, 40), variant.n_rest
    barrier_at = find_maze(_MAZE)["barrier"]
    mirrored = variant.choice((False, True))
    maze = maze_with(_MAZE, variant.density(), keep=barrier_at, mirrored=mirrored)
    before, behind, *_ = maze.along(barrier_at)
    barrier = both_directions([(before, behind)])
    stem = ("to_barrier", "from_barrier")
    arms = ("to_cued", "from_cued", "to_uncued", "from_uncued")
    looks = n_looks * ("look_cued", "look_uncued")
    cue = {_CUED: 1.0}
    blocks = [
        Block("rest 1", 0, n_rest=n_rest),
        Block("run 1", n_laps, stem, {_HOME: 1.0, _STOP: 1.0}, barrier, 0 if looks else n_rest),
        Block("run 2", n_laps, arms, {_HOME: 1.0} | cue, n_rest=n_rest),
    ]
    if looks:
        blocks.insert(2, Block("seen", len(looks), looks))
        blocks.insert(3, Block("goal cue", len(looks), looks, cue, n_rest=n_rest))
    rules = [rule for block in blocks[1:] for rule in _rules(block)]
    names = {ends: name for name, ends in _ROUTES.items()}

    def laps(task: Task, rng: np.random.Generator) -> Laps:
        for block in task.blocks[1:]:
            here = _ROUTES[block.contingency[0]][0]
            outward = [name for name in block.contingency if not name.startswith("from")]
            n_out = 0
            rules, shown = _rules(block), block.contingency[0].startswith("look")
            for number in range(block.n_laps):
                start, end = _ROUTES[outward[n_out % len(outward)]]
                if here != start and not shown:
                    start, end = here, _HOME
                else:
                    n_out += 1
                nodes = shortest_path(task.graph, start, end, rng)
                memory = _BACK if end == _HOME else ""
                name = task.lap_names[start, end]
                run = yield lap_of(task, block, number, nodes, rules, name, memory, shown)
                here = task.model.states[run[-1]].node

    return maze_task(maze, rules, laps, blocks, variant, name=name, home=_HOME, lap_names=names)


def _rules(block: Block) -> list[Rule]:
    """Return the rules of a block: where laps out and back begin, end and pay."""
    arms = (_CUED, _UNCUED)
    away = tuple(paid for paid in block.rewards.items() if paid[0] != _HOME)
    if block.name not in ("run 1", "run 2"):
        return [Rule((_STOP,), arms, away)]
    ends = (_STOP,) if block.name == "run 1" else arms
    at_home = ((_HOME, block.rewards[_HOME]),)
    return [Rule((_HOME,), ends, away), Rule(ends, (_HOME,), at_home, _BACK)]


def t_revaluation(*, rng: np.random.Generator | None = None) -> Task:
    """T-maze with food and water, one of them restricted each day; rest before and after.

    There are 16 laps a day, or 10 to 24 with `rng`.

    Examples
    --------
    >>> t_revaluation().blocks[1].rewards
    {'left6': 1.0, 'right6': 0.25}
    """
    variant = Variant(rng)
    n_laps = variant.whole(16, 10, 24)
    other, to_restricted = variant.share(0.25, 0.1, 0.5), variant.share(0.7, 0.6, 0.9)
    goods = variant.choice((("food", "water"), ("water", "food")))
    maze = maze_with("t_revaluation", variant.density())
    ends = {good: maze.landmarks[f"{side}_arm"][-1] for good, side in _GOOD_SIDES.items()}
    blocks = [Block("rest", 0, n_rest=variant.n_rest)]
    for day in range(_N_DAYS):
        restricted = goods[day % 2]
        paid = {end: 1.0 if good == restricted else other for good, end in ends.items()}
        name = f"{restricted} {day // 2 + 1}"
        blocks.append(Block(name, n_laps, (restricted,), paid, n_rest=variant.n_rest))
    rules = [
        Rule((_HOME,), tuple(block.rewards), tuple(block.rewards.items())) for block in blocks[1:]
    ]

    def laps(task: Task, rng: np.random.Generator) -> Laps:
        for block, rule in zip(task.blocks[1:], rules, strict=True):
            (restricted,) = block.contingency
            (unrestricted,) = set(_GOOD_SIDES) - {restricted}
            for number in range(block.n_laps):
                good = restricted if rng.random() < to_restricted else unrestricted
                nodes = shortest_path(task.graph, _HOME, ends[good], rng)
                yield lap_of(task, block, number, nodes, [rule], _GOOD_SIDES[good])

    return maze_task(
        maze,
        rules,
        laps,
        blocks,
        variant,
        lap_names={(_HOME, end): _GOOD_SIDES[good] for good, end in ends.items()},
    )


_TWO_CHOICES = "gupta_2t"
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
        Draws, for one animal, what the experiment leaves open; see the task's `remark`. The order
        of sessions is always drawn, with the laps.

    Examples
    --------
    >>> task = gupta_2t()
    >>> len(task.places), task.one_way
    (37, False)
    """
    variant = Variant(rng)
    n_laps = variant.whole(12, 8, 20, n_laps)
    maze = maze_with(_TWO_CHOICES, variant.density())
    routes = {side: maze.along(nodes) for side, nodes in find_maze(_TWO_CHOICES)["laps"].items()}
    # The maze is run one way.
    against = tuple((b, a) for route in routes.values() for a, b in pairwise(route))
    blocks = [Block("rest", 0, n_rest=variant.n_rest)]
    for halves in _SESSIONS:
        for k, rule in enumerate(halves):
            sides = _SIDES if rule == _ALTERNATION else (rule,)
            paid = {node: 1.0 for side in sides for node in _feeders(side)}
            blocks.append(Block(rule, n_laps, (rule,), paid, against, n_rest=variant.n_rest * k))
    rules = [rule for block in blocks[1:] for rule in _session_rules(block)]

    def laps(task: Task, rng: np.random.Generator) -> Laps:
        halves = task.blocks[1:]
        stops = {side: _feeders(side)[-1] for side in _SIDES}
        side_of = {stop: side for side, stop in stops.items()}
        for session in rng.permutation(len(halves) // 2):
            here = task.landmarks["maze_start"][0]
            last = str(rng.choice(_SIDES))  # the first lap of an alternating animal avoids this
            old = ""
            for block in halves[2 * session : 2 * session + 2]:
                (rule,) = block.contingency
                rules = _session_rules(block)
                for number in range(block.n_laps):
                    # The animal follows the old rule once more: it cannot know of the switch yet.
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

    return maze_task(maze, rules, laps, blocks, variant)


def _session_rules(block: Block) -> list[Rule]:
    """Return the rules of a half-session: one for each last arm if the rule is alternation."""
    marks = landmarks(_TWO_CHOICES)
    begin = marks["maze_start"]
    stops = {side: marks[f"feeders_{side}"][-1] for side in _SIDES}
    ends = tuple(stops.values())
    if block.contingency != (_ALTERNATION,):
        return [Rule((*begin, *ends), ends, tuple(block.rewards.items()))]
    paid = {side: tuple((n, block.rewards[n]) for n in _feeders(side)) for side in _SIDES}
    return [Rule((*begin, stops[last]), ends, paid[_other(last)], last) for last in _SIDES]


def _feeders(side: str) -> tuple[str, ...]:
    return landmarks(_TWO_CHOICES)[f"feeders_{side}"]


def _other(side: str) -> str:
    return _SIDES[side == _SIDES[0]]
