"""Commands as they are typed, in this process or one of their own, and what they leave."""

import hashlib
import io
import os
import subprocess
import sys
import time
from contextlib import chdir, redirect_stderr, redirect_stdout
from unittest.mock import patch

from analyses.cli import main


def replay(*arguments, cwd=None):
    """Run a command in this process: to start one takes longer than most commands do."""
    words = list(map(str, arguments))
    output, errors = io.StringIO(), io.StringIO()
    with (
        patch.object(sys, "argv", ["replay", *words]),
        chdir(cwd or os.curdir),
        redirect_stdout(output),
        redirect_stderr(errors),
    ):
        try:
            main()
            code = 0
        except SystemExit as ended:
            code = int(ended.code or 0)
    return subprocess.CompletedProcess(words, code, output.getvalue(), errors.getvalue())


def replay_in_a_process(*arguments, **options):
    """Run a command as a shell does, where the process itself is tested."""
    command = [sys.executable, "-m", "analyses.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def digests(folder):
    """Give the digest of each file in a folder, by name; nobody reads what a lock holds."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }


def interrupt(after):
    """Make a callback that interrupts when so many pieces are done."""
    calls = iter(range(after - 1))

    def on_piece(piece):
        if next(calls, None) is None:
            raise KeyboardInterrupt

    return on_piece


def wait_until(condition, message="it did not come in time", seconds=120):
    """Wait until a function returns true, which other processes make it."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, message
        time.sleep(0.05)
