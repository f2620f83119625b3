"""Run a study: make the pieces that are missing, and then the tables and figures.

Pieces do not depend on one another, so any number of processes gives the same bytes. Finished
pieces are stored, and the same call resumes with the others.
"""

from __future__ import annotations

import hashlib
import inspect
import io
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing, nullcontext, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any, TypeVar

import pandas as pd

from analyses.jobs import BYTES_OF_FIGURES, SECONDS_OF_FIGURE, SECONDS_TO_DRAW, WorkCost, workers
from analyses.jobs.results import Part, Results, write_table
from analyses.jobs.study import Figures, Piece, PlanT, Study
from analyses.reports.text import report_of_parts
from replay.files import inside, replacing, safe_name
from replay.jit import working_seconds
from replay.sources import sources_digest

Result = TypeVar("Result")


# Many parameters: what a command lets one choose of any study.
def run(
    study: Study[PlanT],
    plan: PlanT,
    out: str | Path | None = None,
    *,
    jobs: int = 1,
    cluster: str | None = None,
    part: Part | None = None,
    on_cost: Callable[[WorkCost], None] | None = None,
    on_piece: Callable[[Piece], None] = lambda piece: None,
    tell: Callable[[str], None] = print,
) -> dict[str, pd.DataFrame]:
    """Make the missing pieces of a study, and then its tables and figures.

    Parameters
    ----------
    study : Study
        The study.
    plan : object
        A plan of this study.
    out : path, optional
        The result folder. Without it nothing is stored and no figure is drawn.
    jobs : int, default 1
        Number of processes; with 1, all work is done in the calling process.
    cluster : str, optional
        Address of a Dask scheduler whose workers make the pieces; the rest is done here.
    part : Part, optional
        Make only the pieces of this part, but no tables and figures; other processes may make
        other parts in the same folder at the same time. By default everything is made.
    on_cost : callable, optional
        Called with a `WorkCost` before the first piece; if the study has no `estimate`, after two
        pieces per process and at least one of each group, unless no piece is left then.
    on_piece : callable, optional
        Called after each piece, including those that were finished before.
    tell : callable, default print
        Called with messages for the user.

    Returns
    -------
    dict of str to pandas.DataFrame
        The final tables by file name; none of a part.
    """
    if part is not None and out is None:
        raise ValueError("A part of a study needs a folder: give out.")
    jobs = workers.n_processes(jobs)
    scratch = TemporaryDirectory(prefix="hippocampal-replay-") if out is None else nullcontext(out)
    with scratch as folder:
        results = Results(folder)

        def tell_damage(name: str) -> None:
            tell(f"{name} is damaged or missing, and is made again.")

        with results.writing(manifest(study, plan), tell_damage, part):
            left = []
            for piece in pieces_of(study, plan, part):
                damaged = results.damaged(*piece)
                for name in damaged:
                    tell_damage(name)
                if results.is_finished(*piece) and not damaged:
                    on_piece(piece)
                else:
                    left.append(piece)
            # The largest first, so that at the end no process works alone for long.
            left.sort(key=lambda piece: -study.size(plan, piece))
            if left and on_cost is not None:
                tell(
                    "Estimating the time needed. A first run compiles what it needs: some seconds "
                    "for one learner, half a minute to a minute for all."
                )
            with workers.pool(min(jobs, len(left)), cluster, tell) as call:
                timed = _Timed(call)

                def tell_cost(cost: WorkCost) -> None:
                    after = cost.seconds_after
                    # Without a folder nothing is drawn.
                    if out is not None and (n := len(study.figures)):
                        after += SECONDS_TO_DRAW + SECONDS_OF_FIGURE * n / min(jobs, n)
                    if part is not None:  # which makes no tables and figures
                        after = 0.0
                    if on_cost is not None:
                        on_cost(cost._replace(seconds_after=after, slowdown=timed.slowdown))

                tells = tell_cost if on_cost is not None else None
                for piece in _make_pieces(study, plan, left, results, timed, tells):
                    on_piece(piece)
            if part is not None:
                return {}
            report = results.folder / "report.md"
            report.unlink(missing_ok=True)
            tables = dict(study.summarise(plan, results))
            for name, table in tables.items():
                results.write(name, table)
            if not report.exists():  # some studies write one of their own
                with replacing(report) as beside:
                    beside.write_text(
                        report_of_parts(study.question, study.show(plan, tables)), "utf-8"
                    )
            results.finish("tables")
            if out is not None:
                # In new processes, since those above still hold the memory that pieces needed.
                with workers.pool(min(jobs, len(study.figures)), None, tell) as call:
                    work = [(drawing, results.folder) for drawing in study.figures.values()]
                    deque(call(draw, work), maxlen=0)
                results.finish("figures")
    return tables


def pieces_of(study: Study[PlanT], plan: PlanT, part: Part | None = None) -> list[Piece]:
    """List the pieces of a plan, or those of one part: every n-th piece in order of size."""
    pieces = study.all_pieces(plan)
    if part is None:
        return pieces
    pieces.sort(key=lambda piece: -study.size(plan, piece))
    return pieces[part.number - 1 :: part.n_parts]


