"""Two tracks that do not join: the whole analysis of a recording whose replay is known."""

import json
from dataclasses import replace

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from analyses.jobs.results import Results
from analyses.jobs.run import run
from analyses.recordings import find_replay
from analyses.recordings.basics.binned_track import cut_track, linearise, project
from analyses.recordings.basics.recording import Recording
from analyses.recordings.basics.settings import Judgement, Settings
from analyses.recordings.basics.signals import Posterior
from analyses.recordings.decide import scoring
from analyses.recordings.decide.scores import (
    common_cells,
    find_routes,
    track_log_odds,
    tracks_to_compare,
)
from analyses.recordings.decide.scoring import score_block
from analyses.recordings.prepare.likelihood import log_likelihood
from analyses.recordings.prepare.place_fields import Running, decoding_error, running
from analyses.recordings.prepare.recorded_experience import experience_of
from analyses.recordings.prepare.session import prepare
from analyses.recordings.prepare.state_space_decoder import state_posterior, walk_transitions
from analyses.recordings.readers import read_recording
from analyses.recordings.readers.track_graphs import draw_track, read_track
from analyses.recordings.recover.cells import draw_cells
from analyses.recordings.recover.recover import recover
from analyses.recordings.recover.simulated_recording import simulated_two_tracks
from analyses.reports import notes_of
from analyses.studies.recorded_replay import plan_recording
from analyses.studies.recorded_replay.recorded import STUDY
from analyses.studies.recorded_replay.statistics import recorded_statistics
from replay.worlds.tracks import make_track_graph

JUDGEMENT = Judgement(n_controls=2, other_sizes=())
CORNERS = [(0.0, 0.0), (100.0, 0.0), (0.0, 60.0), (100.0, 60.0), (100.0, 100.0)]
GRAPH = make_track_graph(CORNERS, [(0, 1), (2, 3), (3, 4)])
TRACK = cut_track(GRAPH, 5.0)


@pytest.fixture(scope="module")
def seen():
    return simulated_two_tracks(24)


@pytest.fixture(scope="module")
def true_track(seen):
    return np.array([seen.cells.track.component[bins[0]] + 1 for bins in seen.replayed])


@pytest.fixture(scope="module")
def found(seen):
    return find_replay(seen.recording, judgement=JUDGEMENT)


def test_each_event_is_decoded_on_the_track_that_it_replays(seen, found, true_track):
    events = found.events
    assert events["is_replay"].mean() > 0.9
    assert (events["track"] == true_track).all()
    backwards = np.arange(len(events)) % 4 > 1
    kinds = np.where(backwards, "reverse_episode", "forward_episode")
    replay = events["is_replay"].to_numpy()
    assert (events["kind"] == kinds)[replay].mean() > 0.9
    track = cut_track(seen.recording.graph, 5.0)
    at = project(track, found.paths[["x", "y"]].to_numpy()).bin
    crossed = pd.Series(track.component[at]).groupby(found.paths["event"].to_numpy()).nunique()
    assert (crossed == 1).all()


def test_log_odds_tell_the_track(found, true_track):
    """By the cells with fields on both tracks, whatever the order of places."""
    right = np.where(true_track == 1, 1, -1)
    assert (np.sign(found.events["log_odds"]) == right).mean() > 0.95
    assert (found.events["log_odds_z"] * right > 1.5).mean() > 0.9
    (told,) = (text for text in notes_of(found) if text.startswith("Track log odds compare"))
    assert "nodes 0 1 (above 0) with 2 3" in told


def test_log_odds_depend_neither_on_blocks_nor_on_how_often_cells_are_exchanged(seen, monkeypatch):
    session = prepare(seen.recording, judgement=JUDGEMENT)
    few = session._replace(
        events=session.events[:5], counts=session.counts[:5],
        judgement=JUDGEMENT._replace(n_shuffles=1, n_controls=1),
    )  # fmt: skip
    names = ["log_odds", "log_odds_z"]
    whole = score_block(few, 0).events[names]
    monkeypatch.setattr(scoring, "_BLOCK", 2)
    parts = pd.concat([score_block(few, block).events[names] for block in range(3)])
    pd.testing.assert_frame_equal(parts.reset_index(drop=True), whole)
    other = score_block(few._replace(judgement=JUDGEMENT), 0).events[names]
    pd.testing.assert_frame_equal(other, whole[:2])


