"""The page equals the tables, accesses no network, and works."""

import base64
import json
import re
import zlib
from itertools import pairwise
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from analyses import classify, place_sequences
from analyses.cli import app
from analyses.page import write_page, writing
from analyses.page.worlds import describe_world, pack
from analyses.recordings.basics.arena import arena_graph, world_of
from analyses.recordings.basics.binned_track import cut_track
from analyses.recordings.prepare.event_evidence import EVIDENCE, Evidence, likely_path
from analyses.recordings.readers.track_graphs import draw_track
from analyses.sequences.events import replayed_moves
from analyses.studies.pages import DecodedResults, page_of_folders, read_decoded
from analyses.tables import KINDS
from replay.files import write_checksums
from replay.log.backups import PHASES
from replay.log.event_log import EventLog
from replay.simulation import feed, simulate
from replay.tasks.published import find_task
from replay.worlds.mazes import from_ascii, random_maze
from replay.worlds.mdp import MDP
from replay.worlds.tracks import make_wtrack
from replay.worlds.trees import deterministic_tree


def unpack(packed):
    """Unpack columns as the page does."""
    content = zlib.decompress(base64.b64decode(packed["data"]))
    columns = {}
    for name, (kind, begin, n) in packed["columns"].items():
        values = np.frombuffer(content, f"<{kind.lstrip('+')}", n, begin)
        columns[name] = np.cumsum(values.astype(np.int64)) if kind.startswith("+") else values
    return columns


def data_of(path):
    """Read what a browser reads of a page."""
    text = path.read_text(encoding="utf-8")
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    return json.loads(found[1])


def counts_of(run):
    counts = unpack(run["counts"])
    counts.pop("n_windows")
    return pd.DataFrame(counts)


def lists(flat, lengths):
    return np.split(flat, np.cumsum(lengths)[:-1])


def states_of(events, number, sequence):
    """List the states of a sequence (by its number on the page) of an event, as the page does."""
    first = np.append(0, np.cumsum(events["event_moves"].astype(int)))[number]
    place = lists(events["place"], events["sequence_length"].astype(int) - 1)[sequence]
    moves = first + place.astype(int)
    return [int(events["move_from"][moves[0]]), *events["move_to"][moves].astype(int).tolist()]


@pytest.fixture(scope="module")
def maze():
    return random_maze(12, seed=3)


@pytest.fixture(scope="module")
def sweeping(maze):
    return simulate(maze, "prioritized_sweeping", n_steps=4_000, seed=1, log="all").log


@pytest.fixture(scope="module")
def control(maze, sweeping):
    size = {"n_states": maze.n_states, "n_actions": maze.n_actions}
    return feed("episodic_control", sweeping.steps, **size, mdp=maze)


@pytest.fixture(scope="module")
def decoded():
    """Make a rat that ran two laps on a W-track, and replayed three paths."""
    graph = make_wtrack()
    world = MDP.from_networkx(graph, bin_size=15.0)
    ways = nx.Graph(world.to_networkx())
    left, right = (nx.shortest_path(ways, 4, end) for end in (3, 5))
    moves = [move for lap in (left, right) for move in pairwise(lap)]
    steps = {
        "state": [here for here, _ in moves],
        "next_state": [there for _, there in moves],
        "terminated": np.isin(np.arange(len(moves)), [len(left) - 2, len(moves) - 1]),
        "time": np.arange(len(moves)) * 0.5 + 100.0,
    }
    log = EventLog({"steps": steps}, mdp=world)
    paths = [left[::-1], right, nx.shortest_path(ways, 3, 5), right[:4]]
    time = [110.0, 118.0, 118.5, 119.0]
    listed = pd.DataFrame({"time": time, "states": paths, "phase": "rest"})
    sequences = place_sequences(log, listed)
    sequences["event"] = np.array([1, 2, 4, 7])[sequences["event"]]
    start = np.arange(9.0) + 110.0
    events = pd.DataFrame({"event": range(9), "start_time": start, "end_time": start + 0.2,
                           "is_replay": np.isin(range(9), [1, 2, 4, 7])})  # fmt: skip
    decoded_paths = pd.DataFrame(
        {"event": [1, 1, 2], "time": [111.0, 111.005, 112.0], "x": [0.0, 5.0, 1.0], "y": 2.0}
    )
    return DecodedResults(events, sequences, decoded_paths, log)


