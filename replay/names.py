"""Names that users look up, and names of arguments that they give."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from inspect import signature
from typing import NoReturn, ParamSpec, TypeVar

from replay.checks import shown, unknown_name

__all__ = ["Named", "UnknownNameError", "known_arguments"]

_ALIKE = 0.75  # learning_rate is no learner

Value = TypeVar("Value")
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


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
    replay.names.UnknownNameError: Unknown track 'w_shape'. Did you mean 'w_shaped'? Choose from: \
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
        One that takes the parameters of a learner as `params`.

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
                hint = (
                    f"Did you mean {close[0]!r}?"
                    if close
                    else "If it is a parameter of the learner, give "
                    f"params={{{name!r}: {shown(value)}}}."
                )
                raise TypeError(
                    f"{function.__name__} has no argument {name!r}. {hint} It takes: "
                    f"{', '.join(known)}."
                )
        return function(*args, **kwargs)

    return wrapper
