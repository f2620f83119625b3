"""How much of a known replay a recording finds, by cells, gain and speed of replay.

An animal runs 30 laps on a figure of eight (rails of 90 and 50 cm), to the left and right in turn.
Then it replays three kinds of path, 15 times each: a stretch of a lap over four corners, forward;
such a stretch in reverse (190 or 230 cm); and a path across the top from one side to the other,
which was never run: its first half in reverse, its second forward (220 cm), like the shortcuts of
Gupta et al. (2010) [1]_. Together with 15 noise events these are the 60 events of a session; each
session has its own cells. States of the analysis are about 20 cm apart: with smaller states, more
forward and reverse paths are mistaken for novel ones, because small errors of the decoded path look
like turns.

=========================  =======================================================================
``recovery.csv``           recall of each kind, false novel paths, accepted noise, and the share of
                           novel paths among the paths found
``recovery_matrix.csv``    the confusion matrices of kinds and of directions
``recovery_shares.csv``    shares as found and as corrected, where 0 to .9 of replay is novel
=========================  =======================================================================

Shares are corrected with the confusion matrix of sessions other than those in which they were
found. This is repeated with random halves of the sessions: one half is recorded, each session with
15 replay events of which a known share is novel, and the other half gives the matrix. The mean over
repetitions shows the bias, their central 95 % the precision of one such correction, and the
coverage how often the interval of `estimate_shares` contains the true share. Sessions differ by
their cells more than by chance, so the setting in which little is found, but enough for a
correction, has more sessions.

References
----------
.. [1] Gupta, van der Meer, Touretzky & Redish (2010), Hippocampal replay is not a simple function
   of experience. https://doi.org/10.1016/j.neuron.2010.01.034
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.cli.studies import run_file
from analyses.jobs.results import Results
from analyses.jobs.study import Piece, Shown, SizedPlan, Study
from analyses.recordings.basics.settings import Judgement
from analyses.recordings.recover.recover import recovery
from analyses.recordings.recover.simulated_recording import N_EACH, draw_session
from analyses.recordings.recover.unfolding import (
    FOUND_KINDS,
    LEAST_RECALL,
    MISSED,
    REPLAYED,
    bootstrap_shares,
    confusion_matrix,
    unfold,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["OBSERVERS", "STUDY", "TRUE_SHARES", "Observer", "recover_sessions"]

_JUDGEMENT = Judgement(state_size=20.0)
_SESSIONS_A_PIECE = 5
_USUAL = 8
_N_PIECES = {"20_cells_gain_2.9_8_metres": 32}  # the lowest recall that is still corrected
_N_BOOTSTRAP = 500
_N_SPLITS, _N_INTERVALS, _N_DRAWN = 200, 20, 100
_OWN_COLUMNS = [FOUND_KINDS.index(kind) for kind in REPLAYED]


class Observer(NamedTuple):
    """A number of cells, and how they fire in ripples.

    Attributes
    ----------
    n_cells : int
        Number of cells.
    gain : float
        How many times faster they fire than in running.
    speed : float
        Speed of replay along the track, in cm/s.
    """

    n_cells: int
    gain: float
    speed: float


OBSERVERS = {
    f"{n_cells}_cells_gain_{gain:g}_{speed / 100:g}_metres": Observer(n_cells, gain, speed)
    for n_cells, gain, speed in (
        (12, 2.9, 800.0),
        (20, 2.9, 800.0),
        (20, 2.9, 300.0),
        (40, 1.0, 800.0),
        (40, 2.9, 800.0),
        (40, 2.9, 300.0),
        (80, 1.0, 800.0),
        (80, 2.9, 800.0),
    )
}
"""Name -> cells, gain and speed."""

TRUE_SHARES = (1 / 3, *(tenths / 10 for tenths in range(10)))
"""True shares of novel paths; forward and reverse replay have equal shares of the rest."""


def recover_sessions(
    observer: Observer, first: int, n_sessions: int, seed: int = 0
) -> pd.DataFrame:
    """Simulate recorded sessions, and compare the replay that is found with the true one.

    The table is that of :func:`analyses.recordings.recover.recover.recovery`, without states;
    sessions do not depend on each other.

    Examples
    --------
    >>> len(recover_sessions(Observer(80, 2.9, 800.0), 0, 1))
    60
    """
    tables = []
    for number in range(first, first + n_sessions):
        children = np.random.SeedSequence(seed, spawn_key=(number,)).spawn(2)
        session = draw_session(np.random.default_rng(children[0]))
        # All settings have the same paths, but their own cells and noise.
        key = [observer.n_cells, round(10 * observer.gain), round(observer.speed)]
        own = np.random.SeedSequence([*children[1].generate_state(2).tolist(), *key])
        found = recovery(
            *session,
            judgement=_JUDGEMENT,
            cells=[observer.n_cells],
            gain=[observer.gain],
            speed=[observer.speed],
            n_seeds=1,
            n_noise=N_EACH,
            seed=int(own.generate_state(1)[0]),
        )
        tables.append(found.drop(columns=["states", "true_states"]).assign(seed=number))
    return pd.concat(tables, ignore_index=True)


def _plan(size: float, seed: int) -> SizedPlan:
    n_pieces = {name: _N_PIECES.get(name, _USUAL) for name in OBSERVERS}
    return SizedPlan({name: max(round(n * size), 2) for name, n in n_pieces.items()}, seed)


def _make(plan: SizedPlan, piece: Piece) -> dict[str, pd.DataFrame]:
    first = piece.number * _SESSIONS_A_PIECE
    return {"events": recover_sessions(OBSERVERS[piece.group], first, _SESSIONS_A_PIECE, plan.seed)}


class _Counts(NamedTuple):
    """Counts of kinds, shape (n_sessions, n_truths, n_found), and of noise, per session."""

    kinds: NDArray[np.float64]
    accepted_noise: NDArray[np.float64]
    n_noise: NDArray[np.float64]


def _counted(events: pd.DataFrame) -> _Counts:
    kinds = [
        pd.crosstab(own["true_kind"], own["kind"])
        .reindex(index=REPLAYED, columns=FOUND_KINDS, fill_value=0)
        .to_numpy(dtype=float)
        for _, own in events.groupby("seed")
    ]
    noise = events[events["true_kind"] == "noise"]
    accepted = noise["kind"].ne(MISSED).groupby(noise["seed"])
    return _Counts(
        np.array(kinds),
        accepted.sum().to_numpy().astype(np.float64),
        accepted.size().to_numpy().astype(np.float64),
    )


def _measured(counts: _Counts) -> dict[str, float]:
    """Compute the quantities of the table from some sessions."""
    total = counts.kinds.sum(axis=0)
    novel = FOUND_KINDS.index("novel_path")
    recall = _rates(total)[range(len(REPLAYED)), _OWN_COLUMNS]
    found = total[:, _OWN_COLUMNS].sum()
    return {
        **{f"recall_{kind}": float(value) for kind, value in zip(REPLAYED, recall, strict=True)},
        "called_novel": float(total[:2, novel].sum() / total[:2].sum()),
        "accepted_noise": float(counts.accepted_noise.sum() / counts.n_noise.sum()),
        "share_novel": float(total[:, novel].sum() / found) if found else np.nan,
    }


def _resampled(counts: _Counts, rng: np.random.Generator) -> _Counts:
    again = rng.integers(len(counts.kinds), size=len(counts.kinds))
    return _Counts(*(each[again] for each in counts))


def _tables_of(observer: Observer, events: pd.DataFrame, seed: int) -> dict[str, pd.DataFrame]:
    """Make the tables of one observer."""
    keys = observer._asdict()
    counts = _counted(events)
    rng = np.random.default_rng(np.random.SeedSequence([seed, *map(int, observer)]))
    measured = _measured(counts)
    drawn = pd.DataFrame([_measured(_resampled(counts, rng)) for _ in range(_N_BOOTSTRAP)])
    low, high = drawn.quantile(0.025), drawn.quantile(0.975)
    rows = [
        {**keys, "measure": name, "value": value, "sem": drawn[name].std(), "ci_low": low[name],
         "ci_high": high[name], "n_sessions": len(counts.kinds)}
        for name, value in measured.items()
    ]  # fmt: skip
    matrices = []
    for what in ("kind", "direction"):
        matrix = confusion_matrix(events, what).rename_axis("truth").reset_index()
        long = matrix.melt("truth", var_name="found", value_name="probability")
        matrices.append(long.assign(what=what, **keys))
    return {
        "recovery": pd.DataFrame(rows),
        "recovery_matrix": pd.concat(matrices, ignore_index=True),
        "recovery_shares": _shares(counts, rng).assign(**keys),
    }


def _shares(counts: _Counts, rng: np.random.Generator) -> pd.DataFrame:
    """Correct shares repeatedly: of one half of the sessions, by the matrix of the other."""
    recall = _rates(counts.kinds.sum(axis=0))[range(len(REPLAYED)), _OWN_COLUMNS].min()
    half = len(counts.kinds) // 2
    rows = []
    for novel in TRUE_SHARES:
        true = np.array([(1 - novel) / 2, (1 - novel) / 2, novel])
        found, corrected = np.empty((2, _N_SPLITS, len(REPLAYED)))
        held = np.full((_N_INTERVALS, len(REPLAYED)), np.nan)
        for split in range(_N_SPLITS):
            order = rng.permutation(len(counts.kinds))
            known, recorded = counts.kinds[order[:half]], counts.kinds[order[half:]]
            seen = _recorded(recorded, true, rng)
            found[split] = seen[_OWN_COLUMNS] / max(seen[_OWN_COLUMNS].sum(), 1)
            corrected[split] = unfold(seen, _rates(known.sum(axis=0))[:, :-1])
            if split < _N_INTERVALS and seen.any():
                drawn = bootstrap_shares(
                    seen, known, rng, n_recordings=len(recorded), n_bootstrap=_N_DRAWN
                )
                low, high = np.quantile(drawn, (0.025, 0.975), axis=0)
                held[split] = (low <= true) & (true <= high)
        low, high = np.nanquantile(corrected, (0.025, 0.975), axis=0)
        for place, kind in enumerate(REPLAYED):
            row = {"kind": kind, "true": true[place], "found": found[:, place].mean()}
            row |= {"least_recall": recall, "corrected": np.nanmean(corrected[:, place])}
            row |= {
                "ci_low": low[place],
                "ci_high": high[place],
                "coverage": np.nanmean(held[:, place]),
            }
            if recall < LEAST_RECALL:
                row |= dict.fromkeys(("corrected", "ci_low", "ci_high", "coverage"), np.nan)
            rows.append(row)
    return pd.DataFrame(rows)


def _recorded(
    sessions: NDArray[np.float64], true: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Draw events of each session so that kinds have their true shares.

    Returns the number of events found as each kind; missed ones are left out.
    """
    n_found = sessions.shape[2]
    wanted = rng.multinomial(N_EACH, true, size=len(sessions))
    ends = np.cumsum(sessions.astype(int), axis=2)
    order = rng.permuted(np.tile(np.arange(N_EACH), (*wanted.shape, 1)), axis=2)
    found = (order[..., None] >= ends[:, :, None, :]).sum(axis=3)
    drawn = np.arange(N_EACH) < wanted[..., None]
    return np.bincount(found[drawn], minlength=n_found)[: n_found - 1].astype(np.float64)


