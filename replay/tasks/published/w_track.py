"""The W-track: from a side well to the centre, and from there to the other side."""

from __future__ import annotations

import numpy as np

from replay.checks import check_whole
from replay.tasks.graph_paths import shortest_path
from replay.tasks.places import Rule
from replay.tasks.published.maze_data import maze_task, maze_with
from replay.tasks.published.variants import DRAWN, Variant
from replay.tasks.task import Block, Lap, Laps, Task

__all__ = ["w_track"]

_CENTRE, _WELLS = "C0", {"left": "L0", "right": "R0"}
_OTHER = {"left": "right", "right": "left"}
_NAMES = {
    ("C0", "L0"): "out_left",
    ("C0", "R0"): "out_right",
    ("L0", "C0"): "in_left",
    ("R0", "C0"): "in_right",
    ("L0", "R0"): "left_to_right",
    ("R0", "L0"): "right_to_left",
}
_CHOSEN = (
    "The animal remembers the last arm in outward laps; inward laps need no memory. The "
    "probability that an outward lap breaks the rule is one half in the first session and falls by "
    "a factor of 0.6 per session; for inward laps it is half as large. The number of laps is "
    "chosen."
)
_DRAWN = (
    "Drawn for each animal: 16 to 40 laps per session, the probability of errors in the first "
    "session (0.3 to 0.5) and the factor by which it falls per session (0.5 to 0.8), since rats "
    "differ in how much they run and how fast they learn; and 0.78 to 2.1 times as many places per "
    "metre, since the lengths of the arms and the spatial resolution are choices. "
)


def w_track(
    n_laps: int | None = None, n_sessions: int = 8, *, rng: np.random.Generator | None = None
) -> Task:
    """W-track with alternation from the first lap on, in sessions of one day with rest in between.

    There are 24 laps per session, outward and inward, or 16 to 40 with `rng`. With `rng` what the
    experiment leaves open is drawn for one animal: also the probability of errors and how fast it
    falls, places per metre, pauses of rest, and the standard deviation of rewards. The side visited
    last before the first lap is always drawn, with the laps.

    Examples
    --------
    >>> task = w_track()
    >>> len(task.places), sorted({state.memory for state in task.model.states})
    (50, ['', 'left', 'right'])
    """
    n_sessions = check_whole("n_sessions", n_sessions, at_least=1, at_most=1000)
    variant = Variant(rng)
    n_laps = variant.whole(24, 16, 40, n_laps)
    first, lasting = variant.share(0.5, 0.3, 0.5), variant.share(0.6, 0.5, 0.8)
    blocks = [Block("rest", 0, n_rest=variant.n_rest)]
    paid = dict.fromkeys((_CENTRE, *_WELLS.values()), 1.0)
    for k in range(n_sessions):
        name, error = f"session {k + 1}", first * lasting**k
        blocks.append(Block(name, n_laps, (), paid, n_rest=variant.n_rest, error=error))
    return maze_task(
        maze_with("w_track", variant.density()),
        _rules(paid),
        _laps,
        blocks,
        chosen=_CHOSEN,
        drawn="" if rng is None else _DRAWN + DRAWN,
        home=_CENTRE,
        lap_names=_NAMES,
        reward_sd=variant.reward_sd,
    )


def _rules(paid: dict[str, float]) -> list[Rule]:
    """Return the rules: inward laps pay at the centre, outward ones at the other side."""
    sides = tuple(_WELLS.values())
    home = Rule(sides, (_CENTRE, *sides), ((_CENTRE, paid[_CENTRE]),))
    right = {last: _WELLS[side] for last, side in _OTHER.items()}
    return [home] + [
        Rule((_CENTRE,), sides, ((right[last], paid[right[last]]),), last) for last in _WELLS
    ]


def _laps(task: Task, rng: np.random.Generator) -> Laps:
    side_of = {well: side for side, well in _WELLS.items()}
    here, last = _CENTRE, str(rng.choice(list(_WELLS)))
    for block in task.blocks[1:]:
        rules = _rules(dict(block.rewards))
        for number in range(block.n_laps):
            right = _WELLS[_OTHER[last]] if here == _CENTRE else _CENTRE
            wrong = _WELLS[last] if here == _CENTRE else _WELLS[_OTHER[side_of[here]]]
            errs = rng.random() < block.error * (1.0 if here == _CENTRE else 0.5)
            nodes = shortest_path(task.graph, here, wrong if errs else right, rng)
            path = task.model.walk(nodes, last if here == _CENTRE else "")
            world = task.model.world(rules, block.closed, path[0])
            n_rest = block.n_rest if number == block.n_laps - 1 else 0
            name = task.lap_names[here, nodes[-1]]
            run = yield Lap(world, path[0], path, block.name, name, n_rest)
            here = task.model.states[run[-1]].node
            last = side_of.get(here, last)
