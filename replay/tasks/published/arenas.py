"""Open arenas, with barriers or as in the maze of Mattar & Daw; and tasks of people."""

from __future__ import annotations

from collections.abc import Sequence

import networkx as nx
import numpy as np

from replay.checks import check_whole, typed
from replay.tasks.places import Rule
from replay.tasks.published.maze_data import (
    Variant,
    find_maze,
    lap_of,
    maze_graph,
    maze_task,
    maze_with,
)
from replay.tasks.routes import both_directions, random_walk, shortest_path, without_edges
from replay.tasks.task import Block, Laps, Task

_TO_HOME, _TO_RANDOM = "home", "random"


@typed
def barrier_arena(
    n_laps: int | None = None, n_sessions: int = 4, *, rng: np.random.Generator | None = None
) -> Task:
    """Arena with six barriers that move between sessions: home and random wells in turn.

    A block is a session; its `closed` holds the barriers, its `contingency` the home well.

    Parameters
    ----------
    n_laps : int, optional
        Laps per session: 20, or 14 to 30 with `rng`; every second one leads home.
    n_sessions : int, default 4
    rng : numpy.random.Generator, optional
        Draws, for one animal, what the experiment leaves open; see the task's `remark`. The grid of
        places is that of the wells and does not change.

    Examples
    --------
    >>> task = barrier_arena()
    >>> len(task.blocks[1].closed), len(task.places)
    (12, 25)
    """
    wells = find_maze("barrier_arena")["landmarks"]["wells"]
    n_sessions = check_whole("n_sessions", n_sessions, at_least=1, at_most=1000)
    variant = Variant(rng)
    n_laps = variant.whole(20, 14, 30, n_laps)
    n_searches = variant.whole(3, 1, 5)
    world = np.random.default_rng(0) if rng is None else rng
    homes = world.choice(wells, size=n_sessions, replace=n_sessions > len(wells)).tolist()
    blocks = [Block("rest", 0, n_rest=variant.n_rest)]
    for k, home in enumerate(homes):
        maze, graph = find_maze("barrier_arena"), maze_graph("barrier_arena")
        slots = maze["barrier_slots"]
        while True:  # until the barriers leave the arena connected
            chosen = world.choice(len(slots), size=maze["n_barriers"], replace=False)
            barriers = [slots[slot] for slot in np.sort(chosen)]
            if nx.is_connected(without_edges(graph, barriers)):
                break
        closed = both_directions(barriers)
        paid = dict.fromkeys(wells, 1.0)
        blocks.append(Block(f"session {k + 1}", n_laps, (home,), paid, closed, variant.n_rest))

    def laps(task: Task, rng: np.random.Generator) -> Laps:
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
                rules = _arena_rules(home, target, wells)
                run = yield lap_of(task, block, number, nodes, rules, name, memory=name)
                here = task.model.states[run[-1]].node

    rules = [rule for well in wells for rule in _arena_rules(well, well, wells)]
    return maze_task(maze_with("barrier_arena"), rules, laps, blocks, variant)


def _arena_rules(home: str, target: str, wells: Sequence[str]) -> list[Rule]:
    starts = tuple(wells)
    return [
        Rule(starts, (home,), ((home, 1.0),), _TO_HOME),
        Rule(starts, (target,), ((target, 1.0),), _TO_RANDOM),
    ]


def mattar_open_maze(*, rng: np.random.Generator | None = None) -> Task:
    """Open maze with walls: explored without reward, then run from random places to the goal.

    Examples
    --------
    >>> len(mattar_open_maze().places)
    47
    """
    variant = Variant(rng)
    n_explored, n_laps = variant.whole(5, 2, 10), variant.whole(40, 25, 60)
    n_searches = variant.whole(3, 1, 5)
    (goal,) = find_maze("mattar_open_maze")["landmarks"]["goal"]
    blocks = [
        Block("rest", 0, n_rest=variant.n_rest),
        Block("exploration", n_explored, n_rest=variant.n_rest),
        Block("reward", n_laps, rewards={goal: 1.0}, n_rest=variant.n_rest),
    ]
    rules = [_to_goal(block, goal) for block in blocks[1:]]

    def laps(task: Task, rng: np.random.Generator) -> Laps:
        for block in task.blocks[1:]:
            rule = _to_goal(block, goal)
            for number in range(block.n_laps):
                knows = bool(block.rewards) and number >= n_searches
                start = str(rng.choice(rule.start))
                nodes = (shortest_path if knows else random_walk)(task.graph, start, goal, rng)
                yield lap_of(task, block, number, nodes, [rule], block.name)

    return maze_task(maze_with("mattar_open_maze"), rules, laps, blocks, variant)


