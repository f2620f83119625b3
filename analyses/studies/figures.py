"""Draw the figures of a result folder from its tables, without any simulation."""

from pathlib import Path
from typing import Any

from analyses.jobs.results import Results
from analyses.jobs.run import draw_figures
from analyses.jobs.study import Study
from analyses.studies import STUDIES, find_study

__all__ = ["draw_all"]


def draw_all(folder: str | Path = "results") -> list[Path]:
    """Draw all figures of a result folder, as PDF and PNG."""
    study = _study_of(folder)
    Results(folder).check_tables()
    drawn = draw_figures(study, study.figures, folder)
    Results(folder).finish("figures")
    return drawn


def _study_of(folder: str | Path) -> Study[Any]:
    name = Results(folder).manifest().get("study")
    if not isinstance(name, str) or name not in STUDIES:
        raise ValueError(
            f"{folder} was written by another version of this toolkit, and cannot be drawn by this "
            "one. Run the study again in another folder."
        )
    return find_study(name)
