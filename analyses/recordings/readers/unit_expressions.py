"""The choice of units by an expression over the columns of their table.

It has names of columns, numbers, texts and lists of them, comparisons, ``in``, ``and``, ``or``,
``not`` and parentheses, and nothing else: it is read as a syntax tree and never run.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from replay.checks import check_text, unknown_name
from replay.checks.arrays import Bools

_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
_EXAMPLE = "\"location == 'CA1' and cell_type == 'pyramidal'\""


def choose_units(expression: str, columns: Mapping[str, NDArray[Any]], name: str) -> Bools:
    """Find the units for which an expression is true, shape (n_units,); `name` is that of the file.

    Columns are texts, numbers or truth values. A ValueError says what of an expression is not
    understood, or which values there are if it chooses no unit.
    """
    text = check_text("units", expression)
    if not columns:
        raise ValueError(
            f"The units of {name} have no column to choose by, such as a region or a type of cell: "
            "leave units out, which takes all of them."
        )
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        chosen = np.asarray(_truth(tree, columns, name), dtype=bool)
    except (SyntaxError, RecursionError, MemoryError):  # the latter two: nested too deeply
        raise ValueError(f"units must be an expression such as {_EXAMPLE}; got {text!r}.") from None
    if not chosen.any():
        told = "; ".join(
            f"{key}: {', '.join(map(str, np.unique(values)[:8]))}"
            for key, values in columns.items()
            if key in text
        )
        raise ValueError(f"No unit of {name} has {text}. Values in the file: {told}.")
    return chosen


def _truth(node: ast.expr, columns: Mapping[str, NDArray[Any]], name: str) -> Bools:
    """Compute where a part of the expression is true."""
    if isinstance(node, ast.BoolOp):
        parts = [_truth(each, columns, name) for each in node.values]
        combine = np.logical_and if isinstance(node.op, ast.And) else np.logical_or
        return np.asarray(combine.reduce(parts))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return ~_truth(node.operand, columns, name)
    if isinstance(node, ast.Name):
        values: NDArray[Any] = _value(node, columns, name)
        if values.dtype == bool:
            return values
        raise ValueError(
            f"The column {node.id!r} of the units of {name} is not true or false: compare it, such "
            f"as {node.id} == {values[0].item()!r}."
        )
    if not isinstance(node, ast.Compare):
        raise ValueError(
            f"units may have columns, values, comparisons, in, and, or, not, and nothing like "
            f"{ast.unparse(node)!r}. For instance: {_EXAMPLE}."
        )
    found = np.ones(len(next(iter(columns.values()))), dtype=bool)
    sides = [node.left, *node.comparators]
    for one, comparison, other in zip(sides, node.ops, sides[1:], strict=False):
        found &= _compared(comparison, _value(one, columns, name), _value(other, columns, name))
    return found


def _compared(comparison: ast.cmpop, one: Any, other: Any) -> Bools:
    if isinstance(comparison, ast.In | ast.NotIn):
        choices = list(other) if isinstance(other, tuple) else [other]
        found = np.any([_compared(ast.Eq(), one, each) for each in choices], axis=0)
        return np.asarray(~found if isinstance(comparison, ast.NotIn) else found, dtype=bool)
    if type(comparison) not in _COMPARISONS:
        raise ValueError("units may compare by ==, !=, <, <=, >, >= and in.")
    is_text, is_other = (np.asarray(each).dtype.kind in "US" for each in (one, other))
    if is_text != is_other:
        text, number = (one, other) if is_text else (other, one)
        raise ValueError(
            f"units compares a text with a number: {np.ravel(text)[0]!s} and "
            f"{np.ravel(number)[0]!s}. Write texts in quotes, and numbers without."
        )
    return np.asarray(_COMPARISONS[type(comparison)](one, other))


def _value(node: ast.expr, columns: Mapping[str, NDArray[Any]], name: str) -> Any:
    """Read a column or a constant."""
    if isinstance(node, ast.Name):
        if node.id not in columns:
            raise unknown_name(f"column of the units of {name}", node.id, columns)
        return columns[node.id]
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return tuple(_value(each, columns, name) for each in node.elts)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, columns, name)
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float):
        return node.value
    raise ValueError(
        f"units may compare columns with texts and numbers, not {ast.unparse(node)!r}. For "
        f"instance: {_EXAMPLE}."
    )
