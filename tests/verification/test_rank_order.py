"""Replay of a rat whose runs are published with spikes, beside the order in which its cells fire.

The repository kismarci/decoder has spikes of 54 cells of the rat Achilles of Grosmark & Buzsaki
(hc-11), and its positions in 42 runs in one direction. It has no licence, so that none of it is
kept here: clone it, install ``rdata``, and name its folder::

    ACHILLES=FOLDER python -m pytest -m slow tests/verification/test_rank_order.py

Bursts are detected, and each stretch of replay is compared with the rank correlation between the
times of its spikes and the peaks of fields: positive in forward replay, negative in reverse. Where
position is unknown, between the runs, candidate events are not refused for speed.
"""

import os
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from scipy.stats import spearmanr

from analyses.recordings import Judgement, Recording, find_replay

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif("ACHILLES" not in os.environ, reason="ACHILLES names no folder"),
]
FIRST_FRAME = 3001  # of the spikes; runs are numbered from the first frame of the session
N_FRAMES, N_CELLS = 77_000, 54
LEAST_RATE = 5.0  # Hz, at the peak of a field that counts in rank correlations


@pytest.fixture(scope="module")
def achilles():
    """Read spikes, runs and fields: a recording, and the peak of each field (cm; NaN if low)."""
    rdata = pytest.importorskip("rdata")
    found = {}
    for name in ("actrunslefttime", "irunsup", "ratemaps_active", "sptpopR"):
        found |= rdata.read_rda(Path(os.environ["ACHILLES"], f"{name}.RData"))
    spikes, made = found["spt.pop"], found["act.runs.left.time"]
    runs, n_frames = np.asarray(found["irunsup"]), made["nframes"].astype(int)
    frame = (spikes[-1, 0] - spikes[0, 0]) / N_FRAMES
    ends = spikes[0, 0] + frame * (runs - FIRST_FRAME)
    time = np.concatenate([np.linspace(*own, n) for own, n in zip(ends, n_frames, strict=True)])
    place = 100 * made["pos"]
    first, last = np.percentile(place, (0.8, 99.6))
    track = nx.Graph([("start", "end")])
    track.add_node("start", pos=(first, 0.0))
    track.add_node("end", pos=(last, 0.0))
    recording = Recording(
        "Achilles", track, time, np.column_stack([place, np.zeros_like(place)]),
        spikes=tuple(np.sort(spikes[spikes[:, 1] == cell, 0]) for cell in range(1, N_CELLS + 1)),
    )  # fmt: skip
    rates = np.asarray(found["ratemaps.left"])
    peaks = np.linspace(first, last, len(rates))[rates.argmax(axis=0)]
    return recording, np.where(rates.max(axis=0) > LEAST_RATE, peaks, np.nan)


def test_kinds_are_those_of_the_order_in_which_cells_fire(achilles):
    """Some 77 of 378 bursts are replay; the criteria before found 20 of 212."""
    recording, peaks = achilles
    found = find_replay(recording, judgement=Judgement(other_sizes=()), seed=0)
    replays = found.events[found.events["is_replay"]]
    assert len(replays) >= 56
    assert set(replays["kind"]) == {"forward_episode", "reverse_episode"}
    kinds, agree = replays.set_index("event")["kind"], []
    for stretch in found.stretches[found.stretches["event"].isin(kinds.index)].itertuples():
        times, places = [], []
        for spikes, peak in zip(recording.spikes, peaks, strict=True):
            own = spikes[(spikes >= stretch.start_time) & (spikes <= stretch.end_time)]
            if np.isfinite(peak):
                times.extend(own)
                places.extend([peak] * len(own))
        correlation = spearmanr(times, places)
        if correlation.pvalue < 0.05:
            agree.append((correlation.statistic > 0) == (kinds[stretch.event] == "forward_episode"))
    assert len(agree) >= 50
    assert np.mean(agree) >= 0.95
