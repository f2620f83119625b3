"""The queue compared with a plain list, and with the textbook's heap where priorities tie."""

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from replay.parts.priority_queue import clear, pop, priority_queue, remove, set_priority

N_STATES = 12
STATES = st.integers(0, N_STATES - 1)
PRIORITIES = st.integers(0, 4).map(float)  # few, so that there are ties


def heap(queue):
    size = queue.size[0]
    return list(zip(queue.state[:size].tolist(), queue.priority[:size].tolist(), strict=True))


class TextbookHeap:
    """A list of [state, priority], by the rules that the module's docstring gives for ties."""

    def __init__(self):
        self.entries = []

    def up(self, place):
        entries = self.entries
        while place and entries[place][1] > entries[(place - 1) // 2][1]:
            parent = (place - 1) // 2
            entries[place], entries[parent] = entries[parent], entries[place]
            place = parent

    def down(self, place):
        entries = self.entries
        while children := [c for c in (2 * place + 2, 2 * place + 1) if c < len(entries)]:
            child = max(children, key=lambda c: entries[c][1])  # the first, right one if equal
            if not entries[child][1] > entries[place][1]:
                return
            entries[place], entries[child] = entries[child], entries[place]
            place = child

    def find(self, state):
        return [entry[0] for entry in self.entries].index(state)

    def set(self, state, priority):
        if state not in [entry[0] for entry in self.entries]:
            self.entries.append([state, priority])
            self.up(len(self.entries) - 1)
            return
        place = self.find(state)
        before, self.entries[place][1] = self.entries[place][1], priority
        (self.up if priority > before else self.down)(place)

    def remove(self, state):
        place = self.find(state)
        last = self.entries.pop()
        if last[0] == state:
            return
        removed, self.entries[place] = self.entries[place], last
        (self.up if last[1] > removed[1] else self.down)(place)


class QueueMachine(RuleBasedStateMachine):
    @initialize()
    def make(self):
        self.queue = priority_queue(N_STATES)
        self.priority = {}
        self.cause = {}
        self.textbook = TextbookHeap()

    @rule(state=STATES, priority=PRIORITIES, cause=st.integers(-1, 99))
    def set_priority(self, state, priority, cause):
        set_priority(self.queue, state, priority, cause)
        self.cause.setdefault(state, cause)
        self.priority[state] = priority
        self.textbook.set(state, priority)

    @rule(state=STATES)
    def remove(self, state):
        remove(self.queue, state)
        if state in self.priority:
            del self.priority[state], self.cause[state]
            self.textbook.remove(state)

    @precondition(lambda self: self.priority)
    @rule()
    def pop(self):
        largest = max(self.priority.values())
        cause = self.cause
        state = pop(self.queue)
        assert self.queue.cause[state] == cause.pop(state)
        assert self.priority.pop(state) == largest
        assert state == self.textbook.entries[0][0]
        self.textbook.remove(state)

    @rule()
    def clear(self):
        clear(self.queue)
        self.priority.clear()
        self.cause.clear()
        self.textbook = TextbookHeap()

    @invariant()
    def holds_the_same(self):
        entries = heap(self.queue)
        assert dict(entries) == self.priority
        assert len(entries) == len(self.priority)
        assert entries == [tuple(entry) for entry in self.textbook.entries]
        for place, (state, priority) in enumerate(entries):
            assert self.queue.position[state] == place
            assert self.queue.cause[state] == self.cause[state]
            assert place == 0 or priority <= entries[(place - 1) // 2][1]
        absent = [state for state in range(N_STATES) if state not in self.priority]
        assert (self.queue.position[absent] == -1).all()


TestQueue = QueueMachine.TestCase


def test_ties_by_hand():
    """Four equal priorities: the last entry replaces the root; of two equal children the right."""
    queue = priority_queue(4)
    for state in range(4):
        set_priority(queue, state, 1.0, -1)
    assert [state for state, _ in heap(queue)] == [0, 1, 2, 3]
    assert [int(pop(queue)) for _ in range(4)] == [0, 3, 2, 1]

    for state, priority in enumerate([3.0, 2.0, 2.0, 1.0]):
        set_priority(queue, state, priority, -1)
    pop(queue)
    assert [state for state, _ in heap(queue)] == [2, 1, 3]


def test_a_queued_state_keeps_its_cause_and_a_new_one_gets_its_own():
    queue = priority_queue(2)
    set_priority(queue, 1, 1.0, 7)
    set_priority(queue, 1, 2.0, 8)
    assert queue.cause[pop(queue)] == 7
    set_priority(queue, 1, 1.0, 9)
    assert queue.cause[pop(queue)] == 9


@pytest.mark.parametrize("n_states", [1, 7, 100])
def test_pops_sort(n_states, rng):
    queue = priority_queue(n_states)
    priorities = rng.random(n_states)
    for state in rng.permutation(n_states):
        set_priority(queue, state, priorities[state], -1)
    popped = [int(pop(queue)) for _ in range(n_states)]
    assert popped == np.argsort(-priorities).tolist()
    assert queue.size[0] == 0
