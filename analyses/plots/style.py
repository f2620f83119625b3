"""The style of all figures: widths, colours and labels.

Widths are in cm: a column of a journal is 8.5 cm wide, a page 17.5 cm. No text is smaller than
6 pt. Colours are those of Okabe and Ito [1]_ and of Tol [2]_, which remain distinct for
colour-blind readers, and shades of them. Blue, sky and vermilion are kinds of replay, and no
learner has them. Learners of one family share a hue and differ in line style, and areas differ in
hatching, so that figures can be read in grey.

References
----------
.. [1] Wong (2011), Points of view: Color blindness. https://doi.org/10.1038/nmeth.1618
.. [2] Tol (2021), Colour schemes. https://personal.sron.nl/~pault/
"""

from __future__ import annotations

import difflib
import itertools
import logging
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import is_color_like
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont, get_font_names
from matplotlib.ticker import FuncFormatter, MaxNLocator

from analyses.tables import KINDS, LEARNER_LABELS, LEARNER_ORDER, in_order, read_learner_label
from replay.checks import check_text, shown

INCH = 2.54  # cm
COLUMN_WIDTH = 8.5  # cm
FULL_WIDTH = 17.5  # cm
SMALL = 6.0  # pt, of the smallest text
_ALIKE = 0.85  # so that a learner of one's own is not taken for a misspelled one

VALUE_COLOURS = "viridis_r"
"""The colour map of rewards, values and visits: darker means more."""

Look = dict[str, Any]
"""How something is drawn: arguments of matplotlib, such as `color` and `linestyle`."""

_LEARNER_LOOKS: dict[str, Look] = {
    "monte_carlo": {"color": "#000000", "linestyle": "-"},
    "n_step_td": {"color": "#7f7f7f", "linestyle": (0, (2, 2))},
    "q_lambda": {"color": "#cc79a7", "linestyle": (0, (5, 1, 1, 1, 1, 1))},
    "q_learning": {"color": "#e69f00", "linestyle": "-"},
    "q_learning_optimistic": {"color": "#9a6a00", "linestyle": (0, (6, 1, 1, 1))},
    "prioritized_sweeping": {"color": "#009e73", "linestyle": "-"},
    "prioritized_sweeping_optimistic": {"color": "#5fcfab", "linestyle": (0, (4, 1))},
    "prioritized_sweeping_reset": {"color": "#00563f", "linestyle": (0, (4, 1, 1, 1))},
    "episodic_control": {"color": "#6a3d9a", "linestyle": (0, (1, 0.8))},
    "dyna_q": {"color": "#999933", "linestyle": "-"},
    "trajectory_sampling": {"color": "#999933", "linestyle": (0, (4, 1))},
    "sfma": {"color": "#882255", "linestyle": "-"},
    "sfma_reverse": {"color": "#882255", "linestyle": (0, (4, 1))},
    "sfma_dynamic": {"color": "#882255", "linestyle": (0, (1, 0.8))},
    "sfma_published": {"color": "#882255", "linestyle": (0, (6, 1, 1, 1))},
    "episodic_sequences": {"color": "#6a3d9a", "linestyle": "-"},
    "retrieved_episodes": {"color": "#b497d6", "linestyle": (0, (4, 1, 1, 1))},
    "prioritized_memory_access": {"color": "#332288", "linestyle": "-"},
    "prioritized_memory_access_published": {"color": "#332288", "linestyle": (0, (4, 1))},
    "memory_access_forgetting": {"color": "#332288", "linestyle": (0, (1, 0.8))},
    "bayes_adaptive": {"color": "#332288", "linestyle": (0, (6, 1, 1, 1))},
    "geodesic_representation": {"color": "#a6bd2b", "linestyle": "-"},
    "successor_dyna": {"color": "#999933", "linestyle": (0, (1, 0.8))},
    "remembered_errors": {"color": "#663300", "linestyle": "-"},
    "full_backups": {"color": "#009e73", "linestyle": (0, (1, 0.8))},
    "spectral_diffusion": {"color": "#ee99aa", "linestyle": "-"},
    "spectral_superdiffusion": {"color": "#ee99aa", "linestyle": (0, (4, 1))},
    "context_reactivation": {"color": "#ddcc77", "linestyle": "-"},
    "hierarchical_generative": {"color": "#cc6677", "linestyle": "-"},
    "adaptive_attractor": {"color": "#ee99aa", "linestyle": (0, (1, 0.8))},
    "compositional_replay": {"color": "#ddcc77", "linestyle": (0, (4, 1))},
    "policy_rollouts": {"color": "#663300", "linestyle": (0, (4, 1))},
}
_OWN_COLOURS = ("#aa4499", "#661100", "#aa7744", "#7a9a1f", "#f781bf")
_OWN_LINE_STYLES = ((0, (3, 1, 1, 1, 1, 1)), (0, (6, 2)), "-")

