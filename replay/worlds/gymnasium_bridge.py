"""Gymnasium environments as MDPs, and MDPs as Gymnasium environments.

Gymnasium (https://gymnasium.farama.org) is optional:
``pip install "hippocampal-replay[gymnasium]"``.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from replay.worlds.mdp import MDP

try:
    import gymnasium
except ImportError as error:
    raise ImportError(
        'Gymnasium is not installed; get it with: pip install "hippocampal-replay[gymnasium]"'
    ) from error

__all__ = ["MDPEnv", "from_gymnasium"]


def from_gymnasium(environment: gymnasium.Env | str) -> MDP:
    """Make an MDP of a tabular Gymnasium environment, such as FrozenLake, CliffWalking or Taxi.

    A state that is entered only at the end of an episode is terminal. Where a state is also passed
    through, or episodes start in it, its end is a terminal copy instead, numbered after the
    environment's own states. Outcomes of one action in the same next state are merged; where their
    rewards differ, the reward is the mean, which leaves all values and reward rates exact.

    Parameters
    ----------
    environment : gymnasium.Env or str
        An environment, or the id of a registered one. It must list its transitions in the
        attribute `P`: `P[s][a]` = [(probability, next state, reward, done), ...]. Episodes start as
        its `initial_state_distrib` says, or else in any state but terminal ones.

    Returns
    -------
    MDP
        Labels are the environment's states; time limits are left out.

    Raises
    ------
    TypeError
        If the environment doesn't list its transitions.

    Examples
    --------
    >>> lake = from_gymnasium("FrozenLake-v1")
    >>> lake.n_states, lake.n_actions, int(lake.terminal.sum())
    (16, 4, 5)
    """
    env = gymnasium.make(environment) if isinstance(environment, str) else environment
    table = getattr(env.unwrapped, "P", None)
    if table is None:
        raise TypeError(
            "Only tabular environments can be made an MDP: P[s][a] must list (probability, next "
            f"state, reward, done); {env.unwrapped!r} has no P."
        )
    n_states, n_actions = len(table), len(table[0])
    given_start = getattr(env.unwrapped, "initial_state_distrib", None)
    ended: set[int] = set()
    passed = set() if given_start is None else set(np.flatnonzero(given_start).tolist())
    for state in range(n_states):
        for action in range(n_actions):
            for probability, next_state, _, done in table[state][action]:
                if probability > 0 and done:
                    ended.add(int(next_state))
                elif probability > 0 and next_state != state:  # after the end states may stay
                    passed.add(int(next_state))
    copy = {state: n_states + i for i, state in enumerate(sorted(ended & passed))}
    terminal = np.ones(n_states + len(copy), dtype=bool)
    terminal[:n_states] = [state in ended - passed for state in range(n_states)]

    outcomes: dict[tuple[int, int, int], list[tuple[float, float]]] = defaultdict(list)
    for state in np.flatnonzero(~terminal).tolist():
        for action in range(n_actions):
            for probability, next_state, reward, done in table[state][action]:
                if probability > 0:
                    entered = (
                        copy.get(int(next_state), int(next_state)) if done else int(next_state)
                    )
                    outcomes[state, action, entered].append((float(probability), float(reward)))
    start = ~terminal / np.count_nonzero(~terminal)
    if given_start is not None:
        start = np.concatenate((given_start, np.zeros(len(copy))))
    states, actions, next_states = zip(*outcomes, strict=True)
    return MDP.from_transitions(
        states,
        actions,
        next_states,
        probability=[sum(p for p, _ in parts) for parts in outcomes.values()],
        reward=[_mean_reward(parts) for parts in outcomes.values()],
        start_probability=start,
        terminal=terminal,
        action_names=map(str, range(n_actions)),
        labels=[*range(n_states), *copy],
        name=env.spec.id if env.spec else type(env.unwrapped).__name__,
    )


class MDPEnv(gymnasium.Env[Any, Any]):
    """An MDP as a Gymnasium environment; observations and actions are numbers.

    Parameters
    ----------
    mdp : MDP
    max_episode_steps : int, optional
        Longer episodes are truncated. No limit by default.

    Attributes
    ----------
    P : dict
        `P[s][a]` = [(probability, next state, reward, done), ...], as in Gymnasium's own tables.
    initial_state_distrib : ndarray of float64, shape (n_states,)

    Examples
    --------
    >>> from replay.worlds.mazes import random_maze
    >>> env = random_maze(size=10, seed=1).to_gymnasium(max_episode_steps=100)
    >>> state, info = env.reset(seed=1)
    >>> next_state, reward, terminated, truncated, info = env.step(0)
    >>> reward, terminated, truncated
    (0.0, False, False)
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(self, mdp: MDP, max_episode_steps: int | None = None) -> None:
        if max_episode_steps is not None and max_episode_steps < 1:
            raise ValueError(f"max_episode_steps must be at least 1; got {max_episode_steps}.")
        self.observation_space = gymnasium.spaces.Discrete(mdp.n_states)
        self.action_space = gymnasium.spaces.Discrete(mdp.n_actions)
        self.initial_state_distrib = mdp.start_probability
        self.P = {
            s: {a: _row(mdp, s, a) for a in range(mdp.n_actions)} for s in range(mdp.n_states)
        }
        self.max_episode_steps = max_episode_steps
        # Not registered: the specification says how to make the environment again.
        self.spec = gymnasium.envs.registration.EnvSpec(
            "MDP-v0",
            entry_point="replay.worlds.gymnasium_bridge:MDPEnv",
            disable_env_checker=True,
            kwargs={"mdp": mdp, "max_episode_steps": max_episode_steps},
        )
        self._state: int | None = None
        self._n_steps = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        """Start an episode in a state drawn from the start distribution."""
        super().reset(seed=seed, options=options)
        self._state = _draw(self.np_random, self.initial_state_distrib)
        self._n_steps = 0
        return self._state, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        """Take an action."""
        if self._state is None:
            raise gymnasium.error.ResetNeeded("Call reset() before the first step().")
        row = self.P[self._state][int(action)]
        _, self._state, reward, terminated = row[_draw(self.np_random, [p for p, *_ in row])]
        self._n_steps += 1
        return self._state, reward, terminated, self._n_steps == self.max_episode_steps, {}


def _mean_reward(parts: list[tuple[float, float]]) -> float:
    """Mean of rewards by probability; the reward itself, unrounded, if there is but one."""
    rewards = {reward for _, reward in parts}
    if len(rewards) == 1:
        return rewards.pop()
    return sum(p * reward for p, reward in parts) / sum(p for p, _ in parts)


def _row(mdp: MDP, state: int, action: int) -> list[tuple[float, int, float, bool]]:
    """List the outcomes of an action; after the end the animal stays without reward."""
    if mdp.terminal[state]:
        return [(1.0, state, 0.0, True)]
    row = state * mdp.n_actions + action
    part = slice(mdp.successor_offset[row], mdp.successor_offset[row + 1])
    next_state = mdp.successor[part]
    columns = (mdp.probability[part], next_state, mdp.reward[part], mdp.terminal[next_state])
    return list(zip(*(column.tolist() for column in columns), strict=True))


def _draw(rng: np.random.Generator, probability: ArrayLike) -> int:
    cumulative = np.cumsum(probability)
    return int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))
