"""Conclusions from scored events: the threshold, and the place sequences of significant events.

Each candidate event was decoded on the track, and so were controls with as many spikes: those with
exchanged cells and those that hold places. What they reach is the least evidence of replay. The
course of each stretch of travel in an event that has as much is converted to place sequences
(:func:`analyses.place_sequences`), which are classified against what the animal had run before.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from analyses.recordings.basics.binned_track import BinnedTrack, cut_track
from analyses.recordings.basics.recording import Recording
from analyses.recordings.decide.controls import (
    EXCHANGED,
    Calibration,
    calibrate,
    tail_rates,
    without_replay,
)
from analyses.recordings.decide.held_out import HeldOut, held_out
from analyses.recordings.decide.scoring import Scored
from analyses.recordings.prepare.headings import heading_of_ways
from analyses.recordings.prepare.lap_ends import find_lap_ends, steady_positions
from analyses.recordings.prepare.recorded_experience import experience_of
from analyses.recordings.prepare.session import Session
from analyses.recordings.prepare.travel_events import N_SEARCHES
from analyses.recordings.prepare.visits import find_visits, nearest_states
from analyses.sequences.place_sequences import place_sequences
from analyses.sequences.track import graph_of_log
from analyses.tables import KINDS
from replay.checks.arrays import Floats, Ints
from replay.log.event_log import EventLog
from replay.worlds.mdp import MDP

_APART = 1e-6  # s, between two intervals of pynapple
_HALF = 0.5  # the mean probability of continuous movement, by another program
_CONTROLS = ["control", "n", "least_evidence", "rate", "ci_low", "ci_high"]
_NO_SEQUENCE = "no_sequence"
_WHY = {
    "both": "run both ways, with an unknown heading",
    "mixed": "partly forward and partly in reverse",
    "neither": "on a line, before the animal ran its moves in this recording",
}
"""Direction of an ambiguous sequence -> why it is neither forward nor reverse."""
_NO_STRETCH = "no stretch in which travel is more probable than not"
_LONGEST_GAP = 0.5  # s, between an event and a position that is the animal's


class Conclusions(NamedTuple):
    """The replay that was found, and how it was found.

    Attributes
    ----------
    events : DataFrame
        The decoded events (see `analyses.recordings.decide.scoring.Scored`), with `is_replay` and
        `kind` (of the event's longest sequence; null unless it is replay) and `why` that is neither
        forward, reverse nor novel, or why an event with as much evidence is no replay (else null).
        With spikes also `p`
        (the share of all events with exchanged cells that have at least its evidence) and
        `tail_exchanged` and `tail_worst`: how many of the events with at least its evidence would
        be false, if all had exchanged cells, or were of the worst control.
    stretches : DataFrame
        The stretches of travel of all events.
    sequences : DataFrame
        The place sequences of replay, as `analyses.place_sequences` returns them, with `kind` and
        `start_time` and `end_time` (s); `event` and `stretch` are those of `stretches`.
    kinds : DataFrame
        For each state size: `state_size, states_per_metre, kind, n, n_events, share, ci_low,
        ci_high`.
    states : DataFrame
        The position of each state: `state, x, y` (cm).
    experience : EventLog
        The animal's moves between states, lap by lap; its `mdp` is the track.
    visited : DataFrame
        The states that each stretch of replay visits: `event, stretch, time` (s), `states`;
        `phase`: `rest` off the track, `episode_end` after a lap, `step` within a lap; `location`,
        the state at which the animal is, or off the track was last (-1 if its position is unknown);
        and `along`, if headings were decoded (see :func:`analyses.place_sequences`).
    paths : DataFrame
        The decoded paths of all events.
    calibration : Calibration or None
        The least evidence of replay, and what reaches it by chance; None without spikes.
    controls : DataFrame
        For each control: `control, n, least_evidence`, which at most .05 of them reach; `rate`, the
        share that reaches that of replay, with its 95 % interval `ci_low, ci_high`.
    chance : DataFrame
        The controls that count: `event, control, evidence`.
    session : Session
        The prepared recording.
    held : HeldOut or None
        Whether the fields of running hold in events; None unless `find_replay` has asked.
    """

    events: pd.DataFrame
    stretches: pd.DataFrame
    sequences: pd.DataFrame
    kinds: pd.DataFrame
    states: pd.DataFrame
    experience: EventLog
    visited: pd.DataFrame
    paths: pd.DataFrame
    calibration: Calibration | None
    controls: pd.DataFrame
    chance: pd.DataFrame
    session: Session
    held: HeldOut | None = None

    def __repr__(self) -> str:
        """Summarise the numbers of events and sequences."""
        n_replay = int(self.events["is_replay"].sum())
        return (
            f"Conclusions({len(self.events):,} events, of which {n_replay:,} are replay, "
            f"{len(self.sequences):,} sequences)"
        )

    def to_pynapple(self) -> dict[str, Any]:
        """Convert to objects of pynapple, which its viewers show beside spikes and field potential.

        Returns
        -------
        dict
            ``events``, an IntervalSet of all candidate events with `event, is_replay, kind,
            evidence` and `p`; an event that overlaps the next one ends where that begins. And
            ``decoded_position``, a TsdFrame of `x, y` (cm) in all events.

        Raises
        ------
        ImportError
            If pynapple is not installed.
        """
        try:
            import pynapple
        except ImportError:
            raise ImportError("Objects of pynapple need it: pip install pynapple.") from None
        events = self.events.sort_values("start_time", kind="stable")
        start, end = (events[name].to_numpy(dtype=float) for name in ("start_time", "end_time"))
        # An IntervalSet would join events that overlap.
        end = np.minimum(end, np.append(start[1:] - _APART, np.inf))
        named = events[["event", "is_replay", "kind", "evidence", "p"]].reset_index(drop=True)
        named["kind"] = named["kind"].fillna("").astype(str)
        paths = self.paths.sort_values("time", kind="stable")
        paths = paths[paths["x"].notna()]
        return {
            "events": pynapple.IntervalSet(start, end, metadata=named),
            "decoded_position": pynapple.TsdFrame(
                t=paths["time"].to_numpy(dtype=float),
                d=paths[["x", "y"]].to_numpy(dtype=float),
                columns=["x", "y"],
            ),
        }


def conclude(session: Session, scored: Scored) -> Conclusions:
    """Choose the threshold, and classify what was replayed."""
    recording, judgement = session.recording, session.judgement
    events = scored.events.copy()
    calibration, controls = None, pd.DataFrame(columns=_CONTROLS)
    chance = scored.chance
    travels = events["event"].isin(scored.stretches["event"])
    if session.counts:
        n_found = None
        if session.chance_counts is not None:
            n_found = len(session.chance_counts) / N_SEARCHES
        own = events.set_index("event")["evidence"]
        chance = without_replay(chance, own, judgement.level, n_found)
        calibration, controls = calibrate(chance, judgement.level, n_found)
        events["tail_exchanged"], events["tail_worst"] = tail_rates(
            events["evidence"], chance, n_found
        )
        exchanged = chance.loc[chance["control"] == EXCHANGED, "evidence"]
        # The event itself counts as one of the controls, so that p is never 0.
        as_much = 1 + len(exchanged) - np.searchsorted(np.sort(exchanged), events["evidence"])
        known = events["evidence"].notna() & (len(exchanged) > 0)
        events["p"] = np.where(known, as_much / (1 + len(exchanged)), np.nan)
        events["is_replay"] = travels & (events["evidence"] >= calibration.least_evidence)
    elif recording.posterior is not None:
        events["p"], events["is_replay"] = np.nan, travels & ~(events["continuous"] < _HALF)
    else:
        events["p"], events["is_replay"] = np.nan, True
    reaches = events["is_replay"]
    if calibration is not None:
        reaches = events["evidence"] >= calibration.least_evidence
    stretches, paths = scored.stretches, scored.paths
    kinds, kept = [], None
    for size in dict.fromkeys((judgement.state_size, *judgement.other_sizes)):
        world, log = experience_of(recording, size, judgement.lap_ends)
        sequences, visits = replayed_sequences(session, world, log, events, paths)
        if kept is None:  # what is replay has a sequence of the states that were asked for
            events["is_replay"] &= events["event"].isin(sequences["event"])
            visits = visits[visits["event"].isin(sequences["event"])].reset_index(drop=True)
        named = event_kinds(events, sequences)
        kinds.append(count_kinds(named[events["is_replay"]], size))
        if kept is None:
            kept = sequences, named, world, log, visits
    sequences, named, world, log, visited = kept  # type: ignore[misc]
    lacks = np.where(
        travels, f"no sequence of {judgement.detection.min_length} states", _NO_STRETCH
    )
    why = why_undecided(events, sequences).mask(reaches & ~events["is_replay"], lacks)
    events["kind"], events["why"] = named, why
    position = np.asarray(world.position)
    states = pd.DataFrame(
        {"state": np.arange(world.n_states), "x": position[:, 0], "y": position[:, 1]}
    )
    return Conclusions(
        events=events, stretches=stretches, sequences=sequences,
        kinds=pd.concat(kinds, ignore_index=True), states=states, experience=log, visited=visited,
        paths=paths, calibration=calibration, controls=controls, chance=chance, session=session,
    )  # fmt: skip


def conclude_session(session: Session, scored: Scored) -> Conclusions:
    """Conclude what was replayed, and ask whether fields hold in events."""
    return conclude(session, scored)._replace(held=held_out(session))


def path_radius(world: MDP, track: BinnedTrack) -> float:
    """Compute how near a decoded path must come to the centre of a state to enter it.

    A decoded path fluctuates more than the position of a running animal. The smaller the radius,
    the less often fluctuations at the border of two states look like turns; but at least one bin
    must lie within the radius of each state.

    Examples
    --------
    >>> from analyses.recordings.basics.binned_track import cut_track
    >>> from replay.worlds.tracks import make_linear_track
    >>> graph = make_linear_track(150.0)
    >>> round(path_radius(MDP.from_networkx(graph, bin_size=15.0), cut_track(graph, 5.0)), 2)
    3.0
    """
    lengths = graph_of_log(EventLog({}, mdp=world)).edges(data="distance")
    least = min(length for _, _, length in lengths)
    return float(min(max(0.2 * least, 0.55 * track.width.max()), 0.4 * least))


def replayed_sequences(
    session: Session, world: MDP, log: EventLog, events: pd.DataFrame, paths: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Convert paths of replay to place sequences, and list the states that each path visits.

    `world` and `log` are the animal's experience; `events` has `event, start_time, is_replay`.
    """
    recording, judgement = session.recording, session.judgement
    reach = {end.state: end.reach for end in find_lap_ends(recording, judgement.lap_ends)}
    # Bins of another program's decoder may be wider than these states.
    radius = path_radius(world, session.track) if session.is_decoded_here else None
    chosen = events.loc[events["is_replay"], ["event", "start_time"]]
    track = cut_track(recording.graph, bin_size=1.0)  # once for all paths, and finer than states
    rows: list[list[int]] = []
    visited: list[pd.DataFrame] = []
    own = paths[paths["event"].isin(chosen["event"])]
    for _, path in own.groupby(["event", "stretch"], sort=True):
        xy = path[["x", "y"]].to_numpy()
        visits = find_visits(
            path["time"], xy, track, world, radius=radius, reach=reach, most_unknown=1.0
        )
        if len(visits):
            rows.append(path[["event", "stretch"]].iloc[0].tolist())
            at = np.searchsorted(path["time"], visits["start_time"])
            along = np.zeros(len(visits), dtype=np.int64)
            if "along" in path:
                along = heading_of_ways(path["along"].to_numpy(), at)
            visited.append(visits.assign(along=along))
    begin = chosen.set_index("event")["start_time"]
    states = [visits["state"].tolist() for visits in visited]
    of_event, of_stretch = np.array(rows, dtype=np.int64).reshape(-1, 2).T
    time = begin.reindex(of_event).to_numpy(dtype=float)
    phase, location = _whereabouts(recording, world, log, track, reach, time)
    listed = pd.DataFrame({"time": time, "states": states, "phase": phase, "location": location})
    if "along" in paths:
        listed["along"] = [visits["along"].tolist() for visits in visited]
    with warnings.catch_warnings():  # all may be before the run; a recording has one clock
        warnings.filterwarnings("ignore", ".*on the same clock")
        found = place_sequences(log, listed, detection=judgement.detection)
    spans = []
    for event, first, path in found[["event", "index", "states"]].itertuples(index=False):
        visits, last = visited[event], first
        for state in path:  # places that it jumped over were not visited
            if last < len(visits) and visits["state"].iloc[last] == state:
                last += 1
        spans.append((visits["start_time"].iloc[first], visits["end_time"].iloc[last - 1]))
    found["start_time"], found["end_time"] = np.array(spans, dtype=float).reshape(-1, 2).T
    found["kind"] = pd.Categorical(kinds_on_lines(found, world), found["kind"].cat.categories)
    row = found["event"].to_numpy()
    found["event"], found["stretch"] = of_event[row], of_stretch[row]
    listed.insert(0, "event", of_event)
    listed.insert(1, "stretch", of_stretch)
    return found, listed


def _whereabouts(
    recording: Recording,
    world: MDP,
    log: EventLog,
    track: BinnedTrack,
    reach: Mapping[int, float],
    time: Floats,
) -> tuple[NDArray[np.object_], Ints]:
    """Return the phase of each replay, and the state at which the animal is, or was last in rest.

    The phase is rest off the track, the end of a lap, or within a lap.
    """
    steps = log.steps
    before = np.searchsorted(steps["time"], time, side="right") - 1
    ended = (steps["terminated"] | steps["truncated"]).to_numpy()
    inside = np.ones((len(time), 1), dtype=bool)
    if len(recording.on_track):
        begin, end = recording.on_track.T
        inside = (time[:, None] >= begin) & (time[:, None] <= end)
    at_end = (before >= 0) & ended[np.maximum(before, 0)]
    phase = np.select([~inside.any(axis=1), at_end], ["rest", "episode_end"], "step")
    # The positions that are recorded nearest to these times, NaN if none is near.
    position = steady_positions(recording)
    known = np.flatnonzero(~np.isnan(position).any(axis=1))
    clock = recording.time[known]
    at = known[np.searchsorted((clock[1:] + clock[:-1]) / 2, time)]
    is_near = np.abs(recording.time[at] - time) <= _LONGEST_GAP
    there = np.where(is_near[:, None], position[at], np.nan)
    # Before its first move, at -1, the animal is where that begins.
    last = np.append(steps["next_state"], steps["state"].iloc[0])[before]
    location = np.where(phase == "rest", last, nearest_states(there, track, world, reach))
    return phase.astype(object), location


def event_kinds(events: pd.DataFrame, sequences: pd.DataFrame) -> pd.Series:
    """Return the kind of each event: that of its longest sequence."""
    kind = events["event"].map(_longest(sequences)["kind"].astype(object))
    named = kind.where(kind.notna(), _NO_SEQUENCE)
    return named.astype(object).where(events["is_replay"], None)


def why_undecided(events: pd.DataFrame, sequences: pd.DataFrame) -> pd.Series:
    """Say why the kind of an event is not forward, reverse or novel; null if it is."""
    longest = _longest(sequences)
    why = longest["direction"].astype(str).map(_WHY).where(longest["kind"] == "ambiguous")
    why = why.mask(longest["kind"] == "unexperienced", "with a move that the animal never made")
    named = events["event"].map(why).astype(object)
    return named.where(events["is_replay"])


def _longest(sequences: pd.DataFrame) -> pd.DataFrame:
    """Return the longest sequence of each event."""
    ordered = sequences.sort_values("distance", ascending=False, kind="stable")
    return ordered.drop_duplicates("event").set_index("event")


def kinds_on_lines(sequences: pd.DataFrame, world: MDP | None) -> NDArray[np.object_]:
    """Return the kind of each sequence, which on a line is that of its direction.

    One path joins two places of a line, so that no path along it is new: an animal that turns on
    its way, or a recording that begins before its first lap, only makes it look so. What is in
    neither direction, or in either, is ambiguous.

    Examples
    --------
    >>> from replay.worlds.tracks import make_linear_track
    >>> world = MDP.from_networkx(make_linear_track(20.0), bin_size=10.0)
    >>> found = pd.DataFrame({"first": [0, 1], "direction": ["forward", "neither"],
    ...                       "kind": ["novel_path", "unexperienced"]})
    >>> kinds_on_lines(found, world).tolist()
    ['forward_episode', 'ambiguous']
    """
    kinds = sequences["kind"].to_numpy(dtype=object)
    if world is None:
        return kinds
    joined = nx.Graph(graph_of_log(EventLog({}, mdp=world)))
    on_line: set[int] = set()
    for part in nx.connected_components(joined):
        if {degree for _, degree in joined.degree(part)} <= {1, 2} and nx.is_tree(
            joined.subgraph(part)
        ):
            on_line |= part
    named = {"forward": "forward_episode", "reverse": "reverse_episode"}
    of_direction = [named.get(each, "ambiguous") for each in sequences["direction"].astype(str)]
    return np.asarray(np.where(sequences["first"].isin(on_line), of_direction, kinds))


def count_kinds(kinds: Iterable[str], size: float) -> pd.DataFrame:
    """Count the events of each kind.

    Examples
    --------
    >>> count_kinds(["novel_path", "no_sequence"], 15.0).set_index("kind")["share"]["novel_path"]
    np.float64(0.5)
    """
    named = list(kinds)
    rows = []
    for kind in (*KINDS, _NO_SEQUENCE):
        n = named.count(kind)
        row: dict[str, object] = {
            "state_size": size, "states_per_metre": 100.0 / size, "kind": kind, "n": n,
            "n_events": len(named), "share": np.nan, "ci_low": np.nan, "ci_high": np.nan,
        }  # fmt: skip
        if named:
            interval = stats.binomtest(n, len(named)).proportion_ci(0.95, method="wilson")
            row |= {"share": n / len(named), "ci_low": interval.low, "ci_high": interval.high}
        rows.append(row)
    return pd.DataFrame(rows)
