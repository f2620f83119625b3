"""The tables of many animals' replay in pauses, compared with a slow, plain version."""

from itertools import groupby, pairwise

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from replay_tables import block, make_task
from strategies import N_STATES, event_log, examples, logs

from analyses import classify, place_sequences
from analyses.measures import STATISTICS
from analyses.measures.animals import replays_by_jump, replays_of
from analyses.measures.replays import PAUSES
from analyses.sequences.place_sequences import Detection
from analyses.sequences.reactivations import reactivations
from analyses.sequences.track import graph_of_task
from analyses.studies.typical_replay import parameters
from replay.log.event_log import EventLog
from replay.tasks import run_task
from replay.tasks.published.arenas import barrier_arena
from replay.tasks.published.arms import linear_track
from replay.tasks.published.t_mazes import gupta_2t

TRACK = linear_track(n_training=2, n_laps=4)
GUPTA = gupta_2t(n_laps=2)
ARENA = barrier_arena(n_laps=4, n_sessions=3)


def runs_of_animals(task, learner, n=2, **given):
    return [
        (animal, *run_task(task, learner, parameters(learner, given), seed=animal))
        for animal in range(n)
    ]


def counted_rows(backups):
    """List the rows that count: in pauses, and not repeated by the n-step backup after them."""
    rows = list(enumerate(backups.astype({"phase": str}).itertuples()))
    pops = [list(pop) for _, pop in groupby(rows, lambda row: (row[1].event, row[1].pop))]
    repeated, grown = set(), set()
    for before, pop in pairwise(pops):
        same = [
            (a.event, a.state, a.next_state) == (b.event, b.state, b.next_state)
            for (_, a), (_, b) in zip(before, pop, strict=False)
        ]
        goes_on = all(each.cause == row - 1 for row, each in pop[1:])
        if len(pop) == len(before) + 1 and all(same) and goes_on:
            repeated |= {row for row, _ in pop[:-1]}
            grown.add(pop[-1][0])
    kept = [row for row, each in rows if each.phase in PAUSES and row not in repeated]
    return kept, grown


def log_in_pauses(log):
    """Give a log without what doesn't count."""
    backups = log.backups
    rows, grown = counted_rows(backups)
    number = {row: i for i, row in enumerate(rows)}
    cause = [
        number[row] - 1 if row in grown else number.get(cause, -1)
        for row, cause in zip(rows, backups["cause"].iloc[rows], strict=True)
    ]
    kept = backups.iloc[rows].assign(cause=cause)
    return EventLog({"runs": log.runs, "steps": log.steps, "backups": kept}, mdp=log.mdp)


def closed_in(task, name):
    return [
        {frozenset(move) for move in each.closed if move[::-1] in each.closed}
        for each in task.blocks
        if each.name == name
    ]


def slowly(task, runs, counts):
    """Make the sequences of animals one after the other, as tables."""
    graph, parts = graph_of_task(task), []
    ways = dict(nx.all_pairs_dijkstra_path_length(graph, weight="distance"))
    for animal, log, laps in runs:
        own = log_in_pauses(log)
        if counts == "causal chains":
            found = classify(own, min_length=2)
        else:
            found = place_sequences(own, graph=graph)
        names = {lap.episode: (lap.block, lap.lap) for lap in laps.itertuples()}
        names[-1] = (task.blocks[0].name, "")
        rows = []
        for row in found.to_dict("records"):
            path = [int(place) for place in row["states"]]
            away = [ways[path[0]][place] for place in path]
            block_name, lap = names[row["episode"]]
            moves = {frozenset((task.node[a], task.node[b])) for a, b in pairwise(path)}
            walls = closed_in(task, block_name)
            rows.append(
                {
                    "animal": animal,
                    "block": block_name,
                    "lap": lap,
                    "place": row["location"],
                    "extent": max(ways[a][b] for a in path for b in path),
                    "correlation": np.corrcoef(range(len(path)), away)[0, 1]
                    if len(set(away)) > 1
                    else np.nan,
                    "impossible": any(all(move in wall for wall in walls) for move in moves),
                }
            )
        added = pd.DataFrame(rows)
        parts.append(pd.concat([found.drop(columns="impossible", errors="ignore"), added], axis=1))
    return pd.concat(parts, ignore_index=True)


