"""Parity with the figures of accounts' authors: the arithmetic, the measures, what ships."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from laps import LapProtocol, run_laps
from parity_figures import parity_experiments_figure, parity_figure
from parity_protocols.agreement import compare_claims, compare_panels, published_panels
from parity_protocols.belief_states import BELIEF_PROTOCOLS
from parity_protocols.forgetful_choices import FORGETTING_PROTOCOLS
from parity_protocols.future_goals import GEODESIC_PROTOCOLS, Choices, goal_shares
from parity_protocols.generators import GENERATOR_PROTOCOLS
from parity_protocols.memory_access import (
    MEMORY_ACCESS_PROTOCOLS,
    LapRecord,
    contents,
    directions,
    paying_arm,
    reward_shift,
)
from parity_protocols.preplay import match_arms
from parity_protocols.replayed_pairs import mean_directionality
from parity_protocols.sfma import SFMA_PROTOCOLS
from parity_protocols.shortcuts import count_shortcuts
from parity_protocols.successor import SUCCESSOR_PROTOCOLS
from parity_protocols.textbook import TEXTBOOK_PROTOCOLS

from replay import MDP
from replay.data import reference_table
from replay.learners import find_learner

SHIPPED = "parity/parity"
NO_EXPERIMENTS = pd.DataFrame(columns=["account", "task", "statistic", "value"])


def published(**row):
    empty = dict.fromkeys(["value", "sem", "n", "low", "high", "sign", "experiment_sign"], np.nan)
    named = {"account": "a", "protocol": "p", "measure": "m", "task": None, "statistic": None}
    return pd.DataFrame([empty | named | row])


def ours(*values):
    return pd.DataFrame({"protocol": "p", "measure": "m", "value": values})


def verdict(row, *values):
    return compare_panels(row, ours(*values), NO_EXPERIMENTS)["agrees"].item()


# -- agreement ----------------------------------------------------------------------------


def test_values_agree_within_three_standard_errors_of_their_difference():
    # Ours has the mean 2 and the standard error 1 / sqrt(3); with 1 of theirs, that is 1.1547.
    values = (1.0, 2.0, 3.0)
    for value, agrees in ((2.0 + 3.4, "yes"), (2.0 + 3.5, "no"), (2.0 - 3.5, "no")):
        assert verdict(published(value=value, sem=1.0, n=4), *values) == agrees
    table = compare_panels(published(value=5.0, sem=1.0), ours(*values), NO_EXPERIMENTS)
    assert table["z"].item() == pytest.approx(-3.0 / np.hypot(1.0, 1.0 / np.sqrt(3.0)))


def test_the_spread_of_ours_stands_for_an_error_that_was_not_published():
    # Standard deviation 1, so that of the mean of 4 is 0.5.
    table = compare_panels(published(value=3.0, n=4), ours(1.0, 2.0, 3.0), NO_EXPERIMENTS)
    assert table["z"].item() == pytest.approx(-1.0 / np.hypot(0.5, 1.0 / np.sqrt(3.0)))


def test_exact_values_agree_exactly():
    assert verdict(published(value=0.0, sem=0.0), 0.0, 0.0) == "yes"
    assert verdict(published(value=0.0, sem=0.0), 1.0, 1.0) == "no"


def test_ranges_and_directions():
    assert verdict(published(low=1.0, high=2.0), 1.5, 1.5) == "yes"
    assert verdict(published(low=1.0, high=2.0), 2.5, 2.5) == "no"
    for values, agrees in (((1.0, 1.1, 1.2), "yes"), ((-1.0, -1.1, -1.2), "no")):
        assert verdict(published(sign=1), *values) == agrees
        assert verdict(published(sign=-1), *np.negative(values)) == agrees
    assert verdict(published(sign=1), -1.0, 1.0) == "undecided"


def test_what_was_not_simulated_is_not_computed():
    assert verdict(published(protocol="other", value=1.0)) == "not computed"
    assert verdict(published(sign=1), np.nan, np.nan) == "not computed"


def test_an_effect_in_the_experiment_has_its_own_sign():
    row = published(sign=-1, task="t", statistic="S", experiment_sign=1)
    found = pd.DataFrame({"account": "a", "task": "t", "statistic": "S", "value": [1.0, 1.1, 1.2]})
    table = compare_panels(row, ours(-1.0, -1.1), found)
    assert table[["agrees", "experiment_agrees"]].to_numpy().tolist() == [["yes", "yes"]]
    assert table["experiment"].item() == pytest.approx(1.1)
    opposite = compare_panels(row, ours(-1.0, -1.1), found.assign(value=-found["value"]))
    assert opposite["experiment_agrees"].item() == "no"


# -- measures -----------------------------------------------------------------------------

# A corridor of 0 to 7 whose end pays: 0 leads left, 1 right.
NEXT = np.array([[max(s - 1, 0), s + 1] for s in range(7)] + [[-1, -1]], dtype=np.int32)


def experience(*, rewards=(1.0, 1.0), replays):
    """Two laps along the corridor; replays are (step, states, action), the last steps are 6, 13."""
    rows = [
        (lap, 7 * lap + s, s, 1, reward * (s == 6), s + 1, s == 6)
        for lap, reward in enumerate(rewards)
        for s in range(7)
    ]
    names = ["episode", "step", "state", "action", "reward", "next_state", "terminated"]
    backups = pd.DataFrame(
        [
            (0, step // 7, step, "episode_end" if step % 7 == 6 else "step", step, pop, s, action)
            for step, states, action in replays
            for pop, s in enumerate(states)
        ],
        columns=["run", "episode", "step", "phase", "event", "pop", "state", "action"],
    )
    backups["next_state"] = NEXT[backups["state"], backups["action"]]
    return LapRecord(pd.DataFrame(rows, columns=names), backups.assign(priority=0.1), NEXT, (7,))


AHEAD, BACK = (7, [0, 1, 2, 3, 4], 1), (6, [6, 5, 4, 3, 2], 1)


def test_directions_are_counted_a_lap():
    found = directions(experience(replays=[BACK, AHEAD]))
    assert found["forward_at_start"] == found["reverse_at_goal"] == 0.5
    assert found["forward_at_goal"] == found["reverse_at_start"] == 0.0
    assert found["forward_start_minus_goal"] == 0.5
    assert found["forward_in_first_laps"] == 1.0  # the second lap alone is among them


def test_sequences_follow_the_last_reward():
    found = reward_shift(experience(rewards=(4.1, 0.9), replays=[BACK, AHEAD]), 4.0)
    assert found["reverse_after_shift"] == 1.0  # one, over half of two laps
    assert found["forward_after_shift"] == 1.0  # at the next start the last reward still counts
    assert found["reverse_after_1x"] == found["forward_after_1x"] == 0.0
    assert found["reverse_shift_minus_1x"] == 1.0


def test_contents_are_where_the_animal_is_and_goes():
    found = contents(experience(replays=[BACK, AHEAD]))
    assert found["begins_at_animal"] == 1.0
    assert found["begins_at_animal_by_chance"] == pytest.approx(1 / 7)
    assert found["goal_distance_of_last"] == pytest.approx((5 + 3) / 2)
    assert found["goal_distance_by_chance"] == pytest.approx(4.0)
    assert (found["forward_shows_future"], found["forward_shows_past"]) == (1.0, 1.0)
    assert (found["reverse_shows_future"], found["reverse_shows_past"]) == (1.0, 1.0)


def test_of_a_backup_of_several_steps_the_last_one_counts():
    seen = experience(replays=[(7, [3, 4, 3], 1)])
    seen = seen._replace(backups=seen.backups.assign(pop=[0, 0, 1]))
    found = paying_arm(seen, {"cued": (3, 1), "uncued": (3, 0)})
    assert (found["cued_share"], found["uncued_share"]) == (1.0, 0.0)


def test_pairs_go_forward_or_in_reverse():
    forward = (np.array([0, 1, 2]), np.array([1, 2, 3]))
    reverse = (np.array([2, 1]), np.array([3, 2]))
    unordered = (np.array([0, 5]), np.array([1, 6]))
    assert mean_directionality([forward], 1) == 2.0
    assert mean_directionality([reverse, unordered], 2) == -0.5


def test_shortcuts_join_one_loop_to_the_other():
    top_right = [43, 32, 21, 10, 9, 8, 7, 6, 5]
    top_left = [4, 3, 2, 1, 0, 11, 22, 33, 44]
    assert count_shortcuts(np.array(top_right + top_left)) == 1
    no_loop = [*top_right[::-1], 16, 27, 38, 49, 60, 71, 70, 69, 68]
    assert count_shortcuts(np.array(no_loop)) == 0


def test_goals_are_counted_in_trials_that_repeat_them():
    # Arm 1 pays three times, then arm 2; trials 5 and 6 repeat it.
    choices = Choices(np.array([1, 1, 1, 1, 2, 2, 2]), np.array([1, 1, 1, 2, 2, 2, 2]))
    shown = np.zeros((7, 8), dtype=bool)
    shown[5, 1] = shown[6, 3] = True
    found = goal_shares(choices, shown)
    assert found["current_goal"] == 0.0
    assert found["previous_goal"] == found["previous_minus_current"] == 0.5
    assert found["other_arm"] == pytest.approx(0.5 / 6)


def test_arms_are_matched_either_way_with_two_errors():
    assert match_arms(np.array([6, 5, 4, 3, 10, 17]))["cued_back"]
    assert not any(match_arms(np.array([30, 31, 30, 31, 30, 31])).values())
    both = match_arms(np.array([17, 10, 3, 4, 5, 20]))
    assert (both["cued"], both["uncued"]) == (1, 0)


# -- simulations --------------------------------------------------------------------------


def test_a_shock_that_is_remembered_is_replayed():
    found = MEMORY_ACCESS_PROTOCOLS["shock"](0)
    assert found == {"shock_zone_before": 0.0, "shock_zone_after": 1.0}


def test_who_never_bumps_explores_as_often_as_told():
    """On a track both directions are then equally likely; redrawing a bump would be greedy."""
    mdp = MDP.from_tables(
        [[max(s - 1, 0), s, s, min(s + 1, 9)] for s in range(10)],
        np.zeros(10),
        start=9,
        terminal=[0],
    )
    protocol = LapProtocol(mdp, [np.array([9])] * 10, mdp.terminal, lambda rng, lap: 1.0)
    learner = find_learner("q_learning", {"epsilon": 0.5, "learning_rate": 1.0})
    steps = run_laps(protocol, learner, n_laps=300, seed=0, only_moves=True).steps
    assert (steps["state"] != steps["next_state"]).all()
    learned = steps[(steps["episode"] >= 20) & steps["state"].between(1, 8)]
    away = learned["next_state"] > learned["state"]
    assert away.mean() == pytest.approx(0.25, abs=0.03)


def test_a_seed_gives_the_same_animal():
    one, same, other = (SFMA_PROTOCOLS["sequences_linear_track_default"](s) for s in (0, 0, 1))
    assert one == same != other


def test_every_maze_is_given_its_map():
    assert GENERATOR_PROTOCOLS["five_mazes"](0) == {"maps_used": 5.0, "laps_in_own_map": 1.0}


def test_a_detour_is_known_after_rest():
    found = SUCCESSOR_PROTOCOLS["detour"](0)
    assert (found["shortest_learned"], found["shortest_detour"]) == (1.0, 1.0)
    assert 0.0 < found["value_detour"] < found["value_learned"]


def test_what_exploring_is_worth_is_replayed_back_to_the_start():
    found = BELIEF_PROTOCOLS["uncertain_barrier"](0)
    way = [value for name, value in found.items() if name.startswith(("up", "right", "left"))]
    np.testing.assert_allclose(np.divide(way[1:], way[:-1]), 0.9)
    stem = BELIEF_PROTOCOLS["uncertain_stem"](0)
    assert (stem["cued_after"], stem["uncued_after"]) == (2.0, 0.0)


# -- what ships ---------------------------------------------------------------------------


def test_every_published_row_has_what_it_takes():
    panels = published_panels()
    told = panels[["value", "low", "sign"]].notna().any(axis=1)
    known = (
        MEMORY_ACCESS_PROTOCOLS.keys()
        | SFMA_PROTOCOLS.keys()
        | TEXTBOOK_PROTOCOLS.keys()
        | {"brea_2018"}
    )
    known |= SUCCESSOR_PROTOCOLS.keys() | GENERATOR_PROTOCOLS.keys()
    known |= GEODESIC_PROTOCOLS.keys() | FORGETTING_PROTOCOLS.keys() | BELIEF_PROTOCOLS.keys()
    assert set(panels.loc[told, "protocol"]) <= known
    assert panels.loc[~told, "why"].notna().all()
    assert panels[["account", "source", "read_from"]].notna().all(axis=None)
    assert (panels["low"].notna() == panels["high"].notna()).all()
    of_task = panels.loc[panels["task"].notna(), ["statistic"]]
    assert of_task.notna().all(axis=None)


def test_a_figure_agrees_if_its_quantities_do_and_are_told():
    """Half of the published 2 is within three errors of the second row."""
    values = (2.1, 2.1, 2.1)
    exact, wide, other = (published(value=2.0, sem=sem, n=9) for sem in (0.2, 0.4, 0.01))
    for rows, expected in (
        ([exact], ["agrees", 1, 1, 0, 0]),
        ([exact, wide], ["too imprecise", 2, 1, 0, 1]),
        ([exact, wide, other], ["differs", 3, 1, 1, 1]),
        ([published(sign=1)], ["agrees", 1, 1, 0, 0]),
        ([published(protocol="other", value=1.0), exact], ["agrees", 1, 1, 0, 0]),
    ):
        table = compare_panels(pd.concat(rows), ours(*values), NO_EXPERIMENTS)
        told = compare_claims(table.assign(panel="Fig. 1"))
        assert told.drop(columns=["account", "panel"]).to_numpy().tolist() == [expected]
    equal = compare_panels(published(value=0.0, sem=0.0), ours(0.0, 0.0), NO_EXPERIMENTS)
    assert compare_claims(equal.assign(panel="Fig. 1"))["verdict"].item() == "agrees"


def test_the_shipped_claims_are_those_of_the_shipped_rows():
    claims = compare_claims(reference_table(SHIPPED))
    pd.testing.assert_frame_equal(reference_table("parity/claims"), claims)
    n = claims["verdict"].value_counts()
    page = Path(__file__).parents[1] / ".docs" / "how_well" / "parity.md"
    guide = " ".join(page.read_text("utf-8").split())
    words = f"of {len(claims)} figures, {n['agrees']} agree, {n['differs']} differ, and "
    assert f"{words}{n['too imprecise']} are too imprecise to tell" in guide
    assert f"{claims['n_imprecise'].sum()} quantities" in guide


def test_the_shipped_table_is_that_of_the_published_rows():
    table, panels = reference_table(SHIPPED), published_panels()
    assert table["quantity"].tolist() == panels["quantity"].tolist()
    pd.testing.assert_series_equal(table["value"], panels["value"])
    told = panels[["value", "low", "sign"]].notna().any(axis=1)
    assert (table.loc[told, "ours"].notna()).all()
    assert set(table["agrees"]) <= {"yes", "no", "undecided", "not computed"}
    assert ((table["agrees"] == "not computed") == ~told).all()
    assert table.loc[table["agrees"] == "no", "why"].notna().all()
    assert (table["agrees"] == "yes").mean() > 0.85


def test_figures_draw_every_panel_and_effect():
    table = reference_table(SHIPPED)
    drawn = table.dropna(subset=["value", "ours"])
    (ax,) = parity_figure(table).axes
    points = [line for line in ax.lines if line.get_marker() in ("o", "D")]
    assert sum(len(line.get_xdata()) for line in points) == len(drawn)
    far = {text.get_text() for text in ax.texts} - {""}
    assert far == {f"{z:+.0f}" for z in drawn["z"] if abs(z) > 5}  # they lie beyond the axis
    (ax,) = parity_experiments_figure(table).axes
    effects = table[table["task"].notna() & table["sign"].notna()]
    assert len(ax.get_yticklabels()) == len(effects)
    expected = effects[["sign", "experiment_sign"]].to_numpy().ravel()
    shown = [text.get_text() for text in ax.texts]
    signs = [text.partition(" 0")[0][-1] for text in shown]
    assert signs == [">" if sign > 0 else "<" for sign in expected]
