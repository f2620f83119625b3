"""Checks of a recording when it is made: each implausible value gives a clear message."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from analyses.recordings.basics.recording import Recording
from analyses.recordings.basics.signals import FieldPotential, Posterior
from replay.worlds.tracks import make_linear_track

TRACK = make_linear_track(100.0)
TIME = np.arange(0.0, 60.0, 0.05)
XY = np.stack([50 - 50 * np.cos(TIME), np.zeros_like(TIME)], axis=1)
SPIKES = (np.arange(0.0, 60.0, 0.07), np.arange(0.0, 60.0, 1.1))


def make(**changes):
    parts = {"graph": TRACK, "time": TIME, "position": XY, "spikes": SPIKES} | changes
    return Recording("mine", **parts)


def posterior(**changes):
    parts = {
        "time": np.array([1.0, 1.1, 1.2]),
        "probability": np.eye(3)[:, [0, 1, 2]],
        "position": np.array([[0.0, 0], [50, 0], [100, 0]]),
        "movement": {},
    }
    return Posterior(**parts | changes)


def with_nan(share):
    xy = XY.copy()
    xy[: int(share * len(xy))] = np.nan
    return xy


def test_a_sound_recording_is_taken():
    recording = make(
        posterior=posterior(), events=pd.DataFrame({"start_time": [1.0], "end_time": 2})
    )
    assert recording.during.all()
    cut = make(on_track=np.array([[10.0, 20.0]]))
    assert np.array_equal(cut.during, (TIME >= 10) & (TIME <= 20))


def test_few_unknown_positions_are_taken_as_many_as_are_allowed():
    make(position=with_nan(0.19))
    make(position=with_nan(0.5), most_unknown=0.6)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"time": np.tile(TIME[:600], 2)}, r"positions of mine go back in row 600, from 29.95 to"),
        ({"time": TIME[:-1]}, "a pair .* for each time"),
        ({"position": XY[:, :1]}, r"a pair \(x, y\) for each time"),
        ({"spikes": (np.array([np.nan]),)}, "spike times of cell 0 of mine must hold finite"),
        ({"spikes": (np.floor(SPIKES[0] * 30_000),)}, r"several clocks.*in samples\? Divide"),
        ({"spikes": (SPIKES[0] * 1000.0,)}, r"several clocks.*milliseconds\?"),
        ({"spikes": (SPIKES[0] + 1e6,)}, r"several clocks: .* but spikes go from 1000000 to"),
        ({"time": TIME * 1000.0}, r"several clocks.*Are positions in milliseconds"),
        (
            {"position": with_nan(0.3)},
            "360 of 1200 positions of mine on the track are NaN, more than",
        ),
        ({"position": XY * 5}, "are more than 30 cm from the track.*in pixels"),
        ({"on_track": np.array([[100.0, 200.0]])}, "mine has no position from 100 to 200 s"),
        (
            {"events": pd.DataFrame({"start_time": [2.0], "end_time": [1.0]})},
            "must end after they begin; row 0 of the events of mine goes from 2 to 1",
        ),
        (
            {"events": pd.DataFrame({"start_time": [6e4], "end_time": [6.1e4]})},
            "several clocks: spikes .* but events go from 60000",
        ),
        ({"events": pd.DataFrame({"begin": [1.0]})}, r"events of mine lacks the columns \['start"),
        (
            {"posterior": posterior(position=np.array([[0.0, 0], [0.5, 0], [1, 0]]))},
            "bins of the posterior of mine extend over 1 cm, and the track over 100 cm. .* metres",
        ),
        (
            {"decoded": pd.DataFrame({"event": 0, "time": [1.0, 1.1], "x": [0, 0.9], "y": 0.0})},
            "decoded places of mine extend over 0.9 cm, and the track over 100 cm. .* metres",
        ),
        ({"posterior": posterior(position=np.zeros((3, 1)))}, "must have x and y; got"),
        ({"posterior": posterior(time=np.array([1e3, 1.1e3, 1.2e3]))}, "the posterior goes fr"),
        ({"posterior": posterior(probability=2 * np.eye(3))}, "sum to 1; row 0 sums to 2"),
        (
            {"posterior": posterior(probability=np.array([[0.5, 0.2, 0.3]] * 3).T)},
            "row 0 sums to 1.5. Its columns sum to 1: is it transposed",
        ),
        (
            {"posterior": posterior(time=np.array([1.0, 1.1]))},
            r"must have the shape \(2, 3\), .* got \(3, 3\)",
        ),
        (
            {"posterior": posterior(time=np.array([1.0, 1.1]), probability=np.ones((3, 2)) / 2)},
            "it is transposed",
        ),
        ({"posterior": posterior(probability=np.full((3, 3), np.nan))}, "NaN in every row"),
        (
            {"posterior": posterior(time=np.array([1.0]), probability=np.eye(3)[:1])},
            "at least two time bins; got 1",
        ),
        (
            {"posterior": posterior(position=np.array([[0.0, 0], [50, 90], [100, 0]]))},
            "Bins of the posterior of mine do not fit the track",
        ),
        (
            {"field_potential": FieldPotential(0.0, 1000.0, np.zeros((2, 60_000)))},
            "has 60000 channels of 2 samples: .* transposed",
        ),
        (
            {"field_potential": FieldPotential(0.0, 1e3, np.zeros((9, 1)), np.arange(8.0))},
            r"one time for each sample; got \(8,\) for 9",
        ),
        ({"field_potential": FieldPotential(0.0, 1e3, np.full((9, 1), np.nan))}, "choose a chan"),
        ({"posterior": posterior(outward=np.ones(2))}, "probability of 'outward' for each of 3"),
        ({"electrode": np.arange(7)}, "an electrode for each class of marks: it has 7 for"),
        ({"on_track": np.array([[20.0, 10.0]])}, "on_track of mine must be pairs"),
        ({"epochs": {"sleep": np.arange(3.0)}}, "sleep of mine must be pairs of a begin and a"),
        ({"decoded": pd.DataFrame({"x": [1.0]})}, "decoded places of mine lacks the columns"),
        ({"most_unknown": 1.5}, "most_unknown must be a number from 0 to 1, got 1.5"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(changes, message):
    with pytest.raises(ValueError, match=message) as refusal:
        make(**changes)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    "changes",
    [
        {"position": [[0, 0], ""]},
        {"spikes": 0.5},
        {"field_potential": b"a"},
        {"epochs": "sleep"},
        {"graph": [0, 1]},
    ],
)
def test_parts_of_another_type_are_named(changes):
    with pytest.raises(TypeError, match=f"{next(iter(changes))} of Recording must be"):
        make(**changes)


def test_a_name_that_no_file_can_hold():
    with pytest.raises(ValueError, match="name of a recording must be text that can be written"):
        Recording("\ud800", make().graph)


def test_a_part_of_a_part_is_named():
    with pytest.raises(TypeError, match=r"origin\['file'\] of Recording must be text, got 5"):
        make(origin={"file": 5})


def test_graphs_that_are_none():
    with pytest.raises(ValueError, match="needs a position, pos="):
        make(graph=nx.Graph([(0, 1)]))
    with pytest.raises(TypeError, match="undirected"):
        make(graph=nx.DiGraph(TRACK))


def test_the_digest_changes_with_every_part():
    whole = make()
    others = [
        make(position=XY + 1e-9),
        make(spikes=SPIKES[:1]),
        make(on_track=np.array([[0.0, 60.0]])),
        make(events=pd.DataFrame({"start_time": [1.0], "end_time": [2.0]})),
        make(posterior=posterior()),
        make(graph=make_linear_track(101.0)),
    ]
    digests = {each.digest() for each in (whole, *others)}
    assert len(digests) == 7
    assert whole.digest() == make(notes=("other words",)).digest()


def test_it_shows_itself_in_a_notebook():
    shown = replace(
        make(), name="<mine>", events=pd.DataFrame({"start_time": [1.0], "end_time": [2.0]}),
        epochs={"a <nap>": np.array([[3.0, 4.0], [5.0, 9.25]])}, notes=("Read & done.",),
    )._repr_html_()  # fmt: skip
    for part in ("&lt;mine&gt;", f"spikes of {len(SPIKES)} cells", "epoch: a &lt;nap&gt;",
                 "<td>9.2</td>", "<li>Read &amp; done.</li>"):  # fmt: skip
        assert part in shown
    assert "<mine>" not in shown
    assert "<table" in Recording("empty")._repr_html_()