END_COLOUR = "#f0c000"
_KIND_COLOURS = {
    "reverse_episode": "#0072b2",
    "forward_episode": "#56b4e9",
    "novel_path": "#d55e00",
    "ambiguous": "#b3b3b3",
    "unexperienced": "#4d4d4d",
}
_KIND_HATCHES = {  # as on the page of `replay page`
    "forward_episode": "/////",
    "novel_path": ".....",
    "ambiguous": "-----",
    "unexperienced": "|||||",
}

_DOLLAR = re.compile(r"(?<!\\)\$")
_LABELS = {
    **LEARNER_LABELS,
    "deterministic_tree": "Tree, terminal reward",
    "deterministic_tree_intermittent": "Tree, intermittent rewards",
    "stochastic_tree": "Stochastic tree",
    "maze": "Maze",
    "spectral_generator": "Spectral generator",
    "uniform_reactivation": "Uniform reactivation",
    "shuffled_laps": "Shuffled laps",
    "blind_walks": "Blind walks",
    "graph_walks": "Graph walks",
    "reverse_episode": "Episode, reverse",
    "forward_episode": "Episode, forward",
    "novel_path": "Novel path",
    "ambiguous": "Ambiguous",
    "unexperienced": "Unexperienced",
    "no_sequence": "No sequence",
    "moving_wall": "Moving wall",
    "shortcut": "Shortcut",
    "moving_reward": "Moving reward",
    "drifting_tree": "Drifting tree",
    "noisy_moving_wall": "Moving wall, moves go astray",
    "single_move": "Single move",
    "within_event": "Within events",
    "across_events": "Across events",
    "linear_track": "Linear track",
    "linear_track_novel": "Linear track, novel",
    "linear_track_4x": "Linear track, four times the food at one end",
    "linear_track_0x": "Linear track, no food at one end",
    "long_track": "Long track",
    "two_tracks": "Two tracks",
    "gupta_2t": "Two-choice T",
    "w_track": "W-track",
    "t_unvisited": "T, arms seen only",
    "t_unvisited_unknown": "T, arms unknown",
    "t_revaluation": "T with food and water",
    "barrier_arena": "Barrier arena",
    "eight_arm": "Eight arms",
    "y_maze": "Y-maze",
    "liu2021_three_arm": "Three arms, people",
    "liu2019_chains": "Two chains, people",
    "mattar_open_maze": "Open maze",
}


FIGURE_SETTINGS: dict[Any, Any] = {
    "axes.labelsize": 7,
    "axes.linewidth": 0.6,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 7,
    "figure.constrained_layout.h_pad": 0.05,
    "figure.constrained_layout.w_pad": 0.05,
    "figure.labelsize": 7,
    "font.family": "DejaVu Sans",
    "font.size": 7,
    "hatch.linewidth": 0.5,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "legend.handlelength": 2.4,
    "legend.title_fontsize": 7,
    "lines.linewidth": 1.2,
    "pdf.fonttype": 42,
    "savefig.dpi": 300,
    "svg.fonttype": "none",  # texts stay texts, which a journal may set in its own font
    "text.usetex": False,
    "xtick.labelsize": 7,
    "xtick.major.width": 0.6,
    "ytick.labelsize": 7,
    "ytick.major.width": 0.6,
}
"""The matplotlib settings of all figures: fonts, lines, layout and files."""


class _Changes(NamedTuple):
    """Colours and labels that a user has changed, by name, and the settings of matplotlib."""

    colours: Mapping[str, str]
    labels: Mapping[str, str]
    settings: Mapping[Any, Any]


_changes: ContextVar[_Changes] = ContextVar("_changes")
_UNCHANGED = _Changes({}, {}, FIGURE_SETTINGS)
# Ticks are made as late as when a figure is saved, and then need the font of its other texts.
_settings_of: WeakKeyDictionary[Figure, Mapping[Any, Any]] = WeakKeyDictionary()


