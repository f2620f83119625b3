"""Figures of recordings hold the data of their tables; no test compares pixels."""

import numpy as np
import pandas as pd
import pytest
from figure_of_eight import EIGHT, run_eight
from matplotlib.collections import LineCollection, QuadMesh
from matplotlib.colors import to_hex
from recovery_figures import plot_confusion, plot_corrected, plot_shares, recovery_figure

from analyses import place_sequences
from analyses.plots.decoded_event import events_sheet_figure, posterior_figure
from analyses.plots.decoded_panels import plot_movements, plot_posterior, plot_spikes
from analyses.plots.decoded_path import decoded_path_figure, plot_decoded_path, plot_event_path
from analyses.plots.recorded import plot_recorded_evidence, plot_recorded_kinds
from analyses.plots.style import COLUMN_WIDTH, FULL_WIDTH
from analyses.recordings.basics.binned_track import cut_track, linearise
from analyses.recordings.prepare.event_evidence import EventEvidence
from analyses.recordings.prepare.state_space_decoder import CONTINUOUS, STATIONARY
from analyses.sequences.track import graph_of_log
from analyses.tables import KINDS
from replay.worlds.tracks import make_linear_track, make_tmaze_track


def test_the_posterior_is_drawn_where_its_bins_are(ax):
    track = cut_track(make_tmaze_track(), 5.0)
    line = linearise(track)
    rng = np.random.default_rng(0)
    posterior = rng.dirichlet(np.full(3 * track.n_bins, 9.0), 12).reshape(12, 3, track.n_bins)
    plot_posterior(posterior, track, ax, dt=0.01, path=np.arange(12))
    (image,) = [each for each in ax.collections if isinstance(each, QuadMesh)]
    time, place = image.get_coordinates()[:-1, :-1].transpose(2, 0, 1)
    values = np.ma.filled(image.get_array(), np.nan)
    for column in (0, 5, 11):
        for number in range(track.n_bins):
            at = np.isclose(place[:, column], line.low[number]) & ~np.isnan(values[:, column])
            assert values[at, column] == pytest.approx(posterior[column, :, number].sum())
    assert time.max() == pytest.approx(110)
    (path,) = [each for each in ax.collections if isinstance(each, LineCollection)]
    drawn = np.concatenate(path.get_segments())
    np.testing.assert_allclose(drawn[:, 1], line.centre[np.arange(12)])
    np.testing.assert_allclose(drawn[:, 0], 10 * np.arange(12) + 5)


def test_a_path_breaks_where_the_drawing_does(ax):
    """From the end of one arm of a T over the junction into the other, drawn far from it."""
    track = cut_track(make_tmaze_track(), 5.0)
    line = linearise(track)
    order = np.argsort(line.low)
    uniform = np.full((track.n_bins, track.n_bins), 1 / track.n_bins)
    plot_posterior(uniform, track, ax, path=order)
    (path,) = [each for each in ax.collections if isinstance(each, LineCollection)]
    assert len(path.get_segments()) == 2


def test_a_path_is_dotted_where_a_junction_is_drawn_twice(ax):
    """Up the stem of a T and into the arm that is drawn farther away."""
    track = cut_track(make_tmaze_track(), 5.0)
    line = linearise(track)
    stem, far = (np.flatnonzero(track.edge == edge) for edge in (0, 2))
    path = np.concatenate([stem, far])
    assert track.distance[stem[-1], far[0]] < 6
    uniform = np.full((len(path), track.n_bins), 1 / track.n_bins)
    plot_posterior(uniform, track, ax, path=path)
    drawn, dotted = [each for each in ax.collections if isinstance(each, LineCollection)]
    assert len(drawn.get_segments()) == 2
    (across,) = dotted.get_segments()
    np.testing.assert_allclose(across[:, 1], line.centre[[stem[-1], far[0]]])
    figure = posterior_figure(uniform, track, path=path)
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == [dotted.get_label(), "Begin", "End"]
    assert not posterior_figure(uniform, track).legends


def test_a_path_is_drawn_where_something_travels(ax):
    """Two stretches, with a time bin between them: two lines, not joined."""
    track = cut_track(make_linear_track(100.0), 5.0)
    path = np.array([-1, 3, 4, 5, -1, 9, 8, -1])
    plot_posterior(np.full((8, 20), 0.05), track, ax, dt=0.01, path=path)
    (drawn,) = [each for each in ax.collections if isinstance(each, LineCollection)]
    one, other = (each.tolist() for each in drawn.get_segments())
    assert one == [[15.0, 17.5], [25.0, 22.5], [35.0, 27.5]]
    assert other == [[55.0, 47.5], [65.0, 42.5]]
    assert len(posterior_figure(np.full((8, 20), 0.05), track, path=path).axes) == 3
    assert len(posterior_figure(np.full((8, 20), 0.05), track, path=np.full(8, -1)).axes) == 2


