"""The study of learned states, on mazes that are small enough to be looked at."""

from pathlib import Path

import pandas as pd
import pytest

from analyses.sequences.classification import classify
from analyses.sequences.events import kinds_in_places
from analyses.studies import learned_states
from analyses.studies.encoder_figures import kinds_in_codes_figure, learned_states_figure
from analyses.studies.learned_states import STUDY, act_in_maze
from replay.data import reference_table
from replay.worlds.mazes import from_ascii, random_maze

ROOT = Path(__file__).parents[1]
MAZE = from_ascii("S..\n..G")


def test_true_states_are_no_code():
    run = act_in_maze(MAZE, "prioritized_sweeping", "true_states", n_steps=100, seed=1)
    assert run.codes is None
    assert run.mdp is MAZE


def test_kinds_are_those_of_the_longest_sequence_of_each_event():
    run = act_in_maze(
        random_maze(6, seed=1), "prioritized_sweeping", "k_means", n_steps=900, seed=1
    )
    kinds = kinds_in_places(run)
    chains = {name: classify(log) for name, log in (("codes", run), ("places", run.in_places()))}
    events = {event for own in chains.values() for event in own["event"]}
    assert set(kinds.index.get_level_values("event")) == events
    for name, found in chains.items():
        for (_, event), kind in kinds[name].items():
            own = found[found["event"] == event]
            longest = own.loc[own["length"] == own["length"].max(), "kind"]
            assert kind in (set(longest) or {"no_sequence"})
    assert 0 < kinds["agrees"].mean() < 1
    assert kinds["agrees"].tolist() == (kinds["codes"] == kinds["places"]).tolist()


def test_purity_counts_each_observation_once():
    places = pd.DataFrame(
        {"n_refits": [0, 1, 1], "code": [0, 0, 1], "n_met": [5, 3, 1], "share": [0.1, 1.0, 0.6]}
    )
    assert learned_states._purity(places) == pytest.approx(0.9)


@pytest.mark.slow
def test_pieces_become_tables_and_a_figure(monkeypatch, tmp_path):
    """Agreement is complete where states are known; shares of events add up to one."""
    pytest.importorskip("gymnasium")
    from analyses.jobs.results import Results
    from analyses.jobs.run import run

    monkeypatch.setattr(learned_states, "_SIZE", 4)
    monkeypatch.setattr(learned_states, "_MAZE_STEPS", 400)
    monkeypatch.setattr(learned_states, "_CART_STEPS", 400)
    tables = run(STUDY, STUDY.usual_plan(0.01, seed=3), tmp_path, jobs=1)
    table = tables["learned_states.csv"].set_index(["task", "encoder", "learner"])
    for learner in ("prioritized_sweeping", "episodic_control"):
        known = table.loc[("maze", "true_states", learner)]
        assert known["agreement"] == known["purity"] == 1.0
        assert known["n"] == 2
    assert table.loc["cart_pole", "mean"].gt(5).all()
    shares = tables["kinds_in_codes.csv"].groupby(["encoder", "learner", "states"])["share"].sum()
    assert shares.between(0.499, 1.001).all()  # a maze may have no sequence at all
    results = Results(tmp_path)
    earned = results.read("learned_states.csv")
    assert len(learned_states_figure(earned).axes) == 2
    assert len(kinds_in_codes_figure(results.read("kinds_in_codes.csv"), earned).axes) == 2


def test_the_guide_has_the_shipped_tables():
    """A row for each way in which states are known, in the maze and on the cart, and settings."""
    guide = (ROOT / ".docs" / "how_well" / "states.md").read_text("utf-8")
    table = reference_table("learned_states/learned_states")
    means = table.set_index(["task", "encoder", "learner"]).sort_index()
    kinds = reference_table("learned_states/kinds_in_codes")
    shares = kinds.set_index(["learner", "states", "kind", "encoder"])["share"]
    sweeping, episodic = "prioritized_sweeping", "episodic_control"

    def interval(row, digits=2):
        mean, low, high = (f"{row[name]:.{digits}f}" for name in ("mean", "ci_low", "ci_high"))
        return f"{mean} ({low} to {high})"

    for encoder in table.loc[table["task"] == "maze", "encoder"].unique():
        own = means.loc[("maze", encoder)]
        cells = [interval(own.loc[name]) for name in (sweeping, episodic)]
        cells += [f"{own.loc[name, 'agreement']:.2f}" for name in (sweeping, episodic)]
        for kind in ("reverse_episode", "novel_path"):
            cells.append(f"{shares.get((sweeping, 'places', kind, encoder), 0.0):.2f}")
        cells.append(f"{own.loc[sweeping, 'n_events']:,.0f}")
        assert f" | {' | '.join(cells)} |" in guide, encoder
    for encoder in table.loc[table["task"] == "cart_pole", "encoder"].unique():
        own = means.loc[("cart_pole", encoder)]
        cells = [interval(own.loc[name], 0) for name in (sweeping, episodic, "q_learning")]
        assert f" | {' | '.join(cells)} |" in guide, encoder
    for _, row in reference_table("learned_states/settings").iterrows():
        cells = [interval(row), f"{row['agreement']:.2f}", f"{row['n_events']:,.0f}"]
        assert f": {row['set_to']:g} | {' | '.join(cells)} |" in guide
