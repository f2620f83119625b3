"""S0 to S14: statistics of replay, from tables of sequences to one row an animal and one in all.

`analyses.measures.animals.replays_of` makes the tables of some animals, simulated or recorded, and
``replays.detected(detection)`` leaves out what a study would not have counted.
``STATISTICS[name].compute(replays)`` gives one row an animal, and
`analyses.measures.summary.over_animals` puts these into one. Each file has the statistics of one
question, with their units, nulls and the studies that defined them:

======================================  ===========================================================
file                                    question
======================================  ===========================================================
`chance` (S0)                           Does replay have any order?
`directions` (S1, S13, S14)             Is it forward or reverse?
`wells` (S2, S8_taken)                  Does it follow paths just run, and paths to be run?
`locality` (S3)                         Is it near the animal?
`rewards` (S4)                          Does it follow rewards?
`recency` (S5, S8_future_arm)           Is it of what was run lately?
`novelty` (S6)                          Is it of paths that were never run?
`walls` (S7)                            Does it heed walls?
`goals` (S8)                            Does it lead to the goal, and does the animal follow?
`walks` (S9)                            How far does it get?
`familiarity` (S10, S11)                How does it change with experience?
`utility` (S12)                         Is it where need and gain are high?
======================================  ===========================================================

They count *place sequences*, what an electrode would see in a model or in a rat, or else causal
chains, the mechanism of a model: ``replays.counts`` says which. A place sequence may turn round,
and go forward in one part and backward in another; `direction` is then ``mixed``, and who counts
forward and reverse sequences leaves it out. Where a task lacks what a statistic needs, the value is
NaN:

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
"""All statistics, by the number that they have in the table of findings; parts have a name too."""
