"""The two-action example of Antonov et al. (2022), with forgetting.

One action earns 10, the other 1. After each trial the agent replays until the next backup is worth
less than a threshold; then its values decay halfway to the mean reward so far.

References
----------
.. [1] Antonov et al. (2022), Optimism and pessimism in optimised replay.
   https://doi.org/10.1371/journal.pcbi.1009634
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from replay.simulation import simulate
from replay.worlds.mdp import MDP

__all__ = ["FORGETTING_PROTOCOLS"]

_EARN = (1.0, 10.0)
_N_TRIALS, _N_FIRST = 150, 50
_AGENT = {
    "inverse_temperature": 1.0, "learning_rate": 0.3, "forgets_to_mean": True, "n_step": False,
    "gain_floor": 0.0, "need": "one", "pre_explored": True, "min_priority": 0.002,
    "replay_at": "episode_end",
}  # fmt: skip


def _choices(forgetting: float, max_backups: int, seed: int) -> dict[str, float]:
    mdp = MDP.from_tables([[1, 1], [1, 1]], [_EARN, (0.0, 0.0)], terminal=[1], start=0)
    params = _AGENT | {"forgetting": forgetting, "max_backups": max_backups}
    run = simulate(
        mdp, "memory_access_forgetting", params, n_steps=_N_TRIALS, seed=seed, log="replay"
    )
    late = run.log.backups.query("step >= @_N_FIRST")
    found = {"earned_share": run.log.steps["reward"].iloc[_N_FIRST:].mean() / _EARN[1]}
    for name, action in (("worse", 0), ("better", 1)):
        found[f"replays_of_{name}"] = (late["action"] == action).sum() / (_N_TRIALS - _N_FIRST)
    return found | {"worse_minus_better": found["replays_of_worse"] - found["replays_of_better"]}


FORGETTING_PROTOCOLS: dict[str, Callable[[int], dict[str, float]]] = {
    "forgetting_with_replay": partial(_choices, 0.5, 200),
    "forgetting_without_replay": partial(_choices, 0.5, 0),
    "replay_without_forgetting": partial(_choices, 0.0, 200),
}
"""Name -> function of a seed that returns quantities."""
