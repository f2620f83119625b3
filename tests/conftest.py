"""What all tests share: profiles of Hypothesis, who runs what, no figure left open."""

import os
import re
import sys

import hypothesis
import numpy as np
import pytest
from xdist.scheduler import LoadScopeScheduling

from replay import LEARNERS
from replay.learners import find_learner

os.environ["MPLBACKEND"] = "Agg"

# No deadline: the first example of a property compiles its kernels.
hypothesis.settings.register_profile("ci", deadline=None, max_examples=12)
hypothesis.settings.register_profile("nightly", deadline=None, max_examples=100)
hypothesis.settings.load_profile("ci")


class _ByLearner(LoadScopeScheduling):
    """Gives the tests of a learner to one process, which compiles it once, and others by file."""

    def _split_scope(self, nodeid):
        file, _, test = nodeid.partition("::")
        named = [part for part in re.split(r"[\[\]-]", test) if part in LEARNERS]
        return find_learner(named[0]).module.__name__ if named else file


def pytest_xdist_make_scheduler(config, log):
    return _ByLearner(config, log)


@pytest.fixture
def rng():
    return np.random.default_rng(20180624)


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
