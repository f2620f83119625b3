"""Write figures to files, with the same matplotlib settings for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.figure import Figure

from replay.checks import shown
from replay.files import check_path, replacing

__all__ = ["FIGURE_SETTINGS", "save"]

FIGURE_SETTINGS: dict[Any, Any] = {
    "axes.labelsize": 7,
    "axes.linewidth": 0.6,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 7,
    "figure.constrained_layout.h_pad": 0.05,
    "figure.constrained_layout.w_pad": 0.05,
    "figure.labelsize": 7,
    "font.family": "DejaVu Sans",
    "font.size": 7,
    "hatch.linewidth": 0.5,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "legend.handlelength": 2.4,
    "legend.title_fontsize": 7,
    "lines.linewidth": 1.2,
    "pdf.fonttype": 42,
    "savefig.dpi": 300,
    "text.usetex": False,
    "xtick.labelsize": 7,
    "xtick.major.width": 0.6,
    "ytick.labelsize": 7,
    "ytick.major.width": 0.6,
}
"""The matplotlib settings of all figures: fonts, lines, layout and files."""


def save(figure: Figure, path: str | Path) -> list[Path]:
    """Write a figure as PDF and as PNG (300 dpi).

    Each file is written under a temporary name and then renamed, so that no incomplete file is
    left. The same figure gives the same bytes.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The figure.
    path : str or pathlib.Path
        The file, without a suffix; ``.pdf`` or ``.png`` is ignored. Missing folders are created.

    Returns
    -------
    list of pathlib.Path
        Both files.

    Raises
    ------
    TypeError
        If `figure` is not a figure.
    ValueError
        If the suffix is that of another image format.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [written.name for written in save(Figure((2, 1)), Path(folder) / "empty")]
    ['empty.pdf', 'empty.png']
    """
    given: object = figure
    if not isinstance(given, Figure):
        hint = "Functions of analyses.plots make one."
        if isinstance(given, Axes):
            hint = "Save its figure, as in save(ax.figure, path)."
        raise TypeError(f"figure must be a matplotlib Figure, got {shown(given)}. {hint}")
    path = check_path("path", path)
    if not path.name:
        raise ValueError(f"path must name a file, got {shown(str(path))}.")
    if path.suffix in (".pdf", ".png"):
        path = path.with_suffix("")
    elif path.suffix[1:] in figure.canvas.get_supported_filetypes():
        raise ValueError(
            f"Figures are written as .pdf and .png, got {shown(str(path))}. Omit the suffix, or "
            "call figure.savefig."
        )
    pdf, png = (path.with_name(f"{path.name}.{suffix}") for suffix in ("pdf", "png"))
    # Figure.savefig would draw each file twice, to measure texts that are already laid out.
    with mpl.rc_context(FIGURE_SETTINGS), _in_resolution_of_files(figure), _laid_out(figure):
        with replacing(pdf) as beside, _in_resolution_of_files(figure):
            FigureCanvasPdf(figure).print_pdf(beside, metadata={"CreationDate": None})  # type: ignore[no-untyped-call]
        with replacing(png) as beside, _in_resolution_of_files(figure):
            FigureCanvasAgg(figure).print_png(beside, metadata={"Software": None})  # type: ignore[no-untyped-call]
    return [pdf, png]


@contextmanager
def _in_resolution_of_files(figure: Figure) -> Iterator[None]:
    """Measure and draw a figure for files, and give it back its own canvas and resolution."""
    canvas, dpi = figure.canvas, figure.dpi
    figure.dpi = FIGURE_SETTINGS["savefig.dpi"]
    try:
        yield
    finally:
        figure.set_canvas(canvas)
        figure.dpi = dpi


@contextmanager
def _laid_out(figure: Figure) -> Iterator[None]:
    """Lay a figure out once, with positions rounded to the digits in which all runs agree.

    The layout solver orders its constraints by addresses in memory, so that the last bits of its
    results differ from run to run.
    """
    engine = figure.get_layout_engine()
    if engine is None:
        yield
        return
    figure.draw_without_rendering()
    takes_part = [axes.get_in_layout() for axes in figure.axes]
    figure.set_layout_engine("none")
    try:
        for axes in figure.axes:
            left, bottom, width, height = axes.get_position(original=True).bounds
            axes.set_position((round(left, 9), round(bottom, 9), round(width, 9), round(height, 9)))
        for text in figure.texts:
            x, y = text.get_position()
            text.set_position((round(x, 9), round(y, 9)))
        yield
    finally:
        for axes, is_in in zip(figure.axes, takes_part, strict=True):
            axes.set_in_layout(is_in)
        figure.set_layout_engine(engine)
