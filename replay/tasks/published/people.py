"""Tasks of people: places stand for pictures or objects, laps for trials."""

from __future__ import annotations

import numpy as np

from replay.tasks import Block, Lap, Laps, Rule, Task, shortest_path
from replay.tasks.published.maze_data import N_REST, find_maze, maze_task

__all__ = ["liu2019_chains", "liu2021_three_arm"]

_ENDS = ("end_X", "end_Y")
_LOW, _HIGH, _DRIFT_SD = 0.25, 0.75, 0.05
_STAYS = 0.75
_TREE_CHOSEN = (
    "An end pays 1 or nothing. Each trial its probability moves by a normal step of standard "
    "deviation 0.05 and is reflected at .25 and .75. Where choices are given, the path to the end "
    "that would have been right last time is taken in three of four trials, the other one else. "
    "How many trials there are."
)
_CHAINS_CHOSEN = (
    "A trial runs through one sequence in the order of the rule. That people see the objects in "
    "another, scrambled order, and infer this one, cannot be modelled by a learner of transitions: "
    "whether replay follows the rule is no test of it. Only which sequence is replayed, and in "
    "which direction before and after reward, can be compared. There is one action: a learner that "
    "compares actions has nothing to gain. How many trials there are."
)


def liu2021_three_arm(n_laps: int = 120) -> Task:
    """Three arms that are the start more or less often, two paths in each, two ends they share.

    Parameters
    ----------
    n_laps : int, default 120
        Trials.

    Returns
    -------
    Task

    Examples
    --------
    >>> liu2021_three_arm().model.n_actions
    2
    """
    paid = dict.fromkeys(_ENDS, 1.0)
    blocks = [
        Block("rest", 0, n_rest=N_REST),
        Block("trials", n_laps, ("drifting",), paid, n_rest=N_REST),
    ]
    starts = tuple(f"start_{arm}" for arm in find_maze("liu2021_three_arm")["start_probability"])
    rules = [Rule(starts, _ENDS, tuple(paid.items()))]
    return maze_task(
        "liu2021_three_arm", rules, _tree_laps, blocks, chosen=_TREE_CHOSEN,
        one_way=True, reward_sd=0.0, local_radius=1,
    )  # fmt: skip


def _tree_laps(task: Task, rng: np.random.Generator) -> Laps:
    maze = find_maze("liu2021_three_arm")
    arms = list(maze["start_probability"])
    share = np.array(list(maze["start_probability"].values()))
    chance = rng.uniform(_LOW, _HIGH, size=len(_ENDS))
    favourite = int(rng.integers(len(_ENDS)))
    (block,) = task.blocks[1:]
    for number in range(block.n_laps):
        arm = arms[rng.choice(len(arms), p=share / share.sum())]
        pays = rng.random(len(_ENDS)) < chance
        rewards = tuple((end, float(p)) for end, p in zip(_ENDS, pays, strict=True))
        aim = favourite if rng.random() < _STAYS else 1 - favourite
        nodes = shortest_path(task.graph, f"start_{arm}", _ENDS[aim], rng)
        path = task.model.walk(nodes)
        world = task.model.world([Rule((nodes[0],), _ENDS, rewards)], start=path[0])
        n_rest = block.n_rest if number == block.n_laps - 1 else 0
        run = yield Lap(world, path[0], path, block.name, arm, n_rest)
        taken = _ENDS.index(task.model.states[run[-1]].node)
        favourite = taken if pays[taken] else 1 - taken
        chance += rng.normal(0.0, _DRIFT_SD, size=len(_ENDS))
        chance = _LOW + np.abs(chance - _LOW)
        chance = _HIGH - np.abs(_HIGH - chance)


def liu2019_chains(n_laps: int = 20, n_valued: int = 20) -> Task:
    """Two sequences of four objects; after rest one of them pays; rest again.

    Parameters
    ----------
    n_laps : int, default 20
        Trials without reward.
    n_valued : int, default 20
        Trials with reward at the end of the first sequence.

    Returns
    -------
    Task

    Examples
    --------
    >>> liu2019_chains().places
    ('A', 'B', 'C', 'D', "A'", "B'", "C'", "D'")
    """
    blocks = [
        Block("rest", 0, n_rest=N_REST),
        Block("sequences", n_laps, n_rest=N_REST),
        Block("value", n_valued, rewards={"D": 1.0}, n_rest=N_REST),
    ]
    rules = [_chain_rule(block) for block in blocks[1:]]
    return maze_task(
        "liu2019_chains", rules, _chain_laps, blocks, chosen=_CHAINS_CHOSEN, one_way=True
    )


def _chain_rule(block: Block) -> Rule:
    return Rule(("A", "A'"), ("D", "D'"), tuple(block.rewards.items()))


def _chain_laps(task: Task, rng: np.random.Generator) -> Laps:
    chains = {"first": task.landmarks["first_chain"], "second": task.landmarks["second_chain"]}
    for block in task.blocks[1:]:
        for number in range(block.n_laps):
            if number % 2 == 0:
                order = rng.permutation(list(chains)).tolist()
            path = task.model.walk(chains[order[number % 2]])
            world = task.model.world([_chain_rule(block)], start=path[0])
            n_rest = block.n_rest if number == block.n_laps - 1 else 0
            yield Lap(world, path[0], path, block.name, order[number % 2], n_rest)
