"""Recovery: how much of a known replay a recording detects, and how it is classified.

An observation from `observe` is analysed like a recording
(:func:`analyses.recordings.find_replay`): place fields are estimated, events decoded, and the paths
of continuous movement converted to place sequences. The kind of an event's longest sequence is
compared with the true replay. The true kind *noise* stands for events in which cells fire at the
mean rates of replay, but independently of their fields.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import networkx as nx
import numpy as np
import pandas as pd

from analyses.recordings.basics.binned_track import BinnedTrack, cut_track, project
from analyses.recordings.basics.settings import Judgement, Settings
from analyses.recordings.decide.conclusions import path_radius, replayed_sequences
from analyses.recordings.decide.controls import calibrate, without_replay
from analyses.recordings.decide.scoring import score_all
from analyses.recordings.prepare.headings import heading_of_ways
from analyses.recordings.prepare.recorded_experience import experience_of
from analyses.recordings.prepare.session import Session, prepare
from analyses.recordings.recover.cells import Cells, check_cells
from analyses.recordings.recover.known_paths import longest_sequences
from analyses.recordings.recover.observe import Observation, observe
from analyses.recordings.recover.unfolding import CONDITIONS, MISSED, NOISE
from replay.checks import check_array, check_list, check_number, check_whole, typed
from replay.checks.arrays import Ints
from replay.log.event_log import EventLog
from replay.worlds.mdp import MDP

_NOISE_ROW = {"kind": NOISE, "direction": NOISE, "states": ()}


@typed
def recover(
    observed: Observation,
    settings: Settings = Settings(),  # noqa: B008 (immutable)
    judgement: Judgement = Judgement(),  # noqa: B008
    *,
    n_noise: int = 0,
    detect: bool = False,
    seed: int = 0,
) -> pd.DataFrame:
    """Analyse an observation like a recording, and compare the result with the true replay.

    What evidence is needed is chosen from one event of each control for each event.

    Parameters
    ----------
    observed : Observation
        As `observe` returns it.
    settings : Settings, optional
        The settings of decoding.
    judgement : Judgement, optional
        The criteria for replay; of controls there is one of each kind for each event.
    n_noise : int, default 0
        Number of noise events to add, each as long as a randomly drawn event.
    detect : bool, default False
        Whether candidate events are detected, as in a recording without a table of events. Each
        event is then judged by the candidate with which it has most time in common,
        and is missed if there is none. By default the times of events are known.
    seed : int, default 0
        Seed of the noise and of the controls.

    Returns
    -------
    pandas.DataFrame
        One row per event: `event` (-1 for noise), `true_kind, true_direction, kind, direction` (as
        found, or ``missed``), `evidence` (for travel), `n_spikes`, `true_states` and `states` (the
        places of the longest sequence that was truly replayed, and of the longest that was found).

    Raises
    ------
    TypeError
        If `observed` is not an Observation.
    ValueError
        If there is no event, or the animal ran too little to estimate fields.

    Examples
    --------
    An animal ran along a track in one direction, lap after lap, and replayed it backwards:

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
    _check_observed(observed)
    number = check_whole("n_noise", n_noise)
    rng = np.random.default_rng(check_whole("seed", seed))
    recording, cells, graph = observed.recording, observed.cells, observed.recording.graph
    if graph is None or recording.events is None or not len(recording.events):
        raise ValueError("The observation has no event: no replay moves along the track.")
    session = prepare(replace(recording, events=None) if detect else recording, settings, judgement)
    judgement = session.judgement  # with the ends of laps, if they were proposed
    world, ran = experience_of(recording, judgement.state_size, judgement.lap_ends)
    nothing = np.empty((0, len(session.cells)), dtype=np.int64)
    counts = [
        session.counts[candidate] if candidate >= 0 else nothing
        for candidate in candidates_of(recording.events, session.events)
    ]
    n_events = len(counts)
    if number:
        width = np.tile(cells.track.width, cells.rates.shape[1] // cells.track.n_bins)
        mean = observed.gain * (cells.rates @ width) / width.sum()
        expected = mean[session.cells] * session.time_bin
        # As long as events, and with the mean rates of all cells, whatever the place.
        n_bins = rng.choice([len(each) for each in counts], number)
        counts = [*counts, *(rng.poisson(expected, (n, len(expected))) for n in n_bins)]
    begin = np.full(len(counts), recording.time[-1] + 1.0)  # after all experience
    begin[:n_events] = recording.events["start_time"]
    lasts = np.array([len(each) for each in counts]) * session.time_bin
    session = session._replace(
        events=pd.DataFrame({"start_time": begin, "end_time": begin + lasts}), counts=counts,
        judgement=judgement._replace(n_shuffles=1, n_controls=1),
    )  # fmt: skip
    evidence, longest = _longest_found(session, world, ran, seed)
    is_missed = longest["kind"].isna()
    places, along = _places(observed, cut_track(graph, 1.0), world)
    true = longest_sequences(ran, begin[:n_events], places, along, judgement.detection)
    true = pd.concat([true, pd.DataFrame([_NOISE_ROW] * number, columns=true.columns)])
    return pd.DataFrame(
        {
            "event": np.append(recording.events["event"], np.full(number, -1)),
            "true_kind": true["kind"].to_numpy(),
            "true_direction": true["direction"].to_numpy(),
            "kind": longest["kind"].astype(object).where(~is_missed, MISSED).to_numpy(),
            "direction": longest["direction"].astype(object).where(~is_missed, MISSED).to_numpy(),
            "evidence": evidence,
            "n_spikes": [int(each.sum()) for each in counts],
            "true_states": true["states"].to_numpy(),
            "states": [
                () if lost else tuple(states.tolist())
                for lost, states in zip(is_missed, longest["states"], strict=True)
            ],
        }
    )


def _check_observed(observed: Observation) -> None:
    """Check that the parts of an observation belong together, as those that `observe` returns."""
    check_cells(observed.cells)
    events = observed.recording.events
    n_events = 0 if events is None else len(events)
    numbers = [len(observed.replayed), len(observed.along)]
    if numbers != [n_events] * 2:
        raise ValueError(
            f"replayed and along of observed must have one array for each of {n_events} events, "
            f"got {numbers[0]} and {numbers[1]}."
        )
    last = observed.cells.track.n_bins - 1
    for event, (bins, along) in enumerate(zip(observed.replayed, observed.along, strict=True)):
        check_array(bins, f"replayed[{event}]", kind="whole", at_least=0, at_most=last)
        check_array(along, f"along[{event}]", kind="whole", at_least=-1, at_most=1)
        if not all(np.asarray(each).dtype.kind in "iu" for each in (bins, along)):
            raise TypeError(f"replayed and along of event {event} must be arrays of integers.")
        if len(bins) != len(along):
            raise ValueError(
                f"replayed and along of event {event} must have the same length, got {len(bins)} "
                f"and {len(along)}."
            )
    check_number("gain of observed", observed.gain, at_least=0.0)


def _longest_found(
    session: Session, world: MDP, ran: EventLog, seed: int
) -> tuple[pd.Series, pd.DataFrame]:
    """Return the evidence of each event, and its longest sequence, empty if it is no replay."""
    scored, level = score_all(session, seed), session.judgement.level
    own = scored.events.set_index("event")["evidence"]
    calibration, _ = calibrate(without_replay(scored.chance, own, level), level)
    evidence = scored.events["evidence"]
    passing = scored.events.assign(is_replay=evidence >= calibration.least_evidence)
    sequences, _ = replayed_sequences(session, world, ran, passing, scored.paths)
    longest = sequences.sort_values("distance", ascending=False, kind="stable")
    longest = longest.drop_duplicates("event").set_index("event")
    return evidence, longest.reindex(range(len(session.counts)))


def candidates_of(true: pd.DataFrame, found: pd.DataFrame) -> Ints:
    """Return the candidate with most time in common with each true event, and -1 if none has."""
    if not len(found):
        return np.full(len(true), -1)
    start, end = found["start_time"].to_numpy(), found["end_time"].to_numpy()
    common = np.minimum(true["end_time"].to_numpy()[:, None], end)
    common = common - np.maximum(true["start_time"].to_numpy()[:, None], start)
    return np.where(common.max(axis=1) > 0, common.argmax(axis=1), -1)


def _places(
    observed: Observation, fine: BinnedTrack, world: MDP
) -> tuple[list[list[int]], list[list[int]]]:
    """Return the states that each path enters by coming near their centres, and the headings."""
    track = observed.cells.track
    centre = project(fine, np.asarray(world.position)).bin
    away = fine.distance[np.ix_(project(fine, track.position).bin, centre)]
    entered = np.where(away.min(axis=1) <= path_radius(world, track), away.argmin(axis=1), -1)
    places, along = [], []
    for path, heading in zip(observed.replayed, observed.along, strict=True):
        at = np.flatnonzero(entered[path] >= 0)
        visited = entered[path][at]
        at = at[np.diff(visited, prepend=-1) != 0]
        places.append(entered[path][at].tolist())
        along.append(heading_of_ways(heading, at).tolist())
    return places, along


@typed
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
    detect: bool = False,
    seed: int = 0,
) -> pd.DataFrame:
    """Measure what is found of a log's replay, for several numbers of cells, gains and speeds.

    Parameters
    ----------
    log, graph, paths
        The runs, the track, and the replayed paths, as for `observe`.
    settings, judgement
        As for `recover`.
    cells : sequence of int or Cells, default (12, 20, 40, 80)
        Numbers of cells, which are drawn for each seed; or cells, such as those of a recording.
    gain : sequence of float, default (2.9,)
        As for `observe`.
    speed : sequence of float, default (800.0,)
        As for `observe`, in cm/s.
    n_seeds : int, default 20
        Number of observations of each combination.
    n_noise : int, default 0
        Number of noise events to add to each observation.
    detect : bool, default False
        As for `recover`.
    seed : int, default 0
        Seed of all random numbers.

    Returns
    -------
    pandas.DataFrame
        `n_cells, gain, speed, seed` (the number of the observation), and the columns of `recover`.

    Raises
    ------
    ValueError
        As `observe` and `recover`.

    Examples
    --------
    With fewer cells, fewer of the reverse replays of a lap are found:

    >>> from analyses.recordings.recover.unfolding import confusion_matrix
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
    >>> bool(few.loc[kind, kind] < 0.8 < many.loc[kind, kind])
    True
    """
    number = check_whole("n_seeds", n_seeds, at_least=1)
    some_cells, gains, speeds = (
        check_list(name, each)
        for name, each in (("cells", cells), ("gain", gain), ("speed", speed))
    )
    combinations = list(product(some_cells, gains, speeds))
    if not combinations:
        raise ValueError("cells, gain and speed must each list at least one value.")
    sequence = np.random.SeedSequence(check_whole("seed", seed))
    # Two seeds for each observation, so that noise does not change which cells are drawn.
    children = sequence.generate_state(2 * len(combinations) * number).reshape(-1, 2)
    tables = []
    for place, (setting, repetition) in enumerate(product(combinations, range(number))):
        some, factor, velocity = setting
        own, noise = children[place].tolist()
        observed = observe(log, graph, paths, cells=some, gain=factor, speed=velocity, seed=own)
        table = recover(observed, settings, judgement, n_noise=n_noise, detect=detect, seed=noise)
        keys = (len(observed.cells.rates), factor, velocity, repetition)
        for position, (name, value) in enumerate(zip((*CONDITIONS, "seed"), keys, strict=True)):
            table.insert(position, name, value)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)
