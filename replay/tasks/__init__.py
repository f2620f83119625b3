"""Tasks: the mazes of experiments with their protocols, for simulated animals.

A task is a graph of places, a few rules, and a protocol. From graph and rules `explore` finds the
states that a learner needs: a place, a heading on tracks that are run in both directions, a memory
where a rule needs one. The protocol is a Python generator that yields one `Lap` after the other and
receives the states of each lap as it was run, so that the next one may depend on it. `run_task`
lets one animal go through the protocol, either along given laps, so that all learners replay after
the same experience, or as its learner acts. The log and the table of laps contain the states that
the analyses see, places with their heading.

Where laps follow known routes in turn, `task_of_routes` supplies the protocol. A track with a
reward that moves from one end to the other:

>>> import networkx as nx
>>> track = nx.path_graph(["a", "b", "c", "d"])
>>> nx.set_node_attributes(track, {node: (25.0 * k, 0.0) for k, node in enumerate("abcd")}, "pos")
>>> task = task_of_routes(
...     "moving_end", track, {"out": "abcd", "in": "dcba"},
...     [Block("far", 10, ("out", "in"), {"d": 1.0}, n_rest=5),
...      Block("near", 10, ("out", "in"), {"a": 1.0}, n_rest=5)],
...     home="a",
... )
>>> animal = run_task(task, "prioritized_sweeping", seed=1)
>>> animal.laps.groupby(["block", "lap"])["reward"].mean().round().to_dict()
{('far', 'in'): 0.0, ('far', 'out'): 1.0, ('near', 'in'): 1.0, ('near', 'out'): 0.0}

A custom protocol: on a T, the food is on the side that was not visited last.

>>> t_maze = nx.Graph([("start", "fork"), ("fork", "left"), ("fork", "right")])
>>> places = {"start": (0, 0), "fork": (0, 25), "left": (-25, 25), "right": (25, 25)}
>>> nx.set_node_attributes(t_maze, places, "pos")
>>> sides = ("left", "right")
>>> rules = [Rule(("start",), sides, ((food, 1.0),), memory=last)
...          for last, food in zip(sides, reversed(sides))]
>>> def alternate(task, rng):
...     last = "left"
...     for block in task.blocks:
...         for _ in range(block.n_laps):
...             food = sides[last == "left"]
...             path = task.model.walk(["start", "fork", food], memory=last)
...             world = task.model.world(rules, start=path[0])
...             run = yield Lap(world, path[0], path, block.name, food)
...             last = task.model.states[run[-1]].node
>>> task = Task("alternation", explore(t_maze, rules), alternate, (Block("all", 30),))
>>> run_task(task, "q_learning", seed=1).laps["reward"].round().mean()
np.float64(1.0)
>>> bool(run_task(task, "q_learning", seed=1, behaviour="own").laps["reward"].tail(10).mean() > 0.6)
True
"""

from replay.tasks.places import Places, Rule, State, explore
from replay.tasks.routes import (
    both_directions,
    random_walk,
    shortest_path,
    task_of_routes,
    without_edges,
)
from replay.tasks.runs import BEHAVIOURS, GivenLaps, TaskRun, give_laps, replay_laps, run_task
from replay.tasks.task import Block, Lap, Laps, Task

__all__ = ["BEHAVIOURS", "Block", "GivenLaps", "Lap", "Laps", "Places", "Rule", "State", "Task"]
__all__ += ["TaskRun", "both_directions", "explore", "give_laps", "random_walk", "replay_laps"]
__all__ += ["run_task", "shortest_path", "task_of_routes", "without_edges"]
