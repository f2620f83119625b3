"""Reactivations and place sequences, against their definitions by brute force and by hand."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import (
    N_STATES,
    chains_by_definition,
    event_log,
    examples,
    experienced_episodes,
    holding_episodes,
    logs,
    run_of,
    step_tables,
)

from analyses import classify, place_sequences
from analyses.sequences.place_sequences import Detection
from analyses.sequences.reactivations import reactivations
from analyses.sequences.sequences import Lists
from analyses.sequences.track import Track, graph_of_log, graph_of_task
from replay import simulate
from replay.log.event_log import EventLog
from replay.tasks.published import TASKS
from replay.worlds.mazes import from_ascii

ROW = ["states", "moves", "direction", "novelty", "kind", "composition_order", "splice_states"]
ROW += ["n_episodes", "episode_matched", "first", "last", "length", "n_distinct"]


def merged(places):
    return [place for i, place in enumerate(places) if i == 0 or place != places[i - 1]]


def reactivated_by_definition(backups):
    """List (event, places): temporal chains as walked, and the states that were stayed in."""
    chains = chains_by_definition(backups, "temporal")
    walked = {rows[0]: (rows, way) for rows, way in chains}
    places = {}
    row = 0
    while row < len(backups):
        rows, way = walked.get(row, ([row], "stay"))
        each = [backups[i] for i in rows]
        if way == "reverse":
            states = [each[0]["next_state"], *(backup["state"] for backup in each)]
        else:
            states = [each[0]["state"], *(backup["next_state"] for backup in each)]
        places.setdefault(backups[row]["event"], []).extend(states)
        row = rows[-1] + 1
    return {event: merged(states) for event, states in places.items()}


def sequences_by_definition(steps, step, places, neighbours, min_length):
    """List the sequences of one event as dicts."""
    episodes = experienced_episodes(steps, step)
    made = {(s, t) for moves in episodes.values() for s, _, t in moves}

    def holding(path):
        readings = path, path[::-1]
        return [
            episode
            for reading in readings
            for episode in holding_episodes([(s, 0, t) for s, t in pairwise(reading)], episodes)
        ]

    episodes = {n: [(s, 0, t) for s, _, t in moves] for n, moves in episodes.items()}
    runs = [[place] for place in places[:1]]
    for place, following in pairwise(places):
        if frozenset((place, following)) in neighbours:
            runs[-1].append(following)
        else:
            runs.append([following])
    found = []
    for run in runs:
        if len(set(run)) < min_length:
            continue
        names = {(True, True): "both", (True, False): "forward", (False, True): "backward"}
        moves = [names.get(((s, t) in made, (t, s) in made), "never") for s, t in pairwise(run)]
        one_way = set(moves) - {"both"}
        direction = {
            frozenset(): "both",
            frozenset(["forward"]): "forward",
            frozenset(["backward"]): "reverse",
            frozenset(["forward", "backward"]): "mixed",
        }.get(frozenset(one_way), "neither")
        # All ways to cut the path, by dynamic programming over the last place of each piece.
        least = [0] + [None] * (len(run) - 1)
        for end in range(1, len(run)):
            counts = [
                least[begin] + 1
                for begin in range(end)
                if least[begin] is not None and holding(run[begin : end + 1])
            ]
            least[end] = min(counts, default=None)
        order, begin, cuts, held = least[-1], 0, [], []
        while order and begin < len(run) - 1:
            end = max(e for e in range(begin + 1, len(run)) if holding(run[begin : e + 1]))
            held.append(max(holding(run[begin : end + 1])))
            cuts.append(run[end])
            begin = end
        if order is None:
            novelty = "unexperienced"
        elif order == 1:
            novelty = "experienced"
        else:
            novelty = "composed_mixed" if direction == "mixed" else "composed"
        found.append(
            {
                "states": run,
                "moves": moves,
                "direction": direction,
                "novelty": novelty,
                "kind": {
                    "experienced": {"forward": "forward_episode", "reverse": "reverse_episode"}.get(
                        direction, "ambiguous"
                    ),
                    "unexperienced": "unexperienced",
                }.get(novelty, "novel_path"),
                "composition_order": order,
                "splice_states": cuts[:-1],
                "n_episodes": len(set(held)) if order else None,
                "episode_matched": held[0] if order == 1 else None,
                "first": run[0],
                "last": run[-1],
                "length": len(run),
                "n_distinct": len(set(run)),
            }
        )
    return found


def plain(table, columns=ROW):
    rows = table[list(columns)].astype(object).to_dict("records")
    return [
        {
            key: value.tolist()
            if isinstance(value, np.ndarray)
            else (None if value is pd.NA else value)
            for key, value in row.items()
        }
        for row in rows
    ]


def moved(steps):
    return {frozenset((s["state"], s["next_state"])) for s in steps} - {
        frozenset([state]) for state in range(N_STATES + 1)
    }


@st.composite
def graphs(draw):
    """Draw a graph of all states; most of it, so that sequences are long."""
    pairs = [(s, t) for s in range(N_STATES + 1) for t in range(s)]
    kept = draw(st.lists(st.sampled_from(pairs), min_size=6, unique=True))
    graph = nx.Graph(kept)
    graph.add_nodes_from(range(N_STATES + 1))
    return graph


@given(logs())
@examples(500)
def test_reactivations_of_a_model_are_those_of_the_definition(log):
    steps, backups = log
    table = reactivations(event_log(steps, backups))
    found = {event: rows["place"].tolist() for event, rows in table.groupby("event")}
    assert found == reactivated_by_definition(backups)
    counted = [i for places in found.values() for i in range(len(places))]
    assert table["index"].tolist() == counted


@pytest.mark.filterwarnings("ignore:.* neighbours of the graph")
@given(logs(), st.none() | graphs(), st.integers(2, 4))
@examples(500)
def test_place_sequences_of_a_model_are_those_of_the_definition(log, graph, min_length):
    steps, backups = log
    neighbours = moved(steps) if graph is None else {frozenset(edge) for edge in graph.edges}
    step = {backup["event"]: backup["step"] for backup in backups}
    expected = [
        {"event": event, **row}
        for event, places in reactivated_by_definition(backups).items()
        for row in sequences_by_definition(steps, step[event], places, neighbours, min_length)
    ]
    detection = Detection(min_length=min_length)
    found = place_sequences(event_log(steps, backups), graph=graph, detection=detection)
    assert plain(found, ["event", *ROW]) == expected


@st.composite
def walks(draw):
    """Draw a run, and events that walk along its moves, either way, and seldom jump."""
    steps = draw(step_tables())
    near = {}
    for pair in map(sorted, moved(steps)):
        near.setdefault(pair[0], []).append(pair[1])
        near.setdefault(pair[1], []).append(pair[0])
    events = []
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.integers(0, N_STATES - 1))
        path = [place]
        for _ in range(draw(st.integers(0, 9))):
            anywhere = not near.get(place) or draw(st.integers(0, 9)) == 0
            place = draw(st.integers(0, N_STATES) if anywhere else st.sampled_from(near[place]))
            path.append(place)
        events.append((draw(st.integers(-1, len(steps) - 1)), path))
    return steps, events


@given(walks())
@examples(800)
def test_place_sequences_of_a_rat_are_those_of_the_definition(walk):
    """Of walks of up to ten places: the greedy pieces are the fewest."""
    steps, events = walk
    paths = pd.DataFrame(events, columns=["step", "states"]).astype({"step": int})
    expected = [
        {"event": event, **row}
        for event, (step, path) in enumerate(events)
        for row in sequences_by_definition(steps, step, merged(path), moved(steps), 3)
    ]
    assert plain(place_sequences(event_log(steps, []), paths), ["event", *ROW]) == expected


@given(logs())
@examples(500)
def test_same_places_give_the_same_rows_whichever_side_they_come_from(log):
    """A model's backups, and the places that they reactivate as if they were decoded."""
    steps, backups = log
    model = event_log(steps, backups)
    places = reactivations(model).groupby("event")
    paths = pd.DataFrame(
        {
            "step": places["step"].first().astype(int),
            "phase": places["phase"].first().astype(str),
            "states": places["place"].agg(list),
        }
    )
    rat = event_log(steps, [])
    # The log derives where the animal is from `steps` alone, too.
    pd.testing.assert_frame_equal(place_sequences(model), place_sequences(rat, paths))
    pd.testing.assert_frame_equal(reactivations(model), reactivations(rat, paths))


