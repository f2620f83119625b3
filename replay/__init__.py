"""Models of hippocampal replay: worlds, learners, and a log of every backup.

All functions check what they are given. A wrong type raises a TypeError, a wrong value a ValueError
whose message says what was expected, what came, and what to do.
"""

from typing import TYPE_CHECKING

from replay.lazy import offered
from replay.version import __version__ as __version__

if TYPE_CHECKING:
    from replay.learners import LEARNERS as LEARNERS
    from replay.log.event_log import EventLog as EventLog
    from replay.log.parquet import LogError as LogError
    from replay.simulation import Run as Run
    from replay.simulation import feed as feed
    from replay.simulation import simulate as simulate
    from replay.simulation import sweep as sweep
    from replay.tasks import run_task as run_task
    from replay.tasks.published import TASKS as TASKS
    from replay.tasks.published import find_task as find_task
    from replay.worlds.mazes import from_ascii as from_ascii
    from replay.worlds.mazes import random_maze as random_maze
    from replay.worlds.mdp import MDP as MDP
    from replay.worlds.protocols import Phase as Phase
    from replay.worlds.protocols import Protocol as Protocol

__getattr__, __dir__, __all__ = offered(__name__)
