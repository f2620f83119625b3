"""Dyna-Q: Q-learning that also learns from imagined experience.

Every step is learned from twice: by one online backup, and through the learned model, from which
`n_replays` more backups are drawn: a pair, uniformly among those in the model, and one of its
outcomes, in proportion to how often it was observed. A reverse move that is only assumed is
imagined like experience; it gets no online backup.

References
----------
.. [1] Sutton (1990), Integrated architectures for learning, planning, and reacting based on
   approximating dynamic programming. https://doi.org/10.1016/B978-1-55860-141-3.50030-4
.. [2] Sutton & Barto (2018), Reinforcement Learning, 2nd edition, section 8.2.
"""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from replay.checks.arrays import Floats
from replay.learners import q_learning, ranges
from replay.learners.contract import Description, Known, Pause, Sizes, Transition
from replay.log.backups import BackupBuffer, record
from replay.parts import experiences, pauses
from replay.parts.experiences import Outcomes
from replay.parts.pauses import Earnings
from replay.parts.world_model import WorldModel, assume, model_words, unknown_way_back, world_model


class Params(NamedTuple):
    """Parameters of Dyna-Q.

    What is not listed is explained in :data:`replay.learners.ranges.SHARED`.

    Attributes
    ----------
    n_replays : int
        Number of backups drawn from the model per pause.
    """

    discount: ranges.Share = 0.99
    epsilon: ranges.Share = 0.1
    n_replays: ranges.Count = 10
    backup_cost: ranges.NotNegative = 0.0
    mean_backups: ranges.Mean = np.inf
    learning_rate: ranges.Share = 0.1
    initial_value: ranges.InitialValue = 0.0
    reversible: bool = False
    replay_at: ranges.Moment = pauses.STEP_AND_REST


class Memory(NamedTuple):
    """The memory of Dyna-Q."""

    action_values: Floats  # (n_states, n_actions): Q
    model: WorldModel  # The transitions observed
    outcomes: Outcomes  # Their rewards, and whether they ended the episode
    earnings: Earnings  # Rewards and changes of values so far, on which the end of a pause depends


def description(params: Params) -> Description:
    return Description(
        "a model of all transitions",
        phases=pauses.phases_of(params.replay_at),
        priority="at random",
        source="Sutton 1990",
        label="Dyna-Q",
        needs_way_back=params.reversible,
    )


def init(params: Params, sizes: Sizes) -> Memory:
    n_states, n_actions = sizes.n_states, sizes.n_actions
    model = world_model(n_states, n_actions, sizes.n_transitions, way_back=sizes.way_back)
    Q = np.full((n_states, n_actions), params.initial_value)
    return Memory(Q, model, experiences.outcomes_of(model), pauses.earnings())


def most_backups(params: Params, memory: Memory) -> int:
    return 1 + params.n_replays * pauses.most_pauses(params.replay_at)


def n_words(params: Params, memory: Memory, known: Known) -> int:
    """Count the numbers held: Q and the place of each pair in the model, and outcomes."""
    n_pairs, model = int(memory.outcomes.n_pairs[0]), memory.model
    held = model_words(model) + experiences.outcome_words(memory.outcomes, model)
    return n_pairs + held + pauses.earnings_words(params)


def learn(params: Params, memory: Memory, transition: Transition, log: BackupBuffer) -> None:
    """Back up the transition, and add it to the model."""
    pauses.note_experience(params, memory.earnings, memory.action_values, transition)
    q_learning.learn(params, memory, transition, log)
    model, outcomes = memory.model, memory.outcomes
    experiences.remember_outcome(outcomes, model, transition)
    s, a, s_next = transition.state, transition.action, transition.next_state
    back = unknown_way_back(model.way_back, model, s, a, s_next, transition.terminated)
    if back >= 0:
        way_back = Transition(s_next, back, 0.0, s, -1, False, False)
        experiences.remember_outcome(outcomes, model, way_back)
        assume(model.is_assumed, s_next, back)


def back_up_edge(
    params: Params, memory: Memory, edge: int, phase: int, pop: int, cause: int, log: BackupBuffer
) -> int:
    """Back up an edge of the model.

    `edge` is a row of ``model.edges``; return the row of the log.
    """
    Q, known, outcome = memory.action_values, memory.model.edges[edge], memory.outcomes.rows[edge]
    s, a, s_next, r = known["state"], known["action"], known["next_state"], outcome["reward"]
    before = q_learning.back_up(params, Q, s, a, r, s_next, outcome["terminated"])
    pauses.note_change(params, memory.earnings, before, Q[s, a])
    return record(log, phase, s, a, s_next, before, Q[s, a], r, pop=pop, cause=cause)


def replay(params: Params, memory: Memory, pause: Pause, rng: Generator, log: BackupBuffer) -> None:
    """Learn from the model's outcomes of pairs drawn at random."""
    if not pauses.is_due(params.replay_at, pause.phase):
        return
    for i in range(params.n_replays):
        if not pauses.goes_on(params, memory.earnings, pauses.latest_change(memory.earnings), rng):
            break
        edge = experiences.draw_outcome(memory.outcomes, memory.model, rng)
        back_up_edge(params, memory, edge, pause.phase, i, -1, log)
