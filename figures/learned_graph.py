"""Draw the learned graphs of a result folder: `python figures/learned_graph.py [results]`."""

import sys
from pathlib import Path

from analyses.mdp_files import read_mdps
from analyses.plots import growth_moments, learned_graph_figure, save
from replay.event_log import EventLog

folder = Path(*(sys.argv[1:2] or ["results"]))
for experiment, mdp in read_mdps(folder / "mdps").items():
    log = EventLog.read(folder / "logs" / experiment, mdp)
    run = int(log.runs["run"].iloc[0])
    steps = log.steps[log.steps["run"] == run]
    graphs = {moment: log.graph(until=moment, run=run) for moment in growth_moments(steps)}
    figure = learned_graph_figure(graphs, mdp)
    save(figure, folder / "figures" / f"learned_graph_{experiment}")
