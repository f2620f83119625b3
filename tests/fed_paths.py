"""Learners that were fed with paths, and what they replay, for tests of one learner."""

from itertools import pairwise

import numpy as np
import pandas as pd

from replay import feed
from replay.learners import find_learner
from replay.learners.contract import Pause
from replay.log.backups import backup_buffer, filled


def moves_along(paths, rewards=0.0):
    """List the moves of episodes, with rewards at their ends; actions are the next places."""
    moves = pd.DataFrame(
        [(*move, path[0], False, 0.0) for path in paths for move in pairwise(path)],
        columns=["state", "next_state", "start_state", "terminated", "reward"],
    )
    ends = np.cumsum([len(path) - 1 for path in paths]) - 1
    moves.loc[ends, "terminated"], moves.loc[ends, "reward"] = True, rewards
    return moves.assign(action=moves["next_state"])


def fed(learner, paths, rewards=0.0, *, goes_on=False, **params):
    """Feed episodes, of which the last one may go on; see `fed_moves`."""
    moves = moves_along(paths, rewards)
    if goes_on:
        moves.loc[len(moves) - 1, "terminated"] = False
    return fed_moves(learner, moves, **params)


def fed_moves(learner, moves, **params):
    """Feed a table of moves; return the log, the learner and its memory."""
    kept = {}
    n = int(moves[["state", "next_state", "action"]].to_numpy().max()) + 1
    sizes = {"n_states": n, "n_actions": n, "params": params, "seed": 0}
    log = feed(learner, moves, **sizes, on_step=kept.__setitem__)
    return log.backups, find_learner(learner, params), kept[len(moves) - 1]


def replayed(found, memory, phase, state, n_pauses=1, seed=1):
    """Return the rows of the log of each pause."""
    rng, pauses = np.random.default_rng(seed), []
    for _ in range(n_pauses):
        log = backup_buffer(10_000, "replay")
        found.replay(found.params, memory, Pause(phase, state, False), rng, log)
        pauses.append(pd.DataFrame(filled(log)[0]))
    return pauses


def replayed_places(*arguments, **options):
    """Return the places of each pause, the first one included."""
    return [[*rows["state"][:1], *rows["next_state"]] for rows in replayed(*arguments, **options)]
