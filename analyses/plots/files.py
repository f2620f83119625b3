"""How figures are written to files, so that the same figure gives the same bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from analyses.plots.style import FIGURE_SETTINGS, settings_of
from replay.checks import shown
from replay.files import check_path, replacing


def save(figure: Figure, path: str | Path) -> list[Path]:
    """Write a figure as PDF and as PNG (300 dpi), and as SVG if asked.

    Each file is written under a temporary name and then renamed, so that no incomplete file is
    left. The same figure gives the same bytes.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The figure.
    path : str or pathlib.Path
        The file, without a suffix; ``.pdf`` or ``.png`` is ignored, and ``.svg`` asks for an SVG
        beside these two. Missing folders are created.

    Returns
    -------
    list of pathlib.Path
        The files.

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
    ...     [written.name for written in save(Figure((2, 1)), Path(folder) / "empty.svg")]
    ['empty.pdf', 'empty.png', 'empty.svg']
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
    # Each is written by its canvas: Figure.savefig would draw each file twice, to measure texts
    # that are already laid out.
    writers: dict[str, Callable[[Path], object]] = {
        "pdf": lambda to: FigureCanvasPdf(figure).print_pdf(to, metadata={"CreationDate": None}),  # type: ignore[no-untyped-call]
        "png": lambda to: FigureCanvasAgg(figure).print_png(to, metadata={"Software": None}),  # type: ignore[no-untyped-call]
        "svg": lambda to: FigureCanvasSVG(figure).print_svg(to, metadata={"Date": None}),  # type: ignore[no-untyped-call]
    }
    suffix = path.suffix[1:]
    if suffix in writers:
        path = path.with_suffix("")
    elif suffix in figure.canvas.get_supported_filetypes():
        raise ValueError(
            f"Figures are written as .pdf, .png and .svg, got {shown(str(path))}. Omit the suffix, "
            "or call figure.savefig."
        )
    written = []
    with (
        mpl.rc_context({**settings_of(figure), "svg.hashsalt": "replay"}),
        _in_resolution_of_files(figure),
        _laid_out(figure),
    ):
        for name in ("pdf", "png", "svg") if suffix == "svg" else ("pdf", "png"):
            written.append(path.with_name(f"{path.name}.{name}"))
            with replacing(written[-1]) as beside, _in_resolution_of_files(figure):
                writers[name](beside)
    return written


@contextmanager
def _in_resolution_of_files(figure: Figure) -> Iterator[None]:
    """Measure and draw a figure for files, and give it back its own canvas and resolution."""
    canvas, dpi = figure.canvas, figure.dpi
    asked = mpl.rcParams["savefig.dpi"]  # or "figure", matplotlib's own: too coarse to print
    figure.dpi = FIGURE_SETTINGS["savefig.dpi"] if isinstance(asked, str) else asked
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
