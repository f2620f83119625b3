"""The result folder of a study: its manifest, finished pieces, final tables and figures.

=============================  =============================================================
``manifest.json``              study, versions, options and seeds, from which the results can
                               be made again
``pieces/GROUP/N/*.parquet``   the tables of one piece
``pieces/GROUP/N.sha256``      checksums of these, and of other files that belong to the piece
``logs/EXPERIMENT/RUN/``       such files: whole event logs of a reproduction, with sequences
``mdps/EXPERIMENT.json``       the first world of each experiment of a reproduction
``*.csv, *.parquet``           the tables made from all pieces
``report.md``                  what was found, in words and tables
``*.nwb``, ``track.json``      the replay of a recording for other programs, and its track
``figures/``                   the figures made from these tables
``*.sha256``                   checksums of the manifest, the tables and the figures
``.lock``                      held by the process that writes
``.lock-I-of-N``               held by each process that makes the pieces of one part only
=============================  =============================================================

Each file is written under a temporary name and then renamed, and its checksum is written last. A
file without a checksum is unfinished, one that differs from its checksum is damaged, and both are
made again when the study is resumed. ``sha256sum --check *.sha256 pieces/*/*.sha256`` makes the
same check without this toolkit. A symbolic link in place of a file or folder counts as damage: the
link is removed, and its target stays.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any, BinaryIO, NamedTuple, NoReturn

import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from analyses.jobs.columns import TEXTS
from replay.checks import check_whole, shown
from replay.files import (
    check_path,
    damaged_files,
    exclusive,
    inside,
    is_leftover,
    read_file,
    read_table,
    remove_folder,
    remove_leftovers,
    replacing,
    write_checksums,
    write_csv,
)

_BEGIN_SECONDS = 60.0  # that a part waits for others that begin at the same time
_LOOK_SECONDS = 0.1
_TABLES = ("*.csv", "*.parquet", "*.md", "*.nwb", "track.json")
_PRODUCTS = {"tables": (*_TABLES, "mdps/[!.]*"), "figures": ("figures/[!.]*",)}
_WRITTEN = ("pieces", "logs", "mdps", "figures")
_DEEPEST = 8  # levels of folders, more than are ever written
_MOST_PIECES = 10_000_000


class Part(NamedTuple):
    """One of several parts of a study's pieces, from 1, which separate commands make."""

    number: int
    n_parts: int

    @property
    def lock(self) -> str:
        """The name of the file that its process locks."""
        return f".lock-{self.number}-of-{self.n_parts}"


class Status(NamedTuple):
    """The state of a result folder."""

    groups: pd.DataFrame  # group, n_pieces, n_done (and undamaged), n_damaged (files of the others)
    missing: list[str]  # pieces, and kinds of products (tables, figures), that are not made yet
    damaged: list[str]  # files that were damaged or removed after they were made


