"""Pieces in processes and on a Dask cluster on this machine, and their failures."""

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from commands import digests, wait_until
from joblib import cpu_count
from pieces_of_work import end, fail, run, work

from analyses.jobs.run import run as run_study
from analyses.jobs.workers import n_processes
from analyses.studies.brea_2018 import plan_reproduction
from analyses.studies.brea_2018.reproduce import STUDY as REPRODUCTION

# Drawing takes longest, and other tests draw.
STUDY = replace(REPRODUCTION, figures={})
PLAN = plan_reproduction(["maze"], ["prioritized_sweeping"], n_mdps=8, n_seeds=1, n_steps=20_000)


def test_no_number_of_jobs_is_one_per_core():
    assert [n_processes(jobs) for jobs in (None, 1, 7)] == [cpu_count(), 1, 7]


def test_one_job_is_this_process():
    assert sorted(run(work, [(1,), (2,)])) == [(1, os.getpid()), (2, os.getpid())]


def test_more_jobs_are_other_processes():
    done = list(run(work, [(number, 0.2) for number in range(4)], jobs=2))
    assert sorted(number for number, _ in done) == [0, 1, 2, 3]
    assert os.getpid() not in {process for _, process in done}


def test_a_killed_process_is_a_sentence():
    with pytest.raises(ChildProcessError, match="run the same command again"):
        list(run(end, [(0,), (1,)], jobs=2))


