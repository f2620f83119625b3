"""Context-driven reactivation: places call up contexts, and contexts call up places (CMR-replay).

It computes no values. Every place that is entered is an item f. It calls up the context with which
it is associated, c_in = M_fc f, and the present context c drifts towards that; then the item and
the new context are associated:

    c <- rho c + beta c_in,  M_fc[:, f] += gamma_fc c,  M_cf[f, :] += gamma_cf c,

with c_in and c of length 1. Salient experiences are encoded at higher rates. Replay runs the same
process without input: places compete by their activation M_cf c; one is drawn among those not yet
reactivated in this pause, its context is called up, and so on. Awake, replay begins with the
present context, after a drift towards that of the agent's place; the latest experience is then the
most active, so that sequences run backwards. At rest it begins with noise; the places that followed
a reactivated place are then more active than those before it, since their contexts contain it, so
that sequences run forwards.

Only the abstract and the figure captions of the paper could be read; neither its methods nor its
code were available. The equations of drift and association are those of the context maintenance and
retrieval model [2]_, on which it builds. The following choices are ours: each place is at first
associated with a feature of its own, with strength 1, in both directions; a reward of size r raises
both rates by the factor 1 + salience |r|; noise is uniform over the features of known places; the
probability of a place is proportional to a power of its activation; after each reactivation the
pause ends with probability `stopping`, which stands for competing items that are irrelevant; and
what is reactivated is associated again, at a fraction of the rates. As the methods were not
available, no number here is the paper's.

References
----------
.. [1] Zhou et al. (2025), A unifying account of replay as context-driven memory reactivation.
   https://doi.org/10.7554/eLife.99931
.. [2] Polyn, Norman & Kahana (2009), A context maintenance and retrieval model of organizational
   processes in free recall. https://doi.org/10.1037/a0014420
"""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.random import Generator

from replay.checks.arrays import Bools, Floats
from replay.learners import ranges
from replay.learners.contract import Between, Description, Known, Pause, Sizes, Transition
from replay.log.backups import REST, START, BackupBuffer, reactivate
from replay.parts.experiences import Numbering, meet, numbering
from replay.parts.pauses import IN_PAUSES, is_due, phases_of
from replay.parts.policies import draw_weighted

_PRESENT, _REPLAYED, _CALLED_UP = range(3)


class Params(NamedTuple):
    """Parameters of context-driven reactivation.

    What is not listed is explained in :data:`replay.learners.ranges.SHARED`.

    Attributes
    ----------
    drift : float
        beta: weight with which the context called up by an item enters the present one.
    item_to_context : float
        gamma_fc: rate at which items are associated with contexts; gamma_cf, the other way, is 1.
    salience : float
        Relative increase of both rates by a reward of 1.
    replay_share : float
        Fraction of both rates at which reactivated items are associated again.
    choice_exponent : float
        The probability of a place is proportional to this power of its activation.
    stopping : float
        Probability that the pause ends after a reactivation.
    n_replays : int
        Largest number of places reactivated per pause.
    """

    drift: Annotated[float, Between(0.01, 1.0)] = 0.8
    item_to_context: ranges.Share = 0.2
    salience: ranges.NotNegative = 1.0
    replay_share: ranges.Share = 0.01
    choice_exponent: Annotated[float, Between(0.0, 100.0)] = 5.0
    stopping: ranges.Share = 0.1
    n_replays: ranges.Count = 20
    replay_at: ranges.Moment = IN_PAUSES


class Memory(NamedTuple):
    """The memory of context-driven reactivation."""

    action_values: Floats  # (n_states, n_actions): 0
    # The places visited so far; their numbers index items and features of contexts
    known: Numbering
    # (n_states, n_states): M_fc, transposed: row i is the context of item i
    to_context: Floats
    # (n_states, n_states): M_cf, transposed: row j is how strongly feature j activates each
    # item
    to_item: Floats
    context: Floats  # (3, n_states): c awake, c in replay, and c_in
    # (n_states,): what the probabilities of places in replay are proportional to
    activation: Floats
    is_used: Bools  # (n_states,): which places were reactivated in this pause


def description(params: Params) -> Description:
    return Description(
        "places and contexts",
        phases=phases_of(params.replay_at),
        priority="activation by context",
        source="Zhou et al. 2025",
        label="Context-driven reactivation",
        computes_values=False,
    )


