"""Checks of a user's input: valid values are unchanged, all others are refused by name."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from malformed import junk, limited
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from replay.checks import (
    check_array,
    check_cells,
    check_choice,
    check_fits,
    check_flag,
    check_function,
    check_list,
    check_number,
    check_seed,
    check_text,
    check_whole,
    shown,
    typed,
)
from replay.data import data_file, reference_table
from replay.files import check_path
from replay.worlds.mdp import MDP
from replay.worlds.tracks import make_linear_track


@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
def test_whole_numbers_keep_all_digits(numbers):
    for values in (numbers, np.array(numbers, dtype=np.int64)):
        assert check_array(values, "numbers", kind="whole").tolist() == numbers
    smaller = [number // 2 for number in numbers]
    values = np.array(smaller, dtype=object)
    assert check_array(values, "numbers", kind="whole").tolist() == smaller


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False)))
def test_numbers_stay_as_they_are(numbers):
    assert check_array(numbers, "numbers", kind="number").tolist() == numbers
    assert check_array(np.array(numbers, object), "numbers", kind="number").tolist() == numbers


@pytest.mark.parametrize(
    ("values", "kind", "place"),
    [
        ([0, 1.5], "whole", "row 1 has 1.5"),
        ([0, True], "whole", "row 1 has"),
        ([True], "whole", "row 0 has True"),
        ([0, 2**63], "whole", "row 1 has"),
        (np.array([2**63], dtype=np.uint64), "whole", "row 0 has 9223372036854775808"),
        ([0.0, math.nan], "number", "row 1 has nan"),
        ([0.0, None], "number", "row 1 has None"),
        ([1j], "number", "row 0 has 1j"),
        (["1"], "number", "row 0 has '1'"),
        ([1, "a"], "number", "row 1 has 'a'"),
        (["0", "1e3", "seven", "x"], "number", "row 2 has 'seven'"),
        (["0", "inf"], "number", "row 1 has 'inf'"),
        (["True", "false", "maybe"], "flag", "row 2 has 'maybe'"),
        ([[0, 1], [2, math.inf]], "number", r"entry \[1, 1\] has inf"),
        ([0, 2], "flag", "row 1 has 2"),
        (pd.Series([pd.Timestamp(0)]), "number", "row 0 has"),
        (np.ma.masked_array([1, 2], [False, True]), "number", "row 1 has None"),
    ],
)
def test_the_first_wrong_value_is_named(values, kind, place):
    dims = np.ndim(values)
    if kind == "whole" and isinstance(values, list) and values == [0, True]:
        values = np.array(values, dtype=object)
    with pytest.raises(ValueError, match=f"values must hold .*; {place}"):
        check_array(values, "values", kind=kind, n_dims=dims)


@pytest.mark.parametrize("values", [[9, 9, True], [[1, 2], [np.True_, 0]], (True, 2.0)])
def test_true_is_no_whole_number_among_others_either(values):
    """Numpy makes 1 of it before anything can be checked."""
    with pytest.raises(ValueError, match="has True"):
        check_array(values, "step", kind="whole", n_dims=None)


def test_an_empty_column_of_any_numbers_is_empty():
    for dtype in (complex, float, bool, object, np.uint64):
        assert check_array(np.array([], dtype=dtype), "values", kind="whole").dtype == np.int64


def test_missing_numbers_may_be_allowed():
    found = check_array([1, None, math.nan], "values", kind="number", missing=True)
    np.testing.assert_array_equal(found, [1, np.nan, np.nan])


def test_seeds():
    rng = np.random.default_rng(0)
    for seed in (None, 0, 10**30, [1, 2], rng, np.random.SeedSequence(1)):
        assert check_seed(seed) is seed or check_seed(seed) == seed
        np.random.default_rng(check_seed(seed))


CHECKS = {
    "whole": lambda value: check_whole("it", value),
    "number": lambda value: check_number("it", value),
    "flag": lambda value: check_flag("it", value),
    "text": lambda value: check_text("it", value),
    "list": lambda value: check_list("it", value),
    "choice": lambda value: check_choice("it", value, ["one", "other"]),
    "seed": lambda value: check_seed(value, "it"),
    "path": lambda value: check_path("it", value),
    "array": lambda value: check_array(value, "it", kind="number", n_dims=None),
    "data file": data_file,
    "table": reference_table,
}


@pytest.mark.parametrize("name", CHECKS)
def test_whatever_comes_is_passed_or_refused_by_name(name):
    for value in junk():
        try:
            CHECKS[name](value)
        except (ValueError, TypeError) as error:
            text = str(error)
            assert any(word in text for word in ("it ", "Unknown", "name of a file")), text
            assert "\n" not in text


def test_values_are_shown_on_one_short_line():
    for value in junk():
        assert len(shown(value)) <= 60
        assert "\n" not in shown(value)


@pytest.mark.parametrize("name", ["../README.md", "/etc/passwd", "a/../../b", "\0"])
def test_no_path_leads_out_of_the_data(name):
    with pytest.raises(ValueError, match="must be a path below 'data'"):
        data_file(name)


def test_a_bin_size_in_metres_is_told():
    track = make_linear_track(150.0)
    assert MDP.from_networkx(track, bin_size=15.0).n_states == 11
    with pytest.raises(
        ValueError, match=r"bin_size is in cm, and 0\.15 makes 1,000 bins of the track"
    ):
        MDP.from_networkx(track, bin_size=0.15)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system has no such limit")
def test_what_a_process_may_not_take_does_not_fit():
    """The limit under which hostile input is tried is noticed by numpy and by readers of files."""
    with limited():
        held = Path("/proc/self/status").read_text().split("VmData:")[1].split()[0]
        check_fits(1000, "an array")
        with pytest.raises(ValueError, match="no room for an array"):
            check_fits(5e9 + 1024 * int(held), "an array")
        with pytest.raises(MemoryError):
            np.zeros(5 << 30, dtype=bool)


class Pair(NamedTuple):
    number: int
    name: str = ""


@typed
def take(
    numbers: ArrayLike = (),
    rates: Mapping[str, list[NDArray[np.float64]]] | None = None,
    pairs: list[Pair] = (),
    pair: Pair | None = None,
    names: str | list[str] = "",
    place: tuple[float, float] = (0, 0),
):
    """Take anything of these types."""


def test_what_fits_is_taken():
    take(np.arange(2), {"a": [np.zeros(2)]}, [Pair(1)], Pair(1), ["a"], (1, 2.5))
    take([[1, True], [2.5, 0]], None, (), None, "a", [0, 1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"numbers": [[1, 2], [3, "a"]]}, r"numbers\[1, 1\] of take must be a number, got 'a'"),
        ({"numbers": np.array([["1"]])}, r"numbers\[0, 0\] of take must be a number, got '1'"),
        ({"numbers": [[1], [1, 2]]}, r"numbers of take must be an array of numbers, got \[\[1\]"),
        ({"numbers": np.array([1, 2], object)}, r"got array\(\[1, 2\], dtype=object\) of objects"),
        ({"rates": []}, r"a dict of texts to lists of arrays of numbers or None, got \[\]"),
        ({"rates": {"a": [np.zeros(2), np.array([None])]}}, r"rates\['a'\]\[1\]\[0\] of take must"),
        ({"rates": {5: []}}, "rates key of take must be text, got 5"),
        ({"pairs": [Pair(1), Pair(1, 2)]}, r"pairs\[1\].name of take must be text, got 2"),
        ({"pair": Pair(0.5)}, "pair.number of take must be a whole number, got 0.5"),
        ({"pairs": 5}, "pairs of take must be a list of Pairs, got 5"),
        ({"names": ["a", 5]}, r"names\[1\] of take must be text, got 5"),
        ({"place": (1,)}, r"place of take must be \(a number, a number\), got \(1,\)"),
        ({"place": (1, None)}, r"place\[1\] of take must be a number, got None"),
    ],
)
def test_the_first_part_of_another_type_is_named(options, message):
    with pytest.raises(TypeError, match=message):
        take(**options)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([1, 2.5, "a", "b"], "row 0 has 1, row 2 has 'a'"),
        (["a", None, 5], "row 0 has 'a', row 2 has 5"),
        ([None, [1], "a"], r"row 1 has \[1\], row 2 has 'a'"),
        ([1, True], "row 0 has 1, row 1 has True"),
        ([1, {}, "a"], "only; row 1 has {}"),
    ],
)
def test_cells_of_two_kinds_are_both_shown(cells, message):
    with pytest.raises(ValueError, match=f"'it' of these must hold .*{message}"):
        check_cells(pd.DataFrame({"it": pd.Series(cells, dtype=object)}), "these")


def test_limits_and_forms_are_those_of_the_value():
    with pytest.raises(ValueError, match="it must hold whole numbers; got 'a'"):
        check_array("a", "it", kind="whole", n_dims=None)
    with pytest.raises(ValueError, match="an array of finite numbers in 2 dimensions and rows of"):
        check_array([[1], [1, 2]], "it", kind="number", n_dims=2)
    with pytest.raises(ValueError, match="from 0 to 10, got 1000"):
        check_whole("it", 10**30, at_most=10)


class Counter:
    """Something whose methods are called with blocks."""

    def add(self, block):
        """Take one block."""

    def pair(self, block, other):
        """Take two."""


def test_the_arguments_of_methods_are_counted_without_their_object():
    """Also when the same method of another object was checked before."""
    for each in (Counter(), Counter()):
        check_function("on_block", each.add, "a block")
        with pytest.raises(TypeError, match="on_block must be a function of a block"):
            check_function("on_block", each.pair, "a block")


@pytest.mark.parametrize(
    "given", [np.ones((2, 2)), [[1, 2], [3, 4]], (1.0, True), csr_array((2, 2)), pd.Series([1])]
)
def test_numbers_in_an_array_or_something_else(given):
    """NumPy's ArrayLike is a union itself, of other members in each version."""

    @typed
    def total(counts: ArrayLike | csr_array, weight: ArrayLike | None = None):
        return np.sum(counts) if weight is None else 0

    assert total(given) == np.sum(given)
    assert total(given, given if not isinstance(given, csr_array) else None) is not None
    with pytest.raises(TypeError, match=r"counts\[0\] of total must be a number, got 'a'"):
        total(["a"])
    for odd in ("a", len, {"a": 1}):
        with pytest.raises(TypeError, match="must be an array of numbers or a csr_array, got"):
            total(odd)
        with pytest.raises(TypeError, match="weight of total must be an array of numbers or None"):
            total(given, odd)


def test_each_of_any_number_of_arguments_is_checked():
    @typed
    def total(*counts: int, **options: int):
        return sum(counts)

    assert total(1, 2, at=None) == 3
    with pytest.raises(TypeError, match=r"counts\[1\] of total must be a whole number, got 'a'"):
        total(1, "a")
