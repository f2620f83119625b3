"""An account is found from the spikes of an animal that replays by it."""

import numpy as np
import pytest
from explained_spikes import banks, recorded, recorded_laps, row_of, shown, simulated

from analyses.inference.animals import replaying_animals
from analyses.inference.decoding import KnownReplay
from analyses.recordings.recover.known_replay import known_replay

pytestmark = pytest.mark.slow

MOST = 200  # sequences
FEW = ("episodic_control", "dyna_q", "context_reactivation", "trajectory_sampling")


def test_accounts_are_found_from_spikes():
    """Simulated animals lose what known replay loses in the same recording."""
    laps = recorded_laps("w_track")
    bank = banks(laps, 20, 51, FEW)
    n_right = 0
    for name in FEW[:3]:
        [(_, true, _)] = simulated(laps, name, range(1), 1, 50)
        true = true.take(np.arange(min(MOST, len(true.lap))))
        found = recorded(laps, true, 50)
        [animal] = replaying_animals(found.experience, found.visited, rewards=laps.rewards)
        assert 10 < len(animal.replayed.lap) < MOST
        known = KnownReplay.of(known_replay(found.session, found))
        n_right += row_of(laps, name, animal.replayed, shown(bank, known.seen, 0), 0)["is_right"]
    assert n_right == 3
