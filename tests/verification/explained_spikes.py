"""Animals whose account is known, recorded in spikes, found by `find_replay`, and explained.

``python explained_spikes.py TABLE.csv SEED N [DETECTED_IN]`` measures what
`data/explanation/animals_in_spikes.csv` has, with N animals of each account on each track, in
bursts (`activity`) or events that are found in the decoded `posterior`.

An account replays after the laps of a task, in the places of a recording, with parameters from its
priors. Each of its sequences is an event of its own in the spikes of 60 place cells. The accounts
are then classified as by `replay explain`: what they replay on the same laps is simulated once for
all animals, and loses what known replay lost that was put into the recording of each. Beside it,
the classifier is given as many of the true sequences, and animals that lose what is usually lost.
"""

import sys
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pandas as pd
from joblib import Parallel, cpu_count, delayed

from analyses.findings.accounts import ACCOUNTS
from analyses.inference.animals import experienced_animal, replaying_animals
from analyses.inference.decoding import KnownReplay, as_decoded
from analyses.inference.features import replay_features
from analyses.inference.model_choice import ModelChoice, Simulations, class_name
from analyses.inference.replayed import Replayed
from analyses.inference.simulation import in_pauses_of, simulate_misread
from analyses.jobs import N_DRAWS_EXPLAINED
from analyses.recordings import find_replay
from analyses.recordings.basics.settings import Judgement, Settings
from analyses.recordings.prepare.lap_ends import proposed_ends
from analyses.recordings.prepare.recorded_experience import experience_of
from analyses.recordings.recover.known_replay import known_replay
from analyses.recordings.recover.observe import observe
from analyses.reports.explanation import LEVEL
from analyses.studies.explanation import drawn_parameters
from analyses.studies.explanation.answers import likely_classes, verdict_of
from analyses.studies.explanation.identify import laps_of_task
from replay.tasks.published import TASKS

CELLS, SPEED, N_TRUE = 60, 400.0, 400  # cm/s; sequences that are replayed
FEW = 10  # sequences found, below which `replay explain` warns
QUICK = Judgement(n_shuffles=49, other_sizes=())
KEPT = 1500
TRACKS = ("w_track",)  # `linear_track` and loops, such as `gupta_2t`, take hours


class Laps(NamedTuple):
    """The laps of a task as a recording has them, the track, what each step paid, and ends."""

    animal: object
    graph: object
    rewards: pd.DataFrame
    ends: tuple[str, ...]


def recorded_laps(name, seed=1):
    """Record the laps of a task without replay: places know no heading."""
    given, graph = laps_of_task(name, seed), TASKS[name].build().graph
    steps = given.log.columns("steps")
    middle = len(steps["state"]) // 2
    move = [steps["state"][middle], steps["next_state"][middle]]
    event = pd.DataFrame({"step": [middle], "states": [move]})
    recording = observe(given.log, graph, event, cells=2).recording
    ends = proposed_ends(recording.graph, recording.position, {})  # none where there are dead ends
    _, log = experience_of(recording, QUICK.state_size, ends)
    rewards = pd.DataFrame({"step": steps["step"], "reward": steps["reward"]})
    return Laps(experienced_animal(log, name=name, rewards=rewards), graph, rewards, ends)


def simulated(laps, name, draws, n_draws, seed):
    """Simulate draws of an account: number of the draw, sequences, and a random stream."""
    plan = SimpleNamespace(seed=seed, n_draws=n_draws)
    for draw, params, seeds, rng in drawn_parameters(name, ACCOUNTS[name], draws, plan):
        [made] = simulate_misread(laps.animal, ACCOUNTS[name], params, seeds, [0.0])
        yield draw, made.take(np.sort(rng.permutation(len(made.lap))[:KEPT])), rng


def recorded(laps, true: Replayed, seed, detected_in="activity"):
    """Put sequences into spikes, each an event, and find them without knowing when they were."""
    paths = pd.DataFrame({"step": true.step, "states": true.states.arrays()})
    seen = observe(laps.animal.log, laps.graph, paths, cells=CELLS, speed=SPEED, seed=seed)
    judgement, settings = QUICK._replace(lap_ends=laps.ends), Settings(detected_in=detected_in)
    return find_replay(replace(seen.recording, events=None), settings, judgement, seed=1)