def decoded(path, *episodes, **options):
    """Give the rows of a path that was decoded after some episodes."""
    paths = pd.DataFrame({"step": [99], "states": [path]})
    return place_sequences(event_log(run_of(*episodes), []), paths, **options)


LEFT, RIGHT = [0, 1, 2, 3, 4], [0, 1, 5, 6, 7]


@pytest.mark.parametrize(
    ("path", "direction", "novelty", "order"),
    [
        ([0, 1, 2, 3], "forward", "experienced", 1),
        ([4, 3, 2], "reverse", "experienced", 1),
        ([4, 3, 2, 1, 5, 6, 7], "mixed", "composed_mixed", 2),  # Gupta's shortcut
        ([2, 3, 2, 1], "mixed", "composed_mixed", 2),  # turns round
        ([8, 9, 8], "both", "experienced", 1),
        ([9, 8, 9], "both", "composed", 2),
        ([0, 1, 2, 8], "neither", "unexperienced", None),
        ([4, 3, 8], "neither", "unexperienced", None),
    ],
)
def test_what_a_rat_replays_after_two_loops(path, direction, novelty, order):
    graph = nx.Graph([*pairwise(LEFT), *pairwise(RIGHT), (8, 9), (2, 8), (3, 8)])
    least = Detection(min_length=2)
    (row,) = plain(decoded(path, LEFT, RIGHT, [8, 9, 8], graph=graph, detection=least))
    assert row["states"] == path
    assert (row["direction"], row["novelty"]) == (direction, novelty)
    assert row["composition_order"] == order


