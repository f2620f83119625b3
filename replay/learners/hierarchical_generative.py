"""Hierarchical generative replay: draw a map, and from it a sequence that may never have been run.

It computes no values. What is learned has three layers: items, which are places; sequences of
them; and maps, into which sequences are clustered. Map k is a distribution over places,

    theta_k(x) = (alpha + a_k(x)) / (alpha N + A_k),

where a_k(x) counts how often place x occurred in the sequences assigned to this map, A_k is the sum
of that over all N places, and alpha is the concentration of the prior. The map to which a sequence
x_1 x_2 ... belongs is inferred along it by Bayes' rule, from the share of sequences that each map
holds,

    z_k  proportional to  (c + n_k) theta_k(x_1) theta_k(x_2) ...,

and at its end the sequence is assigned to the likeliest map. In an empty map all places are equally
likely, so it wins sequences that are new to the others.

Replay draws from this model, place by place. The next place is a neighbour, on the graph of moves
that were made in either direction, with a probability proportional to

    (1 - y(x)) sum over k of z_k theta_k(x);

y is the code of the sequence, 1 at its latest place and smaller by the factor lambda for each place
since, so that sequences seldom turn back. Each place drawn is evidence about the map, as a visited
one would be, so that replay settles on one map. At the end the replayed sequence is assigned to the
likeliest map too, with a smaller weight, so replay preserves the maps. At the end of a lap replay
begins there, with the posterior over maps given the lap; at a start, given the place of the agent;
at rest anywhere, with maps weighted by their share of sequences.

The sources are the abstract and the beginning of the introduction of the paper, and the authors'
script that shows a trained model, with its figure [2]_: five clusters, each a map of places, whose
probability sharpens along a sequence of 30 places, also in replay, where it begins uniform; a code
of the sequence that fades with time; and a prediction of the next place among those near. Neither
the methods nor the code that learns could be read. The following choices are therefore ours: counts
with a Dirichlet prior, one map per sequence, the likelihood of single places (theirs is of the code
of the sequence), the form of y, and that sequences are cut at the ends of laps, or after `span`
places.

References
----------
.. [1] Stoianov et al. (2022), The hippocampal formation as a hierarchical generative
   model supporting generative replay and continual learning.
   https://doi.org/10.1101/2020.01.16.908889
.. [2] Stoianov et al. (2022), Code. https://github.com/stoianov/HDGM
"""

from typing import Annotated, NamedTuple

import numpy as np
from numpy.random import Generator

from replay.checks.arrays import Bools, Floats, Int32s, Ints
from replay.learners import ranges
from replay.learners.contract import Between, Description, Known, Pause, Sizes, Transition
from replay.log.backups import EPISODE_END, REST, BackupBuffer, reactivate
from replay.parts.experiences import Numbering, join, numbering
from replay.parts.pauses import IN_PAUSES, is_due, phases_of
from replay.parts.policies import draw_weighted

_RUN, _REPLAYED = range(2)


class Params(NamedTuple):
    """Parameters of hierarchical generative replay.

    What is not listed is explained in :data:`replay.learners.ranges.SHARED`.

    Attributes
    ----------
    n_maps : int
        Number of maps.
    concentration : float
        alpha: prior count of each place in a map.
    map_concentration : float
        c: prior count of sequences in each map.
    trace_decay : float
        lambda: fraction of the code of a sequence that is left one place later; with 0 it may turn
        back at once.
    replay_share : float
        Weight of a replayed sequence, relative to one that was run.
    span : int
        Largest length of a sequence; after it the next sequence begins.
    n_replays : int
        Number of places reactivated per pause, after the first.
    """

    n_maps: Annotated[int, Between(1, 1_000)] = 5
    concentration: Annotated[float, Between(1e-3, 1e3)] = 0.1
    map_concentration: Annotated[float, Between(1e-3, 1e3)] = 1.0
    trace_decay: ranges.Share = 0.9
    replay_share: ranges.Share = 0.1
    span: ranges.PositiveCount = 200
    n_replays: ranges.Count = 20
    replay_at: ranges.Moment = IN_PAUSES


class Memory(NamedTuple):
    """The memory of hierarchical generative replay."""

    action_values: Floats  # (n_states, n_actions): 0
    known: Numbering  # The places visited so far; their numbers index everything below
    is_linked: Bools  # (n_states, n_states): which of them are joined
    # (n_maps, n_states): a: number of times that each place occurred in the sequences of each
    # map
    n_places: Floats
    n_sequences: Floats  # (n_maps,): n: number of sequences in each map
    n_entries: Floats  # (n_maps,): A: number of places in these
    # (2, n_maps): z along the sequence that is run, and along the one that is replayed
    belief: Floats
    sequence: Int32s  # (span,): the sequence that is run, since the last end
    length: Ints  # (1,): its length so far
    replayed: Int32s  # (n_replays + 1,): the replayed sequence
    # (2, n_states): y, and weights to which the probabilities of places in replay are
    # proportional
    weights: Floats


def description(params: Params) -> Description:
    return Description(
        "maps, and a graph of places",
        phases=phases_of(params.replay_at),
        priority="drawn from maps",
        source="Stoianov et al. 2022",
        label="Hierarchical generative",
        computes_values=False,
    )


