"""Attractor with adaptation: a bump of activity that stays, diffuses or sweeps over the map.

It computes no values. It learns a graph of places, joined wherever a move led from one to the
other, in either direction. Each place has a neuron of a continuous attractor network, connected by
distance on the graph. In a
pause a bump is set where the agent is, or at rest at any known place, and replay is the path of the
bump. That path depends on m0, the strength of adaptation in units of tau / tau_v, at which a bump
begins to travel:

without adaptation
    it stays, and nothing is replayed except a few places inwards from the end of a track;
m0 < 1
    noise makes it diffuse. The closer m0 is to 1 and the stronger the noise, the larger are its
    jumps, which the authors show to be Levy flights: superdiffusion;
m0 > 1
    it travels, and sweeps along the track; at a junction noise decides.

The neuron of a place has input u, adaptation v and firing rate r [3]_. Neurons excite those of
nearby places, and inhibit all neurons equally by divisive normalisation:

    tau   du/dt = -u + sum over j of J_ij r_j - v,        u >= 0,
    tau_v dv/dt = -v + (m + noise) u,
    r = u^2 / (1 + k sum of u^2).

Without adaptation a bump of activity stays where it is. Strong adaptation makes the bump move; if
adaptation is weak, its noise does. The equations are integrated by Euler's method; the noise is
uniform, since over many steps only its variance matters.

Replay ends after `duration`, after `n_replays` places, or when activity dies out. The direction of
a bump depends neither on the direction in which places were run nor on reward.

Noise is noise of adaptation, in proportion to gamma: its standard deviation is 2 sqrt(pi) a gamma
m0 tau / tau_v, as in the authors' code. `strength` is excitation in units of the least that
sustains a bump; so only `width`, in places, depends on the spacing of places. The sources are the
abstract of the paper and the complete code [2]_; the full text was not read. The authors simulate
rings and sheets without borders, of 128 or 100 x 100 neurons; the graph of a maze has ends, which
repel the bump, and junctions, which attract it. Three choices are ours: a bump is set with the
adaptation that a long stay would bring (theirs builds up while an input holds it for 50 tau); there
is no other noise; and time steps are tau / 2, not tau / 10, which changes the speed of a bump by
less than 3 %. Adaptation is faster than theirs, 10 tau instead of 48, and strength is 2.2 instead
of 1.4: in Gupta's maze, shares of forward, reverse and ambiguous sequences differ by at most 0.04
from those with theirs, over 4.8 times the time and with sqrt(4.8) times the noise. With bumps twice
as wide nearly every replay jumps.

References
----------
.. [1] Ji et al. (2025), Dynamical modulation of hippocampal replay through firing rate adaptation.
   https://doi.org/10.1038/s41467-025-68042-3
.. [2] Ji et al. (2025), Code. https://github.com/ZilongJi/AdaptiveAttractorForSequences
.. [3] Wu, Hamaguchi & Amari (2008), Dynamics and computation of continuous attractors.
   https://doi.org/10.1162/neco.2008.10-06-378
"""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.random import Generator

from replay.checks import check_whole, typed
from replay.checks.arrays import Bools, Floats, Int32s
from replay.jit import inlined, kernel
from replay.learners import ranges
from replay.learners.contract import Between, Description, Known, Pause, Sizes, Transition
from replay.log.backups import REST, BackupBuffer, reactivate
from replay.parts.experiences import Numbering, join, numbering
from replay.parts.pauses import IN_PAUSES, is_due, phases_of

_TIME_STEP = 0.5  # tau
_INHIBITION = 1.0  # k; it only sets the units of u
_REACH = 4.0  # connections over more widths than this are left out
_SILENT = 1e-12  # lower rates count as 0: the tails of a bump would take most of the time
_QUIET = 1e-6  # at lower rates there is no noise: being proportional to u, it would have no effect


class Params(NamedTuple):
    """Parameters of the attractor with adaptation.

    What is not listed is explained in :data:`replay.learners.ranges.SHARED`.

    Attributes
    ----------
    adaptation : float
        m0 = m tau_v / tau: below 1 a bump diffuses, above 1 it travels.
    noise : float
        gamma: noise of adaptation.
    adaptation_time : float
        tau_v / tau: how many times more slowly neurons adapt than they respond.
    width : float
        a: how far neurons excite each other, in places.
    strength : float
        Excitation, in units of the least that sustains a bump without adaptation.
    duration : float
        Longest duration of replay, in units of tau.
    n_replays : int
        Largest number of places reactivated per pause, after the first.
    """

    adaptation: Annotated[float, Between(0.0, 100.0)] = 2.0
    noise: Annotated[float, Between(0.0, 100.0)] = 0.05
    adaptation_time: Annotated[float, Between(1.0, 1e4)] = 10.0
    width: Annotated[float, Between(0.5, 100.0)] = 1.5
    strength: Annotated[float, Between(1.0, 100.0)] = 2.2
    duration: Annotated[float, Between(0.0, 1e4)] = 100.0
    n_replays: ranges.Count = 20
    replay_at: ranges.Moment = IN_PAUSES


