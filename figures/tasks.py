"""Draw mazes of tasks and typical replays: `python figures/tasks.py [results]`."""

import sys

from analyses.studies.figures import draw

draw("tasks", *sys.argv[1:2])
