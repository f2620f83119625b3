"""Draw the example MDPs of a result folder: `python figures/mdps.py [results]`."""

import sys
from pathlib import Path

from analyses.mdp_files import read_mdps
from analyses.plots import mdps_figure, save

folder = Path(*(sys.argv[1:2] or ["results"]))
save(mdps_figure(read_mdps(folder / "mdps")), folder / "figures" / "mdps")
