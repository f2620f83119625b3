"""All statistics by name."""

from analyses.measures.chance import CHANCE
from analyses.measures.choices import CHOICES
from analyses.measures.directions import DIRECTIONS
from analyses.measures.experience import EXPERIENCE
from analyses.measures.novelty import NOVELTY
from analyses.measures.places import PLACES
from analyses.measures.recency import RECENCY
from analyses.measures.replays import Statistic
from analyses.measures.rewards import REWARDS
from analyses.measures.utility import UTILITY
from analyses.measures.walks import WALKS
from analyses.measures.walls import WALLS

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
