"""The criteria for replay: significance, place sequences, and the states and laps of experience."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from analyses.sequences.detection import RECORDED, Detection

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["ARENA", "Judgement", "judgement_for"]


class Judgement(NamedTuple):
    """The criteria for replay.

    Attributes
    ----------
    level : float
        The share of each control that may reach the evidence of replay.
    n_shuffles : int
        Number of times that the cells of each event are exchanged.
    n_controls : int
        Number of events of each other control, such as places that are held, for each event.
    least_active : int
        Least number of active cells; other events are not tested.
    state_size : float in cm
        Distance between neighbouring states, in cm.
    other_sizes : tuple of float
        Other such distances, for which kinds are computed, too: results should depend on it little.
        Edges are divided evenly, as nearly as can be.
    lap_ends : tuple of str
        The names of nodes of the track at which laps end; by default its dead ends, or without any
        the nodes where the animal pauses or passes most.
    tracks : tuple of tuple of str
        The names of the nodes of two parts of the track, such as two arms, that are compared by
        track log odds. By default the two components of a track graph with two; otherwise nothing
        is compared.
    detection : Detection
        The criteria for place sequences.
    """

    level: float = 0.05
    n_shuffles: int = 20
    n_controls: int = 5
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

    None stands for a default.

    Examples
    --------
    >>> judgement_for(None, level=0.01, state_size=None)[:2]
    (0.01, 20)
    >>> import networkx as nx
    >>> judgement_for(nx.Graph(arena=True)).state_size
    25.0
    """
    usual = ARENA if graph is not None and "arena" in graph.graph else Judgement()
    return usual._replace(**{name: value for name, value in given.items() if value is not None})