def test_a_backward_piece_that_is_joined_to_a_forward_piece():
    (row,) = plain(decoded([4, 3, 2, 1, 5, 6, 7], LEFT, RIGHT))
    assert row["moves"] == ["backward"] * 3 + ["forward"] * 3
    assert row["splice_states"] == [1]
    assert (row["n_episodes"], row["episode_matched"]) == (2, None)


def test_a_model_makes_the_same_shortcut():
    """A sweep back along one arm, and then ahead along the other, in one event."""
    moves = [(3, 4), (2, 3), (1, 2), (1, 5), (5, 6), (6, 7)]
    backups = [
        {"step": 7, "phase": "rest", "event": 0, "state": s, "next_state": t, "action": 0,
         "cause": -1} for s, t in moves
    ]  # fmt: skip
    found = place_sequences(event_log(run_of(LEFT, RIGHT), backups))
    assert found["states"].iloc[0].tolist() == [4, 3, 2, 1, 5, 6, 7]
    assert found["novelty"].tolist() == ["composed_mixed"]


def test_chains_and_place_sequences_say_if_there_are_far_more_of_the_other():
    """An event of one path; a backup without a cause begins a second chain."""
    steps = {
        "state": [0, 1, 2, 3, 4],
        "next_state": [1, 2, 3, 4, 5],
        "terminated": [False] * 4 + [True],
    }
    backups = {
        "step": 4,
        "phase": "episode_end",
        "state": [4, 3, 2, 1],
        "action": 0,
        "next_state": [5, 4, 3, 2],
    }
    for cause, n_chains in ([-1, 0, 1, 2], 1), ([-1, 0, -1, 2], 2):
        log = EventLog({"steps": steps, "backups": {**backups, "cause": cause}})
        chains, places = classify(log), place_sequences(log)
        assert (len(chains), len(places)) == (n_chains, 1)
        said = ("2 causal chains, but 1 place sequences", "1 place sequences, but 2 causal chains")
        for table, words in zip((chains, places), said, strict=True):
            assert table.attrs.get("note", "").startswith(words) == (n_chains == 2)
            assert bool(table.attrs) == (n_chains == 2)


