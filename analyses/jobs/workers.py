"""Run pieces of work in this process, in other processes, or on a Dask cluster.

A piece is the tuple of a function's arguments; results are returned as they are finished, in any
order. Workers need not share a file system with this process, and they end when it ends, even if it
is killed.
"""

from __future__ import annotations

import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from importlib import metadata
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from joblib import cpu_count
from joblib.externals.loky.process_executor import ProcessPoolExecutor, TerminatedWorkerError

from replay.checks import check_whole
from replay.sources import sources_digest
from replay.version import __version__

Result = TypeVar("Result")

_PACKAGES = ("numpy", "scipy", "numba", "pandas", "pyarrow", "networkx", "matplotlib", "seaborn")
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_MOST_PROCESSES = 10_000
_ANSWER_SECONDS = 10  # until a scheduler counts as absent
_LOOK_SECONDS = 10  # after which it is asked whether workers are still there
_PARENT_SECONDS = 0.5  # between looks whether the parent process lives
_REMOVE = """
import glob, os, shutil, sys
is_killed = not sys.stdin.read()
shutil.rmtree(sys.argv[1], ignore_errors=True)
for path in glob.glob(f"/dev/shm/sem.loky-{sys.argv[2]}-*") if is_killed else ():
    try:
        os.unlink(path)
    except OSError:
        pass
"""


def n_processes(jobs: int | None) -> int:
    """Check a number of processes; None is one per core."""
    if jobs is None:
        return int(cpu_count())
    return check_whole("The number of jobs", jobs, at_least=1, at_most=_MOST_PROCESSES)


def versions() -> dict[str, str]:
    """Return the versions of Python, of this toolkit and of the packages that it builds on.

    Examples
    --------
    >>> versions()["hippocampal-replay"] == __version__
    True
    """
    return {
        "python": platform.python_version(),
        "hippocampal-replay": __version__,
        **{name: metadata.version(name) for name in _PACKAGES},
    }


def software() -> dict[str, str]:
    """Return what two processes must agree on to make the same bytes: versions and sources."""
    return versions() | {"source files": sources_digest()}


def scratch_folder() -> str | None:
    """Return where a piece of work keeps temporary files, for the `dir` of `tempfile`.

    On a cluster this is the worker's own folder: Dask removes it with the worker, and, if that was
    killed, when the next one starts there.
    """
    distributed = sys.modules.get("distributed")
    with suppress(ValueError):  # not on a worker
        return str(distributed.get_worker().local_directory) if distributed else None
    return None


class Call(NamedTuple):
    """Calls functions in the processes of a `pool`."""

    n_processes: int  # simultaneous calls; 1 if it is unknown
    run: Callable[[Callable[..., Any], Iterable[tuple[Any, ...]]], Generator[Any, None, None]]
    is_far: bool = False  # whether workers may lack a file system shared with this process

    def __call__(
        self, function: Callable[..., Result], pieces: Iterable[tuple[Any, ...]]
    ) -> Generator[Result, None, None]:
        """Call a function with each piece.

        Functions are those of modules that workers can import; results come in any order. Close the
        generator to stop early: calls that have not begun are cancelled.
        """
        return self.run(function, pieces)


@contextmanager
def pool(
    jobs: int = 1, cluster: str | None = None, tell: Callable[[str], None] = print
) -> Iterator[Call]:
    """Keep processes ready to call functions, and end them afterwards, however the work ends.

    With one job or fewer, functions are called in this process. `cluster` is the address of a Dask
    scheduler, which is used instead. If a process dies, the error says how to go on.

    Examples
    --------
    >>> with pool(1) as call:
    ...     sorted(call(pow, [(2, 3), (3, 2)]))
    [8, 9]
    """
    if cluster is not None:
        yield Call(1, partial(_on_cluster, cluster, tell), is_far=True)
        return
    with (
        tempfile.TemporaryDirectory(prefix="hippocampal-replay-") as scratch,
        _removed_if_killed(scratch),
    ):
        if jobs <= 1:
            before, tempfile.tempdir = tempfile.tempdir, scratch
            try:
                yield Call(1, lambda function, pieces: (function(*piece) for piece in pieces))
            finally:
                tempfile.tempdir = before
            return
        executor = ProcessPoolExecutor(
            jobs,
            initializer=_begin_worker,
            initargs=(os.getpid(), scratch),
            env={name: os.environ.get(name, "1") for name in _THREADS},
        )
        try:
            with warnings.catch_warnings():
                # Processes that use too much memory are replaced, which is no reason to warn.
                warnings.filterwarnings("ignore", "A worker stopped while some jobs were given")
                yield Call(jobs, partial(_in_processes, executor, jobs))
        finally:
            executor.shutdown(wait=True, kill_workers=True)


@contextmanager
def _removed_if_killed(folder: str) -> Iterator[None]:
    """Have a folder removed when this process ends, even if it is killed.

    A killed process cannot clean up, nor can workers that are still starting. A small process
    therefore waits for the end of its input, which comes at the latest when this process ends. The
    semaphores of loky are removed too, since the process that does so may have been killed as well.
    """
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _REMOVE, folder, str(os.getpid())],
        stdin=subprocess.PIPE,
        text=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # so that Ctrl-C does not reach it
    ) as remover:
        try:
            yield
        finally:
            remover.communicate("not killed")  # waits for it, also after Ctrl-C


