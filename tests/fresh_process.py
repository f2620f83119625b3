"""Scripts in processes of their own that need not import numba, which takes most of a start."""

import os
import sys
import tempfile
import traceback
from contextlib import redirect_stderr, redirect_stdout
from multiprocessing import get_all_start_methods, get_context

import numba

_METHODS = get_all_start_methods()
_CONTEXT = get_context("forkserver" if "forkserver" in _METHODS else "spawn")
_CONTEXT.set_forkserver_preload(["numba"])


def start(script, folder, output, environment):
    """Run a script in a folder, with this environment; its output goes to a file."""
    process = _CONTEXT.Process(target=_run, args=(script, folder, output, environment))
    process.start()
    return process


def _run(script, folder, output, environment):
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None
    numba.config.reload_config()
    sys.path.insert(0, "")
    sys.dont_write_bytecode = True  # its time tells no edits within a second apart
    with output.open("w") as file, redirect_stdout(file), redirect_stderr(file):
        try:
            exec(script, {"__name__": "__main__"})
        except Exception:
            traceback.print_exc()
            raise
