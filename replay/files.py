"""Safe files: written completely or not at all, by one process at a time, and with checksums."""

import hashlib
import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from replay.checks import check_text, shown

__all__ = [
    "check_path",
    "damaged_files",
    "exclusive",
    "is_leftover",
    "remove_leftovers",
    "replacing",
    "write_checksums",
]

# .NAME.PID from `replacing`, and .NAME.UUID of the folders that event logs are written to first.
_LEFTOVER = re.compile(r"\..+\.(\d+|[0-9a-f]{32})")
_CHECKSUM = re.compile(r"([0-9a-f]{64})  ([^\0\r\n]+)\n")


def check_path(name: str, path: object) -> Path:
    """Check the path of a file or folder.

    Parameters
    ----------
    name : str
        Name of the argument in the message.
    path : object
        The user's input.

    Returns
    -------
    Path
        The path; it need not exist.

    Raises
    ------
    TypeError
        If it is neither text nor a path.
    ValueError
        If no file can have that name.

    Examples
    --------
    >>> check_path("folder", None)
    Traceback (most recent call last):
    TypeError: folder must be the path of a file or folder, got None.
    """
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"{name} must be the path of a file or folder, got {shown(path)}.")
    text = check_text(name, os.fspath(path))
    if not text or min(text) < " ":  # a line break, say, or NUL
        raise ValueError(f"{name} must be the path of a file or folder, got {shown(path)}.")
    return Path(text)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Write a file under a temporary name, and move it to its place when it is complete.

    Parameters
    ----------
    path : path
        The file to make or to replace; its folder is made if missing.

    Yields
    ------
    Path
        The temporary file to write to. On an error it is removed, and the old file stays.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "note.txt") as beside:
    ...         _ = beside.write_text("all of it")
    ...     [path.name for path in Path(folder).iterdir()]
    ['note.txt']
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield beside
        with beside.open("rb+") as file:
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def write_checksums(listing: str | os.PathLike[str], files: Iterable[Path], root: Path) -> None:
    """Write a list of files with their SHA-256 digests, in the format of ``sha256sum``.

    Parameters
    ----------
    listing : path
        The file to write.
    files : iterable of Path
        The files to list.
    root : Path
        The folder to which names are relative, and in which ``sha256sum --check`` must be run.

    See Also
    --------
    damaged_files : Checks files against the listing.
    """
    found = [(_digest(path), path.relative_to(root).as_posix()) for path in sorted(files)]
    with replacing(listing) as beside:
        beside.write_bytes(_listed(found).encode())


def damaged_files(listing: str | os.PathLike[str], root: Path) -> list[str]:
    """List the files that have changed since `write_checksums`, missing ones included.

    Parameters
    ----------
    listing : path
        A file from `write_checksums`.
    root : Path
        The folder to which names are relative.

    Returns
    -------
    list of str
        Names relative to `root`; only that of the listing if the listing itself is damaged.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as name:
    ...     root = Path(name)
    ...     _ = (root / "note.txt").write_text("all of it")
    ...     write_checksums(root / "note.sha256", [root / "note.txt"], root)
    ...     before = damaged_files(root / "note.sha256", root)
    ...     _ = (root / "note.txt").write_text("all of jt")
    ...     before, damaged_files(root / "note.sha256", root)
    ([], ['note.txt'])
    """
    listing = Path(listing)
    text = listing.read_bytes().decode(errors="replace")
    found = _CHECKSUM.findall(text)
    if text != _listed(found):
        return [listing.relative_to(root).as_posix()]
    return [name for digest, name in found if digest != _digest(root / name)]


def _listed(found: Sequence[tuple[str | None, str]]) -> str:
    # The count reveals a listing that was cut off at the end of a line.
    lines = (f"{digest}  {name}\n" for digest, name in found)
    return f"# {len(found)} files\n{''.join(lines)}"


def _digest(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def remove_leftovers(paths: Iterable[Path]) -> None:
    """Remove the temporary files and folders of killed processes.

    Parameters
    ----------
    paths : iterable of Path
        Files and folders, of which only temporary ones are removed. No other process may be writing
        there.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("note.txt", ".note.txt.4242", ".hidden"):
    ...         (Path(folder) / name).touch()
    ...     remove_leftovers(Path(folder).rglob("*"))
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['.hidden', 'note.txt']
    """
    for path in list(paths):
        if is_leftover(path):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)


def is_leftover(path: Path) -> bool:
    """Whether a file or folder is temporary: being written, or left by a killed process.

    Parameters
    ----------
    path : Path
        Only its name is looked at.

    Returns
    -------
    bool

    Examples
    --------
    >>> is_leftover(Path(".note.txt.4242")), is_leftover(Path("note.txt"))
    (True, False)
    """
    return bool(_LEFTOVER.fullmatch(path.name))


@contextmanager
def exclusive(path: str | os.PathLike[str]) -> Iterator[None]:
    """Hold a lock that only one process at a time can have.

    The operating system releases it when the process ends, however it ends.

    Parameters
    ----------
    path : path
        A file that is made for the lock, and stays.

    Yields
    ------
    None

    Raises
    ------
    BlockingIOError
        If another process holds the lock.
    OSError
        If the file cannot be written, or its file system does not support locks.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, exclusive(Path(folder) / ".lock"):
    ...     try:
    ...         with exclusive(Path(folder) / ".lock"):
    ...             pass
    ...     except BlockingIOError:
    ...         print("taken")
    taken
    """
    with Path(path).open("ab") as file:
        _lock(file.fileno())
        yield


# A marker file, which lock libraries use without such locks, would outlive a killed process.
if sys.platform == "win32":
    import msvcrt

    def _lock(file: int) -> None:
        os.lseek(file, 0, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except PermissionError as error:
            raise BlockingIOError(*error.args) from error

else:
    import fcntl

    def _lock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
