"""The commands that list learners, accounts, experiments, tasks, worlds, findings and columns."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from analyses.cli.options import described
from analyses.cli.terminal import print_frame, print_table, print_text

if TYPE_CHECKING:
    from replay.learners.contract import Between, Choice


def learners(name: str | None = None, /) -> None:
    """List the learners: when each replays, how replay is chosen, and what it stores.

    With NAME: what that learner stores, and its parameters, their defaults and ranges. In a pipe,
    the list has one line for each learner, without what it stores.

    Example: replay learners dyna_q

    Options
    -------
    name : NAME
        A learner, or your own Python file, whose parameters to show.
    """
    from replay.learners import LEARNERS, find_learner
    from replay.learners.ranges import SHARED

    if name is not None:
        found = find_learner(name)
        own = described(found.module.Params, "Attributes")
        meanings = SHARED | {key: about.text for key, about in own.items()}
        parameters = []
        for key, value in found.parameters.items():
            shown = f"{value:g}" if isinstance(value, float) else str(value).lower()
            parameters.append(
                (key, shown, f"{_range(found.ranges.get(key))}{meanings.get(key, '')}")
            )
        print_text((found.module.__doc__ or "").partition("\n")[0])
        print_text(
            f"It stores: {found.description.stores}."
            + ("" if found.description.computes_values else " It computes no values.")
        )
        print_text(f"Source: {found.description.source}\n")
        print_table(("parameter", "default", "range and meaning"), parameters)
        return
    rows = []
    for learner in LEARNERS:
        entry = find_learner(learner).description
        values = "yes" if entry.computes_values else "no"
        rows.append((learner, entry.pauses, entry.priority, values, entry.stores, entry.source))
    header = ("learner", "replays at", "chosen by", "values", "stores", "source")
    n = len(header) if sys.stdout.isatty() else 3  # so that each row of a pipe is one line
    print_table(header[:n], [row[:n] for row in rows])
    print_text(
        '\n"steps": after each step; "ends", "starts": at the end or start of an episode; "rest": '
        "between episodes. Learners without values act at random: only their replay is of "
        "interest. What a learner stores, its source and its parameters: replay learners NAME"
    )


def experiments() -> None:
    """List the paper's experiments and their sizes.

    Example: replay experiments
    """
    from replay.experiments import EXPERIMENTS

    rows = [
        (each.name, each.title, *(f"{n:,}" for n in (each.n_mdps, each.n_seeds, each.n_steps)))
        for each in EXPERIMENTS.values()
    ]
    print_table(("experiment", "title", "worlds", "runs per world", "steps per run"), rows)


def accounts(name: str | None = None, /) -> None:
    """List the accounts of replay that replay compare judges, and the controls.

    With NAME: the parameters that this account leaves open, with priors and reasons.

    Example: replay accounts sfma

    Options
    -------
    name : NAME
        An account, whose priors to show.
    """
    from analyses.findings.accounts import list_accounts, list_priors

    if name is None:
        print_frame(list_accounts())
        print_text("\nPriors of its parameters: replay accounts NAME")
    else:
        print_frame(list_priors(name))


def tasks(name: str | None = None, /) -> None:
    """List the tasks of published experiments, with the statistics computed in each.

    With NAME: the maze, the laps and the statistics of that task.

    Example: replay tasks w_track

    Options
    -------
    name : NAME
        A task, which to describe.
    """
    from analyses.findings.table import list_statistics
    from replay.tasks.published import TASKS, find_task

    if name is None:
        rows = [
            (key, _first_line(entry.builder), " ".join(entry.statistics))
            for key, entry in TASKS.items()
        ]
        print_table(("task", "description", "statistics"), rows)
        print_text(
            "\nThe statistics are explained by: replay findings. More on a task: replay tasks NAME"
        )
        return
    entry = find_task(name)
    task = entry.build()
    print_text(f"{name}: {_first_line(entry.builder)}")
    print_text(" ".join(task.remark.split()))
    print_text(
        f"Its maze has {len(task.places)} places. Sequences have {entry.min_length} states or "
        f"more. Landmarks: {', '.join(task.landmarks) or 'none'}.\n"
    )
    blocks = [(each.name, str(each.n_laps), str(each.n_rest)) for each in task.blocks]
    print_table(("block", "laps", "pauses of rest after it"), blocks)
    print()
    listed = list_statistics()
    print_frame(listed[listed["statistic"].isin(entry.statistics)])
    print_text(f"\nPublished findings: replay findings {name}")


def worlds() -> None:
    """List the changing worlds of replay change.

    Example: replay worlds
    """
    from replay.worlds.changing_worlds import WORLDS

    rows = []
    for name, build in WORLDS.items():
        given = getattr(build, "keywords", {})  # of a partial
        settings = ", ".join(f"{key}={value}" for key, value in given.items())
        rows.append((name, _first_line(build) + (f" With {settings}." if settings else "")))
    print_table(("world", "description"), rows)


def findings(name: str | None = None, /) -> None:
    """Explain the statistics, and list the studies whose findings test them.

    With a statistic, a task or a study: its findings, one per row, and why one is not tested.

    Example: replay findings w_track

    Options
    -------
    name : NAME
        A statistic, a task or a study, whose findings to list.
    """
    from analyses.findings.table import explained, list_findings, list_statistics, list_studies

    if name is None:
        print_frame(list_statistics())
        print_text(
            "\nA share is a fraction of all sequences, or of those named; the other statistics are "
            "differences, numbers or logarithms of ratios.\n"
        )
        print_frame(list_studies())
        print_text("\nPublished findings of a statistic, a task or a study: replay findings NAME")
        return
    found = list_findings(name)
    print_text(explained(name))
    if len(found):
        print_frame(found)
    else:
        print("No finding is listed for it.")


def columns(table: str | None = None, /) -> None:
    """List the tables that commands write; with TABLE, explain its columns.

    Example: replay columns reward_rate

    Options
    -------
    table : TABLE
        The name of a table, such as reward_rate.
    """
    from analyses.jobs.columns import TABLES
    from replay.checks import check_choice

    if table is None:
        print_text(f"{', '.join(sorted(TABLES))}\n\nreplay columns TABLE explains one.")
        return
    # The ending of a file's name may be left out.
    endings = {name.rpartition(".")[0]: name for name in TABLES}
    described = TABLES[check_choice("table", endings.get(table, table), TABLES)]
    rows = [
        (f"{name}{' (in some)' * (name in described.optional)}", *column)
        for name, column in described.columns.items()
    ]
    print_text(f"One row per {described.row}.")
    print_table(("column", "meaning", "unit", "empty"), rows)


def _first_line(builder: Callable[..., object]) -> str:
    function = getattr(builder, "func", builder)  # of a partial
    return (function.__doc__ or "").partition("\n")[0]


def _range(kind: Between | Choice | None) -> str:
    """Return a sentence with the values that a parameter may have; empty if any will do."""
    from replay.checks import LARGEST_NUMBER
    from replay.learners.contract import Between

    if kind is None:
        return ""
    if not isinstance(kind, Between):
        return f"One of {', '.join(kind.names)}. "
    low, high = (f"{limit:,.7g}" for limit in kind[:2])
    is_bounded = [abs(limit) < LARGEST_NUMBER for limit in (kind.low, kind.high)]
    if all(is_bounded):
        return f"From {low} to below {high}. " if kind.why_below else f"From {low} to {high}. "
    return f"At least {low}. " if is_bounded[0] else ""
