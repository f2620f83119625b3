"""Spectral generator: places drawn one after the other from a propagator of the learned graph.

It computes no values. It learns a graph of places, joined wherever a move led from one to the
other, in either direction. The generator of the graph is O = T - I, with T the random walk on it.
The propagator that is sampled has the eigenvectors of the generator, and eigenvalues modulated as
in grid cells along the dorsoventral axis:

    P = sum over k of exp(-|lambda_k|^alpha / tau) phi_k phi_k^-1

With alpha = 1 this is diffusion, the matrix exponential of O / tau. With alpha below 1 it is
superdiffusion: large spatial scales have more weight, and there are jumps to remote places. With
alpha above 1, which the authors call turbulence, entries may be negative; then the lowest entry of
a row is subtracted from the whole row, as in their code. A place that was rewarded when it was last
entered is left `goal_weight` times more slowly, so that superdiffusion, unlike diffusion,
over-represents it from afar. Awake, sampling begins where the agent is; at rest, at any known
place.

The published code scales O by a jump rate r and by sigma^2. Neither is needed here: only
(r sigma^2)^alpha / tau matters, so that figures 2 and 3, with r = 1 and 15, have tempo 1 and, for
alpha = 0.5, 5 / sqrt(15). The paper's environments are given, while ours are learned; it does not
say where sampling begins at rest, nor which pauses have how many places.

The paper's third regime is the spectrum for which places recur least within nine steps
(`least_autocorrelated`). It is found by an optimiser outside the compiled loop, so its graph is not
learned: it is that of the world, known before the first step, and goals have no effect. On most
graphs it jumps to all other places with nearly equal probability.

The generator matrix O of a random walk in continuous time is symmetric once its rows and columns
are scaled. Its eigenvectors are computed by one-sided Jacobi rotations [2]_, which are slower than
linear-algebra libraries, but give the same bytes on every machine.

One propagator is found by an optimiser instead: that whose sequences return to earlier places as
rarely as possible. Among all propagators with the eigenvectors of the random walk on the graph, it
has the smallest probability of return, summed over lags of 1 to 9 steps and over all places [1]_:

    minimise sum over lags l and k of s_k^l,  with P = sum over k of s_k phi_k phi_k^-1 >= 0,

where s_k = 1 for the eigenvectors that do not decay, so that rows sum to 1. Where eigenvalues are
equal, any mixture of their eigenvectors is an eigenvector too; here they share one power s_k, so
that the solution does not depend on the choice. In the published code each has its own power, and
entries and row sums violate their bounds by 0.001. There may be several minima: the smaller of two
is taken, found from the spectrum of diffusion, as in the published code, and from that of the walk
itself. It need not be the least of all: in a W-track of 122 places and in the maze of Mattar & Daw
(2018), an optimiser that added constraints one after the other came to minima that are a third and
a quarter lower. A maze of 284 places takes 13 s.

References
----------
.. [1] McNamee et al. (2021), Flexible modulation of sequence generation in the
   entorhinal-hippocampal system. https://doi.org/10.1038/s41593-021-00831-7
.. [2] Hestenes (1958), Inversion of matrices by biorthogonalization and related results.
   https://doi.org/10.1137/0106005
"""

import math
from functools import lru_cache
from typing import Annotated, NamedTuple

import numpy as np
from numpy.random import Generator

from replay.checks.arrays import Bools, Floats
from replay.jit import inlined, kernel
from replay.learners import ranges
from replay.learners.contract import Between, Description, Known, Pause, Sizes, Transition
from replay.learners.ranges import known_moves
from replay.log.backups import REST, BackupBuffer, reactivate
from replay.parts.experiences import Numbering, join, numbering
from replay.parts.pauses import IN_PAUSES, is_due, phases_of
from replay.worlds.mdp import MDP

_MOST_SWEEPS = 60
_TOLERANCE = 1e-14
_ROUNDING = 1e-12  # smaller eigenvalues are 0 but for rounding; their power alpha would matter
_SHIFT = 3.0  # no eigenvalue is below -2
_LAGS = np.arange(1, 10)
_SAME = 1e-8  # eigenvalues that differ by less count as equal
_MOST_ITERATIONS = 500


