"""Studies: each one a question, its tables and its figures.

To add a study, write a file with a ``STUDY`` (:class:`analyses.jobs.study.Study`) and add a line to
``STUDIES``. No study is imported before it is looked up.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from replay.checks import typed, unknown_name

if TYPE_CHECKING:
    from analyses.jobs.columns import Table
    from analyses.jobs.study import Study

__all__ = ["STUDIES", "find_study", "written_tables"]

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
    "headings": "analyses.studies.headings",
    "learned_states": "analyses.studies.learned_states",
    "hidden_states": "analyses.studies.hidden_states",
    "recording": "analyses.studies.recorded_replay.one_animal",
    "recordings": "analyses.studies.recorded_replay.several_animals",
    "explain": "analyses.studies.explanation.explain",
    "explanation": "analyses.studies.explanation.goals",
    "identifiability": "analyses.studies.explanation.identify",
}
"""Name -> the module that defines the study as its ``STUDY``."""


@typed
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


def written_tables() -> "dict[str, Table]":
    """Describe the tables that commands write, by file name: those of logs, and of all studies.

    Where two tables have the same file name, the second is listed as ``STUDY/FILE``.

    Examples
    --------
    >>> written_tables()["recording/sequences.parquet"].row
    'place sequence of replay in a recording'
    """
    from analyses.jobs.columns import LOG_TABLES

    tables = dict(LOG_TABLES)
    for name in STUDIES:
        for file, table in find_study(name).columns.items():
            if file not in tables:
                tables[file] = table
            elif table not in tables.values():
                tables[f"{name}/{file}"] = table
    return tables
