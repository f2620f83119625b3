"""Output of all commands on the screen: messages, progress and tables."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer
from rich.cells import cell_len
from rich.console import Console

if TYPE_CHECKING:
    import pandas as pd
    from rich.progress import Progress


INTERRUPTED = 130
"""The exit code after Ctrl-C."""

PIPE_WIDTH = 100
"""The width of lines in a pipe or file, whatever that of the terminal around it."""

_CONTROLS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)

screen = Console(stderr=True, highlight=False)


def say(text: str) -> None:
    """Print a text on standard error, wrapped between words, with brackets as they are."""
    screen.print(wrapped(text, screen.width), markup=False, soft_wrap=True)


def print_text(text: str) -> None:
    """Print a text on standard output; lines are wrapped between words."""
    print(wrapped(text, _width()))


def plain(text: str) -> str:
    r"""Replace control characters, by which a text from a file could rewrite or turn the screen.

    Examples
    --------
    >>> plain("\x1b[2Jmaze")
    '?[2Jmaze'
    """
    return _CONTROLS.sub("?", text)


def wrapped(text: str, width: int) -> str:
    """Wrap the lines of a text between words."""
    wrapper = textwrap.TextWrapper(width, break_long_words=False, break_on_hyphens=False)
    lines = (wrapper.wrap(line) or [""] for line in plain(text).split("\n"))
    return "\n".join(part for parts in lines for part in parts)


@contextmanager
def progress_bars() -> Iterator[Progress]:
    """Show progress bars; Ctrl-C ends the command with a message.

    Groups are worked on at the same time, so only the last bar, that of all work, shows times.
    """
    from rich.progress import (
        BarColumn,
        Progress,
        ProgressColumn,
        Task,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class Times(ProgressColumn):
        elapsed, remaining = TimeElapsedColumn(), TimeRemainingColumn()

        def render(self, task: Task) -> Text:
            if task.id != progress.task_ids[-1]:
                return Text()
            return Text.assemble(self.elapsed.render(task), " left ", self.remaining.render(task))

    description = TextColumn("{task.description}", markup=False)
    columns = (description, BarColumn(), TaskProgressColumn(), Times())
    try:
        with Progress(*columns, console=screen) as progress:
            yield progress
    except KeyboardInterrupt:
        say("Interrupted. Run the same command again to resume.")
        raise typer.Exit(INTERRUPTED) from None


def print_frame(table: pd.DataFrame) -> None:
    """Print a data frame."""
    from analyses.reports.text import shown_cells

    print_table(tuple(map(str, table.columns)), shown_cells(table))


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table on standard output, without breaking words.

    Long cells are wrapped, except those of the first column; where there is no room for the longest
    words of all columns, rows are printed as paragraphs. A pipe or file is 100 characters wide,
    columns are separated by two blanks, and an empty cell is a dash.
    """
    from rich.table import Table
    from rich.text import Text

    header, rows = [plain(name) for name in header], [[*map(plain, row)] for row in rows]
    width = _width()
    columns = [[name, *(row[place] for row in rows)] for place, name in enumerate(header)]
    room = _widths(columns, width - 2 * (len(header) - 1))
    if room is None:
        wrapper = textwrap.TextWrapper(
            max(width, 20), initial_indent="  ", subsequent_indent="    ",
            break_long_words=False, break_on_hyphens=False,
        )  # fmt: skip
        for first, *others in rows:
            print(first)
            for name, cell in zip(header[1:], others, strict=True):
                if cell:
                    print(wrapper.fill(f"{name}: {' '.join(cell.split())}"))
        return
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0), pad_edge=False)
    for name, cells in zip(header, room, strict=True):
        table.add_column(Text(name), width=cells, overflow="fold")
    empty = "" if sys.stdout.isatty() else "-"
    for row in rows:
        table.add_row(*(Text(cell or empty) for cell in row))
    # Rich fills its lines with blanks, which a narrower terminal would wrap.
    console = Console(highlight=False, width=width)
    with console.capture() as printed:
        console.print(table)
    for line in printed.get().splitlines():
        print(line.rstrip())


def _width() -> int:
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPE_WIDTH


def _widths(columns: Sequence[Sequence[str]], room: int) -> list[int] | None:
    """Divide the width among columns: headers are wrapped before other cells, words never.

    Returns None if the terminal is too narrow.
    """
    natural = [max(map(cell_len, cells)) for cells in columns]
    words = [
        max((cell_len(word) for cell in cells for word in cell.split()), default=0)
        for cells in columns
    ]
    words[0] = natural[0]  # names, which are copied
    below = [
        max(least, *map(cell_len, cells[1:]), 0)
        for least, cells in zip(words, columns, strict=True)
    ]
    least = below if sum(below) <= room else words
    spare = room - sum(least)
    if spare < 0:
        return None
    wanted = sum(natural) - sum(least)
    share = min(spare / wanted, 1.0) if wanted else 0.0
    return [low + int((high - low) * share) for low, high in zip(least, natural, strict=True)]
