"""Event logs on disk: a folder with one parquet file per table, and ``world.json``, the world.

If moves of the world are closed for some time, ``closed.json`` lists them. A folder is written
under a temporary name next to its place and renamed when it is complete; an empty folder that is
there is filled with files that are complete. Each file holds the version of the schema, the
provenance of the log and its number of rows, so that a damaged, truncated or foreign file is
recognised. The same log gives the same bytes.
"""

import json
import os
import shutil
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from replay.checks import shown
from replay.files import check_path, opened_parquet, read_file
from replay.log.backups import PHASES
from replay.log.schema import SCHEMA, Columns, check_values, schema_of
from replay.log.worlds import ClosedMoves, check_closed, mdp_from_json, mdp_to_json
from replay.worlds.mdp import MDP

_VERSION = 1
_KEY = b"hippocampal-replay"
_WORLD = "world.json"
_CLOSED = "closed.json"
_OF_FILES = {".csv", ".feather", ".h5", ".json", ".npz", ".parquet", ".pickle", ".pkl", ".xlsx"}
_NAME_KEPT = 100  # letters of a folder's name that are kept in its temporary name
_COUNTERS = ("step", "event", "index", "pop", "cause")  # columns whose differences are small


class LogError(ValueError):
    """The folder does not hold a complete event log of this version."""


