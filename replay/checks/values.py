"""Checks of single values and names, of the memory that values need, and how messages show them."""

from __future__ import annotations

import difflib
import math
import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from functools import lru_cache, wraps
from inspect import signature
from types import MethodType
from typing import Any, NoReturn, ParamSpec, TypeVar, get_args, get_type_hints

import numpy as np

_LONGEST = 60
_MANY = 40  # names, which nobody would read
_ALIKE = 0.75  # so that learner is not suggested for learning_rate

_Value = TypeVar("_Value")
_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def shown(value: object) -> str:
    """Return the text of a value for a message: its `repr`, cut short if it is long.

    At most 60 characters, on one line.
    """
    text = " ".join(repr(value.item() if isinstance(value, np.generic) else value).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def unknown_name(what: str, name: object, choices: Iterable[str]) -> ValueError:
    """Make the error for a name that is not among the choices.

    It lists the choices, and the one that may be meant; of very many the nearest ones, if any are.

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
    if hint and len(names) > _MANY:
        near = difflib.get_close_matches(str(name), names, n=5, cutoff=0)
        return ValueError(
            f"Unknown {what} {shown(name)}.{hint} The nearest of {len(names)}: {', '.join(near)}."
        )
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
    replay.checks.values.UnknownNameError: Unknown track 'w_shape'. Did you mean 'w_shaped'? \
Choose from: linear, w_shaped.
    """

    def __init__(
        self, what: str, items: Mapping[str, _Value] | Iterable[tuple[str, _Value]] = ()
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
        for name in (each for each in kwargs if each not in known):
            value, hint = shown(kwargs[name]), _hint(name, known, _ALIKE)
            kinds: dict[str, Any] = {}
            with suppress(NameError):  # of a type that only type checkers import
                kinds = get_type_hints(function)
            for argument, kind in kinds.items():
                for record in (kind, *get_args(kind)):
                    if name in getattr(record, "_fields", ()):
                        hint = f" Give {argument}={record.__name__}({name}={value})."
            if "params" in known and not hint:
                parameter = f"params={{{name!r}: {value}}}"
                hint = f" If it is a parameter of the learner, give {parameter}."
            raise TypeError(
                f"{function.__name__} has no argument {name!r}.{hint} It takes: {', '.join(known)}."
            )
        return function(*args, **kwargs)

    return wrapper


LARGEST_NUMBER = 1e100
"""The largest reward, action value, position or length: so small that sums and squares stay finite.
"""

MOST_STATES = 10_000_000
"""Limit of the number of states in logs, trees and recorded experience, since tables are as long as
the largest number of a state."""

SMALLEST_BIN = 0.5
"""The narrowest bin of a track, or cell of a maze, in cm; less is hardly meant in cm."""

_MOST_SMALL_BINS = 500
_LARGEST = 2**63 - 1
_ANY = 2**4096  # numpy accepts whole numbers of any size as seeds


def limits_in_words(at_least: float, at_most: float) -> str:
    """Say between which numbers a value must be, these included; nothing where it may be any."""
    ends = at_least, at_most
    low, high = (str(each) if isinstance(each, int) else f"{each:.15g}" for each in ends)
    if at_least == -math.inf:
        return "" if at_most == math.inf else f" of at most {high}"
    return f" of at least {low}" if at_most == math.inf else f" from {low} to {high}"


def check_whole(
    name: str, value: object, *, at_least: int = 0, at_most: int = _LARGEST, hint: str = ""
) -> int:
    """Check a whole number.

    The limits are included; True and False are not numbers. `hint` says what to do.

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
        limits = limits_in_words(at_least, at_most if at_most < _LARGEST else math.inf)
        if number is not None and number > at_most >= _LARGEST:
            limits = f" from {at_least} to 2**63 - 1"
        raise ValueError(_message(f"{name} must be a whole number{limits}", value, hint))
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

    The limits are included; True, False and NaN are not numbers, and infinity only if it is not
    `finite`. `hint` says what to do.
    """
    number = math.nan
    is_number = isinstance(value, int | float | np.integer | np.floating)
    if is_number and not isinstance(value, bool | np.bool_):
        with suppress(OverflowError):
            number = float(value)  # type: ignore[arg-type]
    if not at_least <= number <= at_most or (finite and math.isinf(number)):
        kind = "a finite number" if finite and math.isinf(at_most - at_least) else "a number"
        limits = limits_in_words(at_least, at_most)
        raise ValueError(_message(f"{name} must be {kind}{limits}", value, hint))
    return number


def check_bin_size(size: float, n_bins: int) -> None:
    """Refuse bins so small and so many that their size must have been given in metres.

    `size` is in cm; half a centimetre is little, and 500 bins are many.
    """
    if size < SMALLEST_BIN and n_bins > _MOST_SMALL_BINS:
        raise ValueError(
            f"bin_size is in cm, and {size:g} makes {n_bins:,} bins of the track: multiply metres "
            "by 100."
        )


def check_flag(name: str, value: object) -> bool:
    """Check that a value is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(_message(f"{name} must be True or False", value, ""))
    return bool(value)


def check_text(name: str, value: object) -> str:
    """Check that a value is text.

    Lone surrogates, which no file can hold, are refused.
    """
    if not isinstance(value, str):
        raise ValueError(_message(f"{name} must be text", value, ""))
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(_message(f"{name} must be text that can be written", value, "")) from None
    return str(value)


def check_seed(
    value: object, name: str = "seed"
) -> int | list[int] | np.random.Generator | np.random.SeedSequence | None:
    """Check a seed.

    A seed is what `numpy.random.default_rng` takes: a whole number, a list of these, a generator, a
    `SeedSequence`, or None for different random numbers each time.
    """
    if value is None or isinstance(value, np.random.Generator | np.random.SeedSequence):
        return value
    if isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim == 1):
        return [check_whole(f"each number of {name}", each, at_most=_ANY) for each in value]
    return check_whole(name, value, at_most=_ANY)


def check_list(name: str, values: object) -> tuple[Any, ...]:
    """Check that a value is iterable, and return its elements.

    A text is a list of its characters.
    """
    if not isinstance(values, Iterable) or (isinstance(values, np.ndarray) and values.ndim == 0):
        raise ValueError(_message(f"{name} must be a list", values, ""))
    return tuple(values)


def check_choice(name: str, value: object, choices: Collection[str]) -> str:
    """Check that a value is one of some names."""
    if not isinstance(value, str) or value not in choices:
        raise unknown_name(name, value, choices)
    return value


_signature_of = lru_cache(signature)  # to find one takes as long as a thousand steps


def check_function(name: str, value: Any, *arguments: str) -> None:
    """Check that a user's function can be called with arguments, which the message describes."""
    if callable(value):
        try:
            if isinstance(value, MethodType):  # each look-up of a method makes another object
                found, given = _signature_of(value.__func__), (value.__self__, *arguments)
            else:
                found, given = signature(value), arguments
        except (TypeError, ValueError):  # some functions have none
            return
        with suppress(TypeError):
            found.bind(*given)
            return
    raise TypeError(f"{name} must be a function of {' and '.join(arguments)}, got {shown(value)}.")


def _message(expected: str, value: object, hint: str) -> str:
    return f"{expected}, got {shown(value)}.{' ' * bool(hint)}{hint}"


_LITTLE = 1 << 24  # the toolkit itself takes more; to ask for the limits takes as long as 200 steps


def check_fits(n_bytes: float, what: str) -> None:
    """Refuse what does not fit into the memory of this machine, or that allowed by `ulimit`.

    Readers of files call it with the size that a file claims for its contents (the shape of an
    array, the number of rows of a table) before they read these.
    """
    if n_bytes <= _LITTLE:
        return
    held = _memory_bytes()
    if n_bytes > held:
        raise ValueError(
            f"There is no room for {what}: it needs {n_bytes / 1e9:,.1f} GB of memory, and there "
            f"are {held / 1e9:,.1f} GB."
        )


def _memory_bytes() -> float:
    if sys.platform == "win32":
        return float("inf")
    import resource

    limits = [resource.getrlimit(each)[0] for each in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    known = [float(limit) for limit in limits if limit != resource.RLIM_INFINITY]
    with suppress(ValueError, OSError):  # unknown on this system
        known.append(float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")))
    return min(known, default=float("inf"))
