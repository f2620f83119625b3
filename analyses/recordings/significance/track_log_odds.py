"""Track log odds: which of two tracks an event represents, whatever the order of its places.

The published code divides a sum that is not normalised by one that is; here the posterior is
normalised over both tracks for both sums, and decoded with the cells that have fields on both [1]_.
In shuffles, the fields of each cell on the two tracks are swapped with probability 1/2.

References
----------
.. [1] Takigawa et al. (2024), Evaluating hippocampal replay without a ground truth.
   https://doi.org/10.7554/eLife.85635
"""

from __future__ import annotations

from collections.abc import Sequence

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from analyses.recordings.binned_track import BinnedTrack
from analyses.recordings.decoding.bayesian_decoder import bayesian_posterior
from analyses.recordings.decoding.likelihood import log_likelihood
from replay.checks import check_choice, check_number, check_whole

__all__ = ["bins_between", "common_cells", "find_tracks", "log_odds", "track_log_odds"]
__all__ += ["tracks_to_compare"]


def log_odds(posterior: ArrayLike, first: ArrayLike, second: ArrayLike) -> float:
    """Compute the log odds of two tracks from the posterior of an event [1]_.

    Parameters
    ----------
    posterior : array_like of float, shape (n_time, n_bins)
        The posterior over the bins of both tracks, decoded with cells that have a field on both.
    first, second : array_like of bool, shape (n_bins,)
        Whether each bin belongs to the first and to the second track.

    Returns
    -------
    float
        The natural logarithm of the sum of the posterior over the first track divided by that over
        the second. For both sums, the posterior is normalised over both tracks together in each
        time bin.

    Raises
    ------
    ValueError
        If the tracks share a bin, or shapes disagree.

    References
    ----------
    .. [1] Takigawa et al. (2024), Evaluating hippocampal replay without a ground truth.
       https://doi.org/10.7554/eLife.85635

    Examples
    --------
    >>> round(log_odds([[0.6, 0.2, 0.2]], [True, False, False], [False, True, True]), 3)
    0.405
    """
    weights = np.asarray(posterior, dtype=float)
    one, other = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
    if weights.ndim != 2 or {one.shape, other.shape} != {weights.shape[1:]}:
        raise ValueError(
            "first and second must each have one value for each bin of the posterior; got shapes "
            f"{weights.shape}, {one.shape} and {other.shape}."
        )
    if (one & other).any():
        raise ValueError(f"Bin {int(np.flatnonzero(one & other)[0])} belongs to both tracks.")
    both = weights[:, one | other]
    normalised = both / both.sum(axis=1, keepdims=True)
    sums = (normalised[:, each[one | other]].sum() for each in (one, other))
    on_first, on_second = (max(float(each), 1e-300) for each in sums)
    return float(np.log(on_first) - np.log(on_second))


