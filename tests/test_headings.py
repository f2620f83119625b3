"""Headings: fields, decoding and sequences on tracks that are run both ways."""

from dataclasses import replace
from itertools import pairwise

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from analyses.recordings import find_replay
from analyses.recordings.basics.binned_track import cut_track
from analyses.recordings.basics.observed import Seen
from analyses.recordings.basics.settings import Judgement, Settings
from analyses.recordings.basics.signals import Posterior
from analyses.recordings.decide import scoring
from analyses.recordings.decide.conclusions import conclude
from analyses.recordings.prepare.headings import (
    headed_fields,
    heading_of_ways,
    is_run_both_ways,
    travel,
    with_headings,
)
from analyses.recordings.prepare.session import prepare
from analyses.recordings.prepare.state_space_decoder import walk_of_states
from analyses.recordings.prepare.travel import Stretch
from analyses.recordings.readers.decoded import read_posterior
from analyses.recordings.recover.cells import draw_cells
from analyses.recordings.recover.known_paths import known_paths
from analyses.recordings.recover.observe import observe
from analyses.recordings.recover.recover import recover
from analyses.reports import notes_of
from analyses.reports.recorded import count_replay
from analyses.sequences.track import graph_of_log
from replay.log.event_log import EventLog
from replay.worlds.mdp import MDP
from replay.worlds.tracks import make_linear_track, make_wtrack

TRACK = make_linear_track(160.0)
QUICK = Judgement(n_shuffles=5, n_controls=3, other_sizes=())