def _in_processes(
    executor: ProcessPoolExecutor,
    jobs: int,
    function: Callable[..., Result],
    pieces: Iterable[tuple[Any, ...]],
) -> Generator[Result, None, None]:
    left = iter(pieces)
    futures: set[Future[Result]] = set()
    try:
        while True:
            # Unread results stay in memory, so only a few calls are submitted at once.
            for piece in islice(left, 2 * jobs - len(futures)):
                futures.add(executor.submit(function, *piece))
            if not futures:
                return
            finished, futures = wait(futures, return_when=FIRST_COMPLETED)
            while finished:
                yield finished.pop().result()
    except TerminatedWorkerError as error:
        raise ChildProcessError(
            "A worker process was killed, perhaps because memory ran out. Finished work is stored: "
            "run the same command again, with fewer --jobs if necessary."
        ) from error
    finally:
        for future in futures:
            future.cancel()


def _begin_worker(parent: int, scratch: str) -> None:
    """Prepare a worker process: its temporary files go to `scratch`, and it ends with its parent.

    It ignores Ctrl-C, which reaches all processes of a terminal: only the parent handles it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    tempfile.tempdir = scratch
    threading.Thread(target=_end_with, args=(parent, scratch), daemon=True).start()


def _end_with(parent: int, scratch: str) -> None:
    """End this process as soon as its parent has ended, and leave no file behind.

    Without this, the workers of a killed process would wait for work for ever.
    """
    while os.getppid() == parent:
        time.sleep(_PARENT_SECONDS)
    shutil.rmtree(scratch, ignore_errors=True)
    os._exit(1)


def _on_cluster(
    address: str,
    tell: Callable[[str], None],
    function: Callable[..., Result],
    pieces: Iterable[tuple[Any, ...]],
) -> Generator[Result, None, None]:
    client = _connect(address)
    from distributed import Future as ClusterFuture
    from distributed import KilledWorker, wait

    futures: set[ClusterFuture[Any]] = set()
    finish: Any = wait
    try:
        with _reaching(address):
            _await_workers(client, address, tell)
            # The software of all workers is compared with ours before anything runs.
            for worker, theirs in client.run(software, on_error="return").items():
                if isinstance(theirs, Exception):
                    raise ImportError(
                        f"The worker {worker} cannot import hippocampal-replay ({theirs}). Install "
                        f"version {__version__} in the environment of every worker."
                    ) from theirs
                _compare(software(), theirs, worker)
        left = iter(pieces)
        while True:
            with _reaching(address):
                # Unread results stay on the workers, so only a few pieces are submitted at once.
                room = max(2 * sum(client.nthreads().values()), 1) - len(futures)
                for _, piece in zip(range(room), left, strict=False):
                    futures.add(client.submit(_checked, software(), function, piece, pure=False))
                if not futures:
                    return
                try:
                    finished = finish(futures, _LOOK_SECONDS, return_when="FIRST_COMPLETED").done
                except TimeoutError:
                    _await_workers(client, address, tell)
                    continue
            futures -= finished
            while finished:
                future = finished.pop()
                # An error raised by a piece is passed on as it is, even a connection error.
                with nullcontext() if future.status == "error" else _reaching(address):
                    result = future.result()
                yield result
    except KilledWorker as error:
        raise ChildProcessError(
            f"Several workers died while they made the same piece, perhaps because memory ran out "
            f"({error}). Finished work is stored: give the workers more memory and run the same "
            "command again."
        ) from error
    finally:
        # Where the connection is lost, each of these may raise, and with errors of many types.
        with suppress(Exception):
            client.cancel(list(futures))
        with suppress(Exception):
            client.close()


@contextmanager
def _reaching(address: str) -> Iterator[None]:
    """Turn the errors of a lost connection into a message about the scheduler."""
    try:
        yield
    except (CancelledError, OSError) as error:
        raise ConnectionError(
            f"The connection to the scheduler at {address} is lost. Finished work is stored: run "
            "the same command again when the scheduler is back."
        ) from error


def _connect(address: str) -> Any:
    try:
        from distributed import Client
    except ImportError as error:
        raise ImportError(
            "--cluster needs the package distributed: pip install 'hippocampal-replay[cluster]'."
        ) from error
    try:
        connect: Callable[..., Any] = Client
        return connect(address, timeout=_ANSWER_SECONDS)
    except Exception as error:  # each protocol of Dask has errors of its own
        raise ConnectionError(
            f"No Dask scheduler answers at {address} ({error}). Check that it is running and that "
            "this is the address that it prints, such as tcp://host:8786."
        ) from error


def _await_workers(client: Any, address: str, tell: Callable[[str], None]) -> None:
    if not client.nthreads():
        tell(f"The scheduler at {address} has no workers yet; waiting for the first one.")
        client.wait_for_workers(1)


def _checked(
    wanted: dict[str, str], function: Callable[..., Result], piece: tuple[Any, ...]
) -> Result:
    """Call a function on a worker, which may have joined after the others were checked."""
    from distributed import get_worker

    _compare(wanted, software(), get_worker().address)
    return function(*piece)


def _compare(ours: dict[str, str], theirs: dict[str, str], worker: str) -> None:
    differences = [
        f"{name} is {version} here and {theirs.get(name, 'missing')} there"
        for name, version in ours.items()
        if theirs.get(name) != version
    ]
    if differences:
        raise ValueError(
            f"The software of the worker {worker} differs from that of this process: "
            f"{', '.join(differences)}. Use the same environment for all of them."
        )
