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

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from replay.jit import inlined
from replay.log.backups import EPISODE_END, REST
from replay.parts.gain import greedy_gain, set_changed_values
from replay.parts.interfaces import PauseLike
from replay.parts.markov_chain import set_edge
from replay.parts.need import SUCCESSORS, Need, count_need, need_of, set_policy_moves
from replay.parts.priorities import GAIN, NEED, is_evaluated
from replay.parts.world_model import WorldModel, edge_to

__all__ = ["Evaluation", "EvaluationParams", "evaluation", "evaluation_words", "gain_and_need"]
__all__ += ["look_ahead", "note_start", "worth_of_backup", "worth_of_propagating"]


class EvaluationParams(Protocol):
    """The parameters of a learner that an evaluation reads."""

    @property
    def discount(self) -> float: ...
    @property
    def epsilon(self) -> float: ...
    @property
    def priority(self) -> int: ...


class Evaluation(NamedTuple):
    """The arrays of an evaluation. Their last state stands for the time between episodes.

    Attributes
    ----------
    need : Need
        The need of ``n_states + 1`` states as of the latest `look_ahead`; 1 before the first.
    after : ndarray of float64, shape (n_actions,)
        Workspace for the new action values of one state.
    starts : ndarray of int64, shape (n_states + 1,)
        How many episodes began in each state, and how many in all.
    n_changes : ndarray of int64, shape (1,)
        How often the edges of the model had changed by the latest `look_ahead`.
    """

    need: Need
    after: NDArray[np.float64]
    starts: NDArray[np.int64]
    n_changes: NDArray[np.int64]


