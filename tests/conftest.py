"""What all tests share: no screen, no figure left open, one random generator."""

import os
import sys

import hypothesis
import numpy as np
import pytest

os.environ["MPLBACKEND"] = "Agg"

# The first example of a property compiles its kernels.
hypothesis.settings.register_profile("replay", deadline=None)
hypothesis.settings.load_profile("replay")


@pytest.fixture
def rng():
    return np.random.default_rng(20180624)


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
