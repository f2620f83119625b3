"""What an account of replay claims, in words: the row of a learner in the table of all of them."""

from typing import NamedTuple

from replay.log.backups import EPISODE_END, REST, START, STEP

__all__ = ["Account"]

_PAUSES = {STEP: "steps", EPISODE_END: "ends", START: "starts", REST: "rest"}


class Account(NamedTuple):
    """What a learner says of itself; its parameters may make a difference.

    Attributes
    ----------
    stores : str
        What it remembers.
    phases : tuple of int
        Phases of the pauses in which it may replay, of :mod:`replay.log.backups`; empty: never.
    priority : str
        What decides which backup comes next; empty if it never replays.
    source : str
        Authors and year of the papers that it follows, with commas between them.

    Examples
    --------
    >>> from replay.learners import find_learner
    >>> found = find_learner("prioritized_sweeping_reset")
    >>> account = found.module.account(found.params)
    >>> account.stores, account.pauses, account.priority
    ('a model of the episode', 'ends', 'largest change of V')
    """

    stores: str
    phases: tuple[int, ...]
    priority: str
    source: str

    @property
    def pauses(self) -> str:
        """When it replays, in words: after steps, at ends or starts of episodes, in rest."""
        return ", ".join(_PAUSES[phase] for phase in sorted(self.phases)) or "never"
