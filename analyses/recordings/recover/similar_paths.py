"""Known paths like the replay of a recording, put into its quiet times.

Events that are found are no fair sample: they are longer and slower than those that are missed, and
of each only a part is decoded. So known paths are put into the recording, which tells how often a
path of some length and speed is found, and what is found of it. The lengths and speeds that best
explain the events of the recording are those under which they are most likely, by
expectation-maximisation [1]_; each stands for as many paths as there are for one that is found
[2]_. Paths like these are put into the recording in turn, with a gain at which those that are found
have as many spikes as its own events.

References
----------
.. [1] Vardi & Lee (1993). https://doi.org/10.1111/j.2517-6161.1993.tb01925.x
.. [2] Horvitz & Thompson (1952). https://doi.org/10.1080/01621459.1952.10483446
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from analyses.recordings.decide.conclusions import Conclusions
from analyses.recordings.prepare.session import Session
from analyses.recordings.recover.injection import Rest, facts_of, inject, quiet_rest
from analyses.recordings.recover.known_paths import known_paths
from analyses.sequences.track import graph_of_log
from analyses.tables import KINDS
from replay.checks.arrays import Floats

N_PATHS = 15
"""Number of paths of each kind in a simulated session."""

# Sessions of the rounds that choose paths and gain, and how they do.
_ROUNDS = ((4, "scale"), (6, "choose"), (6, "scale"))
_FEW = 5  # events of a kind, which say little about its paths
_N_SIMILAR = 30  # paths from which it is estimated how often, and as what, one of them is found
_FAR = 1e3  # between paths of different kinds
_ALIKE = 0.1  # standard deviation of the logarithms of what is found, beyond that of these paths
_N_STEPS = 8  # of expectation-maximisation: more fit the chance of these paths
_FIRST_SPREAD, _JITTER = 0.4, 0.05  # standard deviations of the logarithm of speed, and of length
_SHORTER = 0.8  # of a length, until the laps have enough paths that are as long
MOST_GAIN = 1e3  # above which hardly any neuron could fire
ONE_WAY = ("reverse_episode", "forward_episode", "novel_path")
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
    kinds = _kinds_allowed(session, found, rng)
    if kinds is None:
        return None
    rest = quiet_rest(session)
    sequences = found.sequences[found.sequences["kind"].isin(KINDS)]
    seen = facts_of(session, sequences, found).reset_index(drop=True)
    if seen["kind"].isin(kinds).any():  # others are made of none of these paths
        seen = seen[seen["kind"].isin(kinds)]
    # First, paths as slow as what was found, and more and less so.
    pace = np.median(np.diff(_logs(seen, "lasts", "distance")))
    speed = np.exp(pace + _FIRST_SPREAD * rng.standard_normal(len(seen)))
    kind, lasts = seen["kind"].to_numpy(dtype=object), seen["lasts"].to_numpy()
    replay = Replay(kind, lasts * speed, speed, np.ones(len(seen)), gain_of(seen))
    tables: list[pd.DataFrame] = []
    for n_fit, change in _ROUNDS:
        table = _injected(session, found, replay, rest, kinds, min(n_fit, n_sessions), rng)
        tables.append(table)
        if (table["distance"] > 0).sum() < _FEW:  # nothing shows how to change it
            continue
        replay = _scaled(replay, seen, table) if change == "scale" else _chosen(seen, tables)
    table = _injected(session, found, replay, rest, kinds, n_sessions, rng)
    return table, replay.gain


def _kinds_allowed(
    session: Session, found: Conclusions, rng: np.random.Generator
) -> tuple[str, ...] | None:
    """Return the kinds of which the animal's laps allow enough paths; None if there are none."""
    has_headings = session.headings is not None
    for kinds in (ONE_WAY, _NEVER_NOVEL if has_headings else _BOTH_WAYS):
        try:
            known_paths(
                found.experience, n_each=N_PATHS, length=3 * session.judgement.state_size,
                kinds=kinds, headings=has_headings, seed=int(rng.integers(2**31)),
            )  # fmt: skip
        except ValueError:  # too few
            continue
        return kinds
    return None


def _scaled(replay: Replay, seen: pd.DataFrame, table: pd.DataFrame) -> Replay:
    """Scale paths so that what is found of them, of each kind as often, is as long and as slow."""
    recovered = table[table["distance"] > 0]
    of_kind = seen["kind"].value_counts() / recovered["kind"].value_counts()
    weight = np.asarray(recovered["kind"].map(of_kind.fillna(0.0)), dtype=np.float64)
    if not weight.any():  # what is found is of other kinds
        return replay
    log_seen = np.quantile(_logs(seen, "distance", "lasts"), 0.5, axis=0, method="inverted_cdf")
    log_recovered = np.quantile(
        _logs(recovered, "distance", "lasts"), 0.5, axis=0, weights=weight, method="inverted_cdf"
    )
    longer, slower = np.exp(log_seen - log_recovered)
    return replay._replace(
        length=replay.length * longer,
        speed=replay.speed * longer / slower,
        gain=gain_of(seen) / gain_of(recovered, weight),
    )


