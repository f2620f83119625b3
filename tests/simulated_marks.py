"""The spikes of simulated cells as electrodes would pick them up, before anybody sorts them."""

import numpy as np


def unsorted(spikes, n_electrodes, seed=0, noise=15.0, hash_rate=2.0):
    """Return times and marks of each electrode.

    A cell has a mean amplitude on each of four wires (60 to 200 uV on the best), and its spikes
    scatter around it by `noise` uV; `hash_rate` (Hz) are spikes of cells far away.
    """
    rng = np.random.default_rng(seed)
    end = max(each.max(initial=0.0) for each in spikes)
    times, marks = [], []
    for electrode in range(n_electrodes):
        own = [np.asarray(each) for each in spikes[electrode::n_electrodes]]
        amplitude = rng.uniform(60, 200, (len(own), 1)) * rng.uniform(0.3, 1.0, (len(own), 4))
        time = [*own, np.sort(rng.uniform(0, end, rng.poisson(hash_rate * end)))]
        mean = np.repeat(amplitude, [len(each) for each in own], axis=0)
        mean = np.concatenate([mean, 40 + rng.exponential(10, (len(time[-1]), 4))])
        time = np.concatenate(time)
        order = np.argsort(time, kind="stable")
        times.append(time[order])
        marks.append((mean + rng.normal(0, noise, mean.shape))[order])
    return times, marks
