"""Mistaken input: valid input with one or a few faults.

`mutated(value, pick)` changes a scalar, a list, a dict, an array, a table, a graph or a text, and
`malformed_options(options)` draws such arguments of a call; `damage(folder, pick)` does the same to
the files of a log. `is_ours` distinguishes an error of this project from one of Python or numpy,
and `check_result` looks at what was taken.
"""

import dis
import json
import math
import os
import re
import shutil
import signal
from contextlib import contextmanager, suppress
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import strategies as st

from analyses.sequences.classification import classify
from replay.files import write_checksums
from replay.log.event_log import EventLog
from replay.log.schema import SCHEMA, check_values
from replay.simulation.simulate import Run
from replay.worlds.mdp import MDP
from replay.worlds.protocols import Protocol
from replay.worlds.solutions import Solution

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 30
"""What an example may take of a processor; waiting, ten times as much."""
_MOST_BYTES = 4 << 30


def junk():
    """List values that are rarely valid; new ones at each call, since some can be used up."""
    cyclic = []
    cyclic.append(cyclic)
    return [
        None, True, False, np.True_, 0, 1, 2, -1, 3, 1.5, 0.5, -0.5, 2.0, math.nan, math.inf,
        -math.inf, 1e308, 1e-320, 2**31, 2**63, 10**30, 10**400, 1j, "", "a", "1", "nan", "\ud800",
        "\0", "x" * 200, "../..", b"a", [], (), {}, set(), {1}, {"a": 1}, [[]], [1, [2]], [None],
        ["a"], [0.5], [True], range(3), object(), object, len, cyclic,
        SimpleNamespace(), Decimal("0.1"), Fraction(1, 3), np.float32(0.1), np.int8(-1), np.nan,
        np.array(1), np.array([]), np.array([1, 2]), np.array([["a"]]), np.zeros((2, 2)),
        np.ma.masked_array([1, 2], [True, False]), np.datetime64("2018-06-24"), pd.NA, pd.NaT,
        pd.Timestamp(0), pd.Series([1, 2]), pd.DataFrame(), nx.Graph(), Path(), iter([1]),
        (i for i in range(2)),
    ]  # fmt: skip


def mutated(value, pick):
    """Change one place of a value.

    Parameters
    ----------
    value : object
        Stays as it is; what is returned is a copy.
    pick : callable
        ``pick(n)`` chooses a number from 0 to n - 1.
    """
    if pick(8) == 0:
        return _any_of(junk(), pick)
    if isinstance(value, pd.DataFrame):
        return _mutated_table(value, pick)
    if isinstance(value, nx.Graph):
        return _mutated_graph(value, pick)
    if isinstance(value, np.ndarray) and value.ndim and value.size:
        return _mutated_array(value, pick)
    if isinstance(value, dict) and value:
        return _mutated_dict(value, pick)
    if isinstance(value, tuple) and hasattr(value, "_replace"):
        name = _any_of(value._fields, pick)
        return value._replace(**{name: mutated(getattr(value, name), pick)})
    if isinstance(value, list | tuple) and value:
        return type(value)(_mutated_list(list(value), pick))
    if isinstance(value, str) and value and pick(2):
        return _mutated_text(value, pick)
    return _mutated_scalar(value, pick)


@st.composite
def malformed_options(draw, options):
    """Draw the arguments of a call, by name, one or two of them wrong."""

    def pick(n):
        return draw(st.integers(0, n - 1))

    return mutated_options(options, pick)


def mutated_options(options, pick):
    """Change one or two arguments of a call; none is left out, for that Python itself notices."""
    changed = dict(options)
    for _ in range(1 + pick(2)):
        name = _any_of(list(changed), pick)
        for _ in range(1 + pick(2)):
            changed[name] = mutated(changed[name], pick)
    return changed


def _any_of(values, pick):
    return values[pick(len(values))]


def _mutated_scalar(value, pick):
    near = []
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**63:
        near = [-value, value + 0.5, value + 1, value - 1, str(value), float(value), value * 10**9]
    return _any_of([*near, *junk()], pick)


def _mutated_text(value, pick):
    place = pick(len(value))
    letter = _any_of(["", "?", "\n", "\t", "é", "#", "S", "G", " ", "\0", "\ud800"], pick)
    return value[:place] + letter + value[place + 1 :]


def _mutated_list(values, pick):
    place, how = pick(len(values)), pick(6)
    if how == 0:
        del values[place]
    elif how == 1:
        values.insert(place, values[place])
    elif how == 2:
        values.append(_any_of(junk(), pick))
    elif how == 3:
        values.reverse()
    else:
        values[place] = mutated(values[place], pick)
    return values