def test_sequences_end_where_places_are_no_neighbours_and_with_the_event():
    found = decoded([0, 1, 2, 6, 7, 2, 3, 4, 3], LEFT, RIGHT)
    assert [path.tolist() for path in found["states"]] == [[0, 1, 2], [2, 3, 4, 3]]
    assert found["index"].tolist() == [0, 5]
    paths = pd.DataFrame({"step": [9, 9], "states": [[0, 1], [2, 3, 4]]})
    found = place_sequences(event_log(run_of(LEFT), []), paths)
    assert [path.tolist() for path in found["states"]] == [[2, 3, 4]]


def test_novelty_is_judged_by_what_was_before_the_event():
    paths = pd.DataFrame({"step": [1, 3], "states": [[4, 3, 2]] * 2})
    found = place_sequences(event_log(run_of(LEFT), []), paths)
    assert found["novelty"].tolist() == ["unexperienced", "experienced"]
    assert found["episode_lag"].tolist() == [pd.NA, 0]


def ruler(n=8, **edge):
    """Places in a row, ten centimetres apart."""
    return nx.path_graph(n) if not edge else nx.Graph([(i, i + 1, edge) for i in range(n - 1)])


@pytest.mark.parametrize(
    ("criteria", "expected"),
    [
        ({}, [[0, 1, 2, 3]]),  # to and fro between two places is no sequence of three
        ({"min_length": 2}, [[0, 1, 2, 3], [6, 5, 6]]),
        ({"min_length": 4}, [[0, 1, 2, 3]]),
        ({"min_length": 2, "min_distance": 20.0}, [[0, 1, 2, 3], [6, 5, 6]]),
        ({"min_length": 2, "min_distance": 20.1}, [[0, 1, 2, 3]]),
        ({"min_length": 2, "min_extent": 20.0}, [[0, 1, 2, 3]]),
        ({"min_length": 2, "min_correlation": 0.9}, [[0, 1, 2, 3]]),
        ({"min_length": 2, "largest_jump": 2}, [[0, 1, 2, 3], [6, 5, 6]]),
        ({"largest_jump": 3}, [[0, 1, 2, 3, 4, 5, 6, 5, 6]]),
    ],
)
def test_detection_is_the_studys_own(criteria, expected):
    path, detection = [0, 1, 2, 3, 6, 5, 6], Detection(**criteria)
    found = decoded(path, [0, 1], graph=ruler(distance=10.0), detection=detection)
    assert [states.tolist() for states in found["states"]] == expected
    assert found["distance"].tolist() == [10.0 * (len(states) - 1) for states in expected]


def test_a_jump_is_filled_only_where_one_way_is_the_shortest():
    ring = nx.cycle_graph(6)
    jumps = Detection(min_length=2, largest_jump=3)
    found = decoded([0, 2, 5], [0, 1], graph=ring, detection=jumps)
    assert [states.tolist() for states in found["states"]] == [[0, 1, 2]]
    assert decoded([0, 3], [0, 1], graph=ring, detection=jumps).empty


def test_shortcuts_and_impossible_moves_are_what_the_graph_says():
    graph = ruler()
    assert not {"shortcut", "impossible"} & set(decoded([0, 1, 2, 3], [0, 1], graph=graph))
    graph.edges[1, 2]["shortcut"] = graph.edges[2, 3]["shortcut"] = "bridge"
    graph.edges[5, 6]["shortcut"] = True
    graph.edges[6, 7]["impossible"] = True
    paths = [[0, 1, 2, 3], [4, 3, 2, 1], [0, 1, 2, 1], [1, 2, 1, 2], [3, 4, 5, 6], [5, 6, 7]]
    events = pd.DataFrame({"step": 99, "states": paths})
    least = Detection(min_length=2)
    found = place_sequences(event_log(run_of([0, 1]), []), events, graph=graph, detection=least)
    assert found["shortcut"].tolist() == [True, True, False, False, True, True]
    assert found["impossible"].tolist() == [False] * 5 + [True]
    run = place_sequences(event_log(run_of([0, 1, 2, 3, 4]), []), events, graph=graph)
    assert run["shortcut"].tolist()[:2] == [False, False], "what was run as a whole is none"