class Propagator(NamedTuple):
    """The cumulative rows of a propagator, and workspace to compute them."""

    # (n_places, n_places): row i holds the cumulative probabilities of the places that follow
    # place i; a smaller graph uses the upper left
    cumulative: Floats
    # (n_places, n_places): the eigenvectors of the symmetric form of the generator matrix
    phi: Floats
    # (2, n_places): workspace for its eigenvalues, and for the factors that make it symmetric
    rows: Floats


def propagator_of(n_places: int) -> Propagator:
    """Make an empty propagator."""
    square = (n_places, n_places)
    return Propagator(np.zeros(square), np.zeros(square), np.zeros((2, n_places)))


def set_probabilities(propagator: Propagator, probabilities: Floats, dwell: bool) -> None:
    """Set the probabilities of a propagator to values computed elsewhere.

    Row i holds the probabilities of each place after place i.
    """
    n = len(probabilities)
    others = probabilities if dwell else probabilities * ~np.eye(n, dtype=np.bool_)
    propagator.cumulative[:n, :n] = others.cumsum(axis=1)


@kernel
def propagate(
    propagator: Propagator,
    is_linked: Bools,
    is_goal: Bools,
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
def _rotate(matrix: Floats, n: int, lengths: Floats) -> None:
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
def _product(matrix: Floats, n: int, i: int, j: int) -> float:
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


# -- the least autocorrelated one -----------------------------------------------------------


def least_autocorrelated(is_linked: Bools) -> Floats:
    """Compute the least autocorrelated propagator of a graph.

    `is_linked` (n, n) is symmetric, without links of a place to itself. Row i of the result holds
    the probabilities of each place after place i; it is read only.
    """
    return _solved(is_linked.tobytes(), len(is_linked))


@lru_cache(maxsize=32)
def _solved(links: bytes, n: int) -> Floats:
    from scipy.optimize import minimize  # it takes half a second to import

    is_linked = np.frombuffer(links, dtype=np.bool_).reshape(n, n)
    degree = is_linked.sum(axis=1)
    roots = np.sqrt(np.maximum(degree, 1))
    walk = is_linked / np.outer(roots, roots) + np.diag(degree == 0)
    values, vectors = np.linalg.eigh(walk)
    values, vectors = values[::-1], vectors[:, ::-1]
    first = np.flatnonzero(np.append(True, np.diff(values) < -_SAME))
    groups = np.split(vectors, first[1:], axis=1)
    projectors = np.array([group @ group.T for group in groups])
    entries = np.unique(projectors[:, *np.triu_indices(n)].T.round(10), axis=0)
    shares = np.array([group.shape[1] / n for group in groups[1:]])

    def returns(power: Floats) -> float:
        return float(shares @ (power[:, np.newaxis] ** _LAGS).sum(axis=1))

    def slopes(power: Floats) -> Floats:
        terms: Floats = shares[:, np.newaxis] * power[:, np.newaxis] ** (_LAGS - 1)
        return terms @ _LAGS

    power = np.ones(len(groups))
    if len(groups) > 1:
        found = [
            minimize(
                returns,
                start,
                jac=slopes,
                method="SLSQP",
                constraints={
                    "type": "ineq",
                    "fun": lambda power: entries[:, 0] + entries[:, 1:] @ power,
                    "jac": lambda power: entries[:, 1:],
                },
                options={"maxiter": _MOST_ITERATIONS, "ftol": 1e-10},
            )
            for start in (np.exp(values[first[1:]] - 1.0), values[first[1:]])
        ]
        best = min(
            (each for each in found if each.success), key=lambda each: each.fun, default=None
        )
        if best is None:
            raise ArithmeticError(f"No least autocorrelated spectrum: {found[0].message}.")
        power[1:] = best.x
    solved: Floats = np.maximum(
        np.tensordot(power, projectors, 1) / roots[:, np.newaxis] * roots, 0.0
    )
    solved /= solved.sum(axis=1, keepdims=True)
    solved.flags.writeable = False
    return solved


class Params(NamedTuple):
    """Parameters of the spectral generator.

    What is not listed is explained in :data:`replay.learners.ranges.SHARED`.

    Attributes
    ----------
    tempo : float
        tau: the smaller it is, the further a sequence goes from one place to the next.
    stability : float
        alpha: 1 is diffusion, less is superdiffusion, more is turbulence.
    goal_weight : float
        How many times more slowly a rewarded place is left than the others.
    dwell : bool
        Whether a place may follow itself.
    least_autocorrelated : bool
        Whether to use the least autocorrelated spectrum instead; the world is then known.
    n_replays : int
        Number of places reactivated per pause, after the first.
    """

    tempo: Annotated[float, Between(1e-3, 1e6)] = 1.0
    stability: Annotated[float, Between(0.01, 10.0)] = 1.0
    goal_weight: Annotated[float, Between(1.0, 1e6)] = 1.0
    dwell: bool = False
    least_autocorrelated: bool = False
    n_replays: ranges.Count = 20
    replay_at: ranges.Moment = IN_PAUSES


class Memory(NamedTuple):
    """The memory of the spectral generator."""

    action_values: Floats  # (n_states, n_actions): 0
    known: Numbering  # The places visited so far
    is_linked: Bools  # (n_states, n_states): which of them are joined, by their numbers
    # (n_states,): which of them were rewarded when last entered, by their numbers
    is_goal: Bools
    propagator: Propagator  # P, between known places, as of the latest pause
    is_stale: Bools  # (1,): whether P is out of date


def description(params: Params) -> Description:
    regime = "diffusion" if params.stability == 1.0 else "turbulence"
    regime = "superdiffusion" if params.stability < 1.0 else regime
    regime = "least autocorrelated" if params.least_autocorrelated else regime
    return Description(
        "a graph of places",
        phases=phases_of(params.replay_at),
        priority=f"{regime} on the graph",
        source="McNamee et al. 2021",
        label="Spectral generator, diffusion" if regime == "diffusion" else f"Spectral, {regime}",
        computes_values=False,
    )


def init(params: Params, sizes: Sizes) -> Memory:
    n_states = sizes.n_states
    return Memory(
        action_values=np.zeros((n_states, sizes.n_actions)),
        known=numbering(n_states),
        is_linked=np.zeros((n_states, n_states), dtype=np.bool_),
        is_goal=np.zeros(n_states, dtype=np.bool_),
        propagator=propagator_of(n_states),
        is_stale=np.zeros(1, dtype=np.bool_),
    )


def most_backups(params: Params, memory: Memory) -> int:
    return 2 * params.n_replays  # a step has two pauses at most


def n_words(params: Params, memory: Memory, known: Known) -> int:
    """Count the numbers held: the graph and the propagator, and three numbers per place."""
    n = int(memory.known.n[0])
    return 2 * n * n + 3 * n


def explore(params: Params, memory: Memory, mdp: MDP | None) -> None:
    """Compute the least autocorrelated propagator of the world's graph, if it is asked for."""
    if params.least_autocorrelated:
        n_actions = memory.action_values.shape[1]
        next_state = known_moves("least_autocorrelated", mdp, n_actions)
        for s, a in np.argwhere(next_state >= 0):
            join(memory.known, memory.is_linked, s, next_state[s, a])
        n = int(memory.known.n[0])
        solved = least_autocorrelated(memory.is_linked[:n, :n])
        set_probabilities(memory.propagator, solved, params.dwell)


def learn(params: Params, memory: Memory, transition: Transition, log: BackupBuffer) -> None:
    """Join the two places, and note whether the second is rewarded, unless the graph is known."""
    if params.least_autocorrelated:
        return
    is_new = join(memory.known, memory.is_linked, transition.state, transition.next_state)
    j, is_goal = memory.known.number[transition.next_state], transition.reward > 0.0
    if is_new or memory.is_goal[j] != is_goal:
        memory.is_goal[j] = is_goal
        memory.is_stale[0] = True


def replay(params: Params, memory: Memory, pause: Pause, rng: Generator, log: BackupBuffer) -> None:
    """Draw one place after the other."""
    n, places, P = memory.known.n[0], memory.known.met, memory.propagator
    if not is_due(params.replay_at, pause.phase) or n == 0 or params.n_replays == 0:
        return
    if memory.is_stale[0]:
        graph = memory.is_linked[:n, :n], memory.is_goal[:n], params.goal_weight
        propagate(P, *graph, params.tempo, params.stability, params.dwell)
        memory.is_stale[0] = False
    here = int(rng.random() * n) if pause.phase == REST else memory.known.number[pause.state]
    if here < 0:
        return
    for pop in range(params.n_replays):
        following = draw_next(P, n, here, rng)
        if following < 0:
            break
        priority = probability_of_next(P, n, here, following)
        reactivate(log, pause.phase, places[here], places[following], priority, pop)
        here = following
