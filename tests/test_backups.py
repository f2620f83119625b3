"""The buffers of a run: recorded rows, and reused memory."""

import errno
import os

import numpy as np
import pytest

from replay import simulate
from replay.log import backups
from replay.worlds.mazes import from_ascii


def test_memory_is_used_again_when_nobody_knows_it_any_more(monkeypatch):
    monkeypatch.setattr(backups, "_spare", {})
    first = backups.uninitialised(10_000, backups.BACKUP)
    column = first["state"][10:20]
    place = first.__array_interface__["data"][0]
    del first
    other = backups.uninitialised(10_000, backups.BACKUP)
    assert not np.shares_memory(column, other)
    del column
    again = backups.uninitialised(70_000, np.int64)
    assert again.__array_interface__["data"][0] == place
    assert not np.shares_memory(again, other)
    assert len(again) == 70_000


def test_little_memory_is_kept_for_later(monkeypatch):
    monkeypatch.setattr(backups, "_spare", {})
    for size in range(1, 40):
        backups.uninitialised(size << 20, np.uint8)[:] = 0
    kept = sum(size * len(alike) for size, alike in backups._spare.items())
    assert 0 < kept <= backups._MOST_BYTES


def test_an_array_that_grows_keeps_what_it_holds(monkeypatch):
    """Also when it moves to disk, where it can grow as long as it has to."""
    monkeypatch.setattr(backups, "_MOST_IN_MEMORY", 1 << 20)
    array = backups.GrowingArray(np.int64)
    n_rows = 0
    for more in (10, 5, 100_000, 0, 31_062, 10, 300_000):
        array.reserve(n_rows + more, n_rows)
        array.rows[n_rows : n_rows + more] = np.arange(n_rows, n_rows + more)
        n_rows += more
        assert (array.rows[:n_rows] == np.arange(n_rows)).all()


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="files are not reserved there")
def test_a_full_disk_is_an_error_before_anything_is_written(monkeypatch):
    def refuse(file, begin, n_bytes):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(backups, "_MOST_IN_MEMORY", 1 << 20)
    monkeypatch.setattr(os, "posix_fallocate", refuse)
    array = backups.GrowingArray(np.int64)
    array.reserve(1 << 17, 0)
    with pytest.raises(OSError, match=r"no room for another 1 MB.*TMPDIR") as caught:
        array.reserve(1 << 18, 0)
    assert caught.value.errno == errno.ENOSPC


def test_a_log_is_not_overwritten_by_later_runs():
    maze = from_ascii("S...\n.#.G")
    kept = simulate(maze, "episodic_control", n_steps=3000, seed=1).log
    steps, rows = kept.steps.copy(), kept.backups.copy()
    untouched = simulate(maze, "episodic_control", n_steps=3000, seed=1).log
    for seed in range(2, 20):
        simulate(maze, "prioritized_sweeping", n_steps=3000, seed=seed, log="all")
    assert kept.steps.equals(steps)
    assert kept.backups.equals(rows)
    # What has not been looked at yet is still in the loop's own arrays.
    assert untouched.steps.equals(steps)
    assert untouched.backups.equals(rows)


def test_rows_beyond_the_buffer_are_counted():
    buffer = backups.backup_buffer(2, "all")
    for _ in range(3):
        backups.record(buffer, backups.STEP, 0, 0, 1, 0.0, 1.0)
    assert backups.n_lost(buffer) == 1
    (rows,), _ = backups.renew(buffer, 4)
    assert len(rows) == 2
