# %% [markdown]
# # Which account explains this replay?
#
# An animal ran its laps and replayed sequences of places. Which account of replay would replay just
# these? Every account learns from the animal's own moves, with parameters drawn from priors, and a
# classifier learns from these simulated animals to tell the accounts apart. Here the answer is
# known: the first animal is simulated, too. The second one replays nothing but random walks.

# %%
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from analyses import explain
from analyses.plots import explained_sequences_figure, explanation_figure, save
from replay import EventLog
from replay.tasks import run_task

given = [] if "ipykernel" in sys.modules else sys.argv[1:]
folder = Path(given[0] if given else ".")  # of the pictures
ACCOUNTS = ["sfma", "episodic_control", "dyna_q", "trajectory_sampling", "shuffled_laps"]
N_DRAWS = 40  # of the parameters of each account; 64 or more for a paper, and all accounts

# %% [markdown]
# ## An animal whose account is known
#
# This animal replays as SFMA does (Diekmann & Cheng 2023), in the maze of Gupta et al. (2010).

# %%
rat = run_task("gupta_2t", "sfma", {"n_replays": 20}, seed=1)
answer = explain(rat, accounts=ACCOUNTS, n_draws=N_DRAWS)
print(answer)
columns = ["account", "probability", "misfit", "bits", "share_of_ceiling"]
print(answer.probabilities[columns].round(3).to_string(index=False))
save(explanation_figure(answer.probabilities, answer.verdicts), folder / "explained_replay")
save(explained_sequences_figure(answer.sequences, answer.verdicts), folder / "explained_sequences")

# %% [markdown]
# SFMA comes first, with certainty, and the animal looks like one of its own: the p of misfit, how
# often an animal of SFMA is as unusual for it as this one, is far above .05. The other accounts
# would be refused. The bits say how well each account predicts a sequence, in laps that did not
# choose its parameters. On the way from a walk along the track, at 0, to the ceiling, at 1, SFMA
# comes less than half as far: a model that learns from the animal's own replay, without a theory,
# does better than the mean of an account's predictions.
#
# How sure may one be? The same classifier, with simulated animals that it has not seen:

# %%
told = answer.verdicts.iloc[0]
print(
    f"recovered {told.recovered:.0%}; sure {told.sure:.0%}, of these right {told.right_if_sure:.0%}"
)

# %% [markdown]
# ## An animal that follows none of these
#
# The second animal runs the same laps, but after each of them it replays a random walk through the
# maze. Such walks are in no list here. A classifier has to choose one of the accounts; the test of
# misfit does not.

# %%
rng = np.random.default_rng(1)
steps = rat.log.steps
neighbours = steps.groupby("state")["next_state"].unique()
walks = []
for end in np.flatnonzero(steps["terminated"]):
    walk = [int(rng.choice(steps["state"]))]
    while len(walk) < 15:
        walk.append(int(rng.choice(neighbours.get(walk[-1], [walk[0]]))))
    walks.append({"step": end, "states": walk})


class Walker:
    """Moves, and the places that were replayed: all that `explain` needs."""

    experience = EventLog({"steps": steps}, mdp=rat.log.mdp)
    visited = pd.DataFrame(walks)


lost = explain(Walker, accounts=ACCOUNTS, n_draws=N_DRAWS, wrong_places=0.0)
print(lost)
print(lost.probabilities[columns].round(3).to_string(index=False))
print(lost.misfits[["feature", "value", "low", "high"]].round(2).to_string(index=False))

# %% [markdown]
# The classifier has to choose, and takes shuffled laps, a control. But hardly any of its animals
# replays like this one: the p of misfit is below .05, so that the verdict is *none of these*. The
# features say why: the sequences of shuffled laps are much shorter than these walks.
#
# An answer is not always withheld. If the list has a near relative of the true account, the
# relative passes: of accounts that replay the last lap backwards, any one explains the replay of
# any other. So give all accounts (the default), and ask `replay identifiability` what your maze
# could tell apart before you record. For a recording, `found = find_replay(recording)` takes the
# place of `rat`, and `rewards` says what each state paid.