def init(params: Params, sizes: Sizes) -> Memory:
    n_states = sizes.n_states
    return Memory(
        action_values=np.zeros((n_states, sizes.n_actions)),
        known=numbering(n_states),
        to_context=np.eye(n_states),
        to_item=np.eye(n_states),
        context=np.zeros((3, n_states)),
        activation=np.zeros(n_states),
        is_used=np.zeros(n_states, dtype=np.bool_),
    )


def most_backups(params: Params, memory: Memory) -> int:
    return 2 * params.n_replays  # a step has two pauses at most


def n_words(params: Params, memory: Memory, known: Known) -> int:
    """Count the numbers held: both associations between known places, and the present context."""
    n = int(memory.known.n[0])
    return 2 * n * n + 2 * n


def _normalise(vector: Floats, n: int) -> None:
    """Give a vector the length 1, unless it is 0."""
    square = 0.0
    for j in range(n):
        square += vector[j] * vector[j]
    if square > 0.0:
        length = math.sqrt(square)
        for j in range(n):
            vector[j] /= length


def _drift(params: Params, memory: Memory, item: int, which: int) -> None:
    """Let a context drift into the one that an item calls up."""
    n, c, called_up = memory.known.n[0], memory.context[which], memory.context[_CALLED_UP]
    for j in range(n):
        called_up[j] = memory.to_context[item, j]
    _normalise(called_up, n)
    overlap = 0.0
    for j in range(n):
        overlap += c[j] * called_up[j]
    beta = params.drift
    # Such that c keeps the length 1.
    rho = math.sqrt(max(1.0 + beta * beta * (overlap * overlap - 1.0), 0.0)) - beta * overlap
    for j in range(n):
        c[j] = rho * c[j] + beta * called_up[j]
    _normalise(c, n)


def _associate(params: Params, memory: Memory, item: int, which: int, rate: float) -> None:
    c = memory.context[which]
    for j in range(memory.known.n[0]):
        memory.to_context[item, j] += rate * params.item_to_context * c[j]
        memory.to_item[j, item] += rate * c[j]


def _encode(params: Params, memory: Memory, item: int, reward: float) -> None:
    _drift(params, memory, item, _PRESENT)
    _associate(params, memory, item, _PRESENT, 1.0 + params.salience * abs(reward))


def learn(params: Params, memory: Memory, transition: Transition, log: BackupBuffer) -> None:
    """Encode the place that was entered, and at the very first step also the one that was left."""
    if memory.known.n[0] == 0:
        _encode(params, memory, meet(memory.known, transition.state), 0.0)
    item = meet(memory.known, transition.next_state)
    _encode(params, memory, item, transition.reward)


def _drawn_item(params: Params, memory: Memory, rng: Generator) -> int:
    """Let places compete; return -1 if none is active."""
    n, c, activation = memory.known.n[0], memory.context[_REPLAYED], memory.activation
    for i in range(n):
        activation[i] = 0.0
    for j in range(n):
        for i in range(n):
            activation[i] += c[j] * memory.to_item[j, i]
    largest = 0.0
    for i in range(n):
        if memory.is_used[i]:
            activation[i] = 0.0
        largest = max(largest, activation[i])
    for i in range(n):
        if activation[i] > 0.0:
            activation[i] = (activation[i] / largest) ** params.choice_exponent
    return draw_weighted(activation, n, rng)


def replay(params: Params, memory: Memory, pause: Pause, rng: Generator, log: BackupBuffer) -> None:
    """Reactivate places one after the other, each by the context of those before."""
    if not is_due(params.replay_at, pause.phase) or memory.known.n[0] == 0:
        return
    # At rest replay begins with noise, awake with the present context; at a start the agent was
    # carried to its place, whose context has not drifted in yet.
    c = memory.context[_REPLAYED]
    for j in range(memory.known.n[0]):
        c[j] = rng.random() if pause.phase == REST else memory.context[_PRESENT, j]
        memory.is_used[j] = False
    _normalise(c, memory.known.n[0])
    here = memory.known.number[pause.state]
    if pause.phase == START and here >= 0:
        _drift(params, memory, here, _REPLAYED)
    last = pause.state
    for pop in range(params.n_replays):
        item = _drawn_item(params, memory, rng)
        if item < 0:
            break
        place, weight = memory.known.met[item], memory.activation[item]
        reactivate(log, pause.phase, place if pop == 0 else last, place, weight, pop)
        last = place
        memory.is_used[item] = True
        _drift(params, memory, item, _REPLAYED)
        _associate(params, memory, item, _REPLAYED, params.replay_share)
        if rng.random() < params.stopping:
            break
