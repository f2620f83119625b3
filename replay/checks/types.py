"""Arguments of public functions are of the types that their annotations name."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, wraps
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, ForwardRef, Literal, ParamSpec, TypeVar, Union, get_args, get_origin

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from replay.checks.names import shown

__all__ = ["typed"]

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

    Examples
    --------
    >>> @typed
    ... def lengths(tables: list[pd.DataFrame], least: int = 0):
    ...     return [len(table) for table in tables]
    >>> lengths([pd.DataFrame(), 5])
    Traceback (most recent call last):
    TypeError: tables of lengths must be a list of a DataFrame, got [Empty DataFrame Columns: [] \
Index: [], 5].
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
            hint = _hints(function).get(name, Any)
            if not _fits(value, hint):
                raise TypeError(f"{name} of {called} must be {_words(hint)}, got {shown(value)}.")
        return function(*args, **kwargs)

    return wrapper


@cache
def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Evaluate the annotations one by one; those known to type checkers only stay unknown."""
    found = {}
    for name, parameter in inspect.signature(function).parameters.items():
        is_single = parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        hint = parameter.annotation
        if isinstance(hint, ForwardRef):  # of a NamedTuple
            hint = hint.__forward_arg__
        if isinstance(hint, str):
            try:
                hint = eval(hint, vars(sys.modules[function.__module__]))
            except (NameError, AttributeError, TypeError):
                hint = Any
        if is_single and hint is not inspect.Parameter.empty:
            found[name] = hint | None if parameter.default is None and hint is not Any else hint
    return found


def _fits(value: Any, hint: Any) -> bool:
    origin, inner = get_origin(hint), get_args(hint)
    if hint == ArrayLike or origin is np.ndarray:
        return (hint == ArrayLike or isinstance(value, _ARRAYS)) and _is_numeric(value)
    if origin in (Union, UnionType):
        return any(_fits(value, each) for each in inner)
    if origin is Literal:
        return any(value is each or (type(value) is type(each) and value == each) for each in inner)
    if hint is None or hint is NoneType:
        return value is None
    if hint in (bool, float, int):
        is_flag = isinstance(value, bool | np.bool_)
        kind = Real if hint is float else Integral
        return is_flag if hint is bool else isinstance(value, kind) and not is_flag
    if hint is Path:
        return _is_path(value)
    if origin is not None and inspect.isclass(origin):
        return _contains(value, origin, inner)
    if not _is_checkable(hint):
        return True
    fields = getattr(hint, "_fields", ()) if isinstance(value, hint) else ()
    return isinstance(value, hint) and all(
        _fits(getattr(value, field), _hints(hint).get(field, Any)) for field in fields
    )


def _contains(value: Any, origin: type[Any], inner: tuple[Any, ...]) -> bool:
    """Tell whether a collection and all in it fit; what can be read only once stays unread."""
    if isinstance(value, Mapping) and issubclass(origin, Mapping):
        keys, values = inner if len(inner) == 2 else (Any, Any)
        return all(_fits(key, keys) and _fits(each, values) for key, each in value.items())
    if issubclass(origin, Sequence | Collection | Iterable) and not issubclass(origin, Mapping):
        if isinstance(value, np.ndarray) and value.ndim == 0:
            return False
        if isinstance(value, str) or not isinstance(value, (origin, *_LISTS)):
            return isinstance(value, str) and str in inner and origin is not list
        if (
            isinstance(value, tuple)
            and origin is tuple
            and not (len(inner) == 2 and inner[1] is ...)
        ):
            return len(value) == len(inner) and all(map(_fits, value, inner))
        if isinstance(value, Collection) and inner and not isinstance(value, Iterator):
            return all(_fits(each, inner[0]) for each in value)
        return True
    return isinstance(value, origin)


def _is_path(value: Any) -> bool:
    try:
        return isinstance(value, os.PathLike) and isinstance(os.fspath(value), str)
    except Exception:  # objects may raise anything here
        return False


def _is_numeric(value: Any) -> bool:
    try:
        return np.asarray(value).dtype.kind in "biuf"
    except Exception:  # objects may raise anything here
        return False


def _is_checkable(hint: Any) -> bool:
    is_loose = hint in (Any, object) or getattr(hint, "_is_protocol", False)
    return inspect.isclass(hint) and not is_loose


def _words(hint: Any) -> str:
    origin, inner = get_origin(hint), get_args(hint)
    if hint == ArrayLike or origin is np.ndarray:
        return _WORDS[np.ndarray]
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(map(_words, inner)))
    if origin is Literal:
        return " or ".join(map(repr, inner))
    if hint in _WORDS:
        return _WORDS[hint]
    if origin is not None and inspect.isclass(origin):
        if issubclass(origin, Mapping):
            return f"a dict of {' to '.join(map(_words, inner))}"
        if issubclass(origin, Iterable):
            return f"a list of {_words(inner[0])}" if inner else "a list"
        return "a function"
    if not inspect.isclass(hint):
        return "anything"
    return f"{'an' if hint.__name__[0] in 'AEIO' else 'a'} {hint.__name__}"
