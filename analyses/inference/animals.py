"""An animal for inference: the moves that it made, and the sequences of places that it replayed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from scipy import sparse
from scipy.sparse import csgraph

from analyses.inference.decoding import KnownReplay
from analyses.inference.moves import (
    Headings,
    finer_log,
    headings_of,
    laps_of,
    paid_by_step,
    transitions_of,
)
from analyses.inference.replayed import Places, Replayed, conditions_by_reward, given_conditions
from analyses.sequences import RECORDED
from analyses.sequences.logs import Columns, Logged, log_of, of_run, runs_of
from analyses.sequences.reactivations import reactivations_by_run
from analyses.sequences.sequences import Lists
from analyses.sequences.track import Track, graph_of_log
from replay.checks import check_column
from replay.checks.arrays import Bools, Int32s
from replay.log.backups import PHASES
from replay.log.event_log import EventLog
from replay.simulation.feed import RecordedExperience
from replay.worlds.mdp import MDP

_MOST_PLACES = 2000  # since distances are a table of all pairs
# Three times as many tell no more, and accounts that replay little would have to replay for long.
_MOST_SEQUENCES, FEW_SEQUENCES = 300, 10
_LEAST_HEADINGS = 0.1  # the share of places whose heading is known; by chance, 5 % are
_MOVES = ("state", "action", "reward", "next_state", "terminated", "truncated")


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
    heading_share: float = 0.0  # the share of its sequences whose heading is known
    is_decoded: bool = False  # whether its replay was decoded, so that a part is not seen
    # What the same recording showed of known replay; None if none was put into it.
    known_replay: KnownReplay | None = None
    # Conditions of the experiment, as of `given_conditions`; None: as rewards imply.
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
        n, finer_moves = self.n_finer, finer_log(self.log, world, self.n_finer)
        share = 0.0 if self.headings is None else self.heading_share
        fine = experienced_animal(finer_moves, name=self.name, heading_share=share)
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
        is_joined = np.isfinite(distance)
        # Parts of a track that are not joined are farther apart than any two places that are.
        distance = np.where(is_joined, distance, distance[is_joined].max(initial=0.0) + 1.0)

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
            distance=distance, move=move, ends=ends.astype(np.int32), last_made=last_made,
            n_made=np.cumsum(n_made, axis=0), goal=goal, conditions=names, condition=condition,
            has_headings=self.headings is not None,
        )  # fmt: skip

    def with_decoding(self, known_replay: KnownReplay | None) -> ReplayingAnimal:
        """Let simulated animals lose what decoding loses: as of known replay, if there is any."""
        loses = (
            f"{self.name}: what decoding loses is learned from known replay that was put into the "
            f"recording, {len(known_replay.sign):,} stretches of paths."
            if known_replay is not None
            else f"{self.name}: how much decoding loses is not known, and drawn anew for each "
            "simulated animal."
        )
        notes = (*self.notes, loses)
        return replace(self, is_decoded=True, known_replay=known_replay, notes=notes)

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

    def digest(self) -> str:
        """Return the SHA-256 digest of moves, pauses, world, criteria and sequences."""
        replayed, mdp = self.replayed, self.log.mdp
        arrays = [self.experience.given.steps, self.pauses["step"].to_numpy()]
        arrays += [replayed.lap, replayed.step, replayed.phase, replayed.location, replayed.event]
        arrays += [replayed.states.flat, replayed.states.begin]
        if self.headings is not None:
            arrays += [replayed.along.flat, np.array(self.heading_share)]
        if self.is_decoded:
            arrays += [np.array(self.is_decoded)]
        if self.known_replay is not None:
            lists = [each for each in self.known_replay if isinstance(each, Lists)]
            arrays += [part for each in lists for part in (each.flat, each.begin)]
            arrays += [each for each in self.known_replay if isinstance(each, np.ndarray)]
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
    log = log_of(log)
    runs, animals = runs_of(log), []
    if paths is not None and "step" in paths and len(paths) and len(runs) == 1:
        n_moves, latest = len(of_run(log, "steps", runs[0])["step"]), paths["step"].max()
        if latest >= n_moves:
            raise ValueError(
                f"An event of {name} follows move {latest:g}, but its last move is {n_moves - 1}: "
                "moves are numbered from 0, over all laps."
            )
    for run, listed in reactivations_by_run(log, paths):
        full_name = name if len(runs) == 1 else f"{name}_{run}"
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
        animal = _replaying(full_name, log, run, reactivated, rewards)
        if paths is not None and "event" in paths:  # as they are named elsewhere
            names = check_column(paths, "event", "paths", kind="whole", at_least=0)
            replayed = animal.replayed._replace(event=names[animal.replayed.event])
            animal = replace(animal, replayed=replayed)
        animals.append(animal)
    return animals


def experienced_animal(
    log: EventLog,
    *,
    name: str = "animal",
    rewards: Mapping[int, float] | pd.DataFrame | None = None,
    heading_share: float = 0.0,
) -> ReplayingAnimal:
    """Prepare the laps of an animal that has not replayed anything yet.

    `heading_share` is the share of its sequences whose heading will be known.
    """
    if len(runs_of(log)) > 1:
        raise ValueError(f"{name} has several runs: give the laps of one.")
    nothing = pd.DataFrame({"step": [0], "states": [[]]}).iloc[:0]
    [(run, reactivated)] = reactivations_by_run(log, nothing)
    steps = of_run(log, "steps", run)
    animal = _experienced(name, steps, log.mdp, reactivated, rewards, heading_share > 0)
    return animal if animal.headings is None else replace(animal, heading_share=heading_share)


def _replaying(
    name: str,
    log: EventLog,
    run: int,
    reactivated: Columns,
    rewards: Mapping[int, float] | pd.DataFrame | None,
) -> ReplayingAnimal:
    """Prepare an animal; refuse replay that is not on its track, and thin out many sequences."""
    steps = of_run(log, "steps", run)
    animal = _experienced(name, steps, log.mdp, reactivated, rewards, _has_headings(reactivated))
    replayed, track, notes = animal.replayed, [*animal.track.graph], []
    n_sequences, n_events = len(replayed.lap), len(np.unique(reactivated["event"]))
    is_outside = ~np.isin(reactivated["place"], track)
    if is_outside.any():
        n_outside = len(np.unique(reactivated["event"][is_outside]))
        outside = (
            f"{n_outside:,} of {n_events:,} replay events of {name} visit places that are not on "
            f"its track, such as {reactivated['place'][is_outside][0]}: name places as its moves "
            "do."
        )
        if n_outside == n_events:
            raise ValueError(outside)
        notes.append(f"{outside} Sequences end there.")
    location = replayed.location
    astray = location[(location >= 0) & ~np.isin(location, track)]
    if len(astray):
        raise ValueError(
            f"An event of {name} has the location {astray[0]}, which is not on its track: say in "
            "which state the animal was, -1 where that is unknown, or leave the column out."
        )
    if n_sequences < 1:
        raise ValueError(
            f"{name} has {n_events} replay events, but no sequence of {RECORDED.min_length} or "
            "more neighbouring places: there is nothing to explain."
        )
    animal = replace(animal, heading_share=float(np.mean(replayed.has_heading)))
    notes += _notes(animal, reactivated)
    if n_sequences > _MOST_SEQUENCES:
        kept = np.linspace(0, n_sequences - 1, _MOST_SEQUENCES).astype(np.int64)
        replayed = replayed.take(kept)
        notes.append(f"{name}: {_MOST_SEQUENCES:,} of these, evenly spaced in time, are explained.")
    return replace(animal, replayed=replayed, notes=tuple(notes))


def _has_headings(reactivated: Columns) -> bool:
    """Whether headings are known so often that accounts can learn in places with headings."""
    along = reactivated.get("along", np.zeros(1))
    return float(np.mean(along != 0)) >= _LEAST_HEADINGS


def _notes(animal: ReplayingAnimal, reactivated: Columns) -> list[str]:
    """Say what was read, and what is odd about it."""
    name, replayed, steps = animal.name, animal.replayed, animal.log.columns("steps")
    n_sequences, n_events = len(replayed.lap), len(np.unique(reactivated["event"]))
    notes = [
        f"{name}: {n_sequences:,} sequences of {RECORDED.min_length} or more places in "
        f"{n_events:,} replay events, and {len(steps['step']):,} moves in "
        f"{animal.lap_of_step[-1] + 1:,} laps."
    ]
    if animal.headings is not None:
        notes.append(
            f"{name}: the heading is told in {animal.heading_share:.0%} of these, so accounts "
            "learn in places with headings, and that of as many of their sequences is told."
        )
    elif _has_headings(reactivated):
        notes.append(
            f"{name}: headings are told but not used, and accounts learn in places: on this track "
            "two neighbouring places are equally far from where most laps begin, or the track has "
            "several parts."
        )
    n_before = int(np.count_nonzero(replayed.step < 0))
    if n_before:
        notes.append(
            f"{name}: {n_before:,} of {n_sequences:,} sequences come before its first move, when "
            "accounts have nothing to replay; they are compared with what accounts replay in the "
            "first lap."
        )
    late = reactivated["time"] > steps["time"][-1]
    n_after = len(np.unique(reactivated["event"][late]))
    if n_after:
        phases = ", ".join(PHASES[phase] for phase in np.unique(reactivated["phase"][late]))
        notes.append(
            f"{name}: {n_after:,} of {n_events:,} replay events come after its last move, at "
            f"{steps['time'][-1]:,.0f} s, in the phase {phases}; they are compared with what "
            "accounts replay in its last lap. If it did not rest then, check that both times are "
            "on one clock."
        )
    if n_sequences < FEW_SEQUENCES:
        notes.append(
            f"{name}: so few sequences (fewer than {FEW_SEQUENCES}) hardly tell accounts apart; "
            "record more, or pool sessions of the same maze."
        )
    if not (steps["reward"] != 0).any():
        notes.append(f"{name} is never paid: accounts that learn from rewards replay little.")
    return notes


def _experienced(
    name: str,
    steps: Columns,
    mdp: MDP | None,
    reactivated: Columns,
    rewards: Mapping[int, float] | pd.DataFrame | None,
    has_headings: bool,
) -> ReplayingAnimal:
    """Check the moves of an animal, and find its sequences, which say when it paused."""
    if not len(steps["step"]):
        raise ValueError(f"{name} has no moves: an account can replay only what it experienced.")
    world = mdp
    if world is None:  # that of the moves that were made, and of their reverse
        pairs = np.unique(np.column_stack((steps["state"], steps["next_state"])), axis=0)
        made = nx.Graph()
        made.add_nodes_from(range(int(pairs.max()) + 1))
        made.add_edges_from(pair for pair in pairs.tolist() if pair[0] != pair[1])
        world = MDP.from_networkx(made, name=name)
    if world.n_states > _MOST_PLACES:
        raise ValueError(
            f"The world of {name} has {world.n_states} states; inference takes at most "
            f"{_MOST_PLACES}. Make the states larger."
        )
    table = transitions_of(steps, world, paid_by_step(steps, rewards, world, name))
    what = f"the moves of {name}"
    RecordedExperience.of(table, n_states=world.n_states, n_actions=world.n_actions, name=what)
    columns = {key: table[key].to_numpy() for key in _MOVES} | {"time": steps["time"]}
    log = EventLog({"steps": columns}, mdp=world)
    moves, graph = log.columns("steps"), graph_of_log(log)
    headings = headings_of(log, graph) if has_headings else None
    if headings is not None:
        world = headings.world
        states = {"state": headings.state, "next_state": headings.next_state}
        table = transitions_of(moves | states, world, columns["reward"])
    replayed = Replayed.found(reactivated, Track.of(graph), laps_of(moves), headings)
    pauses = _pauses(replayed, moves["terminated"] | moves["truncated"])
    at_rest = pauses.loc[pauses["phase"] == "rest", "step"].value_counts()
    experience = RecordedExperience.of(
        table, n_states=world.n_states, n_actions=world.n_actions, mdp=world,
        rest=dict(zip((at_rest.index + 1).tolist(), at_rest.tolist(), strict=True)),
        paused=pauses.loc[pauses["phase"] == "step", "step"] + 1,
    )  # fmt: skip
    return ReplayingAnimal(
        name=name, log=log, experience=experience, pauses=pauses, replayed=replayed,
        headings=headings,
    )  # fmt: skip


def _pauses(replayed: Replayed, is_end: Bools) -> pd.DataFrame:
    """List where an account may replay; `is_end` says which steps end a lap."""
    ends = np.flatnonzero(is_end)
    within = np.unique(replayed.step[replayed.phase == PHASES.index("step")])
    within = within[(within >= 0) & ~is_end[within]]
    # At rest after a lap, there are as many pauses as it has sequences of rest there: a model's
    # log has all pauses of one rest in one event, so that events would be too few.
    after = replayed.step[replayed.phase == PHASES.index("rest")]
    n_ended = np.searchsorted(ends, after, side="right")
    rests = ends[n_ended[n_ended > 0] - 1]
    begins = ends[ends < len(is_end) - 1]
    of_phase = {"step": within, "episode_end": ends, "rest": rests, "start": begins}
    rows = [(step, phase) for phase, steps in of_phase.items() for step in steps.tolist()]
    # Those of one step remain in the order of a lap: its end, rest, the next beginning.
    rows.sort(key=lambda row: row[0])
    return pd.DataFrame(rows, columns=["step", "phase"])
