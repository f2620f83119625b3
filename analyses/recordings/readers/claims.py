"""What a file claims to hold, checked before memory is taken for it."""

from __future__ import annotations

from replay.checks import check_fits

__all__ = ["ClaimError", "check_claim"]

_LARGE = 1e9  # bytes
_COMPRESSION = 100  # zeros are compressed more, but hardly any data that were recorded


class ClaimError(ValueError):
    """A file claims more than memory holds, or more than it can hold itself."""


def check_claim(n_bytes: float, stored: float, what: str) -> None:
    """Refuse data that do not fit into memory, or are large and take hardly any room in the file.

    Examples
    --------
    >>> check_claim(8e6, 100, "spike_time of session.npz")
    >>> check_claim(12e9, 52e6, "spike_time of session.npz")
    Traceback (most recent call last):
    analyses.recordings.readers.claims.ClaimError: 52.0 MB claim to be 12.0 GB: spike_time of ...
    """
    try:
        check_fits(n_bytes, what)
    except ValueError as error:
        raise ClaimError(str(error)) from None
    if n_bytes > max(_LARGE, _COMPRESSION * stored):
        raise ClaimError(
            f"{stored / 1e6:.1f} MB claim to be {n_bytes / 1e9:.1f} GB: {what}. Recorded data do "
            "not become so small, so the file is damaged, or made to fill memory. If it is yours, "
            "save it without compression."
        )