class LogFileWriter:
    """Writes a log part by part; made by `writing`.

    `provenance`, `world`, and `closed` (step -> the moves that are closed from then on) are to be
    set before the end.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, pq.ParquetWriter] = {}
        self._n_rows: dict[str, int] = {}
        self.provenance: Mapping[str, Any] | None = None
        self.world: MDP | None = None
        self.closed: ClosedMoves = {}

    def write(self, tables: Mapping[str, Columns], whole: bool = False) -> None:
        """Add rows to some tables."""
        for name, columns in tables.items():
            if name not in self._files:
                full = schema_of(name, columns)
                counters = [column for column in full.names if column in _COUNTERS]
                self._files[name] = pq.ParquetWriter(
                    self._folder / f"{name}.parquet",
                    full,
                    compression="zstd",
                    use_dictionary=[column for column in full.names if column not in counters],
                    column_encoding=dict.fromkeys(counters, "DELTA_BINARY_PACKED"),
                    write_page_checksum=True,
                )
            schema = self._files[name].schema
            arrays = [
                pa.DictionaryArray.from_arrays(columns[field.name], list(PHASES))
                if pa.types.is_dictionary(field.type)
                else pa.array(columns[field.name], type=field.type)
                for field in schema
            ]
            if len(arrays[0]) or name not in self._n_rows:
                table = pa.Table.from_arrays(arrays, schema=schema)
                self._files[name].write_table(table, len(table) if whole and len(table) else None)
                self._n_rows[name] = self._n_rows.get(name, 0) + len(arrays[0])

    def finish(self) -> None:
        """Write provenance, world and closed moves, and close the files."""
        provenance = dict(self.provenance or {})
        about = {"schema": _VERSION, "rows": self._n_rows, "provenance": provenance}
        beside: dict[str, bytes] = {}
        if self.world is not None:
            beside[_WORLD] = mdp_to_json(self.world).encode()
        if self.closed:
            beside[_CLOSED] = json.dumps(dict(self.closed)).encode()
        if beside:
            about["sha256"] = {name: sha256(text).hexdigest() for name, text in beside.items()}
        for name, content in beside.items():
            (self._folder / name).write_bytes(content)
        for name, file in self._files.items():
            try:
                # Sorted, as equal logs have equal bytes.
                text = json.dumps(about | {"table": name}, sort_keys=True)
            except (TypeError, ValueError, RecursionError) as error:
                raise TypeError(
                    f"The provenance of a log must be writable as JSON: {error}."
                ) from error
            file.add_key_value_metadata({_KEY: text})
            file.close()

    def discard(self) -> None:
        """Close the files, complete or not."""
        for file in self._files.values():
            with suppress(OSError):
                file.close()


@contextmanager
def writing(folder: str | os.PathLike[str]) -> Iterator[LogFileWriter]:
    """Write a log part by part, either completely or not at all."""
    folder = check_path("folder", folder).absolute()
    if folder.suffix.lower() in _OF_FILES:
        raise ValueError(
            f"A log is a folder of several files: give it a name such as {folder.stem!r}, not "
            f"{folder.name!r}, which is the name of a file."
        )
    # A folder that is there is filled, never replaced: a process may stand in it.
    room = folder if folder.is_dir() else folder.parent
    beside = room / f".{folder.name[:_NAME_KEPT]}.{uuid.uuid4().hex}"
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise FileExistsError(
                f"{folder} exists already and is not empty. Remove it or choose another folder."
            )
        beside.mkdir(parents=True)
        writer = LogFileWriter(beside)
        try:
            yield writer
            writer.finish()
        finally:
            writer.discard()
        if room == folder:
            for file in sorted(beside.iterdir()):
                file.rename(folder / file.name)
        else:
            beside.rename(folder)
    except FileExistsError:
        raise
    except OSError as error:
        raise OSError(
            f"The log could not be written to {folder}: {error}. Nothing was left there; "
            "make room or choose another folder."
        ) from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def read(folder: str | os.PathLike[str]) -> tuple[dict[str, Columns], dict[str, Any]]:
    """Read the complete tables of a log that `writing` wrote, and its provenance.

    A `LogError` names the file that is missing, damaged, foreign, of another version, or lacks a
    column.
    """
    folder = check_path("folder", folder)
    if not os.path.isdir(folder):  # noqa: PTH112 (a name that is too long is none either)
        raise LogError(f"{folder} is not a folder. An event log is a folder with {_files()}.")
    tables: dict[str, Columns] = {}
    abouts = {}
    for name in SCHEMA:
        path = folder / f"{name}.parquet"
        if not path.exists():
            raise LogError(f"{path} is missing. An event log is a folder with {_files()}.")
        with _opened(path, name) as (file, about, schema):
            table = file.read(columns=schema.names)
        if table.num_rows != about["rows"][name]:
            raise LogError(
                f"{path} has {table.num_rows} rows instead of {about['rows'][name]}. "
                "Make the log again, or fetch the file again."
            )
        tables[name] = {column: _column(path, table, column) for column in schema.names}
        abouts[name] = about
        try:
            check_values(name, tables[name], tables["runs"])
        except ValueError as error:
            raise LogError(f"{path} cannot be read: {error} Make the log again.") from error
    for name, about in abouts.items():
        if about != abouts["runs"]:
            raise LogError(
                f"{folder / name}.parquet and {folder / 'runs'}.parquet belong to different logs. "
                "Copy all files of one log together."
            )
    return tables, abouts["runs"]["provenance"]


def read_world(folder: str | os.PathLike[str]) -> MDP | None:
    """Read the world of a log."""
    path = check_path("folder", folder) / _WORLD
    try:
        return mdp_from_json(_unchanged(path))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise LogError(
            f"{path} holds no world ({str(error).rstrip('.')}). Fetch the file again, or remove "
            "it: the log can be read without it, but then has no positions."
        ) from error


def read_closed(folder: str | os.PathLike[str], world: MDP | None) -> ClosedMoves:
    """Read when moves are closed.

    Return step -> the moves that are closed from then on; empty if none ever is.
    """
    path = check_path("folder", folder) / _CLOSED
    try:
        found = json.loads(_unchanged(path))
        if not isinstance(found, dict):
            raise TypeError(f"expected a JSON object, got {shown(found)}.")
        return check_closed({int(step): moves for step, moves in found.items()}, world)
    except FileNotFoundError:
        return {}
    except (OSError, TypeError, ValueError, RecursionError) as error:
        raise LogError(
            f"{path} holds no closed moves of this log ({str(error).rstrip('.')}). Fetch the file "
            "again, or remove it: the log can be read without it, but then no walls move."
        ) from error


def _unchanged(path: Path) -> bytes:
    """Read a file beside the tables, and check its digest; logs of old versions have none."""
    content = read_file(path)
    tables = path.with_name("runs.parquet")
    with suppress(OSError, pa.ArrowException), opened_parquet(tables) as file:
        about = _about(tables, "runs", file.metadata.metadata)
        kept = about.get("sha256", {}).get(path.name)
        if kept is not None and kept != sha256(content).hexdigest():
            raise LogError("it has changed since the log was written")
    return content


def _files() -> str:
    return ", ".join(f"{name}.parquet" for name in SCHEMA)


def parts(folder: str | os.PathLike[str], name: str) -> Iterator[Columns]:
    """Read a table of a log part by part, as it was written, all columns of each."""
    path = check_path("folder", folder) / f"{name}.parquet"
    with _opened(path, name) as (file, _, _):
        for number in range(file.num_row_groups):
            table = file.read_row_group(number, columns=SCHEMA[name].names)
            yield {field.name: _column(path, table, field.name) for field in SCHEMA[name]}


def beginning(
    folder: str | os.PathLike[str], n_rows: int
) -> tuple[dict[str, Columns], dict[str, Any]]:
    """Read the beginning of a log of one run, without reading all of it.

    At least `n_rows` steps, and the backups made in them: files are read in groups of rows.
    """
    tables: dict[str, Columns] = {}
    last_steps = []
    for name in SCHEMA:
        read: list[Columns] = []
        for part in parts(folder, name):
            read.append(part)
            if sum(len(each["run"]) for each in read) >= n_rows:
                break
        if read:
            joined = {key: np.concatenate([each[key] for each in read]) for key in read[0]}
            tables[name] = joined
            if name != "runs" and len(joined["step"]) >= n_rows:
                last_steps.append(int(joined["step"][-1]) - 1)  # the last step may be incomplete
    if last_steps:
        for name in tables.keys() - {"runs"}:
            kept = tables[name]["step"] <= min(last_steps)
            tables[name] = {key: column[kept] for key, column in tables[name].items()}
    with _opened(Path(folder) / "runs.parquet", "runs") as (_, about, _):
        return tables, about["provenance"]


@contextmanager
def _opened(path: Path, name: str) -> Iterator[tuple[pq.ParquetFile, dict[str, Any], pa.Schema]]:
    """Open a file of a log; any error becomes a `LogError`."""
    try:
        with opened_parquet(path) as file:
            about = _about(path, name, file.metadata.metadata)
            schema = schema_of(name, file.schema_arrow.names)
            found = file.schema_arrow
            for field in schema:
                if found.names.count(field.name) != 1:
                    what = (
                        "lacks the column {!r}"
                        if field.name not in found.names
                        else "has {!r} twice"
                    )
                    raise LogError(f"{path} {what.format(field.name)}. Make the log again.")
                kind = found.field(field.name).type
                # Parquet keeps the type of a dictionary column, but not the width of its indices.
                same = pa.types.is_dictionary(kind) and kind.value_type == pa.string()
                if kind != field.type and not (pa.types.is_dictionary(field.type) and same):
                    raise LogError(
                        f"The column {field.name!r} of {path} must be {field.type}, found {kind}. "
                        "Make the log again."
                    )
            yield file, about, schema
    except LogError:
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError, TypeError, MemoryError) as error:
        raise LogError(
            f"{path} is damaged, truncated or not a parquet file ({' '.join(str(error).split())}). "
            "Make the log again, or fetch the file again."
        ) from error


def _about(path: Path, name: str, metadata: Mapping[bytes, bytes] | None) -> dict[str, Any]:
    try:
        about = json.loads((metadata or {})[_KEY])
        table = about.pop("table")
        version, _, _ = about["schema"], about["provenance"], about["rows"][name]
        if not all(
            isinstance(about.get(key, {}), dict) for key in ("provenance", "rows", "sha256")
        ):
            raise TypeError
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        raise LogError(
            f"{path} is a parquet file, but not of an event log: it was not written by "
            "EventLog.save. Make an EventLog of its columns and save that."
        ) from None
    if version != _VERSION:
        raise LogError(
            f"{path} has schema version {version}, this toolkit reads version {_VERSION}. "
            "Read it with the toolkit that wrote it, or make the log again."
        )
    if table != name:
        raise LogError(f"{path} holds the table {table!r}. Rename it to {table}.parquet.")
    return dict(about)


def _column(path: Path, table: pa.Table, name: str) -> NDArray[Any]:
    column = table.column(name)
    if column.null_count:
        raise LogError(f"The column {name!r} of {path} has empty cells. Make the log again.")
    if not pa.types.is_dictionary(column.type):
        values: NDArray[Any] = column.to_numpy()
        return values
    numbers = pc.index_in(column.cast(pa.string()), value_set=pa.array(PHASES))
    if numbers.null_count:
        raise LogError(
            f"The column {name!r} of {path} holds other phases than {', '.join(PHASES)}. "
            "Make the log again."
        )
    phases: NDArray[np.int8] = numbers.to_numpy().astype(np.int8)
    return phases
