"""From a recording to replay: events, decoded paths, significance, and what was replayed.

Each candidate event is decoded on the track and tested against shuffles of cells; so is the same
event with its cells randomised, which tells how often all of this takes chance for replay. The path
of each event that passes becomes place sequences (:func:`analyses.place_sequences`), judged against
what the animal had run until then.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from analyses.recordings.decoder import (
    CONTINUOUS,
    continuous_path,
    log_likelihood,
    random_walk,
    state_posterior,
)
from analyses.recordings.recording import Posterior, Recording
from analyses.recordings.sessions import Session, Settings, experience_of, prepare
from analyses.recordings.significance import (
    Calibration,
    check_shuffles,
    choose_threshold,
    significance,
)
from analyses.recordings.track import Track, project
from analyses.recordings.visits import find_visits
from analyses.sequences.place_sequences import Detection, place_sequences
from analyses.sequences.track import graph_of_log
from analyses.tables import KINDS
from replay.checks import check_number, check_whole
from replay.log.event_log import EventLog
from replay.worlds.mdp import MDP

__all__ = ["Conclusions", "Judgement", "Scored", "check_judgement", "check_state_size"]
__all__ += ["conclude", "event_kinds", "find_replay", "n_blocks", "path_radius", "score_block"]
__all__ += ["sequence_kinds"]

_BLOCK = 20
_LOWEST_PROBABILITY = 1e-12
_NO_SEQUENCE = "no_sequence"


class Judgement(NamedTuple):
    """How events are judged.

    Attributes
    ----------
    least_score : float
        The least mean probability of continuous movement.
    level : float
        How many events with randomised cells may pass.
    shuffles : tuple of str
        What is shuffled; see `analyses.recordings.significance.SHUFFLES`.
    n_shuffles : int
        How often.
    least_active : int
        Events with fewer active cells are not tested.
    state_size : float
        The largest distance of two neighbouring states, in cm. Results should not depend on it
        much; they are given for `other_sizes` as well.
    other_sizes : tuple of float
        Other such distances, in cm.
    lap_ends : tuple of str
        The names of nodes of the track at which laps end; none: its dead ends.
    detection : Detection
        What counts as a place sequence.
    """

    least_score: float = 0.5
    level: float = 0.05
    shuffles: tuple[str, ...] = ("cell_identity", "circular_fields")
    n_shuffles: int = 200
    least_active: int = 4
    state_size: float = 15.0
    other_sizes: tuple[float, ...] = (10.0, 20.0, 30.0)
    lap_ends: tuple[str, ...] = ()
    detection: Detection = Detection(min_length=3, largest_jump=3)


def check_judgement(judgement: Judgement) -> None:
    """Refuse what makes no sense before anything is decoded.

    Parameters
    ----------
    judgement : Judgement
        What the user gave.

    Raises
    ------
    TypeError
        If it is no Judgement.
    ValueError
        If a number is out of range, or only time bins or the posterior are shuffled.
    """
    if not isinstance(judgement, Judgement):
        raise TypeError(f"judgement must be a Judgement, got {type(judgement).__name__}.")
    check_number("least_score", judgement.least_score, at_least=0, at_most=1)
    check_number("level", judgement.level, at_least=0, at_most=1)
    check_whole("n_shuffles", judgement.n_shuffles, at_least=1)
    check_whole("least_active", judgement.least_active)
    check_shuffles(judgement.shuffles)
    for size in (judgement.state_size, *judgement.other_sizes):
        check_number("state_size", size, at_least=1.0, hint="It is a distance in cm.")


def check_state_size(size: float, track: Track) -> None:
    """Refuse states that are larger than the arms of a track.

    Parameters
    ----------
    size : float
        The largest distance of two neighbouring states, in cm.
    track : Track
        The track.

    Raises
    ------
    ValueError
        If it is longer than the longest way between two ends or junctions.

    Examples
    --------
    >>> from analyses.recordings.track import cut_track
    >>> from replay.worlds.tracks import make_linear_track
    >>> check_state_size(15.0, cut_track(make_linear_track(150.0)))
    """
    graph = nx.Graph()
    graph.add_weighted_edges_from(
        (one, other, length)
        for (one, other), length in zip(track.edges.tolist(), track.length.tolist(), strict=True)
    )
    passed = {node for node, degree in graph.degree if degree == 2}
    joined = nx.connected_components(graph.subgraph(passed))
    arms = [[*graph.edges(part, data="weight")] for part in joined]
    arms += [[edge] for edge in graph.edges(data="weight") if not passed & {*edge[:2]}]
    longest = max(sum(length for _, _, length in arm) for arm in arms)
    if size > longest:
        raise ValueError(
            f"state_size must be at most {longest:.4g} cm, the length of the longest arm of the "
            f"track, got {size:g}: states must be much smaller than the paths, such as 15 cm."
        )


class Scored(NamedTuple):
    """What was decoded and scored.

    Attributes
    ----------
    events : DataFrame
        One row an event: `event, start_time, end_time, n_active, n_spikes, score` (mean probability
        of continuous movement), a column ``p_SHUFFLE`` each, `p` (the largest of them), and
        `largest_jump` (cm, of the most probable places of the time bins, each on its own).
    paths : DataFrame
        One row a time bin: `event, time, x, y` of the decoded path.
    by_chance : DataFrame
        One row an event, with randomised cells: `event, score, p`.
    """

    events: pd.DataFrame
    paths: pd.DataFrame
    by_chance: pd.DataFrame


class Conclusions(NamedTuple):
    """What was replayed.

    Attributes
    ----------
    events : DataFrame
        As tested, and `is_replay` and `kind` (of the event's longest sequence; null unless it is
        replay).
    sequences : DataFrame
        The place sequences of replay, as `analyses.place_sequences` gives them, with `kind` and
        `start_time` and `end_time` (s); `event` is that of `events`.
    kinds : DataFrame
        For each distance of states: `state_size, states_per_metre, kind, n, n_events, share,
        ci_low, ci_high`.
    states : DataFrame
        Where each state is: `state, x, y`.
    experience : EventLog
        The animal's moves between states, lap by lap; its `mdp` is the track.
    visited : DataFrame
        The states that each replay event visits: `event, time` (s), `states`, and `phase`: `rest`
        off the track, `episode_end` after a lap, `step` on the way.
    paths : DataFrame
        The decoded paths of all events.
    calibration : Calibration or None
        The threshold of p, and how often chance passes the whole procedure; None without spikes.
    told : tuple of str
        What was read, found and done, a sentence each.
    """

    events: pd.DataFrame
    sequences: pd.DataFrame
    kinds: pd.DataFrame
    states: pd.DataFrame
    experience: EventLog
    visited: pd.DataFrame
    paths: pd.DataFrame
    calibration: Calibration | None
    told: tuple[str, ...]

    def __repr__(self) -> str:
        """Tell how much replay was found."""
        n_replay = int(self.events["is_replay"].sum())
        return (
            f"Conclusions({len(self.events):,} events, of which {n_replay:,} are replay, "
            f"{len(self.sequences):,} sequences)"
        )


def find_replay(
    recording: Recording,
    settings: Settings = Settings(),  # noqa: B008 (immutable)
    judgement: Judgement = Judgement(),  # noqa: B008
    *,
    seed: int = 0,
) -> Conclusions:
    """Go the whole way from a recording to what was replayed.

    Parameters
    ----------
    recording : Recording
        As `analyses.recordings.readers.read_recording` gives it.
    settings : Settings, optional
        How it is decoded.
    judgement : Judgement, optional
        How events are judged.
    seed : int, default 0
        Seed of the shuffles.

    Returns
    -------
    Conclusions
        Events, sequences and kinds, and how they were found.

    Raises
    ------
    ValueError
        If the recording lacks what is needed, or only time bins or the posterior are shuffled.

    Examples
    --------
    A simulated animal runs along a linear track, and replays backwards what it ran:

    >>> from analyses.recordings.observe import observe
    >>> from replay import simulate
    >>> from replay.worlds.tracks import make_linear_track
    >>> track = make_linear_track(120.0)
    >>> world = MDP.from_networkx(track, rewards={1: 1.0}, terminal=1, start=0, bin_size=15.0)
    >>> log = simulate(world, "episodic_control", n_steps=400, max_episode_steps=40, seed=1).log
    >>> recording = observe(log, track, cells=60, speed=400.0).recording
    >>> found = find_replay(recording, judgement=Judgement(n_shuffles=39, other_sizes=()))
    >>> found.events["kind"].value_counts().index[0]
    'reverse_episode'
    """
    check_judgement(judgement)
    session = prepare(recording, settings)
    check_state_size(judgement.state_size, session.track)
    experience_of(recording, judgement.state_size, judgement.lap_ends)  # may refuse
    blocks = [score_block(session, judgement, block, seed) for block in range(n_blocks(session))]
    scored = Scored(*(pd.concat(parts, ignore_index=True) for parts in zip(*blocks, strict=True)))
    return conclude(recording, session, judgement, scored)


def n_blocks(session: Session) -> int:
    """Give the number of blocks of events that can be tested independently.

    Parameters
    ----------
    session : Session
        With its events.

    Returns
    -------
    int
        At least 1.
    """
    return max(-(-len(session.events) // _BLOCK), 1)


def score_block(session: Session, judgement: Judgement, block: int, seed: int = 0) -> Scored:
    """Decode and test some events; the same whichever process does it.

    Parameters
    ----------
    session : Session
        With its events.
    judgement : Judgement
        How they are tested.
    block : int
        Which events, from 0.
    seed : int, default 0
        Seed of the shuffles.

    Returns
    -------
    Scored
        These events.

    Raises
    ------
    ValueError
        As `significance`.
    """
    rows = np.arange(len(session.events))[block * _BLOCK : (block + 1) * _BLOCK]
    events = session.events.iloc[rows].reset_index(drop=True)
    events.insert(0, "event", rows)
    decoded = [_decoded(session, row) for row in rows.tolist()]
    paths = [
        path.assign(event=row) for row, (path, _, _) in zip(rows.tolist(), decoded, strict=True)
    ]
    columns = ["event", "time", "x", "y"]
    path = pd.concat(paths, ignore_index=True)[columns] if paths else pd.DataFrame(columns=columns)
    jumps = [jump for _, _, jump in decoded]
    own, chance = np.random.SeedSequence([check_whole("seed", seed), block]).spawn(2)
    by_chance = pd.DataFrame({"event": rows, "score": np.nan, "p": np.nan})
    if session.counts:
        counts = [session.counts[row] for row in rows]
        tested = _significance(counts, session, judgement, own)
        events["n_spikes"] = [int(each.sum()) for each in counts]
        tested = tested.drop(columns="event")
        events = pd.concat([events, tested], axis=1)
        order, shuffles = chance.spawn(2)
        rng = np.random.default_rng(order)
        randomised = [each[:, rng.permutation(each.shape[1])] for each in counts]
        found = _significance(randomised, session, judgement, shuffles)
        by_chance = by_chance.assign(score=found["score"], p=found["p"])
    else:
        events = events.assign(score=[score for _, score, _ in decoded], p=np.nan)
    return Scored(events.assign(largest_jump=jumps), path, by_chance)


def _significance(
    counts: Sequence[NDArray[np.int32]],
    session: Session,
    judgement: Judgement,
    seeds: np.random.SeedSequence,
) -> pd.DataFrame:
    return significance(
        counts,
        session.rates,
        session.track,
        dt=session.time_bin,
        shuffles=judgement.shuffles,
        n_shuffles=judgement.n_shuffles,
        variance=session.variance,
        least_active=judgement.least_active,
        seed=int(seeds.generate_state(1, np.uint64)[0] >> np.uint64(1)),
    )


def _decoded(session: Session, row: int) -> tuple[pd.DataFrame, float, float]:
    """Decode one event: its path, its score, and the largest jump of the places of time bins."""
    begin, end = session.events[["start_time", "end_time"]].to_numpy(dtype=float)[row].tolist()
    if session.decoded is not None:
        table = session.decoded
        own = table[(table["time"] >= begin) & (table["time"] <= end)]
        xy = own[["x", "y"]].to_numpy()
        return own[["time", "x", "y"]], np.nan, _largest_jump(session, xy)
    if session.posterior is not None:
        return _of_posterior(session, session.posterior, begin, end)
    counts = session.counts[row]
    time = begin + (np.arange(len(counts)) + 0.5) * session.time_bin
    likelihoods = log_likelihood(counts, session.rates, session.time_bin)
    walk = random_walk(session.track, session.variance)
    return _followed(time, likelihoods, walk, session.track.position, session)


def _followed(
    time: NDArray[np.float64],
    likelihoods: NDArray[np.float64],
    walk: NDArray[np.float64],
    position: NDArray[np.float64],
    session: Session,
) -> tuple[pd.DataFrame, float, float]:
    posterior, _ = state_posterior(likelihoods, walk)
    xy = position[continuous_path(likelihoods, walk)]
    score = float(posterior[:, CONTINUOUS].sum(axis=1).mean()) if len(time) else np.nan
    alone = position[posterior.sum(axis=1).argmax(axis=1)]
    path = pd.DataFrame({"time": time, "x": xy[:, 0], "y": xy[:, 1]})
    return path, score, _largest_jump(session, alone)


def _of_posterior(
    session: Session, posterior: Posterior, begin: float, end: float
) -> tuple[pd.DataFrame, float, float]:
    """Follow the path through a posterior; its score is the decoder's own, if that knows movement.

    Of a uniform prior, as usual, the posterior of a decoder without movement is the likelihood. In
    one that is smooth already, the walk only bridges jumps.
    """
    own = (posterior.time >= begin) & (posterior.time <= end)
    own &= ~np.isnan(posterior.probability).any(axis=1)
    time, probability = posterior.time[own], posterior.probability[own]
    if not len(time):
        return pd.DataFrame({"time": [], "x": [], "y": []}), np.nan, np.nan
    seconds = float(np.median(np.diff(posterior.time)))
    diffusion = session.variance / session.time_bin
    walk = np.exp(-0.5 * _distance(session, posterior.position) ** 2 / (diffusion * seconds))
    walk /= walk.sum(axis=1, keepdims=True)
    likelihoods = np.log(np.maximum(probability, _LOWEST_PROBABILITY))
    path, score, jump = _followed(time, likelihoods, walk, posterior.position, session)
    if posterior.movement:
        known = [
            posterior.movement[name][own] for name in posterior.movement if _is_continuous(name)
        ]
        score = float(np.sum(known, axis=0).mean()) if known else np.nan
    return path, score, jump


def _is_continuous(name: str) -> bool:
    return any(part in name.lower().replace("_", "") for part in ("continuous", "randomwalk"))


def _distance(session: Session, position: NDArray[np.float64]) -> NDArray[np.float64]:
    """Measure the way along the track between places on it."""
    bins = project(session.track, position).bin
    return session.track.distance[np.ix_(bins, bins)]


def _largest_jump(session: Session, xy: NDArray[np.float64]) -> float:
    known = xy[~np.isnan(xy).any(axis=1)]
    if len(known) < 2:
        return np.nan
    bins = project(session.track, known).bin
    return float(session.track.distance[bins[:-1], bins[1:]].max())


def conclude(
    recording: Recording, session: Session, judgement: Judgement, scored: Scored
) -> Conclusions:
    """Choose the threshold, and tell what was replayed.

    Parameters
    ----------
    recording : Recording
        What the session is of.
    session : Session
        As prepared.
    judgement : Judgement
        How events are judged.
    scored : Scored
        All events.

    Returns
    -------
    Conclusions
        What was replayed.
    """
    least = judgement.least_score
    events, told = scored.events.copy(), [*recording.told, *session.told]
    calibration = None
    has_score = events["score"].notna()
    if session.counts:
        # An event passes by its p and by its score, and so it does by chance.
        chance = scored.by_chance
        p_by_chance = chance["p"].where(~(chance["score"] < least), 1.0)
        calibration = choose_threshold(p_by_chance, judgement.level)
        events["is_replay"] = (events["p"] <= calibration.threshold) & (events["score"] >= least)
        told.append(_calibrated(calibration, judgement, events))
    elif has_score.any():
        events["is_replay"] = events["score"] >= least
        told.append(
            f"No significance: without spikes, cells can't be shuffled, and a shuffle of the "
            f"posterior alone takes half of what is chance for replay. Events count by their mean "
            f"probability of continuous movement alone, at least {least:g}: how many of them are "
            "false is unknown."
        )
    else:
        events["is_replay"] = True
        told.append(
            "No significance: there are decoded places only, so all events count. How many of them "
            "are false is unknown."
        )
    # Bins that others decoded may be wider than these states.
    is_ours = session.posterior is None and session.decoded is None
    kinds, kept = [], None
    for size in dict.fromkeys((judgement.state_size, *judgement.other_sizes)):
        world, log = experience_of(recording, size, judgement.lap_ends)
        radius = path_radius(world, session.track) if is_ours else None
        sequences, visits = _sequences(
            recording, world, log, events, scored.paths, judgement.detection, radius
        )
        named = event_kinds(events, sequences)
        kinds.append(_counted(named[events["is_replay"]], size))
        if kept is None:
            kept = sequences, named, world, log, visits
    sequences, named, world, log, visited = kept  # type: ignore[misc]
    events["kind"] = named
    n_laps = log.steps["episode"].nunique()
    told.append(
        f"The animal's experience is {len(log.steps):,} moves in {n_laps} lap{'s' * (n_laps != 1)} "
        f"between {world.n_states} states, {judgement.state_size:g} cm apart at most."
    )
    position = np.asarray(world.position)
    states = pd.DataFrame(
        {"state": np.arange(world.n_states), "x": position[:, 0], "y": position[:, 1]}
    )
    return Conclusions(
        events, sequences, pd.concat(kinds, ignore_index=True), states, log, visited,
        scored.paths, calibration, tuple(told),
    )  # fmt: skip


def _calibrated(calibration: Calibration, judgement: Judgement, events: pd.DataFrame) -> str:
    n_tested = int(events["p"].notna().sum())
    return (
        f"{n_tested} of {len(events)} events have at least {judgement.least_active} active cells "
        f"and were tested by shuffles of {' and '.join(judgement.shuffles)}, "
        f"{judgement.n_shuffles} each. Replay is p <= {calibration.threshold:.4g} and a mean "
        f"probability of continuous movement of at least {judgement.least_score:g}: of "
        f"{calibration.n_events} events with randomised cells, "
        f"{calibration.false_positive_rate:.1%} pass "
        f"({calibration.at_nominal:.1%} would pass p <= {judgement.level:g})."
    )


def path_radius(world: MDP, track: Track) -> float:
    """Say how near a decoded path must come to the centre of a state to enter it.

    A decoded path wavers more than a running animal. The nearer it must come, the less often a
    step back and forth between two states looks like a turn; but each state needs a bin within.

    Parameters
    ----------
    world : MDP
        With positions on the track.
    track : Track
        The track whose bins are decoded.

    Returns
    -------
    float
        In cm: a fifth of the smallest distance of two states, or more than half a bin if that is
        larger, but at most two fifths, as for the animal.

    Examples
    --------
    >>> from analyses.recordings.track import cut_track
    >>> from replay.worlds.tracks import make_linear_track
    >>> graph = make_linear_track(150.0)
    >>> round(path_radius(MDP.from_networkx(graph, bin_size=15.0), cut_track(graph, 5.0)), 2)
    3.0
    """
    lengths = graph_of_log(EventLog({}, mdp=world)).edges(data="distance")
    least = min(length for _, _, length in lengths)
    return float(min(max(0.2 * least, 0.55 * track.width.max()), 0.4 * least))


def _sequences(
    recording: Recording,
    world: MDP,
    log: EventLog,
    events: pd.DataFrame,
    paths: pd.DataFrame,
    detection: Detection,
    radius: float | None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Turn the paths of replay into place sequences, and list the states that each visits.

    `event` is that of the table of events.
    """
    chosen = events.loc[events["is_replay"], ["event", "start_time"]]
    grouped = dict(tuple(paths.groupby("event", sort=False)))
    rows: list[int] = []
    visited: list[pd.DataFrame] = []
    for event in chosen["event"].tolist():
        if event not in grouped:
            continue
        path = grouped[event]
        xy = path[["x", "y"]].to_numpy()
        visits = find_visits(
            path["time"], xy, recording.graph, world, radius=radius, most_unknown=1.0
        )
        if len(visits):
            rows.append(event)
            visited.append(visits)
    begin = chosen.set_index("event")["start_time"]
    states = [visits["state"].tolist() for visits in visited]
    time = begin.loc[rows].to_numpy(dtype=float)
    listed = pd.DataFrame({"time": time, "states": states, "phase": _phases(recording, log, time)})
    found = place_sequences(log, listed, detection=detection)
    spans = [
        _span(visited[event], first, states)
        for event, first, states in found[["event", "index", "states"]].itertuples(index=False)
    ]
    found["start_time"], found["end_time"] = np.array(spans, dtype=float).reshape(-1, 2).T
    found["event"] = np.array(rows, dtype=np.int64)[found["event"]]
    found["kind"] = sequence_kinds(found)
    listed.insert(0, "event", np.array(rows, dtype=np.int64))
    return found, listed


