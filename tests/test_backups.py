"""The buffers of a run: what is recorded, and memory that is used again."""

import numpy as np

from replay import arrays, backups, simulate
from replay.mazes import from_ascii


def test_memory_is_used_again_when_nobody_knows_it_any_more(monkeypatch):
    monkeypatch.setattr(arrays, "_spare", [])
    first = arrays.uninitialised(10_000, backups.BACKUP)
    column = first["state"][10:20]
    place = first.__array_interface__["data"][0]
    del first
    other = arrays.uninitialised(10_000, backups.BACKUP)
    assert not np.shares_memory(column, other)
    del column
    again = arrays.uninitialised(20_000, np.int64)
    assert again.__array_interface__["data"][0] == place
    assert not np.shares_memory(again, other)
    assert len(again) == 20_000


def test_little_memory_is_kept_for_later(monkeypatch):
    monkeypatch.setattr(arrays, "_spare", [])
    for size in range(1, 40):
        arrays.uninitialised(size << 20, np.uint8)[:] = 0
    assert 0 < sum(map(len, arrays._spare)) <= arrays._MOST_BYTES


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
