"""The T-maze of Carey et al. (2019): what the arms are worth changes from day to day."""

from __future__ import annotations

import numpy as np

from replay.tasks.graph_paths import shortest_path
from replay.tasks.places import Rule
from replay.tasks.published.maze_data import maze_task, maze_with
from replay.tasks.published.variants import DRAWN, Variant
from replay.tasks.task import Block, Lap, Laps, Task

__all__ = ["t_revaluation"]

_HOME = "s0"
_SIDES = {"food": "left", "water": "right"}
_N_DAYS = 6
_CHOSEN = (
    "The restricted good pays 1 and the other one a quarter. The animal is carried back to the "
    "stem after each lap, and 70 % of the given laps, free or not, are to the restricted good. "
    "Hunger and thirst are known only by what was paid: a model does not feel them before the "
    "first lap of a day. The number of laps is chosen."
)
_DRAWN = (
    "Drawn for each animal: the good that is restricted first; 10 to 24 laps a day, what the other "
    "good pays (0.1 to 0.5) and how often the restricted one is chosen (0.6 to 0.9), since none of "
    "these was read; and 0.78 to 2.1 times as many places per metre, since the spatial resolution "
    "is a choice. "
)


def t_revaluation(n_laps: int | None = None, *, rng: np.random.Generator | None = None) -> Task:
    """T-maze with food and water, one of them restricted each day; rest before and after.

    Parameters
    ----------
    n_laps : int, optional
        Laps a day: 16, or 10 to 24 with `rng`.
    rng : numpy.random.Generator, optional
        Draws, for one animal, what the experiment leaves open: also the good that is restricted on
        the first day, what the other one pays, how often each is chosen, places per metre, pauses
        of rest, and the standard deviation of rewards.

    Returns
    -------
    Task

    Examples
    --------
    >>> t_revaluation().blocks[1].rewards
    {'left6': 1.0, 'right6': 0.25}
    """
    variant = Variant(rng)
    n_laps = variant.whole(16, 10, 24, n_laps)
    other, to_restricted = variant.share(0.25, 0.1, 0.5), variant.share(0.7, 0.6, 0.9)
    goods = variant.choice((("food", "water"), ("water", "food")))
    maze = maze_with("t_revaluation", variant.density())
    ends = {good: maze.landmarks[f"{side}_arm"][-1] for good, side in _SIDES.items()}
    blocks = [Block("rest", 0, n_rest=variant.n_rest)]
    for day in range(_N_DAYS):
        restricted = goods[day % 2]
        paid = {end: 1.0 if good == restricted else other for good, end in ends.items()}
        name = f"{restricted} {day // 2 + 1}"
        blocks.append(Block(name, n_laps, (restricted,), paid, n_rest=variant.n_rest))
    rules = [_rule(block) for block in blocks[1:]]

    def laps(task: Task, rng: np.random.Generator) -> Laps:
        for block, rule in zip(task.blocks[1:], rules, strict=True):
            (restricted,) = block.contingency
            (unrestricted,) = set(_SIDES) - {restricted}
            for number in range(block.n_laps):
                good = restricted if rng.random() < to_restricted else unrestricted
                path = task.model.walk(shortest_path(task.graph, _HOME, ends[good], rng))
                world = task.model.world([rule], block.closed, path[0])
                n_rest = block.n_rest if number == block.n_laps - 1 else 0
                yield Lap(world, path[0], path, block.name, _SIDES[good], n_rest)

    return maze_task(
        maze,
        rules,
        laps,
        blocks,
        chosen=_CHOSEN,
        drawn="" if rng is None else _DRAWN + DRAWN,
        lap_names={(_HOME, end): _SIDES[good] for good, end in ends.items()},
        reward_sd=variant.reward_sd,
    )


def _rule(block: Block) -> Rule:
    return Rule((_HOME,), tuple(block.rewards), tuple(block.rewards.items()))