def test_decoded_places_that_begin_unknown_are_on_the_track_of_the_rest(seen):
    recording = seen.recording
    events = pd.DataFrame({"start_time": [1.0, 2.0], "end_time": [1.1, 2.1]})
    here = TRACK.position[(TRACK.component == 0)][:4]
    there = TRACK.position[(TRACK.component == 1)][:4]
    xy = np.concatenate([here, there])
    xy[[0, 4]] = np.nan
    time = np.concatenate([1.0 + 0.02 * np.arange(4), 2.0 + 0.02 * np.arange(4)])
    table = pd.DataFrame(
        {"event": np.repeat([0, 1], 4), "time": time, "x": xy[:, 0], "y": xy[:, 1]}
    )
    decoded = replace(recording, spikes=(), events=events, decoded=table)
    found = score_block(prepare(decoded, judgement=JUDGEMENT), 0).events
    assert found["track"].tolist() == [1, 2]
    assert found["evidence"].isna().all()


def test_swapped_tracks_give_five_per_cent(seen):
    """Events of cells whose tracks are swapped at random are significant at the nominal rate."""
    session = prepare(seen.recording)
    first, second = tracks_to_compare(session.track, session.rates)
    chosen = common_cells(session.rates, first, second)
    own = session.rates[chosen]
    other = own.copy()
    other[:, first], other[:, second] = own[:, second], own[:, first]
    events = [counts[:, chosen] for counts in session.counts]
    z = []
    for number in range(200):
        rng = np.random.default_rng(number)
        swapped = np.where(rng.random((len(own), 1)) < 0.5, own, other)
        tested = track_log_odds(
            [events[number % len(events)]], swapped, first, second, dt=session.time_bin,
            n_shuffles=40, seed=number,
        )  # fmt: skip
        z.append(tested["log_odds_z"].iloc[0])
    assert np.mean(np.abs(z) > 1.96) == pytest.approx(0.05, abs=0.03)


def test_the_animal_is_carried(seen, found):
    """Laps on each track are episodes of their own, and no move leads from one to the other."""
    steps = found.experience.steps
    position = found.experience.mdp.position
    track = cut_track(seen.recording.graph, 5.0)
    of_state = track.component[project(track, position).bin]
    assert (of_state[steps["state"]] == of_state[steps["next_state"]]).all()
    assert steps.groupby("episode")["state"].agg(lambda own: np.ptp(of_state[own])).max() == 0
    laps = steps.groupby("episode")["state"].first()
    assert of_state[laps].tolist() == [0] * 12 + [1] * 12
    states = found.sequences["states"]
    assert all(np.ptp(of_state[list(each)]) == 0 for each in states)


def test_a_jump_of_the_camera_is_no_move(seen):
    """Without a gap in time or position when it is carried, the lap is cut off all the same."""
    time = np.arange(0.0, 20.0, 0.05)
    x = np.where(time < 10, 15 * time, 15 * (time - 10))
    position = np.stack([x, np.where(time < 10, 0.0, 80.0)], axis=1)
    recording = Recording("mine", seen.recording.graph, time, position)
    world, log = experience_of(recording, 15.0)
    assert log.steps["truncated"].tolist().count(True) == 2
    assert (np.asarray(world.position)[log.steps["state"], 1] ==
            np.asarray(world.position)[log.steps["next_state"], 1]).all()  # fmt: skip


def test_the_running_animal_is_decoded_on_its_track(seen):
    recording = seen.recording
    track = cut_track(recording.graph, 5.0)
    error = decoding_error(recording, running(recording), track, Settings())
    assert error.distance < 10 < error.by_chance < np.inf
    assert error.wrong_track < 0.02
    assert error.wrong_by_chance == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize(("n_bins", "distance"), [(11, np.nan), (12, 0.0), (23, 0.0)])
def test_the_running_animal_is_decoded_in_quarters_of_a_second(seen, n_bins, distance):
    """From bins of 20 ms; a single quarter has only itself as another time."""
    moved = running(seen.recording)
    first = np.flatnonzero(moved.speed > 20.0)[0]
    short = Running(*(each[first : first + n_bins] for each in moved))
    track = cut_track(make_track_graph([(0, 0), (30, 0)], [(0, 1)]), 5.0)
    error = decoding_error(seen.recording, short, track, Settings())
    assert error.by_chance == pytest.approx(distance, nan_ok=True)


def test_a_posterior_of_another_program(seen, true_track):
    """Without spikes, its path stays on a track, too."""
    session = prepare(seen.recording)
    walk = walk_transitions(session.track, session.variance)
    time, probability = [], []
    for begin, counts in zip(session.events["start_time"], session.counts, strict=True):
        likelihoods = log_likelihood(counts, session.rates, session.time_bin)
        probability.append(state_posterior(likelihoods, walk)[0].sum(axis=1))
        time.append(begin + (np.arange(len(counts)) + 0.5) * session.time_bin)
    decoded = Posterior(
        np.concatenate(time), np.concatenate(probability), session.track.position, {}
    )
    recording = replace(seen.recording, spikes=(), posterior=decoded)
    events = find_replay(recording, judgement=JUDGEMENT).events
    assert (events["track"] == true_track).all()
    assert "log_odds" not in events


