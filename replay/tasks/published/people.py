"""Tasks for people: places stand for pictures or objects, laps for trials."""

from __future__ import annotations

import numpy as np

from replay.tasks.graph_paths import shortest_path
from replay.tasks.places import Rule
from replay.tasks.published.maze_data import find_maze, maze_task, maze_with
from replay.tasks.published.variants import DRAWN, Variant
from replay.tasks.task import Block, Lap, Laps, Task

__all__ = ["liu2019_chains", "liu2021_three_arm"]

_ENDS = ("end_X", "end_Y")
_LOW, _HIGH = 0.25, 0.75
_TREE_CHOSEN = (
    "An end pays 1 or nothing. The probabilities of reward follow a random walk with normal steps "
    "of standard deviation 0.05 per trial, reflected at .25 and .75. In given laps, the path to "
    "the end that would have been right in the last trial is taken in three of four trials, and "
    "the other path otherwise. The number of trials is chosen."
)
_CHAINS_CHOSEN = (
    "A trial runs through one sequence in the order of the rule. People see the objects in a "
    "scrambled order and infer the rule, which a learner of transitions cannot model: that its "
    "replay follows the rule is no test of it. Only the choice of the sequence, and the direction "
    "before and after reward, can be compared. There is one action: a learner that compares "
    "actions has nothing to gain. The number of trials is chosen."
)
_TREE_DRAWN = (
    "Drawn for each animal: 80 to 160 trials, the standard deviation of the steps of the reward "
    "probabilities (0.025 to 0.1) and how often the path that would have been right is taken "
    "(0.6 to 0.9), since these are choices; and 5 to 20 pauses of rest, since how often people "
    "replay at rest depends on how long they rest."
)
_CHAINS_DRAWN = (
    "Drawn for each animal: which sequence pays, and 10 to 30 trials with and without reward, "
    "since their number is a choice. "
)


def liu2021_three_arm(n_laps: int | None = None, *, rng: np.random.Generator | None = None) -> Task:
    """Three start arms with unequal frequencies, each with two paths to two shared ends.

    Examples
    --------
    >>> liu2021_three_arm().model.n_actions
    2
    """
    variant = Variant(rng)
    n_laps = variant.whole(120, 80, 160, n_laps)
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
        chosen=_TREE_CHOSEN,
        drawn="" if rng is None else _TREE_DRAWN,
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
        path = task.model.walk(nodes)
        world = task.model.world([Rule(starts, _ENDS, rewards)], start=path[0])
        n_rest = block.n_rest if number == block.n_laps - 1 else 0
        run = yield Lap(world, path[0], path, block.name, arm, n_rest)
        taken = _ENDS.index(task.model.states[run[-1]].node)
        favourite = taken if pays[taken] else 1 - taken
        chance += rng.normal(0.0, drift_sd, size=len(_ENDS))
        chance = _LOW + np.abs(chance - _LOW)
        chance = _HIGH - np.abs(_HIGH - chance)


def liu2019_chains(
    n_laps: int | None = None,
    n_valued: int | None = None,
    *,
    rng: np.random.Generator | None = None,
) -> Task:
    """Two sequences of four objects; after rest one of them pays, then rest again.

    Examples
    --------
    >>> liu2019_chains().places
    ('A', 'B', 'C', 'D', "A'", "B'", "C'", "D'")
    """
    variant = Variant(rng)
    n_laps = variant.whole(20, 10, 30, n_laps)
    n_valued = variant.whole(20, 10, 30, n_valued)
    end = variant.choice(("D", "D'"))
    blocks = [
        Block("rest", 0, n_rest=variant.n_rest),
        Block("sequences", n_laps, n_rest=variant.n_rest),
        Block("value", n_valued, rewards={end: 1.0}, n_rest=variant.n_rest),
    ]
    rules = [_chain_rule(block) for block in blocks[1:]]
    return maze_task(
        maze_with("liu2019_chains"),
        rules,
        _chain_laps,
        blocks,
        chosen=_CHAINS_CHOSEN,
        drawn="" if rng is None else _CHAINS_DRAWN + DRAWN,
        one_way=True,
        reward_sd=variant.reward_sd,
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
