"""Where pieces of work run: in this process, in processes beside it, or on a Dask cluster.

A piece is the arguments of a function; what the function returns comes back as it finishes, in any
order. Workers need no file system in common with this process, and end when it ends, however that
happens.
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

__all__ = ["Call", "n_processes", "pool", "software", "versions"]

Result = TypeVar("Result")

_PACKAGES = ("numpy", "scipy", "numba", "pandas", "pyarrow", "networkx", "matplotlib")
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_MOST_PROCESSES = 10_000
_ANSWER_SECONDS = 10
_LOOK_SECONDS = 10
_PARENT_SECONDS = 0.5
_REMOVE = "import shutil, sys; sys.stdin.read(); shutil.rmtree(sys.argv[1], ignore_errors=True)"


def n_processes(jobs: int | None) -> int:
    """Check how many processes are asked for.

    Parameters
    ----------
    jobs : int, optional
        What was asked for; without it, one for each core.

    Returns
    -------
    int
        The number.

    Raises
    ------
    ValueError
        If it is out of range.

    Examples
    --------
    >>> n_processes(2)
    2
    """
    if jobs is None:
        return int(cpu_count())
    return check_whole("The number of jobs", jobs, at_least=1, at_most=_MOST_PROCESSES)


def versions() -> dict[str, str]:
    """Tell which software runs here.

    Returns
    -------
    dict of str
        Versions of Python, this toolkit and the packages it builds on.

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
    """Tell what two processes must agree on to make the same bytes.

    Returns
    -------
    dict of str
        The `versions`, and a digest of all source files of this toolkit.
    """
    return versions() | {"source files": sources_digest()}


class Call(NamedTuple):
    """Calls functions in the processes of a `pool`.

    Attributes
    ----------
    n_processes : int
        How many calls are made at once; 1 if that is unknown.
    run : callable
        ``run(function, pieces)`` calls the function with each piece, and gives the results as they
        come.
    is_far : bool
        Whether workers may have no file system in common with this process.
    """

    n_processes: int
    run: Callable[[Callable[..., Any], Iterable[tuple[Any, ...]]], Generator[Any, None, None]]
    is_far: bool = False

    def __call__(
        self, function: Callable[..., Result], pieces: Iterable[tuple[Any, ...]]
    ) -> Generator[Result, None, None]:
        """Call a function with each piece.

        Parameters
        ----------
        function : callable
            A function of a module, that workers can import.
        pieces : iterable of tuple
            Its arguments, one tuple a call.

        Returns
        -------
        generator
            What the function returns, in any order. Close it to stop early: what has not begun is
            cancelled.
        """
        return self.run(function, pieces)


@contextmanager
def pool(
    jobs: int = 1, cluster: str | None = None, tell: Callable[[str], None] = print
) -> Iterator[Call]:
    """Keep processes ready to call functions, and end them afterwards, however the work ended.

    Parameters
    ----------
    jobs : int, default 1
        Processes on this machine; with 1 or less, functions are called in this process.
    cluster : str, optional
        Address of the scheduler of a Dask cluster, which is used instead.
    tell : callable, default print
        Told in a sentence what a cluster keeps waiting for.

    Yields
    ------
    Call
        Calls functions.

    Raises
    ------
    ChildProcessError
        If a process on this machine was killed, or one piece took several workers down.
    ConnectionError
        If no scheduler answers, or it is lost.
    ImportError
        If the cluster is asked for and `distributed` is not installed, or a worker lacks something.
    ValueError
        If a worker has other software than this process.

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
            with _temporary_files_in(scratch):
                yield Call(1, _here)
            return
        executor = ProcessPoolExecutor(
            jobs,
            initializer=_begin_worker,
            initargs=(os.getpid(), scratch),
            env={name: os.environ.get(name, "1") for name in _THREADS},
        )
        try:
            with _quiet():
                yield Call(jobs, partial(_in_processes, executor, jobs))
        finally:
            executor.shutdown(wait=True, kill_workers=True)


@contextmanager
def _removed_if_killed(folder: str) -> Iterator[None]:
    """Have a folder removed when this process ends, however that happens.

    A process that is killed cannot clean up, and has no workers to do it as long as they start. So
    a small one waits for the end of its input, which comes at the latest when this process is gone.
    """
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _REMOVE, folder],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # Ctrl-C is not meant for it
    ) as remover:
        try:
            yield
        finally:
            remover.communicate()  # after Ctrl-C nothing else waits for it


@contextmanager
def _temporary_files_in(folder: str) -> Iterator[None]:
    before, tempfile.tempdir = tempfile.tempdir, folder
    try:
        yield
    finally:
        tempfile.tempdir = before


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the warning that processes which have grown are replaced between pieces."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "A worker stopped while some jobs were given")
        yield


def _here(
    function: Callable[..., Result], pieces: Iterable[tuple[Any, ...]]
) -> Generator[Result, None, None]:
    return (function(*piece) for piece in pieces)


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
            # Results not read yet wait in memory, so only some calls are under way at once.
            for piece in islice(left, 2 * jobs - len(futures)):
                futures.add(executor.submit(function, *piece))
            if not futures:
                return
            finished, futures = wait(futures, return_when=FIRST_COMPLETED)
            while finished:
                yield finished.pop().result()
    except TerminatedWorkerError as error:
        raise ChildProcessError(
            "A worker process was killed, perhaps because memory ran out. What is finished is "
            "kept: run the same command again, if need be with fewer --jobs."
        ) from error
    finally:
        for future in futures:
            future.cancel()


def _begin_worker(parent: int, scratch: str) -> None:
    """Prepare a worker process: its temporary files go to `scratch`, and it ends with its parent.

    Ctrl-C in a terminal reaches all processes; the parent is the one to react to it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    tempfile.tempdir = scratch
    threading.Thread(target=_end_with, args=(parent, scratch), daemon=True).start()


