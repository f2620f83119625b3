"""Functions that draw figures from tables.

Each ``*_figure`` function makes one figure with all its panels, `width_cm` wide: 17.5 cm fits a
page of a journal, 8.5 cm a column. Each ``plot_*`` function draws one panel on an `Axes`, by
default on a new figure, and returns that `Axes`; ``plot_event(log)`` draws a replay event from a
log. `figure_style` changes colours and labels, and `save` writes a figure. Nothing here simulates,
keeps pyplot state or shows a window. Modules are imported when they are used, since importing
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

from typing import TYPE_CHECKING

from replay.lazy import offered

if TYPE_CHECKING:
    from analyses.figure_files import save
    from analyses.plots.attribution import (
        attribution_figure,
        attribution_length_figure,
        plot_attribution,
    )
    from analyses.plots.bounded_memory import bounded_memory_figure, plot_bounded_memory
    from analyses.plots.changes import changes_figure, plot_change_rates, plot_change_replay
    from analyses.plots.decoded_event import (
        plot_movements,
        plot_posterior,
        plot_spikes,
        posterior_figure,
    )
    from analyses.plots.decoded_path import decoded_path_figure, plot_decoded_path
    from analyses.plots.demands import demands_figure, plot_demands
    from analyses.plots.discrepancies import (
        discrepancies_figure,
        discrepancy_curves_figure,
        plot_differences,
        plot_discrepancy_curves,
    )
    from analyses.plots.events import plot_event
    from analyses.plots.findings import page_figure, study_figures
    from analyses.plots.found_accounts import found_accounts_figure, plot_found_accounts
    from analyses.plots.gain_floor import gain_floor_figure, plot_gain_floor
    from analyses.plots.gallery import gallery_figure, plot_experience, plot_next_replay
    from analyses.plots.learned_graph import learned_graph_figure, plot_learned_graph
    from analyses.plots.learning_curves import learning_curves_figure, plot_learning_curves
    from analyses.plots.mdps import mdps_figure, plot_mdp
    from analyses.plots.page.writing import write_page
    from analyses.plots.parity import (
        parity_experiments_figure,
        parity_figure,
        plot_contrast,
        plot_parity,
    )
    from analyses.plots.pause import animate_pause
    from analyses.plots.recorded_kinds import plot_recorded_kinds, recorded_kinds_figure
    from analyses.plots.recorded_statistics import plot_beside_accounts, recorded_statistics_figure
    from analyses.plots.recovery import plot_confusion, plot_shares, recovery_figure
    from analyses.plots.replay_events import plot_replay, replay_events_figure
    from analyses.plots.replay_kinds import (
        plot_replay_kinds,
        plot_replay_over_time,
        replay_kinds_figure,
        replay_over_time_figure,
    )
    from analyses.plots.style import figure_style
    from analyses.plots.sweep import plot_sweep, sweep_figure
    from analyses.plots.task_mazes import plot_task
    from analyses.plots.tasks import plot_typical_replay, task_figure

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
    "found_accounts_figure",
    "gain_floor_figure",
    "gallery_figure",
    "learned_graph_figure",
    "learning_curves_figure",
    "mdps_figure",
    "page_figure",
    "parity_experiments_figure",
    "parity_figure",
    "plot_attribution",
    "plot_beside_accounts",
    "plot_bounded_memory",
    "plot_change_rates",
    "plot_change_replay",
    "plot_confusion",
    "plot_contrast",
    "plot_decoded_path",
    "plot_demands",
    "plot_differences",
    "plot_discrepancy_curves",
    "plot_event",
    "plot_experience",
    "plot_found_accounts",
    "plot_gain_floor",
    "plot_learned_graph",
    "plot_learning_curves",
    "plot_mdp",
    "plot_movements",
    "plot_next_replay",
    "plot_parity",
    "plot_posterior",
    "plot_recorded_kinds",
    "plot_replay",
    "plot_replay_kinds",
    "plot_replay_over_time",
    "plot_shares",
    "plot_spikes",
    "plot_sweep",
    "plot_task",
    "plot_typical_replay",
    "posterior_figure",
    "recorded_kinds_figure",
    "recorded_statistics_figure",
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

_ROOMS = {
    ".figure_files": "save",
    "attribution": "attribution_figure attribution_length_figure plot_attribution",
    "bounded_memory": "bounded_memory_figure plot_bounded_memory",
    "changes": "changes_figure plot_change_rates plot_change_replay",
    "decoded_event": "plot_movements plot_posterior plot_spikes posterior_figure",
    "decoded_path": "decoded_path_figure plot_decoded_path",
    "demands": "demands_figure plot_demands",
    "discrepancies": (
        "discrepancies_figure discrepancy_curves_figure plot_differences plot_discrepancy_curves"
    ),
    "events": "plot_event",
    "findings": "page_figure study_figures",
    "found_accounts": "found_accounts_figure plot_found_accounts",
    "gain_floor": "gain_floor_figure plot_gain_floor",
    "gallery": "gallery_figure plot_experience plot_next_replay",
    "learned_graph": "learned_graph_figure plot_learned_graph",
    "learning_curves": "learning_curves_figure plot_learning_curves",
    "mdps": "mdps_figure plot_mdp",
    "page.writing": "write_page",
    "parity": "parity_experiments_figure parity_figure plot_contrast plot_parity",
    "pause": "animate_pause",
    "recorded_kinds": "plot_recorded_kinds recorded_kinds_figure",
    "recorded_statistics": "plot_beside_accounts recorded_statistics_figure",
    "recovery": "plot_confusion plot_shares recovery_figure",
    "replay_events": "plot_replay replay_events_figure",
    "replay_kinds": (
        "plot_replay_kinds plot_replay_over_time replay_kinds_figure replay_over_time_figure"
    ),
    "style": "figure_style",
    "sweep": "plot_sweep sweep_figure",
    "task_mazes": "plot_task",
    "tasks": "plot_typical_replay task_figure",
}
__getattr__, __dir__ = offered(__name__, _ROOMS)
