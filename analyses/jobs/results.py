"""The folder of a reproduction: what was asked for, what is done, and the tables made of it.

==============================  ============================================================
``manifest.json``               versions, sizes, seeds and parameters: enough to make it again
``pieces/EXPERIMENT/N.parquet`` one world: reward rates of every run in it
``pieces/EXPERIMENT/N.counts``  how often its learners replayed what (parquet too)
``pieces/EXPERIMENT/N.sha256``  checksums of these files and of the logs that belong to them
``logs/EXPERIMENT/RUN/``        whole event logs of the runs that were kept, with their sequences
``mdps/EXPERIMENT.json``        the first world of each experiment
``*.csv, *.parquet``            the tables made of all pieces
``figures/``                    the figures made of these tables
``*.sha256``                    checksums of the manifest, the tables and the figures
``.lock``                       held by the process that writes
==============================  ============================================================

Each file is written beside its place and moved there, and its checksum is written last: what has
no checksum is not done, what differs from it is damaged, and both are made again when the
reproduction goes on. ``sha256sum --check *.sha256 pieces/*/*.sha256`` does the same without us.
"""

import errno
import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa
from pyarrow import parquet

from replay.files import (
    damaged_files,
    exclusive,
    is_leftover,
    remove_leftovers,
    replacing,
    write_checksums,
)

__all__ = ["Results", "Status", "write_parts", "write_table"]

_PRODUCTS = {"tables": ("*.csv", "*.parquet", "mdps/[!.]*"), "figures": ("figures/[!.]*",)}
_WRITTEN = (".*", "pieces/*/.*", "logs/*/.*", "logs/*/*/.*", "mdps/.*", "figures/.*")
_READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS)
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


class Status(NamedTuple):
    """What there is of a reproduction.

    Attributes
    ----------
    experiments : pandas.DataFrame
        Columns `experiment, n_pieces, n_done, n_logs, n_damaged`: pieces in all, those done and
        whole, logs kept of these, and damaged files of the others.
    missing : list of str
        What is not made yet.
    damaged : list of str
        Files that are damaged or gone since they were made.
    """

    experiments: pd.DataFrame
    missing: list[str]
    damaged: list[str]


