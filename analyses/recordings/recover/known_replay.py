"""Known replay of any path along the track, and what is found of it in this recording.

Paths begin anywhere and turn now and then. They are put into the recording's own rest with the
speeds and the gain of what was found, and searched as its own events are. So a simulated animal can
lose of its replay what this recording loses (:mod:`analyses.inference.decoding`).
"""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd

from analyses.recordings.basics.settings import N_SESSIONS
from analyses.recordings.decide.conclusions import Conclusions
from analyses.recordings.prepare.session import Session
from analyses.recordings.recover.injection import facts_of, inject, quiet_rest
from analyses.recordings.recover.shares import why_not_simulated
from analyses.recordings.recover.similar_paths import MOST_GAIN, gain_of
from analyses.sequences import RECORDED
from analyses.sequences.track import graph_of_log
from replay.checks import check_whole, typed

N_PATHS = 200
"""Number of paths in a simulated session."""

COLUMNS = ("path", "states", "along", "found", "found_along")
_FEW = 5  # sequences, which say little about the speed and gain of replay
_TURNING, _TURNS = 0.4, 0.15  # share of paths that turn, and how often they do so at each place
_LONGEST = 30  # places, or those of the track if there are more
_N_PILOTS = 2  # sessions that choose speed and gain
# Standard deviations of logarithms: of the speed of a path in its session, and of the speed and
# the gain of a session, since those of a recording are known only so well.
_JITTER, _OF_SESSION = 0.1, 0.2


@typed
def known_replay(
    session: Session, found: Conclusions, *, n_sessions: int = N_SESSIONS, seed: int = 0
) -> pd.DataFrame:
    """Put paths of any kind into a recording's rest, and find them as its own replay.

    Parameters
    ----------
    session : Session
        The recording, as `analyses.recordings.prepare.session.prepare` returns it.
    found : Conclusions
        The replay, as `analyses.recordings.find_replay` returns it.
    n_sessions : int, default 10
        Number of simulated sessions, with 200 paths each.
    seed : int, default 0
        Seed of paths and spikes.

    Returns
    -------
    pandas.DataFrame
        A row for each sequence that was found: `path` (its number), `states, along` (what was
        replayed, and with which heading), and `found, found_along` (the places and headings of the
        sequence). A path of which nothing was found has one row with empty ones. The table is
        empty if nothing could be simulated, or too little was found to know how.

    Raises
    ------
    ValueError
        If `n_sessions` or `seed` is not a whole number of at least 0.

    Examples
    --------
    >>> from analyses.recordings import Judgement, find_replay, simulated_recording
    >>> found = find_replay(simulated_recording(20), judgement=Judgement(other_sizes=()))
    >>> known = known_replay(found.session, found, n_sessions=1)
    >>> bool((known["found"].str.len() > 0).mean() > 0.2)
    True
    """
    number = check_whole("n_sessions", n_sessions)
    rng = np.random.default_rng([check_whole("seed", seed), 1])
    facts, calibration = facts_of(session, found.sequences, found), found.calibration
    rows: list[tuple[object, ...]] = []
    if why_not_simulated(session, found, number) or calibration is None or len(facts) < _FEW:
        return pd.DataFrame(rows, columns=list(COLUMNS))
    speeds, gain_found = (facts["distance"] / facts["lasts"]).to_numpy(), gain_of(facts)
    faster, gain, joined = 1.0, gain_found, graph_of_log(found.experience)
    try:
        rest = quiet_rest(session)
    except ValueError:  # not all cells were ever observed together
        number = 0
    if not 0 < gain < MOST_GAIN or max(dict(joined.degree()).values(), default=0) < 2:
        number = 0
    for first in range(-_N_PILOTS * N_PATHS, number * N_PATHS, N_PATHS):
        walks = [_walk(joined, rng) for _ in range(N_PATHS)]
        signs = rng.choice([-1, 1], N_PATHS) * (session.headings is not None)
        along = [[sign] * len(path) for sign, path in zip(signs.tolist(), walks, strict=True)]
        of_session = np.exp(_OF_SESSION * (first >= 0) * rng.standard_normal(2))
        speed = faster * of_session[0] * rng.choice(speeds, N_PATHS)
        speed *= np.exp(_JITTER * rng.standard_normal(N_PATHS))
        paths = pd.DataFrame({"states": walks, "along": along, "speed": speed})
        made = inject(
            session, found.experience, calibration,
            paths.assign(cut=0.0, length=np.inf, kind="known"), gain * of_session[1], rest,
            int(rng.integers(2**31)),
        )  # fmt: skip
        if first < 0:  # until what is found is as fast, and has as many spikes
            pilot = made.facts().dropna(subset=["distance"])
            if len(pilot) >= _FEW:
                faster *= float(np.median(speeds) / (pilot["distance"] / pilot["lasts"]).median())
                gain *= gain_found / gain_of(pilot)
            continue
        of_event = made.sequences.groupby("event").indices
        states = made.sequences["states"].tolist()
        headings = [*made.sequences.get("along", map(np.zeros_like, states))]
        for path, event in enumerate(made.event.tolist()):
            own = of_event.get(event, [])
            shown = [(states[row].tolist(), headings[row].tolist()) for row in own]
            replayed = (first + path, walks[path], along[path])
            rows += [(*replayed, *each) for each in shown or [([], [])]]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _walk(joined: nx.Graph, rng: np.random.Generator) -> list[int]:
    """Draw a path of three places or more along the track, which may turn now and then."""
    places, turns = sorted(joined), rng.random() < _TURNING
    while True:
        path = [int(rng.choice(places))]
        n_places = rng.integers(RECORDED.min_length, max(len(places), _LONGEST) + 1)
        while len(path) < n_places:
            onwards = sorted(set(joined[path[-1]]) - set(path[-2:-1]))
            if len(path) > 1 and turns and (not onwards or rng.random() < _TURNS):
                onwards = [path[-2]]
            if not onwards:
                break
            path.append(int(rng.choice(onwards)))
        if len(path) >= RECORDED.min_length:
            return path
