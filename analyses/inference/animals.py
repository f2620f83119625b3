"""An animal for inference: the moves that it made, and the sequences of places that it replayed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from analyses.inference.conditions import conditions_by_reward, given_conditions
from analyses.inference.moves import (
    Headings,
    finer_log,
    headings_of,
    laps_of,
    paid_by_step,
    transitions_of,
)
from analyses.sequences.detection import RECORDED
from analyses.sequences.place_sequences import headings_along, runs_along
from analyses.sequences.reactivations import reactivations_by_run
from analyses.sequences.sequences import Columns, Lists, Logged, log_of, of_run, runs_of
from analyses.sequences.track import Track, graph_of_log
from replay.checks import check_column
from replay.checks.arrays import Bools, Floats, Int32s, Ints
from replay.log.backups import PHASES
from replay.log.event_log import EventLog
from replay.simulation.feed import RecordedExperience
from replay.worlds.mdp import MDP

_MOST_PLACES = 2000  # since distances are a table of all pairs
# Three times as many tell no more, and accounts that replay little would have to replay for long.
_MOST_SEQUENCES, FEW_SEQUENCES = 300, 10
_LEAST_TOLD = 0.1  # of all headings: by chance, 5 % are


class Replayed(NamedTuple):
    """Place sequences of an animal, real or simulated, in order; one entry for each sequence."""

    lap: Int32s  # the lap after or in which it was replayed, from 0
    step: Ints  # the move after which it was, from 0; -1 before the first
    phase: NDArray[np.int8]  # its number in `replay.log.backups.PHASES`
    location: Int32s  # where the animal was; -1 if unknown
    states: Lists  # its places, in the order of replay
    event: Ints  # the number of the event that it belongs to
    # Whether the heading represented at each place is that of travel (1), the opposite (-1), or
    # unknown (0).
    along: Lists

    def take(self, numbers: Ints) -> Replayed:
        """Select sequences by their numbers."""
        return Replayed(
            self.lap[numbers], self.step[numbers], self.phase[numbers], self.location[numbers],
            self.states.take(numbers), self.event[numbers], self.along.take(numbers),
        )  # fmt: skip

    @classmethod
    def joined(cls, parts: Sequence[Replayed]) -> Replayed:
        """Take the sequences of several replays together, one after the other."""
        columns: list[Any] = []
        for own in zip(*parts, strict=True):
            if isinstance(own[0], Lists):
                begin = np.append(0, np.cumsum(np.concatenate([each.length for each in own])))
                columns.append(Lists(np.concatenate([each.flat for each in own]), begin))
            else:
                columns.append(np.concatenate(own))
        return cls(*columns)

    @property
    def is_told(self) -> Bools:
        """Whether the heading of each sequence is known anywhere, shape (n_sequences,)."""
        known = np.bincount(self.along.owner, self.along.flat != 0, minlength=len(self.lap))
        return np.asarray(known > 0)


@dataclass(frozen=True, eq=False)
class Places:
    """The places of a track, the moves between neighbours, and what they meant to the animal."""

    # Moves between two places on the shortest path, shape (n_places, n_places); the largest known
    # number plus one where there is none.
    distance: Floats
    move: Int32s  # of two places, the number of the move; -1 if no neighbours
    ends: Int32s  # the two places of each move, shape (n_moves, 2)
    # Lap by lap, shape (n_laps, n_moves): the latest in which a move was made (-1: none), and how
    # often it had been made at its end.
    last_made: Int32s
    n_made: Floats
    # The place that paid most up to the end of each lap, the latest if several did; -1 if none.
    goal: Int32s
    # The conditions of the experiment, and their numbers, shape (n_laps, n_places); -1: none.
    conditions: tuple[str, ...]
    condition: NDArray[np.int16]
    has_headings: bool = False  # whether the headings of replay are known

    @property
    def n_places(self) -> int:
        """Number of places."""
        return len(self.distance)

    @property
    def n_moves(self) -> int:
        """Number of moves to a neighbour, both directions counted."""
        return len(self.ends)


@dataclass(frozen=True, eq=False)
class ReplayingAnimal:
    """An animal's moves and its replay, checked and ready for all accounts."""

    name: str  # in tables and figures
    log: EventLog  # its moves alone; `mdp` is its world
    # The same, in the states of `headings` if there are any, as learners are fed with it.
    experience: RecordedExperience
    pauses: pd.DataFrame  # `step, phase`: where an account may replay
    replayed: Replayed
    notes: tuple[str, ...] = ()  # what was read, and what was left out
    # Name of a landmark -> nodes of the track, for statistics of replay.
    landmarks: Mapping[str, Sequence[str]] = field(default_factory=dict)
    # The states in which accounts learn, if the headings of its replay are known.
    headings: Headings | None = None
    told: float = 0.0  # the share of its sequences whose heading is known
    is_decoded: bool = False  # whether its replay was decoded, so that a part is not seen
    # Conditions of the experiment, as of `given_conditions`; None: as rewards tell.
    conditions: pd.DataFrame | None = None
    # How many times finer the states are in which half of the simulated animals learn.
    n_finer: int = 1

    @cached_property
    def learned(self) -> EventLog:
        """The moves in the states in which accounts learn; `mdp` is their world."""
        if self.headings is None:
            return self.log
        moves = {"state": self.headings.state, "next_state": self.headings.next_state}
        return EventLog({"steps": self.log.columns("steps") | moves}, mdp=self.headings.world)

    @cached_property
    def finer(self) -> ReplayingAnimal:
        """The same animal in finer states, which pauses where and when this one does."""
        world = self.log.mdp
        if world is None or world.terminal.any():
            raise ValueError(
                f"The world of {self.name} has terminal states: leave finer states out."
            )
        n, told = self.n_finer, 0.0 if self.headings is None else self.told
        fine = experienced_animal(finer_log(self.log, world, n), name=self.name, told=told)
        experience = replace(
            fine.experience,
            rests={n_done * n: times for n_done, times in self.experience.rests.items()},
            paused=frozenset(n_done * n for n_done in self.experience.paused),
        )
        pauses = self.pauses.assign(step=(self.pauses["step"] + 1) * n - 1)
        return replace(fine, experience=experience, pauses=pauses)

    @cached_property
    def graph(self) -> nx.Graph:
        """The track: places and which of them are neighbours."""
        return graph_of_log(self.log)

    @cached_property
    def track(self) -> Track:
        """The track in arrays."""
        return Track.of(self.graph)

    @cached_property
    def places(self) -> Places:
        """The places, and what they meant to the animal lap by lap."""
        log, track = self.log, self.track
        steps: dict[str, Any] = dict(log.columns("steps"))
        n_places = max(int(max(track.graph, default=0)) + 1, log.mdp.n_states if log.mdp else 0)
        pairs = np.array([*track.graph.edges], dtype=np.int64).reshape(-1, 2)
        ends = np.vstack((pairs, pairs[:, ::-1]))
        ends = ends[np.lexsort((ends[:, 1], ends[:, 0]))]
        move = np.full((n_places, n_places), -1, dtype=np.int32)
        move[ends[:, 0], ends[:, 1]] = np.arange(len(ends))
        links = sparse.csr_array(
            (np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n_places, n_places)
        )
        distance = csgraph.shortest_path(links, unweighted=True)
        known = np.isfinite(distance)
        # Parts of a track that are not joined are farther apart than any two places that are.
        distance = np.where(known, distance, distance[known].max(initial=0.0) + 1.0)

        laps = laps_of(steps)
        n_laps = int(laps[-1]) + 1
        made = move[steps["state"], steps["next_state"]]
        is_move = made >= 0
        n_made = np.zeros((n_laps, len(ends)))
        np.add.at(n_made, (laps[is_move], made[is_move]), 1.0)
        last_made = np.where(n_made > 0, np.arange(n_laps)[:, None], -1)
        last_made = np.maximum.accumulate(last_made, axis=0).astype(np.int32)
        paid = np.zeros((n_laps, n_places))
        np.add.at(paid, (laps, steps["next_state"]), steps["reward"])
        goal = np.full(n_laps, -1, dtype=np.int32)
        latest = -1
        for lap in range(n_laps):
            if paid[lap].max() > 0:
                latest = int(np.argmax(paid[lap]))
            goal[lap] = latest
        if self.conditions is None or log.mdp is None:
            names, condition = conditions_by_reward(steps, laps, distance)
        else:
            names, condition = given_conditions(self.conditions, log.mdp, distance, n_laps)
        return Places(
            distance, move, ends.astype(np.int32), last_made, np.cumsum(n_made, axis=0), goal,
            names, condition, has_headings=self.headings is not None,
        )  # fmt: skip

    @property
    def lap_of_step(self) -> Int32s:
        """The lap of each step, shape (n_steps,), from 0."""
        return laps_of(self.log.columns("steps"))

    @property
    def has_two_ways(self) -> bool:
        """Whether any move leads back to where another comes from."""
        world = self.learned.mdp
        ends = world.to_networkx() if world is not None else self.graph
        return any(ends.has_edge(there, here) for here, there in ends.edges() if here != there)

    def found(self, reactivated: Columns) -> Replayed:
        """Find the sequences in reactivated places, by the same criteria for animal and model."""
        rows, states = runs_along(reactivated, self.track, RECORDED)
        step = reactivated["step"][rows]
        laps = self.lap_of_step
        lap = np.where(step < 0, 0, laps[np.clip(step, 0, len(laps) - 1)]).astype(np.int32)
        phase, location, event = (reactivated[key][rows] for key in ("phase", "location", "event"))
        along = Lists(np.zeros(len(states.flat), dtype=np.int8), states.begin)
        if self.headings is not None and "along" in reactivated:
            along = headings_along(reactivated, rows, states)
        return Replayed(lap, step, phase, location, states, event, along)

    def digest(self) -> str:
        """Return the SHA-256 digest of moves, pauses, world, criteria and sequences."""
        replayed, mdp = self.replayed, self.log.mdp
        arrays = [self.experience.given.steps, self.pauses["step"].to_numpy()]
        arrays += [replayed.lap, replayed.step, replayed.phase, replayed.location, replayed.event]
        arrays += [replayed.states.flat, replayed.states.begin]
        if self.headings is not None:
            arrays += [replayed.along.flat, np.array(self.told)]
        if self.is_decoded:
            arrays += [np.array(self.is_decoded)]
        if self.n_finer > 1:
            arrays += [np.array(self.n_finer)]
        if mdp is not None:
            arrays += [mdp.successor_offset, mdp.successor, mdp.probability, mdp.reward]
            arrays += [mdp.start_probability, mdp.terminal]
        phases = self.pauses["phase"].astype(str).tolist()
        given = () if self.conditions is None else (self.conditions.to_csv(index=False),)
        content = hashlib.sha256(repr((tuple(RECORDED), phases, *given)).encode())
        for part in arrays:
            content.update(np.ascontiguousarray(part).tobytes())
        return content.hexdigest()


