"""Commands as they are typed, in this process or in a process of their own."""

import io
import os
import subprocess
import sys
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
