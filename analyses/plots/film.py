"""Films of single pauses, as GIF or MP4: the agent rests, and the replay runs over the world."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib import animation
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba, to_rgba_array
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.quiver import Quiver
from matplotlib.text import Text
from numpy.typing import NDArray
from PIL import Image

from analyses.plots.events import (
    WHEN,
    colours_of,
    draw_arrows,
    draw_walk,
    drawn_world,
    path_so_far,
    shown_part,
)
from analyses.plots.mdps import draw_scale_bar, maze_cell_size, plot_mdp, state_positions
from analyses.plots.style import figure_style, label
from analyses.sequences.events import longest_event, replayed_moves
from analyses.sequences.logs import Logged, log_of
from analyses.tables import KINDS, in_order
from replay.checks import typed
from replay.checks.arrays import Floats
from replay.files import replacing
from replay.log.event_log import EventLog
from replay.worlds.mdp import MDP

FRAMES_PER_SECOND = 20
_FFMPEG: dict[Any, Any] = {"animation.ffmpeg_path": "ffmpeg"}
"""Not that of the settings: a file of these in the working folder could name any program."""
Frames = Iterator[tuple[Figure, float]]
"""Figures, or one changing figure again and again, each with the time it is shown (s)."""
_WIDTH, _HEADER, _FOOTER = 3.6, 0.5, 0.62  # inches
_DPI = 150
_FRAMES_A_MOVE = 4  # a fifth of a second
_MOST_FRAMES = 240  # so that long events last twelve seconds
_AT_REST, _AT_THE_END = 0.8, 2.0  # seconds, before the first move and after the last
_TO_COME = "0.88"  # the colour of bars of moves that are still to come
_PALEST = 0.3  # opacity of the arrows of moves long ago
_FADING = 12  # moves until an arrow is palest
_FEWEST_BARS = 20  # for which there is room, so that a few bars are not very wide


def write_film(frames: Frames, path: str | Path) -> Path:
    """Write figures, each with the time that it is shown in s, as a film; MP4 needs ffmpeg."""
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
    images, durations = [], []
    for figure, seconds in frames:
        canvas = FigureCanvasAgg(figure)
        with figure_style():
            canvas.draw()  # type: ignore[no-untyped-call]
        pixels = np.asarray(canvas.buffer_rgba())  # type: ignore[no-untyped-call]
        images.append(Image.fromarray(pixels).convert("RGB"))
        durations.append(round(1000 * seconds))
    # The most frequent colours of three frames, and only one of several similar ones.
    some = [images[0], images[len(images) // 2], images[-1]]
    points = np.concatenate([np.asarray(image).reshape(-1, 3) for image in some])
    codes, counts = np.unique(points @ np.array([1 << 16, 1 << 8, 1]), return_counts=True)
    codes = codes[np.argsort(-counts, kind="stable")]
    colours = np.stack((codes >> 16, codes >> 8 & 255, codes & 255), axis=1)
    _, each = np.unique(colours // 8, axis=0, return_index=True)
    palette = Image.new("P", (1, 1))
    palette.putpalette(colours[np.sort(each)[:256]].ravel().tolist())
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


def _write_mp4(frames: Frames, path: Path) -> None:
    writer = animation.FFMpegWriter(fps=FRAMES_PER_SECOND, codec="h264", extra_args=["-f", "mp4"])
    first = next(frames)
    with figure_style(), mpl.rc_context(_FFMPEG), writer.saving(first[0], path, first[0].dpi):
        for _, seconds in itertools.chain([first], frames):
            for _ in range(round(seconds * FRAMES_PER_SECOND)):
                writer.grab_frame()


class _Film(NamedTuple):
    """The parts of the picture that change from frame to frame."""

    arrows: Quiver
    pair: NDArray[np.intp]
    trace: Line2D
    halo: Line2D
    head: Line2D
    bars: LineCollection
    n_done: Text
    what: Text


@typed
def animate_pause(
    log: EventLog | Logged,
    event: int | None = None,
    out: str | Path = "pause.gif",
    *,
    run: int = 0,
    mdp: MDP | None = None,
) -> Path:
    """Write a film of one replay event, as GIF or MP4.

    The agent (a square) rests, with the path by which it came behind it. Stars mark where episodes
    end and where it last received reward. A marker moves over the world, move by move in the order
    of execution, and leaves arrows in the direction of replay, coloured by the kind of sequence to
    which a move belongs. The bars below are the moves, and their heights the changes of the action
    value. A move takes a fifth of a second, or less if there are many.

    Parameters
    ----------
    log, event, run, mdp
        As in :func:`analyses.plots.plot_event`.
    out : path, default "pause.gif"
        The file to write, `.gif` or `.mp4`; MP4 needs the program ffmpeg.

    Returns
    -------
    pathlib.Path
        `out`.

    Raises
    ------
    ValueError
        If there is no such event, if there is no world, if the log is not from this world, or if
        the format is unknown.
    FileNotFoundError
        If ffmpeg is needed but not installed.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from replay import simulate
    >>> from replay.worlds.mazes import from_ascii
    >>> run = simulate(from_ascii("S..G"), "episodic_control", n_steps=40)
    >>> with TemporaryDirectory() as folder:
    ...     animate_pause(run.log, out=Path(folder) / "pause.gif").stat().st_size < 100_000
    True
    """
    check_film(out)
    return write_film(pause_frames(log, event, run=run, mdp=mdp), out)


def pause_frames(
    log: EventLog | Logged, event: int | None = None, *, run: int = 0, mdp: MDP | None = None
) -> Frames:
    """Draw a replay event frame by frame.

    Each frame is the same figure, as it changes, and the time that it is shown, in s.
    """
    log = log_of(log)
    event = longest_event(log, run) if event is None else event
    moves = replayed_moves(log, event, run)
    moves["kind"] = moves["kind"].fillna("single_move")
    moves["colour"] = colours_of(moves)
    steps = log.steps[log.steps["run"] == run]
    world = drawn_world(log, mdp, steps)
    learner = log.runs.set_index("run").loc[run, "learner"]
    n = len(moves)
    speed = max(1 / _FRAMES_A_MOVE, n / _MOST_FRAMES)
    with figure_style():
        figure, film = _begin(moves, steps, world, str(learner))
    place = state_positions(world)
    running = np.arange(0, n, speed) + speed
    moments = [(0.0, _AT_REST), *((progress, 1 / FRAMES_PER_SECOND) for progress in running)]

    def frames() -> Frames:
        for progress, seconds in [*moments, (np.inf, _AT_THE_END)]:
            _draw(film, moves, place, float(progress))
            yield figure, seconds

    return frames()


def _begin(
    moves: pd.DataFrame, steps: pd.DataFrame, mdp: MDP, learner: str
) -> tuple[Figure, _Film]:
    """Draw the parts that stay, and make those that change."""
    position = state_positions(mdp)
    first = moves.iloc[0]
    path = path_so_far(steps, first)
    extent, height, to_scale = shown_part(
        position[[*path, *moves["state"], *moves["next_state"], first["location"]]],
        mdp,
        0.92 * _WIDTH,
    )
    size = np.array([_WIDTH, _HEADER + height + _FOOTER])
    figure = Figure(figsize=tuple(size), dpi=_DPI)
    FigureCanvasAgg(figure)
    ax = figure.add_axes((0.04, _FOOTER / size[1], 0.92, height / size[1]))
    plot_mdp(mdp, ax, rewards=False)
    draw_walk(steps, first, path, position, mdp, ax)
    ax.set(xlim=extent[0], ylim=extent[1], aspect="equal" if to_scale else "auto")
    if maze_cell_size(mdp) is not None:
        draw_scale_bar(ax, 50)

    def write(x: float, y: float, text: str, **look: Any) -> Text:
        return figure.text(x, 1 - y / size[1], text, va="top", **look)

    write(0.04, 0.08, label(learner), fontsize=9, fontweight="bold")
    when = WHEN.get(str(first["phase"]), str(first["phase"]))
    write(0.04, 0.27, f"Episode {first['episode']:,}, step {first['step']:,}, {when}", color="0.35")
    count = write(0.96, 0.1, "", ha="right", color="0.35")
    what = write(0.96, 0.27, "", ha="right", fontweight="bold")
    x = 0.96
    colours = moves.set_index("kind")["colour"].to_dict()
    for kind in reversed(in_order(moves["kind"], KINDS)):
        name = write(x, size[1] - 0.56, label(kind), ha="right", color=colours[kind])
        x = name.get_window_extent().x0 / figure.bbox.width - 0.03

    strip = figure.add_axes((0.04, 0.12 / size[1], 0.92, 0.26 / size[1]))
    strip.set_axis_off()
    n = max(len(moves), _FEWEST_BARS)
    strip.set(xlim=(-0.5, n - 0.5), ylim=(0, 1))
    shown = _sample(len(moves))
    change = moves["change"].replace(np.inf, np.nan)  # a value that was unknown before
    top = 0.25 + 0.75 * (change / (change.max() or 1)).fillna(change.isna() * 1.0)
    width = 0.8 * 0.92 * _WIDTH * 72 / min(n, _MOST_FRAMES)
    bars = strip.vlines(shown, 0, top.iloc[shown], linewidths=width, capstyle="butt")
    made = moves[["state", "next_state"]].to_numpy(dtype=np.int64)
    pairs, pair = np.unique(made, axis=0, return_inverse=True)
    return figure, _Film(
        arrows=draw_arrows(pairs, position, ax),
        pair=pair.ravel(),  # NumPy 2.0 returns a column
        trace=ax.plot([], [], linewidth=2.4, solid_capstyle="round", zorder=6)[0],
        halo=ax.plot([], [], "o", markersize=15, alpha=0.25, markeredgewidth=0, zorder=8)[0],
        head=ax.plot([], [], "o", markersize=7, markeredgecolor="white", zorder=9)[0],
        bars=bars,
        n_done=count,
        what=what,
    )


def _draw(film: _Film, moves: pd.DataFrame, position: Floats, progress: float) -> None:
    """Show the pause after `done` moves."""
    n = len(moves)
    done = int(min(progress, n))
    is_running = 0 < progress <= n
    colours = to_rgba_array(moves["colour"].tolist())
    shown = _sample(n)
    film.bars.set_color(list(np.where(shown[:, None] < done, colours[shown], to_rgba(_TO_COME))))
    # If a move was made several times, the last time counts; at the end all moves are bright again.
    last = np.full(film.pair.max() + 1, -1)
    np.maximum.at(last, film.pair[:done], np.arange(done))
    colours = colours[last]
    colours[:, 3] = np.clip(1 - (done - 1 - last) / _FADING, _PALEST, 1) if is_running else 1.0
    colours[last < 0, 3] = 0.0
    film.arrows.set_facecolor(list(colours))
    film.n_done.set_text(f"{done:,} of {n:,} backups")
    for part in (film.trace, film.halo, film.head, film.what):
        part.set_visible(is_running)
    if is_running:
        k = min(int(np.ceil(progress)) - 1, n - 1)
        begin, end = position[moves[["state", "next_state"]].to_numpy()[k]]
        here = begin + (progress - k) * (end - begin)
        colour = moves["colour"].iloc[k]
        film.trace.set(xdata=[begin[0], here[0]], ydata=[begin[1], here[1]], color=colour)
        for part in (film.halo, film.head):
            part.set(xdata=[here[0]], ydata=[here[1]], markerfacecolor=colour)
        move = moves.iloc[k]
        walked = "" if pd.isna(move["orientation"]) else f"{move['orientation']}, "
        text = "single move" if move["length"] == 2 else f"{walked}{move['length']} states"
        film.what.set(text=text, color=colour)


def _sample(n_moves: int) -> NDArray[np.intp]:
    """Choose the moves with a bar: all of them, or as many as there are frames."""
    return np.unique(np.linspace(0, n_moves - 1, min(n_moves, _MOST_FRAMES)).round().astype(int))