# -- columns --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values",
    [[], [0], [3, 1, 2], [255, 256], [70_000, 1], [-5, 3], list(range(100, 400)), [True, False],
     [2**32 - 1, 0]],
    ids=str,
)  # fmt: skip
def test_columns_come_back(values):
    assert unpack(pack({"a": [1], "it": values}))["it"].tolist() == list(map(int, values))


def test_the_page_has_all_that_its_scripts_read(sweeping, tmp_path):
    data = data_of(write_page(sweeping, tmp_path / "page.html"))
    scripts = "".join(
        path.read_text("utf-8") for path in Path(writing.__file__).parent.glob("*.js")
    )
    read = set(re.findall(r"page\.data\.(\w+)", scripts))
    assert len(read) > 5
    assert read <= data.keys()


def test_floats_are_kept_in_single_precision():
    assert unpack(pack({"x": [0.1, -3.5]}))["x"].tolist() == [np.float32(0.1), -3.5]


# -- counts and events equal the tables -----------------------------------------------------


@pytest.mark.parametrize("across_events", [False, True])
def test_counts_equal_the_table_of_classify(sweeping, across_events, tmp_path):
    page = write_page(sweeping, tmp_path / "page.html", across_events=across_events)
    (run,) = data_of(page)["runs"]
    table = classify(sweeping, min_length=3, across_events=across_events)
    expected = table.groupby(["kind", "phase", "length"], observed=True).size()
    counts = counts_of(run)
    counts["kind"] = [KINDS[kind] for kind in counts["kind"]]
    counts["phase"] = [PHASES[phase] for phase in counts["phase"]]
    found = counts.groupby(["kind", "phase", "length"])["n"].sum()
    assert len(table) > 20
    assert found.to_dict() == expected.to_dict()
    assert run["n_sequences"] == len(table)
    assert run["n_events"] == table["event"].nunique()
    by_window = counts.groupby("window")["n"].sum().to_dict()
    n_windows = int(unpack(run["counts"])["n_windows"][0])
    assert by_window == (table["step"] * n_windows // 4_000).value_counts().to_dict()


def test_events_are_those_of_the_log(sweeping, control, tmp_path):
    page = write_page([sweeping, control], tmp_path / "page.html")
    for run, log in zip(data_of(page)["runs"], (sweeping, control), strict=True):
        events = unpack(run["events"])
        table = classify(log, min_length=3)
        assert events["event_number"].tolist() == sorted(table["event"].unique())
        of_sequence = np.repeat(events["event_number"], events["event_sequences"])
        by_event = table.sort_values("event", kind="stable")
        assert of_sequence.tolist() == by_event["event"].tolist()
        assert [KINDS[kind] for kind in events["sequence_kind"]] == by_event["kind"].tolist()
        which = np.repeat(np.arange(run["n_shown"]), events["event_sequences"])
        ends = lists(events["piece_end"], events["sequence_pieces"].astype(int))
        episodes = lists(events["piece_episode"], events["sequence_pieces"].astype(int))
        for k, row in enumerate(by_event.itertuples()):
            if k % 7:
                continue
            states = states_of(events, which[k], k)
            assert states == row.states.tolist()
            assert len(ends[k]) == row.composition_order
            assert len(set(episodes[k].tolist())) == row.n_episodes
            assert ends[k][-1] == len(states) - 1
            splices = [states[end] for end in ends[k][:-1]]
            expected = row.splice_states.tolist()
            assert splices == (expected[::-1] if row.orientation == "reverse" else expected)
        begin = np.append(0, np.cumsum(events["event_moves"].astype(int)))
        for k in range(0, run["n_shown"], 11):
            moves = replayed_moves(log, int(events["event_number"][k]))
            own = slice(begin[k], begin[k + 1])
            assert events["move_from"][own].tolist() == moves["state"].tolist()
            assert events["move_to"][own].tolist() == moves["next_state"].tolist()
            assert events["event_location"][k] == moves["location"].iloc[0]


def test_steps_come_back(sweeping, tmp_path):
    page = data_of(write_page(sweeping, tmp_path / "page.html"))
    way = unpack(page["experiences"][0])
    first = np.searchsorted(way["pair_from"], np.arange(sweeping.mdp.n_states))
    steps = sweeping.steps
    pair = first[steps["state"]] + way["rank"]
    assert way["pair_from"][pair].tolist() == steps["state"].tolist()
    assert way["pair_to"][pair].tolist() == steps["next_state"].tolist()
    assert way["begin_episode"].tolist() == steps["episode"].unique().tolist()
    paid = steps[steps["reward"] > 0]
    assert way["paid_made"][0] == paid["step"].iloc[0] + 1
    assert way["paid_state"].tolist() == [paid["next_state"].iloc[0]]  # one goal


def test_values_are_those_of_the_graph(sweeping, tmp_path):
    (run,) = data_of(write_page(sweeping, tmp_path / "page.html"))["runs"]
    values = unpack(run["values"])
    n_states = sweeping.mdp.n_states
    low, high = run["values"]["low"], run["values"]["high"]
    for k in (0, 5, len(values["made"]) - 1):
        graph = sweeping.graph(until=int(values["made"][k]) - 1)
        coded = values["value"][k * n_states : (k + 1) * n_states]
        for state in range(n_states):
            value = graph.nodes[state]["value"] if state in graph else np.nan
            if np.isnan(value):
                assert coded[state] == 255
            else:
                assert low + coded[state] / 254 * (high - low) == pytest.approx(
                    value, abs=(high - low) / 254
                )


def test_values_are_unknown_if_the_log_keeps_replay_only(maze, tmp_path):
    log = simulate(maze, "episodic_control", n_steps=300, log="replay").log
    (run,) = data_of(write_page(log, tmp_path / "page.html"))["runs"]
    assert run["values"] is None


def test_one_experience_is_kept_once(sweeping, control, maze, tmp_path):
    page = data_of(write_page([sweeping, control], tmp_path / "page.html"))
    assert [run["experience"] for run in page["runs"]] == [0, 0]
    assert len(page["experiences"]) == len(page["worlds"]) == 1
    other = simulate(maze, "episodic_control", n_steps=500, seed=9).log
    page = data_of(write_page(EventLog.concat([control, other]), tmp_path / "page.html"))
    assert [run["experience"] for run in page["runs"]] == [0, 1]
    assert [run["name"] for run in page["runs"]] == ["Episodic control", "Episodic control, seed 9"]


def test_decoded_replay_is_counted_as_in_its_table(decoded, tmp_path):
    page = data_of(write_page(decoded, tmp_path / "page.html"))
    (run,) = page["runs"]
    counts = counts_of(run)
    found = counts.groupby("kind")["n"].sum()
    expected = decoded.sequences["kind"].value_counts()
    assert {KINDS[kind]: n for kind, n in found.items()} == expected[expected > 0].to_dict()
    assert set(expected[expected > 0].index) >= {"forward_episode", "reverse_episode", "novel_path"}
    events = unpack(run["events"])
    assert events["event_number"].tolist() == [1, 2, 4, 7]
    assert events["event_samples"].tolist() == [2, 1, 0, 0]
    assert events["path_ms"].tolist() == [0, 5, 0]
    for k, row in enumerate(decoded.sequences.itertuples()):
        assert states_of(events, k, k) == row.states.tolist()
    assert events["sequence_pieces"].tolist() == decoded.sequences["composition_order"].tolist()
    assert unpack(page["experiences"][0])["seconds"][:2].tolist() == [0.0, 0.5]
    assert page["worlds"][0]["style"] == "track"


def test_the_axis_of_a_recording_is_time(decoded, sweeping, tmp_path):
    """All replay is after the last move, and yet not in one window."""
    (run,) = data_of(write_page(decoded, tmp_path / "page.html"))["runs"]
    assert unpack(run["events"])["event_time"].tolist() == [11.0, 12.0, 14.0, 17.0]
    assert run["span"] == [0.0, 17.0]
    assert unpack(run["counts"])["n_windows"].tolist() == [10]
    assert counts_of(run)["window"].tolist() == [6, 7, 8, 9]
    both = data_of(write_page([decoded, sweeping], tmp_path / "both.html"))["runs"]
    assert [each["span"] for each in both] == [None, None]  # a learner has no seconds
    assert counts_of(both[0])["window"].tolist() == [20, 25, 25, 25]  # of its moves


def test_events_without_a_start_or_with_one_number_are_told(decoded, tmp_path):
    events = decoded.events
    for wrong, message in [
        (events.assign(start_time=events["start_time"].where(events["event"] != 2)),
         r"The column 'start_time' of events must hold finite numbers; row 2 has nan"),
        (events.assign(event=events["event"].replace(2, 1)), "has event 1 twice"),
        (events[events["event"] != 4], "lacks event 4, which has sequences"),
    ]:  # fmt: skip
        keep_decoded(tmp_path, "recording", {**tables_of(decoded), "events": wrong})
        for made in (lambda: page_of_folders([tmp_path], tmp_path / "page.html"),
                     lambda each=wrong: write_page(decoded._replace(events=each),
                                                   tmp_path / "page.html")):  # fmt: skip
            with pytest.raises(ValueError, match=message):
                made()


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("kind", "sideways", "Unknown kind of sequences 'sideways'"),
        ("phase", "lunch", "Unknown phase of sequences 'lunch'"),
        ("location", np.nan, "The column 'location' of sequences must hold whole numbers"),
        ("step", 0.5, "The column 'step' of sequences must hold whole numbers"),
    ],
)
def test_wrong_sequences_are_told_with_their_folder(name, values, message, decoded, tmp_path):
    wrong = decoded.sequences.assign(**{name: values})
    with pytest.raises(ValueError, match=message):
        write_page(decoded._replace(sequences=wrong), tmp_path / "page.html")
    keep_decoded(tmp_path, "recording", {**tables_of(decoded), "sequences": wrong})
    with pytest.raises(ValueError, match=message) as told:
        page_of_folders([tmp_path], tmp_path / "page.html")
    assert str(told.value).startswith(f"{tmp_path} holds results that this version cannot read (")
    assert str(told.value).endswith("Run its command again in another folder.")


