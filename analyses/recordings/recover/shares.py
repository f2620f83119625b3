"""Shares of kinds, corrected for what this recording misses.

Known paths, like those that were found, are put into quiet times of the recording. What is found of
them gives the confusion matrix by which the shares of the recording are corrected.

Events that are found are no fair sample: they are longer and slower than those that are missed, and
of each only a part is decoded. So known paths are put into the recording, which tells how often a
path of some length and speed is found, and what is found of it. The lengths and speeds that best
explain the events of the recording are those under which they are most likely, by
expectation-maximisation [1]_; each stands for as many paths as there are for one that is found
[2]_. Paths like these are put into the recording in turn, with a gain at which those that are found
have as many spikes as its own events.

References
----------
.. [1] Vardi & Lee (1993), From image deblurring to optimal investments: maximum likelihood
   solutions for positive linear inverse problems. https://doi.org/10.1111/j.2517-6161.1993.tb01925.x
.. [2] Horvitz & Thompson (1952), A generalization of sampling without replacement from a finite
   universe. https://doi.org/10.1080/01621459.1952.10483446
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from analyses.recordings.basics.settings import N_SESSIONS
from analyses.recordings.decide.conclusions import Conclusions
from analyses.recordings.decide.held_out import held_out
from analyses.recordings.prepare.session import Session
from analyses.recordings.recover.injection import Rest, facts_of, inject, quiet_rest
from analyses.recordings.recover.known_paths import known_paths
from analyses.recordings.recover.unfolding import confusion_matrix, estimate_shares
from analyses.sequences.track import graph_of_log
from analyses.tables import KINDS
from replay.checks import check_column, check_table, check_whole, typed
from replay.checks.arrays import Floats

N_EACH = 15
"""Number of paths of each kind in a simulated session."""

_N_FIT = (4, 6, 6)  # sessions of the rounds that choose paths and gain
_FEW = 5  # events of a kind, which say little about its paths
_N_SIMILAR = 30  # paths from which it is estimated how often, and as what, one of them is found
_FAR = 1e3  # between paths of different kinds
_ALIKE = 0.1  # standard deviation of the logarithms of what is found, beyond that of these paths
_N_STEPS = 8  # of expectation-maximisation: more fit the chance of these paths
_FIRST_SPREAD, _JITTER = 0.4, 0.05  # standard deviations of the logarithm of speed, and of length
_SHORTER = 0.8  # of a length, until the laps have enough paths that are as long
_MOST_GAIN = 1e3  # above which hardly any neuron could fire
_ONE_WAY = ("reverse_episode", "forward_episode", "novel_path")
_BOTH_WAYS = ("ambiguous", "novel_path")
_NEVER_NOVEL = ("reverse_episode", "forward_episode")


class Replay(NamedTuple):
    """What simulated replay is like."""

    kind: NDArray[np.object_]  # (n_paths,): the kind of each path
    length: Floats  # (n_paths,): lengths (cm) and speeds (cm/s) of paths
    speed: Floats  # (n_paths,)
    weight: Floats  # (n_paths,): how many such paths there are
    gain: float  # firing rates relative to running


def inject_similar(
    session: Session, found: Conclusions, n_sessions: int, rng: np.random.Generator
) -> tuple[pd.DataFrame, float] | None:
    """Put paths like the recording's replay into its rest; return what is found, and the gain.

    The table is that of `inject`, with the number of the session as `seed`. Returns None if the
    animal's laps allow too few paths.
    """
    headed, shortest = session.headings is not None, 3 * session.judgement.state_size
    for kinds in (_ONE_WAY, _NEVER_NOVEL if headed else _BOTH_WAYS):
        with suppress(ValueError):
            known_paths(
                found.experience, n_each=N_EACH, length=shortest, kinds=kinds, headings=headed,
                seed=int(rng.integers(2**31)),
            )  # fmt: skip
            break
    else:
        return None
    rest = quiet_rest(session)
    own = found.sequences[found.sequences["kind"].isin(KINDS)]
    seen = facts_of(session, own, found).assign(gain=1.0).reset_index(drop=True)
    if seen["kind"].isin(kinds).any():  # others are made of none of these paths
        seen = seen[seen["kind"].isin(kinds)]
    # First, paths as slow as what was found, and more and less so.
    pace = np.median(np.diff(_logs(seen, "lasts", "distance")))
    speed = np.exp(pace + _FIRST_SPREAD * rng.standard_normal(len(seen)))
    kind, lasts = seen["kind"].to_numpy(dtype=object), seen["lasts"].to_numpy()
    each = np.ones(len(seen))
    replay = Replay(kind, lasts * speed, speed, each, _gain(seen))
    tables: list[pd.DataFrame] = []
    for number, closer in zip(_N_FIT, (_scaled, _chosen, _scaled), strict=True):
        n_fit = min(number, n_sessions)
        tables.append(_injected(session, found, replay, rest, kinds, n_fit, rng))
        if (tables[-1]["distance"] > 0).sum() >= _FEW:  # otherwise nothing tells how to change it
            replay = closer(replay, seen, tables)
    table = _injected(session, found, replay, rest, kinds, n_sessions, rng)
    return table, replay.gain


def _scaled(replay: Replay, seen: pd.DataFrame, tables: list[pd.DataFrame]) -> Replay:
    """Scale paths so that what is found of them, of each kind as often, is as long and as slow."""
    own = tables[-1][tables[-1]["distance"] > 0]
    of_kind = seen["kind"].value_counts() / own["kind"].value_counts()
    weight = np.asarray(own["kind"].map(of_kind.fillna(0.0)), dtype=np.float64)
    if not weight.any():  # what is found is of other kinds
        return replay
    log_seen = np.quantile(_logs(seen, "distance", "lasts"), 0.5, axis=0, method="inverted_cdf")
    log_own = np.quantile(
        _logs(own, "distance", "lasts"), 0.5, axis=0, weights=weight, method="inverted_cdf"
    )
    longer, slower = np.exp(log_seen - log_own)
    return replay._replace(
        length=replay.length * longer,
        speed=replay.speed * longer / slower,
        gain=_gain(seen) / _gain(own, weight),
    )


def _chosen(replay: Replay, seen: pd.DataFrame, tables: list[pd.DataFrame]) -> Replay:
    """Choose from the paths so far as many of each as explain what is seen."""
    table = pd.concat(tables, ignore_index=True)
    weight, is_found = number_of_each(seen, table), table["distance"] > 0
    return Replay(
        table["true_kind"].to_numpy(dtype=object),
        table["true_length"].to_numpy(dtype=float),
        table["true_speed"].to_numpy(dtype=float),
        weight,
        _gain(seen) / _gain(table[is_found], weight[is_found]),
    )


def _gain(table: pd.DataFrame, weight: float | Floats = 1.0) -> float:
    """Measure spikes in events, relative to running with their gain along their decoded paths."""
    expected = table["gain"] * table["expected"]
    with np.errstate(divide="ignore", invalid="ignore"):  # what cannot be is refused later
        return float((weight * table["n_spikes"]).sum() / (weight * expected).sum())


def number_of_each(seen: pd.DataFrame, table: pd.DataFrame) -> Floats:
    """Estimate how many of each simulated path there are, given the events that were found.

    What would be found of a path, and as which kind, is what was found of those of its kind that
    are most similar to it, moved by the difference of their lengths and durations.
    """
    looked, look = (_logs(each, "distance", "lasts") for each in (seen, table))
    path = _logs(table, "true_length", "true_lasts")
    codes, _ = pd.factorize(table["true_kind"])
    placed = np.column_stack([path / np.maximum(path.std(axis=0), _JITTER), _FAR * codes])
    nearest = np.arange(1, min(_N_SIMILAR, len(placed)) + 1)
    similar: NDArray[np.intp] = cKDTree(placed).query(placed, k=nearest)[1]
    is_found = (table["distance"] > 0).to_numpy()
    recall = (is_found[similar].sum(axis=1) + is_found.mean()) / (similar.shape[1] + 1)
    found_as = path[:, None] + np.where(is_found[:, None], look - path, np.inf)[similar]
    away = ((looked[:, None, None] - found_as) ** 2).sum(axis=3)
    is_same = table["kind"].to_numpy()[similar] == seen["kind"].to_numpy()[:, None, None]
    alike = (np.exp(-0.5 * away / _ALIKE**2) * is_same).mean(axis=2) + np.finfo(float).tiny
    share = recall / recall.sum()  # of each path among those that are found
    for _ in range(_N_STEPS):
        of_each = share * alike / recall
        of_each /= of_each.sum(axis=1, keepdims=True)
        share = of_each.mean(axis=0)
    # For each path that is found, there are those that are missed.
    return np.asarray(of_each.sum(axis=0) / recall)


def _logs(table: pd.DataFrame, *columns: str) -> Floats:
    """Return the logarithms of columns, shape (n_rows, n_columns)."""
    return np.asarray(np.log(table[list(columns)].to_numpy(dtype=float)))


def _injected(
    session: Session,
    found: Conclusions,
    replay: Replay,
    rest: Rest,
    kinds: tuple[str, ...],
    n_sessions: int,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Draw the paths of some sessions, and find them."""
    calibration = found.calibration
    if calibration is None:
        raise ValueError("Only events that were tested can be simulated.")
    if not 0 < replay.gain < _MOST_GAIN:
        raise ValueError(
            f"events have {replay.gain:.3g} times as many spikes as the fields of running predict."
        )
    drawn = pd.concat(
        [_draw(session, found, replay, kind, n_sessions, rng) for kind in kinds], ignore_index=True
    )
    of_session = np.tile(np.arange(len(drawn) // len(kinds)) % n_sessions, len(kinds))
    tables = []
    for number in range(n_sessions):
        own = drawn[of_session == number]
        table = inject(
            session, found.experience, calibration, own, replay.gain, rest,
            int(rng.integers(2**31)),
        )  # fmt: skip
        speed = own["speed"].to_numpy()
        path = {"true_length": speed * table["true_lasts"], "true_speed": speed}
        tables.append(table.assign(seed=number, gain=replay.gain, **path))
    return pd.concat(tables, ignore_index=True)


def _draw(
    session: Session,
    found: Conclusions,
    replay: Replay,
    kind: str,
    n_sessions: int,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """Draw paths of a kind, or like those of all kinds if there are few of it."""
    log, number = found.experience, n_sessions * N_EACH
    joined = graph_of_log(log)
    own = replay.kind == kind
    share = replay.weight * own
    if own.sum() < _FEW or share.sum() < _FEW:
        share = replay.weight
    path = rng.choice(len(share), number, p=share / share.sum())
    size = session.judgement.state_size
    lap = np.inf
    if kind != "novel_path":  # other paths are stretches of a lap, of median length
        steps = log.columns("steps")
        moves = zip(steps["state"].tolist(), steps["next_state"].tolist(), strict=True)
        ways = [joined.edges[move]["distance"] if move in joined.edges else 0.0 for move in moves]
        lap = float(pd.Series(ways).groupby(steps["episode"]).sum().median())
    jitter = np.exp(_JITTER * rng.standard_normal((2, number)))
    length = np.minimum(replay.length[path] * jitter[0], lap - size)
    speed = replay.speed[path] * jitter[1]
    cut = rng.uniform(0.0, size, number)  # replay begins anywhere between two states
    n_moves = np.ceil((cut + length) / size)
    drawn = []
    for n in np.unique(n_moves):
        part = np.flatnonzero(n_moves == n)
        least, own_seed = min(n * size, lap), int(rng.integers(2**31))
        while True:
            try:
                paths = known_paths(
                    log, n_each=len(part), length=max(least, 3 * size), kinds=[kind],
                    headings=session.headings is not None, seed=own_seed,
                )  # fmt: skip
                break
            except ValueError:  # the laps allow none of this length: shorter ones
                if least <= 3 * size:
                    raise
                least *= _SHORTER
        drawn.append(paths.assign(cut=cut[part], length=length[part], speed=speed[part]))
    return pd.concat(drawn, ignore_index=True)


_UNKNOWN = dict.fromkeys(_ONE_WAY, np.nan)
_NEEDED = {
    "events": ("kind", "is_replay", "event", "start_time", "end_time"),
    "stretches": ("event", "stretch", "start_time", "end_time"),
    "sequences": ("kind", "event", "stretch", "distance"),
    "paths": ("event", "stretch", "x", "y"),
}
"""Columns by table; those from `event` on hold numbers."""
_COLUMNS = ["kind", "found", "corrected", "ci_low", "ci_high", "recall"]


class RecordedShares(NamedTuple):
    """Shares of kinds, as found and as corrected."""

    # one row per kind that the animal's laps allow: `kind`, `found` (its share of the replay events
    # with a sequence), `corrected, ci_low, ci_high` (95 %; NaN without a correction) and `recall`
    # (the share of its events that is found and classified correctly)
    table: pd.DataFrame
    note: str  # how shares were corrected, or why they were not


@typed
def recorded_shares(
    session: Session, found: Conclusions, *, n_sessions: int = N_SESSIONS, seed: int = 0
) -> RecordedShares:
    """Correct the shares of kinds in a recording for what it misses.

    Each simulated session has 15 paths of each kind: forward, reverse and novel ones, or, if the
    animal ran everything in both directions, ambiguous and novel ones. They are put into the
    recording's own rest and found as its own events are, detection and tests included.

    Parameters
    ----------
    session : Session
        The recording, as `analyses.recordings.prepare.session.prepare` returns it.
    found : Conclusions
        The replay, as `analyses.recordings.find_replay` returns it.
    n_sessions : int, default 10
        Number of simulated sessions; with 0 nothing is corrected.
    seed : int, default 0
        Seed of the simulated sessions and of the bootstrap.

    Returns
    -------
    RecordedShares
        The shares; or, if recall is too low to correct them, the reason.

    Raises
    ------
    ValueError
        If `n_sessions` or `seed` is not a whole number of at least 0, or a table lacks a column or
        has something else in it.

    Examples
    --------
    >>> from analyses.recordings import find_replay
    >>> from analyses.recordings.basics.settings import Judgement
    >>> from analyses.recordings.prepare.session import prepare
    >>> from analyses.recordings.recover.simulated_recording import simulated_recording
    >>> recording = simulated_recording(12)
    >>> judgement = Judgement(n_shuffles=19, other_sizes=())
    >>> found = find_replay(recording, judgement=judgement)
    >>> session = prepare(recording, judgement=judgement)
    >>> shares = recorded_shares(session, found, n_sessions=1)
    >>> shares.table["kind"].tolist()
    ['reverse_episode', 'forward_episode', 'novel_path']
    """
    number = check_whole("n_sessions", n_sessions)
    own, bootstrap = np.random.SeedSequence(check_whole("seed", seed)).spawn(2)
    for name, columns in _NEEDED.items():
        table, what = getattr(found, name), f"{name} of found"
        check_table(table, columns, what)
        check_column(table, "event", what, kind="whole")
        for column in columns[columns.index("event") + 1 :]:
            check_column(table, column, what, kind="number", missing=True)
    if not found.events["event"].is_unique:
        raise ValueError("Each row of events of found must have a number of its own in 'event'.")
    counts = found.events["kind"].value_counts().reindex(KINDS, fill_value=0)
    why_not = ""
    if not number:
        why_not = "No session was simulated."
    elif not (session.counts and session.is_decoded_here):
        why_not = "Only replay that was decoded here from spikes can be simulated."
    elif session.track.is_arena:
        why_not = (
            "Known paths are drawn along the laps of a track, and an arena has neither, so that "
            "what is missed there is not known."
        )
    elif not counts.sum():
        why_not = "No replay event has a sequence."
    elif not held_out(session).hold:
        why_not = (
            "The fields of running do not hold in events for many cells, so that simulated events "
            "would be found more often than those of the recording."
        )
    if why_not:
        return _not_corrected(counts, why_not)
    try:
        similar = inject_similar(session, found, number, np.random.default_rng(own))
    except ValueError as error:
        return _not_corrected(counts, f"Replay cannot be simulated: {error}")
    if similar is None:
        return _not_corrected(
            counts,
            "The animal's laps allow too few paths: neither forward, reverse and novel ones nor, "
            "where it ran in both directions, ambiguous and novel ones.",
        )
    recovered, gain = similar
    try:
        shares = estimate_shares(counts, recovered, seed=int(bootstrap.generate_state(1)[0]))
    except ValueError as error:
        matrix = confusion_matrix(recovered)
        recall = {kind: matrix.loc[kind, kind] for kind in matrix.index}
        return _not_corrected(counts, str(error), recall)
    table = shares.rename(columns={"share": "corrected"})[_COLUMNS]
    return RecordedShares(table, _how(number, recovered, gain, session))


def _how(n_sessions: int, recovered: pd.DataFrame, gain: float, session: Session) -> str:
    criteria = session.settings.criteria
    detected = (
        "detected in the spikes of all cells, in quiet times of this recording, where bursts of "
        f"{criteria.shortest:g} to {criteria.longest:g} s count; replay of other "
        "durations is left out of recall"
        if session.is_detected_in_spikes
        else "at known times, so that replay at times that are not in this table is left out of "
        "recall"
    )
    simulated = f"{n_sessions} simulated session{'s' * (n_sessions != 1)}"
    return (
        "Corrected shares are the true shares that best explain those found, given the confusion "
        f"matrix of {simulated}, each with {N_EACH} paths of each kind from the animal's own laps "
        f"and spikes by the fields of these cells. Simulated events are {detected}. They are "
        "tested as those of the recording. Their lengths (median "
        f"{recovered['true_length'].median():.0f} cm), speeds "
        f"({recovered['true_speed'].median() / 100:.1f} m/s) and gain ({gain:.1f} times the rates "
        "of running) are chosen so that what is found of them is like what was found in the "
        "recording, with more of those that are rarely found."
        + ("" if session.seen.all() else " In simulated events, all cells are observed.")
    )


def _not_corrected(
    counts: pd.Series, reason: str, recall: Mapping[str, float] = _UNKNOWN
) -> RecordedShares:
    kinds = list(recall)
    total = counts.sum()
    table = pd.DataFrame(
        {
            "kind": kinds,
            "found": [counts[kind] / total if total else np.nan for kind in kinds],
            "corrected": np.nan,
            "ci_low": np.nan,
            "ci_high": np.nan,
            "recall": [recall[kind] for kind in kinds],
        }
    )
    return RecordedShares(table, f"Shares are not corrected. {reason}")