@pytest.mark.parametrize("counts", ["place sequences", "causal chains"])
@pytest.mark.parametrize(
    ("task", "learner"),
    [
        (TRACK, "prioritized_memory_access"),
        (GUPTA, "prioritized_sweeping"),
        (GUPTA, "sfma"),
        (ARENA, "dyna_q"),
        (ARENA, "retrieved_episodes"),
    ],
)
def test_sequences_of_many_animals_are_those_of_each(task, learner, counts):
    """What is replayed on the way counts nowhere, either."""
    given = {"replay_at": "step"} if learner == "prioritized_sweeping" else {}
    runs = runs_of_animals(task, learner, **given)
    made = replays_of(task, runs, counts)
    expected = slowly(task, runs, counts)
    assert len(expected) > 10
    assert made.counts == counts
    walls = any(each.closed and task is ARENA for each in task.blocks)
    for name in expected:
        if name == "impossible" and not walls:
            assert made.sequences[name].isna().all()
            continue
        own, other = made.sequences[name], expected[name]
        if name in ("states", "actions", "moves", "splice_states"):
            assert [list(each) for each in own] == [list(each) for each in other], name
        elif name in ("extent", "correlation", "distance"):
            np.testing.assert_allclose(own, other, atol=1e-9)
        else:
            plain = own.astype(object).where(own.notna(), None)
            assert plain.tolist() == other.astype(object).where(other.notna(), None).tolist(), name
    for path, states in zip(made.states.arrays(), made.sequences["states"], strict=True):
        assert path.tolist() == states.tolist()


def test_some_sequences_cross_walls_in_the_sessions_in_which_these_stand():
    made = replays_of(ARENA, runs_of_animals(ARENA, "prioritized_sweeping"))
    assert made.sequences["impossible"].any()
    early = made.sequences["block"] == "rest"
    assert not made.sequences.loc[early, "impossible"].any()
    assert ARENA.blocks[1].closed != ARENA.blocks[2].closed


def test_laps_and_pauses():
    runs = runs_of_animals(TRACK, "prioritized_memory_access")
    made = replays_of(TRACK, [(7, *runs[0][1:]), (3, *runs[1][1:])])
    n_before, n_after = TRACK.blocks[0].n_rest, TRACK.blocks[-1].n_rest
    names = np.array(TRACK.places)
    for animal, (_, log, laps) in zip((7, 3), runs, strict=True):
        own = made.laps[made.laps["animal"] == animal].reset_index(drop=True)
        for name in laps:
            assert own[name].tolist() == laps[name].tolist(), name
        ends = own.assign(end=names[own["end"]], second=names[own["second"]])
        assert set(zip(ends["lap"], ends["end"], ends["second"], strict=True)) == {
            ("out", "out9", "out1"), ("in", "in0", "in8")
        }  # fmt: skip
        expected = [(-1, "rest", "", "rest", laps["start"].iloc[0])] * n_before
        for lap in laps.itertuples():
            about = lap.episode, lap.block, lap.lap
            if lap.episode:
                expected.append((*about, "start", lap.start))
            expected.append((*about, "episode_end", lap.end))
            expected += [(*about, "rest", lap.end)] * lap.n_rest
        pauses = made.pauses[made.pauses["animal"] == animal].drop(columns="animal")
        columns = ["episode", "block", "lap", "phase", "place"]
        assert list(pauses[columns].itertuples(index=False, name=None)) == expected
        assert (pauses["phase"] == "rest").sum() == n_before + n_after
        places = reactivations(log_in_pauses(log))
        found = made.reactivations[made.reactivations["animal"] == animal]
        for name in ("event", "phase", "place"):
            assert found[name].tolist() == places[name].tolist()


def test_pauses_without_replay_are_listed_too():
    quiet = replays_of(TRACK, runs_of_animals(TRACK, "q_learning", n=1))
    assert len(quiet.pauses) == 5 + 6 + 20
    assert quiet.sequences.empty
    assert quiet.animals.tolist() == [0]
    for name, statistic in STATISTICS.items():
        assert len(statistic.compute(quiet)) == 1, name


def test_animals_don_t_mix():
    """Each gives the same rows alone, and among others, with the same table of laps or a copy."""
    runs = runs_of_animals(GUPTA, "sfma", n=1)
    _, log, laps = runs[0]
    one = replays_of(GUPTA, runs).sequences.drop(columns="animal")
    three = replays_of(GUPTA, [(4, log, laps), (2, log, laps), (9, log, laps.copy())])
    for animal in (4, 2, 9):
        own = three.sequences[three.sequences["animal"] == animal].drop(columns="animal")
        pd.testing.assert_frame_equal(own.reset_index(drop=True), one)
    values = STATISTICS["reverse_share"].compute(three)
    assert values["animal"].tolist() == [2, 4, 9]
    assert values["value"].tolist() == [values["value"].iloc[0]] * 3


