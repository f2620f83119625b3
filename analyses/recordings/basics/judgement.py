"""The criteria for replay: significance, place sequences, and the states and laps of experience."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from analyses.sequences.detection import RECORDED, Detection

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["BIN_SHUFFLES", "CELL_SHUFFLES", "LEAST_SCORES", "SHUFFLES", "Judgement"]
__all__ += ["ARENA", "judgement_for"]

CELL_SHUFFLES = ("cell_identity", "circular_fields")
BIN_SHUFFLES = ("time_bins", "circular_posterior")
SHUFFLES = CELL_SHUFFLES + BIN_SHUFFLES
"""``cell_identity``: place fields are permuted among cells. ``circular_fields``: each place field
is shifted along the track by an independent distance, the same in both headings. ``time_bins``: the
order of time bins is permuted. ``circular_posterior``: the posterior of each time bin is shifted
along the track by an independent distance. Shifts are separate for each track."""

LEAST_SCORES = {"continuous": 0.5, "weighted_correlation": 0.0, "line_fit": 0.0}
"""The default minimum of each score. For posteriors of single time bins, which fit a line less well
the shorter the bins are, significance alone decides."""


class Judgement(NamedTuple):
    """The criteria for replay.

    Attributes
    ----------
    score : str
        The score of each event and of its shuffles; see
        `analyses.recordings.decide.scores.SCORES`.
    least_score : float
        Least score of replay; see ``LEAST_SCORES``.
    level : float
        The share of events with randomised cells that may pass.
    shuffles : tuple of str
        The shuffles; see ``SHUFFLES``.
    n_shuffles : int
        Number of shuffles of each.
    least_active : int
        Least number of active cells; other events are not tested.
    state_size : float
        Distance between neighbouring states, in cm, as nearly as edges can be divided evenly.
        Results should depend on it little; they are also computed for `other_sizes`.
    other_sizes : tuple of float
        Other such distances, in cm.
    lap_ends : tuple of str
        The names of nodes of the track at which laps end; by default its dead ends.
    tracks : tuple of tuple of str
        The names of the nodes of two parts of the track, such as two arms, that are compared by
        track log odds. By default the two components of a track graph with two; otherwise nothing
        is compared.
    detection : Detection
        The criteria for place sequences.
    """

    score: str = "continuous"
    least_score: float = LEAST_SCORES["continuous"]
    level: float = 0.05
    shuffles: tuple[str, ...] = ("cell_identity", "circular_fields")
    n_shuffles: int = 200
    least_active: int = 4
    state_size: float = 15.0
    other_sizes: tuple[float, ...] = (10.0, 20.0, 30.0)
    lap_ends: tuple[str, ...] = ()
    tracks: tuple[tuple[str, ...], ...] = ()
    detection: Detection = RECORDED


ARENA = Judgement(state_size=25.0, other_sizes=(20.0, 30.0, 40.0))
"""The criteria in an arena, where larger states lie beside each other, too, and paths between few
of them are seldom run twice."""


def judgement_for(graph: nx.Graph | None, **given: Any) -> Judgement:
    """Return the default criteria on a track or in an arena, but for those that are given.

    The default of `least_score` is that of the score; None stands for a default.

    Examples
    --------
    >>> judgement_for(None, score="line_fit", state_size=None)[:2]
    ('line_fit', 0.0)
    >>> import networkx as nx
    >>> judgement_for(nx.Graph(arena=True)).state_size
    25.0
    """
    usual = ARENA if graph is not None and "arena" in graph.graph else Judgement()
    own = {name: value for name, value in given.items() if value is not None}
    least = LEAST_SCORES.get(own.get("score", usual.score), 0.0)
    return usual._replace(**{"least_score": least, **own})
