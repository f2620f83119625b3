"""The command ``replay``: each file defines one or more commands, and this one assembles them."""

import errno
import sys
import warnings
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from analyses.cli import inference, lists, logs, recordings, simulations, studies
from analyses.cli.options import as_command, as_typed
from analyses.cli.terminal import INTERRUPTED, plain, say
from replay.version import __version__

_HELP = "What does the hippocampus replay, and which learning algorithm would replay that?"


class _Typed:
    """A command whose help shows what is typed, and no types of Python such as <bool>."""

    def get_params(self, ctx: Any) -> list[Any]:
        found: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for each in found:
            if each.param_type_name == "argument":
                each.display_type_rich = lambda ctx: None
            elif each.is_flag:  # --help included
                each.metavar = " "
        return found


class _Command(_Typed, TyperCommand):
    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        arguments = [each for each in self.params if each.param_type_name == "argument"]
        return [
            "[OPTIONS]",
            *(f"{each.metavar}" if each.required else f"[{each.metavar}]" for each in arguments),
        ]


class _Group(_Typed, TyperGroup):
    pass


app = typer.Typer(
    cls=_Group,
    help=_HELP,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(asked: bool) -> None:
    if asked:
        print(f"replay {__version__} (hippocampal-replay)")
        raise typer.Exit


@app.callback(help=_HELP)
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version and exit.", is_eager=True, callback=_show_version
        ),
    ] = False,
) -> None:
    """Handle the options that come before a command."""


_COMMANDS = {
    "Simulate": (
        simulations.reproduce, simulations.change, simulations.demands, studies.study
    ),
    "Recordings": (recordings.recording, recordings.track),
    "Accounts of replay": (simulations.compare, inference.explain, inference.identifiability),
    "Look at results": (
        logs.page, logs.figures, logs.gallery, logs.classify, logs.animate, logs.status
    ),
    "Lists": (
        lists.learners, lists.accounts, lists.experiments, lists.tasks, lists.worlds,
        lists.findings, lists.columns,
    ),
}  # fmt: skip
for _panel, _commands in _COMMANDS.items():
    for _command in _commands:
        app.command(cls=_Command, rich_help_panel=_panel)(as_command(_command))


def main() -> None:
    """Run the command; errors that the user can cause end with a message, not a traceback."""
    # The line of code that warns tells nothing here; data can be in the text.
    warnings.formatwarning = lambda message, *_: plain(f"Warning: {message}\n")
    try:
        app(prog_name="replay")
    except KeyboardInterrupt:
        say("Interrupted.")
        sys.exit(INTERRUPTED)
    except (ValueError, TypeError, OSError, ImportError, MemoryError) as error:
        message = str(error) or f"{type(error).__name__} (no further details)."
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            message = "The disk is full. Free some space and run the same command again to resume."
            message += f" ({error})"
        if isinstance(error, MemoryError):
            message = f"There is not enough memory. Request less work at once. ({error})"
        # Arguments are named as options of the command that was typed.
        commands = getattr(typer.main.get_command(app), "commands", {})
        typed = next((commands[word] for word in sys.argv[1:] if word in commands), None)
        found = [] if typed is None else [name for each in typed.params for name in each.opts]
        say(f"Error: {as_typed(message, [name for name in found if name.startswith('--')])}")
        sys.exit(1)
