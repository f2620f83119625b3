"""The order of backups, and how ties are broken."""

import numpy as np
import pytest

from replay.learners.prioritized_memory_access.backups import (
    best_pair,
    leave_out,
    priority_table,
    set_pair_priority,
)

RIVAL = (-1, -1)


def table_of(priorities):
    table = priority_table(*np.shape(priorities))
    for (state, action), priority in np.ndenumerate(priorities):
        set_pair_priority(table, state, action, priority)
    return table


def counts(table, rival, rng, n=3000):
    drawn = [best_pair(table, rival, rng) for _ in range(n)]
    return {pair: drawn.count(pair) / n for pair in set(drawn)}


def test_the_highest_comes_first(rng):
    table = table_of([[0.1, 0.2], [0.5, 0.3], [-1.0, 0.4]])
    assert table.highest.tolist() == [0.2, 0.5, 0.4]
    assert best_pair(table, 0.4, rng) == (1, 0)
    assert best_pair(table, 0.6, rng) == RIVAL
    leave_out(table, 1)
    assert best_pair(table, -1.0, rng) == (2, 1)


def test_one_of_several_equals_is_drawn(rng):
    table = table_of([[0.5, 0.2], [0.5, 0.5], [0.1, 0.4]])
    shares = counts(table, -1.0, rng)
    assert set(shares) == {(0, 0), (1, 0), (1, 1)}
    assert list(shares.values()) == pytest.approx([1 / 3] * 3, abs=0.04)  # over 4 standard errors


def test_of_a_longer_and_a_shorter_backup_of_the_same_priority_the_shorter_is_made(rng):
    shares = counts(table_of([[0.5, 0.2], [0.1, 0.5]]), 0.5, rng)
    assert shares == {
        (0, 0): pytest.approx(1 / 2, abs=0.04),
        (1, 1): pytest.approx(1 / 2, abs=0.04),
    }


def test_nothing_to_choose(rng):
    assert best_pair(priority_table(3, 2), -1.0, rng) == RIVAL
    assert best_pair(priority_table(3, 2), 0.0, rng) == RIVAL
