"""The statistics of replay of recorded animals, beside published values and predictions.

A recording has the track and the laps; some statistics also need the nodes that are landmarks (see
:mod:`analyses.measures`), and without them are NaN. Intervals are over animals, of which there must
be at least three: those of shares lie within 0 and 1
(:func:`analyses.intervals.mean_share_interval`), others are Student's t. Statistics of the
questions in `LEFT_OUT` are not computed, because in a recording they would not mean what they say.

The predictions of accounts are those of the comparison with findings (`replay compare`): for each
account, the values of a statistic in simulated studies with the maze, laps and criteria of the
study that published it. They are shown beside a recording's own values, not as a test of them: an
animal in another maze may differ for that reason alone.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd

from analyses.findings.table import as_share, findings
from analyses.intervals import LEAST_UNITS, mean_share_interval
from analyses.jobs.columns import TEXTS
from analyses.measures import QUESTIONS, STATISTICS, Replays
from analyses.measures.animals import over_animals, replays_of
from analyses.recordings.decide.conclusions import Conclusions
from analyses.sequences import RECORDED
from analyses.sequences.track import graph_of_log
from replay.checks import check_choice, check_list, check_table, typed
from replay.data import data_file
from replay.files import read_table
from replay.log.event_log import EventLog
from replay.tasks import Task
from replay.tasks.places import Rule, explore
from replay.tasks.task import Lap
from replay.worlds.mdp import MDP

LEFT_OUT = {
    "order": "each replay event has a sequence by definition, which its places in random order, or "
    "random moves, need not have",
    "rates": "sequences per pause say how long the animal paused, and after which laps",
}
"""Question of `analyses.measures.QUESTIONS` -> why a recording does not answer it."""

_REWARD = "reward"  # the landmark at which laps are rewarded
_FILE = "evidence.csv"
_NUMBERS = ("count", "value")
_RECORDED = ["statistic", "label", "value", "ci_low", "ci_high", "null"]
_PREDICTED = ["statistic", "finding", "source", "task", "likelihood", "published"]
_PREDICTED += ["published_low", "published_high", "account", "is_control"]
_PREDICTED += ["predicted_low", "predicted", "predicted_high"]


@typed
def recorded_statistics(
    animals: Sequence[Conclusions],
    landmarks: Mapping[str, Sequence[str]] | None = None,
    *,
    least_sequences: int = 0,
) -> pd.DataFrame:
    """Compute the statistics of replay of recorded animals.

    Parameters
    ----------
    animals : sequence of Conclusions
        The replay of each animal, on the same track with states of the same size.
    landmarks : mapping of str to sequence of str, optional
        Name of a landmark -> nodes of the track; the states between two of its nodes belong to it.
        A lap that ends at the landmark ``reward`` counts as rewarded.
    least_sequences : int, default 0
        Animals with fewer sequences of a statistic do not count in its mean.

    Returns
    -------
    pandas.DataFrame
        One row per statistic that has a value: `statistic, label`; the columns of
        `analyses.measures.animals.over_animals`, with intervals as the module says; and
        `published_low, published_high, sources`, the range of published values, each by the
        definition of its study.

    Raises
    ------
    ValueError
        If animals were on different tracks, or a landmark has an unknown node.

    Examples
    --------
    >>> from analyses.recordings import find_replay
    >>> from analyses.recordings.basics.settings import Judgement
    >>> from analyses.recordings.recover.simulated_recording import simulated_recording
    >>> quick = Judgement(n_shuffles=4, n_controls=1, other_sizes=())
    >>> animals = [find_replay(simulated_recording(9, seed), judgement=quick) for seed in (1, 2)]
    >>> table = recorded_statistics(animals)
    >>> table.set_index("statistic").loc["reverse_share", ["value", "published_low"]].tolist()
    [0.5, 0.3908]
    """
    by, replays = "statistic", replays_of_recordings(animals, landmarks)
    left_out = {name for question in LEFT_OUT for name in QUESTIONS[question]}
    parts = [
        each.compute(replays).assign(statistic=name)
        for name, each in STATISTICS.items()
        if name not in left_out
    ]
    per_animal = pd.concat(parts, ignore_index=True)
    is_known = per_animal["value"].notna() & (per_animal["n"] >= least_sequences)
    per_animal = per_animal[is_known].reset_index(drop=True)
    order = [name for name in STATISTICS if name in set(per_animal["statistic"])]
    per_animal["statistic"] = pd.Categorical(per_animal["statistic"], categories=order)
    table = over_animals(per_animal).astype({"statistic": str})
    is_share = [STATISTICS[name].is_share for name in per_animal["statistic"]]
    shares = per_animal[np.array(is_share, dtype=bool)]
    within = mean_share_interval(shares.assign(n=shares["n"].clip(lower=1)), "value", "n", [by])
    within = table[[by]].merge(within.astype({by: str}), on=by, how="left")
    for end in ("ci_low", "ci_high"):
        table[end] = table[end].where(table["n_animals"] >= LEAST_UNITS)
        table[end] = within[end].where(within["n"].notna(), table[end])
    table.insert(1, "label", [STATISTICS[name].label for name in table["statistic"]])
    known = findings()
    is_number = known["likelihood"].isin(["count", "value"]) & ~known["second_hand"]
    known = known[is_number & (known["statistic"] != "")]
    known = known.assign(value=as_share(known)).sort_values("value", kind="stable")
    published = known.groupby("statistic", sort=True).agg(
        published_low=("value", "min"),
        published_high=("value", "max"),
        sources=("source", lambda sources: ", ".join(dict.fromkeys(sources))),
    )
    return table.merge(published.reset_index(), on="statistic", how="left")


def replays_of_recordings(
    animals: Sequence[Conclusions], landmarks: Mapping[str, Sequence[str]] | None = None
) -> Replays:
    """Make the tables from which statistics of recorded animals are computed.

    Replay during laps, between their ends, is not counted, as in models.
    """
    found = check_list("animals", animals)
    if not found:
        raise ValueError("animals must have at least one animal.")
    world = _world(found[0])
    for number, each in enumerate(found):
        check_table(each.visited, each.visited.columns, f"visited of animal {number}")
        other = _world(each)
        if other.n_states != world.n_states or not np.allclose(
            np.asarray(other.position), np.asarray(world.position)
        ):
            raise ValueError(
                "All animals must have run on the same track, with states of the same size; animal "
                f"{number} has {other.n_states} states, the first has {world.n_states}, or their "
                "positions differ."
            )
    task = task_of_track(world, landmarks or {})
    runs = []
    for number, each in enumerate(found):
        log = EventLog({"steps": each.experience.columns("steps")}, mdp=task.world)
        paths = each.visited.drop(columns="event").reset_index(drop=True)
        rewarded = [int(name) for name in task.landmarks.get(_REWARD, ())]
        laps = each.experience.steps.groupby("episode", sort=True).agg(
            start=("state", "first"), end=("next_state", "last"), time=("time", "last")
        )
        laps = laps.reset_index()
        # Rest belongs to the lap before it.
        rests = each.visited.loc[each.visited["phase"] == "rest", "time"]
        after = np.searchsorted(laps["time"], rests, side="right") - 1
        laps = laps.drop(columns="time").assign(
            block="run",
            lap="",
            reward=np.where(laps["end"].isin(rewarded), 1.0, 0.0) if rewarded else np.nan,
            n_rest=np.bincount(after[after >= 0], minlength=len(laps)),
        )
        runs.append((number, log, laps, paths))
    return replays_of(task, runs, largest_jump=RECORDED.largest_jump)


def _world(found: Conclusions) -> MDP:
    world = found.experience.mdp
    if world is None:
        raise ValueError("The experience of an animal must have its world: make it by find_replay.")
    return world


def task_of_track(world: MDP, landmarks: Mapping[str, Sequence[str]]) -> Task:
    """Make a task of a track whose places are the states, in the same order."""
    names = [str(state) for state in range(world.n_states)]
    track = graph_of_log(EventLog({}, mdp=world))
    graph = nx.Graph()
    position = np.asarray(world.position, dtype=float)
    for name, (x, y) in zip(names, position.tolist(), strict=True):
        graph.add_node(name, pos=(x, y))
    graph.add_edges_from((names[u], names[v], data) for u, v, data in track.edges(data=True))
    ends = tuple(name for name in graph if graph.degree[name] == 1) or (names[0],)
    labels = list(world.labels or ())
    known = [str(label) for label in labels if not isinstance(label, tuple)]
    states = {}
    for landmark, nodes in landmarks.items():
        chosen = {
            check_choice(f"node of the landmark {landmark!r}", str(node), known) for node in nodes
        }
        # The states at its nodes, and those that lie between two of them.
        states[landmark] = tuple(
            name
            for name, label in zip(names, labels, strict=True)
            if set(map(str, label[:2] if isinstance(label, tuple) else (label,))) <= chosen
        )
    return Task("recording", explore(graph, [Rule(ends, ends)]), _no_laps, (), landmarks=states)


def _no_laps(task: Task, rng: np.random.Generator) -> Generator[Lap, tuple[int, ...], None]:
    """Yield no laps: the laps of a recording were already run."""
    yield from ()


def read_predictions(folder: str | Path | None = None) -> pd.DataFrame:
    """Read the predictions of accounts."""
    path = data_file(f"comparison/{_FILE}") if folder is None else Path(folder) / _FILE
    if not path.is_file():
        raise FileNotFoundError(
            f"{path.parent} has no comparison with findings: {_FILE} is missing. Name a folder in "
            "which replay compare has finished."
        )
    table = check_table(read_table(path, TEXTS), [*_PREDICTED, "as_published"], str(path))
    # Accounts with published parameters are single points of the priors, and are left out.
    return table.loc[~table["as_published"].astype(bool), _PREDICTED]


def beside_predictions(statistics: pd.DataFrame, predictions: pd.DataFrame) -> pd.DataFrame:
    """Combine the statistics of a recording with the predictions of accounts."""
    check_table(statistics, _RECORDED, "statistics")
    check_table(predictions, _PREDICTED, "predictions")
    columns = ["published", "published_low", "published_high"]
    is_number = predictions["likelihood"].isin(_NUMBERS)
    known = predictions.assign(**{name: predictions[name].where(is_number) for name in columns})
    return statistics[_RECORDED].merge(known, on="statistic", how="inner")
