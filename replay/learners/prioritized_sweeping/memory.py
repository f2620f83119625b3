"""The parameters and the memory of prioritized sweeping, and what a bounded memory forgets."""

import math
from typing import Annotated, NamedTuple

import numpy as np

from replay.checks.arrays import Floats, Ints
from replay.jit import inlined
from replay.learners import ranges
from replay.learners.contract import Between, Choice
from replay.learners.prioritized_sweeping.evaluation import Evaluation
from replay.parts.pauses import EACH_STEP, Earnings
from replay.parts.priority_queue import PriorityQueue, pop, remove, set_priority
from replay.parts.world_model import WorldModel, fade

PRIORITIES = ("change", "need", "recency", "random")
"""``change``: the size of the change of V that waits to be propagated, as in the algorithm.
``need``: that size times the need of the state, which is how often the agent will be there, see
:mod:`replay.learners.prioritized_sweeping.evaluation`. ``recency``: the latest change first.
``random``: any that is waiting."""
CHANGE, NEED, RECENCY, RANDOM = range(4)

RETENTION = ("recent_episodes", "recent_transitions", "valuable_transitions", "fading")
"""What is kept; see `retain`."""
EPISODES, TRANSITIONS, VALUABLE, FADING = range(4)

_TIE = 1e-12  # breaks ties of value: added once for each transition retained so far


class Params(NamedTuple):
    """Parameters of prioritized sweeping.

    What is not listed is explained in :data:`replay.learners.ranges.SHARED`. Algorithm 1 has
    ``max_pops``, ``min_priority``, ``initial_value`` and ``reset_model``. Of the others, its code
    has some, and studies compare some; ``replay compare`` draws what is not known of rats:
    ``priority``, ``replay_at``, ``reversible`` and what ends a pause.

    Attributes
    ----------
    max_pops : int
        Largest number of pops per pause. With ``reset_model`` it is instead the number of steps of
        the episode, at its end.
    min_priority : float
        Smaller changes of a value are not queued.
    initial_value : float
        Action value of an untried pair. Infinite: untried actions are preferred, and left out
        of maxima. Large and finite: optimistic prioritized sweeping.
    priority_only_lowers : bool
        Whether a queued state keeps its priority unless the new one is smaller, as in the
        published code (discrepancy D13). Otherwise its priority follows |V - U| up and down, and it
        leaves the queue when that is small.
    reset_model : bool
        Whether the model is emptied at each episode's end.
    queue_visited : bool
        With ``reset_model``: whether every visited state is queued during the episode, as in the
        published code, or only its last state, as in the paper's argument (discrepancy D6).
    priority : {"change", "need", "recency", "random"}
        Which of the queued states is popped next: the one with the largest change of its value, or
        of change x need, as Mattar & Daw (2018) argue, or the latest change, or any.
    replay_at : str
        The pauses in which states are popped; see :data:`replay.parts.pauses.MOMENTS`. With
        ``reset_model`` this is the episode's end.
    forgetting : float
        Fraction of their weight that earlier outcomes of a pair lose when it is tried again: 0
        counts all alike, 1 keeps only the last. For worlds that change (``replay change``).
    retention : {"recent_episodes", "recent_transitions", "valuable_transitions", "fading"}
        What a bounded memory keeps; see
        :func:`replay.learners.prioritized_sweeping.memory.retain`.
    capacity : float
        Bound of the memory, in episodes or transitions; infinite: none. Bounds are compared by
        ``replay study bounded_memory``.
    """

    discount: ranges.Share = 0.99
    epsilon: ranges.Share = 0.1
    max_pops: ranges.Count = 3
    min_priority: ranges.Threshold = 1e-8
    backup_cost: ranges.NotNegative = 0.0
    mean_backups: ranges.Mean = np.inf
    initial_value: ranges.InitialValue = 0.0
    priority_only_lowers: bool = False
    reset_model: bool = False
    queue_visited: bool = True
    act_before_update: bool = False
    priority: Annotated[int, Choice(PRIORITIES)] = CHANGE
    replay_at: ranges.Moment = EACH_STEP
    forgetting: ranges.Share = 0.0
    reversible: bool = False
    retention: Annotated[int, Choice(RETENTION)] = EPISODES
    capacity: Annotated[float, Between(1.0, math.inf)] = np.inf


class Memory(NamedTuple):
    """The memory of prioritized sweeping."""

    action_values: Floats  # (n_states, n_actions): Q
    values: Floats  # (n_states,): V, the largest action value of each state
    # (n_states,): U, the value of each state that was last propagated to its predecessors
    known_values: Floats
    n_steps: Ints  # (1,): steps since the last reset
    model: WorldModel  # N: the transitions remembered since the last reset
    queue: PriorityQueue  # The states whose change is to be propagated
    evaluation: Evaluation | None  # The need of states, if the priority depends on it
    earnings: Earnings  # Rewards and changes of values so far, on which the end of a pause depends


# The queue of a model is an argument, since numba omits code for None only there.


@inlined
def retain(
    queue: PriorityQueue | None, params: Params, model: WorldModel, s: int, a: int, value: float
) -> None:
    """Note that a pair was tried, and forget what no longer fits.

    A pair is forgotten with all its outcomes, so that the probabilities of the remembered ones
    stay true. By the rules of ``RETENTION`` these pairs are forgotten:

    * ``recent_episodes``: those not tried in the last `capacity` episodes;
    * ``recent_transitions``: the least recently tried one, so that at most `capacity` edges are
      left;
    * ``valuable_transitions``: the least valuable one (of several, the least recently tried or
      replayed), so that at most `capacity` edges are left;
    * ``fading``: those whose trace is below 1 / e. The trace begins at the pair's weight N when it
      was last tried, and decays by a factor e in `capacity` episodes, so that it lasts for
      capacity (1 + log N) episodes.
    """
    if queue is None:
        return
    pair = s * model.visits.shape[1] + a
    if params.retention in (EPISODES, FADING):
        lifetime = params.capacity
        if params.retention == FADING:
            lifetime *= 1.0 + math.log(model.visits[s, a])
        set_priority(queue, pair, -(model.clock[1] + lifetime), -1)
        return
    remove(queue, pair)
    while model.n_edges[0] > params.capacity and queue.size[0] > 0:
        _forget_pair(model, pop(queue))
    model.clock[0] += 1
    used = float(model.clock[0])
    if params.retention == VALUABLE:
        used = value + _TIE * used
    set_priority(queue, pair, -used, -1)


@inlined
def revalue(
    queue: PriorityQueue | None, params: Params, model: WorldModel, s: int, a: int, value: float
) -> None:
    """Give a remembered pair its new value, if memories are kept by value."""
    if queue is None:
        return
    if params.retention == VALUABLE:
        pair = s * model.visits.shape[1] + a
        set_priority(queue, pair, -(value + _TIE * model.clock[0]), -1)


@inlined
def forget_old_pairs(queue: PriorityQueue | None, params: Params, model: WorldModel) -> None:
    """Forget the pairs whose time is over, at the end of an episode."""
    model.clock[1] += 1
    if queue is None:
        return
    if params.retention in (EPISODES, FADING):
        while queue.size[0] > 0 and -queue.priority[0] <= model.clock[1]:
            _forget_pair(model, pop(queue))


@inlined
def _forget_pair(model: WorldModel, pair: int) -> None:
    n_actions = model.visits.shape[1]
    fade(model, pair // n_actions, pair % n_actions, 1.0)