def test_the_graph_of_a_task_names_its_shortcuts():
    task = TASKS["gupta_2t"].build()
    graph = graph_of_task(task)
    top = [task.node.index(node) for node in task.landmarks["shortcut_top"]]
    assert {data["shortcut"] for _, _, data in graph.subgraph(top).edges(data=True)} == {
        "shortcut_top"
    }
    paths = pd.DataFrame({"step": [9], "states": [top]})
    log = event_log(run_of(top[:3], top[::-1][:3]), [])
    (row,) = place_sequences(log, paths, graph=graph).to_dict("records")
    assert row["shortcut"]
    assert row["direction"] == "mixed"
    lengths = [data["distance"] for _, _, data in graph.edges(data=True)]
    assert min(lengths) > 0


def test_walls_are_impossible_in_the_sessions_in_which_they_stand():
    task = TASKS["barrier_arena"].build()

    def impossible(block=None):
        edges = graph_of_task(task, block).edges(data="impossible", default=False)
        return {frozenset((task.node[a], task.node[b])) for a, b, wall in edges if wall}

    for block in task.blocks:
        assert impossible(block.name) == {frozenset(move) for move in block.closed}
    assert impossible() == set.intersection(*(impossible(each.name) for each in task.blocks[1:]))
    with pytest.raises(ValueError, match="Unknown block 'session 9'"):
        graph_of_task(task, "session 9")


def test_one_way_moves_are_no_walls():
    graph = graph_of_task(TASKS["gupta_2t"].build(), "left")
    assert not any(wall for _, _, wall in graph.edges(data="impossible"))


def test_a_decoded_start_belongs_to_the_lap_to_come():
    """As in a model's log: the animal waits where that lap begins."""
    log = event_log(run_of([0, 1, 2], [5, 6, 7]), [])
    paths = pd.DataFrame({"step": 1, "phase": ["episode_end", "start"], "states": [[2, 1, 0]] * 2})
    table = reactivations(log, paths).drop_duplicates("event")
    assert table[["episode", "location"]].to_numpy().tolist() == [[0, 2], [1, 5]]


def test_the_place_of_the_animal_may_be_given():
    """Unknown is -1, and without the column it is where the last move led."""
    log = event_log(run_of([0, 1, 2, 3]), [])
    paths = pd.DataFrame({"step": 2, "states": [[0, 1, 2]] * 2})
    assert place_sequences(log, paths)["location"].tolist() == [3, 3]
    given = paths.assign(location=[1, -1])
    assert place_sequences(log, given)["location"].tolist() == [1, -1]
    with pytest.raises(ValueError, match="The column 'location' of paths"):
        place_sequences(log, paths.assign(location=-2))


def test_extent_and_correlation_are_those_along_the_track():
    """Against networkx and numpy, on a ring with a branch, in cm and where no length is known."""
    ring = nx.cycle_graph(6)
    ring.add_edge(0, 6)
    rng = np.random.default_rng(0)
    paths = [rng.integers(0, 7, size=n).tolist() for n in (1, 2, 3, 5, 8, 40)]
    for length in (12.5, None):
        if length:
            nx.set_edge_attributes(ring, length, "distance")
        else:
            for *_, data in ring.edges(data=True):
                del data["distance"]
        way = dict(nx.all_pairs_dijkstra_path_length(ring, weight="distance"))
        extent, correlation = Track.of(ring).extent(Lists.of(paths))
        for i, path in enumerate(paths):
            away = [way[path[0]][place] for place in path]
            assert extent[i] == max(way[a][b] for a in path for b in path)
            if len(set(away)) > 1:
                expected = np.corrcoef(range(len(path)), away)[0, 1]
                assert correlation[i] == pytest.approx(expected)
            else:
                assert np.isnan(correlation[i])


