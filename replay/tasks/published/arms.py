"""Mazes with several arms: eight arms with a goal that moves, the Y, and the W."""

from __future__ import annotations

import numpy as np

from replay.tasks.places import Rule
from replay.tasks.published.maze_data import Variant, lap_of, maze_task, maze_with
from replay.tasks.routes import shortest_path, task_of_routes
from replay.tasks.task import Block, Laps, Task

_HOME, _PORTS = "home", ("ctrL", "ctrR")
_ENDS = tuple(f"arm{number}_4" for number in range(1, 9))
_GOAL_PAYS, _HOME_PAYS = 1.0, 0.1
_N_TRIALS = 40
_FEWEST, _MOST = 4, 15
_PHASES = _TO_CENTRE, _TO_ARM, _TO_HOME = ("to_centre", "to_arm", "to_home")
_NAMES = {
    **{(_HOME, port): "centre" for port in _PORTS},
    **{(port, arm): arm[:4] for port in _PORTS for arm in _ENDS},
    **{(arm, _HOME): "home" for arm in _ENDS},
}

_CENTRE, _WELLS = "C0", {"left": "L0", "right": "R0"}
_OTHER = {"left": "right", "right": "left"}
_W_NAMES = {
    ("C0", "L0"): "out_left",
    ("C0", "R0"): "out_right",
    ("L0", "C0"): "in_left",
    ("R0", "C0"): "in_right",
    ("L0", "R0"): "left_to_right",
    ("R0", "L0"): "right_to_left",
}


def eight_arm(*, rng: np.random.Generator | None = None) -> Task:
    """Eight arms: one pays until it has been found 4 to 15 times, then another one does.

    Laps are in the block ``search`` until the goal has been found, then in the block ``goal``. The
    goals are always drawn, with the laps.

    Examples
    --------
    >>> eight_arm().model.n_actions
    11
    """
    variant = Variant(rng)
    n_goals, leaves = variant.whole(4, 3, 6), variant.share(0.1, 0.05, 0.2)
    paid = {_HOME: _HOME_PAYS} | dict.fromkeys(_ENDS, _GOAL_PAYS)
    blocks = [Block("rest", 0, n_rest=variant.n_rest)]
    for _ in range(n_goals):
        blocks.append(Block("search", 3 * _N_TRIALS, ("at random",), paid))
        blocks.append(Block("goal", 3 * _N_TRIALS, ("goal",), paid, error=leaves))
    blocks[-1] = blocks[-1]._replace(n_rest=variant.n_rest)
    rules = [rule for goal in _ENDS for rule in _trial(goal, paid)]
    return maze_task(
        maze_with("eight_arm", variant.density()),
        rules,
        _eight_arm_laps,
        blocks,
        variant,
        home=_HOME,
        lap_names=_NAMES,
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
                nodes, name = shortest_path(task.graph, here, aim, rng), task.lap_names[here, aim]
                lap = lap_of(task, block, 0, nodes, rules, name, memory=phase)
                run = yield lap._replace(n_rest=known.n_rest if is_over else 0)
                here = task.model.states[run[-1]].node
                if phase == _TO_ARM:
                    n_found += here == goal
                    tried = {goal} if n_found else tried | {here}
                    n_done += 1
                    is_over = n_found == n_wanted or n_done == block.n_laps // 3
        before = goal


def y_maze(*, rng: np.random.Generator | None = None) -> Task:
    """Y-maze: from each arm to each other one in turn; all arms pay.

    Examples
    --------
    >>> len(y_maze().places)
    37
    """
    variant = Variant(rng)
    n_laps = variant.whole(36, 24, 48)
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
        **maze.about("y_maze", variant),
    )


def w_track(*, rng: np.random.Generator | None = None) -> Task:
    """W-track with alternation from the first lap on, in sessions of one day with rest in between.

    There are 24 laps per session, outward and inward, or 16 to 40 with `rng`. The side visited last
    before the first lap is always drawn, with the laps.

    Examples
    --------
    >>> task = w_track()
    >>> len(task.places), sorted({state.memory for state in task.model.states})
    (50, ['', 'left', 'right'])
    """
    variant = Variant(rng)
    n_laps = variant.whole(24, 16, 40)
    first, lasting = variant.share(0.5, 0.3, 0.5), variant.share(0.6, 0.5, 0.8)
    blocks = [Block("rest", 0, n_rest=variant.n_rest)]
    paid = dict.fromkeys((_CENTRE, *_WELLS.values()), 1.0)
    for k in range(8):
        name, error = f"session {k + 1}", first * lasting**k
        blocks.append(Block(name, n_laps, (), paid, n_rest=variant.n_rest, error=error))
    return maze_task(
        maze_with("w_track", variant.density()),
        _w_rules(paid),
        _w_laps,
        blocks,
        variant,
        home=_CENTRE,
        lap_names=_W_NAMES,
    )


def _w_rules(paid: dict[str, float]) -> list[Rule]:
    """Return the rules: inward laps pay at the centre, outward ones at the other side."""
    sides = tuple(_WELLS.values())
    home = Rule(sides, (_CENTRE, *sides), ((_CENTRE, paid[_CENTRE]),))
    right = {last: _WELLS[side] for last, side in _OTHER.items()}
    return [home] + [
        Rule((_CENTRE,), sides, ((right[last], paid[right[last]]),), last) for last in _WELLS
    ]


def _w_laps(task: Task, rng: np.random.Generator) -> Laps:
    side_of = {well: side for side, well in _WELLS.items()}
    here, last = _CENTRE, str(rng.choice(list(_WELLS)))
    for block in task.blocks[1:]:
        rules = _w_rules(dict(block.rewards))
        for number in range(block.n_laps):
            right = _WELLS[_OTHER[last]] if here == _CENTRE else _CENTRE
            wrong = _WELLS[last] if here == _CENTRE else _WELLS[_OTHER[side_of[here]]]
            errs = rng.random() < block.error * (1.0 if here == _CENTRE else 0.5)
            nodes = shortest_path(task.graph, here, wrong if errs else right, rng)
            memory = last if here == _CENTRE else ""
            name = task.lap_names[here, nodes[-1]]
            run = yield lap_of(task, block, number, nodes, rules, name, memory)
            here = task.model.states[run[-1]].node
            last = side_of.get(here, last)
