"""The command ``replay learners``."""

from __future__ import annotations

import inspect
import re
from typing import Annotated

import typer

from analyses.cli.terminal import print_table, say

__all__ = ["learners"]


def learners(
    name: Annotated[
        str | None, typer.Argument(help="A learner, to show its parameters instead.")
    ] = None,
) -> None:
    """List the learners: what each stores, when it replays, and by which priority."""
    from replay.learners import LEARNERS, find_learner

    if name is not None:
        _print_parameters(name)
        return
    rows = []
    for learner in LEARNERS:
        told = find_learner(learner).description
        values = "yes" if told.computes_values else "no"
        rows.append((learner, told.stores, told.pauses, told.priority, values, told.source))
    print_table(("learner", "stores", "replays at", "what is next", "values", "source"), rows)
    say("\nsteps: after each; ends and starts: of episodes. Parameters: replay learners NAME")
    say("Learners without values act at random, and say only what is replayed.")


def _print_parameters(learner: str) -> None:
    """Print what a learner is, and its parameters in the textbook's form."""
    from replay.learners import find_learner

    found = find_learner(learner)
    meanings = _described(found.module.Params.__doc__ or "")
    rows = []
    for key, value in found.parameters.items():
        meaning = meanings.get(key, "")
        if key in found.choices:
            meaning = f"One of {', '.join(found.choices[key])}. {meaning}"
        rows.append((key, _plain(value), meaning))
    print((found.module.__doc__ or "").partition("\n")[0])
    print(f"Source: {found.description.source}\n")
    print_table(("parameter", "default", "what it is"), rows)


def _described(docstring: str) -> dict[str, str]:
    """Read the descriptions of attributes in a docstring in numpy's form."""
    meanings: dict[str, str] = {}
    names: list[str] = []
    for line in inspect.cleandoc(docstring).partition("Attributes\n")[2].splitlines():
        if match := re.fullmatch(r"([\w, ]+) : .*", line):
            names = match[1].split(", ")
        for name in names if line.startswith("    ") else ():
            meanings[name] = f"{meanings.get(name, '')} {line.strip()}".lstrip()
    return {name: re.sub(r"`+|:\w+:|\[\d\]_", "", text) for name, text in meanings.items()}


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value).lower()
