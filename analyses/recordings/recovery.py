"""Recovery: how much of a known replay a recording finds, and what it takes it for.

What `observe` makes goes the way of a recording (:mod:`analyses.recordings.find_replay`): place
fields are estimated, events decoded, and the paths of those that move on continuously become place
sequences. The kind of an event's longest sequence is held against what was truly replayed. The
*confusion matrix* has a row for each true kind and a column for each kind that is found; an event
is ``missed`` if it is not accepted or has no sequence. *Noise*, as truth, are events in which cells
fire as fast as in replay on average, but wherever their fields are.

Few cells miss more, and they miss most of the paths that are harder to follow, so that the share of
a kind among the events that are found is biased. With the matrix the true shares follow from the
found ones, as in the unfolding of spectra [1]_: they are the numbers x >= 0 for which x times the
matrix is nearest to what was found, kept from wild values by a small penalty on the differences
between them.

References
----------
.. [1] Hoecker & Kartvelishvili (1996), SVD approach to data unfolding.
   https://doi.org/10.1016/0168-9002(95)01478-0
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import nnls

from analyses.recordings.decoder import (
    CONTINUOUS,
    continuous_path,
    log_likelihood,
    random_walk,
    state_posterior,
)
from analyses.recordings.find_replay import Judgement, path_radius, sequence_kinds
from analyses.recordings.observe import Cells, Observation, observe
from analyses.recordings.sessions import Settings, experience_of, prepare
from analyses.recordings.track import Track, cut_track, project
from analyses.sequences.place_sequences import DIRECTIONS, Detection, place_sequences
from analyses.sequences.runs import Columns
from analyses.sequences.track import graph_of_log
from analyses.tables import KINDS
from replay.checks import (
    check_array,
    check_choice,
    check_list,
    check_number,
    check_table,
    check_whole,
)
from replay.log.event_log import EventLog
from replay.worlds.mdp import MDP

__all__ = ["FOUND_KINDS", "LEAST_RECALL", "confusion_matrix", "correct_shares", "estimate_shares"]
__all__ += ["REGULARISATION", "known_paths", "recover", "recovery", "unfold"]

FOUND_KINDS = (*KINDS, "missed")
"""What an event may be found as."""

LEAST_RECALL = 0.2
"""Where less than this share of a kind is found as what it is, no share is corrected."""

REGULARISATION = 1e-4
"""The weight of the squared differences between kinds, against the squared error."""

_REPLAYED = ("forward_episode", "reverse_episode", "novel_path")
_NOVEL = _REPLAYED[-1]
_N_DRAWN, _N_TRIES = 200, 20
_NOISE, _MISSED = "noise", "missed"
_NOISE_ROW = {"kind": _NOISE, "direction": _NOISE, "states": ()}
_NOWHERE = np.empty(0, dtype=np.int32)
_BY = ("n_cells", "gain", "speed")


def known_paths(
    log: EventLog,
    *,
    n_each: int = 15,
    length: float = 200.0,
    kinds: Sequence[str] = _REPLAYED,
    seed: int = 0,
) -> pd.DataFrame:
    """Draw paths that an animal's laps make forward, reverse or novel ones, to be recovered.

    Forward and reverse paths are stretches of laps, and so are ambiguous ones, where the animal ran
    both ways. Novel ones are random walks without turning back, over moves that were made in some
    direction, of which not even the middle half was run: a path that is novel at its end alone is
    found as what the rest is as soon as that end is lost.

    Parameters
    ----------
    log : EventLog
        What was run; its world has positions. Of a recording,
        :func:`analyses.recordings.sessions.experience_of` gives it.
    n_each : int, default 15
        How many paths of each kind.
    length : float, default 200.0
        How long they are at least, in cm; at most by one move longer.
    kinds : sequence of str, default ("forward_episode", "reverse_episode", "novel_path")
        Which kinds; ``ambiguous`` is another one.
    seed : int, default 0
        Seed of the draws.

    Returns
    -------
    pandas.DataFrame
        `step` (the last one of the log), `states` and `kind`.

    Raises
    ------
    ValueError
        If too few paths of a kind are found: there is none where the animal ran each corridor both
        ways, or laps are shorter.

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
    wanted = [check_choice("kind", kind, (*_REPLAYED, "ambiguous")) for kind in kinds]
    rng = np.random.default_rng(check_whole("seed", seed))
    steps, joined = log.columns("steps"), graph_of_log(log)
    if not len(steps["state"]):
        raise ValueError("The log has no steps, so no path is known: keep its steps.")
    ran = joined.edge_subgraph(
        edge
        for edge in zip(steps["state"], steps["next_state"], strict=True)
        if edge in joined.edges
    )
    ends = np.flatnonzero(np.append(np.diff(steps["episode"]) != 0, True)) + 1
    last = int(steps["step"][-1])
    found: dict[str, list[list[int]]] = {kind: [] for kind in wanted}
    for _ in range(_N_TRIES):
        first = rng.integers(len(steps["state"]), size=_N_DRAWN)
        stretches = [_stretch(steps, row, ends, joined, least) for row in first.tolist()]
        starts = rng.choice(np.array(sorted(ran)), _N_DRAWN)
        walks = [_walk(ran, start, least, rng) for start in starts.tolist()]
        drawn = [path for path in (*stretches, *(path[::-1] for path in stretches), *walks) if path]
        for path, kind in zip(drawn, _kinds(log, drawn, last), strict=True):
            if kind in found and len(found[kind]) < number:
                found[kind].append(path)
        if all(len(paths) == number for paths in found.values()):
            break
    for kind, paths in found.items():
        if len(paths) < number:
            raise ValueError(
                f"Only {len(paths)} paths of the kind {kind} and {least:g} cm were found among "
                f"{_N_TRIES * _N_DRAWN:,} that were drawn, and {number} are needed. Where each "
                "corridor was run both ways there are none; else ask for shorter ones (length)."
            )
    rows = [(last, path, kind) for kind, paths in found.items() for path in paths]
    return pd.DataFrame(rows, columns=["step", "states", "kind"])


