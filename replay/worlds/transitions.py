"""An MDP as a list of its transitions, the intermediate form of all conversions.

Dense tables, graphs and Gymnasium environments are converted to this form, and made from it.
"""

from __future__ import annotations

from collections.abc import Hashable
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from replay.checks import LARGEST_NUMBER, check_array, check_list, check_text, shown
from replay.checks.arrays import Bools, Floats, Ints

NOT_TOO_LARGE: dict[str, Any] = {
    "kind": "number", "at_least": -LARGEST_NUMBER, "at_most": LARGEST_NUMBER,
}  # fmt: skip
"""Limits of rewards and positions, for `check_array`."""
_MOST_ROWS = 2**31 - 2  # pairs of state and action are numbered by int32


class Transitions(NamedTuple):
    """The transitions (s, a, s') of an MDP, each once, in any order."""

    state: Ints  # of each transition, shape (n_transitions,)
    action: Ints
    next_state: Ints
    probability: Floats  # (n_transitions,): P(s' | s, a) and r(s, a, s')
    reward: Floats
    start_probability: Floats  # (n_states,): Distribution of an episode's first state
    terminal: Bools  # (n_states,): Whether entering a state ends the episode
    action_names: tuple[str, ...]  # of length n_actions
    position: Floats | None  # (n_states, 2): Positions of the states, in cm
    labels: tuple[Hashable, ...] | None  # the user's names of the states
    name: str


def list_transitions(
    transition: object,
    reward: object,
    *,
    start: object = None,
    terminal: object = (),
    action_names: object = None,
    position: object = None,
    labels: object = None,
    name: object = "mdp",
) -> Transitions:
    """List the transitions of dense tables.

    Probabilities of 0 and the rows of terminal states are left out.
    """
    given: NDArray[Any] = np.empty(0)
    with suppress(TypeError, ValueError):  # rows of different lengths, say
        given = np.asarray(transition)
    if given.ndim == 2 and given.dtype.kind in "iu":
        table = check_array(given, "transition", kind="whole", n_dims=2)
    elif given.ndim == 3 and given.shape[0] == given.shape[2]:
        table = check_array(given, "transition", kind="number", n_dims=3)
    else:
        raise ValueError(
            "transition must hold next states (integers, shape (n_states, n_actions)) or "
            "probabilities (shape (n_states, n_actions, n_states)); "
            f"got {shown(transition)}: {given.dtype}, shape {given.shape}."
        )
    n_states, n_actions = table.shape[:2]
    rewards = check_rewards(reward, None)
    shapes = {1: (n_states,), 2: (n_states, n_actions), 3: (n_states, n_actions, n_states)}
    if rewards.shape != shapes.get(rewards.ndim):
        raise ValueError(
            f"reward must have shape {shapes[1]} (by state entered), {shapes[2]} (by state and "
            f"action) or {shapes[3]} (by transition); got {rewards.shape}."
        )
    mask = terminal_mask(terminal, n_states)
    if table.ndim == 2:
        state, action = np.nonzero(np.broadcast_to(~mask[:, None], table.shape))
        next_state = table[state, action]
        probability = np.ones(len(state))
    else:
        state, action, next_state = np.nonzero(np.where(mask[:, None, None], 0, table))
        probability = table[state, action, next_state]
    check_indices("next state", next_state, n_states, state, action)
    key: tuple[Ints, ...] = {1: (next_state,), 2: (state, action), 3: (state, action, next_state)}[
        rewards.ndim
    ]
    names = [str(a) for a in range(n_actions)] if action_names is None else action_names
    return Transitions(
        state=state,
        action=action,
        next_state=next_state,
        probability=probability,
        reward=rewards[key],
        start_probability=start_distribution(start, mask),
        terminal=mask,
        action_names=check_action_names(names),
        position=check_position(position, n_states),
        labels=check_labels(labels, n_states),
        name=check_text("The name of an MDP", name),
    )


def close_moves(world: Transitions, is_closed: Bools) -> Transitions:
    """Let some transitions, given as a mask, leave the animal in place, unrewarded.

    Where an action could already leave it there, the reward becomes the mean of both outcomes.
    """
    n_actions, n_states = len(world.action_names), np.int64(len(world.terminal))
    ends = np.where(is_closed, world.state, world.next_state)
    rewards = np.where(is_closed, 0.0, world.reward)
    outcome = (world.state * n_actions + world.action) * n_states + ends
    _, first, same, count = np.unique(
        outcome, return_index=True, return_inverse=True, return_counts=True
    )
    probability: Floats = np.bincount(same, weights=world.probability).astype(float)
    # The mean of a single reward could differ from it by rounding, so that it is taken as it is.
    mean = np.bincount(same, weights=world.probability * rewards) / probability
    return world._replace(
        state=world.state[first],
        action=world.action[first],
        next_state=ends[first],
        probability=probability,
        reward=np.where(count > 1, mean, rewards[first]),
    )


