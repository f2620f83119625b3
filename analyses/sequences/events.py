"""Single replay events of a log: their moves in order, and their kinds."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.sequences.chains import chains, link_backups
from analyses.sequences.classification import classified, classify
from analyses.sequences.experience import Experience
from analyses.sequences.logs import log_of, of_run, runs_of
from analyses.sequences.sequences import Lists
from replay.checks import check_whole, shown
from replay.log.event_log import EventLog
from replay.log.schema import to_frame

_SHORTEST_SEQUENCE = 3


def longest_event(log: EventLog, run: int = 0) -> int:
    """Find the first replay event that contains a run's longest sequence."""
    backups = _backups(log, run)
    length = link_backups(backups).length
    if not length.any():
        raise ValueError(f"Run {run} of this log has no replay (online updates do not count).")
    return int(backups["event"][np.argmax(length)])


def replayed_moves(log: EventLog, event: int, run: int = 0) -> pd.DataFrame:
    """List the moves of one replay event, in the order and in the direction of replay.

    One row per backup: when and where it was made; `order`, its position in the event; `change`,
    the absolute change of the action value; and `length, kind, orientation` of the longest sequence
    to which it belongs. A single move has no kind (null) and is listed as it was made. Backups of
    staying in a state are left out.
    """
    backups = _backups(log, run)
    rows = np.flatnonzero(backups["event"] == check_whole("event", event))
    if not len(rows):
        last = backups["event"].max(initial=-1)
        has = f"events 0 to {last}" if last >= 0 else "no replay"
        raise ValueError(f"There is no replay event {event}; run {run} has {has}.")
    own = {name: column[rows] for name, column in backups.items()}
    # Causes in other events do not belong to it; the others count from its first row.
    place = np.searchsorted(rows, own["cause"])
    known = rows[place] == own["cause"]
    own["cause"] = np.where(known, place, -1)
    found = chains(link_backups(own))
    if not len(found.rows):
        raise ValueError(f"Replay event {event} has no move from one state to another.")
    steps = of_run(log, "steps", run)
    # Nothing that happened after the event counts as experience.
    n_before = np.searchsorted(steps["step"], own["step"][0], side="right")
    experience = Experience({name: column[:n_before] for name, column in steps.items()})
    sequences = classified(experience, own, found, "causal")
    # Each backup belongs to the longest sequence that contains it, the first if there are several.
    chain = Lists(found.rows, found.offset).owner
    order = np.argsort(-sequences["length"][chain], kind="stable")
    held, first = np.unique(found.rows[order], return_index=True)
    longest = chain[order][first]
    about = sequences.table[["length", "kind", "orientation"]].iloc[longest]
    moves = to_frame({name: column[held] for name, column in own.items()})
    moves = moves.join(about.reset_index(drop=True))
    is_long = moves["length"] >= _SHORTEST_SEQUENCE
    backwards = is_long & (moves["orientation"] == "reverse")
    moves = moves.rename(columns={"index": "order"})
    moves["state"], moves["next_state"] = (
        moves["state"].where(~backwards, moves["next_state"]),
        moves["next_state"].where(~backwards, moves["state"]),
    )
    moves["change"] = (moves["q_after"] - moves["q_before"]).abs()
    moves["phase"] = moves["phase"].astype(object)
    moves["kind"] = moves["kind"].astype(object).where(is_long, None)
    columns = ["episode", "step", "phase", "location", "order", "state", "next_state", "change"]
    return moves[[*columns, "length", "kind", "orientation"]].reset_index(drop=True)


def _backups(log: EventLog, run: int) -> dict[str, NDArray[Any]]:
    runs = runs_of(log)
    if check_whole("run", run) not in runs:
        raise ValueError(f"There is no run {run}; this log has the runs {shown(runs)}.")
    return of_run(log, "backups", run)


def kinds_in_places(run: Any) -> pd.DataFrame:
    """Compare the kind of each replay event in codes with its kind in true states.

    The kind of an event is that of its longest causal chain, the first of several.

    Parameters
    ----------
    run : Run
        Of an environment that gives its true states; without an encoder both kinds are the same.

    Returns
    -------
    pandas.DataFrame
        For each ``run, event`` with a sequence in codes or places, its index: the kinds in `codes`
        and `places` (`no_sequence` for none), and whether it `agrees`.

    Raises
    ------
    ValueError
        If the environment does not give its true states.

    Examples
    --------
    >>> from replay import from_ascii, simulate
    >>> from replay.encoders import KMeans
    >>> from replay.worlds.observations import place_code
    >>> env = place_code(from_ascii("S..G"), noise=0.01)
    >>> run = simulate(env, "episodic_control", encoder=KMeans(4, 500), n_steps=100, seed=1)
    >>> kinds_in_places(run)["agrees"].mean()
    np.float64(1.0)
    """
    log, kinds = log_of(run), []
    for each in (log, log if getattr(run, "codes", None) is None else run.in_places()):
        longest = classify(each).sort_values("length", ascending=False, kind="stable")
        first = longest.drop_duplicates(["run", "event"]).set_index(["run", "event"])
        kinds.append(first["kind"])
    table = pd.concat(kinds, axis=1, keys=["codes", "places"]).astype(object).fillna("no_sequence")
    return table.assign(agrees=table["codes"] == table["places"])
