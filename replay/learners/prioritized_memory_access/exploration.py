"""A world that was explored before the first step: every action was tried once in every state."""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from replay.jit import kernel
from replay.learners.prioritized_memory_access.memory import Memory
from replay.learners.prioritized_memory_access.whereabouts import note_tries
from replay.parts.known_world import known_world, likeliest_outcomes
from replay.parts.markov_chain import MarkovChain, set_edge
from replay.parts.numbering import meet
from replay.parts.world_model import WorldModel, count_transition
from replay.worlds.mdp import MDP

__all__ = ["explore_chain", "explore_pairs", "explore_world", "link_ends"]


def explore_world(memory: Memory, mdp: MDP | None) -> None:
    """Try every action once in every state, without reward."""
    mdp = known_world("pre_explored", mdp, memory.next_state.shape[1])
    memory.next_state[:] = explore_pairs(memory.model, mdp)
    explore_chain(memory.need.chain, mdp)
    for s in range(mdp.n_states):
        meet(memory.table.stale, s)
    note_tries(memory.whereabouts, int(np.count_nonzero(memory.next_state >= 0)))


def explore_pairs(model: WorldModel, mdp: MDP) -> NDArray[np.int32]:
    """Count one transition of each pair in a model: the most probable one.

    Return where each pair led, (n_states, n_actions); -1 in terminal states.

    Examples
    --------
    >>> from replay.worlds.mazes import from_ascii
    >>> from replay.parts.world_model import world_model
    >>> maze = from_ascii("S.G")
    >>> explore_pairs(world_model(3, 4, 12), maze).tolist()
    [[0, 1, 0, 0], [1, 2, 1, 0], [-1, -1, -1, -1]]
    """
    next_state = likeliest_outcomes(mdp)
    _observe_all(model, next_state, mdp.terminal)
    return next_state


def explore_chain(chain: MarkovChain, mdp: MDP) -> None:
    """Set a chain to the moves of uniformly random actions, and link its ends to all starts.

    Examples
    --------
    >>> from replay.parts.markov_chain import markov_chain
    >>> from replay.worlds.mazes import from_ascii
    >>> chain = markov_chain(2, 10)
    >>> explore_chain(chain, from_ascii("SG"))
    >>> chain.edges["probability"][:3].tolist()
    [0.75, 0.25, 1.0]
    """
    any_action = np.full((1, mdp.n_actions), 1 / mdp.n_actions)
    moves = sparse.kron(sparse.eye_array(mdp.n_states), any_action) @ mdp.transition_matrix()
    edges = sparse.coo_array(moves + _links(mdp))
    _set_all(chain, edges.row, edges.col, edges.data)


def link_ends(chain: MarkovChain, mdp: MDP) -> None:
    """Link each terminal state in a chain to the states where episodes may start.

    The probabilities of the links are those of the starts.

    Examples
    --------
    >>> from replay.parts.markov_chain import markov_chain
    >>> from replay.worlds.mazes import from_ascii
    >>> chain = markov_chain(3, 10)
    >>> link_ends(chain, from_ascii("..G"))
    >>> sorted(chain.edges[:2][["next_state", "probability"]].tolist())
    [(0, 0.5), (1, 0.5)]
    """
    links = sparse.coo_array(_links(mdp))
    _set_all(chain, links.row, links.col, links.data)


def _links(mdp: MDP) -> sparse.csr_array:
    ends = sparse.csr_array(mdp.terminal[:, np.newaxis], dtype=float)
    return ends @ sparse.csr_array(mdp.start_probability[np.newaxis])


@kernel
def _observe_all(
    model: WorldModel, next_state: NDArray[np.int32], terminal: NDArray[np.bool_]
) -> None:
    for s in range(next_state.shape[0]):
        for a in range(next_state.shape[1]):
            if next_state[s, a] >= 0:
                count_transition(model, s, a, next_state[s, a], terminal[next_state[s, a]])


@kernel
def _set_all(
    chain: MarkovChain,
    states: NDArray[np.int32],
    next_states: NDArray[np.int32],
    shares: NDArray[np.float64],
) -> None:
    for i in range(len(states)):
        set_edge(chain, states[i], next_states[i], shares[i])
