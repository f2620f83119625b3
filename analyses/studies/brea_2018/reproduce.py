"""The reproduction: simulate the paper's experiments, classify replay, compare and draw.

The work is divided into pieces, one per world of each experiment, with all runs of all learners in
it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import pandas as pd

from analyses.jobs.mdp_files import read_mdps
from analyses.jobs.results import Results
from analyses.jobs.study import Piece, Shown, Study, drawn
from analyses.studies.brea_2018.reproduced_runs import make_runs
from analyses.studies.brea_2018.reproduced_tables import make_tables
from analyses.studies.brea_2018.reproduction import Reproduction, log_folder, plan_reproduction
from analyses.studies.brea_2018.sampling import estimate_cost
from replay.files import inside
from replay.log.event_log import EventLog
from replay.log.parquet import beginning

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["STUDY", "by_experiment"]

# The number of steps and backups of a log that are read for a figure.
_ROWS_OF_EVENTS = 1 << 19
_ROWS_OF_GRAPH = 1 << 20

_GRAPH_LEARNERS = ("prioritized_sweeping", "q_learning")
_EVENT_LEARNERS = (
    "prioritized_sweeping",
    "prioritized_sweeping_reset",
    "episodic_control",
    "monte_carlo",
)


def _plan(size: float, seed: int) -> Reproduction:
    return plan_reproduction(size=size, seed=seed)


def _size(plan: Reproduction, piece: Piece) -> float:
    return plan.world_steps(piece.group)


def _show(plan: Reproduction, tables: Mapping[str, pd.DataFrame]) -> Iterator[Shown]:
    areas = tables["area_under_curve.csv"]
    areas = areas.assign(shown=areas["mean"].map("{:.2f}".format))
    title = "Normalised reward rate, mean over a run (0 random, 1 optimal)"
    yield Shown(title, by_experiment(areas))
    if plan.log != "none":
        kinds = tables["replay_kinds.csv"]
        kinds = kinds[kinds["chains"] == "across_events"]
        totals = kinds.groupby(["experiment", "learner"], sort=False, observed=True)["count"]
        kinds = kinds.assign(total=totals.transform("sum"))
        novel = kinds[kinds["kind"] == "novel_path"]
        shown = [
            f"{share:.0%} of {_rounded(total)}" if total else "no replay"
            for share, total in zip(novel["share"], novel["total"], strict=True)
        ]
        title = (
            "Novel paths among replayed chains of at least 3 states; chains run on across replay "
            "events, and are counted within events in replay_kinds.csv"
        )
        yield Shown(title, by_experiment(novel.assign(shown=shown)))


def by_experiment(table: pd.DataFrame) -> pd.DataFrame:
    """Arrange texts about each learner and experiment in a table."""
    from analyses.plots.style import label

    names = table.astype({"experiment": str, "learner": str})
    experiments = list(dict.fromkeys(names["experiment"]))
    wide = names.pivot_table("shown", "learner", "experiment", aggfunc="first", sort=False)
    wide = wide[experiments].fillna("").rename(index=label, columns=label)
    return wide.rename_axis(index="learner", columns=None).reset_index()


def _rounded(count: int) -> str:
    if count >= 1_000_000:
        return f"{count / 1e6:.1f}M"
    return f"{count / 1e3:.0f}k" if count >= 10_000 else str(count)


def _draw_mdps(results: Results) -> Iterator[tuple[str, Figure]]:
    from analyses.plots.mdps import mdps_figure

    yield "mdps", mdps_figure(read_mdps(results.folder / "mdps"))


def _draw_replay_kinds(results: Results) -> Iterator[tuple[str, Figure]]:
    from analyses.plots.replay_kinds import replay_kinds_figure

    if results.manifest()["log"] != "none":
        yield "replay_kinds", replay_kinds_figure(results.read("replay_kinds.csv"))


def _draw_replay_over_time(results: Results) -> Iterator[tuple[str, Figure]]:
    from analyses.plots.replay_kinds import replay_over_time_figure

    if results.manifest()["log"] != "none":
        for name, rows in results.read("replay_over_time.csv").groupby("experiment"):
            yield f"replay_over_time_{name}", replay_over_time_figure(rows)


def _draw_replay_events(results: Results) -> Iterator[tuple[str, Figure]]:
    from analyses.plots.replay_events import pick_examples, replay_events_figure
    from analyses.sequences.classification import classify

    for name, mdp in read_mdps(results.folder / "mdps").items():
        log = _first_log(results, name, _EVENT_LEARNERS, _ROWS_OF_EVENTS)
        if log is not None:
            sequences = classify(log, across_events=True, min_length=3)
            learner = str(log.runs["learner"].iloc[0])
            if pick_examples(sequences, log.steps):  # a short run may have none
                figure = replay_events_figure(sequences, log.steps, mdp, learner=learner)
                yield f"replay_events_{name}", figure


def _draw_learned_graph(results: Results) -> Iterator[tuple[str, Figure]]:
    from analyses.plots.learned_graph import growth_moments, learned_graph_figure

    for name, mdp in read_mdps(results.folder / "mdps").items():
        log = _first_log(results, name, _GRAPH_LEARNERS, _ROWS_OF_GRAPH)
        if log is not None:
            log = EventLog(log.tables, log.provenance, mdp)
            moments = growth_moments(log.steps)
            graphs = {moment: log.graph(until=moment) for moment in moments}
            learner = str(log.runs["learner"].iloc[0])
            yield f"learned_graph_{name}", learned_graph_figure(graphs, mdp, learner=learner)


def _first_log(
    results: Results, experiment: str, learners: tuple[str, ...], n_rows: int
) -> EventLog | None:
    """Read the first kept log among these learners; if it is long, only its beginning."""
    for learner in learners:
        folder = inside(results.folder, log_folder(experiment, learner, 0, 0))
        if folder.exists():
            return EventLog(*beginning(folder, n_rows))
    return None


STUDY = Study(
    "reproduction",
    "Is prioritized sweeping the better episodic control? The experiments of Brea (2018).",
    plan=_plan,
    make=make_runs,
    summarise=make_tables,
    figures={
        "learning_curves": drawn(
            "learning_curves_figure", "reward_rate.csv", "single_runs.parquet"
        ),
        "mdps": _draw_mdps,
        "replay_events": _draw_replay_events,
        "replay_kinds": _draw_replay_kinds,
        "replay_over_time": _draw_replay_over_time,
        "learned_graph": _draw_learned_graph,
    },
    show=_show,
    size=_size,
    estimate=estimate_cost,
    command="replay reproduce",
)