def find_tracks(graph: nx.Graph | None, names: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Look up the nodes of two tracks that are named as landmarks.

    Parameters
    ----------
    graph : networkx.Graph or None
        The track graph, with `landmarks` as :mod:`analyses.recordings.readers.track_graphs` reads
        them.
    names : sequence of str
        The names of two landmarks, or none.

    Returns
    -------
    tuple of tuple of str
        The nodes of each landmark.

    Raises
    ------
    ValueError
        If there are not two names, or the track has no such landmark.

    Examples
    --------
    >>> from replay.worlds.tracks import make_tmaze_track
    >>> graph = make_tmaze_track()
    >>> graph.graph["landmarks"] = {"left": ["1", "2"], "right": ["1", "3"]}
    >>> find_tracks(graph, ["left", "right"])
    (('1', '2'), ('1', '3'))
    """
    if len(names) not in (0, 2):
        raise ValueError(
            f"Track log odds compare two tracks; got {len(names)}. Name two landmarks."
        )
    known = {} if graph is None else graph.graph.get("landmarks", {})
    if names and not known:
        raise ValueError(
            "The track has no landmarks to compare: add them to its JSON, such as "
            '"landmarks": {"left": ["1", "2"], "right": ["1", "3"]}.'
        )
    return tuple(
        tuple(str(node) for node in known[check_choice("landmark", name, known)]) for name in names
    )


def bins_between(track: BinnedTrack, nodes: Sequence[str]) -> NDArray[np.bool_]:
    """Find the bins on the edges between the given nodes of a track.

    Parameters
    ----------
    track : BinnedTrack
        The track.
    nodes : sequence of str
        The names of nodes.

    Returns
    -------
    ndarray of bool, shape (n_bins,)
        Whether each bin is on an edge between two of these nodes.

    Raises
    ------
    ValueError
        If there is no such node, or no edge between them.

    Examples
    --------
    >>> from analyses.recordings.binned_track import cut_track
    >>> from replay.worlds.tracks import make_tmaze_track
    >>> track = cut_track(make_tmaze_track(), 10.0)
    >>> track.edges[track.edge[bins_between(track, ["1", "2"])][0]].tolist()
    [1, 2]
    """
    names = [str(node) for node in track.nodes]
    chosen = {names.index(check_choice("node of the track", str(node), names)) for node in nodes}
    inside: NDArray[np.bool_] = np.isin(track.edges, list(chosen)).sum(axis=1) == 2
    if not inside.any():
        raise ValueError(
            f"The track has no edge between any of the nodes {', '.join(nodes)}: name the nodes at "
            "both ends of each corridor."
        )
    return inside[track.edge]


def tracks_to_compare(
    track: BinnedTrack, rates: ArrayLike, named: Sequence[Sequence[str]] = ()
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]] | None:
    """Find the bins of the two tracks to be compared by track log odds.

    Parameters
    ----------
    track : BinnedTrack
        The track.
    rates : array_like of float, shape (n_cells, n_bins)
        Place fields in Hz.
    named : sequence of sequence of str, optional
        The nodes of each track; by default, the two components of a graph with two.

    Returns
    -------
    tuple of ndarray of bool, each of shape (n_bins,), or None
        The bins of each track; None if no tracks are named and either the graph does not have two
        components or fewer than two cells have a field on both.

    Raises
    ------
    ValueError
        As `bins_between`.

    Examples
    --------
    >>> from analyses.recordings.binned_track import cut_track
    >>> from replay.worlds.tracks import make_track_graph
    >>> track = cut_track(make_track_graph([(0, 0), (9, 0), (0, 50), (9, 50)], [(0, 1), (2, 3)]))
    >>> first, second = tracks_to_compare(track, np.ones((2, 4)))
    >>> first.tolist(), second.tolist()
    ([True, True, False, False], [False, False, True, True])
    """
    if named:
        first, second = (bins_between(track, nodes) for nodes in named)
        return first, second
    if track.n_components != 2:
        return None
    first, second = track.component == 0, track.component == 1
    return (first, second) if common_cells(rates, first, second).sum() > 1 else None


def common_cells(
    rates: ArrayLike, first: ArrayLike, second: ArrayLike, least_peak: float = 0.5
) -> NDArray[np.bool_]:
    """Find the cells with a field on each of two tracks.

    Parameters
    ----------
    rates : array_like of float, shape (n_cells, n_bins)
        Place fields in Hz.
    first, second : array_like of bool, shape (n_bins,)
        Whether each bin belongs to the first and to the second track.
    least_peak : float, default 0.5
        Least peak rate on each track, in Hz.

    Returns
    -------
    ndarray of bool, shape (n_cells,)
        Whether each cell has a field on both tracks.

    Examples
    --------
    >>> common_cells([[1, 1], [9, 0]], [True, False], [False, True]).tolist()
    [True, False]
    """
    hertz = np.asarray(rates, dtype=float)
    peaks = [hertz[:, np.asarray(each, dtype=bool)].max(axis=1) for each in (first, second)]
    found: NDArray[np.bool_] = np.min(peaks, axis=0) >= least_peak
    return found


def track_log_odds(
    events: Sequence[ArrayLike],
    rates: ArrayLike,
    first: ArrayLike,
    second: ArrayLike,
    *,
    dt: float,
    least_peak: float = 0.5,
    n_shuffles: int = 200,
    seed: int = 0,
) -> pd.DataFrame:
    """Compute the track log odds of each event, and compare them with chance.

    Parameters
    ----------
    events : sequence of array_like of int, each of shape (n_time, n_cells)
        Spikes of each cell in each time bin of each event.
    rates : array_like of float, shape (n_cells, n_bins)
        Place fields in Hz.
    first, second : array_like of bool, shape (n_bins,)
        Whether each bin belongs to the first and to the second track, as from `bins_between`.
    dt : float
        Length of a time bin, in s.
    least_peak : float, default 0.5
        As for `common_cells`; only these cells are decoded.
    n_shuffles : int, default 200
        Number of shuffles, in which the fields of cells swap tracks. If tracks differ in length,
        fields are stretched.
    seed : int, default 0
        Seed of the shuffles; those of an event do not depend on the other events.

    Returns
    -------
    pandas.DataFrame
        One row per event: `log_odds`, above 0 for the first track, and `log_odds_z`, in standard
        deviations from the mean of the shuffles; NaN for events without spikes of these cells.

    Raises
    ------
    ValueError
        If fewer than two cells have a field on both tracks, or the tracks share a bin.

    Examples
    --------
    >>> rates = [[9.0, 1.0], [1.0, 9.0], [9.0, 2.0]]
    >>> found = track_log_odds([[[2, 0, 1]]], rates, [True, False], [False, True], dt=0.02)
    >>> bool(found.loc[0, "log_odds"] > 0)
    True
    """
    one, other = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
    check_number("least_peak", least_peak, at_least=0.0)
    number = check_whole("n_shuffles", n_shuffles, at_least=2)
    hertz = np.asarray(rates, dtype=float)
    chosen = common_cells(hertz, one, other, least_peak)
    if np.count_nonzero(chosen) < 2:
        raise ValueError(
            f"{np.count_nonzero(chosen)} of {len(hertz)} cells have a field on both tracks (at "
            f"least {least_peak:g} Hz): too few for a comparison."
        )
    own = hertz[chosen]
    swapped = own.copy()
    for here, there in ((one, other), (other, one)):
        along = np.linspace(0, np.count_nonzero(there) - 1, np.count_nonzero(here))
        swapped[:, here] = own[:, there][:, np.round(along).astype(int)]
    children = np.random.SeedSequence(check_whole("seed", seed)).spawn(len(events))

    def odds(counts: NDArray[np.float64], fields: NDArray[np.float64]) -> float:
        likelihoods = log_likelihood(counts, fields, dt)[:, one | other]
        return log_odds(bayesian_posterior(likelihoods), one[one | other], other[one | other])

    rows = []
    for given, child in zip(events, children, strict=True):
        counts = np.asarray(given, dtype=float)[:, chosen]
        row = {"log_odds": np.nan, "log_odds_z": np.nan}
        if counts.any():
            rng = np.random.default_rng(child)
            by_chance = [
                odds(counts, np.where(rng.random((len(own), 1)) < 0.5, own, swapped))
                for _ in range(number)
            ]
            row["log_odds"] = odds(counts, own)
            spread = float(np.std(by_chance))
            if spread > 0:
                row["log_odds_z"] = (row["log_odds"] - float(np.mean(by_chance))) / spread
        rows.append(row)
    return pd.DataFrame(rows, columns=["log_odds", "log_odds_z"])
