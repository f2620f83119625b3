"""Draw the figures of a result folder from its tables, without any simulation."""

from pathlib import Path
from typing import Any

from analyses.jobs.results import Results
from analyses.jobs.run import draw_figures
from analyses.jobs.study import Study
from analyses.studies import STUDIES, find_study
from replay.checks import unknown_name

__all__ = ["draw_all", "draw_one"]


def draw_one(name: str, folder: str | Path = "results") -> list[Path]:
    """Draw one figure of a result folder.

    Parameters
    ----------
    name : str
        A name among the figures of the study that wrote the folder.
    folder : path, default "results"
        A result folder.

    Returns
    -------
    list of Path
        The files, PDF and PNG, in the folder's ``figures``.

    Raises
    ------
    FileNotFoundError
        If the folder, or a table in it, is missing.
    ValueError
        If the study has no such figure; the message lists the choices.
    """
    study = _study_of(folder)
    if name not in study.figures:
        raise unknown_name(f"figure of the study {study.name}:", name, study.figures)
    return draw_figures(study, [name], folder)


def draw_all(folder: str | Path = "results") -> list[Path]:
    """Draw all figures of a result folder.

    Parameters
    ----------
    folder : path, default "results"
        A result folder.

    Returns
    -------
    list of Path
        The files.

    Raises
    ------
    FileNotFoundError
        If the folder, or a table in it, is missing.
    ValueError
        If no study of this version wrote the folder.
    """
    study = _study_of(folder)
    drawn = draw_figures(study, study.figures, folder)
    Results(folder).finish("figures")
    return drawn


def _study_of(folder: str | Path) -> Study[Any]:
    name = Results(folder).manifest().get("study")
    if name not in STUDIES:
        raise ValueError(
            f"{folder} was written by another version of this toolkit, and cannot be drawn by this "
            "one. Run the study again in another folder."
        )
    return find_study(name)
