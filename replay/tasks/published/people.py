"""Tasks for people: places stand for pictures or objects, laps for trials."""

from __future__ import annotations

import numpy as np

from replay.tasks.places import Rule
from replay.tasks.published.maze_data import Variant, find_maze, lap_of, maze_task, maze_with
from replay.tasks.routes import shortest_path
from replay.tasks.task import Block, Laps, Task

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
    starts = tuple(f"start_{arm}" for arm in find_maze("liu2021_three_arm")["start_probability"])
    rules = [Rule(starts, _ENDS, tuple(paid.items()))]

    def laps(task: Task, rng: np.random.Generator) -> Laps:
        return _tree_laps(task, rng, drift_sd, stays)

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


def _tree_laps(task: Task, rng: np.random.Generator, drift_sd: float, stays: float) -> Laps:
    maze = find_maze("liu2021_three_arm")
    arms = list(maze["start_probability"])
    starts = task.landmarks["starts"]
    share = np.array(list(maze["start_probability"].values()))
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
        chance += rng.normal(0.0, drift_sd, size=len(_ENDS))
        chance = _LOW + np.abs(chance - _LOW)
        chance = _HIGH - np.abs(_HIGH - chance)


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
    rules = [_chain_rule(block) for block in blocks[1:]]
    return maze_task(maze_with("liu2019_chains"), rules, _chain_laps, blocks, variant, one_way=True)


def _chain_rule(block: Block) -> Rule:
    return Rule(("A", "A'"), ("D", "D'"), tuple(block.rewards.items()))


def _chain_laps(task: Task, rng: np.random.Generator) -> Laps:
    chains = {"first": task.landmarks["first_chain"], "second": task.landmarks["second_chain"]}
    for block in task.blocks[1:]:
        for number in range(block.n_laps):
            if number % 2 == 0:
                order = rng.permutation(list(chains)).tolist()
            name = order[number % 2]
            yield lap_of(task, block, number, chains[name], [_chain_rule(block)], name)
