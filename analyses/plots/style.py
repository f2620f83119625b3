"""One look for all figures: sizes, fonts, colours and names; and how a figure is written.

Colours are those of Okabe and Ito [1]_, and beyond the paper's learners those of Tol [2]_, which
remain distinct for colour-blind readers; learners of one family share a hue and differ in line
style.

References
----------
.. [1] Wong, B. (2011). Points of view: color blindness. Nature Methods, 8, 441.
   https://doi.org/10.1038/nmeth.1618
.. [2] Tol, P. (2021). Colour schemes. https://personal.sron.nl/~pault/
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from analyses.tables import KINDS, LEARNER_ORDER, in_order
from replay.files import replacing

__all__ = [
    "COLUMN_WIDTH",
    "END_COLOUR",
    "FULL_WIDTH",
    "KIND_COLOURS",
    "Look",
    "figure_style",
    "kind_looks",
    "label",
    "learner_looks",
    "new_axes",
    "new_figure",
    "save",
    "styled",
    "time_axis",
    "write_empty",
]

COLUMN_WIDTH = 85 / 25.4
FULL_WIDTH = 175 / 25.4

Look = dict[str, Any]
"""How a name looks in figures: arguments of matplotlib, such as `color` and `linestyle`."""

_RC: dict[Any, Any] = {
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
    "legend.fontsize": 7,
    "legend.frameon": False,
    "legend.handlelength": 2.4,
    "legend.title_fontsize": 7,
    "lines.linewidth": 1.2,
    "pdf.fonttype": 42,
    "savefig.dpi": 300,
    "xtick.labelsize": 7,
    "xtick.major.width": 0.6,
    "ytick.labelsize": 7,
    "ytick.major.width": 0.6,
}

_LEARNER_LOOKS: dict[str, Look] = {
    "monte_carlo": {"color": "#000000", "linestyle": "-"},
    "n_step_td": {"color": "#7f7f7f", "linestyle": (0, (4, 1))},
    "q_lambda": {"color": "#cc79a7", "linestyle": "-"},
    "q_learning": {"color": "#e69f00", "linestyle": "-"},
    "q_learning_optimistic": {"color": "#9a6a00", "linestyle": (0, (4, 1))},
    "prioritized_sweeping": {"color": "#0072b2", "linestyle": "-"},
    "prioritized_sweeping_optimistic": {"color": "#56b4e9", "linestyle": (0, (4, 1))},
    "prioritized_sweeping_reset": {"color": "#009e73", "linestyle": (0, (4, 1, 1, 1))},
    "episodic_control": {"color": "#d55e00", "linestyle": (0, (1, 0.8))},
    "dyna_q": {"color": "#999933", "linestyle": "-"},
    "trajectory_sampling": {"color": "#999933", "linestyle": (0, (4, 1))},
    "sfma": {"color": "#882255", "linestyle": "-"},
    "sfma_reverse": {"color": "#882255", "linestyle": (0, (4, 1))},
    "sfma_dynamic": {"color": "#882255", "linestyle": (0, (1, 0.8))},
    "sfma_published": {"color": "#882255", "linestyle": (0, (6, 1, 1, 1))},
    "episodic_sequences": {"color": "#d55e00", "linestyle": "-"},
    "retrieved_episodes": {"color": "#d55e00", "linestyle": (0, (4, 1, 1, 1))},
    "prioritized_memory_access": {"color": "#332288", "linestyle": "-"},
    "prioritized_memory_access_published": {"color": "#332288", "linestyle": (0, (4, 1))},
    "memory_access_forgetting": {"color": "#332288", "linestyle": (0, (1, 0.8))},
    "successor_dyna": {"color": "#999933", "linestyle": (0, (1, 0.8))},
    "remembered_errors": {"color": "#117733", "linestyle": "-"},
    "full_backups": {"color": "#0072b2", "linestyle": (0, (1, 0.8))},
    "spectral_diffusion": {"color": "#88ccee", "linestyle": "-"},
    "spectral_superdiffusion": {"color": "#88ccee", "linestyle": (0, (4, 1))},
    "context_reactivation": {"color": "#ddcc77", "linestyle": "-"},
}
_OWN_COLOURS = ("#44aa99", "#661100", "#aa7744", "#6699cc", "#aa4499")
_OWN_LINE_STYLES = ((0, (3, 1, 1, 1, 1, 1)), (0, (6, 2)), "-")

END_COLOUR = "#f0c000"
KIND_COLOURS = {
    "reverse_episode": "#0072b2",
    "forward_episode": "#56b4e9",
    "novel_path": "#d55e00",
    "ambiguous": "#b3b3b3",
    "unexperienced": "#4d4d4d",
}

_LABELS = {
    "deterministic_tree": "Tree, terminal reward",
    "deterministic_tree_intermittent": "Tree, intermittent rewards",
    "stochastic_tree": "Stochastic tree",
    "maze": "Maze",
    "monte_carlo": "Monte Carlo",
    "n_step_td": "n-step TD",
    "q_lambda": "Q(\N{GREEK SMALL LETTER LAMDA})",
    "q_learning": "Q-learning",
    "q_learning_optimistic": "Q-learning, optimistic",
    "prioritized_sweeping": "Prioritized sweeping",
    "prioritized_sweeping_optimistic": "Prio. sweeping, optimistic",
    "prioritized_sweeping_reset": "Prio. sweeping, model reset",
    "episodic_control": "Episodic control",
    "dyna_q": "Dyna-Q",
    "trajectory_sampling": "Trajectory sampling",
    "sfma": "SFMA",
    "sfma_reverse": "SFMA, reverse mode",
    "sfma_dynamic": "SFMA, dynamic mode",
    "sfma_published": "SFMA, as published",
    "episodic_sequences": "Episodic control, sequences",
    "retrieved_episodes": "Retrieved episodes",
    "prioritized_memory_access": "Prio. memory access",
    "prioritized_memory_access_published": "Prio. memory access, as published",
    "memory_access_forgetting": "Memory access, forgetting",
    "successor_dyna": "SR-Dyna",
    "remembered_errors": "Remembered errors",
    "full_backups": "Prio. sweeping, full backups",
    "spectral_diffusion": "Spectral generator, diffusion",
    "spectral_superdiffusion": "Spectral, superdiffusion",
    "context_reactivation": "Context-driven reactivation",
    "reverse_episode": "Episode, reverse",
    "forward_episode": "Episode, forward",
    "novel_path": "Novel path",
    "ambiguous": "Ambiguous",
    "unexperienced": "Never experienced",
    "moving_wall": "Moving wall",
    "shortcut": "Shortcut",
    "moving_reward": "Moving reward",
    "drifting_tree": "Drifting tree",
    "noisy_moving_wall": "Moving wall, moves go astray",
    "single_move": "Single move",
    "within_event": "Within events",
    "across_events": "Across events",
}

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def figure_style() -> AbstractContextManager[None]:
    """Set matplotlib's settings to those of all figures, as a context.

    Returns
    -------
    context manager
        Afterwards the settings are what they were.

    Examples
    --------
    >>> with figure_style():
    ...     mpl.rcParams["font.size"]
    7.0
    """
    return mpl.rc_context(_RC)


def styled(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Decorate a function that makes a whole figure, so that it does so within `figure_style`."""

    @wraps(function)
    def wrapper(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        with figure_style():
            return function(*args, **kwargs)

    return wrapper


def new_figure(width: float, height: float) -> Figure:
    """Make a figure of a size in inches, laid out so that nothing overlaps."""
    return Figure(figsize=(width, height), layout="constrained")


def new_axes() -> Axes:
    """Make a figure as wide as a column of a journal, with one Axes."""
    with figure_style():
        axes: Axes = new_figure(COLUMN_WIDTH, 0.7 * COLUMN_WIDTH).subplots()
    return axes


def save(figure: Figure, path: str | Path) -> list[Path]:
    """Write a figure as .pdf and as .png (300 dpi).

    Each file is written beside its place and renamed into it, so that it is there as a whole or not
    at all. The same figure gives the same bytes.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The figure.
    path : str or pathlib.Path
        Where to, without a suffix. Missing folders are made.

    Returns
    -------
    list of pathlib.Path
        Both files.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [written.name for written in save(new_figure(2, 1), Path(folder) / "empty")]
    ['empty.pdf', 'empty.png']
    """
    path = Path(path)
    undated: dict[str, dict[str, None]] = {"pdf": {"CreationDate": None}, "png": {"Software": None}}
    written = []
    with figure_style():
        for suffix, metadata in undated.items():
            target = path.with_name(f"{path.name}.{suffix}")
            with replacing(target) as beside:
                figure.savefig(beside, format=suffix, metadata=metadata)
            written.append(target)
    return written


def label(name: str) -> str:
    """Name of an experiment, world, learner (with parameters, if any) or kind in figures.

    Examples
    --------
    >>> label("n_step_td"), label("my_learner"), label("sfma replay_mode=reverse")
    ('n-step TD', 'my learner', 'SFMA, replay mode reverse')
    """
    name, *parameters = str(name).split(" ")
    known = _LABELS.get(name, name.replace("_", " "))
    return ", ".join((known, *(text.replace("=", " ").replace("_", " ") for text in parameters)))


def learner_looks(names: Iterable[str]) -> dict[str, Look]:
    """Label, colour and line style of each learner, in the paper's order.

    Parameters
    ----------
    names : iterable of str
        Learners, repeated or not. Those of this toolkit always look the same; others get what is
        left, in the order in which they appear.

    Returns
    -------
    dict of str to dict
        Arguments `label`, `color` and `linestyle` of matplotlib for each learner.

    Examples
    --------
    >>> list(learner_looks(["mine", "monte_carlo"]))
    ['monte_carlo', 'mine']
    """
    own = itertools.cycle(itertools.product(_OWN_LINE_STYLES, _OWN_COLOURS))
    looks: dict[str, Look] = {}
    for name in in_order(names, LEARNER_ORDER):
        if name in _LEARNER_LOOKS:
            looks[name] = {"label": label(name), **_LEARNER_LOOKS[name]}
        else:
            line_style, colour = next(own)
            looks[name] = {"label": label(name), "color": colour, "linestyle": line_style}
    return looks


def kind_looks(names: Iterable[str]) -> dict[str, Look]:
    """Label and colour of each kind of replayed sequence, in the paper's order.

    Parameters
    ----------
    names : iterable of str
        Kinds, repeated or not.

    Returns
    -------
    dict of str to dict
        Arguments `label` and `color` of matplotlib for each kind.

    Examples
    --------
    >>> kind_looks(["novel_path"])
    {'novel_path': {'label': 'Novel path', 'color': '#d55e00'}}
    """
    kinds = in_order(names, KINDS)
    return {
        kind: {"label": label(kind), "color": KIND_COLOURS.get(kind, "#999999")} for kind in kinds
    }


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
