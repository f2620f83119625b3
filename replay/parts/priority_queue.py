"""A queue of states, the largest priority first.

A binary heap in arrays that also stores the position of each state, so that the priority of a
queued state can change. Each state carries the backup that put it in the queue, for the log of
causes. Ties are broken as in the textbook heap: a state moves up while it is strictly greater than
its parent; at a pop the last entry takes the root's place and moves down while its larger child is
strictly greater, the right child where both are equal.
"""

from typing import NamedTuple

import numpy as np

from replay.checks.arrays import Floats, Int32s, Ints
from replay.jit import as_int, inlined


class PriorityQueue(NamedTuple):
    """The arrays of the heap. It holds each state once at most, so it never needs more room."""

    size: Ints  # (1,): the number of queued states
    state: Int32s  # (n_states,): the heap; the first ``size`` entries are in use
    priority: Floats  # (n_states,): the priority of each entry of the heap
    # (n_states,): the position of each state in the heap; -1 if it is not queued
    position: Int32s
    cause: Ints  # (n_states,): the row of the backup that put each state in the queue
    # (1,): how often :func:`tick` was called, for priorities that depend on time
    clock: Ints


def priority_queue(n_states: int) -> PriorityQueue:
    """Make an empty queue for states 0 to ``n_states - 1``."""
    return PriorityQueue(
        size=np.zeros(1, dtype=np.int64),
        state=np.zeros(n_states, dtype=np.int32),
        priority=np.zeros(n_states),
        position=np.full(n_states, -1, dtype=np.int32),
        cause=np.full(n_states, -1, dtype=np.int64),
        clock=np.zeros(1, dtype=np.int64),
    )


def queue_words(queue: PriorityQueue) -> int:
    """Count the numbers held: three for each queued state. Causes serve the log only."""
    return 3 * int(queue.size[0])


def causes_of(queue: PriorityQueue) -> Ints:
    """List the backups that put the queued states in the queue, as rows of the log; -1 for none."""
    return queue.cause[queue.state[: queue.size[0]]]


@inlined
def _move_up(queue: PriorityQueue, place: int, state: int, priority: float) -> None:
    while place > 0:
        parent = (place - 1) >> 1
        if not priority > queue.priority[parent]:
            break
        queue.state[place] = queue.state[parent]
        queue.priority[place] = queue.priority[parent]
        queue.position[queue.state[place]] = place
        place = parent
    queue.state[place] = state
    queue.priority[place] = priority
    queue.position[state] = place


@inlined
def _move_down(queue: PriorityQueue, place: int, state: int, priority: float) -> None:
    size = queue.size[0]
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and not queue.priority[child] > queue.priority[child + 1]:
            child += 1
        if not queue.priority[child] > priority:
            break
        queue.state[place] = queue.state[child]
        queue.priority[place] = queue.priority[child]
        queue.position[queue.state[place]] = place
        place = child
    queue.state[place] = state
    queue.priority[place] = priority
    queue.position[state] = place


@inlined
def set_priority(queue: PriorityQueue, state: int, priority: float, cause: int) -> None:
    """Insert a state, or change the priority of a queued one.

    `cause` is the row of the backup that queues it, -1 for none; a queued state keeps its first
    cause.
    """
    place = as_int(queue.position[state])
    if place < 0:
        place = queue.size[0]
        queue.size[0] = place + 1
        queue.cause[state] = cause
        _move_up(queue, place, state, priority)
    elif priority > queue.priority[place]:
        _move_up(queue, place, state, priority)
    elif priority < queue.priority[place]:
        _move_down(queue, place, state, priority)


@inlined
def remove(queue: PriorityQueue, state: int) -> None:
    """Remove a state from the queue, if it is there."""
    place = as_int(queue.position[state])
    if place < 0:
        return
    queue.position[state] = -1
    size = queue.size[0] - 1
    queue.size[0] = size
    if place < size:
        last = as_int(queue.state[size])
        priority = queue.priority[size]
        if priority > queue.priority[place]:
            _move_up(queue, place, last, priority)
        else:
            _move_down(queue, place, last, priority)


@inlined
def pop(queue: PriorityQueue) -> int:
    """Remove the state of the largest priority from a queue that is not empty, and return it."""
    state = as_int(queue.state[0])
    remove(queue, state)
    return state


@inlined
def tick(queue: PriorityQueue) -> int:
    """Return how often this was called for this queue, this time included."""
    time: int = queue.clock[0] + 1
    queue.clock[0] = time
    return time


@inlined
def clear(queue: PriorityQueue | None) -> None:
    """Empty the queue, if there is one."""
    if queue is None:
        return
    for place in range(queue.size[0]):
        queue.position[queue.state[place]] = -1
    queue.size[0] = 0
