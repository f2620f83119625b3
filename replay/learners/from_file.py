"""A user's own learner, read from a Python file."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from functools import cache
from pathlib import Path
from types import ModuleType

from replay.checks import shown

__all__ = ["learner_from_file"]


def learner_from_file(name: str) -> ModuleType:
    """Run a Python file with a learner that fulfils the contract, :mod:`replay.learners.contract`.

    Parameters
    ----------
    name : str
        The file; its name without ``.py`` is the name of the learner.

    Returns
    -------
    module
        The module; always the same one while the file does not change.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        For any error in the file; the message has the file, the line and the error.

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
        specification.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == str(path)]
        if isinstance(error, SyntaxError) and error.filename == str(path):
            lines.append(error.lineno)
        where = f"{path.name}, line {lines[-1]}" if lines else path.name
        raise ValueError(f"{where}: {type(error).__name__}: {error}") from error
    finally:
        sys.path[:] = before
    return module
