"""Compiled code is cached, found again, and never older than its sources."""

import gc
import os
import pickle
import shutil
import time
import uuid

import fresh_process
import numba
import pytest

from replay import jit, sources

HELPER = """
from replay.jit import jitable

@jitable
def number():
    return {}
"""
CALLER = """
import numpy as np
from replay.helper import number
from replay.jit import kernel

@kernel
def answer():
    return number()

@kernel
def element(values, i):
    return values[i]
"""
ASK = """
from replay.caller import answer
print(answer(), sum(answer.stats.cache_hits.values()))
"""


class Project:
    """A copy of the cache's rules over three small files, run in fresh processes."""

    def __init__(self, folder):
        self.folder = folder
        self.cache = folder / "cache"
        self.package = folder / "replay"
        self.package.mkdir()
        for module in (jit, sources):
            shutil.copy(module.__file__, self.package)
        (self.package / "__init__.py").touch()
        (self.package / "caller.py").write_text(CALLER)
        self.write(1)

    def write(self, number):
        (self.package / "helper.py").write_text(HELPER.format(number))

    def start(self, script, **environment):
        kept = {name: value for name, value in os.environ.items() if "NUMBA" not in name}
        settings = {"NUMBA_CACHE_DIR": str(self.cache)} | environment
        output = self.folder / f"output_{uuid.uuid4()}"
        return fresh_process.start(script, self.folder, output, kept | settings), output

    def run(self, script=ASK, **environment):
        return finish(self.start(script, **environment))


def finish(started):
    process, output = started
    process.join(120)
    assert process.exitcode == 0, output.read_text()
    return output.read_text().split()


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def test_an_edit_of_another_file_is_noticed_and_code_is_found_again(project):
    assert project.run() == ["1", "0"]
    # A file that imports the other, and is not imported, changes nothing.
    (project.package / "other.py").write_text("from replay.helper import number\n")
    assert project.run() == ["1", "1"]
    project.write(2)
    assert project.run() == ["2", "0"]
    project.write(1)
    assert project.run() == ["1", "1"]


def test_an_edit_in_mid_session_is_not_kept_under_the_old_name(project):
    edited = HELPER.format(2)
    script = f"""
import pathlib
import replay.jit
pathlib.Path("replay/helper.py").write_text({edited!r})
{ASK}
"""
    assert project.run(script) == ["2", "0"]
    project.write(1)
    assert project.run() == ["1", "0"]


def test_two_processes_may_start_at_once(project):
    both = [project.start(ASK) for _ in range(2)]
    assert [finish(process)[0] for process in both] == ["1", "1"]


def test_bounds_are_checked_with_a_warm_cache(project):
    ask = "from replay.caller import *; element(np.zeros(3), 3)"
    project.run(ask)
    with pytest.raises(AssertionError, match="IndexError"):
        project.run(ask, NUMBA_BOUNDSCHECK="1")


def test_everything_runs_as_plain_python(project):
    ask = "from replay.caller import answer; print(answer())"
    assert project.run(ask, NUMBA_DISABLE_JIT="1") == ["1"]
    assert not list(project.cache.rglob("*.nbi"))


def test_unwritable_folders_do_no_harm(project, tmp_path):
    blocked = tmp_path / "file"
    blocked.touch()
    nowhere = {"NUMBA_CACHE_DIR": str(blocked), "XDG_CACHE_HOME": str(blocked)}
    private = tmp_path / "temporary"
    private.mkdir()
    assert project.run(**nowhere, HOME=str(blocked), TMPDIR=str(private)) == ["1", "0"]
    assert project.run(**nowhere, HOME=str(blocked), TMPDIR=str(private)) == ["1", "1"]


@pytest.fixture
def roots(tmp_path, monkeypatch):
    """Take two folders for those that may hold the cache."""
    if not hasattr(os, "getuid"):
        pytest.skip("folders have owners on POSIX only")
    found = [tmp_path / "given" / "hippocampal-replay", tmp_path / "own" / "hippocampal-replay"]
    monkeypatch.setattr(jit, "_roots", lambda: found)
    monkeypatch.setattr(jit.atexit, "register", lambda *_: None)
    return found


