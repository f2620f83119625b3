"""The pages that are made of what the code and the tables say themselves."""

import json
import re
from pathlib import Path

import typer

from analyses.cli import app
from analyses.jobs.columns import TABLES, Column, Table
from replay.learners import LEARNERS, find_learner

FACES = {
    "replay": "simulate, feed, worlds, learners and tasks",
    "replay.encoders": "states that are learned",
    "replay.demands": "memory and work of a learner",
    "analyses": "classify, find, compare and explain replay",
    "analyses.recordings": "recordings of animals, real and simulated",
    "analyses.plots": "figures",
}


def write_all(root: Path) -> None:
    """Write them where Sphinx looks for them; what has not changed keeps its time."""
    folder = root / ".docs" / "reference" / "generated"
    pages = {
        "columns": columns(),
        "commands": commands(),
        "api": interface(),
        "learners": learners(),
    }
    for script in sorted((root / "figures" / "tutorials").glob("*.py")):
        cells = _cells(script.read_text("utf-8"))
        pages[f"tutorials/{script.stem}"] = tutorial(script, cells)
        _write(folder / "tutorials" / f"{script.stem}.ipynb", notebook(cells))
    for name, text in pages.items():
        _write(folder / f"{name}.md", text)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text("utf-8") != text:
        path.write_text(text, "utf-8")


def interface() -> str:
    """List what the faces of both packages offer, each with a page of its own."""
    lines = ["# Python", ""]
    for face, about in FACES.items():
        module = __import__(face, fromlist=["__all__"])
        own = [
            name for name, each in vars(module).items() if getattr(each, "__module__", "") == face
        ]
        listed = getattr(module, "__all__", own)  # what a face lists, or else what a module defines
        names = [f"   {each}" for each in sorted(listed) if not each.startswith("_")]
        lines += [f"## `{face}`: {about}", "", "```{eval-rst}", f".. currentmodule:: {face}", ""]
        lines += [".. autosummary::", "   :toctree: api", "   :nosignatures:", "", *names]
        lines += ["```", ""]
    return "\n".join(lines)


def learners() -> str:
    """List what each learner stores, when it replays, and how replay is chosen."""
    lines = ["# Learners", "", "`replay learners NAME` describes one, with its parameters.", ""]
    lines += [
        "*steps*: after each step; *ends*, *starts*: at the end or start of an episode; *rest*:"
    ]
    lines += [
        "between episodes. Learners without values act at random, and only their replay counts.",
        "",
    ]
    lines += ["| learner | replays at | chosen by | stores | values | source |"]
    lines += ["|---|---|---|---|---|---|"]
    for name in LEARNERS:
        told = find_learner(name).description
        values = "yes" if told.computes_values else "no"
        cells = f"`{name}`", told.pauses, told.priority, told.stores, values, told.source
        lines.append(f"| {' | '.join(each.replace('|', '&#124;') for each in cells)} |")
    return "\n".join(lines) + "\n"


def commands() -> str:
    """Describe every command and its options, as ``--help`` does."""
    lines = ["# Commands", "", "`replay COMMAND --help` prints the same.", ""]
    for name, command in typer.main.get_command(app).commands.items():
        arguments = [each for each in command.params if not _is_option(each)]
        usage = "".join(f" {each.metavar or each.name.upper()}" for each in arguments)
        lines += [f"## `replay {name}`", "", f"```text\nreplay {name}{usage} [OPTIONS]\n```", ""]
        about, _, example = (command.help or "").partition("\n\nExample: ")
        lines += [
            _plain(about),
            "",
            f"```bash\n{example}\n```",
            "",
            "| option | meaning | default |",
            "|---|---|---|",
        ]
        for each in command.params:
            # A flag is off by default, and has no value to name.
            value = "" if getattr(each, "is_flag", False) else each.metavar or each.name.upper()
            names = [*each.opts, value] if _is_option(each) else [value]
            default = each.show_default if isinstance(each.show_default, str) else each.default
            if isinstance(default, tuple):
                default = ", ".join(map(str, default))
            no_default = default is None or isinstance(default, bool) or not _is_option(each)
            cells = (
                f"`{' '.join(filter(None, names))}`",
                _plain(each.help or ""),
                "" if no_default else str(default),
            )
            lines.append(f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |")
        lines.append("")
    return "\n".join(lines)


def _is_option(parameter: typer.core.TyperOption | typer.core.TyperArgument) -> bool:
    return parameter.opts[0].startswith("-")


def _plain(text: str) -> str:
    """Keep Markdown from reading what is meant literally."""
    return re.sub(r"([*_<>`])", r"\\\1", " ".join(text.split()))


def columns() -> str:
    """Describe the columns of all tables that commands write."""
    lines = [
        "# Columns of all tables", "",
        "`replay columns` lists the tables, and `replay columns reward_rate` explains one. A cell",
        "without a value is empty in CSV, and NaN or null in Parquet.", "", "## Tables", "",
    ]  # fmt: skip
    for name, table in TABLES.items():
        lines += [f"### `{name}`", "", f"One row per {table.row}.", ""]
        lines += [_describe(*each, table) for each in table.columns.items()]
        lines.append("")
    return "\n".join(lines)


def _describe(name: str, column: Column, table: Table) -> str:
    unit = f" ({column.unit})" * bool(column.unit)
    empty = f"; empty {column.empty}" * bool(column.empty)
    return f"- `{name}`{' (in some)' * (name in table.optional)}: {column.meaning}{unit}{empty}"


def _cells(script: str) -> list[tuple[str, str]]:
    """Divide a tutorial into cells: markdown or code, and the text."""
    cells = []
    for cell in re.split(r"^# %%", script, flags=re.M)[1:]:
        kind, _, text = cell.partition("\n")
        if "[markdown]" in kind:
            cells.append(("markdown", re.sub(r"^# ?", "", text, flags=re.M).strip()))
        else:
            cells.append(("code", text.strip()))
    return cells


def tutorial(script: Path, cells: list[tuple[str, str]]) -> str:
    """Make a page of a tutorial, with the picture that ships beside it."""
    texts = [text if kind == "markdown" else f"```python\n{text}\n```" for kind, text in cells]
    up = "../../../../figures/tutorials"
    links = f"Download: {{download}}`notebook <{script.stem}.ipynb>`, "
    links += f"{{download}}`script <{up}/{script.name}>`."
    title, _, first = texts[0].partition("\n")
    picture = f"![The picture that this tutorial ends with]({up}/{script.stem}.png)"
    return "\n\n".join([title, links, first.strip(), *texts[1:], picture]) + "\n"


def notebook(cells: list[tuple[str, str]]) -> str:
    """Make the notebook of a tutorial."""
    made = []
    for number, (kind, text) in enumerate(cells):
        cell = {"cell_type": kind, "id": f"cell{number}", "metadata": {}, "source": text}
        made.append(cell | ({} if kind == "markdown" else {"execution_count": None, "outputs": []}))
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return json.dumps({"cells": made, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5})