def _kinds(log: EventLog, paths: list[list[int]], step: int) -> list[str]:
    """Name the kind of each path; none of those that are novel at their ends only."""

    def named(places: list[list[int]]) -> list[str]:
        moments = np.full(len(places), step)
        return list(_classified(log, moments, places, Detection(2), when="step")["kind"])

    middles = [path[len(path) // 4 : len(path) - len(path) // 4] for path in paths]
    return [
        kind if kind != _NOVEL or middle == _NOVEL else ""
        for kind, middle in zip(named(paths), named(middles), strict=True)
    ]


def _stretch(
    steps: Columns, row: int, ends: NDArray[np.int64], joined: nx.Graph, least: float
) -> list[int]:
    """Give a stretch of a lap from a step on; nothing if the lap ends before."""
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
    """Walk without turning back; nothing if the way ends before."""
    path, way = [start], 0.0
    while way < least or len(path) < 2:
        onwards = sorted(set(ran[path[-1]]) - set(path[-2:-1]))
        if not onwards:
            return []
        there = int(rng.choice(onwards))
        way += ran.edges[path[-1], there]["distance"]
        path.append(there)
    return path


def recover(
    observed: Observation,
    settings: Settings = Settings(),  # noqa: B008 (immutable)
    judgement: Judgement = Judgement(),  # noqa: B008
    *,
    n_noise: int = 0,
    seed: int = 0,
) -> pd.DataFrame:
    """Analyse an observation as a recording, and hold what is found against the truth.

    Events are accepted by their score alone: a test of each against shuffles would take hundreds of
    times as long, and noise shows what passes by chance. The gain is known to the decoder.

    Parameters
    ----------
    observed : Observation
        As `observe` gives it.
    settings : Settings, optional
        How it is decoded.
    judgement : Judgement, optional
        How events are judged; of it, `least_score`, `state_size`, `lap_ends` and `detection`.
    n_noise : int, default 0
        How many events of noise are added, each as long as one of the events, drawn at random.
    seed : int, default 0
        Seed of the noise.

    Returns
    -------
    pandas.DataFrame
        One row an event: `event` (-1: noise), `true_kind, true_direction, kind, direction` (as
        found, or ``missed``), `score` (the mean probability of continuous movement), `n_spikes`,
        `true_states` and `states` (the places that were truly replayed, and those that were found,
        of the longest sequence of each).

    Raises
    ------
    ValueError
        If there is no event, or the track was not run enough to estimate fields.

    Examples
    --------
    An animal ran a track one way, lap after lap, and replayed it backwards:

    >>> from replay import MDP
    >>> from replay.worlds.tracks import make_linear_track
    >>> track = make_linear_track(150.0)
    >>> world = MDP.from_networkx(track, bin_size=10.0)
    >>> way = [0, *range(2, world.n_states), 1]
    >>> steps = {"state": way[:-1] * 20, "next_state": way[1:] * 20,
    ...          "terminated": [state == 1 for state in way[1:]] * 20}
    >>> log = EventLog({"steps": steps}, mdp=world)
    >>> paths = pd.DataFrame({"step": range(14, 300, 15), "states": [way[::-1]] * 20})
    >>> found = recover(observe(log, track, paths, cells=70))
    >>> found["true_kind"].unique().tolist()
    ['reverse_episode']
    >>> bool((found["kind"] == "reverse_episode").mean() > 0.9)
    True
    """
    if not isinstance(observed, Observation):
        raise TypeError(f"observed must be an Observation, got {type(observed).__name__}.")
    number = check_whole("n_noise", n_noise)
    rng = np.random.default_rng(check_whole("seed", seed))
    recording, cells, graph = observed.recording, observed.cells, observed.recording.graph
    if graph is None or recording.events is None or not len(recording.events):
        raise ValueError("The observation has no event: nothing was replayed that moves on.")
    session = prepare(recording, settings)
    world, ran = experience_of(recording, judgement.state_size, judgement.lap_ends)
    counts, n_events = session.counts, len(session.events)
    if number:
        mean = observed.gain * (cells.rates @ cells.track.width) / cells.track.width.sum()
        expected = mean[session.cells] * session.time_bin
        lasts = rng.choice([len(each) for each in counts], number)
        counts = [*counts, *(rng.poisson(expected, (n, len(expected))) for n in lasts)]
    rates, walk = observed.gain * session.rates, random_walk(session.track, session.variance)
    scores, paths = [], []
    for each in counts:
        likelihoods = log_likelihood(each, rates, session.time_bin)
        posterior, _ = state_posterior(likelihoods, walk)
        score = float(posterior[:, CONTINUOUS].sum(axis=1).mean()) if len(each) else 0.0
        is_accepted = score >= judgement.least_score
        scores.append(score)
        paths.append(continuous_path(likelihoods, walk) if is_accepted else _NOWHERE)
    time = np.append(session.events["start_time"], np.full(number, recording.time[-1]))
    fine, radius = cut_track(graph, 1.0), path_radius(world, session.track)
    found, true = (
        _classified(ran, when, _places(each, track, fine, world, radius), judgement.detection)
        for each, track, when in (
            (paths, session.track, time),
            (observed.replayed, cells.track, time[:n_events]),
        )
    )
    true = pd.concat([true, pd.DataFrame([_NOISE_ROW] * number, columns=true.columns)])
    return pd.DataFrame(
        {
            "event": np.append(recording.events["event"], np.full(number, -1)),
            "true_kind": true["kind"].to_numpy(),
            "true_direction": true["direction"].to_numpy(),
            "kind": found["kind"],
            "direction": found["direction"],
            "score": scores,
            "n_spikes": [int(each.sum()) for each in counts],
            "true_states": true["states"].to_numpy(),
            "states": found["states"],
        }
    )


def _places(
    paths: Sequence[NDArray[np.integer]], track: Track, fine: Track, world: MDP, radius: float
) -> list[list[int]]:
    """Give the states that each path enters: by coming near their centre, as in `find_visits`."""
    centre = project(fine, np.asarray(world.position)).bin
    away = fine.distance[np.ix_(project(fine, track.position).bin, centre)]
    entered = np.where(away.min(axis=1) <= radius, away.argmin(axis=1), -1)
    visited = [entered[path][entered[path] >= 0] for path in paths]
    return [each[np.diff(each, prepend=-1) != 0].tolist() for each in visited]


def _classified(
    ran: EventLog,
    moments: ArrayLike,
    places: list[list[int]],
    detection: Detection,
    when: str = "time",
) -> pd.DataFrame:
    """Say what each event replays: its longest sequence."""
    paths = pd.DataFrame({when: moments, "states": places})
    found = place_sequences(ran, paths, detection=detection)
    found["kind"] = sequence_kinds(found)
    longest = found.sort_values(["event", "distance"], ascending=[True, False], kind="stable")
    longest = longest.drop_duplicates("event")
    table = pd.DataFrame(
        {"kind": _MISSED, "direction": _MISSED, "states": [()] * len(places)}, dtype=object
    )
    columns = [longest[name] for name in ("event", "kind", "direction", "states")]
    for event, kind, direction, states in zip(*columns, strict=True):
        table.loc[event] = [kind, direction, tuple(states.tolist())]
    return table


def recovery(
    log: EventLog,
    graph: nx.Graph,
    paths: pd.DataFrame | None = None,
    settings: Settings = Settings(),  # noqa: B008 (immutable)
    judgement: Judgement = Judgement(),  # noqa: B008
    *,
    cells: Sequence[int | Cells] = (12, 20, 40, 80),
    gain: Sequence[float] = (2.9,),
    speed: Sequence[float] = (800.0,),
    n_seeds: int = 20,
    n_noise: int = 0,
    seed: int = 0,
) -> pd.DataFrame:
    """Measure what is found of the replay of a log, with so many cells, gains and speeds.

    Parameters
    ----------
    log, graph, paths
        As for `observe`: what was run and replayed, and the track.
    settings, judgement
        As for `recover`.
    cells : sequence of int or Cells, default (12, 20, 40, 80)
        How many cells are drawn for each seed; or cells, such as those of a recording.
    gain : sequence of float, default (2.9,)
        As for `observe`; the decoder knows it.
    speed : sequence of float, default (800.0,)
        As for `observe`, in cm/s.
    n_seeds : int, default 20
        How often each combination of these is observed.
    n_noise : int, default 0
        How many events of noise are added to each.
    seed : int, default 0
        Seed of everything.

    Returns
    -------
    pandas.DataFrame
        `n_cells, gain, speed, seed` (which repetition), and the columns of `recover`.

    Raises
    ------
    ValueError
        As `observe` and `recover`.

    Examples
    --------
    Fewer cells find less of what was replayed, a lap backwards:

    >>> from replay import MDP
    >>> from replay.worlds.tracks import make_linear_track
    >>> track = make_linear_track(150.0)
    >>> world = MDP.from_networkx(track, bin_size=10.0)
    >>> way = [0, *range(2, world.n_states), 1]
    >>> steps = {"state": way[:-1] * 20, "next_state": way[1:] * 20,
    ...          "terminated": [state == 1 for state in way[1:]] * 20}
    >>> log = EventLog({"steps": steps}, mdp=world)
    >>> paths = pd.DataFrame({"step": range(14, 300, 15), "states": [way[::-1]] * 20})
    >>> recovered = recovery(log, track, paths, cells=[6, 60], n_seeds=2)
    >>> few, many = (confusion_matrix(own) for _, own in recovered.groupby("n_cells"))
    >>> kind = "reverse_episode"
    >>> bool(few.loc[kind, kind] < 0.5 < many.loc[kind, kind])
    True
    """
    number = check_whole("n_seeds", n_seeds, at_least=1)
    some_cells, gains, speeds = (
        check_list(name, each)
        for name, each in (("cells", cells), ("gain", gain), ("speed", speed))
    )
    combinations = list(product(some_cells, gains, speeds))
    if not combinations:
        raise ValueError("cells, gain and speed must each list one value or more.")
    sequence = np.random.SeedSequence(check_whole("seed", seed))
    children = sequence.generate_state(2 * len(combinations) * number).reshape(-1, 2)
    tables = []
    for place, (setting, repetition) in enumerate(product(combinations, range(number))):
        some, factor, velocity = setting
        own, noise = children[place].tolist()
        observed = observe(log, graph, paths, cells=some, gain=factor, speed=velocity, seed=own)
        table = recover(observed, settings, judgement, n_noise=n_noise, seed=noise)
        keys = (len(observed.cells.rates), factor, velocity, repetition)
        for position, (name, value) in enumerate(zip((*_BY, "seed"), keys, strict=True)):
            table.insert(position, name, value)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def confusion_matrix(recovered: pd.DataFrame, what: str = "kind") -> pd.DataFrame:
    """Count what events are found as.

    Parameters
    ----------
    recovered : DataFrame
        As `recovery` or `recover` gives it: `true_kind` and `kind`, or `true_direction` and
        `direction`.
    what : {"kind", "direction"}, default "kind"
        What is asked of each event.

    Returns
    -------
    pandas.DataFrame
        A row for each truth that there is, a column for each thing that may be found: the share of
        the events of that truth. Rows sum to 1.

    Raises
    ------
    ValueError
        If a column is missing, or there is no event.

    Examples
    --------
    >>> table = pd.DataFrame({"true_kind": "novel_path", "kind": ["novel_path", "missed"]})
    >>> confusion_matrix(table).loc["novel_path", ["novel_path", "missed"]].tolist()
    [0.5, 0.5]
    """
    truths, found = _truths_and_found(recovered, what)
    counts = pd.crosstab(recovered[f"true_{what}"], recovered[what])
    counts = counts.reindex(index=truths, columns=found, fill_value=0)
    return counts.div(counts.sum(axis=1), axis=0)


def _truths_and_found(recovered: pd.DataFrame, what: str) -> tuple[list[str], list[str]]:
    name = check_choice("what", what, ("kind", "direction"))
    check_table(recovered, [name, f"true_{name}"], "recovered")
    if not len(recovered):
        raise ValueError("recovered has no event, so nothing can be said of what is found.")
    found = FOUND_KINDS if name == "kind" else (*DIRECTIONS, _MISSED)
    present = set(recovered[f"true_{name}"])
    return [truth for truth in (*found, _NOISE) if truth in present], list(found)


def correct_shares(
    found: pd.Series,
    matrix: pd.DataFrame,
    *,
    regularisation: float = REGULARISATION,
    least_recall: float = LEAST_RECALL,
) -> pd.Series:
    """Estimate the true shares from those that were found.

    Parameters
    ----------
    found : Series
        The number or share of the events that were found as each kind, by kind. What was missed
        does not count.
    matrix : DataFrame
        As `confusion_matrix` gives it. Noise does not count.
    regularisation : float, default 1e-4
        The weight of the squared differences between kinds, against the squared error. With 0 the
        matrix is inverted, as far as no share becomes negative.
    least_recall : float, default 0.2
        The least share of each kind that must be found as what it is.

    Returns
    -------
    Series
        The true share of each kind in `matrix`; they sum to 1.

    Raises
    ------
    ValueError
        If less of a kind is found than `least_recall`, or nothing was found.

    Examples
    --------
    Half of the forward events are found, and all of the novel ones, of which a quarter looks like
    forward ones:

    >>> kinds = ["forward_episode", "novel_path"]
    >>> matrix = pd.DataFrame([[0.5, 0.0], [0.25, 0.75]], index=kinds, columns=kinds)
    >>> found = pd.Series([300, 300], index=kinds)
    >>> correct_shares(found, matrix, regularisation=0).round(3).tolist()
    [0.5, 0.5]
    """
    _check_found(found)
    check_table(matrix, [], "matrix")
    weight = check_number("regularisation", regularisation, at_least=0.0)
    least = check_number("least_recall", least_recall, at_least=0.0, at_most=1.0)
    truths = [kind for kind in matrix.index if kind != _NOISE and kind != _MISSED]
    seen = [kind for kind in matrix.columns if kind != _MISSED]
    recall = pd.Series({kind: matrix.loc[kind, kind] for kind in truths})
    poor = recall[recall < least]
    if len(poor):
        raise ValueError(
            "Too little is found to correct any share: of "
            + ", of ".join(f"{kind} {value:.2f}" for kind, value in poor.items())
            + f" is found as what it is, and at least {least:g} is needed. Record more cells, or "
            "report the shares as found, with this recall."
        )
    counts = found.reindex(seen, fill_value=0).to_numpy(dtype=float)
    if not counts.sum() > 0:
        raise ValueError("Nothing was found, so there is no share to correct.")
    given = matrix.loc[truths, seen].to_numpy(dtype=float)
    return pd.Series(unfold(counts, given, weight), index=truths)


def _check_found(found: pd.Series) -> None:
    if not isinstance(found, pd.Series):
        raise TypeError(f"found must be a pandas.Series by kind, got {type(found).__name__}.")
    check_array(found.to_numpy(), "found", kind="number", at_least=0)


def unfold(
    found: ArrayLike, matrix: ArrayLike, regularisation: float = REGULARISATION
) -> NDArray[np.float64]:
    """Solve for shares that aren't negative and, through a matrix, give what was found.

    Parameters
    ----------
    found : array_like of float, shape (n_found,)
        Shares or numbers that were found.
    matrix : array_like of float, shape (n_truths, n_found)
        The share of each truth that is found as each thing; rows need not sum to 1.
    regularisation : float, default 1e-4
        As for `correct_shares`.

    Returns
    -------
    ndarray of float64, shape (n_truths,)
        They sum to 1, and are NaN if nothing was found.

    Examples
    --------
    >>> unfold([3, 3], [[0.5, 0.0], [0.25, 0.75]], regularisation=0).round(3).tolist()
    [0.5, 0.5]
    """
    counts, given = np.asarray(found, dtype=float), np.asarray(matrix, dtype=float)
    if not counts.sum() > 0:
        return np.full(len(given), np.nan)
    apart = np.sqrt(regularisation) * (np.eye(len(given)) - 1.0 / len(given))
    right = np.append(counts / counts.sum(), np.zeros(len(given)))
    solution, _ = nnls(np.vstack((given.T, apart)), right)
    shares: NDArray[np.float64] = solution / solution.sum()
    return shares


def estimate_shares(
    found: pd.Series,
    recovered: pd.DataFrame,
    what: str = "kind",
    *,
    n_bootstrap: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Estimate the true shares from the numbers of events found, with intervals.

    Both what was found and the matrix are uncertain: in each bootstrap sample events are drawn
    again, and so are the repetitions of the recovery, each with cells of its own.

    Parameters
    ----------
    found : Series
        How many events were found as each kind, by kind.
    recovered : DataFrame
        As `recovery` gives it, of one number of cells, gain and speed.
    what : {"kind", "direction"}, default "kind"
        What the shares are of.
    n_bootstrap : int, default 1000
        Number of bootstrap samples.
    level : float, default 0.95
        Of the intervals.
    seed : int, default 0
        Seed of the bootstrap.

    Returns
    -------
    pandas.DataFrame
        A row for each kind: `kind` (or `direction`), `recall` (the share of it that is found as
        what it is), `found` (its share of what was found), `share` (estimated), `ci_low, ci_high`.

    Raises
    ------
    ValueError
        If recall is too low (as `correct_shares`), several settings are mixed, or numbers are no
        counts.

    Examples
    --------
    >>> kinds = ["forward_episode", "novel_path"]
    >>> recovered = pd.DataFrame({"true_kind": np.repeat(kinds, 200), "seed": np.tile([0, 1], 200),
    ...                           "kind": ["forward_episode"] * 200 + [*kinds] * 100})
    >>> estimate_shares(pd.Series([150, 50], index=kinds), recovered)["share"].round(2).tolist()
    [0.5, 0.5]
    """
    truths, seen = _truths_and_found(recovered, what)
    _check_found(found)
    check_table(recovered, ["seed"], "recovered")
    mixed = [name for name in _BY if name in recovered and len(recovered[name].unique()) > 1]
    if mixed:
        raise ValueError(
            f"recovered mixes several settings of {' and '.join(mixed)}: choose one of them."
        )
    n_samples = check_whole("n_bootstrap", n_bootstrap, at_least=1)
    inside = check_number("level", level, at_least=0.0, at_most=1.0)
    matrix = confusion_matrix(recovered, what)
    shares = correct_shares(found, matrix)
    truths, seen = list(shares.index), [kind for kind in seen if kind != _MISSED]
    counts = found.reindex(seen, fill_value=0).to_numpy(dtype=float)
    by_seed = _counts_by_seed(recovered, what, truths)
    kept = [place for place, kind in enumerate(by_seed.found) if kind != _MISSED]
    rng = np.random.default_rng(check_whole("seed", seed))
    drawn = np.empty((n_samples, len(truths)))
    for sample in range(n_samples):
        again = rng.integers(len(by_seed.counts), size=len(by_seed.counts))
        total = by_seed.counts[again].sum(axis=0)
        events = rng.multinomial(round(counts.sum()), counts / counts.sum())
        drawn[sample] = unfold(events, (total / total.sum(axis=1, keepdims=True))[:, kept])
    low, high = np.quantile(drawn, [(1 - inside) / 2, (1 + inside) / 2], axis=0)
    return pd.DataFrame(
        {
            what: truths,
            "recall": [matrix.loc[kind, kind] for kind in truths],
            "found": [found.get(kind, 0) / counts.sum() for kind in truths],
            "share": shares.to_numpy(),
            "ci_low": low,
            "ci_high": high,
        }
    )


class _BySeed(NamedTuple):
    counts: NDArray[np.float64]
    found: list[str]


def _counts_by_seed(recovered: pd.DataFrame, what: str, truths: list[str]) -> _BySeed:
    """Count truths and findings in each repetition: shape (n_seeds, n_truths, n_found)."""
    _, found = _truths_and_found(recovered, what)
    codes = [
        pd.Categorical(recovered[column], categories=names).codes
        for column, names in ((f"true_{what}", truths), (what, found))
    ]
    seeds, of = np.unique(recovered["seed"].to_numpy(), return_inverse=True)
    counts = np.zeros((len(seeds), len(truths), len(found)))
    known = (codes[0] >= 0) & (codes[1] >= 0)
    np.add.at(counts, (of[known], codes[0][known], codes[1][known]), 1)
    return _BySeed(counts, found)
