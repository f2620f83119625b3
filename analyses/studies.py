"""Studies beyond the paper: each one a table and its figure, made by one call.

``make_study("gain_floor", folder)`` writes ``gain_floor.csv`` and the figure of the same name.
"""

import difflib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from analyses import bounded_memory, gain_floor
from analyses.figures import draw
from analyses.results import Results
from analyses.workers import software

__all__ = ["STUDIES", "Study", "make_study"]


class Study(NamedTuple):
    """One study.

    Attributes
    ----------
    question : str
        What it asks.
    make : callable
        ``make(size, seed) -> DataFrame``; a size of 1 is what the figure of the study needs.
    """

    question: str
    make: Callable[[float, int], pd.DataFrame]


def _gain_floor(size: float, seed: int) -> pd.DataFrame:
    return gain_floor.compare_gain_floors(max(round(50 * size), 2), seed=seed)


def _bounded_memory(size: float, seed: int) -> pd.DataFrame:
    n_mdps = max(round(10 * size), 2)
    return bounded_memory.summarise(bounded_memory.measure(n_mdps=n_mdps, seed=seed))


STUDIES = {
    "gain_floor": Study("Is there forward replay without the floor under the gain?", _gain_floor),
    "bounded_memory": Study("How much reward does how much memory earn?", _bounded_memory),
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
        close = difflib.get_close_matches(name, STUDIES, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"Unknown study {name!r}.{hint} Choose from: {', '.join(STUDIES)}.")
    if not size > 0:
        raise ValueError(f"The size of a study must be positive, got {size}.")
    results = Results(folder)
    about = {"study": name, "size": size, "seed": seed, "experiments": []}
    with results.writing(software() | about):
        table = STUDIES[name].make(size, seed)
        results.write(f"{name}.csv", table)
        results.finish("tables")
        figures = draw(name, folder)
        results.finish("figures")
    return table, figures
