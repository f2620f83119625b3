"""Checks of what a user gives: what it is, what is expected, what came, and in which row.

Every number, flag, choice and column that enters the toolkit passes one of these functions once, at
the edge; what lies within relies on it.
"""

from __future__ import annotations

import contextlib
import difflib
import math
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import wraps
from inspect import signature
from typing import Any, NoReturn, ParamSpec, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

__all__ = ["LARGEST_NUMBER", "MOST_STATES", "Named", "UnknownNameError", "check_array"]
__all__ += ["check_bin_size", "check_choice", "check_column", "check_flag", "check_list"]
__all__ += ["check_number", "check_seconds", "check_seed", "check_table", "check_text"]
__all__ += ["check_whole", "known_arguments", "no_attribute", "shown", "unknown_name"]

LARGEST_NUMBER = 1e100
"""The largest reward, action value, position or length, far from where sums and squares become
infinite."""

MOST_STATES = 10_000_000
"""States count from 0 to below this number in logs, trees and what is fed: tables are as long as
the largest."""

_LONGEST = 60
_ALIKE = 0.75  # learning_rate is no learner
_LONGEST_STEP = 60.0  # seconds
_SMALLEST_BIN = 0.5  # cm
_MOST_SMALL_BINS = 500
_LARGEST = 2**63 - 1
_ANY = 2**4096  # numpy makes seeds of whole numbers of any size

Value = TypeVar("Value")
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def shown(value: object) -> str:
    """Write a value into a message: its `repr`, cut short if it is long.

    Parameters
    ----------
    value : object
        Anything; a `repr` that fails is replaced by the name of the type.

    Returns
    -------
    str
        At most some sixty characters, on one line.

    Examples
    --------
    >>> shown([1, 2]), shown("x" * 100)[-4:]
    ('[1, 2]', 'x...')
    """
    try:
        text = " ".join(repr(value.item() if isinstance(value, np.generic) else value).split())
    except Exception:
        text = f"a {type(value).__name__}"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def unknown_name(what: str, name: object, choices: Iterable[str]) -> ValueError:
    """Make the error for a name that is none of the choices.

    Parameters
    ----------
    what : str
        What it should be the name of.
    name : object
        What was given for a name.
    choices : iterable of str
        The names there are.

    Returns
    -------
    ValueError
        To be raised; it lists the choices, and the one that may be meant.

    Examples
    --------
    >>> print(unknown_name("learner", "q_lerning", ["q_learning", "sfma"]))
    Unknown learner 'q_lerning'. Did you mean 'q_learning'? Choose from: q_learning, sfma.
    """
    names = list(choices)
    is_short = isinstance(name, str) and len(name) <= _LONGEST
    plain = str(name).lower().replace("-", "_").replace(" ", "_") if is_short else ""
    close = [each for each in names if each.lower() == plain]
    close = close or (difflib.get_close_matches(str(name), names, n=1) if is_short else [])
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return ValueError(f"Unknown {what} {shown(name)}.{hint} Choose from: {', '.join(names)}.")


class UnknownNameError(KeyError):
    """A name that is not there; its message is a sentence, where `KeyError` shows a key."""

    def __str__(self) -> str:
        """Show the message as it is."""
        return str(self.args[0])


class Named(dict[str, Value]):
    """A dictionary of things by name, which lists its names when it is asked for another one.

    Parameters
    ----------
    what : str
        What the names are of.
    items : mapping or iterable of pairs, optional
        The things by name.

    Raises
    ------
    KeyError
        When a name is looked up that is not there.

    Examples
    --------
    >>> tracks = Named("track", {"linear": 1, "w_shaped": 2})
    >>> tracks["w_shape"]
    Traceback (most recent call last):
    replay.checks.UnknownNameError: Unknown track 'w_shape'. Did you mean 'w_shaped'? Choose from: \
linear, w_shaped.
    """

    def __init__(
        self, what: str, items: Mapping[str, Value] | Iterable[tuple[str, Value]] = ()
    ) -> None:
        super().__init__(items)
        self._what = what

    def __missing__(self, name: object) -> NoReturn:
        """Tell the names there are."""
        raise UnknownNameError(str(unknown_name(self._what, name, self)))