def _mutated_dict(values, pick):
    changed, how = dict(values), pick(8)
    name = _any_of(list(changed), pick)
    if how == 0:
        del changed[name]
    elif how == 1:
        changed[_any_of(["other", 1, None, (0, 0), math.nan], pick)] = _any_of(junk(), pick)
    elif how == 2:
        changed[_any_of(["other", 99, name], pick)] = changed.pop(name)
    else:
        changed[name] = mutated(changed[name], pick)
    return changed


def _mutated_array(values, pick):
    how = pick(6)
    if how == 0:
        kind = _any_of([float, complex, str, object, "S", np.int8, bool], pick)
        with suppress(TypeError, ValueError, OverflowError, RuntimeError, Warning):
            return values.astype(kind)
        return values[:-1]
    if how == 1:
        return values[:-1]
    if how == 2:
        return values[None]
    if how == 3:
        return mutated(values.tolist(), pick)
    changed = values.astype(object)
    changed.flat[pick(values.size)] = _cell(pick)
    return changed


def _cell(pick):
    """Choose a value for one cell of an array; lists would make it ragged."""
    return _any_of([each for each in junk() if not _has_length(each)], pick)


def _has_length(value):
    return hasattr(value, "__len__") and not isinstance(value, str | bytes)


def _mutated_table(table, pick):
    changed, how = table.copy(), pick(12)
    if not len(changed.columns) or not len(changed):
        return changed
    place, row = pick(len(changed.columns)), pick(len(changed))
    name = changed.columns[place]
    if how == 0:
        return changed.drop(columns=[name])
    if how == 1:
        return changed.drop(index=changed.index[row])
    if how == 2:
        return pd.concat([changed, changed[[name]]], axis=1)
    if how == 3:
        return changed.rename(columns={name: _any_of(["other", 1, None, ""], pick)})
    if how == 4:
        return changed.iloc[::-1]
    if how == 5:
        return pd.concat([changed, changed.iloc[[row]]])
    if how == 6:
        return changed.iloc[:0]
    if how == 7:
        kinds = ["str", "object", "category", "string", "complex", "float", "bool"]
        kind = _any_of(kinds, pick)
        with suppress(TypeError, ValueError, OverflowError, Warning):
            return changed.assign(**{str(name): changed[name].astype(kind)})
        return changed.iloc[1:]
    if how == 8:
        scalars = [None, "a", 1j, math.nan, -1, 1.5, True, 10**30, pd.Timestamp(0), pd.NA]
        return changed.assign(**{str(name): _any_of(scalars, pick)})
    column = changed[name].astype(object).tolist() if changed.columns.is_unique else None
    if column is None:
        return changed
    column[row] = mutated(column[row], pick)
    wrong = np.empty(len(column), dtype=object)
    for each, value in enumerate(column):
        wrong[each] = value
    with suppress(UnicodeEncodeError):  # pandas itself holds no lone surrogates
        return changed.assign(**{str(name): wrong})
    return changed.iloc[::2]


def _mutated_graph(graph, pick):
    changed, how = graph.copy(), pick(10)
    nodes = list(changed)
    if not nodes:
        return changed
    node = _any_of(nodes, pick)
    edges = list(changed.edges(keys=True)) if changed.is_multigraph() else list(changed.edges)
    if how == 0:
        changed.remove_node(node)
    elif how == 1:
        changed.add_node(_any_of(["other", 99, (0, 1), 1.5, math.nan, True], pick))
    elif how == 2:
        changed.add_edge(node, _any_of(nodes, pick))
    elif how == 3 and edges:
        changed.remove_edge(*_any_of(edges, pick))
    elif how == 4:
        kinds = [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph]
        return _any_of(kinds, pick)(changed)
    elif how == 5:
        return nx.relabel_nodes(changed, {node: _any_of(["other", 99, (0, 1, 1), 1.5], pick)})
    elif how == 6 and changed.graph:
        changed.graph = _mutated_dict(changed.graph, pick)
    elif how in (7, 8) and edges and changed.edges[_any_of(edges, pick)]:
        data = changed.edges[_any_of(edges, pick)]
        kept = _mutated_dict(data, pick) if data else {}
        data.clear()
        data.update(kept)
    else:
        data = changed.nodes[node]
        kept = _mutated_dict(data, pick) if data else {"pos": _any_of(junk(), pick)}
        data.clear()
        data.update(kept)
    return changed