def test_a_path_is_not_drawn_where_the_probability_lies_elsewhere(ax):
    """The posterior stays at bin 9, which half of the path only passes; a note says for how long.

    Nor is an animal in the legend that is far from the map.
    """
    track = cut_track(make_linear_track(100.0), 5.0)
    posterior = np.full((8, 20), 0.01)
    posterior[:, 7:12] = 0.17
    path = np.array([2, 3, 5, 6, 7, 8, 9, -1])
    plot_posterior(posterior, track, ax, dt=0.01, path=path)
    (drawn,) = [each for each in ax.collections if isinstance(each, LineCollection)]
    assert [each.tolist() for each in drawn.get_segments()] == [
        [[45.0, 37.5], [55.0, 42.5], [65.0, 47.5]]
    ]
    far = pd.DataFrame({"time": [0.0], "x": [500.0], "y": [0.0]})
    figure = posterior_figure(posterior, track, dt=0.01, path=path, traces=far)
    places = figure.axes[1].collections[2].get_offsets()
    assert places.tolist() == track.position[path[4:7]].tolist()
    assert "not drawn for 40 ms" in " ".join(figure.texts[0].get_text().split())
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["Begin", "End"]


def test_a_path_that_skips_bins_follows_the_track_on_the_map(ax):
    """From the stem of a T into an arm, in one time bin: not across the corner."""
    track = cut_track(make_tmaze_track(), 5.0)
    begin, end = (np.flatnonzero(track.edge == edge)[3] for edge in (0, 2))
    plot_event_path([begin, end, -1, end], track, ax)
    (step,) = ax.collections[1].get_segments()
    assert len(step) > 3
    along = np.hypot(*np.diff(step, axis=0).T).sum()
    assert along == pytest.approx(track.distance[begin, end], abs=5.0)


def test_evidence_is_drawn_beside_that_of_controls(ax):
    events = pd.DataFrame({"evidence": [9.0, 1.0, np.nan], "is_replay": [True, False, False]})
    values = {"exchanged_cells": np.arange(-10.0, 10.0), "sweeps": np.full(4, 2.0)}
    chance = pd.concat(
        [pd.DataFrame({"control": name, "evidence": each}) for name, each in values.items()]
    )
    controls = pd.DataFrame({"control": [*values], "least_evidence": [5.0, 2.5], "rate": [0.26, 0]})
    plot_recorded_evidence(events, chance, controls, ax)
    *dots, bars = ax.collections
    shown = [np.sort(each.get_offsets()[:, 0]).tolist() for each in dots]
    assert shown == [[1.0, 9.0], *(np.sort(each).tolist() for each in values.values())]
    assert [text.get_text() for text in ax.get_yticklabels()] == [
        "Events", "Exchanged cells", "Sweeps",
    ]  # fmt: skip
    assert [text.get_text() for text in ax.texts] == ["50.0%", "26.0%", "0.0%"]
    assert [segment[0, 0] for segment in bars.get_segments()] == [5.0, 2.5]
    assert "logarithmic" in ax.get_xlabel()
    near = controls.assign(least_evidence=2.0)
    few = plot_recorded_evidence(events.assign(evidence=1.0), chance[-4:], near)
    assert few.get_xscale() == "linear"


def test_a_sheet_has_each_event_with_its_stretch(assert_legible):
    """Seven events in two rows; the stretch of time bins 2 to 4 is shaded."""
    track = cut_track(make_linear_track(100.0), 5.0)
    path = np.array([-1, -1, 3, 4, 5, -1], dtype=np.int32)
    posterior = np.full((6, 3, 20), 1 / 60)
    events = [
        EventEvidence(k, k + 0.03, [np.array([k + 0.01])], posterior, path, pd.DataFrame())
        for k in range(7)
    ]
    figure = events_sheet_figure(
        events, track, rates=np.ones((1, 20)), dt=0.005, titles=[f"Event {k}" for k in range(7)]
    )
    shown = [ax for ax in figure.axes if ax.axison]
    assert len(shown) == 14
    assert [ax.get_title(loc="left") or ax.get_title() for ax in shown[:5]] == [
        f"Event {k}" for k in range(5)
    ]
    (shade,) = shown[0].patches
    assert shade.get_extents().transformed(shown[0].transData.inverted()).x0 == pytest.approx(10.0)
    assert shade.get_extents().transformed(shown[0].transData.inverted()).x1 == pytest.approx(25.0)
    assert_legible(figure)
    lost = events[0]._replace(posterior=None)
    with pytest.raises(ValueError, match="Event 0 has no posterior"):
        events_sheet_figure([lost], track, rates=np.ones((1, 20)), dt=0.005, titles=["0"])


