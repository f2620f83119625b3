"""Speed of the state-space decoder and of replay_trajectory_classification: run by hand.

``python tests/benchmarks/bench_decoder.py`` times 20,000 time bins of 94 positions and 3 kinds of
movement, in seconds of wall-clock time, the best of three. The core of
replay_trajectory_classification 1.4.1 is timed as well if it is installed (with ``pandas<3``, in a
separate environment), and its posterior must be the same; it needs minutes.
"""

from time import perf_counter

import networkx as nx
import numpy as np

from analyses.recordings.binned_track import cut_track
from analyses.recordings.decoding.state_space_decoder import state_posterior, walk_transitions

N_TIME, N_BINS, N_REPEATS = 20_000, 94, 3


def main() -> None:
    """Measure, compare, and print."""
    graph = nx.Graph([(0, 1)])
    nx.set_node_attributes(graph, {0: (0.0, 0.0), 1: (5.0 * N_BINS, 0.0)}, "pos")
    walk = walk_transitions(cut_track(graph, 5.0), 15.0)
    log_likelihoods = np.random.default_rng(0).normal(0.0, 3.0, (N_TIME, N_BINS))
    state_posterior(log_likelihoods[:2], walk)
    ours = []
    for _ in range(N_REPEATS):
        begin = perf_counter()
        posterior, log_evidence = state_posterior(log_likelihoods, walk)
        ours.append(perf_counter() - begin)
    print(f"this decoder: {min(ours):.2f} s")
    try:
        from replay_trajectory_classification.core import _acausal_classify, _causal_classify
    except ImportError:
        print("replay_trajectory_classification is not installed")
        return
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
    _causal_classify(initial, steps, movements, likelihood[:2])  # compiles
    begin = perf_counter()
    causal, scaled = _causal_classify(initial, steps, movements, likelihood)
    theirs = _acausal_classify(causal, steps, movements)[..., 0]
    took = perf_counter() - begin
    print(f"replay_trajectory_classification: {took:.1f} s, {took / min(ours):.0f} times as long")
    print(f"largest difference of posteriors: {np.abs(theirs - posterior).max():.1e}")
    print(f"difference of log evidence: {abs(scaled + highest.sum() - log_evidence):.1e}")


if __name__ == "__main__":
    main()
