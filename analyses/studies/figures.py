"""The figures of a result folder: tables in, files out. Nothing is simulated.

``FIGURES`` is the one list; the scripts in ``figures/`` and ``replay figures`` go through it.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

from matplotlib.figure import Figure

from analyses import classify, plots
from analyses.jobs.results import Results
from analyses.jobs.worlds import read_mdps
from replay.log.event_log import EventLog
from replay.tasks.published import find_task

__all__ = ["FIGURES", "draw", "draw_all"]

_GRAPH_LEARNERS = ("prioritized_sweeping", "q_learning")
_EVENT_LEARNERS = (
    "prioritized_sweeping",
    "prioritized_sweeping_reset",
    "episodic_control",
    "monte_carlo",
)

Figures = Iterator[tuple[str, Figure]]


def _learning_curves(results: Results) -> Figures:
    curves, runs = results.read("reward_rate.csv"), results.read("single_runs.parquet")
    yield "learning_curves", plots.learning_curves_figure(curves, runs)


def _mdps(results: Results) -> Figures:
    yield "mdps", plots.mdps_figure(read_mdps(results.folder / "mdps"))


def _replay_kinds(results: Results) -> Figures:
    if results.manifest()["log"] != "none":
        yield "replay_kinds", plots.replay_kinds_figure(results.read("replay_kinds.csv"))


def _replay_over_time(results: Results) -> Figures:
    if results.manifest()["log"] != "none":
        for name, rows in results.read("replay_over_time.csv").groupby("experiment"):
            yield f"replay_over_time_{name}", plots.replay_over_time_figure(rows)


def _replay_events(results: Results) -> Figures:
    for name, mdp in read_mdps(results.folder / "mdps").items():
        log = _first_log(results, name, _EVENT_LEARNERS)
        if log is not None:
            sequences = classify(log, across_events=True, min_length=3)
            yield f"replay_events_{name}", plots.replay_events_figure(sequences, log.steps, mdp)


def _learned_graph(results: Results) -> Figures:
    for name, mdp in read_mdps(results.folder / "mdps").items():
        log = _first_log(results, name, _GRAPH_LEARNERS)
        if log is not None:
            log = EventLog(log.tables, log.provenance, mdp)
            moments = plots.growth_moments(log.steps)
            graphs = {moment: log.graph(until=moment) for moment in moments}
            yield f"learned_graph_{name}", plots.learned_graph_figure(graphs, mdp)


def _discrepancies(results: Results) -> Figures:
    if (results.folder / "discrepancies.csv").exists():
        differences = results.read("discrepancies.csv")
        yield "discrepancies", plots.discrepancies_figure(differences)
        if len(plots.differing(differences)):
            published = results.read("reward_rate.csv")
            changed = results.read("discrepancy_curves.csv")
            figure = plots.discrepancy_curves_figure(published, changed, differences)
            yield "discrepancy_curves", figure


def _gain_floor(results: Results) -> Figures:
    if (results.folder / "gain_floor.csv").exists():
        yield "gain_floor", plots.gain_floor_figure(results.read("gain_floor.csv"))


def _bounded_memory(results: Results) -> Figures:
    if (results.folder / "bounded_memory.csv").exists():
        table = results.read("bounded_memory.csv")
        yield "bounded_memory", plots.bounded_memory_figure(table)


def _attribution(results: Results) -> Figures:
    if (results.folder / "attribution.csv").exists():
        table = results.read("attribution.csv")
        yield "attribution", plots.attribution_figure(table)
        yield "attribution_length", plots.attribution_length_figure(table)


def _tasks(results: Results) -> Figures:
    if (results.folder / "tasks.csv").exists():
        for name, rows in results.read("tasks.csv").groupby("task", sort=False):
            yield f"task_{name}", plots.task_figure(rows, find_task(str(name)).build())


def _changes(results: Results) -> Figures:
    if (results.folder / "change_rates.csv").exists():
        rates, replay = (results.read(f"change_{name}.csv") for name in ("rates", "replay"))
        yield "changes", plots.changes_figure(rates, replay)


def _demands(results: Results) -> Figures:
    if (results.folder / "demands.csv").exists():
        yield "demands", plots.demands_figure(results.read("demands.csv"))


def _findings(results: Results) -> Figures:
    if (results.folder / "verdicts.csv").exists():
        statistics, found = results.read("statistics.csv"), results.read("findings.csv")
        main = statistics.loc[statistics["judged"], ["task", "min_length"]].drop_duplicates()
        yield "findings", plots.grid_figure(results.read("verdicts.csv"))
        for task, rows in statistics.merge(main).groupby("task", sort=False):
            yield f"statistics_{task}", plots.statistics_figure(rows, found)


def _first_log(results: Results, experiment: str, learners: tuple[str, ...]) -> EventLog | None:
    """Read the log of the first of these learners that was kept."""
    for learner in learners:
        folder = results.log(experiment, learner, 0, 0)
        if folder.exists():
            return EventLog.read(folder)
    return None


FIGURES: dict[str, Callable[[Results], Figures]] = {
    "learning_curves": _learning_curves,
    "mdps": _mdps,
    "replay_events": _replay_events,
    "replay_kinds": _replay_kinds,
    "replay_over_time": _replay_over_time,
    "learned_graph": _learned_graph,
    "discrepancies": _discrepancies,
    "gain_floor": _gain_floor,
    "bounded_memory": _bounded_memory,
    "attribution": _attribution,
    "tasks": _tasks,
    "changes": _changes,
    "demands": _demands,
    "findings": _findings,
}


def draw(name: str, folder: str | Path = "results") -> list[Path]:
    """Draw one figure of a result folder.

    Parameters
    ----------
    name : str
        A name in ``FIGURES``.
    folder : path, default "results"
        What ``replay reproduce`` made.

    Returns
    -------
    list of Path
        The files, PDF and PNG, in the folder's ``figures``.

    Raises
    ------
    FileNotFoundError
        If the folder, or a table in it, is missing.
    """
    results = Results(folder)
    results.manifest()
    return [
        path
        for file, figure in FIGURES[name](results)
        for path in plots.save(figure, results.folder / "figures" / file)
    ]


def draw_all(folder: str | Path = "results") -> list[Path]:
    """Draw all figures of a result folder.

    Parameters
    ----------
    folder : path, default "results"
        What ``replay reproduce`` made.

    Returns
    -------
    list of Path
        The files.
    """
    drawn = [path for name in FIGURES for path in draw(name, folder)]
    Results(folder).finish("figures")
    return drawn
