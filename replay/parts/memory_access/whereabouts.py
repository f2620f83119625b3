"""What a learner that replays between episodes knows of the current one and of its links.

Its parameters are ``replay_at``, ``one_step_late``, ``link_starts`` and ``transition_rate``.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from replay.jit import inlined
from replay.log.backups import EPISODE_END, REST, START, STEP
from replay.parts.markov_chain import MarkovChain, move
from replay.parts.pauses import is_over_by_chance, is_worth_it
from replay.parts.priorities import is_due

__all__ = ["Whereabouts", "continues", "is_enough", "link_episodes", "mean_reward"]
__all__ += ["need_origin", "note_step", "note_tries", "whereabouts"]

_BEFORE, _FIRST, _END, _REWARDED, _WAITING = range(5)
_TOTAL, _N = range(2)


class Whereabouts(NamedTuple):
    """What is known of this episode.

    Attributes
    ----------
    moment : ndarray of int64, shape (5,)
        The state before the latest step, the first state of the episode (-1 before its first
        step), the state in which the last episode ended (-1 if it was cut off), whether a reward
        was ever met, and whether replay waits for a first step.
    earned : ndarray of float64, shape (2,)
        The sum of all rewards so far, and their number.
    """

    moment: NDArray[np.int64]
    earned: NDArray[np.float64]


def whereabouts() -> Whereabouts:
    """Begin before the first step.

    Examples
    --------
    >>> here = whereabouts()
    >>> for reward in (0.0, 1.0):
    ...     note_step(here, 0, reward)
    >>> float(mean_reward(here))
    0.5
    """
    return Whereabouts(np.array([-1, -1, -1, 0, 0]), np.zeros(2))


@inlined
def note_step(here: Whereabouts, state: int, reward: float) -> None:
    """Note a step that left a state."""
    here.moment[_BEFORE] = state
    if here.moment[_FIRST] < 0:
        here.moment[_FIRST] = state
    if reward != 0.0:
        here.moment[_REWARDED] = 1
    here.earned[_TOTAL] += reward
    here.earned[_N] += 1.0


@inlined
def note_tries(here: Whereabouts, number: int) -> None:
    """Note so many tries that earned nothing."""
    here.earned[_N] += number


@inlined
def mean_reward(here: Whereabouts) -> float:
    """Return what a try earned on average."""
    mean: float = here.earned[_TOTAL] / here.earned[_N]
    return mean


@inlined
def is_enough(params: Any, here: Whereabouts, priority: float) -> bool:
    """Tell whether a backup of this priority is made.

    Parameters
    ----------
    params : NamedTuple
        ``min_priority``, ``opportunity_cost`` and ``backup_cost`` of the learner.
    here : Whereabouts
        Where the agent stands.
    priority : float
        The expected value of the backup; negative if there is none to make.

    Returns
    -------
    bool
        Whether it is above ``min_priority``, or above what a try earned on average where that is
        less and counts, and worth its time.
    """
    least: float = params.min_priority
    if params.opportunity_cost:
        least = min(least, mean_reward(here))
    if priority < 0.0 or priority <= least:
        return False
    return is_worth_it(params, priority, mean_reward(here))


@inlined
def continues(params: Any, here: Whereabouts, priority: float, rng: np.random.Generator) -> bool:
    """Return whether a backup of this priority is made, and the pause does not end by chance.

    Parameters
    ----------
    params : NamedTuple
        Of the learner, as in `is_enough`, and ``mean_backups``.
    here : Whereabouts
        Where the agent stands.
    priority : float
        The expected value of the backup; negative if there is none to make.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    bool
    """
    return is_enough(params, here, priority) and not is_over_by_chance(params, rng)


@inlined
def link_episodes(params: Any, here: Whereabouts, chain: MarkovChain, pause: Any) -> None:
    """Let the chain go on from an end to the start that follows.

    An end of which no link is known yet is first linked to the start of its own episode.

    Parameters
    ----------
    params : NamedTuple
        ``link_starts`` and ``transition_rate`` of the learner.
    here : Whereabouts
        Where the agent stands.
    chain : MarkovChain
        Moves between states; it needs room for both links of each end.
    pause : NamedTuple
        The pause: ``phase``, ``state``, ``terminated``.
    """
    moment = here.moment
    if pause.phase == EPISODE_END:
        moment[_END] = pause.state if pause.terminated and params.link_starts else -1
        if moment[_END] >= 0 and chain.first_out[pause.state] < 0:
            move(chain, pause.state, moment[_FIRST], 1.0)
        moment[_FIRST] = -1
    elif pause.phase == START and moment[_END] >= 0:
        move(chain, moment[_END], pause.state, params.transition_rate)


@inlined
def need_origin(params: Any, here: Whereabouts, pause: Any) -> int:
    """Return the state from which need is counted at a pause, or -1 if nothing is replayed.

    Parameters
    ----------
    params : NamedTuple
        ``replay_at`` and ``one_step_late`` of the learner.
    here : Whereabouts
        Where the agent stands.
    pause : NamedTuple
        The pause: ``phase``, ``state``, ``terminated``.
    """
    moment, late = here.moment, params.one_step_late
    waited = moment[_WAITING] == 1
    if pause.phase != REST:
        moment[_WAITING] = late and pause.phase == START
    due = is_due(params.replay_at, pause.phase) and not (late and pause.phase == START)
    if waited and pause.phase == STEP and is_due(params.replay_at, START):
        due = True
    if not due or not moment[_REWARDED]:
        return -1
    origin: int = moment[_BEFORE] if late and pause.phase != REST else pause.state
    return origin
