"""Laps in a grid world whose rewards are drawn lap by lap, as simulations of animals have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from replay.learners import Learner
from replay.learners.contract import Sizes
from replay.log.event_log import EventLog
from replay.parts.known_world import likeliest_outcomes
from replay.simulation.driver import Driver, LogWriter, changing_tables
from replay.worlds.mdp import MDP

__all__ = ["LapProtocol", "run_laps"]

_NEVER = 2**62


class LapProtocol(NamedTuple):
    """Where laps begin, and what their ends pay.

    Attributes
    ----------
    mdp : MDP
        The world; its own rewards do not count.
    starts : list of ndarray of int
        For each state, where the next lap may begin after one whose last step left that state, or
        entered it; all alike.
    pays : ndarray of bool, shape (n_states,)
        Which terminal states pay; the others pay nothing.
    draw_reward : callable
        ``draw_reward(rng, lap)`` gives what entering one that pays brings, in laps from 0 on. It is
        called at each step.
    """

    mdp: MDP
    starts: list[NDArray[np.intp]]
    pays: NDArray[np.bool_]
    draw_reward: Callable[[np.random.Generator, int], float]


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
    """Let one animal run laps as it likes.

    Parameters
    ----------
    protocol : LapProtocol
        Where.
    learner : Learner
        Who, as `find_learner` gives it.
    n_laps : int
        How many laps.
    seed : int
        Seed of all randomness.
    max_steps : int, optional
        After so many steps a lap is cut off.
    only_moves : bool, default False
        Whether actions that lead nowhere are never taken: any of the others takes their place.
    log : {"replay", "all"}, default "replay"
        What is kept.

    Returns
    -------
    EventLog
        Steps and backups.
    """
    mdp = protocol.mdp
    rng, replay_rng = (
        np.random.default_rng(part) for part in np.random.SeedSequence(seed).spawn(2)
    )
    sizes = Sizes(mdp.n_states, mdp.n_actions, mdp.n_transitions, 1, mdp.n_states**2)
    writer = LogWriter(log, learner, mdp, name=mdp.name, seed=seed)
    driver = Driver(learner, sizes, writer, rng=rng, replay_rng=replay_rng, known=mdp)
    if hasattr(driver.memory, "need"):
        for end in np.flatnonzero(mdp.terminal).tolist():
            _expect(driver.memory.need.chain, end, protocol.starts[end])

    # A step at a time, so that the world can change in between.
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
            driver.clock.action[0] = rng.choice(moves)
        reward[paid] = protocol.draw_reward(rng, lap)
        start_state[0] = rng.choice(protocol.starts[driver.state])
        driver.act(world, 1, max_steps)
        step = writer.steps[driver.time - 1]
        lap += bool(step["terminated"]) or bool(step["truncated"])
    return driver.finish()


def _expect(chain: Any, end: int, starts: NDArray[np.intp]) -> None:
    """Let the chain go on from an end to these starts alone."""
    edge = chain.first_out[end]
    while edge >= 0:
        expected = np.isin(chain.edges["next_state"][edge], starts)
        chain.edges["probability"][edge] = expected / len(starts)
        edge = chain.edges["next_out"][edge]
