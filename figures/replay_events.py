"""Draw example replays of a result folder: `python figures/replay_events.py [results]`."""

import sys
from pathlib import Path

import pandas as pd

from analyses.mdp_files import read_mdps
from analyses.plots import replay_events_figure, save
from replay.event_log import EventLog

folder = Path(*(sys.argv[1:2] or ["results"]))
sequences = pd.read_parquet(folder / "sequences.parquet")
for experiment, mdp in read_mdps(folder / "mdps").items():
    steps = EventLog.read(folder / "logs" / experiment).steps
    figure = replay_events_figure(sequences, steps, mdp)
    save(figure, folder / "figures" / f"replay_events_{experiment}")
