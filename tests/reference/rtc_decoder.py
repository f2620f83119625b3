"""Make ``rtc_decoder.npz``: posterior and evidence of replay_trajectory_classification 1.4.1.

Run in an environment of its own, with ``replay_trajectory_classification==1.4.1`` and ``pandas<3``:
``python rtc_decoder.py``. The package's default transitions: whatever enters or leaves fragmented
movement is uniform, else the step is that of the movement entered.
"""

from pathlib import Path

import numpy as np
from replay_trajectory_classification.core import _acausal_classify, _causal_classify

N_TIME, N_BINS = 120, 12
rng = np.random.default_rng(20261122)
place = np.arange(N_BINS) * 5.0
walk = np.exp(-0.5 * (place[:, None] - place) ** 2 / 15.0)
walk /= walk.sum(axis=1, keepdims=True)
log_likelihoods = rng.normal(0.0, 3.0, (N_TIME, N_BINS))
uniform, same = np.full((N_BINS, N_BINS), 1 / N_BINS), np.eye(N_BINS)
steps = np.empty((3, 3, N_BINS, N_BINS))
for before in range(3):
    for after in range(3):
        steps[before, after] = uniform if 2 in (before, after) else (same, walk)[after]
movements = np.full((3, 3), 0.01)
np.fill_diagonal(movements, 0.98)
highest = log_likelihoods.max(axis=1)
likelihood = np.exp(log_likelihoods - highest[:, None])
likelihood = np.repeat(likelihood[:, None, :, None], 3, axis=1)
initial = np.full((3, N_BINS, 1), 1 / (3 * N_BINS))
causal, scaled = _causal_classify(initial, steps, movements, likelihood)
posterior = _acausal_classify(causal, steps, movements)
np.savez_compressed(
    Path(__file__).with_name("rtc_decoder.npz"),
    log_likelihoods=log_likelihoods,
    walk=walk,
    posterior=posterior[..., 0],
    log_evidence=scaled + highest.sum(),
)