def replaying_animals(
    log: EventLog | Logged,
    paths: pd.DataFrame | None = None,
    *,
    name: str = "animal",
    rewards: Mapping[int, float] | pd.DataFrame | None = None,
) -> list[ReplayingAnimal]:
    """Prepare the animals of a log for inference; each of its runs is an animal.

    `paths` are decoded places as in :func:`analyses.place_sequences`, with the number of the
    `event` if they have one; without them the replay is that of the log's own backups. `rewards`
    are those of `explain`.
    """
    log, found = log_of(log), []
    runs = runs_of(log)
    if paths is not None and "step" in paths and len(paths) and len(runs) == 1:
        n_moves, latest = len(of_run(log, "steps", runs[0])["step"]), paths["step"].max()
        if latest >= n_moves:
            raise ValueError(
                f"An event of {name} follows move {latest:g}, but its last move is {n_moves - 1}: "
                "moves are numbered from 0, over all laps."
            )
    for run, listed in reactivations_by_run(log, paths):
        own = name if len(runs) == 1 else f"{name}_{run}"
        reactivated = listed
        if paths is not None:
            # An animal that turns at the end of a track, and waits, is already in the last state
            # but one: what comes after the first move of a lap is at the end of the lap before.
            steps = of_run(log, "steps", run)
            ended = (steps["terminated"] | steps["truncated"])[:-1]
            turns = np.flatnonzero(ended & (steps["next_state"][:-1] == steps["state"][1:])) + 1
            step, phase = listed["step"], listed["phase"]
            waits = (phase == PHASES.index("step")) & np.isin(step, turns)
            phase = np.where(waits, PHASES.index("episode_end"), phase).astype(np.int8)
            reactivated = {**listed, "step": step - waits, "phase": phase}
        animal = _animal(own, log, run, reactivated, rewards)
        if paths is not None and "event" in paths:  # as they are named elsewhere
            names = check_column(paths, "event", "paths", kind="whole", at_least=0)
            replayed = animal.replayed._replace(event=names[animal.replayed.event])
            animal = replace(animal, replayed=replayed)
        found.append(animal)
    return found


