"""What is remembered: places by number, the last outcome of each pair, the last steps, the episode.

`Experiences` holds the last outcome of each pair of state and action, and how strong its memory is;
`RecentSteps` the last steps, in a ring buffer; `Episode` the transitions of the current episode;
and `Outcomes` the rewards of a learned model, so that experience can be drawn from it.

Places and pairs are numbered as they are met, or all of them before the first step.
"""

from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from replay.checks.arrays import Bools, Int32s, Ints
from replay.jit import inlined
from replay.parts.pauses import Transition
from replay.parts.world_model import WorldModel, draw_edge, edge_to, remember


class Numbering(NamedTuple):
    """The arrays of the list."""

    met: Int32s  # (n_things,): the things met; the first `n` entries are in use
    # (n_things,): the number of each thing in that list; -1 if it was never met
    number: Int32s
    n: Ints  # (1,): the number of things met


def numbering(n_things: int) -> Numbering:
    """Make an empty list."""
    number = np.full(n_things, -1, dtype=np.int32)
    return Numbering(np.zeros(n_things, np.int32), number, np.zeros(1, np.int64))


@inlined
def meet(known: Numbering, thing: int) -> int:
    """Return the number of a thing, and number it if it is new."""
    if known.number[thing] < 0:
        n = known.n[0]
        known.number[thing] = n
        known.met[n] = thing
        known.n[0] = n + 1
    number: int = known.number[thing]
    return number


@inlined
def forget_all(known: Numbering) -> None:
    """Empty the list, in time proportional to what it holds."""
    for i in range(known.n[0]):
        known.number[known.met[i]] = -1
    known.n[0] = 0


@inlined
def join(known: Numbering, is_linked: Bools, place: int, next_place: int) -> bool:
    """Link two places that follow each other, in both directions, but none to itself.

    `is_linked` is indexed by number, shape (n_places, n_places). Return whether the graph has
    changed: a place or the link is new.
    """
    n_before = known.n[0]
    i, j = meet(known, place), meet(known, next_place)
    is_new = n_before < known.n[0] or (i != j and not is_linked[i, j])
    is_linked[i, j] = is_linked[j, i] = i != j
    return is_new


_EXPERIENCE = np.dtype(
    {
        "names": ["strength", "reward", "state", "next_state", "action", "terminated"],
        "formats": [np.float64, np.float64, np.int32, np.int32, np.int32, np.int8],
    },
    align=True,
)


class Experiences(NamedTuple):
    """The arrays of the experiences."""

    # (n_states * n_actions,): ``state, action, reward, next_state, terminated`` and
    # ``strength``, in the order of discovery; each pair has one row, so there is room for all
    rows: NDArray[np.void]
    n_known: Ints  # (1,): the number of rows in use
    place: Int32s  # (n_states, n_actions): the row of each pair; -1 if it has none


def experiences_of(n_states: int, n_actions: int) -> Experiences:
    """Make room for the experiences of a world in which nothing was tried."""
    return Experiences(
        np.zeros(n_states * n_actions, dtype=_EXPERIENCE),
        np.zeros(1, dtype=np.int64),
        np.full((n_states, n_actions), -1, dtype=np.int32),
    )


def experience_words(n_pairs: int) -> int:
    """Count the numbers held: the fields of each experience, and its row."""
    return (len(_EXPERIENCE.names or ()) + 1) * n_pairs


@inlined
def experience_at(experiences: Experiences, state: int, action: int) -> int:
    """Find the experience of a pair, and add it if it is new.

    Return its row. A new experience leads back to its state and has strength 0.
    """
    place: int = experiences.place[state, action]
    if place < 0:
        place = experiences.n_known[0]
        experiences.n_known[0] = place + 1
        experiences.place[state, action] = place
        newest = experiences.rows[place]
        newest["state"] = state
        newest["action"] = action
        newest["next_state"] = state
    return place


_STEP = np.dtype(
    {
        "names": ["reward", "state", "action", "next_state", "terminated", "truncated"],
        "formats": [np.float64, np.int32, np.int32, np.int32, np.int8, np.int8],
    },
    align=True,
)


class RecentSteps(NamedTuple):
    """The arrays of the ring buffer."""

    # (n_kept,): ``state, action, reward, next_state, terminated, truncated`` of each step
    rows: NDArray[np.void]
    n_seen: Ints  # (2,): the number of steps noted, and the row of the next one


def recent_steps(n_kept: int) -> RecentSteps:
    """Make an empty ring buffer."""
    return RecentSteps(np.zeros(n_kept, dtype=_STEP), np.zeros(2, dtype=np.int64))


