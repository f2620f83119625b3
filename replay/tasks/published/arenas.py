"""Open arenas: with barriers that move between sessions, and the open maze of Mattar & Daw."""

from __future__ import annotations

from collections.abc import Sequence

import networkx as nx
import numpy as np

from replay.checks import check_seed, check_whole, typed
from replay.tasks.graph_paths import both_directions, random_walk, shortest_path, without_edges
from replay.tasks.places import Rule
from replay.tasks.published.maze_data import find_maze, maze_graph, maze_task, maze_with
from replay.tasks.published.variants import DRAWN, Variant
from replay.tasks.task import Block, Lap, Laps, Task

__all__ = ["barrier_arena", "mattar_open_maze"]

_TO_HOME, _TO_RANDOM = "home", "random"
_DRAWN_ONCE = "The layouts and the home wells are drawn once, the same for all animals. "
_ARENA_CHOSEN = (
    "The animal knows whether it is looking for home or for another well, and does not transfer "
    "what it learns from one search to the other. In given laps, it finds home by chance on the "
    "first visits of a session and then takes a shortest path; random wells it always finds by "
    "chance. The numbers of laps and sessions are chosen."
)
_OPEN_CHOSEN = (
    "During exploration the animal wanders from random places to the goal, which does not pay yet. "
    "In given laps, the first rewarded laps wander too, and the others follow shortest paths. The "
    "number of laps is chosen."
)
_ARENA_DRAWN = (
    "Drawn for each animal: the layouts and the home wells, as in the experiment; 14 to 30 laps "
    "per session and 1 to 5 visits of home until it is known, since animals differ in how much "
    "they run and how fast they learn. "
)
_OPEN_DRAWN = (
    "Drawn for each animal: 2 to 10 laps without reward, 25 to 60 with it, and 1 to 5 of these "
    "that find the goal by chance, since all of these numbers are choices. "
)


@typed
def barrier_arena(
    n_laps: int | None = None,
    n_sessions: int = 4,
    n_searches: int | None = None,
    seed: int = 0,
    *,
    rng: np.random.Generator | None = None,
) -> Task:
    """Arena with six barriers that move between sessions: home and random wells in turn.

    A block is a session; its `closed` holds the barriers, its `contingency` the home well.

    Parameters
    ----------
    n_laps : int, optional
        Laps per session: 20, or 14 to 30 with `rng`; every second one leads home.
    n_sessions : int, default 4
    n_searches : int, optional
        How many times home is found by chance before it is known: 3, or 1 to 5 with `rng`.
    seed : int, default 0
        Seed of layouts and home wells if there is no `rng`.
    rng : numpy.random.Generator, optional
        Draws, for one animal, what the experiment leaves open: layouts and home wells, these
        numbers, pauses of rest, and the standard deviation of rewards. The grid of places is that
        of the wells and does not change.

    Returns
    -------
    Task

    Examples
    --------
    >>> task = barrier_arena()
    >>> len(task.blocks[1].closed), len(task.places)
    (12, 25)
    """
    wells = find_maze("barrier_arena")["landmarks"]["wells"]
    n_sessions = check_whole("n_sessions", n_sessions, at_least=1, at_most=1000)
    variant, own = Variant(rng), rng is not None
    n_laps = variant.whole(20, 14, 30, n_laps)
    n_searches = check_whole("n_searches", variant.whole(3, 1, 5, n_searches))
    world = np.random.default_rng(check_seed(seed)) if rng is None else rng
    homes = world.choice(wells, size=n_sessions, replace=n_sessions > len(wells)).tolist()
    blocks = [Block("rest", 0, n_rest=variant.n_rest)]
    for k, home in enumerate(homes):
        closed = both_directions(_layout(world))
        paid = dict.fromkeys(wells, 1.0)
        blocks.append(Block(f"session {k + 1}", n_laps, (home,), paid, closed, variant.n_rest))

    def laps(task: Task, rng: np.random.Generator) -> Laps:
        return _arena_laps(task, rng, n_searches)

    rules = [rule for well in wells for rule in _arena_rules(well, well, wells)]
    return maze_task(
        maze_with("barrier_arena"),
        rules,
        laps,
        blocks,
        chosen=_ARENA_CHOSEN if own else _DRAWN_ONCE + _ARENA_CHOSEN,
        drawn=_ARENA_DRAWN + DRAWN if own else "",
        reward_sd=variant.reward_sd,
    )