# -- the evidence for decoded events --------------------------------------------------------


def tables_of_evidence(events, track):
    """Make a cell for every second bin, which fire one after the other in each event.

    Of its 40 time bins, five at either end are outside of the stretch of travel.
    """
    cells = np.arange(0, track.n_bins, 2)
    rates = 0.1 + 30 * np.exp(-0.5 * (np.arange(track.n_bins) - cells[:, None]) ** 2)
    n = len(cells)
    parts = [*events[["event", "start_time"]].itertuples(index=False)]
    after = 0.2 * (np.arange(n) + 0.5) / n
    spikes = [pd.DataFrame({"event": event, "cell": cells, "time": start + after})
              for event, start in parts]  # fmt: skip
    traces = [pd.DataFrame({"event": event, "time": start + np.linspace(0, 0.2, 101),
                            "multiunit_rate": np.linspace(0, 400, 101), "speed": np.nan,
                            "field_potential": np.sin(np.arange(101)), "x": 0.0, "y": 0.0})
              for event, start in parts]  # fmt: skip
    bins = np.tile(np.arange(track.n_bins), n)
    fields = pd.DataFrame(
        {"cell": np.repeat(cells, track.n_bins), "bin": bins, "rate": rates.ravel()}
    )
    at = np.linspace(0, track.n_bins - 1, 30).astype(int)
    x, y = track.position[at].T
    moment = 0.0025 + 0.005 * np.arange(5, 35)
    paths = [pd.DataFrame({"event": event, "stretch": 0, "time": start + moment, "x": x, "y": y})
             for event, start in parts]  # fmt: skip
    tables = (events, *map(pd.concat, (paths, spikes, traces)), fields)
    return dict(zip(EVIDENCE, tables, strict=True))


