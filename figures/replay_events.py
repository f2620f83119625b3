"""Draw the example replays of a result folder: `python figures/replay_events.py [results]`."""

import sys

from analyses.studies.figures import draw

draw("replay_events", *sys.argv[1:2])