def _rates(total: NDArray[np.float64]) -> NDArray[np.float64]:
    rates: NDArray[np.float64] = total / np.maximum(total.sum(axis=1, keepdims=True), 1)
    return rates


def _summarise(plan: SizedPlan, results: Results) -> dict[str, pd.DataFrame]:
    events = results.read_pieces("events")
    parts = []
    for observer in OBSERVERS.values():
        own = events[
            (events["n_cells"] == observer.n_cells)
            & (events["gain"] == observer.gain)
            & (events["speed"] == observer.speed)
        ]
        if len(own):
            parts.append(_tables_of(observer, own, plan.seed))
    columns = list(Observer._fields)
    tables = {}
    for name in parts[0]:
        table = pd.concat([part[name] for part in parts], ignore_index=True)
        others = [column for column in table if column not in columns]
        tables[f"{name}.csv"] = table[[*columns, *others]]
    return tables


def _show(plan: SizedPlan, tables: Mapping[str, pd.DataFrame]) -> list[Shown]:
    table = tables["recovery.csv"]
    wide = table.pivot_table(index=list(Observer._fields), columns="measure", values="value")
    wide = wide[table["measure"].unique()].round(3).reset_index()
    shares = tables["recovery_shares.csv"]
    novel = shares[shares["kind"] == "novel_path"]
    columns = [*Observer._fields, "true", "found", "corrected", "ci_low", "ci_high", "coverage"]
    return [
        Shown("Recall and errors", wide),
        Shown(
            "Share of novel paths, as found and as corrected (mean, and 95 % of repetitions)",
            novel[columns].round(3),
            "Shares are not corrected where the recall of some kind is below a fifth. The coverage "
            "is how often a 95 % interval contains the true share.",
        ),
    ]


def _draw(results: Results) -> Iterator[tuple[str, Figure]]:
    from recovery_figures import recovery_figure

    from analyses.plots.style import FULL_WIDTH

    matrix, shares = results.read("recovery_matrix.csv"), results.read("recovery_shares.csv")
    kinds, recovery = matrix[matrix["what"] == "kind"], results.read("recovery.csv")
    yield "recovery", recovery_figure(kinds, shares, recovery, width_cm=FULL_WIDTH)


STUDY = Study(
    "recovery",
    "How much of a known replay does a recording find, and as which kind?",
    plan=_plan,
    make=_make,
    summarise=_summarise,
    figures={"recovery": _draw},
    show=_show,
    command="python tests/verification/recovery.py",
)

if __name__ == "__main__":
    run_file(__file__)
