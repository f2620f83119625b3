"""Figures: functions of tables that return a figure, or draw on an `Axes`.

Every ``*_figure`` function makes one figure with all its panels, `width_cm` wide: 17.5 cm is the
page of a journal, 8.5 cm a column. Every ``plot_*`` function draws one panel on an `Axes`, by
default on a figure of its own, and returns that `Axes`; ``plot_event(log)`` draws a replay event
from a log. `figure_style` changes colours and labels, `save` writes a figure. Nothing here
simulates, keeps pyplot state or shows a window. Modules are imported when they are used, since
seaborn takes a second.

Examples
--------
>>> from analyses.plots import figure_style, plot_learning_curves
>>> from replay.data import reference_table
>>> curves = reference_table("brea_2018/reward_rate")
>>> with figure_style(colours={"q_lambda": "black"}, labels={"q_lambda": "Watkins"}):
...     ax = plot_learning_curves(curves.query("experiment == 'maze'"), width_cm=12)
>>> round(float(ax.figure.get_size_inches()[0]) * 2.54)
12
"""

from importlib import import_module
from typing import Any

_ROOMS = {
    ".figure_files": ("save",),
    "attribution": (
        "attribution_figure",
        "attribution_length_figure",
        "plot_attribution",
    ),
    "bounded_memory": ("bounded_memory_figure", "plot_bounded_memory"),
    "changes": ("changes_figure", "plot_change_rates", "plot_change_replay"),
    "decoded_event": ("plot_movements", "plot_posterior", "plot_spikes", "posterior_figure"),
    "decoded_path": ("decoded_path_figure", "plot_decoded_path"),
    "demands": ("demands_figure", "plot_demands"),
    "discrepancies": (
        "discrepancies_figure",
        "discrepancy_curves_figure",
        "plot_differences",
        "plot_discrepancy_curves",
    ),
    "events": ("plot_event",),
    "findings": ("page_figure", "study_figures"),
    "found_accounts": ("found_accounts_figure", "plot_found_accounts"),
    "gain_floor": ("gain_floor_figure", "plot_gain_floor"),
    "gallery": ("gallery_figure", "plot_experience", "plot_next_replay"),
    "learned_graph": ("learned_graph_figure", "plot_learned_graph"),
    "learning_curves": ("learning_curves_figure", "plot_learning_curves"),
    "mdps": ("mdps_figure", "plot_mdp"),
    "page.writing": ("write_page",),
    "parity": (
        "parity_experiments_figure",
        "parity_figure",
        "plot_contrast",
        "plot_parity",
    ),
    "pause": ("animate_pause",),
    "recorded_kinds": ("plot_recorded_kinds", "recorded_kinds_figure"),
    "recorded_statistics": ("plot_beside_accounts", "recorded_statistics_figure"),
    "recovery": ("plot_confusion", "plot_shares", "recovery_figure"),
    "replay_events": ("plot_replay", "replay_events_figure"),
    "replay_kinds": (
        "plot_replay_kinds",
        "plot_replay_over_time",
        "replay_kinds_figure",
        "replay_over_time_figure",
    ),
    "style": ("figure_style",),
    "sweep": ("plot_sweep", "sweep_figure"),
    "task_mazes": ("plot_task",),
    "tasks": ("plot_typical_replay", "task_figure"),
}
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = sorted(_ROOM_OF)


def __getattr__(name: str) -> Any:
    if name not in _ROOM_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_ROOM_OF[name]}", __name__), name)


def __dir__() -> list[str]:
    return __all__
