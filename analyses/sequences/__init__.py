"""Replay sequences: linking backups to chains, classifying and counting them.

Here are the criteria of a study for place sequences: the command line imports nothing else.
"""

from typing import NamedTuple


class Detection(NamedTuple):
    """The criteria of a study for place sequences.

    Attributes
    ----------
    min_length : int
        Least number of different places; a sequence to and fro between two places has two.
    min_distance : float
        Least length of the path, in cm.
    largest_jump : int
        Largest number of edges between successive places. Places that are jumped over count as
        reactivated if they lie on the only shortest path; if there are several, the sequence ends.
    min_extent : float
        Least distance, along the track, between the two places that are farthest apart, in cm.
    min_correlation : float
        Least absolute correlation between the order of places and their distance from the first
        place (in cm, or in edges if the graph has no distances).
    """

    min_length: int = 3
    min_distance: float = 0.0
    largest_jump: int = 1
    min_extent: float = 0.0
    min_correlation: float = 0.0

    def check(self) -> None:
        """Check that all criteria are in range."""
        from replay.checks import check_number, check_whole

        check_whole("min_length", self.min_length, at_least=2)
        check_whole("largest_jump", self.largest_jump, at_least=1)
        check_number("min_distance", self.min_distance, at_least=0)
        check_number("min_extent", self.min_extent, at_least=0)
        check_number("min_correlation", self.min_correlation, at_least=0, at_most=1)


RECORDED = Detection(min_length=3, largest_jump=3)
"""The criteria for sequences of a recording, and of accounts that are held against it: decoding
loses single places, and a sequence goes on behind them."""