def _chosen(seen: pd.DataFrame, tables: list[pd.DataFrame]) -> Replay:
    """Choose from the paths so far as many of each as explain what is seen."""
    table = pd.concat(tables, ignore_index=True)
    weight, is_found = number_of_each(seen, table), table["distance"] > 0
    return Replay(
        table["true_kind"].to_numpy(dtype=object),
        table["true_length"].to_numpy(dtype=float),
        table["true_speed"].to_numpy(dtype=float),
        weight,
        gain_of(seen) / gain_of(table[is_found], weight[is_found]),
    )


def gain_of(table: pd.DataFrame, weight: float | Floats = 1.0) -> float:
    """Measure spikes in events, relative to running along their decoded paths.

    If they were made with a `gain`, this counts as that of running.
    """
    expected = table.get("gain", 1.0) * table["expected"]
    with np.errstate(divide="ignore", invalid="ignore"):  # what cannot be is refused later
        return float((weight * table["n_spikes"]).sum() / (weight * expected).sum())


def number_of_each(seen: pd.DataFrame, table: pd.DataFrame) -> Floats:
    """Estimate how many of each simulated path there are, given the events that were found.

    What would be found of a path, and as which kind, is what was found of those of its kind that
    are most similar to it, moved by the difference of their lengths and durations.
    """
    # Logarithms of length and duration: of events, (n_events, 2); and of paths, (n_paths, 2), as
    # they were made and as they were found.
    log_event = _logs(seen, "distance", "lasts")
    log_made = _logs(table, "true_length", "true_lasts")
    log_found = _logs(table, "distance", "lasts")
    # The paths that are similar to each, (n_paths, n_similar).
    kind, _ = pd.factorize(table["true_kind"])
    scaled = np.column_stack([log_made / np.maximum(log_made.std(axis=0), _JITTER), _FAR * kind])
    nearest = np.arange(1, min(_N_SIMILAR, len(scaled)) + 1)
    similar: NDArray[np.intp] = cKDTree(scaled).query(scaled, k=nearest)[1]
    is_found = (table["distance"] > 0).to_numpy()
    recall = (is_found[similar].sum(axis=1) + is_found.mean()) / (similar.shape[1] + 1)
    # What is found of each path if as of those similar to it, (n_paths, n_similar, 2); and how far
    # that is from each event, and whether of its kind, (n_events, n_paths, n_similar).
    change = np.where(is_found[:, None], log_found - log_made, np.inf)
    log_expected = log_made[:, None] + change[similar]
    squared = ((log_event[:, None, None] - log_expected) ** 2).sum(axis=3)
    is_same = table["kind"].to_numpy()[similar] == seen["kind"].to_numpy()[:, None, None]
    # Of each event, given each path that is found, (n_events, n_paths).
    likelihood = (np.exp(-0.5 * squared / _ALIKE**2) * is_same).mean(axis=2)
    likelihood += np.finfo(float).tiny
    share = recall / recall.sum()  # (n_paths,): of each path among those that are found
    for _ in range(_N_STEPS):
        responsibility = share * likelihood / recall  # (n_events, n_paths)
        responsibility /= responsibility.sum(axis=1, keepdims=True)
        share = responsibility.mean(axis=0)
    # For each path that is found, there are those that are missed.
    return np.asarray(responsibility.sum(axis=0) / recall)


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
    if not 0 < replay.gain < MOST_GAIN:
        raise ValueError(
            f"events have {replay.gain:.3g} times as many spikes as the fields of running predict."
        )
    drawn = pd.concat(
        [_draw(session, found, replay, kind, n_sessions, rng) for kind in kinds], ignore_index=True
    )
    of_session = np.tile(np.arange(len(drawn) // len(kinds)) % n_sessions, len(kinds))
    tables = []
    for number in range(n_sessions):
        paths = drawn[of_session == number]
        table = inject(
            session, found.experience, calibration, paths, replay.gain, rest,
            int(rng.integers(2**31)),
        ).facts()  # fmt: skip
        speed = paths["speed"].to_numpy()
        made = {"true_length": speed * table["true_lasts"], "true_speed": speed}
        tables.append(table.assign(seed=number, gain=replay.gain, **made))
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
    log, number = found.experience, n_sessions * N_PATHS
    joined = graph_of_log(log)
    is_kind = replay.kind == kind
    share = replay.weight * is_kind
    if is_kind.sum() < _FEW or share.sum() < _FEW:
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
        draw = partial(
            known_paths, log, n_each=len(part), kinds=[kind],
            headings=session.headings is not None, seed=int(rng.integers(2**31)),
        )  # fmt: skip
        paths = _longest(draw, min(n * size, lap), 3 * size)
        drawn.append(paths.assign(cut=cut[part], length=length[part], speed=speed[part]))
    return pd.concat(drawn, ignore_index=True)


def _longest(draw: Callable[..., pd.DataFrame], length: float, shortest: float) -> pd.DataFrame:
    """Draw paths of a length, or shorter ones if the laps allow none."""
    while length > shortest:
        try:
            return draw(length=length)
        except ValueError:
            length *= _SHORTER
    return draw(length=shortest)
