"""Conversions between MDPs and Gymnasium environments.

Gymnasium (https://gymnasium.farama.org) is optional:
``pip install "hippocampal-replay[gymnasium]"``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from replay.checks import check_array, check_list, check_number, check_whole, shown
from replay.checks.arrays import Floats
from replay.worlds.transitions import Transitions, check_size

try:
    import gymnasium
except ImportError as error:
    raise ImportError(
        'Gymnasium is not installed; get it with: pip install "hippocampal-replay[gymnasium]"'
    ) from error


_N_RESETS = 1000
_FARTHEST = 0.11  # of a share of these from its probability: chance goes farther once in 10^10


class _Outcome(NamedTuple):
    """One entry of the list `P[s][a]`."""

    probability: float
    next_state: int
    reward: float
    done: bool


def from_gymnasium(environment: object) -> Transitions:
    """List the transitions of a tabular Gymnasium environment, as `MDP.from_gymnasium` says."""
    env = environment
    if isinstance(environment, str):
        try:
            env = gymnasium.make(environment)
        except Exception as error:  # environments may raise anything
            raise ValueError(
                f"Gymnasium cannot make the environment {shown(environment)}: "
                f"{' '.join(str(error).split())}"
            ) from error
    world = getattr(env, "unwrapped", None)
    table = getattr(world, "P", None)
    if world is None or table is None:
        raise TypeError(
            "Only tabular environments can be converted to an MDP: P[s][a] must list (probability, "
            f"next state, reward, done); {shown(env if world is None else world)} has no P."
        )
    outcomes = _outcomes(table)
    n_states, n_actions = len(outcomes), len(outcomes[0])
    given_start = _start(world, n_states)
    ended: set[int] = set()
    passed = set() if given_start is None else set(np.flatnonzero(given_start).tolist())
    for state in range(n_states):
        for action in range(n_actions):
            for outcome in outcomes[state][action]:
                if outcome.done:
                    ended.add(outcome.next_state)
                elif outcome.next_state != state:  # terminal states may lead to themselves
                    passed.add(outcome.next_state)
    copy = {state: n_states + i for i, state in enumerate(sorted(ended & passed))}
    terminal = np.ones(n_states + len(copy), dtype=bool)
    terminal[:n_states] = [state in ended - passed for state in range(n_states)]
    if terminal.all():
        raise ValueError("Episodes need a start state, but according to P all states end them.")

    merged: dict[tuple[int, int, int], list[tuple[float, float]]] = defaultdict(list)
    for state in np.flatnonzero(~terminal).tolist():
        for action in range(n_actions):
            for probability, next_state, reward, done in outcomes[state][action]:
                entered = copy.get(next_state, next_state) if done else next_state
                merged[state, action, entered].append((probability, reward))
    start = ~terminal / np.count_nonzero(~terminal)
    if given_start is not None:
        start = np.concatenate((given_start, np.zeros(len(copy))))
    columns = np.array(list(merged), dtype=np.int64).reshape(-1, 3)
    spec = getattr(env, "spec", None)
    return Transitions(
        state=columns[:, 0],
        action=columns[:, 1],
        next_state=columns[:, 2],
        probability=np.array([sum(p for p, _ in parts) for parts in merged.values()], dtype=float),
        reward=np.array([_mean_reward(parts) for parts in merged.values()], dtype=float),
        start_probability=start,
        terminal=terminal,
        action_names=tuple(map(str, range(n_actions))),
        position=None,
        labels=(*range(n_states), *copy),
        name=spec.id if spec else type(world).__name__,
    )


def _start(world: Any, n_states: int) -> Floats | None:
    """Return the probability of each first state; None if neither the environment nor P tells.

    What `initial_state_distrib` says must agree with `reset`. Without it all resets must lead to
    one state, since a sample does not give probabilities.
    """
    stated = getattr(world, "initial_state_distrib", None)
    if stated is not None:
        stated = check_array(stated, "initial_state_distrib", kind="number", at_least=0)
        if len(stated) != n_states:
            raise ValueError(
                f"initial_state_distrib must have one probability for each of the {n_states} "
                f"states of P, got {len(stated)}."
            )
    if not hasattr(world, "reset"):
        return stated
    try:
        known = signature(world.reset).parameters.values()
        is_seeded = any(each.name == "seed" or each.kind == each.VAR_KEYWORD for each in known)
        first = [world.reset(**{"seed": k} if is_seeded else {}) for k in range(_N_RESETS)]
    except Exception as error:  # environments may raise anything
        raise ValueError(
            f"reset() of the environment failed: {' '.join(str(error).split())}"
        ) from error
    seen = [each[0] if isinstance(each, tuple) and each else each for each in first]
    try:
        states = check_array(seen, "reset()", kind="whole", at_least=0, at_most=n_states - 1)
    except ValueError:
        if stated is not None:  # what is observed is not the number of a state
            return stated
        raise ValueError(
            f"reset() of the environment must return a state of P, a number from 0 to "
            f"{n_states - 1}; got {shown(seen[0])}. Or give it initial_state_distrib, the "
            "probability of each first state."
        ) from None
    share: Floats = np.bincount(states, minlength=n_states) / _N_RESETS
    if stated is None:
        if share.max() < 1:
            raise ValueError(
                f"reset() of the environment led to {np.count_nonzero(share)} different states, "
                "and P does not say how often: give the environment initial_state_distrib, the "
                "probability of each first state."
            )
        return share
    differs = (np.abs(share - stated) > _FARTHEST) | ((stated == 0) & (share > 0))
    for state in np.flatnonzero(differs)[:1]:
        raise ValueError(
            f"initial_state_distrib gives state {state} the probability {stated[state]:.3g}, but "
            f"{share[state]:.3g} of {_N_RESETS} calls of reset() led there: make them agree."
        )
    return stated


def _outcomes(table: Any) -> list[list[list[_Outcome]]]:
    """Read P[s][a], without impossible outcomes."""
    states = _numbered(table, "P", "states")
    check_size(len(states), 1)
    rows: list[list[list[_Outcome]]] = []
    for state, by_action in enumerate(states):
        actions = _numbered(by_action, f"P[{state}]", "actions")
        if rows and len(actions) != len(rows[0]):
            raise ValueError(
                f"Each state of P must have the same actions: P[0] has {len(rows[0])}, "
                f"P[{state}] has {len(actions)}."
            )
        check_size(1, len(actions))
        rows.append(
            [_row_of(given, f"P[{state}][{a}]", len(states)) for a, given in enumerate(actions)]
        )
    return rows


def _numbered(table: Any, what: str, of: str) -> list[Any]:
    """List the values of a dict with keys 0, 1, ..., or of a list."""
    if isinstance(table, Mapping):
        missing = [number for number in range(len(table)) if number not in table]
        if missing:
            raise ValueError(
                f"{what} must list the {of} 0 to {len(table) - 1}; it lacks {missing[0]} and has "
                f"{shown(list(table))}."
            )
        return [table[number] for number in range(len(table))]
    if isinstance(table, str | bytes):
        raise ValueError(f"{what} must be a dict or list of {of}, got {shown(table)}.")
    return list(check_list(what, table))


def _row_of(given: Any, what: str, n_states: int) -> list[_Outcome]:
    """Check the outcomes of a pair (s, a)."""
    row = []
    for entry in check_list(what, given):
        fields = check_list(f"Each entry of {what}", entry)
        if len(fields) != 4:
            raise ValueError(
                f"{what} must list (probability, next state, reward, done), got {shown(given)}."
            )
        probability, next_state, reward, done = fields
        probability = check_number(f"The probability in {what}", probability, at_least=0, at_most=1)
        next_state = check_array([next_state], f"The next state in {what}", kind="whole")
        outcome = _Outcome(
            probability=probability,
            next_state=check_whole(
                f"The next state in {what}", next_state[0], at_most=n_states - 1
            ),
            reward=check_number(f"The reward in {what}", reward),
            done=bool(check_array([done], f"done in {what}", kind="flag")[0]),
        )
        if outcome.probability > 0:
            row.append(outcome)
    return row


class MDPEnv(gymnasium.Env[Any, Any]):
    """An MDP as a Gymnasium environment; observations and actions are numbers.

    Parameters
    ----------
    transitions : Transitions
        The MDP.
    max_episode_steps : int, optional
        After so many steps an episode is truncated; by default, never.

    Examples
    --------
    >>> from replay.worlds.transitions import list_transitions
    >>> env = MDPEnv(list_transitions([[0, 1], [0, 0]], reward=[0, 1], start=0, terminal=[1]))
    >>> env.reset(seed=1)
    (0, {})
    >>> next_state, reward, terminated, truncated, info = env.step(0)
    >>> reward, terminated, truncated
    (0.0, False, False)
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012

    def __init__(self, transitions: Transitions, max_episode_steps: int | None = None) -> None:
        if max_episode_steps is not None:
            max_episode_steps = check_whole("max_episode_steps", max_episode_steps, at_least=1)
        n_states, n_actions = len(transitions.terminal), len(transitions.action_names)
        self.observation_space = gymnasium.spaces.Discrete(n_states)
        self.action_space = gymnasium.spaces.Discrete(n_actions)
        self.initial_state_distrib = transitions.start_probability
        # Terminal states lead to themselves without reward.
        self.P: dict[int, dict[int, list[tuple[float, int, float, bool]]]] = {
            state: {a: [(1.0, state, 0.0, True)] if terminal else [] for a in range(n_actions)}
            for state, terminal in enumerate(transitions.terminal.tolist())
        }
        at, taken, p, entered, paid = (np.asarray(each).tolist() for each in (
            transitions.state, transitions.action, transitions.probability,
            transitions.next_state, transitions.reward,
        ))  # fmt: skip
        ended = transitions.terminal[transitions.next_state].tolist()
        for state, action, *outcome in zip(at, taken, p, entered, paid, ended, strict=True):
            self.P[state][action].append(tuple(outcome))
        self.max_episode_steps = max_episode_steps
        # The environment is not registered: the specification says how to make it again.
        self.spec = gymnasium.envs.registration.EnvSpec(
            "MDP-v0",
            entry_point="replay.worlds.gymnasium_bridge:MDPEnv",
            disable_env_checker=True,
            kwargs={"transitions": transitions, "max_episode_steps": max_episode_steps},
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
        action = check_whole("action", action, at_most=len(self.P[0]) - 1)
        row = self.P[self._state][action]
        _, self._state, reward, terminated = row[_draw(self.np_random, [p for p, *_ in row])]
        self._n_steps += 1
        return self._state, reward, terminated, self._n_steps == self.max_episode_steps, {}


class ObservedEnv(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An `MDPEnv` in which a state is not seen itself, but through ``observe(state, rng)``."""

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        observe: Callable[[int, np.random.Generator], Any],
        position: Floats | None,
        n_features: int,
    ) -> None:
        super().__init__(env)
        self._observe, self._position = observe, position
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (n_features,), np.float64)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode."""
        state, _ = self.env.reset(seed=seed, options=options)
        return self._seen(state)

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take an action."""
        state, reward, terminated, truncated, _ = self.env.step(action)
        seen, info = self._seen(state)
        return seen, float(reward), terminated, truncated, info

    def _seen(self, state: int) -> tuple[Any, dict[str, Any]]:
        info: dict[str, Any] = {"state": state}
        if self._position is not None:
            info["position"] = self._position[state]
        return self._observe(state, self.env.unwrapped.np_random), info


def _mean_reward(parts: list[tuple[float, float]]) -> float:
    """Return the mean reward, weighted by probability; exactly the reward if there is only one."""
    rewards = {reward for _, reward in parts}
    if len(rewards) == 1:
        return rewards.pop()
    return sum(p * reward for p, reward in parts) / sum(p for p, _ in parts)


def _draw(rng: np.random.Generator, probability: ArrayLike) -> int:
    cumulative = np.cumsum(probability)
    return int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))
