"""The parameters and the memory of prioritized memory access, and a world known beforehand."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from replay.checks.arrays import Bools, Floats, Int32s
from replay.jit import kernel
from replay.learners import ranges
from replay.learners.contract import Choice
from replay.learners.ranges import known_world, likeliest_outcomes
from replay.parts.experiences import Numbering, meet
from replay.parts.markov_chain import MarkovChain, set_edge
from replay.parts.need import NEEDS, SUCCESSORS, Need
from replay.parts.pauses import IN_PAUSES
from replay.parts.policies import SOFTMAX
from replay.parts.world_model import WorldModel, count_transition
from replay.worlds.mdp import MDP


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
    """The arrays of the table."""

    gain: Floats  # (n_states, n_actions): the gain of backing up each pair
    # (n_states, n_actions): the priority of each pair; -1 if it is excluded
    priority: Floats
    highest: Floats  # (n_states,): the highest priority in each state
    stale: Numbering  # States whose gains have to be recomputed


class Path(NamedTuple):
    """The latest backup, and a step that may extend it."""

    # (n_steps,): its steps
    state: Int32s
    action: Int32s
    # (n_steps,): the n-step return from each step on, and the gain of learning it
    target: Floats
    gain: Floats


WHEREABOUTS = np.dtype(
    [
        ("before", np.int64),  # the state before the latest step
        ("first", np.int64),  # the first state of the episode; -1 before its first step
        ("end", np.int64),  # the state in which the last episode ended; -1 if it was cut off
        ("rewarded", np.bool_),  # whether a reward was ever found
        ("waits", np.bool_),  # whether replay waits for a first step
        ("earned", np.float64),  # the sum of all rewards so far
        ("n_tries", np.float64),  # and the number of tries in which they were earned
    ],
    align=True,
)
"""What is known about the current episode, and the rewards so far."""


class Memory(NamedTuple):
    """The memory of prioritized memory access."""

    action_values: Floats  # (n_states, n_actions): Q
    values: Floats  # (n_states,): V, the value of each state
    # (n_states, n_actions): the latest outcome of each pair; -1 if it was never tried
    next_state: Int32s
    reward: Floats  # (n_states, n_actions): the reward of that try
    table: PriorityTable  # Gain and expected value of backing up each pair
    path: Path  # The latest backup
    model: WorldModel  # The transitions observed, to look up predecessors
    need: Need  # Need of each state, as of the latest pause, and T
    whereabouts: NDArray[np.void]  # (1,): what is known of the current episode


def whereabouts() -> NDArray[np.void]:
    """Make the record of a learner that has experienced nothing."""
    here = np.zeros(1, dtype=WHEREABOUTS)  # the padding, too: equal runs begin with equal bytes
    here["before"] = here["first"] = here["end"] = -1
    return here


def explore_world(memory: Memory, mdp: MDP | None) -> None:
    """Try every action once in every state, without reward."""
    mdp = known_world("pre_explored", mdp, memory.next_state.shape[1])
    memory.next_state[:] = explore_pairs(memory.model, mdp)
    explore_chain(memory.need.chain, mdp)
    for s in range(mdp.n_states):
        meet(memory.table.stale, s)
    memory.whereabouts[0]["n_tries"] += np.count_nonzero(memory.next_state >= 0)


def explore_pairs(model: WorldModel, mdp: MDP) -> Int32s:
    """Count one transition of each pair in a model: the most probable one.

    Return where each pair led, (n_states, n_actions); -1 in terminal states.
    """
    next_state = likeliest_outcomes(mdp)
    _observe_all(model, next_state, mdp.terminal)
    return next_state


def explore_chain(chain: MarkovChain, mdp: MDP) -> None:
    """Set a chain to the moves of uniformly random actions, and link its ends to all starts."""
    any_action = np.full((1, mdp.n_actions), 1 / mdp.n_actions)
    moves = sparse.kron(sparse.eye_array(mdp.n_states), any_action) @ mdp.transition_matrix()
    edges = sparse.coo_array(moves + _links(mdp))
    _set_all(chain, edges.row, edges.col, edges.data)


def link_ends(chain: MarkovChain, mdp: MDP) -> None:
    """Link each terminal state in a chain to the states where episodes may start.

    The probabilities of the links are those of the starts.
    """
    links = sparse.coo_array(_links(mdp))
    _set_all(chain, links.row, links.col, links.data)


def _links(mdp: MDP) -> sparse.csr_array:
    ends = sparse.csr_array(mdp.terminal[:, np.newaxis], dtype=float)
    return ends @ sparse.csr_array(mdp.start_probability[np.newaxis])


@kernel
def _observe_all(model: WorldModel, next_state: Int32s, terminal: Bools) -> None:
    for s in range(next_state.shape[0]):
        for a in range(next_state.shape[1]):
            if next_state[s, a] >= 0:
                count_transition(model, s, a, next_state[s, a], terminal[next_state[s, a]])


@kernel
def _set_all(chain: MarkovChain, states: Int32s, next_states: Int32s, shares: Floats) -> None:
    for i in range(len(states)):
        set_edge(chain, states[i], next_states[i], shares[i])
