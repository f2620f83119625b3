"""Set-up shared by all tests: Hypothesis profiles, distribution over processes, closing figures."""

import os

# Tests run in a process per core: threads of libraries would only wait for one another. They are
# started when numpy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

import gc
import re
import sys
import tempfile
from dataclasses import replace
from functools import wraps
from pathlib import Path
from unittest import mock

import hypothesis
import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher
from xdist.scheduler import LoadScopeScheduling

from replay import LEARNERS
from replay.simulation import driver

os.environ["MPLBACKEND"] = "Agg"
# Studies about the toolkit itself, which run from a checkout.
sys.path.append(str(Path(__file__).parent / "verification"))

# No deadline: the first example of a property compiles its kernels.
hypothesis.settings.register_profile("ci", deadline=None, max_examples=8, derandomize=True)
hypothesis.settings.register_profile("nightly", deadline=None, max_examples=100)
hypothesis.settings.load_profile("ci")


# They take longest: begun last, they would leave the other processes waiting at the end.
_LONG = ("test_workers.py", "test_recorded_replay.py", "test_reproduce.py", "test_comparison.py")
_LONG += ("test_readme.py", "test_tutorials.py")
# They compile a learner that is not ours, whose code is not kept.
_WITH_IMPOSED_CHOICES = ("test_memory_access_options.py", "test_memory_access_reference.py")


def _once(compile_):
    """Let one process compile a kernel, while others wait for the code instead of making it too."""
    import fcntl

    folder, held = Path(tempfile.gettempdir()) / f"compiled-by-tests-{os.getuid()}", set()
    folder.mkdir(exist_ok=True)

    @wraps(compile_)
    def compile_once(dispatcher, signature):
        path = dispatcher._cache.cache_path  # None if it is not kept
        sources = path and Path(path).parent.name
        if sources is None or sources in held:
            return compile_(dispatcher, signature)
        with (folder / sources).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            held.add(sources)
            try:
                return compile_(dispatcher, signature)
            finally:
                held.remove(sources)

    return compile_once


if sys.platform != "win32":
    Dispatcher.compile = _once(Dispatcher.compile)


class _ByLearner(LoadScopeScheduling):
    """Gives the tests of a learner to one process, which compiles it once, and others by file."""

    def _split_scope(self, nodeid):
        file = nodeid.partition("::")[0]
        scope = "imposed choices" if file.endswith(_WITH_IMPOSED_CHOICES) else file
        return _learner_of(nodeid) or scope


def _learner_of(nodeid):
    """Name the module of the learner that a test names, if it names one."""
    named = [part for part in re.split(r"[\[\]-]", nodeid) if part in LEARNERS]
    return LEARNERS[named[0]][0].__name__ if named else ""


def pytest_collection_modifyitems(items):
    """Compile the learners, each in one process, before others need them; then what takes longest.

    Two processes that need a learner at the same time would both compile it.
    """
    items.sort(key=lambda item: (not _learner_of(item.nodeid), item.path.name not in _LONG))


def pytest_collection_finish():
    """Let the garbage collector leave alone what is imported: it is much, and stays."""
    gc.freeze()
    gc.set_threshold(50_000)


def pytest_xdist_make_scheduler(config, log):
    return _ByLearner(config, log)


@pytest.fixture
def ax():
    from matplotlib.figure import Figure

    return Figure().subplots()


@pytest.fixture
def rng():
    return np.random.default_rng(20180624)


class _Unpainted:
    """A canvas that makes a figure's files, and leaves them empty."""

    def __init__(self, figure):
        pass

    def print_pdf(self, path, metadata):
        Path(path).touch()

    print_png = print_pdf


@pytest.fixture(scope="session")
def is_nightly(pytestconfig):
    """Whether tests are at their full size: with the nightly profile, and with `-m slow`."""
    is_slow = pytestconfig.getoption("markexpr") == "slow"
    return is_slow or hypothesis.settings() == hypothesis.settings.get_profile("nightly")


@pytest.fixture(scope="session", autouse=True)
def _small(is_nightly):
    """Leave out what takes most of the time of a study, unless tests are at their full size.

    Figures are laid out, not painted: each kind of figure is drawn by `test_legibility`. Shares are
    corrected by a third of the known paths, and forests are small.
    """
    from analyses.inference import model_choice
    from analyses.plots import files
    from analyses.recordings.recover import known_replay, similar_paths

    with pytest.MonkeyPatch.context() as patch:
        if not is_nightly:
            patch.setattr(files, "FigureCanvasPdf", _Unpainted)
            patch.setattr(files, "FigureCanvasAgg", _Unpainted)
            patch.setattr(similar_paths, "N_PATHS", 5)
            patch.setattr(known_replay, "N_PATHS", 30)
            patch.setattr(model_choice, "_N_TREES", 40)
        yield


@pytest.fixture(scope="module")
def painted():
    """Paint figures, for the tests that look into their files."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_pdf import FigureCanvasPdf

    canvases = {each.__name__: each for each in (FigureCanvasPdf, FigureCanvasAgg)}
    with mock.patch.multiple("analyses.plots.files", **canvases):
        yield


@pytest.fixture
def plain(monkeypatch):
    """Run learners as plain Python: for the few steps of a case, compiling would take longer."""
    kernel_of = driver.kernel_of
    monkeypatch.setattr(driver, "kernel_of", lambda own: kernel_of(replace(own, compiled=False)))


def _shown_texts(figure):
    """List the texts that a drawn figure shows: of ticks only those within the axis."""
    from matplotlib.text import Text

    hidden = set()
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            room = 1e-6 * (high - low)
            for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
                if not (ax.axison and low - room <= tick.get_loc() <= high + room):
                    hidden |= {tick.label1, tick.label2}
    texts = figure.findobj(Text)
    return [text for text in texts if text.get_text() and text.get_visible() and text not in hidden]


@pytest.fixture
def assert_legible():
    """Check that all texts of a figure have 6 pt or more, are within it, and apart where it counts.

    Labels of an axis' ticks must not touch, nor the panels the legend and the note below them.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.text import Text

    def check(figure):
        FigureCanvasAgg(figure)
        figure.draw_without_rendering()
        texts = _shown_texts(figure)
        assert texts
        for text in texts:
            assert text.get_fontsize() >= 6, f"{text.get_text()!r} is too small"
            box = text.get_window_extent()
            inside = figure.bbox.x0 - 1 <= box.x0 and box.x1 <= figure.bbox.x1 + 1
            inside &= figure.bbox.y0 - 1 <= box.y0 and box.y1 <= figure.bbox.y1 + 1
            assert inside, f"{text.get_text()!r} is cut off"
        for ax in figure.axes:
            for axis in (ax.xaxis, ax.yaxis):
                labels = [tick.label1 for tick in axis.get_major_ticks()]
                boxes = [label.get_window_extent() for label in labels if label in texts]
                for k, box in enumerate(boxes):
                    for other in boxes[:k]:
                        assert not box.padded(-0.5).overlaps(other), f"labels of {axis} collide"
        below = [*figure.legends, *figure.texts]
        boxes = [part.get_window_extent() for part in below]
        written = [text for ax in figure.axes for text in ax.findobj(Text) if text in texts]
        for part, box in zip(below, boxes, strict=True):
            others = [ax.get_window_extent() for ax in figure.axes]
            others += [text.get_window_extent() for text in written]
            others += [each for each in boxes if each is not box]
            assert not any(box.overlaps(other) for other in others), f"{part} lies on a panel"

    return check


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
