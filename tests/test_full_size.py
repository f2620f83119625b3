"""The shipped results of the paper at full size, compared with the curves of the paper's code."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analyses.studies.brea_2018 import plan_reproduction
from analyses.tables import KINDS
from replay.data import reference_table
from replay.experiments import PAPER_LEARNERS

REFERENCE = Path(__file__).parent / "reference"
DATA = Path(__file__).parents[1] / "data" / "brea_2018"
FILES = {
    "deterministic_tree": "curves_det_tree_terminal.csv",
    "deterministic_tree_intermittent": "curves_det_tree_intermittent.csv",
    "stochastic_tree": "curves_stoch_tree.csv",
    "maze": "curves_maze_freshstart.csv",
}
AGENTS = ("mc", "nstepql", "qllambda", "ql", "qlexplore", "ps", "psexplore", "psreset", "ec")
WINDOWS = np.array([1, 2, 3, 5, 8, 13, 21, 34, 55, 100]) - 1
"""Ten of the 100, dense where the curves rise."""


def z_scores():
    """Compare means over worlds: rows experiment and learner, columns windows."""
    ours = reference_table("brea_2018/reward_rate")
    scores = []
    for name, file in FILES.items():
        theirs = pd.read_csv(REFERENCE / file)
        theirs["learner"] = theirs["agent"].map(dict(zip(AGENTS, PAPER_LEARNERS, strict=True)))
        both = ours[ours["experiment"] == name].merge(theirs, on=["learner", "time_step"])
        assert len(both) == 900
        error = np.hypot(both["sem"].to_numpy(), both["sem_over_mdps"].to_numpy())
        both["z"] = (both["mean"] - both["mean_normalized_reward_rate"]) / error
        steps = np.sort(both["time_step"].unique())[WINDOWS]
        both = both[both["time_step"].isin(steps)]
        scores.append(both.pivot_table("z", ["experiment", "learner"], "time_step"))
    return np.vstack(scores)


def test_curves_are_those_of_the_papers_code():
    """Of 360 z scores one would be beyond 4 in 40 comparisons; mean square: tests/verification."""
    scores = z_scores()
    assert scores.shape == (4 * 9, 10)
    assert np.abs(scores).max() < 4
    assert 0.4 < (scores**2).mean() < 1.9


def test_the_manifest_has_the_papers_sizes_and_parameters():
    manifest = json.loads((DATA / "manifest.json").read_text(encoding="utf-8"))
    described = plan_reproduction(full=True).describe()
    for key in ("n_mdps", "n_seeds", "n_steps", "parameters"):
        assert manifest[key] == described[key]


def test_what_the_paper_says_of_replay():
    """Episodic control replays episodes; sweeping in mazes composes paths that were never run."""
    kinds = reference_table("brea_2018/replay_kinds")
    assert set(kinds["kind"]) == set(KINDS)
    novel = kinds[kinds["kind"] == "novel_path"]
    share = novel.pivot_table("share", ["experiment", "learner"], "chains")
    assert (share.xs("episodic_control", level="learner") == 0).all(axis=None)
    maze = share.loc["maze"]
    assert (maze.loc["prioritized_sweeping"] > [0.9, 0.3]).all()
    trees = share.drop("maze", level="experiment").dropna()
    assert (trees == 0).all(axis=None)
    never = kinds.query("kind == 'unexperienced'").groupby("chains")["count"].sum()
    assert never["within_event"] == 0
    # Across events novelty is judged at the first one: a few moves were made only after that.
    assert 0 < never["across_events"] < 1e-3 * kinds["count"].sum()


def test_unknown_tables_are_refused():
    with pytest.raises(ValueError, match=r"Unknown table 'brea'\. Choose from: brea_2018/area"):
        reference_table("brea")
