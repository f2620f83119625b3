"""Files that are there as a whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["replacing"]


@contextmanager
def replacing(path: str | os.PathLike) -> Iterator[Path]:
    """Write a file beside its place, and move it there when it is complete.

    Parameters
    ----------
    path : path
        The file to make or to replace; its folder is made if missing.

    Yields
    ------
    Path
        Where to write meanwhile. It is removed if anything goes wrong, and the old file stays.

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
