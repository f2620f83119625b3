"""Compositional replay: memories of vectors to landmarks, made wherever replay goes.

It computes no values. What is known of a place is composed of what is near it: its place on the
map, and the vectors from it to landmarks, from which the way to each of them follows without
learning. So a place where reward was found matters at once everywhere, if every place has a memory
of the vector to it. Replay makes these memories: it begins with known vectors, where the agent is
or (`from_landmark`) at the landmark met last, and path integration carries them along the map; each
place that is reached remembers them, whether or not it was ever run to from there. One visit
suffices, while values would have to be backed up again and again.

The map is a graph of places, joined wherever a move led from one to the other, in either direction;
a landmark is a place that was rewarded when it was last entered. Replay is a walk on the map that
leads away from the latest landmark whose vector is known where it begins, by the policy of the
authors' homing task [2]_: with q the share of each move among those that lead back to it, and 0 for
all others and for staying, a move has a weight of 1 - softmax(`away` q). With `away` = 0 it is a
random walk, with a large one it is straight; their Fig. 3b has both. Places with fewer memories may
be preferred (`coverage`), as in the replays that they find best, which make memories where there
are none. After `length` places another replay begins. At rest, which they do not simulate, replay
begins at any landmark, at random.

Path integration is noisy: with the probability `noise`, each move adds an error of one place in a
random direction. So the mean square of the error, which is what is kept here of a vector, grows by
`noise` with each move. A memory drawn from all those of a place has the mean of their square
errors, and awake the vector is that memory with the probability 1 - `path_weight`, otherwise
integrated. These are the exact moments of their model on a grid without borders; in their code,
where a move goes also depends on errors, while here errors change no replay. An agent that was
carried, between episodes, has only the vectors that it remembers; where none is known, it replays
nothing.

In theirs replay takes place every few steps. Walls and objects are landmarks too; laps that follow
corridors meet none but rewards. The sources are the abstract, the introduction and the code; the
results were not read. Figures are numbered as in the code.

References
----------
.. [1] Bakermans et al. (2025), Constructing future behavior in the hippocampal formation through
   composition and replay. https://doi.org/10.1038/s41593-025-01908-3
.. [2] Bakermans (2024), Code. https://github.com/jbakermans/state-space-composition
"""

import math
from typing import Annotated, NamedTuple

import numpy as np
from numpy.random import Generator

from replay.checks.arrays import Bools, Floats, Ints
from replay.learners import ranges
from replay.learners.contract import Between, Description, Known, Pause, Sizes, Transition
from replay.log.backups import REST, BackupBuffer, reactivate
from replay.parts.experiences import Numbering, join, meet, numbering
from replay.parts.pauses import IN_PAUSES, is_due, phases_of
from replay.parts.policies import draw_weighted

_AWAKE, _REPLAYED = 0, 1
_HERE, _CLOCK = 0, 1


class Params(NamedTuple):
    """Parameters of compositional replay.

    What is not listed is explained in :data:`replay.learners.ranges.SHARED`.

    Attributes
    ----------
    noise : float
        Probability that a move adds an error of one place to a vector.
    path_weight : float
        Probability that a vector awake is integrated along the path, where a memory could replace
        it.
    away : float
        How strongly moves away from the landmark are preferred; 0: not at all.
    coverage : float
        How strongly places with fewer memories are preferred: m memories weigh (1 + m)^-coverage.
    from_landmark : bool
        Whether replay begins at the latest landmark, not where the agent is.
    length : int
        Number of places of a replay, after which another one begins in the same pause.
    n_replays : int
        Number of places reactivated per pause, after the first.
    """

    noise: ranges.Share = 0.2
    path_weight: ranges.Share = 0.25
    away: Annotated[float, Between(0.0, 100.0)] = 1.5
    coverage: Annotated[float, Between(0.0, 100.0)] = 0.0
    from_landmark: bool = False
    length: Annotated[int, Between(2, 1_000_000)] = 15
    n_replays: ranges.Count = 20
    replay_at: ranges.Moment = IN_PAUSES


