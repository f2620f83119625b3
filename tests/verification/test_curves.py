"""Every learner's curve in every experiment against the curves of the paper's own code.

The worlds of the reference were drawn afresh, so nothing agrees to the digit. Area under the curve
and ten windows are compared as z scores: the difference of the means over the root of the summed
squared standard errors, over worlds. The sizes are those of the reference, so that both errors are
equal but for chance; it tells none for the area, for which ours serves on both sides.
"""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from joblib import Parallel, delayed
from scipy import stats

from replay.experiments import EXPERIMENTS
from replay.learners import LEARNERS
from replay.mdp import uniform_policy
from replay.simulation import simulate

pytestmark = pytest.mark.slow

REFERENCE = Path(__file__).parents[1] / "reference"
FILES = {
    "deterministic_tree": "curves_det_tree_terminal.csv",
    "deterministic_tree_intermittent": "curves_det_tree_intermittent.csv",
    "stochastic_tree": "curves_stoch_tree.csv",
    "maze": "curves_maze_freshstart.csv",
}
AGENTS = {
    "mc": "monte_carlo",
    "nstepql": "n_step_td",
    "qllambda": "q_lambda",
    "ql": "q_learning",
    "qlexplore": "q_learning_optimistic",
    "ps": "prioritized_sweeping",
    "psexplore": "prioritized_sweeping_optimistic",
    "psreset": "prioritized_sweeping_reset",
    "ec": "episodic_control",
}
WINDOWS = np.array([1, 2, 3, 5, 8, 13, 21, 34, 55, 100]) - 1
"""Ten of the 100, dense where the curves rise."""
LAST = slice(90, 100)
FURTHEST = 4.0
"""Of 396 independent z scores one would be beyond it in 40 suites."""


def _curves_of_world(experiment_name, index, n_seeds, learner, params):
    experiment = EXPERIMENTS[experiment_name]
    mdp = experiment.mdp(index)
    lowest = mdp.reward_rate(uniform_policy(mdp))
    highest = mdp.reward_rate(mdp.solve(experiment.discount).policy, experiment.epsilon)
    rates = [
        simulate(
            mdp,
            learner,
            params,
            n_steps=experiment.n_steps,
            seed=experiment.run_seed(index, run),
            log="none",
        ).reward_rate["reward_rate"]
        for run in range(n_seeds)
    ]
    return (np.array(rates) - lowest) / (highest - lowest)


@cache
def curves(experiment, learner, n_mdps, n_seeds, **changes):
    """Return the normalised windows of all runs, shape (n_mdps, n_seeds, 100)."""
    params = EXPERIMENTS[experiment].parameters[learner]._replace(**changes)
    worlds = (
        delayed(_curves_of_world)(experiment, index, n_seeds, learner, params)
        for index in range(n_mdps)
    )
    return np.array(Parallel(n_jobs=-1)(worlds))


def means(experiment, learner, n_mdps, n_seeds, **changes):
    """Return the mean curve of each world, shape (n_mdps, 100)."""
    return curves(experiment, learner, n_mdps, n_seeds, **changes).mean(axis=1)


def standard_error(values):
    return values.std(axis=0, ddof=1) / np.sqrt(len(values))


def reference(experiment):
    table = pd.read_csv(REFERENCE / FILES[experiment])
    return table.assign(learner=table["agent"].map(AGENTS)).set_index("learner")


def summaries(curve):
    """Return area under the curve and ten windows, shape (n_mdps, 11)."""
    return np.column_stack([curve.mean(axis=1), curve[:, WINDOWS]])


def z_scores(ours, theirs):
    """Compare worlds' curves, shape (n_mdps, 100), with one learner's rows of the reference."""
    mean = theirs["mean_normalized_reward_rate"].to_numpy()
    error = theirs["sem_over_mdps"].to_numpy()
    values = summaries(ours)
    own_error = standard_error(values)
    their_error = np.concatenate([own_error[:1], error[WINDOWS]])
    difference = values.mean(axis=0) - np.concatenate([[mean.mean()], mean[WINDOWS]])
    return difference / np.hypot(own_error, their_error)


def own_curves(experiment, learner, **changes):
    """Simulate as many worlds and seeds as the reference has."""
    theirs = reference(experiment).loc[learner]
    n_mdps, n_seeds = theirs["n_mdps"].iloc[0], theirs["n_seeds"].iloc[0]
    return means(experiment, learner, int(n_mdps), int(n_seeds), **changes)


@cache
def all_z_scores(experiment):
    theirs = reference(experiment)
    return pd.DataFrame(
        {
            learner: z_scores(own_curves(experiment, learner), theirs.loc[learner])
            for learner in LEARNERS
        },
        index=["area", *(f"window {window + 1}" for window in WINDOWS)],
    ).T


def n_independent(values):
    """Tell how many independent z scores vary as much in their mean square as correlated ones.

    Of correlated normal z scores the sum of squares has the variance 2 * sum(r**2), over all pairs
    of them. The square of a correlation measured in n worlds is too large by (1 - r**2)**2 / n, or
    about 1 / n where it is small.
    """
    n_worlds, n_scores = values.shape
    squares = np.corrcoef(values, rowvar=False) ** 2
    squares -= (1 - squares) ** 2 / (n_worlds - 1)
    return n_scores**2 / squares.sum()


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_no_z_score_is_beyond_4(experiment):
    scores = all_z_scores(experiment)
    assert scores.abs().max(axis=None) < FURTHEST, scores.round(1).to_string()


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_mean_square_of_z_scores_is_near_1(experiment):
    """It is a mean of correlated squares: chi-squared, with as many degrees as independent ones."""
    values = np.hstack([summaries(own_curves(experiment, learner)) for learner in LEARNERS])
    degrees = n_independent(values)
    low, high = stats.chi2.ppf([0.0005, 0.9995], degrees) / degrees
    scores = all_z_scores(experiment)
    mean_square = (scores**2).mean(axis=None)
    assert low < mean_square < high, f"{degrees:.0f} degrees\n{scores.round(1).to_string()}"
