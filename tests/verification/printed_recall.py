"""Whether the recall and the shares that are printed for a recording are the true ones.

Rats of ten sorts replay more forward, more reverse or more novel paths. Recall (the share of events
of a kind that is found with this kind) and corrected shares, as `recorded_shares` gives them, stand
beside the truth, which `simulated_rats` knows and the toolkit does not::

    python tests/verification/printed_recall.py SEED OUT.csv [N_EVENTS]
"""

import sys

import numpy as np
import pandas as pd
from simulated_rats import KINDS, Rat, overlap, simulate_rat

from analyses.recordings import find_replay
from analyses.recordings.basics.settings import Judgement
from analyses.recordings.prepare.session import prepare
from analyses.recordings.recover.shares import recorded_shares

RATS = {
    "50 cells": Rat(),
    "30 cells": Rat(cells=30),
    "20 cells": Rat(cells=20),
    "80 cells, more reverse": Rat(cells=80, shares=(0.2, 0.6, 0.2)),
    "more novel": Rat(shares=(0.2, 0.2, 0.6)),
    "hardly any novel": Rat(shares=(0.5, 0.45, 0.05)),
    "ten times running speed": Rat(speed=10.0),
    "noisy positions, dropouts": Rat(noise=1.5, dropouts=0.1),
    "bursts and drift": Rat(cells=40, bursts=0.2, drift=0.3),
    "two fields, two merge": Rat(cells=60, n_fields=2, merged=0.3),
}
COLUMNS = ["rat", "seed", "kind", "found", "corrected", "ci_low", "ci_high", "recall", "n_found"]
COLUMNS += ["true_recall", "true_share"]


def compare(name: str, rat: Rat, seed: int) -> pd.DataFrame:
    """Return one row for each kind: recall and share as printed, and the true ones."""
    simulated = simulate_rat(rat, seed)
    judgement = Judgement(other_sizes=())
    found = find_replay(simulated.recording, judgement=judgement, seed=seed)
    shares = recorded_shares(prepare(simulated.recording, judgement=judgement), found, seed=seed)
    truth = simulated.truth["kind"]
    kinds = found.events["kind"].to_numpy(dtype=object)
    at = np.array(overlap(simulated.truth, found.events))
    is_right = pd.Series((at >= 0) & (kinds[at] == truth.to_numpy()))
    table = shares.table.set_index("kind").reindex(KINDS)
    return table.assign(
        rat=name,
        seed=seed,
        n_found=int(found.events["kind"].isin(KINDS).sum()),
        true_recall=is_right.groupby(truth).mean(),
        true_share=truth.value_counts(normalize=True),
    ).reset_index()[COLUMNS]


def main() -> None:
    """Compare all rats, and write the table as it grows."""
    seed, out = int(sys.argv[1]), sys.argv[2]
    n_events = int(sys.argv[3]) if len(sys.argv) > 3 else 360
    rows: list[pd.DataFrame] = []
    for number, (name, rat) in enumerate(RATS.items()):
        rows.append(compare(name, rat._replace(n_events=n_events), seed + number))
        pd.concat(rows).to_csv(out, index=False)
        print(rows[-1].round(3).to_string(), flush=True)
    table = pd.concat(rows)
    apart = (table["recall"] - table["true_recall"]).groupby(table["rat"], sort=False).mean()
    inside = (table["ci_low"] <= table["true_share"]) & (table["true_share"] <= table["ci_high"])
    known = table["corrected"].notna()
    print((apart.abs() <= 0.07).sum(), "of", apart.notna().sum(), "printed recalls within .07")
    print(inside.sum(), "of", known.sum(), "true shares within their intervals")


if __name__ == "__main__":
    main()