class Results:
    """A result folder, which need not exist yet.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results = Results(Path(folder) / "results")
    ...     with results.writing({"study": "mine", "pieces": {}}):
    ...         results.manifest()
    {'study': 'mine', 'pieces': {}}
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = check_path("The result folder", folder)
        self._before: dict[Path, tuple[int, int]] = {}

    @contextmanager
    def writing(
        self,
        manifest: dict[str, Any],
        on_damage: Callable[[str], None] = lambda name: None,
        part: Part | None = None,
    ) -> Iterator[None]:
        """Lock the folder, in order to write to it or to resume what it holds.

        With a part, other processes may make other parts at the same time: the whole folder is
        locked at the beginning only, and the first process at work puts it in order.

        `on_damage` is called with the name of each damaged file that is restored or will be made
        again; pieces are not checked yet.
        """
        with ExitStack() as stack:
            with self._explained():
                self._refuse_other_things()
                self.folder.mkdir(parents=True, exist_ok=True)
                beginning = stack.enter_context(ExitStack())
                # Others that make parts hold this lock only while they begin.
                end = monotonic() + (_BEGIN_SECONDS if part else 0.0)
                while True:
                    try:
                        beginning.enter_context(exclusive(self.folder / ".lock"))
                        break
                    except BlockingIOError:
                        if monotonic() >= end:
                            raise
                        sleep(_LOOK_SECONDS)
                is_alone = True
                for path in self.folder.glob(".lock-*-of-*"):
                    try:
                        with exclusive(path):
                            pass
                        path.unlink()  # its process has ended
                    except BlockingIOError:
                        is_alone = False
                if part:
                    stack.enter_context(exclusive(self.folder / part.lock))
                elif not is_alone:
                    raise BlockingIOError
                self._keep_manifest(manifest, on_damage, is_alone)
                if is_alone:
                    self._put_in_order(on_damage)
                if part:
                    beginning.close()
                # Tables and figures are made again from all pieces: their checksums go.
                for name in () if part else _PRODUCTS:
                    listing = self.folder / f"{name}.sha256"
                    for damaged in self._damaged(listing):
                        on_damage(damaged)
                    if listing.is_dir() and not listing.is_symlink():
                        listing.rmdir()
                    else:
                        listing.unlink(missing_ok=True)
                    self._before |= {path: _stamp(path) for path in self._products(name)}
            yield

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Say what an error of the system means for the folder."""
        try:
            yield
        except BlockingIOError as error:
            raise BlockingIOError(
                f"Another command is writing to {self.folder}. Wait until it has finished, or "
                "choose another folder with --out."
            ) from error
        except OSError as error:
            # What this project raises is a sentence without a number; commands tell of a full disk.
            if error.errno in (None, errno.ENOSPC):
                raise
            raise type(error)(
                f"{shown(error.filename or str(self.folder))} cannot be written: {error.strerror}. "
                "Choose another folder, perhaps on another disk, with --out."
            ) from error

    def _put_in_order(self, on_damage: Callable[[str], None]) -> None:
        """Remove what killed processes left, and symbolic links in place of what was written."""
        found = list(self.folder.iterdir())
        level = [path for path in found if path.name in _WRITTEN]
        # Nothing is written deeper, a foreign folder may be too deep to be listed, and no link is
        # followed.
        for _ in range(_DEEPEST):
            folders = (path for path in level if path.is_dir() and not path.is_symlink())
            level = [path for folder in folders for path in folder.iterdir()]
            found += level
        for path in sorted(found):
            is_inside = path.parent != self.folder
            if path.is_symlink() and (is_inside or any(map(path.match, (*_WRITTEN, *_TABLES)))):
                if path.is_dir():  # links to files are found by their checksums
                    on_damage(path.relative_to(self.folder).as_posix())
                path.unlink()
        remove_leftovers(sorted(found))

    def check_place(self, study: str, command: str) -> None:
        """Refuse a folder that cannot hold the results of a study, before any work is done.

        Nothing is written. Whether the folder holds this very run is checked by `writing`.
        """
        folder = self.folder.absolute()
        with self._explained():
            self._refuse_other_things()
            nearest = next(path for path in (folder, *folder.parents) if path.exists())
            if not nearest.is_dir():
                raise NotADirectoryError(errno.ENOTDIR, f"{nearest} is a file")
            if not os.access(nearest, os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, f"no permission to write to {nearest}")
        with suppress(FileNotFoundError, ValueError):  # damaged manifests are restored later
            held = self.manifest()
            if held.get("study") != study and self._is_anything_done():
                self._refuse(held, {"study": study, "command": command})

    def _refuse_other_things(self) -> None:
        if not self.folder.exists():
            return
        if not self.folder.is_dir():
            raise FileExistsError(f"{self.folder} is a file. Choose a folder with --out.")
        paths = [path for path in self.folder.iterdir() if not is_leftover(path)]
        names = {path.name for path in paths if not path.name.startswith(".lock")}
        if not names or "manifest.sha256" in names:
            return
        try:  # other programs have manifests, too
            found = json.loads(self._content(self.folder / "manifest.json"))
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict) or "study" not in found:
            raise FileExistsError(
                f"{self.folder} already exists but holds no results. Choose another folder with "
                "--out."
            )

    def _keep_manifest(
        self, manifest: Mapping[str, Any], on_damage: Callable[[str], None], is_alone: bool
    ) -> None:
        content = (json.dumps(manifest, indent=1) + "\n").encode()
        path, listing = self.folder / "manifest.json", self.folder / "manifest.sha256"
        digest = hashlib.sha256(content).hexdigest()
        if path.is_symlink() or not path.exists() or self._content(path) != content:
            if digest.encode() in self._content(listing):
                on_damage(path.name)
            elif path.exists() and is_alone and not self._is_anything_done():
                for name in ("pieces", "logs"):  # left by a run that ended before its first piece
                    if (self.folder / name).is_dir() and not (self.folder / name).is_symlink():
                        remove_folder(self.folder / name)
            elif path.exists() and (held := self.manifest()) != (wanted := json.loads(content)):
                self._refuse(held, wanted)
            with replacing(path) as beside:
                beside.write_bytes(content)
        write_checksums(listing, [path], self.folder)

    @staticmethod
    def _content(path: Path) -> bytes:
        """Read a file; what is missing, or no file, has no content."""
        try:
            return b"" if path.is_symlink() else read_file(path)
        except (OSError, ValueError):
            return b""

    def _refuse(self, held: dict[str, Any], wanted: dict[str, Any]) -> NoReturn:
        """Explain why the run in the folder cannot be resumed."""
        what_to_do = "Choose another folder with --out, or remove this one."
        if held.get("study") != wanted.get("study"):
            raise FileExistsError(
                f"{self.folder} holds results of {held.get('command', 'another command')}, and "
                f"this is {wanted.get('command', 'another one')}. {what_to_do}"
            )
        keys, one, other = _difference(held, wanted)
        if keys == ("sources",):
            raise FileExistsError(
                f"{self.folder} was begun with other source files of this toolkit, whose results "
                "may differ. Resume it with the version that began it, choose another folder with "
                "--out, or remove this one."
            )
        raise FileExistsError(
            f"{self.folder} holds another run ({' '.join(keys)} is {one} there and {other} here). "
            f"{what_to_do}"
        )

    def _is_anything_done(self) -> bool:
        listings = ("pieces/*/*.sha256", *(f"{name}.sha256" for name in _PRODUCTS))
        return any(found for pattern in listings for found in self.folder.glob(pattern))

    def _products(self, products: str) -> list[Path]:
        found = (path for each in _PRODUCTS[products] for path in self.folder.glob(each))
        return [path for path in found if path.is_file() or path.is_symlink()]

    def _damaged(self, listing: Path) -> list[str]:
        """List the files of a listing that are damaged, missing, or replaced by a link."""
        try:
            return damaged_files(listing, self.folder)
        except FileNotFoundError:
            return []

    def manifest(self) -> dict[str, Any]:
        """Read the manifest."""
        path = self.folder / "manifest.json"
        if not path.is_file():
            raise FileNotFoundError(
                f"{self.folder} is not a result folder: it has no manifest.json. Name a folder "
                "that a command such as replay recording or replay reproduce wrote with --out."
            )
        try:
            if not self._damaged(self.folder / "manifest.sha256"):
                found = json.loads(read_file(inside(self.folder, path.name)))
                if isinstance(found, dict):
                    return found
        except (ValueError, RecursionError):
            pass
        raise ValueError(
            f"{path} is damaged. Run the command that made it again with the same options, which "
            "restores it, or make the results again in another folder."
        )

    def keep_piece(self, group: str, index: int, files: Mapping[str, bytes | Path]) -> None:
        """Write the files of a piece and their checksums, which mark it as finished.

        `files` maps places in the folder to contents, or to files that are moved there.
        """
        for name, content in files.items():
            with replacing(inside(self.folder, name)) as beside:
                if isinstance(content, bytes):
                    beside.write_bytes(content)
                else:
                    shutil.move(content, beside)
        write_checksums(
            self._listing(group, index), [self.folder / name for name in files], self.folder
        )

    def is_finished(self, group: str, index: int) -> bool:
        """Whether a piece was finished, even if it has been damaged since."""
        return self._listing(group, index).exists()

    def damaged(self, group: str, index: int) -> list[str]:
        """List the files of a finished piece that are damaged or missing."""
        return self._damaged(self._listing(group, index))

    def _listing(self, group: str, index: int) -> Path:
        return self.folder / "pieces" / group / f"{index}.sha256"

    def finish(self, products: str) -> None:
        """Write the checksums of ``"tables"`` or ``"figures"``, which mark them as made.

        Others that were there before, such as a user's own table, are not among them.
        """
        made = [path for path in self._products(products) if _stamp(path) != self._before.get(path)]
        write_checksums(self.folder / f"{products}.sha256", made, self.folder)

    def status(self) -> Status:
        """Check all files of the folder, even while another process writes to it."""
        rows, missing, damaged = [], [], []
        for group, n_pieces in self._groups().items():
            folder = f"pieces/{group}"
            names = [f"{folder}/{index}" for index in range(n_pieces)]
            there = {path.name for path in (self.folder / folder).glob("*.sha256")}
            made = [name for name in names if f"{name.rpartition('/')[2]}.sha256" in there]
            broken = {name: self._damaged(self.folder / f"{name}.sha256") for name in made}
            missing += [name for name in names if name not in broken]
            damaged += [file for files in broken.values() for file in files]
            n_done = sum(not files for files in broken.values())
            rows.append((group, n_pieces, n_done, sum(map(len, broken.values()))))
        for products in _PRODUCTS:
            if (self.folder / f"{products}.sha256").exists():
                damaged += self._damaged(self.folder / f"{products}.sha256")
            else:
                missing.append(products)
        columns = ["group", "n_pieces", "n_done", "n_damaged"]
        return Status(pd.DataFrame(rows, columns=columns), missing, damaged)

    def _groups(self) -> dict[str, int]:
        found = self.manifest().get("pieces")
        if not isinstance(found, dict):
            raise ValueError(
                f"The manifest of {self.folder} names no pieces. Make the results again in another "
                "folder."
            )
        for group, n_pieces in found.items():
            inside(self.folder, f"pieces/{group}")
            check_whole(f"The number of pieces of {shown(group)}", n_pieces, at_most=_MOST_PIECES)
        check_whole(
            f"The number of pieces of {self.folder}", sum(found.values()), at_most=_MOST_PIECES
        )
        return found

    def read_pieces(self, table: str, group: str | None = None) -> pd.DataFrame:
        """Read one table of all pieces, joined in order."""
        wanted = {name: n for name, n in self._groups().items() if group in (None, name)}
        tables = [
            self.read_piece(table, name, index) for name, n in wanted.items() for index in range(n)
        ]
        return pd.concat(tables, ignore_index=True)

    def read_piece(self, table: str, group: str, index: int) -> pd.DataFrame:
        """Read one table of one piece."""
        path = inside(self.folder, f"pieces/{group}/{index}/{table}.parquet")
        try:
            return read_table(path)
        except (OSError, ValueError) as error:
            raise ValueError(
                f"{path} is missing or damaged ({error}) Run the command that made the folder "
                "again with the same options: only this piece is made again."
            ) from error

    def check_tables(self) -> None:
        """Refuse tables that were changed since they were made, or that are not complete."""
        listing = self.folder / "tables.sha256"
        damaged = self._damaged(listing)
        if not damaged and listing.exists():
            return
        what = f"{', '.join(damaged[:3])} is damaged or missing" if damaged else "is not finished"
        raise ValueError(
            f"{self.folder}: {what}. Run the command that made the folder again with the same "
            "options, which makes its tables and figures again."
        )

    def write(self, name: str, table: pd.DataFrame) -> None:
        """Write a table as CSV or Parquet."""
        with replacing(self.folder / name) as beside:
            write_table(table, beside, csv=name.endswith(".csv"))

    def read(self, name: str) -> pd.DataFrame:
        """Read a table; names are text, even if they look like numbers."""
        path = inside(self.folder, name)
        if not path.exists():
            raise FileNotFoundError(
                f"{path} is missing: the command that makes it was interrupted, or stored no log. "
                "To resume, run it again with the same options."
            )
        return read_table(path, TEXTS)