def _end_with(parent: int, scratch: str) -> None:
    """End this process as soon as its parent is gone, and leave no file behind.

    A process that is killed cannot tell its workers, and these would wait for work for ever.
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
            _check_software(client)
        left = iter(pieces)
        while True:
            with _reaching(address):
                # Results not read yet wait on the workers, so only some are under way at once.
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
                # The error of a piece is its own, even if it is one of reaching something.
                with nullcontext() if future.status == "error" else _reaching(address):
                    result = future.result()
                yield result
    except KilledWorker as error:
        raise ChildProcessError(
            f"Workers died of the same piece, perhaps because memory ran out ({error}). "
            "What is finished is kept: give workers more memory and run the same command again."
        ) from error
    finally:
        if client.status == "running":
            with suppress(OSError, CancelledError):
                client.cancel(list(futures))
        client.close()


@contextmanager
def _reaching(address: str) -> Iterator[None]:
    """Explain in a sentence that the scheduler no longer answers."""
    try:
        yield
    except (CancelledError, OSError) as error:
        raise ConnectionError(
            f"The scheduler at {address} is gone. What is finished is kept: run the same command "
            "again when it is back."
        ) from error


def _connect(address: str) -> Any:
    try:
        from distributed import Client
    except ImportError as error:
        raise ImportError(
            "A cluster needs the package distributed: pip install 'hippocampal-replay[cluster]'."
        ) from error
    try:
        client: Any = Client
        return client(address, timeout=_ANSWER_SECONDS)
    except (OSError, ValueError) as error:
        raise ConnectionError(
            f"No Dask scheduler answers at {address} ({error}). Is it running, and is this the "
            "address it shows, as in tcp://host:8786?"
        ) from error


def _await_workers(client: Any, address: str, tell: Callable[[str], None]) -> None:
    if not client.nthreads():
        tell(f"The scheduler at {address} has no workers; waiting for the first.")
        client.wait_for_workers(1)


def _check_software(client: Any) -> None:
    """Look at all workers before anything runs."""
    for worker, theirs in client.run(software, on_error="return").items():
        if isinstance(theirs, Exception):
            raise ImportError(
                f"The worker {worker} cannot load hippocampal-replay ({theirs}). Install version "
                f"{__version__} in the environment of every worker."
            ) from theirs
        _compare(software(), theirs, worker)


def _checked(
    wanted: dict[str, str], function: Callable[..., Result], piece: tuple[Any, ...]
) -> Result:
    """Call a function on a worker, which may have come after the others were looked at."""
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
            f"The worker {worker} has other software than this process: "
            f"{', '.join(differences)}. Give all of them the same environment."
        )
