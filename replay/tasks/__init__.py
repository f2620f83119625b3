"""Tasks: mazes with a protocol, through which simulated animals go."""

from replay.tasks.animals import BEHAVIOURS, TaskRun, run_task
from replay.tasks.places import Places, Rule, State, explore
from replay.tasks.routes import task_of_routes
from replay.tasks.task import Block, Lap, Laps, Task

__all__ = ["BEHAVIOURS", "Block", "Lap", "Laps", "Places", "Rule", "State", "Task", "TaskRun"]
__all__ += ["explore", "run_task", "task_of_routes"]
