# %% [markdown]
# # States that must be learned, and states that are hidden
#
# Brea (2018) ends with two questions. Which function maps what an animal senses to states with
# which prioritized sweeping can work? And how does sweeping go on where what is sensed does not
# tell the state? Here both are asked in small worlds, of learners that know numbered states only:
# an *encoder* stands between them and the world.

# %%
import sys
from pathlib import Path

import pandas as pd

from analyses import classify
from analyses.plots import plot_event, save
from replay import random_maze, simulate
from replay.encoders import KMeans, LastObservations, PredictiveStates, StateMerging
from replay.worlds.observations import aliased, cued_t_maze, place_code

given = [] if "ipykernel" in sys.modules else sys.argv[1:]
folder = Path(given[0] if given else ".")  # of the pictures

# %% [markdown]
# ## What the animal sees
#
# A maze is seen through noisy place cells, one for each of its 16 places, among 30 units that
# flicker: nothing is ever seen twice. `KMeans` calls alike what looks alike.
# `PredictiveStates` calls alike what lets the animal expect the same. Both are fitted to a random
# walk, and again as the run goes on.

# %%
maze = random_maze(6, seed=1)
animal = place_code(maze, width=10, noise=0.1, n_distractors=30)
n_codes = 2 * maze.n_states
ENCODERS = {"k-means": KMeans(n_codes), "predictive states": PredictiveStates(n_codes)}
runs = {
    name: simulate(animal, "prioritized_sweeping", encoder=encoder, n_steps=4000, seed=1)
    for name, encoder in ENCODERS.items()
}
runs["true states"] = simulate(maze, "prioritized_sweeping", n_steps=4000, seed=1)
pauses = {name: run.log.backups["event"].nunique() for name, run in runs.items()}
earned = {name: run.reward_rate["reward_rate"].iloc[-25:].mean() for name, run in runs.items()}
print(pd.DataFrame({"earned": earned, "pauses": pauses}).round(3))

# %% [markdown]
# The rewards are alike, the replay is not. With true states sweeping replays in 14 pauses and then
# rests, with predictive states in 11; with k-means it replays after more than half of the 4,000
# steps. Why?
#
# ## Where codes are
#
# `run.log` is in codes. The environment tells its true places, so that each code lies where it was
# met on average; a diamond marks a code that was met in several places.

# %%
shared = {}
for name in ENCODERS:
    log = runs[name].log
    shared[name] = len(log.provenance["codes_of_several_states"])
    save(plot_event(log).figure, folder / name.replace(" ", "_"))
print(shared)

# %% [markdown]
# To k-means a unit that flickers counts as much as a place cell. Some codes are met in two places,
# and lead to where both lead: the model of the world never settles, so that there is always
# something to sweep. Predictive states leave out what tells nothing of the future, and each code is
# one place.
#
# Is replay still of the same kind, then? `run.in_places()` is the log with each code replaced by
# the place at which it was met most often.

# %%
kinds = pd.DataFrame(
    {
        (name, where): classify(log)["kind"].value_counts(normalize=True)
        for name in ENCODERS
        for where, log in (("codes", runs[name].log), ("places", runs[name].in_places()))
    }
)
print(kinds.round(2))

# %% [markdown]
# With predictive states the two columns agree. With k-means they do not: a quarter of the sequences
# are novel paths in codes, and fewer than a tenth are in places.
# `replay study learned_states` asks this of more mazes, with intervals.
#
# ## What cannot be seen
#
# In a T-maze a cue at the start tells in which arm there is food. Then come five places that look
# alike, and the choice. One observation does not tell what to do. A window of the last four
# observations has lost the cue; `StateMerging` joins histories that nothing tells apart, and keeps
# those apart that differ in what follows, however long ago they parted.

# %%
t_maze = cued_t_maze(5)
hidden = aliased(t_maze, t_maze.labels)
MEMORIES = {"last four": LastObservations(4), "merged histories": StateMerging()}
food = {}
for name, encoder in MEMORIES.items():
    run = simulate(hidden, "prioritized_sweeping", encoder=encoder, n_steps=4000, seed=1)
    food[name] = run.log.steps.query("terminated")["reward"].tail(200).mean()
print(food)

# %% [markdown]
# By chance food is found in half of the episodes. With merged histories it is found in all but
# those in which the choice was random: one action in ten is. So sweeping goes on as before, if
# something remembers for it. An encoder of your own is an object with three attributes, as
# `replay/encoders/contract.py` shows.
