# %% [markdown]
# # An animal's moves, fed to all learners
#
# What would each learner have replayed, had it been in the animal's place? `feed` answers this: it
# gives recorded moves to a learner, which learns from them and replays in their pauses, and
# returns the log.
#
# The animal here is simulated, so that the tutorial runs everywhere: a rat that runs a W-track,
# from the middle arm to the left and to the right outer arm in turn. What follows needs nothing
# but its positions.

# %%
import sys
from pathlib import Path

import pandas as pd

from analyses import classify
from analyses.plots import plot_event, plot_replay_kinds, save
from analyses.recordings import simulated_recording
from analyses.recordings.prepare.visits import experience, find_visits
from replay import LEARNERS, MDP, feed

given = [] if "ipykernel" in sys.modules else sys.argv[1:]
folder = Path(given[0] if given else ".")  # of the pictures
recording = simulated_recording(12)  # yours: analyses.recordings.read_recording(...)
print(len(recording.position), "positions in", round(recording.time[-1]), "s")

# %% [markdown]
# ## From positions to moves
#
# The track is a graph in cm. `MDP.from_networkx` cuts it into states of at most 15 cm. An animal
# enters a state when it comes near its centre, so that a flicker at a border is no move.

# %%
world = MDP.from_networkx(recording.graph, bin_size=15)
visits = find_visits(recording.time, recording.position, recording.graph, world)
moves = experience(visits, world).steps
moves["reward"] = moves["terminated"].astype(float)  # food at the end of each lap
moves["next_action"] = moves["action"].shift(-1, fill_value=0)  # for learners that learn on-policy
laps = moves.groupby("episode")["next_state"].agg(list)
print(world.n_states, "states,", len(moves), "moves,", len(laps), "laps")

# %% [markdown]
# The animal ran 12 laps of 13 moves, six to each side.
#
# ## The same moves for everyone
#
# All learners see exactly this experience, with their textbook parameters.

# %%
size = {"n_states": world.n_states, "n_actions": world.n_actions}
logs = {name: feed(name, moves, **size, mdp=world, seed=1) for name in LEARNERS}
found = pd.concat(classify(log, min_length=3).assign(learner=name) for name, log in logs.items())
pairs = pd.MultiIndex.from_product([LEARNERS, found["kind"].cat.categories])
counts = found.groupby(["learner", "kind"], observed=False).size()
counts = counts.reindex(pairs, fill_value=0).rename_axis(["learner", "kind"]).rename("count")
counts = counts.reset_index()
shown = counts[counts.groupby("learner")["count"].transform("sum") > 0]
save(plot_replay_kinds(shown).figure, folder / "kinds")
silent = [name for name, log in logs.items() if not (log.backups["event"] >= 0).any()]
print("replay nothing:", *silent)

# %% [markdown]
# The same laps, and yet very different replay. Monte Carlo learning, episodic control and
# episodic sequences replay each of the 12 laps backwards when it ends. Trajectory sampling,
# retrieved episodes and prioritized memory access replay forward, ahead of the animal. Prioritized
# sweeping replays backwards, but only 6 times: once its values are right there is nothing left to
# change. Some learners replay nothing at all, and Dyna-Q replays single moves in random order,
# which make no sequence.
#
# Hardly a path is novel. One could lead from one outer arm to the other; but all laps begin in the
# same arm, and the way from an end back to the middle was never run. Learners that know the world
# beforehand, or generate paths on the graph, do go there: these moves were never experienced.

# %%
for name in ("episodic_control", "trajectory_sampling", "prioritized_memory_access"):
    save(plot_event(logs[name]).figure, folder / f"longest_{name}")

# %% [markdown]
# For three learners, the pause with their longest sequence. Episodic control goes back along the
# lap that has just ended; the other two run ahead, from where they are towards food.
