"""Noisy path integration: noise moves replay on, rather to places that were visited often.

It computes no values. A recurrent network that integrates self-motion in the presence of noise
learns to undo the noise: its state is pulled towards states that were frequent, along the gradient
of log p, where p is how often each was visited [1]_. Without input, pull and noise sample visited
states, as in Langevin dynamics,

    dx = sigma^2 grad log p(x) dt + noise,

whose stationary distribution is p if the variance of the noise is twice that of wakefulness, as in
the authors' code, and p^2 if it is the same. With momentum the dynamics are underdamped, and replay
runs on in its direction; adaptation pushes it away from where it has just been [2]_.

The original is a network in continuous space. Here places are joined wherever a move led from one
to the other, in either direction. From a place, its neighbour y follows with a probability
proportional to

    p(y)^(sharpness / 2) exp(-adaptation * trace(y)).

Without adaptation these are the jumps of a process whose rates from x to y are proportional to
(p(y) / p(x))^(sharpness / 2), so that the time that it spends in each place samples p^sharpness.
Times are not replayed: in the sequence of places, junctions count more than ends. The trace of a
place is 1 when it was just reactivated, and decays by a factor at each jump. With probability
`momentum` the walk may not turn back to where it came from, unless nothing else follows. Replay
begins where the agent is; at rest, at a place drawn from p.

A network's momentum has a size, of which only the direction is left here. Its leakage, and that the
gradient that it should follow changes with time [2]_, are left out.

References
----------
.. [1] Krishna et al. (2024), Sufficient conditions for offline reactivation in recurrent neural
   networks. International Conference on Learning Representations. https://arxiv.org/abs/2505.17003
.. [2] Casco-Rodriguez et al. (2026), Leakage and second-order dynamics improve hippocampal RNN
   replay. https://arxiv.org/abs/2602.18401
"""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.random import Generator

from replay.checks.arrays import Bools, Floats, Ints
from replay.learners import ranges
from replay.learners.contract import Between, Description, Known, Pause, Sizes, Transition
from replay.log.backups import REST, BackupBuffer, reactivate
from replay.parts.experiences import Numbering, join, numbering
from replay.parts.pauses import IN_PAUSES, is_due, most_pauses, phases_of
from replay.parts.policies import draw_weighted


class Params(NamedTuple):
    """Parameters of noisy path integration.

    What is not listed is explained in :data:`replay.learners.ranges.SHARED`.

    Attributes
    ----------
    sharpness : float
        Twice the variance of noise awake, divided by that in replay. 1: as published; 2: there is
        as much noise as awake; 0: visits do not count.
    momentum : float
        Probability with which a step may not turn back.
    adaptation : float
        How strongly a place that was just reactivated is avoided.
    adaptation_decay : float
        Factor by which its trace decays with each step.
    n_replays : int
        Number of places reactivated per pause, after the first.
    """

    sharpness: Annotated[float, Between(0.0, 10.0)] = 1.0
    momentum: ranges.Share = 0.0
    adaptation: Annotated[float, Between(0.0, 100.0)] = 0.0
    adaptation_decay: ranges.Share = 0.9
    n_replays: ranges.Count = 20
    replay_at: ranges.Moment = IN_PAUSES


class Memory(NamedTuple):
    """The memory of noisy path integration; places are numbered as they are met."""

    action_values: Floats  # (n_states, n_actions): 0
    known: Numbering  # The places visited so far
    is_linked: Bools  # (n_states, n_states): which of them are joined
    visits: Floats  # (n_states,): how often each was visited
    latest: Ints  # (1,): the state that was entered last; -1: none was
    trace: Floats  # (n_states,): how recently each was reactivated in this pause
    weights: Floats  # (n_states,): what the probabilities of places are proportional to


def description(params: Params) -> Description:
    return Description(
        "a graph of places, and visits",
        phases=phases_of(params.replay_at),
        priority="visits of the next place",
        source="Krishna et al. 2024, Casco-Rodriguez et al. 2026",
        label="Noisy path integration",
        computes_values=False,
    )


def init(params: Params, sizes: Sizes) -> Memory:
    n_states = sizes.n_states
    return Memory(
        action_values=np.zeros((n_states, sizes.n_actions)),
        known=numbering(n_states),
        is_linked=np.zeros((n_states, n_states), dtype=np.bool_),
        visits=np.zeros(n_states),
        latest=np.full(1, -1, dtype=np.int64),
        trace=np.zeros(n_states),
        weights=np.zeros(n_states),
    )


def most_backups(params: Params, memory: Memory) -> int:
    return params.n_replays * most_pauses(params.replay_at)


def n_words(params: Params, memory: Memory, known: Known) -> int:
    """Count the numbers held: the links of the graph, and the visits of each place."""
    n = int(memory.known.n[0])
    return n * n + n


def learn(params: Params, memory: Memory, transition: Transition, log: BackupBuffer) -> None:
    """Count the visit, and join the two places."""
    known, visits = memory.known, memory.visits
    join(known, memory.is_linked, transition.state, transition.next_state)
    if memory.latest[0] != transition.state:  # it was carried to where it began
        visits[known.number[transition.state]] += 1.0
    visits[known.number[transition.next_state]] += 1.0
    memory.latest[0] = transition.next_state


def replay(params: Params, memory: Memory, pause: Pause, rng: Generator, log: BackupBuffer) -> None:
    """Walk on the graph of places, towards those that were visited often."""
    n, places, weights, trace = memory.known.n[0], memory.known.met, memory.weights, memory.trace
    if not is_due(params.replay_at, pause.phase):
        return
    here = memory.known.number[pause.state]
    if pause.phase == REST:
        here = draw_weighted(memory.visits, n, rng)
    if here < 0:
        return
    for i in range(n):
        trace[i] = 0.0
    before = -1
    for pop in range(params.n_replays):
        trace[here] = 1.0
        runs_on = rng.random() < params.momentum
        n_others = 0
        for i in range(n):
            weights[i] = 0.0
            if memory.is_linked[here, i]:
                pull = memory.visits[i] ** (0.5 * params.sharpness)
                weights[i] = pull * math.exp(-params.adaptation * trace[i])
                n_others += i != before
            trace[i] *= params.adaptation_decay
        if runs_on and before >= 0 and n_others > 0:
            weights[before] = 0.0
        following = draw_weighted(weights, n, rng)
        if following < 0:
            break
        reactivate(log, pause.phase, places[here], places[following], weights[following], pop)
        before, here = here, following