def is_alive(process):
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def descendants(process):
    """List all processes that a process has started, at first or second hand."""
    children = []
    for path in Path(f"/proc/{process}/task").glob("*/children"):
        children += [int(child) for child in path.read_text().split()]
    return children + [each for child in children for each in descendants(child)]


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="finds processes in /proc")
@pytest.mark.parametrize(
    "how", ["SIGKILL", pytest.param("SIGTERM", marks=pytest.mark.slow), "SIGINT", "all at once"]
)
@pytest.mark.parametrize("jobs", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_workers_end_with_the_main_process_and_leave_nothing(tmp_path, how, jobs):
    """However it ends, within seconds, though they are at work.

    All at once are killed where a batch system ends a job, and then nobody removes semaphores.
    """
    scratch, started = tmp_path / "scratch", tmp_path / "started"
    scratch.mkdir()
    started.mkdir()
    code = (
        "from pieces_of_work import run, write_and_wait\n"
        f"list(run(write_and_wait, [({str(started)!r}, 600)] * 4, jobs={jobs}))"
    )
    paths = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    main = subprocess.Popen(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": paths, "TMPDIR": str(scratch)},
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        # Where these tests run in the background, Ctrl-C is ignored, and so it would be here.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    try:
        wait_until(lambda: len(list(started.iterdir())) == jobs)
        everyone = descendants(main.pid)
        assert {int(path.stem) for path in started.iterdir()} <= {main.pid, *everyone}
        assert list(scratch.iterdir())
        if how == "all at once":
            os.killpg(main.pid, signal.SIGKILL)
        else:
            main.send_signal(getattr(signal, how))
        main.wait(30)
        wait_until(lambda: not any(map(is_alive, everyone)), seconds=30)
        wait_until(lambda: not list(scratch.iterdir()), seconds=10)
        wait_until(lambda: not list(Path("/dev/shm").glob(f"sem.loky-{main.pid}-*")), seconds=10)
    finally:
        main.kill()
        main.wait()


# --- On a cluster ---------------------------------------------------------------------------------


@contextmanager
def process(*arguments, **environment):
    """Run a command of Dask's until the end of the block."""
    pytest.importorskip("distributed")
    path = os.pathsep.join(filter(None, sys.path))
    started = subprocess.Popen(
        [sys.executable, "-m", "dask", *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"PYTHONPATH": path} | environment,
    )
    try:
        yield started
    finally:
        started.kill()
        started.wait()


@contextmanager
def scheduler(**environment):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = ("--host", "127.0.0.1", "--port", port, "--no-dashboard")
    with process("scheduler", *options, **environment) as started:
        for _ in range(600):
            with socket.socket() as client:
                if started.poll() is not None or client.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"tcp://127.0.0.1:{port}"


def worker(address, *arguments, **environment):
    options = ("--host", "127.0.0.1", "--nthreads", 1, "--no-nanny", "--no-dashboard")
    return process("worker", address, *options, *arguments, **environment)


@pytest.fixture(scope="module")
def cluster():
    """One worker and the address of its scheduler."""
    with scheduler() as address, worker(address):
        yield address


def test_same_bytes_on_a_cluster_of_which_a_worker_is_killed(cluster, tmp_path):
    import distributed

    run_study(STUDY, PLAN, tmp_path / "here")
    told = []
    with ExitStack() as stack:
        doomed = stack.enter_context(worker(cluster))
        with distributed.Client(cluster) as client:
            client.wait_for_workers(2)

        def kill(piece):
            told.append(piece)
            doomed.kill()

        run_study(STUDY, PLAN, tmp_path / "there", cluster=cluster, on_piece=kill)
        assert doomed.wait() != 0
    assert sorted(told) == sorted(STUDY.all_pieces(PLAN))
    assert digests(tmp_path / "there") == digests(tmp_path / "here")


@pytest.mark.slow
def test_a_worker_of_a_cluster_keeps_no_temporary_files(tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with scheduler() as address, worker(address, TMPDIR=str(scratch)):
        plan = plan_reproduction(
            ["maze"], ["q_learning"], n_mdps=1, n_seeds=2, n_steps=1000, keep_logs=2
        )
        run_study(STUDY, plan, tmp_path / "there", cluster=address)
        assert not list(scratch.glob("hippocampal-replay-*"))


@pytest.mark.slow
def test_what_a_killed_worker_of_a_cluster_leaves_is_removed_with_the_next(tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    (tmp_path / "dies.py").write_text(
        "import os\n"
        "from analyses.studies.brea_2018 import reproduced_runs\n"
        "reproduced_runs.keep_log = lambda *_: os.kill(os.getpid(), 9)\n"
    )
    plan = plan_reproduction(
        ["maze"], ["q_learning"], n_mdps=1, n_seeds=1, n_steps=1000, keep_logs=1
    )
    with scheduler(DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="0") as address:
        with (
            worker(address, "--preload", tmp_path / "dies.py", TMPDIR=str(scratch)),
            pytest.raises(ChildProcessError, match="Several workers died"),
        ):
            run_study(STUDY, plan, tmp_path / "there", cluster=address)
        assert [*scratch.rglob("hippocampal-replay-*")]
        with worker(address, TMPDIR=str(scratch)):
            wait_until(lambda: not [*scratch.rglob("hippocampal-replay-*")], seconds=60)


@pytest.mark.slow
def test_pieces_of_a_killed_worker_are_run_again(cluster):
    with worker(cluster) as doomed:
        processes = set()
        numbers = []
        for number, process in run(work, [(i, 0.2) for i in range(40)], cluster=cluster):
            numbers.append(number)
            processes.add(process)
            if doomed.pid in processes:
                doomed.kill()
    assert doomed.pid in processes
    assert sorted(numbers) == list(range(40))


def test_a_cluster_outlives_what_is_stopped_or_fails(cluster):
    with closing(run(work, [(i, 0.1) for i in range(100)], cluster=cluster)) as done:
        next(done)
    with pytest.raises(OSError, match="No space left") as caught:
        list(run(fail, [(0,)], cluster=cluster))
    assert caught.value.errno == 28
    start = time.monotonic()
    assert len(list(run(work, [(0,)], cluster=cluster))) == 1
    assert time.monotonic() - start < 5, "what was stopped goes on"


def test_other_software_on_a_worker_is_refused_whenever_it_comes(cluster, tmp_path):
    (tmp_path / "other.py").write_text(
        "from analyses.jobs import workers\n"
        "true = workers.software()\n"
        "workers.software = lambda: true | {'numba': '0.0.1'}\n"
    )
    message = r"numba is \d+\.\d+\.\d+ here and 0\.0\.1 there"
    with ExitStack() as stack:
        done = run(work, [(i, 0.2) for i in range(200)], cluster=cluster)
        next(done)
        stack.enter_context(worker(cluster, "--preload", tmp_path / "other.py"))
        with pytest.raises(ValueError, match=message):
            list(done)
        with pytest.raises(ValueError, match=message):
            next(run(work, [(0,)], cluster=cluster))


def test_it_waits_for_the_first_worker_and_names_a_piece_that_kills_it():
    told = []
    with (
        scheduler(DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="0") as address,
        ExitStack() as stack,
    ):

        def tell(sentence):
            told.append(sentence)
            stack.enter_context(worker(address))

        with pytest.raises(ChildProcessError, match="Several workers died"):
            list(run(end, [(0,)], cluster=address, tell=tell))
    assert len(told) == 1
    assert f"{address} has no workers" in told[0]


@pytest.mark.slow
def test_a_lost_scheduler_is_a_sentence():
    with ExitStack() as stack:
        with scheduler() as address:
            stack.enter_context(worker(address))
            done = run(work, [(i, 0.1) for i in range(100)], cluster=address)
            next(done)
        with pytest.raises(
            ConnectionError, match=f"connection to the scheduler at {address} is lost"
        ):
            list(done)


def test_a_scheduler_lost_between_two_pieces_is_a_sentence(cluster, monkeypatch):
    # Dask's client believes for a moment that it is connected: what it is asked then fails first.
    distributed = pytest.importorskip("distributed")
    done = run(work, [(i,) for i in range(9)], cluster=cluster)
    next(done)

    def closed(*_):
        raise distributed.comm.CommClosedError("Connection refused")

    monkeypatch.setattr(distributed.Client, "nthreads", closed)
    with pytest.raises(ConnectionError, match=f"connection to the scheduler at {cluster} is lost"):
        list(done)


# A client that found no scheduler leaves threads behind, so these have processes of their own.


def in_a_process(*lines):
    source = "\n".join(["from analyses.jobs import workers", "workers._ANSWER_SECONDS = 1", *lines])
    path = os.pathsep.join(filter(None, sys.path))
    return subprocess.run(
        [sys.executable, "-c", source],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
    )


def test_an_address_that_nobody_answers_is_named():
    pytest.importorskip("distributed")
    addresses = ["tcp://127.0.0.1:9", "nonsense://127.0.0.1:9", "tcp://"]
    done = in_a_process(
        f"for address in {addresses}:",
        "    try:",
        "        with workers.pool(cluster=address) as call:",
        "            next(call(pow, [(2, 3)]))",
        "    except ConnectionError as error:",
        "        print(error)",
    )
    told = done.stdout.splitlines()
    assert len(told) == len(addresses), done.stderr
    for sentence, address in zip(told, addresses, strict=True):
        assert sentence.startswith(f"No Dask scheduler answers at {address} ")


@pytest.mark.slow
def test_a_folder_in_which_nothing_was_done_can_take_another_run(tmp_path):
    pytest.importorskip("distributed")
    folder = tmp_path / "results"
    done = in_a_process(
        "from analyses.cli import app",
        "app(['reproduce', '--experiment', 'maze', '--learner', 'q_learning', '--n-worlds', '1',"
        " '--steps', '1000', '--cluster', 'tcp://127.0.0.1:9',"
        f" '--out', {str(folder)!r}])",
    )
    assert "No Dask scheduler answers" in done.stderr
    assert (folder / "manifest.json").exists()
    other = plan_reproduction(
        ["deterministic_tree"], ["q_learning"], n_mdps=2, n_seeds=1, n_steps=1000
    )
    for place in (folder, tmp_path / "new"):
        run_study(STUDY, other, place)
    assert digests(folder) == digests(tmp_path / "new")