def experienced_animal(
    log: EventLog,
    *,
    name: str = "animal",
    rewards: Mapping[int, float] | pd.DataFrame | None = None,
    told: float = 0.0,
) -> ReplayingAnimal:
    """Prepare the laps of an animal that has not replayed anything yet.

    `told` is the share of its sequences whose heading will be known.
    """
    if len(runs_of(log)) > 1:
        raise ValueError(f"{name} has several runs: give the laps of one.")
    nothing = pd.DataFrame({"step": [0], "states": [[]]}).iloc[:0]
    [(run, reactivated)] = reactivations_by_run(log, nothing)
    steps = of_run(log, "steps", run)
    animal = _experienced(name, steps, log.mdp, reactivated, rewards, told > 0)
    return replace(animal, told=told) if animal.headings is not None else animal


def _animal(
    name: str,
    log: EventLog,
    run: int,
    reactivated: Columns,
    rewards: Mapping[int, float] | pd.DataFrame | None,
) -> ReplayingAnimal:
    steps = of_run(log, "steps", run)
    along = reactivated.get("along", np.zeros(1))
    are_told = float(np.mean(along != 0)) >= _LEAST_TOLD
    animal = _experienced(name, steps, log.mdp, reactivated, rewards, are_told)
    replayed, notes = animal.found(reactivated), []
    n_found, n_events = len(replayed.lap), len(np.unique(reactivated["event"]))
    known = [*animal.track.graph]
    is_known = np.isin(reactivated["place"], known)
    if not is_known.all():
        n_outside = len(np.unique(reactivated["event"][~is_known]))
        outside = (
            f"{n_outside:,} of {n_events:,} replay events of {name} visit places that are not on "
            f"its track, such as {reactivated['place'][~is_known][0]}: name places as its moves do."
        )
        if n_outside == n_events:
            raise ValueError(outside)
        notes.append(f"{outside} Sequences end there.")
    where = replayed.location[(replayed.location >= 0) & ~np.isin(replayed.location, known)]
    if len(where):
        raise ValueError(
            f"An event of {name} has the location {where[0]}, which is not on its track: say in "
            "which state the animal was, -1 where that is unknown, or leave the column out."
        )
    if n_found < 1:
        raise ValueError(
            f"{name} has {n_events} replay events, but no sequence of {RECORDED.min_length} or "
            "more neighbouring places: there is nothing to explain."
        )
    notes.append(
        f"{name}: {n_found:,} sequences of {RECORDED.min_length} or more places in {n_events:,} "
        f"replay events, and {len(steps['step']):,} moves in {len(animal.places.goal):,} laps."
    )
    told = float(np.mean(replayed.is_told))
    if animal.headings is not None:
        notes.append(
            f"{name}: the heading is told in {told:.0%} of these, so accounts learn in places with "
            "headings, and that of as many of their sequences is told."
        )
    elif are_told:
        notes.append(
            f"{name}: headings are told but not used, and accounts learn in places: on this track "
            "two neighbouring places are equally far from where most laps begin, or the track has "
            "several parts."
        )
    n_before = int(np.count_nonzero(replayed.step < 0))
    if n_before:
        notes.append(
            f"{name}: {n_before:,} of {n_found:,} sequences come before its first move, when "
            "accounts have nothing to replay; they are compared with what accounts replay in the "
            "first lap."
        )
    n_after = len(np.unique(reactivated["event"][reactivated["time"] > steps["time"][-1]]))
    if n_after:
        notes.append(
            f"{name}: {n_after:,} of {n_events:,} replay events come after its last move, at "
            f"{steps['time'][-1]:,.0f} s; they are compared with what accounts replay in its last "
            "lap. If it did not rest then, check that both times are on one clock."
        )
    if n_found < FEW_SEQUENCES:
        notes.append(
            f"{name}: so few sequences (fewer than {FEW_SEQUENCES}) hardly tell accounts apart; "
            "record more, or pool sessions of the same maze."
        )
    if not (animal.log.columns("steps")["reward"] != 0).any():
        notes.append(f"{name} is never paid: accounts that learn from rewards replay little.")
    if n_found > _MOST_SEQUENCES:
        kept = np.linspace(0, n_found - 1, _MOST_SEQUENCES).astype(np.int64)
        replayed = replayed.take(kept)
        notes.append(f"{name}: {_MOST_SEQUENCES:,} of these, evenly spaced in time, are explained.")
    return replace(animal, replayed=replayed, notes=tuple(notes), told=told)


