"""Controls: replay without learning, with or without knowledge of the world.

A control reactivates places in the pauses of an animal. An event reactivates between 1 and
`most_places` places, and occurs in a share of all pauses, or of those that are not before a run.
Controls are scored as accounts are.

They are listed in ``CONTROLS``, each with what it claims.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import networkx as nx
import numpy as np
import pandas as pd

from analyses.findings.priors import Parameter, Prior, Uniform, WholeNumber
from replay.checks.arrays import Int32s, Ints
from replay.log.event_log import EventLog

_PRIORS: dict[str, Prior] = {
    "most_places": WholeNumber(10, 40, "as many as accounts reactivate in a pause, or fewer"),
    "share_of_pauses": Uniform(0.1, 1.0, "from replay now and then to replay in each pause"),
}


class Moments(NamedTuple):
    """The experience of the animal at the moment when a control replays."""

    step: int  # the last completed one; -1 before the first
    # All steps, shape (n_steps,); those up to `step` are known.
    state: Int32s
    next_state: Int32s
    episode: Int32s  # the lap of each step
    # Place -> its neighbours along open edges, and along all edges, through walls.
    open_moves: list[Ints]
    all_moves: list[Ints]


Emit = Callable[[Moments, int, np.random.Generator], list[int]]
"""Draws the places of one event, given their number."""


class Control(NamedTuple):
    """A rule that reactivates places without learning."""

    # Returns the places of one event; none before any experience that the control needs.
    emit: Emit
    priors: Mapping[str, Prior]  # of its free parameters, `most_places` and `share_of_pauses`
    claim: str  # what is reactivated


def _uniform(moments: Moments, n_places: int, rng: np.random.Generator) -> list[int]:
    visited = np.unique(
        np.append(moments.state[: moments.step + 1], moments.next_state[: moments.step + 1])
    )
    return rng.choice(visited, n_places).tolist() if len(visited) else []


def _shuffled(moments: Moments, n_places: int, rng: np.random.Generator) -> list[int]:
    if moments.step < 0:
        return []
    episode = moments.episode
    lap = rng.integers(episode[moments.step] + 1)
    begin, end = np.searchsorted(episode[: moments.step + 1], [lap, lap + 1])
    if begin == end:
        return []
    run = np.append(moments.state[begin:end], moments.next_state[end - 1])
    places: list[int] = rng.permutation(run)[:n_places].tolist()
    return places


def _walk(moves: list[Ints], n_places: int, rng: np.random.Generator) -> list[int]:
    place = int(rng.integers(len(moves)))
    walk = [place]
    for draw in rng.random(n_places - 1).tolist():
        neighbours = moves[place]
        if not len(neighbours):
            break
        place = int(neighbours[int(draw * len(neighbours))])
        walk.append(place)
    return walk


CONTROLS: dict[str, Control] = {
    "uniform_reactivation": Control(_uniform, _PRIORS, "Visited places, drawn independently."),
    "shuffled_laps": Control(_shuffled, _PRIORS, "The places of one of the laps, in random order."),
    "blind_walks": Control(
        lambda moments, n, rng: _walk(moments.all_moves, n, rng),
        _PRIORS,
        "A random walk from a random place, through walls.",
    ),
    "graph_walks": Control(
        lambda moments, n, rng: _walk(moments.open_moves, n, rng),
        _PRIORS,
        "A random walk from a random place, along ways.",
    ),
}
"""Name -> control."""


def replay_of_control(
    control: Control,
    params: Mapping[str, Parameter],
    log: EventLog,
    pauses: pd.DataFrame,
    graph: nx.Graph,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Draw the replay of a control in the pauses of an animal.

    `pauses` has `step` (the last completed one, -1 before the first) and `phase`, in order; `graph`
    has the places, numbered from 0, whose edges may be `impossible`. One row per event is returned:
    `step, phase, states`, the form of paths in `analyses.place_sequences`.

    Examples
    --------
    >>> log = EventLog({"steps": {"state": [0, 1], "next_state": [1, 2],
    ...                           "terminated": [False, True]}})
    >>> pauses = pd.DataFrame({"step": [1], "phase": ["episode_end"]})
    >>> params = {"most_places": 3, "share_of_pauses": 1.0}
    >>> replayed = replay_of_control(CONTROLS["shuffled_laps"], params, log, pauses,
    ...     nx.path_graph(3), np.random.default_rng(1))
    >>> set(replayed["states"][0]) <= {0, 1, 2}
    True
    """
    steps, n_places = log.columns("steps"), graph.number_of_nodes()
    all_moves = [np.array(sorted(graph.adj[place]), dtype=np.int64) for place in range(n_places)]
    is_open = nx.restricted_view(
        graph, [], [(u, v) for u, v, closed in graph.edges(data="impossible") if closed]
    )
    open_moves = [np.array(sorted(is_open.adj[place]), dtype=np.int64) for place in range(n_places)]
    if params.get("replay_at") == "end_and_rest":
        pauses = pauses[pauses["phase"] != "start"]
    rows = []
    happens = rng.random(len(pauses)) < float(params["share_of_pauses"])
    n_emitted = rng.integers(1, int(params["most_places"]) + 1, size=len(pauses))
    moments = Moments(
        -1, steps["state"], steps["next_state"], steps["episode"], open_moves, all_moves
    )
    for step, phase, n, does in zip(
        pauses["step"].tolist(), pauses["phase"], n_emitted.tolist(), happens.tolist(), strict=True
    ):
        places = control.emit(moments._replace(step=step), n, rng) if does else []
        if places:
            rows.append((step, phase, places))
    return pd.DataFrame(rows, columns=["step", "phase", "states"])
