"""Classified sequences, compared with the definitions by brute force and by hand."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import (
    chains_by_definition,
    event_log,
    examples,
    experienced_episodes,
    greedy_pieces,
    holding_episodes,
    least_pieces,
    logs,
    run_of,
)

from analyses.sequences.classification import classify, classify_paths
from analyses.sequences.counts import ReplayCounts
from analyses.sequences.experience import Experience
from analyses.sequences.growing import chain_kinds
from analyses.tables import KINDS
from replay import simulate
from replay.log.event_log import EventLog
from replay.worlds.mazes import from_ascii

HOW = [("causal", False), ("causal", True), ("temporal", False)]
ROW = [
    "states",
    "n_distinct",
    "orientation",
    "direction",
    "novelty",
    "kind",
    "composition_order",
    "n_episodes",
    "splice_states",
    "episode_matched",
    "episode_lag",
    "from_current_episode",
]


def by_definition(steps, backups, rows, orientation, by="states"):
    """Classify one chain by brute force: a dict with the columns of `ROW`."""
    chain = [backups[row] for row in rows]
    moves = [(row["state"], row["action"], row["next_state"]) for row in chain]
    back = [(after, action, before) for before, action, after in moves][::-1]
    if orientation == "reverse":
        moves = moves[::-1]
        states = [chain[0]["next_state"], *(row["state"] for row in chain)]
    else:
        states = [chain[0]["state"], *(row["next_state"] for row in chain)]
    episodes = experienced_episodes(steps, chain[0]["step"])
    taken = {(move[0], move[2]) for run in episodes.values() for move in run}
    pairs = list(pairwise(states))
    forward = all(pair in taken for pair in pairs)
    reverse = all(pair[::-1] in taken for pair in pairs)
    direction = {(1, 0): "forward", (0, 1): "reverse", (1, 1): "both", (0, 0): "neither"}
    direction = direction[forward, reverse]

    readings = {"forward": moves, "reverse": moves if orientation else back}
    if orientation:
        ways = [orientation]
    else:
        ways = {"both": ["forward", "reverse"], "neither": []}.get(direction, [direction])
    orders = {way: least_pieces(readings[way], episodes, by) for way in ways}
    if not ways or None in orders.values():
        novelty = "unexperienced"
        mixed = all(pair in taken or pair[::-1] in taken for pair in pairs)
        kind = "ambiguous" if not ways and mixed else "unexperienced"
        pieces, path = [], []
    else:
        way = min(ways, key=lambda way: orders[way])
        novelty = "experienced" if orders[way] == 1 else "composed"
        kind = "novel_path"
        if novelty == "experienced":
            to_and_fro = len(states) > 2 and len(set(states)) == 2
            kind = "ambiguous" if to_and_fro or len(ways) > 1 else f"{ways[0]}_episode"
        pieces, path = greedy_pieces(readings[way], episodes, by), readings[way]
        assert len(pieces) == orders[way]
    whole = holding_episodes(path, episodes, by) if novelty == "experienced" else []
    current = next(step["episode"] for step in steps if step["step"] == chain[0]["step"])
    return {
        "states": states,
        "n_distinct": len(set(states)),
        "orientation": orientation,
        "direction": direction,
        "novelty": novelty,
        "kind": kind,
        "composition_order": len(pieces) or None,
        "n_episodes": len({episode for _, _, episode in pieces}) or None,
        "splice_states": [path[end][0] for _, end, _ in pieces[:-1]],
        "episode_matched": whole[-1] if whole else None,
        "episode_lag": current - whole[-1] if whole else None,
        "from_current_episode": current == whole[-1] if whole else None,
    }


def plain(sequences):
    """Turn a table into a list of dicts of plain Python values, None where null."""
    rows = []
    for row in sequences[ROW].to_dict("records"):
        lists = {name: row.pop(name).tolist() for name in ("states", "splice_states")}
        rows.append({name: None if pd.isna(row[name]) else row[name] for name in row} | lists)
    return rows


@given(logs(), st.sampled_from(HOW), st.sampled_from(["states", "actions"]))
@examples(400)
def test_model_sequences_are_those_of_the_definition(log, how, by):
    steps, backups = log
    order, across_events = how
    sequences = classify(
        event_log(*log), order=order, min_length=2, across_events=across_events, by=by
    )
    found = chains_by_definition(backups, order, across_events)
    assert plain(sequences) == [by_definition(steps, backups, *chain, by) for chain in found]
    for row, (rows, _) in zip(sequences.itertuples(), found, strict=True):
        first = backups[rows[0]]
        at = next(step for step in steps if step["step"] == first["step"])
        assert (row.step, row.event, row.phase) == (first["step"], first["event"], first["phase"])
        assert (row.episode, row.location) == (at["episode"], at["next_state"])
        assert (row.first, row.last, row.length) == (row.states[0], row.states[-1], len(row.states))
        assert row.actions.tolist() == [backups[i]["action"] for i in rows]
        assert row.order == order


@given(logs(decoded=True))
@examples(300)
def test_recorded_sequences_are_those_of_the_definition(log):
    steps, backups = log
    sequences = classify(event_log(*log), min_length=2)
    found = chains_by_definition(backups, "temporal")
    assert plain(sequences) == [by_definition(steps, backups, *chain) for chain in found]
    assert (sequences["order"] == "temporal").all()


@given(logs(decoded=True), st.integers(2, 4))
@examples(100)
def test_paths_are_classified_like_the_log(log, min_length):
    recording = event_log(log[0], [])
    sequences = classify(event_log(*log), min_length=min_length)
    paths = classify(event_log(*log), min_length=2)[["states", "step", "phase"]]
    from_paths = classify_paths(paths, recording, min_length=min_length)
    same = sequences.columns.drop(["event", "actions"])
    pd.testing.assert_frame_equal(sequences[same], from_paths[same])


@given(logs() | logs(decoded=True), st.booleans())
@examples(500)
def test_counted_kinds_are_those_of_the_listed_chains(log, across_events):
    whole = event_log(*log)
    sequences = classify(whole, min_length=2, across_events=across_events)
    for steps in (whole.columns("steps"), Experience(whole.columns("steps"))):
        kinds = chain_kinds(steps, whole.columns("backups"), across_events=across_events)
        assert kinds.step.tolist() == sequences["step"].tolist()
        assert kinds.length.tolist() == sequences["length"].tolist()
        assert [KINDS[kind] for kind in kinds.kind] == sequences["kind"].tolist()


@pytest.mark.parametrize("across_events", [False, True])
@pytest.mark.parametrize(
    ("learner", "needs_index"),
    [
        ("episodic_control", False),
        ("monte_carlo", False),
        ("prioritized_sweeping", True),
        ("prioritized_sweeping_reset", True),
    ],
)
def test_kinds_of_a_learner_are_those_of_its_listed_chains(learner, needs_index, across_events):
    """Also where bumps break episodes, and where an episode run back needs no index."""
    maze = from_ascii("S...#\n.#...\n...#G")
    log = simulate(maze, learner, n_steps=3000, max_episode_steps=60, seed=2).log
    assert (log.steps["state"] == log.steps["next_state"]).any()
    sequences = classify(log, min_length=2, across_events=across_events)
    kinds = chain_kinds(log.columns("steps"), log.columns("backups"), across_events=across_events)
    assert kinds.step.tolist() == sequences["step"].tolist()
    assert kinds.length.tolist() == sequences["length"].tolist()
    assert [KINDS[kind] for kind in kinds.kind] == sequences["kind"].tolist()
    counts = ReplayCounts(3000, 1)
    simulate(
        maze, learner, n_steps=3000, max_episode_steps=60, seed=2, n_windows=1, on_block=counts.add
    )
    long = kinds.kind[kinds.length >= 3]
    counted = counts.counts[0, int(across_events)]
    assert counted.tolist() == np.bincount(long, minlength=len(KINDS)).tolist()
    assert (counts.experience._growing is not None) == needs_index


@given(logs(), st.sampled_from(HOW), st.permutations(range(6)))
@examples(100)
def test_names_of_states_do_not_matter(log, how, names):
    order, across_events = how
    renamed = [
        [{**row, **{key: names[row[key]] for key in ("state", "next_state")}} for row in table]
        for table in log
    ]
    one = plain(classify(event_log(*log), order=order, across_events=across_events))
    other = plain(classify(event_log(*renamed), order=order, across_events=across_events))
    for row in one:
        for column in ("states", "splice_states"):
            row[column] = [names[state] for state in row[column]]
    assert one == other


@given(logs(), st.sampled_from(HOW))
@examples(100)
def test_novelty_never_uses_the_future(log, how):
    steps, backups = log
    order, across_events = how
    whole = classify(event_log(*log), order=order, across_events=across_events)
    for until in {row["step"] for row in backups}:
        past = event_log(
            [step for step in steps if step["step"] <= until],
            [row for row in backups if row["step"] <= until],
        )
        early = classify(past, order=order, across_events=across_events)
        shared = whole[whole["step"] <= until]
        if not across_events:  # across events a chain may still go on
            assert plain(early) == plain(shared)


@given(logs())
@examples(200)
def test_turning_time_and_transitions_swaps_forward_and_reverse(log):
    steps, backups = log
    last = len(steps) - 1
    # All is experienced before any replay, each episode then backwards.
    backups = [{**row, "step": last} for row in backups]
    turned_steps, begin = [], 0
    for episode in sorted({step["episode"] for step in steps}):
        run = [step for step in steps if step["episode"] == episode]
        for place, (step, mirror) in enumerate(zip(run, run[::-1], strict=True)):
            turned = {"state": mirror["next_state"], "next_state": mirror["state"]}
            turned_steps.append({**step, **turned, "step": begin + place})
        begin += len(run)
    turned = [{**row, "state": row["next_state"], "next_state": row["state"]} for row in backups]
    swap = {"forward": "reverse", "reverse": "forward"}
    swap |= {f"{one}_episode": f"{other}_episode" for one, other in swap.items()}
    for row, other in zip(
        plain(classify(event_log(steps, backups), order="temporal")),
        plain(classify(event_log(turned_steps, turned), order="temporal")),
        strict=True,
    ):
        if len(set(row["states"])) == 2:  # to and fro is always called reverse
            continue
        assert other["states"] == row["states"]
        for column in ("orientation", "direction", "kind"):
            assert other[column] == swap.get(row[column], row[column])
        for column in ("composition_order", "episode_matched"):
            assert other[column] == row[column]


def sweep(*states, step, action=0):
    """Make one event: a sweep back over a path listed in the order of replay."""
    return [
        {
            "step": step,
            "phase": "step",
            "event": 0,
            "state": state,
            "action": action,
            "next_state": next_state,
            "cause": row - 1,
        }
        for row, (next_state, state) in enumerate(pairwise(states))
    ]


def test_virtually_composed_episode():
    """Two episodes cross in state 1; a sweep crosses over from one to the other."""
    steps = run_of([0, 1, 2], [3, 1, 4])
    (row,) = plain(classify(event_log(steps, sweep(4, 1, 0, step=3))))
    assert row["kind"] == "novel_path"
    assert (row["orientation"], row["direction"]) == ("reverse", "reverse")
    assert (row["composition_order"], row["n_episodes"]) == (2, 2)
    assert row["splice_states"] == [1]
    assert row["episode_matched"] is None


def test_episode_that_crossed_its_own_path_makes_a_novel_path_alone():
    """The episode 0 1 2 3 1 4 holds 0 1 and 1 4, but never 0 1 4."""
    steps = run_of([0, 1, 2, 3, 1, 4])
    (row,) = plain(classify(event_log(steps, sweep(4, 1, 0, step=4))))
    assert (row["kind"], row["composition_order"], row["n_episodes"]) == ("novel_path", 2, 1)


def test_the_transition_just_made_counts():
    steps = run_of([0, 1, 2], [0, 1, 2])
    (row,) = plain(classify(event_log(steps, sweep(2, 1, 0, step=1))))
    assert (row["kind"], row["episode_lag"]) == ("reverse_episode", 0)
    assert row["from_current_episode"] is True
    (row,) = plain(classify(event_log(steps, sweep(2, 1, 0, step=0))))
    assert row["kind"] == "unexperienced"
    assert row["splice_states"] == []
    (row,) = plain(classify(event_log(steps, sweep(2, 1, 0, step=2))))
    assert (row["episode_matched"], row["episode_lag"]) == (0, 1)
    assert row["from_current_episode"] is False


def test_a_path_to_and_fro_is_ambiguous():
    """Walked either way it is the same, and a turn makes it neither."""
    steps = run_of([0, 1, 0, 1, 2])
    (row,) = plain(classify(event_log(steps, sweep(1, 0, 1, step=3))))
    assert (row["kind"], row["novelty"], row["direction"]) == ("ambiguous", "experienced", "both")
    (row,) = plain(classify(event_log(steps, sweep(2, 1, 0, 1, step=3))))
    assert row["kind"] == "reverse_episode"


def test_single_moves_are_no_sequences_unless_asked_for():
    log = event_log(run_of([0, 1, 2]), sweep(2, 1, step=1))
    assert classify(log).empty
    assert classify(log, min_length=2)["kind"].tolist() == ["reverse_episode"]


def test_what_has_a_log_is_taken_for_it():
    run = simulate(from_ascii("S...G"), "episodic_control", n_steps=300)
    pd.testing.assert_frame_equal(classify(run), classify(run.log))
    for wrong, message in (
        ("folder", r"EventLog.load\(folder\) reads one"),
        (run.log.backups, "log must be an EventLog or a Run"),
    ):
        with pytest.raises(TypeError, match=message):
            classify(wrong)
    nothing = simulate(from_ascii("S...G"), "episodic_control", n_steps=300, log="none")
    with pytest.raises(ValueError, match="Nothing was logged"):
        classify(nothing)


def test_paths_on_another_clock_are_told():
    steps = {"state": [0, 1], "next_state": [1, 2], "time": [1.0, 2.0]}
    log = EventLog({"steps": steps})
    for time, message in ((2500.0, "on the same clock"), (0.5, "nothing had been experienced")):
        with pytest.warns(UserWarning, match=message):
            classify_paths(pd.DataFrame({"time": [time], "states": [[0, 1, 2]]}), log)
    minutes = pd.DataFrame(run_of([0, 1] * 301)).assign(time=np.arange(601.0))
    days_later = pd.DataFrame({"time": [2 * 24 * 3600.0], "states": [[0, 1, 0]]})
    classify_paths(days_later, EventLog({"steps": minutes}))  # without a warning
    paths = pd.DataFrame({"start_time": [1.0], "states": [[0, 1, 2]]})
    with pytest.raises(
        ValueError, match=r"needs a column 'time' .* If 'start_time' is that column, rename it"
    ):
        classify_paths(paths, log)


def test_a_path_run_later_is_novel_now():
    steps = run_of([0, 1, 2], [3, 1, 4], [0, 1, 4])
    for step, kind in ((3, "novel_path"), (4, "novel_path"), (5, "reverse_episode")):
        (row,) = plain(classify(event_log(steps, sweep(4, 1, 0, step=step))))
        assert row["kind"] == kind


def test_actions_make_the_stricter_test():
    steps = run_of([0, 1, 2], [3, 1, 2])
    steps[3]["action"] = 1
    mixed = sweep(2, 1, 0, step=3)
    mixed[0]["action"] = 1
    log = event_log(steps, mixed)
    assert classify(log)["kind"].tolist() == ["reverse_episode"]
    assert classify(log, by="actions")["kind"].tolist() == ["novel_path"]
    (row,) = plain(classify(log, by="actions"))
    assert (row["splice_states"], row["direction"]) == ([1], "reverse")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ([0, 1, 2], ("forward", "experienced", "forward_episode")),
        ([2, 1, 0], ("reverse", "experienced", "reverse_episode")),
        ([0, 1, 4], ("forward", "composed", "novel_path")),
        ([4, 1, 0], ("reverse", "composed", "novel_path")),
        ([5, 6, 7], ("both", "experienced", "ambiguous")),
        ([7, 6, 8], ("both", "composed", "novel_path")),
        ([0, 1, 3], ("neither", "unexperienced", "ambiguous")),
        ([0, 1, 9], ("neither", "unexperienced", "unexperienced")),
    ],
)
def test_decoded_paths_of_a_rat(path, expected):
    steps = run_of([0, 1, 2], [3, 1, 4], [5, 6, 7], [7, 6, 5], [8, 6, 8])
    log = event_log(steps, [])
    paths = pd.DataFrame({"step": [99], "states": [path]})
    (row,) = plain(classify_paths(paths, log))
    assert (row["direction"], row["novelty"], row["kind"]) == expected
    assert row["orientation"] is None


def test_path_composed_one_way_only_was_experienced():
    """All moves were made in both directions, 0 1 2 as a whole only forward: it is ambiguous."""
    log = event_log(run_of([0, 1, 2], [1, 0], [2, 1]), [])
    (row,) = plain(classify_paths(pd.DataFrame({"step": [9], "states": [[0, 1, 2]]}), log))
    assert (row["direction"], row["novelty"], row["kind"]) == ("both", "experienced", "ambiguous")
    assert row["episode_matched"] == 0


def test_recording_by_time():
    steps = {"state": [0, 1, 3], "next_state": [1, 2, 1], "time": [1.0, 2.0, 5.0]}
    log = EventLog({"steps": {**steps, "terminated": [False, True, False]}})
    paths = pd.DataFrame(
        {"time": [0.5, 2.0, 6.0, 7.0], "states": [[1, 0], [2, 2, 1, 0], [2, 1, 3], [4, 4]]}
    )
    sequences = classify_paths(paths, log, min_length=2)
    assert sequences["event"].tolist() == [0, 1, 2]
    assert sequences["step"].tolist() == [-1, 1, 2]
    assert sequences["location"].tolist() == [0, 2, 1]
    assert sequences["kind"].tolist() == ["unexperienced", "reverse_episode", "novel_path"]
    assert sequences["actions"].iloc[0].tolist() == [-1]
    assert (sequences["phase"] == "rest").all()
    with pytest.raises(ValueError, match="paths has run 7, but the log does not"):
        classify_paths(paths.assign(run=7), log)


def test_runs_have_their_own_experience():
    one = event_log(run_of([0, 1, 2]), sweep(2, 1, 0, step=1))
    other = event_log(run_of([5, 6, 7, 8]), sweep(2, 1, 0, step=2))
    both = EventLog.concat([one, event_log(run_of([0, 1]), []), other])
    sequences = classify(both)
    assert sequences["run"].tolist() == [0, 2]
    assert sequences["kind"].tolist() == ["reverse_episode", "unexperienced"]
    paths = pd.DataFrame({"run": [2, 0], "step": [9, 9], "states": [[5, 6], [0, 1]]})
    assert (classify_paths(paths, both)["kind"] == "forward_episode").all()


def test_numbers_of_runs_need_not_begin_with_0():
    log = event_log(run_of([0, 1, 2]), sweep(2, 1, 0, step=1))
    tables = {name: getattr(log, name).assign(run=3) for name in ("runs", "steps", "backups")}
    assert classify(EventLog(tables))["run"].tolist() == [3]


def test_table_survives_parquet(tmp_path):
    log = event_log(run_of([0, 1, 2], [3, 1, 4]), sweep(4, 1, 0, step=3) + sweep(2, 1, step=3))
    sequences = classify(log)
    sequences.to_parquet(tmp_path / "sequences.parquet")
    again = pd.read_parquet(tmp_path / "sequences.parquet")
    pd.testing.assert_frame_equal(sequences, again)
    assert list(sequences)[:7] == ["run", "episode", "step", "event", "phase", "location", "order"]


def test_log_without_replay():
    sequences = classify(event_log(run_of([0, 1, 2]), []))
    assert sequences.empty
    some = classify(event_log(run_of([0, 1, 2]), sweep(2, 1, 0, step=1)))
    pd.testing.assert_series_equal(sequences.dtypes, some.dtypes)
    steps, backups = (event_log(run_of([0, 1]), []).columns(name) for name in ("steps", "backups"))
    assert len(chain_kinds(steps, backups).kind) == 0


def test_refused_logs():
    log = event_log(run_of([0, 1, 2]), sweep(2, 1, 0, step=1, action=-1))
    with pytest.raises(ValueError, match="decoded replay has none"):
        classify(log, by="actions", min_length=2)
    backups = pd.concat([log.backups, log.backups.assign(run=1)])
    runs = pd.concat([log.runs, log.runs.assign(run=1)])
    with pytest.raises(ValueError, match="backups of run 1, but no steps"):
        classify(EventLog({"runs": runs, "steps": log.steps, "backups": backups}))
    with pytest.raises(ValueError, match="'run' of 'backups' must not descend"):
        classify(EventLog({"runs": runs, "steps": log.steps, "backups": backups[::-1]}))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_length": "3"}, "min_length must be a whole number of at least 2, got '3'"),
        ({"min_length": 1}, "at least 2, got 1"),
        ({"min_length": 2.5}, r"at least 2, got 2\.5"),
        ({"order": "casual"}, "Did you mean 'causal'"),
        ({"order": None}, "Unknown order None"),
        ({"by": ["states"]}, "Unknown by"),
        ({"across_events": "no"}, "across_events must be True or False, got 'no'"),
    ],
)
def test_refused_options(options, message):
    with pytest.raises(ValueError, match=message):
        classify(event_log(run_of([0, 1, 2]), sweep(2, 1, 0, step=1)), **options)


@pytest.mark.parametrize("state", [-1, 10**9])
def test_states_that_are_none_are_refused(state):
    """A negative one would count as another state, a huge one would need gigabytes."""
    message = "must lie between 0 and 9999999; row"
    with pytest.raises(ValueError, match=message):
        classify(event_log(run_of([0, 1, state]), sweep(1, 0, step=1)))
    with pytest.raises(ValueError, match=message):
        classify(event_log(run_of([0, 1, 2]), sweep(state, 1, 0, step=1)))
    paths = pd.DataFrame({"step": [1], "states": [[0, 1, state]]})
    with pytest.raises(ValueError, match="row 0 has"):
        classify_paths(paths, event_log(run_of([0, 1, 2]), []))


def test_what_is_no_log_or_table_is_refused():
    log = event_log(run_of([0, 1, 2]), sweep(2, 1, 0, step=1))
    for wrong in (None, "log", log.steps, {"steps": log.steps}):
        with pytest.raises(TypeError, match="log must be an EventLog or a Run, got"):
            classify(wrong)
    for wrong in (None, [[0, 1]], {"states": [[0, 1]]}):
        with pytest.raises(TypeError, match="paths must be a DataFrame, got"):
            classify_paths(wrong, log)
    paths = pd.DataFrame({"step": [1], "states": [[0, 1]]})
    with pytest.raises(ValueError, match=r"'run' of paths must hold whole numbers; row 0 has 'a'"):
        classify_paths(paths.assign(run="a"), log)
    backups = log.columns("backups") | {"step": np.array([1, 0])}
    with pytest.raises(ValueError, match="'step' of backups must not descend"):
        chain_kinds(log.columns("steps"), backups)
    assert classify(EventLog({"runs": {"run": []}})).empty
