"""SFMA: replay driven by the strength and the similarity of experiences, and by inhibition.

Spatial structure and frequency-weighted memory access does not use values to choose what to replay.
It reactivates one experience after the other. Awake replay begins where the agent is, at the end of
an episode; offline replay, at rest, begins where an experience did that is drawn in proportion to
its strength. The priority rating of an experience is its strength (how often it was made, and how
near to reward) times its similarity to the one reactivated last, times what inhibition of return
leaves. The next experience is drawn with a probability proportional to
exp(inverse_temperature * rating / largest rating) - 1, and Q-learning learns from it. In the
default mode similar experiences begin near the state reactivated last, which gives forward and
reverse sequences; in the reverse mode they end there. In the dynamic mode the reverse mode is drawn
with probability 1 / (1 + exp(2 - 5 * surprise)), otherwise the default mode.

Similarity is the default representation [2]_, the discounted occupancy of a random walk. The
original computes it from a given grid. Here it is that of the remembered transitions, each known in
both directions, as in a corridor: T = I - L / n_actions, with the Laplacian L of the graph of
states joined by a remembered outcome, and D = (I - similarity_discount * T)^-1. It is kept exact by
rank-one updates, and equals the original's once all moves of a grid were tried. An outcome that is
no longer observed disconnects its states. Memory grows with the square of the number of states.

What was never tried is never replayed, unless ``preplay`` sets the initial strength of moves for an
animal that sees the maze: then the moves of the world and the similarity of all its states are
known before the first step, replay may run where the animal has never been, and reward strengthens
experiences near it there too. This is the original's preplay.

The original mixes new rewards into remembered ones at its learning rate; here the latest one is
kept. It does not learn from replay at starts; here it learns from all replay. It hides actions that
lead nowhere. In its example, punishment strengthens experiences as reward does; so the size of a
reward counts here, not its sign.

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
from numpy.random import Generator

from replay.checks.arrays import Floats, Int32s
from replay.jit import inlined, kernel
from replay.learners import q_learning, ranges
from replay.learners.contract import Between, Choice, Description, Known, Pause, Sizes, Transition
from replay.learners.ranges import known_moves
from replay.log.backups import ONLINE, REST, BackupBuffer, record
from replay.parts import pauses
from replay.parts.experiences import Experiences, experience_at, experience_words, experiences_of
from replay.parts.pauses import Earnings
from replay.parts.policies import draw_weighted
from replay.worlds.mdp import MDP


class Similarity(NamedTuple):
    """The arrays of the default representation."""

    matrix: Floats  # (n_states, n_states): D
    # (n_states, n_states): the number of links between two states, in either direction
    n_links: Int32s
    # (n_states,): workspace for the difference between two rows of D
    difference: Floats


def similarity_of(n_states: int, discount: float) -> Similarity:
    """Make the similarity of states without links.

    Memory grows with the square of the number of states.
    """
    return Similarity(
        np.eye(n_states) / (1.0 - discount),
        np.zeros((n_states, n_states), dtype=np.int32),
        np.zeros(n_states),
    )


def similarity_words(similarity: Similarity) -> int:
    """Count the numbers held: D and the numbers of links, square tables of the linked states."""
    return 2 * int(np.count_nonzero(similarity.n_links.any(axis=1))) ** 2


@inlined
def link(similarity: Similarity, weight: float, state: int, other: int, change: int) -> None:
    """Add or remove a link between two states.

    `change` is 1 to add a link, -1 to remove one.
    """
    if state == other:
        return
    matrix, n_links, difference = similarity.matrix, similarity.n_links, similarity.difference
    before = n_links[state, other]
    n_links[state, other] += change
    n_links[other, state] += change
    if (before > 0) == (before + change > 0):
        return
    # A link changes T by a matrix of rank one, and so D, by the formula of Sherman and Morrison.
    weight = change * weight
    for s in range(len(matrix)):
        difference[s] = matrix[state, s] - matrix[other, s]
    weight /= 1.0 + weight * (difference[state] - difference[other])
    for s in range(len(matrix)):
        if difference[s] != 0.0:  # it is 0 in all parts of the graph that are not joined to these
            step = weight * difference[s]
            for s_next in range(len(matrix)):
                matrix[s, s_next] -= step * difference[s_next]


MODES = ("default", "reverse", "dynamic")
"""Whether similar experiences begin or end at the state reactivated last; or either."""
DEFAULT_MODE, REVERSE_MODE, DYNAMIC_MODE = range(3)


class Params(NamedTuple):
    """Parameters of SFMA.

    What is not listed is explained in :data:`replay.learners.ranges.SHARED`.

    Attributes
    ----------
    n_replays : int
        Number of experiences reactivated per pause.
    replay_mode : {"default", "reverse", "dynamic"}
        Whether similar experiences begin or end at the state reactivated last; or either.
    similarity_discount : float
        Discount of the default representation; the larger, the further similarity reaches.
    inverse_temperature : float
        How strongly the highest rating is preferred.
    inhibition_decay : float
        Factor of the inhibition of a state at each reactivation of another.
    reward_modulation : float
        How much a reward strengthens similar experiences, per unit of its size.
    preplay : float
        Initial strength of each move of the world; 0: moves are not known before they are tried.
        Moves that lead nowhere are never known before.
    min_priority : float
        Smaller ratings count as 0; replay stops when all are 0.
    """

    discount: ranges.Share = 0.99
    epsilon: ranges.Share = 0.1
    learning_rate: ranges.Share = 0.9
    n_replays: ranges.Count = 10
    backup_cost: ranges.NotNegative = 0.0
    mean_backups: ranges.Mean = np.inf
    replay_mode: Annotated[int, Choice(MODES)] = DEFAULT_MODE
    replay_at: ranges.Moment = pauses.END_AND_REST
    similarity_discount: Annotated[float, Between(0.0, 0.999999)] = 0.1
    inverse_temperature: ranges.InverseTemperature = 9.0
    inhibition_decay: ranges.Share = 0.9
    reward_modulation: ranges.NotNegative = 1.0
    preplay: ranges.NotNegative = 0.0
    min_priority: ranges.Threshold = 1e-6
    initial_value: ranges.InitialValue = 0.0


class Memory(NamedTuple):
    """The memory of SFMA."""

    action_values: Floats  # (n_states, n_actions): Q
    experiences: Experiences  # The last outcome of each pair tried, and its strength
    similarity: Similarity  # D, the default representation
    inhibition: Floats  # (n_states,): inhibition of return
    # (n_states * n_actions,): priority ratings of experiences, and weights to which their
    # probabilities are proportional
    ratings: Floats
    weights: Floats
    # (1,): sum of absolute prediction errors since the mode was last chosen
    surprise: Floats
    earnings: Earnings  # Rewards and changes of values so far, on which the end of a pause depends


def description(params: Params) -> Description:
    priority = (
        "strength x similarity of states",
        "strength x similarity of next states",
        "either, by surprise",
    )[params.replay_mode]
    label = ("SFMA", "SFMA, reverse mode", "SFMA, dynamic mode")[params.replay_mode]
    known = "what each pair leads to" if params.preplay > 0.0 else "the last try of each pair"
    return Description(
        f"{known}; similarity of states",
        phases=pauses.phases_of(params.replay_at),
        priority=priority,
        source="Diekmann & Cheng 2023",
        label="SFMA, as published" if params.preplay > 0.0 else label,
        goes_forward=True,
    )


def init(params: Params, sizes: Sizes) -> Memory:
    n_states, n_actions = sizes.n_states, sizes.n_actions
    return Memory(
        action_values=np.full((n_states, n_actions), params.initial_value),
        experiences=experiences_of(n_states, n_actions),
        similarity=similarity_of(n_states, params.similarity_discount),
        inhibition=np.zeros(n_states),
        ratings=np.zeros(n_states * n_actions),
        weights=np.zeros(n_states * n_actions),
        surprise=np.zeros(1),
        earnings=pauses.earnings(),
    )


def explore(params: Params, memory: Memory, mdp: MDP | None) -> None:
    """Learn all moves of the world before they are made, with preplay."""
    if params.preplay > 0.0:
        n_actions = memory.action_values.shape[1]
        next_state = known_moves("preplay", mdp, n_actions)
        weight = params.similarity_discount / n_actions
        _expect_moves(memory.experiences, memory.similarity, next_state, params.preplay, weight)


@kernel
def _expect_moves(
    experiences: Experiences,
    similarity: Similarity,
    next_state: Int32s,
    strength: float,
    weight: float,
) -> None:
    """Remember each move to another state as if it had been made, without reward."""
    for s in range(next_state.shape[0]):
        for a in range(next_state.shape[1]):
            s_next = next_state[s, a]
            if s_next >= 0 and s_next != s:
                experience = experiences.rows[experience_at(experiences, s, a)]
                experience["next_state"] = s_next
                experience["terminated"] = next_state[s_next, 0] < 0
                experience["strength"] = strength
                link(similarity, weight, s, s_next, 1)


def most_backups(params: Params, memory: Memory) -> int:
    return 1 + params.n_replays * pauses.most_pauses(params.replay_at)


def n_words(params: Params, memory: Memory, known: Known) -> int:
    """Count the numbers held: Q of each pair, its experience and place, and the similarity."""
    n_known = int(memory.experiences.n_known[0])
    experiences = experience_words(n_known)
    held = experiences + similarity_words(memory.similarity)
    return known.pairs + held + pauses.earnings_words(params)


def _back_up(
    params: Params, memory: Memory, place: int, phase: int, priority: float, pop: int, cause: int,
    log: BackupBuffer,
) -> int:  # fmt: skip
    """Make the backup of an experience; return its row."""
    Q, experience = memory.action_values, memory.experiences.rows[place]
    s, a, s_next = experience["state"], experience["action"], experience["next_state"]
    r, terminated = experience["reward"], experience["terminated"]
    if params.replay_mode == DYNAMIC_MODE and Q[s, a] < np.inf:
        memory.surprise[0] += abs(q_learning.target(params, Q, r, s_next, terminated) - Q[s, a])
    before = q_learning.back_up(params, Q, s, a, r, s_next, terminated)
    if phase != ONLINE:
        pauses.note_change(params, memory.earnings, before, Q[s, a])
    return record(log, phase, s, a, s_next, before, Q[s, a], r, priority, pop, cause)


def learn(params: Params, memory: Memory, transition: Transition, log: BackupBuffer) -> None:
    """Remember the transition, strengthen experiences, and make its backup."""
    s, a, r, s_next = transition.state, transition.action, transition.reward, transition.next_state
    similarity, experiences = memory.similarity, memory.experiences.rows
    pauses.note_experience(params, memory.earnings, memory.action_values, transition)
    place = experience_at(memory.experiences, s, a)
    experience = experiences[place]
    if experience["next_state"] != s_next:
        weight = params.similarity_discount / memory.action_values.shape[1]
        link(similarity, weight, s, experience["next_state"], -1)
        link(similarity, weight, s, s_next, 1)
        experience["next_state"] = s_next
    experience["reward"] = r
    experience["terminated"] = transition.terminated
    if r != 0.0:
        for i in range(memory.experiences.n_known[0]):
            near = similarity.matrix[s, experiences[i]["state"]]
            experiences[i]["strength"] += params.reward_modulation * abs(r) * near
    experience["strength"] += 1.0
    _back_up(params, memory, place, ONLINE, np.nan, 0, -1, log)


def _drawn_experience(
    params: Params, memory: Memory, state: int, reverse: bool, rng: Generator
) -> int:
    """Draw the experience to reactivate after a state; -1 if all priority ratings are 0."""
    D, ratings, weights = memory.similarity.matrix, memory.ratings, memory.weights
    n = memory.experiences.n_known[0]
    largest = 0.0
    for i in range(n):
        experience = memory.experiences.rows[i]
        s = experience["state"]
        near = D[state, experience["next_state"]] if reverse else D[state, s]
        rating = experience["strength"] * near * (1.0 - memory.inhibition[s])
        ratings[i] = rating if rating >= params.min_priority else 0.0
        largest = max(largest, ratings[i])
    for i in range(n):
        weights[i] = 0.0
        if ratings[i] > 0.0:
            weights[i] = math.expm1(params.inverse_temperature * ratings[i] / largest)
    return draw_weighted(weights, n, rng)


def replay(params: Params, memory: Memory, pause: Pause, rng: Generator, log: BackupBuffer) -> None:
    """Reactivate experiences one after the other, from where the agent is, or from anywhere."""
    rows, n, inhibition = memory.experiences.rows, memory.experiences.n_known[0], memory.inhibition
    if n == 0 or not pauses.is_due(params.replay_at, pause.phase):
        return
    reverse = params.replay_mode == REVERSE_MODE
    if params.replay_mode == DYNAMIC_MODE:
        reverse = rng.random() < 1.0 / (1.0 + math.exp(2.0 - 5.0 * memory.surprise[0]))
        memory.surprise[0] = 0.0
    state = pause.state
    if pause.phase == REST:  # where an experience begins, drawn by strength
        for i in range(n):
            memory.weights[i] = rows[i]["strength"]
        drawn = draw_weighted(memory.weights, n, rng)
        if drawn >= 0:
            state = int(rows[drawn]["state"])
    next_state, cause = state, -1
    inhibition[:] = 0.0
    for pop in range(params.n_replays):
        if not pauses.goes_on(params, memory.earnings, pauses.latest_change(memory.earnings), rng):
            break
        drawn = _drawn_experience(params, memory, state, reverse, rng)
        if drawn < 0:
            break
        experience = rows[drawn]
        if pop > 0 and experience["state"] != next_state and experience["next_state"] != state:
            cause = -1
        state, next_state = experience["state"], experience["next_state"]
        rating = memory.ratings[drawn]
        cause = _back_up(params, memory, drawn, pause.phase, rating, pop, cause, log)
        for s in range(len(inhibition)):
            inhibition[s] *= params.inhibition_decay
        inhibition[state] = 1.0
