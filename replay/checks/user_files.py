"""Errors in a user's Python file, with its line."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

_STAGE = re.compile(r"Failed in nopython mode pipeline[^\n]*\n")
_PLACES = (re.compile(r"\bat (\S+) \((\d+)\)"), re.compile(r'File "([^"]+)", line (\d+)'))
_NAME = re.compile(r"(?:name|attribute) '(\w+)'")


class WrongResultError(ValueError):
    """What a function of a user's file returned is wrong; found outside the file."""


@contextmanager
def errors_located(file: str) -> Iterator[None]:
    """Raise an error from a user's file again, as a ValueError with its line.

    Errors in which the file has no part stay as they are.
    """
    try:
        yield
    except (Exception, SystemExit) as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if _is_same(frame.filename, file)]
        if not lines and any("numba" in Path(frame.filename).parts for frame in frames):
            raise ValueError(_shortened(str(error), file)) from None
        message = str(error)
        if isinstance(error, SyntaxError) and error.filename and _is_same(error.filename, file):
            lines.append(error.lineno)
            message = error.msg
        is_located = message.startswith(file)  # by an inner call
        is_compiled = message == "index is out of bounds"  # such code knows no lines
        is_of_file = lines or is_compiled or isinstance(error, SyntaxError | WrongResultError)
        if is_located or not is_of_file:
            raise
        text = f"{type(error).__name__}: {message}" if message else type(error).__name__
        where = f"{file}, line {lines[-1]}" if lines else file
        if is_compiled:
            text += ". With COMPILED = False in the file, Python tells the line."
        raise ValueError(f"{where}: {text}") from error


def located(function: Callable[_Parameters, _Result], file: str) -> Callable[_Parameters, _Result]:
    """Wrap a function so that errors from a user's file name its line."""

    @wraps(function)
    def call(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        with errors_located(file):
            return function(*args, **kwargs)

    return call


def _shortened(text: str, file: str) -> str:
    """Reduce a message of numba to the innermost line of the file, and what is wrong there."""
    words = [line.strip() for line in _STAGE.split(text)[-1].splitlines() if line.strip()]
    reason = words[0] if words else text.strip()
    if reason.endswith("found for signature:") and len(words) > 1:
        reason = f"{reason.removesuffix('found for signature:')}for {words[1].removeprefix('>>> ')}"
    places = (place for pattern in _PLACES for place in pattern.findall(text))
    line = next((line for path, line in places if _is_same(path, file)), "")
    if not line and (undefined := _NAME.search(reason)):  # numba does not say where such a name is
        name = re.compile(rf"\b{undefined[1]}\b")
        lines = Path(file).read_text(encoding="utf-8", errors="replace").splitlines()
        line = next((str(n) for n, each in enumerate(lines, start=1) if name.search(each)), "")
    where = f"{file}, line {line}" if line else file
    return f"{where} cannot be compiled: {reason}"


def _is_same(found: str, file: str) -> bool:
    """Tell whether two paths are one file; numba shortens paths to relative ones."""
    try:
        return Path(found).resolve() == Path(file).resolve()
    except (OSError, ValueError):
        return False
