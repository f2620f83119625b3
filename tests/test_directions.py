"""Directions by hand: forward and reverse."""

import numpy as np
import pytest
from replay_tables import (
    LEFT,
    OUT_LEFT,
    OUT_RIGHT,
    RIGHT,
    W,
    compute,
    eight,
    replays,
    sequence,
    track,
    w_track,
)

from analyses.measures import STATISTICS


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


@pytest.mark.parametrize("sign", [1, -1])
def test_side_just_run_and_run_next(sign):
    """From a side well: outward sequences to its own arm and the other; the same inward."""
    own, other = (OUT_LEFT, OUT_RIGHT)[::sign]
    place = own[-1]
    past = [own[::-1]] * 3 + [other[::-1]] + [own[:4][::-1]]
    future = [own[::-1]] * 2 + [other[::-1]]
    sequences = [sequence(*path, direction="reverse", place=place) for path in past]
    sequences += [sequence(*path, direction="forward", place=place) for path in future]
    laps = [{"start": W["C0"], "end": place}, {"episode": 1, "start": place, "end": W["C0"]}]
    tables = replays(w_track(), sequences, laps=laps)
    assert compute("past_minus_other_path_side", tables, min_length=4) == (
        pytest.approx(2 / 5),
        0,
        5,
    )
    assert compute("future_minus_other_path_side", tables) == (pytest.approx(1 / 3), 0, 3)
    assert np.isnan(compute("past_minus_other_path_centre", tables)[0])


def test_sides_at_the_centre_well():
    """The last lap came from the right, the next one goes left."""
    laps = [{"start": W["R0"], "end": W["C0"]}, {"episode": 1, "start": W["C0"], "end": W["L0"]}]
    next_one = {"place": W["C0"], "phase": "start", "episode": 1}
    sequences = [sequence(*OUT_LEFT, **next_one)] * 3 + [sequence(*OUT_RIGHT, **next_one)]
    # A reverse sequence out of the centre is a path in, read as it was run.
    sequences += [sequence(*OUT_RIGHT, direction="reverse", place=W["C0"])] * 2
    sequences += [sequence(*OUT_LEFT, direction="reverse", **next_one)]
    tables = replays(w_track(), sequences, laps=laps)
    assert compute("future_minus_other_path_centre", tables) == (0.5, 0, 4)
    assert compute("past_minus_other_path_centre", tables) == (pytest.approx(1 / 3), 0, 3)


CONGRUENCE = [name for name in STATISTICS if "_of_past" in name or "_of_future" in name]


@pytest.mark.parametrize(
    ("well", "path", "direction", "name"),
    [
        ("C0", OUT_LEFT[::-1], "reverse", "reverse_of_past_paths_centre"),
        ("C0", OUT_LEFT, "forward", "forward_of_future_paths_centre"),
        ("L0", OUT_RIGHT, "reverse", "reverse_of_past_paths_side"),
        ("R0", OUT_RIGHT[::-1], "forward", "forward_of_future_paths_side"),
    ],
)
def test_congruence(well, path, direction, name):
    """The path is as it was run: a reverse sequence lists it backwards."""
    listed = {"forward": path, "reverse": path[::-1]}
    other = {"forward": "reverse", "reverse": "forward"}[direction]
    place = W[well]
    sequences = [sequence(*listed[direction], direction=direction, place=place)] * 3
    sequences += [sequence(*listed[other], direction=other, place=place)]
    tables = replays(w_track(), sequences)
    assert compute(name, tables) == (0.75, 0.5, 4)
    assert compute(name.rsplit("_", 1)[0], tables) == (0.75, 0.5, 4)
    for other in CONGRUENCE:
        assert name.startswith(other) or np.isnan(compute(other, tables)[0]), other


def test_congruence_is_told_at_wells_only():
    sequences = [sequence(*OUT_LEFT, direction="forward", place=W["X"])]
    assert np.isnan(compute("forward_of_future_paths", replays(w_track(), sequences))[0])
    assert np.isnan(compute("forward_of_future_paths", replays(track(), sequences))[0])


def test_labels_name_the_well():
    for name, where in (("", "at a well"), ("_side", "at a side well")):
        assert STATISTICS[f"reverse_of_past_paths{name}"].label.endswith(where)
