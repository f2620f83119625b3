"""Every public function and class of the toolkit, found by itself, called with mistaken arguments.

Public is what has a docstring with parameters, or with attributes if it is a class; a named tuple
is checked by what takes it. The valid input, in which `malformed.mutated_options` changes one or
two arguments, is the first call in its own example, or in that of the package that offers it, or
what `test_legibility.py` draws. Where the call is not refused, `nonsense` says whether it should
have been, and `malformed.check_result` whether the result is right.
"""

import doctest
import importlib
import inspect
import math
import os
import pkgutil
import random
import sys
import tempfile
import warnings
from contextlib import AbstractContextManager, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import _HAS_DEFAULT_FACTORY
from functools import cache
from io import StringIO
from numbers import Integral, Real
from pathlib import Path
from unittest.mock import patch

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from malformed import TooSlow, check_result, is_ours, limited, mutated_options
from test_legibility import FIGURES

import analyses
import replay
from analyses.recordings.basics.binned_track import BinnedTrack

INTERNAL = (
    *("replay.parts", "replay.log.backups", "replay.log.parquet", "replay.worlds.gymnasium_bridge"),
    *("analyses.cli", "analyses.jobs", "analyses.plots.layers"),
    *("analyses.sequences.logs", "analyses.sequences.sequences"),
)
"""Rooms without a way in for users: their callers have checked what they are given."""

TAKEN = {
    "refit_factor": "where it is infinite, an encoder is not fitted again",
    "seed": "whole numbers of any size are seeds, as in numpy",
    "EventLog tables": "columns are checked on first use",
    "Experience steps": "columns that it does not read",
    "Task protocol": "any function, which is called when the task is run",
    "both_directions edges": "nodes of a graph may be anything",
    "decoded_backups steps": "columns that it does not read",
    "questions table": "columns that it does not read",
}
"""Arguments in which odd input is taken, and why."""

MORE = {"read_arrays source", "read_recording source", "read_recording track", "read_track source"}
"""Mappings of other programs, which may have other entries besides: these are not read."""

_LONG = 1000.0  # a larger number asks for much work, which is no mistake
_SECONDS = 60  # of a processor; what hangs takes longer


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
            for name, thing in vars(module).copy().items():
                is_own = getattr(thing, "__module__", None) == info.name
                if name.startswith("_") or not is_own:
                    continue
                found[f"{info.name}.{name}"] = (module, thing)
                for key, member in vars(thing).items() if inspect.isclass(thing) else ():
                    if callable(getattr(thing, key)) and not key.startswith("_"):
                        found[f"{info.name}.{name}.{key}"] = (thing, member)
    return {
        name: owner
        for name, (owner, thing) in found.items()
        if _is_public(thing) and (name.rpartition(".")[2] in FIGURES or _example(name, thing))
    }


def _is_public(thing):
    words = inspect.getdoc(thing) or ""
    checks_itself = inspect.isclass(thing) and not issubclass(thing, tuple)
    return callable(getattr(thing, "__func__", thing)) and (
        "Parameters\n--" in words or (checks_itself and "Attributes\n--" in words)
    )


def _example(name, thing):
    """Return a text with an example, and the module whose names it uses; None if there is none."""
    texts = [(inspect.getdoc(thing) or "", inspect.getmodule(thing))]
    packages = name.split(".")[:-1]
    for n in range(len(packages), 0, -1):
        package = sys.modules.get(".".join(packages[:n]))
        texts += [(package.__doc__ or "", package)] if package is not None else []
    key = name.rpartition(".")[2]
    for text, module in texts:
        if ">>>" in text and f"{key}(" in text:
            return text, module
    return None


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
    seen = [names.bind(*FIGURES[key]())] if key in FIGURES else []

    def watch(*args, **kwargs):
        seen.append(names.bind(*args, **kwargs))
        raise _SeenError

    text, module = ("", module) if seen else _example(name, thing)
    namespace = dict(vars(module))
    examples = doctest.DocTestParser().get_examples(text)
    if inspect.isclass(owner):
        setattr(owner, key, kind(watch) if kind else watch)
    else:
        namespace[key] = watch
    try:
        with _quiet(), patch.object(tempfile, "TemporaryDirectory", _kept_folder):
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
    options = {k: v for k, v in bound.arguments.items() if v is not _HAS_DEFAULT_FACTORY}

    def call(**options):
        again = names.bind_partial()
        again.arguments.update(options)
        return function(*again.args, **again.kwargs)

    several = {
        key
        for key, parameter in names.parameters.items()
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    }
    return call, options, several