class Results:
    """A result folder.

    Parameters
    ----------
    folder : path
        Where it is, or will be.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results = Results(Path(folder) / "results")
    ...     with results.writing({"seed": 0}):
    ...         results.manifest()
    {'seed': 0}
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    @contextmanager
    def writing(
        self, manifest: dict[str, Any], on_damage: Callable[[str], None] = lambda name: None
    ) -> Iterator[None]:
        """Take possession of the folder, or go on with what it holds; no other process may.

        Parameters
        ----------
        manifest : dict
            What is to be made; goes into JSON.
        on_damage : callable, optional
            Called with the name of each damaged file that was put right or will be made anew;
            pieces are not looked at yet.

        Raises
        ------
        FileExistsError
            If the folder holds something else.
        BlockingIOError
            If another process is writing to it.
        OSError
            If it is read-only, or its file system knows no locks.
        ValueError
            If the manifest is damaged, and is not that of this run.
        """
        with ExitStack() as stack:
            try:
                self._refuse_other_things()
                self.folder.mkdir(parents=True, exist_ok=True)
                stack.enter_context(exclusive(self.folder / ".lock"))
                self._keep_manifest(json.dumps(manifest, indent=1) + "\n", on_damage)
                for pattern in _WRITTEN:
                    remove_leftovers(self.folder.glob(pattern))
                self._forget_products(on_damage)
            except OSError as error:
                if message := self._explain(error):
                    raise type(error)(message) from error
                raise
            yield

    def _refuse_other_things(self) -> None:
        if not self.folder.exists():
            return
        if not self.folder.is_dir():
            raise FileExistsError(f"{self.folder} is a file. Choose a folder with --out.")
        names = {path.name for path in self.folder.iterdir() if not is_leftover(path)} - {".lock"}
        if names and names.isdisjoint({"manifest.json", "manifest.sha256"}):
            raise FileExistsError(
                f"{self.folder} exists already and holds no results. Choose another folder with "
                "--out."
            )

    def _explain(self, error: OSError) -> str | None:
        if isinstance(error, BlockingIOError):
            return (
                f"Another command is writing to {self.folder} now. Wait until it is done, or "
                "choose another folder with --out."
            )
        if error.errno in _READ_ONLY:
            return f"{self.folder} cannot be written to ({error}). Choose another with --out."
        if error.errno in _NO_LOCKS:
            return (
                f"The file system of {self.folder} knows no locks ({error}), so two commands at "
                "once could spoil it. Choose a folder on another disk with --out, and move it here "
                "when it is done."
            )
        return None

    def _keep_manifest(self, text: str, on_damage: Callable[[str], None]) -> None:
        path, listing = self.folder / "manifest.json", self.folder / "manifest.sha256"
        digest = hashlib.sha256(text.encode()).hexdigest()
        if not path.exists() or path.read_bytes() != text.encode():
            if listing.exists() and digest in listing.read_text(errors="replace"):
                on_damage(path.name)
            elif path.exists() and not self._is_anything_done():
                for name in ("pieces", "logs"):  # that run ended before anything of it was done
                    shutil.rmtree(self.folder / name, ignore_errors=True)
            elif path.exists():
                difference = _difference(self.manifest(), json.loads(text))
                raise FileExistsError(
                    f"{self.folder} holds another run ({difference}). Choose another folder with "
                    "--out, or remove this one."
                )
            with replacing(path) as beside:
                beside.write_bytes(text.encode())
        write_checksums(listing, [path], self.folder)

    def _is_anything_done(self) -> bool:
        listings = ("pieces/*/*.sha256", *(f"{name}.sha256" for name in _PRODUCTS))
        return any(found for pattern in listings for found in self.folder.glob(pattern))

    def _forget_products(self, on_damage: Callable[[str], None]) -> None:
        """Count tables and figures as not made, because they will be made of all pieces again."""
        for name in _PRODUCTS:
            listing = self.folder / f"{name}.sha256"
            for damaged in self._damaged(listing):
                on_damage(damaged)
                (self.folder / damaged).unlink(missing_ok=True)
            listing.unlink(missing_ok=True)

    def _damaged(self, listing: Path) -> list[str]:
        try:
            return damaged_files(listing, self.folder)
        except FileNotFoundError:
            return []

    def manifest(self) -> dict[str, Any]:
        """Read what is made here.

        Raises
        ------
        FileNotFoundError
            If this is no result folder.
        ValueError
            If the manifest is damaged.
        """
        path = self.folder / "manifest.json"
        if not path.is_file():
            raise FileNotFoundError(
                f"{self.folder} is no result folder: it has no manifest.json. Make one with "
                f"replay reproduce --out {self.folder}."
            )
        try:
            if not self._damaged(self.folder / "manifest.sha256"):
                return json.loads(path.read_bytes())
        except ValueError:
            pass
        raise ValueError(
            f"{path} is damaged. The replay reproduce command that made it, with the same options, "
            "puts it right; or make the results again in another folder."
        )

    def piece(self, experiment: str, index: int) -> Path:
        """Name the file of one world."""
        return self.folder / "pieces" / experiment / f"{index}.parquet"

    def counts(self, experiment: str, index: int) -> Path:
        """Name the file of what was replayed in one world."""
        return self.piece(experiment, index).with_suffix(".counts")

    def log(self, experiment: str, learner: str, index: int, run: int) -> Path:
        """Name the folder of one whole event log."""
        return self.folder / "logs" / experiment / f"{learner}-{index}-{run}"

    def finish_piece(self, experiment: str, index: int) -> None:
        """Count one world as done, its file and logs being in place."""
        logs = self._logs_of(experiment, {index})
        files = [path for log in logs for path in log.glob("[!.]*")]
        files.append(self.piece(experiment, index))
        files += [path for path in [self.counts(experiment, index)] if path.exists()]
        write_checksums(self._listing(experiment, index), files, self.folder)

    def write_piece(self, experiment: str, index: int, table: pd.DataFrame) -> None:
        """Write what came of one world, and count it as done."""
        with replacing(self.piece(experiment, index)) as beside:
            write_table(table, beside)
        self.finish_piece(experiment, index)

    def is_finished(self, experiment: str, index: int) -> bool:
        """Tell whether one world was done, damaged since or not."""
        return self._listing(experiment, index).exists()

    def damaged(self, experiment: str, index: int) -> list[str]:
        """Name the files of one finished world that are damaged or gone, its logs included."""
        return self._damaged(self._listing(experiment, index))

    def finish(self, products: str) -> None:
        """Count all ``"tables"`` or all ``"figures"`` as made."""
        files = [path for each in _PRODUCTS[products] for path in self.folder.glob(each)]
        write_checksums(self.folder / f"{products}.sha256", files, self.folder)

    def status(self) -> Status:
        """Look through the folder; another process may be writing to it.

        Raises
        ------
        FileNotFoundError
            If this is no result folder.
        ValueError
            If the manifest is damaged.
        """
        manifest = self.manifest()
        rows, missing, damaged = [], [], []
        for name in manifest["experiments"]:
            worlds = range(manifest["n_mdps"][name])
            made = [index for index in worlds if self.is_finished(name, index)]
            broken = {index: self.damaged(name, index) for index in made}
            missing += [f"pieces/{name}/{index}.parquet" for index in worlds if index not in broken]
            damaged += [file for files in broken.values() for file in files]
            done = {index for index in made if not broken[index]}
            n_logs = len(self._logs_of(name, done))
            n_damaged = sum(map(len, broken.values()))
            rows.append((name, len(worlds), len(done), n_logs, n_damaged))
        for products in _PRODUCTS:
            if (self.folder / f"{products}.sha256").exists():
                damaged += self._damaged(self.folder / f"{products}.sha256")
            else:
                missing.append(products)
        columns = ["experiment", "n_pieces", "n_done", "n_logs", "n_damaged"]
        return Status(pd.DataFrame(rows, columns=columns), missing, damaged)

    def _logs_of(self, experiment: str, worlds: set[int]) -> list[Path]:
        names = {str(index) for index in worlds}
        return [
            path
            for path in self.logs(experiment)
            if not names.isdisjoint(path.name.split("-")[-2:-1])
        ]

    def _listing(self, experiment: str, index: int) -> Path:
        return self.piece(experiment, index).with_suffix(".sha256")

    def read_piece(self, experiment: str, index: int) -> pd.DataFrame:
        """Read what came of one world.

        Raises
        ------
        ValueError
            If the file is damaged.
        """
        return self._read(self.piece(experiment, index))

    def read_counts(self, experiment: str, index: int) -> pd.DataFrame:
        """Read what was replayed in one world.

        Raises
        ------
        ValueError
            If the file is damaged.
        """
        return self._read(self.counts(experiment, index))

    @staticmethod
    def _read(path: Path) -> pd.DataFrame:
        try:
            return pd.read_parquet(path)
        except (OSError, ValueError) as error:
            raise ValueError(
                f"{path} is damaged ({error}). Run the same command again: only this piece is made "
                "anew."
            ) from error

    def logs(self, experiment: str) -> list[Path]:
        """Name the folders of all event logs of an experiment."""
        return sorted((self.folder / "logs" / experiment).glob("[!.]*"))

    def write(self, name: str, table: pd.DataFrame) -> None:
        """Write a table, as CSV or parquet by its name."""
        with replacing(self.folder / name) as beside:
            write_table(table, beside, csv=name.endswith(".csv"))

    def read(self, name: str) -> pd.DataFrame:
        """Read a table.

        Raises
        ------
        FileNotFoundError
            If it has not been made.
        """
        path = self.folder / name
        if not path.is_file():
            raise FileNotFoundError(
                f"{path} is missing: the run was interrupted, or kept no log. Run replay reproduce "
                "with the same options again to go on."
            )
        return pd.read_csv(path) if name.endswith(".csv") else pd.read_parquet(path)


def write_table(table: pd.DataFrame, path: Path, csv: bool = False) -> None:
    """Write a table so that the same table gives the same bytes."""
    if csv:
        table.to_csv(path, index=False, float_format="%.12g", lineterminator="\n")
    else:
        table.to_parquet(path, index=False, compression="zstd")


def write_parts(parts: Iterable[pd.DataFrame], path: Path) -> None:
    """Write a table that comes part by part as parquet; parts of one kind, at least one."""
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


def _difference(held: dict[str, Any], wanted: dict[str, Any], where: str = "") -> str:
    for key in {**held, **wanted}:
        one, other = held.get(key), wanted.get(key)
        if one != other:
            if isinstance(one, dict) and isinstance(other, dict):
                return _difference(one, other, f"{where}{key} ")
            return f"{where}{key} is {one} there and {other} here"
    return "equal"
