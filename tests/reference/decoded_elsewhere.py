"""Make the files of posteriors that other programs decoded, as those programs write them.

``decoded_session.npz`` holds an animal that runs a T-maze, its spikes, and four events in which it
replays a lap, a lap backwards, and, twice, the way from arm to arm that it never ran.
``decoded_nld.nc`` and ``decoded_nld_local.nc`` are what ``save_results`` of non_local_detector
0.6.9 writes of these events; the second is of its detector of non-local activity, whose local
states have no place. ``decoded_rtc.nc`` is what replay_trajectory_classification 1.4.1 predicts,
without its likelihoods; ``decoded_rtc_bins.csv`` is its table of bins. ``decoded_pynapple.npz``
holds what `decode_bayes` of pynapple 0.11.4 gives.

Run in an environment of its own, with these packages, ``pandas<3``, ``jax<0.10`` and h5netcdf:
``python decoded_elsewhere.py``.
"""

from pathlib import Path

import numpy as np
import pynapple as nap
import xarray as xr
from non_local_detector import ContFragSortedSpikesClassifier, NonLocalSortedSpikesDetector
from non_local_detector import Environment as DetectorEnvironment
from replay_trajectory_classification import Environment, SortedSpikesClassifier
from replay_trajectory_classification.continuous_state_transitions import RandomWalk, Uniform
from track_linearization import get_linearized_position, make_track_graph

HERE = Path(__file__).parent
NODES = [(60.0, 0.0), (60.0, 80.0), (0.0, 80.0), (120.0, 80.0)]
EDGES, GAP = [(0, 1), (1, 2), (1, 3)], 15.0
N_CELLS, N_LAPS, RUN, SWEEP, GAIN, DT = 40, 8, 30.0, 400.0, 3.0, 0.005
LEFT, RIGHT = (0, 1, 2), (0, 1, 3)


def along(corners, speed, dt):
    """Give the positions on a way through corners, at a speed."""
    points = np.array([NODES[corner] for corner in corners])
    far = np.append(0.0, np.cumsum(np.hypot(*np.diff(points, axis=0).T)))
    at = np.arange(0.0, far[-1], speed * dt)
    return np.stack([np.interp(at, far, points[:, axis]) for axis in (0, 1)], axis=1)


rng = np.random.default_rng(12)
field = np.concatenate([along(LEFT, 1.0, 7.0), along((1, 3), 1.0, 7.0)])
field = field[rng.permutation(len(field))]
field = np.concatenate([field, field])[:N_CELLS]
peak = rng.lognormal(np.log(15.0), 0.4, N_CELLS)


def rates(xy):
    """Give the rate of each cell at each position."""
    away = np.hypot(*(xy[:, None] - field).transpose(2, 0, 1))
    return 0.1 + peak * np.exp(-0.5 * (away / 10.0) ** 2)


time, position, spikes, events, clock = [], [], [[] for _ in range(N_CELLS)], [], 0.0
replayed = {1: LEFT, 3: RIGHT[::-1], 5: (2, 1, 3), 7: (3, 1, 2)}
for lap in range(N_LAPS):
    way = along((LEFT, RIGHT)[lap % 2], RUN, 0.02)
    way = np.concatenate([way, np.repeat(way[-1:], 100, axis=0)])
    moments = clock + 0.02 * np.arange(len(way))
    is_running = np.arange(len(way)) < len(way) - 100
    for cell, rate in enumerate(rates(way).T):
        n = rng.poisson(np.where(is_running, rate, 0.1) * 0.02)
        spikes[cell] += list(np.repeat(moments, n) + 0.02 * rng.random(n.sum()))
    if lap in replayed:
        sweep = along(replayed[lap], SWEEP, 0.001)
        begin = moments[-60]
        events.append((begin, begin + 0.001 * len(sweep)))
        for cell, rate in enumerate(rates(sweep).T):
            n = rng.poisson(GAIN * rate * 0.001)
            spikes[cell] += list(begin + 0.001 * (np.repeat(np.arange(len(sweep)), n) + 0.5))
    time.append(moments)
    position.append(way)
    clock = moments[-1] + 1.0
time, position, events = np.concatenate(time), np.concatenate(position), np.array(events)
spikes = [np.sort(each) for each in spikes]
np.savez_compressed(
    HERE / "decoded_session.npz",
    position_time=time.round(4),
    position_xy=position.round(2),
    spike_time=np.concatenate(spikes).round(5),
    spike_unit=np.repeat(np.arange(N_CELLS), [len(each) for each in spikes]),
    event_time=events.round(4),
)

graph = make_track_graph(NODES, EDGES)
place = get_linearized_position(position, graph, edge_order=EDGES, edge_spacing=GAP)
place = place["linear_position"].to_numpy()
edges = [np.arange(begin, end + DT / 2, DT) for begin, end in events]
space = {"track_graph": graph, "edge_order": EDGES, "edge_spacing": GAP}
small = {"dtype": "float32", "zlib": True, "complevel": 9}

for name, program in (
    ("nld", ContFragSortedSpikesClassifier),
    ("nld_local", NonLocalSortedSpikesDetector),
):
    decoder = program(
        environments=DetectorEnvironment(place_bin_size=5.0, **space),
        sampling_frequency=1 / DT,
        sorted_spikes_algorithm_params={"position_std": 6.0, "block_size": 1000},
    )
    decoder.fit(time, position, spikes)  # x and y: it puts them along the track itself
    parts = []
    for each in edges:
        more = {} if name == "nld" else {"position": position, "position_time": time}
        parts.append(decoder.predict(spike_times=spikes, time=each, **more))
    decoder.save_results(xr.concat(parts, "time"), HERE / f"decoded_{name}.nc")

counts = np.stack([np.histogram(each, np.append(time, time[-1] + 0.02))[0] for each in spikes], 1)
decoder = SortedSpikesClassifier(
    environments=Environment(place_bin_size=5.0, **space),
    continuous_transition_types=[[RandomWalk(), Uniform()], [Uniform(), Uniform()]],
)
decoder.fit(place, np.minimum(counts, 1))
parts = []
for each in edges:
    n = np.stack([np.histogram(own, np.append(each, each[-1] + DT))[0] for own in spikes], 1)
    parts.append(decoder.predict(n, time=each, state_names=["Continuous", "Fragmented"]))
found = xr.concat(parts, "time")[["acausal_posterior"]]
found.to_netcdf(HERE / "decoded_rtc.nc", encoding={"acausal_posterior": small})
bins = decoder.environments[0].place_bin_centers_nodes_df_
bins.to_csv(HERE / "decoded_rtc_bins.csv", index=False)

units = nap.TsGroup({cell: nap.Ts(each) for cell, each in enumerate(spikes)})
tuning = nap.compute_tuning_curves(units, nap.Tsd(time, place), bins=46, range=(0.0, 230.0))
# Nobody was ever in the gaps between edges, but the decoder would put replay there.
tuning = tuning[:, np.abs(tuning[tuning.dims[1]].to_numpy()[:, None] - (87.5, 162.5)).min(1) > 7.5]
epochs = nap.IntervalSet(events[:, 0], events[:, 1])
_, found = nap.decode_bayes(tuning, units, epochs, bin_size=0.02)
np.savez_compressed(
    HERE / "decoded_pynapple.npz",
    t=found.t,
    values=found.values.astype(np.float32),
    columns=np.asarray(found.columns, dtype=float),
)
