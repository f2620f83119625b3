"""Studies: each one a question, its tables and its figures.

A study of one's own is a file with a ``STUDY`` (:class:`analyses.jobs.study.Study`), and its line
in ``STUDIES``. Nothing is imported before a study is asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from replay.checks import unknown_name

if TYPE_CHECKING:
    from analyses.jobs.study import Study

__all__ = ["STUDIES", "find_study"]

STUDIES = {
    "reproduction": "analyses.studies.brea_2018.reproduce",
    "discrepancies": "analyses.studies.discrepancies",
    "comparison": "analyses.studies.comparison.compare_accounts",
    "changes": "analyses.studies.changes",
    "demands": "analyses.studies.demands",
    "gain_floor": "analyses.studies.gain_floor",
    "parity": "analyses.studies.parity.published_figures",
    "bounded_memory": "analyses.studies.bounded_memory",
    "attribution": "analyses.studies.attribution",
    "tasks": "analyses.studies.typical_replay",
    "recovery": "analyses.studies.recovery",
    "recording": "analyses.studies.recorded_replay.one_animal",
    "recordings": "analyses.studies.recorded_replay.several_animals",
}
"""Name -> the module that has the study as its ``STUDY``."""


def find_study(name: str) -> "Study[Any]":
    """Look up a study.

    Parameters
    ----------
    name : str
        A name in ``STUDIES``.

    Returns
    -------
    Study
        The study.

    Raises
    ------
    ValueError
        If there is none of that name; the message lists the choices.

    Examples
    --------
    >>> find_study("gain_floor").question
    'Is there forward replay without the floor under the gain?'
    """
    if name not in STUDIES:
        raise unknown_name("study", name, STUDIES)
    study: Study[Any] = import_module(STUDIES[name]).STUDY
    return study
