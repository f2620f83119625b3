"""Landmarks, sides and arms; where sequences begin and end, on which side they run, in which arm.

References
----------
.. [1] Davidson, Kloosterman & Wilson (2009). https://doi.org/10.1016/j.neuron.2009.07.027
.. [2] Gupta, van der Meer, Touretzky & Redish (2010). https://doi.org/10.1016/j.neuron.2010.01.034
.. [3] Mallory, Widloski & Foster (2025). https://doi.org/10.1126/science.ads4760
.. [4] Gillespie et al. (2021). https://doi.org/10.1016/j.neuron.2021.07.029
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csgraph

from analyses.measures.replays import (
    Replays,
    Share,
    Statistic,
    at_lap,
    chosen,
    directional,
    is_one_of,
    laps_around,
    paths,
    share,
)
from analyses.sequences.sequences import Lists
from replay.checks.arrays import Bools, Floats, Int32s, Ints
from replay.jit import kernel

if TYPE_CHECKING:
    from replay.tasks import Task


_ARM = re.compile(r"arm(\d+|_\w)")
_LEAST_OF_ONE, _LEAST_OF_OTHER = 0.10, 0.05  # shares of a side, as in Gupta et al.


def landmark(task: Task, *names: str) -> Bools:
    """Return which analysed states lie in any of some landmarks; unknown ones are empty."""
    nodes = {node for name in names for node in task.landmarks.get(name, ())}
    return np.array([node in nodes for node in task.node], dtype=bool)


def between_nodes(task: Task) -> Floats:
    """Count the steps between places on the task's undirected graph, shape (n_places, n_places).

    Infinite where no path exists.
    """
    number = {node: i for i, node in enumerate(task.graph.nodes)}
    edges = nx.to_scipy_sparse_array(task.graph, nodelist=list(number), weight=None)
    steps: Floats = csgraph.shortest_path(edges, directed=False, unweighted=True)
    place = [number[node] for node in task.node]
    return steps[np.ix_(place, place)]


def covered(walked: Lists, inside: Bools) -> Ints:
    """Count how many different places of a set each sequence visits.

    `inside` flags the places of the set, shape (n_places,).
    """
    n_visited: Ints = np.zeros(len(walked.begin) - 1, dtype=np.int64)
    _cover(walked.flat, walked.begin, inside, n_visited)
    return n_visited


@kernel
def _cover(place: Int32s, begin: Ints, inside: Bools, n_visited: Ints) -> None:
    last_in = np.full(len(inside), -1)  # the last sequence that visited each place
    for sequence in range(len(n_visited)):
        for i in range(begin[sequence], begin[sequence + 1]):
            if inside[place[i]] and last_in[place[i]] != sequence:
                last_in[place[i]] = sequence
                n_visited[sequence] += 1


def own_sides(replays: Replays) -> tuple[Bools, Bools]:
    """Return which analysed states lie only on the left, and which only on the right.

    The landmarks are `left_loop, right_loop` or `left_arm, right_arm`.
    """
    left, right = (
        landmark(replays.task, f"{side}_loop", f"{side}_arm") for side in ("left", "right")
    )
    return left & ~right, right & ~left


def runs_on(left: Bools, right: Bools, walked: Lists) -> Ints:
    """Return on which side sequences run, by the rule of `sides`.

    -1 for left, 1 for right, 0 for neither; `left` and `right` are flags of places, as `own_sides`
    returns them.

    Examples
    --------
    >>> from analyses.sequences.sequences import Lists
    >>> walked = Lists.of([[0, 1], [1, 2], [3, 2]])
    >>> place = np.arange(4)
    >>> runs_on(place < 2, place >= 2, walked).tolist()
    [-1, 0, 1]
    """
    on_left, on_right = (covered(walked, side) / max(side.sum(), 1) for side in (left, right))
    runs = np.zeros(len(walked.begin) - 1, dtype=int)
    runs[(on_right > _LEAST_OF_ONE) & (on_left < _LEAST_OF_OTHER)] = 1
    runs[(on_left > _LEAST_OF_ONE) & (on_right < _LEAST_OF_OTHER)] = -1
    return runs


def sides(replays: Replays, sequences: pd.DataFrame) -> NDArray[np.str_]:
    """Return which sequences run on the animal's side of the maze, and which on the other.

    The animal's side is where it is or, where the sides meet, that of the lap it has just run. A
    sequence is on a side if it covers more than 10 % of it and less than 5 % of the other (Gupta et
    al. 2010). Each sequence is ``same``, ``opposite``, or empty.
    """
    left, right = own_sides(replays)
    own = (right.astype(int) - left)[sequences["place"].to_numpy()]
    before, _ = laps_around(replays, sequences)
    own = np.where(own == 0, at_lap(lap_side(replays), before, none=0), own)
    runs = runs_on(left, right, paths(replays, sequences))
    return np.select([runs * own > 0, runs * own < 0], ["same", "opposite"], "")


def lap_side(replays: Replays) -> Ints:
    """Return the side of each lap by its name: -1 for ``left``, 1 for ``right``, else 0."""
    name = replays.laps["lap"]
    return is_one_of(name, ["right"]).astype(int) - is_one_of(name, ["left"])


def side_run(replays: Replays) -> Ints:
    """Return the side on which each lap began or, if it began on neither, on which it ended.

    -1 for left, 1 for right, 0 for neither.
    """
    left, right = own_sides(replays)
    side = right.astype(int) - left
    start, end = (side[replays.laps[name].to_numpy(int)] for name in ("start", "end"))
    came: Ints = np.where(start != 0, start, end)
    return came


def arms(replays: Replays) -> Ints:
    """Return the arm of each analysed state; -1 for no arm.

    Arms are landmarks such as ``arm1`` or ``arm_a``, numbered from 0 in their order.
    """
    number = np.full(len(replays.task.node), -1)
    names = [name for name in replays.task.landmarks if _ARM.fullmatch(name)]
    for i, name in enumerate(names):
        number[landmark(replays.task, name)] = i
    return number


def main_arm(arm: Ints, walked: Lists) -> Ints:
    """Return the arm, a number of `arms`, where each sequence visits most states; -1 for none."""
    n_arms = int(arm.max()) + 1
    n_sequences = len(walked.begin) - 1
    if not n_arms or not n_sequences:
        return np.full(n_sequences, -1)
    visits = np.stack([covered(walked, arm == i) for i in range(n_arms)], axis=1)
    return np.where(visits.any(axis=1), visits.argmax(axis=1), -1)


def _local(replays: Replays, *, end: str = "first", remote: bool = False) -> pd.DataFrame:
    """Sequences that begin (or end) within the task's `local_radius` of the animal (share).

    Or, if `remote`, farther away. Null: the share of places there (Davidson et al. 2009).
    """
    sequences = chosen(replays, [end, "place"])
    near = between_nodes(replays.task) <= replays.task.local_radius
    place = sequences["place"].to_numpy()
    hits, chance = near[place, sequences[end]], near.mean(axis=1)[place]
    return share(replays, sequences, hits ^ remote, 1 - chance if remote else chance)


def _opposite(replays: Replays) -> pd.DataFrame:
    """Sequences on the other side, of those on one side (share; Gupta et al. 2010). Null: 0.5."""
    sequences = chosen(replays, ["place", "episode", "phase"])
    side = sides(replays, sequences)
    return share(replays, sequences[side != ""], side[side != ""] == "opposite", 0.5)


def _away(replays: Replays) -> pd.DataFrame:
    """Directional sequences that end farther from the animal than they begin (share). Null: 0.5.

    Among those whose two distances differ (Mallory et al. 2025). Sequences on a track that is not
    connected with the animal's track are left out.
    """
    sequences = directional(chosen(replays, ["first", "last", "place", "direction"]))
    steps, place = between_nodes(replays.task), sequences["place"].to_numpy()
    begin, end = steps[place, sequences["first"]], steps[place, sequences["last"]]
    joined = np.isfinite(begin) & np.isfinite(end)
    # The difference of two infinite distances would be no number; 0 is left out below.
    change = np.subtract(end, begin, out=np.zeros(len(begin)), where=joined)
    return share(replays, sequences[change != 0], change[change != 0] > 0, 0.5)


def _segment(replays: Replays, *, with_box: bool = False) -> pd.DataFrame:
    """Sequences in another arm than the animal, among those in an arm (share).

    If `with_box`, all places in no arm form another arm. Null: the share of the other arms
    (Gillespie et al. 2021).
    """
    sequences = chosen(replays, ["place"])
    arm = arms(replays)
    if with_box and (arm >= 0).any():
        arm = np.where(arm >= 0, arm, arm.max() + 1)
    here, there = arm[sequences["place"].to_numpy()], main_arm(arm, paths(replays, sequences))
    kept = there >= 0
    n_arms = max(int(arm.max(initial=-1)) + 1, 1)
    chance = np.where(here >= 0, 1 - 1 / n_arms, 1.0)
    return share(replays, sequences[kept], (there != here)[kept], chance[kept])


LOCALITY_STATISTICS: dict[str, Statistic] = {
    "begins_at_animal": Share("sequences that begin near the animal", _local),
    "begins_elsewhere": Share("sequences that begin elsewhere", partial(_local, remote=True)),
    "ends_at_animal": Share("sequences that end near the animal", partial(_local, end="last")),
    "on_other_side": Share("sequences on the other side, of those on one side", _opposite),
    "leads_away": Share("sequences that lead away from the animal", _away),
    "in_another_arm": Share("sequences in another arm than the animal", _segment),
    "in_another_arm_or_box": Share(
        "sequences in another arm or box than the animal", partial(_segment, with_box=True)
    ),
}
