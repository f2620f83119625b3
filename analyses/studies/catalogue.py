"""Studies beyond the paper: each one a table and its figure, made by one call.

``make_study("gain_floor", folder)`` writes ``gain_floor.csv`` and the figure of the same name. The
same call goes on where it was interrupted.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from analyses.intervals import mean_interval
from analyses.jobs.measurements import Measurement, measure_pieces
from analyses.jobs.results import Results
from analyses.jobs.workers import software
from analyses.studies import attribution, bounded_memory, gain_floor, typical_replay
from analyses.studies.figures import draw
from replay.names import unknown_name

__all__ = ["STUDIES", "Study", "keep_tables", "make_study", "plan_study"]


class Study(NamedTuple):
    """One study.

    Attributes
    ----------
    question : str
        What it asks.
    plan : callable
        ``plan(size, seed) -> Measurement``; a size of 1 is what the figure of the study needs.
    show : callable
        ``show(table) -> DataFrame``, what of the table is worth printing; by default all.
    """

    question: str
    plan: Callable[[float, int], Measurement]
    show: Callable[[pd.DataFrame], pd.DataFrame] = lambda table: table


def _plan_gain_floor(size: float, seed: int) -> Measurement:
    animals = [(seed + number,) for number in range(max(round(50 * size), 2))]
    return Measurement(["animals"], _one_animal, animals, _over_animals)


def _one_animal(seed: int) -> dict[str, pd.DataFrame]:
    return {"animals": gain_floor.compare_gain_floors(1, seed=seed)}


def _over_animals(tables: Mapping[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    by = ["task", "setting", "place", "direction"]
    return {"gain_floor": mean_interval(tables["animals"], "mean", by)}


def _plan_bounded_memory(size: float, seed: int) -> Measurement:
    return bounded_memory.plan(n_mdps=max(round(10 * size), 2), seed=seed)


def _plan_attribution(size: float, seed: int) -> Measurement:
    return attribution.plan(n_mdps=max(round(10 * size), 2), seed=seed)


def _plan_tasks(size: float, seed: int) -> Measurement:
    return typical_replay.plan(n_animals=max(round(4 * size), 1), seed=seed)


STUDIES = {
    "gain_floor": Study(
        "Is there forward replay without the floor under the gain?", _plan_gain_floor
    ),
    "bounded_memory": Study("How much reward does how much memory earn?", _plan_bounded_memory),
    "attribution": Study(
        "Can it still be told which episode a replayed sequence is from?",
        _plan_attribution,
        attribution.overview,
    ),
    "tasks": Study(
        "What is typically replayed in the tasks of experiments?",
        _plan_tasks,
        typical_replay.overview,
    ),
}
"""Name -> study. The figure of the same name is in ``analyses.studies.figures.FIGURES``."""


def plan_study(name: str, size: float = 1.0, seed: int = 0) -> Measurement:
    """Plan a study.

    Parameters
    ----------
    name : str
        A name in ``STUDIES``.
    size : float, default 1
        How many simulated animals or worlds, as a multiple of the usual number.
    seed : int, default 0
        Seed of everything.

    Returns
    -------
    Measurement
        It makes the table of that name.

    Raises
    ------
    ValueError
        If there is no study of that name, or the size is not positive.
    """
    if name not in STUDIES:
        raise unknown_name("study", name, STUDIES)
    if not size > 0:
        raise ValueError(f"The size of a study must be positive, got {size}.")
    return STUDIES[name].plan(size, seed)


def make_study(
    name: str, folder: str | Path, *, size: float = 1.0, seed: int = 0, jobs: int = 1
) -> tuple[pd.DataFrame, list[Path]]:
    """Make the table of a study, and draw it.

    Parameters
    ----------
    name, size, seed
        As in `plan_study`.
    folder : path
        Where to; ``NAME.csv`` and ``figures/`` are written there.
    jobs : int, default 1
        How many processes to use.

    Returns
    -------
    table : pandas.DataFrame
        What was found.
    figures : list of Path
        The files drawn.

    Raises
    ------
    ValueError
        As `plan_study`.
    FileExistsError
        If the folder holds something else.
    """
    measurement = plan_study(name, size, seed)
    about = {"size": size, "seed": seed}
    tables, figures = keep_tables(name, folder, about, measurement, jobs=jobs)
    return tables[name], figures


def keep_tables(
    name: str,
    folder: str | Path,
    about: Mapping[str, Any],
    measurement: Measurement,
    *,
    jobs: int = 1,
    on_piece: Callable[[], None] = lambda: None,
) -> tuple[Mapping[str, pd.DataFrame], list[Path]]:
    """Make tables and their figure in a folder of their own, with what it takes to make them again.

    Parameters
    ----------
    name : str
        A name in ``analyses.studies.figures.FIGURES``.
    folder : path
        Where to; pieces that are done there already are not made again.
    about : mapping
        What the tables depend on; goes into the manifest, beside the versions of the software.
    measurement : Measurement
        Makes the tables.
    jobs : int, default 1
        How many processes to use.
    on_piece : callable, optional
        Called after each piece, those found done included.

    Returns
    -------
    tables : mapping of str to pandas.DataFrame
        What was made.
    figures : list of Path
        The files drawn.

    Raises
    ------
    FileExistsError
        If the folder holds something else.
    """
    results = Results(folder)
    with results.writing(software() | {"study": name, **about, **measurement.about}):
        tables = measure_pieces(measurement, results=results, jobs=jobs, on_piece=on_piece)
        for key, table in tables.items():
            results.write(f"{key}.csv", table)
        results.finish("tables")
        figures = draw(name, folder)
        results.finish("figures")
    return tables, figures
