"""A task: a maze, its laps and rewards, and the states that the analyses see."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import pandas as pd

from replay.checks import (
    check_array,
    check_flag,
    check_function,
    check_list,
    check_number,
    check_text,
    check_whole,
    shown,
)
from replay.checks.arrays import Floats, Int32s
from replay.tasks.places import Places, check_moves, check_node_rewards
from replay.worlds.mdp import MDP

_MOST_SHOWN = 20  # blocks, in a notebook
_HEADING = re.compile(r"[^{}]*\{\}[^{}]*")
_LANE_CM = 4.0  # separates the two directions of travel in a figure
_MOST_LAPS = 1_000_000
_MOST_RESTS = 1_000_000


class Block(NamedTuple):
    """Some laps under one contingency; data that the task's protocol reads.

    Attributes
    ----------
    name : str
    n_laps : int
        0 in a block of rest alone.
    contingency : tuple of str
        What is run or rewarded; its meaning depends on the protocol.
    rewards : mapping of str to float
        Node -> mean reward there.
    closed : tuple of (str, str)
        Moves that cannot be made, from node to node.
    n_rest : int
        Pauses of rest after the block; in a first block without laps, before the first lap.
    error : float
        Probability of a lap that breaks the rule.
    """

    name: str
    n_laps: int
    contingency: tuple[str, ...] = ()
    rewards: Mapping[str, float] = {}
    closed: tuple[tuple[str, str], ...] = ()
    n_rest: int = 0
    error: float = 0.0


class Lap(NamedTuple):
    """One lap, which is one episode.

    Attributes
    ----------
    world : MDP
        The world of this lap.
    start : int
        The state in which it begins.
    path : tuple of int, or None
        Given behaviour: the states from start to end. None if the learner must act.
    block, name : str
        The block, and the kind of lap.
    n_rest : int
        Pauses of rest after it.
    shown : bool
        Whether the animal follows the path in any case, even where the learner acts otherwise.
    """

    world: MDP
    start: int
    path: tuple[int, ...] | None
    block: str
    name: str
    n_rest: int = 0
    shown: bool = False


Laps = Generator[Lap, tuple[int, ...], None]
"""A protocol: it yields a lap and receives the states of that lap as it was run."""


def check_blocks(graph: nx.Graph, blocks: object) -> tuple[Block, ...]:
    """Check the blocks of a task."""
    checked = []
    for block in check_list("blocks", blocks):
        if not isinstance(block, Block):
            raise TypeError(f"Each block must be a Block, got {shown(block)}.")
        name = check_text("The name of a block", block.name)
        check_whole(f"n_laps of the block {name!r}", block.n_laps, at_most=_MOST_LAPS)
        check_whole(f"n_rest of the block {name!r}", block.n_rest, at_most=_MOST_RESTS)
        check_number(f"error of the block {name!r}", block.error, at_least=0, at_most=1)
        contingency = check_list(f"contingency of the block {name!r}", block.contingency)
        for each in contingency:
            check_text(f"Each contingency of the block {name!r}", each)
        check_node_rewards(graph, block.rewards)
        check_moves(graph, block.closed)
        checked.append(block._replace(contingency=contingency))
    return tuple(checked)


def _checked(lap: object) -> Lap:
    """Check a lap that a protocol yields."""
    if not isinstance(lap, Lap):
        raise TypeError(f"A protocol must yield laps, got {shown(lap)}.")
    if not isinstance(lap.world, MDP):
        raise TypeError(f"The world of a lap must be an MDP, got {shown(lap.world)}.")
    last = lap.world.n_states - 1
    start = check_whole("The start of a lap", lap.start, at_most=last)
    if lap.path is not None:
        what, path = "The path of a lap", lap.path
        # What `Places.walk` returns needs no check of arrays, which takes ten times as long.
        are_whole = type(path) is tuple and set(map(type, path)) == {int}
        if not are_whole or min(path) < 0 or max(path) > last:
            check_array(path, what, kind="whole", at_least=0, at_most=last)
        if len(lap.path) < 2 or lap.path[0] != start:
            raise ValueError(
                f"{what} must go from its start, state {start}, to at least one other state; got "
                f"{shown(lap.path)}."
            )
    check_whole("n_rest of a lap", lap.n_rest, at_most=_MOST_RESTS)
    check_text("The block of a lap", lap.block)
    check_text("The name of a lap", lap.name)
    check_flag("shown of a lap", lap.shown)
    return lap


def begin_protocol(task: Task, rng: np.random.Generator) -> tuple[Laps, Lap]:
    """Return the protocol of a task, and its first lap."""
    protocol = task.laps(rng)
    lap = next(protocol, None)
    if lap is None:
        raise ValueError(f"The protocol of the task {task.name!r} must yield a lap, but has none.")
    return protocol, _checked(lap)


def next_lap(protocol: Laps, states: Sequence[int]) -> Lap | None:
    """Send a protocol the last lap as it was run, and return the next one.

    None after the last lap.
    """
    try:
        return _checked(protocol.send(tuple(states)))
    except StopIteration:
        return None


@dataclass(frozen=True, eq=False, repr=False)
class Task:
    """A maze, its laps and rewards, and the states that the analyses see.

    The model's states have a place, a heading where that matters, and a memory where a rule needs
    one. The *analysed* states have place and heading only.

    Parameters
    ----------
    name : str
    model : Places
        The states, from `explore`.
    protocol : callable
        ``protocol(task, rng)`` yields one `Lap` after the other, and receives the states of each
        lap as it was run.
    blocks : tuple of Block
        Data for the protocol.
    landmarks : mapping of str to tuple of str
        Name -> nodes.
    local_radius : int
        Largest distance from the animal at which a sequence may begin and still count as local, in
        steps on the graph.
    one_way : bool
        Whether states include the direction of travel, or the maze has one-way paths: a learned
        model then knows a way back only where the animal turns round.
    remark : str
        What is known about the task, and what is a modelling choice.
    choices : str
        The modelling choices alone, which figures show.
    headings : tuple of (str, str)
        Formats of the names of analysed states that head away from home, and towards it.
    lap_names : mapping of (str, str) to str
        First and last node of a lap -> its name. By default, laps have the names that the protocol
        gives them.
    reward_sd : float
        Standard deviation of a reward, as a share of its mean.
    """

    name: str
    model: Places
    protocol: Callable[[Task, np.random.Generator], Laps]
    blocks: tuple[Block, ...]
    landmarks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    local_radius: int = 1
    one_way: bool = False
    remark: str = ""
    headings: tuple[str, str] = ("{}>", "{}<")
    lap_names: Mapping[tuple[str, str], str] = field(default_factory=dict)
    reward_sd: float = 0.1
    choices: str = ""

    def __post_init__(self) -> None:
        """Check the parts."""
        check_text("The name of a task", self.name)
        if not isinstance(self.model, Places):
            raise TypeError(f"model must be Places, from explore(), got {shown(self.model)}.")
        check_function("protocol", self.protocol, "a task", "a generator")
        object.__setattr__(self, "blocks", check_blocks(self.model.graph, self.blocks))
        check_whole("local_radius", self.local_radius)
        check_flag("one_way", self.one_way)
        check_text("remark", self.remark)
        check_text("choices", self.choices)
        check_number("reward_sd", self.reward_sd, at_least=0)
        for what in ("landmarks", "lap_names"):
            if not isinstance(getattr(self, what), Mapping):
                raise TypeError(f"{what} must be a dict, got {shown(getattr(self, what))}.")
        for name, nodes in self.landmarks.items():
            for node in check_list(f"The landmark {name!r}", nodes):
                if node not in self.model.graph:
                    raise ValueError(
                        f"The landmark {name!r} must list nodes of the graph, got {shown(node)}."
                    )
        forms: Any = self.headings
        is_pair = isinstance(forms, tuple | list) and len(forms) == 2
        if not is_pair or not all(
            isinstance(form, str) and form.isprintable() and _HEADING.fullmatch(form)
            for form in forms
        ):
            raise ValueError(
                "headings must be two texts with one {} for the name, such as '{}>' and '{}<'; "
                f"got {shown(self.headings)}."
            )

    @property
    def graph(self) -> nx.Graph:
        """The places, with `pos` (x, y) in cm."""
        return self.model.graph

    @cached_property
    def _seen(self) -> list[tuple[str, str]]:
        """List node and heading of each analysed state, in the order of the graph's nodes."""
        seen = {(state.node, state.heading) for state in self.model.states}
        rank = {node: number for number, node in enumerate(self.graph)}
        return sorted(seen, key=lambda pair: (pair[1] == "<", rank[pair[0]]))

    @cached_property
    def places(self) -> tuple[str, ...]:
        """Names of the analysed states, by their number."""
        form = {"": "{}", ">": self.headings[0], "<": self.headings[1]}
        return tuple(form[heading].replace("{}", node) for node, heading in self._seen)

    @cached_property
    def node(self) -> tuple[str, ...]:
        """Analysed state -> node of the graph."""
        return tuple(node for node, _ in self._seen)

    @cached_property
    def analysed(self) -> Int32s:
        """State of the model -> analysed state, shape (n_states,)."""
        number = {pair: place for place, pair in enumerate(self._seen)}
        states = self.model.states
        return np.array([number[state.node, state.heading] for state in states], dtype=np.int32)

    @cached_property
    def position(self) -> Floats:
        """Positions of the analysed states, in cm; the two headings of a place lie side by side."""
        places = np.array([self.graph.nodes[node]["pos"] for node in self.node], dtype=float)
        for place, (node, heading) in enumerate(self._seen):
            if heading:
                # Each heading has the right-hand lane of a two-way track.
                n_steps, here = self.model.steps_from_home, places[place].copy()
                ahead = np.zeros(2)  # away from home, from the neighbours nearer to it
                for neighbour in self.model.neighbours[node]:
                    there = np.array(self.graph.nodes[neighbour]["pos"])
                    ahead += (n_steps[neighbour] - n_steps[node]) * (there - here)
                ahead *= 1 if heading == ">" else -1
                to_the_right = np.array([ahead[1], -ahead[0]]) / max(float(np.hypot(*ahead)), 1e-9)
                places[place] += _LANE_CM / 2 * to_the_right
        return places

    @cached_property
    def world(self) -> MDP:
        """The analysed states and the moves between them, as an MDP without reward."""
        whole, here = self.model.whole, self.analysed
        ends = np.setdiff1d(here, here[~whole.terminal])
        state, action = np.divmod(whole.transition_rows(), whole.n_actions)
        moves = np.unique(np.column_stack((here[state], action, here[whole.successor])), axis=0)
        n_outcomes = np.unique(moves[:, :2], axis=0, return_counts=True)[1]
        start = np.bincount(here, weights=whole.start_probability)
        return MDP.from_transitions(
            moves[:, 0],
            moves[:, 1],
            moves[:, 2],
            np.repeat(1 / n_outcomes, n_outcomes),
            np.zeros(len(moves)),
            start_probability=start,
            terminal=np.isin(np.arange(len(self.places)), ends),
            action_names=whole.action_names,
            position=self.position,
            labels=self.places,
            name=self.name,
        )

    def laps(self, rng: np.random.Generator) -> Laps:
        """Start the protocol for one animal; send it each lap as it was run to get the next one."""
        return self.protocol(self, rng)

    def __repr__(self) -> str:
        """Show the name and the size."""
        n_blocks = len(self.blocks)
        return (
            f"Task({self.name!r}, {len(self.places)} analysed states, {n_blocks} "
            f"block{'s' * (n_blocks != 1)}, {sum(block.n_laps for block in self.blocks)} laps)"
        )

    def _repr_html_(self) -> str:
        rows = [
            {
                "block": block.name,
                "laps": block.n_laps,
                "contingency": ", ".join(block.contingency),
                "rewards": dict(block.rewards),
                "pauses of rest after it": block.n_rest,
            }
            for block in self.blocks
        ]
        table = pd.DataFrame(rows).to_html(index=False, max_rows=_MOST_SHOWN)
        return f"<p>{escape(repr(self))}</p>{table}<p>{escape(self.remark)}</p>"