def init(params: Params, sizes: Sizes) -> Memory:
    n_states, n_maps = sizes.n_states, params.n_maps
    return Memory(
        action_values=np.zeros((n_states, sizes.n_actions)),
        known=numbering(n_states),
        is_linked=np.zeros((n_states, n_states), dtype=np.bool_),
        n_places=np.zeros((n_maps, n_states)),
        n_sequences=np.zeros(n_maps),
        n_entries=np.zeros(n_maps),
        belief=np.zeros((2, n_maps)),
        sequence=np.zeros(params.span, dtype=np.int32),
        length=np.zeros(1, dtype=np.int64),
        replayed=np.zeros(params.n_replays + 1, dtype=np.int32),
        weights=np.zeros((2, n_states)),
    )


def most_backups(params: Params, memory: Memory) -> int:
    return 2 * params.n_replays  # a step has two pauses at most


def n_words(params: Params, memory: Memory, known: Known) -> int:
    """Count the numbers held: the graph, the maps and their belief, and the present sequence."""
    n = int(memory.known.n[0])
    return n * n + params.n_maps * (n + 3) + int(memory.length[0])


def _theta(params: Params, memory: Memory, k: int, place: int) -> float:
    """Return the probability of a place in a map."""
    a, alpha = memory.n_places, params.concentration
    theta: float = (alpha + a[k, place]) / (alpha * a.shape[1] + memory.n_entries[k])
    return theta


def _expect(params: Params, memory: Memory, which: int) -> None:
    """Set the belief to the prior of maps, their shares of sequences."""
    z, n = memory.belief[which], memory.n_sequences
    total = params.map_concentration * len(n)
    for k in range(len(n)):
        total += n[k]
    for k in range(len(n)):
        z[k] = (params.map_concentration + n[k]) / total


def _infer(params: Params, memory: Memory, which: int, place: int) -> None:
    """Update the belief by a place, by Bayes' rule."""
    z, total = memory.belief[which], 0.0
    for k in range(len(z)):
        z[k] *= _theta(params, memory, k, place)
        total += z[k]
    for k in range(len(z)):
        z[k] /= total


def _assign(memory: Memory, which: int, sequence: Int32s, length: int, share: float) -> None:
    """Assign a sequence to the likeliest map."""
    best, z = 0, memory.belief[which]
    for k in range(1, len(z)):
        if z[k] > z[best]:
            best = k
    memory.n_sequences[best] += share
    memory.n_entries[best] += share * length
    for i in range(length):
        memory.n_places[best, sequence[i]] += share


def _enter(params: Params, memory: Memory, place: int) -> None:
    if memory.length[0] == 0:
        _expect(params, memory, _RUN)
    memory.sequence[memory.length[0]] = place
    memory.length[0] += 1
    _infer(params, memory, _RUN, place)
    if memory.length[0] == params.span:
        _end_sequence(memory)


def _end_sequence(memory: Memory) -> None:
    _assign(memory, _RUN, memory.sequence, memory.length[0], 1.0)
    memory.length[0] = 0


def learn(params: Params, memory: Memory, transition: Transition, log: BackupBuffer) -> None:
    """Join the two places, infer the map, and at an end assign the sequence to it."""
    number = memory.known.number
    join(memory.known, memory.is_linked, transition.state, transition.next_state)
    if memory.length[0] == 0:
        _enter(params, memory, number[transition.state])
    _enter(params, memory, number[transition.next_state])
    if (transition.terminated or transition.truncated) and memory.length[0] > 0:
        _end_sequence(memory)


def _weigh(params: Params, memory: Memory, here: int) -> float:
    """Weight the candidates for the next place, or the first (-1); return the sum of weights."""
    y, weights = memory.weights
    z, total = memory.belief[_REPLAYED], 0.0
    for j in range(memory.known.n[0]):
        weights[j] = 0.0
        if here < 0 or memory.is_linked[here, j]:
            for k in range(len(z)):
                weights[j] += z[k] * _theta(params, memory, k, j)
            weights[j] *= 1.0 - y[j]
        total += weights[j]
    return total


def _arrive(params: Params, memory: Memory, place: int, length: int) -> None:
    """Add a place to the replayed sequence, which has this length."""
    y = memory.weights[0]
    for j in range(memory.known.n[0]):
        y[j] = params.trace_decay * y[j] if length > 0 else 0.0
    y[place] = 1.0
    memory.replayed[length] = place


def replay(params: Params, memory: Memory, pause: Pause, rng: Generator, log: BackupBuffer) -> None:
    """Draw a sequence from the maps, and assign it to one of them."""
    n, places = memory.known.n[0], memory.known.met
    if not is_due(params.replay_at, pause.phase) or n == 0 or params.n_replays == 0:
        return
    here = int(memory.known.number[pause.state])
    _expect(params, memory, _REPLAYED)
    if pause.phase == REST:
        for j in range(n):
            memory.weights[0, j] = 0.0
        _weigh(params, memory, -1)
        here = draw_weighted(memory.weights[1], n, rng)
    if here < 0:
        return
    _infer(params, memory, _REPLAYED, here)
    if pause.phase == EPISODE_END:  # what is believed of the lap just run
        for k in range(params.n_maps):
            memory.belief[_REPLAYED, k] = memory.belief[_RUN, k]
    _arrive(params, memory, here, 0)
    length = 1
    for pop in range(params.n_replays):
        total = _weigh(params, memory, here)
        following = draw_weighted(memory.weights[1], n, rng)
        if following < 0:
            break
        probability = memory.weights[1, following] / total
        reactivate(log, pause.phase, places[here], places[following], probability, pop)
        here = following
        _infer(params, memory, _REPLAYED, here)
        _arrive(params, memory, here, length)
        length += 1
    _assign(memory, _REPLAYED, memory.replayed, length, params.replay_share)
