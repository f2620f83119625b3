"""A published finding, tested again on the recordings of another study.

Ambrose et al. [1]_ found more reverse replay, and not more forward replay, where reward was raised.
Kleinman & Foster [2]_ recorded rats on a linear track whose reward was raised at one end in the
second of three epochs, with saline or with their ventral tegmental area silenced, and published the
spikes (github.com/mattrkleinman/KleinmanFoster_2025_eLife; without a licence, so that none of it is
kept here). Their own spike density events are decoded. Each event of replay is counted at the visit
to an end of the track during which it happens.

The change is the log of a ratio of ratios: of replay per visit, or per minute of a visit, with
raised reward against before, at the end where it was raised against the other end::

    python tests/verification/reward_retest.py FOLDER OUT ANIMAL ...

analyses the sessions FOLDER/ANIMAL/SESSION with session_info.mat, spike_data.mat and sdes.mat. The
same command goes on after an interruption.

References
----------
.. [1] Ambrose, Pfeiffer & Foster (2016), Reverse replay of hippocampal place cells is uniquely
   modulated by changing reward. https://doi.org/10.1016/j.neuron.2016.07.047
.. [2] Kleinman & Foster (2025), Spatial localization of hippocampal replay requires dopamine
   signaling. https://doi.org/10.7554/eLife.99678
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import networkx as nx
import numpy as np
import pandas as pd
from scipy import io

from analyses.cli.studies import do_study
from analyses.findings.table import findings
from analyses.jobs.results import Results
from analyses.jobs.study import Piece, Shown, Study
from analyses.recordings import Judgement, Recording, find_replay
from analyses.recordings.decide.conclusions import Conclusions
from analyses.recordings.prepare.session import prepare

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EPOCHS = ("before", "raised", "after")
SENSES = ("forward", "reverse")
MEASURES = {"visit": "visits", "minute": "minutes"}
LEAST_CELLS = 20  # with a place field
ENDS_OF_TRACK = (0.8, 99.6)  # percentiles of positions: beyond, the rat leans over the ends
SET_APART = ("Con_3", "Exp_3")
"""Animals that no development has used."""
GROUPS = {
    "all": None,
    "saline": "silenced == False",
    "silenced": "silenced == True",
    "familiar track": "novel == False",
    "novel track": "novel == True",
    "set apart": f"animal in {SET_APART}",
}
"""Sessions that are pooled -> how their rows are selected."""
_N_DRAWN = 2000
_PUBLISHED = "ambrose2016_via_mattar.pct_exp1.{}_{}"  # rate at the raised end against the other, %


class RewardSession(NamedTuple):
    """A session: a recording, and the visits to both ends of the track.

    `visits` has `start_time, end_time` (s), `end` (``raised`` or ``other``) and `epoch`;
    `conditions` are `silenced` (the ventral tegmental area) and `novel` (the track); `raised` is
    the state at the end whose reward is raised.
    """

    recording: Recording
    visits: pd.DataFrame
    conditions: dict[str, bool]
    raised: int


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
    conditions = {"silenced": bool(info.drug), "novel": bool(info.novel)}
    # The nodes of the track are its first states, from left to right.
    return RewardSession(recording, table, conditions, int(info.incr_end) - 1)


def counts_of(session: RewardSession, found: Conclusions) -> pd.DataFrame:
    """Count visits, and the events and replays in them, by end of the track and epoch."""
    visits = session.visits.sort_values("start_time", ignore_index=True)
    own = np.searchsorted(visits["start_time"], found.events["start_time"], side="right") - 1
    ends = visits["end_time"].to_numpy()[np.maximum(own, 0)]
    inside = found.events["start_time"].to_numpy() <= ends
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


def totals(counts: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Add up each session, or animal: a row for each; columns are (what, end, epoch)."""
    return counts.pivot_table(
        index=by,
        columns=["end", "epoch"],
        values=[*SENSES, *MEASURES.values()],
        aggfunc="sum",
        fill_value=0,
    )


