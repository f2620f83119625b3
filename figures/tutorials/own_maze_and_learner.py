# %% [markdown]
# # Your own maze, and your own learner
#
# A maze is a drawing, and a learner is a Python module of a few functions. This tutorial makes
# both: a maze with two ways round, and a learner that replays each episode *forward* when it has
# ended. Does the order of replay matter?

# %%
import importlib
import sys
from pathlib import Path

from analyses import classify
from analyses.plots import learned_graph_figure, plot_event, save
from replay import simulate
from replay.worlds.mazes import from_ascii

given = [] if "ipykernel" in sys.modules else sys.argv[1:]
folder = Path(given[0] if given else ".")  # of the pictures and of the module

# %% [markdown]
# ## The maze
#
# `S` is where episodes begin, `G` the goal, `#` a wall, and a dot is free. Around the drawing
# there are walls, too. A cell is 10 cm wide.

# %%
maze = from_ascii("""
.......
.#####.
S#...#G
.#.#.#.
...#...
""")
print(maze.n_states, "states; actions:", *maze.action_names)

# %% [markdown]
# ## The learner
#
# A learner is a module. `Params` are its parameters with their defaults, and `Memory` its arrays.
# `learn` is called after each step and `replay` in each pause. This one is Q-learning that goes
# through the episode once more when it has ended, in the order in which it was run. `record`
# writes a backup into the log, which all analyses read. The `description` says that a backup may be
# caused by the one that leads to its state, which is the one before it if the episode is replayed
# as it was run.

# %%
MODULE = '''
"""Q-learning that replays each episode at its end, forward or backwards."""

from typing import NamedTuple

import numpy as np

from replay.learners.contract import Description
from replay.learners.q_learning import learn as learn_online
from replay.log.backups import EPISODE_END, record
from replay.parts.experiences import Episode, add_transition, begin_episode, episode


class Params(NamedTuple):
    discount: float = 0.99
    epsilon: float = 0.1
    learning_rate: float = 0.5
    initial_value: float = 0.0
    act_before_update: bool = False
    backwards: bool = False


class Memory(NamedTuple):
    action_values: np.ndarray
    episode: Episode


def init(params, sizes):
    Q = np.full((sizes.n_states, sizes.n_actions), params.initial_value)
    return Memory(Q, episode(sizes.n_steps))


def description(params):
    return Description(
        "the episode", phases=(EPISODE_END,), priority="as run",
        source="this tutorial", goes_forward=not params.backwards,
    )


def most_backups(params, memory):
    return 2 + memory.episode.length[0]


def learn(params, memory, transition, log):
    learn_online(params, memory, transition, log)
    add_transition(memory.episode, transition.state, transition.action, transition.reward)


def replay(params, memory, pause, rng, log):
    if pause.phase == EPISODE_END:
        Q, steps, length = memory.action_values, memory.episode.steps, memory.episode.length[0]
        cause = -1
        for k in range(length):
            i = length - 1 - k if params.backwards else k
            s, a, r = steps[i]["state"], steps[i]["action"], steps[i]["reward"]
            is_last = i == length - 1
            s_next = pause.state if is_last else steps[i + 1]["state"]
            future = 0.0 if is_last and pause.terminated else Q[s_next].max()
            before = Q[s, a]
            Q[s, a] += params.learning_rate * (r + params.discount * future - before)
            cause = record(
                log, EPISODE_END, s, a, s_next, before, Q[s, a], r, pop=k, cause=cause
            )
        begin_episode(memory.episode)
'''
folder.mkdir(parents=True, exist_ok=True)
(folder / "episode_again.py").write_text(MODULE)
sys.path.insert(0, str(folder.resolve()))
episode_again = importlib.import_module("episode_again")

# %% [markdown]
# Wherever the name of a learner is accepted, a module is too. The command line takes the file.
#
# ## Does the order matter?
#
# Both variants get the same number of steps and the same seed.

# %%
N_STEPS = 4000
forward = simulate(maze, episode_again, n_steps=N_STEPS, seed=3)
reverse = simulate(maze, episode_again, {"backwards": True}, n_steps=N_STEPS, seed=3)
lengths = {
    name: run.log.steps.groupby("episode").size().to_numpy()
    for name, run in {"forward": forward, "backwards": reverse}.items()
}
for name, steps in lengths.items():
    print(f"{name}: episodes of", *steps[:12], "steps;", len(steps), "episodes")

# %% [markdown]
# It does. The first episode is the same 119 steps of chance in both. Replayed backwards, it is
# enough: each backup hands the value on to the state before, all the way back to the start, and
# the second episode takes 10 steps. Replayed forward, a backup looks at a state whose value comes
# only later, so that value moves back by one state an episode: the next episodes take 138, 59 and
# 157 steps, and only the sixth is as short.

# %%
for name, run in {"forward": forward, "backwards": reverse}.items():
    save(plot_event(run.log, 1).figure, folder / f"second_pause_{name}")
sequences = {"forward": classify(forward.log), "backwards": classify(reverse.log)}
for name, own in sequences.items():
    early = own["episode"] < 5
    print(name, "early:", own["kind"][early].value_counts().head(2).to_dict())
    print(name, "later:", own["kind"][~early].value_counts().head(2).to_dict())

# %% [markdown]
# The pictures show the second pause of both: arrows go as the moves were replayed, dark first.
# Once the way is known, all but a few sequences of one learner are reverse replay of an episode,
# and all but a few of the other are forward replay. In the first five episodes, which go to and
# fro, some are ambiguous: a move there and back is the same in either order.
#
# ## What was learned
#
# `log.graph()` is the world as it is known from the log, as a networkx graph. It grows with
# experience.

# %%
log = reverse.log
moments = [20, 60, 118, N_STEPS - 1]
figure = learned_graph_figure({step: log.graph(until=step) for step in moments}, maze)
save(figure, folder / "learned_graph")

# %% [markdown]
# After 21 steps the agent knows four states around the start; at the end of the first episode it
# has found the goal. The way that it then takes again and again is dark: it goes round the top.