class Memory(NamedTuple):
    """The memory of compositional replay."""

    action_values: Floats  # (n_states, n_actions): 0
    known: Numbering  # The places visited so far
    is_linked: Bools  # (n_states, n_states): which of them are joined, by their numbers
    landmarks: Numbering  # The places where reward was ever found
    # (n_states,): when each landmark, by number, was last met; 0 if it has lost its reward
    met_at: Ints
    # (n_states, n_states): the number of memories of a landmark at a place, by their numbers
    n_memories: Ints
    # (n_states, n_states): the sum of the mean square errors of these vectors, in places
    square_errors: Floats
    # (2, n_states): the mean square error of the vector to each landmark awake, and in
    # replay; infinite if the vector is unknown
    error: Floats
    # (2,): the state of the agent, -1 before the first step, and the number of steps
    whereabouts: Ints
    # (n_states,): steps from a landmark to each place, by number, and weights of the moves
    # from a place
    distance: Ints
    weights: Floats


def description(params: Params) -> Description:
    return Description(
        "vectors to landmarks",
        phases=phases_of(params.replay_at),
        priority="away from landmarks",
        source="Bakermans et al. 2025",
        label="Compositional replay",
        computes_values=False,
    )


def init(params: Params, sizes: Sizes) -> Memory:
    n = sizes.n_states
    return Memory(
        action_values=np.zeros((n, sizes.n_actions)),
        known=numbering(n),
        is_linked=np.zeros((n, n), dtype=np.bool_),
        landmarks=numbering(n),
        met_at=np.zeros(n, dtype=np.int64),
        n_memories=np.zeros((n, n), dtype=np.int64),
        square_errors=np.zeros((n, n)),
        error=np.full((2, n), np.inf),
        whereabouts=np.array([-1, 0]),
        distance=np.zeros(n, dtype=np.int64),
        weights=np.zeros(n),
    )


def most_backups(params: Params, memory: Memory) -> int:
    return 2 * params.n_replays  # a step has two pauses at most


def n_words(params: Params, memory: Memory, known: Known) -> int:
    """Count the numbers held: the map, and per landmark two for each place, its time and vector."""
    n, n_landmarks = int(memory.known.n[0]), int(memory.landmarks.n[0])
    return n * n + 2 * n * n_landmarks + 2 * n_landmarks


def _recall(memory: Memory, place: int, which: int) -> None:
    """Set the vectors of one who is at a place, by number, and has not integrated any path."""
    for landmark in range(memory.landmarks.n[0]):
        m = memory.n_memories[landmark, place]
        is_here = memory.landmarks.met[landmark] == memory.known.met[place]
        mean = memory.square_errors[landmark, place] / m if m > 0 else np.inf
        memory.error[which, landmark] = 0.0 if is_here else mean


def _remember(memory: Memory, place: int, which: int) -> None:
    """Add a memory of all known vectors at a place, by number."""
    for landmark in range(memory.landmarks.n[0]):
        if memory.error[which, landmark] < np.inf:
            memory.n_memories[landmark, place] += 1
            memory.square_errors[landmark, place] += memory.error[which, landmark]


def _carry(params: Params, memory: Memory, place: int, which: int, path_weight: float) -> None:
    """Integrate the path of one move to a place, by number, and correct vectors by memories."""
    for landmark in range(memory.landmarks.n[0]):
        error = memory.error[which, landmark] + params.noise
        m = memory.n_memories[landmark, place]
        if m > 0:
            mean = memory.square_errors[landmark, place] / m
            weight = path_weight if error < np.inf else 0.0
            error = mean if weight == 0.0 else weight * error + (1.0 - weight) * mean
        memory.error[which, landmark] = error


def learn(params: Params, memory: Memory, transition: Transition, log: BackupBuffer) -> None:
    """Integrate the path, note whether the place is a landmark, and remember the vectors there."""
    join(memory.known, memory.is_linked, transition.state, transition.next_state)
    number, now = memory.known.number, memory.whereabouts
    if now[_HERE] != transition.state:  # carried there, or at the very first step
        _recall(memory, number[transition.state], _AWAKE)
    place = number[transition.next_state]
    _carry(params, memory, place, _AWAKE, params.path_weight)
    now[_HERE], now[_CLOCK] = transition.next_state, now[_CLOCK] + 1
    if transition.reward > 0.0:
        landmark = meet(memory.landmarks, transition.next_state)
        memory.met_at[landmark] = now[_CLOCK]
    elif memory.landmarks.number[transition.next_state] >= 0:
        memory.met_at[memory.landmarks.number[transition.next_state]] = 0
    if memory.landmarks.number[transition.next_state] >= 0:
        memory.error[_AWAKE, memory.landmarks.number[transition.next_state]] = 0.0
    _remember(memory, place, _AWAKE)


