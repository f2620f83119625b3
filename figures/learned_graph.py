"""The graph that a learner has learned, as it grows.

Usage: ``python figures/learned_graph.py [results [learner]]``
"""

import sys

from analyses.jobs.results import Results
from analyses.plots import learned_graph_figure, save
from analyses.plots.learned import growth_moments
from replay import EventLog
from replay.log.worlds import read_mdps

results = Results(sys.argv[1] if len(sys.argv) > 1 else "results")
learner = sys.argv[2] if len(sys.argv) > 2 else "prioritized_sweeping"
for name, mdp in read_mdps(results.folder / "mdps").items():
    log = EventLog.load(results.folder / "logs" / name / f"{learner}-0-0", mdp)
    graphs = {step: log.graph(until=step) for step in growth_moments(log.steps)}
    figure = learned_graph_figure(graphs, mdp, learner=learner)
    save(figure, results.folder / "figures" / f"learned_graph_{name}")
