# %% [markdown]
# # Is prioritized sweeping the better episodic control?
#
# That is the question of Brea (2018), arXiv:1711.06677. Both algorithms use pauses to learn from
# memory. *Episodic control* replays the episode that has just ended, backwards. *Prioritized
# sweeping* starts at the state whose value has changed most and steps to all states from which
# that state can be reached, in whatever episode they were visited.
#
# Here both find their way through small mazes of the paper's kind. We ask who earns more, and what
# each of them replays.

# %%
import sys
from pathlib import Path

import pandas as pd

from analyses import classify
from analyses.measures.reward_rate import normalise, summarise
from analyses.plots import (
    plot_learning_curves,
    plot_mdp,
    plot_replay_kinds,
    replay_events_figure,
    save,
)
from replay import simulate
from replay.experiments import EXPERIMENTS
from replay.worlds.mazes import random_maze

given = [] if "ipykernel" in sys.modules else sys.argv[1:]
folder = Path(given[0] if given else ".")  # of the pictures

# %% [markdown]
# ## Six mazes, two learners
#
# Walls and goal are drawn at random. Episodes begin anywhere and end at the goal, which pays 1.
# The parameters are the paper's: a discount of 0.99, and one action in ten is random. Prioritized
# sweeping makes three steps of replay in each pause.

# %%
LEARNERS = ["prioritized_sweeping", "episodic_control"]
experiment = EXPERIMENTS["maze"]
mazes = [random_maze(14, seed=seed) for seed in range(6)]
runs = {
    (name, number): simulate(maze, name, experiment.parameters[name], n_steps=8000, seed=number)
    for name in LEARNERS
    for number, maze in enumerate(mazes)
}
save(plot_mdp(mazes[0]).figure, folder / "maze")

# %% [markdown]
# ## Who earns more?
#
# Mazes differ in what can be earned. So the reward rate is normalised: 0 is what a random walk
# earns in that maze and 1 what the best policy earns; both are computed exactly.

# %%
windows = pd.concat(
    run.reward_rate.assign(experiment="maze", learner=name, mdp=number, seed=0)
    for (name, number), run in runs.items()
)
policies = [maze.solve(experiment.discount).policy for maze in mazes]
baselines = pd.DataFrame(
    {
        "experiment": "maze",
        "mdp": number,
        "random": maze.reward_rate(policy, epsilon=1.0),
        "optimal": maze.reward_rate(policy, epsilon=experiment.epsilon),
    }
    for number, (maze, policy) in enumerate(zip(mazes, policies, strict=True))
)
curves = summarise(normalise(windows, baselines))
earned = curves.groupby("learner", observed=True)["mean"].mean()
save(plot_learning_curves(curves).figure, folder / "learning_curves")
print(earned.round(2))

# %% [markdown]
# Both begin as a random walk, since nothing is known before the goal was found once. Then
# prioritized sweeping is ahead: over the whole run it earns 0.77 of what could be earned, and
# episodic control 0.63. In the end both have found good paths. The bands are wide because there
# are six mazes; the paper has 50 larger ones, and `reference_table("brea_2018/reward_rate")` of
# `replay.data` has their curves.

# %% [markdown]
# ## What do they replay?
#
# `classify` chains the backups of a log into sequences of states, and asks of each whether it had
# been run before, in one go, in some episode. Only sequences of three states or more count.

# %%
sequences = pd.concat(
    classify(run.log, across_events=True, min_length=3).assign(learner=name, mdp=number)
    for (name, number), run in runs.items()
)
counts = sequences.groupby(["learner", "kind"], observed=False).size().rename("count").reset_index()
save(plot_replay_kinds(counts).figure, folder / "kinds")
counts["share"] = counts["count"] / counts.groupby("learner")["count"].transform("sum")
novel = counts[counts["kind"] == "novel_path"].set_index("learner")["share"]
print(novel.round(2))

# %% [markdown]
# Episodic control can only repeat: 95 % of its sequences are an episode in reverse, and the others
# went to and fro between two states, so that their direction is ambiguous. Of the sequences of
# prioritized sweeping more than nine in ten are *novel paths*. Each of their moves was made, but
# never the whole: it is composed of pieces of experience.

# %%
log = runs["prioritized_sweeping", 4].log
own = sequences[(sequences["learner"] == "prioritized_sweeping") & (sequences["mdp"] == 4)]
figure = replay_events_figure(own, log.steps, mazes[4], learner="prioritized_sweeping")
save(figure, folder / "examples")

# %% [markdown]
# On the left, the end of an episode backwards; on the right, a path that was never run as a whole.
# Its pieces lie under it, and a ring marks where they join. So the answer is: what prioritized
# sweeping adds to episodic control is that a pause can connect what no episode has connected.
# Whether that pays depends on the world: in the paper's deterministic trees every path is an
# episode, there are no novel paths, and both learners are alike.
