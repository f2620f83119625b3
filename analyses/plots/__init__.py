"""Figures: functions of tables that draw on an `Axes`, and the whole figures made of them.

Every ``draw_*`` function takes what it draws and the `Axes` to draw on, and returns that `Axes`.
Every ``*_figure`` function lays out one figure with all its panels and returns it; `save` writes
it. Nothing here simulates, keeps pyplot state or shows a window.
"""

from analyses.plots.attribution import (
    attribution_figure,
    attribution_length_figure,
    draw_attribution,
)
from analyses.plots.bounded_memory import bounded_memory_figure, draw_bounded_memory
from analyses.plots.changes import changes_figure, draw_change_rates, draw_change_replay
from analyses.plots.demands import demands_figure, draw_demands
from analyses.plots.discrepancies import (
    differing,
    discrepancies_figure,
    discrepancy_curves_figure,
    draw_differences,
    draw_discrepancy_curves,
)
from analyses.plots.findings import (
    draw_grid,
    draw_statistic,
    grid_figure,
    statistics_figure,
)
from analyses.plots.gain_floor import draw_gain_floor, gain_floor_figure
from analyses.plots.gallery import draw_experience, draw_next_replay, gallery_figure
from analyses.plots.learned_graph import (
    draw_learned_graph,
    growth_moments,
    learned_graph_figure,
)
from analyses.plots.learning_curves import draw_learning_curves, learning_curves_figure
from analyses.plots.mdps import draw_mdp, mdps_figure
from analyses.plots.pause import animate_pause, pause_frames
from analyses.plots.replay_events import draw_replay, pick_examples, replay_events_figure
from analyses.plots.replay_kinds import (
    draw_replay_kinds,
    draw_replay_over_time,
    replay_kinds_figure,
    replay_over_time_figure,
)
from analyses.plots.style import save, style
from analyses.plots.task_mazes import draw_task
from analyses.plots.tasks import draw_typical_replay, task_figure

__all__ = [
    "animate_pause",
    "attribution_figure",
    "attribution_length_figure",
    "bounded_memory_figure",
    "changes_figure",
    "demands_figure",
    "differing",
    "discrepancies_figure",
    "discrepancy_curves_figure",
    "draw_attribution",
    "draw_bounded_memory",
    "draw_change_rates",
    "draw_change_replay",
    "draw_demands",
    "draw_differences",
    "draw_discrepancy_curves",
    "draw_experience",
    "draw_gain_floor",
    "draw_grid",
    "draw_learned_graph",
    "draw_learning_curves",
    "draw_mdp",
    "draw_next_replay",
    "draw_replay",
    "draw_replay_kinds",
    "draw_replay_over_time",
    "draw_statistic",
    "draw_task",
    "draw_typical_replay",
    "gain_floor_figure",
    "gallery_figure",
    "grid_figure",
    "growth_moments",
    "learned_graph_figure",
    "learning_curves_figure",
    "mdps_figure",
    "pause_frames",
    "pick_examples",
    "replay_events_figure",
    "replay_kinds_figure",
    "replay_over_time_figure",
    "save",
    "statistics_figure",
    "style",
    "task_figure",
]
