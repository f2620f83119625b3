"""Mazes of published tasks, and what learners typically replay there.

Usage: ``python figures/tasks.py [results]``
"""

import sys

from analyses.jobs.results import Results
from analyses.plots import save, task_figure
from replay.tasks.published import find_task

results = Results(sys.argv[1] if len(sys.argv) > 1 else "results")
for name, rows in results.read("tasks.parquet").groupby("task", sort=False):
    task = find_task(str(name)).build()
    save(task_figure(rows, task), results.folder / "figures" / f"task_{name}")
