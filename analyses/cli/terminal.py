"""What all commands show on the screen: progress, tables, and lists of names as they are typed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["print_table", "progress_bars", "screen", "split"]

screen = Console(stderr=True, highlight=False)


def progress_bars() -> Progress:
    """Make bars that tell how far a command is; a context."""
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=screen)


def print_table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    """Print a table on standard output; its first column is not broken."""
    from rich.table import Table

    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0), pad_edge=False)
    for number, name in enumerate(header):
        table.add_column(name, no_wrap=number == 0, overflow="fold")
    for row in rows:
        table.add_row(*row)
    Console(highlight=False).print(table, markup=False)


def split(names: list[str]) -> list[str]:
    """Take names apart that were given several times or with commas; `all` is none of them.

    Examples
    --------
    >>> split(["maze,tree", "all"])
    ['maze', 'tree']
    """
    return [name.strip() for each in names for name in each.split(",") if name.strip() != "all"]
