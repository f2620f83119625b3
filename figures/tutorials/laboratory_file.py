# %% [markdown]
# # A file of a laboratory
#
# Files that laboratories publish hold more than one analysis needs: units of several regions,
# positions with a third column, epochs without names, field potentials of gigabytes. Here is the
# way from such a file to the picture of an event. Its layout is that of dandiset 000978 (a W-track
# that rats learn in a day), but the animal is simulated, so that this runs anywhere in a minute.
#
# ## The file
#
# You need not write this: your file is there, or on the network, as
# `dandi:000978/sub-JDS-SingleDay-JS14/sub-JDS-SingleDay-JS14_behavior+ecephys.nwb`. Ours has sixty
# units of CA1 and six of prefrontal cortex, which fire at random.

# %%
import sys
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from pynwb import NWBHDF5IO, NWBFile
from pynwb.behavior import Position, SpatialSeries
from pynwb.epoch import TimeIntervals

from analyses.plots import figure_style, posterior_figure, save
from analyses.recordings import Judgement, find_replay, read_recording, simulated_recording
from analyses.recordings.basics.binned_track import project
from analyses.recordings.prepare.likelihood import log_likelihood
from analyses.recordings.prepare.session import prepare
from analyses.recordings.prepare.state_space_decoder import state_posterior
from analyses.recordings.readers.contents import describe_file
from analyses.reports import notes_of

given = [] if "ipykernel" in sys.modules else sys.argv[1:]
folder = Path(given[0] if given else ".")  # of the file and the picture
folder.mkdir(parents=True, exist_ok=True)
rat = simulated_recording(12)
end, rng = float(rat.time[-1]), np.random.default_rng(0)

file = NWBFile("learning a W-track", "JS14", datetime(2026, 1, 1, tzinfo=UTC))
device = file.create_device(name="tetrodes")
for region in ("CA1", "PFC"):
    group = file.create_electrode_group(region, "tetrodes", region, device)
    file.add_electrode(group=group, location=region)
for spikes in rat.spikes:
    file.add_unit(spike_times=spikes, electrodes=[0])
for _ in range(6):
    file.add_unit(spike_times=np.sort(rng.uniform(0, end, round(5 * end))), electrodes=[1])
velocity = np.hypot(*np.gradient(rat.position, rat.time, axis=0).T)
series = SpatialSeries(
    name="SpatialSeries", data=np.column_stack([rat.position, velocity]), timestamps=rat.time,
    unit="cm", reference_frame="corner",
)  # fmt: skip
behavior = file.create_processing_module("behavior", "behavioral data")
behavior.add(Position(spatial_series=series))
epochs = TimeIntervals(name="epoch intervals", description="Start and end of all epochs")
epochs.add_interval(start_time=0.0, stop_time=end)
file.add_time_intervals(epochs)
path = folder / "session.nwb"
with NWBHDF5IO(str(path), "w") as writer:
    writer.write(file)

# %% [markdown]
# ## What does it hold?
#
# The last line is the command that would do all of what follows. What no file holds is the track:
# a graph in cm, in the coordinates of the positions, which you draw once for a maze: plot the
# positions, and read off where corridors end and meet.

# %%
print(*describe_file(path), sep="\n")
nodes = [rat.graph.nodes[node]["pos"] for node in rat.graph]
track = {"node_positions": nodes, "edges": list(rat.graph.edges)}  # as JSON for the command

# %% [markdown]
# ## Replay in CA1
#
# We read the units of CA1 alone: the others know nothing of places, and would only add noise.
# Candidate events are detected in their firing rate, since the file has no table of events. If it
# had one, such as ripples, that would be taken; and where the rate says little, events can be
# detected in the decoded posterior (`find_decoded`).

# %%
recording = read_recording(path, track, units="location == 'CA1'")
judgement = Judgement(n_shuffles=19, n_controls=2)
found = find_replay(recording, judgement=judgement)
print(recording, *notes_of(found), sep="\n")
print(found.events[["start_time", "evidence", "is_replay", "kind"]].round(3).to_string(index=False))

# %% [markdown]
# All twelve events are found, and nothing else. The notes say how that was judged: against the same
# events with exchanged cells, and against simulated ones that hold places or lead nowhere. Look at
# one before you believe any of it. Cells are sorted by their fields, so that replay is a diagonal
# of spikes; the course of the stretch is where the probability lies, and does not jump except from
# edge to edge of the track as it is laid out.

# %%
session = prepare(recording, judgement=judgement)
event = int(found.events.index[found.events["is_replay"]][0])
likelihoods = log_likelihood(session.counts[event], session.decoded_rates, session.time_bin)
posterior, _ = state_posterior(likelihoods, session.walk())
start, stop = session.events.loc[event, ["start_time", "end_time"]]
spikes = [recording.spikes[cell] for cell in session.cells]
course = found.paths[found.paths["event"] == event]
path_bins = np.full(len(posterior), -1)  # nothing travels
moment = ((course["time"] - start) / session.time_bin).astype(int)
path_bins[moment] = project(session.track, course[["x", "y"]].to_numpy()).bin
with figure_style():
    figure = posterior_figure(
        posterior, session.track, dt=session.time_bin, start=start, rates=session.rates,
        spikes=[each[(each >= start) & (each <= stop)] for each in spikes],
        path=path_bins,
    )  # fmt: skip
    save(figure, folder / "event")