# -- files -----------------------------------------------------------------------------------


def damage(folder, pick, outside=None):
    """Damage a folder of files: a byte, a cut, another file or table, or what is no file.

    Parameters
    ----------
    folder : Path
        The folder.
    pick : callable
        ``pick(n)`` chooses a number from 0 to n - 1.
    outside : Path, optional
        Another folder, to which links lead.
    """
    # What is a link by now would be written to where it leads.
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    if not files:
        return
    path, how = _any_of(files, pick), pick(12)
    content = path.read_bytes()
    if how == 0:
        path.unlink()
    elif how == 1:
        path.write_bytes(content[: pick(len(content) + 1)])
    elif how == 2 and content:
        place = pick(len(content))
        path.write_bytes(content[:place] + bytes([pick(256)]) + content[place + 1 :])
    elif how == 3:
        path.unlink()
        path.mkdir()
    elif how == 4:
        shutil.copy(_any_of(files, pick), folder / "copy")
        (folder / "copy").replace(path)
    elif how == 5:
        texts = [b"", b"\xff\xfe", b"a,b\n1,2\n", b"[" * 100_000, b"\0" * 100, content + b"x"]
        texts += [b"# 1 files\n" + b"0" * 64 + b"  ../outside/thesis.txt\n"]
        path.write_bytes(_any_of(texts, pick))
    elif how == 6:
        targets = [
            "/dev/zero",
            "/proc/kmsg",
            "/dev/null",
            "/dev/stdin",
            path.name,
            "nowhere",
            "..",
            "/",
        ]
        path.unlink()
        path.symlink_to(_any_of(targets, pick))
    elif how == 7 and hasattr(os, "mkfifo"):
        path.unlink()
        os.mkfifo(path)
    elif how == 8 and outside is not None:
        parent = _any_of([each for each in path.parents if each.is_relative_to(folder)], pick)
        if parent == folder:
            path.unlink()
            path.symlink_to(outside / "thesis.txt")
        else:
            shutil.rmtree(parent)
            parent.symlink_to(outside)
    elif path.suffix == ".parquet":
        _rewrite(path, pick)


def lie(folder, pick):
    """Change the manifest or a table of results in a few places, and its checksum with it."""
    tables = [*folder.glob("*.csv"), *folder.glob("*.parquet")]
    path = _any_of([folder / "manifest.json", *sorted(tables)], pick)
    for _ in range(1 + pick(3)):
        if path.suffix == ".parquet":
            _rewrite(path, pick)
        elif path.suffix == ".csv":
            _mutated_table(pd.read_csv(path), pick).to_csv(path, index=False)
        else:
            held = _mutated_dict(json.loads(path.read_text("utf-8")), pick)
            with suppress(ValueError):  # a list that contains itself
                path.write_text(json.dumps(held, default=repr, skipkeys=True), "utf-8")
    for listing in folder.glob("*.sha256"):
        names = [line.split("  ", 1)[1] for line in listing.read_text().splitlines()[1:]]
        write_checksums(listing, [folder / name for name in names], folder)


def _rewrite(path, pick):
    """Write another table into a parquet file, with the same or other metadata."""
    try:
        table, how = pq.read_table(path), pick(6)
    except (OSError, pa.ArrowException):  # it has been damaged before
        return
    metadata = pq.read_metadata(path).metadata or {}
    if not len(table):
        return
    place = pick(len(table.schema))
    name = table.schema.names[place]
    column = table.column(place)
    if how == 0:
        table = table.append_column(name, column)
    elif how == 1:
        table = table.drop_columns([name])
    elif how == 2:
        values = column.to_pylist()
        values[pick(len(values))] = _any_of([None, -1, -5, 10**9, 0, 2**31 - 1, math.nan], pick)
        try:
            table = table.set_column(place, name, pa.array(values, column.type))
        except (pa.ArrowException, OverflowError, TypeError, ValueError):
            return
    elif how == 3:
        table = table.set_column(place, name, pa.array(["a"] * len(table)))
    elif how == 4:
        table = table.slice(0, pick(len(table)))
    elif b"hippocampal-replay" in metadata:
        about = json.loads(metadata[b"hippocampal-replay"])
        texts = ["[" * 100_000, "{}", "null", json.dumps(about | {"rows": 3}), "\0"]
        texts += [json.dumps(about | {"provenance": []}), json.dumps(about | {"schema": [1]})]
        metadata = {b"hippocampal-replay": _any_of(texts, pick)}
    pq.write_table(table.replace_schema_metadata(metadata), path)


