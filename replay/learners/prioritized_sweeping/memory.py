"""The parameters and the memory of prioritized sweeping."""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from replay.learners import ranges
from replay.learners.contract import Between, Choice
from replay.learners.prioritized_sweeping.evaluation import Evaluation
from replay.learners.prioritized_sweeping.retention import EPISODES, RETENTION
from replay.parts.moments import EACH_STEP
from replay.parts.pauses import Earnings
from replay.parts.priority_queue import PriorityQueue
from replay.parts.world_model import WorldModel

__all__ = ["CHANGE", "NEED", "PRIORITIES", "RANDOM", "RECENCY", "Memory", "Params", "Popped"]

PRIORITIES = ("change", "need", "recency", "random")
"""``change``: the size of the change of V that waits to be propagated, as in the algorithm.
``need``: that size times the need of the state, which is how often the agent will be there, see
:mod:`replay.learners.prioritized_sweeping.evaluation`. ``recency``: the latest change first.
``random``: any that is waiting."""
CHANGE, NEED, RECENCY, RANDOM = range(4)


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
        The pauses in which states are popped; see :data:`replay.parts.moments.MOMENTS`. With
        ``reset_model`` this is the episode's end.
    forgetting : float
        Fraction of their weight that earlier outcomes of a pair lose when it is tried again: 0
        counts all alike, 1 keeps only the last. For worlds that change (``replay change``).
    retention : {"recent_episodes", "recent_transitions", "valuable_transitions", "fading"}
        What a bounded memory keeps; see
        :func:`replay.learners.prioritized_sweeping.retention.retain`.
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
    """The memory of prioritized sweeping.

    Attributes
    ----------
    action_values : ndarray of float64, shape (n_states, n_actions)
        Q.
    values : ndarray of float64, shape (n_states,)
        V, the largest action value of each state.
    known_values : ndarray of float64, shape (n_states,)
        U, the value of each state that was last propagated to its predecessors.
    n_steps : ndarray of int64, shape (1,)
        Steps since the last reset.
    model : WorldModel
        N: the transitions remembered since the last reset.
    queue : PriorityQueue
        The states whose change is to be propagated.
    evaluation : Evaluation or None
        The need of states, if the priority depends on it.
    earnings : Earnings
        Rewards and changes of values so far, on which the end of a pause depends.
    """

    action_values: NDArray[np.float64]
    values: NDArray[np.float64]
    known_values: NDArray[np.float64]
    n_steps: NDArray[np.int64]
    model: WorldModel
    queue: PriorityQueue
    evaluation: Evaluation | None
    earnings: Earnings


class Popped(NamedTuple):
    """A state that was popped from the queue.

    Attributes
    ----------
    state : int
    priority : float
    number : int
        How many states were popped before it in this pause.
    cause : int
        The row of the backup that put it in the queue; -1 if that was an online one.
    phase : int
        The phase of the pause.
    """

    state: int
    priority: float
    number: int
    cause: int
    phase: int
