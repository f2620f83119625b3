"""The Bayesian decoder, which decodes each time bin independently [1]_.

References
----------
.. [1] Zhang, Ginzburg, McNaughton & Sejnowski (1998), Interpreting neuronal population activity by
   reconstruction. https://doi.org/10.1152/jn.1998.79.2.1017
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analyses.recordings.prepare.likelihood import check_likelihoods

__all__ = ["bayesian_posterior"]


def bayesian_posterior(log_likelihoods: ArrayLike) -> NDArray[np.float64]:
    """Decode each time bin independently: likelihoods and posterior are (n_time, n_bins).

    Examples
    --------
    >>> bayesian_posterior(np.log([[1.0, 3.0]])).tolist()
    [[0.25, 0.75]]
    """
    given = check_likelihoods(log_likelihoods)
    scaled = np.exp(given - given.max(axis=1, keepdims=True))
    posterior: NDArray[np.float64] = scaled / scaled.sum(axis=1, keepdims=True)
    return posterior
