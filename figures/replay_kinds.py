"""Draw the kinds of replay in a result folder: `python figures/replay_kinds.py [results]`."""

import sys
from pathlib import Path

import pandas as pd

from analyses.plots import replay_kinds_figure, replay_over_time_figure, save

folder = Path(*(sys.argv[1:2] or ["results"]))
kinds = pd.read_csv(folder / "replay_kinds.csv")
save(replay_kinds_figure(kinds), folder / "figures" / "replay_kinds")
for experiment, rows in pd.read_csv(folder / "replay_over_time.csv").groupby("experiment"):
    save(replay_over_time_figure(rows), folder / "figures" / f"replay_over_time_{experiment}")
