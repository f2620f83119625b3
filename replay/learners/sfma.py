"""SFMA: replay driven by the strength and the similarity of experiences, and by inhibition.

Spatial structure and frequency-weighted memory access looks at no values when it chooses what to
replay. One experience after the other is reactivated. Awake replay begins where the agent is, at
the end of an episode; offline replay, at rest, begins where some experience did, drawn in
proportion to its strength. The priority rating of an experience is its strength (how often it was
made, how near to reward) times its similarity to what was reactivated last, times what inhibition
of return leaves. It is drawn in proportion to exp(inverse_temperature * rating / largest rating)
- 1, and teaches Q-learning. In the default mode similar experiences begin near the state
reactivated last, which gives forward and reverse sequences; in the reverse mode they end there. In
the dynamic mode the reverse mode is drawn with probability 1 / (1 + exp(2 - 5 * surprise)), else
the default mode.

Similarity is the default representation [2]_, the discounted occupancy of a random walk. The
original computes it from the grid it was given. Here it is that of the remembered transitions, each
known in both directions as a corridor is: T = I - L / n_actions, with the Laplacian L of the graph
of states joined by a remembered outcome, and D = (I - similarity_discount * T)^-1. It is kept exact
by rank-one updates, and equals the original's once all moves of a grid were tried. An outcome that
is no longer observed disconnects its states. Memory grows with the square of the number of states.

The original mixes new rewards into remembered ones at its learning rate; here the last one is kept.
It lets reward strengthen pairs that were never tried; here only experiences. It replays at starts
without learning from it; here all replay teaches. It hides actions that lead nowhere. Its example
of punishment strengthens as reward does, so the size of a reward counts here, not its sign.

References
----------
.. [1] Diekmann & Cheng (2023), A model of hippocampal replay driven by experience and environmental
   structure facilitates spatial learning. https://doi.org/10.7554/eLife.82301
.. [2] Piray & Daw (2021), Linear reinforcement learning in planning, grid fields, and cognitive
   control. https://doi.org/10.1038/s41467-021-25123-3
"""

import math
from typing import Annotated, NamedTuple

import numpy as np

from replay.learners import q_learning
from replay.learners.contract import (
    LARGEST,
    Between,
    Choice,
    Count,
    Description,
    Share,
    Threshold,
    Value,
)
from replay.log.backups import EPISODE_END, ONLINE, REST, START, record

__all__ = [
    "DEFAULT",
    "DYNAMIC",
    "MODES",
    "REVERSE",
    "Memory",
    "Params",
    "description",
    "init",
    "learn",
]
__all__ += ["most_backups", "n_words", "replay"]

MODES = ("default", "reverse", "dynamic")
"""Similar experiences begin, or end, at the state reactivated last; or either."""
DEFAULT, REVERSE, DYNAMIC = range(3)

_EXPERIENCE = np.dtype(
    [
        ("strength", np.float64),
        ("reward", np.float64),
        ("state", np.int32),
        ("next_state", np.int32),
        ("action", np.int32),
        ("terminated", np.int8),
    ],
    align=True,
)


class Params(NamedTuple):
    """Parameters of SFMA.

    Attributes
    ----------
    discount : float
        Weight of the future, a step.
    epsilon : float
        Probability of a uniformly random action.
    learning_rate : float
        Share of the way to the target that an action value moves.
    n_replays : int
        Experiences reactivated at each pause.
    replay_mode : {"default", "reverse", "dynamic"}
        Whether similar experiences begin, or end, at the state reactivated last; or either.
    replay_at_start : bool
        Whether to replay at the start of episodes too, or at their ends and at rest only.
    similarity_discount : float
        Discount of the default representation; the larger, the further similarity reaches.
    inverse_temperature : float
        How strictly the highest rating is preferred.
    inhibition_decay : float
        What is left of the inhibition of a state after each reactivation of another.
    strength_decay : float
        What is left of the strength of every experience after each step.
    reward_modulation : float
        How much a reward strengthens the experiences similar to its own, per unit of its size.
    min_priority : float
        Smaller ratings count as 0; replay stops when all do.
    initial_value : float
        Action value of an untried pair; infinite: untried actions are preferred.
    """

    discount: Share = 0.99
    epsilon: Share = 0.1
    learning_rate: Share = 0.9
    n_replays: Count = 10
    replay_mode: Annotated[int, Choice(MODES)] = DEFAULT
    replay_at_start: bool = False
    similarity_discount: Annotated[float, Between(0.0, 0.999999)] = 0.1
    inverse_temperature: Annotated[float, Between(1e-6, 700.0)] = 9.0
    inhibition_decay: Share = 0.9
    strength_decay: Share = 1.0
    reward_modulation: Annotated[float, Between(0.0, LARGEST)] = 1.0
    min_priority: Threshold = 1e-6
    initial_value: Value = 0.0


