"""A continuous attractor network on a graph of places, with firing-rate adaptation.

Each place has a neuron with input u, adaptation v and firing rate r. Neurons excite those of nearby
places, and inhibit all neurons equally by divisive normalisation:

    tau   du/dt = -u + sum over j of J_ij r_j - v,        u >= 0,
    tau_v dv/dt = -v + (m + noise) u,
    r = u^2 / (1 + k sum of u^2).

Without adaptation a bump of activity stays where it is. Strong adaptation makes the bump move; if
adaptation is weak, its noise does. The equations are integrated by Euler's method; the noise is
uniform, since over many steps only its variance matters.

References
----------
.. [1] Wu, Hamaguchi & Amari (2008), Dynamics and computation of continuous attractors.
   https://doi.org/10.1162/neco.2008.10-06-378
.. [2] Ji et al. (2025), Dynamical modulation of hippocampal replay through firing rate adaptation.
   https://doi.org/10.1038/s41467-025-68042-3
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from replay.checks import check_whole, typed
from replay.jit import inlined, kernel

__all__ = ["Attractor", "Dynamics", "attractor", "connect", "follow_bump", "place_bump"]

_REACH = 4.0  # connections over more widths than this are left out
_SILENT = 1e-12  # lower rates count as 0: the tails of a bump would take most of the time
_QUIET = 1e-6  # at lower rates there is no noise: being proportional to u, it would have no effect


class Dynamics(NamedTuple):
    """The parameters of the network's dynamics; times are in units of tau.

    Attributes
    ----------
    inhibition : float
        k.
    adaptation_time : float
        tau_v.
    adaptation, noise : float
        m, and the size of its fluctuations: the noise of v in one time step has the standard
        deviation ``noise * u * sqrt(time_step / adaptation_time)``.
    time_step : float
        The step of Euler's method.
    """

    inhibition: float
    adaptation_time: float
    adaptation: float
    noise: float
    time_step: float


class Attractor(NamedTuple):
    """The connections and the state of a network.

    Attributes
    ----------
    weights : ndarray of float64, shape (n_places, n_places)
        J; a smaller graph uses the upper left.
    state : ndarray of float64, shape (4, n_places)
        u, v, the latest noise of v, and the excitation of each neuron.
    room : ndarray of int32, shape (2, n_places)
        Workspace for distances on the graph, and for a list of active neurons.
    """

    weights: NDArray[np.float64]
    state: NDArray[np.float64]
    room: NDArray[np.int32]


@typed
def attractor(n_places: int) -> Attractor:
    """Make a network for at most so many places, without connections and activity.

    Examples
    --------
    A ring of twelve places, on which a bump stays:

    >>> ring = np.zeros((12, 12), bool)
    >>> ring[np.arange(12), np.arange(-1, 11)] = ring[np.arange(-1, 11), np.arange(12)] = True
    >>> network, rng = attractor(12), np.random.default_rng(0)
    >>> connect(network, ring, 1.0, 12.0)
    >>> place_bump(network, 12, 3, 4.0, 0.0)
    >>> follow_bump(network, 12, 3, Dynamics(1.0, 10.0, 0.0, 0.0, 0.5), 100, rng)
    (3, 0)
    """
    check_whole("n_places", n_places, at_least=1)
    square = (n_places, n_places)
    return Attractor(np.zeros(square), np.zeros((4, n_places)), np.zeros((2, n_places), np.int32))


@kernel
def connect(
    network: Attractor, is_linked: NDArray[np.bool_], width: float, excitation: float
) -> None:
    """Connect the neurons of a graph according to their distance d on it, in moves.

    J is a Gaussian of `width` a, excitation / (sqrt(2 pi) a) exp(-d^2 / (2 a^2)), whose sum over an
    infinite line of places is about `excitation`; beyond four widths it is 0.
    """
    n, distance, queue = len(is_linked), network.room[0], network.room[1]
    highest = excitation / (math.sqrt(2.0 * math.pi) * width)
    for i in range(n):
        for j in range(n):
            distance[j] = -1
            network.weights[i, j] = 0.0
        distance[i] = 0
        queue[0] = i
        n_found, n_done = 1, 0
        while n_done < n_found:
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
    state, weights = network.state, network.weights
    for i in range(n):
        u = height * math.sqrt(weights[place, i] / weights[place, place])
        state[0, i] = u
        state[1, i] = adaptation * u


@inlined
def follow_bump(
    network: Attractor, n: int, place: int, dynamics: Dynamics, n_steps: int, rng: Generator
) -> tuple[int, int]:
    """Integrate the dynamics until the bump is in another place, or activity has died out.

    Return the new place; -1 if activity has died out. With noise, one number is drawn per active
    neuron and time step.
    """
    active = network.room[0]
    return _follow(network.weights, network.state, active, n, place, dynamics, n_steps, rng)


@kernel
def _follow(
    weights: NDArray[np.float64],
    state: NDArray[np.float64],
    active: NDArray[np.int32],
    n: int,
    place: int,
    dynamics: Dynamics,
    n_steps: int,
    rng: Generator,
) -> tuple[int, int]:
    u, v, noise, excitation = state[0], state[1], state[2], state[3]
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
def _list_active(
    u: NDArray[np.float64], active: NDArray[np.int32], n: int
) -> tuple[int, int, float]:
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
