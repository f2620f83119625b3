"""Planning rollouts of a recurrent network, from the published code of Jensen et al. (2024).

The agent [1]_ [2]_ goes through episodes, each in a different maze of L x L places with periodic
boundaries. In each iteration it either moves, or stays and imagines a sequence of moves and the
places to which they lead. When it reaches the reward it is moved elsewhere, and a new trial begins.
Here each of their episodes is a run of a log, each trial an episode, each move a step, and each
imagined sequence a replay event without backups, from the agent's place: at a start if it has not
moved in this trial, otherwise after a step. All analyses of logs accept such logs. The log has no
world, because each run would have a different one.

The arrays are those that their script ``model_replay_analyses.jl`` fills but does not save; with
NPZ.jl one line saves them. This description follows their code, and holds for the example that they
provide (``example_rollout.bson``); the code itself, in Julia, was not run.

    npzwrite("rollouts.npz", Dict("agent_states" => agent_states, "actions" => actions,
                                  "plans" => plans, "rewards" => rews))

=================  =============================================================================
``agent_states``   (n_episodes, 2, n_iterations): row and column before each iteration, from 1
``actions``        (n_episodes, n_iterations): 1 to 4 a move, 5 a rollout, 0 after the end
``plans``          (n_episodes, n_iterations, depth): the imagined places, L (row - 1) + column;
                   NaN without a rollout, 0 after the goal was found
``rewards``        (n_episodes, n_iterations): above 0.5 where the agent reached the reward
=================  =============================================================================

References
----------
.. [1] Jensen, Hennequin & Mattar (2024). https://doi.org/10.1038/s41593-024-01675-7
.. [2] https://github.com/KrisJensen/planning_code
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analyses.recordings.readers.array_files import load_arrays
from analyses.sequences.chains import decoded_backups
from replay.checks import check_array, typed
from replay.checks.arrays import Floats, Ints
from replay.log.event_log import EventLog

_ROLLOUT = 5
_ARRAYS: dict[str, dict[str, Any]] = {
    "agent_states": {"kind": "whole", "at_least": 1, "n_dims": 3},
    "actions": {"kind": "whole", "at_least": 0, "at_most": _ROLLOUT, "n_dims": 2},
    "plans": {"kind": "whole", "at_least": 0, "n_dims": 3},
    "rewards": {"kind": "number", "n_dims": 2},
}
"""Options of `check_array` for each array."""


@typed
def read_rollouts(source: str | Path | Mapping[str, object]) -> EventLog:
    """Read the moves and the rollouts of an agent.

    Parameters
    ----------
    source : path or mapping of str to array_like
        An ``.npz`` file, or the arrays themselves, with the names of the module's table.

    Returns
    -------
    EventLog
        One run per episode; places and `action` count from 0.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it is not such a file, arrays are missing, their shapes disagree, or a value is neither a
        place nor an action.

    Examples
    --------
    An agent in an arena of 2 x 2 places imagines two moves, and makes them:

    >>> log = read_rollouts({
    ...     "agent_states": [[[1, 1, 1, 2], [1, 1, 2, 2]]], "actions": [[5, 3, 1, 0]],
    ...     "plans": [[[2, 4], [np.nan, np.nan], [np.nan, np.nan], [np.nan, np.nan]]],
    ...     "rewards": [[0, 0, 1, 0]]})
    >>> log.steps[["state", "next_state", "terminated"]].values.tolist()
    [[0, 1, False], [1, 3, True]]
    >>> log.backups[["phase", "state", "next_state"]].values.tolist()
    [['start', 0, 1], ['start', 1, 3]]
    """
    name = "the arrays" if isinstance(source, Mapping) else Path(source).name
    given = dict(source) if isinstance(source, Mapping) else load_arrays(Path(source))
    lacking = [key for key in _ARRAYS if key not in given]
    if lacking:
        raise ValueError(
            f"Rollouts are the arrays {', '.join(_ARRAYS)}; {name} lacks {', '.join(lacking)}."
        )
    plans = check_array(
        given["plans"], f"plans of {name}", kind="number", missing=True, n_dims=None
    )
    given["plans"] = np.nan_to_num(plans)
    states, actions, plans, rewards = (
        check_array(given[key], f"{key} of {name}", **options) for key, options in _ARRAYS.items()
    )
    n, n_iterations = actions.shape
    if states.shape != (n, 2, n_iterations):
        raise ValueError(
            f"agent_states of {name} must have the shape {(n, 2, n_iterations)}, (episodes, 2, "
            f"iterations) as in actions; got {states.shape}."
        )
    if plans.shape[:2] != (n, n_iterations) or rewards.shape != (n, n_iterations):
        raise ValueError(
            f"The shapes of plans and rewards of {name} must begin with {(n, n_iterations)}, as in "
            f"actions; got {plans.shape} and {rewards.shape}."
        )
    side = int(states.max(initial=1))  # the largest row or column that was entered
    if plans.max(initial=0) > side * side:
        raise ValueError(
            f"plans of {name} have places up to {plans.max()}, but agent_states only an arena of "
            f"{side} x {side}: include all episodes."
        )
    place = (states[:, 0] - 1) * side + states[:, 1] - 1
    logs = [
        _episode(number, place[number], actions[number], plans[number], rewards[number])
        for number in range(len(place))
    ]
    steps, backups = (pd.concat(tables, ignore_index=True) for tables in zip(*logs, strict=True))
    runs = {"run": np.arange(n), "experiment": [name] * n, "learner": ["recurrent_network"] * n}
    return EventLog({"runs": runs, "steps": steps, "backups": backups}, {"log": "replay"})


def _episode(
    run: int, place: Ints, actions: Ints, plans: Ints, rewards: Floats
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the steps and the rollouts of one episode."""
    came = rewards > 0.5
    is_put_elsewhere = np.append(False, came[:-1])
    is_move = (actions >= 1) & (actions < _ROLLOUT) & ~is_put_elsewhere
    is_move[-1] = False  # its destination is unknown
    at = np.flatnonzero(is_move)
    trial = np.append(0, np.cumsum(came)[:-1])
    _, episode = np.unique(trial[at], return_inverse=True)
    last = np.append(np.diff(episode) > 0, True)[: len(at)]
    steps = pd.DataFrame(
        {
            "run": run,
            "episode": episode,
            "step": np.arange(len(at)),
            "state": place[at],
            "action": actions[at] - 1,
            "reward": rewards[at],
            "next_state": place[np.minimum(at + 1, len(place) - 1)],
            "terminated": came[at],
            "truncated": last & ~came[at],
        }
    )
    imagines = np.flatnonzero((actions == _ROLLOUT) & ~is_put_elsewhere & (plans[:, 0] > 0))
    n_before = np.cumsum(is_move)
    moved = [bool(is_move[:t][trial[:t] == trial[t]].any()) for t in imagines]
    paths = pd.DataFrame(
        {
            "run": run,
            "event": np.arange(len(imagines)),
            "step": n_before[imagines] - 1,
            "phase": np.where(moved, "step", "start"),
            "states": [[place[t], *(plans[t][plans[t] > 0] - 1)] for t in imagines],
        }
    )
    columns = {str(key): steps[key].to_numpy() for key in steps}
    backups = pd.DataFrame(decoded_backups(paths, columns))
    return steps, backups.assign(index=backups.groupby("event").cumcount())
