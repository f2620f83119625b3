"""What prioritized memory access knows about the current episode, and links between episodes."""

import numpy as np

from replay.jit import inlined
from replay.learners.contract import Pause
from replay.learners.prioritized_memory_access.memory import Params, Whereabouts
from replay.log.backups import EPISODE_END, REST, START, STEP
from replay.parts.markov_chain import MarkovChain, move
from replay.parts.moments import is_due
from replay.parts.pauses import is_over_by_chance, is_worth_it

__all__ = ["continues", "is_enough", "link_episodes", "mean_reward"]
__all__ += ["need_origin", "note_step", "note_tries", "whereabouts"]

_BEFORE, _FIRST, _END, _REWARDED, _WAITING = range(5)
_TOTAL, _N = range(2)


def whereabouts() -> Whereabouts:
    """Make the record of a learner that has experienced nothing.

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
    """Note a step."""
    here.moment[_BEFORE] = state
    if here.moment[_FIRST] < 0:
        here.moment[_FIRST] = state
    if reward != 0.0:
        here.moment[_REWARDED] = 1
    here.earned[_TOTAL] += reward
    here.earned[_N] += 1.0


@inlined
def note_tries(here: Whereabouts, number: int) -> None:
    """Note tries without reward."""
    here.earned[_N] += number


@inlined
def mean_reward(here: Whereabouts) -> float:
    """Return the mean reward of a try."""
    mean: float = here.earned[_TOTAL] / here.earned[_N]
    return mean


@inlined
def is_enough(params: Params, here: Whereabouts, priority: float) -> bool:
    """Return whether a backup of this priority is made.

    The priority is negative if there is no backup to make.
    """
    if priority <= params.min_priority:
        return False
    return is_worth_it(params, priority, mean_reward(here))


@inlined
def continues(params: Params, here: Whereabouts, priority: float, rng: np.random.Generator) -> bool:
    """Return whether a pause continues with a backup of this priority."""
    return is_enough(params, here, priority) and not is_over_by_chance(params, rng)


@inlined
def link_episodes(params: Params, here: Whereabouts, chain: MarkovChain, pause: Pause) -> None:
    """Link the end of an episode to the start of the next one.

    An end without any link is first linked to the start of its own episode.
    """
    moment = here.moment
    if pause.phase == EPISODE_END:
        moment[_END] = pause.state if pause.terminated else -1
        if moment[_END] >= 0 and chain.first_out[pause.state] < 0:
            move(chain, pause.state, moment[_FIRST], 1.0)
        moment[_FIRST] = -1
    elif pause.phase == START and moment[_END] >= 0:
        move(chain, moment[_END], pause.state, params.transition_rate)


@inlined
def need_origin(params: Params, here: Whereabouts, pause: Pause) -> int:
    """Return the state from which need is computed at a pause.

    It is -1 if nothing is replayed in this pause.
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