def terminal_mask(terminal: object, n_states: int) -> Bools:
    """Convert terminal states, given as a mask or as a list, to a mask."""
    given = np.atleast_1d(check_array(terminal, "terminal", kind="number", n_dims=None))
    flags = np.asarray(terminal)
    is_mask = flags.dtype.kind == "b" or (
        flags.dtype.kind == "O" and all(isinstance(each, bool | np.bool_) for each in flags.flat)
    )
    if is_mask and flags.size:
        if given.shape != (n_states,):
            raise ValueError(f"terminal must have shape ({n_states},); got {given.shape}.")
        return given.astype(bool)
    what = "terminal must list states or be a mask of True and False; as a list it"
    states = check_array(given, what, kind="whole")
    outside = states[(states < 0) | (states >= n_states)]
    if outside.size:
        raise ValueError(f"terminal must list states from 0 to {n_states - 1}; got {outside[0]}.")
    mask = np.zeros(n_states, dtype=bool)
    mask[states] = True
    if np.count_nonzero(mask) < states.size:
        raise ValueError(
            f"terminal lists a state twice: {shown(states.tolist())}. A mask of the states holds "
            "True and False, not 1 and 0."
        )
    return mask


def start_distribution(start: object, terminal: Bools) -> Floats:
    """Return the distribution of an episode's first state.

    `start` is one state, or the probability of each; by default all states that are not terminal
    are equally probable.
    """
    if start is None:
        if terminal.all():
            raise ValueError("Episodes need a state to start in; got only terminal states.")
        return np.divide(~terminal, np.count_nonzero(~terminal))
    if isinstance(start, int | np.integer) and not isinstance(start, bool):
        if not 0 <= start < len(terminal):
            raise ValueError(
                f"start must be a state from 0 to {len(terminal) - 1}; got {shown(start)}."
            )
        distribution = np.zeros(len(terminal))
        distribution[start] = 1.0
        return distribution
    what = "start must be a state or the probability of each; as probabilities it"
    return check_array(start, what, kind="number")


def check_rewards(reward: object, n_dims: int | None = 1) -> Floats:
    """Check rewards.

    `n_dims` None allows any number of dimensions.
    """
    return check_array(reward, "reward", **NOT_TOO_LARGE, n_dims=n_dims)


def check_action_names(names: object) -> tuple[str, ...]:
    """Check the names of actions; they must be different texts."""
    given = check_list("action_names", names)
    listed = tuple(check_text("Each of action_names", each) for each in given)
    if len(set(listed)) != len(listed):
        raise ValueError(f"action_names must differ from each other; got {shown(listed)}.")
    return listed


def check_position(position: object, n_states: int) -> Floats | None:
    """Check the positions of states.

    Shape (n_states, 2), in cm.
    """
    if position is None:
        return None
    places = check_array(position, "position", **NOT_TOO_LARGE, n_dims=None)
    if places.shape != (n_states, 2):
        raise ValueError(
            f"position must have shape {(n_states, 2)} for {n_states} states, got {places.shape}."
        )
    return places


def check_place(place: object, what: str) -> tuple[float, float]:
    """Check one position, (x, y) in cm; `what` is the subject of the message."""
    found = check_array(place, f"{what}, (x, y) in cm,", **NOT_TOO_LARGE)
    if len(found) != 2:
        raise ValueError(f"{what} must be (x, y) in cm, got {shown(place)}.")
    return float(found[0]), float(found[1])


def check_labels(labels: object, n_states: int) -> tuple[Hashable, ...] | None:
    """Check the labels of states."""
    if labels is None:
        return None
    listed = check_list("labels", labels)
    if len(listed) != n_states:
        raise ValueError(f"labels must have one entry per state, {n_states}; got {len(listed)}.")
    for state, label in enumerate(listed):
        try:
            hash(label)
        except TypeError:
            raise ValueError(
                "labels must be hashable, such as numbers, texts or tuples of them; state "
                f"{state} has {shown(label)}."
            ) from None
    return listed


def check_size(n_states: int, n_actions: int) -> None:
    """Refuse an MDP without states or actions, or with more than can be numbered."""
    if n_states == 0 or n_actions == 0:
        raise ValueError(
            f"An MDP needs states and actions; got {n_states} states, {n_actions} actions."
        )
    if n_states * n_actions > _MOST_ROWS:
        raise ValueError(
            f"An MDP has at most {_MOST_ROWS} pairs of state and action; got {n_states} states "
            f"times {n_actions} actions."
        )


def check_indices(
    what: str, index: NDArray[Any], size: int, state: NDArray[Any], action: NDArray[Any]
) -> None:
    """Check that numbers of states or actions are in range.

    `state` and `action` (n_transitions,) are for the message.
    """
    for wrong in np.flatnonzero((index < 0) | (index >= size))[:1]:
        raise ValueError(
            f"Each {what} must be a number from 0 to {size - 1}; "
            f"{name_pair(state, action, wrong)} has {index[wrong]}."
        )


def name_pair(state: NDArray[Any], action: NDArray[Any], number: int) -> str:
    """Name the pair (s, a) of a transition, for a message."""
    return f"state {state[number]}, action {action[number]}"
