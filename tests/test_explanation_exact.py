"""Likelihood and classifier against exact probabilities, where every path can be enumerated."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from analyses.inference import model_choice
from analyses.inference.animals import replaying_animals
from analyses.inference.features import replay_features
from analyses.inference.likelihood import path_bits
from analyses.inference.model_choice import ModelChoice, Simulations
from analyses.inference.replayed import Replayed
from analyses.sequences.sequences import Lists
from replay.log.event_log import EventLog

LAP = [0, 1, 2, 3]
NEIGHBOURS = {0: [1], 1: [0, 2], 2: [1, 3], 3: [2]}
STOP = 0.3


@pytest.fixture(scope="module")
def places():
    """Of a line of four places, run once from the first to the last."""
    steps = pd.DataFrame([*pairwise(LAP)], columns=["state", "next_state"])
    steps = steps.assign(reward=0.0, terminated=steps["next_state"] == 3)
    paths = pd.DataFrame({"step": [2], "states": [LAP]})
    [rat] = replaying_animals(EventLog({"steps": steps.assign(reward=1.0)}), paths)
    return rat.places


def replayed(paths):
    n = len(paths)
    no = np.zeros(n, dtype=np.int64)
    unknown = Lists.of(np.zeros(len(path)) for path in paths)
    return Replayed(no.astype(np.int32), no, no.astype(np.int8), no.astype(np.int32),
                    Lists.of(paths), np.arange(n), unknown)  # fmt: skip


def chances(ahead, here):
    """Of each neighbour, for an account that moves ahead with a probability of `ahead`."""
    weights = np.array([ahead if there > here else 1 - ahead for there in NEIGHBOURS[here]])
    return weights / weights.sum()


def walk(ahead, rng):
    path = [int(rng.integers(4))]
    while rng.random() > STOP:
        path.append(int(rng.choice(NEIGHBOURS[path[-1]], p=chances(ahead, path[-1]))))
    return path


def exact(path, ahead):
    """Return log2 of the probability of a path, and that of any decision with the lapses."""
    with_lapses = np.log2(1 / 4)
    for here, there in pairwise(path):
        p = (1 - STOP) * chances(ahead, here)[NEIGHBOURS[here].index(there)]
        with_lapses += np.log2(0.98 * p + 0.02 / (1 + len(NEIGHBOURS[here])))
    return with_lapses + np.log2(0.98 * STOP + 0.02 / (1 + len(NEIGHBOURS[path[-1]])))


def all_paths(longest):
    paths = [[place] for place in range(4)]
    for path in paths:
        if len(path) < longest:
            paths += [[*path, there] for there in NEIGHBOURS[path[-1]]]
    return paths


def test_bits_of_every_path_are_exact_with_many_replicas(places):
    rng = np.random.default_rng(1)
    paths = all_paths(7)
    made = replayed([walk(0.8, rng) for _ in range(20_000)])
    bits = path_bits(made, replayed(paths), places)
    expected = np.array([exact(path, 0.8) for path in paths])
    assert np.average(np.abs(bits - expected), weights=2.0**expected) < 0.03
    other = np.array([exact(path, 0.3) for path in paths])
    assert np.average(np.abs(bits - other), weights=2.0**expected) > 0.5


def test_bits_of_decoded_paths_are_summed_over_all_that_were_replayed(places):
    """Against enumeration: each path of as many places, and the chance to read it as this one."""
    rng, wrong = np.random.default_rng(3), 0.25
    made, paths = replayed([walk(0.8, rng) for _ in range(300)]), all_paths(5)
    true = 2.0 ** path_bits(made, replayed(paths), places)
    seen = [[0, 1, 2], [3, 2, 1, 2], [2, 0], [1, 1, 1, 3, 0]]
    expected = []
    for read in seen:
        same = [[place == there for place, there in zip(path, read, strict=True)]
                if len(path) == len(read) else [] for path in paths]  # fmt: skip
        chance = [np.prod(np.where(each, 1 - wrong, 0) + wrong / 4) * bool(each) for each in same]
        expected.append(np.log2(np.dot(chance, true)))
    found = path_bits(made, replayed(seen), places, wrong)
    assert found == pytest.approx(expected, abs=1e-9)


def test_what_was_read_wrong_is_told_by_decoded_paths(places):
    """Two walks read with a fifth of places wrong: more are told than if that is ignored."""
    rng, n, wrong = np.random.default_rng(4), 400, 0.2
    walks = {ahead: replayed([walk(ahead, rng) for _ in range(5000)]) for ahead in (0.9, 0.5)}
    paths, truth = [], []
    for ahead in walks:
        for _ in range(n):
            path = np.array(walk(ahead, rng))
            misread = rng.random(len(path)) < wrong
            path[misread] = rng.integers(4, size=misread.sum())
            paths.append(path.tolist())
            truth.append(ahead)
    seen, truth = replayed(paths), np.array(truth)
    bits = {ahead: path_bits(made, seen, places, wrong) for ahead, made in walks.items()}
    p = 1 / (1 + 2.0 ** (bits[0.5] - bits[0.9]))
    for low, high in ((0.0, 0.4), (0.4, 0.6), (0.6, 1.0)):  # calibrated
        inside = (p > low) & (p <= high)
        assert abs(np.mean(truth[inside] == 0.9) - p[inside].mean()) < 0.08
    assert np.mean(p[truth == 0.9]) > 0.55 > 0.45 > np.mean(p[truth == 0.5])


def test_probabilities_of_all_paths_are_one(places):
    """Whatever was simulated, and however little: nothing is lost, and nothing counted twice."""
    made = replayed([[3, 2, 1, 0], [0, 1], [2, 3, 2], [3]])
    paths = all_paths(18)
    total = (2.0 ** path_bits(made, replayed(paths), places)).sum()
    assert 0.98 < total <= 1 + 1e-9


def test_probabilities_of_accounts_are_near_the_exact_posterior(places, monkeypatch):
    """Animals with six paths of two walks, half of them each."""
    monkeypatch.setattr(model_choice, "_N_TREES", 60)
    rng = np.random.default_rng(2)
    n, ahead = 120, {"ahead": 0.75, "back": 0.3}
    rows, posterior = [], []
    for account in ahead:
        for _ in range(n):
            paths = []
            while len(paths) < 6:
                path = walk(ahead[account], rng)
                if len(path) > 1:  # the chance of which is the same for both
                    paths.append(path)
            rows.append(replay_features(replayed(paths), places))
            bits = [exact(path, ahead["ahead"]) - exact(path, ahead["back"]) for path in paths]
            posterior.append(expit(np.log(2) * sum(bits)))
    truth = np.repeat(np.array(["ahead", "back"], dtype=object), n)
    choice = ModelChoice(Simulations(truth, np.tile(np.arange(n), 2), pd.DataFrame(rows)))
    found, posterior = choice.unseen[:, 0], np.array(posterior)
    assert np.mean((posterior > 0.1) & (posterior < 0.9)) > 0.1  # some animals are in doubt
    assert np.corrcoef(found, posterior)[0, 1] > 0.85
    assert abs(found.mean() - posterior.mean()) < 0.05

    def surprise(p):
        return -np.mean(np.log(np.where(truth == "ahead", p, 1 - p)))

    assert surprise(posterior) - 0.02 < surprise(found) < surprise(posterior) + 0.15
