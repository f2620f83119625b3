"""The commands that list what there is: learners, tasks, worlds, findings, columns of tables."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Annotated

import typer

from analyses.cli.terminal import print_frame, print_table, print_text

__all__ = ["columns", "experiments", "findings", "learners", "tasks", "worlds"]


def learners(
    name: Annotated[
        str | None,
        typer.Argument(help="A learner, or a file of your own, to show its parameters instead."),
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
    print_text(
        "\nsteps: after each; ends and starts: of episodes. Learners without values act at random, "
        "and say only what is replayed. Parameters: replay learners NAME"
    )


def experiments() -> None:
    """List the paper's experiments and their sizes."""
    from replay.experiments import EXPERIMENTS

    rows = [
        (each.name, each.title, *(f"{n:,}" for n in (each.n_mdps, each.n_seeds, each.n_steps)))
        for each in EXPERIMENTS.values()
    ]
    print_table(("experiment", "what", "worlds", "runs in each", "steps of a run"), rows)


def tasks() -> None:
    """List the tasks of experiments, with the statistics that are computed in each."""
    from replay.tasks.published import TASKS

    rows = [
        (name, _first_line(entry.builder), " ".join(entry.statistics))
        for name, entry in TASKS.items()
    ]
    print_table(("task", "what", "statistics"), rows)
    print_text("\nWhat the codes of statistics mean: replay findings")


def worlds() -> None:
    """List the worlds that change, for replay change."""
    from replay.worlds.changing_worlds import WORLDS

    rows = [(name, f"{_first_line(build)}{_settings(build)}") for name, build in WORLDS.items()]
    print_table(("world", "what"), rows)


def findings(
    name: Annotated[
        str | None,
        typer.Argument(help="The code of a statistic, or a task, to list what was published."),
    ] = None,
) -> None:
    """Explain the codes of statistics, and list the published findings that each is held against.

    With a code or a task: its findings, one a row.
    """
    from analyses.studies.comparison.codes import explained, list_codes, list_findings

    if name is None:
        print_frame(list_codes())
        print_text(
            "\nA share is of all sequences, or of those named; others are differences, numbers or "
            "logarithms of ratios. What was published: replay findings CODE, or TASK"
        )
        return
    found = list_findings(name)
    if name.startswith("S"):
        print_text(f"{name}: {explained(name)}\n")
    if len(found):
        print_frame(found)
    else:
        print("No finding was published for it.")


def columns(
    table: Annotated[
        str | None, typer.Argument(help="A table, such as reward_rate; without one, all.")
    ] = None,
) -> None:
    """List the tables that commands write; with a table, explain its columns."""
    from analyses.jobs.columns import glossary
    from analyses.studies import written_tables

    tables = written_tables()
    if table is None:
        print_table(("table", "one row per"), [(key, each.row) for key, each in tables.items()])
        return
    print_table(("column", "meaning", "unit", "empty"), glossary(table, tables))


def _first_line(builder: Callable[..., object]) -> str:
    function = getattr(builder, "func", builder)  # of a partial
    return (function.__doc__ or "").partition("\n")[0]


def _settings(builder: Callable[..., object]) -> str:
    given = getattr(builder, "keywords", {})
    told = ", ".join(f"{key}={value}" for key, value in given.items())
    return f" With {told}." if told else ""


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
    print_text((found.module.__doc__ or "").partition("\n")[0])
    print_text(f"Source: {found.description.source}\n")
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
