"""The T-maze of Olafsdottir 2015: arms that are seen, then cued, and run only in the end."""

from __future__ import annotations

import numpy as np

from replay.tasks import Block, Lap, Laps, Rule, Task, both_directions, shortest_path
from replay.tasks.published.maze_data import N_REST, find_maze, maze_graph, maze_task

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
    "How many laps there are."
)
_SEEN = (
    "To see an arm is taken as a lap along it, from the barrier on: the log has its steps, though "
    "the animal only looked. What is seen of the food is the reward at the arm's end."
)
_NOT_SEEN = (
    "What is seen of the arms, and of the food, teaches nothing: a model knows what was run, and "
    "nothing of an arm can be replayed before."
)


def t_unvisited(n_laps: int = 24) -> Task:
    """T-maze whose arms are known by sight: looking along an arm teaches what running there would.

    The phases are rest, the stem alone, both arms seen, one of them cued, rest, and the whole maze.
    The laps ``look_cued`` and ``look_uncued`` are shown, also to an animal that acts by itself.

    Parameters
    ----------
    n_laps : int, default 24
        Laps on the stem, and again in the whole maze, one way each.

    Returns
    -------
    Task

    Examples
    --------
    >>> [block.name for block in t_unvisited().blocks]
    ['rest 1', 'run 1', 'seen', 'goal cue', 'run 2']
    """
    return _t_maze("t_unvisited", n_laps, 2, _SEEN)


def t_unvisited_unknown(n_laps: int = 24) -> Task:
    """T-maze whose arms are not known before they are run, whatever the animal has seen of them.

    Parameters
    ----------
    n_laps : int, default 24
        Laps on the stem, and again in the whole maze, one way each.

    Returns
    -------
    Task
    """
    return _t_maze("t_unvisited_unknown", n_laps, 0, _NOT_SEEN)


def _t_maze(name: str, n_laps: int, n_looks: int, seen: str) -> Task:
    barrier = both_directions([find_maze(_MAZE)["barrier"]])
    stem = ("to_barrier", "from_barrier")
    arms = ("to_cued", "from_cued", "to_uncued", "from_uncued")
    looks = n_looks * ("look_cued", "look_uncued")
    cue = {_CUED: 1.0}
    blocks = [
        Block("rest 1", 0, n_rest=N_REST),
        Block("run 1", n_laps, stem, {_HOME: 1.0, _STOP: 1.0}, barrier, N_REST * (not looks)),
        Block("run 2", n_laps, arms, {_HOME: 1.0} | cue, n_rest=N_REST),
    ]
    if looks:
        blocks.insert(2, Block("seen", len(looks), looks))
        blocks.insert(3, Block("goal cue", len(looks), looks, cue, n_rest=N_REST))
    rules = [rule for block in blocks[1:] for rule in _rules(block)]
    chosen = f"{_CHOSEN} {seen}"
    names = {ends: name for name, ends in _ROUTES.items()}
    return maze_task(
        _MAZE, rules, _laps, blocks, name=name, chosen=chosen, home=_HOME, lap_names=names
    )


def _rules(block: Block) -> list[Rule]:
    """Say where laps of a block begin, end and pay, on the way out and back."""
    arms = (_CUED, _UNCUED)
    paid = tuple(block.rewards.items())
    if block.name == "run 1":
        return [Rule((_HOME,), (_STOP,), paid[1:]), Rule((_STOP,), (_HOME,), paid[:1], _BACK)]
    if block.name == "run 2":
        return [Rule((_HOME,), arms, paid[1:]), Rule(arms, (_HOME,), paid[:1], _BACK)]
    return [Rule((_STOP,), arms, paid)]


def _laps(task: Task, rng: np.random.Generator) -> Laps:
    graph = maze_graph(_MAZE)
    for block in task.blocks[1:]:
        here = _ROUTES[block.contingency[0]][0]
        outward = [name for name in block.contingency if not name.startswith("from")]
        n_out = 0
        for number in range(block.n_laps):
            shown = block.contingency[0].startswith("look")
            start, end = _ROUTES[outward[n_out % len(outward)]]
            if here != start and not shown:
                start, end = here, _HOME
            else:
                n_out += 1
            nodes = shortest_path(graph, start, end, rng)
            path = task.model.walk(nodes, _BACK if end == _HOME else "")
            world = task.model.world(_rules(block), block.closed, path[0])
            n_rest = block.n_rest if number == block.n_laps - 1 else 0
            name = task.lap_names[start, end]
            run = yield Lap(world, path[0], path, block.name, name, n_rest, shown)
            here = task.model.states[run[-1]].node