def _begin(memory: Memory, place: int) -> None:
    """Set the vectors with which replay begins at a place, by number."""
    _recall(memory, place, _REPLAYED)
    if memory.known.met[place] == memory.whereabouts[_HERE]:
        for landmark in range(memory.landmarks.n[0]):
            memory.error[_REPLAYED, landmark] = memory.error[_AWAKE, landmark]


def _latest_landmark(memory: Memory, is_known: bool) -> int:
    """Return the one met last, of those that still have their reward, or -1.

    If `is_known`, only those count whose vectors are known where replay begins.
    """
    latest, when = -1, 0
    for landmark in range(memory.landmarks.n[0]):
        counts = not is_known or memory.error[_REPLAYED, landmark] < np.inf
        if counts and memory.met_at[landmark] > when:
            latest, when = landmark, memory.met_at[landmark]
    return latest


def _measure(memory: Memory, origin: int) -> None:
    """Count the steps from a place to all others, by number; -1 if there is no way."""
    n, distance = memory.known.n[0], memory.distance
    distance[:n] = -1
    distance[origin] = 0
    steps, is_new = 0, True
    while is_new:
        is_new = False
        for i in range(n):
            if distance[i] == steps:
                for j in range(n):
                    if memory.is_linked[i, j] and distance[j] < 0:
                        distance[j] = steps + 1
                        is_new = True
        steps += 1


def _drawn_move(
    params: Params, memory: Memory, here: int, landmark: int, rng: Generator
) -> tuple[int, float]:
    """Draw the next place, by number, and return its probability, too; -1 if there is none."""
    n, distance, weights = memory.known.n[0], memory.distance, memory.weights
    n_moves, n_back = 0, 0
    for j in range(n):
        if memory.is_linked[here, j]:
            n_moves += 1
            n_back += distance[j] < distance[here]
    preference = math.exp(params.away / n_back) if n_back > 0 else 1.0
    others = n_moves - n_back
    # 1 - softmax is in proportion to what all other choices, and staying, have
    of_back, of_other = 1.0 + (n_back - 1) * preference + others, n_back * preference + others
    whole = 0.0
    for j in range(n):
        weights[j] = 0.0
        if memory.is_linked[here, j]:
            sparse = (1.0 + memory.n_memories[landmark, j]) ** -params.coverage
            weights[j] = sparse * (of_back if distance[j] < distance[here] else of_other)
            whole += weights[j]
    following = draw_weighted(weights, n, rng)
    return following, weights[following] / whole if following >= 0 else 0.0


def replay(params: Params, memory: Memory, pause: Pause, rng: Generator, log: BackupBuffer) -> None:
    """Walk away from a landmark, and remember the vectors at each place."""
    if not is_due(params.replay_at, pause.phase) or memory.landmarks.n[0] == 0:
        return
    places, begin, landmark = memory.known.met, memory.known.number[pause.state], -1
    at_landmark = pause.phase == REST or params.from_landmark
    if pause.phase == REST:  # any that still has its reward
        n = memory.landmarks.n[0]
        for i in range(n):
            memory.weights[i] = 1.0 if memory.met_at[i] > 0 else 0.0
        landmark = draw_weighted(memory.weights, n, rng)
    elif params.from_landmark:
        landmark = _latest_landmark(memory, False)
    elif begin >= 0:
        _begin(memory, begin)
        landmark = _latest_landmark(memory, True)
    if landmark < 0:  # no vector is known
        return
    origin = memory.known.number[memory.landmarks.met[landmark]]
    begin = origin if at_landmark else begin
    _begin(memory, begin)
    _measure(memory, origin)
    here = begin
    _remember(memory, here, _REPLAYED)
    for pop in range(params.n_replays):
        begins = pop % params.length == params.length - 1  # the next replay of this pause
        following, probability = begin, 1.0
        if not begins:
            following, probability = _drawn_move(params, memory, here, landmark, rng)
        if following < 0:
            break
        reactivate(log, pause.phase, places[here], places[following], probability, pop)
        here = following
        if begins:
            _begin(memory, here)
        else:
            _carry(params, memory, here, _REPLAYED, 1.0)
        _remember(memory, here, _REPLAYED)
