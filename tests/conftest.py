"""What all tests share: profiles of Hypothesis, who runs what, no figure left open."""

import os
import sys

import hypothesis
import numpy as np
import pytest

from replay import LEARNERS
from replay.learners import find_learner

os.environ["MPLBACKEND"] = "Agg"

# No deadline: the first example of a property compiles its kernels.
hypothesis.settings.register_profile("ci", deadline=None, max_examples=30)
hypothesis.settings.register_profile("nightly", deadline=None, max_examples=100)
hypothesis.settings.load_profile("ci")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Give the tests of a learner to one process, which compiles it once, and so each file."""
    for item in items:
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        learner = parameters.get("learner")
        is_ours = isinstance(learner, str) and learner in LEARNERS
        group = find_learner(learner).module.__name__ if is_ours else item.nodeid.partition("::")[0]
        item.add_marker(pytest.mark.xdist_group(group))


@pytest.fixture
def rng():
    return np.random.default_rng(20180624)


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