def test_spikes_are_sorted_by_field(ax):
    track = cut_track(make_linear_track(100.0), 5.0)
    rates = np.eye(20)[[15, 3, 9, 7]]
    spikes = [[1.05, 1.2], [1.01], [9.0], [1.1]]
    plot_spikes(spikes, rates, track, ax, start=1.0, end=1.15)
    ticks = [tick.mean(axis=0) for tick in ax.collections[0].get_segments()]
    np.testing.assert_allclose(ticks, [(10, 0), (100, 1), (50, 2)], atol=1e-9)


def test_movements_are_stacked(ax):
    posterior = np.zeros((4, 3, 5))
    posterior[:2, CONTINUOUS, 1] = 1
    posterior[2:, STATIONARY, 1] = 1
    plot_movements(posterior, ax)
    heights = [np.ptp(each.get_paths()[0].vertices[:, 1]) for each in ax.collections]
    assert [each.get_label() for each in ax.collections] == ["Drifts", "Held", "Drawn anew"]
    assert heights[:2] == [1, 1]


@pytest.mark.parametrize("width", [COLUMN_WIDTH, FULL_WIDTH])
def test_an_event_to_check_by_eye_is_on_one_axis_of_time(width, assert_legible):
    track = cut_track(make_linear_track(100.0), 5.0)
    time = 7.0 + np.linspace(0, 0.15, 76)
    traces = pd.DataFrame({"time": time, "multiunit_rate": 2000.0, "field_potential": np.nan,
                           "speed": 1.0, "x": 40.0, "y": 0.0})  # fmt: skip
    rates, spikes = np.eye(20), [[7.0 + 0.007 * cell] for cell in range(20)]
    path = np.repeat(np.arange(15), 2)
    given = {"start": 7.0, "spikes": spikes, "rates": rates, "path": path, "traces": traces}
    figure = posterior_figure(np.full((30, 3, 20), 1 / 60), track, **given, width_cm=width)
    assert_legible(figure)
    assert figure.get_size_inches()[1] < 22 / 2.54
    *timed, chart, _ = figure.axes  # the last is the colour bar
    assert [ax.get_ylabel().split("\n")[0] for ax in timed] == [
        "20 cells", "Place (nodes of the track)", "Probability", "All cells", "Speed",
    ]  # fmt: skip
    assert {ax.get_xlim() for ax in timed} == {(0.0, 150.0)}
    rate, speed = (ax.lines[0].get_xydata() for ax in timed[3:])
    assert rate[:, 1].tolist() == [2.0] * 76
    assert speed[[0, -1], 0] == pytest.approx([0.0, 150.0])
    assert timed[-1].get_ylim() == pytest.approx((-0.3, 5.0))  # rest is seen above the axis
    assert chart.collections[-1].get_offsets().tolist() == [[40.0, 0.0]]
    assert chart.collections[2].get_offsets().tolist() == track.position[path].tolist()


@pytest.mark.parametrize("width", [COLUMN_WIDTH, FULL_WIDTH])
def test_the_figure_of_an_event_has_the_panels_that_it_can_have(width, assert_legible):
    track = cut_track(make_linear_track(100.0), 5.0)
    posterior = np.full((30, 3, 20), 1 / 60)
    rates, spikes = np.eye(20), [[0.01 * cell] for cell in range(20)]
    full = posterior_figure(posterior, track, spikes=spikes, rates=rates, title="T", width_cm=width)
    assert_legible(full)
    assert len(full.axes) == 4  # with the colour bar
    assert full.axes[0].get_title(loc="left") == "T"
    assert len(posterior_figure(posterior.sum(axis=1), track, width_cm=width).axes) == 2
    assert full.get_size_inches()[0] == pytest.approx(width / 2.54)
    with pytest.raises(ValueError, match="give both spikes and rates"):
        posterior_figure(posterior, track, spikes=spikes)
    with pytest.raises(ValueError, match="must have the shape"):
        posterior_figure(posterior[:, :, 1:], track)
    with pytest.raises(ValueError, match="one bin for each"):
        posterior_figure(posterior, track, path=[0, 1])
    with pytest.raises(ValueError, match=r"rates must have the shape"):
        posterior_figure(posterior, track, spikes=spikes, rates=rates[1:])
    with pytest.raises(ValueError, match="n_time, 3, n_bins"):
        plot_movements(posterior.sum(axis=1))


