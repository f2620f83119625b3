"""HDF5 files (NWB and NetCDF) from somebody else, checked before another library reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from replay.checks import check_fits, shown
from replay.files import check_file, inside

__all__ = ["check_contents", "check_hdf5"]

_COMPRESSION = 2000  # no data that were written are compressed as much


def check_hdf5(path: str | Path) -> None:
    """Refuse what is no file, leads outside its folder, or claims data that it does not hold.

    An HDF5 file may name other files, and these again others, and a data set that was never
    written may have any shape. A reader that loads a large data set calls `check_fits` with its
    size in memory before.
    """
    import h5py

    left, seen = [check_file(path)], set[Path]()
    while left:
        one = left.pop()
        if one.resolve() not in seen:
            seen.add(one.resolve())
            with h5py.File(one, "r") as file:
                others = check_contents(file, one.name)
            left += [check_file(inside(one.parent, other)) for other in others]


def check_contents(file: Any, name: str) -> list[str]:
    """Check what an open file claims; returns the other files that it names."""
    import h5py

    links: list[Any] = []
    items: list[tuple[str, Any]] = []
    file.visititems_links(lambda name, link: links.append(link))
    file.visititems(lambda name, item: items.append((name, item)))
    others = [link.filename for link in links if isinstance(link, h5py.ExternalLink)]
    for key, item in items:
        if isinstance(item, h5py.Dataset):
            if item.external:
                raise ValueError(
                    f"{shown(key)} of {name} keeps its values in another file, which HDF5 looks "
                    "for where you work, and not beside this one. Write the values into the file."
                )
            elsewhere = _elsewhere(item)
            others += elsewhere
            n_bytes = (item.size or 0) * item.dtype.itemsize
            if not elsewhere and n_bytes > _COMPRESSION * item.id.get_storage_size():
                check_fits(n_bytes, f"{shown(key)} of {name}")
    return others


def _elsewhere(item: Any) -> list[str]:
    """List the other files that a virtual data set is composed of."""
    sources = item.virtual_sources() if item.is_virtual else []
    return [source.file_name for source in sources if source.file_name != "."]
