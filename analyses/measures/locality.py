"""Where sequences begin and end, on which side of the maze they run, and in which arm.

References
----------
.. [1] Davidson, Kloosterman & Wilson (2009), Hippocampal replay of extended experience.
   https://doi.org/10.1016/j.neuron.2009.07.027
.. [2] Gupta, van der Meer, Touretzky & Redish (2010), Hippocampal replay is not a simple function
   of experience. https://doi.org/10.1016/j.neuron.2010.01.034
.. [3] Mallory, Widloski & Foster (2025), The time course and organization of hippocampal replay.
   https://doi.org/10.1126/science.ads4760
.. [4] Gillespie et al. (2021), Hippocampal replay reflects specific past experiences rather than a
   plan for subsequent choice. https://doi.org/10.1016/j.neuron.2021.07.029
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

from analyses.measures.animal_values import share
from analyses.measures.places import arms, between_nodes, main_arm, sides
from analyses.measures.replays import Replays, Statistic, chosen, directional, paths

__all__ = ["LOCALITY_STATISTICS"]


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
    "begins_at_animal": Statistic("sequences that begin near the animal", _local, is_share=True),
    "begins_elsewhere": Statistic(
        "sequences that begin elsewhere", partial(_local, remote=True), is_share=True
    ),
    "ends_at_animal": Statistic(
        "sequences that end near the animal", partial(_local, end="last"), is_share=True
    ),
    "on_other_side": Statistic(
        "sequences on the other side, of those on one side", _opposite, is_share=True
    ),
    "leads_away": Statistic("sequences that lead away from the animal", _away, is_share=True),
    "in_another_arm": Statistic(
        "sequences in another arm than the animal", _segment, is_share=True
    ),
    "in_another_arm_or_box": Statistic(
        "sequences in another arm or box than the animal",
        partial(_segment, with_box=True),
        is_share=True,
    ),
}