class Dynamics(NamedTuple):
    """The parameters of the network's dynamics; times are in units of tau."""

    inhibition: float  # k
    adaptation_time: float  # tau_v
    # m, and the size of its fluctuations: the noise of v in one time step has the standard
    # deviation ``noise * u * sqrt(time_step / adaptation_time)``
    adaptation: float
    noise: float
    time_step: float  # The step of Euler's method


class Attractor(NamedTuple):
    """The connections and the state of a network."""

    weights: Floats  # (n_places, n_places): J; a smaller graph uses the upper left
    # (4, n_places): u, v, the latest noise of v, and the excitation of each neuron
    state: Floats
    # (2, n_places): workspace for distances on the graph, and for a list of active neurons
    room: Int32s


class Memory(NamedTuple):
    """The memory of the attractor with adaptation."""

    action_values: Floats  # (n_states, n_actions): 0
    known: Numbering  # The places visited so far
    is_linked: Bools  # (n_states, n_states): which of them are joined, by their numbers
    network: Attractor  # Connections as of the latest pause, and activity
    is_stale: Bools  # (1,): whether the connections are out of date


def description(params: Params) -> Description:
    priority = "a bump that travels" if params.adaptation > 1.0 else "a bump that diffuses"
    priority = "a bump that stays" if params.adaptation == 0.0 else priority
    return Description(
        "a graph of places",
        phases=phases_of(params.replay_at),
        priority=priority,
        source="Ji et al. 2025",
        label="Attractor with adaptation",
        computes_values=False,
    )


def init(params: Params, sizes: Sizes) -> Memory:
    n_states = sizes.n_states
    return Memory(
        action_values=np.zeros((n_states, sizes.n_actions)),
        known=numbering(n_states),
        is_linked=np.zeros((n_states, n_states), dtype=np.bool_),
        network=attractor(n_states),
        is_stale=np.zeros(1, dtype=np.bool_),
    )


def most_backups(params: Params, memory: Memory) -> int:
    return 2 * params.n_replays  # a step has two pauses at most


def n_words(params: Params, memory: Memory, known: Known) -> int:
    """Count the numbers held: the graph, the connections, and three numbers per place."""
    n = int(memory.known.n[0])
    return 2 * n * n + 3 * n


def learn(params: Params, memory: Memory, transition: Transition, log: BackupBuffer) -> None:
    """Join the two places."""
    if join(memory.known, memory.is_linked, transition.state, transition.next_state):
        memory.is_stale[0] = True


def replay(params: Params, memory: Memory, pause: Pause, rng: Generator, log: BackupBuffer) -> None:
    """Set a bump, and follow it."""
    n, places, network = memory.known.n[0], memory.known.met, memory.network
    if not is_due(params.replay_at, pause.phase) or n == 0:
        return
    # Twice this is the least total excitation between neurons that sustains a bump.
    scale = math.sqrt(2.0 * math.sqrt(2.0 * math.pi) * params.width * _INHIBITION)
    if memory.is_stale[0]:
        connect(network, memory.is_linked[:n, :n], params.width, 2.0 * params.strength * scale)
        memory.is_stale[0] = False
    here = int(rng.random() * n) if pause.phase == REST else memory.known.number[pause.state]
    if here < 0:
        return
    m = params.adaptation / params.adaptation_time
    noise = 2.0 * math.sqrt(math.pi) * params.width * params.noise * m
    dynamics = Dynamics(_INHIBITION, params.adaptation_time, m, noise, _TIME_STEP)
    # Of the two heights at which excitation and inhibition balance, the stable one [3]_.
    height = (params.strength + math.sqrt(params.strength**2 - 1.0)) * math.sqrt(2.0) / scale
    place_bump(network, n, here, height, m)
    n_steps = int(params.duration / _TIME_STEP)
    for pop in range(params.n_replays):
        following, n_steps = follow_bump(network, n, here, dynamics, n_steps, rng)
        if following < 0 or following == here:
            break
        u, _, _, _ = network.state
        reactivate(log, pause.phase, places[here], places[following], u[following], pop)
        here = following


