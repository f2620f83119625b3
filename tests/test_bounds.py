"""No learner writes outside of its arrays, for any fed experience and any parameters.

The learners run as plain Python, in which an index that is too large is an error. With
``NUMBA_BOUNDSCHECK=1`` they run compiled, and negative indices are errors, too.
"""

import math
from dataclasses import replace

import numba
import numpy as np
import pandas as pd
import pytest
import recent_sarsa
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

from replay import LEARNERS, feed, simulate
from replay.learners import find_learner
from replay.learners.contract import Choice
from replay.parts.markov_chain import MarkovChain
from replay.parts.priority_queue import PriorityQueue
from replay.parts.world_model import WorldModel
from replay.worlds.mdp import MDP
from replay.worlds.protocols import Phase, Protocol

pytestmark = pytest.mark.filterwarnings("ignore:.*no row of transitions is terminated")

MODULES = {module: name for name, (module, _) in LEARNERS.items()}
LEARNER = pytest.mark.parametrize(
    "learner", [*sorted(MODULES.values()), pytest.param(recent_sarsa, id="recent_sarsa")]
)

CHECKED = bool(numba.config.BOUNDSCHECK)
OPTIONS = {
    "forgetting": (0.0, 0.3),
    "reversible": (False, True),
    "capacity": (math.inf, 2.5),
    "priority": ("change", "need"),
}


@st.composite
def learners(draw, name):
    """A learner with any parameters, small where they are numbers of something."""
    plain = find_learner(name)
    params = {}
    for key, default in plain.params._asdict().items():
        kind = plain.ranges.get(key)
        if isinstance(default, bool):
            values = [False, True]
        elif isinstance(kind, Choice):
            values = list(kind.names)
        elif isinstance(default, int):
            values = [n for n in (0, 1, 2, 5) if kind.low <= n <= kind.high]
        else:
            values = [x for x in (0.0, 0.3, 0.9, 1.0, 2.5, math.inf) if not kind.refusal(x)]
        params[key] = draw(st.sampled_from(values), label=key)
    if draw(st.booleans()):  # most combinations of many are odd: often only some differ
        kept = draw(st.sets(st.sampled_from(sorted(params))))
        params = {key: value for key, value in params.items() if key in kept}
    params.pop("n_nearest", None)  # needs an encoder: test_encoders.py
    if CHECKED:  # each of these options is compiled on its own: all of them or none
        on = draw(st.booleans())
        params |= {key: pair[on] for key, pair in OPTIONS.items() if hasattr(plain.params, key)}
    return replace(find_learner(name, params), compiled=CHECKED)


@st.composite
def worlds(draw, n_states=None, n_actions=None):
    """A world of one state or more, with chance or without, with ends or without."""
    n_states = n_states or draw(st.integers(1, 5))
    n_actions = n_actions or draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    terminal = rng.random(n_states) < draw(st.sampled_from([0.0, 0.4]))
    terminal[rng.integers(n_states)] = False
    starts = ~terminal & (rng.random(n_states) < draw(st.sampled_from([0.0, 0.7])))
    starts[rng.choice(np.flatnonzero(~terminal))] = True
    transition = rng.integers(n_states, size=(n_states, n_actions))
    if draw(st.booleans()):
        transition = rng.dirichlet(np.full(n_states, 0.5), size=(n_states, n_actions))
        transition[transition < 0.1] = 0.0
        transition /= transition.sum(axis=2, keepdims=True)
    reward = rng.normal(size=(n_states, n_actions)).round(1)
    return MDP.from_tables(transition, reward, start=starts / starts.sum(), terminal=terminal)


@st.composite
def experience(draw):
    """Recorded moves: any ends, cuts, starts and bumps; rest; a world, or none."""
    n_states, n_actions = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    n_rows = draw(st.integers(1, 30))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    often = draw(st.sampled_from([0.1, 0.5]))
    state, rows = int(rng.integers(n_states)), []
    for _ in range(n_rows):
        ended, cut = rng.random(2) < (often, often / 2)
        onward = state if rng.random() < 0.2 else int(rng.integers(n_states))
        rows.append((state, rng.integers(n_actions), rng.integers(-1, 2), onward, ended, cut))
        # A lap goes on from where the last one ended, or the animal was carried elsewhere.
        state = onward if not (ended or cut) or rng.random() < 0.5 else int(rng.integers(n_states))
    names = ["state", "action", "reward", "next_state", "terminated", "truncated"]
    table = pd.DataFrame(rows, columns=names).astype(
        {"state": int, "action": int, "reward": float, "next_state": int}
        | dict.fromkeys(names[4:], bool)
    )
    table["next_action"] = rng.integers(n_actions, size=n_rows)
    if draw(st.booleans()):
        table["start_state"] = rng.integers(n_states, size=n_rows)
    ends = np.flatnonzero(table["terminated"] | table["truncated"]) + 1
    rest = {int(end): int(rng.integers(3)) for end in ends} if draw(st.booleans()) else {}
    if draw(st.booleans()):
        rest[0] = 2
    mdp = draw(st.none() | worlds(n_states, n_actions))
    return table, {"n_states": n_states, "n_actions": n_actions, "rest": rest, "mdp": mdp}


