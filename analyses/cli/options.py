"""Options that several commands share, and the functions that read them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["Cluster", "Jobs", "Seed", "check_out", "is_all", "read_learners", "read_steps", "split"]

Jobs = Annotated[
    int | None, typer.Option(metavar="N", help="Number of processes.", show_default="one per core")
]
Cluster = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Address of a Dask scheduler whose workers do the work: tcp://host:port.",
    ),
]
Seed = Annotated[int, typer.Option(metavar="N", help="Seed of all random numbers.")]

_WHOLE = re.compile(r"-?[\d_]{1,30}")


def check_out(path: Path, ending: str) -> Path:
    """Check, before the work begins, that its result can be written.

    Parameters
    ----------
    path : Path
        The file to write.
    ending : str
        The required suffix, with its dot.

    Returns
    -------
    Path
        The same path; no file is created.

    Raises
    ------
    OSError
        If no file can be written there.
    ValueError
        If the name has another suffix.

    Examples
    --------
    >>> check_out(Path("table.csv"), ".parquet")
    Traceback (most recent call last):
    ValueError: The name of the output file must end with .parquet, got 'table.csv'.
    """
    from replay.checks import shown

    if path.suffix != ending:
        raise ValueError(
            f"The name of the output file must end with {ending}, got {shown(path.name)}."
        )
    try:
        if path.is_dir():
            raise IsADirectoryError(None, "a folder of that name exists")
        folder = next(each for each in path.parents if _is_there(each))
        beside = folder / f".{path.name}.{os.getpid()}"
        beside.touch()
        beside.unlink()
    except OSError as error:
        raise type(error)(
            f"{path} cannot be written: {error.strerror}. Choose another file with --out."
        ) from error
    return path


def _is_there(path: Path) -> bool:
    try:
        path.stat()
    except FileNotFoundError:
        return False
    return True


def split(names: Sequence[str]) -> list[str]:
    """Split repeated or comma-separated names, and drop the word `all`.

    Parameters
    ----------
    names : sequence of str
        The values of the option.

    Returns
    -------
    list of str
        Each name once.

    Examples
    --------
    >>> split(["maze,tree", "all", "tree"])
    ['maze', 'tree']
    """
    each = [name.strip() for text in names for name in text.split(",")]
    return list(dict.fromkeys(name for name in each if name != "all"))


def is_all(names: Sequence[str]) -> bool:
    """Whether one of the names is `all`.

    Parameters
    ----------
    names : sequence of str
        The values of the option.

    Returns
    -------
    bool
        True if `all` is among them, alone or between commas.

    Examples
    --------
    >>> is_all(["maze,all"])
    True
    """
    return any(name.strip() == "all" for text in names for name in text.split(","))


def read_learners(texts: Sequence[str]) -> dict[str, tuple[str, dict[str, Any]]]:
    """Read learners and their parameters from the command line.

    Parameters
    ----------
    texts : sequence of str
        Each is the name of a learner or a Python file, followed by parameters ``name=value``
        separated by spaces.

    Returns
    -------
    dict
        Label (name and parameters as one text) -> name in ``LEARNERS`` or file, and parameters.

    Raises
    ------
    ValueError
        If a learner or a parameter is unknown, or no learner is given.

    Examples
    --------
    >>> read_learners(["dyna_q", "dyna_q n_replays=5"])
    {'dyna_q': ('dyna_q', {}), 'dyna_q n_replays=5': ('dyna_q', {'n_replays': 5})}
    """
    from analyses.tables import learner_label
    from replay.checks import shown
    from replay.learners import LEARNERS, find_learner

    found = {}
    for text in texts:
        name, *pairs = text.split() or [""]
        given = {}
        for pair in pairs:
            key, equals, value = pair.partition("=")
            if not (key and equals and value):
                raise ValueError(
                    "The name of a learner must be followed by parameters as name=value, got "
                    f"{shown(pair)}."
                )
            given[key] = _value(value)
        found[learner_label(find_learner(name, given).name, pairs)] = (name, given)
    if not found:
        raise ValueError(f"Name at least one learner. Choose from: {', '.join(LEARNERS)}.")
    return found


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def read_steps(text: str | None) -> int | dict[str, int] | None:
    """Read the option ``--steps``: one number, or a number for each experiment.

    Parameters
    ----------
    text : str, optional
        The value of the option.

    Returns
    -------
    int, dict of str to int, or None
        The number, or numbers by experiment; None if the option was not given.

    Raises
    ------
    ValueError
        If the text has neither form.

    Examples
    --------
    >>> read_steps("maze=100_000"), read_steps("300")
    ({'maze': 100000}, 300)
    """
    from replay.checks import shown

    if text is None:
        return None
    if _WHOLE.fullmatch(text):
        return int(text)
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(name.strip() and _WHOLE.fullmatch(number.strip()) for name, _, number in pairs):
        raise ValueError(
            "--steps must be one number, or one for each experiment such as maze=100000; got "
            f"{shown(text)}."
        )
    return {name.strip(): int(number) for name, _, number in pairs}
