"""The propagator of a graph whose sequences return to earlier places as rarely as possible.

Among all propagators with the eigenvectors of the random walk on the graph, it has the smallest
probability of return, summed over lags of 1 to 9 steps and over all places [1]_:

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
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["least_autocorrelated"]

_LAGS = np.arange(1, 10)
_SAME = 1e-8  # eigenvalues that differ by less count as equal
_MOST_ITERATIONS = 500


def least_autocorrelated(is_linked: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Compute the least autocorrelated propagator of a graph.

    `is_linked` (n, n) is symmetric, without links of a place to itself. Row i of the result holds
    the probabilities of each place after place i; it is read only.

    Examples
    --------
    On a line of four places it jumps to places at an odd distance:

    >>> line = np.eye(4, k=1, dtype=bool) | np.eye(4, k=-1, dtype=bool)
    >>> (least_autocorrelated(line)[0] > 0.01).tolist()
    [False, True, False, True]
    """
    return _solved(is_linked.tobytes(), len(is_linked))


@lru_cache(maxsize=32)
def _solved(links: bytes, n: int) -> NDArray[np.float64]:
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

    def returns(power: NDArray[np.float64]) -> float:
        return float(shares @ (power[:, np.newaxis] ** _LAGS).sum(axis=1))

    def slopes(power: NDArray[np.float64]) -> NDArray[np.float64]:
        terms: NDArray[np.float64] = shares[:, np.newaxis] * power[:, np.newaxis] ** (_LAGS - 1)
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
    solved: NDArray[np.float64] = np.maximum(
        np.tensordot(power, projectors, 1) / roots[:, np.newaxis] * roots, 0.0
    )
    solved /= solved.sum(axis=1, keepdims=True)
    solved.flags.writeable = False
    return solved
