"""NWB files that are read where they are: at an address, or in the DANDI archive.

Only the ranges of bytes that are asked for are moved: the description of the file, positions, spike
times and tables, but no field potential that is not used. Each range is kept in a file of its own,
which is written completely or not at all, so that an interrupted reading goes on where it was. They
are kept for one state of the file: if that changes, it is read anew, and states are never mixed.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.client import HTTPException
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit
from urllib.request import Request, urlopen

import platformdirs

from replay.checks import shown
from replay.files import replacing

__all__ = ["Remote", "find_remote", "is_address", "name_of", "opened_remote"]

_ARCHIVE = "https://api.dandiarchive.org/api"
_ASSET = re.compile(r"dandi:(\d{6})(?:@([\w.]+))?/(.+\.nwb)")
_WAIT = 30.0  # s


class Remote(NamedTuple):
    """A file at an address.

    Attributes
    ----------
    name : str
        The name of the file.
    url : str
        Where its bytes are.
    same : tuple of str
        The header of a request, and its value, by which the server tells whether the content is
        still the same.
    origin : dict of str to str
        The address that was given, and for a file of DANDI its asset and version.
    """

    name: str
    url: str
    same: tuple[str, str]
    origin: dict[str, str]


def is_address(source: object) -> bool:
    """Tell an address from a path.

    Examples
    --------
    >>> is_address("dandi:000978/sub-1/sub-1.nwb"), is_address("sub-1.nwb")
    (True, False)
    """
    return isinstance(source, str) and source.startswith(("dandi:", "http://", "https://"))


def name_of(address: str) -> str:
    """Return the name of the file at an address.

    Examples
    --------
    >>> name_of("https://somewhere.org/rat%201.nwb?download=1")
    'rat%201.nwb'
    """
    return PurePosixPath(urlsplit(address).path).name


def find_remote(address: str) -> Remote:
    """Find the file at an address, and ask its server for a first byte."""
    origin = {"address": address}
    url = address
    if address.startswith("dandi:"):
        url, origin = _in_archive(address)
    with _answer(Request(url, headers={"Range": "bytes=0-0"}), address) as answer:
        same = "If-Match", str(answer.headers.get("ETag"))
        if not same[1].startswith('"'):  # none, or one that need not change with the content
            same = "If-Unmodified-Since", str(answer.headers.get("Last-Modified", ""))
        if answer.status != 206 or not same[1]:
            raise ValueError(
                f"The server of {address} gives no parts of a file, or does not tell whether it "
                "has changed: download the file, and name it instead."
            )
        final = urlsplit(answer.url)
    if "asset" in origin:
        final = final._replace(query="")  # a signature, which ends soon and is not needed
    return Remote(name_of(address), final.geturl(), same, {**origin, "content": same[1]})


def _in_archive(address: str) -> tuple[str, dict[str, str]]:
    """Find the address of the content of an asset of DANDI, and its origin."""
    found = _ASSET.fullmatch(address)
    if found is None:
        raise ValueError(
            "A file of DANDI is named by its dandiset and path, such as "
            "dandi:000978/sub-1/sub-1_behavior+ecephys.nwb, or dandi:000978@VERSION/...; got "
            f"{shown(address)}."
        )
    number, version, path = found.group(1), found.group(2) or "draft", found.group(3)
    where = f"{_ARCHIVE}/dandisets/{number}/versions/{version}/assets/?path={quote(path)}"
    with _answer(Request(where), address) as answer:
        assets = [each for each in json.load(answer)["results"] if each["path"] == path]
    if not assets:
        raise ValueError(
            f"Dandiset {number} ({version}) has no file {path}: copy its path from its page, "
            f"dandiarchive.org/dandiset/{number}."
        )
    asset = str(assets[0]["asset_id"])
    origin = {"address": address, "asset": asset, "version": version}
    return f"{_ARCHIVE}/assets/{asset}/download/", origin


def _answer(request: Request, address: str) -> Any:
    try:
        return urlopen(request, timeout=_WAIT)
    except (OSError, HTTPException, ValueError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise OSError(
            f"{address} cannot be reached ({reason}). Is there a network, and is the address "
            "right? A file on this machine needs none."
        ) from None


class _Kept:
    """The ranges that were moved, as files of a folder; what `remfile` expects of its cache."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def _path(self, key: str) -> Path:
        return self.folder / hashlib.sha256(key.encode()).hexdigest()

    def get(self, key: str) -> bytes | None:
        """Return the bytes of a range, if they were moved before."""
        path = self._path(key)
        return path.read_bytes() if path.exists() else None

    def set(self, key: str, value: bytes) -> None:
        """Keep the bytes of a range."""
        with replacing(self._path(key)) as beside:
            beside.write_bytes(value)


@contextmanager
def opened_remote(remote: Remote) -> Iterator[Any]:
    """Open a file at an address, as an object that reads its ranges."""
    try:
        import remfile
    except ImportError:
        raise ImportError(
            f"Reading {remote.name} where it is needs remfile: pip install "
            "'hippocampal-replay[streaming]'. Or download the file, and name it instead."
        ) from None
    folder = platformdirs.user_cache_path("hippocampal-replay", appauthor=False) / "remote"
    own = hashlib.sha256(f"{remote.url} {remote.same}".encode()).hexdigest()
    file = remfile.File(remote.url, disk_cache=_Kept(folder / own))
    file.session.headers.update([remote.same])
    file.session.get = partial(file.session.get, timeout=_WAIT)
    try:
        yield file
    finally:
        file.session.close()