@pytest.mark.parametrize("mode", [0o777, 0o757, 0o775])
def test_a_cache_that_others_can_write_to_is_not_used(roots, capsys, mode):
    given, own = roots
    given.mkdir(parents=True)
    given.chmod(mode)
    assert jit._root.__wrapped__() == own
    assert f"Others can write to {given}" in capsys.readouterr().err
    assert own.stat().st_mode & 0o777 == 0o700
    given.chmod(0o755)
    assert jit._root.__wrapped__() == given
    assert not capsys.readouterr().err


def test_a_cache_of_somebody_else_is_not_used(roots, monkeypatch):
    given, own = roots
    given.mkdir(parents=True)
    if os.getuid():  # only the superuser can give folders away
        monkeypatch.setattr(os, "getuid", lambda: 12345)
        assert not jit._is_private(given)
        return
    os.chown(given, 12345, -1)
    assert jit._root.__wrapped__() == own


def test_without_a_private_folder_nothing_is_kept(roots, capsys):
    for root in roots:
        root.mkdir(parents=True)
        root.chmod(0o777)
    assert jit._root.__wrapped__() is None
    assert "compiled code is not kept" in capsys.readouterr().err


def test_planted_code_is_not_run(project):
    """Whoever may write to the cache could put a pickle there that runs anything."""
    project.run()
    planted = b"cos\nsystem\n(S'touch " + str(project.package / "ran").encode() + b"'\ntR."
    for path in project.cache.rglob("*.nb[ic]"):
        path.write_bytes(pickle.dumps(numba.__version__) + planted)
    (project.cache / "hippocampal-replay").chmod(0o777)
    assert project.run()[0] == "1"
    assert not (project.package / "ran").exists()


def test_a_file_in_the_working_folder_does_not_choose_the_cache(monkeypatch, tmp_path):
    """Numba takes settings from ``.numba_config.yaml``, which comes with a folder."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(numba.config, "CACHE_DIR", "here")
    assert not [root for root in jit._roots() if "here" in root.parts]
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert next(iter(jit._roots())).parent == tmp_path


def test_without_any_folder_nothing_is_kept(monkeypatch):
    monkeypatch.setattr(jit, "_root", lambda: None)
    assert jit._cache_folder.__wrapped__("digest") is None


def test_only_folders_that_were_used_lately_are_kept(tmp_path, monkeypatch):
    day = 24 * 3600
    for age in (0, 3, 6, 7, 30, 60):
        folder = tmp_path / f"{age} days"
        folder.mkdir()
        os.utime(folder, (time.time() - (age + 0.5) * day,) * 2)
    monkeypatch.setattr(jit, "_root", lambda: tmp_path)
    current = jit._cache_folder.__wrapped__("60 days")
    assert current == tmp_path / "60 days"
    jit._prune(tmp_path)
    kept = {path.name for path in tmp_path.iterdir()}
    assert kept == {"0 days", "3 days", "6 days", "60 days"}
    jit._prune(tmp_path / "missing")


def test_the_setting_of_other_packages_is_left_alone():
    before = numba.config.CACHE_DIR

    @jit.kernel
    def one():
        return 1

    assert one() == 1
    assert before == numba.config.CACHE_DIR


BY_WAY_OF_OTHERS = [
    "from replay.middle import number",
    "from replay.middle import (\n    number,\n)",
    "from replay import middle\nnumber = middle.number",
]
ASK_ALL = """
from replay import caller0, caller1, caller2
for caller in (caller0, caller1, caller2):
    print(caller.answer(), sum(caller.answer.stats.cache_hits.values()))
"""


def test_an_edit_at_second_hand_is_noticed(project):
    """Imports in parentheses, of modules and of names of a package all count."""
    (project.package / "middle.py").write_text("from replay.helper import number\n")
    for i, line in enumerate(BY_WAY_OF_OTHERS):
        text = CALLER.replace("from replay.helper import number", line)
        (project.package / f"caller{i}.py").write_text(text)
    assert project.run(ASK_ALL) == ["1", "0"] * 3
    assert project.run(ASK_ALL) == ["1", "1"] * 3
    project.write(2)
    assert project.run(ASK_ALL) == ["2", "0"] * 3


CLOSURES = """
import functools
from replay.jit import kernel

