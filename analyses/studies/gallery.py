"""One maze, one moment: what each learner would replay next.

All learners are fed the same laps, and their first replay after the last step is kept. Laps begin
in turn at the left and at the right end of the lower corridor, ten times each, and lead to the far
goal. The last lap begins at the left and finds a nearer goal.
"""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from analyses.sequences.pauses import replayed_moves
from replay.learners import LEARNERS, find_learner
from replay.log.event_log import EventLog
from replay.simulation import feed
from replay.worlds.mazes import from_ascii
from replay.worlds.mdp import MDP

__all__ = ["laps", "next_replay"]

_MAZE = """
.........
.###.###G
G###.####
####.####
S.......S
"""
_LAPS = 10 * [
    ("left", "right 4, up 4, left 4, down 2"),
    ("right", "left 4, up 4, left 4, down 2"),
] + [("left", "right 4, up 4, right 4, down 1")]
_SETTINGS = {"learning_rate": 1.0, "max_pops": 20, "n_replays": 20, "max_backups": 20, "n": 20}
_COLUMNS = ["learner", "phase", "location", "order", "state", "next_state", "change", "kind"]


def laps() -> tuple[MDP, pd.DataFrame]:
    """Make the maze and the laps in it.

    Examples
    --------
    >>> mdp, transitions = laps()
    >>> transitions.groupby("episode").size().tolist()[-3:]
    [14, 14, 13]
    """
    mdp = from_ascii(_MAZE, name="gallery")
    left, right = np.flatnonzero(mdp.start_probability).tolist()
    begin = {"left": left, "right": right}
    names = list(mdp.action_names or ())
    rows = []
    for episode, (start, moves) in enumerate(_LAPS):
        state = begin[start]
        for move in moves.split(", "):
            name, count = move.split()
            action = names.index(name)
            for _ in range(int(count)):
                pair = mdp.successor_offset[state * mdp.n_actions + action]
                next_state = int(mdp.successor[pair])
                rows.append((episode, state, action, float(mdp.reward[pair]), next_state))
                state = next_state
    columns = ["episode", "state", "action", "reward", "next_state"]
    transitions = pd.DataFrame(rows, columns=columns)
    following = transitions[["state", "action"]].shift(-1)
    return mdp, transitions.assign(
        run=0,
        step=np.arange(len(rows)),
        terminated=mdp.terminal[transitions["next_state"]],
        start_state=following["state"].fillna(right).astype(int),
        next_action=following["action"].fillna(names.index("left")).astype(int),
    )


def next_replay(
    mdp: MDP, transitions: pd.DataFrame, learners: Iterable[str] = tuple(LEARNERS), seed: int = 0
) -> pd.DataFrame:
    """Find the first replay of each learner after all experience.

    Learners have their default parameters, except for a learning rate of 1, because the world is
    deterministic, and at most 20 backups per pause (an n-step backup counts once).

    One row per backup: `order` in the event; `state, next_state`, the move as replayed, opposite to
    the experienced one in reverse replay; `change` of the action value; and the `kind` of the
    longest sequence that it belongs to, null for a single move. A learner that replays nothing has
    one row with order -1.

    Examples
    --------
    >>> replays = next_replay(*laps(), ["q_learning", "episodic_control"])
    >>> replays.groupby("learner", sort=False).size().tolist()
    [1, 13]
    """
    tables = []
    for learner in learners:
        known = find_learner(learner).parameters
        params = {key: value for key, value in _SETTINGS.items() if key in known}
        log = feed(
            learner,
            transitions,
            n_states=mdp.n_states,
            n_actions=mdp.n_actions,
            params=params,
            seed=seed,
            log="replay",
            mdp=mdp,
        )
        tables.append(_first_event(learner, log))
    replays = pd.concat(tables, ignore_index=True)
    # The log infers the start of an episode from its first step, which is still to come.
    at_start = replays["phase"] == "start"
    replays.loc[at_start, "location"] = int(transitions["start_state"].iloc[-1])
    return replays


def _first_event(learner: str, log: EventLog) -> pd.DataFrame:
    last = len(log.steps) - 1
    backups = log.backups
    after = backups[backups["step"] == last]
    if after.empty:
        end = int(log.steps["next_state"].iloc[last])
        return pd.DataFrame([(learner, None, end, -1, -1, -1, np.nan, None)], columns=_COLUMNS)
    moves = replayed_moves(log, int(after["event"].iloc[0]))
    return moves.assign(learner=learner)[_COLUMNS]
