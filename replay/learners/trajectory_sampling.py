"""Trajectory sampling: Dyna-Q that imagines what it would do next from where it is.

As in :mod:`replay.learners.dyna_q`, but replay begins where the agent is, follows the current
policy through the model, and begins there again at a terminal state or at a pair that the model
does not know; such a pair uses up one of the `n_replays` backups. There is replay after each step
and at each start.

The published settings are those of the book's figure 8.8: epsilon = 0.1, no discount, and expected
backups with a given model, in which the target replaces the value. The sample backups made here are
the same if every pair leads to one state and `learning_rate` is 1. The book does not say how many
backups are made per step.

References
----------
.. [1] Sutton & Barto (2018), Reinforcement Learning, 2nd edition, section 8.6.
"""

from numpy.random import Generator

from replay.learners.contract import Description, Pause
from replay.learners.dyna_q import Memory, Params, back_up_edge, init, learn, most_backups, n_words
from replay.log.backups import EPISODE_END, BackupBuffer
from replay.parts.pauses import goes_on, is_due, latest_change, phases_of
from replay.parts.policies import epsilon_greedy
from replay.parts.world_model import draw_edge

__all__ = ["Memory", "Params", "description", "init", "learn", "most_backups", "n_words", "replay"]


def description(params: Params) -> Description:
    return Description(
        "a model of all transitions",
        phases=tuple(phase for phase in phases_of(params.replay_at) if phase != EPISODE_END),
        priority="along the policy, from the agent",
        source="Sutton & Barto 2018",
        label="Trajectory sampling",
        goes_forward=True,
        needs_way_back=params.reversible,
    )


def replay(params: Params, memory: Memory, pause: Pause, rng: Generator, log: BackupBuffer) -> None:
    """Learn from steps that the model predicts from here."""
    if pause.phase == EPISODE_END or not is_due(params.replay_at, pause.phase):
        return
    s, cause = pause.state, -1
    for i in range(params.n_replays):
        if not goes_on(params, memory.earnings, latest_change(memory.earnings), rng):
            break
        a = epsilon_greedy(memory.action_values, s, params.epsilon, rng)
        ended = memory.model.visits[s, a] == 0
        if not ended:
            edge = draw_edge(memory.model, s, a, rng)
            cause = back_up_edge(params, memory, edge, pause.phase, i, cause, log)
            s = memory.model.edges[edge]["next_state"]
            ended = memory.outcomes.rows[edge]["terminated"]
        if ended:
            s, cause = pause.state, -1