def _layout(rng: np.random.Generator) -> list[list[str]]:
    """Draw barriers, again and again until they leave the arena connected."""
    maze, graph = find_maze("barrier_arena"), maze_graph("barrier_arena")
    slots = maze["barrier_slots"]
    while True:
        chosen = rng.choice(len(slots), size=maze["n_barriers"], replace=False)
        barriers = [slots[slot] for slot in np.sort(chosen)]
        if nx.is_connected(without_edges(graph, barriers)):
            return barriers


def _arena_rules(home: str, target: str, wells: Sequence[str]) -> list[Rule]:
    starts = tuple(wells)
    return [
        Rule(starts, (home,), ((home, 1.0),), _TO_HOME),
        Rule(starts, (target,), ((target, 1.0),), _TO_RANDOM),
    ]


def _arena_laps(task: Task, rng: np.random.Generator, n_searches: int) -> Laps:
    wells = list(task.landmarks["wells"])
    for block in task.blocks[1:]:
        (home,) = block.contingency
        graph = without_edges(task.graph, block.closed)
        here = str(rng.choice([well for well in wells if well != home]))
        for number in range(block.n_laps):
            name = _TO_RANDOM if number % 2 else _TO_HOME
            target = str(rng.choice([well for well in wells if well not in (here, home)]))
            aim = home if name == _TO_HOME else target
            knows = name == _TO_HOME and number >= 2 * n_searches
            nodes = (shortest_path if knows else random_walk)(graph, here, aim, rng)
            path = task.model.walk(nodes, name)
            rules = _arena_rules(home, target, wells)
            world = task.model.world(rules, block.closed, path[0])
            n_rest = block.n_rest if number == block.n_laps - 1 else 0
            run = yield Lap(world, path[0], path, block.name, name, n_rest)
            here = task.model.states[run[-1]].node


def mattar_open_maze(
    n_explored: int | None = None,
    n_laps: int | None = None,
    n_searches: int | None = None,
    *,
    rng: np.random.Generator | None = None,
) -> Task:
    """Open maze with walls: explored without reward, then run from random places to the goal.

    Examples
    --------
    >>> len(mattar_open_maze().places)
    47
    """
    variant = Variant(rng)
    n_explored = variant.whole(5, 2, 10, n_explored)
    n_laps = variant.whole(40, 25, 60, n_laps)
    n_searches = check_whole("n_searches", variant.whole(3, 1, 5, n_searches))
    (goal,) = find_maze("mattar_open_maze")["landmarks"]["goal"]
    blocks = [
        Block("rest", 0, n_rest=variant.n_rest),
        Block("exploration", n_explored, n_rest=variant.n_rest),
        Block("reward", n_laps, rewards={goal: 1.0}, n_rest=variant.n_rest),
    ]
    rules = [_to_goal(block, goal) for block in blocks[1:]]

    def laps(task: Task, rng: np.random.Generator) -> Laps:
        return _open_maze_laps(task, rng, n_searches)

    return maze_task(
        maze_with("mattar_open_maze"),
        rules,
        laps,
        blocks,
        chosen=_OPEN_CHOSEN,
        drawn="" if rng is None else _OPEN_DRAWN + DRAWN,
        reward_sd=variant.reward_sd,
    )


def _to_goal(block: Block, goal: str) -> Rule:
    nodes = maze_graph("mattar_open_maze").nodes
    starts = tuple(node for node in nodes if node != goal)
    return Rule(starts, (goal,), tuple(block.rewards.items()))


def _open_maze_laps(task: Task, rng: np.random.Generator, n_searches: int) -> Laps:
    (goal,) = task.landmarks["goal"]
    for block in task.blocks[1:]:
        rule = _to_goal(block, goal)
        for number in range(block.n_laps):
            knows = bool(block.rewards) and number >= n_searches
            start = str(rng.choice(rule.start))
            nodes = (shortest_path if knows else random_walk)(task.graph, start, goal, rng)
            path = task.model.walk(nodes)
            world = task.model.world([rule], block.closed, path[0])
            n_rest = block.n_rest if number == block.n_laps - 1 else 0
            yield Lap(world, path[0], path, block.name, block.name, n_rest)