SETTINGS = {"time_bin": 0.005, "diffusion": 5000.0, "bin_size": 5.0}


@pytest.fixture
def evidence(decoded):
    track = cut_track(make_wtrack(), 5.0)
    return Evidence(track, SETTINGS, tables_of_evidence(decoded.events, track))


def test_the_evidence_is_what_was_decoded_and_measured(decoded, evidence, tmp_path):
    (run,) = data_of(write_page(decoded._replace(evidence=evidence), tmp_path / "p.html"))["runs"]
    held = run["evidence"]
    track = evidence.track
    (axis,) = held["places"]
    assert len(axis["low"]) == len(axis["high"]) == track.n_bins
    assert {name for _, name in axis["nodes"]} == {str(node) for node in track.nodes}
    assert (held["n_held"], len(held["events"])) == (4, 4)
    for number, packed in zip([1, 2, 4, 7], held["events"], strict=True):
        event, shown = evidence.of(number), unpack(packed)
        assert packed["seconds"] == pytest.approx(0.2)
        assert packed["n_cells"] == len(event.spikes)
        peak = evidence.rates.argmax(axis=1)
        low = np.array(axis["low"])
        by_field = np.argsort(low[peak], kind="stable")
        time = [event.spikes[by_field[row]][0] - event.start for row in shown["spike_row"]]
        assert shown["spike_time"] / 1e4 == pytest.approx(np.array(time), abs=1e-4)
        assert (np.diff(shown["spike_time"].astype(int)) >= 0).all()
        places = event.posterior.sum(axis=1)
        coded = shown["place_0"].reshape(places.shape) / 255 * packed["highest"]
        assert coded == pytest.approx(np.minimum(places, packed["highest"]), abs=1 / 254)
        course = np.linspace(0, track.n_bins - 1, 30).astype(int).tolist()
        assert event.path.tolist() == [-1] * 5 + course + [-1] * 5
        likely = places[np.arange(40), event.path] >= 0.1 * places.max(axis=1)
        assert shown["path_0"].tolist() == np.where(likely, event.path, -1).tolist()
        assert set(packed["traces"]) == {"multiunit_rate", "field_potential"}  # no speed is known
        low, high = packed["traces"]["field_potential"]
        wave = low + shown["field_potential"] / 254 * (high - low)
        assert wave == pytest.approx(np.sin(np.arange(101)), abs=(high - low) / 254)


