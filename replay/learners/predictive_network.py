"""Predictive network: replay runs on as the next moves were learned to be predicted.

It computes no values. A recurrent network learns to predict what it will sense over the next steps,
from what it senses now, what it does and where it heads. Such networks, and only those that know
the heading and predict several steps, come to simulate paths when input is replaced by noise: they
diffuse over the map in wake-like steps, run in one direction while a virtual heading is held, and
return to what was experienced lately [1]_.

The original sees pictures of rooms, and predicts them from the moves that it will make. Where an
agent senses its state itself, what is left to be predicted is the next move, given the one by which
the agent came: a table. At each step the predictions of a move lose the share `learning_rate`, and
what was done gains it, so that recent paths weigh more; each move is expected to lead where it led
last. Offline, each move is drawn from its prediction; with probability `heading_noise` it is one of
all moves known at this place instead. So replay goes forward, along paths as they were run, and
turns from one to another where the heading is lost. Moves that lead nowhere are not learned.

Replay goes on from where the agent is, as it came there. At a start, to which it was carried, the
first move is one of all that are known there. At rest, and where no move is known, as at an end, it
is any known move, all alike; replay ends where an episode ended.

The table, with one move of the past in place of a recurrent memory and one move ahead in place of
several, is a choice of ours. So is where replay begins: theirs begins in a random state. Their
networks with adaptation, which run farther, have no counterpart here.

References
----------
.. [1] Levenstein et al. (2024), Sequential predictive learning is a unifying theory for
   hippocampal representation and replay. https://doi.org/10.1101/2024.04.28.591528
"""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from replay.checks.arrays import Floats, Ints
from replay.learners import ranges
from replay.learners.contract import Description, Known, Pause, Sizes, Transition
from replay.log.backups import REST, START, BackupBuffer, reactivate
from replay.parts.experiences import Experiences, experience_at, experience_words, experiences_of
from replay.parts.pauses import IN_PAUSES, is_due, most_pauses, phases_of
from replay.parts.policies import draw_weighted


class Params(NamedTuple):
    """Parameters of the predictive network.

    What is not listed is explained in :data:`replay.learners.ranges.SHARED`.

    Attributes
    ----------
    learning_rate : float
        Fraction of the distance to what was done by which a prediction moves.
    heading_noise : float
        Probability that the heading is lost, and any move known at a place may follow.
    n_replays : int
        Largest number of moves reactivated per pause.
    """

    learning_rate: ranges.Share = 0.3
    heading_noise: ranges.Share = 0.1
    n_replays: ranges.Count = 20
    replay_at: ranges.Moment = IN_PAUSES


class Memory(NamedTuple):
    """The memory of the predictive network; a heading is the row of the move that led here."""

    action_values: Floats  # (n_states, n_actions): 0
    moves: Experiences  # The last outcome of each pair that led somewhere
    # (n_states * n_actions, n_actions): what the probability of each action after each move is
    # proportional to
    predicted: Floats
    heading: Ints  # (1,): the move by which the agent came; -1: none that led somewhere
    is_over: Ints  # (1,): whether the episode ended with it
    weights: Floats  # (n_actions,): what the probabilities of actions are proportional to


def description(params: Params) -> Description:
    return Description(
        "the last try of each pair, and what follows it",
        phases=phases_of(params.replay_at),
        priority="what is predicted next",
        source="Levenstein et al. 2024",
        label="Predictive network",
        computes_values=False,
    )


def init(params: Params, sizes: Sizes) -> Memory:
    n_states, n_actions = sizes.n_states, sizes.n_actions
    return Memory(
        action_values=np.zeros((n_states, n_actions)),
        moves=experiences_of(n_states, n_actions),
        predicted=np.zeros((n_states * n_actions, n_actions)),
        heading=np.full(1, -1, dtype=np.int64),
        is_over=np.zeros(1, dtype=np.int64),
        weights=np.zeros(n_actions),
    )


def most_backups(params: Params, memory: Memory) -> int:
    return params.n_replays * most_pauses(params.replay_at)


def n_words(params: Params, memory: Memory, known: Known) -> int:
    """Count the numbers held: each known move, and the prediction of what follows it."""
    n_known = int(memory.moves.n_known[0])
    n_actions: int = memory.predicted.shape[1]
    return experience_words(n_known) + n_known * n_actions


def learn(params: Params, memory: Memory, transition: Transition, log: BackupBuffer) -> None:
    """Correct the prediction of this move, and remember where it led."""
    if memory.is_over[0]:  # the agent was carried to where it is
        memory.heading[0] = -1
    memory.is_over[0] = transition.terminated or transition.truncated
    if transition.next_state == transition.state:
        return
    if memory.heading[0] >= 0:
        predicted = memory.predicted[memory.heading[0]]
        for a in range(len(predicted)):
            predicted[a] *= 1.0 - params.learning_rate
        predicted[transition.action] += params.learning_rate
    move = experience_at(memory.moves, transition.state, transition.action)
    known = memory.moves.rows[move]
    known["next_state"] = transition.next_state
    known["terminated"] = transition.terminated
    memory.heading[0] = move


def _drawn_move(params: Params, memory: Memory, state: int, heading: int, rng: Generator) -> int:
    """Draw the move that follows in a state; -1 if none is known there."""
    place, weights, n_actions = memory.moves.place, memory.weights, memory.predicted.shape[1]
    drawn = -1
    if heading >= 0 and rng.random() >= params.heading_noise:
        for a in range(n_actions):
            weights[a] = memory.predicted[heading, a] if place[state, a] >= 0 else 0.0
        drawn = draw_weighted(weights, n_actions, rng)
    if drawn < 0:
        for a in range(n_actions):
            weights[a] = 1.0 if place[state, a] >= 0 else 0.0
        drawn = draw_weighted(weights, n_actions, rng)
    return int(place[state, drawn]) if drawn >= 0 else -1


def replay(params: Params, memory: Memory, pause: Pause, rng: Generator, log: BackupBuffer) -> None:
    """Run on from here, or from anywhere, as predicted."""
    rows, n = memory.moves.rows, memory.moves.n_known[0]
    if not is_due(params.replay_at, pause.phase) or n == 0:
        return
    move = -1
    if pause.phase != REST:
        heading = -1 if pause.phase == START else memory.heading[0]
        move = _drawn_move(params, memory, pause.state, heading, rng)
    if move < 0:
        move = int(rng.random() * n)
    for pop in range(params.n_replays):
        known = rows[move]
        s, s_next = known["state"], known["next_state"]
        reactivate(log, pause.phase, s, s_next, np.nan, pop)
        if known["terminated"]:
            break
        move = _drawn_move(params, memory, s_next, move, rng)
        if move < 0:
            break