def step_words(recent: RecentSteps) -> int:
    """Count the numbers held: six for each step."""
    return len(_STEP.names or ()) * min(int(recent.n_seen[0]), len(recent.rows))


@inlined
def add_step(recent: RecentSteps, transition: Transition) -> int:
    """Keep a transition."""
    place: int = recent.n_seen[1]
    step = recent.rows[place]
    step["state"] = transition.state
    step["action"] = transition.action
    step["reward"] = transition.reward
    step["next_state"] = transition.next_state
    step["terminated"] = transition.terminated
    step["truncated"] = transition.truncated
    recent.n_seen[0] += 1
    recent.n_seen[1] = place + 1 if place + 1 < len(recent.rows) else 0
    return place


@inlined
def discounted_return(
    recent: RecentSteps, place: int, n_steps: int, discount: float
) -> tuple[float, float, int, int]:
    """Sum the rewards from a step on, to the end of its episode at most.

    `place` is the row of the first step. Return the sum, the weight of what follows, the number of
    steps, and the row of the last one.
    """
    total, weight, n_followed, last = 0.0, 1.0, 0, place
    while n_followed < n_steps:
        step = recent.rows[place]
        total += weight * step["reward"]
        weight *= discount
        n_followed += 1
        last = place
        if step["terminated"] or step["truncated"]:
            break
        place = place + 1 if place + 1 < len(recent.rows) else 0
    return total, weight, n_followed, last


_EPISODE_STEP = np.dtype([("reward", np.float64), ("state", np.uint32), ("action", np.uint32)])


class Episode(NamedTuple):
    """The arrays of an episode."""

    steps: NDArray[np.void]  # (n_steps,): ``state``, ``action`` and ``reward`` of each step
    length: Ints  # (1,): the number of steps so far


def episode(n_steps: int) -> Episode:
    """Make an empty episode; none that can occur has more steps."""
    return Episode(np.zeros(n_steps, dtype=_EPISODE_STEP), np.zeros(1, dtype=np.int64))


def episode_words(episode: Episode) -> int:
    """Count the numbers held: three for each step."""
    return len(_EPISODE_STEP.names or ()) * int(episode.length[0])


@inlined
def add_transition(episode: Episode, state: int, action: int, reward: float) -> None:
    """Add one step."""
    length = episode.length[0]
    step = episode.steps[length]
    step["state"] = state
    step["action"] = action
    step["reward"] = reward
    episode.length[0] = length + 1


@inlined
def begin_episode(episode: Episode) -> None:
    """Drop all steps."""
    episode.length[0] = 0


_OUTCOME = np.dtype([("reward", np.float64), ("terminated", np.int8)], align=True)


class Outcomes(NamedTuple):
    """The arrays beside the model."""

    # (n_edges,): ``reward`` of each edge of the model, and whether it ``terminated`` the
    # episode
    rows: NDArray[np.void]
    # (n_states * n_actions,): the pairs in the model, as state * n_actions + action, each
    # once, in the order of discovery
    pairs: Int32s
    n_pairs: Ints  # (1,): the number of pairs


def outcomes_of(model: WorldModel) -> Outcomes:
    """Make room for the outcomes of a model that has observed nothing."""
    return Outcomes(
        np.zeros(len(model.edges), dtype=_OUTCOME),
        np.zeros(model.visits.size, dtype=np.int32),
        np.zeros(1, dtype=np.int64),
    )


def outcome_words(outcomes: Outcomes, model: WorldModel) -> int:
    """Count the numbers held: one for each pair, and two for each edge."""
    return int(outcomes.n_pairs[0]) + len(_OUTCOME.names or ()) * int(model.n_edges[0])


@inlined
def remember_outcome(outcomes: Outcomes, model: WorldModel, transition: Transition) -> None:
    """Count a transition in the model, and keep its reward and whether it ended the episode."""
    s, a, s_next = transition.state, transition.action, transition.next_state
    if model.visits[s, a] == 0:
        outcomes.pairs[outcomes.n_pairs[0]] = s * model.visits.shape[1] + a
        outcomes.n_pairs[0] += 1
    remember(model, s, a, s_next, transition.terminated)
    outcome = outcomes.rows[edge_to(model, s, a, s_next)]
    outcome["reward"] = transition.reward
    outcome["terminated"] = transition.terminated


@inlined
def draw_outcome(outcomes: Outcomes, model: WorldModel, rng: Generator) -> int:
    """Draw a pair of the model, all alike, and then one of its outcomes, by its probability.

    Return the row in ``model.edges`` and ``outcomes.rows``.
    """
    pair = outcomes.pairs[int(rng.random() * outcomes.n_pairs[0])]
    n_actions = model.visits.shape[1]
    return draw_edge(model, pair // n_actions, pair % n_actions, rng)