def test_places_in_an_arena_have_two_axes(decoded, tmp_path):
    track = cut_track(arena_graph(np.mgrid[5:60:10, 5:40:10].reshape(2, -1).T, 10.0))
    evidence = Evidence(track, SETTINGS, tables_of_evidence(decoded.events, track))
    (run,) = data_of(write_page(decoded._replace(evidence=evidence), tmp_path / "p.html"))["runs"]
    x, y = run["evidence"]["places"]
    assert (len(x["low"]), len(y["low"])) == (6, 4)
    shown, event = unpack(run["evidence"]["events"][0]), evidence.of(1)
    packed = run["evidence"]["events"][0]
    places = event.posterior.sum(axis=1)
    for k, axis in enumerate((x, y)):
        low = np.array(axis["low"])
        inside = (track.position[:, k, None] > low) & (track.position[:, k, None] < low + 10)
        coded = shown[f"place_{k}"].reshape(len(places), -1) / 255 * packed["highest"]
        expected = np.minimum(places @ inside, packed["highest"])
        assert coded == pytest.approx(expected, abs=1 / 254)
        travels = likely_path(event.path, places) >= 0
        assert travels.any()
        assert inside[event.path[travels], shown[f"path_{k}"][travels]].all()
        assert (shown[f"path_{k}"][~travels] == -1).all()


def test_without_spikes_what_was_measured_is_shown(decoded, tmp_path):
    track = cut_track(make_wtrack(), 5.0)
    tables = tables_of_evidence(decoded.events, track)
    tables |= {name: tables[name].iloc[:0] for name in ("spikes.parquet", "place_fields.parquet")}
    bare = decoded._replace(evidence=Evidence(track, SETTINGS, tables))
    (run,) = data_of(write_page(bare, tmp_path / "page.html"))["runs"]
    assert set(unpack(run["evidence"]["events"][0])) == {"multiunit_rate", "field_potential"}
    traces = tables["traces.parquet"]
    others = tables | {"traces.parquet": traces[traces["event"] != 1]}
    assert Evidence(track, SETTINGS, others).of(1).traces.empty


def test_too_much_evidence_is_kept_for_some_events(decoded, evidence, tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "_MOST_EVIDENCE", 5_000)
    (run,) = data_of(write_page(decoded._replace(evidence=evidence), tmp_path / "p.html"))["runs"]
    held = run["evidence"]
    assert 0 < held["n_held"] < 4
    assert sum(event is not None for event in held["events"]) == held["n_held"]
    assert len(json.dumps(held["events"])) < 5_100
    assert run["n_shown"] == 4


def test_names_of_nodes_cannot_end_the_data(decoded, tmp_path):
    evil = "</script><script>alert(1)</script>"
    track = cut_track(nx.relabel_nodes(make_wtrack(), {0: evil}), 5.0)
    evidence = Evidence(track, SETTINGS, tables_of_evidence(decoded.events, track))
    path = write_page(decoded._replace(evidence=evidence), tmp_path / "page.html")
    assert "<script>alert" not in path.read_text(encoding="utf-8")
    (axis,) = data_of(path)["runs"][0]["evidence"]["places"]
    assert evil in {name for _, name in axis["nodes"]}