def _to_goal(block: Block, goal: str) -> Rule:
    nodes = maze_graph("mattar_open_maze").nodes
    starts = tuple(node for node in nodes if node != goal)
    return Rule(starts, (goal,), tuple(block.rewards.items()))


_ENDS = ("end_X", "end_Y")
_LOW, _HIGH = 0.25, 0.75


def liu2021_three_arm(*, rng: np.random.Generator | None = None) -> Task:
    """Three start arms with unequal frequencies, each with two paths to two shared ends.

    Examples
    --------
    >>> liu2021_three_arm().model.n_actions
    2
    """
    variant = Variant(rng)
    n_laps = variant.whole(120, 80, 160)
    drift_sd, stays = variant.share(0.05, 0.025, 0.1), variant.share(0.75, 0.6, 0.9)
    paid = dict.fromkeys(_ENDS, 1.0)
    blocks = [
        Block("rest", 0, n_rest=variant.n_rest),
        Block("trials", n_laps, ("drifting",), paid, n_rest=variant.n_rest),
    ]
    share_of_arm = find_maze("liu2021_three_arm")["start_probability"]
    starts = tuple(f"start_{arm}" for arm in share_of_arm)
    rules = [Rule(starts, _ENDS, tuple(paid.items()))]

    def laps(task: Task, rng: np.random.Generator) -> Laps:
        arms, share = list(share_of_arm), np.array(list(share_of_arm.values()))
        chance = rng.uniform(_LOW, _HIGH, size=len(_ENDS))
        favourite = int(rng.integers(len(_ENDS)))
        (block,) = task.blocks[1:]
        for number in range(block.n_laps):
            arm = arms[rng.choice(len(arms), p=share / share.sum())]
            pays = rng.random(len(_ENDS)) < chance
            rewards = tuple((end, float(p)) for end, p in zip(_ENDS, pays, strict=True))
            aim = favourite if rng.random() < stays else 1 - favourite
            nodes = shortest_path(task.graph, f"start_{arm}", _ENDS[aim], rng)
            run = yield lap_of(task, block, number, nodes, [Rule(starts, _ENDS, rewards)], arm)
            taken = _ENDS.index(task.model.states[run[-1]].node)
            favourite = taken if pays[taken] else 1 - taken
            # The chance of each end drifts, and is reflected at its limits.
            chance += rng.normal(0.0, drift_sd, size=len(_ENDS))
            chance = _LOW + np.abs(chance - _LOW)
            chance = _HIGH - np.abs(_HIGH - chance)

    return maze_task(
        maze_with("liu2021_three_arm"),
        rules,
        laps,
        blocks,
        variant,
        one_way=True,
        reward_sd=0.0,
        local_radius=1,
    )


def liu2019_chains(*, rng: np.random.Generator | None = None) -> Task:
    """Two sequences of four objects; after rest one of them pays, then rest again.

    Examples
    --------
    >>> liu2019_chains().places
    ('A', 'B', 'C', 'D', "A'", "B'", "C'", "D'")
    """
    variant = Variant(rng)
    n_laps, n_valued = variant.whole(20, 10, 30), variant.whole(20, 10, 30)
    end = variant.choice(("D", "D'"))
    blocks = [
        Block("rest", 0, n_rest=variant.n_rest),
        Block("sequences", n_laps, n_rest=variant.n_rest),
        Block("value", n_valued, rewards={end: 1.0}, n_rest=variant.n_rest),
    ]

    def rule(block: Block) -> Rule:
        return Rule(("A", "A'"), ("D", "D'"), tuple(block.rewards.items()))

    def laps(task: Task, rng: np.random.Generator) -> Laps:
        chains = {name: task.landmarks[f"{name}_chain"] for name in ("first", "second")}
        for block in task.blocks[1:]:
            for number in range(block.n_laps):
                if number % 2 == 0:  # in each pair of laps both, in random order
                    order = rng.permutation(list(chains)).tolist()
                name = order[number % 2]
                yield lap_of(task, block, number, chains[name], [rule(block)], name)

    rules = [rule(block) for block in blocks[1:]]
    return maze_task(maze_with("liu2019_chains"), rules, laps, blocks, variant, one_way=True)
