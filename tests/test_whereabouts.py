"""When replay occurs, and from which state need is computed."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from replay import feed
from replay.learners.contract import Pause
from replay.learners.prioritized_memory_access import Params, link_episodes, need_origin, note_step
from replay.learners.prioritized_memory_access.backups import mean_reward
from replay.learners.prioritized_memory_access.memory import whereabouts
from replay.log.backups import EPISODE_END, REST, START, STEP
from replay.parts.markov_chain import markov_chain
from replay.parts.pauses import MOMENTS

# A lap 0, 1, 2 that ends in 3, rest there, a start in 0, and the first two steps of another.
PAUSES = [
    (1, Pause(STEP, 2, False)),
    (2, Pause(EPISODE_END, 3, True)),
    (None, Pause(REST, 3, False)),
    (None, Pause(START, 0, False)),
    (0, Pause(STEP, 1, False)),
    (1, Pause(STEP, 2, False)),
]
ORIGINS = {
    ("step", False): [2, 3, -1, -1, 1, 2],
    ("step", True): [1, 2, -1, -1, 0, 1],
    ("episode_end", False): [-1, 3, -1, -1, -1, -1],
    ("episode_end", True): [-1, 2, -1, -1, -1, -1],
    ("start_and_end", False): [-1, 3, -1, 0, -1, -1],
    ("start_and_end", True): [-1, 2, -1, -1, 0, -1],
    ("pauses", False): [-1, 3, 3, 0, -1, -1],
    ("pauses", True): [-1, 2, 3, -1, 0, -1],
    ("rest", False): [-1, -1, 3, -1, -1, -1],
    ("rest", True): [-1, -1, 3, -1, -1, -1],
    ("end_and_rest", False): [-1, 3, 3, -1, -1, -1],
    ("end_and_rest", True): [-1, 2, 3, -1, -1, -1],
    ("step_and_rest", False): [2, 3, 3, -1, 1, 2],
    ("step_and_rest", True): [1, 2, 3, -1, 0, 1],
    ("always", False): [2, 3, 3, 0, 1, 2],
    ("always", True): [1, 2, 3, -1, 0, 1],
}
"""Where the agent is at each pause at which it replays, else -1."""


def test_all_moments_are_tested():
    assert {name for name, _ in ORIGINS} == set(MOMENTS)


@pytest.mark.parametrize(("replay_at", "late"), ORIGINS)
@pytest.mark.parametrize("reward", [0.0, 1.0])
def test_origins(replay_at, late, reward):
    params = Params(replay_at=MOMENTS.index(replay_at), one_step_late=late)
    here = whereabouts()
    note_step(here, 0, reward)
    origins = []
    for before, pause in PAUSES:
        if before is not None:
            note_step(here, before, 0.0)
        origins.append(need_origin(params, here, pause))
    assert origins == (ORIGINS[replay_at, late] if reward else [-1] * len(PAUSES))


def test_the_mean_reward():
    here = whereabouts()
    here["n_tries"] += 2
    note_step(here, 0, 1.0)
    note_step(here, 0, 0.0)
    assert mean_reward(SimpleNamespace(whereabouts=here)) == 0.25


def successors(chain, state):
    found = {}
    edge = chain.first_out[state]
    while edge >= 0:
        found[int(chain.edges["next_state"][edge])] = float(chain.edges["probability"][edge])
        edge = chain.edges["next_out"][edge]
    return found


def test_ends_lead_to_the_start_that_follows():
    here, chain = whereabouts(), markov_chain(4, 10)
    params = Params(transition_rate=0.75)
    note_step(here, 1, 0.0)
    link_episodes(params, here, chain, Pause(EPISODE_END, 3, True))
    assert successors(chain, 3) == {1: 1.0}  # until a start is known, the episode's own
    link_episodes(params, here, chain, Pause(START, 0, False))
    assert successors(chain, 3) == {1: 0.25, 0: 0.75}
    note_step(here, 0, 0.0)
    link_episodes(params, here, chain, Pause(EPISODE_END, 2, False))  # cut off
    link_episodes(params, here, chain, Pause(START, 0, False))
    assert successors(chain, 2) == {}


def test_laps_that_end_in_different_wells_and_go_on_from_there_have_room_for_their_links():
    """As on a W-track; the end of a lap is linked to its own start and to the next one."""
    states, next_states = [0, 1, 3, 4, 5, 4, 3], [1, 3, 4, 5, 4, 3, 2]
    ends = [False, False, False, True, False, False, True]
    laps = pd.DataFrame(
        {
            "state": states,
            "next_state": next_states,
            "action": [0, 1, 0, 0, 0, 1, 1],
            "reward": np.array(ends, dtype=float),
            "terminated": ends,
        }
    )
    learned = []
    feed(
        "prioritized_memory_access",
        laps,
        n_states=6,
        n_actions=3,
        on_step=lambda _, memory: learned.append(memory.need.chain),
    )
    chain = learned[-1]
    assert chain.n_edges[0] <= len(chain.edges)
