"""A published finding, tested again on the recordings of another study.

Ambrose et al. [1]_ found more reverse replay, and not more forward replay, where reward was raised.
Kleinman & Foster [2]_ recorded rats on a linear track whose reward was raised at one end in the
second of three epochs, with saline or with their ventral tegmental area silenced, and published the
spikes (github.com/mattrkleinman/KleinmanFoster_2025_eLife; without a licence, so that none of it is
kept here). Their own spike density events are decoded. Each event of replay is counted at the visit
to an end of the track during which it happens.

``python tests/verification/reward_retest.py FOLDER OUT.csv ANIMAL ...`` counts the sessions of some
animals, with FOLDER/ANIMAL/SESSION/session_info.mat, spike_data.mat and sdes.mat.

References
----------
.. [1] Ambrose, Pfeiffer & Foster (2016), Reverse replay of hippocampal place cells is uniquely
   modulated by changing reward. https://doi.org/10.1016/j.neuron.2016.07.047
.. [2] Kleinman & Foster (2025), Spatial localization of hippocampal replay requires dopamine
   signaling. https://doi.org/10.7554/eLife.99678
"""

import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import pandas as pd
from scipy import io

from analyses.recordings import Judgement, Recording, find_replay
from analyses.recordings.decide.conclusions import Conclusions
from analyses.recordings.prepare.session import prepare

EPOCHS = ("before", "raised", "after")
LEAST_CELLS = 20  # with a place field
ENDS_OF_TRACK = (0.8, 99.6)  # percentiles of positions: beyond, the rat leans over the ends
COUNTS = ["visits", "minutes", "events", "content", "forward", "reverse", "undecided"]


class RewardSession(NamedTuple):
    """A session: a recording, and the visits to both ends of the track.

    `visits` has `start_time, end_time` (s), `end` (``raised`` or ``other``) and `epoch`;
    `conditions` are `silenced` (the ventral tegmental area) and `novel` (the track).
    """

    recording: Recording
    visits: pd.DataFrame
    conditions: dict[str, bool]


def only_variable(path: Path, **options: Any) -> Any:
    """Read the one variable of a MATLAB file."""
    found = io.loadmat(path, **options)
    return next(value for name, value in found.items() if not name.startswith("__"))


def read_session(folder: Path) -> RewardSession:
    """Read a session; a cell is a cluster of a tetrode, and positions lie along the track, cm."""
    info = only_variable(folder / "session_info.mat", squeeze_me=True, struct_as_record=False)
    time = info.velocity[:, 0]
    place = np.asarray(info.position, dtype=float)[: len(time)]
    spikes = only_variable(folder / "spike_data.mat")
    units, unit = np.unique(spikes[:, [2, 1]], axis=0, return_inverse=True)
    events = pd.DataFrame(
        np.sort(only_variable(folder / "sdes.mat")[:, :2], axis=0),
        columns=["start_time", "end_time"],
    )
    first, last = np.nanpercentile(place, ENDS_OF_TRACK)
    track = nx.Graph([("left", "right")])
    track.add_node("left", pos=(first, 0.0))
    track.add_node("right", pos=(last, 0.0))
    # In two files the clock steps back at one sample.
    ascends = np.append(True, time[1:] > np.maximum.accumulate(time)[:-1])
    recording = Recording(
        f"{folder.parent.name} {folder.name}", track, time[ascends],
        np.column_stack([place, np.zeros_like(place)])[ascends],
        spikes=tuple(np.sort(spikes[unit.ravel() == each, 0]) for each in range(len(units))),
        events=events,
    )  # fmt: skip
    visits = [
        (time[one - 1], time[min(other, len(time)) - 1],
         "raised" if number == info.incr_end else "other", one)
        for number, rows in ((1, info.left_visit), (2, info.right_visit))
        for one, other in np.atleast_2d(rows)
    ]  # fmt: skip
    table = pd.DataFrame(visits, columns=["start_time", "end_time", "end", "sample"])
    ends = np.atleast_2d(info.epoch_change)[:, 0]
    table["epoch"] = np.array(EPOCHS, dtype=object)[np.searchsorted(ends, table.pop("sample"))]
    return RewardSession(recording, table, {"silenced": bool(info.drug), "novel": bool(info.novel)})


