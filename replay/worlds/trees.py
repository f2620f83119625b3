"""Random decision trees: experiments 1 to 3 of Brea (2018) [1]_.

States are numbered level by level from the root, with one terminal state after the last level. All
episodes start at the root and have as many steps as the tree has levels. Rewards are independent
and uniform on (0, 1].

References
----------
.. [1] Brea (2018). https://arxiv.org/abs/1711.06677
"""

from __future__ import annotations

import numpy as np

from replay.checks import MOST_STATES, check_choice, check_seed, check_whole, shown
from replay.checks.arrays import Floats, Ints
from replay.worlds.mdp import MDP

REWARDS = ("terminal", "intermittent")

_MOST_ENTRIES = 200_000_000  # of dense tables of transitions, from which a tree is made


def deterministic_tree(
    depth: int = 5,
    n_actions: int = 4,
    rewards: str = "terminal",
    seed: int | np.random.Generator | None = 0,
) -> MDP:
    """Tree in which each action leads to a different state.

    Parameters
    ----------
    depth : int
        Number of levels, and of steps in an episode.
    n_actions : int
        Number of actions, and of children per state.
    rewards : {"terminal", "intermittent"}
        Whether only the last action of an episode is rewarded, or every action.
    seed : int, numpy.random.Generator or None
        Seed; None gives a different tree each time.

    Examples
    --------
    >>> deterministic_tree(seed=1).n_states
    342
    """
    check_choice("kind of rewards", rewards, REWARDS)
    _check_size(depth=depth, n_actions=n_actions)
    rng = np.random.default_rng(check_seed(seed))
    level = _levels(depth, n_actions)
    end = len(level)
    child = np.minimum(_children(end, n_actions), end)
    rewarded = level == depth - 1 if rewards == "terminal" else level >= 0
    reward = np.zeros((end + 1, n_actions))
    reward[:-1][rewarded] = 1 - rng.random((np.count_nonzero(rewarded), n_actions))
    return MDP.from_tables(
        np.vstack((child, np.full(n_actions, end))),
        reward,
        start=0,
        terminal=[end],
        position=_position(level, n_actions),
        name="deterministic_tree" if rewards == "terminal" else "deterministic_tree_intermittent",
    )


def stochastic_tree(
    depth: int = 4,
    n_actions: int = 4,
    branching: int = 2,
    seed: int | np.random.Generator | None = 0,
) -> MDP:
    """Tree in which each action can lead to any child of a state.

    The probabilities of the children are uniform random numbers, normalised, drawn for each state
    and action. Only the last action of an episode is rewarded.

    Parameters
    ----------
    depth : int
        Number of levels, and of steps in an episode.
    n_actions : int
        Number of actions.
    branching : int
        Number of children per state.
    seed : int, numpy.random.Generator or None
        Seed; None gives a different tree each time.

    Examples
    --------
    >>> tree = stochastic_tree(seed=1)
    >>> tree.n_states
    16
    >>> tree.successors(0, 3)
    array([1, 2], dtype=int32)
    """
    _check_size(depth=depth, branching=branching, n_actions=n_actions)
    rng = np.random.default_rng(check_seed(seed))
    level = _levels(depth, branching)
    end = len(level)
    leaves = np.flatnonzero(level == depth - 1)
    inner = np.flatnonzero(level < depth - 1)
    weight = 1 - rng.random((len(inner), n_actions, branching))
    transition = np.zeros((end + 1, n_actions, end + 1))
    transition[
        inner[:, None, None],
        np.arange(n_actions)[None, :, None],
        _children(end, branching)[inner][:, None, :],
    ] = weight / weight.sum(axis=2, keepdims=True)
    transition[leaves, :, end] = 1
    reward = np.zeros((end + 1, n_actions))
    reward[leaves] = 1 - rng.random((len(leaves), n_actions))
    return MDP.from_tables(
        transition,
        reward,
        start=0,
        terminal=[end],
        position=_position(level, branching),
        name="stochastic_tree",
    )


def _check_size(**sizes: int) -> None:
    """Check depth, number of actions, and branching (of stochastic trees)."""
    for name, value in sizes.items():
        check_whole(name, value, at_least=1, at_most=MOST_STATES)
    depth, n_actions = sizes["depth"], sizes["n_actions"]
    branching = sizes.get("branching", n_actions)
    # Of more than 64 levels the number of states is too large in any case.
    n_states = depth if branching == 1 else sum(branching**level for level in range(min(depth, 64)))
    n_entries = n_states * n_actions * (n_states if "branching" in sizes else 1)
    if n_states > MOST_STATES or n_entries > _MOST_ENTRIES:
        raise ValueError(
            f"A tree of {shown(sizes)} has about {float(n_states):.3g} states, too many for "
            "tables: make it smaller."
        )


def _levels(depth: int, branching: int) -> Ints:
    """Return the level of each state except the terminal one; that of the root is 0."""
    return np.repeat(np.arange(depth), branching ** np.arange(depth))


def _children(n_states: int, branching: int) -> Ints:
    """Return the numbers of the children of each state, shape (n_states, branching)."""
    return branching * np.arange(n_states)[:, None] + np.arange(branching) + 1


def _position(level: Ints, branching: int) -> Floats:
    """Return positions for a drawing (cm): parents centred above their children, the end below."""
    depth = level[-1] + 1
    width, height = 20.0 * depth, 10.0
    first = np.searchsorted(level, level)
    x = (np.arange(len(level)) - first + 0.5) / float(branching) ** level * width
    return np.vstack((np.column_stack((x, height * (depth - level))), (width / 2, 0.0)))
