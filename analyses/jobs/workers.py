"""Where pieces of work run: in this process, in processes beside it, or on a Dask cluster.

A piece is the arguments of a function; what the function returns comes back as it finishes, in any
order. Workers need no file system in common with this process.
"""

import platform
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, nullcontext, suppress
from importlib import metadata
from typing import TYPE_CHECKING, Any, TypeVar

from joblib import Parallel, delayed
from joblib.externals.loky import get_reusable_executor
from joblib.externals.loky.process_executor import TerminatedWorkerError

from replay.jit import sources_digest
from replay.version import __version__

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["PACKAGES", "ended", "run", "software"]

Result = TypeVar("Result")

PACKAGES = ("numpy", "scipy", "numba", "pandas", "pyarrow", "networkx")
_ANSWER_SECONDS = 10
_LOOK_SECONDS = 10


def software() -> dict[str, str]:
    """Tell which software runs here: two processes that agree on it make the same bytes.

    Returns
    -------
    dict of str
        Versions of Python, this toolkit and its packages, and a digest of its source files.

    Examples
    --------
    >>> software()["hippocampal-replay"] == __version__
    True
    """
    return {
        "python": platform.python_version(),
        "hippocampal-replay": __version__,
        **{name: metadata.version(name) for name in PACKAGES},
        "source files": sources_digest(),
    }


def run(
    function: Callable[..., Result],
    pieces: Iterable[tuple],
    *,
    jobs: int = 1,
    cluster: str | None = None,
    tell: Callable[[str], None] = print,
) -> Generator[Result, None, None]:
    """Call a function with each piece, and give the results as they come.

    Close the generator to stop early: what has not begun is cancelled.

    Parameters
    ----------
    function : callable
        A function of a module, that workers can import.
    pieces : iterable of tuple
        Its arguments, one tuple a call.
    jobs : int, default 1
        Processes on this machine; 1 starts none.
    cluster : str, optional
        Address of the scheduler of a Dask cluster, which is used instead.
    tell : callable, default print
        Told in a sentence what a cluster keeps waiting for.

    Yields
    ------
    object
        What the function returned, in any order.

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
    >>> sorted(run(pow, [(2, 3), (3, 2)]))
    [8, 9]
    """
    if cluster is None:
        yield from _locally(function, pieces, jobs)
    else:
        yield from _on_cluster(function, pieces, cluster, tell)


@contextmanager
def ended(jobs: int) -> Iterator[None]:
    """End the processes on this machine afterwards, however the work ended.

    Without it they wait for more work; and if one of them was killed, those that it left waiting
    may keep Python from exiting.

    Parameters
    ----------
    jobs : int
        How many processes `run` is told to use; of one there is none to end.
    """
    try:
        yield
    finally:
        if jobs > 1:
            get_reusable_executor(reuse=True).shutdown(wait=True, kill_workers=True)


def _locally(function: Callable, pieces: Iterable[tuple], jobs: int) -> Iterator[Any]:
    options: dict[str, Any] = {"return_as": "generator_unordered", "pre_dispatch": "2*n_jobs"}
    with warnings.catch_warnings(), Parallel(n_jobs=jobs, **options) as pool:
        # Processes that have grown are replaced between pieces, which is no news to the user.
        warnings.filterwarnings("ignore", "A worker stopped while some jobs were given")
        try:
            yield from pool(delayed(function)(*piece) for piece in pieces)
        except TerminatedWorkerError as error:
            raise ChildProcessError(
                "A worker process was killed, perhaps because memory ran out. What is finished is "
                "kept: run the same command again, if need be with fewer --jobs."
            ) from error


def _on_cluster(
    function: Callable, pieces: Iterable[tuple], address: str, tell: Callable[[str], None]
) -> Iterator[Any]:
    client = _connect(address)
    from distributed import Future, KilledWorker, wait

    futures: set[Future] = set()
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
                    finished = wait(futures, _LOOK_SECONDS, return_when="FIRST_COMPLETED").done
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
    """Say it in a sentence if the scheduler does not answer any more."""
    try:
        yield
    except (CancelledError, OSError) as error:
        raise ConnectionError(
            f"The scheduler at {address} is gone. What is finished is kept: run the same command "
            "again when it is back."
        ) from error


def _connect(address: str) -> "Client":
    try:
        from distributed import Client
    except ImportError as error:
        raise ImportError(
            "A cluster needs the package distributed: pip install 'hippocampal-replay[cluster]'."
        ) from error
    try:
        return Client(address, timeout=_ANSWER_SECONDS)
    except (OSError, ValueError) as error:
        raise ConnectionError(
            f"No Dask scheduler answers at {address} ({error}). Is it running, and is this the "
            "address it shows, as in tcp://host:8786?"
        ) from error


def _await_workers(client: "Client", address: str, tell: Callable[[str], None]) -> None:
    if not client.nthreads():
        tell(f"The scheduler at {address} has no workers; waiting for the first.")
        client.wait_for_workers(1)


def _check_software(client: "Client") -> None:
    """Look at all workers before anything runs."""
    for worker, theirs in client.run(software, on_error="return").items():
        if isinstance(theirs, Exception):
            raise ImportError(
                f"The worker {worker} cannot load hippocampal-replay ({theirs}). Install version "
                f"{__version__} in the environment of every worker."
            ) from theirs
        _compare(software(), theirs, worker)


def _checked(wanted: dict[str, str], function: Callable[..., Result], piece: tuple) -> Result:
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