def run_both_ways(n_laps=24):
    """Make a log of laps to the end of a linear track, and back."""
    world = MDP.from_networkx(TRACK, bin_size=15.0)
    way = nx.shortest_path(graph_of_log(EventLog({}, mdp=world)), 0, 1)
    laps = [way, way[::-1]] * (n_laps // 2)
    moves = [move for lap in laps for move in pairwise(lap)]
    ends = np.cumsum([len(way) - 1] * len(laps)) - 1
    steps = {"state": [here for here, _ in moves], "next_state": [there for _, there in moves],
             "terminated": np.isin(np.arange(len(moves)), ends)}  # fmt: skip
    return EventLog({"steps": steps}, mdp=world), way, ends


def observed(directional, headings=(1, -1), n_cells=50, seed=0):
    """Observe laps both ways, and replay of both ways in the given headings in turn."""
    log, way, ends = run_both_ways()
    rows = [(end, way[:: (-1) ** (event // 2)], headings[event % len(headings)])
            for event, end in enumerate(ends.tolist())]  # fmt: skip
    paths = pd.DataFrame(
        [(step, path, [heading] * len(path)) for step, path, heading in rows],
        columns=["step", "states", "along"],
    )
    cells = draw_cells(cut_track(TRACK, 1.0), n_cells, directional=directional, seed=seed)
    return observe(log, TRACK, paths, cells=cells, speed=500.0, seed=seed), paths


@pytest.fixture(scope="module")
def directional():
    return observed(0.7)


def test_a_heading_is_carried_on_across_a_junction():
    """Who heads for a junction heads away from it afterwards, on whichever arm."""
    track = cut_track(make_wtrack(), 5.0)
    walk = walk_of_states(track, 15.0, 2 * track.n_bins)
    np.testing.assert_allclose(walk.sum(axis=1), 1.0)
    _, node = max((np.count_nonzero(track.edges == each), each) for each in range(6))
    towards = {}
    for edge, (one, other) in enumerate(track.edges.tolist()):
        if node in (one, other):
            own = np.flatnonzero(track.edge == edge)
            near = own[0] if one == node else own[-1]
            ahead = 0 if other == node else track.n_bins
            towards[edge] = near + ahead, near + (track.n_bins - ahead)
    assert len(towards) == 3
    for edge, (here, away) in towards.items():
        for other, (there, onwards) in towards.items():
            if other != edge:
                assert walk[here, onwards] > 0
                assert walk[here, there] == 0
                assert walk[away, there] > 0
        assert walk[here, away] == 0  # a heading does not change in place


def test_headings_share_the_weights_between_bins():
    track = cut_track(make_wtrack(), 10.0)
    between = np.exp(-track.distance / 20.0)
    both = with_headings(track, between)
    n = track.n_bins
    np.testing.assert_allclose(both[:n, :n] + both[:n, n:], between)
    np.testing.assert_allclose(both[n:, n:], both[:n, :n])


def test_travel_ignores_a_step_back():
    track = cut_track(make_linear_track(100.0), 5.0)
    there = np.array([0, 2, 4, 3, 6, 8, 10, 12])
    assert travel(track, there).tolist() == [1] * 8
    assert travel(track, there[::-1]).tolist() == [-1] * 8
    assert travel(track, np.array([3, 3, 3])).tolist() == [0] * 3
    assert heading_of_ways(np.array([0, 1, 1, -1, -1]), np.array([0, 2, 4])).tolist() == [0, 1, -1]


def test_a_cell_has_two_fields_where_they_predict_held_out_runs():
    track, rng = cut_track(TRACK, 5.0), np.random.default_rng(0)
    n_bins = track.n_bins
    lap = np.repeat(np.arange(n_bins), 8)
    place = np.concatenate([lap, lap[::-1]] * 12)
    ahead = np.concatenate([np.ones_like(lap), -np.ones_like(lap)] * 12)
    field = 15 * np.exp(-0.5 * ((np.arange(n_bins) - 15) / 3) ** 2) + 0.1
    rates = np.stack([np.where(ahead > 0, field[place], 0.1 * field[place]), field[place]], axis=1)
    counts = rng.poisson(0.02 * rates)
    assert is_run_both_ways(place, ahead, n_bins)
    assert not is_run_both_ways(place[ahead > 0], ahead[ahead > 0], n_bins)
    seen = Seen.all(*counts.shape)
    found = headed_fields(track, place, ahead, counts, 0.02, Settings(), seen)
    assert found.differs.tolist() == [True, False]
    one, other = found.rates[:, :n_bins].max(axis=1), found.rates[:, n_bins:].max(axis=1)
    assert one[0] > 4 * other[0]
    assert one[1] == other[1]


def test_forward_and_reverse_are_told_where_cells_have_a_heading(directional):
    seen, paths = directional
    found = find_replay(seen.recording, judgement=QUICK)
    true = np.where([along[0] > 0 for along in paths["along"]], "forward", "reverse")
    events = found.events[found.events["is_replay"]]
    kinds = events["kind"].str.removesuffix("_episode")
    assert len(events) >= 0.8 * len(paths)
    assert (kinds == true[events["event"]]).mean() >= 0.9
    assert not ((kinds != true[events["event"]]) & kinds.isin(["forward", "reverse"])).any()
    assert not set(kinds) & {"novel_path", "unexperienced"}
    stretches = found.stretches.sort_values("length").drop_duplicates("event", keep="last")
    senses = stretches.set_index("event")["sense"]
    assert (senses[events["event"]].to_numpy() == true[events["event"]]).mean() >= 0.9
    certain = stretches[["forward", "reverse"]].astype(float)
    headed = certain.sum(axis=1)
    is_sure = (certain.max(axis=1) > 0.95 * headed) & (headed > 0.5)
    named = certain.idxmax(axis=1).where(is_sure, "undecided")
    assert (named == stretches["sense"]).all()
    along = {"forward": 1, "reverse": -1, "undecided": 0}
    paths = found.paths.merge(found.stretches[["event", "stretch", "sense"]])
    assert (paths["along"] == paths["sense"].map(along)).all()


def test_a_sense_needs_cells_with_a_heading_and_little_doubt(directional, monkeypatch):
    """The rest of the probability is that cells fire as if they had no heading."""
    seen, _ = directional
    session = prepare(seen.recording, judgement=QUICK)
    senses = {
        (0.6, 0.02): "forward",
        (0.02, 0.6): "reverse",
        (0.48, 0.01): "undecided",
        (0.9, 0.1): "undecided",
        (0.5, 0.03): "undecided",
        (0.0, 0.0): "undecided",
    }
    monkeypatch.setattr(scoring, "stretches_of", lambda *_: [
        Stretch(0, 2, np.array([0, 1]), *each, 100.0) for each in senses])  # fmt: skip
    found = scoring.score_block(session, 0).stretches
    assert found.loc[found["event"] == 0, "sense"].tolist() == [*senses.values()]


@pytest.mark.parametrize(("share", "headings"), [(0.0, (1, -1)), (0.7, (0,))])
def test_a_heading_that_is_not_there_is_not_guessed(share, headings):
    """Neither where no cell has a heading, nor where replay represents none."""
    seen, _ = observed(share, headings)
    found = find_replay(seen.recording, judgement=QUICK)
    kinds = found.events.loc[found.events["is_replay"], "kind"]
    assert len(kinds) >= 10
    assert (kinds == "ambiguous").mean() >= (0.8 if share else 0.95)
    if not share:
        assert any("too few to tell which heading" in note for note in notes_of(found))


def test_notes_count_replay_that_has_a_sequence(directional):
    """Of events with enough evidence, those without a sequence of eleven states are not replay.

    Each says why, and those without a stretch of travel say that.
    """
    seen, _ = directional
    detection = QUICK.detection._replace(min_length=11)
    found = find_replay(seen.recording, judgement=QUICK._replace(detection=detection))
    enough = found.events["evidence"] >= found.calibration.least_evidence
    is_lost = enough & ~found.events["is_replay"]
    n_lost = int(is_lost.sum())
    assert n_lost > 0
    assert (found.events.loc[is_lost, "why"] == "no sequence of 11 states").all()
    [told] = [note for note in notes_of(found) if "sequence of 11 states" in note]
    assert told.startswith(f"{n_lost} more event")
    assert "11 states" not in count_replay(found.events)  # which says why replay is ambiguous
    scored = scoring.score_all(prepare(seen.recording, judgement=QUICK))
    first = scored.events["evidence"].idxmax()
    without = scored.stretches[scored.stretches["event"] != first]
    changed = conclude(found.session, scored._replace(stretches=without))
    assert "no stretch" in changed.events.loc[first, "why"]
    assert any(note.startswith("1 more event had") for note in notes_of(changed))


def test_a_track_that_is_run_one_way_has_no_headings():
    seen, _ = observed(0.7)
    log, way, _ = run_both_ways()
    steps = log.columns("steps")
    kept = np.isin(steps["episode"], range(0, 24, 2))
    one_way = EventLog(
        {"steps": {name: steps[name][kept] for name in ("state", "next_state", "terminated")}},
        mdp=log.mdp,
    )
    paths = pd.DataFrame({"step": [12], "states": [way]})
    seen = observe(one_way, TRACK, paths, cells=seen.cells, speed=500.0)
    assert prepare(seen.recording).headings is None


def test_recovery_tells_headings_too(directional):
    seen, _ = directional
    found = recover(seen)
    assert set(found["true_kind"]) == {"forward_episode", "reverse_episode"}
    assert (found["kind"] == found["true_kind"]).mean() >= 0.85
    log, *_ = run_both_ways()
    kinds = ("forward_episode", "reverse_episode")
    with pytest.raises(ValueError, match="kind forward_episode"):
        known_paths(log, n_each=2, length=100.0, kinds=kinds)
    drawn = known_paths(log, n_each=2, length=100.0, kinds=kinds, headings=True)
    assert [along[0] for along in drawn["along"]] == [1, 1, -1, -1]


def test_a_posterior_with_inbound_and_outbound_states_has_a_heading():
    """Two sweeps to the end of the track, the first outbound and the second inbound."""
    xarray = pytest.importorskip("xarray")
    graph = make_linear_track(160.0)
    graph.graph["edge_order"] = list(graph.edges)
    graph.graph["edge_spacing"] = 0.0
    states = ["Inbound-Continuous", "Outbound-Continuous"]
    position, n = np.arange(2.5, 160.0, 5.0), 32
    posterior = np.full((2 * n, 2, n), 1e-4)
    posterior[np.arange(n), 1, np.arange(n)] = 1.0
    posterior[n + np.arange(n), 0, np.arange(n)] = 1.0
    posterior /= posterior.sum(axis=(1, 2), keepdims=True)
    time = 60.0 + np.arange(2 * n) * 0.01 + np.repeat([0.0, 5.0], n)
    data = xarray.Dataset(
        {"acausal_posterior": (("time", "state", "position"), posterior)},
        {"time": time, "state": states, "position": position},
    )
    read = read_posterior(data, graph)
    assert read.posterior.outward[[0, -1]].round().tolist() == [1.0, 0.0]
    seen, _ = observed(0.0, n_cells=5)
    events = pd.DataFrame({"start_time": time[[0, n]], "end_time": time[[n - 1, -1]] + 0.01})
    own = replace(read, time=seen.recording.time, position=seen.recording.position, events=events)
    found = find_replay(own, judgement=QUICK)
    assert found.events["kind"].tolist() == ["forward_episode", "reverse_episode"]
    del graph.graph["edge_order"]
    without = read_posterior(data, graph, bins=pd.DataFrame(
        {"linear_position": position, "x_position": position, "y_position": 0.0}))  # fmt: skip
    assert without.posterior.outward is None
    assert "only a graph with linear_edge_order" in without.notes[0]


def test_spikes_and_not_a_posterior_beside_them_say_whether_paths_have_a_heading(directional):
    seen, _ = directional
    session = prepare(seen.recording)
    assert session.has_headings
    flat = np.full((2, session.track.n_bins), 1 / session.track.n_bins)
    posterior = Posterior(np.array([0.0, 0.01]), flat, session.track.position, {})
    both = session._replace(recording=replace(seen.recording, posterior=posterior))
    assert both.has_headings
    assert not both._replace(cells=session.cells[:0], headings=None).has_headings
    outward = posterior._replace(outward=np.array([0.5, 0.5]))
    decoded = replace(seen.recording, posterior=outward, spikes=())
    alone = session._replace(recording=decoded, cells=session.cells[:0], headings=None)
    assert alone.has_headings
