"""From episodic to semantic memory: to how many episodes a replayed sequence can be attributed.

Brea (2018) [1]_ expects that, as experience grows, it becomes impossible to tell which episode a
replayed sequence comes from. A sequence is attributed to *one* episode if its path was run
contiguously in exactly one episode before the replay event. If it was run in *several* episodes,
its origin is ambiguous; if in *none*, it was composed of pieces or never experienced (see
`novelty`). `attribute` classifies each sequence, `measure_attribution` counts over learning and by
length, and `summarise_attribution` adds intervals over worlds.

References
----------
.. [1] Brea (2018), Is prioritized sweeping the better episodic control?
   https://doi.org/10.48550/arXiv.1711.06677
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analyses.cli.studies import run_file
from analyses.intervals import share_intervals
from analyses.jobs.results import Results
from analyses.jobs.study import Piece, Shown, SizedPlan, Study, sized
from analyses.sequences.classification import classify
from analyses.sequences.experience import Experience
from analyses.sequences.suffix_automaton import SuffixAutomaton, appended
from analyses.tables import in_paper_order
from replay.experiments import EXPERIMENTS, find_experiment
from replay.jit import kernel
from replay.learners import find_learner
from replay.log.event_log import EventLog
from replay.simulation import simulate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    pass
from replay.checks import check_table

__all__ = ["ATTRIBUTED_LEARNERS", "ATTRIBUTIONS", "STUDY", "attribute", "attribution_overview"]
__all__ += ["count_attributions", "measure_attribution", "summarise_attribution"]

ATTRIBUTIONS = ("one", "several", "none")
"""The number of episodes that contain a sequence."""

ATTRIBUTED_LEARNERS = (
    "episodic_control",
    "prioritized_sweeping",
    "prioritized_sweeping_reset",
    "dyna_q",
    "trajectory_sampling",
)
"""The default learners of `measure_attribution`."""

_ONE, _SEVERAL, _NONE = range(len(ATTRIBUTIONS))
_STEPS = {"maze": 100_000}
_MOVES, _SEQUENCES = "moves", "sequences"
_SHORTEST_SEQUENCE = 3
_FACTORS = 2 ** np.arange(3, 40)
_LENGTHS = np.unique([2, 3, 4, 5, 6, *_FACTORS, *(_FACTORS // 2 * 3)])
_EPISODES = 2 ** np.arange(40)


def attribute(sequences: pd.DataFrame, steps: pd.DataFrame) -> pd.Series:
    """Determine whether one episode, several or none contain each replayed sequence.

    The result, ``one``, ``several`` or ``none``, has the index of `sequences`. A path is read as
    for its novelty: in its orientation; if that is unknown, in its direction; if its moves were
    made in both directions, either way. Steps after a sequence's `step` are ignored.

    Examples
    --------
    After the laps 0, 1, 2 and 0, 1, 3, the move from 0 to 1 belongs to both.

    >>> steps = {"state": [0, 1, 0, 1], "next_state": [1, 2, 1, 3], "action": 0,
    ...          "terminated": [False, True, False, True]}
    >>> backups = {"step": 3, "phase": "rest", "event": [0, 1, 1], "state": [0, 1, 0],
    ...            "next_state": [1, 3, 1], "action": 0, "cause": [-1, -1, 1]}
    >>> log = EventLog({"steps": steps, "backups": backups})
    >>> sequences = classify(log, min_length=2)
    >>> [states.tolist() for states in sequences["states"]]
    [[1, 0], [3, 1, 0]]
    >>> attribute(sequences, log.steps).tolist()
    ['several', 'one']
    """
    wanted = ["run", "step", "states", "orientation", "direction"]
    check_table(sequences, wanted, "sequences")
    check_table(steps, ["run", "episode", "step", "state", "next_state"], "steps")
    codes = np.full(len(sequences), _NONE)
    for run, rows in sequences.groupby("run").indices.items():
        experience = Experience(steps[steps["run"] == run])
        codes[rows] = _attribute(sequences.iloc[rows], experience)
    found = pd.Categorical.from_codes(codes, categories=pd.Index(ATTRIBUTIONS))
    return pd.Series(found, index=sequences.index, name="attribution")


def _attribute(sequences: pd.DataFrame, experience: Experience) -> np.ndarray:
    """Return the index in ``ATTRIBUTIONS`` of each sequence of one run."""
    walked, taken = (sequences[name].astype(object) for name in ("orientation", "direction"))
    way = walked.where(walked.notna(), taken).to_numpy()
    states = sequences["states"].to_numpy()
    limit = experience.moves_by(sequences["step"].to_numpy())
    codes, only = np.full(len(way), _NONE), np.full(len(way), -1)
    for reading in ("forward", "reverse"):
        rows = np.flatnonzero((way == reading) | (way == "both"))
        first, second = _ends(experience, states[rows], reading == "reverse")
        held = first < limit[rows]
        rows, first, second = rows[held], first[held], second[held]
        episode = experience.episode[first]
        # If a path is read both ways, another episode may contain the other way.
        elsewhere = (codes[rows] != _NONE) & (only[rows] != episode)
        again = (second < limit[rows]) | elsewhere | (codes[rows] == _SEVERAL)
        codes[rows], only[rows] = np.where(again, _SEVERAL, _ONE), episode
    return codes


def _ends(
    experience: Experience, paths: np.ndarray, backwards: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Find after how many moves each path first ended, and then in a second episode."""
    n_states = np.fromiter(map(len, paths), dtype=np.int64, count=len(paths))
    flat = np.concatenate([np.empty(0, dtype=np.int64), *paths])
    begins = np.cumsum(n_states) - n_states
    if backwards:
        flat, begins = flat[::-1], len(flat) - begins - n_states
    symbol = experience.symbols(flat[:-1], flat[1:])  # also between paths, but these are never read
    node = np.empty(len(paths), dtype=np.int32)
    _find_nodes(experience.automaton, symbol, begins, n_states - 1, node)
    known, nowhere = node >= 0, experience.n_moves
    first = np.where(known, experience.automaton.nodes["first_end"][node], nowhere)
    return first, np.where(known, experience.second_ends[node], nowhere)


