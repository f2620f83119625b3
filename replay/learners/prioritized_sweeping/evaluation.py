"""What a backup is worth to the agent now: the gain of its policy times the need of a state.

As long as the policy stays the same, a change of V(s) changes the value of the agent's state in
proportion to the need of s, so that gain times need is the expected value of a backup [1]_. Need is
that of the learned model under the current epsilon-greedy policy: nothing else has to be learned
for it, and nothing is sampled. While the agent is awake, the visits until the episode ends count;
at an episode's end, those of the next episode, which begins as the earlier ones did. At rest, the
visits in the long run count, over all episodes.

References
----------
.. [1] Mattar & Daw (2018), Prioritized memory access explains planning and hippocampal replay.
   https://doi.org/10.1038/s41593-018-0232-z
"""

from typing import NamedTuple

import numpy as np

from replay.checks.arrays import Floats, Ints
from replay.jit import inlined
from replay.log.backups import EPISODE_END, REST
from replay.parts.markov_chain import set_edge
from replay.parts.need import SUCCESSORS, Need, count_need, need_of, set_policy_moves
from replay.parts.pauses import Pause
from replay.parts.world_model import WorldModel


class Evaluation(NamedTuple):
    """The arrays of an evaluation. Their last state stands for the time between episodes."""

    # The need of ``n_states + 1`` states as of the latest `look_ahead`; 1 before the first
    need: Need
    after: Floats  # (n_actions,): workspace for the new action values of one state
    # (n_states + 1,): how many episodes began in each state, and how many in all
    starts: Ints
    # (1,): how often the edges of the model had changed by the latest `look_ahead`
    n_changes: Ints


def evaluation(discount: float, model: WorldModel) -> Evaluation:
    """Make an evaluation of states for a learner that has experienced nothing."""
    if discount == 1.0:
        raise ValueError(
            "Need sums over the whole future, so a priority with need asks for a discount below 1, "
            "got 1."
        )
    n_states, n_actions = model.visits.shape
    return Evaluation(
        need=need_of(n_states + 1, len(model.edges) + 2 * n_states),
        after=np.zeros(n_actions),
        starts=np.zeros(n_states + 1, dtype=np.int64),
        n_changes=np.zeros(1, dtype=np.int64),
    )


def evaluation_words(evaluation: Evaluation | None) -> int:
    """Count the numbers held: one per state in which episodes began. The rest is recomputed."""
    if evaluation is None:
        return 0
    return int(np.count_nonzero(evaluation.starts[:-1]))


@inlined
def note_start(evaluation: Evaluation | None, state: int, first: bool = False) -> None:
    """Note that an episode begins in a state."""
    if evaluation is None:
        return
    between = len(evaluation.starts) - 1
    if not first or evaluation.starts[between] == 0:
        evaluation.starts[state] += 1
        evaluation.starts[between] += 1


@inlined
def look_ahead(
    evaluation: Evaluation | None,
    model: WorldModel,
    action_values: Floats,
    discount: float,
    epsilon: float,
    pause: Pause,
) -> None:
    """Compute the need of all states, from where the agent is."""
    if evaluation is None:
        return
    need, starts, phase = evaluation.need, evaluation.starts, pause.phase
    between = len(starts) - 1
    set_policy_moves(need.chain, model, action_values, epsilon, phase == REST)
    for s in range(between):
        if starts[s] > 0:
            set_edge(need.chain, between, s, starts[s] / starts[between])
    if model.n_changes[0] != evaluation.n_changes[0]:
        evaluation.n_changes[0] = model.n_changes[0]
        need.elimination.n_edges[0] = -1  # the edges differ, perhaps not in number: order them anew
    need.shares[:] = 0.0
    need.shares[between] = 1.0
    origin = between if phase == EPISODE_END else pause.state
    count_need(need, SUCCESSORS, phase, origin, discount)


@inlined
def gain_and_need(
    evaluation: Evaluation | None,
    action_values: Floats,
    state: int,
    action: int,
    after: float,
    epsilon: float,
) -> tuple[float, float]:
    """Return the gain and the need of one backup, for the log.

    `after` is the new Q(state, action); need is that of the latest `look_ahead`, and both are NaN
    without.
    """
    if evaluation is None:
        return np.nan, np.nan
    values = evaluation.after
    for b in range(len(values)):
        values[b] = action_values[state, b]
    values[action] = after
    return greedy_gain(action_values, state, values, epsilon), evaluation.need.expected[state]


@inlined
def greedy_gain(action_values: Floats, state: int, after: Floats, epsilon: float) -> float:
    """Return how much more an epsilon-greedy policy earns from a state after a change of values.

    Random actions earn the same before and after. Only the greedy choice counts: the gain is the
    best of the new values, less the mean of the new values of the actions that are best now.
    Actions whose value is infinite, as they were never tried, are left out, as in maxima.
    """
    best_before, best_after = -np.inf, -np.inf
    total, n_best = 0.0, 0
    for action in range(len(after)):
        before = action_values[state, action]
        if before == np.inf:
            continue
        best_after = max(best_after, after[action])
        if before > best_before:
            best_before = before
            total, n_best = 0.0, 0
        if before == best_before:
            total += after[action]
            n_best += 1
    return (1.0 - epsilon) * (best_after - total / n_best)