@contextmanager
def figure_style(
    colours: Mapping[str, str] | None = None,
    labels: Mapping[str, str] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Iterator[None]:
    """Use the style of all figures within a context, with changed colours, labels and settings.

    Parameters
    ----------
    colours : mapping of str to str, optional
        Matplotlib colours by name: of a learner, a kind of replay, or anything else that the tables
        name, such as `recent_episodes`. Other names keep their colours.
    labels : mapping of str to str, optional
        Labels by name; other names keep their labels.
    settings : mapping of str to object, optional
        Settings of matplotlib, by their names in ``matplotlib.rcParams``, such as
        ``{"font.family": "Arial"}``. ``matplotlib.rcParams`` itself leaves the toolkit's style off:
        figures then look as yours do.

    Returns
    -------
    context manager
        On exit it restores the previous settings.

    Raises
    ------
    ValueError
        If a colour or a setting is unknown to matplotlib.

    Examples
    --------
    >>> with figure_style({"dyna_q": "firebrick"}, {"dyna_q": "Dyna"}):
    ...     mpl.rcParams["font.size"], label("dyna_q"), learner_looks(["dyna_q"])
    (7.0, 'Dyna', {'dyna_q': {'label': 'Dyna', 'color': 'firebrick', 'linestyle': '-'}})
    >>> with figure_style(settings={"font.size": 9}):
    ...     mpl.rcParams["font.size"]
    9.0
    """
    mappings = {"colours": colours, "labels": labels, "settings": settings}
    for argument, changed in mappings.items():
        if not (changed is None or isinstance(changed, Mapping)):
            raise TypeError(f"{argument} must be a dict by name, got {shown(changed)}.")
    known = [*_LABELS, *_KIND_COLOURS]
    for name in {**(colours or {}), **(labels or {})}:
        check_text("Each name of a colour or label", name)
        # A user's learner may have any name, unless it resembles one that figures use.
        close = difflib.get_close_matches(name, known, n=1, cutoff=_ALIKE)
        if close and name not in known:
            warnings.warn(
                f"Figures of the toolkit have nothing named {name!r}. Did you mean {close[0]!r}?",
                stacklevel=3,
            )
    for name, text in (labels or {}).items():
        check_text(f"The label of {name!r}", text)
    given: Mapping[str, object] = colours or {}  # a user may have written anything
    for name, colour in given.items():
        if not (isinstance(colour, str | tuple) and is_color_like(colour)):
            raise ValueError(
                f"The colour of {name!r} is {shown(colour)}, which is unknown to matplotlib. Give "
                "a name such as 'black' or a code such as '#0072b2'."
            )
    asked: Mapping[str, Any] = settings or {}
    for name in asked:
        if name not in mpl.rcParams:
            close = difflib.get_close_matches(str(name), mpl.rcParams, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise ValueError(f"matplotlib has no setting {shown(name)}.{hint}")
    # Where figures are shown is no matter of style, and asking for it would load pyplot.
    own = {name: asked[name] for name in asked if name != "backend"}
    if isinstance(font := own.get("font.family"), str):
        try:
            findfont(font, fallback_to_default=False)
        except ValueError:
            # matplotlib says it of each text, hundreds of times.
            logging.getLogger("matplotlib.font_manager").addFilter(
                lambda record: repr(font) not in record.getMessage()
            )
            alike = {"Arial": "Liberation Sans"}.get(font, "")  # of the same widths
            own["font.family"] = [font, alike if alike in get_font_names() else "DejaVu Sans"]
            warnings.warn(
                f"The font {font!r} is not installed here: PDF and PNG get "
                f"{own['font.family'][1]}. SVG names {font!r}, for where it is installed.",
                stacklevel=3,
            )
    before = _changes.get(_UNCHANGED)
    changes = _Changes(
        {**before.colours, **{plain(name): each for name, each in (colours or {}).items()}},
        {**before.labels, **{plain(name): each for name, each in (labels or {}).items()}},
        {**before.settings, **own},
    )
    token = _changes.set(changes)
    try:
        with mpl.rc_context(dict(changes.settings)):
            yield
    finally:
        _changes.reset(token)


def plain(text: str) -> str:
    r"""Keep a text from being taken for a formula, which `$` begins and ends.

    Examples
    --------
    >>> print(plain("my$x^$.py"), plain(plain("$")))
    my\$x^\$.py \$
    """
    return _DOLLAR.sub(r"\\$", text)


def label(name: str) -> str:
    """Return the label of an experiment, world, task, learner or kind of replay in figures.

    Parameters may follow the name of a learner, as in :func:`analyses.tables.learner_label`.

    Examples
    --------
    >>> label("n_step_td"), label("my_learner"), label("sfma replay_mode=reverse")
    ('n-step TD', 'My learner', 'SFMA, replay mode reverse')
    >>> label("reward per step")
    'reward per step'
    """
    labels, name = _changes.get(_UNCHANGED).labels, plain(str(name))
    if name in labels:
        return labels[name]
    text = name
    name, settings = read_learner_label(text)
    if not all("=" in each for each in settings):  # words, and no parameters
        return text.replace("_", " ")
    own = name[:1].upper() + name[1:].replace("_", " ") if "_" in name else name
    known = labels.get(name, _LABELS.get(name, own))
    return ", ".join((known, *(text.replace("=", " ").replace("_", " ") for text in settings)))


def learner_looks(names: Iterable[str]) -> dict[str, Look]:
    """Return the label, colour and line style of each learner, in the paper's order.

    Learners of this toolkit always look the same; others get unused colours in the order in which
    they appear.
    """
    own = itertools.cycle(itertools.product(_OWN_LINE_STYLES, _OWN_COLOURS))
    looks: dict[str, Look] = {}
    listed = in_order(names, LEARNER_ORDER)
    # A learner of the toolkit without a look takes one first, so that it always has the same.
    for name in dict.fromkeys([*LEARNER_ORDER, *listed]):
        look = _LEARNER_LOOKS.get(name)
        if look is None:
            line_style, colour = next(own)
            look = {"color": colour, "linestyle": line_style}
        if name in listed:
            looks[name] = {"label": label(name), **look}
    return own_looks(looks)


def kind_looks(names: Iterable[str]) -> dict[str, Look]:
    """Return the label, colour and hatching of each kind of replay, in the paper's order."""
    looks: dict[str, Look] = {}
    for kind in in_order(names, KINDS):
        looks[kind] = {"label": label(kind), "color": kind_colour(kind)}
        if kind in _KIND_HATCHES:
            looks[kind]["hatch"] = _KIND_HATCHES[kind]
    return looks


def kind_colour(kind: str) -> str:
    """Return the colour of a kind of replay."""
    return _changes.get(_UNCHANGED).colours.get(kind, _KIND_COLOURS.get(kind, "#999999"))


def own_looks(looks: Mapping[str, Look]) -> dict[str, Look]:
    """Apply the colours and labels that the user has set with `figure_style`.

    Examples
    --------
    >>> with figure_style(labels={"floor": "As published"}):
    ...     own_looks({"floor": {"label": "With the floor", "color": "black"}})
    {'floor': {'label': 'As published', 'color': 'black'}}
    """
    now = _changes.get(_UNCHANGED)
    changed = {}
    for name, look in looks.items():
        colour = {"color": now.colours[name]} if name in now.colours else {}
        text = {"label": now.labels[name]} if name in now.labels else {}
        changed[name] = {**look, **colour, **text}
    return changed


def marked(looks: Mapping[str, Look]) -> dict[str, Look]:
    """Give each look a marker of its own, for means that stand side by side, and a solid line."""
    markers = itertools.cycle("os^Dv<>Pp*hXd")
    return {
        name: {**look, "marker": next(markers), "linestyle": "-"} for name, look in looks.items()
    }


def count_range(numbers: Iterable[int | float], noun: str) -> str:
    """Write a count, or the range of several counts, with its noun; empty if none is known.

    Examples
    --------
    >>> count_range([50, 100, 50], "world"), count_range([1], "run"), count_range([], "run")
    ('50 to 100 worlds', '1 run', '')
    """
    known = sorted({int(number) for number in pd.Series([*numbers], dtype=object).dropna()})
    if not known:
        return ""
    some = f"{known[0]:,}" if len(known) == 1 else f"{known[0]:,} to {known[-1]:,}"
    return f"{some} {noun}" if known == [1] else f"{some} {noun}s"


def time_axis(ax: Axes, last: float) -> None:
    """Let the x axis run from 0 to the last time step, labelled in readable units."""
    unit, name = (
        (1e5, "Time step (10\N{SUPERSCRIPT FIVE})")
        if last >= 2e5
        else (1e3, "Time step (thousands)")
        if last >= 2e3
        else (1, "Time step")
    )
    ax.set_xlim(0, last)
    ax.set_xlabel(name)
    ax.xaxis.set_major_locator(MaxNLocator(5))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / unit:g}"))


def write_empty(ax: Axes, text: str) -> Axes:
    """Write in the middle of a panel why it is empty."""
    ax.text(0.5, 0.5, text, transform=ax.transAxes, ha="center", va="center", color="0.45")
    return ax


def remember_style(figure: Figure) -> Figure:
    """Save a figure later with the settings that are in force now."""
    _settings_of[figure] = _changes.get(_UNCHANGED).settings
    return figure


def settings_of(figure: Figure) -> Mapping[Any, Any]:
    """Return the settings with which a figure is saved."""
    return _settings_of.get(figure, _changes.get(_UNCHANGED).settings)
