"""What prioritized memory access knows about the current episode, and links between episodes."""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from replay.jit import inlined
from replay.log.backups import EPISODE_END, REST, START, STEP
from replay.parts.interfaces import PauseLike
from replay.parts.markov_chain import MarkovChain, move
from replay.parts.pauses import PauseParams, is_over_by_chance, is_worth_it
from replay.parts.priorities import is_due

__all__ = ["EpisodeParams", "Whereabouts", "continues", "is_enough", "link_episodes", "mean_reward"]
__all__ += ["need_origin", "note_step", "note_tries", "whereabouts"]

_BEFORE, _FIRST, _END, _REWARDED, _WAITING = range(5)
_TOTAL, _N = range(2)


class EpisodeParams(PauseParams, Protocol):
    """The parameters of :mod:`replay.learners.prioritized_memory_access` that are read here."""

    @property
    def min_priority(self) -> float: ...
    @property
    def opportunity_cost(self) -> bool: ...
    @property
    def link_starts(self) -> bool: ...
    @property
    def transition_rate(self) -> float: ...
    @property
    def replay_at(self) -> int: ...
    @property
    def one_step_late(self) -> bool: ...


class Whereabouts(NamedTuple):
    """What is known about the current episode, and the rewards so far.

    Attributes
    ----------
    moment : ndarray of int64, shape (5,)
        The state before the latest step, the first state of the episode (-1 before its first
        step), the state in which the last episode ended (-1 if it was cut off), whether a reward
        was ever found, and whether replay waits for a first step.
    earned : ndarray of float64, shape (2,)
        The sum of all rewards so far, and their number.
    """

    moment: NDArray[np.int64]
    earned: NDArray[np.float64]


def whereabouts() -> Whereabouts:
    """Make the record of a learner that has experienced nothing.

    Returns
    -------
    Whereabouts

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
    """Note a step.

    Parameters
    ----------
    here : Whereabouts
        Changed in place.
    state : int
        The state that the agent left.
    reward : float
    """
    here.moment[_BEFORE] = state
    if here.moment[_FIRST] < 0:
        here.moment[_FIRST] = state
    if reward != 0.0:
        here.moment[_REWARDED] = 1
    here.earned[_TOTAL] += reward
    here.earned[_N] += 1.0


@inlined
def note_tries(here: Whereabouts, number: int) -> None:
    """Note tries without reward.

    Parameters
    ----------
    here : Whereabouts
        Changed in place.
    number : int
        How many.
    """
    here.earned[_N] += number


@inlined
def mean_reward(here: Whereabouts) -> float:
    """Return the mean reward of a try."""
    mean: float = here.earned[_TOTAL] / here.earned[_N]
    return mean


@inlined
def is_enough(params: EpisodeParams, here: Whereabouts, priority: float) -> bool:
    """Return whether a backup of this priority is made.

    Parameters
    ----------
    params : EpisodeParams
    here : Whereabouts
    priority : float
        The expected value of the backup; negative if there is none to make.

    Returns
    -------
    bool
        Whether it is above ``min_priority`` (with ``opportunity_cost``, above the mean reward of a
        try if that is lower), and worth its time.
    """
    least: float = params.min_priority
    if params.opportunity_cost:
        least = min(least, mean_reward(here))
    if priority < 0.0 or priority <= least:
        return False
    return is_worth_it(params, priority, mean_reward(here))


@inlined
def continues(
    params: EpisodeParams, here: Whereabouts, priority: float, rng: np.random.Generator
) -> bool:
    """Return whether a pause continues with a backup of this priority.

    Parameters
    ----------
    params : EpisodeParams
        The learner's.
    here : Whereabouts
        What is known about the episode.
    priority : float
        The expected value of the backup; negative if there is none.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    bool
        Whether the priority is high enough, and chance does not end the pause.
    """
    return is_enough(params, here, priority) and not is_over_by_chance(params, rng)


@inlined
def link_episodes(
    params: EpisodeParams, here: Whereabouts, chain: MarkovChain, pause: PauseLike
) -> None:
    """Link the end of an episode to the start of the next one.

    An end without any link is first linked to the start of its own episode.

    Parameters
    ----------
    params : EpisodeParams
    here : Whereabouts
        Changed in place.
    chain : MarkovChain
        Moves between states, changed in place; it needs room for both links of each end.
    pause : Pause
        A :class:`replay.learners.contract.Pause`.
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
def need_origin(params: EpisodeParams, here: Whereabouts, pause: PauseLike) -> int:
    """Return the state from which need is computed at a pause.

    Parameters
    ----------
    params : EpisodeParams
    here : Whereabouts
        Changed in place.
    pause : Pause
        A :class:`replay.learners.contract.Pause`.

    Returns
    -------
    int
        The state; -1 if nothing is replayed in this pause.
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
