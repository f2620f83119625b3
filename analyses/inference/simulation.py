"""Simulated replay: what an account would have replayed after the moves that an animal made.

An account learns from the animal's own moves and rewards, and replays in its pauses: at the ends
and beginnings of laps, within laps where the animal replayed, and at rest where it rested. Of all
that it replays, as many sequences are compared as the animal replayed in each pause and lap, and
each is taken as replayed where the animal was. So *when* an account replays, and how much, says
nothing for or against it.

Decoded places may be wrong. Each place that a simulated animal reactivates is replaced, with the
probability that is given, before sequences are found, so that a classifier learns from sequences
that are as broken. What else a recording does not show is in :mod:`analyses.inference.decoding`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from analyses.findings.accounts import CONTROLS, Account, replay_of_control
from analyses.findings.priors import Parameter
from analyses.inference.animals import ReplayingAnimal
from analyses.inference.moves import differ_from_before, in_described_states, scaled
from analyses.inference.replayed import Replayed
from analyses.sequences.logs import Columns
from analyses.sequences.reactivations import reactivated_by, reactivations_by_run
from analyses.sequences.sequences import Lists
from analyses.sequences.track import graph_of_log
from replay.checks.arrays import Int32s, Ints
from replay.learners import find_learner
from replay.simulation.driver import LogWriter

_MOST_CONSIDERED = 5000  # simulated sequences among which the nearest are looked for
_FAR = 2**20  # more than there are laps
_FINER_KEY = 2**20  # of random numbers, which no replica has
_SHARE_FINER = 0.5  # of simulated animals
# How often one is used again before one of another phase, or of another place.
_ELSEWHERE = np.array([1, 2])


def simulate_misread(
    animal: ReplayingAnimal,
    account: Account,
    params: dict[str, Parameter],
    seeds: np.random.SeedSequence,
    shares: Sequence[float],
) -> list[Replayed]:
    """Simulate what an account replays once, and find its sequences with each share misread."""
    replay_seed, noise_seed = seeds.spawn(2)
    learning = animal
    if animal.n_finer > 1 and _is_finer(seeds):
        learning, params = animal.finer, scaled(params, animal.n_finer)
    reactivated: Columns
    if account.is_control:
        rng = np.random.default_rng(replay_seed)
        control = CONTROLS[account.generator]
        log = learning.learned
        paths = replay_of_control(control, params, log, learning.pauses, graph_of_log(log), rng)
        [(_, reactivated)] = reactivations_by_run(log, paths)
    else:
        if "reversible" in params and not learning.has_two_ways:
            params = params | {"reversible": False}  # no move leads back
        learner = find_learner(account.generator, params)
        writer = LogWriter("replay", learner, learning.learned.mdp)
        seed = int(replay_seed.generate_state(1)[0])
        log = learning.experience.feed_to(learner, writer, seed)
        reactivated = reactivated_by(log.columns("backups"))
    if learning.headings is not None:
        reactivated = learning.headings.in_places(reactivated)
    n_places, found = animal.places.n_places, []
    if learning is not animal:
        reactivated = in_described_states(reactivated, animal.n_finer, n_places)
    for share in shares:
        rng = np.random.default_rng(noise_seed)
        seen = misread(reactivated, share, n_places, rng) if share else reactivated
        made = Replayed.found(seen, animal.track, animal.lap_of_step, animal.headings)
        if animal.headings is not None and animal.known_replay is None:
            made = _with_headings(made, animal.heading_share, rng)
        found.append(made)
    return found


def _is_finer(seeds: np.random.SeedSequence) -> bool:
    """Draw whether an animal learns in finer states; the same for all replicas of a draw."""
    own = np.random.SeedSequence(seeds.entropy, spawn_key=(*seeds.spawn_key, _FINER_KEY))
    return bool(np.random.default_rng(own).random() < _SHARE_FINER)


def _with_headings(replayed: Replayed, share: float, rng: np.random.Generator) -> Replayed:
    """Leave the headings of a share of sequences known, or of all that have one."""
    along, owner = replayed.along, replayed.along.owner
    present = max(float(replayed.has_heading.sum()), 1.0) / max(len(replayed.lap), 1)
    is_kept = rng.random(len(replayed.lap)) < share / present
    return replayed._replace(along=Lists(along.flat * is_kept[owner], along.begin))


def misread(reactivated: Columns, share: float, n_places: int, rng: np.random.Generator) -> Columns:
    """Replace a share of reactivated places by any place; equal neighbours become one."""
    place = reactivated["place"].copy()
    wrong = rng.random(len(place)) < share
    place[wrong] = rng.integers(n_places, size=np.count_nonzero(wrong))
    is_new = differ_from_before(place, reactivated["event"])
    return {name: values[is_new] for name, values in {**reactivated, "place": place}.items()}


def in_pauses_of(seen: Replayed, simulated: Replayed, rng: np.random.Generator) -> Replayed:
    """Choose as many simulated sequences as the animal has, in the same pauses where there are any.

    Each is taken as replayed where the animal was: an account that replays at the ends of laps only
    is compared by what it replays, not by when.
    """
    chosen = simulated.take(as_many(simulated, seen.lap, rng, (seen.phase, seen.location)))
    return chosen._replace(phase=seen.phase, location=seen.location)


def as_many(
    simulated: Replayed,
    laps: Int32s,
    rng: np.random.Generator,
    pauses: tuple[NDArray[np.int8], Int32s] | None = None,
) -> Ints:
    """Choose, for each sequence of the animal, a simulated one of the same lap or the nearest one.

    `laps` are those of the animal's sequences, and `pauses` their phases and locations, which count
    before laps. Each simulated sequence is chosen once as long as there are enough of them; one in
    the same pause is chosen a second and a third time before one elsewhere.
    """
    n_made = len(simulated.lap)
    if not n_made or not len(laps):
        return np.empty(0, dtype=np.int64)
    order = rng.permutation(n_made)[:_MOST_CONSIDERED]
    lap = simulated.lap[order].astype(np.int64)
    where = np.column_stack((simulated.phase, simulated.location))[order]
    wanted = np.column_stack((laps, *([] if pauses is None else pauses)))
    n_used = np.zeros(len(lap), dtype=np.int64)
    chosen = np.empty(len(laps), dtype=np.int64)
    kinds, kind = np.unique(wanted, axis=0, return_inverse=True)
    for number, (own, *pause) in enumerate(kinds.tolist()):
        elsewhere = (where[:, : len(pause)] != pause) @ _ELSEWHERE[: len(pause)]
        rows = np.flatnonzero(kind.ravel() == number)
        while len(rows):
            cost = n_used + elsewhere
            away = np.where(cost == cost.min(), np.abs(lap - own), _FAR)
            n_next = min(np.count_nonzero(away < _FAR), len(rows))
            nearest = np.argsort(away, kind="stable")[:n_next]
            n_used[nearest] += 1
            chosen[rows[:n_next]] = order[nearest]
            rows = rows[n_next:]
    return chosen
