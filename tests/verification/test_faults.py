"""Commands that are killed, and results that are damaged, give the same bytes in the end.

Commands are killed 20 times, and results damaged 20 times, or as often as the environment variables
``KILLS`` and ``DAMAGES`` say, divided among the commands. One command works in a single process.
"""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from commands import replay
from malformed import damage, is_ours, lie, time_limit

from analyses.jobs.results import Results
from analyses.recordings.observation.simulated_recording import simulated_recording
from analyses.recordings.readers.track_graphs import draw_track
from analyses.studies.comparison.rescoring import plan_rescoring
from analyses.studies.discrepancies import plan_variants
from analyses.studies.explanation.inputs import read_animals
from analyses.studies.figures import draw_all

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds processes in /proc"),
]

COMMANDS = {
    "reproduce": (
        "reproduce --experiment deterministic_tree --mdps 12 --seeds 2 --steps 10000 --keep-logs 2 "
        "--learner q_learning,prioritized_sweeping,episodic_control"
    ),
    "compare": "compare --task mine.py --account dyna_q,graph_walks --draws 4",
    "recording": "recording mine.npz --track track.json --events events.csv --shuffles 19 "
    "--recovery 2",
    "study": "study gain_floor --size 0.1",
}
WORK = [("reproduce", 1), *((command, 2) for command in COMMANDS)]
N_KILLS = int(os.environ.get("KILLS", "20")) // len(WORK)
N_DAMAGES = int(os.environ.get("DAMAGES", "20")) // len(COMMANDS)

OWN_TASK = """
from replay.tasks.published import TaskEntry
from replay.tasks.published.linear_tracks import linear_track

TASK = TaskEntry(lambda: linear_track(n_training=2, n_laps=2), ("reverse_share",))
"""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Write the files that the commands read."""
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "mine.py").write_text(OWN_TASK)
    recording = simulated_recording(24)
    np.savez(
        folder / "mine.npz",
        position_time=recording.time,
        position_xy=recording.position,
        spike_time=np.concatenate(recording.spikes),
        spike_unit=np.repeat(np.arange(60), [len(each) for each in recording.spikes]),
    )
    (folder / "track.json").write_text(json.dumps(draw_track(recording.graph)), "utf-8")
    events = recording.events[["start_time", "end_time"]].iloc[:20]
    events.to_csv(folder / "events.csv", index=False)
    return folder


def start(folder, command, inputs, jobs, scratch):
    # Workers that outlive a killed process would keep a pipe open.
    with folder.with_suffix(".stderr").open("w") as errors:
        return subprocess.Popen(
            [
                sys.executable, "-m", "analyses.cli", *COMMANDS[command].split(),
                "--jobs", str(jobs), "--out", str(folder),
            ],
            cwd=inputs,
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
    # Nobody reads what a lock holds.
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }


def damaged(folder):
    with suppress(FileNotFoundError):  # there is no manifest yet
        return Results(folder).status().damaged
    return []


def wait_until(condition, message, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, message
        time.sleep(0.1)


@pytest.mark.parametrize(("command", "jobs"), WORK)
def test_killed_at_random_moments(command, jobs, inputs, tmp_path, rng):
    compiled, undisturbed, folder = (tmp_path / name for name in ("compiled", "once", "killed"))
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    begin = partial(start, command=command, inputs=inputs, jobs=jobs, scratch=scratch)
    assert finish(begin(compiled), compiled)[0] == 0
    before = time.monotonic()
    assert finish(begin(undisturbed), undisturbed)[0] == 0
    duration = time.monotonic() - before
    expected = digests(undisturbed)
    assert digests(compiled) == expected

    n_killed = {"main": 0, "worker": 0}
    while sum(n_killed.values()) < N_KILLS:
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
    assert jobs == 1 or min(n_killed.values()) >= N_KILLS // 4


@pytest.mark.parametrize("command", COMMANDS)
def test_damaged_anywhere(command, inputs, tmp_path, rng):
    """Flipped and missing bytes, other files, folders, links, pipes and devices in any place.

    The same command again makes the same bytes, or says in a sentence what is in the way.
    """
    outside, whole, folder = (tmp_path / name for name in ("outside", "whole", "damaged"))
    outside.mkdir()
    for name in ("thesis.txt", f".thesis.txt.{'4' * 32}", "notes.csv"):
        (outside / name).write_text("mine")
    words = [*COMMANDS[command].split(), "--jobs", 1, "--out"]
    assert replay(*words, whole, cwd=inputs).returncode == 0
    expected, there = digests(whole), digests(outside)
    n_again = 0
    for _ in range(N_DAMAGES):
        shutil.copytree(whole, folder)
        for _ in range(rng.integers(1, 4)):
            damage(folder, lambda n: int(rng.integers(n)), outside)
        with time_limit(300):
            found = replay("status", folder)
            drawn = replay("page", folder, "--out", tmp_path / "page.html")
            again = replay(*words, folder, cwd=inputs)
        for done in (found, drawn, again):
            assert done.returncode in (0, 1)
            assert done.returncode == 0 or "Error:" in done.stderr or "To resume" in done.stdout
        assert digests(outside) == there
        if again.returncode == 0:
            n_again += 1
            assert digests(folder) == expected, found.stdout
        shutil.rmtree(folder)
    assert n_again >= N_DAMAGES // 2


READ = {
    "reproduce": plan_variants,
    "compare": plan_rescoring,
    "recording": lambda folder: read_animals([folder]),
    "study": draw_all,
}


@pytest.mark.parametrize("command", COMMANDS)
def test_lies_with_the_right_checksums(command, inputs, tmp_path, rng):
    """A folder that somebody else made up is read, or refused in a sentence; no file is run."""
    whole, folder = tmp_path / "whole", tmp_path / "lies"
    words = [*COMMANDS[command].split(), "--jobs", 1, "--out", whole]
    assert replay(*words, cwd=inputs).returncode == 0
    there = {path.name for path in tmp_path.iterdir()} | {"lies", "page.html"}
    for _ in range(N_DAMAGES):
        shutil.copytree(whole, folder)
        lie(folder, lambda n: int(rng.integers(n)))
        with time_limit(300):
            found = replay("status", folder)
            drawn = replay("page", folder, "--out", tmp_path / "page.html")
            try:
                READ[command](folder)
            except Exception as error:
                if not is_ours(error):
                    raise
        for done in (found, drawn):
            assert done.returncode == 0 or "Error:" in done.stderr or "To resume" in done.stdout
        shutil.rmtree(folder)
        assert {path.name for path in tmp_path.iterdir()} <= there
