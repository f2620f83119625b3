"""The number of episodes that could explain a replayed sequence, by brute force."""

from functools import partial
from itertools import pairwise

import attribution
import numpy as np
import pandas as pd
import pytest
from attribution import (
    ATTRIBUTIONS,
    attribute,
    attribution_overview,
    count_attributions,
    measure_attribution,
    summarise_attribution,
)
from attribution_figures import attribution_figure, attribution_length_figure
from hypothesis import given
from hypothesis import strategies as st
from strategies import columns, event_log, examples, experienced_episodes, holding_episodes, logs

from analyses.jobs.run import run
from analyses.sequences.classification import classify
from analyses.sequences.ends import second_ends
from analyses.sequences.experience import Experience
from analyses.sequences.suffix_automaton import GrowingAutomaton, appended
from replay import simulate
from replay.log.event_log import EventLog
from replay.worlds.mazes import from_ascii

HOW = [("causal", False), ("causal", True), ("temporal", False)]


@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=12), min_size=1, max_size=5))
@examples(500)
def test_second_ends_are_those_of_a_search(texts):
    text = np.array([symbol for one in texts for symbol in one], dtype=np.int32)
    text_of = np.repeat(np.arange(len(texts)), [len(one) for one in texts])
    begins = np.diff(text_of, prepend=-1) > 0
    automaton = GrowingAutomaton().extend(text, begins, n_symbols=3)
    found = second_ends(automaton, text_of)
    places, start = {}, 0
    for number, one in enumerate(texts):
        for end in range(1, len(one) + 1):
            for begin in range(end):
                ends = places.setdefault(tuple(one[begin:end]), {})
                ends.setdefault(number, start + end - 1)
        start += len(one)
    for substring, first_ends in places.items():
        node = automaton.from_root[substring[0]]
        for symbol in substring[1:]:
            node = appended(automaton, node, symbol)
        assert found[node] == sorted([*first_ends.values(), len(text)])[1 if first_ends else 0]


def by_definition(steps, sequence):
    """Search all episodes for a row of `classify`, each way if it is read so."""
    states = sequence["states"].tolist()
    way = sequence["orientation"]
    way = sequence["direction"] if pd.isna(way) else way
    readings = {"forward": [states], "reverse": [states[::-1]], "neither": []}
    readings["both"] = readings["forward"] + readings["reverse"]
    episodes = experienced_episodes(steps, sequence["step"])
    holding = {
        episode
        for path in readings[way]
        for episode in holding_episodes(list(zip(path, path, path[1:], strict=False)), episodes)
    }
    return ("none", "one", "several")[min(len(holding), 2)]


@given(logs(), st.sampled_from(HOW))
@examples(500)
def test_attributions_are_those_of_a_search(log, how):
    steps, backups = log
    log = event_log(steps, backups)
    sequences = classify(log, order=how[0], min_length=2, across_events=how[1])
    found = attribute(sequences, log.steps)
    assert found.tolist() == [by_definition(steps, row) for _, row in sequences.iterrows()]
    experienced = sequences["novelty"] == "experienced"
    assert ((found != "none") == experienced).all()


@given(logs(decoded=True))
@examples(300)
def test_decoded_replay_is_read_each_way(log):
    steps, backups = log
    log = event_log(steps, backups)
    sequences = classify(log, min_length=2)
    found = attribute(sequences, log.steps)
    assert found.tolist() == [by_definition(steps, row) for _, row in sequences.iterrows()]


def laps(*paths):
    moves = [
        (state, next_state, i == len(path) - 2)
        for path in paths
        for i, (state, next_state) in enumerate(pairwise(path))
    ]
    state, next_state, terminated = zip(*moves, strict=True)
    return {"state": state, "next_state": next_state, "terminated": terminated, "action": 0}


def decoded(steps, *events):
    """Write what was decoded after a step as a table of sequences."""
    return pd.DataFrame(
        {
            "run": 0,
            "step": [step for step, _ in events],
            "states": [np.array(path) for _, path in events],
            "orientation": None,
            "direction": "both",
        }
    )


def test_a_path_run_twice_in_one_lap_is_of_one_episode():
    steps = EventLog({"steps": laps([0, 1, 0, 1, 2], [0, 1, 3])}).steps
    events = [(3, [0, 1]), (4, [0, 1]), (5, [0, 1, 3]), (4, [0, 1, 3]), (5, [1, 2])]
    found = attribute(decoded(steps, *events), steps)
    assert found.tolist() == ["one", "several", "one", "none", "one"]


def test_a_path_that_one_lap_holds_this_way_and_another_that_way_is_of_several():
    steps = EventLog({"steps": laps([0, 1, 2], [2, 1, 0])}).steps
    sequences = decoded(steps, (1, [0, 1, 2]), (3, [0, 1, 2]), (3, [2, 1, 0]))
    assert attribute(sequences, steps).tolist() == ["one", "several", "several"]
    known = sequences.assign(orientation="forward")
    assert attribute(known, steps).tolist() == ["one", "one", "one"]


def test_runs_are_told_apart_and_rows_keep_their_index():
    one = EventLog({"steps": laps([0, 1, 2], [0, 1, 2])})
    log = EventLog.concat([one, EventLog({"steps": laps([0, 1, 2], [0, 1, 3])})])
    sequences = decoded(log.steps, (3, [0, 1, 2]), (3, [0, 1, 2]))
    sequences = sequences.assign(run=[1, 0]).set_axis([7, 5])
    found = attribute(sequences, log.steps)
    assert found.to_dict() == {7: "one", 5: "several"}
    assert attribute(sequences.head(0), log.steps).tolist() == []


