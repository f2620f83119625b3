"""What decoding loses of replayed sequences, which simulated animals lose, too.

Known sequences of accounts on the W-track, each an event in spikes, are searched by `find_replay`
and compared with what was found in the same event::

    python tests/verification/lost_places.py SEED CELLS SPEED

It prints how many sequences lie within one straight stretch, how often stretches are found by their
number of places, and how many places their ends lose. Speed is in cm/s. The numbers in the program
are those of seed 501 with 30, 60 and 120 cells at 400, and 60 cells at 800.
"""

import sys
from dataclasses import replace

import numpy as np
import pandas as pd
from explained_spikes import N_TRUE, QUICK, recorded_laps, simulated
from simulated_rats import overlap

from analyses.inference.decoding import _stretches
from analyses.recordings import find_replay
from analyses.recordings.recover.observe import observe
from analyses.sequences.sequences import Lists

ACCOUNTS = ("sfma", "prioritized_sweeping", "graph_walks", "hierarchical_generative")
ACCOUNTS += ("retrieved_episodes", "context_reactivation")


def place_in(part: list[int], path: list[int]) -> int:
    """Find where a part begins in a path; -1 if it is none."""
    starts = range(len(path) - len(part) + 1)
    return next((k for k in starts if path[k : k + len(part)] == part), -1)


def main() -> None:
    """Search known sequences, and print what was lost."""
    seed, cells, speed = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    laps, rows, n_found, n_within = recorded_laps("w_track"), [], 0, 0
    is_dead = np.bincount(laps.animal.places.ends[:, 0]) == 1
    for name in ACCOUNTS:
        [(_, true, rng)] = simulated(laps, name, range(1), 1, seed)
        true = true.take(np.sort(rng.permutation(len(true.lap))[:N_TRUE]))
        paths = pd.DataFrame({"step": true.step, "states": true.states.arrays()})
        seen = observe(laps.animal.log, laps.graph, paths, cells=cells, speed=speed, seed=seed)
        found = find_replay(replace(seen.recording, events=None), judgement=QUICK, seed=1)
        at = overlap(seen.recording.events, found.events)
        of_event = found.sequences.groupby("event")["states"].agg(list)
        for states, event in zip(true.states.arrays(), at, strict=True):
            if event < 0:
                continue
            own = of_event.get(found.events["event"].iloc[event], [])
            lines, begin, *_ = _stretches(Lists.of([states]))
            stretches = [each.tolist() for each in np.split(states[lines], begin[1:-1])]
            is_whole = len(stretches) == 1 and len(stretches[0]) == len(states)
            n_found += len(own)
            for stretch in stretches:
                hits = [(place_in([*map(int, one)], stretch), len(one)) for one in own]
                hits = [hit for hit in hits if hit[0] >= 0]
                n_within += len(hits)
                first, length = hits[0] if hits else (np.nan, np.nan)
                rows.append({"places": len(stretch), "whole": is_whole, "found": bool(hits),
                             "first": first, "last": len(stretch) - first - length,
                             "first_dead": is_dead[stretch[0]],
                             "last_dead": is_dead[stretch[-1]]})  # fmt: skip
    table = pd.DataFrame(rows)
    print(f"{n_within} of {n_found} sequences lie within one stretch (some in two)")
    shares = table.pivot_table("found", "places", "whole", aggfunc=["mean", "size"])
    print(shares.round(2).to_string())
    ends = [table[[f"{end}_dead", end]].set_axis(["dead end", "lost"], axis=1)
            for end in ("first", "last")]  # fmt: skip
    lost = pd.concat(ends).dropna()
    print(pd.crosstab(lost["dead end"], lost["lost"], normalize="index").round(3).to_string())


if __name__ == "__main__":
    main()