def evaluation(priority: int, discount: float, model: WorldModel) -> Evaluation | None:
    """Make an evaluation of backups for a learner that has experienced nothing.

    Parameters
    ----------
    priority : int
        Index in :data:`replay.parts.priorities.PRIORITIES`.
    discount : float
        Discount per step.
    model : WorldModel
        The learned model.

    Returns
    -------
    Evaluation or None
        None if the priority depends on neither gain nor need. Its chain has room for the edges of
        the model, and for one edge from each state to the time between episodes and one back.

    Raises
    ------
    ValueError
        If the priority depends on need, and the discount is 1.

    Examples
    --------
    An agent that was once led from 0 over 1 to the end 2, and is in 1 now:

    >>> from replay.learners.contract import Pause
    >>> from replay.learners.full_backups import Params
    >>> from replay.log.backups import STEP
    >>> from replay.parts.priorities import NEED
    >>> from replay.parts.world_model import count_transition, world_model
    >>> model = world_model(3, 1, 2)
    >>> params = Params(priority=NEED, discount=0.5)
    >>> seen = evaluation(params.priority, params.discount, model)
    >>> count_transition(model, 0, 0, 1, False), count_transition(model, 1, 0, 2, True)
    (None, None)
    >>> look_ahead(seen, params, model, np.zeros((3, 1)), Pause(STEP, 1, False))
    >>> seen.need.expected[:3].tolist()
    [0.0, 1.0, 0.5]
    """
    if not is_evaluated(priority):
        return None
    if priority != GAIN and discount == 1.0:
        raise ValueError(
            "Need sums over the whole future, so a priority with need asks for a discount below 1, "
            "got 1."
        )
    n_states, n_actions = model.visits.shape
    return Evaluation(
        need_of(n_states + 1, len(model.edges) + 2 * n_states),
        np.zeros(n_actions),
        np.zeros(n_states + 1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )


def evaluation_words(evaluation: Evaluation | None) -> int:
    """Count the numbers held: one per state in which episodes began. The rest is recomputed."""
    if evaluation is None:
        return 0
    return int(np.count_nonzero(evaluation.starts[:-1]))


@inlined
def note_start(evaluation: Evaluation | None, state: int, first: bool = False) -> None:
    """Note that an episode begins in a state.

    Parameters
    ----------
    evaluation : Evaluation or None
        Changed in place.
    state : int
    first : bool, default False
        Whether to note it only if no episode was noted before.
    """
    if evaluation is None:
        return
    between = len(evaluation.starts) - 1
    if not first or evaluation.starts[between] == 0:
        evaluation.starts[state] += 1
        evaluation.starts[between] += 1


@inlined
def gain_and_need(
    evaluation: Evaluation | None,
    params: EvaluationParams,
    action_values: NDArray[np.float64],
    state: int,
    action: int,
    after: float,
) -> tuple[float, float]:
    """Return the gain and the need of one backup, for the log.

    Parameters
    ----------
    evaluation : Evaluation or None
        As of the latest `look_ahead`.
    params : EvaluationParams
        The learner's.
    action_values : ndarray of float64, shape (n_states, n_actions)
        Q, before the backup.
    state, action : int
        The pair that is backed up.
    after : float
        Its new value.

    Returns
    -------
    gain, need : float
        The gain, and the need of the state; nan where they are not computed.
    """
    if evaluation is None:
        return np.nan, np.nan
    set_changed_values(evaluation.after, action_values, state, action, after)
    need = np.nan if params.priority == GAIN else evaluation.need.expected[state]
    return greedy_gain(action_values, state, evaluation.after, params.epsilon), need


@inlined
def worth_of_backup(
    evaluation: Evaluation,
    params: EvaluationParams,
    action_values: NDArray[np.float64],
    state: int,
    action: int,
    after: float,
) -> float:
    """Return the expected value of a backup.

    Parameters
    ----------
    evaluation : Evaluation
        As of the latest `look_ahead`.
    params : EvaluationParams
        The learner's.
    action_values : ndarray of float64, shape (n_states, n_actions)
        Q, before the backup.
    state, action : int
        The pair that is backed up.
    after : float
        Its new value.

    Returns
    -------
    float
        Need x gain; with the priority ``need``, need x the size of the change.
    """
    need, values = evaluation.need.expected[state], evaluation.after
    set_changed_values(values, action_values, state, action, after)
    if params.priority == NEED:
        return float(need * abs(values[action] - action_values[state, action]))
    return float(need * greedy_gain(action_values, state, values, params.epsilon))


@inlined
def worth_of_propagating(
    evaluation: Evaluation,
    params: EvaluationParams,
    model: WorldModel,
    action_values: NDArray[np.float64],
    state: int,
    change: float,
) -> float:
    """Return the expected value of propagating the change of a state's value to its predecessors.

    Parameters
    ----------
    evaluation : Evaluation
        As of the latest `look_ahead`.
    params : EvaluationParams
        The learner's.
    model : WorldModel
        The learned model of the world.
    action_values : ndarray of float64, shape (n_states, n_actions)
        Q, before the change is propagated.
    state : int
    change : float
        The change of its value.

    Returns
    -------
    float
        The sum of need x gain over its predecessors; where several actions of one predecessor lead
        to the state, their values change together. With the priority ``need``, the need of the
        state x the size of the change.
    """
    if params.priority == NEED:
        return float(evaluation.need.expected[state] * abs(change))
    change *= params.discount
    total = 0.0
    edge = model.first_in[state]
    while edge >= 0:
        s, a = model.edges[edge]["state"], model.edges[edge]["action"]
        if a == _set_propagated_values(evaluation.after, model, action_values, s, state, change):
            gain = greedy_gain(action_values, s, evaluation.after, params.epsilon)
            total += evaluation.need.expected[s] * gain
        edge = model.edges[edge]["next_in"]
    return total


@inlined
def _set_propagated_values(
    after: NDArray[np.float64],
    model: WorldModel,
    action_values: NDArray[np.float64],
    s: int,
    s_next: int,
    change: float,
) -> int:
    """Write Q(s, .) after propagation from s_next; return the first action that leads there."""
    first = -1
    for b in range(len(after)):
        after[b] = action_values[s, b]
        edge = edge_to(model, s, b, s_next)
        if edge >= 0:
            after[b] += change * model.edges[edge]["count"] / model.visits[s, b]
            if first < 0:
                first = b
    return first


@inlined
def look_ahead(
    evaluation: Evaluation | None,
    params: EvaluationParams,
    model: WorldModel,
    action_values: NDArray[np.float64],
    pause: PauseLike,
) -> None:
    """Compute the need of all states, if the priority depends on it.

    Parameters
    ----------
    evaluation : Evaluation or None
        Changed in place.
    params : EvaluationParams
        The learner's.
    model : WorldModel
        The learned model of the world.
    action_values : ndarray of float64, shape (n_states, n_actions)
        Q.
    pause : Pause
        A :class:`replay.learners.contract.Pause`.
    """
    if evaluation is None:
        return
    if params.priority == GAIN:
        return
    need, starts, phase = evaluation.need, evaluation.starts, pause.phase
    between = len(starts) - 1
    set_policy_moves(need.chain, model, action_values, params.epsilon, phase == REST)
    for s in range(between):
        if starts[s] > 0:
            set_edge(need.chain, between, s, starts[s] / starts[between])
    if model.n_changes[0] != evaluation.n_changes[0]:
        evaluation.n_changes[0] = model.n_changes[0]
        need.elimination.n_edges[0] = -1  # the edges differ, perhaps not in number: order them anew
    need.shares[:] = 0.0
    need.shares[between] = 1.0
    origin = between if phase == EPISODE_END else pause.state
    count_need(need, SUCCESSORS, phase, origin, params.discount)