def manifest(study: Study[PlanT], plan: PlanT) -> dict[str, Any]:
    """Collect everything that is needed to make the results of a study again.

    These are its command, the versions of the software, the digest of the sources on which the
    results depend, the number of pieces by group, and the description of the plan.
    """
    functions = (study.make, study.summarise)
    modules = {function.__module__ for function in functions}
    if all(module.partition(".")[0] in ("analyses", "replay") for module in modules):
        sources = sources_digest(*sorted(modules))
    else:
        # What a study from outside the toolkit imports is unknown, so all of the toolkit counts.
        digest = hashlib.sha256(sources_digest().encode())
        files = {inspect.getsourcefile(function) or "" for function in functions}
        for file in sorted(files - {""}):
            digest.update(Path(file).read_bytes())
        sources = digest.hexdigest()[:12]
    return {
        "study": study.name,
        "command": study.command or f"replay study {study.name}",
        "versions": workers.versions(),
        **plan.describe(),
        "pieces": dict(plan.n_pieces()),
        "sources": sources,
    }


def _make_pieces(
    study: Study[PlanT],
    plan: PlanT,
    left: list[Piece],
    results: Results,
    timed: _Timed,
    tell_cost: Callable[[WorkCost], None] | None,
) -> Iterator[Piece]:
    """Make and keep pieces; tell what they cost before the first, or after some of each group."""
    if left and tell_cost is not None and study.estimate is not None:
        tell_cost(study.estimate(plan, left, timed))
        tell_cost = None
    else:
        # One piece of each group comes first: the cost of all is told from these.
        firsts = {piece.group: piece for piece in reversed(left)}
        left.sort(key=lambda piece: piece != firsts[piece.group])
    n_bytes, n_first = 0, 2 * timed.call.n_processes
    seconds = dict.fromkeys((piece.group for piece in left), 0.0)
    done = dict.fromkeys(seconds, 0.0)
    work = [(study.make, plan, piece, timed.call.is_far) for piece in left]
    with closing(timed(_make, work)) as made:
        for n_made, (piece, files, took) in enumerate(made, start=1):
            n_bytes += sum(
                len(content) if isinstance(content, bytes) else content.stat().st_size
                for content in files.values()
            )
            results.keep_piece(*piece, files)
            seconds[piece.group] += took
            done[piece.group] += study.size(plan, piece)
            yield piece
            n_left = len(left) - n_made
            if tell_cost is not None and n_made >= n_first and all(done.values()) and n_left:
                whole = dict.fromkeys(done, 0.0)
                for each in left:
                    whole[each.group] += study.size(plan, each)
                to_come = sum(seconds[key] * (whole[key] / done[key] - 1) for key in done)
                mean_bytes = n_bytes / n_made * n_left + BYTES_OF_FIGURES
                tell_cost(WorkCost({"pieces": n_left}, to_come, mean_bytes))
                tell_cost = None


class _Timed:
    """Calls functions in processes, and sums the time that they take there."""

    def __init__(self, call: workers.Call) -> None:
        self.call, self._seconds, self._used = call, 0.0, 0.0

    def __call__(
        self, function: Callable[..., Result], pieces: Iterable[tuple[Any, ...]]
    ) -> Generator[Result, None, None]:
        with closing(self.call(_timed, ((function, piece) for piece in pieces))) as results:
            for result, seconds, used in results:
                self._seconds += seconds
                self._used += used
                yield result

    @property
    def slowdown(self) -> float:
        """Wall-clock time divided by processor time: above 1 if the machine is busy."""
        return max(self._seconds / self._used, 1.0) if self._used else 1.0


def _timed(function: Callable[..., Result], piece: tuple[Any, ...]) -> tuple[Result, float, float]:
    """Call a function; return its result, the wall-clock and the processor seconds."""
    start, used = perf_counter(), process_time()
    result = function(*piece)
    return result, perf_counter() - start, process_time() - used


def _make(
    make: Callable[[PlanT, Piece], Mapping[str, pd.DataFrame | Path]],
    plan: PlanT,
    piece: Piece,
    sends: bool,
) -> tuple[Piece, dict[str, bytes | Path], float]:
    """Make a piece on a worker; return it, its files, and the processor seconds without compiling.

    Tables are sent to the main process. Other files, which may be large, stay where they are for
    the main process to move, unless the worker may not share its file system (`sends`).
    """
    start = working_seconds()
    files: dict[str, bytes | Path] = {}
    for name, content in make(plan, piece).items():
        if isinstance(content, pd.DataFrame):
            file = io.BytesIO()
            write_table(content, file)
            files[f"pieces/{piece.group}/{piece.number}/{name}.parquet"] = file.getvalue()
        elif sends:
            files[name] = content.read_bytes()
            content.unlink()
            with suppress(OSError):  # other files are still in the temporary folder
                content.parent.rmdir()
        else:
            files[name] = content
    return piece, files, working_seconds() - start


def draw(drawing: Figures, folder: Path, svg: bool = False) -> list[Path]:
    """Draw figures from the tables of a result folder, as PDF and PNG, and as SVG if asked."""
    from analyses.plots.files import save

    return [
        path
        for name, figure in drawing(Results(folder))
        for path in save(figure, inside(folder, f"figures/{safe_name(name)}{'.svg' * svg}"))
    ]
