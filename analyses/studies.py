"""Studies beyond the paper: each one a table and its figure, made by one call.

``make_study("gain_floor", folder)`` writes ``gain_floor.csv`` and the figure of the same name.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from analyses import attribution, bounded_memory, gain_floor, typical_replay
from analyses.figures import draw
from analyses.results import Results
from analyses.workers import software
from replay.names import unknown_name

__all__ = ["STUDIES", "Study", "keep_tables", "make_study"]


class Study(NamedTuple):
    """One study.

    Attributes
    ----------
    question : str
        What it asks.
    make : callable
        ``make(size, seed) -> DataFrame``; a size of 1 is what the figure of the study needs.
    show : callable
        ``show(table) -> DataFrame``, what of the table is worth printing; by default all.
    """

    question: str
    make: Callable[[float, int], pd.DataFrame]
    show: Callable[[pd.DataFrame], pd.DataFrame] = lambda table: table


def _gain_floor(size: float, seed: int) -> pd.DataFrame:
    return gain_floor.compare_gain_floors(max(round(50 * size), 2), seed=seed)


def _bounded_memory(size: float, seed: int) -> pd.DataFrame:
    n_mdps = max(round(10 * size), 2)
    return bounded_memory.summarise(bounded_memory.measure(n_mdps=n_mdps, seed=seed))


def _tasks(size: float, seed: int) -> pd.DataFrame:
    return typical_replay.measure(n_animals=max(round(4 * size), 1), seed=seed)


def _attribution(size: float, seed: int) -> pd.DataFrame:
    n_mdps = max(round(10 * size), 2)
    return attribution.summarise(attribution.measure(n_mdps=n_mdps, seed=seed))


STUDIES = {
    "gain_floor": Study("Is there forward replay without the floor under the gain?", _gain_floor),
    "bounded_memory": Study("How much reward does how much memory earn?", _bounded_memory),
    "attribution": Study(
        "Can it still be told which episode a replayed sequence is from?",
        _attribution,
        attribution.overview,
    ),
    "tasks": Study(
        "What is typically replayed in the tasks of experiments?",
        _tasks,
        typical_replay.overview,
    ),
}
"""Name -> study. The figure of the same name is in ``analyses.figures.FIGURES``."""


def make_study(
    name: str, folder: str | Path, *, size: float = 1.0, seed: int = 0
) -> tuple[pd.DataFrame, list[Path]]:
    """Make the table of a study, and draw it.

    Parameters
    ----------
    name : str
        A name in ``STUDIES``.
    folder : path
        Where to; ``NAME.csv`` and ``figures/`` are written there.
    size : float, default 1
        How many simulated animals or worlds, as a multiple of the usual number.
    seed : int, default 0
        Seed of everything.

    Returns
    -------
    table : pandas.DataFrame
        What was found.
    figures : list of Path
        The files drawn.

    Raises
    ------
    ValueError
        If there is no study of that name, or the size is not positive.
    FileExistsError
        If the folder holds something else.
    """
    if name not in STUDIES:
        raise unknown_name("study", name, STUDIES)
    if not size > 0:
        raise ValueError(f"The size of a study must be positive, got {size}.")
    about = {"size": size, "seed": seed}
    tables, figures = keep_tables(
        name, folder, about, lambda: {name: STUDIES[name].make(size, seed)}
    )
    return tables[name], figures


def keep_tables(
    name: str,
    folder: str | Path,
    about: Mapping[str, Any],
    make: Callable[[], Mapping[str, pd.DataFrame]],
) -> tuple[Mapping[str, pd.DataFrame], list[Path]]:
    """Make tables and their figure in a folder of their own, with what it takes to make them again.

    Parameters
    ----------
    name : str
        A name in ``analyses.figures.FIGURES``.
    folder : path
        Where to.
    about : mapping
        What the tables depend on; goes into the manifest, beside the versions of the software.
    make : callable
        Makes the tables: name -> table.

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
    manifest = software() | {"study": name, **about, "experiments": []}
    with results.writing(manifest):
        tables = make()
        for key, table in tables.items():
            results.write(f"{key}.csv", table)
        results.finish("tables")
        figures = draw(name, folder)
        results.finish("figures")
    return tables, figures
