"""The pauses in which a learner makes its backups.

Learners keep the index of a name in ``MOMENTS``, one of the constants below.
"""

from replay.jit import inlined
from replay.log.backups import EPISODE_END, REST, START, STEP

__all__ = ["EACH_STEP", "END", "IN_PAUSES", "IN_REST", "MOMENTS", "START_AND_END", "is_due"]
__all__ += ["most_pauses", "phases_of"]

MOMENTS = ("step", "episode_end", "start_and_end", "rest", "pauses")
"""``step``: after every step, the last one of an episode included. ``episode_end``: after the last
step only. ``start_and_end``: then and at the next start. ``rest``: in periods of rest only.
``pauses``: at ends, at starts and in rest."""
EACH_STEP, END, START_AND_END, IN_REST, IN_PAUSES = range(5)


@inlined
def is_due(moment: int, phase: int) -> bool:
    """Return whether a learner that replays at these moments does so in a pause of this phase.

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
