"""The random streams of runs: those of numpy's `SeedSequence`, in less time than a short run.

To make a generator from a seed takes numpy as long as a learner hundreds of steps. Here the seed is
hashed by compiled code, and a generator is used again when its run has ended.
"""

from functools import partial

import numpy as np
from numpy.random import PCG64, Generator
from numpy.typing import NDArray

from replay.jit import inlined, loop_kernel

__all__ = ["acting_stream", "give_back", "replay_stream"]

_MASK = 0xFFFFFFFF
_LARGEST = (1 << 128) - 1
_MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645  # of PCG64
_idle: list[Generator] = []


def acting_stream(seed: int) -> Generator:
    """Return ``default_rng(seed)``, for outcomes and exploration."""
    return _stream(seed, 0)


def replay_stream(seed: int) -> Generator:
    """Return the stream of the seed's first child, for replay alone."""
    return _stream(seed, 1)


def _stream(seed: int, n_children: int) -> Generator:
    words = np.zeros(12, dtype=np.int64)
    _hash(seed & _MASK, seed >> 32, n_children, words)
    begin = increment = 0
    known = words.tolist()
    for place in (5, 4, 7, 6):  # as numpy joins words to numbers: the low half of each comes first
        begin = begin << 32 | known[place]
        increment = increment << 32 | known[place + 4]
    increment = (increment << 1 | 1) & _LARGEST
    begin = ((begin + increment) * _MULTIPLIER + increment) & _LARGEST
    try:
        generator = _idle.pop()
    except IndexError:
        generator = Generator(PCG64(0))
    generator.bit_generator.state = {
        "bit_generator": "PCG64",
        "state": {"state": begin, "inc": increment},
        "has_uint32": 0,
        "uinteger": 0,
    }
    return generator


def give_back(*generators: Generator | None) -> None:
    """Allow that later runs use generators; nothing may draw from them any more."""
    _idle.extend(each for each in generators if each is not None)


@inlined
def _hashed(value: int, constant: int) -> int:
    """Hash a word; numbers are 32 bits long, and the constant is that of the next word."""
    value = (value * constant) & _MASK
    return value ^ value >> 16


@partial(loop_kernel, what=None)
def _hash(low: int, high: int, n_children: int, words: NDArray[np.int64]) -> None:
    """Hash the words of a seed as `SeedSequence` does, into four words of a pool and eight more.

    The hash is O'Neill's, https://www.pcg-random.org/posts/developing-a-seed_seq-alternative.html.
    """
    constant, word = 0x43B0D7E5, low
    for place in range(4):
        word ^= constant
        constant = (constant * 0x931E8875) & _MASK
        words[place] = _hashed(word, constant)
        word = high if place == 0 else 0
    for source in range(4 + n_children):  # the number of the first child is 0
        for place in range(4):
            if place != source:
                word = (int(words[source]) if source < 4 else 0) ^ constant
                constant = (constant * 0x931E8875) & _MASK
                word = 0xCA01F9DD * int(words[place]) - 0x4973F715 * _hashed(word, constant)
                word &= _MASK
                words[place] = word ^ word >> 16
    constant = 0x8B51F9DD
    for place in range(8):
        word = int(words[place % 4]) ^ constant
        constant = (constant * 0x58F38DED) & _MASK
        words[4 + place] = _hashed(word, constant)
