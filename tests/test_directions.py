"""S1, S13 and S14 by hand: forward and reverse."""

import numpy as np
import pytest
from replay_tables import (
    LEFT,
    RIGHT,
    chain,
    compute,
    eight,
    replays,
    track,
)


def test_reverse_fraction_counts_directional_chains_of_five_states():
    tables = replays(
        track(),
        [
            chain(*range(5), direction="reverse"),
            chain(*range(5), direction="reverse"),
            chain(*range(5), direction="forward"),
            chain(*range(5), direction="both"),
            chain(*range(5), direction="neither"),
            chain(*range(4), direction="reverse"),
            chain(0, 1, 0, 1, 0, direction="reverse"),
            chain(*range(5), direction="reverse", phase="rest"),
            chain(*range(5), direction="forward", order="temporal"),
        ],
    )
    assert compute("S1", tables) == (2 / 3, 0.5, 3)
    assert compute("S1", tables, min_length=3) == (3 / 4, 0.5, 4)
    assert compute("S1", tables, order="temporal") == (0, 0.5, 1)
    assert compute("S1_both", tables)[0] == 1 / 5


def test_backward_sweeps_alone_give_one():
    chains = [chain(*range(length)[::-1], direction="reverse") for length in range(2, 10)]
    value, _, n = compute("S1", replays(track(), chains))
    assert (value, n) == (1.0, 5)


def test_reverse_after_and_forward_before_a_run():
    chains = [
        *[chain(*range(5), direction="reverse")] * 3,
        chain(*range(5), direction="forward"),
        *[chain(*range(5), direction="forward", phase="start")] * 4,
        chain(*range(5), direction="reverse", phase="start"),
    ]
    tables = replays(track(), chains)
    assert compute("S1_after_run", tables) == (0.75, 0.5, 4)
    assert compute("S1_before_run", tables) == (0.2, 0.5, 5)
    value, null, n = compute("S1_after_minus_before", tables)
    assert (value, null, n) == (pytest.approx(0.55), 0, 9)


def test_direction_by_side():
    chains = [chain(*LEFT[:5], place=LEFT[4], direction="reverse")]
    chains += [chain(*RIGHT[:5], place=LEFT[4], direction="forward")]
    tables = replays(eight(), chains)
    assert compute("S1_same_side", tables) == (1, 0.5, 1)
    assert compute("S1_opposite_side", tables) == (0, 0.5, 1)


FIVE = range(5)


def test_rank_in_the_pause():
    ways = ["forward", "forward", "reverse", "both", "reverse"]
    chains = [chain(*FIVE, direction=way) for way in ways]
    chains += [chain(*FIVE, direction="forward", event=1)] * 3
    value, null, n = compute("S13", replays(track(), chains))
    assert (value, null, n) == (pytest.approx(0.25 - 0.75), 0, 4)
    chains = [
        {**one, "direction": other} for one, other in zip(chains[:5], ways[::-1], strict=True)
    ]
    assert compute("S13", replays(track(), chains))[0] == pytest.approx(0.5)


def test_rank_in_the_stop_between_two_laps():
    chains = [chain(*FIVE, direction="reverse", episode=0)]
    chains += [chain(*FIVE, direction="forward", episode=1, phase="start", event=1)]
    tables = replays(track(), chains)
    assert np.isnan(compute("S13", tables)[0])
    assert compute("S13_stop", tables) == (0.5, 0, 2)


def test_offline_direction():
    chains = [chain(*FIVE, direction=way, phase="rest")
              for way in ("forward", "forward", "forward", "reverse", "both")]  # fmt: skip
    assert compute("S14", replays(track(), [*chains, chain(*FIVE)])) == (0.5, 0, 4)
