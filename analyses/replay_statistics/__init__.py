"""S1 to S14: statistics of replay, from tables of chains to one row an animal, to one row in all.

``STATISTICS[name].compute(replays)`` takes the replays of one task, by one learner or from one
recording, and `summarise` puts what it gives into one tidy row. Chains are chosen by their least
number of different states (5, or 3) and by whether they follow the causes or the order of
execution. Landmarks of the task say what is a side, an arm, a well or a goal; where a task lacks
what a statistic needs, the value is NaN.
"""

from analyses.replay_statistics.choices import CHOICES
from analyses.replay_statistics.directions import DIRECTIONS
from analyses.replay_statistics.experience import EXPERIENCE, chains_by_lap
from analyses.replay_statistics.novelty import NOVELTY, opposite_pairs, shortcut_share
from analyses.replay_statistics.places import PLACES
from analyses.replay_statistics.recency import RECENCY
from analyses.replay_statistics.replays import Replays, Statistic
from analyses.replay_statistics.rewards import REWARDS
from analyses.replay_statistics.summary import summarise
from analyses.replay_statistics.utility import UTILITY
from analyses.replay_statistics.walks import WALKS
from analyses.replay_statistics.walls import WALLS

__all__ = ["STATISTICS", "Replays", "Statistic", "chains_by_lap", "opposite_pairs"]
__all__ += ["shortcut_share", "summarise"]

_GROUPS = [DIRECTIONS, PLACES, REWARDS, RECENCY, NOVELTY]
_GROUPS += [WALLS, CHOICES, WALKS, EXPERIENCE, UTILITY]

STATISTICS: dict[str, Statistic] = dict(
    sorted(
        (entry for group in _GROUPS for entry in group.items()),
        key=lambda entry: int(entry[0].split("_")[0].removeprefix("S")),
    )
)
"""All statistics, by the number that they have in the table of findings; parts have a name too."""
