"""Models of hippocampal replay: worlds, learners, and a log of every backup.

In short: make a world (:class:`MDP`, :func:`from_ascii`, :func:`random_maze`, or the builders in
:mod:`replay.worlds`), let a learner act in it (:func:`simulate`) or learn from recorded experience
(:func:`feed`), or let it go through the task of an experiment (:func:`run_task`), and read the
:class:`EventLog` that this gives. Nothing is imported before it is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from replay.version import __version__

if TYPE_CHECKING:
    from replay.demands import count_demands
    from replay.experiments import EXPERIMENTS
    from replay.learners import LEARNERS
    from replay.log.event_log import EventLog, LogError
    from replay.simulation import Run, feed, simulate, sweep
    from replay.tasks import run_task
    from replay.tasks.published import TASKS, find_task
    from replay.worlds.changing_worlds import WORLDS
    from replay.worlds.mazes import from_ascii, random_maze
    from replay.worlds.mdp import MDP
    from replay.worlds.protocols import Phase, Protocol

__all__ = [
    "EXPERIMENTS",
    "LEARNERS",
    "MDP",
    "TASKS",
    "WORLDS",
    "EventLog",
    "LogError",
    "Phase",
    "Protocol",
    "Run",
    "__version__",
    "count_demands",
    "feed",
    "find_task",
    "from_ascii",
    "random_maze",
    "run_task",
    "simulate",
    "sweep",
]

_ROOMS = {
    "EXPERIMENTS": "experiments",
    "LEARNERS": "learners",
    "MDP": "worlds.mdp",
    "TASKS": "tasks.published",
    "WORLDS": "worlds.changing_worlds",
    "EventLog": "log.event_log",
    "LogError": "log.event_log",
    "Phase": "worlds.protocols",
    "Protocol": "worlds.protocols",
    "Run": "simulation",
    "count_demands": "demands",
    "feed": "simulation",
    "find_task": "tasks.published",
    "from_ascii": "worlds.mazes",
    "random_maze": "worlds.mazes",
    "run_task": "tasks",
    "simulate": "simulation",
    "sweep": "simulation",
}


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        found = getattr(import_module(f"replay.{_ROOMS[name]}"), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
