"""Draw what discrepancies of text and code do: `python figures/discrepancies.py [results]`."""

import sys

from analyses.studies.figures import draw

draw("discrepancies", *sys.argv[1:2])
