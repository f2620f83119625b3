"""Tracks laid out along one line."""

import numpy as np
import pytest
from figure_of_eight import EIGHT

from analyses.recordings.basics.binned_track import cut_track
from analyses.recordings.basics.linearised_track import linearise
from replay.worlds.tracks import (
    make_circular_track,
    make_linear_track,
    make_tmaze_track,
    make_wtrack,
)


@pytest.mark.parametrize(
    "graph",
    [EIGHT, make_linear_track(), make_tmaze_track(), make_wtrack(), make_circular_track()],
    ids=["eight", "line", "t", "w", "ring"],
)
def test_a_line_holds_each_corridor_once(graph):
    track = cut_track(graph, 5.0)
    line = linearise(track)
    np.testing.assert_allclose(line.high - line.low, track.width)
    order = np.argsort(line.low)
    assert (line.low[order][1:] >= line.high[order][:-1] - 1e-9).all()
    # Two bins that touch in the drawing touch on the track.
    touch = line.low[order][1:] - line.high[order][:-1] < 1e-6
    apart = track.distance[order[:-1], order[1:]]
    widths = (track.width[order[:-1]] + track.width[order[1:]]) / 2
    np.testing.assert_allclose(apart[touch], widths[touch])
    assert len(line.nodes) == len(track.edges) + 1 + np.count_nonzero(~touch)


def test_a_figure_of_eight_needs_no_gap():
    line = linearise(cut_track(EIGHT, 5.0))
    assert line.length == pytest.approx(3 * 90 + 4 * 50)
    assert [name for _, name in line.nodes] == ["0", "1", "2", "3", "0", "5", "4", "1"]
