"""The gallery: the next replay of each learner in one maze at one moment."""

import matplotlib as mpl
import pandas as pd
import pytest
from matplotlib.patches import FancyArrowPatch

from analyses.studies.gallery import gallery_figure, laps, next_replay
from replay import LEARNERS

SHOWN = ["q_learning", "episodic_control", "prioritized_sweeping", "trajectory_sampling"]


@pytest.fixture(scope="module")
def experience():
    return laps()


@pytest.fixture(scope="module")
def replays(experience):
    return next_replay(*experience, SHOWN)


def moves(replays, learner):
    own = replays[replays["learner"] == learner]
    return list(zip(own["state"], own["next_state"], strict=True))


def arrows(ax):
    return [patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]


def test_laps_are_runs_from_a_start_to_a_goal(experience):
    mdp, steps = experience
    starts, ends = (steps.groupby("episode").nth(k) for k in (0, -1))
    assert (mdp.start_probability[starts["state"]] > 0).all()
    assert (ends["reward"] == 1.0).all()
    assert ends["terminated"].all()
    assert steps["terminated"].sum() == 21
    assert ends["next_state"].tolist()[:-1] == [ends["next_state"].iloc[0]] * 20
    assert ends["next_state"].iloc[-1] != ends["next_state"].iloc[0]
    inside = steps[~steps["terminated"]]
    assert (inside["next_state"].to_numpy() == steps["state"].shift(-1)[inside.index]).all()


def test_episodic_control_replays_the_last_lap_backwards(experience, replays):
    _, steps = experience
    last = steps[steps["episode"] == 20][::-1]
    assert moves(replays, "episodic_control") == list(
        zip(last["next_state"], last["state"], strict=True)
    )
    own = replays[replays["learner"] == "episodic_control"]
    assert own["order"].tolist() == list(range(13))
    assert set(own["kind"]) == {"reverse_episode"}


def test_sweeping_also_goes_where_the_new_goal_was_never_reached_from(experience, replays):
    """The right end of the corridor is no part of the last lap."""
    mdp, steps = experience
    own = replays[replays["learner"] == "prioritized_sweeping"]
    last_lap = set(steps.loc[steps["episode"] == 20, "state"])
    novel = own[~own["next_state"].isin(last_lap)]
    assert [mdp.labels[state] for state in novel["next_state"]] == [(x, 1) for x in (6, 7, 8, 9)]
    assert set(novel["kind"]) == {"novel_path"}
    assert set(own.drop(novel.index)["kind"]) == {"reverse_episode"}


def test_who_replays_at_the_start_is_there(experience, replays):
    mdp, _ = experience
    own = replays[replays["learner"] == "trajectory_sampling"]
    assert set(own["phase"]) == {"start"}
    assert mdp.labels[own["location"].iloc[0]] == (9, 1)
    assert own["state"].iloc[0] == own["location"].iloc[0]
    assert set(own["kind"]) == {"forward_episode"}


def test_who_replays_nothing_has_one_row(replays):
    (row,) = replays[replays["learner"] == "q_learning"].itertuples()
    assert (row.order, row.phase, row.kind) == (-1, None, None)


@pytest.mark.parametrize("width", [8.5, 17.5])
def test_a_panel_for_each_learner_and_a_note_on_the_silent(
    experience, replays, width, assert_legible
):
    mdp, steps = experience
    figure = gallery_figure(replays, steps, mdp, width_cm=width)
    assert_legible(figure)
    titles = [ax.get_title(loc="left") for ax in figure.axes if ax.get_title(loc="left")]
    assert titles == [
        "What was experienced",
        "Prioritized sweeping",
        "Episodic control",
        "Trajectory sampling",
    ]
    counts = [len(arrows(ax)) for ax in figure.axes[1:4]]
    expected = [len(set(moves(replays, name))) for name in (SHOWN[2], SHOWN[1], SHOWN[3])]
    assert counts == expected
    assert "No replay: Q-learning." in figure.texts[-1].get_text().replace("\n", " ")
    assert "forward episode (next start)" in [t.get_text() for t in figure.axes[3].texts]


def test_arrows_are_dark_first_and_thick_where_much_changed(experience):
    mdp, steps = experience
    last = steps[steps["episode"] == 20]
    replay = pd.DataFrame(
        {
            "learner": "mine",
            "phase": "episode_end",
            "location": last["next_state"].iloc[-1],
            "order": [0, 1, 2],
            "state": last["state"].iloc[:3].to_numpy(),
            "next_state": last["next_state"].iloc[:3].to_numpy(),
            "change": [0.0, 0.5, 1.0],
            "kind": "forward_episode",
        }
    )
    figure = gallery_figure(replay, steps, mdp)
    early, middle, late = arrows(figure.axes[1])
    assert early.get_linewidth() < middle.get_linewidth() < late.get_linewidth()
    assert early.get_edgecolor() == mpl.colormaps["plasma"](0)
    assert late.get_edgecolor()[0] > middle.get_edgecolor()[0] > early.get_edgecolor()[0]


def test_nothing_to_draw_is_an_error(experience, replays):
    mdp, steps = experience
    with pytest.raises(ValueError, match="no rows"):
        gallery_figure(replays.head(0), steps, mdp)
    with pytest.raises(ValueError, match="kind"):
        gallery_figure(replays.drop(columns="kind"), steps, mdp)


@pytest.mark.slow
def test_all_learners_are_in_the_gallery(experience):
    replays = next_replay(*experience)
    assert set(replays["learner"]) == set(LEARNERS)
    replaying = replays.loc[replays["order"] >= 0, "learner"].unique()
    silent = {"n_step_td", "q_lambda", "q_learning", "q_learning_optimistic"}
    assert silent.isdisjoint(replaying)
