"""Functions that draw figures from tables.

Each ``*_figure`` function makes one figure with all its panels, `width_cm` wide: 17.5 cm fits a
page of a journal, 8.5 cm a column. Each ``plot_*`` function draws one panel on an `Axes`, by
default on a new figure, and returns that `Axes`; ``plot_event(log)`` draws a replay event from a
log. `figure_style` changes colours and labels, and `save` writes a figure. Nothing here simulates,
keeps pyplot state or shows a window. The figure of a single study is with that study, in
`analyses.studies`. Modules are imported when they are used, since importing
seaborn takes a second.

Examples
--------
>>> from analyses.plots import figure_style, plot_learning_curves
>>> from replay.data import reference_table
>>> curves = reference_table("brea_2018/reward_rate")
>>> with figure_style(colours={"q_lambda": "firebrick"}, labels={"q_lambda": "Watkins"}):
...     ax = plot_learning_curves(curves.query("experiment == 'maze'"), width_cm=12)
>>> round(float(ax.figure.get_size_inches()[0]) * 2.54)
12
"""

from typing import TYPE_CHECKING

from replay.lazy import offered

if TYPE_CHECKING:
    from analyses.plots.decoded_event import events_sheet_figure as events_sheet_figure
    from analyses.plots.decoded_event import posterior_figure as posterior_figure
    from analyses.plots.decoded_panels import plot_movements as plot_movements
    from analyses.plots.decoded_panels import plot_posterior as plot_posterior
    from analyses.plots.decoded_panels import plot_spikes as plot_spikes
    from analyses.plots.decoded_path import decoded_path_figure as decoded_path_figure
    from analyses.plots.decoded_path import plot_decoded_path as plot_decoded_path
    from analyses.plots.decoded_path import plot_event_path as plot_event_path
    from analyses.plots.events import plot_event as plot_event
    from analyses.plots.explanation import explained_maze_figure as explained_maze_figure
    from analyses.plots.explanation import explained_sequences_figure as explained_sequences_figure
    from analyses.plots.explanation import explanation_figure as explanation_figure
    from analyses.plots.explanation import group_figure as group_figure
    from analyses.plots.explanation import identifiability_figure as identifiability_figure
    from analyses.plots.files import save as save
    from analyses.plots.film import animate_pause as animate_pause
    from analyses.plots.findings import found_accounts_figure as found_accounts_figure
    from analyses.plots.findings import page_figure as page_figure
    from analyses.plots.findings import plot_found_accounts as plot_found_accounts
    from analyses.plots.findings import study_figures as study_figures
    from analyses.plots.findings import sums_figure as sums_figure
    from analyses.plots.learned import learned_graph_figure as learned_graph_figure
    from analyses.plots.learned import plot_learned_graph as plot_learned_graph
    from analyses.plots.learners import learners_figure as learners_figure
    from analyses.plots.learners import learning_curves_figure as learning_curves_figure
    from analyses.plots.learners import plot_learners as plot_learners
    from analyses.plots.learners import plot_learning_curves as plot_learning_curves
    from analyses.plots.mdps import mdps_figure as mdps_figure
    from analyses.plots.mdps import plot_mdp as plot_mdp
    from analyses.plots.predictions import plot_beside_accounts as plot_beside_accounts
    from analyses.plots.predictions import predictions_figure as predictions_figure
    from analyses.plots.predictions import (
        recorded_statistics_figures as recorded_statistics_figures,
    )
    from analyses.plots.recorded import plot_epoch_blocks as plot_epoch_blocks
    from analyses.plots.recorded import plot_epochs as plot_epochs
    from analyses.plots.recorded import plot_recorded_evidence as plot_recorded_evidence
    from analyses.plots.recorded import plot_recorded_kinds as plot_recorded_kinds
    from analyses.plots.recorded import recorded_epochs_figure as recorded_epochs_figure
    from analyses.plots.recorded import recorded_evidence_figure as recorded_evidence_figure
    from analyses.plots.recorded import recorded_kinds_figure as recorded_kinds_figure
    from analyses.plots.replay_events import plot_replay as plot_replay
    from analyses.plots.replay_events import replay_events_figure as replay_events_figure
    from analyses.plots.replay_kinds import plot_replay_kinds as plot_replay_kinds
    from analyses.plots.replay_kinds import plot_replay_over_time as plot_replay_over_time
    from analyses.plots.replay_kinds import replay_kinds_figure as replay_kinds_figure
    from analyses.plots.replay_kinds import replay_over_time_figure as replay_over_time_figure
    from analyses.plots.style import figure_style as figure_style
    from analyses.plots.sweeps import plot_sweep as plot_sweep
    from analyses.plots.sweeps import sweep_figure as sweep_figure
    from analyses.plots.tasks import plot_task as plot_task
    from analyses.plots.tasks import plot_typical_replay as plot_typical_replay
    from analyses.plots.tasks import task_figure as task_figure
    from analyses.plots.tracks import plot_track as plot_track

__getattr__, __dir__, __all__ = offered(__name__)