# -- results ---------------------------------------------------------------------------------


def is_mdp(mdp):
    """Check what all else relies on, from the tables themselves."""
    n_rows = mdp.n_states * mdp.n_actions
    assert isinstance(mdp.name, str)
    assert all(isinstance(name, str) for name in mdp.action_names)
    assert mdp.successor_offset.shape == (n_rows + 1,)
    assert np.isfinite(mdp.reward).all()
    assert ((mdp.successor >= 0) & (mdp.successor < mdp.n_states)).all()
    total = np.bincount(mdp.transition_rows(), mdp.probability, n_rows)
    np.testing.assert_allclose(total, ~np.repeat(mdp.terminal, mdp.n_actions), atol=1e-9)
    assert mdp.start_probability.sum() == pytest.approx(1)
    assert not mdp.start_probability[mdp.terminal].any()
    assert mdp.position is None or np.isfinite(mdp.position).all()
    assert MDP.from_networkx(mdp.to_networkx()) == mdp or mdp.labels is not None


def is_protocol(protocol):
    assert protocol.n_steps >= len(protocol.phases)
    for phase in protocol.phases:
        is_mdp(phase.mdp)


def is_finite(rate):
    assert np.isfinite(rate)


def looked_at(log):
    """Have all columns of a log checked, which otherwise happens when one is first used."""
    for name in SCHEMA:
        log.columns(name)
    return log


def is_log(log):
    columns = {name: log.columns(name) for name in SCHEMA}
    for name in SCHEMA:
        assert len({len(column) for column in columns[name].values()}) == 1
        check_values(name, columns[name], columns["runs"])
        assert len(getattr(log, name)) == len(columns[name]["run"])
    classify(log)


def check_result(result):
    """Check what a public function made of its arguments, if it is a world, a log or a run."""
    if isinstance(result, Run):
        result = result.log
    if isinstance(result, EventLog):
        try:  # its tables are checked when they are first used
            looked_at(result)
        except ValueError as error:
            if not is_ours(error):
                raise
        else:
            is_log(result)
    elif isinstance(result, MDP):
        is_mdp(result)
    elif isinstance(result, Protocol):
        is_protocol(result)
    elif isinstance(result, Solution):
        assert np.isfinite(result.action_values).all()


# -- errors ----------------------------------------------------------------------------------


class TooSlow(BaseException):
    """An example took longer than it may."""


@contextmanager
def limited(seconds=SECONDS):
    """Interrupt what takes too much time of a processor, waits ten times as long, or takes 4 GB."""
    with _memory_limit(_MOST_BYTES), _time_limit(seconds):
        yield


@contextmanager
def _memory_limit(n_bytes):
    """Have whatever takes more memory than now by so many bytes end with a MemoryError, on Linux.

    What a process may address is not limited: compiled code and threads reserve much of that.
    """
    status = Path("/proc/self/status")
    if not status.exists():
        yield
        return
    import resource

    held = 1024 * int(re.search(r"VmData:\s*(\d+) kB", status.read_text())[1])
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (held + n_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


@contextmanager
def _time_limit(seconds):

    def stop(*_):
        raise TooSlow(f"after {seconds} s")

    if not hasattr(signal, "setitimer"):
        yield
        return
    timers = {
        signal.SIGPROF: (signal.ITIMER_PROF, seconds),
        signal.SIGALRM: (signal.ITIMER_REAL, 10 * seconds),
    }
    before = {number: signal.signal(number, stop) for number in timers}
    for timer, limit in timers.values():
        signal.setitimer(timer, limit)
    try:
        yield
    finally:
        for timer, _ in timers.values():
            signal.setitimer(timer, 0)
        for number, handler in before.items():
            signal.signal(number, handler)


def is_ours(error):
    """Tell an error that a `raise` statement of this project made, in a sentence."""
    if not isinstance(error, ValueError | TypeError | OSError):
        return False
    trace = error.__traceback__
    while trace.tb_next is not None:
        trace = trace.tb_next
    code = trace.tb_frame.f_code
    is_raised = code.co_code[trace.tb_lasti] == dis.opmap["RAISE_VARARGS"]
    path = Path(code.co_filename).resolve()
    is_here = any(path.is_relative_to(ROOT / package) for package in ("replay", "analyses"))
    text = str(error)
    return is_raised and is_here and " " in text and "\n" not in text and len(text) < 2000
