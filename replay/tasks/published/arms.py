"""Linear tracks; and mazes with several arms: eight with a goal that moves, the Y, and the W."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from replay.tasks.places import Rule
from replay.tasks.published.maze_data import Variant, find_maze, lap_of, maze_task, maze_with
from replay.tasks.routes import shortest_path, task_of_routes
from replay.tasks.task import Block, Laps, Task

_MANY = 16
_FEW = (4, 8, 3, 2, 1)  # the first where nothing is drawn


def _track(
    name: str, maze: str, blocks: Sequence[Block], headings: tuple[str, str], variant: Variant
) -> Task:
    """Make a track that is run back and forth in all blocks, beginning at either end."""
    track = maze_with(maze, variant.density())
    nodes = track.along(list(find_maze(maze)["nodes"]))
    back_and_forth = variant.choice((("out", "in"), ("in", "out")))
    return task_of_routes(
        name,
        track.graph,
        {"out": nodes, "in": nodes[::-1]},
        [block._replace(contingency=back_and_forth if block.n_laps else ()) for block in blocks],
        home=nodes[0],
        one_way=True,
        headings=headings,
        **track.about(name, variant),
    )


def _short_track(name: str, blocks: Sequence[Block], variant: Variant) -> Task:
    before = Block("rest", 0, n_rest=variant.n_rest)
    headings = ("out{}", "in{}")
    return _track(name, "linear_track", [before, *blocks], headings, variant)


def _pay(near: float, far: float) -> dict[str, float]:
    return {"0": near, "9": far}


def linear_track(
    n_training: int | None = None,
    n_laps: int | None = None,
    *,
    rng: np.random.Generator | None = None,
) -> Task:
    """Linear track, run back and forth for equal rewards at both ends; rest before and after.

    Parameters
    ----------
    n_training : int, optional
        One-way laps until the track counts as familiar: 20, or 10 to 40 with `rng`, since no study
        says how well an animal must know a track.
    n_laps : int, optional
        Further laps: 40, or 20 to 60 with `rng`, since rats differ in how much they run.
    rng : numpy.random.Generator, optional
        Draws, for one animal, what the experiment leaves open: these numbers and what the task's
        `remark` says.
    """
    variant = Variant(rng)
    n_training = variant.whole(20, 10, 40, n_training)
    n_laps = variant.whole(40, 20, 60, n_laps)
    blocks = [
        Block("training", n_training, rewards=_pay(1.0, 1.0)),
        Block("familiar", n_laps, rewards=_pay(1.0, 1.0), n_rest=variant.n_rest),
    ]
    return _short_track("linear_track", blocks, variant)


def linear_track_novel(*, rng: np.random.Generator | None = None) -> Task:
    """Linear track from the first lap on, in sessions with rest between them.

    There are 20 one-way laps per session, or 10 to 40 with `rng`, since rats differ in how much
    they run.
    """
    variant = Variant(rng)
    n_laps = variant.whole(20, 10, 40)
    blocks = [
        Block(f"session {k + 1}", n_laps, rewards=_pay(1.0, 1.0), n_rest=variant.n_rest)
        for k in range(3)
    ]
    return _short_track("linear_track_novel", blocks, variant)


def linear_track_4x(n_laps: int | None = None, *, rng: np.random.Generator | None = None) -> Task:
    """Linear track on which one end pays four times as much in the second of three epochs.

    There are 34 one-way laps per epoch, or 30 to 40 with `rng`; the experiment had 15 to 20 laps
    back and forth. With `rng` the end that changes is drawn; otherwise it is the far one.
    """
    return _reward_track("linear_track_4x", 4.0, n_laps, rng)


def linear_track_0x(*, rng: np.random.Generator | None = None) -> Task:
    """Linear track on which one end pays nothing in the second of three epochs.

    Laps and what is drawn are as in `linear_track_4x`.
    """
    return _reward_track("linear_track_0x", 0.0, None, rng)


def _reward_track(
    name: str, changed: float, n_laps: int | None, rng: np.random.Generator | None
) -> Task:
    variant = Variant(rng)
    n_laps = variant.whole(34, 30, 40, n_laps)
    unequal = variant.choice((_pay(1.0, changed), _pay(changed, 1.0)))
    blocks = [
        Block("equal", n_laps, rewards=_pay(1.0, 1.0)),
        Block("unequal", n_laps, rewards=unequal),
        Block("restored", n_laps, rewards=_pay(1.0, 1.0), n_rest=variant.n_rest),
    ]
    return _short_track(name, blocks, variant)


def long_track(n_laps: int | None = None, *, rng: np.random.Generator | None = None) -> Task:
    """Track of 10.3 m with food at both ends; rest before and after.

    Parameters
    ----------
    n_laps : int, optional
        One-way laps: 20, or 10 to 30 with `rng`, since rats differ in how much they run.
    rng : numpy.random.Generator, optional
        Draws, for one animal, what the experiment leaves open; see the task's `remark`.
    """
    variant = Variant(rng)
    n_laps = variant.whole(20, 10, 30, n_laps)
    blocks = [
        Block("rest", 0, n_rest=variant.n_rest),
        Block("run", n_laps, rewards={"n0": 1.0, "n41": 1.0}, n_rest=variant.n_rest),
    ]
    return _track("long_track", "long_track", blocks, ("{}>", "{}<"), variant)


def two_tracks(*, rng: np.random.Generator | None = None) -> Task:
    """Two linear tracks: 16 laps there and back on the first, few on the second; then rest.

    There are 4 laps there and back on the second track, or 8, 4, 3, 2 or 1 with `rng`, as in the
    five kinds of session [1]_.

    References
    ----------
    .. [1] Huelin Gorriz et al. (2023). https://doi.org/10.1038/s41467-023-43939-z

    Examples
    --------
    >>> [(block.name, block.n_laps) for block in two_tracks().blocks]
    [('rest', 0), ('first track', 32), ('second track', 8)]
    """
    variant = Variant(rng)
    n_few = variant.choice(_FEW)
    maze = maze_with("two_tracks", variant.density())
    first, second = maze.landmarks["left_arm"], maze.landmarks["right_arm"]
    routes = {
        "first_out": first,
        "first_in": first[::-1],
        "second_out": second,
        "second_in": second[::-1],
    }
    blocks = [Block("rest", 0, n_rest=variant.n_rest)]
    for which, track, n_laps in (("first", first, _MANY), ("second", second, n_few)):
        paid = {track[0]: 1.0, track[-1]: 1.0}
        ways = (f"{which}_out", f"{which}_in")
        n_rest = variant.n_rest * (which == "second")
        blocks.append(Block(f"{which} track", 2 * n_laps, ways, paid, n_rest=n_rest))
    return task_of_routes(
        "two_tracks", maze.graph, routes, blocks, **maze.about("two_tracks", variant)
    )


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

    def laps(task: Task, rng: np.random.Generator) -> Laps:
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
                    nodes = shortest_path(task.graph, here, aim, rng)
                    name = task.lap_names[here, aim]
                    lap = lap_of(task, block, 0, nodes, rules, name, memory=phase)
                    run = yield lap._replace(n_rest=known.n_rest if is_over else 0)
                    here = task.model.states[run[-1]].node
                    if phase == _TO_ARM:
                        n_found += here == goal
                        tried = {goal} if n_found else tried | {here}
                        n_done += 1
                        is_over = n_found == n_wanted or n_done == block.n_laps // 3
            before = goal

    return maze_task(
        maze_with("eight_arm", variant.density()),
        rules,
        laps,
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

    def laps(task: Task, rng: np.random.Generator) -> Laps:
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

    return maze_task(
        maze_with("w_track", variant.density()),
        _w_rules(paid),
        laps,
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
