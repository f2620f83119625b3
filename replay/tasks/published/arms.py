"""Mazes with several arms: eight arms with a goal that moves, and the Y."""

from __future__ import annotations

import numpy as np

from replay.checks import check_whole
from replay.tasks.graph_paths import shortest_path
from replay.tasks.places import Rule
from replay.tasks.published.maze_data import maze_task, maze_with
from replay.tasks.published.variants import DRAWN, Variant
from replay.tasks.routes import task_of_routes
from replay.tasks.task import Block, Lap, Laps, Task

__all__ = ["eight_arm", "y_maze"]

_HOME, _PORTS = "home", ("ctrL", "ctrR")
_ENDS = tuple(f"arm{number}_4" for number in range(1, 9))
_GOAL_PAYS, _HOME_PAYS = 1.0, 0.1
_FEWEST, _MOST = 4, 15
_PHASES = _TO_CENTRE, _TO_ARM, _TO_HOME = ("to_centre", "to_arm", "to_home")
_NAMES = {
    **{(_HOME, port): "centre" for port in _PORTS},
    **{(port, arm): arm[:4] for port in _PORTS for arm in _ENDS},
    **{(arm, _HOME): "home" for arm in _ENDS},
}
_CHOSEN = (
    "A trial consists of three laps: from home to a centre port, from there to an arm, and back "
    "home; the animal knows which one it is in. With own behaviour either centre port will do. The "
    "home port pays a tenth of the goal. In given laps, arms are searched one after the other, and "
    "the animal leaves a known goal by chance in one of ten trials. The number of trials is chosen."
)
_GRAIN_DRAWN = (
    "0.78 to 2.1 times as many places per metre, since the length of the arms and the spatial "
    "resolution are choices. "
)
_DRAWN = (
    "Drawn for each animal: 3 to 6 goals, and how often the goal is left by chance (in 5 to 20 of "
    f"100 trials), since animals differ in how much they run and explore; and {_GRAIN_DRAWN}"
)
_Y_DRAWN = (
    "Drawn for each animal: the order in which arms are run, and 24 to 48 laps, since we could not "
    f"read the study; and {_GRAIN_DRAWN}"
)


def eight_arm(
    n_goals: int | None = None, n_trials: int = 40, *, rng: np.random.Generator | None = None
) -> Task:
    """Eight arms: one pays until it has been found 4 to 15 times, then another one does.

    Laps are in the block ``search`` until the goal has been found, then in the block ``goal``. With
    `rng` what the experiment leaves open is drawn for one animal: the number of goals, how often a
    known goal is left, places per metre, pauses of rest, and the standard deviation of rewards. The
    goals are always drawn, with the laps.

    Examples
    --------
    >>> eight_arm().model.n_actions
    11
    """
    variant = Variant(rng)
    n_goals = variant.whole(4, 3, 6, n_goals)
    n_goals = check_whole("n_goals", n_goals, at_least=1, at_most=1000)
    leaves = variant.share(0.1, 0.05, 0.2)
    n_trials = check_whole("n_trials", n_trials, at_least=1, at_most=100_000)
    paid = {_HOME: _HOME_PAYS} | dict.fromkeys(_ENDS, _GOAL_PAYS)
    blocks = [Block("rest", 0, n_rest=variant.n_rest)]
    for _ in range(n_goals):
        blocks.append(Block("search", 3 * n_trials, ("at random",), paid))
        blocks.append(Block("goal", 3 * n_trials, ("goal",), paid, error=leaves))
    blocks[-1] = blocks[-1]._replace(n_rest=variant.n_rest)
    rules = [rule for goal in _ENDS for rule in _trial(goal, paid)]
    return maze_task(
        maze_with("eight_arm", variant.density()),
        rules,
        _eight_arm_laps,
        blocks,
        chosen=_CHOSEN,
        drawn="" if rng is None else _DRAWN + DRAWN,
        home=_HOME,
        lap_names=_NAMES,
        reward_sd=variant.reward_sd,
    )


def _trial(goal: str, paid: dict[str, float]) -> list[Rule]:
    """Return the rules of the three laps of a trial."""
    return [
        Rule((_HOME,), _PORTS, (), _TO_CENTRE),
        Rule(_PORTS, _ENDS, ((goal, paid[goal]),), _TO_ARM),
        Rule(_ENDS, (_HOME,), ((_HOME, paid[_HOME]),), _TO_HOME),
    ]


def _eight_arm_laps(task: Task, rng: np.random.Generator) -> Laps:
    before = ""
    phases = task.blocks[1:]
    for search, known in zip(phases[::2], phases[1::2], strict=True):
        goal = str(rng.choice([arm for arm in _ENDS if arm != before]))
        rules = _trial(goal, dict(search.rewards))
        n_wanted, n_found, n_done, is_over = int(rng.integers(_FEWEST, _MOST + 1)), 0, 0, False
        tried: set[str] = set()
        while not is_over:
            block = known if n_found else search
            searches = not n_found or rng.random() < block.error
            left = [arm for arm in _ENDS if arm not in tried]
            arm = str(rng.choice(left)) if searches else goal
            here = _HOME
            for phase, aim in zip(_PHASES, (str(rng.choice(_PORTS)), arm, _HOME), strict=True):
                path = task.model.walk(shortest_path(task.graph, here, aim, rng), phase)
                world = task.model.world(rules, block.closed, path[0])
                n_rest = known.n_rest if is_over else 0
                name = task.lap_names[here, aim]
                run = yield Lap(world, path[0], path, block.name, name, n_rest)
                here = task.model.states[run[-1]].node
                if phase == _TO_ARM:
                    n_found += here == goal
                    tried = {goal} if n_found else tried | {here}
                    n_done += 1
                    is_over = n_found == n_wanted or n_done == block.n_laps // 3
        before = goal


def y_maze(n_laps: int | None = None, *, rng: np.random.Generator | None = None) -> Task:
    """Y-maze: from each arm to each other one in turn; all arms pay.

    With `rng` what the experiment leaves open is drawn for one animal: the number of laps, the
    order of arms, places per metre, pauses of rest, and the standard deviation of rewards.

    Examples
    --------
    >>> len(y_maze().places)
    37
    """
    variant = Variant(rng)
    n_laps = variant.whole(36, 24, 48, n_laps)
    maze = maze_with("y_maze", variant.density())
    marks = maze.landmarks
    (choice,) = marks["choice"]
    arms = {arm: (choice, *marks[f"arm_{arm}"]) for arm in "abc"}
    order = variant.order(("ab", "bc", "ca", "ac", "cb", "ba"))
    routes = {
        f"{here}_to_{there}": (*arms[here][:0:-1], *arms[there])
        for here, there in map(tuple, order)
    }
    blocks = [
        Block("rest", 0, n_rest=variant.n_rest),
        Block(
            "run",
            n_laps,
            tuple(routes),
            {arm[-1]: 1.0 for arm in arms.values()},
            n_rest=variant.n_rest,
        ),
    ]
    return task_of_routes(
        "y_maze",
        maze.graph,
        routes,
        blocks,
        home=choice,
        one_way=True,
        reward_sd=variant.reward_sd,
        **maze.about(drawn="" if rng is None else _Y_DRAWN + DRAWN),
    )
