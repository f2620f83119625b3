"""Posteriors from other decoders, read from files that these programs wrote."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from analyses.recordings.readers import read_recording

HERE = Path(__file__).with_name("reference")
LINE = {
    "node_positions": [(60.0, 0.0), (60.0, 80.0), (0.0, 80.0), (120.0, 80.0)],
    "edges": [(0, 1), (1, 2), (1, 3)],
    "linear_edge_order": [(0, 1), (1, 2), (1, 3)],
    "linear_edge_spacing": 15.0,
}
PLAIN = {name: LINE[name] for name in ("node_positions", "edges")}
BEGINS_AND_ENDS = [(0, 2), (3, 0), (2, 3), (3, 2)]
NEAR = 25.0  # cm


def tsd_frame():
    """Give what pynapple decoded, by the attributes that are read."""
    with np.load(HERE / "decoded_pynapple.npz") as stored:
        return SimpleNamespace(**{name: stored[name] for name in stored})


@pytest.fixture(scope="module")
def session():
    with np.load(HERE / "decoded_session.npz") as stored:
        return {name: stored[name] for name in ("position_time", "position_xy", "event_time")}


@pytest.mark.parametrize(
    ("source", "track", "bins"),
    [
        ("decoded_nld.nc", LINE, None),
        ("decoded_nld_local.nc", LINE, None),
        ("decoded_rtc.nc", LINE, None),
        ("decoded_rtc.nc", PLAIN, HERE / "decoded_rtc_bins.csv"),
        ("pynapple", LINE, None),
    ],
    ids=["nld", "nld_local", "rtc", "rtc_by_table", "pynapple"],
)
def test_each_event_is_where_it_was_replayed(session, source, track, bins):
    if source != "pynapple":
        pytest.importorskip("h5netcdf")
    given = tsd_frame() if source == "pynapple" else HERE / source
    found = read_recording(given, track, session=session, bins=bins)
    posterior = found.posterior
    corners = np.array(LINE["node_positions"])
    spans = zip(session["event_time"], BEGINS_AND_ENDS, strict=True)
    for (begin, end), (first, last) in spans:
        own = (posterior.time >= begin) & (posterior.time < end)
        mean = posterior.probability[own] @ posterior.position
        for corner, places in ((first, mean[:8]), (last, mean[-8:])):
            away = np.hypot(*(places - corners[corner]).T)
            assert np.nanmin(away) < NEAR, (source, begin, corner)


def test_states_of_other_programs_are_named(session):
    pytest.importorskip("h5netcdf")
    found = read_recording(HERE / "decoded_nld_local.nc", LINE, session=session)
    assert set(found.posterior.movement) == {
        "Local", "No-Spike", "Non-Local Continuous", "Non-Local Fragmented",
    }  # fmt: skip
    total = np.sum(list(found.posterior.movement.values()), axis=0)
    np.testing.assert_allclose(total, 1, atol=1e-4)


def test_what_lies_in_gaps_is_refused_with_what_to_do(session):
    frame = tsd_frame()
    with pytest.raises(
        ValueError, match=r"leave places where the animal never was out of its tuning"
    ):
        read_recording(frame, LINE | {"linear_edge_spacing": 30.0}, session=session)
