"""Which backup a learner with a queue makes next, and at which pauses it makes backups.

``PRIORITIES`` are the orders of the queue, ``MOMENTS`` the pauses at which queued backups are made.
Learners keep the index of a name in these tuples, the constants below.

References
----------
.. [1] Moore & Atkeson (1993), Prioritized sweeping. https://doi.org/10.1007/BF00993104
.. [2] Peng & Williams (1993), Efficient learning and planning within the Dyna framework.
   https://doi.org/10.1177/105971239300100403
.. [3] Mattar & Daw (2018), Prioritized memory access explains planning and hippocampal replay.
   https://doi.org/10.1038/s41593-018-0232-z
"""

import numpy as np

from replay.jit import inlined
from replay.log.backups import EPISODE_END, REST, START, STEP
from replay.parts.priority_queue import PriorityQueue, remove, tick

__all__ = ["CHANGE", "EACH_STEP", "END", "EXPECTED_VALUE", "FIRST_IN", "GAIN", "IN_PAUSES"]
__all__ += ["IN_REST", "MOMENTS", "NEED", "PRIORITIES", "RANDOM", "RECENCY", "START_AND_END"]
__all__ += ["describe_priority", "is_due", "is_evaluated", "most_pauses", "phases_of", "pop_next"]
__all__ += ["rank"]

PRIORITIES = ("change", "need", "recency", "first_in", "random", "gain", "expected_value")
"""``change``: the size of the change that waits to be propagated [1]_ [2]_. ``need``: that size
times the need of the state, which is how often the agent will be there [3]_. ``recency``: the
latest change first. ``first_in``: in the order of queueing. ``random``: any that is waiting.
``gain``: how much more the policy earns from the states that are updated. ``expected_value``: gain
x need, the expected value of the backup [3]_. See :mod:`replay.parts.gain` and
:mod:`replay.parts.need`."""
CHANGE, NEED, RECENCY, FIRST_IN, RANDOM, GAIN, EXPECTED_VALUE = range(7)

MOMENTS = ("step", "episode_end", "start_and_end", "rest", "pauses")
"""``step``: after every step, the last one of an episode included. ``episode_end``: after the last
step only. ``start_and_end``: then and at the next start. ``rest``: in periods of rest only.
``pauses``: at ends, at starts and in rest."""
EACH_STEP, END, START_AND_END, IN_REST, IN_PAUSES = range(5)


_FIRST = (
    "largest change of {}",
    "largest change of {} x need",
    "latest change of {}",
    "first change of {}",
    "any change of {}",
    "largest gain",
    "largest gain x need",
)


def describe_priority(rule: int, what: str) -> str:
    """Describe which backup comes first under a priority.

    Parameters
    ----------
    rule : int
        Index in ``PRIORITIES``.
    what : str
        The quantity that changes.

    Returns
    -------
    str

    Examples
    --------
    >>> describe_priority(NEED, "V")
    'largest change of V x need'
    """
    return _FIRST[rule].format(what)


@inlined
def is_evaluated(rule: int) -> bool:
    """Return whether a priority depends on gain or need, and so on where the agent is and will go.

    Then all queued items have to be evaluated again before each choice.

    Parameters
    ----------
    rule : int
        Index in ``PRIORITIES``.

    Returns
    -------
    bool

    Examples
    --------
    >>> [name for rule, name in enumerate(PRIORITIES) if is_evaluated(rule)]
    ['need', 'gain', 'expected_value']
    """
    return rule == NEED or rule >= GAIN


@inlined
def is_due(moment: int, phase: int) -> bool:
    """Return whether a learner that replays at these moments does so in a pause of this phase.

    Parameters
    ----------
    moment : int
        Index in ``MOMENTS``.
    phase : int
        The phase of a :class:`replay.learners.contract.Pause`.

    Returns
    -------
    bool

    Examples
    --------
    >>> is_due(START_AND_END, EPISODE_END), is_due(START_AND_END, STEP)
    (True, False)
    """
    if moment == IN_REST:
        return phase == REST
    if moment == IN_PAUSES:
        return phase in (EPISODE_END, START, REST)
    if phase == EPISODE_END:
        return True
    return (moment == EACH_STEP and phase == STEP) or (moment == START_AND_END and phase == START)


def phases_of(moment: int) -> tuple[int, ...]:
    """List the phases of the pauses in which a learner replays.

    Parameters
    ----------
    moment : int
        Index in ``MOMENTS``.

    Returns
    -------
    tuple of int
        Phases of :class:`replay.learners.contract.Pause`.

    Examples
    --------
    >>> phases_of(END) == (EPISODE_END,)
    True
    """
    return tuple(phase for phase in (STEP, EPISODE_END, START, REST) if is_due(moment, phase))


@inlined
def most_pauses(moment: int) -> int:
    """Return in how many pauses after one step, rest not counted, a learner replays at most."""
    return 2 if moment in (START_AND_END, IN_PAUSES) else 1


@inlined
def rank(rule: int, queue: PriorityQueue, change: float) -> float:
    """Return the priority of an item that is to be queued now.

    Parameters
    ----------
    rule : int
        Index in ``PRIORITIES``.
    queue : PriorityQueue
        Its clock is the time for ``recency`` and ``first_in``.
    change : float
        The size of the change that waits to be propagated.

    Returns
    -------
    float
        The largest comes first; nan for ``random``. For priorities with gain or need it is
        `change`.

    Examples
    --------
    >>> from replay.parts.priority_queue import priority_queue
    >>> [rank(RECENCY, priority_queue(1), change) for change in (0.5, 0.25)]
    [1.0, 1.0]
    """
    if rule == CHANGE:
        return change
    if rule == RECENCY:
        return float(tick(queue))
    if rule == FIRST_IN:
        return -float(tick(queue))
    if rule == RANDOM:
        return np.nan
    return change


@inlined
def pop_next(rule: int, queue: PriorityQueue, rng: np.random.Generator) -> tuple[int, float]:
    """Choose the next item of a queue that is not empty, and remove it.

    Parameters
    ----------
    rule : int
        Index in ``PRIORITIES``.
    queue : PriorityQueue
        Changed in place.
    rng : numpy.random.Generator
        Source of randomness; used for ``random`` only.

    Returns
    -------
    state : int
        The item.
    priority : float

    Examples
    --------
    >>> from replay.parts.priority_queue import priority_queue, set_priority
    >>> queue = priority_queue(2)
    >>> set_priority(queue, 0, 1.0, -1), set_priority(queue, 1, 2.0, -1)
    (None, None)
    >>> state, priority = pop_next(CHANGE, queue, np.random.default_rng(0))
    >>> int(state), float(priority)
    (1, 2.0)
    """
    place = 0
    if rule == RANDOM:
        place = min(int(rng.random() * queue.size[0]), queue.size[0] - 1)
    state, priority = queue.state[place], queue.priority[place]
    remove(queue, state)
    return state, priority