def test_episodic_control_always_has_an_episode_and_sweeping_soon_has_none():
    maze = from_ascii("S...\n.#.#\n....\n#..G")
    attributed = {}
    for learner in ("episodic_control", "prioritized_sweeping"):
        log = simulate(maze, learner, n_steps=3000, seed=2).log
        sequences = classify(log, min_length=3)
        attributed[learner] = set(attribute(sequences, log.steps))
    assert attributed["episodic_control"] == {"one", "several"}
    assert "none" in attributed["prioritized_sweeping"]


def test_bounds_hold_all_from_the_bound_before():
    steps = EventLog({"steps": laps(*[range(10)] * 9)}).steps
    ends = steps.index[steps["terminated"]]
    rows = [
        {"step": end, "phase": "episode_end", "event": event, "state": state, "action": 0}
        | {"next_state": state + 1, "cause": -1}
        for event, end in enumerate(ends)
        for state in range(min(event + 1, 9))
    ]
    backups = pd.DataFrame(rows)
    first = backups.groupby("event").cumcount() == 0
    backups["cause"] = np.where(first, -1, np.arange(len(backups)) - 1)
    counts = count_attributions(EventLog({"steps": steps, "backups": backups}))
    assert counts["episode"].tolist() == [1, 2, 4, 4, 8, 8, 8, 16]
    assert counts["length"].tolist() == [2, 3, 4, 5, 6, 8, 12, 12]
    assert counts["count"].tolist() == [1, 1, 1, 1, 1, 2, 1, 1]
    assert counts["attribution"].tolist() == ["one"] + ["several"] * 7


@pytest.fixture(scope="module")
def table():
    learners = ["episodic_control", "dyna_q"]
    counts = [
        measure_attribution("stochastic_tree", index, learners=learners, n_steps=600, seed=1)
        for index in range(3)
    ]
    return summarise_attribution(pd.concat(counts))


def test_shares_add_up_in_each_view(table):
    by = ["learner", "of", "over", "up_to"]
    cells = table.groupby(by, observed=True, dropna=False)
    shares = cells["share"].sum()[cells["count"].sum() > 0]
    assert np.allclose(shares, 1)
    totals = table.pivot_table("count", ["learner", "of"], "over", aggfunc="sum", observed=True)
    assert (totals["episode"] == totals["all"]).all()
    assert (totals["length"] == totals["all"]).all()
    shown = attribution_overview(table)
    assert set(shown["of"][shown["learner"] == "dyna_q"]) == {"moves"}
    assert np.allclose(shown[list(ATTRIBUTIONS)].sum(axis=1), 1)
    assert shown["count"].sum() == totals["all"].sum()


def test_intervals_are_over_worlds(table):
    known = table.dropna(subset=["ci_low"])
    assert len(known)
    assert known["share"].between(known["ci_low"], known["ci_high"]).all()
    assert (known["n_mdps"] <= 3).all()


def test_the_first_episode_is_one_and_later_ones_are_less_and_less(table):
    rows = table[(table["over"] == "episode") & (table["learner"] == "episodic_control")]
    one = rows[rows["attribution"] == "one"].groupby("up_to")["share"].mean()
    assert one.loc[1] == 1
    assert one.iloc[-1] < 0.2


@pytest.mark.parametrize("draw", [attribution_figure, attribution_length_figure])
def test_figures_hold_the_table(table, draw):
    figure = draw(table)
    over = "episode" if draw is attribution_figure else "length"
    rows = table[(table["over"] == over) & (table["learner"] == "episodic_control")]
    several = rows[(rows["attribution"] == "several") & (rows["of"] == "sequences")]
    drawn = several.dropna(subset=["share"])
    if over == "episode":
        (line,) = (line for line in figure.axes[0].lines if line.get_label() == "In several")
        assert line.get_xdata().tolist() == drawn["up_to"].tolist()
        assert line.get_ydata().tolist() == drawn["share"].tolist()
    else:
        one = rows[(rows["attribution"] == "one") & (rows["of"] == "sequences")]
        one = one.dropna(subset=["share"]).sort_values("up_to")
        (line,) = (line for line in figure.axes[0].lines if line.get_marker() == "o")
        assert line.get_xdata().tolist() == one["up_to"].tolist()
        assert line.get_ydata().tolist() == one["share"].tolist()
    assert len(figure.axes) == 1
    assert "No sequence at all: Dyna-Q." in figure.texts[0].get_text().replace("\n", " ")
    with pytest.raises(ValueError, match="no rows"):
        draw(table.head(0))


def test_refused_tables(table):
    with pytest.raises(ValueError, match="lacks the columns"):
        attribute(pd.DataFrame({"run": [0]}), pd.DataFrame())
    with pytest.raises(ValueError, match="lacks the columns"):
        summarise_attribution(pd.DataFrame({"mdp": [0]}))
    with pytest.raises(ValueError, match="mazes"):
        measure_attribution("mazes")


def test_second_ends_of_no_experience():
    nothing = columns([], ["episode", "step", "state", "next_state"])
    assert Experience(nothing).second_ends.tolist() == [0]


def test_the_study_writes_its_table_and_both_figures(tmp_path, monkeypatch):
    small = partial(measure_attribution, learners=["prioritized_sweeping"], n_steps=400)
    monkeypatch.setattr(attribution, "measure_attribution", small)
    monkeypatch.setattr(attribution, "EXPERIMENTS", ["stochastic_tree"])
    run(attribution.STUDY, attribution.STUDY.usual_plan(0.2), tmp_path / "attribution")
    written = pd.read_csv(tmp_path / "attribution" / "attribution.csv")
    assert written["n_mdps"].max() == 2
    names = {path.name for path in (tmp_path / "attribution" / "figures").iterdir()}
    assert names == {
        f"attribution{part}.{end}" for part in ("", "_length") for end in ("pdf", "png")
    }
