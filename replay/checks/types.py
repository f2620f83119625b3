"""Arguments of public functions are of the types that their annotations name."""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, wraps
from itertools import repeat
from numbers import Integral, Real
from pathlib import Path
from types import GenericAlias, NoneType, UnionType
from typing import (
    Any,
    ForwardRef,
    Literal,
    NamedTuple,
    ParamSpec,
    TypeVar,
    Union,
    get_args,
    get_origin,
)

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from replay.checks.values import shown

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")
_WORDS = {
    float: "a number",
    int: "a whole number",
    bool: "True or False",
    str: "text",
    Path: "a path",
    NoneType: "None",
    np.ndarray: "an array of numbers",
    pd.DataFrame: "a DataFrame",
    np.random.Generator: "a numpy.random.Generator",
}
_ARRAYS = (np.ndarray, pd.Series, pd.Index)
_LISTS = (list, tuple, *_ARRAYS)


def typed(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Decorate a public function: an argument of another type than annotated raises a TypeError.

    Where an entry of a list, dict, array or named tuple is at fault, the first such entry is named.

    Examples
    --------
    >>> @typed
    ... def lengths(tables: list[pd.DataFrame], least: int = 0):
    ...     return [len(table) for table in tables]
    >>> lengths([pd.DataFrame(), 5])
    Traceback (most recent call last):
    TypeError: tables[1] of lengths must be a DataFrame, got 5.
    """
    names = inspect.signature(function)
    called = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]

    @wraps(function)
    def wrapper(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        try:
            given = names.bind(*args, **kwargs).arguments
        except TypeError:  # the call below raises it again, with the function's name
            given = {}
        for name, value in given.items():
            misfit = _misfit(value, _hints(function).get(name, Any))
            if misfit is not None:
                where = f"{name}{misfit.place} of {called}"
                odd = misfit.value
                kind = " of objects" if isinstance(odd, np.ndarray) and odd.dtype == "O" else ""
                raise TypeError(f"{where} must be {_words(misfit.hint)}, got {shown(odd)}{kind}.")
        return function(*args, **kwargs)

    return wrapper


@cache
def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Evaluate the annotations one by one; those known to type checkers only stay unknown."""
    found = {}
    for name, parameter in inspect.signature(function).parameters.items():
        hint = parameter.annotation
        if isinstance(hint, ForwardRef):  # of a NamedTuple
            hint = hint.__forward_arg__
        if isinstance(hint, str):
            try:
                hint = eval(hint, vars(sys.modules[function.__module__]))
            except (NameError, AttributeError, TypeError):
                hint = Any
        if hint is inspect.Parameter.empty or parameter.kind is parameter.VAR_KEYWORD:
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            hint = GenericAlias(tuple, (hint, ...))
        found[name] = hint | None if parameter.default is None and hint is not Any else hint
    return found


class _Misfit(NamedTuple):
    """What is of another type than annotated: where in an argument, what, and the annotation."""

    place: str
    value: Any
    hint: Any


def _misfit(value: Any, hint: Any) -> _Misfit | None:
    """Find the first misfit in a value; what can be read only once stays unread."""
    parts: Iterable[tuple[str, Any, Any]] = ()
    if _is_array(hint):
        fits = _is_numbers(value, hint)
        parts = () if fits else _cells(value)
    elif get_origin(hint) in (Union, UnionType):
        inside = []
        for each in _choices(hint):
            found = _misfit(value, each)
            if found is None:
                return None
            inside += [found] if found.place else []
        # What is wrong within a value tells more than that it is of none of several types.
        return inside[0] if len(inside) == 1 else _Misfit("", value, hint)
    else:
        fits = _is_of(value, hint)
        parts = _entries(value, hint) if fits else ()
    for place, part, expected in parts:
        within = _misfit(part, expected)
        if within is not None:
            return within._replace(place=place + within.place)
    return None if fits else _Misfit("", value, hint)


def _is_array(hint: Any) -> bool:
    return bool(hint == ArrayLike or get_origin(hint) is np.ndarray)


def _is_numbers(value: Any, hint: Any) -> bool:
    """Tell whether a value is an array of numbers, or can become one if that is enough."""
    try:
        is_numeric = np.asarray(value).dtype.kind in "biuf"
    except (TypeError, ValueError):  # rows of different lengths, say
        return False
    return is_numeric and (hint == ArrayLike or isinstance(value, _ARRAYS))


def _choices(hint: Any) -> list[Any]:
    """List the annotations of a union; ArrayLike, itself a union that differs by NumPy, is one."""
    choices, array = get_args(hint), get_args(ArrayLike)
    if not set(array) <= set(choices):
        return list(choices)
    return [ArrayLike, *(each for each in choices if each not in array)]


def _is_of(value: Any, hint: Any) -> bool:
    """Tell whether a value is of a type that is neither a union nor an array, whatever it holds."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal:
        return any(value is each or (type(value) is type(each) and value == each) for each in inner)
    if hint is None:
        return value is None
    if hint in (bool, float, int):
        is_flag = isinstance(value, bool | np.bool_)
        kind = Real if hint is float else Integral
        return is_flag if hint is bool else isinstance(value, kind) and not is_flag
    if hint is Path:
        return isinstance(value, os.PathLike)
    if inspect.isclass(origin):
        return _is_collection(value, origin, inner)
    # What a protocol asks for is missed when it is used.
    is_loose = hint in (Any, object) or getattr(hint, "_is_protocol", False)
    return is_loose or not inspect.isclass(hint) or isinstance(value, hint)


def _is_collection(value: Any, origin: type[Any], inner: tuple[Any, ...]) -> bool:
    """Tell whether a value is a collection of the right kind, whatever it holds."""
    is_listed = issubclass(origin, Sequence | Collection | Iterable)
    if not is_listed or issubclass(origin, Mapping):
        return isinstance(value, origin)
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return False
    if isinstance(value, str):
        return str in inner and origin is not list
    is_row = isinstance(value, tuple) and origin is tuple and ... not in inner
    return isinstance(value, (origin, *_LISTS)) and not (is_row and len(value) != len(inner))


def _entries(value: Any, hint: Any) -> Iterator[tuple[str, Any, Any]]:
    """Iterate over what a collection or a named tuple holds: place, entry and annotation."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is None:
        for key in getattr(hint, "_fields", ()):
            yield f".{key}", getattr(value, key), _hints(hint).get(key, Any)
    elif isinstance(value, Mapping) and len(inner) == 2:
        for key, each in value.items():
            yield " key", key, inner[0]
            yield f"[{shown(key)}]", each, inner[1]
    elif isinstance(value, Collection) and not isinstance(value, str | Iterator) and inner:
        is_row = isinstance(value, tuple) and origin is tuple and ... not in inner
        # Not strict: a repeated annotation has no end.
        each_hint = zip(value, inner if is_row else repeat(inner[0]), strict=False)
        for i, (each, expected) in enumerate(each_hint):
            yield f"[{i}]", each, expected


def _cells(value: Any) -> Iterator[tuple[str, Any, Any]]:
    """Iterate over the cells of what is no array of numbers; none if its rows differ in length."""
    with suppress(TypeError, ValueError):
        cells = np.asarray(value, dtype=object)
        places = np.ndindex(cells.shape) if cells.ndim else ()
        if not any(isinstance(each, _LISTS) for each in cells.flat):
            yield from ((str([*place]), cells[place], float) for place in places)


def _words(hint: Any) -> str:
    origin, inner = get_origin(hint), get_args(hint)
    if _is_array(hint):
        return _WORDS[np.ndarray]
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(map(_words, _choices(hint))))
    if origin is Literal:
        return " or ".join(map(repr, inner))
    if hint in _WORDS:
        return _WORDS[hint]
    if origin is not None and inspect.isclass(origin):
        if issubclass(origin, Mapping):
            return f"a dict of {' to '.join(map(_plural, inner))}"
        if origin is tuple and ... not in inner:
            return f"({', '.join(map(_words, inner))})"
        if issubclass(origin, Iterable):
            return f"a list of {_plural(inner[0])}" if inner else "a list"
        return "a function"
    if not inspect.isclass(hint):
        return "anything"
    return f"{'an' if hint.__name__[0] in 'AEIO' else 'a'} {hint.__name__}"


def _plural(hint: Any) -> str:
    return re.sub(r"^(?:an? (.+?)|(text))(?= of | or |$)", r"\1\2s", _words(hint))