def drawn_again(units: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Draw rows again, as many as there are, and add them up: a row for each draw."""
    n = len(units)
    drawn = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=_N_DRAWN)
    return pd.DataFrame(drawn @ units.to_numpy(dtype=float), columns=units.columns)


def ratio_of_ratios(total: pd.DataFrame, sense: str, exposure: str = "visits") -> pd.Series:
    """Compute the log of how much more there is per visit where and when reward is raised.

    There is one value for each row of totals. Half a replay is added to each count, so that none is
    infinite.
    """
    rate = np.log((total[sense] + 0.5) / total[exposure])
    change = rate.xs("raised", axis=1, level="epoch") - rate.xs("before", axis=1, level="epoch")
    return change["raised"] - change["other"]


class Retest(NamedTuple):
    """The plan: the folder with a folder for each animal, and the seed of all controls."""

    folder: str
    animals: tuple[str, ...]
    seed: int = 0

    def sessions(self, animal: str) -> list[Path]:
        """List the folders of the sessions with spikes."""
        return sorted(path.parent for path in Path(self.folder, animal).glob("*/spike_data.mat"))

    def describe(self) -> dict[str, Any]:
        """Return what the manifest must hold."""
        names = {animal: [each.name for each in self.sessions(animal)] for animal in self.animals}
        return {"seed": self.seed, "sessions": names}

    def n_pieces(self) -> dict[str, int]:
        """Return the number of sessions of each animal."""
        return {animal: len(self.sessions(animal)) for animal in self.animals}


def _make(plan: Retest, piece: Piece) -> dict[str, pd.DataFrame]:
    """Find the replay of a session; return its counts, and one row about it."""
    folder = plan.sessions(piece.group)[piece.number]
    row: dict[str, Any] = {"animal": folder.parent.name, "session": folder.name, "left_out": ""}
    try:
        session = read_session(folder)
        n_cells = len(prepare(session.recording).cells)
        if n_cells < LEAST_CELLS:
            raise ValueError(f"{n_cells} cells have a place field")
        judgement = Judgement(other_sizes=())
        found = find_replay(session.recording, judgement=judgement, seed=plan.seed)
    except (ValueError, OSError, StopIteration, AttributeError, IndexError) as error:
        left_out = pd.DataFrame([row | {"left_out": str(error)[:120]}])
        return {"sessions": left_out, "counts": pd.DataFrame()}
    calibration, events = found.calibration, found.events
    assert calibration is not None
    row |= session.conditions
    about = row | {
        "n_cells": n_cells,
        "n_events": len(events),
        "n_content": int((events["p_content"] <= 0.05).sum()),
        "n_replay": int(events["is_replay"].sum()),
        "least_evidence": calibration.least_evidence,
        "worst": calibration.worst,
        "worst_rate": calibration.worst_rate,
        "exchanged_rate": calibration.false_positive_rate,
        "n_tail_exchanged": int((events["tail_exchanged"] <= 0.2).sum()),
        "n_tail_worst": int((events["tail_worst"] <= 0.2).sum()),
    }
    counts = counts_of(session, found).assign(**row).drop(columns="left_out")
    return {"sessions": pd.DataFrame([about]), "counts": counts}


def _summarise(plan: Retest, results: Results) -> dict[str, pd.DataFrame]:
    counts = results.read_pieces("counts")
    first = ["animal", "session", "silenced", "novel", "end", "epoch"]
    counts = counts[[*first, *(name for name in counts if name not in first)]]
    known = findings().set_index("id")["value"]
    rates, changes = [], []
    for group, query in GROUPS.items():
        own = counts if query is None else counts.query(query)
        if own.empty:
            continue
        units = {"sessions": totals(own, ["animal", "session"]), "animals": totals(own, ["animal"])}
        total = units["animals"].sum().to_frame().T
        again = {over: drawn_again(each, plan.seed) for over, each in units.items()}
        for sense in SENSES:
            for measure, exposure in MEASURES.items():
                row = {
                    "group": group,
                    "sense": sense,
                    "per": measure,
                    "log_ratio": ratio_of_ratios(total, sense, exposure).item(),
                }
                for over, each in again.items():
                    ends = ratio_of_ratios(each, sense, exposure).quantile([0.025, 0.975])
                    row[f"n_{over}"] = len(units[over])
                    # One unit drawn again is itself: that is no interval.
                    low, high = ends if len(units[over]) > 1 else (np.nan, np.nan)
                    row |= {f"low_over_{over}": low, f"high_over_{over}": high}
                equal, unequal = (
                    1 + known[_PUBLISHED.format(sense, when)] / 100 for when in ("equal", "unequal")
                )
                is_alike = group == "all" and measure == "minute"
                row["published"] = np.log(unequal / equal) if is_alike else np.nan
                changes.append(row)
            drawn = 100 * again["sessions"][sense] / again["sessions"]["visits"]
            n, visits, minutes = (total[name].iloc[0] for name in (sense, *MEASURES.values()))
            table = pd.DataFrame(
                {
                    "n": n.astype(int),
                    "visits": visits.astype(int),
                    "minutes": minutes,
                    "per_100_visits": 100 * n / visits,
                    "ci_low": drawn.quantile(0.025),
                    "ci_high": drawn.quantile(0.975),
                    "per_minute": n / minutes,
                }
            )
            rates.append(table.reset_index().assign(group=group, sense=sense))
    table = pd.concat(rates, ignore_index=True)
    return {
        "retest_sessions.csv": results.read_pieces("sessions"),
        "retest_counts.csv": counts,
        "retest_rates.csv": table[["group", "sense", *table.columns[:-2]]],
        "retest_changes.csv": pd.DataFrame(changes),
    }


def _show(plan: Retest, tables: Mapping[str, pd.DataFrame]) -> list[Shown]:
    sessions, rates = tables["retest_sessions.csv"], tables["retest_rates.csv"]
    used = sessions[sessions["left_out"] == ""]
    rates = rates[rates["group"] == "all"].drop(columns="group")
    return [
        Shown(
            f"{len(used)} sessions; {int(used['n_replay'].sum())} of "
            f"{int(used['n_events'].sum())} events hold replay",
            rates.round(2),
        ),
        Shown(
            "Log of the ratio of ratios: raised reward against before, this end against the other",
            tables["retest_changes.csv"].round(2),
        ),
    ]


def _draw(results: Results) -> Iterator[tuple[str, Figure]]:
    from reward_retest_figures import retest_figure

    yield "retest", retest_figure(*(results.read(f"retest_{name}.csv") for name in TABLES))


TABLES = ("rates", "changes")
STUDY = Study(
    "reward_retest",
    "Does reverse replay follow reward in the rats of another study?",
    plan=None,
    make=_make,
    summarise=_summarise,
    figures={"retest": _draw},
    show=_show,
    command="python tests/verification/reward_retest.py FOLDER OUT ANIMAL ...",
)

if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(f"Usage: {STUDY.command}")
    do_study(STUDY, Retest(sys.argv[1], tuple(sys.argv[3:])), Path(sys.argv[2]))