def counts_of(session: RewardSession, found: Conclusions) -> pd.DataFrame:
    """Count visits, and the events and replays in them, by end of the track and epoch."""
    visits = session.visits.sort_values("start_time", ignore_index=True)
    own = np.searchsorted(visits["start_time"], found.events["start_time"], side="right") - 1
    inside = (own >= 0) & (
        found.events["start_time"].to_numpy() <= visits["end_time"].to_numpy()[np.maximum(own, 0)]
    )
    events = found.events.assign(visit=np.where(inside, own, -1)).set_index("event")
    replay = events.index[events["is_replay"]]
    stretches = found.stretches[found.stretches["event"].isin(replay)]
    keys = ["end", "epoch"]
    table = pd.DataFrame(
        {
            "visits": visits.groupby(keys).size(),
            "minutes": (visits["end_time"] - visits["start_time"]).groupby(
                [visits[key] for key in keys]
            ).sum() / 60,
        }
    )  # fmt: skip
    counted = {
        "events": events["visit"],
        "content": events.loc[events["p_content"] <= 0.05, "visit"],
        **{
            sense: events["visit"].loc[stretches.loc[stretches["sense"] == sense, "event"]]
            for sense in ("forward", "reverse", "undecided")
        },
    }
    for name, rows in counted.items():
        at = visits.loc[rows[rows >= 0], keys]
        table[name] = at.groupby(keys).size()
    return table.fillna(0.0).reset_index()


def count_session(folder: Path, seed: int = 0) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Find the replay of a session; return its counts, and one row about it."""
    row: dict[str, Any] = {"animal": folder.parent.name, "session": folder.name}
    try:
        session = read_session(folder)
        n_cells = len(prepare(session.recording).cells)
        if n_cells < LEAST_CELLS:
            return pd.DataFrame(), row | {"left_out": f"{n_cells} cells have a place field"}
        found = find_replay(session.recording, judgement=Judgement(other_sizes=()), seed=seed)
    except (ValueError, OSError, StopIteration, AttributeError, IndexError) as error:
        return pd.DataFrame(), row | {"left_out": str(error)[:120]}
    calibration, events = found.calibration, found.events
    assert calibration is not None
    row |= session.conditions | {
        "n_cells": n_cells, "n_events": len(events),
        "n_content": int((events["p_content"] <= 0.05).sum()),
        "n_replay": int(events["is_replay"].sum()),
        "least_evidence": calibration.least_evidence,
        "worst": calibration.worst, "worst_rate": calibration.worst_rate,
        "exchanged_rate": calibration.false_positive_rate,
        "n_tail_exchanged": int((events["tail_exchanged"] <= 0.2).sum()),
        "n_tail_worst": int((events["tail_worst"] <= 0.2).sum()),
        **events["kind"].value_counts().to_dict(),
    }  # fmt: skip
    return counts_of(session, found).assign(**row), row


def ratio_of_ratios(table: pd.DataFrame, what: str) -> float:
    """Compute the log of how much more there is per visit where and when reward is raised.

    That is raised against before, at the end where it was raised against the other end; half a
    replay is added to each, so that none is infinite.
    """
    total = table.groupby(["end", "epoch"])[[what, "visits"]].sum()
    rate = np.log((total[what] + 0.5) / total["visits"])
    change = rate.xs("raised", level="epoch") - rate.xs("before", level="epoch")
    return float(change["raised"] - change["other"])


def with_interval(
    table: pd.DataFrame, what: str, by: str, n: int = 2000, seed: int = 0
) -> tuple[float, float, float]:
    """Return the same with its 95 % interval, by drawing sessions or animals again."""
    parts = [part for _, part in table.groupby(by)]
    rng = np.random.default_rng(seed)
    drawn = [
        ratio_of_ratios(
            pd.concat([parts[k] for k in rng.integers(len(parts), size=len(parts))]), what
        )
        for _ in range(n)
    ]
    low, high = np.quantile(drawn, [0.025, 0.975])
    return ratio_of_ratios(table, what), float(low), float(high)


def main() -> None:
    """Count all sessions of some animals, and write the tables."""
    folder, out, *animals = sys.argv[1:]
    sessions = sorted(
        path.parent for animal in animals for path in Path(folder, animal).glob("*/spike_data.mat")
    )
    with ProcessPoolExecutor(2) as pool:
        counted = []
        for counts, row in pool.map(partial(count_session), sessions):
            counted.append((counts, row))
            print(
                {
                    key: row[key]
                    for key in row
                    if key in ("animal", "session", "left_out", "n_cells", "n_events", "n_replay")
                },
                flush=True,
            )
    rows = pd.DataFrame([row for _, row in counted])
    table = pd.concat([counts for counts, _ in counted if len(counts)], ignore_index=True)
    rows.to_csv(Path(out).with_suffix(".sessions.csv"), index=False)
    table.to_csv(out, index=False)
    total = table.groupby(["end", "epoch"])[COUNTS].sum()
    rates = 100 * total[["forward", "reverse"]].div(total["visits"], axis=0)
    rates = rates.add_suffix("_per_100_visits")
    print(total.join(rates).round(2).to_string())
    table["of"] = table["animal"] + table["session"]
    for what in ("reverse", "forward"):
        for by in ("of", "animal"):
            value, low, high = with_interval(table, what, by)
            print(
                f"{what}, log ratio of ratios, over {'sessions' if by == 'of' else 'animals'}: "
                f"{value:.2f} ({low:.2f} to {high:.2f})"
            )


if __name__ == "__main__":
    main()
