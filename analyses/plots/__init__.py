"""Figures: functions of tables that return a figure, or draw on an `Axes`.

Every ``*_figure`` function makes one figure with all its panels; `save` writes it. The modules also
have ``draw_*`` functions, for single panels: each takes what it draws and the `Axes` to draw on, a
new one by default, and returns that `Axes`. Nothing here simulates, keeps pyplot state or shows a
window. Modules are imported when they are used, since seaborn takes a second.
"""

from importlib import import_module
from typing import Any

__all__ = [
    "animate_pause",
    "attribution_figure",
    "attribution_length_figure",
    "bounded_memory_figure",
    "changes_figure",
    "decoded_path_figure",
    "demands_figure",
    "discrepancies_figure",
    "discrepancy_curves_figure",
    "figure_style",
    "gain_floor_figure",
    "gallery_figure",
    "learned_graph_figure",
    "learning_curves_figure",
    "mdps_figure",
    "page_figure",
    "parity_experiments_figure",
    "parity_figure",
    "posterior_figure",
    "recovery_figure",
    "replay_events_figure",
    "replay_kinds_figure",
    "replay_over_time_figure",
    "save",
    "study_figures",
    "sweep_figure",
    "task_figure",
    "write_page",
]

_ELSEWHERE = {
    "animate_pause": "pause",
    "attribution_length_figure": "attribution",
    "discrepancy_curves_figure": "discrepancies",
    "figure_style": "style",
    "page_figure": "findings",
    "parity_experiments_figure": "parity",
    "posterior_figure": "decoded_event",
    "replay_over_time_figure": "replay_kinds",
    "save": "style",
    "study_figures": "findings",
    "task_figure": "tasks",
    "write_page": "page.writing",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = _ELSEWHERE.get(name, name.removesuffix("_figure"))
    return getattr(import_module(f"{__name__}.{module}"), name)


def __dir__() -> list[str]:
    return __all__
