# %% [markdown]
# # Your own finding, compared with all accounts
#
# Suppose that you have recorded rats on a linear track, and found that 31 of 80 replay events that
# run in one direction were reverse. Which accounts of replay expect that? An *account* is a
# learner with a prior over its parameters; some are controls, which do not learn.
# `compare` simulates studies of each account, and asks how probable your number is if that account
# were true.

# %%
import sys
from pathlib import Path

import pandas as pd

from analyses import compare
from analyses.findings.table import findings
from analyses.plots import save, study_figures

given = [] if "ipykernel" in sys.modules else sys.argv[1:]
folder = Path(given[0] if given else ".")  # of the pictures
ACCOUNTS = None  # all of them
N_DRAWS = 4  # simulated studies of each account; use 100 or more for a paper

# %% [markdown]
# ## Your finding
#
# One row per number. `statistic` says what was measured (`reverse_share`: that of reverse
# sequences among those with one direction), `task_name` where, and `likelihood` how it is known:
# here as a count. Sequences had to have five states or more. Without a DOI it is marked as
# unpublished.

# %%
mine = pd.DataFrame(
    {
        "id": ["ours.reverse"],
        "citation": ["Us, in preparation"],
        "year": [2026],
        "quantity": ["share of reverse replay"],
        "statistic": ["reverse_share"],
        "task_name": ["linear_track"],
        "likelihood": ["count"],
        "successes": [31],
        "trials": [80],
        "n_animals": [4],
        "min_length": [5],
    }
)
table = findings(mine)
row = table[table["id"] == "ours.reverse"]
print(row[["source", "question", "value"]].to_string(index=False))

# %% [markdown]
# It asks what published findings ask, too: how much of replay is reverse?
#
# ## What the accounts say
#
# Evidence is in bits, compared with a uniform prediction: one bit makes the finding twice as
# probable as if every share were equally probable.

# %%
tables = compare(["linear_track"], ACCOUNTS, n_draws=N_DRAWS, findings=row)
evidence = tables["evidence"].sort_values("evidence", ascending=False)
columns = ["account", "predicted_low", "predicted", "predicted_high", "evidence", "is_control"]
print(evidence[columns].round(2).to_string(index=False))
for study, figure in study_figures(tables["evidence"]):
    save(figure, folder / f"study_{study}")

# %% [markdown]
# Most accounts are at an extreme. Prioritized sweeping, episodic control and SFMA replay backwards
# only, or nearly so; trajectory sampling and retrieved episodes replay forward only. They have
# about the least evidence that there can be, -4.3 bits: nothing counts as more than 20 times less
# probable than under the uniform prediction, since an account may fail for reasons that are
# unrelated to it.
# Three of the controls have no sequence of five states in one direction at all.
#
# Prioritized memory access, which predicts anything from none to four in ten, loses less than a
# bit. Accounts that predict a third to a half gain, but hardly more than a bit: among them are the
# hierarchical generative model, the attractor with adaptation, context-driven reactivation, and
# SFMA with its published parameters. So one number rules out much and proves little; and with four
# draws per account, all of this is a sketch. The published findings together are in
# `data/comparison`.
