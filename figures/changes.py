"""Draw reward rate and replay around changes: `python figures/changes.py [changes]`."""

import sys

from analyses.figures import draw_changes

draw_changes(*sys.argv[1:2])