def test_positions_far_from_both_tracks_are_refused(seen):
    recording = seen.recording
    with pytest.raises(ValueError, match="are more than 30 cm from the track"):
        replace(recording, position=recording.position * [1, 0] + [0, 40])


def test_recovery_on_two_tracks(seen, true_track):
    table = recover(seen, judgement=JUDGEMENT, n_noise=5)
    replayed = table[table["event"] >= 0]
    assert (replayed["kind"] == replayed["true_kind"]).mean() > 0.9
    assert (table["kind"][table["event"] < 0] == "missed").all()


def test_statistics_of_two_animals(found):
    table = recorded_statistics([found, found]).set_index("statistic")
    assert table.loc["reverse_share", "value"] == pytest.approx(0.5, abs=0.05)
    assert table.loc["leads_away", "n_animals"] == 2


def test_no_step_leads_across():
    walk = walk_transitions(TRACK, 500.0)
    across = TRACK.component[:, None] != TRACK.component[None, :]
    assert across.any()
    assert (walk[across] == 0).all()
    assert np.isinf(TRACK.distance[across]).all()
    assert np.isfinite(TRACK.distance[~across]).all()
    assert {tuple(np.unique(TRACK.component[route.bins])) for route in find_routes(TRACK)} == {
        (0,),
        (1,),
    }


def test_cells_have_fields_on_one_track_or_on_both():
    for common in (0.0, 0.3, 1.0):
        cells = draw_cells(cut_track(GRAPH, 1.0), 400, common=common, background=0.0)
        on = cells.track.component
        both = common_cells(cells.rates, on == 0, on == 1)
        assert both.mean() == pytest.approx(common, abs=0.08)


def test_more_than_two_tracks_are_compared_if_two_are_named():
    graph = nx.disjoint_union(GRAPH, make_track_graph([(0, 200), (50, 200)], [(0, 1)]))
    track = cut_track(graph, 5.0)
    rates = np.ones((3, track.n_bins))
    assert track.n_components == 3
    assert tracks_to_compare(track, rates) is None
    first, second = tracks_to_compare(track, rates, [("0", "1"), ("5", "6")])
    assert (track.component[first] == 0).all()
    assert (track.component[second] == 2).all()


def test_too_few_common_cells_are_no_error():
    """Nobody asked for log odds, so the rest goes on."""
    rates = np.where(TRACK.component == 0, 5.0, 0.0)[None, :].repeat(4, axis=0)
    assert tracks_to_compare(TRACK, rates) is None


def test_from_files_to_files(seen, tmp_path):
    """A file of arrays and a track graph in JSON, as the guide says."""
    recording = seen.recording
    drawn = draw_track(recording.graph) | {
        "linear_edge_order": [[2, 3], [1, 0]],
        "linear_edge_spacing": 20,
    }
    (tmp_path / "two.json").write_text(json.dumps(drawn))
    np.savez(
        tmp_path / "two.npz",
        position_time=recording.time,
        position_xy=recording.position,
        spike_time=np.concatenate(recording.spikes),
        spike_unit=np.repeat(np.arange(len(recording.spikes)), list(map(len, recording.spikes))),
        event_start=recording.events["start_time"][:4],
        event_end=recording.events["end_time"][:4],
    )
    read = read_recording(tmp_path / "two.npz", tmp_path / "two.json")
    assert read.notes[-1] == "Track: 4 nodes, 2 edges, 320 cm, in 2 separate parts."
    line = linearise(cut_track(read.graph, 5.0))
    assert line.nodes == ((0.0, "2"), (160.0, "3"), (180.0, "1"), (340.0, "0"))
    assert line.gaps == ((160.0, 180.0),)
    run(
        STUDY, plan_recording(read, judgement=JUDGEMENT, n_sessions=0), tmp_path / "out",
        tell=lambda text: None,
    )  # fmt: skip
    events = Results(tmp_path / "out").read("events.csv")
    assert events["track"].tolist() == [1, 2] * 2
    assert events["log_odds"].notna().all()
    stored = read_track(tmp_path / "out" / "track.json")
    assert stored.graph["edge_order"] == [(2, 3), (1, 0)]
    report = (tmp_path / "out" / "report.md").read_text()
    assert "on track 2 (nodes 2 3)" in report
    assert (tmp_path / "out" / "figures" / "event_reverse_episode.png").is_file()