def _phases(recording: Recording, log: EventLog, time: NDArray[np.float64]) -> list[str]:
    """Tell when the animal replays: at rest off the track, at the end of a lap, or on its way."""
    steps = log.steps
    before = np.searchsorted(steps["time"], time, side="right") - 1
    ended = (steps["terminated"] | steps["truncated"]).to_numpy()
    inside = np.ones((len(time), 1), dtype=bool)
    if len(recording.on_track):
        begin, end = recording.on_track.T
        inside = (time[:, None] >= begin) & (time[:, None] <= end)
    at_end = (before >= 0) & ended[np.maximum(before, 0)]
    phases = np.select([~inside.any(axis=1), at_end], ["rest", "episode_end"], "step")
    return list(map(str, phases))


def _span(visits: pd.DataFrame, first: int, states: Sequence[int]) -> tuple[float, float]:
    """Tell from when to when a sequence lasted; places that it jumped over were not visited."""
    visited, last = visits["state"].to_numpy(), first
    for state in states:
        if last < len(visited) and visited[last] == state:
            last += 1
    return float(visits["start_time"].iloc[first]), float(visits["end_time"].iloc[last - 1])


def sequence_kinds(sequences: pd.DataFrame) -> pd.Categorical:
    """Name the kind of each place sequence.

    Parameters
    ----------
    sequences : DataFrame
        With `direction` and `novelty`, as `analyses.place_sequences` gives them.

    Returns
    -------
    pandas.Categorical
        `reverse_episode` or `forward_episode` if experienced, `ambiguous` if in both directions;
        `novel_path` if composed, also of pieces read in both directions; or `unexperienced`.

    Examples
    --------
    >>> sequences = pd.DataFrame({"direction": ["mixed", "both"],
    ...                           "novelty": ["composed_mixed", "experienced"]})
    >>> sequence_kinds(sequences).tolist()
    ['novel_path', 'ambiguous']
    """
    direction, novelty = (sequences[name].astype(str) for name in ("direction", "novelty"))
    experienced = novelty == "experienced"
    kind = np.select(
        [
            experienced & (direction == "reverse"),
            experienced & (direction == "forward"),
            novelty.isin(["composed", "composed_mixed"]),
            novelty == "unexperienced",
        ],
        ["reverse_episode", "forward_episode", "novel_path", "unexperienced"],
        "ambiguous",
    )
    return pd.Categorical(kind, categories=list(KINDS))