# -- the network ----------------------------------------------------------------------------


@typed
def attractor(n_places: int) -> Attractor:
    """Make a network for at most so many places, without connections and activity."""
    check_whole("n_places", n_places, at_least=1)
    square = (n_places, n_places)
    return Attractor(np.zeros(square), np.zeros((4, n_places)), np.zeros((2, n_places), np.int32))


@kernel
def connect(network: Attractor, is_linked: Bools, width: float, excitation: float) -> None:
    """Connect the neurons of a graph according to their distance d on it, in moves.

    J is a Gaussian of `width` a, excitation / (sqrt(2 pi) a) exp(-d^2 / (2 a^2)), whose sum over an
    infinite line of places is about `excitation`; beyond four widths it is 0.
    """
    n = len(is_linked)
    distance, queue = network.room
    highest = excitation / (math.sqrt(2.0 * math.pi) * width)
    for i in range(n):
        for j in range(n):
            distance[j] = -1
            network.weights[i, j] = 0.0
        distance[i] = 0
        queue[0] = i
        n_found, n_done = 1, 0
        while n_done < n_found:  # breadth first, so that the nearest places come first
            here = queue[n_done]
            n_done += 1
            d = distance[here]
            if d > _REACH * width:
                break
            network.weights[i, here] = highest * math.exp(-d * d / (2.0 * width * width))
            for j in range(n):
                if is_linked[here, j] and distance[j] < 0:
                    distance[j] = d + 1
                    queue[n_found] = j
                    n_found += 1


@inlined
def place_bump(network: Attractor, n: int, place: int, height: float, adaptation: float) -> None:
    """Set a bump of activity around a place: u falls off like J, sqrt(2) times as wide; v = m u."""
    weights = network.weights
    u, v, _, _ = network.state
    for i in range(n):
        u[i] = height * math.sqrt(weights[place, i] / weights[place, place])
        v[i] = adaptation * u[i]


@inlined
def follow_bump(
    network: Attractor, n: int, place: int, dynamics: Dynamics, n_steps: int, rng: Generator
) -> tuple[int, int]:
    """Integrate the dynamics until the bump is in another place, or activity has died out.

    Return the new place; -1 if activity has died out. With noise, one number is drawn per active
    neuron and time step.
    """
    active, _ = network.room  # the list of distances is not needed any more
    return _follow(network.weights, network.state, active, n, place, dynamics, n_steps, rng)


@kernel
def _follow(
    weights: Floats,
    state: Floats,
    active: Int32s,
    n: int,
    place: int,
    dynamics: Dynamics,
    n_steps: int,
    rng: Generator,
) -> tuple[int, int]:
    u, v, noise, excitation = state
    share, time_step = dynamics.time_step / dynamics.adaptation_time, dynamics.time_step
    spread = dynamics.noise * math.sqrt(12.0 * share)  # uniform noise has variance 1 / 12
    best, n_active, squares = _list_active(u, active, n)
    for step in range(n_steps):
        divided = 1.0 / (1.0 + dynamics.inhibition * squares)
        for i in range(n):
            noise[i] = 0.0
            excitation[i] = 0.0
        for k in range(n_active):
            j = active[k]
            rate = u[j] * u[j] * divided
            if rate > _SILENT:
                for i in range(n):
                    excitation[i] += rate * weights[j, i]
                if spread > 0.0 and rate > _QUIET:
                    noise[j] = spread * u[j] * (rng.random() - 0.5)
        for i in range(n):
            change = share * (dynamics.adaptation * u[i] - v[i]) + noise[i]
            u[i] = max(u[i] + time_step * (excitation[i] - v[i] - u[i]), 0.0)
            v[i] += change
        best, n_active, squares = _list_active(u, active, n)
        if n_active == 0:
            return -1, 0
        if best != place:
            return best, n_steps - step - 1
    return place, 0


@kernel
def _list_active(u: Floats, active: Int32s, n: int) -> tuple[int, int, float]:
    """List the neurons with input; return the one with the most, their number, and sum of u^2."""
    best, n_active, most, squares = 0, 0, 0.0, 0.0
    for i in range(n):
        if u[i] > 0.0:
            active[n_active] = i
            n_active += 1
            squares += u[i] * u[i]
            if u[i] > most:
                best, most = i, u[i]
    return best, n_active, squares
