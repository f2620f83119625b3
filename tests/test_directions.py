"""Directions by hand: forward and reverse."""

import numpy as np
import pytest
from replay_tables import LEFT, RIGHT, compute, eight, replays, sequence, track


def test_reverse_share_counts_directional_sequences_of_five_places():
    tables = replays(
        track(),
        [
            sequence(*range(5), direction="reverse"),
            sequence(*range(5), direction="reverse"),
            sequence(*range(5), direction="forward"),
            sequence(*range(5), direction="both"),
            sequence(*range(5), direction="neither"),
            sequence(*range(4), direction="reverse"),
            sequence(0, 1, 0, 1, 0, direction="reverse"),
            sequence(*range(5), direction="reverse", phase="rest"),
            sequence(*range(5), direction="mixed"),
        ],
    )
    assert compute("reverse_share", tables) == (2 / 3, 0.5, 3)
    assert compute("reverse_share", tables, min_length=3) == (3 / 4, 0.5, 4)
    assert compute("both_ways_share", tables)[0] == compute("mixed_share", tables)[0] == 1 / 6


def test_backward_sweeps_alone_give_one():
    sequences = [sequence(*range(length)[::-1], direction="reverse") for length in range(2, 10)]
    value, _, n = compute("reverse_share", replays(track(), sequences))
    assert (value, n) == (1.0, 5)


def test_reverse_after_and_forward_before_a_run():
    sequences = [
        *[sequence(*range(5), direction="reverse")] * 3,
        sequence(*range(5), direction="forward"),
        *[sequence(*range(5), direction="forward", phase="start")] * 4,
        sequence(*range(5), direction="reverse", phase="start"),
    ]
    tables = replays(track(), sequences)
    assert compute("reverse_share_after_run", tables) == (0.75, 0.5, 4)
    assert compute("reverse_share_before_run", tables) == (0.2, 0.5, 5)
    value, null, n = compute("reverse_after_minus_before_run", tables)
    assert (value, null, n) == (pytest.approx(0.55), 0, 9)


def test_direction_by_side():
    sequences = [sequence(*LEFT[:5], place=LEFT[4], direction="reverse")]
    sequences += [sequence(*RIGHT[:5], place=LEFT[4], direction="forward")]
    tables = replays(eight(), sequences)
    assert compute("reverse_share_same_side", tables) == (1, 0.5, 1)
    assert compute("reverse_share_other_side", tables) == (0, 0.5, 1)


FIVE = range(5)


def test_rank_in_the_pause():
    ways = ["forward", "forward", "reverse", "both", "reverse"]
    sequences = [sequence(*FIVE, direction=way) for way in ways]
    sequences += [sequence(*FIVE, direction="forward", event=1)] * 3
    value, null, n = compute("forward_minus_reverse_rank", replays(track(), sequences))
    assert (value, null, n) == (pytest.approx(0.25 - 0.75), 0, 4)
    sequences = [
        {**one, "direction": other} for one, other in zip(sequences[:5], ways[::-1], strict=True)
    ]
    assert compute("forward_minus_reverse_rank", replays(track(), sequences))[0] == pytest.approx(
        0.5
    )


def test_rank_in_the_stop_between_two_laps():
    sequences = [sequence(*FIVE, direction="reverse", episode=0)]
    sequences += [sequence(*FIVE, direction="forward", episode=1, phase="start", event=1)]
    tables = replays(track(), sequences)
    assert np.isnan(compute("forward_minus_reverse_rank", tables)[0])
    assert compute("forward_minus_reverse_rank_in_stop", tables) == (0.5, 0, 2)


def test_offline_direction():
    sequences = [sequence(*FIVE, direction=way, phase="rest")
              for way in ("forward", "forward", "forward", "reverse", "both")]  # fmt: skip
    assert compute(
        "forward_minus_reverse_at_rest", replays(track(), [*sequences, sequence(*FIVE)])
    ) == (0.5, 0, 4)
