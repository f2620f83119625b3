"""Which account made these sequences: a classifier of simulated animals, calibrated and checked.

The accounts are told apart by a forest of randomised trees over the features of simulated animals
[1]_. Its votes are no probabilities; they become calibrated ones by a temperature that is fitted on
animals that the trees have not seen. Accounts that the trees cannot tell apart are one *class*, and
none of them is ever named alone. The account found must also pass a check of its own: the animal
has to look like one of those that the account simulates (*misfit*), since otherwise a classifier
names the least wrong of many wrong accounts.

References
----------
.. [1] Pudlo et al. (2016). https://doi.org/10.1093/bioinformatics/btv684
.. [2] Guo, Pleiss, Sun & Weinberger (2017), On calibration of modern neural networks (section 4.2,
   temperature scaling). https://proceedings.mlr.press/v70/guo17a.html
.. [3] Raynal et al. (2019). https://doi.org/10.1093/bioinformatics/bty867
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from analyses.inference.features import lost_bits
from replay.checks.arrays import Bools, Floats, Ints

_N_FOLDS = 4  # of draws, so that each animal is judged by trees that have not seen it
_N_TREES = 200  # twice as many recover no more
_LEAST_VOTE = 1e-3  # added to each, since the logarithm of no vote would rule an account out
_TOLD_APART = 0.8
_N_NEAREST = 5  # animals, whose mean distance is less a matter of chance than the least one
_TINY = 1e-9  # of what does not vary
_N_GROUPS = 300  # of animals of each account
_EDGE = 0.9  # of the draws lie on one side of a parameter at an edge


@dataclass(frozen=True, eq=False)
class Simulations:
    """Simulated animals: one row for each."""

    account: NDArray[np.object_]  # the one that replayed
    draw: Ints  # of its parameters; rows of one differ in what was sampled
    features: pd.DataFrame

    @property
    def names(self) -> list[str]:
        """The accounts that replayed anything, in the order in which they were given."""
        return list(dict.fromkeys(self.account.tolist()))

    @property
    def kept(self) -> pd.DataFrame:
        """The `account` and `draw` of the draws that replay enough to be compared."""
        return pd.DataFrame({"account": self.account, "draw": self.draw}).drop_duplicates()

    def select(self, rows: Bools) -> Simulations:
        """Select rows."""
        return Simulations(self.account[rows], self.draw[rows], self.features[rows])


class ModelChoice:
    """A classifier of replaying animals by account, with calibrated probabilities.

    `simulations` are animals of at least two accounts, with at least eight draws each; `seen_as` is
    features of the same animals, row by row, as they look otherwise, such as with misread
    places: what becomes of them if the trees know nothing of it.

    `accounts` are those that replayed anything, and `classes` are groups of them that cannot be
    told apart, and accounts alone. `unseen`, shape (n_rows, n_classes), has the calibrated
    probability of each class for each simulated animal, from trees and a temperature that have seen
    no animal of the same draw; `unseen_as` has the same for each of `seen_as`.
    """

    def __init__(
        self, simulations: Simulations, seed: int = 0, seen_as: Sequence[pd.DataFrame] = ()
    ) -> None:
        self.simulations, self.seed = simulations, seed
        self.accounts = simulations.names
        if len(self.accounts) < 2:
            raise ValueError(
                f"Only {' '.join(self.accounts) or 'no account'} replays anything after these "
                "moves: give at least two accounts that do."
            )
        number = {name: k for k, name in enumerate(self.accounts)}
        self._truth = np.array([number[name] for name in simulations.account.tolist()])
        self._values = simulations.features.to_numpy(dtype=np.float64)
        # All accounts count alike, however many of their draws replay enough.
        self._weight = 1.0 / np.bincount(self._truth)[self._truth]
        # The draws of each account are dealt to the folds, so that no draw is in two of them; by
        # chance, since successive draws fill the space of parameters in turn.
        rng, fold = np.random.default_rng(seed), np.empty(len(self._truth), dtype=np.int64)
        for account in range(len(self.accounts)):
            own = self._truth == account
            known, of_draw = np.unique(simulations.draw[own], return_inverse=True)
            fold[own] = rng.permutation(len(known))[of_draw] % _N_FOLDS
        values = [self._values, *map(self._values_of, seen_as)]
        votes = np.empty((len(values), len(fold), len(self.accounts)))
        for one in range(_N_FOLDS):
            trees = self._fitted(fold != one)
            for k, each in enumerate(values):
                votes[k, fold == one] = self._votes(trees, each[fold == one])
        self._unseen_votes = votes[0]
        self.classes = classes_of(votes[0], self._truth, self.accounts)
        of_account = {name: k for k, each in enumerate(self.classes) for name in each}
        self._class = np.array([of_account[name] for name in self.accounts])
        by_class, *by_class_as = map(self._by_class, votes)
        truth = self._class[self._truth]
        self.unseen = np.empty_like(by_class)
        self.unseen_as = [np.empty_like(each) for each in by_class_as]
        for one in range(_N_FOLDS):
            other, own = fold != one, fold == one
            temperature = _temperature(by_class[other], truth[other], self._weight[other])
            self.unseen[own] = _calibrated(by_class[own], temperature)
            for unseen, each in zip(self.unseen_as, by_class_as, strict=True):
                unseen[own] = _calibrated(each[own], temperature)
        self._temperature = _temperature(by_class, truth, self._weight)

    @cached_property
    def _trees(self) -> Any:
        return self._fitted(np.ones(len(self._truth), dtype=bool))

    def probabilities(self, features: pd.DataFrame) -> Floats:
        """Return the probability of each class, shape (n_rows, n_classes)."""
        values = self._values_of(features)
        return _calibrated(self._by_class(self._votes(self._trees, values)), self._temperature)

    def without(self, members: Sequence[str]) -> tuple[list[list[str]], Floats]:
        """Classify the animals of some accounts by trees that know nothing of these.

        Returns the classes that the other accounts form, and their probabilities; the temperature
        remains that of all.
        """
        out = np.isin(self.simulations.account, list(members))
        left = [k for k, name in enumerate(self.accounts) if name not in members]
        names = [self.accounts[k] for k in left]
        truth = np.searchsorted(left, self._truth[~out])
        classes = classes_of(self._unseen_votes[~out][:, left], truth, names)
        votes = self._votes(self._fitted(~out), self._values[out])
        of_class = [votes[:, np.isin(self.accounts, each)].sum(axis=1) for each in classes]
        return classes, _calibrated(np.stack(of_class, axis=1), self._temperature)

    def misfit(self, features: pd.DataFrame, members: Sequence[str]) -> Floats:
        """Return the p of each row under a class: how often its own animals are as unusual.

        An animal is unusual if the nearest simulated animals have other features, or if its
        sequences lose many bits when they are expected to go as theirs do; what counts is the one
        in which it is more unusual. The p is that of a conformal test, which holds whatever the
        measure: if the animal came from the class, a p of at most .05 has a probability of .05 or
        less. Animals of one draw are not independent, and count as one.
        """
        own = np.isin(self.simulations.account, list(members))
        draws = self.simulations.draw
        draw = (self._truth * (1 + draws.max()) + draws)[own]  # each of each account has a number
        # Each feature weighs by its s.d. among these animals, or a tenth of that among all: what
        # hardly varies among them would count more than all others together.
        spread = np.maximum(self._values[own].std(axis=0), 0.1 * self._values.std(axis=0))
        scale = 1.0 / np.where(spread > _TINY, spread, np.inf)
        middle = self._values[own].mean(axis=0)
        mine, rows = (
            (values - middle) * scale for values in (self._values[own], self._values_of(features))
        )
        known = self.simulations.features[own]
        same = draw[:, None] == draw
        found, usual = [], []
        for away, of_own in (
            (_distance(rows, mine), _distance(mine, mine)),
            (lost_bits(features, known), lost_bits(known, known)),
        ):
            one, each = _nearest(away), _nearest(np.where(same, np.inf, of_own))
            found.append(1 + (each >= one[:, None]).sum(axis=1))
            usual.append((each >= each[:, None]).sum(axis=1) + (one[:, None] >= each))
        rank, ranks = np.sort(found, axis=0), np.sort(usual, axis=0)  # the lesser one first
        as_unusual = (ranks[0] < rank[0][:, None]) | (
            (ranks[0] == rank[0][:, None]) & (ranks[1] <= rank[1][:, None])
        )
        # The animal itself is one of those that are ranked, so that no p is 0.
        n_draws = self.n_draws(members)
        return np.asarray((1 + n_draws * as_unusual.mean(axis=1)) / (1 + n_draws))

    def n_draws(self, members: Sequence[str]) -> int:
        """Count the draws behind the p of a class, which is at least 1 / (1 + this number)."""
        return int(self.simulations.kept["account"].isin(list(members)).sum())

    def power(self, members: Sequence[str], level: float) -> float:
        """Return how often the test of misfit tells the class from the account most like it.

        The least share, among accounts outside of the class, of simulated animals whose p is at
        most `level`; NaN if the class holds all accounts.
        """
        out = ~np.isin(self.simulations.account, list(members))
        if not out.any():
            return np.nan
        unfit = self.misfit(self.simulations.features[out], members) <= level
        return float(pd.Series(unfit).groupby(self._truth[out]).mean().min())

    def margin(self, members: Sequence[str], others: Sequence[str]) -> Floats:
        """Return the log odds of `members` against `others` of each animal, by unseeing trees."""
        one, two = (
            self._unseen_votes[:, np.isin(self.accounts, list(each))].sum(axis=1) + _LEAST_VOTE
            for each in (members, others)
        )
        return np.asarray(np.round(np.log(one / two), 9))

    def importance(self) -> pd.DataFrame:
        """Return how much each feature serves to tell accounts apart, the most important first."""
        shares = self._trees.feature_importances_
        table = pd.DataFrame({"feature": self.simulations.features.columns, "importance": shares})
        return table.sort_values("importance", ascending=False, kind="stable", ignore_index=True)

    def confusion(self) -> pd.DataFrame:
        """Return which class is found for animals of each account: `truth, found, share`."""
        found = np.argmax(self.unseen, axis=1)
        names = [class_name(each) for each in self.classes]
        rows = []
        for k, name in enumerate(self.accounts):
            shares = np.bincount(found[self._truth == k], minlength=len(names)) / np.count_nonzero(
                self._truth == k
            )
            rows += [(name, other, share) for other, share in zip(names, shares, strict=True)]
        return pd.DataFrame(rows, columns=["truth", "found", "share"])

    def recovered_of_groups(self, n_animals: int) -> float:
        """Return the share of groups of animals of one account whose class comes first, if several.

        Animals of a group differ in their parameters, and their evidence is added up.
        """
        if len(self.classes) < 2:
            return np.nan
        rng, shares = np.random.default_rng(self.seed), []
        # Each animal adds its evidence; the prior must not count once for each.
        prior = np.bincount(self._class) / len(self._class)
        evidence = np.log(np.maximum(self.unseen, _LEAST_VOTE) / prior)
        for k in range(len(self.accounts)):
            own = np.flatnonzero(self._truth == k)
            groups = own[rng.integers(len(own), size=(_N_GROUPS, n_animals))]
            found = evidence[groups].sum(axis=1).argmax(axis=1)
            shares.append(np.mean(found == self._class[k]))
        return float(np.mean(shares))

    def summary(self, unseen: Floats | None = None) -> dict[str, float]:
        """Say how good the classifier is on animals that it has not seen, or on one `unseen_as`.

        `account_bits`: what is learned of the account, of log2 of their number; `named`: the share
        for which the true account alone is above .9; `recovered`: the share whose class comes
        first; `sure`: of animals with a class above .9; `right_if_sure`: of these, the share that
        is right; `calibration_error`: see :func:`calibration_error`. If all accounts are one class,
        nothing was tested, and the last four are NaN.
        """
        truth = self._class[self._truth]
        unseen = self.unseen if unseen is None else unseen
        right, most = unseen.argmax(axis=1) == truth, unseen.max(axis=1)
        sure = most > 0.9
        weight = self._weight / self._weight.sum()
        n_sure = float(weight[sure].sum())
        size = np.array([len(members) for members in self.classes])[truth]
        # A class says nothing of which of its accounts it is.
        of_truth = unseen[np.arange(len(truth)), truth] / size * len(self.accounts)
        found = {
            "account_bits": float(weight @ np.log2(np.maximum(of_truth, _LEAST_VOTE))),
            "named": float(weight @ (sure & right & (size == 1))),
        }
        if len(self.classes) < 2:
            others = ("recovered", "sure", "right_if_sure", "calibration_error")
            return found | dict.fromkeys(others, np.nan)
        return found | {
            "recovered": float(weight @ right),
            "sure": n_sure,
            "right_if_sure": float(weight[sure] @ right[sure]) / n_sure if n_sure else np.nan,
            "calibration_error": calibration_error(most, right, weight),
        }

    def _values_of(self, features: pd.DataFrame) -> Floats:
        return features[self.simulations.features.columns].to_numpy(dtype=np.float64)

    def _fitted(self, rows: Bools) -> Any:
        trees = forests().ExtraTreesClassifier(_N_TREES, min_samples_leaf=2, random_state=self.seed)
        return trees.fit(self._values[rows], self._truth[rows], self._weight[rows])

    def _votes(self, trees: Any, values: Floats) -> Floats:
        # Trees that were grown without the animals of an account have no column for it.
        votes = np.zeros((len(values), len(self.accounts)))
        if len(values):
            votes[:, trees.classes_] = trees.predict_proba(values)
        return votes

    def _by_class(self, votes: Floats) -> Floats:
        """Add up the votes for the accounts of each class."""
        return np.stack(
            [votes[:, self._class == k].sum(axis=1) for k in range(len(self.classes))], axis=1
        )


def forests() -> Any:
    """Import the forests of randomised trees, which are an optional dependency."""
    try:
        from sklearn import ensemble
    except ImportError:
        raise ImportError(
            "To tell accounts apart needs scikit-learn: "
            "pip install 'hippocampal-replay[inference]'."
        ) from None
    return ensemble


def class_name(members: Sequence[str]) -> str:
    """Name a class by all of its members."""
    return " or ".join(members)


def classes_of(probabilities: Floats, truth: Ints, accounts: Sequence[str]) -> list[list[str]]:
    """Group accounts that cannot be told apart.

    Two accounts are told apart as often as the more probable of the two is the true one, on animals
    of these two that the trees have not seen. Groups whose mean over all pairs is below .8 (a fair
    coin has .5) are joined, the closest first.
    """
    n = len(accounts)
    apart = []
    for one in range(n):
        for other in range(one + 1, n):
            margins = [
                np.sign(np.round(probabilities[truth == a, a] - probabilities[truth == a, b], 9))
                for a, b in ((one, other), (other, one))
            ]
            apart.append(float(np.mean([(1 + np.mean(each)) / 2 for each in margins])))
    groups = fcluster(linkage(np.array(apart), "average"), _TOLD_APART, criterion="distance")
    found: dict[int, list[str]] = {}
    for name, group in zip(accounts, groups.tolist(), strict=True):
        found.setdefault(group, []).append(name)
    return list(found.values())


def calibration_error(probability: Floats, right: Bools, weight: Floats | None = None) -> float:
    """Return how far probabilities are from shares right: the calibration error, in 10 bins."""
    bins = np.minimum((probability * 10).astype(int), 9)
    weight = np.full(len(bins), 1 / max(len(bins), 1)) if weight is None else weight
    gap = np.bincount(bins, weight * (right - probability), minlength=10)
    return float(np.abs(gap).sum())


def parameter_intervals(
    simulations: Simulations, parameters: pd.DataFrame, features: pd.DataFrame, seed: int = 0
) -> pd.DataFrame:
    """Infer the parameters of an account from animals' features, with 90 % intervals [3]_.

    `simulations` are those of one account, and `parameters` has a row for each of them. Trees
    predict each parameter; draws weigh as often as they share a leaf with the animal. Returns
    `row` (of `features`), `parameter, median, low, high`, `prior_low, prior_high`, `prior_share`,
    that of the prior within the interval, and `edge`: ``lower`` or ``upper`` if the median lies in
    that tenth of the prior; of numbers only.
    """
    values = simulations.features.to_numpy(dtype=np.float64)
    given = features[simulations.features.columns].to_numpy(dtype=np.float64)
    rows = []
    for name in parameters:
        known = parameters[name].to_numpy(dtype=np.float64)
        kept = ~np.isnan(known)
        if kept.sum() < 2 * _N_NEAREST or np.ptp(known[kept]) == 0:
            continue
        n_draws = len(np.unique(simulations.draw[kept]))
        n_rows = int(kept.sum()) // n_draws  # of a draw
        trees = forests().ExtraTreesRegressor(
            _N_TREES, min_samples_leaf=_N_NEAREST * n_rows, random_state=seed
        )
        trees.fit(values[kept], known[kept])
        order = np.argsort(known[kept])
        ordered = known[kept][order]
        prior = np.quantile(ordered, [0.05, 0.95], method="weibull").tolist()
        leaf = trees.apply(values[kept][order])
        for row, of_row in enumerate(trees.apply(given)):
            together = leaf == of_row
            share = np.cumsum((together / together.sum(axis=0)).mean(axis=1))
            share *= n_draws / (n_draws + 1)  # a part lies outside of all draws
            found = np.interp([0.5, 0.05, 0.95], share, ordered).tolist()
            below, above = np.mean(ordered < found[0] - _TINY), np.mean(ordered > found[0] + _TINY)
            edge = "upper" if below >= _EDGE else "lower" if above >= _EDGE else ""
            within = np.mean((ordered >= found[1] - _TINY) & (ordered <= found[2] + _TINY))
            rows.append((row, name, *found, *prior, within, edge))
    names = ["row", "parameter", "median", "low", "high", "prior_low", "prior_high"]
    return pd.DataFrame(rows, columns=[*names, "prior_share", "edge"])


def _calibrated(votes: Floats, temperature: float) -> Floats:
    scores = np.log(votes + _LEAST_VOTE) / temperature
    return np.asarray(softmax(scores, axis=1))


def _temperature(votes: Floats, truth: Ints, weight: Floats) -> float:
    """Fit the temperature under which the true accounts are most probable."""
    scores, rows = np.log(votes + _LEAST_VOTE), np.arange(len(truth))

    def surprise(log_temperature: float) -> float:
        chances = log_softmax(scores / np.exp(log_temperature), axis=1)
        return -float(np.average(chances[rows, truth], weights=weight))

    return float(np.exp(minimize_scalar(surprise, bounds=(-3.0, 2.0), method="bounded").x))


def _distance(rows: Floats, others: Floats) -> Floats:
    square = (rows**2).sum(axis=1)[:, None] + (others**2).sum(axis=1) - 2 * rows @ others.T
    # Equal animals would be as far apart as the difference of two large sums is off.
    return np.asarray(np.sqrt(np.maximum(np.round(square, 8), 0.0)))


def _nearest(away: Floats) -> Floats:
    """Return the mean distance of each row to the nearest animals."""
    return np.asarray(np.sort(away, axis=1)[:, :_N_NEAREST].mean(axis=1))
