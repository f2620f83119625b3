"""Work for worker processes, which import this file; it imports little."""

import os
import signal
import tempfile
import time
from contextlib import closing
from pathlib import Path

from analyses.jobs import workers


def run(function, pieces, **options):
    with workers.pool(**options) as call, closing(call(function, pieces)) as done:
        yield from done


def work(number, seconds=0.0):
    time.sleep(seconds)
    return number, os.getpid()


def end(number):
    os.kill(os.getpid(), getattr(signal, "SIGKILL", signal.SIGTERM))


def fail(number):
    raise OSError(28, "No space left on device")


def write_and_wait(folder, seconds):
    path = Path(tempfile.mkdtemp(prefix="hippocampal-replay-")) / "large"
    path.write_bytes(bytes(1000))
    (Path(folder) / f"{os.getpid()}.txt").write_text(str(path))
    time.sleep(seconds)
