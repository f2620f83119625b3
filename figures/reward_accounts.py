"""What accounts of replay predict where reward is raised, beside what rats replayed.

Usage: ``python figures/reward_accounts.py [data/retest]``
"""

import sys
from pathlib import Path

from analyses.jobs.results import Results
from analyses.plots import save

sys.path.append(str(Path(__file__).parents[1] / "tests" / "verification"))
from reward_accounts_figures import reward_accounts_figure

results = Results(sys.argv[1] if len(sys.argv) > 1 else "results")
tables = (results.read(f"reward_{name}.csv") for name in ("predictions", "fit"))
save(reward_accounts_figure(*tables), results.folder / "figures" / "reward_accounts")
