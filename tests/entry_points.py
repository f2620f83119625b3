"""Every public function and class of the toolkit, found by itself, called with mistaken arguments.

Public is what has a docstring with parameters and an example: the first call in the example is the
valid input, in which `malformed.mutated_options` changes one or two arguments. Where the call is
not refused, nothing is known of its result; `test_malformed.py` looks at the results of those
entry points that most users meet.
"""

import doctest
import importlib
import inspect
import pkgutil
import random
import warnings
from contextlib import AbstractContextManager, redirect_stderr, redirect_stdout
from functools import cache
from io import StringIO
from numbers import Real

import matplotlib.pyplot as plt
from malformed import OwnError, TooSlow, is_ours, mutated_options, time_limit

import analyses
import replay

INTERNAL = (
    *("replay.checks", "replay.parts", "replay.log.arrays", "replay.log.parquet"),
    *("replay.worlds.gymnasium_bridge", "analyses.cli", "analyses.jobs", "analyses.plots.layers"),
)
"""Rooms without a way in for users: their callers have checked what they are given."""

_LONG = 1000.0  # a larger number asks for much work, which is no mistake
_SECONDS = 120  # on a busy machine; what hangs takes longer


class _SeenError(Exception):
    """The call in an example has been seen, and need not be made."""


@cache
def entry_points():
    """List the public functions, classes and methods by name."""
    found = {}
    for package in (replay, analyses):
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if info.name.startswith(INTERNAL) or info.name.endswith("__main__"):
                continue
            module = importlib.import_module(info.name)
            for name in getattr(module, "__all__", ()):
                thing = getattr(module, name)
                if getattr(thing, "__module__", None) != info.name:
                    continue
                found[f"{info.name}.{name}"] = (module, thing)
                for key, member in vars(thing).items() if inspect.isclass(thing) else ():
                    if callable(getattr(thing, key)) and not key.startswith("_"):
                        found[f"{info.name}.{name}.{key}"] = (thing, member)
    return {name: owner for name, (owner, thing) in found.items() if _is_public(thing)}


def _is_public(thing):
    words = inspect.getdoc(thing) or ""
    return (
        callable(getattr(thing, "__func__", thing)) and "Parameters\n--" in words and ">>>" in words
    )


def valid_call(name):
    """Return a function that makes the first call of an example, its arguments by name, and which
    of these are ``*args`` or ``**kwargs``.

    None is returned if the example does not call it by its name.
    """
    owner, key = entry_points()[name], name.rpartition(".")[2]
    thing = inspect.getattr_static(owner, key)
    module = inspect.getmodule(owner)
    kind = type(thing) if isinstance(thing, classmethod | staticmethod) else None
    function = thing.__func__ if kind else thing
    names = inspect.signature(function)
    seen = []

    def watch(*args, **kwargs):
        seen.append(names.bind(*args, **kwargs))
        raise _SeenError

    namespace = dict(vars(module))
    examples = doctest.DocTestParser().get_examples(inspect.getdoc(thing))
    if inspect.isclass(owner):
        setattr(owner, key, kind(watch) if kind else watch)
    else:
        namespace[key] = watch
    try:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for example in examples:
                exec(compile(example.source, name, "single"), namespace)
    except (_SeenError, Exception):  # an example may show an error
        pass
    finally:
        if inspect.isclass(owner):
            setattr(owner, key, thing)
    if not seen:
        return None
    bound = seen[0]
    bound.apply_defaults()

    def call(**options):
        again = names.bind_partial()
        again.arguments.update(options)
        return function(*again.args, **again.kwargs)

    several = {
        key
        for key, parameter in names.parameters.items()
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    }
    return call, dict(bound.arguments), several


def calls(name, n_inputs, seed=0):
    """Call an entry point with mistaken arguments; yield these, and what came of each call.

    Nothing is known of calls in which a function of the user's own raised its own error.
    """
    found = valid_call(name)
    if found is None:
        return
    call, options, several = found
    fixed = {key: options.pop(key) for key in ("self", "cls") if key in options}
    kinds = {key: type(value) for key, value in options.items() if key in several}
    rng = random.Random(f"{name} {seed}")
    n_left = n_inputs if options else 0
    while n_left:
        changed = mutated_options(options, rng.randrange)
        other = [value for key, value in changed.items() if value is not options[key]]
        if any(map(_is_long, other)) or not _fits(changed, kinds):
            continue
        n_left -= 1
        try:
            with (
                time_limit(_SECONDS),
                redirect_stdout(StringIO()),
                redirect_stderr(StringIO()),
                warnings.catch_warnings(),
            ):
                warnings.simplefilter("ignore")
                outcome = call(**fixed, **changed)
                if inspect.isgenerator(outcome):
                    next(outcome, None)
                elif isinstance(outcome, AbstractContextManager):
                    with outcome:
                        pass
        except OwnError:
            continue
        except (TooSlow, Exception) as error:
            outcome = error
        finally:
            plt.close("all")
        yield changed, outcome


def failures(name, n_inputs, seed=0):
    """Call an entry point with mistaken arguments; yield what is neither taken nor told."""
    for changed, outcome in calls(name, n_inputs, seed):
        if isinstance(outcome, TooSlow):
            yield name, "too slow", changed
        elif isinstance(outcome, Exception) and not is_ours(outcome):
            yield name, f"{type(outcome).__name__}: {outcome}", changed


def _fits(changed, kinds):
    """Tell whether ``*args`` and ``**kwargs`` can be given: Python itself refuses others."""
    return all(
        isinstance(changed[key], kind) and all(isinstance(each, str) for each in changed[key])
        for key, kind in kinds.items()
        if kind is dict or not isinstance(changed[key], kind)
    )


def _is_long(value):
    if isinstance(value, dict):
        value = [*value.values()]
    if isinstance(value, list | tuple):
        return any(_is_long(each) for each in value if each is not value)
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    return is_number and _LONG < abs(value) < 2.0**62