def test_a_path_is_coloured_by_its_pieces(ax):
    log, way = run_eight()
    path = way(2, 1, 4)
    paths = pd.DataFrame({"step": [len(log.steps) - 1], "states": [path]})
    (row,) = (row for _, row in place_sequences(log, paths).iterrows())
    plot_decoded_path(row, log.steps, log.mdp, cut_track(EIGHT), ax)
    names = [line.get_label() for line in ax.lines]
    assert names == ["Lap 1, backward", "Lap 2, forward"]
    assert len({to_hex(line.get_color()) for line in ax.lines}) == 2
    joined = np.concatenate([line.get_xydata() for line in ax.lines])
    np.testing.assert_allclose(np.unique(joined, axis=0), np.unique(log.mdp.position[path], axis=0))


def test_an_animal_whose_place_is_unknown_is_not_drawn(ax):
    log, way = run_eight()
    paths = pd.DataFrame({"step": 3, "states": [way(0, 1, 2)] * 2, "location": [1, -1]})
    n_drawn = []
    for _, row in place_sequences(log, paths).iterrows():
        before = len(ax.collections)
        plot_decoded_path(row, log.steps, log.mdp, cut_track(EIGHT), ax)
        n_drawn.append(len(ax.collections) - before)
    assert n_drawn[1] == n_drawn[0] - 1


@pytest.mark.parametrize(("width", "n_columns"), [(COLUMN_WIDTH, 2), (FULL_WIDTH, 4)])
def test_paths_get_a_panel_each(width, n_columns, assert_legible):
    log, way = run_eight()
    paths = [way(0, 1, 2), way(2, 1, 0), way(2, 1, 4), [3, 4], way(0, 1)]
    table = pd.DataFrame({"step": len(log.steps) - 1, "states": paths})
    graph = graph_of_log(log)
    graph.add_edge(3, 4, distance=1.0)
    found = place_sequences(log, table[:3], graph=graph)
    figure = decoded_path_figure(found, log.steps, log.mdp, cut_track(EIGHT), width_cm=width)
    assert_legible(figure)
    assert figure.get_size_inches()[1] < 22 / 2.54
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert titles == ["Episode, forward", "Episode, reverse", "Novel path"]
    ambiguous = decoded_path_figure(
        found.assign(kind="ambiguous"), log.steps, log.mdp, cut_track(EIGHT)
    )
    assert [ax.get_title(loc="left") for ax in ambiguous.axes] == ["Ambiguous"] * 3
    laps = [text.get_text() for text in ambiguous.axes[1].get_legend().get_texts()]
    assert laps == ["Lap 1"], "without the direction, which is unknown"
    assert figure.axes[0].get_subplotspec().get_gridspec().ncols == min(n_columns, 3)
    with pytest.raises(ValueError, match="no path to draw"):
        decoded_path_figure(found[:0], log.steps, log.mdp, cut_track(EIGHT))


def test_few_events_are_counted_instead_of_shared(ax):
    rows = [{"state_size": 15.0, "kind": kind, "n": int(kind == KINDS[0]), "n_events": 1,
             "share": float(kind == KINDS[0]), "ci_low": 0.0, "ci_high": 1.0}
            for kind in KINDS]  # fmt: skip
    table = pd.DataFrame(rows)
    assert "1 replay event:\ntoo few" in plot_recorded_kinds(table, ax).get_xlabel()
    assert not ax.collections, "an interval from 0 to 1 says nothing"
    many = plot_recorded_kinds(table.assign(n_events=40))
    assert many.get_xlabel() == "Share of 40 replay events"
    none = plot_recorded_kinds(table.assign(n_events=0))
    assert [text.get_text() for text in none.texts] == ["No replay event has a sequence"]


def test_a_place_that_is_a_number_stands_on_the_map():
    track = cut_track(EIGHT)
    figure = posterior_figure(
        np.full((4, track.n_bins), 1 / track.n_bins), track, path=[0, 1, 2, 3]
    )
    on_axis = {text.get_text() for text in figure.axes[0].get_yticklabels()}
    on_map = {text.get_text() for text in figure.axes[1].texts}
    assert {name for names in on_axis for name in names.split(", ")} <= on_map