def known_arguments(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Decorate a function so that an argument that it lacks is told with those that it has.

    Parameters
    ----------
    function : callable
        Any function; if it has `params`, these are the parameters of a learner.

    Returns
    -------
    callable
        The same function, which raises TypeError in one sentence.

    Examples
    --------
    >>> @known_arguments
    ... def act(params=None, *, n_steps=1):
    ...     return n_steps
    >>> act(steps=5)
    Traceback (most recent call last):
    TypeError: act has no argument 'steps'. Did you mean 'n_steps'? It takes: params, n_steps.
    >>> act(discount=0.9)
    Traceback (most recent call last):
    TypeError: act has no argument 'discount'. If it is a parameter of the learner, give \
params={'discount': 0.9}. It takes: params, n_steps.
    """
    known = [*signature(function).parameters]

    @wraps(function)
    def wrapper(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        for name, value in kwargs.items():
            if name not in known:
                close = difflib.get_close_matches(name, known, n=1, cutoff=_ALIKE)
                hint = f" Did you mean {close[0]!r}?" if close else ""
                if "params" in known and not close:
                    parameter = f"params={{{name!r}: {shown(value)}}}"
                    hint = f" If it is a parameter of the learner, give {parameter}."
                raise TypeError(
                    f"{function.__name__} has no argument {name!r}.{hint} It takes: "
                    f"{', '.join(known)}."
                )
        return function(*args, **kwargs)

    return wrapper


def no_attribute(owner: object, name: str, instead: Mapping[str, str]) -> AttributeError:
    """Make the error for an attribute that is not there, but that users may look for.

    Parameters
    ----------
    owner : object
        What has no such attribute.
    name : str
        The attribute.
    instead : mapping of str to str
        Names, with blanks between -> what gives what is looked for.

    Returns
    -------
    AttributeError
        To be raised.

    Examples
    --------
    >>> print(no_attribute(0, "draw", {"plot draw": "print() shows a number."}))
    'int' object has no attribute 'draw': print() shows a number.
    """
    hint = next((words for names, words in instead.items() if name in names.split()), "")
    text = f"{type(owner).__name__!r} object has no attribute {name!r}"
    return AttributeError(f"{text}: {hint}" if hint else text, name=name, obj=owner)


def check_whole(
    name: str, value: object, *, at_least: int = 0, at_most: int = _LARGEST, hint: str = ""
) -> int:
    """Check a whole number.

    Parameters
    ----------
    name : str
        What it is called in the message.
    value : object
        What the user gave; True and False are no numbers.
    at_least, at_most : int
        Its limits, both included.
    hint : str, optional
        A sentence on what to do, which ends the message.

    Returns
    -------
    int
        The number.

    Raises
    ------
    ValueError
        If it is no whole number, or outside the limits.

    Examples
    --------
    >>> check_whole("n_steps", np.int32(5), at_least=1)
    5
    >>> check_whole("n_steps", 0, at_least=1)
    Traceback (most recent call last):
    ValueError: n_steps must be a whole number of at least 1, got 0.
    """
    number = None
    if isinstance(value, int | np.integer) and not isinstance(value, bool | np.bool_):
        number = int(value)
    if number is None or not at_least <= number <= at_most:
        limits = f"of at least {at_least}"
        if at_most < _LARGEST:
            limits = f"from {at_least} to {at_most}"
        raise ValueError(_message(f"{name} must be a whole number {limits}", value, hint))
    return number


def check_number(
    name: str,
    value: object,
    *,
    at_least: float = -math.inf,
    at_most: float = math.inf,
    finite: bool = True,
    hint: str = "",
) -> float:
    """Check a number.

    Parameters
    ----------
    name : str
        What it is called in the message.
    value : object
        What the user gave; True and False are no numbers.
    at_least, at_most : float
        Its limits, both included.
    finite : bool, default True
        Whether infinity is refused; NaN always is.
    hint : str, optional
        A sentence on what to do, which ends the message.

    Returns
    -------
    float
        The number.

    Raises
    ------
    ValueError
        If it is no number, NaN, or outside the limits.

    Examples
    --------
    >>> check_number("discount", 0.9, at_least=0, at_most=1)
    0.9
    >>> check_number("discount", "much", at_least=0, at_most=1)
    Traceback (most recent call last):
    ValueError: discount must be a number between 0 and 1, got 'much'.
    """
    number = math.nan
    is_number = isinstance(value, int | float | np.integer | np.floating)
    if is_number and not isinstance(value, bool | np.bool_):
        with contextlib.suppress(OverflowError):
            number = float(value)  # type: ignore[arg-type]
    if not at_least <= number <= at_most or (finite and math.isinf(number)):
        limits = " finite" * finite
        limits = f"a{limits} number" if limits else "a number"
        if at_least > -math.inf and at_most < math.inf:
            limits = f"a number between {at_least:g} and {at_most:g}"
        elif at_least > -math.inf:
            limits += f" of at least {at_least:g}"
        elif at_most < math.inf:
            limits += f" of at most {at_most:g}"
        raise ValueError(_message(f"{name} must be {limits}", value, hint))
    return number


def check_bin_size(size: float, n_bins: int) -> None:
    """Refuse bins that are as small and as many as of a size in metres taken for centimetres.

    Parameters
    ----------
    size : float
        Length of a bin in cm.
    n_bins : int
        Into how many it cuts a track.

    Raises
    ------
    ValueError
        If there are more than 500 bins of less than half a centimetre.

    Examples
    --------
    >>> check_bin_size(0.05, 3000)
    Traceback (most recent call last):
    ValueError: bin_size is in cm, and 0.05 cuts the track into 3,000: multiply metres by 100.
    """
    if size < _SMALLEST_BIN and n_bins > _MOST_SMALL_BINS:
        raise ValueError(
            f"bin_size is in cm, and {size:g} cuts the track into {n_bins:,}: multiply metres by "
            "100."
        )


def check_flag(name: str, value: object) -> bool:
    """Check that a value is True or False.

    Parameters
    ----------
    name : str
        What it is called in the message.
    value : object
        What the user gave; numbers are no flags.

    Returns
    -------
    bool
        The flag.

    Raises
    ------
    ValueError
        If it is anything else.

    Examples
    --------
    >>> check_flag("across_events", np.True_)
    True
    """
    if not isinstance(value, bool | np.bool_):
        raise ValueError(_message(f"{name} must be True or False", value, ""))
    return bool(value)


def check_text(name: str, value: object, *, hint: str = "") -> str:
    """Check that a value is text.

    Parameters
    ----------
    name : str
        What it is called in the message.
    value : object
        What the user gave.
    hint : str, optional
        A sentence on what to do, which ends the message.

    Returns
    -------
    str
        The text.

    Raises
    ------
    ValueError
        If it is anything else, or holds characters that no file can (lone surrogates).

    Examples
    --------
    >>> check_text("name", 5)
    Traceback (most recent call last):
    ValueError: name must be text, got 5.
    """
    if not isinstance(value, str):
        raise ValueError(_message(f"{name} must be text", value, hint))
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(
            _message(f"{name} must be text that can be written", value, hint)
        ) from None
    return str(value)


def check_seed(
    value: object, name: str = "seed"
) -> int | list[int] | np.random.Generator | np.random.SeedSequence | None:
    """Check what random numbers are to be made from.

    Parameters
    ----------
    value : object
        What the user gave: a whole number of at least 0, a list of these, a generator, a
        `numpy.random.SeedSequence`, or None for other numbers each time.
    name : str, default "seed"
        What it is called in the message.

    Returns
    -------
    int, list of int, numpy.random.Generator, numpy.random.SeedSequence or None
        What `numpy.random.default_rng` takes.

    Raises
    ------
    ValueError
        If it is anything else.

    Examples
    --------
    >>> check_seed(-1)
    Traceback (most recent call last):
    ValueError: seed must be a whole number of at least 0, got -1.
    """
    if value is None or isinstance(value, np.random.Generator | np.random.SeedSequence):
        return value
    if isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim == 1):
        return [check_whole(f"each number of {name}", each, at_most=_ANY) for each in value]
    return check_whole(name, value, at_most=_ANY)


def check_list(name: str, values: object) -> tuple[Any, ...]:
    """Check that there are several things, one after the other.

    Parameters
    ----------
    name : str
        What they are called in the message.
    values : iterable
        What the user gave; of a text, its letters.

    Returns
    -------
    tuple
        What it holds.

    Raises
    ------
    ValueError
        If it is a single thing.

    Examples
    --------
    >>> check_list("blocks", 5)
    Traceback (most recent call last):
    ValueError: blocks must be a list, got 5.
    """
    if not isinstance(values, Iterable) or (isinstance(values, np.ndarray) and values.ndim == 0):
        raise ValueError(_message(f"{name} must be a list", values, ""))
    return tuple(values)


def check_choice(name: str, value: object, choices: Collection[str]) -> str:
    """Check that a value is one of some names.

    Parameters
    ----------
    name : str
        What it is called in the message.
    value : object
        What the user gave.
    choices : collection of str
        The names.

    Returns
    -------
    str
        The name.

    Raises
    ------
    ValueError
        If it is none of them; the message lists them.

    Examples
    --------
    >>> check_choice("order", "causal", ("causal", "temporal"))
    'causal'
    """
    if not isinstance(value, str) or value not in choices:
        raise unknown_name(name, value, choices)
    return value


def check_table(table: object, columns: Iterable[str], name: str) -> pd.DataFrame:
    """Check that something is a table with the columns that it is read for, each once.

    Parameters
    ----------
    table : object
        What the user gave.
    columns : iterable of str
        The columns needed.
    name : str
        What the table is called in the message.

    Returns
    -------
    pandas.DataFrame
        The table as it is.

    Raises
    ------
    TypeError
        If it is no DataFrame.
    ValueError
        If columns are missing or there twice.

    Examples
    --------
    >>> len(check_table(pd.DataFrame({"state": [0]}), ["state"], "steps"))
    1
    """
    if not isinstance(table, pd.DataFrame):
        raise TypeError(f"{name} must be a DataFrame, got {type(table).__name__}.")
    needed = list(columns)
    missing = [column for column in needed if column not in table]
    if missing:
        raise ValueError(
            f"{name} lacks the columns {missing}: it needs {needed} and has {list(table.columns)}."
        )
    if not table.columns.is_unique:
        twice = [column for column in needed if (table.columns == column).sum() > 1]
        if twice:
            raise ValueError(f"{name} has the column {twice[0]!r} more than once: keep one.")
    return table


def check_column(
    table: pd.DataFrame,
    column: str,
    name: str,
    *,
    kind: str,
    at_least: float = -math.inf,
    at_most: float = math.inf,
    missing: bool = False,
    hint: str = "",
) -> NDArray[Any]:
    """Check one column of a table.

    Parameters
    ----------
    table : DataFrame
        The table.
    column : str
        The column; the table has it.
    name : str
        What the table is called in the message.
    kind, at_least, at_most, missing, hint
        As for `check_array`.

    Returns
    -------
    ndarray of int64, float64 or bool, shape (n_rows,)
        Its values.

    Raises
    ------
    ValueError
        If a value is of another kind or outside the limits; the message names the row.

    Examples
    --------
    >>> table = pd.DataFrame({"state": [0, 7]})
    >>> check_column(table, "state", "transitions", kind="whole", at_least=0, at_most=4)
    Traceback (most recent call last):
    ValueError: The column 'state' of transitions must hold whole numbers from 0 to 4; row 1 has 7.
    """
    what = f"The column {column!r} of {name}"
    return check_array(
        table[column],
        what,
        kind=kind,
        at_least=at_least,
        at_most=at_most,
        missing=missing,
        hint=hint,
    )


def check_seconds(time: NDArray[np.float64], what: str) -> None:
    """Warn if steps are so far apart that their times can hardly be in seconds.

    Parameters
    ----------
    time : ndarray of float64, shape (n_steps,)
        The time of each step; NaN says nothing.
    what : str
        What it is called at the beginning of the message.

    Examples
    --------
    >>> check_seconds(np.array([0.0, 0.4, 1.1]), "The column 'time' of steps")
    """
    gaps = np.diff(time[~np.isnan(time)])
    usual = float(np.median(gaps)) if len(gaps) else 0.0
    if usual > _LONGEST_STEP:
        warnings.warn(
            f"{what} is in seconds, but has {usual:g} between two steps: divide milliseconds by "
            "1000.",
            stacklevel=3,
        )


_KINDS = {"whole": "whole numbers", "number": "finite numbers", "flag": "True and False only"}


def check_array(
    values: object,
    what: str,
    *,
    kind: str,
    at_least: float = -math.inf,
    at_most: float = math.inf,
    missing: bool = False,
    n_dims: int | None = 1,
    hint: str = "",
) -> NDArray[Any]:
    """Check a list or table of values, and bring it into the form in which it is used.

    Parameters
    ----------
    values : array_like
        What the user gave.
    what : str
        What it is called at the beginning of the message.
    kind : {"whole", "number", "flag"}
        Whole numbers (also where all of them are written as floats or objects), finite numbers, or
        True and False (also as 0 and 1).
    at_least, at_most : float
        Limits of numbers, both included.
    missing : bool, default False
        Whether numbers may be NaN, which no limit refuses.
    n_dims : int or None, default 1
        Number of dimensions; None allows any.
    hint : str, optional
        A sentence on what to do, which ends the message about a value.

    Returns
    -------
    ndarray of int64, float64 or bool, of the shape of `values`
        The values.

    Raises
    ------
    ValueError
        If a value is of another kind or outside the limits; the message names its place.

    Examples
    --------
    >>> check_array([1, 2.0], "counts", kind="whole")
    array([1, 2])
    >>> check_array(["a"], "counts", kind="whole")
    Traceback (most recent call last):
    ValueError: counts must hold whole numbers; row 0 has 'a'.
    >>> check_array([[0, None]], "reward", kind="number", n_dims=2)
    Traceback (most recent call last):
    ValueError: reward must hold finite numbers; entry [0, 1] has None.
    """
    expected = _KINDS[kind]
    if at_least > -math.inf and at_most < math.inf:
        expected += f" from {at_least:.15g} to {at_most:.15g}"
    elif at_least > -math.inf:
        expected += f" of at least {at_least:.15g}"
    elif at_most < math.inf:
        expected += f" of at most {at_most:.15g}"
    given = _array(values)
    if given is None or n_dims not in (None, given.ndim):
        form = "a list of" if n_dims == 1 else f"{n_dims or 'any'} dimensions of"
        raise ValueError(f"{what} must be {form} {expected}, got {shown(values)}.")
    flat = given.ravel()
    numbers, fits = _numbers(flat)
    if kind == "flag":
        fits &= (numbers == 0) | (numbers == 1)
    else:
        exact = flat if flat.dtype.kind in "iu" else numbers  # floats round what is above 2 ** 53
        limited = np.isfinite(numbers) & (exact >= at_least) & (exact <= at_most)
        if kind == "whole":
            limited &= (numbers == np.floor(numbers)) & ~_are_flags(flat)
            limited &= (np.abs(numbers) < 2.0**63) | (flat.dtype.kind == "i")
        fits &= limited | (np.isnan(numbers) if missing and kind == "number" else False)
    if not fits.all():
        row = int(np.flatnonzero(~fits)[0])
        place = [int(index) for index in np.unravel_index(row, given.shape)]
        where = f"row {row}" if given.ndim == 1 else f"entry {place}"
        value = shown(flat[row])
        raise ValueError(
            f"{what} must hold {expected}; {where} has {value}.{' ' * bool(hint)}{hint}"
        )
    if kind == "flag":
        return numbers.astype(bool).reshape(given.shape)
    if kind == "number":
        return numbers.reshape(given.shape)
    if given.dtype.kind == "O":
        return np.array([int(value) for value in flat], dtype=np.int64).reshape(given.shape)
    return exact.astype(np.int64).reshape(given.shape)


def _array(values: object) -> NDArray[Any] | None:
    """Make an array of what a user gave; None if its rows are of several lengths, or it is none."""
    try:
        given = np.asarray(values)
        if isinstance(values, list | tuple) and given.dtype.kind in "US":
            given = np.asarray(values, dtype=object)  # of [1, "a"] numpy makes "1" and "a"
        if isinstance(values, np.ma.MaskedArray):
            given = given.astype(object)
            given[np.ma.getmaskarray(values)] = None
        return given
    except Exception:  # of whatever kind of object: it is no array
        return None


def _are_flags(values: NDArray[Any]) -> NDArray[np.bool_]:
    if values.dtype.kind == "O":
        return np.array([isinstance(value, bool | np.bool_) for value in values], dtype=bool)
    return np.full(len(values), values.dtype.kind == "b")


def _numbers(given: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Read values as floats, and tell which of them are numbers (or NaN, or None as NaN)."""
    if given.dtype.kind in "iufb":
        return given.astype(np.float64), np.ones(len(given), dtype=bool)
    numbers, fits = np.full(len(given), np.nan), np.zeros(len(given), dtype=bool)
    if given.dtype.kind != "O":
        return numbers, fits
    for place, value in enumerate(given):
        if isinstance(value, bool | int | float | np.bool_ | np.integer | np.floating):
            with contextlib.suppress(OverflowError):
                numbers[place], fits[place] = float(value), True
        elif value is None or value is pd.NA:
            fits[place] = True
    return numbers, fits


def _message(expected: str, value: object, hint: str) -> str:
    return f"{expected}, got {shown(value)}.{' ' * bool(hint)}{hint}"
