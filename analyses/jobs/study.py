"""The definition of a study: its question, its pieces, and the tables and figures made from them.

A study is a record of functions. :func:`analyses.jobs.run.run` does for every study what long
computations need: it estimates the cost, makes the pieces in processes or on a cluster, stores what
is finished, resumes after an interruption, and makes tables and figures from all pieces.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Protocol, TypeVar

import pandas as pd

from analyses.jobs import WorkCost
from analyses.jobs.results import Results
from replay.checks import check_number, check_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure


MOST = 1_000_000
"""The largest number of worlds, animals, or runs per world."""

MOST_STEPS = 10**12
"""The largest number of steps of a run."""

_LARGEST_SIZE = 10_000

Result = TypeVar("Result")


class Piece(NamedTuple):
    """A part of the work that depends on no other part."""

    group: str  # such as an experiment or a task; also the name of its folder
    number: int  # within the group, from 0


class Plan(Protocol):
    """What a study is to do; it can be sent to other processes."""

    def describe(self) -> Mapping[str, Any]:
        """Return all that the results depend on besides the pieces and the program's sources."""
        ...

    def n_pieces(self) -> Mapping[str, int]:
        """Return the number of pieces in each group."""
        ...


PlanT = TypeVar("PlanT", bound=Plan)


class SizedPlan(NamedTuple):
    """The plan of a study whose only options are its size and its seed."""

    pieces: dict[str, int]  # of each group
    seed: int  # of all random numbers

    def describe(self) -> dict[str, Any]:
        """Return what the manifest must hold besides the numbers of pieces."""
        return {"seed": self.seed}

    def n_pieces(self) -> dict[str, int]:
        """Return the number of pieces in each group."""
        return self.pieces


def sized(n: int, *groups: str) -> Callable[[float, int], SizedPlan]:
    """Plan a study of at least two pieces of each group, and of `n` at its usual size.

    Examples
    --------
    >>> sized(10, "tree", "maze")(0.5, 1)
    SizedPlan(pieces={'tree': 5, 'maze': 5}, seed=1)
    """
    return lambda size, seed: SizedPlan(dict.fromkeys(groups, max(round(n * size), 2)), seed)


class Shown(NamedTuple):
    """A table to print when a study is finished; without columns, it is not printed."""

    title: str = ""  # a line above it, unless it is empty
    table: pd.DataFrame = pd.DataFrame()
    note: str = ""  # below it


class Runner(Protocol):
    """Calls a function for many pieces, in processes of this machine or on a cluster."""

    def __call__(
        self, function: Callable[..., Result], pieces: Iterable[tuple[Any, ...]]
    ) -> Iterator[Result]:
        """Call the function, of a module that workers can import, with the arguments of each piece.

        Results come in any order.
        """
        ...


def digests(files: Mapping[str, str]) -> dict[str, str]:
    """Compute the SHA-256 digests of the user's own files, for the manifest: name -> digest."""
    return {
        name: hashlib.sha256(Path(file).read_bytes()).hexdigest() for name, file in files.items()
    }


Figures = Callable[[Results], Iterator[tuple[str, "Figure"]]]
"""A function that reads the tables of a result folder and yields figures with their file names."""


def drawn(function: str, *tables: str, by: str | None = None) -> Figures:
    """Draw a figure from tables, by a function of `analyses.plots` or of a module of studies.

    With `by`, a figure is drawn of the rows of each value of this column, named after it.

    Examples
    --------
    >>> drawing = drawn("learning_curves_figure", "reward_rate.csv")  # figures/learning_curves
    >>> drawing = drawn("reward_figures:changes_figure", "change_rates.csv", "change_replay.csv")
    """

    def drawing(results: Results) -> Iterator[tuple[str, Figure]]:
        # Imported only now, so that no worker that simulates loads matplotlib.
        module, _, name = function.rpartition(":")
        place = f"analyses.studies.{module}" if module else "analyses.plots"
        make, title = getattr(import_module(place), name), name.removesuffix("_figure")
        read = [results.read(table) for table in tables]
        if by is None:
            yield title, make(*read)
            return
        for value in read[0][by].unique():
            yield f"{title}_{value}", make(*(table[table[by] == value] for table in read))

    return drawing


@dataclass(frozen=True)
class Study(Generic[PlanT]):
    """A question, and the functions that answer it.

    Its functions take a `Plan`. Modules that only figures need are imported within the functions
    that draw, so that workers do not load them.

    Attributes
    ----------
    name : str
        Its name in ``analyses.studies.STUDIES``.
    question : str
        The question that it answers.
    plan : callable or None
        ``plan(size, seed)`` returns the usual plan with `size` times the usual number of animals or
        worlds. Commands with more options make their own plans. None if the study cannot be planned
        without these options.
    make : callable
        ``make(plan, piece)`` returns the tables of a piece by name, and other files, which it wrote
        to temporary folders, by their place in the result folder. The same plan and piece give the
        same bytes.
    summarise : callable
        ``summarise(plan, results)`` returns the final tables of all pieces by file name; it may
        write other files to the folder.
    figures : mapping
        Name -> function that draws.
    command : str
        The command that runs it, for messages; empty: ``replay study NAME``.
    show : callable, optional
        ``show(plan, tables)`` returns the parts of the final tables that are worth printing.
    size : callable, optional
        ``size(plan, piece)`` returns the amount of work of a piece, in any unit. Large pieces are
        made first.
    estimate : callable, optional
        ``estimate(plan, left, call)`` returns the cost of the remaining pieces, in processor
        seconds, from samples that it runs with ``call``, a `Runner`, which also measures how busy
        the machine is. By default, the cost is estimated from the first pieces. ``seconds_after``
        is for later work besides figures.

    Examples
    --------
    >>> def plan(size, seed):
    ...     return SizedPlan({"numbers": round(3 * size)}, seed)
    >>> def make(plan, piece):
    ...     return {"squares": pd.DataFrame({"square": [piece.number**2]})}
    >>> def summarise(plan, results):
    ...     return {"squares.csv": results.read_pieces("squares")}
    >>> study = Study("squares", "What are the squares?", plan, make, summarise)
    >>> from analyses.jobs.run import run
    >>> run(study, study.usual_plan())["squares.csv"]["square"].tolist()
    [0, 1, 4]
    """

    name: str
    question: str
    plan: Callable[[float, int], PlanT] | None
    make: Callable[[PlanT, Piece], Mapping[str, pd.DataFrame | Path]]
    summarise: Callable[[PlanT, Results], Mapping[str, pd.DataFrame]]
    figures: Mapping[str, Figures] = field(default_factory=dict)
    command: str = ""
    show: Callable[[PlanT, Mapping[str, pd.DataFrame]], Iterable[Shown]] = lambda plan, tables: ()
    size: Callable[[PlanT, Piece], float] = lambda plan, piece: 1.0
    estimate: Callable[[PlanT, Sequence[Piece], Runner], WorkCost] | None = None

    def usual_plan(self, size: float = 1.0, seed: int = 0) -> PlanT:
        """Plan the study at its usual size, or at a multiple of it, at most 10,000."""
        if self.plan is None:
            raise ValueError(f"The study {self.name} needs more than a size: see {self.command}.")
        check_number("The size of a study", size, at_least=0, at_most=_LARGEST_SIZE)
        if size == 0:
            raise ValueError("The size of a study must be above 0, got 0.")
        return self.plan(size, check_whole("The seed", seed))

    def all_pieces(self, plan: PlanT) -> list[Piece]:
        """List all pieces of a plan, group by group."""
        return [Piece(group, index) for group, n in plan.n_pieces().items() for index in range(n)]