class Memory(NamedTuple):
    """What SFMA keeps.

    Attributes
    ----------
    action_values : ndarray of float64, shape (n_states, n_actions)
        Q.
    experiences : structured ndarray, shape (n_states * n_actions,)
        The last outcome of each pair tried, and its ``strength``, in the order of discovery.
    n_experiences : ndarray of int64, shape (1,)
        How many there are.
    place : ndarray of int32, shape (n_states, n_actions)
        Where the experience of a pair is; -1 if there is none.
    similarity : ndarray of float64, shape (n_states, n_states)
        D, the default representation.
    n_links : ndarray of int16, shape (n_states, n_states)
        How many experiences lead from either state to the other.
    inhibition : ndarray of float64, shape (n_states,)
        Inhibition of return.
    ratings, weights : ndarray of float64, shape (n_states * n_actions,)
        Priority ratings of the experiences, and what their probabilities are proportional to.
    difference : ndarray of float64, shape (n_states,)
        What tells two rows of the similarity apart, while these two states are linked.
    surprise : ndarray of float64, shape (1,)
        Sum of absolute prediction errors since the mode was chosen last.
    """

    action_values: np.ndarray
    experiences: np.ndarray
    n_experiences: np.ndarray
    place: np.ndarray
    similarity: np.ndarray
    n_links: np.ndarray
    inhibition: np.ndarray
    ratings: np.ndarray
    weights: np.ndarray
    difference: np.ndarray
    surprise: np.ndarray


def description(params: Params) -> Description:
    """Say what is stored, and what is replayed when and why."""
    phases = (EPISODE_END, START, REST) if params.replay_at_start else (EPISODE_END, REST)
    priority = (
        "strength x similarity of states",
        "strength x similarity of next states",
        "either, by surprise",
    )[params.replay_mode]
    stores = "the last try of each pair; similarity of states"
    return Description(stores, phases, priority, "Diekmann & Cheng 2023")


def init(params, sizes):
    """Make the memory of a learner that has experienced nothing."""
    n_states, n_pairs = sizes.n_states, sizes.n_states * sizes.n_actions
    return Memory(
        np.full((n_states, sizes.n_actions), params.initial_value),
        np.zeros(n_pairs, dtype=_EXPERIENCE),
        np.zeros(1, dtype=np.int64),
        np.full((n_states, sizes.n_actions), -1, dtype=np.int32),
        np.eye(n_states) / (1.0 - params.similarity_discount),
        np.zeros((n_states, n_states), dtype=np.int16),
        np.zeros(n_states),
        np.zeros(n_pairs),
        np.zeros(n_pairs),
        np.zeros(n_states),
        np.zeros(1),
    )


def most_backups(params, memory):
    """Bound the backups of the next step."""
    return 1 + 2 * params.n_replays


def n_words(params, memory, known):
    """Count the numbers held: Q of each pair, its experience and place, and the similarity.

    The similarity, and the links from which it follows, are squares of the states linked so far.
    """
    n_linked = np.count_nonzero(memory.n_links.any(axis=1))
    return (1 + len(_EXPERIENCE.names) + 1) * known.pairs + 2 * n_linked**2


def _link(params, memory, state, other, change):
    """Count an experience between two states, or uncount it; D follows by Sherman and Morrison."""
    if state == other:
        return
    D, difference = memory.similarity, memory.difference
    before = memory.n_links[state, other]
    memory.n_links[state, other] += change
    memory.n_links[other, state] += change
    if (before > 0) == (before + change > 0):
        return
    weight = change * params.similarity_discount / memory.action_values.shape[1]
    for s in range(len(D)):
        difference[s] = D[state, s] - D[other, s]
    weight /= 1.0 + weight * (difference[state] - difference[other])
    for s in range(len(D)):
        if difference[s] != 0.0:
            step = weight * difference[s]
            for s_next in range(len(D)):
                D[s, s_next] -= step * difference[s_next]


