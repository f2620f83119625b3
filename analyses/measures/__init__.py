"""Statistics of replay, from tables of sequences to one row per animal and a summary.

`analyses.measures.animals.replays_of` makes the tables of some animals, simulated or recorded, and
``replays.detected(detection)`` drops the sequences that a study would not have detected.
``STATISTICS[name].compute(replays)`` returns one row per animal, and
`analyses.measures.animals.over_animals` summarises them in one row. Each file has the statistics
of one question, with their units, their nulls and the studies that defined them:

=============  =====================================================================================
file           question
=============  =====================================================================================
`chance`       Does replay have any order, and how far does it get?
`directions`   Is it forward or reverse, and along which paths at wells?
`places`       Is it near the animal?
`rewards`      Does it follow rewards?
`recency`      Does it favour what was run recently, or not yet, or what is run next?
`novelty`      Does it follow paths that were never run, and respect walls?
`goals`        Does it lead to the goal, and occur where need and gain are high?
=============  =====================================================================================

To add one, write a function with a docstring that says what the statistic and its null are, and an
entry in the table at the end of its file; a new file is listed here.

They count *place sequences*, which an electrode would see in a model or in a rat, or else causal
chains, the mechanism of a model: ``replays.counts`` says which. A place sequence may turn round and
be forward in one part and backward in another; its `direction` is then ``mixed``, and statistics of
forward and reverse sequences ignore it. Where a task lacks a landmark that a statistic needs, the
value is NaN:

==========================================  =====================================================
landmarks                                   statistics that need them
==========================================  =====================================================
``left_loop, right_loop`` (or ``..._arm``)  those of sides, and ``paired_shortcut_share``
``centre_well, left_well, right_well``      those of paths at wells
``shortcut...``                             ``shortcut_share, paired_shortcut_share``
``arm1, arm2 ...`` (or ``arm_a ...``)       ``in_another_arm``, rates of arms
``wells``, ``goal``                         those of walls and goals
``cued_arm, uncued_arm``                    those of unvisited arms
``starts, ends``                            those of need and gain
``first_chain, second_chain``               those of paid sequences
==========================================  =====================================================

Blocks say where rewards are (`rewards`) and which moves are closed (`novelty`). The names of laps
give the side (``left`` and ``right``), the goal (``home``) and the laps in which the animal only
looked along an arm (``look...``); `goals` reads the columns `goal` and `second` (the state entered
first) of the laps, and ``past_arm_rate`` also reads `goal`.
"""

from analyses.measures.chance import CHANCE_STATISTICS, WALK_STATISTICS
from analyses.measures.directions import DIRECTION_STATISTICS, WELL_STATISTICS
from analyses.measures.goals import GOAL_STATISTICS, UTILITY_STATISTICS
from analyses.measures.novelty import NOVELTY_STATISTICS, WALL_STATISTICS
from analyses.measures.places import LOCALITY_STATISTICS
from analyses.measures.rates import RATE_STATISTICS
from analyses.measures.recency import RECENCY_STATISTICS, UNVISITED_STATISTICS
from analyses.measures.replays import Replays, Statistic
from analyses.measures.rewards import REWARD_STATISTICS
from replay.checks import Named

__all__ = ["QUESTIONS", "STATISTICS", "Replays", "Statistic"]

QUESTIONS: dict[str, dict[str, Statistic]] = {
    "order": CHANCE_STATISTICS,
    "direction": DIRECTION_STATISTICS,
    "wells": WELL_STATISTICS,
    "locality": LOCALITY_STATISTICS,
    "rewards": REWARD_STATISTICS,
    "recency": RECENCY_STATISTICS,
    "novelty": NOVELTY_STATISTICS,
    "walls": WALL_STATISTICS,
    "goals": GOAL_STATISTICS,
    "walks": WALK_STATISTICS,
    "rates": RATE_STATISTICS,
    "unvisited": UNVISITED_STATISTICS,
    "utility": UTILITY_STATISTICS,
}
"""Question -> name -> statistic."""

STATISTICS: Named[Statistic] = Named(
    "statistic", (entry for question in QUESTIONS.values() for entry in question.items())
)
"""Name -> statistic."""

__doc__ += "\n\n" + "\n".join(
    f"``{name}``: {each.label}\n    {each.definition}" for name, each in STATISTICS.items()
)
