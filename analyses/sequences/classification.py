"""Classification of replay sequences by previous experience: direction, novelty and kind.

A sequence counts as replay of an episode if its path had been run contiguously within one episode
before the replay event, and as a *novel path* if all of its moves had been made, but never the
path as a whole. What happened after the event does not count. The path is read in the orientation
of the model's chain; where that is unknown (in recordings), in the direction in which its moves
had been made; and where they had been made in both directions, in each of the two.

=================  ====================================================================
``kind``
=================  ====================================================================
reverse_episode    experienced, and replayed backwards
forward_episode    experienced, and replayed in this order
novel_path         all moves were made, but never the whole (read in either direction)
ambiguous          experienced, but to and fro between two states; or of unknown orientation,
                   and experienced moves in both directions, or some moves made only forward
                   and others only backwards
unexperienced      some move was never made (of unknown orientation: in neither direction)
=================  ====================================================================
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.sequences.chains import (
    ORDERS,
    ORIENTATIONS,
    REVERSE,
    UNKNOWN,
    Chains,
    chains,
    decoded_backups,
    link_backups,
)
from analyses.sequences.experience import Experience
from analyses.sequences.kinds import CHAIN_DIRECTIONS, CHAIN_NOVELTIES, classify_chains
from analyses.sequences.logs import Columns, Logged, log_of, of_run, rows_by_run, runs_of
from analyses.sequences.place_sequences import count_place_sequences, note_difference
from analyses.sequences.sequences import Lists, Sequences, composition_columns
from analyses.tables import KINDS
from replay.checks import check_table, known_arguments
from replay.log.backups import PHASES
from replay.log.event_log import EventLog

_CATEGORIES = {
    "phase": PHASES,
    "order": ORDERS,
    "orientation": ORIENTATIONS,
    "direction": CHAIN_DIRECTIONS,
    "novelty": CHAIN_NOVELTIES,
    "kind": KINDS,
}


@known_arguments
def classify(
    log: EventLog | Logged,
    *,
    order: str = "causal",
    min_length: int = 3,
    by: str = "states",
    across_events: bool = False,
) -> pd.DataFrame:
    """Find all replay sequences of a log, and classify what each one replays.

    Parameters
    ----------
    log : EventLog or Run
        A model's log, or a recording, in which decoded replay is stored as backups without action
        (-1), one per move, in temporal order.
    order : {"causal", "temporal"}, default "causal"
        Whether chains follow the causes or the order of execution.
    min_length : int, default 3
        Least number of states of a sequence; shorter ones are left out.
    by : {"states", "actions"}, default "states"
        With "states", moves between the same two states are the same, whatever the action.
    across_events : bool, default False
        Whether causal chains continue from one replay event to the next; novelty is then judged at
        the time of the first. Such chains share long beginnings: to count them, use `chain_kinds`.

    Returns
    -------
    pandas.DataFrame
        One row per chain, with columns `run, episode, step, event, phase, location, order, first,
        last, states, actions, length, n_distinct, orientation, direction, novelty, kind,
        composition_order, n_episodes, splice_states, episode_matched, episode_lag,
        from_current_episode`; ``replay columns sequences`` explains them.

        If there are twice as many, or half as many, place sequences of as many states, which an
        electrode would see, ``attrs["note"]`` says so.

    Raises
    ------
    ValueError
        If an option is unknown, runs or steps do not ascend, or steps or actions are missing.

    Examples
    --------
    An agent went 0, 1, 2 and then 3, 1, 4; value then propagated from 4 back to 0, along a path
    that the agent had never taken.

    >>> steps = {"state": [0, 1, 3, 1], "next_state": [1, 2, 1, 4], "action": 0,
    ...          "terminated": [False, True, False, True]}
    >>> backups = {"step": [3, 3], "phase": "episode_end", "state": [1, 0], "next_state": [4, 1],
    ...            "action": [0, 0], "cause": [-1, 0]}
    >>> sequences = classify(EventLog({"steps": steps, "backups": backups}))
    >>> sequences[["kind", "composition_order", "n_episodes"]].values.tolist()
    [['novel_path', 2, 2]]
    >>> sequences.loc[0, "states"].tolist(), sequences.loc[0, "splice_states"].tolist()
    ([4, 1, 0], [1])
    """
    log = log_of(log)
    table = find_sequences(
        log, order=order, min_length=min_length, by=by, across_events=across_events
    ).table
    n_others = count_place_sequences(log, min_length)
    note_difference(
        table, f"{order} chains", n_others, "place sequences (analyses.place_sequences)"
    )
    return table


def find_sequences(
    log: EventLog | Logged,
    *,
    order: str = "causal",
    min_length: int = 3,
    by: str = "states",
    across_events: bool = False,
) -> Sequences:
    """Find all replay sequences of a log like `classify`, but return arrays."""
    parts = []
    log = log_of(log)
    for run in runs_of(log):
        steps, backups = of_run(log, "steps", run), of_run(log, "backups", run)
        if len(backups["step"]) and not len(steps["step"]):
            raise ValueError(f"The log has backups of run {run}, but no steps: keep its steps too.")
        found = chains(link_backups(backups, order, across_events), min_length)
        parts.append(classified(Experience(steps, by), backups, found, order))
    return Sequences.concat(parts)


def classify_parts(
    experience: Experience, parts: Iterable[Columns], *, min_length: int = 3
) -> Iterator[pd.DataFrame]:
    """Find all causal replay sequences of a model's run, from one part of its backups at a time.

    Parts are cut between replay events; `cause` counts rows from the beginning of the run. Yields
    the rows of `classify` for each part.
    """
    first_row = 0
    for backups in parts:
        cause = np.maximum(backups["cause"] - first_row, -1)
        first_row += len(cause)
        found = chains(link_backups({**backups, "cause": cause}), min_length)
        yield classified(experience, backups, found, "causal").table


@known_arguments
def classify_paths(
    paths: pd.DataFrame, log: EventLog | Logged, *, min_length: int = 3
) -> pd.DataFrame:
    """Classify decoded replay against the experience of a recording.

    Parameters
    ----------
    paths : DataFrame
        One row per event: `states` (sequences of int; repeats of a state count once), and `time`
        (s) or `step`, when it began. Optional: `run` (default 0) and `phase` (default ``"rest"``).
    log : EventLog or Run
        The animal's moves, with their times if `paths` has times.
    min_length : int, default 3
        Least number of states of a sequence; shorter ones are left out.

    Returns
    -------
    pandas.DataFrame
        As from `classify`. `event` is the row in `paths`, counted from 0. Before the first step,
        `step` and `episode` are -1 and nothing counts as experienced. A `start` belongs to the
        upcoming episode, as in a model's log.

    Raises
    ------
    ValueError
        If columns are missing, a run, phase or time is unknown, times of the steps do not ascend,
        or a state is negative.

    Examples
    --------
    A rat ran 0, 1, 2. The reverse of this path was decoded in the pause after it, and during it.

    >>> log = EventLog({"steps": {"state": [0, 1], "next_state": [1, 2], "time": [1.0, 2.0]}})
    >>> paths = pd.DataFrame({"time": [2.5, 1.5], "states": [[2, 1, 1, 0], [2, 1, 0]]})
    >>> classify_paths(paths, log)["kind"].tolist()
    ['reverse_episode', 'unexperienced']
    """
    check_table(paths, ["states"], "paths")
    log, parts = log_of(log), []
    for run, rows in rows_by_run(log, paths):
        steps = of_run(log, "steps", run)
        backups = decoded_backups(paths.iloc[rows].assign(event=rows), steps)
        found = chains(link_backups(backups), min_length)
        parts.append(classified(Experience(steps), backups, found, "temporal"))
    return Sequences.concat(parts).table


def classified(experience: Experience, backups: Columns, found: Chains, order: str) -> Sequences:
    """Classify the chains of one run, with all columns of its backups."""
    rows, offset, orientation = found
    first, n_chains = rows[offset[:-1]], len(orientation)
    limit = experience.moves_by(backups["step"][first])
    classes = classify_chains(experience, backups, found, limit)

    piece_episode = experience.latest_episodes(classes.node, np.repeat(limit, classes.n_pieces))
    episode = backups["episode"][first]
    # A chain's states are both of its first backup, and then what each later one adds.
    begin = offset + np.arange(n_chains + 1)
    state, next_state, backwards = backups["state"], backups["next_state"], orientation == REVERSE
    flat = np.empty(len(rows) + n_chains, dtype=np.int32)
    is_later = np.ones(len(flat), dtype=np.bool_)
    is_later[begin[:-1]] = False
    flat[begin[:-1]] = np.where(backwards, next_state[first], state[first])
    flat[is_later] = np.where(np.repeat(backwards, np.diff(offset)), state[rows], next_state[rows])
    states = Lists(flat, begin)
    columns: dict[str, NDArray[Any] | Lists] = {
        "run": backups["run"][first],
        "episode": episode,
        "step": backups["step"][first],
        "event": backups["event"][first],
        "phase": backups["phase"][first],
        "location": backups["location"][first],
        "order": np.where(orientation == UNKNOWN, ORDERS.index("temporal"), ORDERS.index(order)),
        "first": states.flat[begin[:-1]],
        "last": states.flat[begin[1:] - 1],
        "states": states,
        "actions": Lists(backups["action"][rows], offset),
        "length": states.length.astype(np.int32),
        "n_distinct": classes.n_distinct,
        "orientation": orientation,
        "direction": classes.direction,
        "novelty": classes.novelty,
        "kind": classes.kind,
        **composition_columns(classes.n_pieces, piece_episode, classes.splice, episode),
    }
    return Sequences(columns, _CATEGORIES)