def test_nodes_are_named_where_corridors_are_drawn_apart(ax):
    """In the figure of eight most nodes stand twice on the axis, too near for two names."""
    apart = EIGHT.copy()
    apart.graph |= {"edge_order": [(0, 1), (1, 2), (2, 3), (3, 0), (1, 4), (4, 5), (5, 0)],
                    "edge_spacing": [15] * 6}  # fmt: skip
    track = cut_track(apart)
    plot_posterior(np.full((4, track.n_bins), 1 / track.n_bins), track, ax)
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert names == ["0", "1", "2", "3", "0, 1", "4", "5", "0"]


def matrices(n_cells=(12, 20, 40)):
    kinds = ["forward_episode", "reverse_episode", "novel_path"]
    rows = [
        {"n_cells": n, "gain": 2.9, "speed": 800.0, "truth": truth, "found": found,
         "probability": 0.5 if truth == found else 0.5 * (found == "missed")}
        for n in n_cells for truth in kinds for found in [*kinds, "ambiguous", "missed"]
    ]  # fmt: skip
    return pd.DataFrame(rows)


def shares(n_cells=(12, 20, 40)):
    table = pd.DataFrame({"n_cells": n_cells, "gain": 2.9, "speed": 800.0, "kind": "novel_path"})
    table = table.assign(true=0.33, found=[0.1, 0.2, 0.3][: len(table)])
    table = table.assign(corrected=[np.nan, 0.3, 0.33][: len(table)])
    return table.assign(ci_low=table["corrected"] - 0.1, ci_high=table["corrected"] + 0.1)


SESSIONS = pd.DataFrame(
    {"n_cells": [12, 20, 40], "gain": 2.9, "speed": 800.0, "n_sessions": [40, 160, 40]}
)


def test_a_matrix_shows_what_can_be_seen(ax):
    plot_confusion(matrices([20]), ax)
    assert [label.get_text() for label in ax.get_xticklabels()] == [
        "Forward", "Reverse", "Novel", "Missed",
    ]  # fmt: skip
    assert ax.images[0].get_array().shape == (3, 4)
    assert [text.get_text() for text in ax.texts] == [".50"] * 6
    with pytest.raises(ValueError, match="several rows"):
        plot_confusion(matrices(), ax)


def test_shares_that_are_refused_have_no_dot(ax):
    plot_shares(shares(), ax)
    dots = [line for line in ax.lines if line.get_marker() == "o"]
    assert dots[0].get_ydata().tolist() == [0.1, 0.2, 0.3]
    assert dots[1].get_ydata().tolist() == [0.3, 0.33]
    with pytest.raises(ValueError, match="one true share"):
        plot_shares(shares().assign(true=[0.1, 0.2, 0.3]), ax)


@pytest.mark.parametrize(("width", "n_panels"), [(COLUMN_WIDTH, 3), (FULL_WIDTH, 4)])
def test_the_figure_of_recovery(width, n_panels, assert_legible):
    both = pd.concat([shares(), shares().assign(true=0.6)])
    figure = recovery_figure(matrices(), both, SESSIONS, width_cm=width)
    looks = [
        {line.get_color() for line in ax.lines if not line.get_label().startswith("_")}
        for ax in figure.axes[-2:]
    ]
    assert all(looks), "a panel has no settings"
    assert looks[0].isdisjoint(looks[1]), "a colour has two meanings"
    assert_legible(figure)
    assert len(figure.axes) == n_panels
    assert figure.axes[0].get_title(loc="left") == "20 cells, gain 2.9, 8 m/s (160 sessions)"
    few = recovery_figure(matrices([20]), shares([20]), SESSIONS, width_cm=width)
    assert len(few.axes) == 2
    with pytest.raises(ValueError, match="must have rows"):
        recovery_figure(matrices()[:0], both, SESSIONS)


def test_shares_are_drawn_by_their_true_share(ax):
    table = pd.concat([shares().assign(true=true, found=true / 2) for true in (0.2, 0.8)])
    plot_corrected(table, ax)
    found = [line for line in ax.lines[1:] if line.get_linestyle() == "-"]
    assert [line.get_ydata().tolist() for line in found] == [[0.1, 0.4]] * 2  # 12: refused
    dots = [line for line in ax.lines if line.get_linestyle() == "None"]
    assert [line.get_label() for line in dots] == ["20 cells, 8 m/s", "40 cells, 8 m/s"]
    with pytest.raises(ValueError, match="no corrected share"):
        plot_corrected(table.assign(corrected=np.nan), ax)