def factory(*functions):
    first = functions[0]
    def run():
        return first()
    return kernel(run)

def outer(function):
    def inner():
        return function()
    return inner
"""
ASK_CLOSURES = """
from replay.closures import factory, outer
from replay.jit import jitable, kernel
from replay.helper import number
print(*(factory(closed)() for closed in (number, kernel(number), jitable(outer(number)))))
"""


@pytest.mark.slow
def test_an_edit_of_what_a_function_closes_over_is_noticed(project):
    """The file of a learner's loop does not import the learner."""
    (project.package / "closures.py").write_text(CLOSURES)
    for number in (1, 2, 1):
        project.write(number)
        assert project.run(ASK_CLOSURES) == [str(number)] * 3


ASK_BOTH = """
from replay.caller import *
print(answer(), element(np.arange(3), 2))
print(sum(answer.stats.cache_hits.values()), sum(element.stats.cache_hits.values()))
"""


@pytest.mark.parametrize(
    "content", [b"damaged", *(pytest.param(each, marks=pytest.mark.slow) for each in (b"", None))]
)
def test_what_is_damaged_is_compiled_anew(project, content):
    """The index of one kernel and the code of another."""
    assert project.run(ASK_BOTH) == ["1", "2", "0", "0"]
    for pattern in ("*answer*.nbi", "*element*.nbc"):
        (file,) = project.cache.rglob(pattern)
        file.write_bytes(file.read_bytes()[:100] if content is None else content)
    assert project.run(ASK_BOTH) == ["1", "2", "0", "0"]
    assert project.run(ASK_BOTH) == ["1", "2", "1", "1"]


def test_a_folder_that_vanishes_or_fills_up_does_no_harm(project):
    """Another process may prune it, or fill the disk, before a kernel is first called."""
    vanish = "import shutil, replay.caller; shutil.rmtree('cache');" + ASK.strip()
    assert project.run(vanish.replace("\n", ";")) == ["1", "0"]
    full = """
import numba.core.caching, replay.caller
def fail(*_):
    raise OSError(28, "No space left on device")
numba.core.caching.IndexDataCacheFile._save_data = fail
"""
    shutil.rmtree(project.cache)
    assert project.run(full + ASK) == ["1", "0"]


SIGNATURES = """
import numpy as np
from replay.caller import element
kinds = [np.float64, np.int64, np.float32, np.int32, np.uint8, np.complex128]
first = {first}
for kind in kinds[first:] + kinds[:first]:
    values = np.arange(3, dtype=kind)
    got = element(values, 2)
    assert got == 2 and type(got) is type(values[2].item()), (kind, got)
print("right")
"""


@pytest.mark.slow
def test_processes_that_compile_several_signatures_at_once_share_a_cache(project):
    for _ in range(2):
        at_once = [project.start(SIGNATURES.format(first=first)) for first in range(3)]
        assert [finish(process) for process in at_once] == [["right"]] * 3


def test_two_signatures_never_get_one_file(project):
    """As if two processes had each read the index before the other wrote it."""
    script = """
from replay.caller import element
file = element._cache._cache_file
assert file._data_name(1) != file._data_name(1)
print("right")
"""
    assert project.run(script) == ["right"]


def test_the_learner_that_is_compiled_is_named_once(capsys, monkeypatch):
    monkeypatch.setattr(jit, "_announced", {})
    for what in ("the learner dyna_q", "", "the learner sfma", "the learner dyna_q"):
        jit.announce(what)
    told = capsys.readouterr().err.splitlines()
    assert told == [
        "Compiling the learner dyna_q: some seconds, the first time only.",
        "Compiling the learner sfma: some seconds, the first time only.",
    ]


@pytest.mark.parametrize("collects", [True, False])
def test_garbage_is_collected_after_compiling_as_before(collects):
    seen = []
    (gc.enable if collects else gc.disable)()
    try:
        with numba.core.compiler_lock.global_compiler_lock:
            seen.append(gc.isenabled())
            numba.njit(lambda: 1)()
            seen.append(gc.isenabled())
        assert (seen, gc.isenabled()) == ([False, False], collects)
    finally:
        gc.enable()
