"""S1 to S14: statistics of replay, from tables of chains to one row an animal, to one row in all.

``STATISTICS[name].compute(replays)`` takes the replays of one task, by one learner or from one
recording, and `summarise` puts what it gives into one tidy row. Chains are chosen by their least
number of different states (5, or 3) and by whether they follow the causes or the order of
execution. Landmarks of the task say what is a side, an arm, a well or a goal; where a task lacks
what a statistic needs, the value is NaN.
"""

from analyses.replay_statistics.catalogue import STATISTICS
from analyses.replay_statistics.experience import chains_by_lap
from analyses.replay_statistics.novelty import opposite_pairs, shortcut_share
from analyses.replay_statistics.replays import Replays, Statistic
from analyses.replay_statistics.summary import summarise

__all__ = ["STATISTICS", "Replays", "Statistic", "chains_by_lap", "opposite_pairs"]
__all__ += ["shortcut_share", "summarise"]
