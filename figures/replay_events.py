"""Single replayed sequences on their worlds.

Usage: ``python figures/replay_events.py [results [learner]]``
"""

import sys

from analyses import classify
from analyses.jobs.results import Results
from analyses.plots import replay_events_figure, save
from replay import EventLog
from replay.log.worlds import read_mdps

results = Results(sys.argv[1] if len(sys.argv) > 1 else "results")
learner = sys.argv[2] if len(sys.argv) > 2 else "prioritized_sweeping"
for name, mdp in read_mdps(results.folder / "mdps").items():
    log = EventLog.load(results.folder / "logs" / name / f"{learner}-0-0")
    sequences = classify(log, across_events=True, min_length=3)
    figure = replay_events_figure(sequences, log.steps, mdp, learner=learner)
    save(figure, results.folder / "figures" / f"replay_events_{name}")
