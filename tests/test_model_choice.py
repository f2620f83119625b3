"""Which account replayed: what becomes of known votes, and the test of misfit by hand."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from analyses.inference import model_choice
from analyses.inference.model_choice import ModelChoice, Simulations

LEAST = 0.001  # added to each vote


class Votes:
    """A forest whose votes are features; the last one numbers the draw, and must be new to it."""

    def __init__(self, *_, **__):
        pass

    def fit(self, values, truth, weight):
        self.known, self.classes_ = set(values[:, -1]), np.unique(truth)
        return self

    def predict_proba(self, values):
        assert not self.known & set(values[:, -1])
        return values[:, self.classes_]


@pytest.fixture
def choice(monkeypatch):
    """Of `a`, and of `b` and `c`, which look alike; 16, 24 and 32 draws of two animals each."""
    forest = SimpleNamespace(ExtraTreesClassifier=Votes)
    monkeypatch.setattr(model_choice, "forests", lambda: forest)
    n_draws, rng = np.array([16, 24, 32]), np.random.default_rng(1)
    truth = np.repeat([0, 1, 2], 2 * n_draws)
    scores = np.exp(rng.normal(np.array([[3, 0, 0], [0, 3, 3], [0, 3, 3]])[truth], 2))
    draw = np.concatenate([np.repeat(np.arange(n), 2) for n in n_draws])
    votes = pd.DataFrame(scores / scores.sum(axis=1, keepdims=True), columns=["a", "b", "c"])
    features = votes.assign(draw=100 * truth + draw)
    return ModelChoice(Simulations(np.array(["a", "b", "c"])[truth], draw, features))


def odds(votes):
    """Return the log odds of `a` against the others, from the votes."""
    one, *others = np.asarray(votes).T
    return np.log((one + LEAST) / (np.sum(others, axis=0) + LEAST))


def best_temperature(votes, truth, rows):
    """Try many: that under which the truth is most probable, each account counting alike."""
    signed = np.where(truth == 0, 1, -1) * odds(votes)
    tried = np.exp(np.linspace(-3, 2, 5001))
    weight = (rows / np.bincount(truth)[truth])[:, None]
    return tried[(weight * np.logaddexp(0, -signed[:, None] / tried)).sum(axis=0).argmin()]


def test_temperatures_are_those_of_the_other_draws(choice):
    features = choice.simulations.features.to_numpy()
    votes, draw = features[:, :3], features[:, 3]
    truth = (draw // 100).astype(int)
    assert choice.classes == [["a"], ["b", "c"]]
    assert choice.unseen.sum(axis=1) == pytest.approx(1.0)
    used = odds(votes) / np.log(choice.unseen[:, 0] / choice.unseen[:, 1])
    temperatures = np.unique(used.round(6))
    assert len(temperatures) == 4
    for temperature in temperatures:
        fold = np.isclose(used, temperature, atol=1e-5)
        assert not set(draw[fold]) & set(draw[~fold])
        assert [np.count_nonzero(truth[fold] == k) for k in range(3)] == [8, 12, 16]
        assert temperature == pytest.approx(best_temperature(votes, truth, ~fold), rel=2e-3)
    new = pd.DataFrame([[0.6, 0.3, 0.1, -1.0]], columns=choice.simulations.features.columns)
    [[one, other]] = choice.probabilities(new)
    found = np.log(0.601 / 0.401) / np.log(one / other)
    assert found == pytest.approx(best_temperature(votes, truth, np.ones(144)), rel=2e-3)


def test_what_is_said_of_known_votes(choice):
    """Counted animal by animal."""
    names, unseen = choice.simulations.account, choice.unseen
    sizes = {"a": 32, "b": 48, "c": 64}
    rows = list(zip(names, unseen, strict=True))
    right = [(p[0] > p[1]) == (name == "a") for name, p in rows]
    weight = np.array([1 / 3 / sizes[name] for name in names])
    told = choice.summary()
    assert told["recovered"] == pytest.approx(weight @ right)
    sure = unseen.max(axis=1) > 0.9
    assert 0 < told["sure"] < 1
    assert told["sure"] == pytest.approx(weight @ sure)
    assert told["right_if_sure"] == pytest.approx((weight * sure) @ right / (weight @ sure))
    # Bits against the 1 / 3 that each account had before; a class is shared by its accounts.
    own = [p[0] if name == "a" else p[1] / 2 for name, p in rows]
    assert told["account_bits"] == pytest.approx(weight @ np.log2(np.multiply(own, 3)))
    alone = [name == "a" and p[0] > 0.9 for name, p in rows]
    assert told["named"] == pytest.approx(weight @ alone) != 0.0
    table = choice.confusion().set_index(["truth", "found"])["share"]
    for name in "abc":
        own = [p[0] > p[1] for each, p in rows if each == name]
        shares = table[name][["a", "b or c"]].tolist()
        assert shares == pytest.approx([np.mean(own), 1 - np.mean(own)])

    votes = choice.simulations.features.to_numpy()
    expected = np.log((votes[:, 0] + LEAST) / (votes[:, 1] + votes[:, 2] + LEAST))
    assert choice.margin(["a"], ["b", "c"]) == pytest.approx(expected)


def test_without_an_account(choice):
    """Its animals are classified among the others, under the temperature of all."""
    classes, found = choice.without(["c"])
    assert classes == [["a"], ["b"]]
    features = choice.simulations.features
    votes, truth = features.to_numpy()[:, :3], (features["draw"] // 100).to_numpy(int)
    own = votes[truth == 2]
    scores = np.log(own[:, 0] + LEAST) - np.log(own[:, 1] + LEAST)
    used = scores / np.log(found[:, 0] / found[:, 1])
    assert used == pytest.approx(best_temperature(votes, truth, np.ones(144)), rel=2e-3)


def test_nothing_is_recovered_if_nothing_is_told_apart(choice):
    """Of `b` and `c` alone: no bit about which it is, no account named, and nothing tested."""
    known = choice.simulations
    alike = known.select(known.account != "a")
    one = ModelChoice(Simulations(alike.account, alike.draw, alike.features.drop(columns="a")))
    assert one.classes == [["b", "c"]]
    told = one.summary()
    assert (told.pop("account_bits"), told.pop("named")) == (0.0, 0.0)
    assert np.isnan([*told.values(), one.recovered_of_groups(3)]).all()
    assert len(told) == 4


def test_groups_of_two_by_enumeration(choice, monkeypatch):
    """Of all pairs of animals of an account, their evidence against the prior being added up."""
    monkeypatch.setattr(model_choice, "_N_GROUPS", 20_000)
    evidence = np.log(np.maximum(choice.unseen, LEAST) / [1 / 3, 2 / 3])
    one_more = evidence[:, 0] - evidence[:, 1]
    shares = []
    for name in "abc":
        own = one_more[choice.simulations.account == name]
        shares.append(np.mean((own[:, None] + own > 0) == (name == "a")))
    assert choice.recovered_of_groups(2) == pytest.approx(np.mean(shares), abs=0.005)


X = np.arange(10.0)


def line(monkeypatch, names, draw, x):
    """Animals on a line, and as many of `z` that differ in `y`."""
    monkeypatch.setattr(model_choice, "_N_TREES", 1)
    n, account = len(x), np.array([*names, *["z"] * len(x)], dtype=object)
    features = pd.DataFrame({"x": [*x, *[4.5] * n], "y": np.repeat([0.0, 20.0], n)})
    return ModelChoice(Simulations(account, np.array([*draw, *range(n)]), features))


@pytest.mark.parametrize(
    ("names", "draw", "x"),
    [
        (["a"] * 10, range(10), X),
        (["a", "b"] * 5, np.arange(10) // 2, X),
        (["a"] * 20, [*range(10)] * 2, np.tile(X, 2)),
    ],
    ids=["one account", "two of one class", "two animals of a draw"],
)
def test_misfit_by_hand(monkeypatch, names, draw, x):
    """Nothing is as far from its neighbours as the two ends; what is a little nearer, is third."""
    choice = line(monkeypatch, names, draw, x)
    rows = pd.DataFrame({"x": [-0.9, -1.1, 1.5, 20.0], "y": 0.0})
    assert choice.misfit(rows, ["a", "b"]) == pytest.approx([3 / 11, 1 / 11, 1, 1 / 11])


def test_misfit_weighs_features_by_the_spread_of_the_class(monkeypatch):
    """Of `y`, which does not vary in it, by a tenth of the spread of all: 1; of `x` by 2.87.

    The mean distances to the five nearest are 3 / 2.87 = 1.04 at the ends, 0.77 beside them and
    0.63 elsewhere; those of the rows are 0.68, 1.12, 0.95, 0.70 and 0.56.
    """
    choice = line(monkeypatch, ["a"] * 10, range(10), X)
    rows = pd.DataFrame({"x": [0.1, *[4.5] * 4], "y": [0.0, 1.0, 0.8, 0.5, 0.3]})
    expected = [5 / 11, 1 / 11, 3 / 11, 5 / 11, 1]
    assert choice.misfit(rows, ["a"]) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("one", "other", "p"),
    [
        ((3.5, 2.5), [1, 2, 5, 3, 4], 5 / 6),  # the ranks 3 and 4; the fourth has 3 and 5
        ((3.5, 0.5), [1, 2, 5, 3, 4], 1),  # the ranks 3 and 6
        ((3.5, 1.5), [1, 2, 5, 3, 4], 1),  # the ranks 3 and 5, as the fourth
        ((3.0, 1.5), [5, 2, 1, 3, 4], 5 / 6),  # the ranks 4 and 5; the third has 4 and 6
    ],
)
def test_ranks_by_two_measures(monkeypatch, one, other, p):
    """The better rank of an animal decides, and then the other; an equal one counts as better."""
    choice = line(monkeypatch, ["a"] * 5, range(5), X[:5])
    found = iter([one[:1], [5, 4, 3, 2, 1], one[1:], other])
    monkeypatch.setattr(model_choice, "_nearest", lambda away: np.array(next(found), dtype=float))
    row = pd.DataFrame({"x": [0.0], "y": 0.0})
    assert choice.misfit(row, ["a"]) == pytest.approx([p])


def test_rounding_makes_no_animal_unusual(monkeypatch):
    """All animals of an account that always replays the same differ by the last digits only."""
    last = 1e-16 * np.arange(10)
    choice = line(monkeypatch, ["a"] * 10, range(10), 0.3 + last)
    rows = pd.DataFrame({"x": [0.3 + 9e-16, 0.3 - 9e-16, 5.0], "y": [1e-16, 0.0, 0.0]})
    assert choice.misfit(rows, ["a"]).tolist() == [1.0, 1.0, 1 / 11]
    far = line(monkeypatch, ["a"] * 10, range(10), 1e4 + np.repeat([0.0, 3.0], 5))
    at_both = pd.DataFrame({"x": [1e4 + 1e-11, 1e4 + 3.0 - 1e-11], "y": 0.0})
    assert far.misfit(at_both, ["a"]).tolist() == [1.0, 1.0]


def test_power_and_importance(monkeypatch):
    """All of `z` are farther than any of `a`, and it is `y` that tells."""
    choice = line(monkeypatch, ["a"] * 10, range(10), X)
    assert (choice.power(["a"], 1 / 11), choice.power(["a"], 0.09)) == (1.0, 0.0)
    assert np.isnan(choice.power(["a", "z"], 0.5))
    found = choice.importance()
    assert found["feature"].tolist() == ["y", "x"]
    assert found["importance"].is_monotonic_decreasing
    assert found.index.tolist() == [0, 1]
