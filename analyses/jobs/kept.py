"""Results of studies that are made in Python, and kept in a temporary folder."""

from __future__ import annotations

import shutil
from dataclasses import replace
from functools import cached_property
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd

from analyses.jobs.results import Results
from analyses.jobs.run import run
from analyses.jobs.study import PlanT, Study
from replay.files import check_path

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def run_in_scratch(
    study: Study[PlanT], plan: PlanT, jobs: int = 1
) -> tuple[TemporaryDirectory[str], dict[str, pd.DataFrame]]:
    """Run a study in a temporary folder, and draw nothing; return the folder and the tables."""
    scratch = TemporaryDirectory(prefix="hippocampal-replay-")
    undrawn = replace(study, figures={})
    return scratch, run(undrawn, plan, scratch.name, jobs=jobs, tell=lambda text: None)


class Kept:
    """The result of a study, whose tables, report and figures are made when they are asked for.

    They are made by the study itself, so Python and the command give the same bytes.
    """

    study: ClassVar[Study[Any]]
    plan: Any

    def report(self) -> str:
        """Return the report, in Markdown."""
        return (self._folder / "report.md").read_text("utf-8")

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return all tables by name; ``replay columns`` explains them."""
        results = Results(self._folder)
        files = sorted([*self._folder.glob("*.csv"), *self._folder.glob("*.parquet")])
        return {file.stem: results.read(file.name) for file in files}

    def figures(self) -> dict[str, Figure]:
        """Draw all figures, by name."""
        results = Results(self._folder)
        drawings = self.study.figures.values()
        return {name: figure for draw in drawings for name, figure in draw(results)}

    def save(self, folder: str | Path) -> None:
        """Write what the command writes; `replay page` and others read it."""
        path = check_path("The result folder", folder)
        if not path.exists():  # what is finished need not be made again
            shutil.copytree(self._folder, path)
        run(self.study, self.plan, path, tell=lambda text: None)

    def _repr_html_(self) -> str:
        return (
            f"<pre>{escape(repr(self))}</pre><p>More: <code>report()</code>, "
            "<code>figures()</code>, <code>tables()</code>, <code>save(folder)</code>.</p>"
        )

    @cached_property
    def _scratch(self) -> TemporaryDirectory[str]:
        return run_in_scratch(self.study, self.plan)[0]

    @cached_property
    def _folder(self) -> Path:
        return Path(self._scratch.name)

    def __del__(self) -> None:
        """Remove the temporary folder, for Python warns of those that nobody has removed."""
        if "_scratch" in vars(self):
            self._scratch.cleanup()

    def __getstate__(self) -> dict[str, Any]:
        """Leave the temporary folder out of copies, also those for other processes."""
        return {"plan": self.plan}