# -- size, samples, safety ------------------------------------------------------------------


def test_a_hundred_thousand_steps_take_less_than_a_megabyte(maze, tmp_path):
    log = simulate(maze, "episodic_control", n_steps=100_000, log="all").log
    page = write_page(log, tmp_path / "page.html")
    (run,) = data_of(page)["runs"]
    assert page.stat().st_size < 1_000_000
    assert run["n_sequences"] > 5_000
    assert run["n_shown"] == run["n_events"]  # there is room for all


def test_above_a_size_events_are_sampled(sweeping, control, tmp_path, monkeypatch):
    whole = data_of(write_page([sweeping, control], tmp_path / "whole.html"))["runs"]
    monkeypatch.setattr(writing, "_MOST_BYTES", 0)
    monkeypatch.setattr(writing, "_LEFT_FOR_EVENTS", 5_000)
    monkeypatch.setattr(writing, "_FEWEST_OF_A_KIND", 2)
    parts = data_of(write_page([sweeping, control], tmp_path / "part.html"))["runs"]
    assert len(json.dumps([part["events"] for part in parts])) < 5_000
    for part, run in zip(parts, whole, strict=True):
        assert part["counts"] == run["counts"]
        assert part["n_events"] == run["n_events"]
        kept, all_events = unpack(part["events"]), unpack(run["events"])
        assert set(kept["event_number"].tolist()) <= set(all_events["event_number"].tolist())
        assert set(kept["sequence_kind"].tolist()) == set(all_events["sequence_kind"].tolist())
    assert parts[1]["n_shown"] < whole[1]["n_shown"]


def test_nothing_can_ask_a_network(sweeping, tmp_path):
    text = write_page(sweeping, tmp_path / "page.html").read_text(encoding="utf-8")
    assert not re.search(r"https?:|//[a-z0-9-]+\.[a-z]|@import|url\(|\bsrc=|fetch\(|XMLHttp", text)
    assert "default-src 'none'" in text
    assert re.findall(r'href="([^"]*)"', text) == ["data:,"]


def test_the_same_log_gives_the_same_page(sweeping, tmp_path):
    one = write_page(sweeping, tmp_path / "one.html").read_bytes()
    assert one == write_page(sweeping, tmp_path / "two.html").read_bytes()


def test_names_cannot_end_the_data(tmp_path):
    evil = "</script><script>alert(1)</script>{{data}}"
    world = MDP.from_tables([[1], [2], [2]], reward=[0, 0, 1], terminal=[2], labels=[evil, "b", 3])
    log = simulate(world, "episodic_control", n_steps=20).log.label(learner=evil)
    path = write_page(log, tmp_path / "page.html", title=evil)
    assert "<script>alert" not in path.read_text(encoding="utf-8")
    data = data_of(path)
    assert data["title"] == evil
    assert data["worlds"][0]["labels"][0] == evil


# -- worlds ---------------------------------------------------------------------------------


def test_how_worlds_are_drawn():
    maze = describe_world(from_ascii("S.G", cell_size=5))
    assert (maze["style"], maze["unit"]) == ("maze", 5.0)
    assert len(unpack(maze)["wall_x"]) == 12
    barred = from_ascii("S.G\n...").with_barrier((1, 2), (2, 2)).with_barrier((1, 1), (2, 1))
    later = unpack(describe_world(barred, {0: [(0, 1), (1, 0)], 10: []}))
    assert (later["barrier_one"].tolist(), later["barrier_other"].tolist()) == ([3], [4])
    tree = describe_world(deterministic_tree(3, 2))
    assert tree["style"] == "graph"
    track = MDP.from_networkx(make_wtrack(), bin_size=15.0)
    assert describe_world(track)["style"] == "track"
    assert describe_world(find_task("gupta_2t").build().world)["name"] == "Two-choice T"
    assert describe_world(track)["floor"] == describe_world(track)["unit"]
    assert describe_world(MDP.from_tables([[1], [0]], reward=[0, 1]))["style"] == "graph"
    arena = world_of(arena_graph(np.mgrid[5:100:10, 5:100:10].reshape(2, -1).T, 10.0), 20.0)
    field = describe_world(arena)  # drawn as a whole, not as corridors with holes between them
    assert (field["style"], field["floor"]) == ("track", pytest.approx(1.1 * 20.0))


