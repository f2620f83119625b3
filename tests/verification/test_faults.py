"""A reproduction that is killed repeatedly gives the same bytes as an undisturbed one.

It is killed 20 times, or as often as the environment variable ``KILLS`` says, half of them while it
works in one process.
"""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from analyses.jobs.results import Results

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds processes in /proc"),
]

N_KILLS = int(os.environ.get("KILLS", "20"))


def start(folder, jobs, scratch):
    # Workers that outlive a killed process would keep a pipe open.
    with folder.with_suffix(".stderr").open("w") as errors:
        return subprocess.Popen(
            [
                sys.executable, "-m", "analyses.cli", "reproduce",
                "--experiment", "deterministic_tree",
                "--learner", "q_learning,prioritized_sweeping,episodic_control",
                "--mdps", "12", "--seeds", "2", "--steps", "10000",
                "--keep-logs", "2", "--jobs", str(jobs), "--out", str(folder),
            ],
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env=os.environ | {"TMPDIR": str(scratch)},
        )  # fmt: skip


def finish(process, folder):
    code = process.wait(timeout=600)
    message = folder.with_suffix(".stderr").read_text()
    assert "Traceback" not in message, message
    return code, " ".join(message.split())


def is_worker(process_id):
    with suppress(OSError):
        return b"popen_loky" in Path(f"/proc/{process_id}/cmdline").read_bytes()
    return False


def workers(process):
    found = []
    for path in Path(f"/proc/{process.pid}/task").glob("*/children"):
        with suppress(OSError):
            found += [int(child) for child in path.read_text().split() if is_worker(child)]
    return found


def are_gone(process_ids):
    return not any(map(is_worker, process_ids))


def kill(process_id):
    with suppress(ProcessLookupError):
        os.kill(process_id, signal.SIGKILL)


def digests(folder):
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def damaged(folder):
    with suppress(FileNotFoundError):  # there is no manifest yet
        return Results(folder).status().damaged
    return []


def wait_until(condition, message, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, message
        time.sleep(0.1)


@pytest.mark.parametrize("jobs", [1, 2])
def test_killed_at_random_moments(jobs, tmp_path, rng):
    compiled, undisturbed, folder = (tmp_path / name for name in ("compiled", "once", "killed"))
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    begin = partial(start, jobs=jobs, scratch=scratch)
    assert finish(begin(compiled), compiled)[0] == 0
    before = time.monotonic()
    assert finish(begin(undisturbed), undisturbed)[0] == 0
    duration = time.monotonic() - before
    expected = digests(undisturbed)
    assert digests(compiled) == expected

    n_killed = {"main": 0, "worker": 0}
    while sum(n_killed.values()) < N_KILLS // 2:
        process = begin(folder)
        seen = set()
        moment = time.monotonic() + rng.uniform(0, duration)
        while time.monotonic() < moment and process.poll() is None:
            assert damaged(folder) == []
            time.sleep(0.3)
        found = workers(process)
        seen.update(found)
        whom = "worker" if found and n_killed["worker"] <= n_killed["main"] else "main"
        if process.poll() is None:
            kill(int(rng.choice(found)) if whom == "worker" else process.pid)
            n_killed[whom] += 1
        code, message = finish(process, folder)
        if code > 0:
            assert "worker process was killed" in message
        assert damaged(folder) == []
        wait_until(partial(are_gone, seen), "workers outlive the main process")
        wait_until(lambda: not list(scratch.iterdir()), "temporary files are left")
        if code == 0:
            assert digests(folder) == expected
            shutil.rmtree(folder)
    assert finish(begin(folder), folder)[0] == 0
    assert digests(folder) == expected
    assert jobs == 1 or min(n_killed.values()) >= N_KILLS // 8
