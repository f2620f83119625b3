"""Clones: each observation has copies, and what follows them tells which of these it was."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from replay.checks import MOST_STATES, check_fits, check_number, check_whole
from replay.checks.arrays import Bools, Floats, Ints
from replay.encoders.contract import Coder, Encoder, Walk, check_encoder, prepared
from replay.encoders.vectors import KMeans, Refitted, refit_steps
from replay.jit import kernel

_CONVERGED = 1e-5  # nats an observation; less is no improvement


@dataclass(frozen=True)
class Clones(Refitted):
    """Clone-structured cognitive graph [1]_: a hidden Markov model whose states look one way each.

    How probably each clone follows another, given the action, is learned by expectation
    maximisation. The code is the most probable clone, given all that was observed in the episode.
    Actions may have uncertain outcomes, and episodes may begin anywhere.

    Parameters
    ----------
    n_clones : int, default 20
        Number of clones of each observation.
    of : Encoder, optional
        Encodes the single observations; by default, ``KMeans(30)``, which gives few different ones
        a code each.
    n_before : int, default 10000
        Number of observations of the random walk from which clones are learned.
    refit_factor : float, default inf
        Learning goes on, from where it was, whenever the run has become longer by this factor, from
        500 steps on; infinite: never.
    n_iterations : int, default 200
        At most so many iterations, fewer if they no longer change the likelihood.
    n_starts : int, default 3
        Number of random beginnings; the most likely model wins.
    pseudocount : float, default 0.002
        Added to how often each clone followed another.

    References
    ----------
    .. [1] George et al. (2021), Clone-structured graph representations enable flexible learning and
       vicarious evaluation of cognitive maps. https://doi.org/10.1038/s41467-021-22559-5

    Examples
    --------
    >>> Clones(10).n_before
    10000
    """

    n_clones: int = 20
    of: Encoder = field(default_factory=lambda: KMeans(30))
    n_before: int = 10_000
    refit_factor: float = np.inf
    n_iterations: int = 200
    n_starts: int = 3
    pseudocount: float = 2e-3

    def __post_init__(self) -> None:
        """Check the numbers, and the encoder of single observations."""
        check_encoder("of", self.of)
        check_whole("n_clones", self.n_clones, at_least=1, at_most=MOST_STATES)
        check_whole("n_before", self.n_before, at_least=1)
        check_whole("n_iterations", self.n_iterations, at_least=1)
        check_whole("n_starts", self.n_starts, at_least=1, at_most=1000)
        check_number("pseudocount", self.pseudocount, at_least=0.0)
        refit_steps(self.refit_factor)

    def prepare(
        self, walk: Walk, rng: np.random.Generator, previous: _Cloned | None = None
    ) -> _Cloned:
        """Learn which clone follows which."""
        single = prepared(self.of, walk, rng, None if previous is None else previous.single)
        shape = (walk.n_actions, single.n_codes, self.n_clones, single.n_codes, self.n_clones)
        # Five tables at a time: the best model, a start, its probabilities before and after an
        # iteration, and counts. One start is learned from after the other.
        check_fits(40 * np.prod(shape, dtype=float), f"the moves between {self.n_clones} clones")
        seen = walk.codes(single)
        starts: Iterable[tuple[Floats, Floats]]
        if previous is not None:
            starts = [(previous.follows, previous.begins)]
        else:
            starts = ((rng.random(shape), np.ones(shape[1:3])) for _ in range(self.n_starts))
        found = (learn(seen, walk, *start, self.n_iterations, self.pseudocount) for start in starts)
        _, follows, begins = max(found, key=lambda model: model[0])
        return _Cloned(single, follows, begins)


class _Cloned:
    def __init__(self, single: Coder, follows: Floats, begins: Floats) -> None:
        self.single, self.follows, self.begins = single, follows, begins
        self.n_codes = begins.size
        self._seen, self._belief = 0, begins[0]

    def begin(self, observation: Floats) -> int:
        seen = self.single.begin(observation)
        return self._code(seen, self.begins[seen])

    def encode(self, observation: Floats, action: int) -> int:
        seen = self.single.encode(observation, action)
        return self._code(seen, self._belief @ self.follows[action, self._seen, :, seen])

    def _code(self, seen: int, belief: Floats) -> int:
        total = belief.sum()
        n = len(belief)
        self._seen, self._belief = seen, belief / total if total > 0 else np.full(n, 1 / n)
        return seen * n + int(self._belief.argmax())


def learn(
    seen: Ints, walk: Walk, follows: Floats, begins: Floats, n_iterations: int, pseudocount: float
) -> tuple[float, Floats, Floats]:
    """Improve a model by expectation maximisation; return its likelihood before the last change.

    `follows`, shape (n_actions, n_seen, n_clones, n_seen, n_clones), are probabilities, or counts,
    of the last two given the others, `begins`, shape (n_seen, n_clones), those in which episodes
    begin.
    """
    before = -np.inf
    for _ in range(n_iterations):
        total = follows.sum(axis=(3, 4), keepdims=True)
        follows = follows / np.where(total > 0, total, 1)
        begins = begins / begins.sum()
        counts, firsts = np.full_like(follows, pseudocount), np.full_like(begins, pseudocount)
        likelihood = _expect(
            seen, walk.action, walk.is_first, follows, begins, counts, firsts
        ) / len(seen)
        if likelihood - before < _CONVERGED:
            break
        before, follows, begins = likelihood, counts, firsts
    total = follows.sum(axis=(3, 4), keepdims=True)
    return likelihood, follows / np.where(total > 0, total, 1), begins / begins.sum()


@kernel
def _expect(
    seen: Ints,
    action: Ints,
    is_first: Bools,
    follows: Floats,
    begins: Floats,
    counts: Floats,
    firsts: Floats,
) -> float:
    """Add how often each clone is expected to have followed another; return the log-likelihood."""
    # Probabilities are scaled at each moment: the product of many would become 0.
    n, n_clones = len(seen), begins.shape[1]
    forward, scale = np.empty((n, n_clones)), np.empty(n)
    for t in range(n):
        now = seen[t]
        if is_first[t]:
            forward[t] = begins[now]
        else:
            forward[t] = 0.0
            for i in range(n_clones):
                for j in range(n_clones):
                    forward[t, j] += forward[t - 1, i] * follows[action[t], seen[t - 1], i, now, j]
        scale[t] = max(forward[t].sum(), 1e-300)  # not 0 where no clone was expected
        forward[t] /= scale[t]
    backward, earlier = np.ones(n_clones), np.empty(n_clones)
    for t in range(n - 1, -1, -1):
        if is_first[t]:
            firsts[seen[t]] += forward[t] * backward
            backward[:] = 1.0
            continue
        a, before, now = action[t], seen[t - 1], seen[t]
        for i in range(n_clones):
            earlier[i] = 0.0
            for j in range(n_clones):
                ahead = follows[a, before, i, now, j] * backward[j] / scale[t]
                earlier[i] += ahead
                counts[a, before, i, now, j] += forward[t - 1, i] * ahead
        backward[:] = earlier
    return float(np.log(scale).sum())
