"""Names that a user gives: of things, arguments, attributes; and values as messages show them."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from inspect import signature
from typing import NoReturn, ParamSpec, TypeVar

import numpy as np

__all__ = ["Named", "UnknownNameError", "known_arguments", "no_attribute", "shown", "unknown_name"]

_LONGEST = 60
_ALIKE = 0.75  # learning_rate is no learner

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
    hint = _hint(close[0] if close else str(name), names) if is_short else ""
    return ValueError(f"Unknown {what} {shown(name)}.{hint} Choose from: {', '.join(names)}.")


def _hint(name: str, names: list[str], alike: float = 0.6) -> str:
    """Say which of the names may be meant, if one is like the name given."""
    close = difflib.get_close_matches(name, names, n=1, cutoff=alike)
    return f" Did you mean {close[0]!r}?" if close else ""


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
    replay.checks.names.UnknownNameError: Unknown track 'w_shape'. Did you mean 'w_shaped'? \
Choose from: linear, w_shaped.
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
                hint = _hint(name, known, _ALIKE)
                if "params" in known and not hint:
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
