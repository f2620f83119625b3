"""A reproduction that is killed again and again gives the bytes of an undisturbed one."""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from analyses.jobs.results import Results

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds processes in /proc"),
]

N_KILLS = 20


def start(folder):
    # Workers that outlive a killed process would keep a pipe open.
    with folder.with_suffix(".stderr").open("w") as errors:
        return subprocess.Popen(
            [
                sys.executable, "-m", "analyses.cli", "reproduce",
                "--experiment", "deterministic_tree",
                "--learner", "q_learning,prioritized_sweeping,episodic_control",
                "--mdps", "12", "--seeds", "2", "--steps", "10000",
                "--keep-logs", "2", "--jobs", "2", "--out", str(folder),
            ],
            stdout=subprocess.DEVNULL,
            stderr=errors,
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


def test_killed_at_random_moments(tmp_path, rng):
    compiled, undisturbed, folder = (tmp_path / name for name in ("compiled", "once", "killed"))
    assert finish(start(compiled), compiled)[0] == 0
    begin = time.monotonic()
    assert finish(start(undisturbed), undisturbed)[0] == 0
    duration = time.monotonic() - begin
    expected = digests(undisturbed)
    assert digests(compiled) == expected

    seen = set()
    n_killed = {"main": 0, "worker": 0}
    while sum(n_killed.values()) < N_KILLS:
        process = start(folder)
        moment = time.monotonic() + rng.uniform(0, duration)
        while time.monotonic() < moment:
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
        if code == 0:
            assert digests(folder) == expected
            shutil.rmtree(folder)
    assert finish(start(folder), folder)[0] == 0
    assert digests(folder) == expected
    assert min(n_killed.values()) >= N_KILLS // 4
    end = time.monotonic() + 30
    while any(map(is_worker, seen)):
        assert time.monotonic() < end, "workers outlive the main process"
        time.sleep(0.1)