def _stamp(path: Path) -> tuple[int, int]:
    """Return what changes when a file is replaced, even by the same bytes."""
    found = path.lstat()
    return found.st_ino, found.st_mtime_ns


def write_table(table: pd.DataFrame, path: Path | BinaryIO, csv: bool = False) -> None:
    """Write a table as Parquet, or as CSV with twelve digits; equal tables give equal bytes."""
    if csv:
        write_csv(table, path)
    else:
        table.to_parquet(path, index=False, compression="zstd")


def write_parts(parts: Iterable[pd.DataFrame], path: Path) -> None:
    """Write a table that is produced in parts as one Parquet file."""
    writer = None
    try:
        for part in parts:
            empty = part
            if writer is None and len(part):
                schema = pa.Schema.from_pandas(part, preserve_index=False)
                writer = parquet.ParquetWriter(path, schema, compression="zstd")
            if writer is not None and len(part):
                writer.write_table(pa.Table.from_pandas(part, schema, preserve_index=False))
        if writer is None:
            write_table(empty, path)
    finally:
        if writer is not None:
            writer.close()


def _difference(
    held: dict[str, Any], wanted: dict[str, Any], within: tuple[str, ...] = ()
) -> tuple[tuple[str, ...], object, object]:
    """Find the first difference of two unequal manifests: its keys, and both values."""
    key = next(
        key
        for key in {**held, **wanted}
        if key not in held or key not in wanted or held[key] != wanted[key]
    )
    one, other = held.get(key), wanted.get(key)
    if isinstance(one, dict) and isinstance(other, dict):
        return _difference(one, other, (*within, key))
    return (*within, key), one, other