def test_animals_with_the_same_laps_are_classified_together_and_for_several_jumps_at_once():
    """Different replay after the same steps, then other steps; the same rows as one at a time."""
    same = [run_task(TRACK, name, {"n_replays": 9}, seed=1) for name in ("dyna_q", "sfma")]
    runs = [(n, *run) for n, run in enumerate([*same, *(run_task(TRACK, "sfma", seed=2),)])]
    made = replays_by_jump(TRACK, runs, [2, 1])
    for jump, whole in made.items():
        alone = [replays_of(TRACK, [run], largest_jump=jump).sequences for run in runs]
        pd.testing.assert_frame_equal(whole.sequences, pd.concat(alone, ignore_index=True))
    assert len(made[2].sequences) > len(made[1].sequences) > 0


def test_a_backup_that_grows_is_one_sequence():
    """Three steps forward, found step by step; then a path that is recalled as a whole."""
    moves = [(0, 1), (0, 1), (1, 2), (0, 1), (1, 2), (2, 3), (4, 5), (5, 6)]
    pops = [0, 1, 1, 2, 2, 2, 3, 3]
    causes = [-1, -1, 1, -1, 3, 4, -1, 6]
    steps = {"state": [0, 1], "next_state": [1, 2], "action": 0, "terminated": [False, True]}
    backups = {
        "step": np.full(len(moves), 1), "phase": "episode_end", "pop": pops, "cause": causes,
        "action": 0, "state": [move[0] for move in moves],
        "next_state": [move[1] for move in moves],
    }  # fmt: skip
    laps = pd.DataFrame(
        {"episode": [0], "block": "b", "lap": "out", "start": 0, "end": 2, "n_rest": 0}
    )
    log = EventLog({"steps": steps, "backups": backups})
    expected = {
        "causal chains": [[0, 1, 2, 3], [4, 5, 6]],
        "place sequences": [[0, 1, 2, 3, 4, 5, 6]],
    }
    for counts, paths in expected.items():
        found = replays_of(TRACK, [(0, log, laps)], counts).sequences["states"]
        assert [states.tolist() for states in found] == paths


def small_world(draw):
    """Draw a task with a wall, a goal, a shortcut and sides among a few places."""
    pairs = [(a, b) for a in range(N_STATES + 1) for b in range(a)]
    edges = draw(st.lists(st.sampled_from(pairs), min_size=4, unique=True))
    graph = nx.Graph()
    graph.add_nodes_from(f"n{i}" for i in range(N_STATES + 1))
    graph.add_edges_from((f"n{a}", f"n{b}") for a, b in edges)
    wall = next(iter(graph.edges))
    marks = {
        "left_loop": ("n0", "n1"),
        "right_loop": ("n3", "n4"),
        "shortcut_top": list(graph.edges)[-1],
        "wells": tuple(graph),
        "centre_well": ("n2",),
        "left_well": ("n0",),
        "right_well": ("n4",),
        "arm1": ("n0", "n1"),
        "arm2": ("n3",),
    }
    blocks = [
        block("first", rewards={"n0": 1.0, "n4": 1.0}),
        block("second", rewards={"n0": 1.0, "n4": 4.0}, closed=(wall, wall[::-1])),
    ]
    return make_task(graph, marks, blocks)


@st.composite
def worlds_and_logs(draw):
    steps, backups = draw(logs())
    for backup in backups:
        backup["phase"] = ["episode_end", "rest", "start"][backup["event"] % 3]
        if backup["step"] == len(steps) - 1:  # nothing starts after the last step
            backup["phase"] = "rest"
    return small_world(draw), steps, backups