@kernel
def _find_nodes(
    automaton: SuffixAutomaton,
    symbol: NDArray[np.int32],
    begins: NDArray[np.int64],
    n_moves: NDArray[np.int64],
    node: NDArray[np.int32],
) -> None:
    """Write where each path ends in the automaton of experience; -1 if it was never run."""
    for path in range(len(node)):
        here = 0
        for place in range(begins[path], begins[path] + n_moves[path]):
            here = appended(automaton, here, symbol[place]) if symbol[place] >= 0 else -1
            if here < 0:
                break
        node[path] = here


def measure_attribution(
    experiment: str,
    index: int = 0,
    *,
    learners: Iterable[str] = ATTRIBUTED_LEARNERS,
    n_seeds: int = 1,
    n_steps: int | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Count attributed sequences over learning and by length, in one world of the paper.

    Causal chains continue through later replay events: a sweep that continues by three states per
    step is a single sequence.

    Examples
    --------
    >>> counts = measure_attribution("stochastic_tree", learners=["episodic_control"], n_steps=8)
    >>> counts[["episode", "length", "attribution", "count"]].to_numpy().tolist()
    [[1, 5, 'one', 1], [2, 5, 'one', 1]]
    """
    paper = find_experiment(experiment)
    n = n_steps or _STEPS.get(experiment, paper.n_steps)
    mdp = paper.mdp(index, seed)
    tables = []
    for learner, run in product(learners, range(n_seeds)):
        log = simulate(
            mdp,
            learner,
            paper.parameters[find_learner(learner).name],
            n_steps=n,
            seed=paper.run_seed(index, run, seed),
        ).log
        counts = count_attributions(log)
        tables.append(counts.assign(experiment=experiment, learner=learner, mdp=index))
    by = ["experiment", "learner", "mdp", "episode", "length", "attribution"]
    table = pd.concat(tables, ignore_index=True)
    return table.groupby(by, observed=True, sort=False)["count"].sum().reset_index()


def count_attributions(log: EventLog) -> pd.DataFrame:
    """Count the sequences of a log that one episode, several or none contain.

    `episode` and `length` are the upper bounds of bins: of episodes, counted from 1, in powers of
    2, and of numbers of states.

    Examples
    --------
    >>> steps = {"state": [0, 1], "next_state": [1, 2], "terminated": [False, True]}
    >>> backups = {"step": [1, 1], "phase": "episode_end", "state": [1, 0], "next_state": [2, 1],
    ...            "action": [0, 0], "cause": [-1, 0]}
    >>> log = EventLog({"steps": steps, "backups": backups})
    >>> count_attributions(log).to_numpy().tolist()
    [[1, 3, 'one', 1]]
    """
    sequences = classify(log, across_events=True, min_length=2)
    table = pd.DataFrame(
        {
            "episode": _bound(sequences["episode"] + 1, _EPISODES),
            "length": _bound(sequences["length"], _LENGTHS),
            "attribution": attribute(sequences, log.steps),
        }
    )
    return table.groupby(list(table), observed=True).size().reset_index(name="count")


def _bound(numbers: pd.Series, bounds: np.ndarray) -> np.ndarray:
    return bounds[np.searchsorted(bounds, numbers)]


def summarise_attribution(counts: pd.DataFrame) -> pd.DataFrame:
    """Convert counts to shares, with intervals over worlds.

    Intervals are BCa bootstraps. ``replay columns attribution`` explains the columns.

    Examples
    --------
    >>> counts = pd.DataFrame({"experiment": "maze", "learner": "mine", "mdp": [0, 1], "length": 4,
    ...                        "episode": 1, "attribution": ["one", "none"], "count": [1, 3]})
    >>> table = summarise_attribution(counts)
    >>> table.loc[table["over"] == "all", ["attribution", "share"]].to_numpy().tolist()
    [['one', 0.25], ['none', 0.75]]
    """
    by = ["experiment", "learner", "of", "over", "up_to"]
    check_table(counts, ["experiment", "learner", "mdp", "episode", "length"], "counts")
    check_table(counts, ["attribution", "count"], "counts")
    counts = in_paper_order(counts)
    kinds = pd.Categorical(counts["attribution"], pd.Index(ATTRIBUTIONS))
    is_long = counts["length"] >= _SHORTEST_SEQUENCE
    counts = counts.assign(kind=kinds, of=np.where(is_long, _SEQUENCES, _MOVES))
    views = [counts.assign(over=over, up_to=counts[over]) for over in ("episode", "length")]
    table = share_intervals(pd.concat([counts.assign(over="all", up_to=0), *views]), by)
    table = table.rename(columns={"kind": "attribution", "n_units": "n_mdps"})
    table["up_to"] = table["up_to"].astype("Int64").mask(table["over"] == "all")
    return table


def attribution_overview(table: pd.DataFrame) -> pd.DataFrame:
    """Extract the shares of all sequences from a summary, one row per experiment and learner."""
    rows = table[table["over"] == "all"]
    by = ["experiment", "learner", "of"]
    shares = rows.pivot_table("share", by, "attribution", observed=True)
    shares = shares.reindex(columns=pd.Index(ATTRIBUTIONS), fill_value=0.0)
    return shares.assign(count=rows.groupby(by, observed=True)["count"].sum()).reset_index()


def _make(plan: SizedPlan, piece: Piece) -> dict[str, pd.DataFrame]:
    return {"attributed": measure_attribution(*piece, seed=plan.seed)}


def _summarise(plan: SizedPlan, results: Results) -> dict[str, pd.DataFrame]:
    return {"attribution.csv": summarise_attribution(results.read_pieces("attributed"))}


def _show(plan: SizedPlan, tables: Mapping[str, pd.DataFrame]) -> list[Shown]:
    return [Shown(table=attribution_overview(tables["attribution.csv"]))]


def _draw(results: Results) -> Iterator[tuple[str, Figure]]:
    from attribution_figures import attribution_figure, attribution_length_figure

    yield "attribution", attribution_figure(results.read("attribution.csv"))
    yield "attribution_length", attribution_length_figure(results.read("attribution.csv"))


STUDY = Study(
    "attribution",
    "Which episode does a replayed sequence come from, and can it still be determined?",
    plan=sized(10, *EXPERIMENTS),
    make=_make,
    summarise=_summarise,
    figures={"attribution": _draw},
    show=_show,
    command="python tests/verification/attribution.py",
)

if __name__ == "__main__":
    run_file(__file__)
