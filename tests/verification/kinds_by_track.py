"""How much known replay is found with the right kind, by track, speed, and what surrounds it.

Rats of ``two_way_rats.py`` run a line, a W or a plus both ways and replay at 13 or 20 times their
running speed, with other places in the same burst or without; and an animal forages in an arena and
replays stretches of its run, which turn, and straight lines. On tracks, events are bursts, or are
found in the decoded posterior of all times at which the rat is slow. Where their times are given
and they are decoded with the true fields, what is missed is not in their spikes::

    python tests/verification/kinds_by_track.py SEED OUT.csv [N_SESSIONS]

writes a row for each case as it is finished. Wrong is forward instead of reverse, or the other way
round. In the arena, where cells have no heading, replay is right if it is found; there, what is
above exchanged cells alone is counted as well.
"""

import sys
from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.spatial.distance import cdist
from simulated_rats import overlap
from two_way_rats import TRACKS, TwoWayRat, simulate_two_way_rat

from analyses.intervals import wilson_interval
from analyses.recordings import Judgement, find_replay
from analyses.recordings.basics.settings import ARENA, DETECTED_IN, Settings
from analyses.recordings.decide.conclusions import Conclusions, conclude
from analyses.recordings.decide.controls import EXCHANGED
from analyses.recordings.decide.scoring import score_all
from analyses.recordings.prepare.headings import HeadedFields
from analyses.recordings.prepare.session import prepare
from analyses.recordings.recover.simulated_recording import simulated_arena

SPEEDS = (13.0, 20.0)
AROUND = {"": None, "30 to 60 ms": (0.03, 0.06)}
GIVEN = "given"
N_LINES = 60  # events of a session in an arena


def judged(case: dict[str, object], truth: pd.Series, named: pd.Series) -> dict[str, object]:
    """Count what is right and what is wrong; what is missed or undecided is neither."""
    n = len(truth)
    right, wrong = (named == truth).sum(), named.isin(truth.unique()).sum()
    low, high = wilson_interval(right / n, n)
    shares = {"right": right / n, "ci_low": float(low), "ci_high": float(high)}
    return {**case, "n": n, **shares, "wrong": (wrong - right) / n}


def found_with_true_fields(
    rat: TwoWayRat, first_end: tuple[float, float], seed: int
) -> Conclusions:
    """Find replay in bursts whose times are given, with the fields that made the spikes."""
    bursts = pd.DataFrame(
        {"start_time": rat.truth["burst_start"], "end_time": rat.truth["burst_end"]}
    )
    recording, judgement = replace(rat.recording, events=bursts), Judgement(other_sizes=())
    session = prepare(recording, judgement=judgement)
    track, (away, towards) = session.track, rat.rates[:, session.cells]
    at = cdist(track.position, rat.points).argmin(axis=1)
    root = int(cdist([first_end], track.node_position).argmin())
    one, other = track.node_distance[root][track.edges[track.edge]].T
    ahead = np.where(other > one, away[:, at], towards[:, at])  # for the second node of an edge
    back = np.where(other > one, towards[:, at], away[:, at])
    headings = HeadedFields(np.hstack([ahead, back]), (ahead != back).any(axis=1))
    session = session._replace(rates=(ahead + back) / 2, headings=headings)
    return conclude(session, score_all(session, seed))


def on_track(
    name: str, speed: float, around: tuple[float, float] | None, detected_in: str, seed: int
) -> pd.DataFrame:
    """Return the true and the found direction of each event of one rat."""
    rat = simulate_two_way_rat(name, speed, seed, around=around)
    if detected_in == GIVEN:
        found = found_with_true_fields(rat, TRACKS[name][1], seed)
    else:
        settings, judgement = Settings(detected_in=detected_in), Judgement(other_sizes=())
        found = find_replay(rat.recording, settings=settings, judgement=judgement, seed=seed)
    longest = found.sequences.sort_values("distance", ascending=False, kind="stable")
    known = longest.drop_duplicates("event").set_index("event")["direction"].astype(str)
    named = found.events["event"].map(known).where(found.events["is_replay"])
    at = pd.Series(overlap(rat.truth, found.events))
    return pd.DataFrame({"truth": rat.truth["direction"], "named": at.map(named)})


def in_arena(seed: int) -> pd.DataFrame:
    """Return the true kind of each event in one arena, and again if it is above all controls.

    And once more if it is above exchanged cells.
    """
    seen = simulated_arena(N_LINES, seed=seed)
    found = find_replay(seen.recording, judgement=ARENA._replace(other_sizes=()), seed=seed)
    truth = pd.Series(["lines" if kind == "straight" else "runs" for kind in seen.kind])
    least = found.controls.set_index("control")["least_evidence"][EXCHANGED]
    return pd.DataFrame(
        {
            "truth": truth,
            "all": truth.where(found.events["is_replay"]),
            EXCHANGED: truth.where(found.events["evidence"] >= least),
        }
    )


def main() -> None:
    """Judge all cases, and write the table as it grows."""
    seed, out = int(sys.argv[1]), sys.argv[2]
    n_sessions = int(sys.argv[3]) if len(sys.argv) > 3 else 2
    rows: list[dict[str, object]] = []

    def keep(case: dict[str, object], truth: pd.Series, named: pd.Series) -> None:
        rows.append(judged(case, truth, named))
        pd.DataFrame(rows).to_csv(out, index=False, float_format="%.6f")
        print(rows[-1], flush=True)

    for name in TRACKS:
        for speed in SPEEDS:
            for around, seconds in AROUND.items():
                case = {"maze": name, "speed": speed, "around": around, "replayed": "runs",
                        "controls": "all"}  # fmt: skip
                for source in (*DETECTED_IN, GIVEN):  # of the same rats
                    made = pd.concat(
                        [
                            on_track(name, speed, seconds, source, seed + k)
                            for k in range(n_sessions)
                        ]
                    )
                    fields = "true" if source == GIVEN else "estimated"
                    case |= {"detected_in": source, "fields": fields}
                    keep(case, made["truth"], made["named"])
                seed += n_sessions
    made = pd.concat([in_arena(seed + k) for k in range(n_sessions)])
    for replayed, events in made.groupby("truth"):
        for controls in ("all", EXCHANGED):
            case = {"maze": "arena", "speed": 16.0, "around": "", "replayed": replayed}
            case |= {"controls": controls, "detected_in": GIVEN, "fields": "estimated"}
            keep(case, events["truth"], events[controls])


if __name__ == "__main__":
    main()