@given(worlds_and_logs(), st.integers(3, 4))
@examples(50)
def test_the_same_places_give_the_same_statistics_whichever_side_they_come_from(drawn, least):
    """A model's backups, and the places that they reactivate as if they were decoded."""
    task, steps, backups = drawn
    model, rat = event_log(steps, backups), event_log(steps, [])
    episodes = sorted({step["episode"] for step in steps})
    laps = pd.DataFrame(
        {
            "episode": episodes,
            "block": ["first" if episode % 2 else "second" for episode in episodes],
            "lap": ["left" if episode % 3 else "right" for episode in episodes],
            "start": 0, "end": 4, "n_rest": 1, "reward": 1.0, "goal": 4,
        }
    )  # fmt: skip
    events = reactivations(model).groupby("event")
    paths = pd.DataFrame(
        {
            "step": events["step"].first().astype(int),
            "phase": events["phase"].first().astype(str),
            "states": events["place"].agg(list),
        }
    )
    one = replays_of(task, [(0, model, laps)])
    other = replays_of(task, [(0, rat, laps, paths)])
    pd.testing.assert_frame_equal(one.sequences, other.sequences)
    pd.testing.assert_frame_equal(one.reactivations, other.reactivations)
    pd.testing.assert_frame_equal(one.pauses, other.pauses)
    detection = Detection(min_length=least)
    for name, statistic in STATISTICS.items():
        values = [statistic.compute(made.detected(detection)) for made in (one, other)]
        pd.testing.assert_frame_equal(*values, obj=name)


def test_paths_on_the_way_count_nowhere_and_jumps_may_be_larger():
    _, log, laps = runs_of_animals(TRACK, "q_learning", n=1)[0]
    paths = pd.DataFrame(
        {"step": [3, 8, 8], "phase": ["step", "episode_end", "rest"],
         "states": [[0, 1, 2, 3], [3, 2, 1, 0], [9, 7, 6, 5]]}
    )  # fmt: skip
    near = replays_of(TRACK, [(0, log, laps, paths)]).sequences
    assert [path.tolist() for path in near["states"]] == [[3, 2, 1, 0], [7, 6, 5]]
    far = replays_of(TRACK, [(0, log, laps, paths)], largest_jump=2)
    assert [path.tolist() for path in far.sequences["states"]] == [[3, 2, 1, 0], [9, 8, 7, 6, 5]]
    assert far.detected(Detection(5, largest_jump=2)).sequences["extent"].tolist() == [80.0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"start": "home"}, "'start' of laps must hold whole numbers from 0 to"),
        ({"end": 10**6}, "row 0 has 1000000"),
        ({"n_rest": -1}, "'n_rest' of laps must hold whole numbers"),
        ({"episode": 2}, "must ascend, with one row per lap; row 1 has 2 after 2"),
        ({"episode": np.nan}, "row 0 has nan"),
    ],
)
def test_refused_laps(change, message):
    run = run_task(TRACK, "q_learning", seed=1)
    with pytest.raises(ValueError, match=message):
        replays_of(TRACK, [(0, run.log, run.laps.assign(**change))])
    with pytest.raises(ValueError, match=r"lacks the columns \['n_rest'\]"):
        replays_of(TRACK, [(0, run.log, run.laps.drop(columns="n_rest"))])
    with pytest.raises(TypeError, match="laps must be a DataFrame"):
        replays_of(TRACK, [(0, run.log, None)])


def test_refused_animals():
    run = run_task(TRACK, "q_learning", seed=1)
    one = (0, run.log, run.laps)
    with pytest.raises(ValueError, match="at least one animal"):
        replays_of(TRACK, [])
    with pytest.raises(TypeError, match="must be an iterable of animals, got 3"):
        replays_of(TRACK, 3)
    with pytest.raises(TypeError, match="must be a tuple of the animal's number, log, laps"):
        replays_of(TRACK, [run.log])
    with pytest.raises(ValueError, match="number of an animal must be a whole number"):
        replays_of(TRACK, [("first", run.log, run.laps)])
    with pytest.raises(ValueError, match="The animal 0 has several runs"):
        replays_of(TRACK, [one, one])
    with pytest.raises(TypeError, match="log must be an EventLog"):
        replays_of(TRACK, [(0, None, run.laps)])
    with pytest.raises(ValueError, match=r"one run, but has the runs \[0, 1\]"):
        replays_of(TRACK, [(0, EventLog.concat([run.log, run.log]), run.laps)])
    with pytest.raises(ValueError, match="laps of all animals must have the same columns"):
        replays_of(TRACK, [one, (1, run.log, run.laps.drop(columns="goal"))])
    with pytest.raises(ValueError, match="Unknown counts 'chains'"):
        replays_of(TRACK, [one], "chains")
    paths = pd.DataFrame({"step": [1], "states": [[0, 1, 2]]})
    with pytest.raises(ValueError, match="Paths have no causes"):
        replays_of(TRACK, [(*one, paths)], "causal chains")
    with pytest.raises(ValueError, match="largest_jump must be a whole number"):
        replays_of(TRACK, [one], largest_jump=0)