def _back_up(params, memory, experience, phase, priority, pop, cause, log):
    Q = memory.action_values
    s, a, s_next = experience["state"], experience["action"], experience["next_state"]
    r, terminated = experience["reward"], experience["terminated"]
    if params.replay_mode == DYNAMIC and Q[s, a] < np.inf:
        memory.surprise[0] += abs(q_learning.target(params, Q, r, s_next, terminated) - Q[s, a])
    before = q_learning.back_up(params, Q, s, a, r, s_next, terminated)
    return record(log, phase, s, a, s_next, before, Q[s, a], r, priority, pop, cause)


def learn(params, memory, transition, log):
    """Remember the transition, strengthen experiences, and make its backup."""
    s, a, r, s_next = transition.state, transition.action, transition.reward, transition.next_state
    D, experiences = memory.similarity, memory.experiences
    if memory.place[s, a] < 0:
        newest = experiences[memory.n_experiences[0]]
        newest["state"] = s
        newest["action"] = a
        newest["next_state"] = s
        memory.place[s, a] = memory.n_experiences[0]
        memory.n_experiences[0] += 1
    experience = experiences[memory.place[s, a]]
    if experience["next_state"] != s_next:
        _link(params, memory, s, experience["next_state"], -1)
        _link(params, memory, s, s_next, 1)
        experience["next_state"] = s_next
    experience["reward"] = r
    experience["terminated"] = transition.terminated
    if r != 0.0 or params.strength_decay < 1.0:
        for i in range(memory.n_experiences[0]):
            near = D[s, experiences[i]["state"]]
            experiences[i]["strength"] *= params.strength_decay
            experiences[i]["strength"] += params.reward_modulation * abs(r) * near
    experience["strength"] += 1.0
    _back_up(params, memory, experience, ONLINE, np.nan, 0, -1, log)


def _drawn_experience(params, memory, state, reverse, rng):
    """Draw what is reactivated after a state; -1 if all priority ratings are 0."""
    D, ratings, weights = memory.similarity, memory.ratings, memory.weights
    n = memory.n_experiences[0]
    largest = 0.0
    for i in range(n):
        experience = memory.experiences[i]
        s = experience["state"]
        near = D[state, experience["next_state"]] if reverse else D[state, s]
        rating = experience["strength"] * near * (1.0 - memory.inhibition[s])
        ratings[i] = rating if rating >= params.min_priority else 0.0
        largest = max(largest, ratings[i])
    total = 0.0
    for i in range(n):
        weights[i] = 0.0
        if ratings[i] > 0.0:
            weights[i] = math.expm1(params.inverse_temperature * ratings[i] / largest)
        total += weights[i]
    drawn = -1
    left = total * rng.random()
    for i in range(n):
        if weights[i] > 0.0:
            drawn = i
            left -= weights[i]
            if left < 0.0:
                break
    return drawn


def _first_state(memory, pause, rng):
    """Return where the agent is; at rest, where an experience drawn by its strength begins."""
    if pause.phase != REST:
        return pause.state
    total = 0.0
    for i in range(memory.n_experiences[0]):
        total += memory.experiences[i]["strength"]
    left = total * rng.random()
    state = pause.state
    for i in range(memory.n_experiences[0]):
        state = memory.experiences[i]["state"]
        left -= memory.experiences[i]["strength"]
        if left < 0.0:
            break
    return state


def _reactivate(params, memory, pause, reverse, rng, log):
    inhibition = memory.inhibition
    for s in range(len(inhibition)):
        inhibition[s] = 0.0
    state = next_state = _first_state(memory, pause, rng)
    cause = -1
    for i in range(params.n_replays):
        drawn = _drawn_experience(params, memory, state, reverse, rng)
        if drawn < 0:
            break
        experience = memory.experiences[drawn]
        if i > 0 and experience["state"] != next_state and experience["next_state"] != state:
            cause = -1
        state, next_state = experience["state"], experience["next_state"]
        rating = memory.ratings[drawn]
        cause = _back_up(params, memory, experience, pause.phase, rating, i, cause, log)
        for s in range(len(inhibition)):
            inhibition[s] *= params.inhibition_decay
        inhibition[state] = 1.0


def replay(params, memory, pause, rng, log):
    """Reactivate experiences, one after the other, from where the agent is, or from anywhere."""
    at_start = pause.phase == START and params.replay_at_start
    if pause.phase == EPISODE_END or pause.phase == REST or at_start:
        reverse = params.replay_mode == REVERSE
        if params.replay_mode == DYNAMIC:
            reverse = rng.random() < 1.0 / (1.0 + math.exp(2.0 - 5.0 * memory.surprise[0]))
            memory.surprise[0] = 0.0
        _reactivate(params, memory, pause, reverse, rng, log)
