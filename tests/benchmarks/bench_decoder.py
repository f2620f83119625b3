"""Speed of the state-space decoder beside others: run by hand.

``python tests/benchmarks/bench_decoder.py`` times 500 time bins of 36 to 376 states and 3 kinds of
movement, in seconds of processor time, the best of three. The cores of
replay_trajectory_classification 1.4.1 and non_local_detector 0.6.9 are timed in the same run if
they are installed (with ``pandas<3`` and ``jax<0.10``, in a separate environment), on the same
likelihoods and transitions, and their posteriors must be the same.
"""

from collections.abc import Callable
from time import perf_counter, process_time
from typing import Any

import networkx as nx
import numpy as np

from analyses.recordings.basics.binned_track import cut_track
from analyses.recordings.prepare.state_space_decoder import Walk, state_posterior, walk_of_states

N_TIME, N_REPEATS = 500, 3
SIZES = ((36, 1), (94, 1), (94, 2), (188, 1), (188, 2))
"""Bins of the track, and headings."""


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    """Return the least time that a run takes, and its result; the first one compiles."""
    found, times = run(), []
    for _ in range(N_REPEATS):
        begin = process_time()
        found = run()
        times.append(process_time() - begin)
    return min(times), found


def whole_transitions(walk: np.ndarray) -> np.ndarray:
    """Transitions of place for each pair of movements, as the other programs take them."""
    n_states = len(walk)
    uniform, same = np.full((n_states, n_states), 1 / n_states), np.eye(n_states)
    steps = np.empty((3, 3, n_states, n_states))
    for before in range(3):
        for after in range(3):
            steps[before, after] = uniform if 2 in (before, after) else (same, walk)[after]
    return steps


def of_rtc(likelihood: np.ndarray, walk: np.ndarray, movements: np.ndarray) -> np.ndarray:
    """Decode with the core of replay_trajectory_classification."""
    from replay_trajectory_classification.core import _acausal_classify, _causal_classify

    steps, n_states = whole_transitions(walk), len(walk)
    repeated = np.repeat(likelihood[:, None, :, None], 3, axis=1)
    initial = np.full((3, n_states, 1), 1 / (3 * n_states))
    causal, _ = _causal_classify(initial, steps, movements, repeated)
    return np.asarray(_acausal_classify(causal, steps, movements))[..., 0]


def of_nld(log_likelihoods: np.ndarray, walk: np.ndarray, movements: np.ndarray) -> np.ndarray:
    """Decode with the core of non_local_detector."""
    import jax.numpy as jnp
    from non_local_detector.core import filter as forward
    from non_local_detector.core import smoother

    n_time, n_states = log_likelihoods.shape
    steps = (movements[:, :, None, None] * whole_transitions(walk)).transpose(0, 2, 1, 3)
    steps = jnp.array(steps.reshape(3 * n_states, -1))
    initial = jnp.full(3 * n_states, 1 / (3 * n_states))
    _, (filtered, _) = forward(initial, steps, jnp.array(np.tile(log_likelihoods, (1, 3))))
    return np.asarray(smoother(steps, filtered)).reshape(n_time, 3, n_states)


def main() -> None:
    """Measure, compare, and print."""
    movements = np.full((3, 3), 0.01)
    np.fill_diagonal(movements, 0.98)
    for n_bins, n_headings in SIZES:
        graph = nx.Graph([(0, 1)])
        nx.set_node_attributes(graph, {0: (0.0, 0.0), 1: (5.0 * n_bins, 0.0)}, "pos")
        n_states = n_bins * n_headings
        walk: Walk = walk_of_states(cut_track(graph, 5.0), 15.0, n_states)
        dense = walk if isinstance(walk, np.ndarray) else walk.toarray()
        given = np.random.default_rng(0).normal(0.0, 3.0, (N_TIME, n_states))
        ours, (posterior, _) = timed(lambda given=given, walk=walk: state_posterior(given, walk))
        print(f"{n_states} states: this decoder {1e6 * ours / N_TIME:.1f} us a time bin", end="")
        likelihood = np.exp(given - given.max(axis=1, keepdims=True))
        for name, run, data in (
            ("replay_trajectory_classification", of_rtc, likelihood),
            ("non_local_detector", of_nld, given),
        ):
            try:
                took, theirs = timed(
                    lambda run=run, data=data, dense=dense: run(data, dense, movements)
                )
            except ImportError:
                print(f"; {name} is not installed", end="")
                continue
            worst = np.abs(theirs - posterior).max()
            print(f"; {name} {took / ours:.0f} times as long (within {worst:.0e})", end="")
        print()


if __name__ == "__main__":
    begin = perf_counter()
    main()
    print(f"{perf_counter() - begin:.0f} s in all")
