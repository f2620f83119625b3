"""The event log: every step of experience and every backup, with its time.

The analyses read three tables: `runs` (one learner in one world with one seed), `steps` (the
experience) and `backups` (online updates and replay, in order of execution). Runs of models and
recordings have the same three tables.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import metadata
from platform import python_version
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from replay.checks import check_choice, check_list, check_whole, shown, typed, unknown_name
from replay.checks.arrays import Floats, Int32s
from replay.log import parquet
from replay.log.schema import (
    SCHEMA,
    WHOLE_RUN,
    Columns,
    Excerpt,
    Rows,
    check_values,
    complete,
    schema_of,
    to_frame,
)
from replay.log.worlds import ClosedMoves, check_closed
from replay.version import __version__
from replay.worlds.mdp import MDP

if TYPE_CHECKING:
    import networkx as nx


_MOST_SHOWN = 10  # runs, in a notebook


@dataclass(eq=False, repr=False)
class EventLog:
    """Steps and backups of one or several runs.

    A table may lack columns that can be derived or are unknown. Then `run` is 0, episodes, steps
    and events are counted (in a log of one run), `time` and quantities that a learner lacks are
    NaN, and `action` and `cause` are -1.

    Parameters
    ----------
    tables : dict
        Table name -> columns, as a DataFrame or a mapping of arrays:

        ``runs``
            run, experiment, learner, mdp, seed (-1: none), parameters (JSON).
        ``steps``
            run, episode, step, time (s), state, action, reward, next_state, terminated, truncated;
            also words, backups, queue_operations, comparisons, if demands were counted.
        ``backups``
            run, episode, step, time (s), phase, event, index, pop, location, state, action,
            next_state, reward, priority, gain, need, q_before, q_after, cause.
    provenance : dict
        Software, versions, and under ``log`` which backups are kept (``"replay"`` or ``"all"``).
    mdp : MDP, optional
        The world, for the positions of its states.
    excerpt : Excerpt, optional
        The part of a run that the tables hold; by default all of it.
    closed : dict, optional
        Step -> the moves (state, next_state) that are closed from then on, until the next such
        step: walls and barriers that come and go. By default none is closed.

    Raises
    ------
    TypeError
        If tables, provenance, world or closed moves have the wrong type.
    ValueError
        If a table has an unknown name, or a closed move has states that the world lacks. On first
        use, if a column is missing, unknown, or of the wrong length or type, a number is out of
        range, or time decreases.

    Examples
    --------
    A rat's visits to four places, in two laps:

    >>> visits = {"state": [0, 1, 0, 1], "next_state": [1, 2, 1, 3],
    ...           "terminated": [False, True, False, True]}
    >>> log = EventLog({"steps": visits})
    >>> log
    EventLog(1 run, 4 steps, 0 backups)
    >>> log.steps["episode"].tolist()
    [0, 0, 1, 1]
    >>> [(edge["probability"], end) for _, end, edge in log.graph().out_edges(1, data=True)]
    [(0.5, 2), (0.5, 3)]
    """

    tables: dict[str, Any]
    provenance: Mapping[str, Any] = field(default_factory=dict)
    mdp: MDP | None = None
    excerpt: Excerpt = WHOLE_RUN
    closed: ClosedMoves = field(default_factory=dict)
    _complete: dict[str, Columns] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        """Add empty tables, and refuse unknown ones."""
        kinds: dict[str, tuple[Any, str]] = {
            "tables": (Mapping, "a dict of table name to columns"),
            "provenance": (Mapping, "a dict"),
            "mdp": (MDP | None, "an MDP"),
            "excerpt": (Excerpt, "an Excerpt"),
        }
        for name, (kind, words) in kinds.items():
            value = getattr(self, name)
            if not isinstance(value, kind):
                raise TypeError(f"{name} must be {words}, got {shown(value)}.")
        kept = self.provenance.get("log", "replay")
        if not isinstance(kept, str | list):  # a list for runs that keep different backups
            raise TypeError(f"'log' of provenance must be text, got {shown(kept)}.")
        if self.excerpt is not WHOLE_RUN:
            for part, number in self.excerpt._asdict().items():
                check_whole(f"{part} of excerpt", number, at_least=-1)
        unknown = [name for name in self.tables if name not in SCHEMA]
        if unknown:
            raise unknown_name("table", unknown[0], SCHEMA)
        self.tables = {name: self.tables.get(name, {}) for name in SCHEMA}
        self.closed = check_closed(self.closed, self.mdp)

    @classmethod
    def from_run(
        cls,
        run: Mapping[str, Any],
        steps: NDArray[np.void],
        backups: list[tuple[NDArray[np.void], ...]],
        *,
        keep: str,
        mdp: MDP | None = None,
        time: Floats | None = None,
        excerpt: Excerpt = WHOLE_RUN,
        closed: ClosedMoves | None = None,
    ) -> EventLog:
        """Make the log of one run from rows as its loop and its learner wrote them.

        Its tables are completed on first use. `run` has the columns of ``runs``, with `parameters`
        as a mapping; `backups` come in order, buffer by buffer, with `phase` as a number. `keep`
        says which backups were kept, and `time` has the time of each step in s.
        """
        times = None if time is None else {"time": np.array(time)}
        tables = {"runs": run, "steps": Rows([(steps,)], times), "backups": Rows(backups)}
        return cls(tables, _software() | {"log": keep}, mdp, excerpt, closed or {})

    @classmethod
    def concat(cls, logs: Iterable[EventLog]) -> EventLog:
        """Concatenate logs; their runs are numbered anew, in order.

        Parameters
        ----------
        logs : iterable of EventLog
            At least one.

        Returns
        -------
        EventLog
            One log. Its provenance lists all values that differ; it has the world and the closed
            moves if all logs share them, and columns of demands if all logs have them.

        Examples
        --------
        >>> log = EventLog({"steps": {"state": [0], "next_state": [1]}})
        >>> EventLog.concat([log, log]).steps["run"].tolist()
        [0, 1]
        """
        logs = check_list("logs", logs)
        if not logs:
            raise ValueError("There is no log to concatenate: give at least one EventLog.")
        for log in logs:
            if not isinstance(log, EventLog):
                raise TypeError(f"Only logs can be concatenated, got {shown(log)}.")
        tables: dict[str, Columns] = {}
        for name in SCHEMA:
            pieces = [log.columns(name) for log in logs]
            if name == "runs" and any("forgets_at_end" in piece for piece in pieces):
                pieces = [
                    {"forgets_at_end": np.zeros(len(piece["run"]), dtype=bool), **piece}
                    for piece in pieces
                ]
            shared_columns = set(pieces[0]).intersection(*pieces)
            tables[name] = {
                column: np.concatenate([piece[column] for piece in pieces])
                for column in schema_of(name, shared_columns).names
            }
            first_run = 0
            numbers = []
            for log, piece in zip(logs, pieces, strict=True):
                runs = log.columns("runs")["run"]
                # Runs of a log ascend, but need not be numbered from 0 without gaps.
                numbers.append(np.searchsorted(runs, piece["run"]) + first_run)
                first_run += len(runs)
            tables[name]["run"] = np.concatenate(numbers).astype(np.int32)
        first = logs[0]
        mdp = first.mdp if all(log.mdp is first.mdp for log in logs) else None
        closed = first.closed if all(log.closed == first.closed for log in logs) else {}
        provenance = {}
        for key in dict.fromkeys(key for log in logs for key in log.provenance):
            values = [log.provenance.get(key) for log in logs]
            distinct = [value for i, value in enumerate(values) if value not in values[:i]]
            provenance[key] = distinct[0] if len(distinct) == 1 else distinct
        return cls(tables, provenance, mdp, closed=closed)._as_checked()

    @classmethod
    def load(cls, folder: str | os.PathLike[str], mdp: MDP | None = None) -> EventLog:
        """Read a saved log and its world.

        Parameters
        ----------
        folder : path
            A folder written by `save`.
        mdp : MDP, optional
            Another world; by default the one saved with the log, if any.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     EventLog({"steps": {"state": [0], "next_state": [1]}}).save(folder)
        ...     EventLog.load(folder)
        EventLog(1 run, 1 step, 0 backups)
        """
        tables, provenance = parquet.read(folder)
        world = parquet.read_world(folder) if mdp is None else mdp
        log = cls(tables, provenance, world, closed=parquet.read_closed(folder, world))
        for name in SCHEMA:
            log._check_states(name, tables[name])
        return log._as_checked()

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the tables and the world into a new folder, either completely or not at all.

        Parameters
        ----------
        folder : path
            The folder, which must be empty or not exist.

        Raises
        ------
        FileExistsError
            If the folder is not empty.
        OSError
            If it cannot be written, for instance because the disk is full.
        TypeError
            If the folder is not a path, or the provenance cannot be written as JSON.
        ValueError
            If the folder has a file's name, such as ``log.parquet``.
        """
        with parquet.writing(folder) as writer:
            writer.provenance, writer.world, writer.closed = self.provenance, self.mdp, self.closed
            writer.write({name: self.columns(name) for name in SCHEMA})

    @staticmethod
    @contextmanager
    def saving(folder: str | os.PathLike[str]) -> Iterator[Callable[[EventLog], None]]:
        """Save a log that arrives in parts as one log, either completely or not at all.

        Parameters
        ----------
        folder : path
            The folder, which must be empty or not exist.

        Yields
        ------
        callable
            ``add(part)`` writes the next steps and backups; runs are those of the first part.

        Examples
        --------
        >>> import tempfile
        >>> from replay import simulate
        >>> from replay.worlds.mazes import from_ascii
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with EventLog.saving(folder) as add:
        ...         run = simulate(from_ascii("S..G"), "episodic_control", n_steps=1000,
        ...                        on_block=lambda block: add(block.log))
        ...     len(EventLog.load(folder).steps)
        1000
        """
        with parquet.writing(folder) as writer:

            def add(part: EventLog) -> None:
                names = list(SCHEMA) if writer.provenance is None else ["steps", "backups"]
                writer.write({name: part.columns(name) for name in names}, whole=True)
                writer.provenance, writer.world = part.provenance, part.mdp
                writer.closed = part.closed

            yield add

    @typed
    def label(self, **columns: Any) -> EventLog:
        """Set columns of the table of runs.

        Parameters
        ----------
        **columns
            New values of columns of ``runs``, for instance ``experiment="maze"``.

        Examples
        --------
        >>> EventLog({}).label(experiment="maze").runs["experiment"].tolist()
        ['maze']
        """
        runs = {**self.columns("runs"), **columns}
        tables = {**self.tables, "runs": runs}
        log = EventLog(tables, self.provenance, self.mdp, self.excerpt, self.closed)
        log.columns("runs")
        return log

    def with_states(self, number: Int32s, mdp: MDP, closed: ClosedMoves | None = None) -> EventLog:
        """Renumber the states."""
        tables = {name: dict(self.columns(name)) for name in SCHEMA}
        for table in (tables["steps"], tables["backups"]):
            for column in {"state", "next_state", "location"} & table.keys():
                table[column] = number[table[column]]
        log = EventLog(tables, self.provenance, mdp, self.excerpt, closed or {})
        return log._as_checked()

    def _as_checked(self) -> EventLog:
        """Take the tables as they are: their columns are complete, and were checked before."""
        self._complete.update(self.tables)
        return self

    @typed
    def columns(self, name: str) -> Columns:
        """Return a table as plain arrays, without making a DataFrame.

        Parameters
        ----------
        name : {"runs", "steps", "backups"}
            The table.

        Examples
        --------
        >>> EventLog({"steps": {"state": [0, 1], "next_state": [1, 0]}}).columns("steps")["step"]
        array([0, 1])
        """
        check_choice("table", name, SCHEMA)
        done = self._complete
        if name not in done:
            steps = self.columns("steps") if name == "backups" else None
            done[name] = complete(name, self.tables[name], steps, self.excerpt)
            if not isinstance(self.tables[name], Rows):  # the simulator's own are right
                runs = None if name == "runs" else self.columns("runs")
                check_values(name, done[name], runs, self.excerpt)
                self._check_states(name, done[name])
            self.tables[name] = done[name]  # frees the arrays of the simulator
        return done[name]

    def _check_states(self, name: str, columns: Columns) -> None:
        """Check that the world has all states of a table."""
        for column in ("state", "next_state", "location"):
            values = columns.get(column, np.zeros(0))
            if self.mdp is not None and values.size and values.max() >= self.mdp.n_states:
                raise ValueError(
                    f"The column {column!r} of {name!r} names state {values.max()}, but the world "
                    f"{self.mdp.name!r} has the states 0 to {self.mdp.n_states - 1}."
                )

    @cached_property
    def runs(self) -> pd.DataFrame:
        """One row per run."""
        return to_frame(self.columns("runs"))

    @cached_property
    def steps(self) -> pd.DataFrame:
        """One row per step of experience."""
        return to_frame(self.columns("steps"))

    @cached_property
    def backups(self) -> pd.DataFrame:
        """One row per backup, in order of execution."""
        return to_frame(self.columns("backups"))

    def graph(self, until: int | None = None, run: int = 0) -> nx.MultiDiGraph:
        """Return the world as learned up to some step of a run.

        Parameters
        ----------
        until : int, optional
            The last step that counts; by default the last of the run. For a learner that resets its
            model, only the episode of this step counts.
        run : int, default 0
            The run.

        Returns
        -------
        networkx.MultiDiGraph
            Nodes are states, with `visits`, `value` (the largest learned action value, 0 in a
            terminal state; NaN unless all backups are kept) and `pos` (x, y in cm) if the world has
            positions. Edges are keyed by action, with `count`, `probability`, `reward` (mean),
            `first_step` and `last_step`.

        Examples
        --------
        >>> log = EventLog({"steps": {"state": [0, 1, 0], "next_state": [1, 0, 1]}})
        >>> log.graph().edges[0, 1, -1]["count"]
        2
        """
        import networkx as nx

        run = check_whole("run", run)
        until = None if until is None else check_whole("until", until, at_least=-1)
        runs = self.runs.set_index("run")
        if run not in runs.index:
            raise ValueError(
                f"There is no run {run}; this log has the runs {shown(runs.index.tolist())}."
            )
        steps = self._by(self.steps, run, until)
        if steps.empty:
            raise ValueError(
                f"The log keeps no step of run {run} up to {'its end' if until is None else until}."
            )
        if runs.loc[run].get("forgets_at_end", False):
            steps = steps[steps["episode"] == steps["episode"].iloc[-1]]

        starts = steps.drop_duplicates("episode")["state"]
        nodes = pd.concat([starts, steps["next_state"]]).value_counts().sort_index()
        values: dict[int, float] = {}
        if self.provenance.get("log") == "all":  # otherwise some values were learned unseen
            backups = self._by(self.backups, run, until)
            learned = backups.groupby(["state", "action"])["q_after"].last().groupby("state").max()
            terminal = self._by(self.steps, run, until).query("terminated")["next_state"].unique()
            values = learned.to_dict() | dict.fromkeys(terminal.tolist(), 0.0)
        graph = nx.MultiDiGraph()
        for state, visits in nodes.items():
            graph.add_node(state, visits=int(visits), value=values.get(state, np.nan))
            if self.mdp is not None and self.mdp.position is not None:
                graph.nodes[state]["pos"] = tuple(self.mdp.position[state].tolist())

        edges = steps.groupby(["state", "action", "next_state"], as_index=False).agg(
            count=("step", "size"),
            reward=("reward", "mean"),
            first_step=("step", "min"),
            last_step=("step", "max"),
        )
        taken = edges.groupby(["state", "action"])["count"].transform("sum")
        edges["probability"] = edges["count"] / taken
        ends = [edges.pop(name).tolist() for name in ("state", "next_state", "action")]
        attributes: list[dict[Any, Any]] = edges.to_dict("records")
        graph.add_edges_from(zip(*ends, attributes, strict=True))
        return graph

    @staticmethod
    def _by(table: pd.DataFrame, run: int, until: int | None) -> pd.DataFrame:
        chosen = table["run"] == run
        return table[chosen if until is None else chosen & (table["step"] <= until)]

    def __repr__(self) -> str:
        """Show how many runs, steps and backups there are."""
        sizes = {name[:-1]: len(self.columns(name)["run"]) for name in SCHEMA}
        counts = [f"{size:,} {noun}{'s' * (size != 1)}" for noun, size in sizes.items()]
        return f"EventLog({', '.join(counts)})"

    def _repr_html_(self) -> str:
        table = self.runs.drop(columns="parameters").head(_MOST_SHOWN)
        for name in ("steps", "backups"):
            counts = pd.Series(self.columns(name)["run"]).value_counts()
            table[name] = table["run"].map(counts).fillna(0).astype(int)
        more = len(self.runs) - len(table)
        note = f"<p>and {more:,} more run{'s' * (more != 1)}</p>" if more else ""
        return f"<p>{self!r}</p>{table.to_html(index=False)}{note}"


@cache
def _software() -> dict[str, str]:
    packages = ("numpy", "numba", "pandas")
    versions = {name: metadata.version(name) for name in packages}
    toolkit = {"software": "hippocampal-replay", "version": __version__}
    return {**toolkit, "python": python_version(), **versions}
