"""Draw the learning curves of a result folder: `python figures/learning_curves.py [results]`."""

import sys

from analyses.studies.figures import draw

draw("learning_curves", *sys.argv[1:2])