def classified(laps, own: Replayed, bank, seed):
    """Classify an animal as `replay explain` does: probability and misfit of each class.

    `bank` has the account, draw, number of replayed sequences, and those seen, of each simulation.
    """
    rng, places, rows = np.random.default_rng(seed), laps.animal.places, []
    for name, draw, n_made, made in bank:
        if n_made >= 0.5 * len(own.lap) and len(made.lap):
            sample = in_pauses_of(own, made, rng)
            rows.append({"account": name, "draw": draw} | replay_features(sample, places))
    table = pd.DataFrame(rows)
    known = table.drop(columns=["account", "draw"])
    choice = ModelChoice(
        Simulations(table["account"].to_numpy(object), table["draw"].to_numpy(), known)
    )
    features = pd.DataFrame([replay_features(own, places)])
    probability = choice.probabilities(features)[0]
    misfit = [choice.misfit(features, members)[0] for members in choice.classes]
    return choice, probability, np.array(misfit)


def banks(laps, n_draws, seed, accounts=tuple(ACCOUNTS)):
    """Simulate accounts as they replay: account, draw and sequences."""
    return [
        (name, draw, true)
        for name in accounts
        for draw, true, _ in simulated(laps, name, range(n_draws), n_draws, seed)
    ]


def shown(bank, lose, seed):
    """Show simulated replay as a recording does, `lose(sequences, rng)`."""
    rng = np.random.default_rng([seed, 1])
    return [
        (name, draw, len(true.lap), lose(true, rng=rng) if len(true.lap) else true)
        for name, draw, true in bank
    ]


def row_of(laps, name, own: Replayed, bank, seed):
    """Tell whether the class of an animal comes first, and how often it does in simulations.

    These have been left out of training and have as many sequences: the share of those of its
    account says whether this recording could tell it at all.
    """
    choice, probability, misfit = classified(laps, own, bank, seed)
    top = choice.classes[int(probability.argmax())]
    mine = [name in members for members in choice.classes]
    simulated_so = choice.confusion().query("truth == @name")
    is_own = [name in found.split(" or ") for found in simulated_so["found"]]
    likely = likely_classes(probability)
    control_share = np.mean([ACCOUNTS[each].is_control for each in top])
    is_in_part = choice.power(top, LEVEL) <= LEVEL
    return {
        "probability": probability.max(), "misfit": misfit[int(probability.argmax())],
        "verdict": verdict_of(
            probability, misfit[likely], control_share, len(own.lap), is_in_part
        ),
        "n_named": len(top), "taken_for": class_name(top),
        "is_right": name in top, "of_true": float(probability @ mine), "n_classes": len(mine),
        "expected": simulated_so["share"][is_own].sum(),
    }  # fmt: skip


def measure(task, n_animals, n_draws, seed, accounts, detected_in):
    """Record and explain animals of accounts; a row for each and each way to see accounts."""
    laps = recorded_laps(task)
    bank = banks(laps, n_draws, seed + 1)
    rows = []
    for name in accounts:
        for draw, true, rng in simulated(laps, name, range(n_animals), n_animals, seed):
            true = true.take(np.sort(rng.permutation(len(true.lap))[:N_TRUE]))
            of_animal = {"task": task, "account": name, "draw": draw, "n_true": len(true.lap)}
            if not len(true.lap):
                continue
            try:
                found = recorded(laps, true, seed + draw, detected_in)
            except ValueError as error:  # of a few sequences, none may be a candidate
                if "has no candidate event" not in str(error):
                    raise
                rows.append(of_animal | {"n_candidates": 0, "n_found": 0})
                continue
            of_animal["n_candidates"] = len(found.events)
            n = len(found.sequences)
            if n < FEW:
                rows.append(of_animal | {"n_found": n})
                continue
            [animal] = replaying_animals(found.experience, found.visited, rewards=laps.rewards)
            own, known = animal.replayed, KnownReplay.of(known_replay(found.session, found))
            of_animal["n_found"] = len(own.lap)
            as_many_true = true.take(np.sort(rng.permutation(len(true.lap))[: len(own.lap)]))
            usual = partial(as_decoded, places=laps.animal.places)
            for way, sequences, lose in (
                ("true places", as_many_true, lambda replayed, rng: replayed),
                ("spikes, usual loss", own, usual),
                ("spikes, loss of this recording", own, usual if known is None else known.seen),
            ):
                told = row_of(laps, name, sequences, shown(bank, lose, draw), draw)
                rows.append(of_animal | {"seen": way} | told)
    return pd.DataFrame(rows)


if __name__ == "__main__":
    # Accounts in turn, so that processes have as much to do.
    parts = [tuple(ACCOUNTS)[first :: cpu_count()] for first in range(cpu_count())]
    table, seed, n_animals = sys.argv[1], *map(int, sys.argv[2:4])
    detected_in = sys.argv[4] if len(sys.argv) > 4 else "activity"
    tables = Parallel(n_jobs=len(parts))(
        delayed(measure)(task, n_animals, N_DRAWS_EXPLAINED, seed, part, detected_in)
        for task in TRACKS
        for part in parts
    )
    pd.concat(tables).to_csv(table, index=False, float_format="%.4f")