def test_the_track_is_that_of_the_world_or_of_all_moves():
    mdp = from_ascii("S.G")
    log = simulate(mdp, "prioritized_sweeping", n_steps=200).log
    assert set(graph_of_log(log).edges) == {(0, 1), (1, 2)}
    found = place_sequences(log, detection=Detection(min_length=2))
    assert found["novelty"].isin(["experienced", "composed"]).all()
    assert len(found) > 0
    assert set(graph_of_log(event_log(run_of([0, 2], [1, 1]), [])).edges) == {(0, 2)}


def test_a_single_place_is_a_reactivation_and_no_sequence():
    paths = pd.DataFrame({"step": [0, 0], "states": [[3, 3], []]})
    log = event_log(run_of([0, 1]), [])
    table = reactivations(log, paths)
    assert table[["event", "index", "place", "location"]].to_numpy().tolist() == [[0, 0, 3, 1]]
    found = place_sequences(log, paths)
    assert found.empty
    pd.testing.assert_series_equal(found.dtypes, decoded([0, 1, 2], [0, 1, 2]).dtypes)


def test_runs_have_their_own_experience(tmp_path):
    one, other = event_log(run_of([0, 1, 2]), []), event_log(run_of([2, 1, 0]), [])
    paths = pd.DataFrame({"run": [1, 0], "step": 9, "states": [[0, 1, 2]] * 2})
    found = place_sequences(EventLog.concat([one, other]), paths)
    assert found[["run", "event"]].to_numpy().tolist() == [[0, 1], [1, 0]]
    assert found["direction"].tolist() == ["forward", "reverse"]
    found.to_parquet(tmp_path / "table.parquet")
    pd.testing.assert_frame_equal(found, pd.read_parquet(tmp_path / "table.parquet"))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"graph": [(0, 1)]}, TypeError, "graph must be a networkx.Graph, got list"),
        ({"graph": nx.path_graph(["a", "b"])}, ValueError, "Number places like the states"),
        ({"graph": nx.path_graph([0, 10**7])}, ValueError, "Number places like the states"),
        ({"graph": ruler(distance=-1)}, ValueError, "'distance' of the edge from 0 to 1 must be"),
        ({"graph": ruler(distance="far")}, ValueError, "of at least 0, got 'far'"),
        ({"graph": ruler(shortcut=["top"])}, ValueError, "of the edge from 0 to 1 must be True"),
        ({"graph": ruler(impossible=1)}, ValueError, "must be True or False, got 1"),
        ({"detection": {"min_length": 3}}, TypeError, "must be a Detection, got dict"),
        ({"detection": Detection(min_length="3")}, ValueError, "min_length must be a whole number"),
        ({"detection": Detection(largest_jump=0)}, ValueError, "largest_jump must be a whole"),
        ({"detection": Detection(min_correlation=2)}, ValueError, "from 0 to 1, got 2"),
        ({"detection": Detection(min_distance=1)}, ValueError, "need the 'distance' of each edge"),
        ({"detection": Detection(min_extent=1)}, ValueError, "the edge from 0 to 1 has none"),
    ],
)
def test_refused_options(options, error, message):
    with pytest.raises(error, match=message):
        decoded([0, 1, 2], [0, 1, 2], **options)


