"""The parameters and the memory of prioritized memory access, and the records in it."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from replay.learners import ranges
from replay.learners.contract import Choice
from replay.parts.moments import IN_PAUSES
from replay.parts.need import NEEDS, SUCCESSORS, Need
from replay.parts.numbering import Numbering
from replay.parts.policies import SOFTMAX
from replay.parts.world_model import WorldModel

__all__ = ["Memory", "Params", "Path", "PriorityTable", "Whereabouts"]


class Params(NamedTuple):
    """Parameters of prioritized memory access.

    What is not listed is explained in :data:`replay.learners.ranges.SHARED`.

    Attributes
    ----------
    act_policy : {"softmax", "epsilon_greedy"}
        The policy by which the agent acts. Gains are those of the softmax policy.
    inverse_temperature : float
        Inverse temperature of the softmax policy.
    epsilon : float
        Probability of a random action of the epsilon-greedy policy.
    learning_rate : float
        Fraction of the distance to its target by which an action value moves, online and in replay.
    transition_rate : float
        Fraction of the distance to the latest move by which a row of T moves.
    one_step_late : bool
        Whether, as in the published code, replay at a start waits for the first step, and need is
        counted from the state before the latest step, also at an end.
    max_backups : int
        Largest number of backups per pause; an n-step backup counts once.
    min_priority : float
        A pause ends when no backup has a larger expected value than this.
    use_gain : bool
        Whether gain counts; if not, the gain of a backup is 1, however many steps it has.
    gain_floor : float
        The least gain that each step of a backup is assumed to have. With the published 1e-10, need
        alone decides where nothing can be gained; 0 is the theory as it stands.
    need : {"successor_representation", "stationary_distribution", "current_state", "one"}
        The definition of need; see :data:`replay.parts.need.NEEDS`.
    n_step : bool
        Whether a backup may extend the last one.
    pre_explored : bool
        Whether every action is tried once in every state before the first step, without reward.
    forgetting : float
        Fraction of themselves that all action values lose at each step.
    forgets_to_mean : bool
        Whether they decay towards the mean reward so far, as in the published code, and not to 0.
    """

    discount: ranges.DiscountBelowOne = 0.9
    act_policy: ranges.PolicyKind = SOFTMAX
    inverse_temperature: ranges.InverseTemperature = 5.0
    epsilon: ranges.Share = 0.05
    learning_rate: ranges.Share = 1.0
    transition_rate: ranges.Share = 0.9
    replay_at: ranges.Moment = IN_PAUSES
    one_step_late: bool = False
    max_backups: ranges.Count = 20
    min_priority: ranges.Threshold = 0.0
    backup_cost: ranges.NotNegative = 0.0
    mean_backups: ranges.Mean = np.inf
    use_gain: bool = True
    gain_floor: ranges.NotNegative = 1e-10
    need: Annotated[int, Choice(NEEDS)] = SUCCESSORS
    n_step: bool = True
    pre_explored: bool = False
    forgetting: ranges.Share = 0.0
    forgets_to_mean: bool = False


class PriorityTable(NamedTuple):
    """The arrays of the table.

    Attributes
    ----------
    gain : ndarray of float64, shape (n_states, n_actions)
        The gain of backing up each pair.
    priority : ndarray of float64, shape (n_states, n_actions)
        The priority of each pair; -1 if it is excluded.
    highest : ndarray of float64, shape (n_states,)
        The highest priority in each state.
    stale : Numbering
        States whose gains have to be recomputed.
    """

    gain: NDArray[np.float64]
    priority: NDArray[np.float64]
    highest: NDArray[np.float64]
    stale: Numbering


class Path(NamedTuple):
    """The latest backup, and a step that may extend it.

    Attributes
    ----------
    state, action : ndarray of int32, shape (n_steps,)
        Its steps.
    target, gain : ndarray of float64, shape (n_steps,)
        The n-step return from each step on, and the gain of learning it.
    """

    state: NDArray[np.int32]
    action: NDArray[np.int32]
    target: NDArray[np.float64]
    gain: NDArray[np.float64]


class Whereabouts(NamedTuple):
    """What is known about the current episode, and the rewards so far.

    Attributes
    ----------
    moment : ndarray of int64, shape (5,)
        The state before the latest step, the first state of the episode (-1 before its first
        step), the state in which the last episode ended (-1 if it was cut off), whether a reward
        was ever found, and whether replay waits for a first step.
    earned : ndarray of float64, shape (2,)
        The sum of all rewards so far, and their number.
    """

    moment: NDArray[np.int64]
    earned: NDArray[np.float64]


class Memory(NamedTuple):
    """The memory of prioritized memory access.

    Attributes
    ----------
    action_values : ndarray of float64, shape (n_states, n_actions)
        Q.
    values : ndarray of float64, shape (n_states,)
        V, the value of each state.
    next_state : ndarray of int32, shape (n_states, n_actions)
        The latest outcome of each pair; -1 if it was never tried.
    reward : ndarray of float64, shape (n_states, n_actions)
        The reward of that try.
    table : PriorityTable
        Gain and expected value of backing up each pair.
    path : Path
        The latest backup.
    model : WorldModel
        The transitions observed, to look up predecessors.
    need : Need
        Need of each state, as of the latest pause, and T.
    whereabouts : Whereabouts
        What is known of the current episode.
    """

    action_values: NDArray[np.float64]
    values: NDArray[np.float64]
    next_state: NDArray[np.int32]
    reward: NDArray[np.float64]
    table: PriorityTable
    path: Path
    model: WorldModel
    need: Need
    whereabouts: Whereabouts
