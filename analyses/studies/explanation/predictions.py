"""The statistics of an animal's replay beside what each account predicts for this animal.

An account's predictions are those of its simulated animals: they made the same moves, replayed in
the same pauses, and are seen as imperfectly. Of what they replay in pauses, as many sequences are
counted as the animal has in each phase and lap, so that the intervals hold the scatter of so few
sequences. A draw that replays less than half as much in these pauses predicts nothing here, and
statistics that count sequences per pause are left out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analyses.inference.animals import Replayed, ReplayingAnimal
from analyses.inference.simulation import as_many
from analyses.measures import QUESTIONS, STATISTICS
from analyses.measures.animals import replays_of
from analyses.studies.recorded_replay.statistics import task_of_track
from replay.log.backups import PHASES
from replay.log.event_log import EventLog

__all__ = ["beside_own_accounts", "in_same_pauses", "statistics_of"]

_OF_CONTENT = {
    name: each
    for question, statistics in QUESTIONS.items()
    if question not in ("order", "rates")
    for name, each in statistics.items()
}
_LEAST_ANIMALS = 10  # of an account, for an interval
_PAUSES = [PHASES.index(name) for name in ("start", "episode_end", "rest")]


def in_same_pauses(made: Replayed, seen: Replayed, rng: np.random.Generator) -> Replayed:
    """Choose as many simulated sequences as the animal has in each phase and lap.

    None if half of the animal's number is not reached in pauses.
    """
    chosen, n_missing, n_seen = [np.empty(0, dtype=np.int64)], 0, 0
    for phase in _PAUSES:
        own, laps = np.flatnonzero(made.phase == phase), seen.lap[seen.phase == phase]
        chosen.append(own[as_many(made.take(own), laps, rng)])
        n_seen, n_missing = n_seen + len(laps), n_missing + max(len(laps) - len(own), 0)
    if n_missing > n_seen / 2:
        return made.take(chosen[0])
    return made.take(np.sort(np.concatenate(chosen)))


def statistics_of(animal: ReplayingAnimal, samples: Sequence[Replayed]) -> pd.DataFrame:
    """Compute the statistics of samples of replay after an animal's moves.

    Returns `sample, statistic, value, null`; none without positions, or without replay in pauses.
    """
    world = animal.log.mdp
    if world is None or world.position is None or not any(len(each.lap) for each in samples):
        return pd.DataFrame({"sample": [], "statistic": [], "value": [], "null": []})
    task = task_of_track(world, animal.landmarks)
    log = EventLog({"steps": animal.log.columns("steps")}, mdp=task.world)
    laps = _laps(animal)
    runs = [
        (number, log, laps, _paths(each, animal.headings is not None))
        for number, each in enumerate(samples)
    ]
    replays = replays_of(task, runs)
    found = pd.concat(
        [each.compute(replays).assign(statistic=name) for name, each in _OF_CONTENT.items()],
        ignore_index=True,
    )
    return found.rename(columns={"animal": "sample"})[["sample", "statistic", "value", "null"]]


def beside_own_accounts(
    animal: ReplayingAnimal, simulated: pd.DataFrame, controls: Sequence[str]
) -> pd.DataFrame:
    """Combine the statistics of an animal with those of each account after the same moves.

    `simulated` has `account, draw, statistic, value`. Accounts with few values are left out.
    """
    own = statistics_of(animal, [animal.replayed]).dropna(subset=["value"])
    known = simulated.dropna(subset=["value"]).groupby(["statistic", "account"], sort=False)
    predicted = pd.DataFrame(
        {
            "predicted_low": known["value"].quantile(0.05),
            "predicted": known["value"].quantile(0.5),
            "predicted_high": known["value"].quantile(0.95),
            "n_draws": known["value"].size(),
        }
    )
    predicted = predicted[predicted["n_draws"] >= _LEAST_ANIMALS]
    table = own.merge(predicted.reset_index(), on="statistic", how="inner")
    return table.assign(
        label=[STATISTICS[name].label for name in table["statistic"]],
        is_control=table["account"].isin(controls),
    )


def _paths(sample: Replayed, has_headings: bool) -> pd.DataFrame:
    """Write sequences as paths, each an event of its own, those outside of pauses left out."""
    kept = sample.take(np.flatnonzero(np.isin(sample.phase, _PAUSES)))
    phase = np.array(PHASES, dtype=object)[kept.phase]
    paths = {"step": kept.step, "phase": phase, "states": kept.states.arrays()}
    return pd.DataFrame(paths | ({"along": kept.along.arrays()} if has_headings else {}))


def _laps(animal: ReplayingAnimal) -> pd.DataFrame:
    """List the laps, with what was paid in each and the number of pauses at rest after it."""
    steps = animal.log.columns("steps")
    laps = pd.DataFrame(
        {
            "episode": steps["episode"],
            "start": steps["state"],
            "end": steps["next_state"],
            "reward": steps["reward"],
        }
    )
    laps = laps.groupby("episode", sort=True, as_index=False).agg(
        {"start": "first", "end": "last", "reward": "sum"}
    )
    at_rest = animal.pauses.loc[animal.pauses["phase"] == "rest", "step"].to_numpy(np.int64)
    n_rest = np.bincount(animal.lap_of_step[at_rest], minlength=len(laps))
    return laps.assign(block="run", lap="", n_rest=n_rest)