def _experienced(
    name: str,
    steps: Columns,
    mdp: MDP | None,
    reactivated: Columns,
    rewards: Mapping[int, float] | pd.DataFrame | None,
    with_headings: bool,
) -> ReplayingAnimal:
    """Check the moves of an animal; `reactivated` says when it rested."""
    if not len(steps["step"]):
        raise ValueError(f"{name} has no moves: an account can replay only what it experienced.")
    world = mdp
    if world is None:  # that of the moves that were made, and of their reverse
        pairs = np.unique(np.column_stack((steps["state"], steps["next_state"])), axis=0)
        graph = nx.Graph()
        graph.add_nodes_from(range(int(pairs.max()) + 1))
        graph.add_edges_from(pair for pair in pairs.tolist() if pair[0] != pair[1])
        world = MDP.from_networkx(graph, name=name)
    if world.n_states > _MOST_PLACES:
        raise ValueError(
            f"The world of {name} has {world.n_states} states; inference takes at most "
            f"{_MOST_PLACES}. Make the states larger."
        )
    table = transitions_of(steps, world, paid_by_step(steps, rewards, world, name))
    what = f"the moves of {name}"
    RecordedExperience.of(table, n_states=world.n_states, n_actions=world.n_actions, name=what)
    own = {key: table[key].to_numpy() for key in table}
    moves = EventLog(
        {"steps": {key: own[key] for key in _KEPT} | {"time": steps["time"]}}, mdp=world
    )
    headings = headings_of(moves, graph_of_log(moves)) if with_headings else None
    if headings is not None:
        world = headings.world
        states = {"state": headings.state, "next_state": headings.next_state}
        table = transitions_of(moves.columns("steps") | states, world, own["reward"])
    empty = Replayed(
        np.empty(0, np.int32), np.empty(0, np.int64), np.empty(0, np.int8),
        np.empty(0, np.int32), Lists.of([]), np.empty(0, np.int64), Lists.of([]),
    )  # fmt: skip

    def pausing(replayed: Replayed) -> ReplayingAnimal:
        own = moves.columns("steps")
        is_end = own["terminated"] | own["truncated"]
        ends = np.flatnonzero(is_end)
        within = np.unique(replayed.step[replayed.phase == PHASES.index("step")])
        within = within[(within >= 0) & ~is_end[within]]
        # At rest after a lap, there are as many pauses as it has sequences of rest there: a model's
        # log has all pauses of one rest in one event, so that events would be too few.
        after = replayed.step[replayed.phase == PHASES.index("rest")]
        before = np.searchsorted(ends, after, side="right")
        rests = ends[before[before > 0] - 1]
        begins = ends[ends < len(is_end) - 1]
        parts = {"step": within, "episode_end": ends, "rest": rests, "start": begins}
        rows = [(step, phase) for phase, each in parts.items() for step in each.tolist()]
        # Those of one step remain in the order of a lap: its end, rest, the next beginning.
        rows.sort(key=lambda row: row[0])
        pauses = pd.DataFrame(rows, columns=["step", "phase"])
        at_rest = pauses.loc[pauses["phase"] == "rest", "step"].value_counts()
        experience = RecordedExperience.of(
            table, n_states=world.n_states, n_actions=world.n_actions, mdp=world,
            rest=dict(zip((at_rest.index + 1).tolist(), at_rest.tolist(), strict=True)),
            paused=pauses.loc[pauses["phase"] == "step", "step"] + 1,
        )  # fmt: skip
        return ReplayingAnimal(name, moves, experience, pauses, empty, headings=headings)

    return pausing(pausing(empty).found(reactivated))


_KEPT = ("state", "action", "reward", "next_state", "terminated", "truncated")
