"""Studies: a question, how the work is cut into pieces, and the tables and figures made from them.

A study is a record of functions. :func:`analyses.jobs.run.run` does the rest for every study: it
estimates the cost, makes the pieces in several processes or on a cluster, keeps finished pieces,
resumes after an interruption, and makes tables and figures from all pieces.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

import pandas as pd

from analyses.jobs.columns import Table
from analyses.jobs.cost import Cost
from analyses.jobs.results import Results
from replay.checks import check_number, check_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "MOST",
    "MOST_STEPS",
    "Figures",
    "Piece",
    "Plan",
    "Runner",
    "Shown",
    "SizedPlan",
    "Study",
    "digests",
]

MOST = 1_000_000
"""The most worlds, animals or runs in each of them that can be asked for."""

MOST_STEPS = 10**12
"""The most steps of a run that can be asked for."""

_LARGEST_SIZE = 10_000

Plan = TypeVar("Plan")
Result = TypeVar("Result")


class Piece(NamedTuple):
    """A part of the work that depends on no other part.

    Attributes
    ----------
    group : str
        What it belongs to, such as an experiment or a task; a name for a folder.
    number : int
        Which of the group, from 0.
    """

    group: str
    number: int


class SizedPlan(NamedTuple):
    """The plan of a study whose only options are its size and its seed.

    Attributes
    ----------
    pieces : dict
        Group -> number of pieces.
    seed : int
        Seed of everything.
    """

    pieces: dict[str, int]
    seed: int

    def describe(self) -> dict[str, Any]:
        """Give what the manifest is to hold besides the numbers of pieces."""
        return {"seed": self.seed}

    def n_pieces(self) -> dict[str, int]:
        """Give the number of pieces in each group."""
        return self.pieces


class Shown(NamedTuple):
    """Something to print when a study is finished.

    Attributes
    ----------
    title : str
        A line above the table; none if it is empty.
    table : pandas.DataFrame
        The table as it is to be printed; nothing if it has no columns.
    note : str
        Lines below the table.
    """

    title: str = ""
    table: pd.DataFrame = pd.DataFrame()
    note: str = ""


class Runner(Protocol):
    """Calls a function with many arguments, in processes of this machine or on a cluster."""

    def __call__(
        self, function: Callable[..., Result], pieces: Iterable[tuple[Any, ...]]
    ) -> Iterator[Result]:
        """Give what the function returns, in any order."""
        ...


def digests(files: Mapping[str, str]) -> dict[str, str]:
    """Name the contents of files of the user's own, for the manifest.

    Parameters
    ----------
    files : mapping of str to str
        Name -> path.

    Returns
    -------
    dict of str to str
        Name -> SHA-256 of the file.
    """
    return {
        name: hashlib.sha256(Path(file).read_bytes()).hexdigest() for name, file in files.items()
    }


Figures = Callable[[Results], Iterator[tuple[str, "Figure"]]]
"""Reads the tables of a result folder and gives figures, each with the name of its file."""


def _one(plan: object, piece: Piece) -> float:
    return 1.0


def _nothing(plan: object, tables: Mapping[str, pd.DataFrame]) -> Iterable[Shown]:
    return ()


@dataclass(frozen=True)
class Study(Generic[Plan]):
    """A question, and all that is done to answer it.

    A plan says what is to be done, and can be sent to other processes. The functions that draw
    figures import what they need themselves, so that workers do not import plotting libraries.

    Attributes
    ----------
    name : str
        Its name in ``analyses.studies.STUDIES``.
    question : str
        What it asks.
    command : str
        The command that does it, for messages.
    plan : callable or None
        ``plan(size, seed)`` makes the usual plan, with the number of animals or worlds multiplied
        by `size`. Commands with more options make their own plans. None if the study cannot be
        planned without these options; `needs` then says what it needs.
    describe : callable
        ``describe(plan)`` returns everything that the results depend on, apart from the sources of
        the program, for the manifest.
    pieces : callable
        ``pieces(plan)`` returns the number of pieces in each group.
    make : callable
        ``make(plan, piece)`` returns the tables of a piece by name, and other files, which it wrote
        to temporary folders, by their place in the result folder. The same plan and piece give the
        same bytes.
    summarise : callable
        ``summarise(plan, results)`` makes the final tables from all pieces, by the name of their
        files; it may write other files to the folder.
    figures : mapping
        Name -> function that draws.
    columns : mapping of str to Table, optional
        Name of the file of a final table -> what its rows and columns mean, for ``replay columns``.
    needs : str
        What the study needs besides size and seed; nothing, if this is empty.
    n_figures : callable, optional
        ``n_figures(plan)`` returns the number of figures; without it, one for each function.
    show : callable, optional
        ``show(plan, tables)`` yields the parts of the final tables that are worth printing.
    size : callable, optional
        ``size(plan, piece)`` returns the amount of work in a piece, in any unit. Large pieces begin
        first.
    estimate : callable, optional
        ``estimate(plan, left, call)`` returns the cost of the remaining pieces, in seconds of a
        processor. It measures with ``call``, a `Runner`, which also shows how busy the machine is.
        Without it, the cost is estimated from the first pieces. ``seconds_after`` is for work that
        follows the pieces, apart from figures.

    Examples
    --------
    >>> def make(n_numbers, piece):
    ...     return {"squares": pd.DataFrame({"square": [piece.number**2]})}
    >>> def summarise(n_numbers, results):
    ...     return {"squares.csv": results.read_pieces("squares")}
    >>> study = Study(
    ...     "squares", "What are the squares?", "replay study squares",
    ...     plan=lambda size, seed: round(3 * size), describe=lambda plan: {"n_numbers": plan},
    ...     pieces=lambda plan: {"numbers": plan}, make=make, summarise=summarise, figures={})
    >>> from analyses.jobs.run import run
    >>> run(study, study.plan(1, 0))["squares.csv"]["square"].tolist()
    [0, 1, 4]
    """

    name: str
    question: str
    command: str
    plan: Callable[[float, int], Plan] | None
    describe: Callable[[Plan], Mapping[str, Any]]
    pieces: Callable[[Plan], Mapping[str, int]]
    make: Callable[[Plan, Piece], Mapping[str, pd.DataFrame | Path]]
    summarise: Callable[[Plan, Results], Mapping[str, pd.DataFrame]]
    figures: Mapping[str, Figures] = field(default_factory=dict)
    columns: Mapping[str, Table] = field(default_factory=dict)
    needs: str = ""
    n_figures: Callable[[Plan], int] | None = None
    show: Callable[[Plan, Mapping[str, pd.DataFrame]], Iterable[Shown]] = _nothing
    size: Callable[[Plan, Piece], float] = _one
    estimate: Callable[[Plan, Sequence[Piece], Runner], Cost] | None = None

    def usual_plan(self, size: float = 1.0, seed: int = 0) -> Plan:
        """Plan the study at its usual size, or at a multiple of it.

        Parameters
        ----------
        size : float, default 1
            How many animals or worlds, times the usual number; at most 10,000.
        seed : int, default 0
            Seed of everything.

        Returns
        -------
        object
            The plan.

        Raises
        ------
        ValueError
            If a number is out of range, or the study needs more than these.
        """
        if self.plan is None:
            raise ValueError(f"The study {self.name} needs {self.needs}.")
        check_number("The size of a study", size, at_least=0, at_most=_LARGEST_SIZE)
        if size == 0:
            raise ValueError("The size of a study must be above 0, got 0.")
        return self.plan(size, check_whole("The seed", seed))

    def all_pieces(self, plan: Plan) -> list[Piece]:
        """List all pieces of a plan, group by group.

        Parameters
        ----------
        plan : object
            A plan of this study.

        Returns
        -------
        list of Piece
            The pieces.
        """
        return [Piece(group, index) for group, n in self.pieces(plan).items() for index in range(n)]
