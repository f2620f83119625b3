"""Draw reward rate and replay around changes: `python figures/changes.py [results]`."""

import sys

from analyses.studies.figures import draw

draw("changes", *sys.argv[1:2])
