"""The T-maze of Olafsdottir et al. (2015): arms that are first seen, then cued, and run last."""

from __future__ import annotations

import numpy as np

from replay.tasks.graph_paths import both_directions, shortest_path
from replay.tasks.places import Rule
from replay.tasks.published.maze_data import find_maze, maze_task, maze_with
from replay.tasks.published.variants import DRAWN, Variant
from replay.tasks.task import Block, Lap, Laps, Task

__all__ = ["t_unvisited", "t_unvisited_unknown"]

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
_CHOSEN = (
    "Both ends of the stem pay while only the stem is run, then the cued arm and the stem's start. "
    "The number of laps is chosen."
)
_SEEN = (
    "Seeing an arm is modelled as a lap along it from the barrier on: its steps are in the log, "
    "though the animal only looked. Seeing the food is modelled as the reward at the arm's end."
)
_NOT_SEEN = (
    "The animal learns nothing from seeing the arms or the food: a model knows only what was run, "
    "so no arm can be replayed before it was run."
)
_DRAWN = (
    "Drawn for each animal: the side of the cued arm; 16 to 40 laps, since rats differ in how much "
    "they run; and 0.78 to 2.1 times as many places per metre, since the spatial resolution is a "
    "choice. "
)
_DRAWN_SEEN = "Also drawn: 1 to 4 looks along each arm before the cue, and as many after it. "


def t_unvisited(n_laps: int | None = None, *, rng: np.random.Generator | None = None) -> Task:
    """T-maze whose arms are known by sight: seeing an arm teaches the same as running along it.

    The phases are rest, the stem alone, both arms seen, one of them cued, rest, and the whole maze.
    The laps ``look_cued`` and ``look_uncued`` are shown, also with ``behaviour="own"``. With `rng`
    what the experiment leaves open is drawn for one animal: the side of the cued arm, the numbers
    of laps and of looks, places per metre, pauses of rest, and the standard deviation of rewards.

    Examples
    --------
    >>> [block.name for block in t_unvisited().blocks]
    ['rest 1', 'run 1', 'seen', 'goal cue', 'run 2']
    """
    variant = Variant(rng)
    n_looks = variant.whole(2, 1, 4)
    drawn = _DRAWN + _DRAWN_SEEN
    return _t_maze("t_unvisited", n_laps, n_looks, variant, chosen=_SEEN, drawn=drawn)


def t_unvisited_unknown(
    n_laps: int | None = None, *, rng: np.random.Generator | None = None
) -> Task:
    """T-maze whose arms are not known before they are run: seeing them teaches nothing.

    With `rng` what the experiment leaves open is drawn for one animal: the side of the cued arm,
    the number of laps, places per metre, pauses of rest, and the standard deviation of rewards.
    """
    return _t_maze("t_unvisited_unknown", n_laps, 0, Variant(rng), chosen=_NOT_SEEN, drawn=_DRAWN)


def _t_maze(
    name: str, n_laps: int | None, n_looks: int, variant: Variant, *, chosen: str, drawn: str
) -> Task:
    n_laps, n_rest = variant.whole(24, 16, 40, n_laps), variant.n_rest
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
        Block("run 1", n_laps, stem, {_HOME: 1.0, _STOP: 1.0}, barrier, n_rest * (not looks)),
        Block("run 2", n_laps, arms, {_HOME: 1.0} | cue, n_rest=n_rest),
    ]
    if looks:
        blocks.insert(2, Block("seen", len(looks), looks))
        blocks.insert(3, Block("goal cue", len(looks), looks, cue, n_rest=n_rest))
    rules = [rule for block in blocks[1:] for rule in _rules(block)]
    names = {ends: name for name, ends in _ROUTES.items()}
    return maze_task(
        maze,
        rules,
        _laps,
        blocks,
        name=name,
        chosen=f"{_CHOSEN} {chosen}",
        drawn="" if variant.rng is None else drawn + DRAWN,
        home=_HOME,
        lap_names=names,
        reward_sd=variant.reward_sd,
    )


def _rules(block: Block) -> list[Rule]:
    """Return the rules of a block: where laps out and back begin, end and pay."""
    arms = (_CUED, _UNCUED)
    paid = tuple(block.rewards.items())
    if block.name == "run 1":
        return [Rule((_HOME,), (_STOP,), paid[1:]), Rule((_STOP,), (_HOME,), paid[:1], _BACK)]
    if block.name == "run 2":
        return [Rule((_HOME,), arms, paid[1:]), Rule(arms, (_HOME,), paid[:1], _BACK)]
    return [Rule((_STOP,), arms, paid)]


def _laps(task: Task, rng: np.random.Generator) -> Laps:
    for block in task.blocks[1:]:
        here = _ROUTES[block.contingency[0]][0]
        outward = [name for name in block.contingency if not name.startswith("from")]
        n_out = 0
        rules = _rules(block)
        for number in range(block.n_laps):
            shown = block.contingency[0].startswith("look")
            start, end = _ROUTES[outward[n_out % len(outward)]]
            if here != start and not shown:
                start, end = here, _HOME
            else:
                n_out += 1
            nodes = shortest_path(task.graph, start, end, rng)
            path = task.model.walk(nodes, _BACK if end == _HOME else "")
            world = task.model.world(rules, block.closed, path[0])
            n_rest = block.n_rest if number == block.n_laps - 1 else 0
            name = task.lap_names[start, end]
            run = yield Lap(world, path[0], path, block.name, name, n_rest, shown)
            here = task.model.states[run[-1]].node
