"""Films: figures shown one after the other, written as GIF or MP4."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import animation
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from analyses.plots.style import figure_style
from replay.files import replacing

__all__ = ["FRAMES_PER_SECOND", "Frames", "check_film", "write_film"]

FRAMES_PER_SECOND = 20
_FFMPEG: dict[Any, Any] = {"animation.ffmpeg_path": "ffmpeg"}
"""Not that of the settings: a file of these in the working folder could name any program."""

Frames = Iterator[tuple[Figure, float]]
"""Figures, or one changing figure again and again, each with the time it is shown (s)."""


def write_film(frames: Frames, path: str | Path) -> Path:
    """Write figures, each with the time that it is shown in s, as a film; MP4 needs ffmpeg.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     film = write_film(iter([(Figure((1, 1)), 0.5)]), Path(folder) / "film.gif")
    ...     with Image.open(film) as image:
    ...         image.info["duration"]
    500
    """
    path = Path(path)
    write = _write_gif if check_film(path) == ".gif" else _write_mp4
    with replacing(path) as beside:
        write(frames, beside)
    return path


def check_film(path: str | Path) -> str:
    """Check that a film can be written in the format of its name, .gif or .mp4, and return that.

    Examples
    --------
    >>> check_film("film.GIF")
    '.gif'
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in (".gif", ".mp4"):
        raise ValueError(f"A film is written as .gif or .mp4, got the name {path.name!r}.")
    with mpl.rc_context(_FFMPEG):
        is_available = animation.FFMpegWriter.isAvailable()
    if suffix == ".mp4" and not is_available:
        raise FileNotFoundError(
            "MP4 needs the program ffmpeg, which was not found. Install it (apt install ffmpeg, "
            f"brew install ffmpeg, conda install ffmpeg), or write {path.stem}.gif."
        )
    return suffix


def _write_gif(frames: Frames, path: Path) -> None:
    """Write frames with one palette, so that only changes between them take up space."""
    shown = [(_image(figure), round(1000 * seconds)) for figure, seconds in frames]
    images, durations = zip(*shown, strict=True)
    palette = _palette([images[0], images[len(images) // 2], images[-1]])
    first, *others = (image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images)
    first.save(
        path,
        format="GIF",
        save_all=True,
        append_images=others,
        duration=durations,
        loop=0,
        optimize=True,
    )


def _palette(images: list[Image.Image]) -> Image.Image:
    """Choose the most frequent colours, and only one of several similar ones."""
    pixels = np.concatenate([np.asarray(image).reshape(-1, 3) for image in images])
    codes, counts = np.unique(pixels @ np.array([1 << 16, 1 << 8, 1]), return_counts=True)
    codes = codes[np.argsort(-counts, kind="stable")]
    colours = np.stack((codes >> 16, codes >> 8 & 255, codes & 255), axis=1)
    _, first = np.unique(colours // 8, axis=0, return_index=True)
    palette = Image.new("P", (1, 1))
    palette.putpalette(colours[np.sort(first)[:256]].ravel().tolist())
    return palette


def _image(figure: Figure) -> Image.Image:
    canvas = FigureCanvasAgg(figure)
    with figure_style():
        canvas.draw()  # type: ignore[no-untyped-call]
    pixels = np.asarray(canvas.buffer_rgba())  # type: ignore[no-untyped-call]
    return Image.fromarray(pixels).convert("RGB")


def _write_mp4(frames: Frames, path: Path) -> None:
    writer = animation.FFMpegWriter(fps=FRAMES_PER_SECOND, codec="h264", extra_args=["-f", "mp4"])
    first = next(frames)
    with figure_style(), mpl.rc_context(_FFMPEG), writer.saving(first[0], path, first[0].dpi):
        for _, seconds in itertools.chain([first], frames):
            for _ in range(round(seconds * FRAMES_PER_SECOND)):
                writer.grab_frame()