def parts(memory):
    """List a memory and all NamedTuples in it."""
    if not isinstance(memory, tuple):
        return []
    return [memory, *(part for field in memory for part in parts(field))]


def check(memory):
    """No array has been filled beyond its room."""
    assert not np.isnan(memory.action_values).any()
    for part in parts(memory):
        if isinstance(part, WorldModel):
            assert 0 <= part.n_edges[0] <= part.n_places[0] <= len(part.edges)
        elif isinstance(part, MarkovChain):
            assert ((part.n_edges >= 0) & (part.n_edges <= part.edges.shape[-1])).all()
        elif isinstance(part, PriorityQueue):
            assert 0 <= part.size[0] <= len(part.state)
            queued = part.state[: part.size[0]]
            assert (part.position[queued] == np.arange(part.size[0])).all()


REFUSED = (
    "counts need", "discount below 1", "Without discount", "needs the world", "know the world",
    "has no such move", "No path leads", "no row of transitions", "No terminal state can be",
    "Need is counted", "need has no end",
)  # fmt: skip
"""What is said of parameters and worlds that don't go together."""


def unless_refused(call):
    """Call a function, and return nothing if it refuses for a reason of the above."""
    try:
        return call()
    except ValueError as error:
        if any(reason in str(error) for reason in REFUSED):
            return None
        raise


@LEARNER
@given(data=st.data())
@examples(250)
def test_whatever_is_fed(learner, data):
    found = data.draw(learners(learner))
    table, arguments = data.draw(experience())
    memories = []

    def on_step(k, memory):
        check(memory)
        memories.append(memory)

    def call(**more):
        return feed(found, table, **arguments, **more)

    log = unless_refused(call)
    if log is None:
        return
    assert len(log.steps) == len(table)
    backups = log.backups
    assert (backups["cause"] < np.arange(len(backups))).all()
    assert backups["state"].between(0, arguments["n_states"] - 1).all()
    stepwise = call(on_step=on_step)
    assert len(memories) == len(table)
    pd.testing.assert_frame_equal(stepwise.backups, backups)


@LEARNER
@given(data=st.data())
@examples(150)
def test_wherever_it_acts(learner, data):
    found = data.draw(learners(learner))
    first = data.draw(worlds())
    n_steps = data.draw(st.integers(1, 40))
    world, arguments = first, {"n_steps": n_steps}
    if data.draw(st.booleans()):
        rng = np.random.default_rng(n_steps)
        table = rng.integers(first.n_states, size=(first.n_states, first.n_actions))
        reward = rng.normal(size=table.shape).round(1)
        second = MDP.from_tables(table, reward, terminal=first.terminal)
        n_rest = data.draw(st.integers(0, 2))
        world = Protocol([Phase(first, n_steps, n_rest), Phase(second, 10, n_rest)])
        arguments = {}
    arguments["max_episode_steps"] = data.draw(st.sampled_from([None, 1, 5]))

    def run(log):
        return simulate(world, found, **arguments, log=log, seed=1)

    logged = unless_refused(lambda: run("all"))
    if logged is None:
        return
    check(logged.memory)
    backups = logged.log.backups
    assert (backups["cause"] < np.arange(len(backups))).all()
    unlogged = run("none")
    np.testing.assert_array_equal(unlogged.memory.action_values, logged.memory.action_values)


def test_laps_that_go_on_from_where_the_last_one_ended():
    """Two wells, each the end of one lap and the start of the next."""
    laps = pd.DataFrame(
        {
            "state": [0, 1, 3, 4, 5, 4, 3],
            "next_state": [1, 3, 4, 5, 4, 3, 2],
            "action": [0, 1, 0, 0, 0, 1, 1],
            "reward": [0.0, 0, 0, 1, 0, 0, 1],
            "terminated": [False, False, False, True, False, False, True],
        }
    )
    memories = []
    feed(
        replace(find_learner("prioritized_memory_access"), compiled=False),
        laps,
        n_states=6,
        n_actions=3,
        on_step=lambda k, memory: memories.append(memory),
    )
    check(memories[-1])
