"""How often forward and reverse replay is told on a track that is run both ways.

An animal runs 24 laps there and back on a linear track of 160 cm. Then it replays 30 runs, half of
them in the heading that its cells represent (*forward*) and half against it (*reverse*), at 5 m/s
and 2.9 times the rates of running. Seven in ten cells fire less in one heading than in the other;
the study varies how much less, and the number of cells. Where no cell differs, nothing can be told,
and what is told is a guess.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from analyses.cli.studies import run_file
from analyses.intervals import mean_interval
from analyses.jobs.results import Results
from analyses.jobs.study import Piece, Shown, SizedPlan, Study, sized
from analyses.recordings.basics.binned_track import cut_track
from analyses.recordings.recover.cells import draw_cells
from analyses.recordings.recover.recover import recovery
from analyses.recordings.recover.simulated_recording import draw_two_way_session

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CODES", "OUTCOMES", "STUDY", "tell_headings"]

CODES = {
    f"{n_cells}_cells_{round(100 * other_rate)}_percent": (n_cells, other_rate)
    for n_cells in (12, 25, 50, 100)
    for other_rate in (0.1, 0.4, 0.6, 0.8, 1.0)
}
"""Name -> number of cells, and the rate of directional ones in their weaker heading, relative to
that in the other."""

OUTCOMES = ("right", "wrong", "ambiguous", "missed")
_DIRECTIONAL, _SPEED, _GAIN = 0.7, 500.0, 2.9


def tell_headings(n_cells: int, other_rate: float, seed: np.random.SeedSequence) -> pd.Series:
    """Simulate a session, and return the share of events with each outcome.

    Examples
    --------
    >>> shares = tell_headings(60, 0.1, np.random.SeedSequence(0))
    >>> bool(shares["right"] > 0.8), float(shares.sum().round(6))
    (True, 1.0)
    """
    session_seed, cell_seed, seed_of_recovery = seed.generate_state(3).tolist()
    session = draw_two_way_session(np.random.default_rng(session_seed))
    cells = draw_cells(
        cut_track(session.graph, 1.0), n_cells, directional=_DIRECTIONAL, weaker=other_rate,
        seed=cell_seed,
    )  # fmt: skip
    found = recovery(
        *session, cells=[cells], gain=[_GAIN], speed=[_SPEED], n_seeds=1, seed=seed_of_recovery
    )
    is_right = found["kind"] == found["true_kind"]
    is_told = found["kind"].isin(["forward_episode", "reverse_episode"])
    outcome = np.select(
        [is_right, is_told, found["kind"] == "ambiguous"], OUTCOMES[:3], OUTCOMES[3]
    )
    return pd.Series({name: float(np.mean(outcome == name)) for name in OUTCOMES})


def _make(plan: SizedPlan, piece: Piece) -> dict[str, pd.DataFrame]:
    n_cells, other_rate = CODES[piece.group]
    key = (n_cells, round(10 * other_rate), piece.number)
    shares = tell_headings(n_cells, other_rate, np.random.SeedSequence(plan.seed, spawn_key=key))
    rows = shares.rename_axis("outcome").reset_index(name="share")
    return {"outcomes": rows.assign(n_cells=n_cells, other_rate=other_rate)}


def _summarise(plan: SizedPlan, results: Results) -> dict[str, pd.DataFrame]:
    rows = results.read_pieces("outcomes")
    rows["outcome"] = pd.Categorical(rows["outcome"], categories=OUTCOMES)
    table = mean_interval(rows, "share", ["n_cells", "other_rate", "outcome"])
    return {"headings.csv": table.astype({"outcome": str})}


def _show(plan: SizedPlan, tables: Mapping[str, pd.DataFrame]) -> list[Shown]:
    table = tables["headings.csv"]
    wide = table.pivot_table(index=["n_cells", "other_rate"], columns="outcome", values="mean")
    return [
        Shown(
            "Share of forward and reverse replay whose direction is told",
            wide[list(OUTCOMES)].round(3).reset_index(),
            "other_rate: the rate of directional cells in their weaker heading, relative to the "
            "other; with 1, no cell has a heading, and what is told is a guess.",
        )
    ]


def _draw(results: Results) -> Iterator[tuple[str, Figure]]:
    from headings_figures import headings_figure

    yield "headings", headings_figure(results.read("headings.csv"))


STUDY = Study(
    "headings",
    "How often is the direction of replay told on a track that is run both ways?",
    plan=sized(5, *CODES),
    make=_make,
    summarise=_summarise,
    figures={"headings": _draw},
    show=_show,
    command="python tests/verification/headings.py",
)

if __name__ == "__main__":
    run_file(__file__)
