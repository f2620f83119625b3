"""Whatever public function a user calls with nonsense: it is told in a sentence of ours.

A few inputs for some entry points on each push; every night, or with ``MALFORMED_INPUTS``, as many
for all of them together.
"""

import os
import random
import tempfile

import matplotlib as mpl
import pytest
from entry_points import entry_points, failures, valid_call

from replay.checks import shown

N_INPUTS = int(os.environ.get("MALFORMED_INPUTS", 30_000))
SLOW = (
    *("find_replay", "plot_event", "compare", "observe", "replays_of", "recorded_shares"),
    *("recovery", "recorded_statistics", "run_task", "known_paths", ".explain"),
)
"""Entry points whose examples take seconds; they are called every night, and less often."""
SLOWNESS = 6
FIRST = (
    *("replay.worlds.mdp", "replay.worlds.protocols", "replay.worlds.mazes", "replay.worlds.trees"),
    *("replay.log", "replay.simulation", "replay.learners", "replay.tasks", "analyses.sequences"),
)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    """Files are read and written where nothing else is, and go with the test's folder."""
    mpl.use("Agg")
    folder = tmp_path / "a" / "b" / "c"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))


def told(names, n_inputs, seed):
    """Call entry points; list what was not refused in a sentence, and should have been."""
    return [
        f"{name}({', '.join(f'{key}={shown(value)}' for key, value in options.items())}): {why}"
        for name in names
        for name, why, options in failures(name, n_inputs, seed)
    ]


def test_the_faces_are_among_the_entry_points():
    names = {name.rpartition(".")[2] for name in entry_points()}
    assert {"simulate", "feed", "sweep", "EventLog", "classify", "place_sequences"} <= names
    assert len(names) > 150


def test_nonsense_for_any_entry_point_is_told():
    """Always for those that every user meets, and for some of the others."""
    names = [name for name in sorted(entry_points()) if not name.endswith(SLOW)]
    chosen = [name for name in names if name.startswith(FIRST)]
    others = [name for name in names if name not in chosen]
    chosen += random.Random(0).sample(others, 20)
    assert sum(valid_call(name) is not None for name in chosen) > len(chosen) - 5
    assert told(chosen, 8, seed=1) == []


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_nonsense_for_every_entry_point_is_told(part):
    """Nothing hangs, nothing ends in Python's own words, and nothing odd is taken."""
    names = sorted(entry_points())
    n_slow = sum(name.endswith(SLOW) for name in names)
    n_inputs = N_INPUTS // (len(names) - n_slow + n_slow // SLOWNESS)
    seed = random.SystemRandom().getrandbits(32)
    untold = []
    for name in names[part::10]:
        n = n_inputs // SLOWNESS if name.endswith(SLOW) else n_inputs
        untold += told([name], n, seed)
    assert not untold, "\n".join([f"With seed {seed}:", *untold])
