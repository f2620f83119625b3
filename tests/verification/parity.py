"""Each account under its authors' protocols, before it is compared with experiments.

Each account is simulated under the protocol of its authors. The quantities that their figures show
are measured and compared with the published ones: numbers in the text, and the results of their
code. Beside them stand the values of the same account, with the same settings, in the task of the
experiment that the figure explains.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from parity_protocols.agreement import compare_claims, compare_panels, published_panels
from parity_protocols.belief_states import BELIEF_PROTOCOLS
from parity_protocols.forgetful_choices import FORGETTING_PROTOCOLS
from parity_protocols.future_goals import GEODESIC_PROTOCOLS
from parity_protocols.generators import GENERATOR_PROTOCOLS
from parity_protocols.memory_access import MEMORY_ACCESS_PROTOCOLS
from parity_protocols.sfma import SFMA_PROTOCOLS
from parity_protocols.successor import SUCCESSOR_PROTOCOLS
from parity_protocols.textbook import TEXTBOOK_PROTOCOLS

from analyses.cli.studies import run_file
from analyses.jobs.results import Results
from analyses.jobs.study import Piece, Shown, SizedPlan, Study
from analyses.measures import STATISTICS
from analyses.sequences.place_sequences import Detection
from analyses.studies.typical_replay import simulated_replays
from replay.data import reference_table
from replay.learners import find_learner
from replay.tasks.published import find_task

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["STUDY", "reproduced_curves"]

_EXPERIMENTS = "experiments"
_SUITES: dict[str, tuple[int, Mapping[str, Callable[[int], dict[str, float]]]]] = {
    "memory_access": (30, MEMORY_ACCESS_PROTOCOLS),
    "sfma": (16, SFMA_PROTOCOLS),
    "textbook": (20, TEXTBOOK_PROTOCOLS),
    "successor": (10, SUCCESSOR_PROTOCOLS),
    "generators": (10, GENERATOR_PROTOCOLS),
    "future_goals": (30, GEODESIC_PROTOCOLS),
    "forgetting": (50, FORGETTING_PROTOCOLS),
    "belief_states": (2, BELIEF_PROTOCOLS),
}
"""Group -> number of animals, and the protocols that each of them goes through."""
_SEEDED = (
    "memory_access",
    "sfma",
    "textbook",
    _EXPERIMENTS,
    "successor",
    "generators",
    "future_goals",
    "forgetting",
    "belief_states",
)
"""The groups in the order in which they were added; their seeds depend on it."""
_N_ANIMALS = 10
_AS_PUBLISHED = {
    "prioritized_memory_access": "prioritized_memory_access_published",
    "sfma": "sfma_published",
}
_ASIDE: dict[tuple[str, str], dict[str, str]] = {
    ("prioritized_memory_access", "t_unvisited"): {"need": "stationary_distribution"},
    ("sfma", "linear_track_4x"): {"replay_mode": "dynamic"},
    ("sfma", "linear_track_0x"): {"replay_mode": "dynamic"},
}
"""(account, task) -> settings, where the figure was made with others than the account's."""
_SEEN = Detection(min_length=5)
_BREA = "brea_2018"


def reproduced_curves() -> pd.DataFrame:
    """Return the reproduced windows of Brea (2018), under the names of the published table."""
    curves = reference_table("brea_2018/reward_rate")
    names = curves["experiment"] + "/" + curves["learner"] + "/" + curves["time_step"].astype(str)
    return pd.DataFrame(
        {
            "protocol": _BREA,
            "measure": names,
            "ours": curves["mean"],
            "ours_sem": curves["sem"],
            "ours_low": curves["ci_low"],
            "ours_high": curves["ci_high"],
            "ours_n": curves["n_mdps"],
        }
    )


def _seed(plan: SizedPlan, piece: Piece) -> int:
    spawn_key = (_SEEDED.index(piece.group), piece.number)
    child = np.random.SeedSequence(plan.seed, spawn_key=spawn_key)
    return int(child.generate_state(1, np.uint64)[0] >> np.uint64(1))


def _plan(size: float, seed: int) -> SizedPlan:
    numbers = {name: n for name, (n, _) in _SUITES.items()} | {_EXPERIMENTS: _N_ANIMALS}
    return SizedPlan({name: max(round(n * size), 2) for name, n in numbers.items()}, seed)


def _make(plan: SizedPlan, piece: Piece) -> dict[str, pd.DataFrame]:
    seed = _seed(plan, piece)
    if piece.group == _EXPERIMENTS:
        return {"experiments": _in_experiments(seed)}
    rows = [
        (protocol, measure, value)
        for protocol, simulate_one in _SUITES[piece.group][1].items()
        for measure, value in simulate_one(seed).items()
    ]
    return {"simulated": pd.DataFrame(rows, columns=["protocol", "measure", "value"])}


def _in_experiments(seed: int) -> pd.DataFrame:
    """Simulate the replay of one animal of each account in the tasks of the experiments."""
    panels = published_panels().dropna(subset=["task"])
    wanted = panels[["account", "task", "statistic"]].drop_duplicates()
    rows = []
    for key, group in wanted.groupby(["account", "task"], sort=True):
        account, task = map(str, key)
        name = _AS_PUBLISHED[account]
        settings = find_learner(name, _ASIDE.get((account, task))).parameters
        built = find_task(task).build()
        replays = simulated_replays(built, name, settings, animals=[0], seed=seed).detected(_SEEN)
        for statistic in group["statistic"]:
            found = STATISTICS[statistic].compute(replays)
            value = found["value"] - found["null"].fillna(0.0)
            rows.append((account, task, statistic, float(value.mean())))
    return pd.DataFrame(rows, columns=["account", "task", "statistic", "value"])


def _summarise(plan: SizedPlan, results: Results) -> dict[str, pd.DataFrame]:
    simulated = pd.concat(
        [results.read_pieces("simulated", name) for name in _SUITES], ignore_index=True
    )
    experiments = results.read_pieces("experiments", _EXPERIMENTS)
    table = compare_panels(published_panels(), simulated, experiments, known=reproduced_curves())
    return {"parity.csv": table, "claims.csv": compare_claims(table)}


def _show(plan: SizedPlan, tables: Mapping[str, pd.DataFrame]) -> list[Shown]:
    table = tables["parity.csv"]
    counts = pd.crosstab(table["account"], table["agrees"]).reset_index()
    apart = table[table["agrees"].isin(["no", "undecided"])]
    columns = ["account", "panel", "quantity", "value", "ours", "agrees", "why"]
    claims = pd.crosstab(tables["claims.csv"]["account"], tables["claims.csv"]["verdict"])
    return [
        Shown("Figures, each judged by all of its quantities", claims.reset_index()),
        Shown("Quantities of published figures, and whether ours agree", counts),
        Shown("Quantities that do not agree", apart[columns]),
    ]


def _draw(results: Results) -> Iterator[tuple[str, Figure]]:
    from parity_figures import parity_experiments_figure, parity_figure

    table = results.read("parity.csv")
    yield "parity", parity_figure(table)
    yield "parity_experiments", parity_experiments_figure(table)


STUDY = Study(
    "parity",
    "Does each account of replay reproduce its authors' own figures?",
    plan=_plan,
    make=_make,
    summarise=_summarise,
    figures={"parity": _draw},
    show=_show,
    command="python tests/verification/parity.py",
)

if __name__ == "__main__":
    run_file(__file__)