def test_refused_tables():
    log = event_log(run_of([0, 1, 2]), [])
    with pytest.raises(TypeError, match="log must be an EventLog"):
        place_sequences(log.steps)
    with pytest.raises(TypeError, match="paths must be a DataFrame"):
        place_sequences(log, [[0, 1, 2]])
    with pytest.raises(ValueError, match="must hold lists of states"):
        place_sequences(log, pd.DataFrame({"step": [1], "states": ["012"]}))
    backups = {"step": 1, "phase": "rest", "event": 0, "state": 0, "next_state": 1, "action": 0,
               "cause": -1}  # fmt: skip
    lost = event_log(run_of([0, 1, 2]), [backups])
    runs, more = (table.assign(run=1) for table in (lost.runs, lost.backups))
    tables = {"runs": pd.concat([lost.runs, runs]), "backups": pd.concat([lost.backups, more])}
    with pytest.raises(ValueError, match="backups of run 1, but no steps"):
        place_sequences(EventLog({**tables, "steps": lost.steps}))


def test_a_track_finds_moves_both_ways():
    track = Track.of(nx.DiGraph([(0, 2), (2, 1), (1, 1)]))
    found = track.move(np.array([0, 2, 1, 0, 1]), np.array([2, 0, 2, 1, 1]))
    assert (found >= 0).tolist() == [True, True, True, False, False]
    assert Track.of(nx.path_graph([0, 10**7 - 1])).move(np.array([10**7 - 1]), np.array([0])) >= 0


def test_a_graph_of_other_states_is_told():
    log = EventLog({"steps": {"state": [0, 1], "next_state": [1, 2]}})
    with pytest.warns(UserWarning, match="2 of the 2 different moves in the log are not between"):
        place_sequences(log, graph=nx.Graph([(10, 11), (11, 12)]))


def test_a_heading_decides_where_a_track_was_run_both_ways():
    """Travel in the heading represented is forward, travel against it reverse, in each place."""
    steps = {"state": [0, 1, 2, 3, 2, 1], "next_state": [1, 2, 3, 2, 1, 0],
             "terminated": [False, False, True, False, False, True]}  # fmt: skip
    log = EventLog({"steps": steps})
    one_way = EventLog({"steps": {name: values[:3] for name, values in steps.items()}})
    there, back, turning = [0, 1, 1, 2, 3], [3, 2, 1, 0], [0, 1, 2, 1, 0]
    for own, states, along, direction, novelty in (
        (log, there, [0] * 5, "both", "experienced"),
        (log, there, [1] * 5, "forward", "experienced"),
        (log, there, [-1] * 5, "reverse", "experienced"),
        (log, back, [1] * 4, "forward", "experienced"),
        (log, turning, [1, 1, 1, -1, -1], "mixed", "composed_mixed"),
        (one_way, back, [0] * 4, "reverse", "experienced"),
        (one_way, back, [-1] * 4, "reverse", "experienced"),
        (one_way, back, [1] * 4, "neither", "unexperienced"),
    ):
        paths = pd.DataFrame({"step": [5], "states": [states], "along": [along]})
        found = place_sequences(own, paths).iloc[0]
        assert (found["direction"], found["novelty"]) == (direction, novelty), (states, along)
    for wrong in ([1], [1, 1, 1, 2], [0, 0, 0, 0.5], [np.nan] * 4, "1 1 1 1", None, np.nan):
        with pytest.raises(ValueError, match=r"a number for each of the states: .* Row 0 has 4"):
            place_sequences(log, paths.assign(along=pd.Series([wrong], dtype=object)))
    two = pd.concat([paths, paths], ignore_index=True).assign(along=[[0] * 4, [0]])
    with pytest.raises(ValueError, match="Row 1 has 4 states"):
        place_sequences(log, two)


def test_places_that_are_jumped_over_have_the_heading_that_follows():
    steps = {"state": [0, 1, 2, 3, 2, 1], "next_state": [1, 2, 3, 2, 1, 0]}
    paths = pd.DataFrame({"step": [5], "states": [[0, 2, 3]], "along": [[1, -1, 1]]})
    jumps = Detection(largest_jump=2)
    found = place_sequences(EventLog({"steps": steps}), paths, detection=jumps).iloc[0]
    assert found["moves"].tolist() == ["backward", "backward", "forward"]
