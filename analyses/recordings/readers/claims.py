"""What a file claims to hold, checked before memory is taken for it: it may be somebody else's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from replay.checks import check_fits, shown
from replay.files import check_file, inside

_LARGE = 1e9  # bytes
_COMPRESSION = 100  # zeros are compressed more, but hardly any data that were recorded
_MOST_COMPRESSED = 2000  # no data set that was written is compressed as much


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
    # What is small cannot fill memory, however well it is compressed.
    if n_bytes > max(_LARGE, _COMPRESSION * stored):
        raise ClaimError(
            f"{stored / 1e6:.1f} MB claim to be {n_bytes / 1e9:.1f} GB: {what}. Recorded data do "
            "not become so small, so the file is damaged, or made to fill memory. If it is yours, "
            "save it without compression."
        )


@contextmanager
def damage_told(path: Path, what: str, hint: str) -> Iterator[None]:
    """Say of a file that cannot be read what it must be, and what to do.

    A library may raise anything on a damaged file.
    """
    try:
        yield
    except (ClaimError, ImportError):
        raise
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(
            f"{path.name} must be {what}, but is truncated, damaged or of another format "
            f"({reason[:120]}). {hint}"
        ) from error


def check_hdf5(path: str | Path) -> None:
    """Refuse an HDF5 file (NWB, NetCDF) that is none, or leads outside its folder or to nothing.

    A reader that loads a large data set calls `check_fits` with its size in memory before.
    """
    import h5py

    # A file may name others, and these again others, in circles.
    left, seen = [check_file(path)], set[Path]()
    while left:
        one = left.pop()
        if one.resolve() not in seen:
            seen.add(one.resolve())
            with h5py.File(one, "r") as file:
                others = check_contents(file, one.name)
            left += [check_file(inside(one.parent, other)) for other in others]


def check_contents(file: Any, name: str) -> list[str]:
    """Check what an open HDF5 file claims; returns the other files that it names."""
    import h5py

    links: list[Any] = []
    items: list[tuple[str, Any]] = []
    file.visititems_links(lambda name, link: links.append(link))
    file.visititems(lambda name, item: items.append((name, item)))
    others = [link.filename for link in links if isinstance(link, h5py.ExternalLink)]
    for key, item in items:
        if not isinstance(item, h5py.Dataset):
            continue
        if item.external:
            raise ValueError(
                f"{shown(key)} of {name} keeps its values in another file, which HDF5 looks "
                "for where you work, and not beside this one. Write the values into the file."
            )
        # A virtual data set is composed of parts of files, of which "." is this one.
        parts = item.virtual_sources() if item.is_virtual else []
        elsewhere = [part.file_name for part in parts if part.file_name != "."]
        others += elsewhere
        # A data set that was never written may have any shape.
        n_bytes = (item.size or 0) * item.dtype.itemsize
        if not elsewhere and n_bytes > _MOST_COMPRESSED * item.id.get_storage_size():
            check_fits(n_bytes, f"{shown(key)} of {name}")
    return others
