"""Checks of names: of entries, arguments and attributes; and values as messages show them."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import wraps
from inspect import signature
from typing import NoReturn, ParamSpec, TypeVar, get_args, get_type_hints

import numpy as np

_LONGEST = 60
_ALIKE = 0.75  # so that learner is not suggested for learning_rate

_Value = TypeVar("_Value")
_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def shown(value: object) -> str:
    """Return the text of a value for a message: its `repr`, cut short if it is long.

    At most 60 characters, on one line.

    Examples
    --------
    >>> shown([1, 2]), shown("x" * 100)[-4:]
    ('[1, 2]', 'x...')
    """
    text = " ".join(repr(value.item() if isinstance(value, np.generic) else value).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def unknown_name(what: str, name: object, choices: Iterable[str]) -> ValueError:
    """Make the error for a name that is not among the choices.

    It lists the choices, and the one that may be meant.

    Examples
    --------
    >>> print(unknown_name("learner", "q_lerning", ["q_learning", "sfma"]))
    Unknown learner 'q_lerning'. Did you mean 'q_learning'? Choose from: q_learning, sfma.
    """
    names = [" ".join(each.split()) for each in choices]  # a user's own may have line breaks
    is_short = isinstance(name, str) and len(name) <= _LONGEST
    plain = str(name).lower().replace("-", "_").replace(" ", "_") if is_short else ""
    close = [each for each in names if each.lower() == plain]
    hint = _hint(close[0] if close else str(name), names) if is_short else ""
    known = f"Choose from: {', '.join(names)}." if names else "There is none."
    return ValueError(f"Unknown {what} {shown(name)}.{hint} {known}")


def _hint(name: str, names: list[str], alike: float = 0.6) -> str:
    """Return a sentence with the name that may be meant, if one is similar."""
    close = difflib.get_close_matches(name, names, n=1, cutoff=alike)
    return f" Did you mean {close[0]!r}?" if close else ""


class UnknownNameError(KeyError):
    """The error for an unknown name; a `KeyError` whose message is a sentence."""

    def __str__(self) -> str:
        """Show the message as it is."""
        return str(self.args[0])


class Named(dict[str, _Value]):
    """A dictionary whose error for an unknown name lists the known names.

    `what` is what it holds.

    Examples
    --------
    >>> tracks = Named("track", {"linear": 1, "w_shaped": 2})
    >>> tracks
    2 tracks: linear, w_shaped
    >>> tracks["w_shape"]
    Traceback (most recent call last):
    replay.checks.names.UnknownNameError: Unknown track 'w_shape'. Did you mean 'w_shaped'? \
Choose from: linear, w_shaped.
    """

    def __init__(
        self,
        what: str,
        items: Mapping[str, _Value] | Iterable[tuple[str, _Value]] = (),
    ) -> None:
        super().__init__(items)
        self._what = what

    def __repr__(self) -> str:
        """List the names; `dict(...)` shows what they stand for."""
        return f"{len(self)} {self._what}s: {', '.join(self)}"

    def __missing__(self, name: object) -> NoReturn:
        """Raise an error that lists the known names."""
        raise UnknownNameError(str(unknown_name(self._what, name, self)))


def known_arguments(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Decorate a function so that an unknown argument raises an error that lists the known ones.

    An argument `params` holds the parameters of a learner, one of which may be meant, as may a
    field of a record that is an argument.

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
    def wrapper(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        for name, value in kwargs.items():
            if name not in known:
                hint = _hint(name, known, _ALIKE)
                with suppress(NameError):  # of a type that only type checkers import
                    for argument, kind in get_type_hints(function).items():
                        for record in (kind, *get_args(kind)):
                            if name in getattr(record, "_fields", ()):
                                hint = f" Give {argument}={record.__name__}({name}={shown(value)})."
                if "params" in known and not hint:
                    parameter = f"params={{{name!r}: {shown(value)}}}"
                    hint = f" If it is a parameter of the learner, give {parameter}."
                raise TypeError(
                    f"{function.__name__} has no argument {name!r}.{hint} It takes: "
                    f"{', '.join(known)}."
                )
        return function(*args, **kwargs)

    return wrapper
