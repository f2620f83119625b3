"""Studies: each one a question, its tables and its figures.

To add a study, write a file with a ``STUDY`` (:class:`analyses.jobs.study.Study`) and add a line to
``STUDIES``. No study is imported before it is looked up.
"""

import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from replay.checks import typed, unknown_name
from replay.files import check_path

if TYPE_CHECKING:
    from analyses.jobs.study import Study


STUDIES = {
    "reproduction": "analyses.studies.brea_2018.reproduce",
    "comparison": "analyses.studies.comparison.compare_accounts",
    "changes": "analyses.studies.changes",
    "demands": "analyses.studies.demands",
    "bounded_memory": "analyses.studies.bounded_memory",
    "tasks": "analyses.studies.typical_replay",
    "learned_states": "analyses.studies.learned_states",
    "equivalence": "analyses.studies.equivalence",
    "hidden_states": "analyses.studies.hidden_states",
    "recording": "analyses.studies.recorded_replay.recorded",
    "recordings": "analyses.studies.recorded_replay.recorded:STUDY_OF_SEVERAL",
    "explain": "analyses.studies.explanation.explain",
    "identifiability": "analyses.studies.explanation.identify",
}
"""Name -> the module that defines the study as its ``STUDY``, or under the name after a colon."""


@typed
def find_study(name: str) -> "Study[Any]":
    """Look up a study.

    Parameters
    ----------
    name : str
        A name in ``STUDIES``, or a Python file whose ``STUDY`` it is, such as ``./mine.py``.

    Returns
    -------
    Study
        The study.

    Raises
    ------
    ValueError
        If there is none of that name; the message lists the choices.
    FileNotFoundError, ImportError
        If there is no such file, or no ``STUDY`` in it.

    Examples
    --------
    >>> find_study("tasks").question
    'What is typically replayed in the tasks of experiments?'
    """
    attribute = ""
    if name.endswith(".py"):
        file = check_path("The file of a study", name).resolve()
        if not file.is_file():
            raise FileNotFoundError(f"{name} does not exist.")
        # Processes that make its pieces import the module by its name.
        sys.path.insert(0, str(file.parent))
        module = import_module(file.stem)
        if not hasattr(module, "STUDY"):
            raise ImportError(f"{name} defines no STUDY.")
    elif name in STUDIES:
        place, _, attribute = STUDIES[name].partition(":")
        module = import_module(place)
    else:
        raise unknown_name("study", name, STUDIES)
    study: Study[Any] = getattr(module, attribute or "STUDY")
    return study


def draw_all(folder: str | Path = "results", *, svg: bool = False) -> list[Path]:
    """Draw all figures of a result folder from its tables, as PDF and PNG, and as SVG if asked."""
    from analyses.jobs.results import Results
    from analyses.jobs.run import draw

    results = Results(folder)
    name = results.manifest().get("study")
    if not isinstance(name, str) or name not in STUDIES:
        raise ValueError(
            f"{folder} was written by another version of this toolkit, or by a study in a file of "
            "its own: run that file again with the same options, which draws its figures."
        )
    results.check_tables()
    try:
        drawn = [
            path
            for drawing in find_study(name).figures.values()
            for path in draw(drawing, results.folder, svg)
        ]
    # Tables of another version may fail anywhere in a drawing.
    except (ArithmeticError, AttributeError, LookupError, TypeError) as error:
        raise ValueError(
            f"{folder} holds tables that this version cannot draw ({error!r}). Run the study again "
            "in another folder."
        ) from error
    results.finish("figures")
    return drawn
