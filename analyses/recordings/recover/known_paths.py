"""Paths that are forward, reverse or novel with respect to an animal's laps, and their kinds."""

from __future__ import annotations

from collections.abc import Sequence

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from analyses.recordings.decide.conclusions import kinds_on_lines
from analyses.recordings.recover.unfolding import MISSED, NOVEL, REPLAYED
from analyses.sequences import Detection
from analyses.sequences.logs import Columns
from analyses.sequences.place_sequences import place_sequences
from analyses.sequences.track import graph_of_log
from replay.checks import check_choice, check_number, check_whole, typed
from replay.checks.arrays import Ints
from replay.log.event_log import EventLog

_N_DRAWN, _N_TRIES = 200, 20
_LEAST_TRIED = 800  # paths: a kind of which none is among them is too rare
_SHORT = 4  # states, of a path without a middle of three
_FOR_EACH, _LEAST_DRAWN = 8, 40  # paths drawn for each that is wanted, and at least; even numbers


@typed
def known_paths(
    log: EventLog,
    *,
    n_each: int = 15,
    length: float = 200.0,
    kinds: Sequence[str] = REPLAYED,
    headings: bool = False,
    seed: int = 0,
) -> pd.DataFrame:
    """Draw paths that are forward, reverse or novel with respect to an animal's laps.

    Forward and reverse paths are stretches of laps; ambiguous ones are stretches that the animal
    ran in both directions. Novel paths are random walks without turning back, along moves that were
    made in either direction, that were not run as a whole even without their first and last states,
    because a path that is novel only at its end loses its novelty as soon as that is missed.

    Parameters
    ----------
    log : EventLog
        The animal's laps; the world of the log must have positions. For a recording, use
        :func:`analyses.recordings.prepare.recorded_experience.experience_of`.
    n_each : int, default 15
        Number of paths of each kind.
    length : float, default 200.0
        Least length of a path, in cm; paths are at most one move longer.
    kinds : sequence of str, default ("forward_episode", "reverse_episode", "novel_path")
        The kinds; ``ambiguous`` is another one.
    headings : bool, default False
        Whether paths have a heading, so that those that the animal ran in both directions are
        forward or reverse, too.
    seed : int, default 0
        Seed of the draws.

    Returns
    -------
    pandas.DataFrame
        `step` (the last one of the log), `states`, `kind`, and, for each state, `along`: whether
        the heading is the direction of travel (1), the opposite (-1) or unknown (0).

    Raises
    ------
    ValueError
        If too few paths of a kind are found: there are none if the animal ran every corridor in
        both directions, or if laps are shorter.

    Examples
    --------
    >>> from replay import MDP
    >>> from replay.worlds.tracks import make_tmaze_track
    >>> world = MDP.from_networkx(make_tmaze_track(), start=0, terminal=[2, 3])
    >>> steps = {"state": [0, 1, 0, 1], "next_state": [1, 2, 1, 3],
    ...          "terminated": [False, True, False, True]}
    >>> paths = known_paths(EventLog({"steps": steps}, mdp=world), n_each=1, length=100.0)
    >>> paths["kind"].tolist(), sorted(paths["states"].iloc[2])
    (['forward_episode', 'reverse_episode', 'novel_path'], [1, 2, 3])
    """
    number = check_whole("n_each", n_each, at_least=1)
    least = check_number("length", length, at_least=0.0, hint="It is in cm.")
    wanted = [check_choice("kind", kind, (*REPLAYED, "ambiguous")) for kind in kinds]
    rng = np.random.default_rng(check_whole("seed", seed))
    steps, joined = log.columns("steps"), graph_of_log(log)
    if not len(steps["state"]):
        raise ValueError("The log has no steps, so no path is known: log steps too.")
    moves = zip(steps["state"], steps["next_state"], strict=True)
    ran = joined.edge_subgraph(move for move in moves if move in joined.edges)
    ends = np.flatnonzero(np.append(np.diff(steps["episode"]) != 0, True)) + 1
    last = int(steps["step"][-1])
    found: dict[str, list[tuple[list[int], int]]] = {kind: [] for kind in wanted}
    n_drawn = min(_N_DRAWN, max(_FOR_EACH * number, _LEAST_DRAWN))
    n_tried = 0
    for _ in range(_N_TRIES):
        n_tried += n_drawn
        stretches: list[list[int]] = []
        walks: list[list[int]] = []
        if set(wanted) - {NOVEL}:
            first = rng.integers(len(steps["state"]), size=n_drawn).tolist()
            stretches = [_stretch(steps, row, ends, joined, least) for row in first]
        if NOVEL in wanted:
            starts = rng.choice(np.array(sorted(ran)), n_drawn).tolist()
            walks = [_walk(ran, start, least, rng) for start in starts]
        # Stretches of laps are forward, and turned they are reverse, unless both ways were run.
        turned = [path[::-1] for path in stretches]
        each_way = [1] * len(stretches), [-1] * len(turned), [1, -1] * (len(walks) // 2)
        way = [sign * headings for signs in each_way for sign in signs]
        listed = zip((*stretches, *turned, *walks), way, strict=True)
        drawn = [(path, sign) for path, sign in listed if path]
        for path, kind in zip(drawn, _kinds(log, drawn, last), strict=True):
            if kind in found and len(found[kind]) < number:
                found[kind].append(path)
        is_complete = all(len(paths) == number for paths in found.values())
        is_hopeless = n_tried >= _LEAST_TRIED and not all(found.values())
        if is_complete or is_hopeless:
            break
    for kind, paths in found.items():
        if len(paths) < number:
            raise ValueError(
                f"Only {len(paths)} paths of kind {kind} and {least:g} cm were found among "
                f"{n_tried:,} random ones, but {number} are needed. There are none if "
                "every corridor was run in both directions; otherwise ask for shorter paths "
                "(length)."
            )
    rows = [
        (last, path, kind, [sign] * len(path))
        for kind, paths in found.items()
        for path, sign in paths
    ]
    return pd.DataFrame(rows, columns=["step", "states", "kind", "along"])


def _kinds(log: EventLog, paths: list[tuple[list[int], int]], step: int) -> list[str]:
    """Return the kind of each path with a heading; empty if it is novel only at its ends."""

    def named(rows: list[tuple[list[int], int]]) -> list[str]:
        places, moments = [path for path, _ in rows], np.full(len(rows), step)
        along = [[sign] * len(path) for path, sign in rows]
        found = longest_sequences(log, moments, places, along, Detection(2), when="step")
        return list(found["kind"])

    kinds = named(paths)
    long = [k for k, kind in enumerate(kinds) if kind == NOVEL and len(paths[k][0]) > _SHORT]
    middles = [(paths[k][0][1:-1], paths[k][1]) for k in long]
    for k, kind in zip(long, named(middles) if middles else [], strict=True):
        kinds[k] = kind if kind == NOVEL else ""
    return kinds


def _stretch(steps: Columns, row: int, ends: Ints, joined: nx.Graph, least: float) -> list[int]:
    """Return a stretch of a lap from a step on; empty if the lap is too short."""
    path, way = [int(steps["state"][row])], 0.0
    for later in range(row, ends[np.searchsorted(ends, row, side="right")]):
        there = int(steps["next_state"][later])
        if there != path[-1]:
            way += joined.edges[path[-1], there]["distance"]
            path.append(there)
        if way >= least and len(path) > 1:
            return path
    return []


def _walk(ran: nx.Graph, start: int, least: float, rng: np.random.Generator) -> list[int]:
    """Draw a random walk without turning back; empty if it comes to an end too early."""
    path, way = [start], 0.0
    while way < least or len(path) < 2:
        onwards = sorted(set(ran[path[-1]]) - set(path[-2:-1]))
        if not onwards:
            return []
        there = int(rng.choice(onwards))
        way += ran.edges[path[-1], there]["distance"]
        path.append(there)
    return path


def longest_sequences(
    ran: EventLog,
    moments: ArrayLike,
    places: list[list[int]],
    along: list[list[int]],
    detection: Detection,
    when: str = "time",
) -> pd.DataFrame:
    """Find and classify the longest sequence of each event; `along` are the headings."""
    paths = pd.DataFrame({when: moments, "states": places, "along": along})
    found = place_sequences(ran, paths, detection=detection)
    longest = found.sort_values(["event", "distance"], ascending=[True, False], kind="stable")
    longest = longest.drop_duplicates("event")
    longest = longest.assign(kind=kinds_on_lines(longest, ran.mdp))
    nothing = (MISSED, MISSED, (), np.nan)
    rows: list[tuple[object, ...]] = [nothing] * len(places)
    columns = [longest[name] for name in ("event", "kind", "direction", "states", "distance")]
    for event, kind, direction, states, distance in zip(*columns, strict=True):
        rows[event] = (kind, direction, tuple(states.tolist()), distance)
    return pd.DataFrame(rows, columns=["kind", "direction", "states", "distance"], dtype=object)