def test_walls_of_the_moment():
    """A cell that can't be entered is closed; of other moves, the line between two states."""
    maze = from_ascii("S.G\n...")
    state = {place: k for k, place in enumerate(map(tuple, maze.labels))}
    middle, below = (state[place] for place in [(2, 1), (2, 2)])
    ways_in = [(state[place], middle) for place in [(1, 1), (3, 1), (2, 2)]]
    both = [(below, middle), (middle, below)]
    closed = {10: ways_in, 20: both, 30: both[:1], 40: []}
    page = unpack(describe_world(maze, closed))
    lines = np.column_stack((page["one"], page["other"])).astype(int).tolist()
    assert page["closed_from"].tolist() == [10, 20, 30, 40]
    assert page["closed_states"].tolist() == [1, 0, 0, 0]
    assert page["closed_state"].tolist() == [middle]
    assert page["closed_lines"].tolist() == [0, 1, 0, 0], "the way back is open"
    assert lines[int(page["closed_line"][0])] == sorted(both[0])
    assert "closed_from" not in describe_world(maze)["columns"]


def test_a_log_without_its_world(sweeping, tmp_path):
    sweeping.save(tmp_path / "log")
    (tmp_path / "log" / "world.json").unlink()
    page = data_of(page_of_folders([tmp_path / "log"], tmp_path / "page.html"))
    assert page["worlds"][0]["known"] is False
    assert page["runs"][0]["n_sequences"] == len(classify(sweeping, min_length=3))


# -- the command ----------------------------------------------------------------------------


def test_the_command(sweeping, control, tmp_path):
    sweeping.save(tmp_path / "one")
    control.save(tmp_path / "two")
    out = tmp_path / "page.html"
    done = CliRunner().invoke(
        app, ["page", str(tmp_path / "one"), str(tmp_path / "two"), "--out", str(out)]
    )
    assert done.exit_code == 0, done.exception
    assert [run["name"] for run in data_of(out)["runs"]] == [
        "Prioritized sweeping",
        "Episodic control",
    ]


def test_a_reproduction(sweeping, control, tmp_path):
    made = {"study": "reproduction", "experiments": ["stochastic_tree", "maze"], "seed": 0}
    made["learners"] = ["prioritized_sweeping", "episodic_control", "q_learning"]
    (tmp_path / "manifest.json").write_text(json.dumps(made))
    for learner, log in (("prioritized_sweeping", sweeping), ("episodic_control", control)):
        log.save(tmp_path / "logs" / "maze" / f"{learner}-0-0")
    out = tmp_path / "page.html"
    runs = data_of(page_of_folders([tmp_path], out))["runs"]
    assert [run["name"] for run in runs] == ["Prioritized sweeping", "Episodic control"]
    tables = [classify(log, min_length=3) for log in (sweeping, control)]
    assert [run["n_sequences"] for run in runs] == list(map(len, tables))
    (run,) = data_of(page_of_folders([tmp_path], out, learners=["episodic_control"]))["runs"]
    assert run["name"] == "Episodic control"
    with pytest.raises(FileNotFoundError, match="contains no event log of stochastic_tree"):
        page_of_folders([tmp_path], out, experiment="stochastic_tree")
    with pytest.raises(ValueError, match="Unknown experiment of"):
        page_of_folders([tmp_path], out, experiment="tree")
    with pytest.raises(ValueError, match="Unknown learner of"):
        page_of_folders([tmp_path], out, learners=["sfma"])


def test_results_of_another_command_are_named(tmp_path):
    made = {"study": "reproduce", "command": "replay reproduce"}
    (tmp_path / "manifest.json").write_text(json.dumps(made))
    with pytest.raises(ValueError, match="was written by replay reproduce: name a folder that"):
        read_decoded(tmp_path)


def keep_decoded(folder, study, tables):
    made = {"study": study, "judgement": {"state_size": 15.0}, "settings": SETTINGS}
    (folder / "manifest.json").write_text(json.dumps(made))
    (folder / "track.json").write_text(json.dumps(draw_track(make_wtrack())))
    tables.pop("events").to_csv(folder / "events.csv", index=False)
    for name, table in tables.items():
        table.to_parquet(folder / f"{name}.parquet")
    write_checksums(folder / "tables.sha256", [folder / "events.csv"], folder)


