# %% [markdown]
# # A decoded recording
#
# What did the animal replay, and is it replay at all? Here is the whole way from spikes to kinds
# of replay. The recording is simulated, so that we know the truth: a rat on a W-track, 60 place
# cells, and at the end of each lap an event in which the cells replay a lap, the same backwards,
# or a path between the outer arms that the animal never runs.

# %%
import sys
from pathlib import Path

from analyses.plots import figure_style, plot_recorded_kinds, save
from analyses.recordings import Judgement, find_replay, simulated_recording

given = [] if "ipykernel" in sys.modules else sys.argv[1:]
folder = Path(given[0] if given else ".")  # of the pictures
recording = simulated_recording(12)  # yours: analyses.recordings.read_recording(...)
print(len(recording.spikes), "cells,", len(recording.events), "candidate events")

# %% [markdown]
# ## Is it replay?
#
# Place fields are estimated while the animal runs, and each event is decoded: at each moment a
# place is drawn anew, held, or travelled through. The evidence for travel is compared with that of
# controls, which have as many spikes but hold no replay: the same spikes with the fields of other
# cells, places that are held, short sweeps, and others. An event counts if it has more than all but
# .05 of each. We take few of them; `replay recording` takes more.

# %%
found = find_replay(recording, judgement=Judgement(n_shuffles=19, n_controls=2))
columns = ["event", "start_time", "n_active", "evidence", "is_replay", "kind"]
print(found.events[columns].round(3).to_string(index=False))
print(f"{found.events['is_replay'].sum()} of {len(found.events)} events are replay.")
print(found.controls.round(3).to_string(index=False))
print(found.stretches[["event", "share", "length", "speed"]].round(1).to_string(index=False))

# %% [markdown]
# All 12 events pass: with 60 cells the decoder hardly errs. Candidate events of a real recording
# are many more, and most of them fail. Here each event is one stretch of travel from its begin to
# its end; in a real burst, a stretch may be a part of it, with other places around it.
#
# ## What is replayed?
#
# The course of a stretch becomes a sequence of states, and each sequence is classified by what the
# animal had run *before* that moment.

# %%
print(found.sequences[["event", "direction", "novelty", "kind"]].to_string(index=False))
counts = found.events["kind"].value_counts()
print(counts)

# %% [markdown]
# Forward and reverse are read off the animal's own laps: it only ever runs from the middle arm
# outwards. A path from one outer arm to the other is `mixed`: its first half had been run the
# other way round, its second half as replayed. So it is composed of pieces of two laps, and was
# never run: a novel path. In the first lap nothing had been run yet but that lap itself; what is
# replayed then can only be the lap.
#
# ## How sure is that?
#
# Twelve events of one animal are few, and intervals are wide. And a share of novel paths can depend
# on what counts as a place: the finer the states, the more paths may be new in some detail. These
# are long and clear enough to be of the same kind at every size.

# %%
with figure_style():
    kinds = found.kinds.assign(state_size=(100 / found.kinds["states_per_metre"]).round())
    save(plot_recorded_kinds(kinds).figure, folder / "recorded_kinds")
