"""Models of hippocampal replay: worlds, learners, and a log of every backup.

In short: make a world (:class:`MDP`, or the builders in :mod:`replay.worlds`), let a
learner act in it (:func:`simulate`) or learn from recorded experience (:func:`feed`), and read the
:class:`EventLog` that this gives.
"""

from replay.learners import LEARNERS
from replay.log.event_log import EventLog, LogError
from replay.simulation import Run, feed, simulate
from replay.version import __version__
from replay.worlds.mdp import MDP

__all__ = ["LEARNERS", "MDP", "EventLog", "LogError", "Run", "__version__", "feed", "simulate"]