@contextmanager
def _quiet():
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def _kept_folder(**options):
    """Stand in for a temporary folder: the call in an example is made again when that has ended."""
    yield tempfile.mkdtemp(**options)


def calls(name, n_inputs, seed=0):
    """Call an entry point with mistaken arguments; yield these, and what came of each call.

    Nothing is known of calls in which a function of the user's own raised its own error.
    """
    found = valid_call(name)
    if found is None:
        return
    call, options, several = found
    options = {key: _nearby(value) for key, value in options.items()}
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
            with limited(_SECONDS), _quiet():
                outcome = call(**fixed, **changed)
                if inspect.isgenerator(outcome):
                    next(outcome, None)
                elif isinstance(outcome, AbstractContextManager):
                    with outcome:
                        pass
        except (TooSlow, Exception) as error:
            outcome = error
        finally:
            plt.close("all")
        yield changed, outcome


def _nearby(value):
    """Name a file from here: where a letter of that is changed, what is written lies here too."""
    return os.path.relpath(value) if isinstance(value, str) and Path(value).is_absolute() else value


def failures(name, n_inputs, seed=0):
    """Call an entry point with mistaken arguments; yield what is not told, or wrongly taken.

    Its example is called first: where that were refused, nothing would be learned from the others.
    """
    call, options, _ = valid_call(name) or (None, {}, None)
    try:
        with _quiet():
            call is None or call(**options)
    except Exception as error:
        yield name, f"refuses its example: {error}", options
    for changed, outcome in calls(name, n_inputs, seed):
        if isinstance(outcome, TooSlow):
            yield name, "too slow", changed
        elif isinstance(outcome, Exception):
            if not is_ours(outcome):
                yield name, f"{type(outcome).__name__}: {outcome}", changed
        else:
            key, odd = name.rpartition(".")[2], {}
            for argument, value in changed.items():
                before = options[argument]
                if f"{key} {argument}" in MORE and isinstance(value, dict):
                    value = {each: value[each] for each in value if each in before}
                if not {argument, f"{key} {argument}"} & {*TAKEN}:
                    odd[argument] = nonsense(before, value)
                    if argument in ("start", "end") and isinstance(before, float):
                        odd[argument] -= {"negative"}  # a time, which may be before the origin
            if any(odd.values()):
                found = [f"{argument} {sorted(kinds)}" for argument, kinds in odd.items() if kinds]
                yield name, f"took {', '.join(found)}", changed
            try:
                check_result(outcome)
            except Exception as error:
                yield name, f"made what is wrong: {type(error).__name__}: {error}", changed


def nonsense(before, after):
    """List what in a changed argument is certainly no input: odd objects, and odd numbers.

    Odd numbers are looked for in plain numbers only: in a table, NaN may be a missing value.
    """
    if after is before:
        return set()
    if isinstance(after, Real | np.bool_) and _is_number(before):
        return _odd_number(before, after)
    return {type(each).__name__ for each in _parts(after, 0) if _is_odd(each)}


def _is_number(value):
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def _odd_number(before, after):
    if not _is_number(after):
        return {"flag"}
    largest = 2**63 if isinstance(before, Integral) else 1e308
    if isinstance(after, Integral) and abs(after) > largest:
        return {"huge"}
    odd = {
        "NaN": math.isnan(after) and not math.isnan(before),
        "infinite": math.isinf(after) and not math.isinf(before),
        "negative": after < 0 <= before,
        "fraction": isinstance(before, Integral) and after % 1 != 0,
    }
    return {name for name, is_so in odd.items() if is_so}


def _parts(value, depth):
    """Iterate over a value and what it holds; cells of tables may be missing, as NaT too."""
    yield value
    if isinstance(value, BinnedTrack):
        value = value._replace(nodes=())  # which may be anything
    if isinstance(value, pd.DataFrame):
        value = value.loc[:, [kind.kind == "O" for kind in value.dtypes]].to_numpy()
        value = [cell for cell in value.ravel().tolist() if cell is not pd.NaT]
    if isinstance(value, np.ndarray) and value.dtype.kind == "O":
        value = value.ravel().tolist()
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, list | tuple) and depth < 4:
        for each in value:
            yield from _parts(each, depth + 1)


def _is_odd(value):
    if isinstance(value, str):
        return not value.isascii() and value.encode(errors="replace").decode() != value
    odd = (complex, bytes)
    return isinstance(value, odd) or type(value) is object or value is len or value is pd.NaT


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
