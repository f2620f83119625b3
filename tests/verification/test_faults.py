"""Commands that are killed, and results that are damaged, give the same bytes in the end.

Commands are killed 20 times, and results damaged 20 times, or as often as the environment variables
``KILLS`` and ``DAMAGES`` say, divided among the commands. A command runs in a copy of this process,
which has imported everything, so that it is killed at its work and not at its imports; every eighth
one works in two more processes, which start as they always do.
"""

import json
import os
import shutil
import signal
import sys
import tempfile
import time
from contextlib import chdir, suppress
from functools import partial
from pathlib import Path

import gain_floor
import numpy as np
import pytest
from commands import digests, replay, wait_until
from discrepancies import plan_variants
from malformed import damage, is_ours, lie, limited

from analyses.cli import main
from analyses.jobs.results import Results
from analyses.recordings.readers.track_graphs import draw_track
from analyses.recordings.recover.simulated_recording import simulated_recording
from analyses.studies import draw_all
from analyses.studies.comparison import plan_rescoring
from analyses.studies.explanation.inputs import read_animals

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds processes in /proc"),
]

COMMANDS = {
    "reproduce": (
        "reproduce --experiment deterministic_tree --n-worlds 4 --repeats 1 --steps 1000 "
        "--keep-logs 1 --learner q_learning,episodic_control"
    ),
    "compare": "compare --task mine.py --accounts dyna_q,graph_walks --draws 2",
    "recording": "recording mine.npz --track track.json --events events.csv --shuffles 19 "
    "--recovery 0",
    "study": f"study {gain_floor.__file__} --size 0.02",
}
N_KILLS = int(os.environ.get("KILLS", "20")) // len(COMMANDS)
EVERY = 8
N_DAMAGES = int(os.environ.get("DAMAGES", "20")) // len(COMMANDS)

OWN_TASK = """
from replay.tasks.published import TaskEntry
from replay.tasks.published.arms import linear_track

TASK = TaskEntry(lambda: linear_track(n_training=2, n_laps=2), ("reverse_share",))
"""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Write the files that the commands read."""
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "mine.py").write_text(OWN_TASK)
    recording = simulated_recording(8)
    np.savez(
        folder / "mine.npz",
        position_time=recording.time,
        position_xy=recording.position,
        spike_time=np.concatenate(recording.spikes),
        spike_unit=np.repeat(np.arange(60), [len(each) for each in recording.spikes]),
    )
    (folder / "track.json").write_text(json.dumps(draw_track(recording.graph)), "utf-8")
    events = recording.events[["start_time", "end_time"]].iloc[::3]
    events.to_csv(folder / "events.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def made(inputs, tmp_path_factory):
    """Return a function that makes the results of a command, undisturbed, once."""
    folders = {}

    def make(command):
        if command not in folders:
            folders[command] = tmp_path_factory.mktemp("made") / command
            words = [*COMMANDS[command].split(), "--jobs", 1, "--out", folders[command]]
            assert replay(*words, cwd=inputs).returncode == 0
        return folders[command]

    return make


class Running:
    """A command in a copy of this process."""

    def __init__(self, folder, command, jobs, inputs, scratch):
        self.messages, self.code = folder.with_suffix(".stderr"), None
        self.pid = os.fork()
        if not self.pid:
            try:
                os.environ["TMPDIR"], tempfile.tempdir = str(scratch), None
                sys.argv = ["replay", *COMMANDS[command].split(), "--jobs", str(jobs)]
                sys.argv += ["--out", str(folder)]
                # Workers that outlive a killed process would keep a pipe open.
                with chdir(inputs), self.messages.open("w") as sys.stderr:
                    sys.stdout = sys.stderr
                    try:
                        main()
                        code = 0
                    except SystemExit as ended:
                        code = int(ended.code or 0)
            except BaseException as error:
                self.messages.write_text(f"Traceback {error!r}")
                code = 70
            os._exit(code)

    def poll(self):
        if self.code is None:
            found, status = os.waitpid(self.pid, os.WNOHANG)
            self.code = os.waitstatus_to_exitcode(status) if found else None
        return self.code

    def finish(self):
        wait_until(lambda: self.poll() is not None, "the command hangs", seconds=600)
        message = self.messages.read_text()
        assert "Traceback" not in message, message
        return self.code, " ".join(message.split())


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


def damaged(folder):
    with suppress(FileNotFoundError):  # there is no manifest yet
        return Results(folder).status().damaged
    return []


def nothing_is_left(process, scratch):
    shared = Path("/dev/shm").glob(f"sem.loky-{process.pid}-*")
    return not [*scratch.iterdir(), *shared]


@pytest.mark.parametrize("command", COMMANDS)
def test_killed_at_random_moments(command, inputs, made, tmp_path, rng):
    folder, scratch, expected = tmp_path / "killed", tmp_path / "scratch", digests(made(command))
    scratch.mkdir()
    begin = partial(Running, folder, command, inputs=inputs, scratch=scratch)
    durations = {}
    for jobs in (1, 2):
        before = time.monotonic()
        assert begin(jobs=jobs).finish()[0] == 0
        durations[jobs] = time.monotonic() - before
        assert digests(folder) == expected
        shutil.rmtree(folder)

    n_killed, n_workers_killed = 0, 0
    while n_killed < N_KILLS:
        jobs = 2 if n_killed % EVERY == EVERY // 2 else 1
        process = begin(jobs=jobs)
        moment = time.monotonic() + rng.uniform(0, durations[jobs])
        while time.monotonic() < moment and process.poll() is None:
            assert damaged(folder) == []
            time.sleep(0.1)
        found = workers(process)
        if process.poll() is None:
            victim = int(rng.choice([process.pid, *found]))
            kill(victim)
            n_killed += 1
            n_workers_killed += victim in found
        code, message = process.finish()
        if code > 0:
            assert "worker process was killed" in message
        assert damaged(folder) == []
        wait_until(partial(are_gone, found), "workers outlive the main process")
        wait_until(partial(nothing_is_left, process, scratch), "temporary files are left")
        if code == 0:
            assert digests(folder) == expected
            shutil.rmtree(folder)
    assert begin(jobs=1).finish()[0] == 0
    assert digests(folder) == expected
    assert n_workers_killed >= N_KILLS // 75


@pytest.mark.parametrize("command", COMMANDS)
def test_damaged_anywhere(command, inputs, made, tmp_path, rng):
    """Flipped and missing bytes, other files, folders, links, pipes and devices in any place.

    The same command again makes the same bytes, or says in a sentence what is in the way.
    """
    whole, outside, folder = made(command), tmp_path / "outside", tmp_path / "damaged"
    outside.mkdir()
    for name in ("thesis.txt", f".thesis.txt.{'4' * 32}", "notes.csv"):
        (outside / name).write_text("mine")
    words = [*COMMANDS[command].split(), "--jobs", 1, "--out"]
    expected, there = digests(whole), digests(outside)
    n_again = 0
    for _ in range(N_DAMAGES):
        shutil.copytree(whole, folder)
        for _ in range(rng.integers(1, 4)):
            damage(folder, lambda n: int(rng.integers(n)), outside)
        with limited(300):
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
def test_lies_with_the_right_checksums(command, made, tmp_path, rng):
    """A folder that somebody else made up is read, or refused in a sentence; no file is run."""
    whole, folder = made(command), tmp_path / "lies"
    there = {path.name for path in tmp_path.iterdir()} | {"lies", "page.html"}
    for _ in range(N_DAMAGES):
        shutil.copytree(whole, folder)
        lie(folder, lambda n: int(rng.integers(n)))
        with limited(300):
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
