"""Learners in the tasks of the experiments, and each published finding held against what they do.

`compare` does all of it. The work is cut into pieces, some animals of one learner in one task.
Pieces don't depend on one another, so any number of processes gives the same bytes; what is
finished is kept, and the same call goes on from there.
"""

from analyses.studies.comparison.cost import Cost
from analyses.studies.comparison.plan import Comparison, all_learners, plan_comparison
from analyses.studies.comparison.run import compare

__all__ = ["Comparison", "Cost", "all_learners", "compare", "plan_comparison"]
