"""Tasks: mazes with a protocol, through which simulated animals go."""

from replay.tasks.animals import BEHAVIOURS, TaskRun, run_task
from replay.tasks.places import Places, Rule, State, explore
from replay.tasks.routes import task_of_routes
from replay.tasks.task import Block, Lap, Laps, Task
from replay.tasks.ways import both_ways, random_way, shortest_way, without

__all__ = ["BEHAVIOURS", "Block", "Lap", "Laps", "Places", "Rule", "State", "Task", "TaskRun"]
__all__ += ["both_ways", "explore", "random_way", "run_task", "shortest_way", "task_of_routes"]
__all__ += ["without"]
