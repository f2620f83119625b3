"""S0 to S14: statistics of replay, from tables of sequences to one row per animal and a summary.

`analyses.measures.animals.replays_of` makes the tables of some animals, simulated or recorded, and
``replays.detected(detection)`` drops the sequences that a study would not have detected.
``STATISTICS[name].compute(replays)`` returns one row per animal, and
`analyses.measures.summary.over_animals` summarises them in one row. Each file has the statistics of
one question, with their units, their nulls and the studies that defined them:

======================================  ===========================================================
file                                    question
======================================  ===========================================================
`chance` (S0)                           Does replay have any order?
`directions` (S1, S13, S14)             Is it forward or reverse?
`wells` (S2, S8_taken)                  Does it follow paths just run, or about to be run?
`locality` (S3)                         Is it near the animal?
`rewards` (S4)                          Does it follow rewards?
`recency` (S5, S8_future_arm)           Does it favour what was run recently?
`novelty` (S6)                          Does it follow paths that were never run?
`walls` (S7)                            Does it respect walls?
`goals` (S8)                            Does it lead to the goal, and does the animal follow?
`walks` (S9)                            How far does it get?
`familiarity` (S10, S11)                How does it change with experience?
`utility` (S12)                         Does it occur where need and gain are high?
======================================  ===========================================================

They count *place sequences*, which an electrode would see in a model or in a rat, or else causal
chains, the mechanism of a model: ``replays.counts`` says which. A place sequence may turn round and
be forward in one part and backward in another; its `direction` is then ``mixed``, and statistics of
forward and reverse sequences ignore it. Where a task lacks a landmark that a statistic needs, the
value is NaN:

==========================================  =====================================================
landmarks                                   statistics that need them
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

Blocks say where rewards are (S4) and which moves are closed (S7). The names of laps give the side
(``left`` and ``right``, S5), the goal (``home``, S8) and the laps in which the animal only looked
along an arm (``look...``, S11); S8 reads the columns `goal` and `second` (the state entered first)
of the laps, and S5_past_arm also reads `goal`.
"""

from analyses.measures.chance import CHANCE_STATISTICS
from analyses.measures.directions import DIRECTION_STATISTICS
from analyses.measures.familiarity import FAMILIARITY_STATISTICS
from analyses.measures.goals import GOAL_STATISTICS
from analyses.measures.locality import LOCALITY_STATISTICS
from analyses.measures.novelty import NOVELTY_STATISTICS
from analyses.measures.recency import RECENCY_STATISTICS
from analyses.measures.replays import Replays, Statistic
from analyses.measures.rewards import REWARD_STATISTICS
from analyses.measures.utility import UTILITY_STATISTICS
from analyses.measures.walks import WALK_STATISTICS
from analyses.measures.walls import WALL_STATISTICS
from analyses.measures.wells import WELL_STATISTICS
from replay.checks import Named

__all__ = ["STATISTICS", "Replays", "Statistic"]

_QUESTIONS = [CHANCE_STATISTICS, DIRECTION_STATISTICS, WELL_STATISTICS, LOCALITY_STATISTICS]
_QUESTIONS += [REWARD_STATISTICS, RECENCY_STATISTICS, NOVELTY_STATISTICS, WALL_STATISTICS]
_QUESTIONS += [GOAL_STATISTICS, WALK_STATISTICS, FAMILIARITY_STATISTICS, UTILITY_STATISTICS]

STATISTICS: Named[Statistic] = Named(
    "statistic",
    sorted(
        (entry for question in _QUESTIONS for entry in question.items()),
        key=lambda entry: int(entry[0].split("_")[0].removeprefix("S")),
    ),
)
"""Name -> statistic, in the order of the codes S0 to S14 in the table of findings."""
