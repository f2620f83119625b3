"""The pauses in which a learner makes its backups.

Learners keep the index of a name in ``MOMENTS``, one of the constants below.
"""

from replay.jit import inlined
from replay.log.backups import EPISODE_END, REST, START, STEP

__all__ = ["ALWAYS", "EACH_STEP", "END", "END_AND_REST", "IN_PAUSES", "IN_REST", "MOMENTS"]
__all__ += ["START_AND_END", "STEP_AND_REST", "is_due", "most_pauses", "phases_of"]

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
    """Return whether a learner that replays at these moments does so in a pause of this phase.

    Examples
    --------
    >>> is_due(START_AND_END, EPISODE_END), is_due(START_AND_END, STEP)
    (True, False)
    """
    if phase == REST:
        return moment >= IN_REST
    if phase == EPISODE_END:
        return moment != IN_REST
    if phase == START:
        return moment in (START_AND_END, IN_PAUSES, ALWAYS)
    return moment in (EACH_STEP, STEP_AND_REST, ALWAYS)


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
    return 2 if moment in (START_AND_END, IN_PAUSES, ALWAYS) else 1
