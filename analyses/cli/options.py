"""Options: those that several commands share, how docs describe them, and how they are read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from inspect import Parameter, cleandoc, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

import typer

if TYPE_CHECKING:
    from analyses.jobs.results import Part


Jobs = Annotated[
    int | None, typer.Option(metavar="N", help="Number of processes.", show_default="one per core")
]
Cluster = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Address of a Dask scheduler whose workers do the work: tcp://host:port.",
    ),
]
Pieces = Annotated[
    str | None,
    typer.Option(
        metavar="I/N",
        help="Make only the I-th of N parts of the work, such as 3/8, in a folder that several "
        "jobs of a scheduler share. The same command without it then collects them.",
        show_default="all",
    ),
]
Out = Annotated[Path, typer.Option(metavar="FOLDER", help="Result folder.")]
Seed = Annotated[int, typer.Option(metavar="N", help="Seed of all random numbers.")]

_PART = re.compile(r"(\d{1,9})/(\d{1,9})")
_WHOLE = re.compile(r"-?[\d_]{1,30}")
_OTHER_NAMES = {
    "complements": "--session", "earlier": "--reuse", "lap_ends": "--lap-end",
    "mdps": "--n-worlds", "most_unknown": "--unknown", "n_mdps": "--n-worlds",
    "n_seeds": "--repeats", "n_sequences": "--events", "n_sessions": "--recovery",
    "n_worlds": "--n-worlds", "seeds": "--repeats", "sessions": "--more-sessions",
    "tracks": "--compare-tracks", "worlds": "--n-worlds",
}  # fmt: skip
"""Arguments of functions whose option has another name, but for a plural or `n_`."""


class Described(NamedTuple):
    """What docs say of an option or a field: type, default if it needs words, and text."""

    kind: str
    default: str
    text: str


_UNTOLD = Described("", "", "")  # in Python without docstrings (-OO)


def described(thing: object, section: str) -> dict[str, Described]:
    """Read what a section of the docstring of a function or a class says about each name.

    Examples
    --------
    >>> described(Fields, "Attributes")["panels"].kind
    'mapping of str to str'
    """
    found: dict[str, Described] = {}
    _, _, entries = cleandoc(thing.__doc__ or "").partition(f"{section}\n--")
    for entry in re.split(r"\n(?=\w)", entries)[1:]:
        head, _, body = entry.partition("\n")
        names, _, kind = head.partition(" : ")
        kind, _, default = kind.partition(", default ")
        text = re.sub(r"`+|:\w+:|\[\d\]_", "", " ".join(body.split()))
        found |= dict.fromkeys(names.split(", "), Described(kind, default, text))
    return found


class Fields(NamedTuple):
    """Options of a command that are fields of records.

    Attributes
    ----------
    records : tuple of NamedTuple
        The records, with their usual values; their docs have the help.
    elsewhere : mapping of str to NamedTuple
        Records with other values, by where these hold. A field that has another value there is
        None unless it is given.
    panels : mapping of str to str
        The names of options by the panel of the help that shows them.
    """

    records: tuple[Any, ...]
    elsewhere: Mapping[str, Any]
    panels: Mapping[str, str]

    def parameters(self) -> Iterator[Parameter]:
        """Make a parameter of each field, as if the command had it."""
        held = {name: record for record in self.records for name in record._fields}
        for name in " ".join(self.panels.values()).split():
            if name not in held:  # the command has it
                continue
            kind, usual = type(held[name]), getattr(held[name], name)
            hint = get_type_hints(kind)[name]
            about = described(kind, "Attributes").get(name, _UNTOLD)
            others = [
                f"; {where} {getattr(record, name):g}"
                for where, record in self.elsewhere.items()
                if isinstance(record, kind) and getattr(record, name) != usual
            ]
            # None says that it was not given, so that each kind of event keeps its own default.
            if others:
                about = about._replace(default="".join([f"{usual:g}", *others]))
                hint, usual = hint | None, None
            annotation = Annotated[hint, about]  # type: ignore[valid-type]
            yield Parameter(name, Parameter.KEYWORD_ONLY, default=usual, annotation=annotation)


def as_command(function: Callable[..., None]) -> Callable[..., None]:
    """Make a command of a function whose docstring has the help.

    In its section Options, each option has, in the place of its type, what is typed. Parameters
    that are given by position are arguments; ``**chosen`` is annotated with `Fields`.
    """
    own = list(signature(function, eval_str=True).parameters.values())
    arguments = [each.name for each in own if each.kind is Parameter.POSITIONAL_ONLY]
    panels: dict[str, str] = {}
    if own and own[-1].kind is Parameter.VAR_KEYWORD:
        fields = get_args(own.pop().annotation)[1]
        own[len(arguments) : len(arguments)] = fields.parameters()
        panels = {name: panel for panel, names in fields.panels.items() for name in names.split()}
    told = described(function, "Options")

    def command(**given: Any) -> None:
        function(*[given.pop(name) for name in arguments], **given)

    parameters = []
    for each in own:
        hint, about = each.annotation, told.get(each.name, _UNTOLD)
        if get_origin(hint) is Annotated:
            hint, about = get_args(hint)
        if get_origin(hint) in (Sequence, tuple):
            hint = list.__class_getitem__(get_args(hint)[0])  # which typer knows
        if isinstance(about, Described):
            is_argument, name = each.name in arguments, each.name.removeprefix("n_")
            option = _OTHER_NAMES.get(each.name, f"--{name.replace('_', '-')}")
            typed = "N" if about.kind == "int" else about.kind.rpartition(" ")[2].upper()
            about = (typer.Argument if is_argument else typer.Option)(
                *(() if is_argument else (option,)),
                metavar=typed or None,
                help=about.text,
                show_default=about.default or True,
                rich_help_panel=panels.get(each.name),
            )
        annotation = Annotated[hint, about]  # type: ignore[valid-type]
        parameters.append(each.replace(kind=Parameter.KEYWORD_ONLY, annotation=annotation))
    text = cleandoc(function.__doc__ or "").partition("\n\nOptions\n--")[0]
    # Each paragraph is one line, so that it is wrapped to the terminal's width.
    command.__doc__ = "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))
    command.__name__ = function.__name__
    command.__signature__ = signature(function).replace(parameters=parameters)  # type: ignore[attr-defined]
    return command


def as_typed(message: str, options: Iterable[str]) -> str:
    """Name options as they are typed, where a message names an argument of a function.

    Arguments are words with an underscore, the first word of a sentence without a capital letter,
    and words in brackets, such as (track).

    Examples
    --------
    >>> options = ["--draws", "--track", "--seed"]
    >>> as_typed("n_draws must be a whole number, got 0.", options)
    '--draws must be a whole number, got 0.'
    >>> as_typed("mine.nwb has no track graph: give one (track).", options)
    'mine.nwb has no track graph: give one (--track).'
    >>> as_typed("The number of draws must be a whole number, got 0.", options)
    '--draws: The number of draws must be a whole number, got 0.'
    """
    own = list(options)
    known: dict[str, str] = {}
    for option in own:
        key = option.removeprefix("--").replace("-", "_")
        # A function takes a list by a plural, whose entries are options that are given one by one.
        known |= {f"{key}s": option} if "_" not in key else {}
        known |= {key: option, f"n_{key}": option}
    known |= {key.removeprefix("--").replace("-", "_"): key for key in own}
    known |= {name: option for name, option in _OTHER_NAMES.items() if option in own}
    subject = re.match(r"The (?:number of )?(\w+)(?: of .*?)? must ", message)
    if subject and subject[1] in known:
        return f"{known[subject[1]]}: {message}"

    def change(found: re.Match[str]) -> str:
        return known.get(str(found[0]), str(found[0]))

    # Neither in paths and quoted texts, nor in words that belong to the sentence.
    first, apart = r"(?:^|(?<=\. ))[a-z]\w*(?=,? [a-z])", r"(?<=\()\w+(?=[),])"
    chosen = r"(?<=choose by )\w+|(?<=choose one by )\w+"
    with_underscore = r"(?<![\w'\"./=-])[a-z]+(?:_[a-z]+)+(?![\w'\"./=-]|\.\w| of ')"
    return re.sub(f"{first}|{apart}|{chosen}|{with_underscore}", change, message)


def check_out(path: Path, ending: str) -> Path:
    """Check, before the work begins, that its result can be written.

    Examples
    --------
    >>> check_out(Path("table.csv"), ".parquet")
    Traceback (most recent call last):
    ValueError: The name of the output file must end with .parquet, got 'table.csv'.
    """
    from replay.checks import shown
    from replay.files import name_beside

    if path.suffix != ending:
        raise ValueError(
            f"The name of the output file must end with {ending}, got {shown(path.name)}."
        )
    try:
        if path.is_dir():
            raise IsADirectoryError(None, "a folder of that name exists")
        # Whether a folder may be written to, or its disk is full, shows only when it is tried.
        _is_there(path)  # also if the name is too long
        folder = next(each for each in path.parents if _is_there(each))
        beside = name_beside(folder / path.name)
        beside.touch(exist_ok=False)
        beside.unlink()
    except OSError as error:
        raise type(error)(
            f"{path} cannot be written: {error.strerror}. Choose another file with --out."
        ) from error
    return path


def _is_there(path: Path) -> bool:
    try:
        path.stat()
    except FileNotFoundError:
        return False
    return True


def split(names: Sequence[str]) -> list[str]:
    """Split repeated or comma-separated names, and drop the word `all`.

    Examples
    --------
    >>> split(["maze,tree", "all", "tree"])
    ['maze', 'tree']
    """
    each = [name.strip() for text in names for name in text.split(",")]
    return list(dict.fromkeys(name for name in each if name != "all"))


def is_all(names: Sequence[str]) -> bool:
    """Whether one of the names is `all`.

    Examples
    --------
    >>> is_all(["maze,all"])
    True
    """
    return any(name.strip() == "all" for text in names for name in text.split(","))


def read_part(text: str | None) -> Part | None:
    """Read the option ``--pieces``."""
    from analyses.jobs.results import Part
    from replay.checks import shown

    if text is None:
        return None
    found = _PART.fullmatch(text)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise ValueError(
            "--pieces must be a part and the number of parts, such as 3/8, counted from 1; got "
            f"{shown(text)}."
        )
    return Part(int(found[1]), int(found[2]))


def read_learners(texts: Sequence[str]) -> dict[str, tuple[str, dict[str, Any]]]:
    """Read learners and their parameters from the command line."""
    from analyses.tables import learner_label, read_settings
    from replay.learners import LEARNERS, find_learner

    found = {}
    for text in texts:
        name, *pairs = text.split() or [""]
        given = read_settings(pairs)
        found[learner_label(find_learner(name, given).name, pairs)] = (name, given)
    if not found:
        raise ValueError(f"Name at least one learner. Choose from: {', '.join(LEARNERS)}.")
    return found


def read_steps(text: str | None) -> int | dict[str, int] | None:
    """Read the option ``--steps``: one number, or a number for each experiment.

    Examples
    --------
    >>> read_steps("maze=100_000"), read_steps("300")
    ({'maze': 100000}, 300)
    """
    from replay.checks import shown

    if text is None:
        return None
    if _WHOLE.fullmatch(text):
        return int(text)
    pairs = [part.partition("=") for part in text.split(",")]
    if not all(name.strip() and _WHOLE.fullmatch(number.strip()) for name, _, number in pairs):
        raise ValueError(
            "--steps must be one number, or one for each experiment such as maze=100000; got "
            f"{shown(text)}."
        )
    return {name.strip(): int(number) for name, _, number in pairs}
