"""Draw the learning curves of a result folder: `python figures/learning_curves.py [results]`."""

import sys
from pathlib import Path

import pandas as pd

from analyses.plots import learning_curves_figure, save

folder = Path(*(sys.argv[1:2] or ["results"]))
figure = learning_curves_figure(
    pd.read_csv(folder / "reward_rate.csv"), pd.read_parquet(folder / "single_runs.parquet")
)
save(figure, folder / "figures" / "learning_curves")
