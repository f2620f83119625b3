"""Models of hippocampal replay: worlds, learners, and a log of every backup."""

from typing import TYPE_CHECKING

from replay.lazy import offered
from replay.version import __version__

if TYPE_CHECKING:
    from replay.learners import LEARNERS
    from replay.log.event_log import EventLog, LogError
    from replay.simulation import Run, feed, simulate, sweep
    from replay.tasks import run_task
    from replay.tasks.published import TASKS, find_task
    from replay.worlds.mazes import from_ascii, random_maze
    from replay.worlds.mdp import MDP
    from replay.worlds.protocols import Phase, Protocol

__all__ = ["LEARNERS", "MDP", "TASKS", "EventLog", "LogError", "Phase", "Protocol", "Run"]
__all__ += ["__version__", "feed", "find_task", "from_ascii", "random_maze", "run_task"]
__all__ += ["simulate", "sweep"]

_ROOMS = {"learners": "LEARNERS", "log.event_log": "EventLog LogError", "tasks": "run_task"}
_ROOMS |= {"simulation": "Run feed simulate sweep", "tasks.published": "TASKS find_task"}
_ROOMS |= {"worlds.mazes": "from_ascii random_maze", "worlds.mdp": "MDP"}
_ROOMS |= {"worlds.protocols": "Phase Protocol"}
__getattr__, __dir__ = offered(__name__, _ROOMS)