def event_kinds(events: pd.DataFrame, sequences: pd.DataFrame) -> pd.Series:
    """Name each event by the kind of its longest sequence.

    Parameters
    ----------
    events : DataFrame
        With `event` and `is_replay`.
    sequences : DataFrame
        With `event, distance` and `kind`.

    Returns
    -------
    pandas.Series of str
        One for each event; ``no_sequence`` if it is replay without one, null if it is no replay.

    Examples
    --------
    >>> events = pd.DataFrame({"event": [0, 1, 2], "is_replay": [True, True, False]})
    >>> sequences = pd.DataFrame({"event": [0, 0], "distance": [30.0, 60.0],
    ...                           "kind": ["reverse_episode", "novel_path"]})
    >>> event_kinds(events, sequences).tolist()
    ['novel_path', 'no_sequence', None]
    """
    ordered = sequences.sort_values("distance", ascending=False, kind="stable")
    longest = ordered.drop_duplicates("event").set_index("event")["kind"].astype(object)
    named = events["event"].map(longest).where(lambda kind: kind.notna(), _NO_SEQUENCE)
    return named.astype(object).where(events["is_replay"], None)


def _counted(kinds: Iterable[str], size: float) -> pd.DataFrame:
    """Count kinds; the interval is Wilson's, over the events of this recording."""
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
