"""Output of all commands on the screen: messages, progress and tables."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer
from rich.cells import cell_len, set_cell_size
from rich.console import Console

if TYPE_CHECKING:
    import pandas as pd
    from rich.progress import Progress

__all__ = ["INTERRUPTED", "broken", "print_frame", "print_table", "print_text", "progress_bars"]
__all__ += ["say", "screen"]

INTERRUPTED = 130
"""The exit code after Ctrl-C."""

screen = Console(stderr=True, highlight=False)


def say(text: str) -> None:
    """Print a text on standard error, without interpreting brackets as markup.

    Parameters
    ----------
    text : str
        The text; lines are wrapped between words, never within a word such as a path.
    """
    screen.print(broken(text, screen.width), markup=False, soft_wrap=True)


def print_text(text: str) -> None:
    """Print a text on standard output; in a terminal, lines are wrapped between words.

    Parameters
    ----------
    text : str
        The text.
    """
    print(broken(text, shutil.get_terminal_size().columns) if sys.stdout.isatty() else text)


def broken(text: str, width: int) -> str:
    """Wrap the lines of a text between words.

    Parameters
    ----------
    text : str
        The text; its own line breaks are kept.
    width : int
        Width of the terminal in columns.

    Returns
    -------
    str
        The same text, with no line wider than `width` unless a single word is.

    Examples
    --------
    >>> broken("Replay is in /a/long/path", 12).splitlines()
    ['Replay is in', '/a/long/path']
    """
    wrapper = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False)
    lines = (wrapper.wrap(line) or [""] for line in text.splitlines())
    return "\n".join(part for parts in lines for part in parts)


@contextmanager
def progress_bars() -> Iterator[Progress]:
    """Show progress bars; Ctrl-C ends the command with a message."""
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    try:
        with Progress(*columns, console=screen) as progress:
            yield progress
    except KeyboardInterrupt:
        say("Interrupted. Run the same command again to resume.")
        raise typer.Exit(INTERRUPTED) from None


def print_frame(table: pd.DataFrame) -> None:
    """Print a data frame on standard output, numbers with three significant digits.

    Parameters
    ----------
    table : pandas.DataFrame
        The table.
    """
    rows = [tuple(map(_text, row)) for row in table.itertuples(index=False)]
    print_table(tuple(map(str, table.columns)), rows)


def _text(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table on standard output, without breaking words.

    In a terminal, long cells are wrapped, except those of the first column; if the terminal is too
    narrow for the longest words of all columns, rows are printed as paragraphs. In a pipe or file,
    each row is one line.

    Parameters
    ----------
    header : sequence of str
        The names of the columns.
    rows : sequence of sequence of str
        The cells.
    """
    from rich.table import Table
    from rich.text import Text

    columns = [[name, *(row[place] for row in rows)] for place, name in enumerate(header)]
    if not sys.stdout.isatty():
        widths = [max(map(cell_len, cells)) for cells in columns]
        for row in (header, *rows):
            cells = (set_cell_size(cell, width) for cell, width in zip(row, widths, strict=True))
            print("  ".join(cells).rstrip())
        return
    gaps = 2 * (len(header) - 1)
    console = Console(highlight=False)
    room = _widths(columns, console.width - gaps)
    if room is None:
        _print_paragraphs(header, rows, console.width)
        return
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0), pad_edge=False)
    for name, width in zip(header, room, strict=True):
        table.add_column(Text(name), width=width, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)


def _widths(columns: Sequence[Sequence[str]], room: int) -> list[int] | None:
    """Divide the width among columns: each gets that of its longest word, and a share of the rest.

    Returns None if the terminal is too narrow.
    """
    natural = [max(map(cell_len, cells)) for cells in columns]
    least = [
        max((cell_len(word) for cell in cells for word in cell.split()), default=0)
        for cells in columns
    ]
    least[0] = natural[0]
    spare = room - sum(least)
    if spare < 0:
        return None
    wanted = sum(natural) - sum(least)
    share = min(spare / wanted, 1.0) if wanted else 0.0
    return [low + int((high - low) * share) for low, high in zip(least, natural, strict=True)]


def _print_paragraphs(header: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> None:
    for first, *others in rows:
        print(first)
        for name, cell in zip(header[1:], others, strict=True):
            if cell:
                text = textwrap.fill(
                    f"{name}: {' '.join(cell.split())}",
                    max(width, 20),
                    initial_indent="  ",
                    subsequent_indent="    ",
                    break_long_words=False,
                    break_on_hyphens=False,
                )
                print(text)
