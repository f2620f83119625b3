"""Clusterless decoding: spikes that were not sorted, by the features of their waveforms (marks).

The joint density of marks and positions [1]_ is estimated electrode by electrode. It is constant
within the classes of marks that k-means finds, many more than there are cells, and a kernel
estimate along the track within each, like a place field. So the spikes of a class are decoded,
tested and simulated like those of a cell, and memory and time do not grow with the number of spikes
times itself, as with kernels on marks.

A cell that is recorded on an electrode is spread over several classes, and so are its bursts.
Shuffles therefore exchange the positions of marks between electrodes, and never within one.

References
----------
.. [1] Kloosterman, Layton, Chen & Wilson (2014). https://doi.org/10.1152/jn.01046.2012
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.cluster.vq import kmeans2, vq

from analyses.recordings.basics.observed import check_times
from replay.checks import check_array
from replay.checks.arrays import Floats, Ints

_MOST_CLASSES, _SPIKES_OF_CLASS = 16, 100
_MOST_FITTED = 20_000  # spikes of an electrode
_SEED = 0  # of k-means


class MarkClasses(NamedTuple):
    """The spikes of each class of marks."""

    spikes: tuple[Floats, ...]  # the spike times of each class, in s
    electrode: Ints  # (n_classes,): its electrode, ascending


def classes_of_marks(times: Sequence[ArrayLike], marks: Sequence[ArrayLike]) -> MarkClasses:
    """Divide the spikes of each electrode into classes of similar marks.

    `times` (s) and `marks`, shape (n_spikes, n_features), are those of each electrode.
    """
    spikes: list[Floats] = []
    electrode: list[int] = []
    for number, (time, given) in enumerate(zip(times, marks, strict=True)):
        what = f"The marks of electrode {number}"
        points = check_array(given, what, kind="number", n_dims=2)
        moments = check_times(time, f"The spike times of electrode {number}")
        if len(points) != len(moments):
            raise ValueError(
                f"{what} must have a row for each spike; got {len(points)} rows and "
                f"{len(moments)} spikes."
            )
        if not len(points):
            continue
        order = np.argsort(moments, kind="stable")
        moments, points = moments[order], points[order]
        spread = points.std(axis=0)
        scaled = (points - points.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        n_classes = min(max(len(points) // _SPIKES_OF_CLASS, 1), _MOST_CLASSES)
        rng = np.random.default_rng(_SEED)
        few = scaled
        if len(few) > _MOST_FITTED:
            few = few[rng.choice(len(few), _MOST_FITTED, replace=False)]
        begin = few[rng.choice(len(few), n_classes, replace=False)]
        centre, _ = kmeans2(few, begin, minit="matrix")
        # Classes are numbered along the direction of most variance.
        _, _, axes = np.linalg.svd(few, full_matrices=False)
        centre = np.unique(centre, axis=0)
        found, _ = vq(scaled, centre[np.argsort(centre @ axes[0], kind="stable")])
        _, own = np.unique(found, return_inverse=True)
        spikes += [moments[own == each] for each in range(own.max() + 1)]
        electrode += [number] * (own.max() + 1)
    return MarkClasses(tuple(spikes), np.array(electrode, dtype=np.int64))


def describe_classes(spikes: Sequence[Floats], electrode: Ints) -> str:
    """Describe classes of marks in a phrase.

    Examples
    --------
    >>> describe_classes((np.arange(1000.0), np.arange(500.0)), np.array([0, 0]))
    '1,500 unsorted spikes of 1 electrode in 2 classes of marks'
    """
    n_spikes, n_electrodes = sum(map(len, spikes)), len(np.unique(electrode))
    return (
        f"{n_spikes:,} unsorted spikes of {n_electrodes} electrode{'s' * (n_electrodes != 1)} in "
        f"{len(spikes)} classes of marks"
    )


def exchanged(electrode: NDArray[np.integer], rng: np.random.Generator) -> Ints:
    """Draw for each class the one whose positions it gets: all of an electrode from another one.

    If each has an electrode of its own, as sorted cells do, this is a permutation.
    """
    _, first, own, number = np.unique(
        electrode, return_index=True, return_inverse=True, return_counts=True
    )
    donor = rng.permutation(len(first))[own]
    place = np.arange(len(own)) - first[own]
    return np.asarray(first[donor] + place * number[donor] // number[own], dtype=np.int64)
