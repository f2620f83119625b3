"""Attractor with adaptation: a bump of activity that stays, diffuses or sweeps over the map.

It computes no values. It learns a graph of places, joined wherever a move led from one to the
other, in either direction. Each place has a neuron of a continuous attractor network, connected by
distance on the graph; :mod:`replay.learners.adaptive_attractor.network` has the equations. In a
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
"""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from replay.learners import ranges
from replay.learners.adaptive_attractor.network import (
    Attractor,
    Dynamics,
    attractor,
    connect,
    follow_bump,
    place_bump,
)
from replay.learners.contract import Between, Description, Pause, Sizes, Transition
from replay.learners.value_free import act, most_backups, n_words
from replay.log.backups import REST, BackupBuffer, reactivate
from replay.parts.moments import IN_PAUSES, is_due, phases_of
from replay.parts.numbering import Numbering, join, numbering

__all__ = ["Memory", "Params", "act", "description", "init", "learn", "most_backups", "n_words"]
__all__ += ["replay"]

_TIME_STEP = 0.5  # tau
_INHIBITION = 1.0  # k; it only sets the units of u


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


class Memory(NamedTuple):
    """The memory of the attractor with adaptation.

    Attributes
    ----------
    action_values : ndarray of float64, shape (n_states, n_actions)
        0.
    known : Numbering
        The places visited so far.
    is_linked : ndarray of bool, shape (n_states, n_states)
        Which of them are joined, by their numbers.
    network : Attractor
        Connections as of the latest pause, and activity.
    is_stale : ndarray of bool, shape (1,)
        Whether the connections are out of date.
    """

    action_values: NDArray[np.float64]
    known: Numbering
    is_linked: NDArray[np.bool_]
    network: Attractor
    is_stale: NDArray[np.bool_]


def description(params: Params) -> Description:
    """Describe what is stored, and what is replayed, when and why."""
    priority = "a bump that travels" if params.adaptation > 1.0 else "a bump that diffuses"
    priority = "a bump that stays" if params.adaptation == 0.0 else priority
    phases, source = phases_of(params.replay_at), "Ji et al. 2025"
    return Description("a graph of places", phases, priority, source, False)


def init(params: Params, sizes: Sizes) -> Memory:
    """Return the memory of a learner without experience."""
    n_states = sizes.n_states
    return Memory(
        np.zeros((n_states, sizes.n_actions)),
        numbering(n_states),
        np.zeros((n_states, n_states), dtype=np.bool_),
        attractor(n_states),
        np.zeros(1, dtype=np.bool_),
    )


def learn(params: Params, memory: Memory, transition: Transition, log: BackupBuffer) -> None:
    """Join the two places."""
    if join(memory.known, memory.is_linked, transition.state, transition.next_state):
        memory.is_stale[0] = True


def _bump_scale(params: Params) -> float:
    """Return the total excitation between neurons that just sustains a bump."""
    return math.sqrt(2.0 * math.sqrt(2.0 * math.pi) * params.width * _INHIBITION)


def replay(params: Params, memory: Memory, pause: Pause, rng: Generator, log: BackupBuffer) -> None:
    """Set a bump, and follow it."""
    n, places, network = memory.known.n[0], memory.known.met, memory.network
    if not is_due(params.replay_at, pause.phase) or n == 0:
        return
    scale = _bump_scale(params)
    if memory.is_stale[0]:
        connect(network, memory.is_linked[:n, :n], params.width, 2.0 * params.strength * scale)
        memory.is_stale[0] = False
    here = int(rng.random() * n) if pause.phase == REST else memory.known.number[pause.state]
    if here < 0:
        return
    m = params.adaptation / params.adaptation_time
    noise = 2.0 * math.sqrt(math.pi) * params.width * params.noise * m
    dynamics = Dynamics(_INHIBITION, params.adaptation_time, m, noise, _TIME_STEP)
    height = (params.strength + math.sqrt(params.strength**2 - 1.0)) * math.sqrt(2.0) / scale
    place_bump(network, n, here, height, m)
    n_steps = int(params.duration / _TIME_STEP)
    for pop in range(params.n_replays):
        following, n_steps = follow_bump(network, n, here, dynamics, n_steps, rng)
        if following < 0 or following == here:
            break
        activity = network.state[0, following]
        reactivate(log, pause.phase, places[here], places[following], activity, pop)
        here = following
