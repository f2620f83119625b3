"""What rules of the literature take for replay, of events and of events without any.

On the recordings of Kleinman & Foster (2025; see ``reward_retest.py``), for each spike density
event and for one control of each kind, with as many spikes::

    python tests/verification/usual_rules.py FOLDER OUT.csv ANIMAL/SESSION ...

``travel``
    The toolkit's own: evidence that at most .05 of each control reaches, these draws among them.
``weighted_correlation``
    At least .5 in time bins of 20 ms, and more than in 95 of 100 exchanges of its cells [1]_.
``smooth``
    In time windows of 20 ms every 5 ms, the most likely place moves at most 25 cm from one to the
    next for at least 10 windows, and 40 cm in all [2]_.
``continuous``
    The state-space decoder's continuous movement is more probable than .8 in some time bin [3]_.

References
----------
.. [1] Wu & Foster (2014). https://doi.org/10.1523/JNEUROSCI.3414-13.2014
.. [2] Pfeiffer & Foster (2013). https://doi.org/10.1038/nature12112
.. [3] Denovellis et al. (2021). https://doi.org/10.7554/eLife.64505
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from reward_retest import read_session

from analyses.intervals import wilson_interval
from analyses.recordings import Judgement, find_replay
from analyses.recordings.decide.controls import CONTROLS, control_counts, with_exchanged_cells
from analyses.recordings.decide.scores import Route, usual_routes, weighted_correlation
from analyses.recordings.prepare.likelihood import bayesian_posterior, log_likelihood
from analyses.recordings.prepare.session import Session, prepare
from analyses.recordings.prepare.state_space_decoder import (
    CONTINUOUS,
    state_posterior,
    walk_of_states,
)

RULES = ("travel", "weighted_correlation", "smooth", "continuous")
N_EXCHANGES, LEAST_CORRELATION = 100, 0.5
WINDOW, LARGEST_MOVE, LEAST_WINDOWS, LEAST_LENGTH = 0.02, 25.0, 10, 40.0
LEAST_CONTINUOUS = 0.8


def correlates(
    counts: NDArray[np.int64], session: Session, routes: list[Route], rng: np.random.Generator
) -> bool:
    """Compare the weighted correlation with that after exchanges of cells."""
    n = round(WINDOW / session.time_bin)
    binned = np.add.reduceat(counts, np.arange(0, len(counts), n))

    def correlation(own: NDArray[np.int64]) -> float:
        likely = log_likelihood(own, session.rates, WINDOW)
        return weighted_correlation(bayesian_posterior(likely), routes)

    found = correlation(binned)
    electrode = np.arange(counts.shape[1])
    by_chance = [
        correlation(with_exchanged_cells(binned, electrode, rng)) for _ in range(N_EXCHANGES)
    ]
    return found >= LEAST_CORRELATION and bool(np.mean(np.array(by_chance) >= found) <= 0.05)


def is_smooth(counts: NDArray[np.int64], session: Session) -> bool:
    """Find whether a stretch of windows moves far in small steps."""
    n = round(WINDOW / session.time_bin)
    if len(counts) < n:
        return False
    sums = np.cumsum(np.vstack([np.zeros_like(counts[:1]), counts]), axis=0)
    windows = sums[n:] - sums[:-n]
    likely = log_likelihood(windows, session.rates, WINDOW)
    place = likely.argmax(axis=1)
    apart = session.track.distance
    # A window without spikes has no place.
    goes_on = (apart[place[:-1], place[1:]] <= LARGEST_MOVE) & windows.any(axis=1)[1:]
    edges = np.flatnonzero(np.diff(goes_on, prepend=False, append=False)).reshape(-1, 2)
    return any(
        end - begin + 1 >= LEAST_WINDOWS and apart[place[begin], place[end]] >= LEAST_LENGTH
        for begin, end in edges.tolist()
    )


def rates_of_rules(folder: Path, seed: int = 0) -> pd.DataFrame:
    """Return a row for each event and control: what each rule says."""
    recording = read_session(folder).recording
    judgement = Judgement(other_sizes=(), n_controls=1)
    session = prepare(recording, judgement=judgement)
    found = find_replay(recording, judgement=Judgement(other_sizes=()), seed=seed)
    assert found.calibration is not None
    least, track = found.calibration.least_evidence, session.track
    routes = usual_routes(track)
    walk = walk_of_states(track, session.variance, track.n_bins)
    rng = np.random.default_rng(seed)
    electrode = np.arange(len(session.cells))
    rows = []
    tested = found.events.loc[found.events["evidence"].notna()]
    for event in tested.itertuples():
        own = session.counts[event.event]
        kinds = {"events": own} | {
            name: control_counts(
                name, own, session.travel_rates, electrode, track, session.time_bin, rng
            )
            for name in CONTROLS
        }
        chance = found.chance[found.chance["event"] == event.event].drop_duplicates("control")
        evidence = chance.set_index("control")["evidence"].to_dict()
        evidence["events"] = event.evidence
        for name, counts in kinds.items():
            likely = log_likelihood(counts, session.rates, session.time_bin)
            posterior, _ = state_posterior(likely, walk)
            continuous = posterior[:, CONTINUOUS].sum(axis=1).max(initial=0.0)
            rows.append(
                {
                    "session": recording.name,
                    "what": name,
                    # Blocks of what is replay by all other controls are no control.
                    "travel": evidence[name] >= least if name in evidence else None,
                    "weighted_correlation": correlates(counts, session, routes, rng),
                    "smooth": is_smooth(counts, session),
                    "continuous": continuous > LEAST_CONTINUOUS,
                }
            )
    return pd.DataFrame(rows)


def main() -> None:
    """Test all sessions, and write the share of each kind that each rule takes for replay."""
    folder, out, *sessions = sys.argv[1:]
    table = pd.concat([rates_of_rules(Path(folder, name)) for name in sessions])
    shares = []
    for what, rows in table.groupby("what", sort=False):
        for rule in RULES:
            known = rows[rule].dropna().astype(bool)
            low, high = wilson_interval(known.mean(), len(known))
            shares.append(
                {"what": what, "rule": rule, "n": len(known), "share": known.mean(),
                 "ci_low": float(low), "ci_high": float(high)}
            )  # fmt: skip
    found = pd.DataFrame(shares)
    found.to_csv(out, index=False)
    print(found.pivot_table(index="what", columns="rule", values="share")[list(RULES)].round(3))


if __name__ == "__main__":
    main()
