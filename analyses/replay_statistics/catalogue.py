"""All statistics by name."""

from analyses.replay_statistics.chance import CHANCE
from analyses.replay_statistics.choices import CHOICES
from analyses.replay_statistics.directions import DIRECTIONS
from analyses.replay_statistics.experience import EXPERIENCE
from analyses.replay_statistics.novelty import NOVELTY
from analyses.replay_statistics.places import PLACES
from analyses.replay_statistics.recency import RECENCY
from analyses.replay_statistics.replays import Statistic
from analyses.replay_statistics.rewards import REWARDS
from analyses.replay_statistics.utility import UTILITY
from analyses.replay_statistics.walks import WALKS
from analyses.replay_statistics.walls import WALLS

__all__ = ["STATISTICS"]

_GROUPS = [CHANCE, DIRECTIONS, PLACES, REWARDS, RECENCY, NOVELTY]
_GROUPS += [WALLS, CHOICES, WALKS, EXPERIENCE, UTILITY]

STATISTICS: dict[str, Statistic] = dict(
    sorted(
        (entry for group in _GROUPS for entry in group.items()),
        key=lambda entry: int(entry[0].split("_")[0].removeprefix("S")),
    )
)
"""All statistics, by the number that they have in the table of findings; parts have a name too."""
