"""Draw learners beside published findings: `python figures/findings.py [results]`."""

import sys

from analyses.studies.figures import draw

draw("findings", *sys.argv[1:2])
