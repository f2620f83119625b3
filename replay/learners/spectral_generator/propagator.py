"""Propagators: how probable each place of a graph is after each other one, from its spectrum.

The generator matrix O of a random walk in continuous time is symmetric once its rows and columns
are scaled. Its eigenvectors are computed by one-sided Jacobi rotations [1]_, which are slower than
linear-algebra libraries, but give the same bytes on every machine.

References
----------
.. [1] Hestenes (1958), Inversion of matrices by biorthogonalization and related results.
   https://doi.org/10.1137/0106005
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from replay.jit import inlined, kernel

__all__ = ["Propagator", "draw_next", "probability_of_next", "propagate", "propagator_of"]
__all__ += ["set_probabilities"]

_MOST_SWEEPS = 60
_TOLERANCE = 1e-14
_ROUNDING = 1e-12  # smaller eigenvalues are 0 but for rounding; their power alpha would matter
_SHIFT = 3.0  # no eigenvalue is below -2


class Propagator(NamedTuple):
    """The cumulative rows of a propagator, and workspace to compute them.

    Attributes
    ----------
    cumulative : ndarray of float64, shape (n_places, n_places)
        Row i holds the cumulative probabilities of the places that follow place i; a smaller graph
        uses the upper left.
    phi : ndarray of float64, shape (n_places, n_places)
        The eigenvectors of the symmetric form of the generator matrix.
    rows : ndarray of float64, shape (2, n_places)
        Workspace for its eigenvalues, and for the factors that make it symmetric.
    """

    cumulative: NDArray[np.float64]
    phi: NDArray[np.float64]
    rows: NDArray[np.float64]


def propagator_of(n_places: int) -> Propagator:
    """Make an empty propagator.

    Examples
    --------
    Two linked places; in a short time the walk mostly stays where it is:

    >>> propagator = propagator_of(2)
    >>> joined = np.array([[False, True], [True, False]])
    >>> propagate(propagator, joined, np.zeros(2, bool), 1.0, 2.0, 1.0, True)
    >>> propagator.cumulative.round(3).tolist()
    [[0.684, 1.0], [0.316, 1.0]]
    """
    square = (n_places, n_places)
    return Propagator(np.zeros(square), np.zeros(square), np.zeros((2, n_places)))


def set_probabilities(
    propagator: Propagator, probabilities: NDArray[np.float64], dwell: bool
) -> None:
    """Set the probabilities of a propagator to values computed elsewhere.

    Row i holds the probabilities of each place after place i.
    """
    n = len(probabilities)
    others = probabilities if dwell else probabilities * ~np.eye(n, dtype=np.bool_)
    propagator.cumulative[:n, :n] = others.cumsum(axis=1)


@kernel
def propagate(
    propagator: Propagator,
    is_linked: NDArray[np.bool_],
    is_goal: NDArray[np.bool_],
    goal_weight: float,
    tempo: float,
    stability: float,
    dwell: bool,
) -> None:
    """Compute the propagator of a graph.

    `is_linked` has shape (n, n); walks leave places with `is_goal` (n,) more slowly.
    """
    n, phi, cumulative = len(is_linked), propagator.phi, propagator.cumulative
    power, roots = propagator.rows
    for i in range(n):
        degree = 0.0
        for j in range(n):
            degree += is_linked[i, j]
        slowness = goal_weight if is_goal[i] else 1.0
        roots[i] = math.sqrt(max(degree, 1.0) * slowness)
        phi[i, i] = _SHIFT - min(degree, 1.0) / slowness
    for i in range(n):
        for j in range(n):
            if i != j:
                phi[i, j] = is_linked[i, j] / (roots[i] * roots[j])
    _rotate(phi, n, power)
    for k in range(n):
        size = abs(power[k] - _SHIFT)
        size = size if size > _ROUNDING else 0.0
        power[k] = math.exp(-(size**stability) / tempo)
    for i in range(n):
        row = cumulative[i]
        for j in range(n):
            row[j] = 0.0
        for k in range(n):
            weight = power[k] * phi[k, i] / roots[i]
            for j in range(n):
                row[j] += weight * phi[k, j] * roots[j]
        lowest = 0.0
        for j in range(n):
            lowest = min(lowest, row[j]) if stability > 1.0 else 0.0
        total = 0.0
        for j in range(n):
            if dwell or i != j:
                total += max(row[j] - lowest, 0.0)
            row[j] = total


@kernel
def _rotate(matrix: NDArray[np.float64], n: int, lengths: NDArray[np.float64]) -> None:
    """Turn the rows of a positive definite matrix into its eigenvectors, and find its eigenvalues.

    Once rotations have made them orthogonal, the rows are eigenvectors whose lengths are the
    eigenvalues.
    """
    for _ in range(_MOST_SWEEPS):
        for i in range(n):
            lengths[i] = _product(matrix, n, i, i)
        n_rotations = 0
        for i in range(n - 1):
            for j in range(i + 1, n):
                both = _product(matrix, n, i, j)
                if abs(both) <= _TOLERANCE * math.sqrt(lengths[i] * lengths[j]):
                    continue
                n_rotations += 1
                ratio = (lengths[j] - lengths[i]) / (2.0 * both)
                tangent = 1.0 / (abs(ratio) + math.sqrt(1.0 + ratio * ratio))
                if ratio < 0.0:
                    tangent = -tangent
                cosine = 1.0 / math.sqrt(1.0 + tangent * tangent)
                for k in range(n):
                    one, other = matrix[i, k], matrix[j, k]
                    matrix[i, k] = cosine * (one - tangent * other)
                    matrix[j, k] = cosine * (tangent * one + other)
                lengths[i] -= tangent * both
                lengths[j] += tangent * both
        if n_rotations == 0:
            break
    for i in range(n):
        lengths[i] = math.sqrt(_product(matrix, n, i, i))
        for k in range(n):
            matrix[i, k] /= lengths[i]


@kernel
def _product(matrix: NDArray[np.float64], n: int, i: int, j: int) -> float:
    total = 0.0
    for k in range(n):
        total += matrix[i, k] * matrix[j, k]
    return total


@inlined
def draw_next(propagator: Propagator, n_places: int, place: int, rng: Generator) -> int:
    """Draw the place that follows another.

    It is -1 if the probabilities of all places are 0.
    """
    total = propagator.cumulative[place, n_places - 1]
    if total <= 0.0:
        return -1
    drawn, below, above = rng.random() * total, 0, n_places - 1
    while below < above:
        middle = (below + above) // 2
        if propagator.cumulative[place, middle] > drawn:
            above = middle
        else:
            below = middle + 1
    return below


@inlined
def probability_of_next(propagator: Propagator, n_places: int, place: int, following: int) -> float:
    """Return the probability that `draw_next` draws a place."""
    row_sum = propagator.cumulative[place, n_places - 1]
    below = propagator.cumulative[place, following - 1] if following > 0 else 0.0
    probability: float = (propagator.cumulative[place, following] - below) / row_sum
    return probability
