"""Pauses: what the loop passes to a learner, when the learner replays, and when it stops.

A learner keeps the index of a name in ``MOMENTS``, which says in which pauses it replays, and may
end a pause before it has made as many backups as it may. Time has an opportunity cost, the reward
earned on average per unit of time [1]_; replay that takes time should end where it gains less than
that [2]_. Here a backup takes as long as ``backup_cost`` steps: a pause continues while the next
backup is expected to gain more than the mean reward of that many steps. The expected gain is the
backup's priority where that is a value, else the mean size of the latest changes of action values.
These include the prediction error of each step, so that surprise, by reward or by novelty, makes
pauses long. Independently of this, a pause may end at random, after ``mean_backups`` on average.

With the defaults of these two parameters, 0 and infinity, pauses do not end early, and no random
numbers are drawn.

References
----------
.. [1] Niv, Daw, Joel & Dayan (2007). https://doi.org/10.1007/s00213-006-0502-4
.. [2] Agrawal, Mattar, Cohen & Daw (2022). https://doi.org/10.1037/rev0000309
"""

from typing import NamedTuple, Protocol

import numpy as np

from replay.checks.arrays import Floats, Int32s
from replay.jit import inlined
from replay.log.backups import EPISODE_END, REST, START, STEP
from replay.parts.policies import best_tried


class Sizes(NamedTuple):
    """Sizes for which the memory of a learner must have room."""

    n_states: int  # size of the world
    n_actions: int
    # The largest possible number of distinct transitions (state, action, next state).
    n_transitions: int
    n_steps: int  # the largest possible number of steps in an episode
    # The largest possible number of distinct pairs of the terminal state in which an episode
    # ended and the first state of that episode or of the next one.
    n_links: int = 0
    # (n_states, n_actions): the action that undoes each pair, -1 if there is none; only for
    # learners that need it.
    way_back: Int32s | None = None
    # (n_codes, n_codes): if an encoder with distances made the states, and the learner has a
    # parameter `n_nearest` above 0: all codes, from the nearest to the farthest from each.
    neighbours: Int32s | None = None


class Transition(NamedTuple):
    """One step of experience."""

    state: int  # the state in which the step began, and the action
    action: int
    reward: float  # the reward, which is finite
    next_state: int  # the state that was entered; at an end, the terminal state
    # The action drawn in `next_state`, or, after an end, in the first state of the next
    # episode; -1 if it is drawn after learning.
    next_action: int
    terminated: bool  # whether the episode ended in a terminal state, or was truncated
    truncated: bool


class Pause(NamedTuple):
    """A moment at which a learner may replay."""

    # ``STEP`` after a step, ``EPISODE_END`` after the last one of an episode, ``START`` in the
    # first state of the next one, ``REST`` between them (of :mod:`replay.log.backups`).
    phase: int
    state: int  # the state of the agent; at rest, that in which the last episode ended
    terminated: bool  # whether the episode has just ended in this state, a terminal one


MOMENTS = (
    "step", "episode_end", "start_and_end", "rest", "pauses",
    "end_and_rest", "step_and_rest", "always",
)  # fmt: skip
"""``step``: after every step, the last one of an episode included. ``episode_end``: after the last
step only. ``start_and_end``: then and at the next start. ``rest``: in periods of rest only.
``pauses``: at ends, at starts and in rest. ``end_and_rest``, ``step_and_rest``: the same without
starts, or after every step and in rest. ``always``: in all of these."""
EACH_STEP, END, START_AND_END, IN_REST, IN_PAUSES, END_AND_REST, STEP_AND_REST, ALWAYS = range(8)


@inlined
def is_due(moment: int, phase: int) -> bool:
    """Return whether a learner that replays at these moments does so in a pause of this phase."""
    if phase == REST:
        return moment >= IN_REST
    if phase == EPISODE_END:
        return moment != IN_REST
    if phase == START:
        return moment in (START_AND_END, IN_PAUSES, ALWAYS)
    return moment in (EACH_STEP, STEP_AND_REST, ALWAYS)


def phases_of(moment: int) -> tuple[int, ...]:
    """List the phases of the pauses in which a learner replays."""
    return tuple(phase for phase in (STEP, EPISODE_END, START, REST) if is_due(moment, phase))


@inlined
def most_pauses(moment: int) -> int:
    """Return in how many pauses after one step, rest not counted, a learner replays at most."""
    return 2 if moment in (START_AND_END, IN_PAUSES, ALWAYS) else 1


_TOTAL, _N, _CHANGE = range(3)
_LATEST = 0.2  # weight of the latest change in the running mean


class PauseParams(Protocol):
    """The parameters of a learner on which the end of a pause depends."""

    @property
    def discount(self) -> float: ...
    @property
    def backup_cost(self) -> float: ...
    @property
    def mean_backups(self) -> float: ...


class Earnings(NamedTuple):
    """What the end of a pause depends on."""

    # (3,): the sum of all rewards so far, the number of steps, and a running mean of the
    # sizes of changes of action values, in which the latest one has weight 0.2
    held: Floats


def earnings() -> Earnings:
    """Make the record of a learner that has experienced nothing."""
    return Earnings(np.zeros(3))


def earnings_words(params: PauseParams) -> int:
    """Count the numbers held: none if backups cost no time."""
    return 3 if params.backup_cost > 0.0 else 0


@inlined
def note_experience(
    params: PauseParams, held: Earnings, action_values: Floats, transition: Transition
) -> None:
    """Note the reward of a step and the size of its prediction error, before it is learned from.

    A pair that was never tried has an infinite value, and no prediction error.
    """
    if params.backup_cost > 0.0:
        held.held[_TOTAL] += transition.reward
        held.held[_N] += 1.0
        expected = transition.reward
        if not transition.terminated:
            expected += params.discount * best_tried(action_values, transition.next_state)
        before = action_values[transition.state, transition.action]
        note_change(params, held, before, expected)


@inlined
def note_change(params: PauseParams, held: Earnings, before: float, after: float) -> None:
    """Note the size of a change of an action value, unless it was infinite."""
    if params.backup_cost > 0.0 and before < np.inf:
        held.held[_CHANGE] += _LATEST * (abs(after - before) - held.held[_CHANGE])


@inlined
def latest_change(held: Earnings) -> float:
    """Return the mean size of the latest changes of action values."""
    change: float = held.held[_CHANGE]
    return change


@inlined
def is_worth_it(params: PauseParams, gain: float, mean_reward: float) -> bool:
    """Return whether a backup with this gain is worth its time."""
    if params.backup_cost == 0.0:
        return True
    return bool(gain > params.backup_cost * max(mean_reward, 0.0))


@inlined
def is_over_by_chance(params: PauseParams, rng: np.random.Generator) -> bool:
    """Draw whether a pause ends before its next backup."""
    mean: float = params.mean_backups
    return mean < np.inf and rng.random() * (1.0 + mean) < 1.0


@inlined
def goes_on(params: PauseParams, held: Earnings, gain: float, rng: np.random.Generator) -> bool:
    """Return whether a pause continues with a backup."""
    mean_reward = held.held[_TOTAL] / max(held.held[_N], 1.0)
    return is_worth_it(params, gain, mean_reward) and not is_over_by_chance(params, rng)
