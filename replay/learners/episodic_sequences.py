"""Episodic control by whole sequences: the agent re-enacts the best one from its state.

At the end of an episode the sequence of pairs that followed from each of its states is remembered
if it earned more than expected a priori, and more than the one remembered for that state. The agent
retrieves the sequence of its state and re-enacts it as long as the world responds as it did then;
if it does not, or after an exploratory action, the agent retrieves anew. Without a sequence it acts
at random. Sequences are never combined: this is the difference from the table of best returns in
:mod:`replay.learners.episodic_control`, which decides afresh in every state.

The paper uses trees, in which no state is visited twice. Elsewhere a detour that leads back to a
state is left out of the sequence and of its return, so that no sequence is longer than the number
of states. Memory grows with the square of that number. A truncated episode has no return and is
forgotten.

There are no published settings: the paper describes the threshold `expected_return` only as what is
expected a priori, and neither the numbers nor the code of its simulations were available.

References
----------
.. [1] Lengyel & Dayan (2008), Hippocampal contributions to control: the third way.
   Advances in Neural Information Processing Systems 20, 889-896.
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from replay.checks.arrays import Floats, Ints
from replay.learners import ranges
from replay.learners.contract import Between, Description, Known, Pause, Sizes, Transition
from replay.learners.monte_carlo import most_backups
from replay.log.backups import EPISODE_END, BackupBuffer, record
from replay.parts import pauses
from replay.parts.experiences import Episode, add_transition, begin_episode, episode, episode_words
from replay.parts.pauses import Earnings
from replay.parts.policies import best_value

__all__ = ["Memory", "Params", "act", "description", "init", "learn", "most_backups", "n_words"]
__all__ += ["replay"]

_ORIGIN, _PLACE, _EXPECTED = range(3)  # of what is followed
_MOVE = np.dtype([("action", np.int32), ("next_state", np.int32)])
_VISIT = np.dtype([("total", np.float64), ("place", np.int64), ("row", np.int64)])


class Params(NamedTuple):
    """Parameters of episodic control by sequences.

    What is not listed is explained in :data:`replay.learners.ranges.SHARED`.

    Attributes
    ----------
    expected_return : float
        The return expected a priori: a sequence is remembered if it earned more.
    """

    discount: ranges.Share = 0.99
    epsilon: ranges.Share = 0.1
    expected_return: Annotated[float, Between(-np.inf, np.inf)] = -np.inf
    backup_cost: ranges.NotNegative = 0.0
    mean_backups: ranges.Mean = np.inf


class Memory(NamedTuple):
    """The memory of episodic control by sequences."""

    # (n_states, n_actions): the best return so far of a sequence that began with each pair; 0
    # if there was none
    action_values: Floats
    # (n_states, n_actions): the same; minus infinity if there was none
    best_returns: Floats
    # (n_states, n_states): ``action`` and ``next_state`` of each move in the best sequence
    # from each state
    sequences: NDArray[np.void]
    lengths: Ints  # (n_states,): its number of moves; 0 if there is none
    # (3,): the first state of the sequence that is re-enacted (-1: none is), its next move,
    # and the state in which that was made
    following: Ints
    episode: Episode  # The transitions of this episode
    # (n_states,): at the episode's end: the return after each state's last visit, the place
    # of that visit in the episode (-1 if there was none), and its row in the log
    last_visits: NDArray[np.void]
    earnings: Earnings  # Rewards and changes of values so far, on which the end of a pause depends


def description(params: Params) -> Description:
    return Description(
        "the episode; the best sequence from each state",
        phases=(EPISODE_END,),
        priority="backwards",
        source="Lengyel & Dayan 2008",
        label="Episodic control, sequences",
        needs_episodes=True,
    )


def init(params: Params, sizes: Sizes) -> Memory:
    shape = (sizes.n_states, sizes.n_actions)
    last_visits = np.zeros(sizes.n_states, dtype=_VISIT)
    last_visits["place"] = -1
    return Memory(
        action_values=np.zeros(shape),
        best_returns=np.full(shape, -np.inf),
        sequences=np.zeros((sizes.n_states, sizes.n_states), dtype=_MOVE),
        lengths=np.zeros(sizes.n_states, dtype=np.int64),
        following=np.full(3, -1, dtype=np.int64),
        episode=episode(sizes.n_steps),
        last_visits=last_visits,
        earnings=pauses.earnings(),
    )


def n_words(params: Params, memory: Memory, known: Known) -> int:
    """Count the numbers held: Q of each pair, the sequences and their lengths, and the episode."""
    sequences = np.count_nonzero(memory.lengths) + len(_MOVE.names or ()) * np.sum(memory.lengths)
    held = episode_words(memory.episode) + pauses.earnings_words(params)
    return int(known.pairs + sequences + held)


def act(params: Params, memory: Memory, state: int, rng: Generator) -> int:
    """Make the next move of the sequence, or begin another one; sometimes explore."""
    n_actions: int = memory.action_values.shape[1]
    origin, place, expected = memory.following
    memory.following[_ORIGIN] = -1
    draw = rng.random()  # one number for both choices, as in other policies
    if draw < params.epsilon:
        return min(int(draw / params.epsilon * n_actions), n_actions - 1)
    if origin < 0 or expected != state:
        origin, place = state, 0
    if place == memory.lengths[origin]:
        draw = (draw - params.epsilon) / (1.0 - params.epsilon)
        return min(int(draw * n_actions), n_actions - 1)
    move = memory.sequences[origin, place]
    memory.following[_ORIGIN] = origin
    memory.following[_PLACE] = place + 1
    memory.following[_EXPECTED] = move["next_state"]
    return int(move["action"])


def learn(params: Params, memory: Memory, transition: Transition, log: BackupBuffer) -> None:
    """Remember the transition."""
    pauses.note_experience(params, memory.earnings, memory.action_values, transition)
    add_transition(memory.episode, transition.state, transition.action, transition.reward)


def _keep_sequence(memory: Memory, state: int, goal: int) -> None:
    """Keep the sequence that followed from a state in this episode, without detours."""
    steps, last_visits = memory.episode.steps, memory.last_visits
    length = 0
    s = state
    while s != goal:  # on from the last visit to each state: what came before it was a detour
        place = last_visits[s]["place"]
        move = memory.sequences[state, length]
        move["action"] = steps[place]["action"]
        s = goal if place + 1 == memory.episode.length[0] else steps[place + 1]["state"]
        move["next_state"] = s
        length += 1
    memory.lengths[state] = length


def replay(params: Params, memory: Memory, pause: Pause, rng: Generator, log: BackupBuffer) -> None:
    """At an episode's end, remember those of its sequences that are the best, shortest first."""
    if pause.phase != EPISODE_END:
        return
    Q, best, last_visits = memory.action_values, memory.best_returns, memory.last_visits
    steps, goal = memory.episode.steps, pause.state
    # A truncated episode has no return, and nothing is learned from it.
    n_steps = memory.episode.length[0] if pause.terminated else 0
    next_state = goal
    for back in range(n_steps):
        place = n_steps - 1 - back
        s, a, r = steps[place]["state"], steps[place]["action"], steps[place]["reward"]
        visit = last_visits[s]
        if visit["place"] < 0:
            if not pauses.goes_on(
                params, memory.earnings, pauses.latest_change(memory.earnings), rng
            ):
                break
            total, cause = r, -1
            if next_state != goal:
                total += params.discount * last_visits[next_state]["total"]
                cause = last_visits[next_state]["row"]
            visit["place"] = place
            visit["total"] = total
            before = Q[s, a]
            if total > params.expected_return:
                if total > best_value(best, s):
                    _keep_sequence(memory, s, goal)
                best[s, a] = max(total, best[s, a])
                Q[s, a] = best[s, a]
            pauses.note_change(params, memory.earnings, before, Q[s, a])
            visit["row"] = record(
                log, EPISODE_END, s, a, next_state, before, Q[s, a], r, pop=back, cause=cause
            )
        next_state = s
    for place in range(n_steps):
        last_visits[steps[place]["state"]]["place"] = -1
    begin_episode(memory.episode)
    memory.following[_ORIGIN] = -1
