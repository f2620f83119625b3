"""Variational codes: bits that tell what is seen, and that the bits before them foretell."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from replay.checks import MOST_STATES, check_fits, check_whole
from replay.checks.arrays import Bools, Floats
from replay.encoders.contract import Walk
from replay.encoders.vectors import OfOne, Refitted, refit_steps

_N_HIDDEN = 256  # units of each network
_N_TOGETHER = 128  # observations in an update
_LEARNING_RATE = 1e-3
_TEMPERATURE, _PRIOR_TEMPERATURE = 2 / 3, 1 / 2  # of bits, and of those foretold
_LEAST_NOISE = 0.05  # of a feature's spread

Weights = dict[str, Floats]


@dataclass(frozen=True)
class VariationalCodes(Refitted):
    """Variational state tabulation [1]_: binary codes that a network learns.

    One network turns an observation into bits, a second one bits into the observation, and a third
    one bits and an action into the next bits. They are trained together to raise a lower bound of
    the evidence for all that was observed, as in the paper: bits are numbers between 0 and 1
    meanwhile, and each that is not foretold has its price, so that units that flicker are left out.
    Here the networks are fully connected, with one layer of hidden units, each feature has noise
    that is learned, and what was observed is gone through again at refits instead of all the time.

    It needs PyTorch: ``pip install "hippocampal-replay[torch]"``.

    Parameters
    ----------
    n_bits : int, default 16
        Number of bits; the paper has 32. With more, a place has more codes.
    n_codes : int, default 1000
        Largest number of codes. Bits are numbered as they are met; when all numbers are taken, what
        is met has the code of the bits that differ least.
    n_before : int, default 10000
        Number of observations of the random walk on which the networks are trained.
    n_updates : int, default 2000
        Number of updates before the run and at each refit, each by 128 observations.
    refit_factor : float, default 1.4
        They are trained on whenever the run has become longer by this factor, from 500 steps on;
        infinite: never.

    Notes
    -----
    The same seed gives the same codes on one machine. Other processors and versions of PyTorch add
    in another order, so that codes may differ.

    References
    ----------
    .. [1] Corneil, Gerstner & Brea (2018), Efficient model-based deep reinforcement learning with
       variational state tabulation. https://doi.org/10.48550/arXiv.1802.04325

    Examples
    --------
    >>> VariationalCodes(n_codes=100)
    VariationalCodes(n_bits=16, n_codes=100, n_before=10000, n_updates=2000, refit_factor=1.4)
    """

    n_bits: int = 16
    n_codes: int = 1000
    n_before: int = 10_000
    n_updates: int = 2000
    refit_factor: float = 1.4

    def __post_init__(self) -> None:
        """Check the numbers."""
        check_whole("n_bits", self.n_bits, at_least=1, at_most=1024)
        check_whole("n_codes", self.n_codes, at_least=1, at_most=MOST_STATES)
        check_whole("n_before", self.n_before, at_least=2)
        check_whole("n_updates", self.n_updates, at_least=1)
        refit_steps(self.refit_factor)

    def prepare(
        self, walk: Walk, rng: np.random.Generator, previous: BitCoder | None = None
    ) -> BitCoder:
        """Train the networks, and number the bits of what was observed."""
        seen = walk.observations
        check_fits(
            16 * _N_HIDDEN * (2 * seen.shape[1] + 4 * self.n_bits) + 4 * seen.size,
            f"networks for {seen.shape[1]} features",
        )
        if previous is None:
            spread = seen.std(axis=0)
            offset, scale = seen.mean(axis=0), 1 / np.where(spread > 0, spread, 1.0)
            weights = draw_weights(seen.shape[1], self.n_bits, walk.n_actions, rng)
        else:
            offset, scale, weights = previous.offset, previous.scale, previous.weights
        scaled = walk._replace(observations=(seen - offset) * scale)
        trained = _train(weights, scaled, self.n_updates, rng)
        return BitCoder(offset, scale, trained, self.n_codes).numbered(seen, previous)


class BitCoder(OfOne):
    """Turns observations into bits, and numbers the bits."""

    def __init__(self, offset: Floats, scale: Floats, weights: Weights, n_codes: int) -> None:
        self.offset, self.scale, self.weights, self.n_codes = offset, scale, weights, n_codes
        self._number: dict[bytes, int] = {}
        self._bits = np.zeros((n_codes, len(weights["bits_offset"])), dtype=np.bool_)
        self._free = dict.fromkeys(range(n_codes))  # in order

    def bits(self, observations: Floats) -> Bools:
        """Return which bits are more probable than not; the last axis of observations is that."""
        own = self.weights
        scaled = (observations - self.offset) * self.scale
        hidden = np.maximum(scaled @ own["seen"] + own["seen_offset"], 0.0)
        return np.asarray(hidden @ own["bits"] + own["bits_offset"] > 0)

    def numbered(self, observations: Floats, previous: BitCoder | None) -> BitCoder:
        """Give the most frequent bits of what was observed numbers, those of before if possible."""
        found, first, which, n_met = np.unique(
            self.bits(observations), axis=0, return_index=True, return_inverse=True,
            return_counts=True,
        )  # fmt: skip
        kept = np.lexsort((first, -n_met))[: self.n_codes]
        if previous is not None:
            before = [previous._code(bits) for bits in previous.bits(observations)]
            pairs, n_both = np.unique(np.stack([which.ravel(), before]), axis=1, return_counts=True)
            is_kept = np.isin(np.arange(len(found)), kept)
            # The codes on which most observations agree first.
            for row, code in pairs[:, np.argsort(-n_both, kind="stable")].T:
                bits = found[row]
                if is_kept[row] and code in self._free and bits.tobytes() not in self._number:
                    self._give(int(code), bits)
        for bits in found[kept]:
            self._code(bits)
        return self

    def begin(self, observation: Floats) -> int:
        """Return the code of an observation."""
        return self._code(self.bits(observation))

    def _code(self, bits: Bools) -> int:
        number = self._number.get(bits.tobytes())
        if number is not None:
            return number
        if not self._free:
            return int(np.argmin(np.count_nonzero(self._bits != bits, axis=1)))
        return self._give(next(iter(self._free)), bits)

    def _give(self, code: int, bits: Bools) -> int:
        del self._free[code]
        self._number[bits.tobytes()], self._bits[code] = code, bits
        return code


def draw_weights(n_features: int, n_bits: int, n_actions: int, rng: np.random.Generator) -> Weights:
    """Draw the weights of the networks as Glorot & Bengio (2010) do; offsets are 0."""
    weights = {"log_noise": np.zeros(n_features), "first_bits": np.zeros(n_bits)}
    layers = {
        "seen": (n_features, _N_HIDDEN), "bits": (_N_HIDDEN, n_bits),
        "told": (n_bits, _N_HIDDEN), "again": (_N_HIDDEN, n_features),
        "acted": (n_bits + n_actions, _N_HIDDEN), "next": (_N_HIDDEN, n_bits),
    }  # fmt: skip
    for name, shape in layers.items():
        limit = np.sqrt(6 / sum(shape))
        weights[name] = rng.uniform(-limit, limit, shape)
        weights[f"{name}_offset"] = np.zeros(shape[1])
    return weights


def lower_bound(
    weights: dict[str, Any], now: Any, before: Any, action: Any, is_first: Any, noise: Any
) -> Any:
    """Return the lower bound of the log evidence of each observation, given the one before.

    All are tensors: observations of shape (n, n_features), one-hot actions, and logistic noise, (2
    n, n_bits), of the bits now and before (equations 4 to 9 of Corneil et al., 2018; densities are
    those of the logits of relaxed bits).
    """
    import torch

    def network(name: str, last: str, values: Any) -> Any:
        hidden = torch.relu(values @ weights[name] + weights[f"{name}_offset"])
        return hidden @ weights[last] + weights[f"{last}_offset"]

    def log_density(relaxed: Any, temperature: float, logit: Any) -> Any:
        away = temperature * relaxed - logit
        return (np.log(temperature) - away - 2 * torch.nn.functional.softplus(-away)).sum(dim=1)

    n = len(now)
    logit = network("seen", "bits", torch.cat([now, before]))
    relaxed = (logit + noise) / _TEMPERATURE
    bits = torch.sigmoid(relaxed)
    again = network("told", "again", bits[:n])
    log_noise = weights["log_noise"].clamp(min=float(np.log(_LEAST_NOISE)))
    error = (now - again) / log_noise.exp()
    seen = -(error**2 / 2 + log_noise + np.log(2 * np.pi) / 2).sum(dim=1)
    foretold = network("acted", "next", torch.cat([bits[n:], action], dim=1))
    foretold = torch.where(is_first[:, None], weights["first_bits"], foretold)
    return (
        seen
        + log_density(relaxed[:n], _PRIOR_TEMPERATURE, foretold)
        - log_density(relaxed[:n], _TEMPERATURE, logit[:n])
    )


def _train(weights: Weights, walk: Walk, n_updates: int, rng: np.random.Generator) -> Weights:
    """Raise the lower bound by steps of Adam."""
    with _one_thread() as torch:
        seen = torch.from_numpy(walk.observations.astype(np.float32))
        is_first = torch.from_numpy(walk.is_first)
        actions = np.eye(walk.n_actions, dtype=np.float32)[np.maximum(walk.action, 0)]
        action = torch.from_numpy(actions)
        learned = {
            name: torch.from_numpy(value.astype(np.float32)).requires_grad_()
            for name, value in weights.items()
        }
        optimizer = torch.optim.Adam(learned.values(), lr=_LEARNING_RATE)
        n_bits = len(weights["first_bits"])
        for _ in range(n_updates):
            # Each is learned with the one before it, which the first has not.
            now = torch.from_numpy(rng.integers(1, len(seen), _N_TOGETHER))
            noise = rng.logistic(size=(2 * _N_TOGETHER, n_bits)).astype(np.float32)
            bound = lower_bound(
                learned, seen[now], seen[now - 1], action[now], is_first[now],
                torch.from_numpy(noise),
            )  # fmt: skip
            optimizer.zero_grad()
            (-bound.mean()).backward()
            optimizer.step()
        trained = {name: each.detach().numpy().astype(float) for name, each in learned.items()}
    if not all(np.isfinite(each).all() for each in trained.values()):
        raise ValueError(
            "VariationalCodes did not learn: its weights are not finite. Are some observations "
            "thousands of times as large as usual? Clip them."
        )
    return trained


@contextmanager
def _one_thread() -> Iterator[Any]:
    """Import PyTorch, and let it add in the same order whatever else the machine does."""
    try:
        import torch
    except ImportError:
        raise ImportError(
            "VariationalCodes needs PyTorch: pip install 'hippocampal-replay[torch]'."
        ) from None
    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield torch
    finally:
        torch.set_num_threads(n_threads)