def tables_of(decoded):
    tables = decoded._asdict() | {"experience": decoded.experience.steps}
    left_out = ("name", "evidence", "known_replay")
    return {name: table for name, table in tables.items() if name not in left_out}


def test_results_of_a_recording(decoded, tmp_path):
    keep_decoded(tmp_path, "recording", tables_of(decoded))
    read = write_page(decoded, tmp_path / "page.html").read_bytes()
    assert page_of_folders([tmp_path], tmp_path / "other.html").read_bytes() == read


def test_results_of_a_recording_with_their_evidence(decoded, evidence, tmp_path):
    tables = tables_of_evidence(decoded.events, evidence.track)
    decoded = decoded._replace(paths=tables["paths.parquet"])
    keep_decoded(tmp_path, "recording", tables_of(decoded))
    for name, table in tables.items():
        if name not in ("events.csv", "paths.parquet"):
            table.to_parquet(tmp_path / name)
    read = write_page(decoded._replace(evidence=evidence), tmp_path / "page.html").read_bytes()
    assert page_of_folders([tmp_path], tmp_path / "other.html").read_bytes() == read


def test_results_of_several_animals(decoded, tmp_path):
    tables = {
        name: pd.concat([table.assign(animal="Anna"), table.assign(animal="Bert")])
        for name, table in tables_of(decoded).items()
    }
    keep_decoded(tmp_path, "recordings", tables)
    page = data_of(page_of_folders([tmp_path], tmp_path / "page.html"))
    assert [run["name"] for run in page["runs"]] == ["Anna", "Bert"]
    assert {run["n_sequences"] for run in page["runs"]} == {len(decoded.sequences)}


def test_what_is_no_log_is_told(tmp_path):
    with pytest.raises(FileNotFoundError, match="contains neither an event log"):
        page_of_folders([tmp_path], tmp_path / "page.html")
    (tmp_path / "manifest.json").write_text('{"study": "demands", "command": "replay demands"}')
    with pytest.raises(ValueError, match="written by replay demands, and contains no replay"):
        page_of_folders([tmp_path], tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize(
    ("replay", "options", "message"),
    [
        (3, {}, "replay must"),
        ([], {}, "nothing to show"),
        ([3], {}, "shows event logs or decoded replay, got 3"),
        (EventLog({}), {}, "has no steps of run 0"),
        (None, {"min_length": 1}, "min_length must be"),
        (None, {"across_events": 1}, "across_events must be"),
        (None, {"title": 3}, "title must be"),
        (None, {"out": 3}, "out must be the path"),
    ],
)
def test_bad_input_is_told(sweeping, replay, options, message, tmp_path):
    given = {"replay": sweeping if replay is None else replay, "out": tmp_path / "page.html"}
    with pytest.raises((ValueError, TypeError), match=message):
        write_page(**given | options)
    assert not list(tmp_path.iterdir())


def test_a_log_without_replay_is_shown(maze, tmp_path):
    log = simulate(maze, "q_learning", n_steps=200, log="all").log
    (run,) = data_of(write_page(log, tmp_path / "page.html"))["runs"]
    assert (run["n_events"], run["n_sequences"]) == (0, 0)


def test_what_accounts_gain_is_said_of_each_event(decoded, tmp_path):
    found = decoded
    rows = [
        {"animal": "rat", "account": account, "event": event, "bits": bits}
        for event in (1, 1, 2, 4, 7)
        for account, bits in {"walk": -6.0, "sfma": -2.5, "dyna_q": -5.0, "ceiling": -1.0}.items()
    ]
    explained = pd.DataFrame(rows)
    data = data_of(write_page(found, tmp_path / "page.html", explained=explained))
    bits = data["runs"][0]["bits"]
    assert bits["accounts"] == ["SFMA", "Dyna-Q", "the ceiling"]
    assert bits["of_event"]["1"] == [7.0, 2.0, 10.0]  # of both sequences
    with pytest.raises(ValueError, match="explanation is of 1 animals, but the page shows 2"):
        write_page([found, found], tmp_path / "page.html", explained=explained)
    with pytest.raises(ValueError, match="of other replay than the page shows"):
        write_page(found, tmp_path / "page.html", explained=explained.assign(event=99))
