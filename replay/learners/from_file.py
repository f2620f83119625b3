"""A user's own learner, read from a Python file."""

from __future__ import annotations

import importlib.util
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

from replay.checks import errors_located, shown

__all__ = ["learner_from_file"]


def learner_from_file(name: str) -> ModuleType:
    """Run a Python file with a learner that fulfils the contract, :mod:`replay.learners.contract`.

    Examples
    --------
    >>> learner_from_file("mine.py")
    Traceback (most recent call last):
    FileNotFoundError: There is no file 'mine.py'. Name a learner or your own Python file.
    """
    path = Path(name)
    if not path.is_file():
        raise FileNotFoundError(
            f"There is no file {shown(name)}. Name a learner or your own Python file."
        )
    return _run(path.resolve(), path.stat().st_mtime_ns)


@cache
def _run(path: Path, changed: int) -> ModuleType:
    specification = importlib.util.spec_from_file_location(path.stem, path)
    if specification is None or specification.loader is None:
        raise ValueError(f"{path} is not a Python file.")
    module = importlib.util.module_from_spec(specification)
    before = sys.path[:]
    sys.path.insert(0, str(path.parent))  # it may import files from its own folder
    try:
        with errors_located(str(path)):
            specification.loader.exec_module(module)
    finally:
        sys.path[:] = before
    return module
