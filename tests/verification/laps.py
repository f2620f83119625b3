"""Laps in a grid world with a reward drawn for each lap, as in simulations of animals."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from replay.learners import Learner
from replay.learners.contract import Sizes
from replay.learners.prioritized_memory_access import Memory as AccessMemory
from replay.learners.ranges import likeliest_outcomes
from replay.log.event_log import EventLog
from replay.parts.markov_chain import MarkovChain
from replay.simulation.driver import Driver, LogWriter, changing_tables
from replay.worlds.mdp import MDP

__all__ = ["LapProtocol", "run_laps", "steady_reward"]

_NEVER = 2**62


class LapProtocol(NamedTuple):
    """Where laps begin, and the rewards at their ends.

    Attributes
    ----------
    mdp : MDP
        The world; its own rewards are ignored.
    starts : list of ndarray of int
        For each state, the states in which the next lap may begin after a lap whose last step left
        or entered that state, all with the same probability.
    pays : ndarray of bool, shape (n_states,)
        Which terminal states are rewarded.
    draw_reward : callable
        ``draw_reward(rng, lap)`` returns the reward for entering such a state in a lap, counted
        from 0. It is called at each step.
    """

    mdp: MDP
    starts: list[NDArray[np.intp]]
    pays: NDArray[np.bool_]
    draw_reward: Callable[[np.random.Generator, int], float]


def steady_reward(rng: np.random.Generator, lap: int) -> float:
    """Draw a reward of 1 with a standard deviation of 0.1, the same in all laps.

    Negative ones become 0.
    """
    return max(rng.normal(1.0, 0.1), 0.0)


def run_laps(
    protocol: LapProtocol,
    learner: Learner,
    *,
    n_laps: int,
    seed: int,
    max_steps: int = _NEVER,
    only_moves: bool = False,
    log: str = "replay",
) -> EventLog:
    """Simulate one animal that runs laps by its own choices.

    `max_steps` cuts a lap off; `only_moves` replaces actions that do not move the animal by a
    random one that does.
    """
    mdp = protocol.mdp
    rng, replay_rng = (
        np.random.default_rng(part) for part in np.random.SeedSequence(seed).spawn(2)
    )
    sizes = Sizes(mdp.n_states, mdp.n_actions, mdp.n_transitions, 1, mdp.n_states**2)
    writer = LogWriter(log, learner, mdp, name=mdp.name, seed=seed)
    driver = Driver(learner, sizes, writer, rng=rng, replay_rng=replay_rng, known=mdp)
    if isinstance(driver.memory, AccessMemory):
        for end in np.flatnonzero(mdp.terminal).tolist():
            _expect(driver.memory.need.chain, end, protocol.starts[end])

    # One step at a time, so that the world can change in between.
    reward, start_state = np.zeros_like(mdp.reward), np.zeros(1, dtype=np.int32)
    paid = np.flatnonzero((mdp.terminal & protocol.pays)[mdp.successor])
    leads_to = likeliest_outcomes(mdp)
    world = changing_tables(mdp, reward, start_state)
    driver.begin(int(rng.choice(np.flatnonzero(mdp.start_probability))))
    lap = 0
    while lap < n_laps:
        writer.lengthen(driver.time + 1)
        if only_moves and leads_to[driver.state, driver.action] == driver.state:
            moves = np.flatnonzero(leads_to[driver.state] != driver.state)
            driver.replace_action(int(rng.choice(moves)))
        reward[paid] = protocol.draw_reward(rng, lap)
        start_state[0] = rng.choice(protocol.starts[driver.state])
        driver.act(world, 1, max_steps)
        step = writer.steps[driver.time - 1]
        lap += bool(step["terminated"]) or bool(step["truncated"])
    return driver.finish()


def _expect(chain: MarkovChain, end: int, starts: NDArray[np.intp]) -> None:
    """Let the chain continue from an end in these starts only, each as probable."""
    edge = chain.first_out[end]
    while edge >= 0:
        expected = np.isin(chain.edges["next_state"][edge], starts)
        chain.edges["probability"][edge] = expected / len(starts)
        edge = chain.edges["next_out"][edge]
