"""S1 to S14: statistics of replay, from tables of chains to one row an animal, to one row in all.

``STATISTICS[name].compute(replays)`` takes the replays of one task, by one learner or from one
recording, and `summarise` puts what it gives into one tidy row. Chains are chosen by their least
number of different states (5, or 3) and by whether they follow the causes or the order of
execution. Where a task lacks what a statistic needs, the value is NaN:

==========================================  =====================================================
landmarks                                   what they are for
==========================================  =====================================================
``left_loop, right_loop`` (or ``..._arm``)  sides: S1, S3, S5, S6_pairs, S2_taken, S8_taken
``centre_well, left_well, right_well``      S2, S8_taken
``shortcut...``                             S6_shortcut, S6_pairs
``arm1, arm2 ...`` (or ``arm_a ...``)       S3_remote_arm, S5_past_arm, S5_previous_goal
``wells``, ``goal``                         S7, S8
``cued_arm, uncued_arm``                    S11
``starts, ends``                            S12
``first_chain, second_chain``               S4_paid
==========================================  =====================================================

Blocks say where rewards are (S4) and which moves are closed (S7). Of laps, the names ``left`` and
``right`` tell the side (S5), ``home`` the goal (S8) and ``look...`` what was not run (S11); the
columns `goal` and `second` (the state entered first) are read by S8, `goal` by S5_past_arm too.
"""

from analyses.measures.catalogue import STATISTICS
from analyses.measures.experience import chains_by_lap
from analyses.measures.novelty import opposite_pairs, shortcut_share
from analyses.measures.replays import Replays, Statistic
from analyses.measures.summary import summarise

__all__ = ["STATISTICS", "Replays", "Statistic", "chains_by_lap", "opposite_pairs"]
__all__ += ["shortcut_share", "summarise"]
